"""Pictures made larger and smaller, places made channels and back, windows made columns and back."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.modules.configured import REQUIRED, Configured
from autolab.nn.modules.module import Module


class Upsample(Module):
    """A signal, picture or volume in another size. mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear".

    Shapes: (N, C, L), (N, C, H, W) or (N, C, D, H, W); the result has other lengths in the dims after C.

    >>> Upsample(scale_factor=2)(tensor([[[1., 2.]]]))
    tensor([[[1., 1., 2., 2.]]])
    >>> Upsample(size=3, mode="linear", align_corners=True)(tensor([[[1., 2.]]]))
    tensor([[[1.0000, 1.5000, 2.0000]]])
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.name, self.size, self.mode = type(self).__name__, size, mode
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(f) for f in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """`functional.interpolate` of the arguments, with the settings of this module."""
        settings = self.size, self.scale_factor, self.mode, self.align_corners
        return F.interpolate(input, *settings, recompute_scale_factor=self.recompute_scale_factor)

    def extra_repr(self) -> str:
        """Factor or size, and the mode."""
        size = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Enlarges pictures by repeating each entry: `Upsample` with mode "nearest".

    Shapes: (N, C, H, W) -> (N, C, *size), or scale_factor times as long.

    >>> UpsamplingNearest2d(scale_factor=2)(ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Enlarges pictures along straight lines between entries, the corners where they were.

    Shapes: (N, C, H, W) -> (N, C, *size), or scale_factor times as long.

    >>> UpsamplingBilinear2d(size=(1, 3))(tensor([[[[0., 1.]]]]))
    tensor([[[[0.0000, 0.5000, 1.0000]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Configured):
    """Channels become places: (N, C * r * r, H, W) becomes (N, C, H * r, W * r). Source: Shi et al. 2016.

    >>> PixelShuffle(2)(ones(1, 12, 5, 5)).shape
    torch.Size([1, 3, 10, 10])
    """

    function, settings = "pixel_shuffle", {"upscale_factor": REQUIRED}


class PixelUnshuffle(Configured):
    """Places become channels: (N, C, H * r, W * r) becomes (N, C * r * r, H, W).

    >>> PixelUnshuffle(2)(ones(1, 3, 10, 10)).shape
    torch.Size([1, 12, 5, 5])
    """

    function, settings = "pixel_unshuffle", {"downscale_factor": REQUIRED}


class ChannelShuffle(Configured):
    """The channels of `groups` groups, dealt out in turn. Source: Zhang et al. 2018.

    Shapes: (N, C, ...) with C divisible by groups; the result is like the input.

    >>> ChannelShuffle(2)(arange(6).reshape(1, 6, 1, 1)).flatten()  # (0, 1, 2) and (3, 4, 5)
    tensor([0, 3, 1, 4, 2, 5])
    """

    function, settings = "channel_shuffle", {"groups": REQUIRED}


_WINDOWS = {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1}


class Unfold(Configured):
    """Each window as a column: (N, C, H, W) becomes (N, C * K * K, windows).

    >>> Unfold(2)(tensor([[[[1., 2., 3.], [4., 5., 6.]]]]))  # two windows
    tensor([[[1., 2.],
             [2., 3.],
             [4., 5.],
             [5., 6.]]])
    """

    function, settings = "unfold", _WINDOWS


class Fold(Configured):
    """The transpose of `Unfold`: columns added up at the places where their windows stood.

    Shapes: (N, C * K * K, windows) -> (N, C, H, W), or without N. output_size: (H, W).

    >>> Fold(output_size=3, kernel_size=2)(ones(1, 4, 4))  # the middle lies in all four windows
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """

    function, settings = "fold", {"output_size": REQUIRED, **_WINDOWS}
