"""Are the rules of an exercise the derivatives of its own forward? They are held against differences, at every input of the check.

A mistake in a reference would refuse right answers. So a course proves it before anything is graded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from autolab.autograd import enable_grad

from .candidate import second_order
from .cases import Case, cases
from .differences import EVERYWHERE, gradient
from .inputs import draw
from .reference import Reference
from .spec import Kink, Spec
from .specs import edges

SEEDS = 4  # of an elementwise operation; of another, which is differentiated entry by entry, half as many
SURE, WRONG = 1e-8, 1e-5  # relative to the largest entry: differences that are less sure say nothing
JUDGED = ("value", "broadcast", "repeated", "range", "extreme", "kink", "points")
FAR = ("range", "extreme")  # here each entry counts by itself, as in the check
LEAST = 0.3  # of all places where forward is a number differences must say something
MAGNITUDES = (0.02, 0.3, 1.7, 4.6, 7.3, 13.7, 37.0, 130.0)


def prove(spec: Spec, reference: Reference | None = None) -> list[str]:
    """What does not hold of a reference, in sentences; nothing if each rule is the derivative of forward, in float64.

    Where differences do not settle, as at a kink or where the derivative is infinite, nothing is said. With `second`, the rules
    must be differentiable, and their own derivatives are compared as well. The rule of a `surrogate` is not a derivative; its shape
    is looked at alone.

    >>> from autolab.engine.op import ELEMENTWISE, Op
    >>> print(prove(Spec("third", Op("third", lambda x: x**3, ELEMENTWISE, x=lambda g, x: 3 * g * x)))[0])
    the rule for x is not the derivative of forward: at x = 0.18..., g = ...: the rule gives -0.165..., differences ... give -0.0297...
    >>> prove(Spec("third", Op("third", lambda x: x**3, ELEMENTWISE, x=lambda g, x: 3 * g * x * x)))
    []
    """
    try:
        reference = reference or Reference.of(spec)
    except TypeError as error:  # a rule asks for what is not a value
        return [str(error)]
    if strange := sorted({*spec.domain, *spec.extreme, *([spec.kink.input] if spec.kink else [])} - {*reference.inputs}):
        return [f"the spec says something of {', '.join(strange)}, and the inputs of forward are {', '.join(reference.inputs)}"]
    if getattr(reference.row, "variadic", False):  # the check does not call it with several arrays either
        return []
    found: dict[str, str] = {}
    settled = dict.fromkeys(reference.differentiable(), (0, 0))
    with np.errstate(all="ignore"):
        for seed in range(SEEDS if reference.elementwise else SEEDS // 2):
            rng = np.random.default_rng([seed, 11])
            try:
                drawn = (*cases(spec, reference, rng), *_more_points(spec, reference, rng))
            except LookupError as error:
                if type(error) is LookupError:  # the shapes are not known, which is said with what to do
                    raise
                return [_not_drawn(error)]
            except Exception as error:
                return [_not_drawn(error)]
            for case in drawn:
                if case.purpose not in JUDGED:
                    continue
                try:
                    _compare(spec, reference, case, found, settled)
                except Exception as error:  # forward or a rule raises: it is the author's, and anything may be wrong with it
                    return [f"the reference raises {type(error).__name__}: {error} (with {case.describe(reference.inputs)})"]
            if spec.second and not found:
                found |= _second(spec, reference, rng)
    for x, (sure, of) in settled.items():
        if sure < LEAST * of and x not in found and not spec.surrogate:
            found[x] = (
                f"the rule for {x} cannot be proven: differences of forward settle at {sure} of {of} places only; "
                "forward must be a function of its inputs alone, in float64, with a derivative almost everywhere"
            )
    return list(found.values())


def _not_drawn(error: Exception) -> str:
    return f"forward, or what makes its inputs, raises {type(error).__name__}: {error}; it is called with arrays of several shapes"


def _compare(spec: Spec, reference: Reference, case: Case, found: dict[str, str], settled: dict[str, tuple[int, int]]) -> None:
    """Each rule against differences, in one case; the first place that is wrong goes into `found`, by input."""
    names, g = reference.environment(case.inputs, case.settings), case.upstream[0]
    out = names["out"]
    if not np.array_equal(out, reference.result(case.inputs, case.settings), equal_nan=True):
        found.setdefault("forward", "forward gives another result when it is called with the same inputs again")
        return
    if case.purpose == "value" and np.isnan(out).any():
        domain = f"domain={{{reference.inputs[0]!r}: (0.1, 3.0)}}"
        where = _where_nan(reference, case, out)
        found.setdefault("forward", f"forward is not a number for some inputs ({where}): give the spec a domain, such as {domain}")
        return
    for x in settled:
        if x in found:
            continue
        k, got = reference.inputs.index(x), np.asarray(reference.gradient(x, g, names))
        if got.shape != np.shape(case.inputs[k]):
            found[x] = (
                f"the rule for {x} returns shape {got.shape} for an input of shape {np.shape(case.inputs[k])} "
                f"(with {case.describe(reference.inputs)})"
            )
        elif case.purpose == "kink" and spec.kink and x == spec.kink.input and (text := _at_kink(spec.kink, case, k, got)):
            found[x] = text
        elif not spec.surrogate:
            want, uncertainty = gradient(partial(_result, reference, case), case.inputs, k, g, reference.elementwise, edges(spec, x))
            size = _size(got, out, g, case.purpose)
            sure = uncertainty <= SURE * size
            if case.purpose not in (*FAR, "kink"):
                known = np.isfinite(out) if out.shape == want.shape else np.full(want.shape, np.isfinite(out).all())
                settled[x] = settled[x][0] + int((sure & known).sum()), settled[x][1] + int(known.sum())
            off = sure & ~(np.abs(got - want) <= WRONG * size)
            if off.any():
                found[x] = _sentence(reference, case, x, got, want, tuple(int(i) for i in np.argwhere(off)[0]))


def _result(reference: Reference, case: Case, *inputs: np.ndarray) -> np.ndarray:
    """Forward on inputs near those of a case. Among tiny numbers a step may leave what forward takes: then nothing settles there."""
    try:
        return np.asarray(reference.result(inputs, case.settings))
    except Exception:
        if case.purpose not in FAR:
            raise
        return np.full(reference.environment(case.inputs, case.settings)["out"].shape, np.nan)


def _where_nan(reference: Reference, case: Case, out: np.ndarray) -> str:
    if not reference.elementwise or any(np.shape(a) != out.shape for a in case.inputs):
        return f"with {case.describe(reference.inputs)}"
    at = tuple(np.argwhere(np.isnan(out))[0])
    return ", ".join(f"{x} = {a[at]:.3g}" for x, a in zip(reference.inputs, case.inputs, strict=True))


def _at_kink(kink: Kink, case: Case, k: int, got: np.ndarray) -> str:
    """What is wrong with the slope that the rule takes at the kink; nothing if it lies between those of both sides."""
    at = case.inputs[k] == kink.at
    slopes, (low, high) = got[at] / case.upstream[0][at], kink.slopes
    if np.all((slopes >= low - 1e-12) & (slopes <= high + 1e-12)):
        return ""
    return f"at the kink {kink.input} = {kink.at:g} the rule takes the slope {slopes[0]:.6g}, which is not between {low:g} and {high:g}"


def _size(got: np.ndarray, out: np.ndarray, g: np.ndarray, purpose: str) -> Any:
    """To what a difference is relative: the entry itself where numbers are far apart, else the largest of all."""
    if purpose in FAR:
        return np.where(np.isfinite(got), np.abs(got), 0.0) + 1
    largest, result, incoming = (np.abs(a[np.isfinite(a)]).max(initial=0.0) for a in (got, out, g))
    return largest + 1e-4 * result * incoming  # differences of a constant are rounding


def _sentence(reference: Reference, case: Case, x: str, got: np.ndarray, want: np.ndarray, at: tuple[int, ...]) -> str:
    value, g = np.asarray(case.inputs[reference.inputs.index(x)])[at], case.upstream[0]
    entry = f"{x}{list(at)}" if at and not reference.elementwise else x  # of a matrix it matters which
    place = f"at {entry} = {value:.6g}" + (f", g = {g[at]:.6g}" if g.shape == got.shape and reference.elementwise else "")
    if len(reference.inputs) > 1 or case.settings:
        place = f"with {case.describe(reference.inputs)}, {place}"
    return (
        f"the rule for {x} is not the derivative of forward: {place}: the rule gives {got[at]:.6g}, "
        f"differences of forward give {want[at]:.6g}"
    )


def _more_points(spec: Spec, reference: Reference, rng: np.random.Generator) -> Iterator[Case]:
    """Numbers of every size for an elementwise operation, so that every piece of it is met; of inputs made for ties, some without."""
    needed = tuple(reference.differentiable())
    if spec.make:
        case = next(iter(cases(spec, reference, rng)))
        apart = [a * rng.uniform(0.98, 1.0, np.shape(a)) if x in needed else a for x, a in zip(reference.inputs, case.inputs, strict=True)]
        yield replace(case, purpose="points", inputs=tuple(apart))
    elif reference.elementwise and len({s for shapes in spec.shapes for s in shapes}) <= len(spec.shapes):
        numbers = np.array([sign * m for m in MAGNITUDES for sign in (1, -1)]) * rng.uniform(0.9, 1.1, 2 * len(MAGNITUDES))
        base = {x: draw(rng, numbers.shape, *spec.domain.get(x, (-3.0, 3.0))) for x in reference.inputs}
        for x in needed:
            low, high = edges(spec, x)
            inside = np.where((numbers > low) & (numbers < high), numbers, base[x])
            yield Case("points", tuple(inside if y == x else a for y, a in base.items()), (draw(rng, numbers.shape),), spec.settings[0])


def _second(spec: Spec, reference: Reference, rng: np.random.Generator) -> dict[str, str]:
    """The derivatives of the rules, by the engine, against differences of the rules."""
    case = next(iter(cases(spec, reference, rng)))
    needed, g, settings = tuple(reference.differentiable()), case.upstream[0], reference.call_settings(case.settings)
    v = [draw(rng, np.shape(case.inputs[reference.inputs.index(x)])) for x in needed]
    try:
        with enable_grad():
            got = second_order(reference.row, case.inputs, (), settings, needed, reference.inputs, g, v)
    except Exception as error:
        return {"second": f"the rules cannot be differentiated again: {type(error).__name__}: {error}"}

    def total(*arrays: np.ndarray) -> np.ndarray:
        *inputs, incoming = arrays
        names = reference.environment(inputs, case.settings)
        return sum(np.sum(a * reference.gradient(x, incoming, names)) for x, a in zip(needed, v, strict=True))

    arrays = (*case.inputs, g)
    for x, second in zip((*needed, "g"), got, strict=True):
        k = len(arrays) - 1 if x == "g" else reference.inputs.index(x)
        want, uncertainty = gradient(total, arrays, k, np.array(1.0), within=spec.domain.get(x, EVERYWHERE))
        second = np.zeros(want.shape) if second is None else second
        size = np.abs(want).max(initial=0.0) + 1e-12
        off = (uncertainty <= SURE * size) & ~(np.abs(second - want) <= WRONG * size)
        if off.any():
            at = tuple(int(i) for i in np.argwhere(off)[0])
            return {"second": (
                f"the derivative of the rules for {x}{list(at) if at else ''} is not that of their values (with "
                f"{case.describe(reference.inputs)}): the engine gives {second[at]:.6g}, differences of the rules give {want[at]:.6g}"
            )}  # fmt: skip
    return {}
