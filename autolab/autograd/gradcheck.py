"""Compare a function's gradients with finite differences, and say exactly where they part."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.autograd.api import as_tuple, grad
from autolab.autograd.function import Function
from autolab.engine.dtypes import FLOATING
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor, fresh


class GradcheckError(RuntimeError):
    """Raised by gradcheck and gradgradcheck when gradients are wrong."""


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
    """True if func's gradients agree with finite differences within atol + rtol * |finite difference|.

    inputs: a Tensor or a tuple; those that require grad are checked, and should be float64. func returns a Tensor or a tuple of
    them. nondet_tol: how much two equal backward passes may differ. check_undefined_grad: also run backward with outputs whose
    gradient nobody gives. Every entry is always compared, so fast_mode, masked and check_grad_dtypes change nothing here.

    Raises GradcheckError (False instead, if raise_exception is False) naming output, input, entry and both numbers;
    ValueError if no input requires grad.

    >>> x = randn(3, dtype=float64, requires_grad=True)
    >>> gradcheck(lambda x: x.exp(), x)
    True
    """
    if check_batched_grad or check_batched_forward_grad or check_forward_ad:
        raise NotImplementedError("checks of forward mode and of batched gradients need forward mode and vmap, which are not built")
    if not check_backward_ad:
        return True
    try:
        return _check(func, as_tuple(inputs), eps, atol, rtol, nondet_tol, check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _check(
    func: Any, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float, check_undefined_grad: bool
) -> bool:
    checked = checked_inputs(inputs)
    outputs = results(func, inputs)
    positions = differentiable(outputs)
    if not positions:
        _check_constant(func, inputs, checked, eps)
        return True
    for i in checked:
        numeric = numerical_jacobians(func, inputs, i, positions, eps)
        for o, (position, n) in enumerate(zip(positions, numeric)):
            a, again = (analytic_jacobian(func, inputs, i, position) for _ in range(2))
            compare(a, n, o, i, tuple(outputs[position].shape), tuple(inputs[i].shape), atol, rtol)
            if np.abs(a - again).max(initial=0) > nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    f"different values, although analytical gradient matches numerical gradient. The tolerance for "
                    f"nondeterminism was {nondet_tol}."
                )
    _check_proportional(func, inputs, checked, positions)
    if check_undefined_grad:
        _check_undefined(func, inputs, checked, positions)
    return True


def checked_inputs(inputs: tuple[Any, ...]) -> list[int]:
    """The positions of the inputs to check; their dtype, memory and values must allow it."""
    positions = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    if not positions:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for i in positions:
        array = np.atleast_1d(inputs[i].payload)
        if array.dtype != np.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or complex. "
                f"Pass it as float64: finite differences of {array.dtype} lose too many digits.",
                stacklevel=4,
            )
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            raise GradcheckError(
                f"Jacobian mismatch for output 0 with respect to input {i}: the input itself is {array[tuple(bad[0])]} "
                f"at index {bad[0].tolist()}, and finite differences around it mean nothing. Pass finite numbers."
            )
        if array.size > 1 and 0 in array.strides:
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
                "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
                "to gradcheck."
            )
    return positions


def results(func: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    got = func(*inputs)
    if not isinstance(got, Tensor) and not (isinstance(got, tuple | list) and any(isinstance(t, Tensor) for t in got)):
        raise TypeError(f"gradcheck compares Tensors: func must return one or a tuple of them, but returned {type(got).__name__}")
    return as_tuple(got)


def is_floating(t: Any) -> bool:
    return isinstance(t, Tensor) and t.payload.dtype in FLOATING


def differentiable(outputs: tuple[Any, ...]) -> list[int]:
    """The positions of the outputs that have a gradient."""
    return [k for k, t in enumerate(outputs) if is_floating(t) and t.requires_grad]


def _check_constant(func: Any, inputs: tuple[Any, ...], checked: list[int], eps: float) -> None:
    """Outputs without a graph may not depend on the inputs."""
    plain = [k for k, t in enumerate(results(func, inputs)) if is_floating(t)]
    for i in checked:
        for n in numerical_jacobians(func, inputs, i, plain, eps):
            if np.abs(n).max(initial=0) > 1e-6:
                raise GradcheckError(
                    f"Numerical gradient for function expected to be zero: no output requires grad, yet input {i} moves one. "
                    "Is the graph cut (detach, .data, .item(), no_grad)?"
                )


def numerical_jacobians(func: Any, inputs: tuple[Any, ...], i: int, positions: list[int], eps: float) -> list[Any]:
    """For each output, (entries of input i, entries of the output): central differences, one entry of the input moved at a time."""
    array = np.array(inputs[i].payload)
    moved = list(inputs)
    columns: list[list[Any]] = [[] for _ in positions]

    def values() -> list[Any]:
        moved[i] = fresh(array.copy()[()]).requires_grad_()
        outputs = results(func, tuple(moved))
        return [np.asarray(outputs[k].payload).reshape(-1) for k in positions]

    for at in itertools.product(*map(range, array.shape)):
        before = array[at]
        array[at] = before + eps
        up = values()
        array[at] = before - eps
        down = values()
        array[at] = before
        for column, u, d in zip(columns, up, down):
            column.append((u - d) / (2 * eps))
    return [np.array(c) if c else np.zeros((0, 0)) for c in columns]


def analytic_jacobian(func: Any, inputs: tuple[Any, ...], i: int, position: int) -> Any:
    """The same by backward passes: one for each entry of the output."""
    with recording(True):
        out = results(func, inputs)[position]
    shape, n = out.payload.shape, out.payload.size
    jacobian = np.zeros((inputs[i].payload.size, n))
    for k in range(n):
        unit = np.zeros(n, out.payload.dtype)
        unit[k] = 1
        (g,) = grad(out, inputs[i], fresh(unit.reshape(shape)), retain_graph=True, allow_unused=True)
        if g is not None:
            jacobian[:, k] = np.array(g.payload).reshape(-1)
    return jacobian


def compare(a: Any, n: Any, o: int, i: int, out_shape: Any, in_shape: Any, atol: float, rtol: float) -> None:
    if a.size == 0 or np.allclose(a, n, rtol, atol, equal_nan=False):
        return
    difference = np.where(np.isnan(a - n), np.inf, np.abs(a - n) - rtol * np.abs(n))
    row, column = np.unravel_index(np.argmax(difference), a.shape)
    entry = [int(k) for k in np.unravel_index(row, in_shape)] if in_shape else []
    result = [int(k) for k in np.unravel_index(column, out_shape)] if out_shape else []
    raise GradcheckError(
        f"Jacobian mismatch for output {o} with respect to input {i},\n"
        f"numerical:{n}\nanalytical:{a}\n"
        f"The worst entry: d output{result} / d input{entry} is {n[row, column]:.6g} by finite differences, "
        f"but backward gives {a[row, column]:.6g}.{guess(a, n)}"
    )


def guess(a: Any, n: Any) -> str:
    """A likely cause, if the mismatch has a simple form."""
    if np.allclose(a, 0):
        return " Backward gives zero everywhere: is the graph cut (detach, .data, .item()) or a gradient returned as None?"
    if np.allclose(a, -n, rtol=1e-3, atol=1e-5):
        return " All signs are the other way round."
    with np.errstate(all="ignore"):
        ratio = a[np.abs(n) > 1e-4] / n[np.abs(n) > 1e-4]
    if ratio.size and np.allclose(ratio, ratio[0], rtol=1e-3) and np.allclose(a[np.abs(n) <= 1e-4], 0, atol=1e-4):
        return f" Backward is {ratio[0]:.4g} times the right gradient everywhere: a constant factor."
    return ""


def _check_proportional(func: Any, inputs: tuple[Any, ...], checked: list[int], positions: list[int]) -> None:
    """Where nothing comes in, nothing may go out."""
    outputs = results(func, inputs)
    zeros = [fresh(np.zeros_like(outputs[p].payload)[()]) for p in positions]
    gs = grad([outputs[p] for p in positions], [inputs[i] for i in checked], zeros, allow_unused=True)
    for i, g in zip(checked, gs):
        if g is not None and np.any(g.payload):
            raise GradcheckError(
                f"backward not multiplied by grad_output: for an incoming gradient of zeros, input {i} got {g.payload.tolist()}"
            )


class Undefined(Function):
    """The identity, whose gradient is None: what a node gets when nobody gives a gradient for its output."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Return x."""
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """Give no gradient."""
        return None


