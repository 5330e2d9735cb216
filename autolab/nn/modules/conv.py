"""Convolutions and their transposes, in one, two and three dims."""

from __future__ import annotations

import math
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.module import Module, affine
from autolab.nn.modules.utils import _ntuple
from autolab.nn.parameter import Parameter
from autolab.torch_api.creation import empty

_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What they share. Weight and bias start uniform within 1 / sqrt(inputs of one output)."""

    n: int
    transposed = False
    bias: Parameter | None

    def _set_up(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, output_padding: Any,
        groups: int, bias: bool, padding_mode: str, device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        Module.__init__(self)
        each = _ntuple(self.n)
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride, self.dilation = each(kernel_size), each(stride), each(dilation)
        self.padding = padding if isinstance(padding, str) else each(padding)
        self.output_padding = each(output_padding)
        self._check()
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(empty((first, second // groups, *self.kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}")
            if self.padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{self.padding_mode}'")

    def reset_parameters(self) -> None:
        """Draw the parameters again, in place, as the constructor does."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        """Channels, kernel and stride; the rest where it is not usual."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual = {"padding": (0,) * self.n, "dilation": (1,) * self.n, "output_padding": (0,) * self.n, "groups": 1}
        text += "".join(f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)
        text += "" if self.bias is not None else ", bias=False"
        return text + ("" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode}")


class _Conv(_ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        self._set_up(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype)

    def _around(self) -> list[int]:
        """The padding of each side, last dim first, as `functional.pad` takes it."""
        sides = []
        for k, kernel, dilation in zip(range(self.n), self.kernel_size, self.dilation):
            total = dilation * (kernel - 1)
            if self.padding == "same":
                sides.append((total // 2, total - total // 2))
            else:
                sides.append((0, 0) if self.padding == "valid" else (self.padding[k], self.padding[k]))
        return [m for side in reversed(sides) for m in side]

    def forward(self, input: Tensor) -> Tensor:
        """`functional.conv1d` and so on; another padding than zeros is put around the input first."""
        return self._conv_forward(input, *affine(self))

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._around(), mode=self.padding_mode), (0,) * self.n
        return getattr(F, f"conv{self.n}d")(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Cross-correlation along one dim. Shapes: input (N, C_in, L) or (C_in, L), weight (C_out, C_in / groups, K).

    padding: numbers, "same" or "valid". padding_mode: "zeros", "reflect", "replicate" or "circular".

    >>> layer = nn.Conv1d(3, 8, 5, padding="same")
    >>> layer(ones(2, 3, 20)).shape, layer.weight.shape
    (torch.Size([2, 8, 20]), torch.Size([8, 3, 5]))
    """

    n = 1


class Conv2d(_Conv):
    """Cross-correlation of pictures. Shapes: input (N, C_in, H, W) or (C_in, H, W), weight (C_out, C_in / groups, K, K).

    padding: numbers, "same" or "valid". padding_mode: "zeros", "reflect", "replicate" or "circular".

    >>> nn.Conv2d(3, 8, 3, padding=1)
    Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """

    n = 2


class Conv3d(_Conv):
    """Cross-correlation of volumes. Shapes: input (N, C_in, D, H, W) or (C_in, D, H, W), weight (C_out, C_in / groups, K, K, K).

    >>> nn.Conv3d(3, 8, (1, 3, 3), stride=2)(ones(2, 3, 9, 9, 9)).shape
    torch.Size([2, 8, 5, 4, 4])
    """

    n = 3


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._set_up(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode, device, dtype
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> Any:
        """What to add at the end, to come to that size. Raises ValueError for a size that the stride does not allow."""
        n = self.n
        lead = 2 if input.ndim == n + 2 else 1
        sizes = list(output_size)[lead:] if len(output_size) == lead + n else list(output_size)
        if len(sizes) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or {lead + n} elements (got {len(output_size)})"
            )
        each = zip(input.shape[lead:], self.stride, self.padding, self.dilation, self.kernel_size)
        least = [(m - 1) * s - 2 * p + d * (k - 1) + 1 for m, s, p, d, k in each]
        most = [m + s - 1 for m, s in zip(least, self.stride)]
        if any(not a <= size <= b for a, size, b in zip(least, sizes, most)):
            raise ValueError(
                f"requested an output size of {sizes}, but valid sizes range from {least} to {most} (for an input of {input.shape[2:]})"
            )
        return tuple(size - m for size, m in zip(sizes, least))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """`functional.conv_transpose1d` and so on. output_size: which of the sizes that a stride joins is meant."""
        extra = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return getattr(F, f"conv_transpose{self.n}d")(input, *affine(self), self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`, as its backward computes it. Shapes: input (N, C_in, L), weight (C_in, C_out / groups, K).

    >>> nn.ConvTranspose1d(8, 3, 4, stride=2, padding=1)(ones(2, 8, 10)).shape  # twice as long
    torch.Size([2, 3, 20])
    """

    n = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`, as its backward computes it. Shapes: input (N, C_in, H, W), weight (C_in, C_out / groups, K, K).

    >>> nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)(ones(2, 8, 10, 10)).shape  # twice as large
    torch.Size([2, 3, 20, 20])
    """

    n = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`. Shapes: input (N, C_in, D, H, W), weight (C_in, C_out / groups, K, K, K).

    >>> nn.ConvTranspose3d(8, 3, 4, stride=2, padding=1)(ones(2, 8, 5, 5, 5)).shape  # twice as large
    torch.Size([2, 3, 10, 10, 10])
    """

    n = 3
