"""How samples become a batch: what can be stacked is stacked, and containers keep their form."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from autolab.dtypes import float64
from autolab.engine.tensor import Tensor, new_tensor
from autolab.torch_api.creation import as_tensor, tensor
from autolab.torch_api.shape import stack

WRONG = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_collate(batch: Sequence[Any]) -> Any:
    """A batch of samples that look alike: tensors and arrays stacked, numbers in a tensor, strings in a list.

    Tuples, lists, dicts and named tuples become the like, with a batch in the place of each entry (a tuple becomes a list).
    Python floats become float64. Raises TypeError for what it does not know, RuntimeError for sequences of different lengths.

    >>> default_collate([(1, tensor([0.])), (2, tensor([5.]))])
    [tensor([1, 2]), tensor([[0.], [5.]])]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """`default_collate` with a table of one's own: from a type to f(batch, collate_fn_map=...)."""
    first, table = batch[0], collate_fn_map or {}
    for kind in (type(first), *(kind for kind in table if isinstance(first, kind))):
        if kind in table:
            return table[kind](batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return like(first, {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first})
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return like(first, [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)])
    raise TypeError(WRONG.format(type(first)))


def default_convert(data: Any) -> Any:
    """Arrays and NumPy numbers within a sample become tensors; everything else stays.

    >>> default_convert({"x": np.ones(2, np.float32), "name": "a"})
    {'x': tensor([1., 1.]), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return like(data, [default_convert(d) for d in data])
    return data


def like(container: Any, values: Any) -> Any:
    """The values in a container of the same kind; a plain list or dict where none can be made. Tuples become lists."""
    if isinstance(container, tuple):
        return type(container)(*values) if hasattr(container, "_fields") else values
    try:
        if not isinstance(container, MutableMapping | MutableSequence):
            return type(container)(values)
        filled = copy.copy(container)
        if isinstance(filled, MutableMapping):
            filled.update(values)
            return filled
        for i, value in enumerate(values):
            filled[i] = value
        return filled
    except TypeError:
        return values


def stack_tensors(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Tensors, stacked: in one piece where nothing is recorded and all are alike."""
    raws = [t.payload for t in batch]
    alike = len({raw.dtype for raw in raws}) == len({raw.shape for raw in raws}) == 1
    if not alike or any(isinstance(raw, Tensor) for raw in raws) or any(t.requires_grad for t in batch):
        return stack(batch, 0)
    return new_tensor(np.array(raws))


def stack_arrays(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Arrays as tensors, stacked."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(WRONG.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def unchanged(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: stack_tensors,
    np.ndarray: stack_arrays,
    (np.bool_, np.number): lambda batch, *, collate_fn_map=None: as_tensor(np.asarray(batch)),
    float: lambda batch, *, collate_fn_map=None: tensor(batch, dtype=float64),
    int: lambda batch, *, collate_fn_map=None: tensor(batch),
    str: unchanged,
    bytes: unchanged,
}
