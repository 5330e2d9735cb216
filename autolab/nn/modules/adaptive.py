"""A softmax over very many classes in two steps. Source: Grave et al. 2016."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.modules.container import ModuleList, Sequential
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.module import Module
from autolab.torch_api.shape import cat


class _ASMoutput(NamedTuple):
    """The log-probability of each target, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Frequent classes in a small softmax (the head), which also says in which cluster of rare ones (a tail) to look.

    Classes are numbered by falling frequency; cutoffs: where each cluster ends, as [10, 100] for 0-9 in the head, 10-99, and the rest.
    Shapes: input (N, in_features) or (in_features,), target (N,) or ().

    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 1000, cutoffs=[10, 100])
    >>> out, loss = layer(torch.randn(5, 16), tensor([0, 9, 10, 99, 999]))
    >>> out.shape, loss.isclose(-out.mean())
    (torch.Size([5]), tensor(True))
    >>> torch.allclose(layer.log_prob(torch.randn(5, 16)).exp().sum(dim=1), ones(5))  # over all 1000 classes
    True
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if ends != sorted(set(ends)) or min(ends) <= 0 or max(ends) > n_classes - 1 or any(int(c) != c for c in ends):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 "
                "and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*ends, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        like = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **like)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden, size = int(in_features // (div_value ** (i + 1))), self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, hidden, bias=False, **like), Linear(hidden, size, bias=False, **like)))

    def reset_parameters(self) -> None:
        """Draw the parameters again, in place, as the constructor does."""
        for layer in [self.head, *(part for pair in self.tail for part in pair)]:  # type: ignore[attr-defined]
            layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probability of each target and the loss. Raises RuntimeError for shapes and targets that do not fit."""
        if target_.ndim == 1 and input_.ndim != 2:
            raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input_.shape}")
        if target_.ndim == 0 and input_.ndim != 1:
            raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input_.shape}")
        if target_.ndim > 1:
            raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported; found size {target_.shape}")
        alone = input_.ndim == 1
        x, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if alone else (input_, target_)
        if x.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        ids = target.detach().all_numbers()
        if ids.size and (ids.min() < 0 or ids.max() >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{ids.min()}, {ids.max()}] were found. "
            )
        output = self.log_prob(x).gather(1, target.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if alone else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, (N, n_classes)."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            own = F.log_softmax(tail(input), 1)
            parts.append(own + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row."""
        return self.log_prob(input).argmax(1)
