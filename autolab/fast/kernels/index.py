"""Adding at places that an index names: row by row, or at positions counted over all entries."""

import math
from typing import Any

import numpy as np

from autolab.fast.kernel import kernel
from autolab.rules import index as rows
from autolab.rules.index import grid

FEW = 1000  # entries: up to here positions are not counted
WIDE = 256  # entries: from here on rows are added one by one


def add_flat(out: Any, positions: Any, g: Any) -> Any:
    """Add g at positions counted over all entries. One index array is several times faster for np.add.at than a tuple of them."""
    np.add.at(out.reshape(-1), positions.reshape(-1), g.reshape(-1))
    return out


def add_rows(out: Any, index: Any, g: Any) -> Any:
    """Add row after row of g to the row of out that the index names."""
    for i, row in zip(index.reshape(-1).tolist(), g):
        out[i] += row


def add_at(g: Any, *, key: Any, shape: Any) -> Any:
    out = np.zeros(shape, g.dtype)
    arrays = [k for k in key if isinstance(k, np.ndarray)]
    if len(arrays) == 1 and arrays[0].dtype == bool:  # a mask names each place once
        out[key] = g
    elif g.size < FEW:
        np.add.at(out, key, g)
    else:
        add_flat(out, np.arange(out.size).reshape(shape)[key], g)
    return out


def scatter_add(x: Any, index: Any, src: Any, *, axis: Any) -> Any:
    if not index.ndim or not x.ndim:
        return rows.scatter_add_values(x, index, src, axis=axis)
    positions = np.ravel_multi_index(grid(index, axis), x.shape)
    return add_flat(np.array(x, order="C"), positions, src[tuple(slice(n) for n in index.shape)])


def index_add(x: Any, index: Any, src: Any, *, axis: Any) -> Any:
    if not x.ndim:
        return rows.index_add_values(x, index, src, axis=axis)
    behind = math.prod(x.shape[x.ndim + axis + 1 :]) if axis < 0 else 0
    if behind >= WIDE:
        out = np.array(x, order="C")
        add_rows(np.moveaxis(out, axis, 0), index, np.moveaxis(src, axis, 0))
        return out
    positions = np.take(np.arange(x.size).reshape(x.shape), index, axis)
    return add_flat(np.array(x, order="C"), positions, src)


def embedding_back(g: Any, index: Any, *, rows: Any) -> Any:
    width = g.shape[-1]
    if width >= WIDE:
        out = np.zeros((rows, width), g.dtype)
        add_rows(out, index, g.reshape(-1, width))
        return out
    return add_flat(np.zeros((rows, width), g.dtype), index.reshape(-1, 1) * width + np.arange(width), g)


kernel(rows.add_at, add_at)
kernel(rows.scatter_add, scatter_add)
kernel(rows.index_add, index_add)
kernel(rows.embedding_back, embedding_back)
