"""The shape of a tensor, as a type of its own."""

from __future__ import annotations

from typing import Any


class Size(tuple[int, ...]):
    """A shape: a tuple of lengths, printed as PyTorch prints it. Its slices are shapes, too.

    >>> ones(2, 3, 4).shape[1:], ones(2, 3, 4).shape.numel()
    (torch.Size([3, 4]), 24)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of entries in a tensor of this shape."""
        n = 1
        for length in self:
            n *= length
        return n

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, i: Any) -> Any:
        got = tuple.__getitem__(self, i)
        return Size(got) if type(got) is tuple else got

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))
