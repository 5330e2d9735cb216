"""What an exercise on an operation says: the operation, the inputs to try it on, its kink, the points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autolab.engine.op import Op

from .inputs import Shapes

POINTS = {
    "forward": 1.0, "shape": 1.0, "value": 2.0, "upstream": 2.0, "broadcasting": 2.0,
    "accumulation": 0.5, "purity": 0.5, "dtype": 0.5, "method": 0.5, "stability": 1.0,
    "second order": 1.0,
}  # fmt: skip


@dataclass(frozen=True)
class Kink:
    """Where the derivative jumps: any slope between the two sides is right there; `convention` is PyTorch's."""

    input: str
    at: float
    slopes: tuple[float, float]
    convention: float


@dataclass(frozen=True)
class Spec:
    """One exercise: an operation, the inputs to try it on, the hints and the points."""

    name: str
    row: Op | None = None  # for an operation that the table builds from others
    shapes: Sequence[Shapes] = ()
    settings: Sequence[Mapping[str, Any]] = ({},)
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    make: Callable | None = None  # make(rng, shapes, settings) -> inputs, where random numbers will not do
    kink: Kink | None = None
    extreme: Mapping[str, Sequence[float]] = field(default_factory=dict)  # where a careless formula overflows
    second: bool = False  # must the rule itself be differentiable?
    scaled: float = 0.0  # also try inputs this many times larger: finite differences lose their digits
    points: Mapping[str, float] = field(default_factory=lambda: POINTS)
    hints: Mapping[str, str] = field(default_factory=dict)
