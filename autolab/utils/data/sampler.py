"""In which order samples are asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from autolab.dtypes import float64
from autolab.torch_api.creation import as_tensor
from autolab.torch_api.generator import source
from autolab.torch_api.random import multinomial

T = TypeVar("T")


class Sampler(Generic[T]):
    """Numbers of samples, in some order: a subclass has `__iter__`, and `__len__` if the loader needs a length.

    >>> class Backward(Sampler):
    ...     def __init__(self, data): self.data = data
    ...     def __iter__(self): return iter(range(len(self.data))[::-1])
    >>> list(Backward("abc"))
    [2, 1, 0]
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__} must say in __iter__ which samples come, in which order")


class SequentialSampler(Sampler[int]):
    """0, 1, 2 ... in order, as many as there are samples.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All samples in random order; or num_samples of them, with replacement or going through all again and again.

    Raises ValueError unless num_samples is a positive whole number.

    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None) -> None:
        self.data_source, self.replacement, self._num_samples, self.generator = data_source, replacement, num_samples, generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many numbers one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, wanted, rng = len(self.data_source), self.num_samples, source(self.generator)
        while wanted > 0:  # a few at a time: some programs ask for 10^10 and stop when they have enough
            drawn = rng.integers(n, size=min(wanted, 32)) if self.replacement else rng.permutation(n)[:wanted]
            yield from drawn.tolist()
            wanted -= len(drawn)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[Any]):
    """The numbers that it is given, in random order, another one in each pass.

    >>> sorted(SubsetRandomSampler([3, 5, 7]))
    [3, 5, 7]
    """

    def __init__(self, indices: Sequence[Any], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[Any]:
        for i in source(self.generator).permutation(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """num_samples numbers, each drawn with a probability in proportion to its weight: for classes of unequal size.

    Raises ValueError for settings of the wrong kind, RuntimeError for weights that nothing can be drawn from.

    >>> list(WeightedRandomSampler([0.0, 1.0], num_samples=3))
    [1, 1, 1]
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        positive("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The numbers of another sampler, in lists of batch_size; the last is shorter, or left out if drop_last.

    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        positive("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        samples = len(self.sampler)  # type: ignore[arg-type]
        return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)


def positive(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")
