"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from autolab.engine.tensor import Tensor
from autolab.nn.modules.module import torch_name
from autolab.torch_api.shape import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The parameters one after another, as one vector; gradients flow through it.

    Shapes: any; the result has one dim.

    >>> parameters_to_vector([tensor([[1., 2.], [3., 4.]]), tensor([5.])])
    tensor([1., 2., 3., 4., 5.])
    """
    return cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let each parameter look into its part of the vector. Raises TypeError unless that is a Tensor.

    >>> layer = torch.nn.Linear(2, 1)
    >>> vector_to_parameters(tensor([1., 2., 3.]), layer.parameters())
    >>> layer.weight.data, layer.bias.data
    (tensor([[1., 2.]]), tensor([3.]))
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch_name(vec)}")
    start = 0
    for p in parameters:
        n = p.numel()
        p.data = vec[start : start + n].view_as(p).data
        start += n
