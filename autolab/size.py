"""The shape of a tensor, as a type of its own."""

from __future__ import annotations

import itertools
import re
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


def broadcast_error(shapes: list[tuple[int, ...]]) -> RuntimeError | None:
    """Two among these shapes that do not broadcast, as an error.

    >>> raise broadcast_error([(2, 3), (4,)])
    Traceback (most recent call last):
        ...
    RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1. ...
    >>> broadcast_error([(2, 1), (3,)]) is None
    True
    """
    for a, b in itertools.combinations(shapes, 2):
        for back, (m, n) in enumerate(zip(reversed(a), reversed(b)), 1):
            if m != n and 1 not in (m, n):
                return RuntimeError(
                    f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension "
                    f"{max(len(a), len(b)) - back}. The shapes are {list(a)} and {list(b)}: they are compared from the right, and "
                    "two lengths fit if they are equal or one of them is 1. unsqueeze or reshape one of them."
                )
    return None


def shapes_in(error: ValueError) -> list[tuple[int, ...]]:
    """The shapes that NumPy names when it cannot broadcast.

    >>> shapes_in(ValueError("operands could not be broadcast together with shapes (2,3) (4,)"))
    [(2, 3), (4,)]
    """
    if not str(error).startswith("operands could not be broadcast"):
        return []
    return [tuple(int(n) for n in shape.split(",") if n) for shape in re.findall(r"\(([\d,]*)\)", str(error))]
