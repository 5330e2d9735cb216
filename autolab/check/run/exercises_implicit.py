"""The operations of problem set 10 that are defined by an equation, or by what they minimise."""

from __future__ import annotations

import numpy as np

from autolab.engine.op import ELEMENTWISE, GENERAL, Op

from .spec import POINTS, Spec

TWO = {**POINTS, "value": 5.5}  # two inputs
POSITIVE = (0.1, 3.0)


def cubic_root(a, b):
    """The only x with x³ + a x = b, for a > 0: by hyperbolic functions, so that it holds for every b."""
    return 2 * np.sqrt(a / 3) * np.sinh(np.arcsinh(1.5 * b / a * np.sqrt(3 / a)) / 3)


def ridge(x, y, lam):
    """The minimiser of |x w - y|² + lam |w|²."""
    return np.linalg.solve(normal_matrix(x, lam), x.T @ y)


def normal_matrix(x, lam):
    """xᵀ x + lam I."""
    return x.T @ x + lam * np.eye(x.shape[1])


def project_simplex(x):
    """The nearest point with entries that are not negative and add up to 1, for each row: Held, Wolfe and Crowder (1974)."""
    above = -np.sort(-x, axis=-1)
    count = np.arange(1, x.shape[-1] + 1)
    thresholds = (np.cumsum(above, axis=-1) - 1) / count
    last = (above > thresholds).sum(axis=-1, keepdims=True) - 1
    return np.maximum(x - np.take_along_axis(thresholds, last, -1), 0)


def on_support(g, out):
    """g less its mean, among the entries that are not 0."""
    on = (out > 0).astype(g.dtype)
    return on * (g - (g * on).sum(axis=-1, keepdims=True) / on.sum(axis=-1, keepdims=True))


IMPLICIT = (
    Spec("cubic_root", Op("cubic_root", lambda a, b: cubic_root(a, b), ELEMENTWISE,
                          a=lambda g, a, out: -g * out / (3 * out * out + a), b=lambda g, a, out: g / (3 * out * out + a)),
         domain={"a": POSITIVE}, broadcast=False, points=TWO),
    Spec("ridge", Op("ridge", lambda x, y, lam: ridge(x, y, lam), GENERAL,
                     y=lambda g, x, lam: x @ np.linalg.solve(normal_matrix(x, lam), g),
                     lam=lambda g, x, lam, out: -(np.linalg.solve(normal_matrix(x, lam), g) @ out)),
         domain={"lam": POSITIVE}, extreme={"lam": (900.0,)}, points=TWO, shapes=(((5, 3), (5,), ()), ((4, 2), (4,), ()))),
    Spec("project_simplex", Op("project_simplex", lambda x: project_simplex(x), GENERAL, x=lambda g, out: on_support(g, out)),
         shapes=(((3, 5),), ((4, 4),), ((5,),))),
)  # fmt: skip
