"""How many points an answer is worth: as many as its author has understood. docs/decisions/points.md says why.

A gradient that is right earns all of *value*. One that is wrong by a single slip earns half, one that has a part of the
derivative a quarter, any other nothing. What comes besides (shape, broadcasting, stability, care) is earned by right gradients alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..diagnosis.diagnosis import Diagnosis

SLIP, PART = 0.5, 0.25
CREDIT = {
    # the derivative is there, and one thing about it is wrong
    **dict.fromkeys((
        "sign", "term sign", "constant", "number", "averaged", "precision", "kink", "tie", "2-D only", "flattened", "keepdims", "swapped",
        "nan", "unstable", "clipped", "integer", "square only",
    ), SLIP),
    # a part of the derivative is there
    **dict.fromkeys((
        "upstream ignored", "factor", "division", "power", "term", "extra term", "operation", "diagonal only", "one of many", "overwritten",
        "not summed", "not spread", "wrong axis", "axis", "setting", "mask", "places", "transposed", "order", "flipped", "permutation",
        "padding", "series",
    ), PART),
}  # fmt: skip
OUT_OF_RANGE = 0.75  # right for ordinary numbers, and not for large or tiny ones


def credit(found: Diagnosis | None, right: int, calls: int) -> float:
    """The part of *value* that a gradient earns: by its mistake, or by the calls in which it is right.

    >>> credit(None, right=6, calls=6), credit(None, right=2, calls=6)
    (1.0, 0.16666666666666666)
    """
    if right == calls:
        return 1.0
    known = CREDIT.get(found.family, 0.0) if found and found.certainty != "unknown" else 0.0
    return max(known, SLIP * right / calls)


def weighted(shares: Sequence[float], inputs: Sequence[str], weights: Mapping[str, float]) -> float:
    """The mean of what the gradients for these inputs earn; an input counts once, or as the exercise says.

    >>> weighted([0.0, 1.0], ["x", "bias"], {"x": 3.0})
    0.25
    """
    counts = [weights.get(x, 1.0) for x in inputs]
    return sum(share * n for share, n in zip(shares, counts, strict=True)) / sum(counts)


__all__ = ["CREDIT", "OUT_OF_RANGE", "credit", "weighted"]
