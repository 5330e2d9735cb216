"""The calls that a verdict is made from. Incoming gradients are random numbers of both signs, never ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import numpy as np

from autolab.engine.op import LINEAR, Op

from .inputs import BINARY, BROADCAST, BROADCAST_3, DENSE, FLAT, LARGE, TINY, UNARY, Shapes, draw
from .reference import Reference
from .spec import Spec
from .specs import SPECS, edges
from .structure import multiples
from .thresholds import distances, nearby

MOST_NEAR = 4  # calls close to thresholds of forward, with each of the settings


@dataclass(frozen=True, eq=False)
class Case:
    """One call of the rule: what goes into forward, and the incoming gradients for backward."""

    purpose: str
    inputs: tuple[np.ndarray, ...]
    upstream: tuple[np.ndarray, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    between: tuple[np.ndarray, ...] | None = None
    right: dict[Any, Any] = field(default_factory=dict, repr=False)  # the right answer to it, and what was worked out about that

    def describe(self, names: tuple[str, ...]) -> str:
        """The shapes in words: "x (3, 5), y (5,)"."""
        shapes = [f"{x} {a.shape}" for x, a in zip(names, self.inputs, strict=False)]
        return ", ".join(shapes + [f"{k}={v!r}" for k, v in self.settings.items()])


def cases(spec: Spec, reference: Reference, rng: np.random.Generator) -> Iterator[Case]:
    """All calls that a verdict is made from."""

    made: list[tuple[np.ndarray, ...]] = []  # what `make` gives

    def inputs(shapes, settings):
        if spec.make:
            made.append(tuple(spec.make(rng, shapes, settings)))
            return made[-1]
        return tuple(_input(spec, rng, x, s) for x, s in zip(reference.inputs, shapes, strict=True))

    def case(purpose, shapes, settings, **more):
        given = inputs(shapes, settings)
        shape = _out_shape(reference, given, settings)
        g, h = draw(rng, shape), draw(rng, shape)
        return Case(purpose, given, (g, h, g), settings, **more)

    for settings in spec.settings:
        drawn = [case("value", shapes, settings) for shapes in shapes_for(spec, reference)]
        yield from drawn
        for near in _near_thresholds(spec, reference, drawn, rng):
            g = draw(rng, _out_shape(reference, near, settings))
            yield Case("value", near, (g, draw(rng, g.shape), g), settings)
    for settings in spec.besides:
        yield case("besides", shapes_for(spec, reference)[-1], settings)

    first, settings = shapes_for(spec, reference)[0], spec.settings[0]
    base = case("upstream", first, settings)
    g, h, _ = base.upstream
    if g.size == 1:  # of one number both signs are asked for
        h = -np.sign(g) * np.abs(h)
    for purpose, incoming in (("ones", np.ones_like(g)), ("zero", 0 * g), ("one", g), ("other", h), ("both", g + h)):
        yield Case(purpose, base.inputs, (incoming,), settings)
    yield Case("between", base.inputs, (g,), settings, between=inputs(first, settings))
    yield Case("float32", tuple(_as_float32(a) for a in base.inputs), (_as_float32(g),), settings)

    for shapes in broadcast_for(spec, reference):
        yield case("broadcast", shapes, settings)
    alike = not (spec.make or spec.domain.keys() - {reference.inputs[0]})
    if len(reference.inputs) == 2 and first[0] == first[1] and reference.elementwise and alike:
        a = _input(spec, rng, reference.inputs[0], first[0])
        if not _is_choice(reference, a, g, settings):
            yield Case("repeated", (a, a), (g,), settings)
    if spec.scaled:
        yield Case("scaled", tuple(spec.scaled * a for a in base.inputs), (g,), settings)
    again = partial(spec.make, np.random.default_rng(8), first, settings) if spec.make else None
    for purpose, far in _multiples(spec, reference, base.inputs, made, again) if again else _far(spec, reference, base.inputs, rng):
        if not spec.make or _can_run(reference, far, settings):
            yield Case(purpose, far, (draw(rng, _out_shape(reference, far, settings)),), settings)
    for x, values in spec.extreme.items():
        at = reference.inputs.index(x)
        given = list(base.inputs)
        given[at] = np.resize(np.array(values, float), given[at].shape)
        yield Case("extreme", tuple(given), (draw(rng, _out_shape(reference, given, settings)),), settings)
    if spec.ties:
        tied = tuple(spec.ties(rng, first, settings))
        yield Case("ties", tied, (draw(rng, _out_shape(reference, tied, settings)),), settings)
    if spec.kink:
        given = [a.copy() for a in base.inputs]
        at = reference.inputs.index(spec.kink.input)
        given[at].flat[::2] = spec.kink.at
        yield Case("kink", tuple(given), (g,), settings)


def _near_thresholds(spec: Spec, reference: Reference, drawn: Sequence[Case], rng: np.random.Generator) -> Iterator[tuple[np.ndarray, ...]]:
    """Inputs close to where forward changes its formula, where none that were drawn are."""
    settings = drawn[0].settings

    def forward(*inputs: np.ndarray) -> Any:
        return reference.forward(*inputs, **reference.call_settings(settings))

    if spec.surrogate or not distances(forward, drawn[0].inputs):
        return
    needed = list(reference.differentiable())
    movable = [k for k, x in enumerate(reference.inputs) if x in needed and drawn[0].inputs[k].dtype.kind == "f"]
    limits = [edges(spec, reference.inputs[k]) for k in movable]
    first = shapes_for(spec, reference)[0]
    make = partial(spec.make, rng, first, settings) if spec.make else None
    found = nearby(forward, [case.inputs for case in drawn], movable, limits, settings.values(), make)
    yield from islice(found, MOST_NEAR)


def _is_choice(reference: Reference, a: np.ndarray, g: np.ndarray, settings: Mapping[str, Any]) -> bool:
    """Whether the derivative jumps where both inputs are equal, and the slope there is one of several that are right.

    Where both inputs have equal shares, as in max(x, x), their sum decides.
    """

    def gradients(b: np.ndarray) -> list[np.ndarray]:
        names = reference.environment((a, b), settings)
        return [reference.gradient(x, g, names) for x in reference.differentiable()]

    if len(at := gradients(a)) < 2 or np.allclose(at[0], at[1]):
        return False
    step = 1e-7 * (1 + np.abs(a))
    return any(not np.allclose(below, above, rtol=1e-3) for below, above in zip(gradients(a - step), gradients(a + step), strict=True))


def known_cases(spec: Spec, reference: Reference, seed: int) -> Iterable[Case]:
    """The same calls again for the next check of an exercise, with all that is known of them by then."""
    if reference.drawn is not None and type(seed) is int:
        if seed not in reference.drawn:
            reference.drawn = {seed: tuple(cases(spec, reference, np.random.default_rng(seed)))}
        return reference.drawn[seed]
    if SPECS.get(spec.name) is not spec or reference.row is None or type(seed) is not int:
        return cases(spec, reference, np.random.default_rng(seed))
    return _known_cases(spec.name, seed, reference.row, tuple(function for function, _ in reference.rules.values()))


@lru_cache(8)
def _known_cases(name: str, seed: int, row: Op, rules: tuple[Callable, ...]) -> tuple[Case, ...]:
    """`rules`: where they are replaced, other answers are right."""
    return tuple(cases(SPECS[name], Reference.of(row), np.random.default_rng(seed)))


def forget() -> None:
    """Forget all calls and what is right there."""
    _known_cases.cache_clear()


def _input(spec: Spec, rng: np.random.Generator, x: str, shape: tuple[int, ...]) -> np.ndarray:
    return draw(rng, shape, *spec.domain.get(x, (-3.0, 3.0)))


def _multiples(
    spec: Spec, reference: Reference, base: tuple[np.ndarray, ...], made: Sequence[tuple[np.ndarray, ...]], make: Callable
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Each input that was made large and tiny, and all of them tiny, as far as they keep their structure."""
    if reference.row is not None and reference.row.kind == LINEAR:
        return
    all_tiny = list(base)
    for x in reference.differentiable():
        at = reference.inputs.index(x)
        low, high = edges(spec, x)
        for multiple in multiples(made, at, base[at], make):
            if np.any((multiple < low) | (multiple > high)):
                continue
            if is_tiny := np.abs(multiple).max() < 1:
                all_tiny[at] = multiple
            if len(reference.rules) > 1 if is_tiny else x not in spec.extreme:
                yield "range", (*base[:at], multiple, *base[at + 1 :])
    if any(a is not b for a, b in zip(all_tiny, base, strict=True)):
        yield "range", tuple(all_tiny)


