"""A function of the eigenvalues of a symmetric matrix, such as its root or its exponential, and what people take for its gradient.

The right one is V (K * (Vᵀ g V)) Vᵀ with K[i, j] = (f(w[i]) - f(w[j])) / (w[i] - w[j]), and f'(w[i]) on the diagonal (Daleckii and Krein).
What forward gives says what f is, and the right gradient what f' is; no formula is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...run.observation import Observation, close
from ..diagnosis import Mistake
from ..family import Family
from ..quiet import quiet


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues w with f(w) and f'(w), the eigenvectors, and g, or its symmetric part if that alone counts."""

    w: np.ndarray
    f: np.ndarray
    slope: np.ndarray
    vectors: np.ndarray
    g: np.ndarray
    root: bool  # is the function the square root?
    whole: np.ndarray  # g as it came

    @property
    def gaps(self) -> np.ndarray:
        """w[i] - w[j], and 1 on the diagonal."""
        return self.w[:, None] - self.w + np.eye(len(self.w))

    @property
    def rises(self) -> np.ndarray:
        """f(w[i]) - f(w[j])."""
        return self.f[:, None] - self.f

    def gradient(self, k: np.ndarray) -> np.ndarray:
        """V (k * (Vᵀ g V)) Vᵀ."""
        v = self.vectors
        return v @ (k * (v.T @ self.g @ v)) @ v.T

    @property
    def right(self) -> np.ndarray:
        """The K that belongs there."""
        return self.rises / self.gaps + np.diag(self.slope)


Wrong = Callable[[Spectrum], np.ndarray]
COMMUTES = "is worked out as if {x} and its change commuted, as numbers do: matrices do not commute"
ROOTS = "of the roots of two eigenvalues where their sum belongs"


def _table(k: Callable[[Spectrum], np.ndarray]) -> Wrong:
    return lambda s: s.gradient(k(s))


def _pairs(k: Callable[[Spectrum], np.ndarray], diagonal: int, sign: int) -> Wrong:
    """Another table off the diagonal; on it what belongs there, or 0."""
    return _table(lambda s: sign * k(s) * (1 - np.eye(len(s.w))) + diagonal * np.diag(s.slope))


MISTAKES: list[tuple[str, str, Wrong]] = [
    ("diagonal only", "takes the eigenvectors for constants: they turn as well when {x} changes", _table(lambda s: np.diag(s.slope))),
    ("term", "misses what each eigenvalue does by itself: the diagonal is 0 where pairs of eigenvalues are compared",
     _table(lambda s: s.rises / s.gaps)),
    ("term sign", "has one of its differences the wrong way round where pairs of eigenvalues are compared",
     _table(lambda s: np.diag(s.slope) - s.rises / s.gaps)),
    ("function", COMMUTES, _table(lambda s: s.slope[:, None] * np.ones_like(s.g))),
    ("function", COMMUTES, _table(lambda s: s.slope * np.ones_like(s.g))),
    ("function", COMMUTES, _table(lambda s: (s.slope[:, None] + s.slope) / 2)),
    ("function", COMMUTES, lambda s: (s.vectors * s.slope) @ s.vectors.T @ s.whole),  # of which the symmetric part may be taken
    ("function", COMMUTES, lambda s: s.whole @ (s.vectors * s.slope) @ s.vectors.T),
    *(("factor", what, _pairs(k, d, c))
      for what, k in (("lacks the differences of what forward makes of the eigenvalues", lambda s: 1 / s.gaps),
                      ("is not divided by the differences of the eigenvalues", lambda s: s.rises))
      for d in (0, 1) for c in (1, -1)),
    ("transposed", "takes the rows of the matrix of eigenvectors for its columns",
     lambda s: s.vectors.T @ (s.right * (s.vectors @ s.g @ s.vectors.T)) @ s.vectors),
    ("factor", "is not turned back with the eigenvectors", lambda s: s.right * (s.vectors.T @ s.g @ s.vectors)),
    ("factor", "uses g as it is, where g seen along the eigenvectors belongs", lambda s: s.vectors @ (s.right * s.g) @ s.vectors.T),
]  # fmt: skip
OF_ROOTS: list[tuple[str, str, Wrong]] = [
    ("operation", f"has a product {ROOTS}", _table(lambda s: 1 / (s.f[:, None] * s.f))),
    ("term sign", f"has a difference {ROOTS}", _table(lambda s: 1 / (s.rises + np.diag(2 * s.f)))),
    ("variable", "has a sum of two eigenvalues where the sum of their roots belongs", _table(lambda s: 1 / (s.w[:, None] + s.w))),
    ("division", f"is multiplied by the sum {ROOTS.removesuffix(' where their sum belongs')}, and has to be divided by it",
     _table(lambda s: s.f[:, None] + s.f)),
]  # fmt: skip


