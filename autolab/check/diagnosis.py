"""Which mistake is it? Compare what came back with what each family of mistakes predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from .candidate import Answer, LocalCandidate
from .cases import draw
from .families import Family, Observation, close, constant_factor, families, number, places, reduction
from .reference import Reference, stretched_axes

HINTS = {
    "sign": "Follow the signs through the derivative once more.",
    "number": "Compare the numbers in your formula with those of the derivative on paper.",
    "constant": "Which number does differentiating bring down, and does it appear once?",
    "upstream ignored": "Backward receives g from the rest of the graph; what does the chain rule do with it?",
    "upstream only": "g says how the loss depends on the result; how does the result depend on this input?",
    "upstream added": "The chain rule multiplies derivatives; where does a sum come from?",
    "upstream twice": "A backward rule is linear: twice the g, twice the gradient. Is yours?",
    "upstream size": "A backward rule is linear: minus g gives minus the gradient. Does yours?",
    "upstream collapsed": "Every entry of the result has its own g; which one belongs to this entry?",
    "mask from g": "The mask belongs to the forward pass: which input entries did forward let through?",
    "mask": "Take one entry on each side of the kink and follow it through forward.",
    "swapped": "Backward returns the gradients in the order of forward's arguments.",
    "variable": "Write down the derivative on paper, and compare each letter with what you saved.",
    "applied twice": "What exactly did forward save: its input or its result?",
    "forward": "Backward returns how the result changes with the input, not the result itself.",
    "not summed": "An entry that was used several times collects the gradients of all its uses.",
    "wrong axis": "Compare the input's shape with the result's shape, from the right: which axes were stretched?",
    "averaged": "Each use contributes fully; nothing divides by the number of uses.",
    "one of many": "Each use contributes, not only one of them.",
    "keepdims": "A gradient has exactly the shape of its input, axes of size 1 included.",
    "diagonal only": "Change one entry of the input: which entries of the result change?",
    "term": "How many places in forward use this input? Each gives one term.",
    "term sign": "Follow the signs through the derivative once more, one term at a time.",
    "factor": "Write the derivative on paper and count its factors.",
    "division": "Put in one number by hand: does the derivative grow or shrink with it?",
    "power": "Put in one number by hand, and compare the powers.",
    "transposed": "Check the shapes on a non-square example: only one arrangement fits.",
    "order": "Check the shapes on a non-square example: only one order fits.",
    "axis": "Along which axis did forward work? Backward works along the same one.",
    "zero": "Which line computes this gradient, and is it returned?",
    "not spread": "How does each entry of the input take part in the result, and which entry of g tells it so?",
    "2-D only": "In a stack of matrices only the last two axes are rows and columns.",
    "kink": "At the kink any slope between the two sides will do; the exercise says which one to take.",
    "none": "None says that the input needs no gradient; this one does.",
    "extra term": "Count the terms of the derivative.",
    "places": "Take one entry from the place shown, and follow it through forward and backward.",
    "function": "Look up the derivative again: which function is it?",
    "step": "Write the derivative on paper and compare it step by step.",
    "flattened": "A gradient has exactly the shape of its input.",
    "mutation": "Compute a new array (a = a * b) instead of writing into one that you were given (a *= b).",
    "state": "Keep what backward needs in ctx: a class or global variable is overwritten by the next forward.",
    "second call": "Backward may run twice; it must leave what forward saved as it found it.",
    "finite differences": "Derive the formula; a difference quotient is never exact.",
    "precision": "Keep the dtype of the inputs; a conversion loses digits.",
    "dtype": "Let the inputs decide the dtype: a float64 constant array or .astype(float) does not.",
    "unstable": "Which number on the way becomes too large? Another form of the same formula may avoid it.",
    "engine called": "Write the derivative yourself, from the saved values.",
    "exception": "Run forward and backward by hand on a small array of that shape.",
    "count": "Return one gradient for each argument of forward.",
    "type": "Return arrays or tensors.",
    "wrong result": "Compute the result by hand for the entry shown.",
    "unknown": "Take the place shown, compute the derivative there by hand, and compare.",
}


@dataclass(frozen=True)
class Place:
    """The worst entry: where it is and both numbers; without an index, the two shapes."""

    input: str
    index: tuple[int, ...] | None
    yours: Any
    expected: Any

    def __str__(self) -> str:
        if self.index is None:
            return f"gradient for {self.input}: received shape {self.yours}, expected shape {self.expected}"
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return f"gradient for {self.input}{at}: received {number(self.yours)}, expected {number(self.expected)}"


@dataclass(frozen=True)
class Diagnosis:
    """What kind of mistake it is, how sure that is, and where it shows most."""

    family: str
    certainty: str  # "certain", "likely" or "unknown"
    text: str
    hint: str
    input: str | None = None
    where: str = ""
    worst: Place | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.text}. ({self.certainty})"]
        if self.worst or self.where:
            lines.append("; ".join(filter(None, [self.where and f"with {self.where}", self.worst and str(self.worst)])))
        return "\n  ".join([*lines, f"hint: {self.hint}"])


def diagnosis(family: str, certainty: str, text: str, **more: Any) -> Diagnosis:
    """A diagnosis with the hint of its family."""
    return Diagnosis(family, certainty, text, HINTS.get(family, HINTS["unknown"]), **more)


def diagnose(f: Any, reference: Any, inputs: Sequence[np.ndarray], **settings: Any) -> list[Diagnosis]:
    """Say what is wrong with a backward rule, by calling it on these inputs.

    Parameters
    ----------
    f : Function class, pair (forward, backward), or backward function
        The rule to look at. A plain backward takes g first and then what it needs by name: inputs, `out`,
        `<input>_shape`, settings.
    reference : row of the table, its name, or a pair (forward, backward)
        The right rule.
    inputs : sequence of ndarray
        What forward is called with. Use numbers that differ from 0, 1 and 2 and from each other.
    settings
        Keywords of the operation, such as axis.

    Returns
    -------
    list of Diagnosis
        One for each input whose gradient is wrong; empty if all are right. `certainty` says how far to trust it.
    """
    right = Reference.of(reference)
    candidate = LocalCandidate(f, right)
    with np.errstate(all="ignore"):
        return _diagnose(candidate, right, tuple(np.asarray(a) for a in inputs), settings)


def _diagnose(
    candidate: LocalCandidate, right: Reference, inputs: tuple, settings: Mapping[str, Any]
) -> list[Diagnosis]:
    names = right.environment(inputs, settings)
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(2):
        g = draw(rng, names["out"].shape)
        answer = candidate.call(inputs, settings, (g,))
        if answer.fault:
            return [fault(answer)]
        seen.append(observe(right, names, g, answer.gradients[0], tuple(settings)))
    usual = all(a.dtype.kind != "f" or _is_usual(a) for a in inputs)
    found = [explain(seen, x) for x in right.differentiable()]
    return [d if usual or d.certainty != "certain" else replace(d, certainty="likely") for d in found if d]


def _is_usual(a: np.ndarray) -> bool:
    return bool(np.all(np.abs(a - np.round(a)) > 1e-3)) and len(np.unique(a)) == a.size


def observe(
    reference: Reference, names: Mapping[str, Any], g: np.ndarray, got: Sequence, given: Sequence[str] = ()
) -> Observation:
    """Put one backward call beside the right answer."""
    want = {x: reference.gradient(x, g, names) for x in reference.differentiable()}
    received = dict(zip(reference.inputs, got, strict=False))
    return Observation(reference, dict(names), g, received, want, given=tuple(given))


def stopped(reference: Reference, names: Mapping[str, Any], g: np.ndarray) -> Observation:
    """A call that raised, put beside the right answer."""
    nothing = dict.fromkeys(reference.inputs)
    return replace(observe(reference, names, g, ()), got=nothing, failed=True)


def fault(answer: Answer, where: str = "") -> Diagnosis:
    """The diagnosis of a call that gave no gradients."""
    assert answer.fault is not None
    text = answer.fault.text + (f" (your {answer.fault.line})" if answer.fault.line else "")
    return diagnosis(answer.fault.kind, "certain", text, where=where)


def error_of(o: Observation, x: str) -> float:
    """How far the gradient is off, relative to its largest entry; inf for None or a wrong shape."""
    got, want = o.got[x], o.want[x]
    if got is None or got.shape != want.shape:
        return np.inf
    if not want.size:
        return 0.0
    scale = np.max(np.abs(want))
    error = np.max(np.abs(got - want)) / (scale or 1.0)
    return float(error) if np.isfinite(error) else np.inf


def _furthest(observations: Sequence[Observation], x: str) -> Observation:
    return max(observations, key=lambda o: error_of(o, x))


def worst_place(observations: Sequence[Observation], x: str) -> Place | None:
    """The entry that is furthest from right, or the shapes if they differ."""
    o = _furthest(observations, x)
    if o.got[x] is None or o.got[x].shape != o.want[x].shape:
        return Place(x, None, None if o.got[x] is None else o.got[x].shape, o.want[x].shape)
    distance = np.abs(o.got[x] - o.want[x])
    if not distance.size:
        return None
    at = np.unravel_index(np.argmax(np.where(np.isnan(distance), np.inf, distance)), distance.shape)
    return Place(x, tuple(int(i) for i in at), float(o.got[x][at]), float(o.want[x][at]))


TOLERANCE = 1e-9


def explain(observations: Sequence[Observation], x: str, show: Sequence[Observation] = ()) -> Diagnosis | None:
    """The mistake behind the gradient for `x` in all these calls, or None if it is right in all of them.

    A call that raised may be among them: an explanation has to fail there as well. The worst place is looked for among
    `show`, if one of them is wrong.
    """
    answered = [o for o in observations if not o.failed]
    wrong = [o for o in answered if error_of(o, x) > TOLERANCE]
    if not wrong:
        return None
    shown = [o for o in show if not o.failed and error_of(o, x) > TOLERANCE] or wrong
    more: dict[str, Any] = {"input": x, "where": _shapes(_furthest(shown, x)), "worst": worst_place(shown, x)}
    about = f"The gradient for {x} "
    if all(o.got[x] is None for o in wrong):
        return diagnosis("none", "certain", about + "is None", **more)
    found = _mistake([o for o in observations if o.failed or o.got[x] is not None], x)
    invariant = _invariant(answered, x)
    if not found:
        text = "is wrong, in no way that this checker knows" + _fraction(wrong, x)
        return diagnosis("unknown", "unknown", about + text + invariant, **more)
    if found.place:
        more |= {"where": _shapes(found.place), "worst": worst_place([found.place], x)}
    return diagnosis(found.family, "certain" if found.sure else "likely", about + found.text + invariant, **more)


@dataclass(frozen=True)
class Mistake:
    """A family that fits, and what it says."""

    family: str
    text: str
    sure: bool
    predict: Callable | None = None
    place: Observation | None = None


def _right(o: Observation, x: str) -> np.ndarray:
    return o.want[x]


def _mistake(observations: list[Observation], x: str) -> Mistake | None:
    """First the formula, on calls where x is not stretched; then, given the formula, the sum over stretched axes."""
    plain = [o for o in observations if not _is_stretched(o, x)]
    rule = None
    if any(error_of(o, x) > TOLERANCE for o in plain if not o.failed):
        rule = _rule_mistake(plain, x)
        if rule is None or rule.predict is None:
            return rule
    stretched = [o for o in observations if not o.failed and _is_stretched(o, x) and error_of(o, x) > TOLERANCE]
    summing = _summing_mistake(stretched, x, rule.predict if rule else _right)
    if rule is None or summing is None:
        return rule or summing
    return replace(rule, text=f"{rule.text}; besides, it {summing.text}", sure=rule.sure and summing.sure)


def _rule_mistake(plain: list[Observation], x: str) -> Mistake | None:
    answered = [o for o in plain if not o.failed]
    failed = [o for o in plain if o.failed]
    wrong = [o for o in answered if error_of(o, x) > TOLERANCE]
    enough = len(wrong) > 1
    if all(o.got[x].size == o.want[x].size and close(o.got[x].reshape(o.want[x].shape), o.want[x]) for o in answered):
        return Mistake("flattened", "has the right numbers in the wrong shape", enough)
    factor = constant_factor(wrong, x)
    for evidence in (answered, wrong):  # if nothing explains all calls, then what explains the wrong ones
        for family in families(plain[0].reference, x):
            if factor and family.name not in SHARPER_THAN_A_FACTOR:
                continue
            if all(_fits(family, o, x) for o in evidence):
                consistent = evidence is answered and all(not _gives_an_answer(family, o, x) for o in failed)
                return Mistake(family.name, family.text.format(x=x), enough and consistent, family.predict)
        if factor or len(wrong) == len(answered) or not enough:
            break
    if factor:
        some = ", in the calls where it is wrong" if len(wrong) < len(answered) else ""
        return Mistake("constant", factor + some, enough and not failed)
    found = [_reduction_of(o, x) for o in wrong]
    if found[0] and all(f and f[0] == found[0][0] for f in found):
        return Mistake(*found[0], enough and not failed)
    where = places(answered, x)
    return Mistake("places", where, enough and not failed) if where else None


def _reduction_of(o: Observation, x: str) -> tuple[str, str] | None:
    """What was summed that should not be; or, where g itself is to be summed (a bias), along which axes it was."""
    got, want = o.got[x], o.want[x]
    if found := reduction(got, want, want.shape, ()):
        return found
    extra = o.g.ndim - want.ndim
    for count in range(1, o.g.ndim + 1) if extra >= 0 and not o.reference.elementwise else ():
        for axes in combinations(range(o.g.ndim), count):
            summed = o.g.sum(axes, keepdims=True)
            if summed.size == want.size and close(summed.reshape(want.shape), want):
                return reduction(got, o.g, want.shape, axes)
    return None


SHARPER_THAN_A_FACTOR = {"sign", "zero", "variable", "term"}


def _fits(family: Family, o: Observation, x: str) -> bool:
    try:
        predicted = np.asarray(family.predict(o, x))
        if o.reference.elementwise and o.got[x].shape != predicted.shape == o.out.shape:
            return close(
                np.broadcast_to(o.got[x], predicted.shape), predicted
            )  # it may have lost its g, and so its shape
        return close(o.got[x], predicted)
    except Exception:  # a mutated formula may raise anything; then it is not this one
        return False


def _gives_an_answer(family: Family, o: Observation, x: str) -> bool:
    try:
        return np.shape(family.predict(o, x)) == o.want[x].shape
    except Exception:  # as it should: the rule raised here
        return False


def _summing_mistake(stretched: list[Observation], x: str, predict: Callable) -> Mistake | None:
    found = []
    for o in stretched:
        raw = np.broadcast_to(o.reference.raw(x, o.g, o.names), o.out.shape)
        unsummed = replace(o, names={**o.names, f"{x}_shape": o.out.shape}, want={**o.want, x: raw})
        try:
            full = np.broadcast_to(np.asarray(predict(unsummed, x)), o.out.shape)
            found.append(reduction(o.got[x], full, o.names[f"{x}_shape"]))
        except Exception:  # the mistake in the formula says nothing about these shapes
            found.append(None)
    known = [(f, o) for f, o in zip(found, stretched, strict=True) if f]
    if not known:
        return None
    (name, sentence), o = known[0]
    shape = o.names[f"{x}_shape"]
    text = f"{sentence}: {x} has shape {shape}, and forward stretched it to {o.out.shape}"
    return Mistake(name, text, all(f and f[0] == name for f in found), place=o)


def _is_stretched(o: Observation, x: str) -> bool:
    return o.reference.elementwise and bool(stretched_axes(o.names[f"{x}_shape"], o.out.shape))


def _shapes(o: Observation) -> str:
    shapes = [f"{x} {o.names[f'{x}_shape']}" for x in o.reference.inputs]
    return ", ".join(shapes + [f"{k}={o.names[k]!r}" for k in o.reference.settings if k in o.given])


def _fraction(wrong: list[Observation], x: str) -> str:
    o = wrong[0]
    got, want = o.got[x], o.want[x]
    if got is None or got.shape != want.shape or got.size < 2:
        return ""
    right = int(np.sum(np.isclose(got, want, rtol=1e-9, atol=1e-12)))
    return f" ({right} of {got.size} entries are right)" if right else ""


def _invariant(observations: Sequence[Observation], x: str) -> str:
    """What must hold for any right gradient of this operation, if it does not hold here."""
    seen = [o for o in observations if o.got[x] is not None and o.got[x].shape == o.want[x].shape]
    if not seen or seen[0].reference.elementwise or any(not o.want[x].ndim for o in seen):
        return ""
    sums = []
    for o in seen:
        axis = o.names.get("axis", -1)
        want, got = o.want[x].sum(axis), o.got[x].sum(axis)
        if np.abs(want).max() > 1e-12 * np.abs(o.want[x]).max():
            return ""
        sums.append(float(got.flat[np.abs(got).argmax()]))
    worst = max(sums, key=abs)
    if abs(worst) < 1e-9:
        return ""
    return (
        f". Adding the same number to every entry of {x} along the axis does not change the result, "
        f"so this gradient must add up to 0 along that axis; yours adds up to {number(worst)}"
    )
