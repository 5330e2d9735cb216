"""x[key] inside vmap, where the key differs between the samples: no view and no array knows it, so rows are picked by number.

The dims that are indexed are moved to the front and joined into one; the index tensors become numbers along it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor, new_tensor
from autolab.torch_api.index import getitem, index_select, scatter_add
from autolab.torch_api.pointwise import add, mul, where
from autolab.torch_api.scatter import scatter
from autolab.torch_api.shape import expand, movedim, reshape


def split(items: list[Any]) -> tuple[tuple[Any, ...], list[tuple[int, Any]]]:
    """The part of a full key that makes a view, and (dim of that view, index) for the rest."""
    basic: list[Any] = []
    indices: list[tuple[int, Any]] = []
    dim = 0
    for item in items:
        if isinstance(item, np.ndarray) and item.dtype == np.bool_:
            for places in np.nonzero(item):
                indices.append((dim, new_tensor(places)))
                basic.append(slice(None))
                dim += 1
            continue
        if isinstance(item, Tensor | np.ndarray):
            if isinstance(item, Tensor) and item.payload.dtype == np.bool_:
                raise RuntimeError(
                    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a "
                    "boolean mask: each sample would get another number of entries. Use torch.where."
                )
            indices.append((dim, item if isinstance(item, Tensor) else new_tensor(item)))
            item = slice(None)
        basic.append(item)
        dim += not isinstance(item, int)
    return tuple(basic), indices


def numbered(x: Tensor, indices: list[tuple[int, Any]]) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """x with the indexed dims joined in front, the number along them of each entry picked, and the shape of the index."""
    lengths = [x.shape[d] for d, _ in indices]
    front = movedim(x, [d for d, _ in indices], list(range(len(indices))))
    rows = reshape(front, (math.prod(lengths), *front.shape[len(indices) :]))
    number: Any = None
    for (_, index), n in zip(indices, lengths):
        positive = where(index < 0, index + n, index)
        number = positive if number is None else add(mul(number, n), positive)
    return rows, reshape(number, -1), tuple(number.shape)


def picked(x: Tensor, items: list[Any]) -> Tensor:
    """x[key] for a full key: first what makes a view, then the index tensors."""
    basic, indices = split(items)
    return pick(getitem(x, basic), indices)


def pick(x: Tensor, indices: list[tuple[int, Any]]) -> Tensor:
    """x[key] for index tensors alone."""
    rows, number, shape = numbered(x, indices)
    out = reshape(index_select(rows, 0, number), (*shape, *rows.shape[1:]))
    dims = [d for d, _ in indices]
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    return movedim(out, list(range(len(shape))), [dims[0] + k for k in range(len(shape))]) if together and dims[0] else out


def put(x: Tensor, indices: list[tuple[int, Any]], value: Tensor, accumulate: bool = False) -> Tensor:
    """x with value written, or added, at index tensors."""
    rows, number, shape = numbered(x, indices)
    dims = [d for d, _ in indices]
    rest = rows.shape[1:]
    if dims == list(range(dims[0], dims[0] + len(dims))) and dims[0]:  # the value has the index's dims where they were in x
        wanted = (*rest[: dims[0]], *shape, *rest[dims[0] :])
        value = movedim(expand(value, wanted), [dims[0] + k for k in range(len(shape))], list(range(len(shape))))
    else:
        value = expand(value, (*shape, *rest))
    index = expand(reshape(number, (-1, *(1,) * len(rest))), (math.prod(shape), *rest))
    written = (scatter_add if accumulate else scatter)(rows, 0, index, reshape(value, (math.prod(shape), *rest)))
    front = [x.shape[d] for d in dims]
    return movedim(reshape(written, (*front, *rest)), list(range(len(dims))), dims)
