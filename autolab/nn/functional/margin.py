"""Losses that compare: margins, similarities, triplets; and the distances they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.functional.activation import logsigmoid, softplus
from autolab.nn.functional.common import is_floating, reduced, reduction_of
from autolab.torch_api import pointwise, reduce
from autolab.torch_api.dims import HALVES, INTEGERS, common_shape, refuse
from autolab.torch_api.index import gather
from autolab.torch_api.products import pdist as pdist


def hinge(x: Any) -> Any:
    """max(x, 0), with the gradient of clamp_min: all of it at 0."""
    return pointwise.clamp(x, min=0)


# -- distances ---------------------------------------------------------------------------------------


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along dim: x1 . x2 / (|x1| |x2|), with lengths of at least eps. Shapes broadcast.

    >>> cosine_similarity(tensor([[1., 0.], [1., 0.]]), tensor([[5., 0.], [0., 5.]]))
    tensor([1., 0.])
    """
    if modes.autocast is not None:
        x1, x2 = modes.autocast.cast("cosine_similarity", (x1, x2))
    if not (is_floating(x1) and is_floating(x2)):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x1.dtype.title}")
    shape = common_shape(x1, x2)
    x1, x2 = (t if tuple(t.shape) == shape else t.expand(shape) for t in (x1, x2))
    x1, x2 = (_unit(t, dim, eps) for t in (x1, x2))
    return (x1 * x2).sum(dim)


