"""Pooling: one number for each window."""

from __future__ import annotations

from typing import Any, ClassVar

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.modules.configured import REQUIRED, Configured
from autolab.nn.modules.module import Module
from autolab.nn.modules.utils import _ntuple


class _Pool(Configured):
    """Windows whose stride is their size unless it is given."""

    shown: tuple[str, ...] = ()
    tuples = 0  # of so many numbers, if they are kept as tuples
    stride: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size
        if self.tuples:
            for name in ("kernel_size", "stride", "padding"):
                setattr(self, name, _ntuple(self.tuples)(getattr(self, name)))

    def extra_repr(self) -> str:
        """The settings that PyTorch prints."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.shown)


# -- the largest ---------------------------------------------------------------------------------------


class _MaxPoolNd(_Pool):
    settings: ClassVar = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "dilation": 1, "return_indices": False, "ceil_mode": False}
    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class MaxPool1d(_MaxPoolNd):
    """The largest entry of each window of (N, C, L) or (C, L). return_indices: also where it stood, for `MaxUnpool1d`.

    >>> MaxPool1d(2, return_indices=True)(tensor([[1., 3., 20., 10.]]))
    (tensor([[ 3., 20.]]), tensor([[1, 2]]))
    """

    function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest entry of each window of (N, C, H, W) or (C, H, W). return_indices: also where it stood, for `MaxUnpool2d`.

    >>> MaxPool2d(2)(tensor([[[1., 2., 0., 0.], [3., 4., 0., 8.]]]))
    tensor([[[4., 8.]]])
    >>> MaxPool2d(3, stride=2, padding=1)(ones(1, 64, 112, 112)).shape
    torch.Size([1, 64, 56, 56])
    """

    function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest entry of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> MaxPool3d(2)(ones(1, 3, 4, 6, 8)).shape
    torch.Size([1, 3, 2, 3, 4])
    """

    function = "max_pool3d"


class _MaxUnpoolNd(_Pool):
    settings: ClassVar = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
    shown = ("kernel_size", "stride", "padding")

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:  # type: ignore[override]
        """Each number where the index says, zeros elsewhere. output_size: which of the sizes that a stride joins is meant."""
        return getattr(F, self.function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """The largest entries back where `MaxPool1d` found them.

    Shapes: values and indices (N, C, L) or (C, L). Zeros stand elsewhere.

    >>> values, places = nn.MaxPool1d(2, return_indices=True)(tensor([[1., 3., 20., 10.]]))
    >>> MaxUnpool1d(2)(values, places)
    tensor([[ 0.,  3., 20.,  0.]])
    """

    function, tuples = "max_unpool1d", 1


class MaxUnpool2d(_MaxUnpoolNd):
    """The largest entries back where `MaxPool2d` found them.

    Shapes: values and indices (N, C, H, W) or (C, H, W). Zeros stand elsewhere.

    >>> values, places = nn.MaxPool2d(2, return_indices=True)(tensor([[[1., 2., 0., 0.], [3., 4., 0., 8.]]]))
    >>> MaxUnpool2d(2)(values, places)
    tensor([[[0., 0., 0., 0.],
             [0., 4., 0., 8.]]])
    """

    function, tuples = "max_unpool2d", 2


class MaxUnpool3d(_MaxUnpoolNd):
    """The largest entries back where `MaxPool3d` found them.

    Shapes: values and indices (N, C, D, H, W) or (C, D, H, W). Zeros stand elsewhere.

    >>> values, places = nn.MaxPool3d(2, return_indices=True)(ones(1, 3, 4, 6, 8))
    >>> MaxUnpool3d(2)(values, places).shape
    torch.Size([1, 3, 4, 6, 8])
    """

    function, tuples = "max_unpool3d", 3


# -- means -----------------------------------------------------------------------------------------------


class _AvgPoolNd(_Pool):
    settings: ClassVar = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}
    shown = ("kernel_size", "stride", "padding")


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of (N, C, L) or (C, L).

    >>> AvgPool1d(2)(tensor([[1., 3., 10., 20., 0.]]))  # the last entry fills no window
    tensor([[ 2., 15.]])
    """

    function, tuples = "avg_pool1d", 1


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of (N, C, H, W) or (C, H, W). divisor_override: divide by this instead of the number of entries.

    >>> AvgPool2d(2)(tensor([[[1., 2., 0., 0.], [3., 4., 0., 8.]]]))
    tensor([[[2.5000, 2.0000]]])
    """

    function, settings = "avg_pool2d", {**_AvgPoolNd.settings, "divisor_override": None}


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> AvgPool3d(2)(ones(1, 3, 4, 6, 8)).shape
    torch.Size([1, 3, 2, 3, 4])
    """

    function, settings = "avg_pool3d", {**_AvgPoolNd.settings, "divisor_override": None}


