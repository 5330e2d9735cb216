"""Dropout: noise while training, nothing in eval mode."""

from __future__ import annotations

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.modules.module import Module


class _DropoutNd(Module):
    """What they share: p, the probability that an entry is dropped. Raises ValueError unless it is in [0, 1]."""

    function = "dropout"

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of the same name."""
        return getattr(F, self.function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes entries with probability p while training, and scales the others by 1 / (1 - p). Source: Hinton et al. 2012.

    Shapes: any; the result is like the input. Raises ValueError unless p is in [0, 1].

    >>> layer = Dropout(0.5)
    >>> layer(ones(1000)).unique()
    tensor([0., 2.])
    >>> layer.eval()(ones(3))
    tensor([1., 1., 1.])
    """


class Dropout1d(_DropoutNd):
    """Zeroes whole channels of (N, C, L) or (C, L).

    >>> Dropout1d(0.5)(ones(1, 100, 4))[0].sum(dim=1).unique()  # of a channel nothing is left, or 4 entries of 2
    tensor([0., 8.])
    """

    function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Zeroes whole channels of (N, C, H, W) or (N, C, L). Source: Tompson et al. 2015.

    >>> Dropout2d(0.5)(ones(1, 100, 2, 2))[0].sum(dim=(1, 2)).unique()  # of a channel nothing is left, or 4 entries of 2
    tensor([0., 8.])
    """

    function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W).

    >>> Dropout3d(0.5)(ones(1, 100, 2, 2, 2))[0].sum(dim=(1, 2, 3)).unique()  # of a channel nothing is left, or 8 entries of 2
    tensor([ 0., 16.])
    """

    function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout to SELU's lower end, which keeps mean 0 and variance 1. Source: Klambauer et al. 2017.

    Shapes: any; the result is like the input.

    >>> out = AlphaDropout(0.2)(torch.randn(10000))
    >>> abs(out.mean()) < 0.1, abs(out.std() - 1) < 0.1
    (tensor(True), tensor(True))
    """

    function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels. Shapes: (N, C, ...).

    >>> [len(channel.unique()) for channel in FeatureAlphaDropout()(ones(1, 3, 8, 8))[0]]
    [1, 1, 1]
    """

    function = "feature_alpha_dropout"
