"""Looking into memory by strides: what every view is, whichever function made it.

A `Part` says where: positions are counted in entries from the first entry of `x`, and `layout` is how x itself lies. An array that
lies in another way (a gradient, most often) is first brought into that layout.
"""

import numpy as np

from autolab.engine.inplace import Part, address, layout_of
from autolab.engine.op import LINEAR, op

L = LINEAR


def span(shape, strides, offset=0):
    if 0 in shape:
        return 0, 0
    steps = [(n - 1) * s for n, s in zip(shape, strides)]
    return offset + sum(s for s in steps if s < 0), offset + sum(s for s in steps if s > 0) + 1


def reach(x_shape, part):
    """The lowest position that an array and its part need, and the one after the highest."""
    (a, b), (c, d) = span(x_shape, part.layout), span(part.shape, part.strides, part.offset)
    return (a, b) if c == d else (c, d) if a == b else (min(a, c), max(b, d))


def of_samples(part, x_shape, size, layout=None):
    """The same part in each of `size` arrays: one after the other, or where they lie if they do so with this layout."""
    low, high = reach(x_shape, part)
    step = layout[0] if layout is not None and tuple(layout[1:]) == tuple(part.layout) else high - low
    return Part((size, *part.shape), (step, *part.strides), part.offset, (step, *part.layout))


def overlaps(shape, strides):
    """Whether two entries may lie in one place: a stride does not get past all that smaller strides cover."""
    covered = 0
    for step, n in sorted((abs(s), n) for s, n in zip(strides, shape) if n > 1):
        if step <= covered:
            return True
        covered += step * (n - 1)
    return False


def window(flat, shape, strides, offset):
    """The entries of one-dimensional memory that lie there: a view. Raises IndexError outside of it."""
    low, high = span(shape, strides, offset)
    if low < 0 or high > flat.size:
        raise IndexError(f"a view of positions {low} to {high} does not fit into memory for {flat.size} entries")
    start = flat[offset:] if high > low else flat[:0]
    return np.lib.stride_tricks.as_strided(start, shape, [s * flat.itemsize for s in strides])


def positions(shape, strides, offset):
    """The position of each entry."""
    at = np.full(shape, offset)
    for axis, (n, step) in enumerate(zip(shape, strides)):
        at += (np.arange(n) * step).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    return at


def spread(x, low, high, strides, offset=0):
    """Memory for positions `low` to `high`: zeros, and the entries of x. Those that share a place are added up."""
    flat = np.zeros(high - low, x.dtype)
    if overlaps(x.shape, strides):
        np.add.at(flat, positions(x.shape, strides, offset - low), x)
    else:
        window(flat, x.shape, strides, offset - low)[...] = x
    return flat


def shared_out(flat, low, high, shape, layout):
    """Divide by the number of entries of an array of this shape that lie in each place."""
    if not overlaps(shape, layout):
        return flat
    count = np.bincount(positions(shape, layout, -low).ravel(), minlength=high - low)
    return (flat / np.maximum(count, 1)).astype(flat.dtype)


def memory_of(x, part):
    """x in its layout, and the lowest position in there. Entries that share a place should be one number: their mean."""
    low, high = reach(x.shape, part)
    return shared_out(spread(x, low, high, part.layout), low, high, x.shape, part.layout), low


def memory_and_start(x):
    """The whole memory that x lies in, in one dimension, and the position of the first entry of x there."""
    whole, base = x, x.base
    while base is not None:  # between an array and its base may stand what NumPy's as_strided made of it
        whole = base if isinstance(base, np.ndarray) else whole
        base = getattr(base, "base", None)
    return whole.ravel("K").view(x.dtype), (address(x) - address(whole)) // x.itemsize


def view_part(x, part):
    """The part of x, in x's own memory if x lies as it should."""
    x = np.asarray(x)
    if all(n <= 1 or mine == its for n, mine, its in zip(x.shape, layout_of(x), part.layout)):
        whole, start = memory_and_start(x)
        low, high = span(part.shape, part.strides, start + part.offset)
        if 0 <= low and high <= whole.size:
            view = window(whole, part.shape, part.strides, start + part.offset)
            if not x.flags.writeable:
                view.flags.writeable = False
            return view
    flat, low = memory_of(x, part)
    return window(flat, part.shape, part.strides, part.offset - low)


def put_back(g, x_shape, part):
    """Zeros in the layout of x, with g where the part lies. Entries of x that share a place share its gradient."""
    low, high = reach(x_shape, part)
    flat = shared_out(spread(np.asarray(g), low, high, part.strides, part.offset), low, high, x_shape, part.layout)
    return window(flat, x_shape, part.layout, -low)


def write_part(x, y, part):
    """A copy of x in its layout, with y where the part lies."""
    flat, low = memory_of(np.asarray(x), part)
    window(flat, part.shape, part.strides, part.offset - low)[...] = y
    return window(flat, np.shape(x), part.layout, -low)


alias = op("alias", lambda x: x[...], L, view=True, x=lambda g: g)
as_strided = op(
    "as_strided", lambda x, *, part: view_part(x, part), L, view=True,
    x=lambda g, x_shape, part: as_strided_back(g, x_shape=x_shape, part=part),
)  # fmt: skip
as_strided_back = op(
    "as_strided_back", lambda g, *, x_shape, part: put_back(g, x_shape, part), L, g=lambda u, part: as_strided(u, part=part)
)
as_strided_scatter = op(
    "as_strided_scatter", lambda x, y, *, part: write_part(x, y, part), L,
    x=lambda g, y_shape, part: as_strided_scatter(g, np.zeros(y_shape, g.dtype), part=part),
    y=lambda g, part: as_strided(g, part=part),
)  # fmt: skip


# -- windows that slide along an axis ----------------------------------------------------------------


def windows(x, axis, size, step):
    """A new last axis runs over `size` entries; `axis` over the windows, which begin `step` entries apart."""
    if size:
        found = np.lib.stride_tricks.sliding_window_view(x, size, axis, writeable=x.flags.writeable)
    else:
        return np.empty((*x.shape[:axis], x.shape[axis] // step + 1, *x.shape[x.ndim + axis + 1 :], 0), x.dtype)
    return found[(..., slice(None, None, step), *(slice(None),) * -axis)]


def windows_back(g, x_shape, axis, size, step):
    """Each entry receives the gradients of all windows that it was in."""
    out = np.zeros(x_shape, g.dtype)
    n = g.shape[axis - 1]
    for k in range(size):
        out[(..., slice(k, k + (n - 1) * step + 1, step), *(slice(None),) * (-axis - 1))] += g[..., k]
    return out


unfold = op(
    "unfold", lambda x, *, axis, size, step: windows(x, axis, size, step), L, view=True,
    x=lambda g, x_shape, axis, size, step: unfold_back(g, x_shape=x_shape, axis=axis, size=size, step=step),
)  # fmt: skip
unfold_back = op(
    "unfold_back", lambda g, *, x_shape, axis, size, step: windows_back(g, x_shape, axis, size, step), L,
    g=lambda u, axis, size, step: unfold(u, axis=axis, size=size, step=step),
)  # fmt: skip
