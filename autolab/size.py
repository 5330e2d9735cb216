"""The shape of a tensor, as a type of its own."""

from __future__ import annotations

from typing import Any


class Size(tuple[int, ...]):
    """A shape, printed as PyTorch prints it."""

    __slots__ = ()

    def numel(self) -> int:
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
