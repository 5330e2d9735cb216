"""`out=`: the result of a function, written into a tensor that is there already. One mechanism for all functions that have it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.inplace import overwrite
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor
from autolab.torch_api.numpy_names import copy_name_and_doc, torch_arguments
from autolab.transforms.boxes import in_vmap

# Reductions and products insist on the dtype of the result; functions of single entries also take one that holds it.
EXACT = set("aminmax cat gather index_select masked_select matmul mm bmm mv dot stack take topk sort kthvalue mode".split())

C_NAMES = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int", "uint8": "unsigned char"}


def with_out(function: Callable[..., Any], creates: bool = False) -> Callable[..., Any]:
    """The function, with the keyword `out`. Methods and operators are bound to the function without it, and pay nothing.

    `creates`: it makes a tensor out of nothing, and then in the dtype of `out`.
    """

    def wrapped(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = torch_arguments(kwargs, function)
        if out is None:
            return function(*args, **kwargs)
        if creates and isinstance(out, Tensor):
            kwargs.setdefault("dtype", out.dtype)
        return into(out, function, *args, **kwargs)

    return copy_name_and_doc(wrapped, function)


def into(out: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function and write what it gives into `out`: a tensor, or one for each result.

    Raises RuntimeError if a gradient would be lost, if the dtype does not fit, or if `out` overlaps an input; warns if it is resized.
    """
    name = function.__name__
    outs = out if isinstance(out, list | tuple) else (out,)
    for o in outs:
        if not isinstance(o, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(o).__name__}")
    inputs = list(_tensors(args, kwargs.values()))
    if any(in_vmap(t) for t in (*inputs, *outs)):
        raise RuntimeError(
            f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view ops. Leave out= away: "
            "inside vmap a result is made for each sample."
        )
    if modes.grad and any(t.requires_grad for t in (*inputs, *outs)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
            "grad. Leave out= away, or compute inside `with torch.no_grad():`."
        )
    if any(t.level and getattr(t, "tangent", None) is not None for t in (*inputs, *outs)):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function. Leave out= away."
        )
    for o in outs:
        _check_memory(o, inputs, name)
    if name == "multinomial" and outs[0].dtype is not dtypes.int64 and inputs[0].is_floating_point() and inputs[0].ndim in (1, 2):
        raise RuntimeError(f"multinomial expects Long tensor out, got: {outs[0].dtype.title}")  # before it looks at any number
    result = function(*args, **kwargs)
    if isinstance(result, Tensor):
        if in_vmap(result):  # and no input is: it was drawn
            raise RuntimeError(
                "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as a "
                f"workaround: y = {name}(...)"
            )
        return _store(outs[0], result, name)
    stored = [_store(o, r, name) for o, r in zip(outs, result, strict=True)]
    return type(result)(*stored) if hasattr(result, "_fields") else tuple(stored)


def _tensors(*nests: Any) -> Iterator[Tensor]:
    for nest in nests:
        for value in nest:
            if isinstance(value, Tensor):
                yield value
            elif isinstance(value, list | tuple):
                yield from _tensors(value)


def _check_memory(out: Tensor, inputs: list[Tensor], name: str) -> None:
    a = out.payload
    if type(a) is not np.ndarray:
        return
    if 0 in a.strides and a.size > 1:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() "
            "the tensor before performing the operation."
        )
    for t in inputs:
        b = t.payload
        if type(b) is not np.ndarray or not np.may_share_memory(a, b):
            continue
        same = a.shape == b.shape and a.strides == b.strides and a.__array_interface__["data"] == b.__array_interface__["data"]
        if not same or name in EXACT:
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
                "Please clone() the tensor before performing the operation."
            )


def _store(out: Tensor, result: Tensor, name: str) -> Tensor:
    new, old = result.payload, out.payload
    if new.dtype != old.dtype:
        if name in ("amax", "amin"):
            raise RuntimeError(
                f"Expected the dtype for input and out to match, but got {result.dtype.title} for input's dtype and {out.dtype.title} "
                "for out's dtype."
            )
        if name in ("complex", "polar"):
            raise RuntimeError(
                f"Expected object of scalar type {result.dtype.title} but got scalar type {out.dtype.title} for argument 'out'"
            )
        if name in EXACT:
            expected, found = (C_NAMES.get(d.name, d.name) for d in (result.dtype, out.dtype))
            raise RuntimeError(f"Expected out tensor to have dtype {expected}, but got {found} instead")
        if dtypes.category(new.dtype) > dtypes.category(old.dtype):
            raise RuntimeError(f"result type {result.dtype.title} can't be cast to the desired output type {out.dtype.title}")
    if new.shape == old.shape:
        return overwrite(out, result)
    if old.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(old.shape)}, which does not match the required "
            f"output shape {list(new.shape)}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
            "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
            "t.resize_(0).",
            UserWarning,
            stacklevel=4,
        )
    out.payload = new.astype(old.dtype)
    out.version[0] += 1
    return out
