"""What gradcheck does: derivatives by a mode, by finite differences, and the two compared. Loaded when it is first called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from autolab.autograd.api import grad
from autolab.autograd.gradcheck.error import GradcheckError, Jacobian
from autolab.autograd.gradcheck.finite_differences import Perturbation, check_constant, checked_inputs, differentiable, results
from autolab.autograd.gradcheck.mismatch import Pair
from autolab.autograd.gradcheck.options import (
    check_batched,
    check_batched_forward,
    check_missing_gradients,
    check_missing_tangents,
    check_proportional,
    direction,
    run_forward,
)
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor, new_tensor


class Options(NamedTuple):
    """What gradcheck was asked for."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool
    masked: bool | None


def check(func: Any, inputs: tuple[Any, ...], options: Options) -> bool:
    """All the checks that were asked for, one after the other."""
    checked = checked_inputs(inputs)
    outputs = results(func, inputs)
    positions = differentiable(outputs)
    compare = compare_fast if options.fast_mode else compare_all
    modes = [Backward] * options.check_backward_ad + [Forward] * options.check_forward_ad
    if not positions:
        check_constant(func, inputs, checked, options.eps)
    else:
        for mode in modes:
            compare(mode(func, inputs, checked, positions, options))
    if options.check_forward_ad and options.check_undefined_grad:
        check_missing_tangents(func, inputs, checked)
    if options.check_batched_forward_grad:
        check_batched_forward(func, inputs, checked)
    if options.check_backward_ad and positions:
        if options.check_batched_grad:
            check_batched(func, inputs, checked, positions)
        check_proportional(func, inputs, checked, positions, options.masked)
        if options.check_undefined_grad:
            check_missing_gradients(func, inputs, checked, positions)
    return True


# -- by the mode that is checked ---------------------------------------------------------------------


class Mode:
    """A mode of differentiation, applied to the function: the derivatives to compare."""

    name = ""

    def __init__(self, func: Any, inputs: tuple[Any, ...], checked: list[int], positions: list[int], options: Options) -> None:
        self.func, self.inputs, self.checked, self.positions, self.options = func, inputs, checked, positions, options

    def jacobians(self) -> Iterator[tuple[int, dict[int, Jacobian]]]:
        """For each output (its number among those with a gradient) the Jacobian for each input."""
        raise NotImplementedError

    def products(self, us: dict[int, Any], vs: list[Any]) -> dict[tuple[int, int], float]:
        """v @ J @ u for each pair of output and input."""
        raise NotImplementedError


class Backward(Mode):
    """Reverse mode: one pass for each entry of an output."""

    name = "backward"

    def rows(self, out: Tensor, weight: Any) -> list[Any]:
        """The gradients of weight @ out, twice: they must be the same, of the inputs' dtype."""
        xs = [self.inputs[i] for i in self.checked]
        weight = new_tensor(weight.reshape(out.payload.shape).astype(out.payload.dtype)[()])
        passes = [grad(out, xs, weight, retain_graph=True, allow_unused=True) for _ in range(2)]
        found = [[np.zeros(x.payload.size) if g is None else np.array(g.payload).reshape(-1) for x, g in zip(xs, gs)] for gs in passes]
        for i, x, g in zip(self.checked, xs, passes[0]):
            if self.options.check_grad_dtypes and g is not None and g.dtype != x.dtype:
                raise GradcheckError(f"Gradient has dtype mismatch: input {i} is {x.dtype}, its gradient {g.dtype}")
        for i, a, b in zip(self.checked, *found):
            apart = np.abs(a - b).max(initial=0)
            if apart > self.options.nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                    f"values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was "
                    f"{self.options.nondet_tol}. The gradients of input {i} were {apart:.3g} apart; if that is expected, pass nondet_tol."
                )
        return found[0]

    def outputs(self) -> list[Tensor]:
        with recording(True):
            outputs = results(self.func, self.inputs)
        return [outputs[p] for p in self.positions]

    def jacobians(self) -> Iterator[tuple[int, dict[int, Jacobian]]]:
        for o, out in enumerate(self.outputs()):
            rows = [self.rows(out, unit) for unit in np.eye(out.payload.size)]
            yield o, {i: stacked([row[k] for row in rows], self.inputs[i], out).T for k, i in enumerate(self.checked)}

    def products(self, us: dict[int, Any], vs: list[Any]) -> dict[tuple[int, int], float]:
        return {
            (o, i): float(row @ us[i].reshape(-1))
            for o, (out, v) in enumerate(zip(self.outputs(), vs))
            for i, row in zip(self.checked, self.rows(out, v))
        }


