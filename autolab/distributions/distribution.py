"""What all distributions share: shapes, checks, and the names under which they answer."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, ClassVar

from autolab import dtypes
from autolab.autograd import no_grad
from autolab.distributions import constraints
from autolab.distributions.constraints import Constraint
from autolab.engine.tensor import Tensor
from autolab.size import Size
from autolab.torch_api.creation import tensor
from autolab.torch_api.dtype_info import finfo
from autolab.torch_api.shape import broadcast_tensors


def together(*values: Any) -> Any:
    """Parameters as tensors of one shape; numbers take the dtype of the tensors among them."""
    for value in values:
        if not isinstance(value, Tensor | numbers.Number):
            raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    given = next((v.dtype for v in values if isinstance(v, Tensor)), None)
    dtype = given or (None if all(isinstance(v, float) for v in values) else dtypes.default.floating)
    return broadcast_tensors(*[v if isinstance(v, Tensor) else tensor(v, dtype=dtype) for v in values])


def epsilon(t: Any) -> float:
    return float(finfo(t.dtype).eps)


def holds(conditions: Any) -> bool:
    """Whether all are true. A compiled program asks it again at each call."""
    return bool(conditions.all().all_numbers(True, 2))


class Distribution:
    """Random numbers of one kind. Its subclasses are the families.

    batch_shape: the shape of independent distributions, each with parameters of its own; event_shape: the shape of one draw.
    validate_args: whether parameters and values are checked (yes by default).

    >>> coins = torch.distributions.Bernoulli(probs=tensor([0.1, 0.9]))
    >>> coins.batch_shape, coins.sample((5,)).shape
    (torch.Size([2]), torch.Size([5, 2]))
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    support: Any
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions made from now on check what they are given."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                if constraints.is_dependent(constraint) or name not in vars(self):
                    continue
                value = vars(self)[name]
                if not holds(constraint.check(value)):
                    raise ValueError(
                        f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to "
                        f"satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                    )

    @property
    def batch_shape(self) -> Size:
        """The shape of independent distributions side by side."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    @property
    def mean(self) -> Any:
        """The mean of each distribution, of shape batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most probable value of each, of shape batch_shape + event_shape."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance of each, of shape batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws of shape sample_shape + batch_shape + event_shape, without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws as a differentiable function of the parameters. Raises NotImplementedError where there is none."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample: draw with sample(), and weigh log_prob() by the result.")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability (or its density) of a value, of shape sample_shape + batch_shape."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of at most this value."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The value that is not exceeded with this probability."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The mean of -log_prob."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """exp(entropy()): how many equally likely values are as uncertain."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution."""
        raise NotImplementedError

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution, repeated to a larger batch_shape."""
        shape, new = Size(batch_shape), object.__new__(type(self))
        vars(new).update(vars(self))
        for name in self.arg_constraints:
            if name in vars(self):
                value = vars(self)[name]
                own = value.shape[len(self._batch_shape) :]
                vars(new)[name] = value.expand(*shape, *own)
        new._batch_shape = shape
        return new

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Any) -> None:
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        n = len(self._event_shape)
        if value.shape[value.ndim - n :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation.", stacklevel=3)
            return
        if not holds(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) of "
                f"the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        text = ", ".join(f"{k}: {v if v.numel() == 1 else v.size()}" for k, v in shown.items())
        return f"{type(self).__name__}({text})"


class Independent(Distribution):
    """The last `reinterpreted_batch_ndims` dims of a batch as one draw: log_prob adds up over them.

    >>> Independent(torch.distributions.Normal(zeros(4, 3), ones(4, 3)), 1).log_prob(zeros(3)).shape
    torch.Size([4])
    """

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        n, shape = reinterpreted_batch_ndims, base_distribution.batch_shape
        if n > len(shape):
            raise ValueError(f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {n} vs {len(shape)}")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        split = len(shape) - n
        super().__init__(shape[:split], shape[split:] + base_distribution.event_shape, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:
        n = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, n) if n else self.base_dist.support

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return self.summed(self.base_dist.log_prob(value))

    def entropy(self) -> Any:
        return self.summed(self.base_dist.entropy())

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_enumerate_support and not self.reinterpreted_batch_ndims

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented: enumerate the base distribution.")
        return self.base_dist.enumerate_support(expand)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        own = self.event_shape[: self.reinterpreted_batch_ndims]
        return Independent(self.base_dist.expand(Size(batch_shape) + own), self.reinterpreted_batch_ndims)

    def summed(self, value: Any) -> Any:
        """The sum over the dims that are one draw."""
        n = self.reinterpreted_batch_ndims
        return value.sum(tuple(range(-n, 0))) if n else value

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
