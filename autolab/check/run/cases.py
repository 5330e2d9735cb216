"""Inputs on which a wrong rule cannot look right.

No entry lies near 0, 1 or 2 (x * x, x + x and x ** x agree at 2); shapes are square and not; n, n - 1, N and N * M all
differ; every way to broadcast is tried. Incoming gradients are random numbers of both signs, never ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .reference import Reference
    from .specs import Spec

UNARY = (((3, 5),), ((4, 4),), ((2, 3, 4),))
BINARY = (((3, 5), (3, 5)), ((4, 4), (4, 4)))
BROADCAST = (
    ((3, 5), (5,)), ((5,), (3, 5)),          # an axis that one of them does not have
    ((3, 5), (3, 1)), ((1, 5), (3, 5)),      # an axis of size 1
    ((3, 1), (1, 5)),                        # both are stretched
    ((4, 4), (4,)), ((4, 1), (4, 4)),        # square: the wrong axis has the right size
    ((3, 5), ()), ((), (3, 5)),              # a single number
    ((2, 3, 4), (3, 1)), ((4, 1, 5), (3, 5)),  # both kinds at once
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Case:
    """One call of the rule: what goes into forward, and the incoming gradients for backward."""

    purpose: str
    inputs: tuple[np.ndarray, ...]
    upstream: tuple[np.ndarray, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    between: tuple[np.ndarray, ...] | None = None

    def describe(self, names: tuple[str, ...]) -> str:
        """The shapes in words: "x (3, 5), y (5,)"."""
        shapes = [f"{x} {a.shape}" for x, a in zip(names, self.inputs, strict=False)]
        return ", ".join(shapes + [f"{k}={v!r}" for k, v in self.settings.items()])


def draw(rng: np.random.Generator, shape: tuple[int, ...], low: float = -3.0, high: float = 3.0) -> np.ndarray:
    """Random numbers in [low, high) that keep 0.08 away from every whole number."""
    a = np.asarray(rng.uniform(low, high, shape))
    whole = np.floor(a)
    return np.asarray(whole + 0.08 + 0.84 * (a - whole))


def cases(spec: Spec, reference: Reference, rng: np.random.Generator) -> Iterator[Case]:
    """All calls that a verdict is made from."""

    def inputs(shapes, settings):
        made = spec.make(rng, shapes, settings) if spec.make else ()
        return tuple(made) or tuple(_input(spec, rng, x, s) for x, s in zip(reference.inputs, shapes, strict=True))

    def case(purpose, shapes, settings, **more):
        given = inputs(shapes, settings)
        shape = _out_shape(reference, given, settings)
        g, h = draw(rng, shape), draw(rng, shape)
        return Case(purpose, given, (g, h, g), settings, **more)

    for settings in spec.settings:
        for shapes in spec.shapes_for(reference):
            yield case("value", shapes, settings)

    first, settings = spec.shapes_for(reference)[0], spec.settings[0]
    base = case("upstream", first, settings)
    g, h, _ = base.upstream
    for purpose, incoming in (("ones", np.ones_like(g)), ("zero", 0 * g), ("one", g), ("other", h), ("both", g + h)):
        yield Case(purpose, base.inputs, (incoming,), settings)
    yield Case("between", base.inputs, (g,), settings, between=inputs(first, settings))
    yield Case("float32", tuple(_as_float32(a) for a in base.inputs), (_as_float32(g),), settings)

    for shapes in spec.broadcast_for(reference):
        yield case("broadcast", shapes, settings)
    alike = not (spec.make or spec.domain.keys() - {reference.inputs[0]})
    if len(reference.inputs) == 2 and first[0] == first[1] and reference.elementwise and alike:
        a = _input(spec, rng, reference.inputs[0], first[0])
        yield Case("repeated", (a, a), (g,), settings)
    if spec.scaled:
        yield Case("scaled", tuple(spec.scaled * a for a in base.inputs), (g,), settings)
    for x, values in spec.extreme.items():
        at = reference.inputs.index(x)
        given = list(base.inputs)
        given[at] = np.resize(np.array(values, float), given[at].shape)
        yield Case("extreme", tuple(given), (draw(rng, _out_shape(reference, given, settings)),), settings)
    if spec.kink:
        given = [a.copy() for a in base.inputs]
        at = reference.inputs.index(spec.kink.input)
        given[at].flat[::2] = spec.kink.at
        yield Case("kink", tuple(given), (g,), settings)


def _input(spec: Spec, rng: np.random.Generator, x: str, shape: tuple[int, ...]) -> np.ndarray:
    return draw(rng, shape, *spec.domain.get(x, (-3.0, 3.0)))


def _out_shape(reference: Reference, given, settings) -> tuple[int, ...]:
    return np.shape(reference.result(given, settings))


def _as_float32(a: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) if a.dtype.kind == "f" else a
