"""The rules of factorisations as textbooks and students write them: other steps than those of the table, which saves some.

A slip is made in a step, and so only those steps show it that were taken. Each gives the same as the rule of its row, on arrays that note
what is done to them (Giles 2008; Murray 2016, "Differentiation of the Cholesky decomposition"; Daleckii and Krein for functions of a
symmetric matrix).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..replay import Asking, tape_of


def one_step(function: Callable) -> Callable:
    """On arrays that note what is done to them, this function is one operation."""

    @functools.wraps(function)
    def noted(*args: Any) -> Any:
        if any(isinstance(a, Asking) and a.tape is not None for a in args):
            return tape_of(args).apply(function, args, {})
        return function(*args)

    return noted


@one_step
def half_diagonal(a: np.ndarray) -> np.ndarray:
    """A matrix with half of its diagonal."""
    return a * (1 - np.eye(a.shape[-1]) / 2)


@one_step
def without_diagonal(a: np.ndarray) -> np.ndarray:
    """A matrix with 0 on its diagonal."""
    return a * (1 - np.eye(a.shape[-1]))


@one_step
def as_diagonal(a: np.ndarray) -> np.ndarray:
    """A matrix with these numbers on its diagonal."""
    return a[..., None] * np.eye(a.shape[-1])


@one_step
def differences(a: np.ndarray) -> np.ndarray:
    """a[j] - a[i]; 1 where i is j, and so a divisor."""
    return a[..., None, :] - a[..., :, None] + np.eye(a.shape[-1])


def _mT(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


def cholesky(g: Any, out: Any) -> Any:
    """S = L⁻ᵀ P L⁻¹, P the lower triangle of Lᵀ G with half of its diagonal; the symmetric part of S."""
    inverse = np.linalg.inv(out)
    whole = _mT(inverse) @ half_diagonal(np.tril(_mT(out) @ g)) @ inverse
    return (whole + _mT(whole)) / 2


def eigh(g: Any, values: Any, vectors: Any) -> Any:
    """V (diag(g of the values) + F * Vᵀ (g of the vectors)) Vᵀ, F[i, j] = 1 / (w[j] - w[i]), 0 on the diagonal; its symmetric part."""
    inner = without_diagonal(_mT(vectors) @ g[1] / differences(values)) + as_diagonal(g[0])
    whole = vectors @ inner @ _mT(vectors)
    return (whole + _mT(whole)) / 2


def cholesky_of_triangle(g: Any, out: Any) -> Any:
    """The same, with the lower triangle of g: its upper one belongs to the zeros of L."""
    return cholesky(np.tril(g), out)


def inverse(g: Any, out: Any) -> Any:
    """-Yᵀ g Yᵀ, for the result Y."""
    return -(_mT(out) @ g @ _mT(out))


def of_matrix_solved_with(g: Any, a: Any, out: Any) -> Any:
    """-(A⁻ᵀ g) Xᵀ, for the solution X."""
    return -(np.linalg.solve(_mT(a), g) @ _mT(out))


def of_right_side(g: Any, a: Any) -> Any:
    """A⁻ᵀ g."""
    return np.linalg.solve(_mT(a), g)


def log_determinant(g: Any, x: Any) -> Any:
    """g X⁻ᵀ."""
    return g[1] * _mT(np.linalg.inv(x))


def determinant(g: Any, x: Any, out: Any) -> Any:
    """g det(X) X⁻ᵀ."""
    return g * out * _mT(np.linalg.inv(x))


Rule = tuple[Callable[..., Any], tuple[str, ...]]  # of g and of what it needs by name
TEXTBOOKS: tuple[Mapping[tuple[str, str], Rule], ...] = (
    {
        ("cholesky", "x"): (cholesky, ("out",)), ("eigh", "x"): (eigh, ("out_0", "out_1")), ("inv", "x"): (inverse, ("out",)),
        ("solve", "a"): (of_matrix_solved_with, ("a", "out")), ("solve", "b"): (of_right_side, ("a",)),
        ("slogdet", "x"): (log_determinant, ("x",)), ("det", "x"): (determinant, ("x", "out")),
    },
    {("cholesky", "x"): (cholesky_of_triangle, ("out",))},
)  # fmt: skip
