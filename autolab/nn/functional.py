"""Functions of nn: activations, losses, layers without state."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from autolab.engine import dtypes
from autolab.engine.apply import apply
from autolab.engine.inplace import check_may_write, overwrite
from autolab.engine.modes import modes
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor, fresh
from autolab.rules import elementwise, index, linalg, nn
from autolab.surface import pointwise
from autolab.surface.creation import generator
from autolab.surface.dims import evened_out
from autolab.surface.linalg import matmul
from autolab.surface.pointwise import sigmoid, tanh, where
from autolab.surface.reduce import log_softmax as _log_softmax
from autolab.surface.reduce import softmax as _softmax
from autolab.surface.shape import broadcast_tensors, movedim

__all__ = [
    "binary_cross_entropy_with_logits", "cross_entropy", "dropout", "embedding", "gelu", "layer_norm", "leaky_relu", "linear",
    "log_softmax", "mse_loss", "nll_loss", "one_hot", "relu", "sigmoid", "silu", "softmax", "softplus", "tanh",
]  # fmt: skip


# -- layers ------------------------------------------------------------------------------------


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias. Shapes: input (..., n), weight (m, n), bias (m,); result (..., m)."""
    if input.payload.dtype != weight.payload.dtype and input.dtype != weight.dtype and not evened_out("linear", input, weight):
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {input.dtype.title} and {weight.dtype.title}: convert the input with "
            f".to({weight.dtype}), or the layer with .to({input.dtype})."
        )
    if bias is None:
        return matmul(input, weight.t())  # type: ignore[attr-defined]
    try:
        return linalg.linear.run(input, weight, bias, settings={})  # type: ignore[no-any-return]
    except ValueError:
        a, w, b = list(input.shape), list(weight.shape), list(bias.shape)
        rows = math.prod(a[:-1])
        if a[-1] != w[1]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {w[1]}x{w[0]}): the layer takes {w[1]} features, "
                f"the input of shape {a} has {a[-1]}."
            ) from None
        raise RuntimeError(f"The expanded size of the tensor ({w[0]}) must match the existing size ({b[0]}): bias {b}.") from None


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of weight (N, D) that input (...) names: (..., D). The row padding_idx gets no gradient."""
    i = input.numbers()
    if i.size and not (0 <= i.min() and i.max() < weight.shape[0]):
        raise IndexError(f"index out of range in self: found {i.min()} to {i.max()} for a table of {weight.shape[0]} rows")
    if padding_idx is not None:
        keep = fresh(np.arange(weight.shape[0]) != padding_idx % weight.shape[0]).unsqueeze(-1)  # type: ignore[attr-defined]
        weight = where(keep, weight, weight.detach())  # type: ignore[attr-defined]
    return apply(index.embedding, (weight, input), {})  # type: ignore[no-any-return]


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Mean 0 and variance 1 over the last dims (normalized_shape), then times weight plus bias (of that shape).

    Source: Ba, Kiros and Hinton 2016, Layer Normalization.
    """
    shape = tuple(normalized_shape)
    if tuple(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], "
            f"but got input of size{list(input.shape)}"
        )
    settings = {"axes": tuple(range(-len(shape), 0)), "eps": eps}
    w: Any = np.ones((), input.payload.dtype)[()] if weight is None else weight
    b: Any = np.zeros((), input.payload.dtype)[()] if bias is None else bias
    return apply(nn.layer_norm, (input, w, b), settings)  # type: ignore[no-any-return]


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each entry with probability p and divide the others by 1 - p, so that the mean stays; nothing unless training.

    Source: Srivastava et al. 2014.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    keep = generator().random(tuple(input.shape)) >= p
    mask = keep / (1 - p) if p < 1 else keep * 0.0
    return input * fresh(dtypes.cast(np.asarray(mask), input.payload.dtype))  # type: ignore[operator,no-any-return]


# -- activations -----------------------------------------------------------------------------------


def _activated(row: Op, input: Tensor, inplace: bool, settings: dict[str, Any]) -> Tensor:
    """The row on the input, written into it if so asked."""
    if not inplace:
        return row.run(input, settings=settings)  # type: ignore[no-any-return]
    check_may_write(input)
    # A rule that asks for the input must find it as it was.
    source = input if row is elementwise.relu else input.clone()  # type: ignore[attr-defined]
    return overwrite(input, row.run(source, settings=settings))


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)."""
    return _activated(elementwise.relu, input, True, {}) if inplace else pointwise.relu(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where positive, negative_slope * input elsewhere."""
    return _activated(elementwise.leaky_relu, input, inplace, {"negative_slope": negative_slope})


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input * Phi(input), with the normal distribution's Phi, or its tanh approximation. Source: Hendrycks and Gimpel 2016."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return apply(elementwise.gelu if approximate == "none" else elementwise.gelu_tanh, (input,), {})  # type: ignore[no-any-return]


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _activated(elementwise.silu, input, inplace, {})


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; the input itself where beta * input > threshold."""
    return apply(elementwise.softplus, (input,), {"beta": beta, "threshold": threshold})  # type: ignore[no-any-return]


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) scaled to add up to 1 along dim."""
    return _softmax(input, _implicit(input, dim, "softmax"), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(input)) along dim, without losing small probabilities."""
    return _log_softmax(input, _implicit(input, dim, "log_softmax"), dtype=dtype)


def _implicit(input: Tensor, dim: int | None, name: str) -> int:
    if dim is not None:
        return dim
    _warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if input.ndim in (0, 1, 3) else 1


def _warn(message: str) -> None:
    """Warn at the line that called into autolab, through however many modules."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("autolab."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


