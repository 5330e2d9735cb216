"""Losses against classes, probabilities and numbers. All take `reduction`: "mean", "sum" or "none"."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.functional.common import is_floating, not_implemented, reduced, reduction_of, warn
from autolab.nn.functional.conv import linear
from autolab.rules import calculus, ctc, nn
from autolab.torch_api import pointwise
from autolab.torch_api.dims import INTEGERS, refuse, require_tensor
from autolab.torch_api.shape import broadcast_tensors, movedim
from autolab.torch_api.softmax import log_softmax as _log_softmax
from autolab.transforms.level import fixed

# -- numbers -----------------------------------------------------------------------------------------


def _alike(input: Tensor, target: Tensor) -> tuple[Any, ...]:
    """Both in one shape; a warning if they were not. Raises TypeError for what is not a tensor."""
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        function = sys._getframe(1).f_code.co_name
        require_tensor(input, function)
        require_tensor(target, function, "target", 2)
    if input.payload.shape == target.payload.shape:
        return input, target
    warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
        "incorrect results due to broadcasting. Please ensure they have the same size."
    )
    return broadcast_tensors(input, target)


def _weighted(loss: Any, weight: Any, reduction: str) -> Any:
    """The losses times a weight of the same shape; the mean divides by the sum of the weights."""
    if weight.shape != loss.shape:
        raise ValueError("Inputs and weights must have the same size.")
    total = loss * weight
    return total if reduction == "none" else total.sum() / weight.sum() if reduction == "mean" else total.sum()


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """(input - target)**2, averaged over all entries (or summed, or left). Shapes: two of the same shape, and the weight's too.

    >>> mse_loss(tensor([1., 2.]), tensor([0., 4.]))
    tensor(2.5000)
    """
    if isinstance(size_average, str):  # the third argument was the reduction
        size_average, reduction = None, size_average
    reduction = reduction_of(reduction, size_average, reduce)
    input, target = _alike(input, target)
    if input.payload.dtype is not target.payload.dtype:
        input, target = _joined(input, target)
    if input.payload.dtype not in dtypes.FLOATING:
        raise not_implemented("mse_cpu", input)
    if weight is not None:
        return _weighted(apply(nn.mse_loss, (input, target), {"reduction": "none"}), weight, reduction)
    return nn.mse_loss.run(input, target, settings={"reduction": reduction})


def _joined(*tensors: Any) -> tuple[Any, ...]:
    """All in the dtype that they are computed in together."""
    d = dtypes.result_type([t.payload for t in tensors])
    return tuple(t.to(dtypes.of(d)) for t in tensors)


def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """|input - target|, averaged over all entries (or summed, or left): the absolute error.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> l1_loss(tensor([1., 2.]), tensor([0., 4.]))
    tensor(1.5000)
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("l1_loss", (input, target))
    reduction = reduction_of(reduction, size_average, reduce)
    input, target = _alike(input, target)
    loss = pointwise.abs(input - target)
    return reduced(loss, reduction) if weight is None else _weighted(loss, weight, reduction)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """d**2 / (2 beta) where d = |input - target| is below beta, d - beta / 2 elsewhere. Source: Girshick 2015.

    Shapes: input and target (...); result (), or (...) with reduction="none". Raises RuntimeError for a negative beta.

    >>> smooth_l1_loss(tensor([0.5, 3.]), zeros(2), reduction="none")  # 0.5**2 / 2 and 3 - 1 / 2
    tensor([0.1250, 2.5000])
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("smooth_l1_loss", (input, target))
    reduction = reduction_of(reduction, size_average, reduce)
    input, target = _alike(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    if not (is_floating(input) or is_floating(target)):
        raise not_implemented("smooth_l1_cpu", input)
    loss = apply(nn.huber_loss, (input, target), {"delta": beta})
    return reduced(loss if beta == 1 else loss / beta, reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """d**2 / 2 where d = |input - target| is at most delta, delta * (d - delta / 2) elsewhere. Source: Huber 1964.

    Shapes: input and target (...); result (), or (...) with reduction="none". Raises RuntimeError unless delta is positive.

    >>> huber_loss(tensor([1., 4.]), zeros(2), reduction="none", delta=2.0)  # 1**2 / 2 and 2 * (4 - 1)
    tensor([0.5000, 6.0000])
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("huber_loss", (input, target))
    reduction = reduction_of(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = _alike(input, target)
    if not (is_floating(input) or is_floating(target)):
        raise not_implemented("huber_cpu", input)
    loss = apply(nn.huber_loss, (input, target), {"delta": delta})
    return reduced(loss, reduction) if weight is None else _weighted(loss, weight, reduction)


# -- classes -----------------------------------------------------------------------------------------


def _check_classes(input: Tensor, target: Tensor, weight: Any, classes: int, ignore_index: int) -> Any:
    """Raise PyTorch's errors for targets that do not fit."""
    if target.payload.dtype.kind not in "iu":
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.title}: convert it with target.long()")
    if weight is not None and (weight.ndim != 1 or weight.shape[0] != classes):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )
    if input.payload.ndim > 1:
        n = target.shape[0] if target.ndim else 0
        if input.shape[0] != n:
            raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({n}).")
        if input.ndim != target.ndim + 1 or tuple(input.shape[2:]) != tuple(target.shape[1:]):
            if input.ndim == 2:
                raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported: got {list(target.shape)}")
            if input.ndim == 4 and target.ndim == 3:
                sizes = f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}"
                raise RuntimeError(f"{sizes}: each place of (N, C, H, W) scores has one class of (N, H, W).")
            raise RuntimeError(f"Expected target size {[input.shape[0], *input.shape[2:]]}, got {list(target.shape)}")
    elif target.ndim and target.shape != (1,):
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    i = target.all_numbers(0, None if 0 <= ignore_index < classes else classes)
    if i.size == 0:
        return None
    low, high = int(i.min()), int(i.max())
    if low < 0 or high >= classes:
        known = i[i != ignore_index]
        if known.size and not (0 <= known.min() and known.max() < classes):
            worst = int(known.max()) if known.max() >= classes else int(known.min())
            raise IndexError(f"Target {worst} is out of bounds: there are {classes} classes, numbered from 0.")
        return None
    return not low <= ignore_index <= high or not bool((i == ignore_index).any())


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability of the right class.

    Shapes: input (N, C), (C,) or (N, C, ...) log-probabilities; target (N,), () or (N, ...) integers in [0, C); weight (C,).
    "mean" divides by the sum of the weights of the targets. Raises IndexError for a target outside [0, C).

    >>> nll_loss(tensor([[-0.5, -1.0]]), tensor([1]))
    tensor(1.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if input.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    classes = input.shape[-1] if input.ndim == 1 else input.shape[1]
    _check_classes(input, target, weight, classes, ignore_index)
    if input.ndim == 1 and target.ndim:
        target = target.reshape(())
    if not is_floating(input):
        raise not_implemented("nll_loss_out_frame", input)
    if weight is not None and weight.payload.dtype != input.payload.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.title} but found {weight.dtype.title}: convert the weight")
    ones = np.ones(classes, input.payload.dtype) if weight is None else None
    w = weight.detach() if weight is not None else ones if modes.tracer is None else fixed(ones)
    settings = {"reduction": reduction, "ignore_index": ignore_index, "axis": min(1 - input.ndim, -1)}
    return apply(nn.nll_loss, (input, target, w), settings)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
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
    if reduction not in ("mean", "sum", "none") or size_average is not None or reduce is not None:
        reduction = reduction_of(reduction, size_average, reduce)
    if weight is None and not label_smoothing and is_usual(input.payload, target, ignore_index):
        return nn.cross_entropy.run(input, target, settings={"reduction": reduction})
    if input.payload.ndim == 0:
        raise RuntimeError("cross_entropy: expected scores of at least one dim (C,), got a 0-d tensor")
    dim = 0 if input.payload.ndim == 1 else 1
    if target.payload.dtype.kind in "iub" and input.shape == target.shape:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype.title}: classes have the shape of the "
            "scores without the dim of classes"
        )
    if label_smoothing or target.payload.dtype.kind not in "iu":
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
        return _soft_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing, dim)
    one = input.payload.ndim == 1 and input.level  # a sample of a vmap, most often
    if weight is None and (one or input.payload.ndim == 2) and target.payload.ndim == dim and 0 not in input.shape and is_floating(input):
        if _check_classes(input, target, weight, input.payload.shape[dim], ignore_index) is not False:
            i = target.all_numbers()
            if not i.size or (i.min() >= 0 and i.max() < input.payload.shape[dim]):
                return apply(nn.cross_entropy, (input, target), {"reduction": reduction})
    return nll_loss(_log_softmax(input, dim), target, weight, ignore_index=ignore_index, reduction=reduction)


