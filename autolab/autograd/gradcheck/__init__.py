"""Compare a function's derivatives with finite differences, and say exactly where they part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.autograd.gradcheck.error import GradcheckError
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor
from autolab.torch_api.lazy import lazy as _lazy

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]


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

    Complex inputs and outputs are checked as pairs of real numbers: the Jacobians have two rows or columns for each, first the real part.

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
    from autolab.autograd.api import as_tuple
    from autolab.autograd.gradcheck.comparison import Options, check  # heavy, and only tests use it

    options = Options(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad, check_batched_forward_grad,
        check_forward_ad, check_backward_ad, fast_mode, masked,
    )  # fmt: skip
    from autolab.autograd.gradcheck.of_complex import in_real_numbers

    func, inputs = in_real_numbers(func, as_tuple(inputs))
    try:
        return check(func, inputs, options)
    except GradcheckError:
        if raise_exception:
            raise
        return False


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
    from autolab.autograd.api import as_tuple, grad
    from autolab.autograd.gradcheck.comparison import random_weights
    from autolab.autograd.gradcheck.finite_differences import differentiable, results

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


__getattr__ = _lazy(__name__, names=dict.fromkeys(["get_analytical_jacobian", "get_numerical_jacobian"], ".jacobians"))
