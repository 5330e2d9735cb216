"""vmap: a function for one sample becomes a function for a batch, without a loop."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autolab.autograd import function_in_vmap  # noqa: F401 - what vmap does with a custom Function
from autolab.autograd.pytree import Form, arguments, flatten, mapped, spread, unflatten
from autolab.engine.tensor import Tensor
from autolab.func.arguments import name_of
from autolab.rules import batch as _  # noqa: F401 - gives the rows their batching rules
from autolab.torch_api.generator import get_rng_state, set_rng_state
from autolab.torch_api.index import narrow
from autolab.torch_api.shape import cat, movedim
from autolab.transforms.batched import Batch, Batched

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """A function that runs func on all samples at once: each operation runs a single time, with one axis more.

    in_dims: for each argument the dim that runs over the samples, None for one that all samples share; an int stands for all.
    Arguments may be nested containers of Tensors; then in_dims may be nested as they are, or less deep.
    out_dims: where that dim goes in each output, nested likewise; None for an output that does not depend on the sample.
    randomness: "error" refuses random operations, "same" gives all samples the same numbers, "different" each its own: those that a
    loop over the samples would draw. chunk_size: how many samples at a time (default all); smaller needs less memory.
    Keyword arguments are handed on as they are. func sees one sample: it returns Tensors, and cannot branch on values (torch.where).
    Raises ValueError for in_dims, out_dims or sizes that do not fit.

    >>> func.vmap(torch.dot)(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([[1., 1.], [1., 1.]]))
    tensor([3., 7.])
    """
    name = name_of(func)
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def over_samples(*args: Any, **kwargs: Any) -> Any:
        if type(out_dims) is not int:
            mapped(lambda d: check_out_dim(name, d, out_dims), out_dims)
        leaves, form, dims = inputs_of(name, in_dims, args)
        size = common_size(dims, leaves)
        run = lambda leaves, size: one_batch(name, func, size, leaves, form, dims, out_dims, randomness, kwargs)
        if chunk_size is None or chunk_size >= size:
            outs, out_form, _ = run(leaves, size)
            return unflatten(outs, out_form)
        state = get_rng_state() if randomness == "same" else None
        chunks = []
        for start in range(0, size, chunk_size):
            if state is not None:
                set_rng_state(state)
            length = min(chunk_size, size - start)
            chunks.append(run([a if d is None else narrow(a, d, start, length) for a, d in zip(leaves, dims)], length))
        _, out_form, places = chunks[0]
        joined = [parts[0] if d is None else cat(list(parts), d) for d, parts in zip(places, zip(*[outs for outs, _, _ in chunks]))]
        return unflatten(joined, out_form)

    return over_samples


def one_batch(
    name: str, func: Callable[..., Any], size: int, leaves: list[Any], form: Form, dims: list[int | None], out_dims: Any,
    randomness: str, kwargs: dict[str, Any],
) -> tuple[list[Any], Form, list[Any]]:  # fmt: skip
    """Run func on all samples. Returns the leaves of its outputs, their form, and their out_dims."""
    with Batch(size, randomness) as level:
        level.transform = True
        boxes = [a if d is None else level.input(movedim(a, d, 0) if d else a) for a, d in zip(leaves, dims)]
        for box, a, d in zip(boxes, leaves, dims):
            if d:
                level._input_dims[id(box)] = box, box.value, a, d
        outs, out_form = flatten(func(*unflatten(boxes, form), **kwargs))
        places = out_dims_of(name, out_dims, out_form)
        return [bring_out(name, level, o, d) for o, d in zip(outs, places)], out_form, places


# -- inputs ------------------------------------------------------------------------------------------


def inputs_of(name: str, in_dims: Any, args: tuple[Any, ...]) -> tuple[list[Any], Form, list[int | None]]:
    """The leaves of the arguments, their form, and a dim for each of them, checked and counted from the front."""
    where = lambda: f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{where()}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
            "inputs. The latter is unsupported."
        )
    dims: Any = in_dims if type(in_dims) is tuple else (in_dims,) * len(args)
    if len(dims) == len(args) and all(d is None or isinstance(a, Tensor) for a, d in zip(args, dims)):
        leaves, form = list(args), arguments(len(args))  # what all samples share is handed on as it is
    else:
        leaves, form = flatten(args)
        dims = spread(in_dims, form)
    if dims is None:
        raise ValueError(
            f"{where()}: in_dims is not compatible with the structure of `inputs`. in_dims has structure {flatten(in_dims)[1]} but inputs "
            f"has structure {form}."
        )
    return leaves, form, [None if d is None else in_dim(where, d, a) for d, a in zip(dims, leaves)]


def in_dim(where: Callable[[], str], dim: Any, a: Any) -> int:
    """One of in_dims, checked and counted from the front."""
    if not isinstance(dim, int):
        raise ValueError(f"{where()}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
    if not isinstance(a, Tensor):
        raise ValueError(
            f"{where()}: Got in_dim={dim} for an input but the input is of type {type(a)}. We cannot vmap over non-Tensor arguments, "
            "please use None as the respective in_dim"
        )
    n = a.payload.ndim
    if not -n <= dim < n:
        raise ValueError(
            f"{where()}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {n} so expected in_dim to "
            f"satisfy -{n} <= in_dim < {n}."
        )
    return dim % n


def common_size(dims: list[int | None], leaves: list[Any]) -> int:
    """The number of samples, on which all mapped arguments must agree."""
    sizes = [a.payload.shape[d] for d, a in zip(dims, leaves) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over; every in_dim is None, or there is no tensor")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


# -- outputs -----------------------------------------------------------------------------------------


def check_out_dim(name: str, dim: Any, out_dims: Any) -> None:
    if dim is not None and not isinstance(dim, int):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints representing "
            "where in the outputs the vmapped dimension should appear."
        )


def out_dims_of(name: str, out_dims: Any, form: Form) -> list[Any]:
    """An out_dim for each leaf of the outputs."""
    single = form.kind is None and isinstance(out_dims, tuple) and len(out_dims) == 1
    places = spread(out_dims[0] if single else out_dims, form)
    if places is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
            f"structure {flatten(out_dims)[1]} but outputs has structure {form}."
        )
    return places


def bring_out(name: str, level: Batch, out: Any, dim: int | None) -> Any:
    """One output without its box, the samples along `dim`."""
    if dim is None:
        if level.owns(out):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return out
    if not isinstance(out, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}. Did you mean to set out_dims= to None for output?"
        )
    value = (out if type(out) is Batched and out.home is level else level.lift(out)).value
    if dim == 0:
        return value
    if not -value.ndim <= dim < value.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-value.ndim}, {value.ndim - 1}], but got {dim})")
    if level._input_dims and level.owns(out):
        value, where = level.value_and_dim(out)
        return value if dim % value.ndim == where else movedim(value, where, dim)
    return movedim(value, 0, dim) if dim % value.ndim else value
