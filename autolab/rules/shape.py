"""Rows that move entries about and compute nothing. All are linear, and the rule of each is the way back.

Axes are negative, counted from the end, so that a leading axis added by vmap changes nothing.
"""

from itertools import accumulate

import numpy as np

from autolab.engine.node import sum_to
from autolab.engine.op import LINEAR, op

L = LINEAR

reshape = op(
    "reshape", lambda x, *, shape: x.reshape(shape), L, numpy=np.reshape, node="ViewBackward0", view=True,
    x=lambda g, x_shape: np.reshape(g, x_shape),
)  # fmt: skip
swapaxes = op(
    "swapaxes", lambda x, *, axis1, axis2: x.swapaxes(axis1, axis2), L, numpy=np.swapaxes,
    node="TransposeBackward0", view=True,
    x=lambda g, axis1, axis2: np.swapaxes(g, axis1, axis2),
)  # fmt: skip


t = op("t", lambda x: x.T, L, view=True, x=lambda g: t(g))
transpose = op(
    "transpose", lambda x, *, axes=None: x.transpose(axes), L, numpy=np.transpose, node="PermuteBackward0", view=True,
    x=lambda g, axes: np.transpose(g, inverse(axes)),
)  # fmt: skip


def inverse(axes):
    """The permutation that undoes another; negative axes stay negative."""
    if axes is None:
        return None
    back = [0] * len(axes)
    for place, a in enumerate(axes):
        back[a] = place - len(axes)
    return tuple(back)


moveaxis = op(
    "moveaxis", lambda x, *, source, destination: np.moveaxis(x, source, destination), L, numpy=np.moveaxis,
    node="PermuteBackward0", view=True,
    x=lambda g, source, destination: np.moveaxis(g, destination, source),
)  # fmt: skip


def stretched_view(x, shape):
    """np.broadcast_to, but what is not a repetition may be written to."""
    view = np.broadcast_to(x, shape)
    view.flags.writeable = x.flags.writeable
    return view


expand = op(
    "expand", lambda x, *, shape: stretched_view(x, shape), L, numpy=np.broadcast_to, view=True, x=lambda g, x_shape: sum_to(g, x_shape)
)
expand_dims = op(
    "expand_dims", lambda x, *, axis: x[(..., None, *(slice(None),) * (-axis - 1))], L, numpy=np.expand_dims,
    node="UnsqueezeBackward0", view=True,
    x=lambda g, x_shape: np.reshape(g, x_shape),
)  # fmt: skip
squeeze = op(
    "squeeze", lambda x, *, axis=None: x.squeeze(axis), L, numpy=np.squeeze, view=True,
    node=lambda x, *, axis=None: f"SqueezeBackward{0 if axis is None else 1 if axis == () or isinstance(axis, int) else 2}",
    x=lambda g, x_shape: np.reshape(g, x_shape),
)  # fmt: skip
flip = op("flip", lambda x, *, axis: np.flip(x, axis).copy(), L, numpy=np.flip, x=lambda g, axis: np.flip(g, axis))
roll = op(
    "roll", lambda x, *, shift, axis=None: np.roll(x, shift, axis), L, numpy=np.roll,
    x=lambda g, shift, axis: np.roll(g, tuple(-s for s in shift), axis),
)  # fmt: skip


def fold_copies(g, x_shape, repeats):
    """Sum what was repeated: split each axis into (copies, length) and sum over the copies."""
    shape = (1,) * (len(repeats) - len(x_shape)) + tuple(x_shape)
    split = tuple(n for pair in zip(repeats, shape) for n in pair)
    return np.reshape(np.sum(np.reshape(g, split), axis=tuple(range(0, len(split), 2))), x_shape)


repeat = op("repeat", lambda x, *, repeats: np.tile(x, repeats), L, numpy=np.tile, x=fold_copies)


# -- joining and cutting -------------------------------------------------------------------------


def cut(g, xs_shape, axis):
    """The pieces of a concatenation, in order."""
    ends = np.cumsum([shape[axis] for shape in xs_shape]).tolist()
    return [part(g, axis, end - shape[axis], end) for shape, end in zip(xs_shape, ends)]


def part(g, axis, start, stop):
    return g[(..., slice(start, stop), *(slice(None),) * (-axis - 1))]


concatenate = op("cat", lambda *xs, axis=0: np.concatenate(xs, axis), L, numpy=np.concatenate, xs=cut)
stack = op(
    "stack", lambda *xs, axis=0: np.stack(xs, axis), L, numpy=np.stack,
    xs=lambda g, xs_shape, axis: [g[(..., i, *(slice(None),) * (-axis - 1))] for i in range(len(xs_shape))],
)  # fmt: skip
split = op(
    "split", lambda x, *, sizes, axis: [part(x, axis, end - n, end) for n, end in zip(sizes, accumulate(sizes))], L,
    outputs=-1, view=True,
    x=lambda g, axis: np.concatenate(g, axis),
)  # fmt: skip
split_with_sizes = op("split_with_sizes", split.forward, L, outputs=-1, view=True, x=lambda g, axis: np.concatenate(g, axis))
unbind = op(
    "unbind", lambda x, *, axis: [x[(..., i, *(slice(None),) * (-axis - 1))] for i in range(x.shape[axis])], L,
    outputs=-1, view=True,
    x=lambda g, axis: np.stack(g, axis),
)  # fmt: skip


# -- diagonals and triangles ---------------------------------------------------------------------


def diagonal_back(g, *, shape, offset, axis1, axis2):
    out = np.zeros(shape, g.dtype)
    diagonal_view(out, offset, axis1, axis2)[...] = g
    return out


def diagonal_view(x, offset, axis1, axis2):
    view = np.diagonal(x, offset, axis1, axis2)
    view.flags.writeable = x.flags.writeable
    return view


diagonal = op(
    "diagonal", lambda x, *, offset=0, axis1=-2, axis2=-1: diagonal_view(x, offset, axis1, axis2), L, view=True,
    x=lambda g, x_shape, offset, axis1, axis2: diagonal_scatter(g, shape=x_shape, offset=offset, axis1=axis1, axis2=axis2),
)  # fmt: skip
diagonal_scatter = op(
    "diagonal_scatter", diagonal_back, L, node="DiagEmbedBackward0",
    g=lambda u, offset, axis1, axis2: diagonal(u, offset=offset, axis1=axis1, axis2=axis2),
)  # fmt: skip
tril = op("tril", lambda x, *, k=0: np.tril(x, k), L, numpy=np.tril, x=lambda g, k: np.tril(g, k))
triu = op("triu", lambda x, *, k=0: np.triu(x, k), L, numpy=np.triu, x=lambda g, k: np.triu(g, k))
