"""vmap: a function for one sample becomes a function for a batch, without a loop."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autolab.engine.batched import Batch
from autolab.engine.tensor import Tensor
from autolab.func.arguments import name_of
from autolab.rules import batch as _  # noqa: F401 - gives the rows their batching rules
from autolab.surface.shape import movedim

Dims = int | tuple[int | None, ...] | None


def vmap(func: Callable[..., Any], in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error") -> Callable[..., Any]:
    """A function that runs func on all samples at once: each operation runs a single time, with one axis more.

    in_dims: for each argument the dim that runs over the samples, None for one that all samples share; an int stands for all.
    out_dims: where that dim goes in each output; None for an output that does not depend on the sample.
    randomness: "error" refuses random operations, "same" gives all samples the same numbers.
    func sees one sample: it returns a Tensor or a tuple of Tensors, and cannot branch on values (use torch.where).
    Raises ValueError for in_dims, out_dims or sizes that do not fit.

    >>> func.vmap(torch.dot)(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([[1., 1.], [1., 1.]]))
    tensor([3., 7.])
    """
    name = name_of(func)
    if randomness not in ("error", "same"):
        if randomness == "different":
            raise NotImplementedError("vmap: randomness='different' is not supported yet: draw the numbers outside and map over them too")
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not is_dims(out_dims):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints representing "
            "where in the outputs the vmapped dimension should appear."
        )

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        dims = spread_in_dims(name, in_dims, args)
        level = Batch(common_size(name, dims, args), randomness)
        with level:
            boxes = [a if d is None else level.input(movedim(a, d, 0) if d else a) for a, d in zip(args, dims)]
            out = func(*boxes, **kwargs)
            outs = checked_outputs(name, out, out_dims)
            results = tuple(bring_out(name, level, o, d) for o, d in outs)
        return results[0] if isinstance(out, Tensor) or not isinstance(out, tuple | list) else results

    return mapped


def is_dims(dims: Any) -> bool:
    return dims is None or isinstance(dims, int) or (isinstance(dims, tuple) and all(d is None or isinstance(d, int) for d in dims))


def spread_in_dims(name: str, in_dims: Any, args: tuple[Any, ...]) -> tuple[int | None, ...]:
    """One dim for each argument, checked and counted from the front."""
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if in_dims is None or not is_dims(in_dims):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
            "inputs. The latter is unsupported."
        )
    dims = (in_dims,) * len(args) if isinstance(in_dims, int) else in_dims
    if len(dims) != len(args):
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`: it has {len(dims)} entries for {len(args)} arguments."
        )
    return tuple(in_dim(where, d, a) for d, a in zip(dims, args))


def in_dim(where: str, dim: int | None, a: Any) -> int | None:
    if dim is None:
        return None
    if isinstance(a, tuple | list | dict):
        raise NotImplementedError(
            f"{where}: an argument is a {type(a).__name__}; for now vmap runs over Tensors. Pass its tensors as arguments of their own, "
            "or give None as its in_dim."
        )
    if not isinstance(a, Tensor):
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but the input is of type {type(a)}. We cannot vmap over non-Tensor arguments, "
            "please use None as the respective in_dim"
        )
    if not -a.ndim <= dim < a.ndim:
        raise ValueError(
            f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {a.ndim} so expected in_dim to "
            f"satisfy -{a.ndim} <= in_dim < {a.ndim}."
        )
    return dim % a.ndim


def common_size(name: str, dims: tuple[int | None, ...], args: tuple[Any, ...]) -> int:
    """The number of samples, on which all mapped arguments must agree."""
    sizes = [a.shape[d] for d, a in zip(dims, args) if d is not None]
    if not sizes:
        raise ValueError(f"vmap({name}): at least one in_dim must be an int; with None for every argument there is nothing to run over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


def checked_outputs(name: str, out: Any, out_dims: Any) -> list[tuple[Any, int | None]]:
    """Each output with its out_dim."""
    outs = list(out) if isinstance(out, tuple | list) else [out]
    if not isinstance(out_dims, tuple):
        out_dims = (out_dims,) * len(outs)
    if len(out_dims) != len(outs):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`: it has "
            f"{len(out_dims)} entries for {len(outs)} outputs."
        )
    for o, d in zip(outs, out_dims):
        if not isinstance(o, Tensor) and d is not None:
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(o)}. "
                "Did you mean to set out_dims= to None for output?"
            )
    return list(zip(outs, out_dims))


def bring_out(name: str, level: Batch, out: Any, dim: int | None) -> Any:
    """One output without its box, the samples along `dim`."""
    if dim is None:
        if level.owns(out):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return out
    value = (out if level.owns(out) else level.lift(out)).value
    if not -value.ndim <= dim < value.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-value.ndim}, {value.ndim - 1}], but got {dim})")
    return movedim(value, 0, dim) if dim % value.ndim else value
