"""Integers to vectors: rows of a table, sums of such rows, and one-hot vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.dtypes import NARROW
from autolab.engine.apply import apply
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import index as rows
from autolab.torch_api.creation import zeros
from autolab.torch_api.dims import require_tensor
from autolab.torch_api.pointwise import where
from autolab.torch_api.shape import stack


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of weight (N, D) that input (...) names: (..., D).

    padding_idx: this row gets no gradient. max_norm: rows that are used and longer (by norm_type) are shortened to it, in place.
    scale_grad_by_freq: a row's gradient is divided by how often it was used. Raises IndexError for a row that is not there.

    >>> embedding(tensor([2, 0]), tensor([[0., 1.], [10., 11.], [20., 21.]]))
    tensor([[20., 21.],
            [ 0.,  1.]])
    """
    require_tensor(input, "embedding", "indices", 2)
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.payload.dtype.kind not in "iu" or input.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch."
            f"{input.dtype.title}Tensor instead (while checking arguments for embedding)"
        )
    rows_there = weight.shape[0]
    i = input.all_numbers(0, rows_there)
    if i.size and not (0 <= i.min() and i.max() < rows_there):
        raise IndexError(f"index out of range in self: found {i.min()} to {i.max()} for a table of {rows_there} rows")
    if padding_idx is not None:
        if not -rows_there <= padding_idx < rows_there:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows_there
    if max_norm is not None:
        shorten(weight, input.numbers(), max_norm, norm_type)
    if padding_idx is not None:
        keep = new_tensor(np.arange(rows_there) != padding_idx).unsqueeze(-1)
        weight = where(keep, weight, weight.detach())
    vectors = apply(rows.embedding, (weight, input), {})
    if not scale_grad_by_freq:
        return vectors
    i = input.numbers()
    share = 1 / np.bincount(i.reshape(-1), minlength=rows_there)[i][..., None]
    kept = vectors.detach()
    # The difference is 0, and its gradient is what is scaled.
    return kept + (vectors - kept) * new_tensor(share.astype(weight.payload.dtype))


def shorten(weight: Tensor, index: Any, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are used and longer than max_norm to that length, in place."""
    used = np.unique(index)
    table = weight.payload[used]
    with recording(False):
        size = np.sum(np.abs(table) ** norm_type, axis=-1, keepdims=True) ** (1 / norm_type)
        weight.payload[used] = np.where(size > max_norm, table * (max_norm / (size + 1e-7)), table)
        weight.version[0] += 1


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """For each bag of integers the sum, mean or largest of the rows of weight that they name.

    Shapes: input (B, n), a bag a row; or input (n,) with offsets (B,), where each bag begins; result (B, D). An empty bag gives zeros.
    per_sample_weights: of the shape of input, for mode "sum". include_last_offset: the last offset is where the last bag ends.
    padding_idx: this row counts for nothing. Raises ValueError for shapes that do not fit together.

    >>> table = tensor([[0., 1.], [10., 11.], [20., 21.]])
    >>> embedding_bag(tensor([1, 2, 0]), table, offsets=tensor([0, 2]), mode="sum")  # bags (1, 2) and (0,)
    tensor([[30., 32.],
            [ 0.,  1.]])
    """
    input, offsets, per_sample_weights = _bags(input, offsets, per_sample_weights, weight)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if max_norm is not None:
        shorten(weight, input.numbers(), max_norm, norm_type)
    starts = offsets.numbers().astype(np.int64)
    _check_offsets(starts, input, include_last_offset)
    stops = starts[1:] if include_last_offset else np.append(starts[1:], input.shape[0])
    starts = starts[:-1] if include_last_offset else starts
    n, bags = input.shape[0], len(starts)
    owner = np.repeat(np.arange(bags), stops - starts)
    counted = np.ones(n, bool)
    if padding_idx is not None:
        counted = input.numbers() != padding_idx % weight.shape[0]
    vectors = embedding(input, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    if weight.payload.dtype in NARROW:  # in float32, and rounded once
        vectors = vectors.float()
    if per_sample_weights is not None:
        vectors = vectors * per_sample_weights.unsqueeze(-1)
    if mode == "max":
        return _largest(vectors, starts, stops, counted).to(weight.dtype)
    membership = np.zeros((bags, n), vectors.payload.dtype)
    membership[owner, np.arange(len(owner))] = counted[: len(owner)]
    if mode == "mean":
        membership /= np.maximum(membership.sum(1, keepdims=True), 1)
    return (new_tensor(membership) @ vectors).to(weight.dtype)


def _bags(input: Tensor, offsets: Any, weights: Any, table: Tensor) -> tuple[Any, Any, Any]:
    """All integers in one row, where each bag begins, and their weights. Raises ValueError for shapes that do not fit together."""
    if weights is not None and weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(weights.shape)}) is not None, then it must have the same shape as the input "
            f"({list(input.shape)})"
        )
    if table.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {table.ndim}")
    if weights is not None and weights.dtype != table.dtype:
        raise RuntimeError(
            f"expected scalar type {table.dtype.title} for per_sample_weights but found {weights.dtype.title}: they multiply the table"
        )
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, "
                "found "
                f"offsets of type {type(offsets).__name__}"
            )
        rows_there, length = input.shape
        made = new_tensor(np.arange(rows_there, dtype=np.int64) * length)
        return input.reshape(-1), made, None if weights is None else weights.reshape(-1)
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, weights


def _check_offsets(starts: Any, input: Tensor, include_last: bool) -> None:
    if include_last and not len(starts):
        raise RuntimeError("include_last_offset: number of offsets should be at least 1")
    if len(starts) and starts[0] != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {starts[0]}"
        )
    if len(starts) and starts[-1] > input.shape[0]:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length({input.shape[0]}), but got offsets[-1] of {starts[-1]}")


def _largest(vectors: Any, starts: Any, stops: Any, counted: Any) -> Any:
    """The largest of each bag, entry by entry; zeros for an empty one."""
    parts = []
    for a, b in zip(starts.tolist(), stops.tolist()):
        inside = np.arange(a, b)[counted[a:b]]
        parts.append(vectors[inside].max(0).values if len(inside) else zeros(vectors.shape[-1], dtype=vectors.dtype))
    return stack(parts) if parts else zeros(0, vectors.shape[-1], dtype=vectors.dtype)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Integers as rows with a single 1: (...) -> (..., num_classes).

    num_classes: -1 for the largest integer and 1 more. Raises RuntimeError for negative integers, or one that is not a class.

    >>> one_hot(tensor([2, 0]), 4)
    tensor([[0, 0, 1, 0],
            [1, 0, 0, 0]])
    """
    if input.dtype.name != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    i = input.numbers() if num_classes == -1 else input.all_numbers()
    if not i.size and num_classes <= 0:
        if num_classes == -1:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        raise RuntimeError("Class values must be smaller than num_classes.")
    if i.size and i.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    n = int(i.max()) + 1 if num_classes == -1 else num_classes
    if num_classes != -1 and num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    if i.size and i.max() >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (input.unsqueeze(-1) == new_tensor(np.arange(n))).long()
