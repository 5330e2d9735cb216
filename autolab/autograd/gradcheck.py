"""Compare a function's gradients with finite differences, and say exactly where they part."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.autograd.api import as_tuple, grad
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
) -> bool:
    """True if func's gradients agree with finite differences within atol + rtol * |finite difference|.

    inputs: a Tensor or a tuple; those in float64 that require grad are checked. func returns a Tensor or a tuple of them.
    Raises GradcheckError (False instead, if raise_exception is False) naming output, input, entry and both numbers;
    ValueError if no input requires grad.

    >>> x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    >>> gradcheck(lambda x: x.exp(), x)
    True
    """
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
    outputs = differentiable(func(*inputs))
    if not outputs:
        return _no_outputs(func, inputs, checked, eps)
    for o, out in enumerate(outputs):
        numeric = [numerical_jacobian(func, inputs, i, o, eps) for i in checked]
        analytic = analytic_jacobian(func, inputs, checked, o)
        again = analytic_jacobian(func, inputs, checked, o)
        for i, n, a, b in zip(checked, numeric, analytic, again):
            compare(a, n, o, i, tuple(out.shape), tuple(inputs[i].shape), atol, rtol)
            if np.abs(a - b).max(initial=0) > nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    f"different values, although analytical gradient matches numerical gradient. The tolerance for "
                    f"nondeterminism was {nondet_tol}."
                )
    if check_undefined_grad:
        _check_undefined(func, inputs, checked)
    return True


def checked_inputs(inputs: tuple[Any, ...]) -> list[int]:
    """The positions of the inputs to check; their dtype, memory and values must allow it."""
    positions = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    if not positions:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them has requires_grad=True."
        )
    for i in positions:
        t = inputs[i]
        if t.payload.dtype != np.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or complex.",
                stacklevel=4,
            )
        bad = np.argwhere(~np.isfinite(np.atleast_1d(t.payload)))
        if len(bad):
            raise GradcheckError(
                f"Jacobian mismatch for output 0 with respect to input {i}: the input itself is {np.atleast_1d(t.payload)[tuple(bad[0])]} "
                f"at index {bad[0].tolist()}, and finite differences around it mean nothing. Pass finite numbers."
            )
        if np.asarray(t.payload).size > 1 and 0 in np.asarray(t.payload).strides:
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
                "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
                "to gradcheck."
            )
    return positions


def differentiable(result: Any) -> list[Tensor]:
    return [o for o in as_tuple(result) if isinstance(o, Tensor) and o.requires_grad and o.payload.dtype in FLOATING]


def _no_outputs(func: Any, inputs: tuple[Any, ...], checked: list[int], eps: float) -> bool:
    plain = [o for o in as_tuple(func(*inputs)) if isinstance(o, Tensor) and o.payload.dtype in FLOATING]
    for o in range(len(plain)):
        for i in checked:
            if np.abs(numerical_jacobian(func, inputs, i, o, eps)).max(initial=0) > 1e-6:
                raise GradcheckError("Numerical gradient for function expected to be zero")
    return True


def numerical_jacobian(func: Any, inputs: tuple[Any, ...], i: int, o: int, eps: float) -> Any:
    """(entries of input i, entries of output o): central differences, one entry of the input moved at a time."""
    array = np.array(inputs[i].payload, ndmin=0)
    moved = list(inputs)
    columns = []

    def value() -> Any:
        moved[i] = fresh(array.copy()[()])
        moved[i].requires_grad_()
        outs = [out for out in as_tuple(func(*moved)) if isinstance(out, Tensor) and out.payload.dtype in FLOATING]
        # A copy: an output that looks into the input would move with it.
        return np.array(outs[o].payload, copy=True).reshape(-1)

    for at in itertools.product(*map(range, array.shape)):
        before = array[at]
        array[at] = before + eps
        up = value()
        array[at] = before - eps
        down = value()
        array[at] = before
        columns.append((up - down) / (2 * eps))
    return np.array(columns) if columns else np.zeros((0, 0))


def analytic_jacobian(func: Any, inputs: tuple[Any, ...], checked: list[int], o: int) -> list[Any]:
    """The same by backward passes: one for each entry of the output."""
    with recording(True):
        out = differentiable(func(*inputs))[o]
    shape, n = out.payload.shape, out.payload.size
    columns: list[list[Any]] = [[] for _ in checked]
    for k in range(n):
        unit = np.zeros(n, out.payload.dtype)
        unit[k] = 1
        gs = grad(out, [inputs[i] for i in checked], fresh(unit.reshape(shape)), retain_graph=True, allow_unused=True)
        for column, i, g in zip(columns, checked, gs):
            column.append(np.zeros(inputs[i].payload.size) if g is None else np.array(g.payload).reshape(-1))
    return [np.stack(c, 1) if c else np.zeros((inputs[i].payload.size, 0)) for c, i in zip(columns, checked)]


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


def _check_undefined(func: Any, inputs: tuple[Any, ...], checked: list[int]) -> None:
    """Backward must cope with outputs whose gradient nobody asked for."""
    outputs = differentiable(func(*inputs))
    if len(outputs) < 2:
        return
    for k in range(len(outputs)):
        outputs = differentiable(func(*inputs))
        ones = fresh(np.ones(outputs[k].payload.shape, outputs[k].payload.dtype)[()])
        try:
            grad(outputs[k], [inputs[i] for i in checked], ones, allow_unused=True)
        except GradcheckError:
            raise
        except Exception as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at 'Notes about undefined output "
                f"gradients' in 'tools/autograd/derivatives.yaml'. With only output {k} used, backward raised: {error}"
            ) from error


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
) -> bool:
    """gradcheck of the gradients of func, so that second derivatives are compared with finite differences of the first.

    grad_outputs: the weights of the outputs; random if not given.
    """
    inputs = as_tuple(inputs)
    outputs = differentiable(func(*inputs))
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        weights = [fresh(rng.standard_normal(o.payload.shape).astype(o.payload.dtype)).requires_grad_() for o in outputs]
    else:
        weights = [w.detach().requires_grad_() for w in as_tuple(grad_outputs)]
    wanted = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]

    def first(*args: Any) -> tuple[Tensor, ...]:
        with recording(True):
            xs, ws = args[: len(inputs)], args[len(inputs) :]
            outs = differentiable(func(*xs))
            gs = grad(outs, [xs[i] for i in wanted], ws, create_graph=True, allow_unused=True)
        return tuple(g for g in gs if g is not None)

    return gradcheck(
        first, (*inputs, *weights), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
    )  # fmt: skip
