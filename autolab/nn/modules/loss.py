"""Losses as modules: the function of the same name, with the settings it keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.functional.common import reduction_of
from autolab.nn.modules.configured import Configured, given
from autolab.nn.modules.distance import PairwiseDistance
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.module import Module

_OLD: dict[str, Any] = {"size_average": None, "reduce": None, "reduction": "mean"}  # the two that `reduction` replaced come first
_WEIGHTS = ("weight", "pos_weight")


class _Loss(Configured):
    """What losses share: `reduction` "mean", "sum" or "none", and weights that move with the module as buffers."""

    settings = _OLD
    reduction: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        values = given(type(self), args, kwargs)
        old = values.pop("size_average", None), values.pop("reduce", None)
        if old != (None, None):
            values["reduction"] = reduction_of("mean", *old)
        for name, value in values.items():
            if name in _WEIGHTS:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def _of(self, *inputs: Tensor) -> Tensor:
        kept = {name: getattr(self, name) for name in self.settings if name not in ("size_average", "reduce")}
        return getattr(F, self.function)(*inputs, **kept)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """The function of the same name."""
        return self._of(input, target)

    def extra_repr(self) -> str:
        """The empty text: `repr` shows the class alone."""
        return ""


class _WeightedLoss(_Loss):
    settings: ClassVar = {"weight": None, **_OLD}


# -- of numbers ------------------------------------------------------------------------------------


class L1Loss(_Loss):
    """The mean of |input - target|: the absolute error.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> L1Loss()(tensor([1., 2.]), tensor([0., 4.]))
    tensor(1.5000)
    """

    function = "l1_loss"


class MSELoss(_Loss):
    """The mean of (input - target)**2: the squared error.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> MSELoss()(tensor([1., 2.]), tensor([0., 4.]))
    tensor(2.5000)
    """

    function = "mse_loss"


class SmoothL1Loss(_Loss):
    """Half the square over beta within beta, abs(input - target) - beta / 2 beyond. Source: Girshick 2015.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> SmoothL1Loss()(tensor([0.5, 3.]), zeros(2))  # (0.5**2 / 2 + 3 - 1 / 2) / 2
    tensor(1.3125)
    """

    function, settings = "smooth_l1_loss", {**_OLD, "beta": 1.0}


class HuberLoss(_Loss):
    """Half the square within delta, delta * (abs(input - target) - delta / 2) beyond. Source: Huber 1964.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> HuberLoss(delta=2.0, reduction="none")(tensor([1., 4.]), zeros(2))  # 1**2 / 2 and 2 * (4 - 1)
    tensor([0.5000, 6.0000])
    """

    function, settings = "huber_loss", {"reduction": "mean", "delta": 1.0}

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, int | float):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction, delta)


class PoissonNLLLoss(_Loss):
    """Minus the log-probability of counts under a Poisson distribution, of which the input is the (log of the) mean.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> PoissonNLLLoss()(tensor([0.]), tensor([3.]))  # exp(0) - 3 * 0
    tensor(1.)
    """

    function = "poisson_nll_loss"
    settings: ClassVar = {"log_input": True, "full": False, "size_average": None, "eps": 1e-8, "reduce": None, "reduction": "mean"}

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """`functional.poisson_nll_loss` of the arguments, with the settings of this module."""
        kept = {"log_input": self.log_input, "full": self.full, "eps": self.eps, "reduction": self.reduction}
        return F.poisson_nll_loss(log_input, target, **kept)


class GaussianNLLLoss(_Loss):
    """Minus the log-density of the target under a normal distribution with the mean `input` and the variance `var`.

    Shapes: input and target (...), var (...), (..., 1) or without the last dim; result (), or (...) with reduction="none".

    >>> GaussianNLLLoss()(tensor([0.]), tensor([2.]), tensor([4.]))  # (log(4) + 2**2 / 4) / 2
    tensor(1.1931)
    """

    function, settings = "gaussian_nll_loss", {"full": False, "eps": 1e-6, "reduction": "mean"}

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(full, eps, reduction)

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:  # type: ignore[override]
        """`functional.gaussian_nll_loss` of the arguments, with the settings of this module."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """target * (log(target) - input): how far the log-probabilities `input` are from a distribution.

    Shapes: input and target (...); result (), or (...) with reduction="none". "batchmean": the sum divided by the number of samples.

    >>> input, target = tensor([[0.5, 0.5]]).log(), tensor([[0.25, 0.75]])
    >>> KLDivLoss(reduction="batchmean")(input, target)  # 0.25 * log(0.25 / 0.5) + 0.75 * log(0.75 / 0.5)
    tensor(0.1308)
    """

    function, settings = "kl_div", {**_OLD, "log_target": False}


# -- of classes --------------------------------------------------------------------------------------


class CrossEntropyLoss(_WeightedLoss):
    """Minus the log-probability of the right class, from raw scores (N, C, ...) and targets (N, ...), or probabilities (N, C, ...).

    >>> loss = CrossEntropyLoss()
    >>> loss(tensor([[0., 0.]]), tensor([1])), loss(tensor([[0., 9.]]), tensor([1]))  # log(2): a guess between two; and nearly sure
    (tensor(0.6931), tensor(0.0001))
    """

    function = "cross_entropy"
    settings: ClassVar = {
        "weight": None, "size_average": None, "ignore_index": -100, "reduce": None, "reduction": "mean", "label_smoothing": 0.0,
    }  # fmt: skip

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """`functional.cross_entropy` of the arguments, with the settings of this module."""
        return F.cross_entropy(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction, label_smoothing=self.label_smoothing
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """A `Linear` and the `CrossEntropyLoss` of what it gives. Shapes: input (N, in_features), target (N, *out_features).

    >>> loss = LinearCrossEntropyLoss(4, 10)
    >>> loss(ones(5, 4), tensor([0, 1, 2, 3, 9])).shape, [list(p.shape) for p in loss.parameters()]
    (torch.Size([]), [[10, 4]])
    """

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False, device: Any = None,
        dtype: Any = None, reduction: str = "mean", weight: Tensor | None = None, ignore_index: int | None = None,
        label_smoothing: float = 0.0, options: Any = None,
    ) -> None:  # fmt: skip
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features, self.ignore_index = num_classes, out_features, ignore_index
        self.label_smoothing, self.options = label_smoothing, options
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """`functional.linear_cross_entropy` of the arguments, with the settings of this module."""
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*shape, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        names = "num_classes out_features bias reduction ignore_index label_smoothing options".split()
        values = {name: getattr(self, name, None) for name in names} | {"bias": self.linear.bias is not None}
        return f"in_features={self.linear.in_features}, " + ", ".join(f"{name}={value}" for name, value in values.items())


class NLLLoss(_WeightedLoss):
    """Minus the log-probability of the right class, from log-probabilities (N, C, ...) and targets (N, ...).

    >>> NLLLoss()(tensor([[0.25, 0.75]]).log(), tensor([1]))  # -log(0.75)
    tensor(0.2877)
    """

    function = "nll_loss"
    settings: ClassVar = {"weight": None, "size_average": None, "ignore_index": -100, "reduce": None, "reduction": "mean"}


class NLLLoss2d(NLLLoss):
    """`NLLLoss`, under the name that it had for pictures."""


class BCELoss(_WeightedLoss):
    """Binary cross-entropy of probabilities: -(target * log(input) + (1 - target) * log(1 - input)), averaged.

    Shapes: input and target (...); result (), or (...) with reduction="none". Entries of input lie in [0, 1].

    >>> BCELoss()(tensor([0.5, 0.9]), tensor([1., 1.]))
    tensor(0.3993)
    """

    function = "binary_cross_entropy"


class BCEWithLogitsLoss(_Loss):
    """Binary cross-entropy from raw scores: BCELoss of sigmoid(input), without overflow.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> BCEWithLogitsLoss()(tensor([0., 2.]), tensor([1., 1.]))
    tensor(0.4100)
    """

    function, settings = "binary_cross_entropy_with_logits", {"weight": None, **_OLD, "pos_weight": None}


class MultiLabelMarginLoss(_Loss):
    """How far each right class is from standing 1 above each wrong one; targets (N, C) list the right ones, then -1.

    >>> MultiLabelMarginLoss()(tensor([[2., 1.5, 0.]]), tensor([[0, -1, 0]]))  # class 0 is right, 1 too close by 0.5: 0.5 / 3
    tensor(0.1667)
    """

    function = "multilabel_margin_loss"


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross-entropy of each class, from raw scores, averaged over classes.

    Shapes: input and target (N, C) or (C,), target of zeros and ones; result (), or (N,) with reduction="none".

    >>> MultiLabelSoftMarginLoss()(zeros(1, 3), tensor([[1., 0., 1.]]))  # log(2): nothing is known
    tensor(0.6931)
    """

    function = "multilabel_soft_margin_loss"


