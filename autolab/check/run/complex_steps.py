"""The Jacobian of a forward by complex steps: f(x + ih) = f(x) + ih f'(x), so a derivative is an imaginary part, exact to the last digits.

(Squire and Trapp, "Using complex variables to estimate derivatives of real functions", SIAM Review 40, 1998.) One call for each entry, or
one for all of them where forward takes a stack; differences need some thirty for each. But not every forward is what it should be on
complex numbers: `np.abs` is not, nor what asks `x.real`. So one derivative, along a direction in which all entries move, is held against
real differences, and the Jacobian against that derivative. Where anything is in doubt, differences.py finds it the plain way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .differences import CENTRAL, EVERYWHERE, MOST_STACKED, STEPS, Range

H = 1e-30  # nothing is subtracted, so no step is too small
NEAR = 1e-7  # where a kink shows
AGREE = 1e-7  # relative: how close differences come to the derivative
SAME = 1e-9  # relative: and a derivative along a direction to the sum of those of all entries
TRIED = STEPS[:4]
STACKS_FROM = 4  # entries


class Stepped(np.ndarray):
    """Complex numbers whose variance is that of the real ones, carried on: NumPy's own is of distances, which are real."""

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, *, keepdims: Any = False, **_: Any) -> Any:
        """The sum of the squares of differences from the mean, divided by n - ddof."""
        d = self - self.mean(axis, keepdims=True)
        total = (d * d).sum(axis, keepdims=keepdims)
        return total / (self.size / max(total.size, 1) - ddof)

    def std(self, *args: Any, **settings: Any) -> Any:
        """The root of the variance."""
        return np.sqrt(self.var(*args, **settings))


def jacobian(forward: Callable[..., np.ndarray], inputs: Sequence[np.ndarray], k: int, within: Range = EVERYWHERE) -> np.ndarray | None:
    """Of the result of forward by input k: of the shape of that input, then that of the result. None if complex steps do not tell it.

    >>> J = jacobian(lambda x, y: x * y, (np.array([2.0, 3.0]), np.array([5.0, 7.0])), 0)
    >>> J.tolist()
    [[5.0, 0.0], [0.0, 7.0]]
    >>> jacobian(lambda x: np.abs(x) + x, [np.array([2.0, -3.0])], 0) is None
    True
    """
    arrays = [np.asarray(a, float) if np.asarray(a).dtype.kind == "f" else np.asarray(a) for a in inputs]
    a = arrays[k]

    def f(value: np.ndarray) -> np.ndarray:
        value = value.view(Stepped) if value.dtype.kind == "c" else value
        return np.asarray(forward(*arrays[:k], value, *arrays[k + 1 :]))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")  # an imaginary part that is dropped
        try:
            out = f(a)
            direction = _direction(a, within)
            along = _slope(f(a + 1j * H * direction), out.shape)
            if not _is_slope(along, f, a, direction, np.asarray(out, float)):
                return None
        except Exception:  # it takes no complex numbers
            return None
        for ways in (_at_once(f, a, out.shape), _one_by_one(f, a, out.shape)):
            for found in ways:
                sizes = np.tensordot(np.abs(direction), np.abs(found), a.ndim)
                if np.all(np.abs(np.tensordot(direction, found, a.ndim) - along) <= SAME * (sizes + sizes.max(initial=0.0))):
                    return found
    return None


def _direction(a: np.ndarray, within: Range) -> np.ndarray:
    """All entries move, by different parts of what they may."""
    reach = np.minimum(np.maximum(np.abs(a), 1.0), np.minimum(a - within[0], within[1] - a) / 0.041)
    rng = np.random.default_rng(a.size)
    return reach * rng.uniform(0.5, 1, a.shape) * rng.choice([-1, 1], a.shape)


def _slope(moved: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The imaginary part. ValueError if that is not the result with steps in it."""
    if moved.shape != shape or moved.dtype.kind != "c":
        raise ValueError("no complex numbers come back")
    return moved.imag / H


def _is_slope(along: np.ndarray, f: Callable, a: np.ndarray, direction: np.ndarray, out: np.ndarray) -> bool:
    """Do real differences give this, and is there no kink?"""
    size = np.abs(along).max(initial=0.0)
    rounding = 1e-14 * (1 + np.abs(out))
    bends = [np.abs(f(a + t * direction) + f(a - t * direction) - 2 * out) for t in (NEAR, 100 * NEAR)]
    if not np.all(bends[0] <= 1e-4 * NEAR * size + 1e-3 * bends[1] + rounding):  # at a kink it is 0.01 times as much, else 0.0001 times
        return False
    for step in TRIED:
        value = sum(weight * (f(a + k * step * direction) - f(a - k * step * direction)) for k, weight in CENTRAL) / step
        if np.all(np.abs(value - along) <= AGREE * (np.abs(along) + size) + rounding / step):
            return True
    return False


def _at_once(f: Callable, a: np.ndarray, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """All entries in one call: on a stack, or side by side along the first axis, which one of the result goes along with."""
    if not STACKS_FROM < a.size or a.size**2 > MOST_STACKED:
        return
    copies = a + 1j * H * np.eye(a.size).reshape(a.size, *a.shape)
    for axis in (None, *(axis for axis, n in enumerate(shape) if a.ndim and n == len(a))):
        try:
            if axis is None:
                found = _slope(f(copies), (a.size, *shape))
            else:
                wide = (*shape[:axis], a.size * len(a), *shape[axis + 1 :])
                found = _slope(f(copies.reshape(-1, *a.shape[1:])), wide).reshape(*shape[:axis], a.size, *shape[axis:])
                found = np.moveaxis(found, axis, 0)
        except Exception:  # it goes by the shape of its input
            continue
        yield found.reshape(*a.shape, *shape)


def _one_by_one(f: Callable, a: np.ndarray, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """A call for each entry."""
    moved = a + 0j
    found = np.empty((a.size, *shape))
    for k in range(a.size):
        moved.flat[k] += 1j * H
        found[k] = f(moved).imag / H
        moved.flat[k] = a.flat[k]
    yield found.reshape(*a.shape, *shape)