def _unit(x: Any, dim: int, eps: float) -> Any:
    """The vectors along dim divided by their lengths; the bound on these is not a function of them."""
    size = reduce.norm(x, 2, dim, keepdim=True)
    bounded = pointwise.clamp(size.detach(), min=eps)
    return x / (size + (bounded - size.detach()))


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dim. Shapes: (..., D) twice, broadcast; result (...).

    >>> pairwise_distance(tensor([[0., 0.]]), tensor([[3., 4.]]))
    tensor([5.0000])
    """
    return reduce.norm(x1 - x2 + eps, p, -1, keepdim)


# -- losses ------------------------------------------------------------------------------------------


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """1 - cosine where target is 1, max(0, cosine - margin) where it is -1. Shapes: (N, D) twice and (N,); or (D,) twice and ().

    >>> a, b = tensor([[1., 0.], [1., 0.]]), tensor([[1., 0.], [0., 1.]])
    >>> cosine_embedding_loss(a, b, tensor([1, 1]), reduction="none")
    tensor([0., 1.])
    """
    if modes.autocast is not None:
        input1, input2, target = modes.autocast.cast("cosine_embedding_loss", (input1, input2, target))
    reduction = reduction_of(reduction, size_average, reduce)
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.ndim == 1:
        if input1.ndim != 2 or input2.ndim != 2:
            raise RuntimeError(
                f"1D target tensor expects 2D input tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
            )
    elif input1.ndim != 1 or input2.ndim != 1:
        raise RuntimeError(
            f"0D target tensor expects 1D input tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    eps = 1e-12
    dim = target.ndim
    dot = (input1 * input2).sum(dim)
    squares = ((input1 * input1).sum(dim) + eps) * ((input2 * input2).sum(dim) + eps)
    cosine = dot / pointwise.sqrt(squares)
    zero = pointwise.where(target == 1, 1 - cosine, 0.0)
    return reduced(zero + pointwise.where(target == -1, hinge(cosine - margin), 0.0), reduction)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> hinge_embedding_loss(tensor([0.5, 0.5]), tensor([1., -1.]))
    tensor(0.5000)
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("hinge_embedding_loss", (input, target))
    reduction = reduction_of(reduction, size_average, reduce)
    far = pointwise.where(target != 1, hinge(margin - input), 0.0)
    near = pointwise.where(target != -1, input, 0.0)
    return reduced(far + near, reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin): target 1 asks for a larger input1, -1 for a larger input2.

    Shapes: all three (...); result (), or (...) with reduction="none".

    >>> margin_ranking_loss(tensor([1.]), tensor([2.]), tensor([1.]))
    tensor(1.)
    """
    if modes.autocast is not None:
        input1, input2, target = modes.autocast.cast("margin_ranking_loss", (input1, input2, target))
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced(hinge(-target * (input1 - input2) + margin), reduction)


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)) for targets of 1 and -1.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> soft_margin_loss(tensor([0., 2.]), tensor([1., -1.]))
    tensor(1.4100)
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("soft_margin_loss", (input, target))
    reduction = reduction_of(reduction, size_average, reduce)
    return reduced(softplus(-input * target, threshold=float("inf")), reduction)


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over the classes j but the right one y of max(0, margin - input[y] + input[j])**p, times weight[y].

    Shapes: input (N, C) or (C,), target (N,) or (), weight (C,). p is 1 or 2.

    >>> multi_margin_loss(tensor([[3., 2.5, 0.]]), tensor([0]))  # only 2.5 is within 1 of the right class: 0.5 / 3 classes
    tensor(0.1667)
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("multi_margin_loss", (input, target))
    reduction = reduction_of(reduction, size_average, reduce)
    refuse(input, "multi_margin_loss_cpu_kernel", INTEGERS | HALVES)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if input.ndim > 2 or 0 in input.shape[1:] or 0 in input.shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    classes = input.shape[-1] if input.ndim else 1
    if weight is not None and (weight.ndim != 1 or weight.shape[0] != classes):
        if weight.ndim != 1:
            raise ValueError("weight must be one-dimensional")
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    alone = input.ndim < 2
    x = input.reshape(1, -1) if alone else input
    y = target.reshape(-1)
    if y.shape[0] != x.shape[0] or target.ndim > 1:
        raise RuntimeError(
            "multi_margin_loss: The size of the target tensor should be 1-D with size equal to the batch: target tensor should be "
            "1-D with "
            f"size equal to the batch size. Expected target size [{x.shape[0]}], but got {list(target.shape)}"
        )
    i = y.all_numbers()
    if i.dtype.kind in "iu" and i.size and not (0 <= i.min() and i.max() < classes):
        raise RuntimeError("target out of range")
    if target.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.title}: class targets are integers")
    chosen = y.unsqueeze(-1)
    slack = hinge(margin - gather(x, 1, chosen) + x)
    slack = slack * slack if p == 2 else slack
    if weight is not None:
        slack = slack * weight[chosen]
    others = (chosen != new_tensor(np.arange(classes))).to(x.dtype)
    loss = (slack * others).sum(1) / classes
    return reduced(loss[0] if alone and reduction == "none" else loss, reduction)


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """The sum over right classes y and wrong ones j of max(0, 1 - input[y] + input[j]), divided by the number of classes.

    Shapes: input and target (N, C) or (C,). The right classes of a sample are the integers of its row up to the first -1.

    >>> multilabel_margin_loss(tensor([[2., 1.5, 0.]]), tensor([[0, -1, 0]]))  # class 0 is right; class 1 is 0.5 too close
    tensor(0.1667)
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("multilabel_margin_loss", (input, target))
    reduction = reduction_of(reduction, size_average, reduce)
    refuse(input, "multilabel_margin_loss_forward_out_frame", INTEGERS | HALVES)
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    if input.shape != target.shape and not (input.ndim < 2 and target.ndim < 2 and input.payload.size == target.payload.size):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    alone = input.ndim < 2
    classes = input.shape[-1] if input.ndim else 1
    x = input.reshape(-1, classes)
    labels, seen = target.reshape(-1, classes), target.all_numbers()
    if seen.size and seen.min() < -1:
        raise RuntimeError("target out of range: classes are numbered from 0, and -1 ends the list")
    if seen.size and seen.max() >= classes:
        raise RuntimeError(f"target out of range: {int(seen.max())} of {classes} classes")
    listed = (labels >= 0).long().cumprod(1) > 0
    safe = pointwise.where(listed, labels, 0)
    right = ((safe.unsqueeze(-1) == new_tensor(np.arange(classes))) & listed.unsqueeze(-1)).any(1)
    of_right = gather(x, 1, safe).unsqueeze(-1)
    counts = (listed.unsqueeze(-1) & ~right.unsqueeze(1)).to(x.dtype)
    loss = (hinge(1 - of_right + x.unsqueeze(1)) * counts).sum((1, 2)) / classes
    return reduced(loss[0] if alone and reduction == "none" else loss, reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean over the classes of the binary cross-entropy of sigmoid(input). Shapes: (N, C) twice, weight (C,); result () or (N,).

    >>> multilabel_soft_margin_loss(zeros(1, 3), tensor([[1., 0., 1.]]))  # log(2): nothing is known
    tensor(0.6931)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return reduced(loss.sum(-1) / input.shape[-1], reduction)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, margin + |anchor - positive| - |anchor - negative|) in the p-norm over the last dim. Shapes: (N, D) or (D,) three times.

    swap: |positive - negative| counts instead where it is smaller. Source: Balntas et al. 2016.

    >>> triplet_margin_loss(tensor([0., 0.]), tensor([0., 1.]), tensor([1.5, 0.]))  # 1 + 1 - 1.5
    tensor(0.5000)
    """
    if modes.autocast is not None:
        anchor, positive, negative = modes.autocast.cast("triplet_margin_loss", (anchor, positive, negative))
    distance = lambda a, b: pairwise_distance(a, b, p, eps)
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction_of(reduction, size_average, reduce))


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[..., Any] | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with any distance; the Euclidean one by default.

    >>> taxi = lambda a, b: (a - b).abs().sum(-1)
    >>> triplet_margin_with_distance_loss(tensor([0., 0.]), tensor([1., 1.]), tensor([0., 2.5]), distance_function=taxi)
    tensor(0.5000)
    """
    return _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction_of(reduction))


def _triplet(anchor: Any, near: Any, far: Any, distance: Any, margin: float, swap: bool, reduction: str) -> Any:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == near.ndim == far.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {near.ndim}D, and negative {far.ndim}D inputs"
        )
    to_far = distance(anchor, far)
    if swap:
        to_far = pointwise.minimum(to_far, distance(near, far))
    return reduced(hinge(margin + distance(anchor, near) - to_far), reduction)
