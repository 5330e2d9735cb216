"""Invertible functions, and how they stretch: what turns one distribution into another.

x = transform(z); z = transform.inv(x); transform.log_abs_det_jacobian(z, x)
"""

from __future__ import annotations

import math
from typing import Any

from autolab.distributions import constraints
from autolab.distributions.distribution import together
from autolab.distributions.structured_transforms import (
    CatTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    StackTransform,
)
from autolab.distributions.transform import ComposeTransform, IndependentTransform, Transform, identity_transform, summed
from autolab.nn import functional as F
from autolab.torch_api.creation import arange, zeros_like
from autolab.torch_api.dtype_info import finfo
from autolab.torch_api.joining import broadcast_shapes

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
    "ExpTransform", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform",
    "Transform", "identity_transform",
]  # fmt: skip


class ExpTransform(Transform):
    """exp(x), from the real numbers to the positive ones.

    >>> torch.distributions.transforms.ExpTransform()(tensor(0.0))
    tensor(1.)
    """

    bijective, codomain, sign = True, constraints.positive, 1

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """x ** exponent, from the positive numbers to the positive ones.

    >>> torch.distributions.transforms.PowerTransform(tensor(2.0))(tensor(3.0))
    tensor(9.)
    """

    bijective, domain, codomain = True, constraints.positive, constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = together(exponent)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """That of an argument beside the exponent."""
        return broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """loc + scale * x. With event_dim, so many of the last dims count as one value.

    >>> torch.distributions.transforms.AffineTransform(1.0, 2.0)(tensor(3.0))
    tensor(7.)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self.domain = self.codomain = constraints.independent(constraints.real, event_dim) if event_dim else constraints.real

    @property
    def sign(self) -> Any:
        return self.scale.sign() if hasattr(self.scale, "sign") else math.copysign(bool(self.scale), self.scale)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        stretch = self.scale.abs().log() if hasattr(self.scale, "abs") else math.log(abs(self.scale))
        return summed(zeros_like(x) + stretch, self.event_dim)

    def forward_shape(self, shape: Any) -> Any:
        """That of an argument beside loc and scale."""
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class SigmoidTransform(Transform):
    """1 / (1 + exp(-x)), from the real numbers to (0, 1).

    >>> torch.distributions.transforms.SigmoidTransform()(tensor(0.0))
    tensor(0.5000)
    """

    bijective, codomain, sign = True, constraints.unit_interval, 1

    def _call(self, x: Any) -> Any:
        return x.sigmoid().clamp(min=finfo(x.dtype).tiny, max=1.0 - finfo(x.dtype).eps)

    def _inverse(self, y: Any) -> Any:
        y = y.clamp(min=finfo(y.dtype).tiny, max=1.0 - finfo(y.dtype).eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -F.softplus(-x) - F.softplus(x)


class TanhTransform(Transform):
    """tanh(x), from the real numbers to (-1, 1), as policies of bounded actions use it.

    >>> torch.distributions.transforms.TanhTransform()(tensor(0.0))
    tensor(0.)
    """

    bijective, codomain, sign = True, constraints.interval(-1.0, 1.0), 1

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))  # log(1 - y**2), without the difference


class SoftplusTransform(Transform):
    """log(1 + exp(x)), from the real numbers to the positive ones.

    >>> torch.distributions.transforms.SoftplusTransform()(tensor(0.0))
    tensor(0.6931)
    """

    bijective, codomain, sign = True, constraints.positive, 1

    def _call(self, x: Any) -> Any:
        return F.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -F.softplus(-x)


class AbsTransform(Transform):
    """|x|, which has no inverse: `inv` gives the number that is not negative.

    >>> torch.distributions.transforms.AbsTransform()(tensor(-2.0))
    tensor(2.)
    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class SoftmaxTransform(Transform):
    """softmax over the last dim, which has no inverse: `inv` gives logarithms.

    >>> torch.distributions.transforms.SoftmaxTransform()(tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(Transform):
    """n numbers to n + 1 shares of a stick: each number says, by a sigmoid, how much is broken off what is left.

    The numbers are shifted, so that zeros give equal shares.

    >>> torch.distributions.transforms.StickBreakingTransform()(torch.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    @staticmethod
    def _shift(like: Any, n: int) -> Any:
        """log of how many shares are left."""
        return arange(n, 0, -1, dtype=like.dtype).log()

    def _call(self, x: Any) -> Any:
        z = (x - self._shift(x, x.shape[-1])).sigmoid()
        z = z.clamp(min=finfo(z.dtype).tiny, max=1 - finfo(z.dtype).eps)
        return F.pad(z, (0, 1), value=1) * F.pad((1 - z).cumprod(-1), (1, 0), value=1)

    def _inverse(self, y: Any) -> Any:
        broken = y[..., :-1]
        left = (1 - broken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return broken.log() - left.log() + self._shift(y, broken.shape[-1])

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._shift(x, x.shape[-1])
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One more in the last dim."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        """One less in the last dim."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] - 1,)
