"""Where samples come from: what can be asked for a sample by number, or for all of them in turn."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from autolab.engine.tensor import Tensor, new_tensor
from autolab.torch_api.generator import default_generator, source

T = TypeVar("T")


class Dataset(Generic[T]):
    """Samples by number: a subclass has `__getitem__`, and `__len__` if samplers are to know how many there are.

    `a + b` is one data set after the other. A subclass may have `__getitems__(numbers)` to fetch a whole batch at once.

    >>> class Squares(Dataset):
    ...     def __getitem__(self, i): return i * i
    ...     def __len__(self): return 4
    >>> (Squares() + Squares())[7]
    9
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError(
            f"Subclasses of Dataset should implement __getitem__. {type(self).__name__} does not: it gets a number and returns a sample"
        )

    def __add__(self, other: Dataset[T]) -> ConcatDataset[T]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T], Iterable[T]):
    """Samples in turn: a subclass has `__iter__`. For streams, where none can be asked for by number.

    With several workers, each has its own copy: `get_worker_info` tells them apart, so that each can yield its share.

    >>> class Stream(IterableDataset):
    ...     def __iter__(self): return iter(range(4))
    >>> list(torch.utils.data.DataLoader(Stream(), batch_size=2))
    [tensor([0, 1]), tensor([2, 3])]
    """

    def __add__(self, other: Dataset[T]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


def fetched(dataset: Any, numbers: list[Any]) -> list[Any]:
    """Samples by their numbers, at once where the data set can."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(numbers)
    return [dataset[i] for i in numbers]


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors that are read along their first dimension: sample i is (a[i], b[i], ...).

    Raises AssertionError if they differ in length.

    >>> TensorDataset(arange(3), arange(3) * 10)[2]
    (tensor(2), tensor(20))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise AssertionError(f"Size mismatch between tensors: {', '.join(str(t.shape[0]) for t in tensors)} samples")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Data sets side by side: a sample is a tuple with one of each, or a dict if they were given by name.

    Raises ValueError if they differ in length, if there is none, or if some have names and some not.

    >>> StackDataset(image=[1, 2], label=["one", "two"])[1]
    {'image': 2, 'label': 'two'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not (args or kwargs):
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        lengths = [len(d) for d in args or kwargs.values()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: {', '.join(map(str, lengths))} samples")
        self._length = lengths[0]

    def _joined(self, parts: list[Any]) -> Any:
        return dict(zip(self.datasets, parts)) if isinstance(self.datasets, dict) else tuple(parts)

    def _parts(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def __getitem__(self, index: Any) -> Any:
        return self._joined([d[index] for d in self._parts()])

    def __getitems__(self, indices: list[int]) -> list[Any]:
        columns = [fetched(d, indices) for d in self._parts()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        return [self._joined(list(row)) for row in zip(*columns)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """Data sets one after the other, numbered through. Raises AssertionError for an IterableDataset, or for none at all.

    >>> both = ConcatDataset(["ab", "cde"])
    >>> len(both), both[2]
    (5, 'c')
    """

    def __init__(self, datasets: Iterable[Dataset[T]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset: chain these with ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T:
        if idx < 0:
            if -idx > len(self):
                raise ValueError(f"absolute value of index should not exceed dataset length: {idx}, of {len(self)}")
            idx += len(self)
        which = bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other, as one stream. Raises AssertionError for what is not an IterableDataset.

    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(ChainDataset([Count(), Count()]))
    [0, 1, 2, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield d

    def __iter__(self) -> Iterator[Any]:
        for d in self._streams():
            yield from d

    def __len__(self) -> int:
        return sum(len(d) for d in self._streams())


class Subset(Dataset[T]):
    """The samples of a data set with the numbers given, in that order.

    Raises NotImplementedError for a subclass with a `__getitem__` of its own but not `__getitems__`: batches would pass it by.

    >>> list(Subset("abcde", [4, 0]))
    ['e', 'a']
    """

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding __getitem__, you "
                "must also override __getitems__: batches are fetched through it."
            )

    def __getitem__(self, idx: Any) -> T:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T]:
        return fetched(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def rows(dataset: Any, numbers: list[int]) -> list[Tensor] | None:
    """The batch that `default_collate` would make of these samples, read in one piece, or None where it is not rows of plain tensors.

    Taking every sample for itself, to stack them again, takes ten times as long.
    """
    while type(dataset) is Subset:
        dataset, numbers = dataset.dataset, [dataset.indices[i] for i in numbers]
    if type(dataset) is not TensorDataset:
        return None
    if any(t.requires_grad or type(t.payload) is not np.ndarray for t in dataset.tensors):
        return None
    try:
        numbers = [operator.index(i) for i in numbers]  # 0-d tensors are numbers, too
    except TypeError:
        return None
    return [new_tensor(t.payload[numbers]) for t in dataset.tensors]


def random_split(dataset: Dataset[T], lengths: Sequence[float], generator: Any = default_generator) -> list[Subset[T]]:
    """Share the samples out at random, into subsets of the lengths given, or of shares that add up to 1.

    What rounding leaves over goes to the first subsets, one each. Raises ValueError if the lengths do not add up.

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    samples = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts = [math.floor(samples * share) for share in lengths]
        for i in range(samples - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2)
        lengths = counts
    if sum(lengths) != samples:
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset! They add up to {sum(lengths)}, it has {samples}"
        )
    numbers, ends = source(generator).permutation(samples).tolist(), itertools.accumulate(lengths)
    return [Subset(dataset, numbers[end - count : end]) for end, count in zip(ends, lengths)]
