"""Rows that put numbers in order along one axis, or pick one by its rank: the values, and where they stood.

`axis` is one negative axis. nan counts as larger than every number. A gradient goes back to the place that the indices name.
"""

import numpy as np

from autolab.dtypes import as_places
from autolab.engine.op import op
from autolab.rules.index import gather_values, scatter_add
from autolab.rules.reduce import among_ties, call_row, extreme_along_rule, put_along_axis


def ranks(x, axis, descending=False):
    """The positions in order; equal entries stay in the order in which they stand."""
    if not descending:
        return x.argsort(axis, "stable")
    backward = (..., slice(None, None, -1), *(slice(None),) * (-axis - 1))
    return x.shape[axis] - 1 - x[backward].argsort(axis, "stable")[backward]


def take_along(x, index, axis, keepdims=True):
    """The entries at the positions, and the positions."""
    values = gather_values(x, index, axis=axis)
    index = as_places(index)
    return (values, index) if keepdims else (np.squeeze(values, axis)[()], np.squeeze(index, axis)[()])


def put_back(g, x_shape, out_1, axis):
    return put_along_axis(g[0], out_1, shape=x_shape, axis=axis)


# -- whole orders ------------------------------------------------------------------------------------

sort = op(
    "sort", lambda x, *, axis, descending=False: take_along(x, ranks(x, axis, descending), axis), outputs=2, batch=call_row, x=put_back
)
argsort = op("argsort", lambda x, *, axis, descending=False: as_places(ranks(x, axis, descending)), batch=call_row)


def topk_values(x, *, k, axis, largest=True):
    return take_along(x, np.take(ranks(x, axis, largest), range(k), axis), axis)


topk = op("topk", topk_values, outputs=2, batch=call_row, x=put_back)


# -- one entry by its rank ---------------------------------------------------------------------------


def kth_along(x, rank, axis, keepdims):
    """The entry of a rank (a number, or one for each place) along the axis."""
    order = ranks(x, axis)
    rank = np.broadcast_to(rank, np.take(order, [0], axis).shape)
    return take_along(x, np.take_along_axis(order, rank, axis), axis, keepdims)


def median_values(x, *, axis, keepdims=False):
    """The lower of the two in the middle; nan if there is one."""
    n = x.shape[axis]
    lost = np.isnan(x).any(axis, keepdims=True)
    if not lost.any():
        return kth_along(x, (n - 1) // 2, axis, keepdims)
    found = np.where(lost, n - np.isnan(x).sum(axis, keepdims=True), (n - 1) // 2)
    return kth_along(x, found, axis, keepdims)


def nanmedian_values(x, *, axis, keepdims=False):
    counted = x.shape[axis] - np.isnan(x).sum(axis, keepdims=True)
    return kth_along(x, np.maximum(counted - 1, 0) // 2, axis, keepdims)


def mode_values(x, *, axis, keepdims=False):
    """The smallest of the most frequent entries, at its last place: the end of the first of the longest runs of the sorted entries."""
    order = np.moveaxis(ranks(x, axis), axis, -1)
    ordered = np.take_along_axis(np.moveaxis(x, axis, -1), order, -1)
    place = np.arange(x.shape[axis])
    starts = np.concatenate([np.ones((*ordered.shape[:-1], 1), bool), ordered[..., 1:] != ordered[..., :-1]], -1)
    length = place - np.maximum.accumulate(np.where(starts, place, 0), -1)
    end = np.argmax(length, -1)[..., None]
    return take_along(x, np.moveaxis(np.take_along_axis(order, end, -1), -1, axis), axis, keepdims)


kthvalue = op(
    "kthvalue", lambda x, *, k, axis, keepdims=False: kth_along(x, k - 1, axis, keepdims), outputs=2, batch=call_row, x=extreme_along_rule
)
median_along = op("median_along", median_values, node="MedianBackward1", outputs=2, batch=call_row, x=extreme_along_rule)
nanmedian_along = op("nanmedian_along", nanmedian_values, node="NanmedianBackward1", outputs=2, batch=call_row, x=extreme_along_rule)
mode = op("mode", mode_values, outputs=2, batch=call_row, x=extreme_along_rule)


def of_all(along):
    """The same of the whole tensor; nan for an empty one."""
    return lambda x: along(x.reshape(-1), axis=-1)[0] if x.size else np.array(np.nan).astype(x.dtype)[()]


def median_rule(g, x, out):
    """Over the whole tensor all entries that are the median share the gradient."""
    return among_ties(g, (x == out) | (np.isnan(x) & np.isnan(out)), None)


def flat(along):
    return lambda x: along(np.reshape(x, (x.shape[0], -1)), axis=-1)[0]


median = op("median", of_all(median_values), batch=flat(median_along), x=median_rule)
nanmedian = op("nanmedian", of_all(nanmedian_values), batch=flat(nanmedian_along), x=median_rule)


# -- the extreme so far ------------------------------------------------------------------------------


def so_far(extreme):
    """Forward of cummax and cummin: of equals the last one counts; a nan stays the extreme."""

    def forward(x, *, axis):
        values = extreme.accumulate(x, axis)
        place = np.reshape(np.arange(x.shape[axis]), (-1, *(1,) * (-axis - 1)))
        return values, as_places(np.maximum.accumulate(np.where((x == values) | np.isnan(x), place, 0), axis))

    return forward


def add_back(g, out_1, axis):
    """An extreme of many prefixes gets the gradients of all of them."""
    return scatter_add(np.zeros_like(g[0]), out_1, g[0], axis=axis)


cummax = op("cummax", so_far(np.maximum), outputs=2, batch=call_row, x=add_back)
cummin = op("cummin", so_far(np.minimum), outputs=2, batch=call_row, x=add_back)
