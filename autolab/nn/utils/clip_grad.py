"""Gradients kept within bounds."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from autolab.engine.modes import modes, recording
from autolab.engine.tensor import Tensor
from autolab.fast.clip import scale_at_once, total_norm
from autolab.linalg import vector_norm
from autolab.torch_api.creation import tensor
from autolab.torch_api.shape import stack

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _list(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The p-norm of all tensors as one vector, of shape (). error_if_nonfinite: raise RuntimeError if it is infinite or nan.

    >>> get_total_norm([tensor([3., 0.]), tensor([[4.]])])
    tensor(5.)
    """
    found = _list(tensors)
    if not found:
        return tensor(0.0)
    total = total_norm(found, float(norm_type))
    if total is None:
        with recording(False):
            total = vector_norm(stack([vector_norm(t, float(norm_type)) for t in found]), float(norm_type))
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale all gradients, in place, by max_norm / total_norm if that is below 1.

    >>> p = torch.zeros(2, requires_grad=True)
    >>> p.grad = tensor([3., 4.])
    >>> clip_grads_with_norm_([p], max_norm=1.0, total_norm=tensor(10.))
    >>> p.grad
    tensor([0.3000, 0.4000])
    """
    with recording(False):
        scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for g in scale_at_once([p.grad for p in _list(parameters) if p.grad is not None], scale):
            g.mul_(scale)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Scale all gradients, in place, so that as one vector they are at most max_norm long. Returns the norm before.

    Source: Pascanu, Mikolov and Bengio 2013. foreach is accepted and means nothing.

    >>> p = torch.zeros(2, requires_grad=True)
    >>> p.grad = tensor([3., 4.])
    >>> clip_grad_norm_([p], max_norm=1.0), p.grad  # 5 long before, 1 after
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    found = _list(parameters)
    if isinstance(parameters, types.GeneratorType) and not found:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    return _once_more(found, lambda: _clipped(found, max_norm, norm_type, error_if_nonfinite), "clip_grad_norm_()")


def _clipped(parameters: list[Tensor], max_norm: float, norm_type: float, error_if_nonfinite: bool) -> Tensor:
    total = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def _once_more(parameters: list[Tensor], run: Callable[[], Any], what: str) -> Any:
    """Run it. A tracer notes to run it at each call, if the parameters are no arguments of the function that it watches."""
    if modes.tracer is None:
        return run()
    return modes.tracer.again(run, what, not all(id(p) in modes.tracer.outside for p in parameters))


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """`clip_grad_norm_`, under the name that it had."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp each entry of each gradient, in place, to [-clip_value, clip_value].

    >>> p = torch.zeros(2, requires_grad=True)
    >>> p.grad = tensor([3., -0.5])
    >>> clip_grad_value_([p], 1.0)
    >>> p.grad
    tensor([ 1.0000, -0.5000])
    """
    found = _list(parameters)
    _once_more(found, lambda: _clamped(found, float(clip_value)), "clip_grad_value_()")


def _clamped(parameters: list[Tensor], limit: float) -> None:
    with recording(False):
        for p in parameters:
            if p.grad is not None:
                p.grad.clamp_(-limit, limit)
