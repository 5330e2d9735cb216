"""How a row takes a batch, where one axis more in front is not enough: what vmap runs instead, once, for all samples.

This file has nothing for elementwise rows, nor for rows whose settings count axes from the end. A function receives by name: the inputs,
each with the samples along axis 0 (as they came if it asks for `batched`, which says for each whether it has that axis); the settings;
`size`, the number of samples; `row` and `settings`, to call the row itself. It is made of rows, so it can be differentiated and
batched again. A general row without a function here would run in a loop over the samples; there is none at present.
"""

import math
import string

import numpy as np

from autolab.engine.op import from_the_end
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import elementwise as e
from autolab.rules import index as i
from autolab.rules import linalg, nn, reduce, shape, strided, view_write
from autolab.transforms.batched import Batch


def batch(*rows):
    """Decorate the function that runs these rows on a batch."""

    def register(function):
        for row in rows:
            row.batch = function
        return function

    return register


def add_axes(x, ndim):
    """x with axes of length 1 behind the samples' axis, up to `ndim` axes for each sample."""
    return x if x.ndim > ndim else np.reshape(x, (x.shape[0], *(1,) * (ndim + 1 - x.ndim), *x.shape[1:]))


# -- shapes ------------------------------------------------------------------------------------------


@batch(shape.reshape)
def reshape(x, size, shape):
    return np.reshape(x, (size, *((shape,) if isinstance(shape, int) else shape)))


@batch(shape.expand)
def expand(x, size, shape):
    return np.broadcast_to(add_axes(x, len(shape)), (size, *shape))


@batch(shape.repeat)
def repeat(x, repeats):
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    repeats = (1,) * (x.ndim - 1 - len(repeats)) + repeats
    return np.tile(add_axes(x, len(repeats)), (1, *repeats))


@batch(shape.t)
def t(x):
    return np.swapaxes(x, -1, -2) if x.ndim == 3 else x


@batch(shape.transpose)
def transpose(x, axes):
    n = x.ndim - 1
    return np.transpose(x, (-n - 1, *(range(-1, -n - 1, -1) if axes is None else from_the_end(axes, n))))


@batch(shape.expand_dims)
def expand_dims(x, axis):
    return shape.expand_dims(x, axis=from_the_end(axis, x.ndim))


@batch(shape.squeeze)
def squeeze(x, axis):
    n = x.ndim - 1
    return np.squeeze(x, tuple(a for a in range(-n, 0) if x.shape[a] == 1) if axis is None else from_the_end(axis, n))


@batch(shape.roll)
def roll(x, shift, axis):
    if axis is None:
        return np.reshape(np.roll(np.reshape(x, (x.shape[0], math.prod(x.shape[1:]))), shift, (-1,)), x.shape)
    return np.roll(x, shift, from_the_end(axis, x.ndim - 1))


@batch(shape.stack)
def stack(xs, axis):
    return shape.stack(*xs, axis=from_the_end(axis, xs[0].ndim))


@batch(shape.diagonal_scatter, i.place)
def with_shape(g, row, settings, size):
    """Rows that are told the shape of their result."""
    return row(g, **settings | {"shape": (size, *settings["shape"])})


# -- reductions --------------------------------------------------------------------------------------


@batch(reduce.sum, reduce.mean, reduce.var, reduce.std, reduce.var_mean, reduce.std_mean, reduce.norm, reduce.amax, reduce.amin,
       reduce.all, reduce.any, reduce.logsumexp, nn.softmax, nn.log_softmax)  # fmt: skip
def reduction(x, row, settings):
    """No axis means all axes of the sample."""
    n, axis = x.ndim - 1, settings["axis"]
    return row(x, **settings | {"axis": tuple(range(-n, 0)) if axis is None else from_the_end(axis, n)})


@batch(reduce.max_of_all)
def max_of_all(x):
    return reduce.amax(np.reshape(x, (x.shape[0], -1)), axis=-1)


@batch(reduce.min_of_all)
def min_of_all(x):
    return reduce.amin(np.reshape(x, (x.shape[0], -1)), axis=-1)


