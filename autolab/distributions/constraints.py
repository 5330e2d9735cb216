"""What values a parameter or a sample may have. `constraint.check(value)` says for each whether it does."""

from __future__ import annotations

from typing import Any

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "dependent", "greater_than", "greater_than_eq", "half_open_interval",
    "independent", "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "real", "real_vector", "simplex", "unit_interval",
]  # fmt: skip


class Constraint:
    """A test for values; the last `event_dim` dims of a value are judged together.

    >>> positive.check(tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    is_discrete = False
    event_dim = 0

    def __init__(self, **bounds: Any) -> None:
        vars(self).update(bounds)

    def check(self, value: Any) -> Any:
        """A bool for each value."""
        raise NotImplementedError

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={bound}" for name, bound in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({bounds})"


class _Dependent(Constraint):
    """Stands where the bounds are parameters themselves."""

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


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


class _GreaterThan(Constraint):
    lower_bound: Any

    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(Constraint):
    lower_bound: Any

    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _LessThan(Constraint):
    upper_bound: Any

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(Constraint):
    lower_bound: Any
    upper_bound: Any

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & super().check(value)


class _IntegerGreaterThan(_GreaterThanEq):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & super().check(value)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    upper_bound: Any

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        lower = (value.tril() == value).flatten(-2).all(-1)
        return lower & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _PositiveDefinite(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        from autolab.linalg import cholesky_ex

        symmetric = ((value - value.mT).abs() <= 1e-6).flatten(-2).all(-1)
        return symmetric & cholesky_ex(value)[1].eq(0)


class _IndependentConstraint(Constraint):
    """Judges the last dims of a value together.

    >>> independent(positive, 1).check(tensor([[1.0, 2.0], [-1.0, 2.0]]))  # a row is right if all of it is
    tensor([ True, False])
    """

    def __init__(self, base: Constraint, dims: int) -> None:
        self.base, self.dims = base, dims
        self.event_dim, self.is_discrete = base.event_dim + dims, base.is_discrete

    def check(self, value: Any) -> Any:
        found = self.base.check(value)
        return found.flatten(-self.dims).all(-1) if self.dims else found

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base!r}, {self.dims})"


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
lower_cholesky, positive_definite = _LowerCholesky(), _PositiveDefinite()
positive, nonnegative = _GreaterThan(lower_bound=0.0), _GreaterThanEq(lower_bound=0.0)
unit_interval, nonnegative_integer = _Interval(lower_bound=0.0, upper_bound=1.0), _IntegerGreaterThan(lower_bound=0)
independent = _IndependentConstraint
real_vector = independent(real, 1)


def is_dependent(constraint: Constraint) -> bool:
    """Whether a constraint stands where the bounds are parameters, and so cannot be judged.

    >>> is_dependent(dependent), is_dependent(positive)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


def greater_than(lower_bound: Any) -> Constraint:
    """Numbers above the bound, itself excluded.

    >>> greater_than(0.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([False, False,  True])
    """
    return _GreaterThan(lower_bound=lower_bound)


def greater_than_eq(lower_bound: Any) -> Constraint:
    """Numbers above the bound, itself included.

    >>> greater_than_eq(0.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([False,  True,  True])
    """
    return _GreaterThanEq(lower_bound=lower_bound)


def multinomial(upper_bound: Any) -> Constraint:
    """Counts, none below 0, that add up to the bound at most.

    >>> multinomial(2).check(tensor([[1.0, 1.0], [3.0, 0.0]]))
    tensor([ True, False])
    """
    return _Multinomial(upper_bound=upper_bound)


def less_than(upper_bound: Any) -> Constraint:
    """Numbers below the bound, itself excluded.

    >>> less_than(0.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([ True, False, False])
    """
    return _LessThan(upper_bound=upper_bound)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers between the bounds, both included.

    >>> interval(0.0, 1.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([False,  True,  True])
    """
    return _Interval(lower_bound=lower_bound, upper_bound=upper_bound)


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers between the bounds, the upper one excluded.

    >>> half_open_interval(0.0, 1.0).check(tensor([-1.0, 0.0, 1.0]))
    tensor([False,  True, False])
    """
    return _HalfOpenInterval(lower_bound=lower_bound, upper_bound=upper_bound)


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers between the bounds, both included.

    >>> integer_interval(0, 2).check(tensor([0.0, 1.5, 2.0]))
    tensor([ True, False,  True])
    """
    return _IntegerInterval(lower_bound=lower_bound, upper_bound=upper_bound)
