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
    """`nn.functional.batch_norm`, with weight and bias before the running statistics. Shapes: input (N, C, ...), the others (C,).

    >>> x, weight, bias = tensor([[1.], [3.]]), tensor([2.]), tensor([10.])
    >>> torch.batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5, False)  # -1 and 1, times 2, plus 10
    tensor([[ 8.0000],
            [12.0000]])
    """
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm`, with weight and bias before the running statistics. Shapes: input (N, C, ...), the others (C,).

    >>> x, weight, bias = tensor([[[1., 3.]]]), tensor([2.]), tensor([10.])
    >>> torch.instance_norm(x, weight, bias, None, None, True, 0.1, 1e-5, False)  # -1 and 1, times 2, plus 10
    tensor([[[ 8.0000, 12.0000]]])
    """
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.layer_norm`, and the mean and 1 / standard deviation that it divided by (last dims of length 1).

    >>> out, mean, rstd = torch.native_layer_norm(tensor([[1., 5.]]), (2,), None, None, 1e-5)
    >>> out, mean, rstd  # 1 and 5 are 2 from their mean
    (tensor([[-1.0000,  1.0000]]), tensor([[3.]]), tensor([[0.5000]]))
    """
    out = F.layer_norm(input, normalized_shape, weight, bias, eps)
    return out, *_statistics(input.detach(), tuple(range(-len(tuple(normalized_shape)), 0)), eps, True)


def _statistics(input: Any, dims: Any, eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The mean and 1 / standard deviation over dims."""
    return input.mean(dims, keepdim=keepdim), pointwise.rsqrt(input.var(dims, correction=0, keepdim=keepdim) + eps)


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.group_norm` of N samples of C channels of HxW places, and each group's mean and 1 / standard deviation.

    Shapes: input (N, C, ...), weight and bias (C,); results like the input, (N, group) and (N, group).

    >>> out, mean, rstd = torch.native_group_norm(tensor([[1., 5., 10., 50.]]), None, None, N=1, C=4, HxW=1, group=2, eps=1e-5)
    >>> mean, rstd  # of channels 0 and 1, and of 2 and 3
    (tensor([[ 3., 30.]]), tensor([[0.5000, 0.0500]]))
    """
    out = F.group_norm(input, group, weight, bias, eps)
    return out, *_statistics(input.reshape(N, group, C // group * HxW), -1, eps, False)


def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: bool,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`batch_norm`, and the mean and 1 / standard deviation of the batch: shapes (C,); empty ones where the running ones are used.

    >>> out, mean, rstd = torch.native_batch_norm(tensor([[1.], [5.]]), None, None, None, None, True, 0.1, 1e-5)
    >>> mean, rstd
    (tensor([3.]), tensor([0.5000]))
    """
    out = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_empty(0), input.new_empty(0)
    return out, *_statistics(input.detach(), (0, *range(2, input.ndim)), eps, False)


def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """`nn.functional.embedding`, with the table first. Shapes: weight (N, D), indices (...); result (..., D).

    >>> torch.embedding(tensor([[0., 1.], [10., 11.]]), tensor([1, 1]))
    tensor([[10., 11.],
            [10., 11.]])
    """
    return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """`nn.functional.pad` with one number around. pad: two numbers for each dim, the last dim first.

    >>> torch.constant_pad_nd(ones(1, 2), (1, 0, 0, 1), 9.)  # one before in the last dim, one behind in the first
    tensor([[9., 1., 1.],
            [9., 9., 9.]])
    """
    return constant(input, [int(p) for p in pad], value)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`. reduction: 0 none, 1 mean, 2 sum.

    >>> torch.binary_cross_entropy_with_logits(zeros(2), ones(2), reduction=0)
    tensor([0.6931, 0.6931])
    """
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=REDUCTIONS[reduction])


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Tensor:
    """`nn.functional.cosine_embedding_loss`. reduction: 0 none, 1 mean, 2 sum.

    >>> torch.cosine_embedding_loss(tensor([[1., 0.]]), tensor([[0., 1.]]), tensor([1]), reduction=2)
    tensor(1.)
    """
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.ctc_loss`. reduction: 0 none, 1 mean, 2 sum.

    >>> log_probs = zeros(2, 1, 2).log_softmax(2)
    >>> torch.ctc_loss(log_probs, tensor([[1]]), tensor([2]), tensor([1]), reduction=0)  # log(4 / 3)
    tensor([0.2877])
    """
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, REDUCTIONS[reduction], zero_infinity)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    """`nn.functional.hinge_embedding_loss`. reduction: 0 none, 1 mean, 2 sum.

    >>> torch.hinge_embedding_loss(tensor([0.5, 0.2]), tensor([1., -1.]), reduction=0)  # 0.5, and 1 - 0.2
    tensor([0.5000, 0.8000])
    """
    return F.hinge_embedding_loss(input, target, margin, reduction=REDUCTIONS[reduction])


def kl_div(input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div`. reduction: 0 none, 1 mean, 2 sum.

    >>> torch.kl_div(tensor([0.5, 0.5]).log(), tensor([0.25, 0.75]), reduction=0)  # 0.25 * log(0.25 / 0.5), 0.75 * log(0.75 / 0.5)
    tensor([-0.1733,  0.3041])
    """
    return F.kl_div(input, target, reduction=REDUCTIONS[reduction], log_target=log_target)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Tensor:
    """`nn.functional.margin_ranking_loss`. reduction: 0 none, 1 mean, 2 sum.

    >>> torch.margin_ranking_loss(tensor([1., 3.]), tensor([2., 1.]), tensor([1., 1.]), reduction=0)
    tensor([1., 0.])
    """
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`nn.functional.poisson_nll_loss`. reduction: 0 none, 1 mean, 2 sum.

    >>> torch.poisson_nll_loss(tensor([2.]), tensor([1.]), log_input=False, full=False, eps=1e-8, reduction=2)  # 2 - log(2)
    tensor(1.3069)
    """
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=REDUCTIONS[reduction])


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    reduction: int = 1,
) -> Tensor:  # fmt: skip
    """`nn.functional.triplet_margin_loss`. reduction: 0 none, 1 mean, 2 sum.

    >>> torch.triplet_margin_loss(tensor([[0., 0.]]), tensor([[0., 1.]]), tensor([[1.5, 0.]]), reduction=0)
    tensor([0.5000])
    """
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=REDUCTIONS[reduction])


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout`, written into the input."""
    return F.dropout(input, p, train, inplace=True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout`, written into the input."""
    return F.alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Whole channels zeroed: `nn.functional.dropout2d` for inputs (N, C, ...).

    >>> sorted({channel.sum().item() for channel in torch.feature_dropout(ones(1, 100, 2, 2), 0.5, True)[0]})  # 0, or 4 entries of 2
    [0.0, 8.0]
    """
    return F.dropout2d(input, p, train)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout`, written into the input."""
    return F.dropout2d(input, p, train, inplace=True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout`, written into the input."""
    return F.feature_alpha_dropout(input, p, train, inplace=True)
