"""What several families of functional need: warnings at the caller's line, the old ways to name a reduction, checks of arguments."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.inplace import overwrite
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor
from autolab.torch_api.dims import evened_out, require_tensor
from autolab.torch_api.inplace import may_write


def warn(message: str) -> None:
    """Warn at the line that called into autolab, through however many modules."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("autolab."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


REDUCTIONS = "none", "mean", "sum"


def reduction_of(reduction: str, size_average: Any = None, reduce: Any = None) -> str:
    """The reduction, where the two arguments that it replaced do not say another. Raises ValueError for an unknown one."""
    if size_average is None and reduce is None and reduction in REDUCTIONS:
        return reduction
    if isinstance(size_average, Tensor) or isinstance(reduce, Tensor):
        raise RuntimeError(
            "Boolean value of Tensor with more than one value is ambiguous: size_average and reduce are settings, not data. "
            "A loss module is made first and called then: nn.MSELoss()(input, target), or F.mse_loss(input, target)."
        )
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction: use 'none', 'mean' or 'sum'")
    return reduction


def reduced(loss: Any, reduction: str) -> Any:
    """All losses, their mean or their sum."""
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def several(value: Any, n: int, name: str = "", function: str = "") -> tuple[Any, ...]:
    """One number for all n dims, or one for each. Raises RuntimeError for another count."""
    if not isinstance(value, list | tuple):
        return (value,) * n
    if len(value) == 1 and n > 1:
        return tuple(value) * n
    if len(value) != n and n > 1:
        raise RuntimeError(f"{function}: {name} must either be a single int, or a tuple of {n} ints; got {list(value)}")
    return tuple(value)


def same_dtype(function: str, **tensors: Any) -> None:
    """Raise RuntimeError unless all tensors given have one dtype, TypeError if one is not a tensor."""
    (first, x), *others = [(name, require_tensor(t, function, name)) for name, t in tensors.items() if t is not None]
    for name, t in others:
        if t.payload.dtype != x.payload.dtype and not evened_out(function, *(u for u in tensors.values() if u is not None)):
            raise RuntimeError(
                f"Input type ({x.dtype.title}) and {name} type ({t.dtype.title}) should be the same: {function} computes in one dtype. "
                f"Convert the {name} with .to({x.dtype}), or the {first} with .to({t.dtype})."
            )


def activated(row: Op, input: Any, inplace: bool = False, settings: dict[str, Any] | None = None) -> Any:
    """The row on the input; written into the input if so asked."""
    return written(input, apply(row, (input,), settings or {}), inplace)


def written(input: Any, result: Any, inplace: bool) -> Any:
    """The result, or the input with the result written into it."""
    if not inplace:
        return result
    may_write(input)
    return overwrite(input, result)


def constant(value: Any, like: Any) -> Any:
    """A 0-d number in the dtype of a tensor."""
    return np.asarray(value, like.payload.dtype)[()]


def is_floating(t: Any) -> bool:
    return t.payload.dtype in dtypes.FLOATING


def not_implemented(kernel: str, t: Any) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for '{t.dtype.title}'. Convert it first: t.float().")
