"""Rows that pick entries out of an array, and their transposes, which put them back."""

import numpy as np

from autolab.engine.node import sum_to
from autolab.engine.op import LINEAR, op

L = LINEAR


# -- basic indexing: `key` starts with an Ellipsis, so that it counts axes from the end ----------------

basic_rule = lambda g, x_shape, key: place(g, key=key, shape=x_shape)  # a lambda, to be shown as a formula
select = op("select", lambda x, *, key: x[key], L, view=True, x=basic_rule)
slice_ = op("slice", lambda x, *, key: x[key], L, view=True, x=basic_rule)


def place_values(g, *, key, shape):
    out = np.zeros(shape, g.dtype)
    out[key] = g
    return out


place = op("place", place_values, L, g=lambda u, key: u[key])


# -- integer and boolean arrays ------------------------------------------------------------------


def add_at_values(g, *, key, shape):
    """Zeros with g added at `key`: an entry picked twice receives both gradients."""
    out = np.zeros(shape, g.dtype)
    np.add.at(out, key, g)
    return out


add_at = op("add_at", add_at_values, L, holds=True, g=lambda u, key: index(u, key=key))
index = op("index", lambda x, *, key: x[key], L, holds=True, x=lambda g, x_shape, key: add_at(g, key=key, shape=x_shape))
index_put = op(
    "index_put", lambda x, y, *, key: index_put_values(x, y, key), L, holds=True,
    x=lambda g, y_shape, key: index_put(g, np.zeros(y_shape, g.dtype), key=key),
    y=lambda g, y_shape, key: sum_to(index(g, key=key), y_shape),
)  # fmt: skip


def index_put_values(x, y, key):
    out = np.array(x)
    out[key] = y
    return out


def grid(index, axis):
    """The full key of a gather: `index` along `axis`, every other axis where it is."""
    axis = axis % max(index.ndim, 1)
    return tuple(index if a == axis else np.arange(n).reshape((-1,) + (1,) * (index.ndim - a - 1)) for a, n in enumerate(index.shape))


def gather_values(x, index, *, axis):
    return x[grid(index, axis)] if index.ndim and x.ndim else np.full(index.shape, x)


def scatter_add_values(x, index, src, *, axis):
    if not index.ndim or not x.ndim:
        return x + np.sum(src, dtype=x.dtype)
    out = np.array(x)
    np.add.at(out, grid(index, axis), src[tuple(slice(n) for n in index.shape)])
    return out


gather = op(
    "gather", gather_values, L, numpy=np.take_along_axis,
    x=lambda g, x_shape, index, axis: scatter_add(np.zeros(x_shape, g.dtype), index, g, axis=axis),
)  # fmt: skip
scatter_add = op(
    "scatter_add", scatter_add_values, L, x=lambda g: g, src=lambda g, index, src_shape, axis: widen(gather(g, index, axis=axis), src_shape)
)


def widen(g, shape):
    """Zeros for the entries of src that lie outside the index and were never read."""
    return g if g.shape == shape else place(g, key=(..., *(slice(n) for n in g.shape)), shape=shape)


index_select = op(
    "index_select", lambda x, index, *, axis: np.take(x, index, axis) if x.ndim else np.copy(x), L,
    x=lambda g, x_shape, index, axis: index_add(np.zeros(x_shape, g.dtype), index, g, axis=axis),
)  # fmt: skip


def index_add_values(x, index, src, *, axis):
    if not x.ndim:
        return x + np.sum(src, dtype=x.dtype)
    out = np.array(x)
    np.add.at(np.moveaxis(out, axis, 0), index, np.moveaxis(src, axis, 0))
    return out


index_add = op("index_add", index_add_values, L, x=lambda g: g, src=lambda g, index, axis: index_select(g, index, axis=axis))


def embedding_back_values(g, index, *, rows):
    """Row i of the result is the sum of the gradients of all places that looked up row i."""
    out = np.zeros((rows, g.shape[-1]), g.dtype)
    np.add.at(out, index, g)
    return out


embedding = op(
    "embedding", lambda weight, index: np.take(weight, index, 0), L,
    weight=lambda g, weight_shape, index: embedding_back(g, index, rows=weight_shape[0]),
)  # fmt: skip
embedding_back = op("embedding_back", embedding_back_values, L, g=lambda u, index: embedding(u, index))
