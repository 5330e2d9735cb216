"""Transforms that lead from all real numbers to what a constraint allows.

scale = transform_to(Normal.arg_constraints["scale"])(unconstrained)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """A table from classes of constraints to functions that make a transform for one.

    >>> registry = torch.distributions.constraint_registry.ConstraintRegistry()
    >>> @registry.register(torch.distributions.constraints.positive)
    ... def square(constraint):
    ...     return torch.distributions.PowerTransform(2.0)
    >>> registry(torch.distributions.constraints.positive)(tensor(3.0))
    tensor(9.)
    """

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Enters what makes transforms for a class of constraints, or for that of the one given; without a factory, as a decorator.

        Raises TypeError for what is not a constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, constraints.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        """A transform whose results satisfy the constraint. Raises NotImplementedError for a class that is not in the table."""
        if type(constraint) not in self._registry:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints: say how with `register`, or take another constraint."
            )
        return self._registry[type(constraint)](constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()
c, t = constraints, transforms


def _enter(kinds: Any, factory: Factory) -> None:
    """In both tables."""
    for kind in kinds:
        biject_to.register(kind, factory)
        transform_to.register(kind, factory)


def _to_interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(bound, int | float) for bound in (low, high)) and (low, high) == (0, 1):
        return t.SigmoidTransform()
    return t.ComposeTransform([t.SigmoidTransform(), t.AffineTransform(low, high - low)])


_enter([c.real], lambda constraint: t.identity_transform)
_enter(
    [c.greater_than, c.greater_than_eq],
    lambda constraint: t.ComposeTransform([t.ExpTransform(), t.AffineTransform(constraint.lower_bound, 1)]),
)
_enter([c.less_than], lambda constraint: t.ComposeTransform([t.ExpTransform(), t.AffineTransform(constraint.upper_bound, -1)]))
_enter([c.interval, c.half_open_interval], _to_interval)
_enter([c.corr_cholesky], lambda constraint: t.CorrCholeskyTransform())
biject_to.register(c.simplex, lambda constraint: t.StickBreakingTransform())
transform_to.register(c.simplex, lambda constraint: t.SoftmaxTransform())
transform_to.register(c.lower_cholesky, lambda constraint: t.LowerCholeskyTransform())
for matrices in (c.positive_definite, c.positive_semidefinite):
    transform_to.register(matrices, lambda constraint: t.PositiveDefiniteTransform())


def _enter_parts(registry: ConstraintRegistry) -> None:
    """Constraints made of constraints: their transforms are made of those that the same table has."""
    registry.register(c.independent, lambda whole: t.IndependentTransform(registry(whole.base_constraint), whole.reinterpreted_batch_ndims))
    registry.register(c.cat, lambda whole: t.CatTransform([registry(part) for part in whole.cseq], whole.dim, whole.lengths))
    registry.register(c.stack, lambda whole: t.StackTransform([registry(part) for part in whole.cseq], whole.dim))


_enter_parts(biject_to)
_enter_parts(transform_to)