def _check_undefined(func: Any, inputs: tuple[Any, ...], checked: list[int], positions: list[int]) -> None:
    """Backward must cope with outputs whose gradient nobody gives: with all of them, then with each alone."""
    for missing in [positions, *([p] for p in positions if len(positions) > 1)]:
        outputs = results(func, inputs)
        outs = [Undefined.apply(outputs[p]) if p in missing else outputs[p] for p in positions]
        weights = [fresh(np.ones(out.payload.shape, out.payload.dtype)[()]) for out in outs]
        try:
            gs = grad(outs, [inputs[i] for i in checked], weights, allow_unused=True)
        except RuntimeError as error:
            which = ", ".join(map(str, missing))
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads: without a gradient for output {which} it raised "
                f"{type(error).__name__}: {error}"
            ) from error
        for i, g in zip(checked, gs):
            if missing is positions and g is not None and np.any(g.payload):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero: "
                    f"input {i} got {g.payload.tolist()}"
                )


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

    grad_outputs: the weights of the outputs; random if not given. The inputs of the check are those of func, then the weights.

    >>> x = randn(3, dtype=float64, requires_grad=True)
    >>> gradgradcheck(lambda x: x.exp(), x)
    True
    """
    if check_fwd_over_rev:
        raise NotImplementedError("check_fwd_over_rev needs forward mode, which is not built")
    inputs = as_tuple(inputs)
    outputs = results(func, inputs)
    positions = differentiable(outputs)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        shaped = [outputs[p].payload for p in positions]
        weights = [fresh(np.asarray(rng.standard_normal(a.shape)).astype(a.dtype)[()]).requires_grad_() for a in shaped]
    else:
        weights = [w.detach().requires_grad_() for w in as_tuple(grad_outputs)]
    wanted = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]

    def first(*args: Any) -> tuple[Tensor, ...]:
        with recording(True):
            xs, ws = args[: len(inputs)], args[len(inputs) :]
            outs = results(func, xs)
            gs = grad([outs[p] for p in positions], [xs[i] for i in wanted], ws, create_graph=True, allow_unused=True)
        return tuple(g for g in gs if g is not None)

    try:
        return gradcheck(
            first, (*inputs, *weights), eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol,
            check_undefined_grad=check_undefined_grad, check_batched_grad=check_batched_grad,
        )  # fmt: skip
    except GradcheckError as error:
        if raise_exception:
            raise GradcheckError(
                f"{error}\nThis was gradgradcheck: an output is the gradient of func for one of its inputs {wanted}; inputs from "
                f"number {len(inputs)} on are the weights of func's outputs."
            ) from None
        return False
