"""What transforms accept, and how results leave their level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.autograd.pytree import mapped
from autolab.dtypes import INEXACT
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor
from autolab.transforms.level import Level, TransformTensor, fixed

Argnums = int | tuple[int, ...]


def chosen(argnums: Any, args: tuple[Any, ...]) -> tuple[int, ...]:
    """The positions that argnums names, each from 0 on. Raises RuntimeError in PyTorch's words."""
    if type(argnums) is int and 0 <= argnums < len(args):
        return (argnums,)
    if isinstance(argnums, bool) or not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}. argnums is an int or a tuple of them.")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    positions = tuple(n % len(args) for n in numbers)
    if len(set(positions)) < len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {numbers}")
    return positions


def on_top(x: Any) -> Any:
    """Tensors in nested containers as constants of the transform that runs: what is written into them may depend on its inputs."""
    level = modes.levels[-1]
    if isinstance(x, Tensor):
        return level.put(x) if x.level < level.number else x
    return mapped(lambda a: level.put(a) if isinstance(a, Tensor) and a.level < level.number else a, x) if x else x


def selected(argnums: Argnums, args: tuple[Any, ...]) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """What argnums names (the argument, or a tuple of them), and a function that gives all arguments with others in its place.

    The second parameter of that function is one for the arguments that stay.
    """
    positions = chosen(argnums, args)

    def replaced(new: Any, kept: Callable[[Any], Any] = lambda x: x) -> tuple[Any, ...]:
        given = {positions[0]: new} if isinstance(argnums, int) else dict(zip(positions, new))
        return tuple([given[i] if i in given else kept(a) for i, a in enumerate(args)])

    return args[positions[0]] if isinstance(argnums, int) else tuple([args[i] for i in positions]), replaced


def differentiable(x: Any) -> Tensor:
    """Raise unless `x` is a tensor of floating point."""
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    if x.payload.dtype not in INEXACT:
        raise RuntimeError(
            "only Tensors of floating point and complex dtype can require gradients; an argument to be differentiated is "
            f"{x.dtype}. Convert it first: t.float()."
        )
    return x


def only_tensors(name: str, leaves: list[Any]) -> None:
    """Raise for outputs that cannot be differentiated."""
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for out in leaves:
        if not isinstance(out, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(out)}")


def split_aux(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """(output, aux) of what the function returned."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def leave(level: Level, x: Any) -> Any:
    """Take the boxes of a level off all tensors in nested containers. Raises RuntimeError for anything else in them."""

    def taken(a: Any) -> Any:
        if not isinstance(a, Tensor):
            raise RuntimeError(
                f"Expected tensors, got unsupported type {type(a)}. What a function returns beside its output (has_aux=True) leaves the "
                "transform too: Tensors in nested containers. Put numbers and strings into a list outside of the function."
            )
        return level.take(a)

    return mapped(taken, x)


def zeros_like(x: Tensor) -> Tensor:
    return fixed(np.zeros(tuple(x.shape), x.payload.dtype)[()])


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """What is in the boxes of the transforms that run: the tensor on level 0, or with recurse=False that of the level below.

    For looking only: what is computed from it is not differentiated, and inside vmap it holds all samples.

    >>> seen = []
    >>> _ = func.vmap(lambda x: seen.append(func.debug_unwrap(x)) or x)(torch.tensor([1., 2.]))
    >>> seen[0]
    tensor([1., 2.])
    """
    while isinstance(tensor, TransformTensor):
        tensor = tensor.value
        if not recurse:
            break
    return tensor


def name_of(func: Callable[..., Any]) -> str:
    """How messages call the function."""
    inner = getattr(func, "func", None)
    if not hasattr(func, "__name__") and callable(inner):
        return f"functools.partial({name_of(inner)}, ...)"
    return getattr(func, "__name__", None) or repr(func)