@batch(reduce.prod, reduce.argmax, reduce.argmin)
def flat_reduction(x, row, settings):
    """Reductions along one axis: no axis means the one of the flattened sample."""
    n, axis, keepdims = x.ndim - 1, settings["axis"], settings["keepdims"]
    if axis is not None:
        return row(x, axis=from_the_end(axis, n), keepdims=keepdims)
    out = row(np.reshape(x, (x.shape[0], -1)), axis=-1, keepdims=False)
    return np.reshape(out, (x.shape[0], *(1,) * n)) if keepdims else out


@batch(reduce.max_along, reduce.min_along)
def along(x, row, settings):
    if x.ndim == 1:  # 0-d samples
        return x, np.zeros(x.shape, np.int64)
    return row(x, **settings | {"axis": from_the_end(settings["axis"], x.ndim - 1)})


@batch(reduce.cumsum)
def cumsum(x, axis):
    return x if x.ndim == 1 else reduce.cumsum(x, axis=-1 if axis is None else from_the_end(axis, x.ndim - 1))


# -- products ----------------------------------------------------------------------------------------


def rows_of(x):
    """All leading axes as one."""
    return np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


@batch(linalg.mm, linalg.mv, linalg.vm, linalg.dot, linalg.bmm, linalg.matmul)
def product(x, y, batched):
    """By the ranks of the samples. Where one operand is shared, the other's samples become rows of one large product."""
    if x.ndim == y.ndim == 2 and batched == (True, False):
        return x @ y
    a, b = (z.ndim - own for z, own in zip((x, y), batched))
    if a == b == 1:
        if all(batched):
            return np.sum(x * y, axis=-1)
        return linalg.mv(x, y) if batched[0] else linalg.mv(y, x)
    if a == 1 and b == 2:
        return np.squeeze(linalg.matmul(np.expand_dims(x, -2), y), -2)
    if b == 1:
        if batched == (True, False):
            return np.reshape(linalg.mv(rows_of(x), y), x.shape[:-1])
        if batched == (False, True):
            return linalg.mm(y, np.swapaxes(x, -1, -2))
        return np.squeeze(linalg.matmul(x, np.expand_dims(y, -1)), -1)
    if b == 2 and batched == (True, False):
        return np.reshape(linalg.mm(rows_of(x), y), (*x.shape[:-1], y.shape[-1]))
    most = max(a, b)
    x, y = (add_axes(z, most) if own else z for z, own in zip((x, y), batched))
    # An outer product for each sample: multiplying is three times as fast as a loop of products with one term.
    return x * y if x.shape[-1] == 1 else linalg.matmul(x, y)


@batch(linalg.outer)
def outer(x, y):
    return linalg.outer(x, y)


@batch(linalg.outer_sum)
def outer_sum(x, y, size):
    """Where each sample has but one row, multiplying is three times as fast as a loop of products with one term."""
    if x.ndim > 3:
        x, y = (np.reshape(z, (size, math.prod(z.shape[1:-1]), z.shape[-1])) for z in (x, y))
    if x.shape[1] == 1:
        return linalg.outer(x[:, 0], y[:, 0])
    return linalg.matmul(np.swapaxes(x, -1, -2), y)


@batch(linalg.linear)
def linear(x, weight, bias, batched, size):
    if batched == (True, False, False):
        return linalg.linear(x, weight, bias)
    lead = x.shape[batched[0] : -1]
    rows = np.reshape(x, (*x.shape[: batched[0]], math.prod(lead), x.shape[-1]))
    out = linalg.matmul(rows, np.swapaxes(weight, -1, -2)) + (np.expand_dims(bias, -2) if batched[2] else bias)
    return np.reshape(out, (size, *lead, out.shape[-1]))


@batch(linalg.addmm)
def addmm(bias, x, y, batched, size):
    return linalg.matmul(x, y) + (np.expand_dims(bias, -2) if batched[0] else bias)


@batch(linalg.einsum)
def einsum(xs, equation, batched):
    """One letter more, for the samples."""
    letters, result = equation.split("->")
    new = next(c for c in string.ascii_letters if c not in equation)
    operands = (new + one if own else one for one, own in zip(letters.split(","), batched))
    return linalg.einsum(*xs, equation=f"{','.join(operands)}->{new}{result}")