def is_usual(scores: Any, target: Tensor, ignore_index: int) -> bool:
    """Whether these are (N, C) scores and N classes, or a sample of them in a vmap, all in range: then one row computes it all."""
    classes = target.payload
    if not (scores.ndim == 2 or (scores.ndim == 1 and target.level)) or classes.dtype != np.int64:
        return False
    if classes.shape != scores.shape[:-1] or scores.dtype not in dtypes.FLOATING:
        return False
    n = scores.shape[-1]
    i = target.all_numbers(0, None if 0 <= ignore_index < n else n) if target.level or modes.tracer is not None else classes
    # A negative number is a very large one without its sign: one look at the largest is enough.
    return bool(
        i.size and np.maximum.reduce(i.view(np.uint64), None) < scores.shape[-1] and not (0 <= ignore_index and (i == ignore_index).any())
    )


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None,
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """`cross_entropy` of `linear(input, linear_weight, linear_bias)`. Shapes: input (N, D), linear_weight (C, D), target (N,).

    options: how PyTorch cuts the work into pieces; all of it is done at once here.

    >>> linear_cross_entropy(tensor([[1., 2.]]), zeros(4, 2), tensor([3]))  # log(4): all classes are equally likely
    tensor(1.3863)
    """
    _check_linear(input, linear_weight, linear_bias, target, ignore_index)
    width = linear_weight.shape[-1]
    scores = linear(input, linear_weight.reshape(-1, width), None if linear_bias is None else linear_bias.reshape(-1))
    scores = scores.reshape(*input.shape[:-1], *linear_weight.shape[:-1])
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing)


