"""Wrong derivatives that people hold for right: no slip of the pen in the right one leads to them.

Each is a formula in the names of the rule, as in `ways`, with the kind of mistake and a sentence that continues
"The gradient for x ...". A sentence says what the formula does, and not what would be right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .equivalent_formulas import ALONG, BY_RMS, CLASSES, CURVE, NORMED, NORMED_0, Way, Written

NOT_SHARED = "gives g to the largest entry of the whole array: each result along the axis has a largest entry of its own"
BATCH = "adds up {} over the stack before it multiplies: each matrix of the stack has a partner of its own"
FIRST = "uses the first matrix of {} for the whole stack: each matrix of the stack has a partner of its own"
LARGEST_ONLY = "gives all of g to the largest entry, as a maximum does: here every entry has a part in the result"
COLUMNS = "takes the columns of all targets in every row, as p[:, target] does: each row has one target of its own"
TARGET_ONLY = "reaches the score of the target class alone: the other scores have a part in the result too"
PROBABILITY = "is the derivative by the probabilities, -1 / p: that of softmax, from the scores to the probabilities, is missing"
ABSOLUTE = "uses the size of x - y without its sign"
L1 = "is that of the absolute difference |x - y|: only the sign of x - y is in it"
NO_VARIANCE = "misses the term that comes from the variance: moving one entry changes that as well"
NO_MEAN = "misses the term that comes from the mean: moving one entry changes that as well"
CONSTANTS = "takes mean and variance for constants: the two terms that come from them are missing"
APPROXIMATION = "is the derivative of the {} approximation, and not of the exact function"
HALF = "stands for a part of the function: the product rule has a second term"
TWICE_SIGMOID = "is multiplied by the derivative of sigmoid once more than it should be"
TAKEN_OUT = "multiplies the running sum of g by a factor that belongs inside it: each result brings its own"
NOT_WEIGHTS = "has exponentials in it that are not divided by their sum"
LOGITS = "is that of the loss from scores, x - target: here x is a probability already"


AT_THE_END = "is multiplied by weight at the end: it belongs to g, before the means are taken"
LOGS = "has the logarithms of the probabilities in it, where the probabilities themselves belong"
POWER_RULE = "follows the rule for powers of x: here x is the exponent"
A_SUM = "has a sum of the entries in it, where a product belongs"
ALL = "normalises over everything at once: each row, or column, has a mean and a variance of its own"
NOT_NORMED = "has x in it where the normalised x belongs, in the term that comes from the size of x"


class Belief(NamedTuple):
    """The kind of mistake, its sentence, and the wrong formula."""

    family: str
    text: str
    way: Way


def _extremes(name: str) -> list[Belief]:
    here = f"(x == x.{name}())"
    said = NOT_SHARED if name == "max" else NOT_SHARED.replace("largest", "smallest")
    return [Belief("axis", said, Way(f"G * {here}{shared}", ALONG)) for shared in ("", f" / {here}.sum()")]


NORMED_ALL = {"rstd": "1 / np.sqrt(x.var() + 1e-5)", "z": "(x - x.mean()) * rstd", "h": "g * weight"}
OVER_ALL = [Belief("axis", ALL, Way("rstd * (h - h.mean() - z * (h * z).mean())", NORMED_ALL))]
WEIGHT_OVER_ALL = [Belief("axis", ALL, Way("(g * z).sum(0)", NORMED_ALL))]
WEIGHTED_LAST = "weight * rstd * (g - g.mean(-1, keepdims=True) - z * (g * z).mean(-1, keepdims=True))"


def _norm(axis: int, letters: Mapping[str, str]) -> list[Belief]:
    mean, both = f"h.mean({axis}, keepdims=True)", f"z * (h * z).mean({axis}, keepdims=True)"
    return [Belief("term", NO_VARIANCE, Way(f"rstd * (h - {mean})", letters)),
            Belief("term", NO_MEAN, Way(f"rstd * (h - {both})", letters)),
            Belief("term", CONSTANTS, Way("rstd * h", letters))]  # fmt: skip


def _stacks() -> dict[str, list[Belief]]:
    found: dict[str, list[Belief]] = {"x": [], "y": []}
    for x, other, formula in (("x", "y", "g @ mT({})"), ("y", "x", "mT({}) @ g")):
        for cut, text in ((".sum(0)", BATCH), ("[0]", FIRST)):
            value = f"{other}{cut} if {other}.ndim > 2 else {other}"
            found[x].append(Belief("wrong axis", text.format(other), Way(formula.format(value))))
        whole = formula.format(other).replace("g", "(g.sum(0) if g.ndim > 2 else g)")
        found[x].append(Belief("wrong axis", BATCH.format("g"), Way(whole)))
    return found


RUNNING = "np.flip(np.cumsum(np.flip(g, axis), axis), axis)"
SIGMOID = {"s": "sigmoid(1.702 * x)"}
TANH = {"u": "tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))"}
SLOPE = "(1 - u**2) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)"
MEAN = {"n": "x.size if reduction == 'mean' else 1"}
LARGEST = "(x == x.max(axis, keepdims=True))"

BELIEFS: dict[str, dict[str, list[Belief]]] = {
    "amax": {"x": _extremes("max")},
    "amin": {"x": _extremes("min")},
    "batch_norm": {"x": [*_norm(0, NORMED_0), *OVER_ALL], "weight": WEIGHT_OVER_ALL},
    "bce_with_logits": {"x": [Belief("factor", TWICE_SIGMOID, Way("g * (s - target) * s * (1 - s) / x.size", CURVE))]},
    "binary_cross_entropy": {"x": [Belief("factor", LOGITS, Way("g * (x - target)"))]},
    "bmm": _stacks(),
    "cumprod": {"x": [Belief("factor", TAKEN_OUT, Way(f"{RUNNING} * out / x"))]},
    "cross_entropy": {"x": [
        Belief("places", COLUMNS, Way("g * (p - onehot.max(0)) / n", CLASSES)),
        Belief("places", COLUMNS, Way("g * (p - onehot.sum(0)) / n", CLASSES)),
        Belief("function", LOGS, Way("g * (np.log(p) - onehot) / n", CLASSES)),
        Belief("places", TARGET_ONLY, Way("g * onehot * (p - 1) / n", CLASSES)),
        *(Belief("step", PROBABILITY, Way(f"-g * {rows} / p{n}", CLASSES)) for rows in ("onehot", "1") for n in (" / n", "")),
    ]},
    "exp": {"x": [Belief("function", POWER_RULE, Way("g * x * np.exp(x - 1)")), Belief("function", POWER_RULE, Way("g * x * out / np.e"))]},
    "gelu": {"x": [
        Belief("function", APPROXIMATION.format("sigmoid"), Way("g * (s + 1.702 * x * s * (1 - s))", SIGMOID)),
        Belief("function", f"has sigmoid(1.702 x) alone in it, which {HALF}", Way("g * s", SIGMOID)),
        Belief("number", "belongs to a bell curve of another width: a number beside x is missing",
               Way("g * (0.5 * (1 + erf(x)) + x * np.exp(-x * x) / math.sqrt(math.pi))")),
        Belief("function", APPROXIMATION.format("tanh"), Way(f"g * (0.5 * (1 + u) + 0.5 * x * {SLOPE})", TANH)),
        *(Belief("factor", f"{APPROXIMATION.format('tanh')}, and what is inside tanh is not differentiated to the end",
                 Way(f"g * (0.5 * (1 + u) + 0.5 * x * (1 - u**2){inner})", TANH)) for inner in ("", " * math.sqrt(2 / math.pi)")),
    ]},
    "layer_norm": {
        "x": [*_norm(-1, NORMED), *OVER_ALL, Belief("factor", AT_THE_END, Way(WEIGHTED_LAST, NORMED))], "weight": WEIGHT_OVER_ALL,
    },
    "logcumsumexp": {"x": [Belief("factor", TAKEN_OUT, Way(f"{RUNNING} * np.exp(x - out)"))]},
    "logsumexp": {"x": [
        Belief("function", LARGEST_ONLY, Way(f"G * {LARGEST}", ALONG)),
        *(Belief("factor", NOT_WEIGHTS, Way(f"G * np.exp({power})", ALONG)) for power in ("x", "x - x.max(axis, keepdims=True)")),
    ]},
    "matmul": _stacks(),
    "mse_loss": {
        x: [Belief("function", ABSOLUTE, Way(f"{sign}2 * g * abs(x - y) / n", MEAN)) for sign in ("", "-")]
        + [Belief("function", L1, Way(f"{sign}g * np.sign(x - y) / n", MEAN)) for sign in ("", "-")]
        for x in ("x", "y")
    },
    "norm": {"x": [Belief("function", "has the sign of x in it, as for the sum of absolute values", Way("G * np.sign(x)", ALONG))]},
    "prod": {"x": [
        Belief("division", "has each entry divided by the product in it: the division is upside down", Way("G * x / OUT", ALONG)),
        *(Belief("operation", A_SUM, Way(f"G * (x.sum(axis, keepdims=True){own})", ALONG)) for own in ("", " - x")),
        Belief("operation", "has the product minus the entry in it: no difference belongs there", Way("G * (OUT - x)", ALONG)),
    ]},
    "rms_norm": {"x": [
        Belief("variable", NOT_NORMED, Way("rstd * (h - x * (h * x).mean(-1, keepdims=True))", BY_RMS)),
        Belief("factor", AT_THE_END, Way("weight * rstd * (g - z * (g * z).mean(-1, keepdims=True))", BY_RMS)),
    ]},
    "softmax": {"x": [Belief("function", LARGEST_ONLY, Way(f"g * {LARGEST}"))]},
}  # fmt: skip


def beliefs(operation: str, x: str, inputs: tuple[str, ...]) -> list[tuple[Belief, Written]]:
    """What people believe the gradient of one input to be."""
    return [(b, Written(b.way, (*inputs, "out", "g"))) for b in BELIEFS.get(operation, {}).get(x, ())]
