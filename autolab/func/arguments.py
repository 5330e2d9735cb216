"""What transforms accept, and how results leave their level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.engine.dtypes import FLOATING
from autolab.engine.levels import Level
from autolab.engine.tensor import Tensor

Argnums = int | tuple[int, ...]


def chosen(argnums: Any, args: tuple[Any, ...]) -> tuple[int, ...]:
    """The positions that argnums names, each from 0 on. Raises RuntimeError in PyTorch's words."""
    if isinstance(argnums, bool) or not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got a tuple with {type(n)}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    positions = tuple(n % len(args) for n in numbers)
    if len(set(positions)) < len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {numbers}")
    return positions


def replace(args: tuple[Any, ...], positions: tuple[int, ...], boxes: list[Any]) -> tuple[Any, ...]:
    """The arguments, with boxes at some positions."""
    given = dict(zip(positions, boxes))
    return tuple(given.get(i, a) for i, a in enumerate(args))


def differentiable(name: str, i: int, x: Any) -> Tensor:
    """Raise unless `x` is a tensor of floating point."""
    if isinstance(x, tuple | list | dict):
        raise NotImplementedError(
            f"{name}: argument {i} is a {type(x).__name__}; for now only Tensors can be differentiated. "
            "Pass its tensors as arguments of their own, and name them: argnums=(0, 1, ...)."
        )
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)} for argument {i}")
    if x.payload.dtype not in FLOATING:
        raise RuntimeError(
            f"only Tensors of floating point dtype can require gradients; argument {i} of {name} is {x.dtype}. Convert it first: t.float()."
        )
    return x


def outputs_of(name: str, out: Any) -> tuple[Tensor, ...]:
    """What a function returned, as a tuple. Raises for anything but a Tensor or a tuple of Tensors."""
    outs = (out,) if isinstance(out, Tensor) else out
    if isinstance(outs, dict) or (isinstance(outs, tuple | list) and any(isinstance(o, tuple | list | dict) for o in outs)):
        raise NotImplementedError(f"{name}: for now a function returns a Tensor or a tuple of Tensors; this one returned nested containers")
    if not isinstance(outs, tuple | list):
        raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(outs)}")
    for o in outs:
        if not isinstance(o, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(o)}")
    return tuple(outs)


def as_returned(out: Any, outs: list[Any] | tuple[Any, ...]) -> Any:
    """One thing for each output, in the form in which the function returned them."""
    return outs[0] if isinstance(out, Tensor) else tuple(outs)


def split_aux(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """(output, aux) of what the function returned."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def leave(level: Level, x: Any) -> Any:
    """Take the boxes of a level off all tensors in `x`, which may be nested tuples, lists and dicts."""
    if isinstance(x, Tensor):
        return level.take(x)
    if isinstance(x, dict):
        return {k: leave(level, v) for k, v in x.items()}
    if isinstance(x, tuple | list):
        items = [leave(level, v) for v in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x


def name_of(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", type(func).__name__)