def mistaken_spectra(o: Observation, x: str) -> Iterator[Family]:
    """What people take for the gradient of such a function."""
    known = _spectrum(o, x)
    if known is None:
        return
    for name, text, wrong in MISTAKES + OF_ROOTS * known.root:
        yield Family(name, text, partial(_predict, wrong=wrong), complete=True, hint="spectrum")


def _commutes(o: Observation, x: str) -> bool:
    """Is it a function of a matrix, such as a power or the exponential? Those commute with their matrix."""
    a = np.asarray(o.names[x])
    if o.reference.elementwise or a.ndim != 2 or a.dtype.kind != "f" or not a.shape == o.out.shape == o.out.shape[::-1] or len(a) < 2:
        return False
    return close(a @ o.out, o.out @ a) and not close(a, np.diag(np.diagonal(a)))


def _as_of_numbers(o: Observation, x: str, turned: bool) -> np.ndarray:
    """f'(x) times g, on either side."""
    if not _commutes(o, x):
        raise LookupError("it is not a function of a matrix alone")
    slope = o.reference.gradient(x, np.eye(len(o.g)), o.names)
    return o.g @ slope if turned else slope @ o.g


def _of_transposed(o: Observation, x: str) -> np.ndarray:
    """The gradient as if a square matrix were its transpose."""
    a = np.asarray(o.names[x])
    if o.reference.elementwise or a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise LookupError("no square matrix")
    inputs = [a.T if y == x else o.names[y] for y in o.reference.inputs]
    return o.reference.gradient(x, o.g, o.reference.environment(inputs, o.settings))


TRANSPOSED = "is right where {x} is transposed: its transposes are missing, or are there where none belong"
OF_MATRICES: list[tuple[str, str, Callable[..., np.ndarray]]] = [
    ("transposed", TRANSPOSED, _of_transposed),
    ("function", COMMUTES, partial(_as_of_numbers, turned=False)),
    ("function", COMMUTES, partial(_as_of_numbers, turned=True)),
]


@quiet
def find_as_of_numbers(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Of any function of a matrix: is it right for the transpose, or if matrices were numbers?"""
    for family, text, predict in OF_MATRICES:
        try:
            if all(o.gave(x, predict(o, x)) for o in wrong):
                return Mistake(family, text.replace("{x}", x), predict=predict, hint="spectrum" if text == COMMUTES else "")
        except Exception:  # it is no such function, or it does not take this matrix
            continue
    return None


def _predict(o: Observation, x: str, wrong: Wrong) -> np.ndarray:
    known = _spectrum(o, x)
    if known is None:
        raise LookupError("it is not such a function here")
    value = wrong(known)
    return (value + value.T) / 2 if close(o.got[x], o.got[x].T) else value


def _spectrum(o: Observation, x: str) -> Spectrum | None:
    if ("spectrum", x) not in o.about_right:
        try:
            o.about_right["spectrum", x] = _found(o, x)
        except (ValueError, LookupError, np.linalg.LinAlgError):  # the operation takes no other g, or its matrix is none
            o.about_right["spectrum", x] = None
    return o.about_right["spectrum", x]


def _found(o: Observation, x: str) -> Spectrum | None:
    a = np.asarray(o.names[x])
    if a.dtype.kind != "f" or a.ndim != 2 or a.shape[0] != a.shape[1] or o.out.shape != a.shape or len(a) < 2 or o.reference.elementwise:
        return None
    a = (a + a.T) / 2
    w, v = np.linalg.eigh(a)
    f = v.T @ o.out @ v
    if not close(f, np.diag(np.diagonal(f))):
        return None
    slope = np.diagonal(v.T @ o.reference.gradient(x, np.eye(len(a)), o.names) @ v)
    for g in (o.g, (o.g + o.g.T) / 2):
        known = Spectrum(w, np.diagonal(f), slope, v, g, close(o.out @ o.out, a), o.g)
        if close(known.gradient(known.right), o.want[x]):
            return known
    return None
