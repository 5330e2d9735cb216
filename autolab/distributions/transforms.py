"""Invertible functions, and how they stretch: what turns one distribution into another.

x = transform(z); z = transform.inv(x); transform.log_abs_det_jacobian(z, x)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from autolab.distributions import constraints
from autolab.distributions.distribution import together
from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.torch_api.creation import arange, zeros_like
from autolab.torch_api.dtype_info import finfo

__all__ = [
    "AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "PowerTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip


class Transform:
    """A function from one set of values (`domain`) to another (`codomain`), with its inverse and the log of how it stretches.

    bijective: whether there is an inverse; sign: 1 for an increasing function, -1 for a decreasing one.
    cache_size is taken for PyTorch's programs: values are computed anew.

    >>> t = torch.distributions.transforms.ExpTransform()
    >>> t(tensor(0.0)), t.inv(tensor(1.0))
    (tensor(1.), tensor(0.))
    """

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size

    @property
    def event_dim(self) -> int:
        """How many of the last dims are transformed together."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The transform that leads back from a result to its argument."""
        return _Inverse(self)

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """This transform, for it computes anew whatever cache_size is."""
        return self

    def __call__(self, x: Any) -> Any:
        return self._call(x)

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |dy / dx|, given both. Raises NotImplementedError where there is none."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of a result, given that of an argument: the same."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of an argument, given that of a result: the same."""
        return shape

    def __eq__(self, other: object) -> bool:
        settings = vars(self).keys() - {"_cache_size", "domain", "codomain", "bijective"}
        return type(self) is type(other) and all(_alike(getattr(self, name), getattr(other, name)) for name in settings)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _alike(a: Any, b: Any) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else bool(same)


class _Inverse(Transform):
    """A transform the other way round."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self.transform = transform
        self.bijective, self.domain, self.codomain = transform.bijective, transform.codomain, transform.domain

    @property
    def inv(self) -> Transform:
        return self.transform

    @property
    def sign(self) -> Any:
        return self.transform.sign

    def _call(self, x: Any) -> Any:
        return self.transform._inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self.transform(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self.transform.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self.transform.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.transform.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self.transform!r})"


class ComposeTransform(Transform):
    """One transform after the other; an empty list is the identity.

    >>> t = torch.distributions.transforms
    >>> t.ComposeTransform([t.AffineTransform(1.0, 2.0), t.ExpTransform()])(tensor(0.0))  # exp(1 + 2 * 0)
    tensor(2.7183)
    """

    def __init__(self, parts: Iterable[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(p.bijective for p in self.parts)

    @property
    def domain(self) -> Any:
        return self._reaching(self.parts[0].domain if self.parts else constraints.real)

    @property
    def codomain(self) -> Any:
        return self._reaching(self.parts[-1].codomain if self.parts else constraints.real)

    def _reaching(self, constraint: Any) -> Any:
        """The constraint, over as many dims as any part takes together."""
        more = max([p.domain.event_dim for p in self.parts] or [0]) - constraint.event_dim
        return constraints.independent(constraint, more) if more > 0 else constraint

    @property
    def sign(self) -> Any:
        return math.prod(p.sign for p in self.parts)

    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inverse(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return zeros_like(x)
        event_dim, total = self.domain.event_dim, 0
        for part in self.parts:
            y = part(x)
            total = total + summed(part.log_abs_det_jacobian(x, y), event_dim - part.domain.event_dim)
            x = y
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inner = ",\n    ".join(repr(p) for p in self.parts)
        return f"ComposeTransform(\n    {inner}\n)"


def summed(value: Any, dims: int) -> Any:
    """The sum over so many of the last dims."""
    return value.sum(tuple(range(-dims, 0))) if dims > 0 else value


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


identity_transform = ComposeTransform([])