# -- losses ----------------------------------------------------------------------------------------


def _check_reduction(reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction: use 'none', 'mean' or 'sum'")


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(input - target)**2, averaged over all entries (or summed, or left). Shapes: two of the same shape."""
    _check_reduction(reduction)
    if input.shape != target.shape:
        _warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size."
        )
        input, target = broadcast_tensors(input, target)
    return apply(nn.mse_loss, (input, target), {"reduction": reduction})  # type: ignore[no-any-return]


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the log-probability of the right class.

    Shapes: input (N, C), (C,) or (N, C, ...) log-probabilities; target (N,), () or (N, ...) integers in [0, C); weight (C,).
    "mean" divides by the sum of the weights of the targets. Raises IndexError for a target outside [0, C).
    """
    _check_reduction(reduction)
    classes = input.shape[-1] if input.ndim == 1 else input.shape[1]
    i = target.numbers()
    if i.dtype.kind not in "iu":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.title}: class targets are integers")
    if input.ndim > 1 and input.shape[0] != (target.shape[0] if target.ndim else 1):
        n = target.shape[0] if target.ndim else 1
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({n}).")
    known = i[i != ignore_index]
    if known.size and not (0 <= known.min() and known.max() < classes):
        worst = int(known.max()) if known.max() >= classes else int(known.min())
        raise IndexError(f"Target {worst} is out of bounds: there are {classes} classes, numbered from 0.")
    w = np.ones(classes, input.payload.dtype) if weight is None else weight.detach()  # type: ignore[attr-defined]
    if input.ndim > 2:
        input = movedim(input, 1, -1)
    return apply(nn.nll_loss, (input, target, w), {"reduction": reduction, "ignore_index": ignore_index})  # type: ignore[no-any-return]


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Minus the log-probability of the right class, from raw scores.

    Shapes: input (N, C) float, target (N,) int in [0, C), or (N, C) class probabilities; result () or (N,).
    Computed as -log_softmax(input)[target]: log(softmax(.)) would lose small probabilities.
    Raises IndexError for a target outside [0, C).

    >>> cross_entropy(tensor([[0., 0.]]), tensor([1]))
    tensor(0.6931)
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("cross_entropy", (input, target))
    dim = 0 if input.ndim == 1 else 1
    if label_smoothing or target.is_floating_point():  # type: ignore[attr-defined]
        return _soft_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing, dim)
    return nll_loss(_log_softmax(input, dim), target, weight, ignore_index, reduction)


def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str, smoothing: float, dim: int
) -> Any:
    """Against class probabilities, or against one-hot targets mixed with the uniform distribution."""
    _check_reduction(reduction)
    if target.is_floating_point() and target.shape != input.shape:  # type: ignore[attr-defined]
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {target.dtype.title}: classes are integers (`target.long()`); "
            f"probabilities of classes have the shape of the input, {list(input.shape)}, and this target has {list(target.shape)}."
        )
    classes = input.shape[dim]
    logp = movedim(_log_softmax(input, dim), dim, -1)
    w = 1.0 if weight is None else weight
    if target.is_floating_point():  # type: ignore[attr-defined]
        soft = movedim(target, dim, -1) * (1 - smoothing) + smoothing / classes  # type: ignore[operator]
        loss = -(soft * logp * w).sum(-1)
        return loss if reduction == "none" else loss.sum() / (loss.numel() if reduction == "mean" else 1)
    kept = nll_loss(input=_log_softmax(input, dim), target=target, weight=weight, ignore_index=ignore_index, reduction=reduction)
    used = (target != ignore_index).to(input.dtype)  # type: ignore[attr-defined]
    smooth = -(logp * w).sum(-1) * used  # type: ignore[operator]
    if reduction == "mean":
        norm = used.sum() if weight is None else (weight[target.clamp(0)] * used).sum()  # type: ignore[attr-defined]
        smooth = smooth.sum() / norm
    elif reduction == "sum":
        smooth = smooth.sum()
    return (1 - smoothing) * kept + smoothing / classes * smooth  # type: ignore[operator]


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Binary cross-entropy of sigmoid(input) against target in [0, 1], from raw scores, without overflow. Equal shapes."""
    _check_reduction(reduction)
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    one = np.ones((), input.payload.dtype)[()]
    args = (input, target, one if weight is None else weight, one if pos_weight is None else pos_weight)
    return apply(nn.bce_with_logits, args, {"reduction": reduction})  # type: ignore[no-any-return]


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Integers as rows with a single 1: (...) -> (..., num_classes)."""
    i = input.numbers()
    n = int(i.max()) + 1 if num_classes == -1 else num_classes
    if i.size and i.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if i.size and i.max() >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (input.unsqueeze(-1) == fresh(np.arange(n))).long()  # type: ignore[attr-defined,no-any-return]
