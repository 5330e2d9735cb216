"""Dims joined and split."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn.modules.module import Module


class Flatten(Module):
    """Joins the dims from start_dim to end_dim into one.

    Shapes: (N, ...) -> (N, product of the rest) by default.

    >>> Flatten()(ones(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """`Tensor.flatten` of the arguments, with the settings of this module."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits a dim into several, of which one size may be -1. Raises TypeError for sizes that are not a tuple of integers.

    Shapes: (..., n, ...) -> (..., *unflattened_size, ...), of which the product is n.

    >>> Unflatten(1, (3, -1))(ones(8, 12)).shape
    torch.Size([8, 3, 4])
    """

    def __init__(self, dim: Any, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, str):
            raise TypeError(f"Unflatten: there are no named dims such as {dim!r} in autolab; give the dim by its number")
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(f"unflattened_size must be tuple of ints, but found type {type(unflattened_size).__name__}")
        for i, n in enumerate(unflattened_size):
            if not isinstance(n, int):
                raise TypeError(f"unflattened_size must be tuple of ints, but found element of type {type(n).__name__} at pos {i}")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """`Tensor.unflatten` of the arguments, with the settings of this module."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The dim and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
