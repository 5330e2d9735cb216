"""What PyTorch has at its top under the name of a function of nn, with other arguments: flags of kernels, reductions as numbers."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.functional.padding import constant
from autolab.torch_api import pointwise

REDUCTIONS = ("none", "mean", "sum")


def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: bool,
    momentum: float, eps: float, cudnn_enabled: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm`, with weight and bias before the running statistics. Shapes: input (N, C, ...), the others (C,)."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm`, with weight and bias before the running statistics. Shapes: input (N, C, ...), the others (C,)."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, and the mean and 1 / standard deviation that it divided by (last dims of length 1)."""
    out = F.layer_norm(input, normalized_shape, weight, bias, eps)
    return out, *_statistics(input.detach(), tuple(range(-len(tuple(normalized_shape)), 0)), eps, True)


def _statistics(input: Any, dims: Any, eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The mean and 1 / standard deviation over dims."""
    return input.mean(dims, keepdim=keepdim), pointwise.rsqrt(input.var(dims, correction=0, keepdim=keepdim) + eps)


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm` of N samples of C channels of HxW places, and the mean and 1 / standard deviation of each group: shapes (N, group)."""
    out = F.group_norm(input, group, weight, bias, eps)
    return out, *_statistics(input.reshape(N, group, C // group * HxW), -1, eps, False)


def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: bool,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`batch_norm`, and the mean and 1 / standard deviation of the batch: shapes (C,); empty ones where the running ones are used."""
    out = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_empty(0), input.new_empty(0)
    return out, *_statistics(input.detach(), (0, *range(2, input.ndim)), eps, False)


def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """`nn.functional.embedding`, with the table first. Shapes: weight (N, D), indices (...); result (..., D)."""
    return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """`nn.functional.pad` with one number around. pad: two numbers for each dim, the last dim first."""
    return constant(input, [int(p) for p in pad], value)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`. reduction: 0 none, 1 mean, 2 sum."""
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=REDUCTIONS[reduction])


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Tensor:
    """`nn.functional.cosine_embedding_loss`. reduction: 0 none, 1 mean, 2 sum."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.ctc_loss`. reduction: 0 none, 1 mean, 2 sum."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, REDUCTIONS[reduction], zero_infinity)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    """`nn.functional.hinge_embedding_loss`. reduction: 0 none, 1 mean, 2 sum."""
    return F.hinge_embedding_loss(input, target, margin, reduction=REDUCTIONS[reduction])


def kl_div(input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div`. reduction: 0 none, 1 mean, 2 sum."""
    return F.kl_div(input, target, reduction=REDUCTIONS[reduction], log_target=log_target)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Tensor:
    """`nn.functional.margin_ranking_loss`. reduction: 0 none, 1 mean, 2 sum."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`nn.functional.poisson_nll_loss`. reduction: 0 none, 1 mean, 2 sum."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=REDUCTIONS[reduction])


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    reduction: int = 1,
) -> Tensor:  # fmt: skip
    """`nn.functional.triplet_margin_loss`. reduction: 0 none, 1 mean, 2 sum."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=REDUCTIONS[reduction])


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout`, written into the input."""
    return F.dropout(input, p, train, inplace=True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`, written into the input."""
    return F.alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Whole channels zeroed: `nn.functional.dropout2d` for inputs (N, C, ...)."""
    return F.dropout2d(input, p, train)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout`, written into the input."""
    return F.dropout2d(input, p, train, inplace=True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout`, written into the input."""
    return F.feature_alpha_dropout(input, p, train, inplace=True)