def stacked(rows: list[Any], x: Tensor, out: Tensor) -> Jacobian:
    return np.array(rows).reshape(out.payload.size, x.payload.size)


class Forward(Mode):
    """Forward mode: one run for each entry of an input."""

    name = "forward mode"

    def run(self, i: int, direction: Any) -> list[Any]:
        tangents = run_forward(self.func, self.inputs, {k: direction if k == i else None for k in self.checked})
        for p in self.positions:
            out, t = tangents[p]
            if self.options.check_grad_dtypes and t is not None and t.dtype != out.dtype:
                raise GradcheckError(f"Forward AD gradient has dtype mismatch: output {p} is {out.dtype}, its tangent {t.dtype}")
        return [
            np.zeros(out.payload.size) if t is None else np.array(t.payload).reshape(-1) for out, t in (tangents[p] for p in self.positions)
        ]

    def jacobians(self) -> Iterator[tuple[int, dict[int, Jacobian]]]:
        found: dict[int, list[Any]] = {}
        for i in self.checked:
            units = np.eye(self.inputs[i].payload.size)
            found[i] = [self.run(i, unit) for unit in units]
        for o in range(len(self.positions)):
            yield o, {i: np.array([row[o] for row in found[i]]) for i in self.checked}

    def products(self, us: dict[int, Any], vs: list[Any]) -> dict[tuple[int, int], float]:
        return {(o, i): float(vs[o] @ t) for i in self.checked for o, t in enumerate(self.run(i, us[i].reshape(-1)))}


# -- comparing ---------------------------------------------------------------------------------------


def pair(mode: Mode, o: int, i: int, a: Jacobian, n: Jacobian, moved: Perturbation) -> Pair:
    out = results(mode.func, mode.inputs)[mode.positions[o]]
    shapes = (o, tuple(out.shape)), (i, tuple(mode.inputs[i].shape))
    return Pair(a, n, *shapes, one_sided=moved.one_sided(o), mode=mode.name)


def compare_all(mode: Mode) -> None:
    """Every entry of every Jacobian."""
    options = mode.options
    moved = {i: Perturbation(mode.func, mode.inputs, i, mode.positions, options.eps) for i in mode.checked}
    numerical = {i: m.jacobians() for i, m in moved.items()}
    for o, analytical in mode.jacobians():
        for i, a in analytical.items():
            both = pair(mode, o, i, a, numerical[i][o], moved[i])
            if not both.agree(options.atol, options.rtol):
                raise both.error(options.atol, options.rtol)


def compare_fast(mode: Mode) -> None:
    """One number for each Jacobian: along a random direction of the input, weighed by a random direction of the output."""
    options = mode.options
    rng = np.random.default_rng(0)
    us = {i: direction(rng, mode.inputs[i].payload.shape) for i in mode.checked}
    outputs = results(mode.func, mode.inputs)
    vs = [direction(rng, (outputs[p].payload.size,)) for p in mode.positions]
    analytical = mode.products(us, vs)
    for i in mode.checked:
        moved = Perturbation(mode.func, mode.inputs, i, mode.positions, options.eps)
        for o, (v, slope) in enumerate(zip(vs, moved.along(us[i]))):
            a, n = analytical[o, i], float(v @ slope)
            if not abs(a - n) <= options.atol * us[i].sum() * v.sum() + options.rtol * abs(n):
                raise said_of_all(mode, o, i, a, n, moved)


def said_of_all(mode: Mode, o: int, i: int, a: float, n: float, moved: Perturbation) -> GradcheckError:
    """Say which entry is wrong after a comparison of all at once."""
    full = dict(mode.jacobians())[o][i]
    both = pair(mode, o, i, full, moved.jacobians()[o], moved)
    error = both.error(mode.options.atol, mode.options.rtol)
    text = (
        f"{both.opening()}numerical:{n:.6g}\nanalytical:{a:.6g}\n"
        "The above quantities relating the numerical and analytical jacobians are computed \nin fast mode, along one random direction."
    )
    if both.agree(mode.options.atol, mode.options.rtol):
        text += (
            "\nFast gradcheck failed but element-wise differences are small. This means that the test might've passed in slow_mode: "
            "pass fast_mode=False."
        )
    else:
        text += f" Entry by entry: {both.report(mode.options.atol, mode.options.rtol)}"
    found = GradcheckError(text)
    found.numerical, found.analytical = error.numerical, error.analytical
    return found


def random_weights(like: Any, gaps: bool) -> Tensor:
    values = np.asarray(np.random.default_rng(0).uniform(-1, 1, like.shape)).astype(like.dtype)
    if gaps and values.ndim:
        values = np.repeat(values, 2, -1)[..., ::2]
    return new_tensor(values[()]).requires_grad_()
