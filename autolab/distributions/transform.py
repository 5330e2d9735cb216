"""What all transforms share; one after the other, back again, and over several dims."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from autolab.distributions import constraints
from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import zeros_like


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
        if not self.parts:
            return constraints.real
        reach = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            reach = max(reach + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _over(self.parts[0].domain, reach)

    @property
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        reach = self.parts[0].domain.event_dim
        for part in self.parts:
            reach = max(reach + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _over(self.parts[-1].codomain, reach)

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
            event_dim, x = event_dim + part.codomain.event_dim - part.domain.event_dim, y
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


def _over(constraint: Any, event_dim: int) -> Any:
    """The constraint, judged over so many dims."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


def summed(value: Any, dims: int) -> Any:
    """The sum over so many of the last dims."""
    return value.sum(tuple(range(-dims, 0))) if dims > 0 else value


class IndependentTransform(Transform):
    """A transform whose log of the stretching is added up over so many more of the last dims.

    >>> t = torch.distributions.transforms
    >>> t.IndependentTransform(t.ExpTransform(), 1).log_abs_det_jacobian(tensor([1.0, 2.0]), None)
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims

    bijective = property(lambda self: self.base_transform.bijective, doc="That of the base.")
    sign = property(lambda self: self.base_transform.sign, doc="That of the base.")

    @property
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    def _call(self, x: Any) -> Any:
        if x.dim() < self.domain.event_dim:
            raise ValueError(f"Too few dimensions on input: {self.domain.event_dim} are transformed together, and it has {x.dim()}")
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise ValueError(f"Too few dimensions on input: {self.codomain.event_dim} are transformed together, and it has {y.dim()}")
        return self.base_transform._inverse(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return summed(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        """That of the base."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """That of the base."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


identity_transform = ComposeTransform([])