# -- indices -----------------------------------------------------------------------------------------


def key_for_batch(key):
    """The key with a full slice for the samples, and how many axes NumPy would move in front of theirs.

    Index arrays with a slice between them put their axes first; otherwise these stay where they are.
    """
    arrays = [n for n, k in enumerate(key) if isinstance(k, np.ndarray)]
    apart = any(b - a > 1 for a, b in zip(arrays, arrays[1:]))
    found = np.broadcast_shapes(*[(np.count_nonzero(k),) if k.dtype == bool else k.shape for k in (key[n] for n in arrays)])
    return (slice(None), *key), len(found) if apart else 0


@batch(i.index)
def index(x, key):
    key, ahead = key_for_batch(key)
    return np.moveaxis(i.index(x, key=key), ahead, 0)


@batch(i.add_at)
def add_at(g, key, shape, size):
    key, ahead = key_for_batch(key)
    return i.add_at(np.moveaxis(g, 0, ahead), key=key, shape=(size, *shape))


@batch(i.index_put)
def index_put(x, y, key):
    key, ahead = key_for_batch(key)
    room = np.empty(x.shape, bool)[key].ndim - 1
    return i.index_put(x, np.moveaxis(add_axes(y, room), 0, ahead), key=key)


@batch(i.gather)
def gather(x, index, axis):
    if x.ndim == 1:  # 0-d samples: every index is 0
        return np.broadcast_to(add_axes(x, index.ndim - 1), index.shape)
    return i.gather(x, index, axis=from_the_end(axis, x.ndim - 1))


@batch(i.scatter_add)
def scatter_add(x, index, src, axis):
    if x.ndim == 1:
        return x + np.sum(src, axis=tuple(range(1 - src.ndim, 0)))
    return i.scatter_add(x, index, src, axis=from_the_end(axis, x.ndim - 1))


@batch(reduce.put_along_axis)
def put_along_axis(g, index, size, shape, axis):
    if not shape:
        return np.reshape(g, (size,))
    return reduce.put_along_axis(g, index, shape=(size, *shape), axis=from_the_end(axis, len(shape)))


def along_axis(index, axis, like):
    """A 1-d index for each sample, spread over the other axes of `like`: what gather wants."""
    n = like.ndim - 1
    shape = [1] * n
    shape[axis] = index.shape[-1]
    full = [*like.shape[1:]]
    full[axis] = index.shape[-1]
    return np.broadcast_to(np.reshape(index, (*index.shape[:-1], *shape)), (like.shape[0], *full))


@batch(i.index_select)
def index_select(x, index, axis, batched, size):
    if batched == (True, False):
        return i.index_select(x, index, axis=from_the_end(axis, x.ndim - 1)) if x.ndim > 1 else x
    x = x if batched[0] else np.broadcast_to(x, (size, *x.shape))
    return i.gather(x, along_axis(index, axis, x), axis=from_the_end(axis, x.ndim - 1)) if x.ndim > 1 else x


@batch(i.index_add)
def index_add(x, index, src, axis, batched, size):
    x, src = (z if own else np.broadcast_to(z, (size, *z.shape)) for z, own in ((x, batched[0]), (src, batched[2])))
    if x.ndim == 1:
        return x + np.sum(src, axis=tuple(range(1 - src.ndim, 0)))
    axis = from_the_end(axis, x.ndim - 1)
    if not batched[1]:
        return i.index_add(x, index, src, axis=axis)
    return i.scatter_add(x, along_axis(index, axis, src), src, axis=axis)


@batch(i.embedding)
def embedding(weight, index, batched, size):
    """A table for each sample is one long table; the indices of sample k start at k times its length."""
    if not batched[0]:
        return i.embedding(weight, index)
    tables, rows, *rest = weight.shape
    index = index if batched[1] else np.broadcast_to(index, (size, *index.shape))
    return i.embedding(np.reshape(weight, (tables * rows, *rest)), index + first_rows(index, rows))


@batch(i.embedding_back)
def embedding_back(g, index, rows, size):
    out = i.embedding_back(g, index + first_rows(index, rows), rows=size * rows)
    return np.reshape(out, (size, rows, out.shape[-1]))


