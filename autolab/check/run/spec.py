"""What an exercise on an operation says: the operation, the inputs to try it on, its kink, the points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autolab.engine.op import Op

from .inputs import Shapes

POINTS = {
    "forward": 1.0, "shape": 0.5, "value": 3.5, "upstream": 1.0, "broadcasting": 2.0,
    "accumulation": 0.5, "purity": 0.5, "dtype": 0.5, "method": 0.5, "stability": 1.0,
    "second order": 1.0,
}  # fmt: skip


@dataclass(frozen=True)
class Kink:
    """Where the derivative jumps: any slope between the two sides is right there; `convention` is PyTorch's.

    >>> Kink("x", 0.0, slopes=(0.0, 1.0), convention=0.0)  # relu
    Kink(input='x', at=0.0, slopes=(0.0, 1.0), convention=0.0)
    """

    input: str
    at: float
    slopes: tuple[float, float]
    convention: float


@dataclass(frozen=True)
class Spec:
    """One exercise on an operation: what to try it on, and what the table does not know about it.

    Without `shapes` the kind of the row decides: any operation on one array, or elementwise on several, needs none.
    Raises LookupError, when it is checked, if the inputs that it says do not fit the operation.

    >>> from autolab.check import check
    >>> print(check(Spec("log", domain={"x": (0.1, 3.0)}), lambda g, x: g / x).passed)
    True
    """

    name: str
    row: Op | None = None  # for an operation that the table builds from others
    shapes: Sequence[Shapes] = ()  # of each input, for each call
    settings: Sequence[Mapping[str, Any]] = ({},)  # keywords of the operation, such as axis
    # More settings: a rule may raise there, and if it answers, that has to be right. Names that `settings` does not have are for rules
    # that ask for them; another rule that is wrong there is told so, which costs nothing.
    besides: Sequence[Mapping[str, Any]] = ()
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # between which numbers an input is drawn
    # make(rng, shapes, settings) -> inputs, where random numbers will not do; large and tiny ones are multiples of them that keep what
    # structure shows, or left to `extreme`
    make: Callable | None = None
    kink: Kink | None = None
    ties: Callable | None = None  # as make, with equal entries: to which of them g goes is remarked on, and costs nothing
    extreme: Mapping[str, Sequence[float]] = field(default_factory=dict)  # where a careless formula overflows
    second: bool = False  # must the rule itself be differentiable?
    broadcast: bool = True  # may the inputs of an elementwise operation have different shapes?
    surrogate: bool = False  # its rule is not a derivative of forward, such as a straight-through estimator
    scaled: float = 0.0  # also try inputs this many times larger: finite differences lose their digits
    points: Mapping[str, float] = field(default_factory=lambda: POINTS)  # what each property is worth
    weights: Mapping[str, float] = field(default_factory=dict)  # how much of it the gradient for an input counts, if not once
    hints: Mapping[str, str] = field(default_factory=dict)  # for a family, in place of the usual one
