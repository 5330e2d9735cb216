"""Rows that write into a copy at places that an index array names, and what becomes of several values for one place."""

import numpy as np

from autolab.engine.op import GENERAL, LINEAR, op
from autolab.rules.index import gather, grid, scatter_add, widen


def at(index, axis, x):
    """The key of the entries that `index` names along `axis`."""
    return grid(index, axis) if x.ndim else ...


def within(src, index):
    """The part of src that index reads."""
    return src[tuple(slice(n) for n in index.shape)] if src.ndim else src


def of_samples(x, index, src, row, settings):
    """vmap: places are counted along an axis from the end, so samples in front change nothing; 0-d samples get an axis."""
    if x.ndim > 1:
        return row(x, index, src, **settings)
    x, index, src = (np.reshape(z, (z.shape[0], -1)) for z in (x, index, src))
    return np.reshape(row(x, index, src, **settings), (x.shape[0],))


def scatter_values(x, index, src, *, axis):
    out = np.array(x)
    out[at(index, axis, x)] = within(src, index) if x.ndim else np.reshape(src, -1)[-1]
    return out


scatter = op(
    "scatter", scatter_values, LINEAR, batch=of_samples, number={"ScatterBackward1": "src"},
    x=lambda g, index, src_shape, axis: scatter(g, index, np.zeros(src_shape, g.dtype), axis=axis),
    src=lambda g, index, src_shape, axis: widen(gather(g, index, axis=axis), src_shape),
)  # fmt: skip


def reducer(ufunc, neutral):
    """A forward that combines all values for a place; without the place's own value if not `include_self`."""

    def forward(x, index, src, *, axis, include_self=True):
        out = np.array(x)
        if not x.ndim:
            return ufunc.reduce(np.append(out, src) if include_self else np.reshape(src, -1), dtype=out.dtype)
        key = at(index, axis, x)
        if not include_self and index.size:
            out[key] = neutral(out.dtype)
        ufunc.at(out, key, within(src, index))
        return out

    return forward


def lowest(dtype):
    return -np.inf if dtype.kind not in "biu" else False if dtype.kind == "b" else np.iinfo(dtype).min


def highest(dtype):
    return np.inf if dtype.kind not in "biu" else True if dtype.kind == "b" else np.iinfo(dtype).max


def share(g, x, index, src, out, axis):
    """For each place its gradient, shared by all values that are the extreme one; the place's own value counts always, as in PyTorch."""
    ours = (src == gather(out, index, axis=axis)) if src.shape == index.shape else (within(src, index) == gather(out, index, axis=axis))
    return g / scatter_add((x == out).astype(g.dtype), index, ours.astype(g.dtype), axis=axis), ours


def extreme_x(g, x, index, src, out, axis, include_self):
    mine, _ = share(g, x, index, src, out, axis)
    mine = mine * (x == out)
    return mine if include_self else scatter(mine, index, np.zeros(index.shape, g.dtype), axis=axis)


def extreme_src(g, x, index, src, out, axis):
    mine, ours = share(g, x, index, src, out, axis)
    return widen(gather(mine, index, axis=axis) * ours, src.shape)


scatter_max = op(
    "scatter_max", reducer(np.maximum, lowest), GENERAL, node="ScatterReduceBackward0", batch=of_samples, x=extreme_x, src=extreme_src
)
scatter_min = op(
    "scatter_min", reducer(np.minimum, highest), GENERAL, node="ScatterReduceBackward0", batch=of_samples, x=extreme_x, src=extreme_src
)


def product_x(g, x, index, src, axis, include_self):
    """The product of all others: with a 1 in place of a zero, so that nothing is divided by zero."""
    own = np.where(x == 0, 1, x)
    others = scatter_prod(own, index, src, axis=axis, include_self=include_self) / own
    mine = g * others
    return mine if include_self else scatter(mine, index, np.zeros(index.shape, g.dtype), axis=axis)


def product_src(g, x, index, src, out, axis, include_self):
    """As for x. If src has the only zero of a place, its others have a product; if it has several, all their gradients are 0."""
    part = within(src, index)
    zero = part == 0
    zeros = gather(scatter_add(np.zeros(x.shape, g.dtype), index, zero.astype(g.dtype), axis=axis), index, axis=axis)
    single = np.logical_and(zero, zeros == 1)
    if getattr(src, "requires_grad", False) and (zeros.all_numbers() > 1).any():  # this rule is itself to be differentiated
        raise RuntimeError(
            "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are scattered to the same position in self: the "
            "product of the others is 0 here, but its derivative is not known."
        )
    others = scatter_prod(x, index, np.where(single, 1, part), axis=axis, include_self=include_self)
    alone = gather(g * others, index, axis=axis)
    shared = gather(g * out, index, axis=axis) / np.where(zero, 1, part)
    return widen(np.where(single, alone, shared), src.shape)


scatter_prod = op(
    "scatter_prod", reducer(np.multiply, lambda dtype: 1), GENERAL, node="ScatterReduceBackward0", batch=of_samples,
    x=product_x, src=product_src,
)  # fmt: skip
