"""Sequences of different lengths: packed, so that no time is spent on padding, or padded to one length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import as_tensor, full, tensor
from autolab.torch_api.shape import cat, stack

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Packed):
    """Sequences sorted by falling length, their first entries one after another, then their second entries, and so on.

    data: (all entries, *). batch_sizes: how many sequences reach step t, int64 of shape (steps,). sorted_indices: where each was
    before sorting, unsorted_indices: the way back; both None if they came sorted. Made by `pack_padded_sequence`.

    >>> packed = pack_sequence([tensor([1, 2, 3]), tensor([4, 5])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    __slots__ = ()

    def __new__(cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None) -> Any:
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences in another dtype."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._replace(data=data)

    def cpu(self) -> PackedSequence:
        """The sequences: they are on the CPU."""
        return self

    def double(self) -> PackedSequence:
        """The same sequences in float64."""
        return self.to(dtypes.float64)

    def float(self) -> PackedSequence:
        """The same sequences in float32."""
        return self.to(dtypes.float32)

    is_cuda = False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes one.

    Shapes: (n,) int64; None gives None.

    >>> p = tensor([2, 0, 1])
    >>> invert_permutation(p), tensor([7, 8, 9])[p][invert_permutation(p)]
    (tensor([1, 2, 0]), tensor([7, 8, 9]))
    """
    return None if permutation is None else permutation.argsort()


def _places(lengths: Any) -> Any:
    """Which of (steps, batch) are there, as a mask."""
    return np.arange(lengths.max(initial=0))[:, None] < lengths[None, :]


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Leave out the padding of (T, N, *), or (N, T, *) with batch_first. enforce_sorted=False: in any order of length.

    Raises RuntimeError for lengths that are not sorted (unless told), not positive, or not one for each sequence.

    >>> padded = tensor([[1, 2, 3], [4, 5, 0]])
    >>> pack_padded_sequence(padded, tensor([3, 2]), batch_first=True).data  # step by step
    tensor([1, 4, 2, 5, 3])
    """
    lengths = as_tensor(lengths, dtype=dtypes.int64) if not isinstance(lengths, Tensor) else lengths.to(dtypes.int64)
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    n = lengths.numpy()
    if len(n) != input.shape[1]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(n)} (batch_size={input.shape[1]})")
    if (n <= 0).any():
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if (np.diff(n) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
            "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    if n.max() > input.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {input.shape[0]}, the padded length, but got {n.max()}")
    there = _places(n)
    flat = input.reshape(-1, *input.shape[2:])
    t, b = np.nonzero(there)
    return PackedSequence(flat[tensor(t * input.shape[1] + b)], tensor(there.sum(1, np.int64)), order, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded sequences, (T, N, *) or (N, T, *) with batch_first, and their lengths. total_length: pad to at least this.

    >>> packed = pack_sequence([tensor([1, 2, 3]), tensor([4, 5])])
    >>> pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    (tensor([[ 1,  2,  3],
            [ 4,  5, -1]]), tensor([3, 2]))
    """
    sizes = sequence.batch_sizes.numpy()
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    data, batch = sequence.data, sizes[0]
    there = np.zeros((steps, batch), bool)
    there[: len(sizes)] = np.arange(batch)[None, :] < sizes[:, None]
    index = np.full((steps, batch), len(data))  # padding is one more row, behind the data
    index[there] = np.arange(len(data))
    more = cat([data, full((1, *data.shape[1:]), padding_value, dtype=data.dtype)])
    padded, lengths = more[tensor(index)], tensor(there.sum(0, np.int64))
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return padded, lengths


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    """Sequences (L, *) of different lengths as one tensor (T, N, *), or (N, T, *) with batch_first.

    >>> pad_sequence([tensor([1, 2, 3]), tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    rows = list(sequences)
    if not rows:
        raise RuntimeError("received an empty list of sequences")
    longest = max(row.shape[0] for row in rows)
    padded = []
    for row in rows:
        missing = longest - row.shape[0]
        if missing:
            more = full((missing, *row.shape[1:]), padding_value, dtype=row.dtype)
            row = cat([row, more] if padding_side == "right" else [more, row])
        padded.append(row)
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences without their padding.

    Shapes: (T, N, *), or (N, T, *) with batch_first, and lengths (N,); results (L, *).

    >>> unpad_sequence(tensor([[1, 2, 3], [4, 0, 0]]), tensor([3, 1]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:n] for row, n in zip(rows, lengths.tolist(), strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L, *) of different lengths.

    Raises RuntimeError for lengths that do not fall, unless enforce_sorted=False.

    >>> packed = pack_sequence([tensor([4, 5]), tensor([1, 2, 3])], enforce_sorted=False)
    >>> packed.data, packed.sorted_indices
    (tensor([1, 4, 2, 5, 3]), tensor([1, 0]))
    """
    lengths = [v.shape[0] for v in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed.

    Shapes: results (L, *), in the order in which they were before.

    >>> unpack_sequence(pack_sequence([tensor([1, 2, 3]), tensor([4, 5])]))
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
