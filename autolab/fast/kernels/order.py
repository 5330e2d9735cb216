"""Entries by their rank, of rows that are parted and not sorted."""

from typing import Any

import numpy as np

from autolab.dtypes import as_places
from autolab.fast.kernel import kernel
from autolab.rules import order as rows
from autolab.rules.order import ranks, take_along

LONG = 64  # entries of a row


def topk(x: Any, *, k: Any, axis: Any, largest: Any = True) -> Any:
    """Sorted if equal entries stand on both sides of the gap."""
    n = x.shape[axis] if x.ndim else 1
    if n < LONG or not 0 < k <= n // 8 or x.dtype.kind not in "fi":
        return rows.topk_values(x, k=k, axis=axis, largest=largest)
    partition = x.argpartition(n - k if largest else k - 1, axis)
    found = np.sort(np.take(partition, range(n - k, n) if largest else range(k), axis), axis)
    values = np.take_along_axis(x, found, axis)
    last = (np.minimum if largest else np.maximum).reduce(values, axis, keepdims=True)
    if not np.array_equal(np.sum(x == last, axis), np.sum(values == last, axis)) or np.isnan(last).any():
        return rows.topk_values(x, k=k, axis=axis, largest=largest)
    return take_along(x, np.take_along_axis(found, ranks(values, axis, largest), axis), axis)


def kth_by_partition(x: Any, rank: Any, axis: Any, keepdims: Any) -> Any:
    """The same without a whole order. Of equal entries, as many are passed over as there are more ranks than smaller entries."""
    value = np.take(np.partition(x, rank, axis), [rank], axis)
    equal = x == value
    if np.isnan(value).any():
        equal |= np.isnan(x) & np.isnan(value)
    if (np.add.reduce(equal, axis, np.intp) > 1).any():
        passed = rank - np.sum((x < value) | (np.isnan(value) & ~np.isnan(x)), axis, keepdims=True)
        equal &= np.cumsum(equal, axis) > passed
    index = as_places(np.argmax(equal, axis, keepdims=True))
    return (value, index) if keepdims else (np.squeeze(value, axis)[()], np.squeeze(index, axis)[()])


def kthvalue(x: Any, *, k: Any, axis: Any, keepdims: Any = False) -> Any:
    if not x.ndim or x.shape[axis] < LONG or x.dtype.kind not in "fi":
        return rows.kth_along(x, k - 1, axis, keepdims)
    return kth_by_partition(x, k - 1, axis, keepdims)


def median(x: Any, *, axis: Any, keepdims: Any = False) -> Any:
    if not x.ndim or x.shape[axis] < LONG or x.dtype.kind not in "fi" or np.isnan(x).any():
        return rows.median_values(x, axis=axis, keepdims=keepdims)
    return kth_by_partition(x, (x.shape[axis] - 1) // 2, axis, keepdims)


kernel(rows.topk, topk)
kernel(rows.kthvalue, kthvalue)
kernel(rows.median_along, median)
kernel(rows.median, rows.of_all(median))
