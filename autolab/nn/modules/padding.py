"""Padding: more entries around the last one, two or three dims."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.modules.module import Module
from autolab.nn.modules.utils import _ntuple


class _Pad(Module):
    """padding: one number, or two for each dim, the last dim first: (left, right, top, bottom, front, back)."""

    n: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self.n)(padding)

    def forward(self, input: Tensor) -> Tensor:
        """`functional.pad` of the arguments, with the settings of this module."""
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """`functional.pad` of the arguments, with the settings of this module."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"padding={self.padding}, value={self.value}"


class _CircularPadNd(_Pad):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """`functional.pad`. Raises ValueError for other dims than channels and places."""
        if input.ndim not in (self.n + 1, self.n + 2):
            raise ValueError(f"expected {self.n + 1}D or {self.n + 2}D input (got {input.ndim}D input)")
        return super().forward(input)


class _ReflectionPadNd(_Pad):
    mode = "reflect"


class _ReplicationPadNd(_Pad):
    mode = "replicate"


class ConstantPad1d(_ConstantPadNd):
    """One number, `value`, around the last dim.

    Shapes: (N, C, L) or (C, L); padding is one number, or two for each dim, the last dim first.

    >>> ConstantPad1d(1, 0.5)(tensor([[1., 2.]]))
    tensor([[0.5000, 1.0000, 2.0000, 0.5000]])
    """

    n = 1


class ConstantPad2d(_ConstantPadNd):
    """One number, `value`, around the last two dims.

    Shapes: (N, C, H, W) or (C, H, W); padding is one number, or two for each dim, the last dim first.

    >>> ConstantPad2d(1, 0.5)(tensor([[[1.]]]))
    tensor([[[0.5000, 0.5000, 0.5000],
             [0.5000, 1.0000, 0.5000],
             [0.5000, 0.5000, 0.5000]]])
    """

    n = 2


class ConstantPad3d(_ConstantPadNd):
    """One number, `value`, around the last three dims.

    Shapes: (N, C, D, H, W) or (C, D, H, W); padding is one number, or two for each dim, the last dim first.

    >>> ConstantPad3d(1, 0.5)(ones(1, 1, 1, 1)).shape
    torch.Size([1, 3, 3, 3])
    """

    n = 3


class ZeroPad1d(ConstantPad1d):
    """Zeros around the last dim.

    Shapes: (N, C, L) or (C, L); padding is one number, or two for each dim, the last dim first.

    >>> ZeroPad1d(1)(tensor([[1., 2.]]))
    tensor([[0., 1., 2., 0.]])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _Pad.extra_repr


class ZeroPad2d(ConstantPad2d):
    """Zeros around the last two dims.

    Shapes: (N, C, H, W) or (C, H, W); padding is one number, or two for each dim, the last dim first.

    >>> ZeroPad2d(1)(tensor([[[1.]]]))
    tensor([[[0., 0., 0.],
             [0., 1., 0.],
             [0., 0., 0.]]])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _Pad.extra_repr


class ZeroPad3d(ConstantPad3d):
    """Zeros around the last three dims.

    Shapes: (N, C, D, H, W) or (C, D, H, W); padding is one number, or two for each dim, the last dim first.

    >>> ZeroPad3d(1)(ones(1, 1, 1, 1)).shape
    torch.Size([1, 3, 3, 3])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _Pad.extra_repr


class CircularPad1d(_CircularPadNd):
    """What is at the other end, around (N, C, L) or (C, L).

    >>> CircularPad1d((2, 1))(tensor([[1., 2., 3.]]))
    tensor([[2., 3., 1., 2., 3., 1.]])
    """

    n = 1


class CircularPad2d(_CircularPadNd):
    """What is at the other end, around (N, C, H, W) or (C, H, W).

    >>> CircularPad2d(1)(tensor([[[1., 2.], [3., 4.]]]))
    tensor([[[4., 3., 4., 3.],
             [2., 1., 2., 1.],
             [4., 3., 4., 3.],
             [2., 1., 2., 1.]]])
    """

    n = 2


class CircularPad3d(_CircularPadNd):
    """What is at the other end, around (N, C, D, H, W) or (C, D, H, W).

    >>> CircularPad3d(1)(ones(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    n = 3


class ReflectionPad1d(_ReflectionPadNd):
    """A mirror at each edge, which it does not repeat, of (N, C, L) or (C, L).

    >>> ReflectionPad1d(2)(tensor([[1., 2., 3.]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    n = 1


class ReflectionPad2d(_ReflectionPadNd):
    """A mirror at each edge, which it does not repeat, of (N, C, H, W) or (C, H, W).

    >>> ReflectionPad2d(1)(tensor([[[1., 2.], [3., 4.]]]))
    tensor([[[4., 3., 4., 3.],
             [2., 1., 2., 1.],
             [4., 3., 4., 3.],
             [2., 1., 2., 1.]]])
    """

    n = 2


class ReflectionPad3d(_ReflectionPadNd):
    """A mirror at each edge, which it does not repeat, of (N, C, D, H, W) or (C, D, H, W).

    >>> ReflectionPad3d(1)(ones(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    n = 3


class ReplicationPad1d(_ReplicationPadNd):
    """The edge again, around (N, C, L) or (C, L).

    >>> ReplicationPad1d(2)(tensor([[1., 2., 3.]]))
    tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """

    n = 1


class ReplicationPad2d(_ReplicationPadNd):
    """The edge again, around (N, C, H, W) or (C, H, W).

    >>> ReplicationPad2d(1)(tensor([[[1., 2.], [3., 4.]]]))
    tensor([[[1., 1., 2., 2.],
             [1., 1., 2., 2.],
             [3., 3., 4., 4.],
             [3., 3., 4., 4.]]])
    """

    n = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The edge again, around (N, C, D, H, W) or (C, D, H, W).

    >>> ReplicationPad3d(1)(ones(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    n = 3
