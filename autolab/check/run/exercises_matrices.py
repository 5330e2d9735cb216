"""The operations of problem set 9: functions of a whole matrix. What they are tried on can be inverted."""

from __future__ import annotations

import numpy as np

from autolab.engine.op import GENERAL, Op

from .inputs import draw
from .spec import POINTS, Spec

TWO = {**POINTS, "value": 5.5}  # two inputs
PAIRS = {
    "transposed": "Follow the transposes through the derivation: <B, C D> is <Cᵀ B, D>, and <Aᵀ, B> is <A, Bᵀ>.",
    "order": "Matrices do not commute: follow the order of the factors through the derivation.",
}


def mT(a):
    """The last two axes exchanged."""
    return np.swapaxes(a, -1, -2)


def invertible_first(rng, shapes, settings):
    """Random arrays; the first is a matrix far from singular, and not symmetric."""
    first, *others = (draw(rng, s) for s in shapes)
    return first + 4 * np.roll(np.eye(len(first)), 1, axis=1), *others


def vector_and_factor(rng, shapes, settings):
    """A vector, and a matrix with a positive diagonal, whose upper triangle is not 0: nothing may read it."""
    x, factor = (draw(rng, s) for s in shapes)
    return x, np.where(np.eye(len(x)) > 0, 0.5 + np.abs(factor), factor)


def positive(rng, shapes, settings):
    """A matrix whose symmetric part has positive eigenvalues."""
    (shape,) = shapes
    a = draw(rng, shape)
    return (a @ a.T + np.eye(len(a)) + 0.3 * draw(rng, shape),)


def length(x):
    """The root of the sum of all squares."""
    return np.sqrt((x * x).sum())


def covariance(x):
    """x xᵀ + I."""
    return x @ x.T + np.eye(len(x))


def whitened(x, factor):
    """z with L z = x, for the lower triangle L of factor."""
    return np.linalg.solve(np.tril(factor), x)


def pulled_back(x, factor):
    """L⁻ᵀ z."""
    return np.linalg.solve(np.tril(factor).T, whitened(x, factor))


def axes_of(x):
    """Eigenvalues, ascending, and eigenvectors of the symmetric part of x."""
    return np.linalg.eigh((x + x.T) / 2)


def outer_of(x, i):
    """v vᵀ for the eigenvector with this number."""
    v = axes_of(x)[1][:, i]
    return np.outer(v, v)


def root(x):
    """The symmetric R with R R = the symmetric part of x."""
    w, v = axes_of(x)
    return (v * np.sqrt(w)) @ v.T


def between_roots(g, x):
    """The symmetric part of the Y with R Y + Y R = g."""
    w, v = axes_of(x)
    y = v @ ((v.T @ g @ v) / (np.sqrt(w)[:, None] + np.sqrt(w))) @ v.T
    return (y + y.T) / 2


MATRICES = (
    Spec("unit_matrix", Op("unit_matrix", lambda x: x / length(x), GENERAL, x=lambda g, x, out: (g - out * (g * out).sum()) / length(x)),
         shapes=(((3, 5),), ((4, 4),), ((2, 3, 4),))),
    Spec("solve_transposed", Op("solve_transposed", lambda a, b: np.linalg.solve(mT(a), b), GENERAL,
                                a=lambda g, a, out: -(out @ mT(np.linalg.solve(a, g))), b=lambda g, a: np.linalg.solve(a, g)),
         points=TWO, shapes=(((3, 3), (3, 2)), ((4, 4), (4, 4))), make=invertible_first, hints=PAIRS),
    Spec("inverse_form", Op("inverse_form", lambda a, b: b @ np.linalg.solve(a, b), GENERAL,
                            a=lambda g, a, b: -g * np.outer(np.linalg.solve(a.T, b), np.linalg.solve(a, b)),
                            b=lambda g, a, b: g * (np.linalg.solve(a, b) + np.linalg.solve(a.T, b))),
         points=TWO, shapes=(((3, 3), (3,)), ((4, 4), (4,))), make=invertible_first),
    Spec("logdet_covariance", Op("logdet_covariance", lambda x: np.linalg.slogdet(covariance(x))[1], GENERAL,
                                 x=lambda g, x: 2 * g * np.linalg.solve(covariance(x), x)),
         shapes=(((3, 5),), ((4, 4),), ((5, 2),))),
    Spec("log_density", Op("log_density",
                           lambda x, factor: -0.5 * (whitened(x, factor) ** 2).sum() - np.log(np.diagonal(factor)).sum(), GENERAL,
                           x=lambda g, x, factor: -g * pulled_back(x, factor),
                           factor=lambda g, x, factor: g * (np.tril(np.outer(pulled_back(x, factor), whitened(x, factor)))
                                                            - np.diag(1 / np.diagonal(factor)))),
         points=TWO, shapes=(((3,), (3, 3)), ((4,), (4, 4))), make=vector_and_factor,
         extreme={"factor": (900.0, 600.0, 750.0, 800.0, 650.0)}),
    Spec("spread", Op("spread", lambda x: axes_of(x)[0][-1] - axes_of(x)[0][0], GENERAL,
                      x=lambda g, x: g * (outer_of(x, -1) - outer_of(x, 0))),
         shapes=(((3, 3),), ((4, 4),))),
    Spec("root_matrix", Op("root_matrix", lambda x: root(x), GENERAL, x=lambda g, x: between_roots(g, x)),
         shapes=(((3, 3),), ((4, 4),)), make=positive),
)  # fmt: skip
