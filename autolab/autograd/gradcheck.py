"""Compare a function's derivatives with finite differences, and say exactly where they part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from autolab.autograd.api import as_tuple, grad
from autolab.autograd.differences import Moved, check_constant, checked_inputs, differentiable, results
from autolab.autograd.incoming import (
    check_batched,
    check_batched_forward,
    check_missing_gradients,
    check_missing_tangents,
    check_proportional,
    direction,
    run_forward,
)  # fmt: skip
from autolab.autograd.jacobians import get_analytical_jacobian, get_numerical_jacobian  # noqa: F401  where PyTorch keeps them
from autolab.autograd.mismatch import GradcheckError, Jacobian, Pair
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor, fresh


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


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """True if func's derivatives agree with finite differences within atol + rtol * |finite difference|.

    inputs: a Tensor or a tuple; those that require grad are checked, and should be float64. func returns a Tensor or a tuple of
    them. eps: how far an input is moved to each side. nondet_tol: how much two equal backward passes may differ.
    check_undefined_grad: also run with outputs whose gradient nobody gives (forward mode: inputs without a tangent).
    check_grad_dtypes: gradients must have the dtype of their input. check_backward_ad, check_forward_ad: which modes to check.
    check_batched_grad, check_batched_forward_grad: gradients by vmap must equal those one by one. fast_mode: compare one random
    combination of all entries instead of each (an error names the entries all the same). masked: for sparse tensors, of which there
    are none; here it lets a gradient of almost zero count as zero where nothing comes in.

    Raises GradcheckError (False instead, if raise_exception is False) naming output, input, entry, both numbers and a likely cause;
    ValueError if no input requires grad.

    >>> x = randn(3, dtype=float64, requires_grad=True)
    >>> gradcheck(lambda x: x.exp(), x, check_forward_ad=True)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    options = Options(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad, check_batched_forward_grad,
        check_forward_ad, check_backward_ad, fast_mode, masked,
    )  # fmt: skip
    try:
        return check(func, as_tuple(inputs), options)
    except GradcheckError:
        if raise_exception:
            raise
        return False


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
    """A mode of differentiation at work on the function: the derivatives that are to be compared."""

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
        weight = fresh(weight.reshape(out.payload.shape).astype(out.payload.dtype)[()])
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
            np.zeros(out.payload.size) if t is None else np.array(t.payload).reshape(-1)
            for out, t in (tangents[p] for p in self.positions)
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


def pair(mode: Mode, o: int, i: int, a: Jacobian, n: Jacobian, moved: Moved) -> Pair:
    out = results(mode.func, mode.inputs)[mode.positions[o]]
    shapes = (o, tuple(out.shape)), (i, tuple(mode.inputs[i].shape))
    return Pair(a, n, *shapes, one_sided=moved.one_sided(o), mode=mode.name)


def compare_all(mode: Mode) -> None:
    """Every entry of every Jacobian."""
    options = mode.options
    moved = {i: Moved(mode.func, mode.inputs, i, mode.positions, options.eps) for i in mode.checked}
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
        moved = Moved(mode.func, mode.inputs, i, mode.positions, options.eps)
        for o, (v, slope) in enumerate(zip(vs, moved.along(us[i]))):
            a, n = analytical[o, i], float(v @ slope)
            if not abs(a - n) <= options.atol * us[i].sum() * v.sum() + options.rtol * abs(n):
                raise said_of_all(mode, o, i, a, n, moved)


def said_of_all(mode: Mode, o: int, i: int, a: float, n: float, moved: Moved) -> GradcheckError:
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


# -- twice -------------------------------------------------------------------------------------------


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradients of func, so that second derivatives are compared with finite differences of the first.

    grad_outputs: the weights of the outputs; random if not given (with gaps in memory if gen_non_contig_grad_outputs). The inputs
    of the check are those of func, then the weights. check_rev_over_rev, check_fwd_over_rev: in which mode the gradients are
    differentiated again.

    >>> x = randn(3, dtype=float64, requires_grad=True)
    >>> gradgradcheck(lambda x: x.exp(), x, check_fwd_over_rev=True)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, asked in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    inputs = as_tuple(inputs)
    outputs = results(func, inputs)
    positions = differentiable(outputs)
    if grad_outputs is None:
        weights = [random_weights(outputs[p].payload, gen_non_contig_grad_outputs) for p in positions]
    else:
        weights = list(as_tuple(grad_outputs))
    given = (*inputs, *weights)
    moving = [i for i, t in enumerate(given) if isinstance(t, Tensor) and t.requires_grad]
    count = len(inputs)
    wanted = [i for i in moving if i < count]

    def first(*args: Any) -> tuple[Tensor, ...]:
        with recording(True):
            xs = [x.requires_grad_() if i in moving else x for i, x in enumerate(args)]
            outs = results(func, tuple(xs[:count]))
            gs = grad([outs[p] for p in positions], [xs[i] for i in wanted], xs[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in gs if g is not None)

    try:
        return gradcheck(
            first, given, eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol, fast_mode=fast_mode, masked=masked,
            check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
            check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
        )  # fmt: skip
    except GradcheckError as error:
        if not raise_exception:
            return False
        explained = GradcheckError(
            f"{error}\nThis was gradgradcheck: an output is the gradient of func for one of its inputs {wanted}; inputs from "
            f"number {count} on are the weights of func's outputs."
        )
        explained.numerical, explained.analytical = error.numerical, error.analytical
        raise explained from None


def random_weights(like: Any, gaps: bool) -> Tensor:
    values = np.asarray(np.random.default_rng(0).uniform(-1, 1, like.shape)).astype(like.dtype)
    if gaps and values.ndim:
        values = np.repeat(values, 2, -1)[..., ::2]
    return fresh(values[()]).requires_grad_()