def first_rows(index, rows):
    return np.reshape(np.arange(index.shape[0]) * rows, (-1, *(1,) * (index.ndim - 1)))


# -- losses and normalisation ------------------------------------------------------------------------


def reduced(loss, reduction):
    """One number for each sample."""
    if reduction == "none":
        return loss
    axes = tuple(range(1, loss.ndim))
    total = np.sum(loss, axis=axes)
    return total / math.prod(loss.shape[1:]) if reduction == "mean" else total


@batch(nn.mse_loss)
def mse_loss(x, y, reduction):
    return reduced(nn.mse_loss(x, y, reduction="none"), reduction)


@batch(nn.nll_loss)
def nll_loss(x, target, weight, reduction, ignore_index, axis, batched, size):
    """The samples are one axis of observations more; the mean divides by each sample's own weights."""
    x, target = (z if own else np.broadcast_to(z, (size, *z.shape)) for z, own in zip((x, target), batched))
    same = np.ones(x.shape[axis], x.dtype) if batched[2] else weight
    loss = nn.nll_loss(x, target, same, reduction="none", ignore_index=ignore_index, axis=axis)
    used = target != ignore_index
    classes = np.where(used, target, 0)
    own = embedding(weight, classes, (batched[2], True), size) * used
    loss = loss * own if batched[2] else loss
    return reduced(loss, "sum") / reduced(own, "sum") if reduction == "mean" else reduced(loss, reduction)


@batch(nn.bce_with_logits)
def bce_with_logits(x, target, weight, pos_weight, reduction, batched, size):
    n = max(z.ndim - own for z, own in zip((x, target), batched))
    x, target = (z if own else np.broadcast_to(z, (size, *z.shape)) for z, own in zip((x, target), batched))
    weight, pos_weight = (add_axes(z, n) if own else z for z, own in zip((weight, pos_weight), batched[2:]))
    return reduced(nn.bce_with_logits(x, target, weight, pos_weight, reduction="none"), reduction)


@batch(nn.layer_norm)
def layer_norm(x, weight, bias, axes, eps, batched, size):
    x = x if batched[0] else np.broadcast_to(x, (size, *x.shape))
    weight, bias = (add_axes(z, x.ndim - 1) if own else z for z, own in zip((weight, bias), batched[1:]))
    return nn.layer_norm(x, weight, bias, axes=axes, eps=eps)


# -- writing -----------------------------------------------------------------------------------------


@batch(strided.as_strided)
def as_strided(x, part, size):
    layout = strided.layout_of(x.payload if isinstance(x, Tensor) else x)
    return strided.as_strided(x, part=strided.of_samples(part, x.shape[1:], size, layout))


@batch(strided.as_strided_back)
def as_strided_back(g, x_shape, part, size):
    return strided.as_strided_back(g, x_shape=(size, *x_shape), part=strided.of_samples(part, x_shape, size))


@batch(strided.unfold_back)
def unfold_back(g, x_shape, axis, size, row, settings):
    return row(g, **{**settings, "x_shape": (g.shape[0], *x_shape)})


@batch(strided.as_strided_scatter)
def as_strided_scatter(x, y, part, size):
    return strided.as_strided_scatter(x, y, part=strided.of_samples(part, x.shape[1:], size))


class LookOfEach:
    """The part of each sample that a view looks at, where all samples are in one array."""

    def __init__(self, look, size):
        self.look, self.size = look, size

    def through(self, x):
        with Batch(self.size) as level:
            found = self.look.through(level.input(x if isinstance(x, Tensor) else new_tensor(x))).value
        return found if isinstance(x, Tensor) else found.payload


@batch(view_write.put)
def put(x, y, look, size):
    return view_write.put(x, y, look=LookOfEach(look, size))


@batch(e.copy)
def copy(x, y):
    return e.copy(x, add_axes(y, x.ndim - 1))


@batch(e.fill)
def fill(x, y, size, batched):
    x = x if batched[0] else np.broadcast_to(x, (size, *x.shape))
    return e.copy(x, add_axes(y, x.ndim - 1)) if batched[1] else e.fill(x, y)
