"""Wrong derivatives that people hold for right: no slip of the pen in the right one leads to them.

Each is a formula in the names of the rule, as in `equivalent_formulas`, with the kind of mistake and a sentence that continues
"The gradient for x ...". A sentence says what the formula does, and not what would be right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .equivalent_formulas import ALONG, BY_RMS, CLASSES, CURVE, NORMED, NORMED_0, NamedFormula

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


class Misconception(NamedTuple):
    """The kind of mistake, its sentence, the wrong formula and what its letters stand for."""

    family: str
    text: str
    formula: str
    letters: Mapping[str, str] = {}


def _extremes(name: str) -> list[Misconception]:
    here = f"(x == x.{name}())"
    said = NOT_SHARED if name == "max" else NOT_SHARED.replace("largest", "smallest")
    return [Misconception("axis", said, f"G * {here}{shared}", ALONG) for shared in ("", f" / {here}.sum()")]


NORMED_ALL = {"rstd": "1 / np.sqrt(x.var() + 1e-5)", "z": "(x - x.mean()) * rstd", "h": "g * weight"}
OVER_ALL = [Misconception("axis", ALL, "rstd * (h - h.mean() - z * (h * z).mean())", NORMED_ALL)]
WEIGHT_OVER_ALL = [Misconception("axis", ALL, "(g * z).sum(0)", NORMED_ALL)]
WEIGHTED_LAST = "weight * rstd * (g - g.mean(-1, keepdims=True) - z * (g * z).mean(-1, keepdims=True))"


def _norm(axis: int, letters: Mapping[str, str]) -> list[Misconception]:
    mean, both = f"h.mean({axis}, keepdims=True)", f"z * (h * z).mean({axis}, keepdims=True)"
    return [Misconception("term", NO_VARIANCE, f"rstd * (h - {mean})", letters),
            Misconception("term", NO_MEAN, f"rstd * (h - {both})", letters),
            Misconception("term", CONSTANTS, "rstd * h", letters)]  # fmt: skip


def _stacks() -> dict[str, list[Misconception]]:
    wrong: dict[str, list[Misconception]] = {"x": [], "y": []}
    for x, other, formula in (("x", "y", "g @ mT({})"), ("y", "x", "mT({}) @ g")):
        for cut, text in ((".sum(0)", BATCH), ("[0]", FIRST)):
            value = f"{other}{cut} if {other}.ndim > 2 else {other}"
            wrong[x].append(Misconception("wrong axis", text.format(other), formula.format(value)))
        whole = formula.format(other).replace("g", "(g.sum(0) if g.ndim > 2 else g)")
        wrong[x].append(Misconception("wrong axis", BATCH.format("g"), whole))
    return wrong


LAST_FOR_ALL = "uses the last result of forward for all results: each result has its own"
NOT_ITS_OWN = "adds up what comes after each entry, {} its own place"
RUNNING = "np.flip(np.cumsum(np.flip(g, axis), axis), axis)"
SIGMOID = {"s": "sigmoid(1.702 * x)"}
TANH = {"u": "tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))"}
SLOPE = "(1 - u**2) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)"
MEAN = {"n": "x.size if reduction == 'mean' else 1"}
LARGEST = "(x == x.max(axis, keepdims=True))"

MISCONCEPTIONS: dict[str, dict[str, list[Misconception]]] = {
    "amax": {"x": _extremes("max")},
    "amin": {"x": _extremes("min")},
    "batch_norm": {"x": [*_norm(0, NORMED_0), *OVER_ALL], "weight": WEIGHT_OVER_ALL},
    "bce_with_logits": {"x": [Misconception("factor", TWICE_SIGMOID, "g * (s - target) * s * (1 - s) / x.size", CURVE)]},
    "binary_cross_entropy": {"x": [Misconception("factor", LOGITS, "g * (x - target)")]},
    "bmm": _stacks(),
    "cumprod": {"x": [
        Misconception("factor", TAKEN_OUT, f"{RUNNING} * out / x"),
        Misconception("scan", LAST_FOR_ALL, f"{RUNNING} * np.take(out, [-1], axis) / x"),
    ]},
    "cumsum": {"x": [
        Misconception("term", NOT_ITS_OWN.format(which), f"g.sum(axis, keepdims=True) - np.cumsum(g, axis){own}")
        for which, own in (("without", ""), ("twice", " + 2 * g"))
    ]},
    "cross_entropy": {"x": [
        Misconception("places", COLUMNS, "g * (p - onehot.max(0)) / n", CLASSES),
        Misconception("places", COLUMNS, "g * (p - onehot.sum(0)) / n", CLASSES),
        Misconception("function", LOGS, "g * (np.log(p) - onehot) / n", CLASSES),
        Misconception("places", TARGET_ONLY, "g * onehot * (p - 1) / n", CLASSES),
        *(Misconception("step", PROBABILITY, f"-g * {rows} / p{n}", CLASSES) for rows in ("onehot", "1") for n in (" / n", "")),
    ]},
    "exp": {"x": [Misconception("function", POWER_RULE, formula) for formula in ("g * x * np.exp(x - 1)", "g * x * out / np.e")]},
    "gelu": {"x": [
        Misconception("function", APPROXIMATION.format("sigmoid"), "g * (s + 1.702 * x * s * (1 - s))", SIGMOID),
        Misconception("function", f"has sigmoid(1.702 x) alone in it, which {HALF}", "g * s", SIGMOID),
        Misconception("number", "belongs to a bell curve of another width: a number beside x is missing",
               "g * (0.5 * (1 + erf(x)) + x * np.exp(-x * x) / math.sqrt(math.pi))"),
        Misconception("function", APPROXIMATION.format("tanh"), f"g * (0.5 * (1 + u) + 0.5 * x * {SLOPE})", TANH),
        *(Misconception("factor", f"{APPROXIMATION.format('tanh')}, and what is inside tanh is not differentiated to the end",
                 f"g * (0.5 * (1 + u) + 0.5 * x * (1 - u**2){inner})", TANH) for inner in ("", " * math.sqrt(2 / math.pi)")),
    ]},
    "layer_norm": {
        "x": [*_norm(-1, NORMED), *OVER_ALL, Misconception("factor", AT_THE_END, WEIGHTED_LAST, NORMED)], "weight": WEIGHT_OVER_ALL,
    },
    "logcumsumexp": {"x": [Misconception("factor", TAKEN_OUT, f"{RUNNING} * np.exp(x - out)")]},
    "logsumexp": {"x": [
        Misconception("function", LARGEST_ONLY, f"G * {LARGEST}", ALONG),
        *(Misconception("factor", NOT_WEIGHTS, f"G * np.exp({power})", ALONG) for power in ("x", "x - x.max(axis, keepdims=True)")),
    ]},
    "matmul": _stacks(),
    "mse_loss": {
        x: [Misconception("function", ABSOLUTE, f"{sign}2 * g * abs(x - y) / n", MEAN) for sign in ("", "-")]
        + [Misconception("function", L1, f"{sign}g * np.sign(x - y) / n", MEAN) for sign in ("", "-")]
        for x in ("x", "y")
    },
    "norm": {"x": [Misconception("function", "has the sign of x in it, as for the sum of absolute values", "G * np.sign(x)", ALONG)]},
    "prod": {"x": [
        Misconception("division", "has each entry divided by the product in it: the division is upside down", "G * x / OUT", ALONG),
        *(Misconception("operation", A_SUM, f"G * (x.sum(axis, keepdims=True){own})", ALONG) for own in ("", " - x")),
        Misconception("operation", "has the product minus the entry in it: no difference belongs there", "G * (OUT - x)", ALONG),
    ]},
    "rms_norm": {"x": [
        Misconception("variable", NOT_NORMED, "rstd * (h - x * (h * x).mean(-1, keepdims=True))", BY_RMS),
        Misconception("factor", AT_THE_END, "weight * rstd * (g - z * (g * z).mean(-1, keepdims=True))", BY_RMS),
    ]},
    "softmax": {"x": [Misconception("function", LARGEST_ONLY, f"g * {LARGEST}")]},
}  # fmt: skip


def misconceptions(operation: str, x: str, inputs: tuple[str, ...]) -> list[tuple[Misconception, NamedFormula]]:
    """What people take for the gradient of one input, and it is another."""
    return [(m, NamedFormula((m.formula, m.letters), inputs)) for m in MISCONCEPTIONS.get(operation, {}).get(x, ())]