class _LPPoolNd(Configured):
    settings: ClassVar = {"norm_type": REQUIRED, "kernel_size": REQUIRED, "stride": None, "ceil_mode": False}


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of (N, C, L) or (C, L).

    >>> LPPool1d(2, kernel_size=2)(tensor([[3., 4., 6., 8.]]))  # sqrt(3**2 + 4**2)
    tensor([[ 5., 10.]])
    """

    function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of (N, C, H, W) or (C, H, W).

    >>> LPPool2d(1, kernel_size=2)(tensor([[[1., 2., 0., 0.], [3., 4., 0., 8.]]]))  # of exponent 1: the sums
    tensor([[[10.,  8.]]])
    """

    function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> LPPool3d(2, kernel_size=2)(ones(1, 3, 4, 6, 8)).shape
    torch.Size([1, 3, 2, 3, 4])
    """

    function = "lp_pool3d"


# -- so many windows as are asked for ------------------------------------------------------------------------


class _AdaptiveAvgPoolNd(Configured):
    settings: ClassVar = {"output_size": REQUIRED}


class _AdaptiveMaxPoolNd(Configured):
    settings: ClassVar = {"output_size": REQUIRED, "return_indices": False}

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows that cover (N, C, L).

    >>> AdaptiveAvgPool1d(2)(tensor([[1., 3., 10., 20.]]))
    tensor([[ 2., 15.]])
    """

    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of so many windows that cover (N, C, H, W); None leaves a dim as it is.

    >>> AdaptiveAvgPool2d(1)(ones(8, 64, 7, 5)).shape  # one number for each channel, whatever the picture's size
    torch.Size([8, 64, 1, 1])
    >>> AdaptiveAvgPool2d((3, None))(ones(8, 64, 7, 5)).shape
    torch.Size([8, 64, 3, 5])
    """

    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of so many windows that cover (N, C, D, H, W); None leaves a dim as it is.

    >>> AdaptiveAvgPool3d((1, 2, None))(ones(8, 64, 7, 6, 5)).shape
    torch.Size([8, 64, 1, 2, 5])
    """

    function = "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest entries of `output_size` windows that cover (N, C, L).

    >>> AdaptiveMaxPool1d(2)(tensor([[1., 3., 10., 20.]]))
    tensor([[ 3., 20.]])
    """

    function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest entries of so many windows that cover (N, C, H, W); None leaves a dim as it is.

    >>> AdaptiveMaxPool2d(1)(ones(8, 64, 7, 5)).shape
    torch.Size([8, 64, 1, 1])
    """

    function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest entries of so many windows that cover (N, C, D, H, W); None leaves a dim as it is.

    >>> AdaptiveMaxPool3d((1, 2, None))(ones(8, 64, 7, 6, 5)).shape
    torch.Size([8, 64, 1, 2, 5])
    """

    function = "adaptive_max_pool3d"


# -- windows at random places ----------------------------------------------------------------------------------


class _FractionalMaxPool(Module):
    n: int

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Any = None
    ) -> None:
        super().__init__()
        each, name = _ntuple(self.n), type(self).__name__
        if (isinstance(kernel_size, int) and kernel_size <= 0) or (isinstance(kernel_size, tuple | list) and min(kernel_size) <= 0):
            raise ValueError(f"kernel_size must greater than zero, but got {kernel_size}")
        self.kernel_size, self.return_indices = each(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """`functional.fractional_max_pool2d` and so on."""
        settings = self.kernel_size, self.output_size, self.output_ratio, self.return_indices
        return getattr(F, f"fractional_max_pool{self.n}d")(input, *settings, _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest entries of windows at random places of (N, C, H, W). Source: Graham 2014.

    >>> FractionalMaxPool2d(2, output_size=3)(ones(1, 8, 5, 5)).shape
    torch.Size([1, 8, 3, 3])
    >>> FractionalMaxPool2d(2, output_ratio=0.7)(ones(1, 8, 10, 10)).shape
    torch.Size([1, 8, 7, 7])
    """

    n = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest entries of windows at random places of (N, C, D, H, W). Source: Graham 2014.

    >>> FractionalMaxPool3d(2, output_size=3)(ones(1, 8, 5, 5, 5)).shape
    torch.Size([1, 8, 3, 3, 3])
    """

    n = 3