def _far(
    spec: Spec, reference: Reference, base: tuple[np.ndarray, ...], rng: np.random.Generator
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """As far from ordinary numbers as the domain goes: each input large, very negative, or near an edge, tiny; all inputs tiny."""
    if reference.row is not None and reference.row.kind == LINEAR:
        return
    all_tiny = list(base)
    for x in reference.differentiable():
        at = reference.inputs.index(x)
        low, high = edges(spec, x)
        shape = base[at].shape

        def filled(values: Sequence[float], shape: tuple[int, ...] = shape) -> np.ndarray:
            return np.resize(np.array(values, float), shape) * (1 + 1e-3 * np.arange(math.prod(shape)).reshape(shape))  # no two alike

        def case(values: np.ndarray, x: str = x, at: int = at) -> tuple[str, tuple[np.ndarray, ...]]:
            return "extreme" if x in spec.extreme else "range", (*base[:at], values, *base[at + 1 :])

        if x not in spec.extreme and (large := [v for v in LARGE if low < v < high]):
            yield case(filled(large))
        if low == -np.inf and not reference.elementwise:
            yield case(draw(rng, shape) + LARGE[0])
        beside = [edge + (TINY[1] if edge == low else -TINY[1]) for edge in (low, high) if edge and np.isfinite(edge)]
        if beside and reference.elementwise:
            yield case(np.resize(np.array(beside), shape))
        elif beside and base[at].size:  # one entry at each edge: equal ones may be where the derivative jumps
            at_edges = base[at].copy()
            for place, value in zip((0, -1), beside, strict=False):
                at_edges.flat[place] = value
            yield case(at_edges)
        if near := [v for v in TINY if low < v < high]:
            size = np.abs(base[at]).max(initial=0.0)  # a multiple of a matrix is as far from singular
            all_tiny[at] = filled(near) * (1 + 0.3 * at) if reference.elementwise or not size else base[at] * (near[-1] / size)
            if len(reference.rules) > 1:
                yield "range", (*base[:at], all_tiny[at], *base[at + 1 :])
    if any(a is not b for a, b in zip(all_tiny, base, strict=True)):
        yield "range", tuple(all_tiny)


def _out_shape(reference: Reference, given, settings) -> tuple[int, ...]:
    return np.shape(reference.result(given, settings))


def _can_run(reference: Reference, given, settings) -> bool:
    try:
        reference.result(given, settings)
    except Exception:
        return False
    return True


def _as_float32(a: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) if a.dtype.kind == "f" else a


def shapes_for(spec: Spec, reference: Reference) -> Sequence[Shapes]:
    """Shapes without broadcasting; LookupError if the operation's kind does not tell."""
    if spec.shapes:
        return spec.shapes
    match len(reference.inputs), reference.elementwise:
        case 1, True:
            return (*UNARY, *DENSE, *FLAT)
        case 1, False:
            return UNARY
        case 2, True:
            return BINARY
        case n, True:
            return tuple((shape,) * n for shape in ((3, 5), (4, 4), (2, 3, 4)))
    if spec.row and spec.name not in SPECS:
        example = ", ".join(["(3, 5)"] * len(reference.inputs))
        raise LookupError(
            f"the shapes of the inputs of {spec.name!r} ({', '.join(reference.inputs)}) are not known: give its Spec those of each call, "
            f"such as shapes=(({example}),), or the kind ELEMENTWISE to its Op if it is that"
        )
    raise LookupError(
        f"no exercise on {spec.name!r} yet: the shapes of its inputs ({', '.join(reference.inputs)}) are not known. "
        f"Add a Spec({spec.name!r}, shapes=[...]) to autolab/check/run/specs.py, or call diagnose() with your inputs."
    )


def broadcast_for(spec: Spec, reference: Reference) -> Sequence[Shapes]:
    """Every way to broadcast, for an elementwise operation on two inputs or three that may have any shape."""
    if not spec.broadcast or not reference.elementwise or any(len(set(shapes)) > 1 for shapes in spec.shapes):
        return ()
    return {2: BROADCAST, 3: BROADCAST_3}.get(len(reference.inputs), ())
