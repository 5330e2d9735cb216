"""How many points an answer is worth: as many as its author has understood. docs/decisions/points.md says why.

A gradient that is right earns all of *value*. One that is wrong by a single slip earns half, one that has a part of the
derivative a quarter, any other nothing. Facts about its numbers decide (`resemblance.py`), and where they leave it open, the family of
the mistake. What comes besides (shape, broadcasting, stability, care) is earned by right gradients alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..diagnosis.diagnosis import Diagnosis

SLIP, PART, NOTHING = 0.5, 0.25, 0.0
OUT_OF_RANGE = 0.75  # right for ordinary numbers, and not for large or tiny ones
FOR_SOME_G = PART  # right for some g, and not linear in g
FOR_SOME_CALLS = PART  # right in some of the calls, and wrong or nothing in the others
STRETCHED = SLIP  # right wherever its input is not stretched, and not where it is

# What is seen of the numbers themselves, however the mistake is named.
DECIDED = {
    "another shape": SLIP, "multiple": SLIP, "nearly right": SLIP, "a number in places": SLIP,
    "elsewhere": PART, "one factor": PART,
    "zero": NOTHING, "g itself": NOTHING, "without g": NOTHING,
}  # fmt: skip
AT_LEAST = {"right where g is 1": PART, "some entries": PART}  # a family may say more

# Every family has its part: it is asked where the numbers leave it open.
CREDIT = {
    # the derivative is there, and one thing about it is wrong
    **dict.fromkeys((
        "sign", "term sign", "constant", "number", "scale", "reciprocal", "size", "averaged", "precision", "kink", "tie",
        "flattened", "swapped", "exchanged", "nan", "unstable", "clipped", "integer",
    ), SLIP),
    # a part of the derivative is there
    **dict.fromkeys((
        "upstream ignored", "upstream added", "upstream twice", "upstream size", "upstream collapsed", "mask from g", "early sum",
        "factor", "division", "power", "term", "extra term", "operation", "variable", "applied twice", "step", "one number",
        "diagonal only", "one of many", "overwritten", "pieces", "places", "mask", "triangle", "transposed", "order", "flipped",
        "permutation", "not summed", "not spread", "keepdims", "wrong axis", "axis", "setting", "fixed size", "padding", "ring",
        "series", "scan", "normalisation", "spectrum", "2-D only", "square only",
    ), PART),
    # another function, or no gradient at all
    **dict.fromkeys((
        "zero", "upstream only", "forward", "function", "elementwise", "unknown",
        "none", "count", "type", "unpack", "name", "one answer", "exception", "syntax", "time", "recursion",
    ), NOTHING),
    # said of the rest: a gradient that is wrong as well is judged by its numbers
    **dict.fromkeys((
        "wrong result", "mutation", "state", "second call", "repeated", "second order", "dtype", "engine called", "finite differences",
    ), NOTHING),
}  # fmt: skip


def credit(found: Diagnosis | None, right: int, calls: int, resemblance: str = "") -> float:
    """The part of *value* that a gradient earns: by its numbers, by its mistake, or for the calls in which it is right.

    In how many calls it is right says how the exercise chose its shapes, and not how much is understood.

    >>> credit(None, right=6, calls=6), credit(None, right=2, calls=6), credit(None, 0, 6), credit(None, 0, 6, "multiple")
    (1.0, 0.25, 0.0, 0.5)
    """
    if right == calls:
        return 1.0
    families = families_seen(found)
    named = CREDIT.get(families[0], NOTHING) if families else NOTHING
    if any(CREDIT.get(other) for other in families[1:]):
        named = max(named, PART)  # it may as well be a slip that leaves a part
    known = DECIDED.get(resemblance, max(named, AT_LEAST.get(resemblance, NOTHING)))
    return max(known, FOR_SOME_CALLS if right else NOTHING)


def families_seen(found: Diagnosis | None) -> tuple[str, ...]:
    """The kinds of mistake that the numbers show, whatever is seen in the source."""
    if found is None or found.family == "unknown":
        return ()
    return (found.family, *found.alternatives) if found.seen is None else found.seen


def weighted(shares: Sequence[float], inputs: Sequence[str], weights: Mapping[str, float]) -> float:
    """The mean of what the gradients for these inputs earn; an input counts once, or as the exercise says.

    >>> weighted([0.0, 1.0], ["x", "bias"], {"x": 3.0})
    0.25
    """
    counts = [weights.get(x, 1.0) for x in inputs]
    return sum(share * n for share, n in zip(shares, counts, strict=True)) / sum(counts)


__all__ = [
    "AT_LEAST",
    "CREDIT",
    "DECIDED",
    "FOR_SOME_CALLS",
    "FOR_SOME_G",
    "OUT_OF_RANGE",
    "STRETCHED",
    "credit",
    "families_seen",
    "weighted",
]