def _check_linear(input: Tensor, weight: Tensor, bias: Any, target: Tensor, ignore_index: Any) -> None:
    """Raise PyTorch's errors for what does not fit together."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}: (N, D) or (D,)")
    if weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {weight.ndim}: (C, D)")
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    if weight.ndim > 2 and input.ndim == 1:
        shape, width = tuple(weight.shape), weight.shape[-1]
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {shape} requires batched input, (N, {width}), "
            f"got unbatched input with shape ({width},)"
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(f"expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}")
    if input.ndim == 2 and target.ndim and target.shape[0] != input.shape[0]:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]}).")
    if ignore_index is not None and is_floating(target):
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")


def _soft_cross_entropy(input: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str, smoothing: float, dim: int) -> Any:
    """Against class probabilities, or against one-hot targets mixed with the uniform distribution."""
    soft_target = is_floating(target)
    if soft_target and ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target: probabilities of classes leave nothing out")
    if soft_target and target.shape != input.shape:
        if input.ndim == 2 and target.ndim > 1:
            raise RuntimeError(
                "0D or 1D target tensor expected, multi-target not supported: probabilities of classes have the shape of the input, "
                f"{list(input.shape)}, and this target has {list(target.shape)}."
            )
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {target.dtype.title}: classes are integers (`target.long()`); "
            f"probabilities of classes have the shape of the input, {list(input.shape)}, and this target has {list(target.shape)}."
        )
    classes = input.shape[dim]
    if weight is not None and (weight.ndim != 1 or weight.shape[0] != classes):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
            "of shape: "
            f"{list(weight.shape)}"
        )
    logp = movedim(_log_softmax(input, dim), dim, -1)
    w = 1.0 if weight is None else weight
    if soft_target:
        soft = movedim(target, dim, -1) * (1 - smoothing) + smoothing / classes
        loss = -(soft * logp * w).sum(-1)
        return loss if reduction == "none" else loss.sum() / (loss.numel() if reduction == "mean" else 1)
    kept = nll_loss(_log_softmax(input, dim), target, weight, ignore_index=ignore_index, reduction=reduction)
    used = (target != ignore_index).to(input.dtype)
    smooth = -(logp * w).sum(-1) * used
    if reduction == "mean":
        norm = used.sum() if weight is None else (weight[target.clamp(0)] * used).sum()
        smooth = smooth.sum() / norm
    elif reduction == "sum":
        smooth = smooth.sum()
    return (1 - smoothing) * kept + smoothing / classes * smooth


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Binary cross-entropy of sigmoid(input) against target in [0, 1], from raw scores, without overflow. Equal shapes.

    >>> binary_cross_entropy_with_logits(tensor([0., 2.]), tensor([1., 1.]))
    tensor(0.4100)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    refuse(input, "log_sigmoid_cpu", INTEGERS)
    one = np.ones((), input.payload.dtype)[()]
    args = (input, target, one if weight is None else weight, one if pos_weight is None else pos_weight)
    return apply(nn.bce_with_logits, args, {"reduction": reduction})


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), with logarithms of at least -100.

    Shapes: two of the same shape; weight broadcasts to it. Raises RuntimeError for an input outside [0, 1].

    >>> binary_cross_entropy(tensor([0.5, 0.9]), tensor([1., 1.]))
    tensor(0.3993)
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("binary_cross_entropy", (input, target))
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. Please ensure they "
            "have the same size."
        )
    refuse(input, "binary_cross_entropy", INTEGERS)
    x = input.all_numbers(0, np.nextafter(1, 2))
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    loss = apply(nn.bce, (input, target), {})
    return reduced(loss if weight is None else loss * weight, reduction)


# -- distributions -----------------------------------------------------------------------------------


def kl_div(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target * (log(target) - input): how far the log-probabilities of the input are from the target's probabilities.

    log_target: the target holds logarithms too. "batchmean" divides the sum by the length of dim 0, as the mathematics has it.
    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> kl_div(tensor([0.5, 0.5]).log(), tensor([0.75, 0.25]), reduction="sum")
    tensor(0.1308)
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("kl_div", (input, target))
    if input.payload.dtype in INTEGERS or target.payload.dtype in INTEGERS:
        raise RuntimeError("kl_div: Integral inputs not supported. Convert them first: t.float().")
    if reduction == "batchmean":
        total = kl_div(input, target, reduction="sum", log_target=log_target)
        return total / input.shape[0] if input.ndim else total
    if reduction == "mean":
        warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
             "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
             "'mean' will be changed to behave the same as 'batchmean' in the next major release.")  # fmt: skip
    reduction = reduction_of(reduction, size_average, reduce)
    if log_target:
        loss = pointwise.exp(target) * (target - input)
    else:
        loss = apply(calculus.xlogy, (target, target), {}) - target * input
    return reduced(loss, reduction)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-8,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability of counts under Poisson distributions with these (logarithms of) means.

    full: with Stirling's approximation of log(target!) for targets above 1.
    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> poisson_nll_loss(tensor([0.]), tensor([3.]))  # exp(0) - 3 * 0
    tensor(1.)
    """
    if modes.autocast is not None:
        input, target = modes.autocast.cast("poisson_nll_loss", (input, target))
    reduction = reduction_of(reduction, size_average, reduce)
    if log_input:
        loss = pointwise.exp(input) - target * input
    else:
        loss = input - target * pointwise.log(input + eps)
    if full:
        large = pointwise.clamp(target, min=1)
        stirling = large * pointwise.log(large) - large + 0.5 * pointwise.log(large * (2 * math.pi))
        loss = loss + pointwise.where(target > 1, stirling, 0.0)
    return reduced(loss, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """(log(var) + (input - target)**2 / var) / 2: minus the log-probability of the target under normal distributions.

    var: of the shape of input, or without its last dim, or with a last dim of 1; at least eps is used. full: with the constant too.
    Raises ValueError for a negative variance.

    >>> gaussian_nll_loss(tensor([1.]), tensor([3.]), tensor([1.]))
    tensor(2.)
    """
    if isinstance(var, int | float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = new_tensor(np.full(tuple(input.shape), var, input.payload.dtype))
    elif var.all_numbers().size and var.all_numbers().min() < 0:
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not (input.ndim == var.ndim and all(v in (1, n) for v, n in zip(var.shape, input.shape))):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    # The bound is not a function of the variance: all of the gradient goes through.
    low = pointwise.clamp(var.detach(), min=eps)
    var = var + (low - var.detach())
    difference = input - target
    loss = 0.5 * (pointwise.log(var) + difference * difference / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


# -- sequences ---------------------------------------------------------------------------------------


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the log-probability of the target sequence, summed over all ways to spread it over time with blanks between.

    Shapes: log_probs (T, N, C) or (T, C), from log_softmax; targets (N, S), or all behind each other; input_lengths and target_lengths
    (N,). "mean" divides each loss by its target's length first. zero_infinity: a target that does not fit in counts 0.
    Source: Graves et al. 2006.

    >>> log_probs = zeros(2, 1, 2).log_softmax(2)  # two steps; a blank (0) and one label (1), equally likely
    >>> (-ctc_loss(log_probs, tensor([[1]]), tensor([2]), tensor([1]))).exp()  # (0, 1), (1, 0) and (1, 1), of four ways
    tensor(0.7500)
    """
    reduction = reduction_of(reduction)
    alone = log_probs.ndim == 2
    x = log_probs.unsqueeze(1) if alone else log_probs
    lengths, own = (_lengths(t) for t in (input_lengths, target_lengths))
    steps, batch, classes = x.shape
    if not is_floating(x) or x.dtype.itemsize < 4:
        raise not_implemented("ctc_loss_cpu", x)
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    if len(lengths) != batch:
        raise RuntimeError(f"input_lengths must be of size batch_size: {len(lengths)} lengths for a batch of {batch}")
    if len(own) != batch:
        raise RuntimeError(f"target_lengths must be of size batch_size: {len(own)} lengths for a batch of {batch}")
    if (lengths > steps).any():
        raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {int(lengths.max())} (while "
                           "checking arguments "
                           "for ctc_loss_cpu)")  # fmt: skip
    if (lengths < 0).any() or (own < 0).any():
        raise RuntimeError("Expected input_lengths and target_lengths to have value at least 0")
    labels = targets.numbers()
    if labels.ndim == 1:
        ends = np.cumsum(own)
        rows = np.full((batch, int(own.max(initial=0))), blank, np.int64)
        for k, (end, n) in enumerate(zip(ends, own)):
            rows[k, :n] = labels[end - n : end]
        labels = rows
    elif labels.shape[1] < own.max(initial=0):
        raise RuntimeError(
            f"Expected tensor to have size at least {int(own.max())} at dimension 1, but got size {labels.shape[1]} for argument #2 "
            "'targets' "
            "(while checking arguments for ctc_loss_cpu)"
        )
    labels = labels[:, : int(own.max(initial=0))].astype(np.int64)
    loss = apply(ctc.ctc_loss, (x, labels, lengths, own), {"blank": blank, "zero_infinity": zero_infinity})
    if reduction == "mean":
        return (loss / new_tensor(np.maximum(own, 1).astype(x.payload.dtype))).mean()
    if reduction == "sum":
        return loss.sum()
    return loss.squeeze(0) if alone else loss


def _lengths(given: Any) -> Any:
    if isinstance(given, Tensor):
        if given.payload.dtype.kind not in "iu":
            raise RuntimeError("input_lengths must be integral")
        return np.atleast_1d(given.numbers()).astype(np.int64)
    return np.atleast_1d(np.asarray(given, np.int64))
