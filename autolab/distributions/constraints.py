"""What values a parameter or a sample may have. `constraint.check(value)` says for each whether it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from autolab.torch_api.creation import full
from autolab.torch_api.dtype_info import finfo
from autolab.torch_api.shape import cat as join_along
from autolab.torch_api.shape import stack as stack_along

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
    "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent", "less_than",
    "lower_cholesky", "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square", "stack", "symmetric",
    "unit_interval",
]  # fmt: skip


class Constraint:
    """A test for values; the last `event_dim` dims of a value are judged together.

    >>> positive.check(tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """A bool for each value."""
        raise NotImplementedError

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={bound}" for name, bound in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({bounds})"


class _Dependent(Constraint):
    """Stands where the bounds are parameters themselves.

    What is known of it without them is said by a call: `dependent(is_discrete=True, event_dim=1)`.

    >>> torch.distributions.constraints.dependent(event_dim=1).event_dim
    1
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, name: str) -> Any:
        found = vars(self)[f"_{name}"]
        if found is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically: ask the `support` of an object, not of its class")
        return found

    is_discrete = property(lambda self: self._known("is_discrete"), doc="Whether values are whole numbers.")
    event_dim = property(lambda self: self._known("event_dim"), doc="How many dims are judged together.")

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")

    def __repr__(self) -> str:
        return "Dependent()"


class dependent_property(property, _Dependent):
    """As a decorator: a property of objects, and of their class a constraint that depends.

    >>> class Upto(torch.distributions.Distribution):
    ...     def __init__(self, top):
    ...         self.top = top
    ...
    ...     @dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return interval(0.0, self.top)
    >>> is_dependent(Upto.support), Upto(2.0).support
    (True, Interval(lower_bound=0.0, upper_bound=2.0))
    """

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable[..., Any]) -> Any:  # type: ignore[override]
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # all but nan


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _FromBelow(Constraint):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _GreaterThan(_FromBelow):
    """Numbers above the bound, itself excluded.

    >>> greater_than(0.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([False, False,  True])
    """

    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_FromBelow):
    """Numbers above the bound, itself included.

    >>> greater_than_eq(0.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([False,  True,  True])
    """

    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _LessThan(Constraint):
    """Numbers below the bound, itself excluded.

    >>> less_than(0.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([ True, False, False])
    """

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Between(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _Interval(_Between):
    """Numbers between the bounds, both included.

    >>> interval(0.0, 1.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([False,  True,  True])
    """

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers between the bounds, the upper one excluded.

    >>> half_open_interval(0.0, 1.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([False,  True, False])
    """

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Between):
    """Whole numbers between the bounds, both included.

    >>> integer_interval(0, 2).check(tensor([0.0, 1.5, 2.0]))
    tensor([ True, False,  True])
    """

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_FromBelow):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Multinomial(Constraint):
    """Counts, none below 0, that add up to the bound at most.

    >>> multinomial(2).check(tensor([[1.0, 1.0], [3.0, 0.0]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """The Cholesky factor of correlations: its rows have length 1."""

    def check(self, value: Any) -> Any:
        tolerance = 10 * value.shape[-1] * finfo(value.dtype).eps
        apart = (value.detach().square().sum(-1).sqrt() - 1).abs()
        return super().check(value) & (apart <= tolerance).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return full(value.shape[:-2], value.shape[-2] == value.shape[-1])


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        square = super().check(value)
        return value.isclose(value.mT, atol=1e-6).flatten(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        from autolab.linalg import eigvalsh

        symmetric = super().check(value)
        return (eigvalsh(value) >= 0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        from autolab.linalg import cholesky_ex

        symmetric = super().check(value)
        return symmetric & cholesky_ex(value)[1].eq(0) if symmetric.all() else symmetric


class _IndependentConstraint(Constraint):
    """Judges the last dims of a value together.

    >>> independent(positive, 1).check(tensor([[1.0, 2.0], [-1.0, 2.0]]))  # a row is right if all of it is
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete, doc="That of the base.")
    event_dim = property(
        lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims, doc="That of the base, and the dims taken together."
    )

    def check(self, value: Any) -> Any:
        found, dims = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if found.dim() < dims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return found.flatten(-dims).all(-1) if dims else found

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _OfParts(Constraint):
    """Other constraints for other parts along a dim."""

    cseq: list[Constraint]
    dim: int

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq), doc="Whether any part is.")
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq), doc="The largest of the parts.")

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Cat(_OfParts):
    """One constraint for each piece along a dim, as `cat` joins them; the pieces have `lengths`, or 1 each.

    >>> cat([positive, real], lengths=[1, 2]).check(tensor([-1.0, -1.0, 1.0]))
    tensor([False,  True,  True])
    """

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0, lengths: Iterable[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Any) -> Any:
        pieces = value.split(self.lengths, self.dim)
        return join_along([c.check(piece) for c, piece in zip(self.cseq, pieces, strict=True)], self.dim)


class _Stack(_OfParts):
    """One constraint for each index along a dim, as `stack` lays them.

    >>> stack([positive, real]).check(tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim

    def check(self, value: Any) -> Any:
        return stack_along([c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim), strict=True)], self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """What all distributions of a mixture may give: the base constraint has one more dim, for the choice.

    >>> MixtureSameFamilyConstraint(less_than(tensor([1.0, 2.0]))).check(tensor([0.0, 1.5]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        self.event_dim, self.is_discrete = base_constraint.event_dim, base_constraint.is_discrete

    def check(self, value: Any) -> Any:
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


dependent, real, boolean, one_hot, simplex = _Dependent(), _Real(), _Boolean(), _OneHot(), _Simplex()
square, symmetric, lower_triangular = _Square(), _Symmetric(), _LowerTriangular()
lower_cholesky, corr_cholesky = _LowerCholesky(), _CorrCholesky()
positive_definite, positive_semidefinite = _PositiveDefinite(), _PositiveSemidefinite()
positive, nonnegative, unit_interval = _GreaterThan(0.0), _GreaterThanEq(0.0), _Interval(0.0, 1.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
greater_than, greater_than_eq, less_than, multinomial = _GreaterThan, _GreaterThanEq, _LessThan, _Multinomial
interval, half_open_interval, integer_interval = _Interval, _HalfOpenInterval, _IntegerInterval
independent, cat, stack = _IndependentConstraint, _Cat, _Stack
real_vector = independent(real, 1)


def is_dependent(constraint: Constraint) -> bool:
    """Whether a constraint stands where the bounds are parameters, and so cannot be judged.

    >>> is_dependent(dependent), is_dependent(positive)
    (True, False)
    """
    return isinstance(constraint, _Dependent)
