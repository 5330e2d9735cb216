"""Modules for the distance and the cosine between rows of two tensors."""

from __future__ import annotations

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.modules.module import Module


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dim. Shapes: (N, D) or (D,) twice; result (N,) or ().

    >>> PairwiseDistance()(tensor([[0., 0.]]), tensor([[3., 4.]]))
    tensor([5.0000])
    >>> PairwiseDistance(p=1)(tensor([[0., 0.]]), tensor([[3., 4.]]))
    tensor([7.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """`functional.pairwise_distance` of the arguments, with the settings of this module."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between x1 and x2 along dim.

    Shapes: x1 and x2 of the same shape; the result is without dim.

    >>> CosineSimilarity(dim=0)(tensor([1., 0.]), tensor([1., 1.]))
    tensor(0.7071)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """`functional.cosine_similarity` of the arguments, with the settings of this module."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