class MultiMarginLoss(_WeightedLoss):
    """How far the right class is from standing `margin` above each other one. Raises ValueError unless p is 1 or 2.

    Shapes: input (N, C) or (C,), target (N,) or (); result (), or (N,) with reduction="none".

    >>> MultiMarginLoss()(tensor([[3., 2.5, 0.]]), tensor([0]))  # 2.5 is too close by 0.5: 0.5 / 3 classes
    tensor(0.1667)
    """

    function = "multi_margin_loss"
    settings: ClassVar = {"p": 1, "margin": 1.0, "weight": None, **_OLD}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.ndim != 1:
            raise ValueError(f"weight must be None or have 1 dimension, got {self.weight.ndim}")


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), targets 1 and -1.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> SoftMarginLoss()(tensor([0., 2.]), tensor([1., -1.]))
    tensor(1.4100)
    """

    function = "soft_margin_loss"


# -- of pairs and triples ----------------------------------------------------------------------------


class HingeEmbeddingLoss(_Loss):
    """A distance where the target is 1, what it lacks to the margin where it is -1.

    Shapes: input and target (...); result (), or (...) with reduction="none".

    >>> HingeEmbeddingLoss(reduction="none")(tensor([0.5, 0.2]), tensor([1., -1.]))  # 0.5, and 1 - 0.2
    tensor([0.5000, 0.8000])
    """

    function, settings = "hinge_embedding_loss", {"margin": 1.0, **_OLD}


class MarginRankingLoss(_Loss):
    """How far input1 is from standing `margin` above input2 (target 1) or below (-1).

    Shapes: both inputs and the target (...); result (), or (...) with reduction="none".

    >>> MarginRankingLoss(margin=0.5)(tensor([1.]), tensor([2.]), tensor([1.]))  # 1.5 too low
    tensor(1.5000)
    """

    function, settings = "margin_ranking_loss", {"margin": 0.0, **_OLD}

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """`functional.margin_ranking_loss` of the arguments, with the settings of this module."""
        return self._of(input1, input2, target)


class CosineEmbeddingLoss(_Loss):
    """1 - cos of the angle where the target is 1, what cos exceeds the margin where it is -1.

    Shapes: (N, D) twice and target (N,), or (D,) twice and (); result (), or (N,) with reduction="none".

    >>> a, b = tensor([[1., 0.], [1., 0.]]), tensor([[1., 0.], [0., 1.]])
    >>> CosineEmbeddingLoss(reduction="none")(a, b, tensor([1, 1]))  # the same direction, and a right angle
    tensor([0., 1.])
    """

    function, settings = "cosine_embedding_loss", {"margin": 0.0, **_OLD}

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """`functional.cosine_embedding_loss` of the arguments, with the settings of this module."""
        return self._of(input1, input2, target)


class TripletMarginLoss(_Loss):
    """How far the anchor is from being nearer to `positive` than to `negative` by the margin. Source: Balntas et al. 2016.

    Shapes: (N, D) or (D,) three times; result (), or (N,) with reduction="none". Raises ValueError unless the margin is positive.

    >>> TripletMarginLoss()(tensor([[0., 0.]]), tensor([[0., 1.]]), tensor([[1.5, 0.]]))  # 1 + 1 - 1.5
    tensor(0.5000)
    """

    function, settings = "triplet_margin_loss", {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False, **_OLD}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {self.margin} instead")

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        """`functional.triplet_margin_loss` of the arguments, with the settings of this module."""
        return self._of(anchor, positive, negative)


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of one's own; by default the Euclidean one.

    >>> taxi = lambda a, b: (a - b).abs().sum(-1)
    >>> TripletMarginWithDistanceLoss(distance_function=taxi)(tensor([[0., 0.]]), tensor([[1., 1.]]), tensor([[0., 2.5]]))
    tensor(0.5000)
    """

    function = "triplet_margin_with_distance_loss"
    settings: ClassVar = {"distance_function": None, "margin": 1.0, "swap": False, "reduction": "mean"}

    def __init__(
        self, *, distance_function: Callable[..., Tensor] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__(distance_function or PairwiseDistance(), margin, swap, reduction)
        if self.margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {self.margin} instead")

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        """`functional.triplet_margin_with_distance_loss` of the arguments, with the settings of this module."""
        return self._of(anchor, positive, negative)


# -- of sequences ------------------------------------------------------------------------------------


class CTCLoss(_Loss):
    """Minus the log-probability of a sequence of labels, over all ways to lay it along a longer one. Source: Graves et al. 2006.

    Shapes: log-probabilities (T, N, C) or (T, C), targets (N, S) or all behind each other, both lengths (N,); result (), or (N,) with
    reduction="none". blank: the class that stands for no label.

    >>> log_probs = zeros(2, 1, 2).log_softmax(2)  # two steps; a blank (0) and one label (1), equally likely
    >>> (-CTCLoss()(log_probs, tensor([[1]]), tensor([2]), tensor([1]))).exp()  # (0, 1), (1, 0) and (1, 1), of four ways
    tensor(0.7500)
    """

    function, settings = "ctc_loss", {"blank": 0, "reduction": "mean", "zero_infinity": False}

    def forward(  # type: ignore[override]
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        """`functional.ctc_loss` of the arguments, with the settings of this module."""
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)
