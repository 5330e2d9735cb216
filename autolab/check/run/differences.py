"""Derivatives of a forward by differences of its own results: what a reference is held against, and stands for one that is left out.

Central differences of order eight, in float64, with steps from a hundredth downwards, until two of them agree. Each comes with its
uncertainty, which is infinite where there is no derivative: at a kink both sides disagree, however small the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

CENTRAL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
ONE_SIDED = (-25 / 12, 4.0, -3.0, 4 / 3, -1 / 4)  # order four: the slope on one side
STEPS = tuple(0.01 * 7.31**-k for k in range(14))  # ratios that the jumps of a rounding function do not share
ENOUGH = 1e-11  # relative: closer than rounding allows for most functions
SIDES = 1e-5  # relative: by how much the slopes of both sides may differ
ROUNDING = 4 * np.finfo(float).eps


def slope(f: Callable[[np.ndarray], np.ndarray], size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivative of f at 0, place by place, and its uncertainty.

    f(t) takes an array of steps of the shape of `size`, by which each place is moved, and returns an array of that shape;
    `size` is how large the numbers are that are moved.

    >>> value, uncertainty = slope(lambda t: (3 + t) ** 2, np.array(3.0))
    >>> abs(value - 6) < 1e-10, uncertainty < 1e-10
    (np.True_, np.True_)
    """
    best, least = np.zeros(size.shape), np.full(size.shape, np.inf)
    before, last, middle = None, np.full(size.shape, np.inf), f(np.zeros(size.shape))
    for step in STEPS:
        h = step * np.maximum(size, 1.0)
        right, left = ([middle, *(f(sign * k * h) for k in range(1, 5))] for sign in (1, -1))
        value = sum(weight * (right[k] - left[k]) for k, weight in CENTRAL) / h
        sides = [sum(c * a for c, a in zip(ONE_SIDED, points, strict=True)) / h for points in (right, left)]
        noise = ROUNDING * (np.max(np.abs([right, left]), axis=(0, 1)) + size * np.abs(value)) / h  # of f, and of where it is asked
        apart = np.abs(sides[0] + sides[1])  # the left one runs backwards
        one_slope = apart <= SIDES * np.maximum(np.abs(value), 1e-3) + 100 * noise
        off = np.full(size.shape, np.inf) if before is None else np.abs(value - before) + noise
        before = np.where(one_slope, value, np.nan)
        off = np.where(one_slope & (off < np.inf), off, np.inf)  # what is not a number settles nothing
        three = np.maximum(off, np.minimum(last, 1e3 * off))  # three steps agree: two may do so by chance
        last, better = off, three < least
        best, least = np.where(better, value, best), np.where(better, three, least)
        if np.all(least <= ENOUGH * np.abs(best)):
            break
    return best, least


def derivative_of_forward(g: np.ndarray) -> np.ndarray:
    """In place of a rule of an `Op` in a `Spec`: the derivative of its forward, which the check takes itself.

    By the engine where forward runs on tensors, else by differences. So the rule cannot be read where the exercise stands.

    >>> from autolab.check import Spec, check
    >>> from autolab.engine.op import ELEMENTWISE, Op
    >>> softsign = Op("softsign", lambda x: x / (1 + np.abs(x)), ELEMENTWISE, x=derivative_of_forward)
    >>> check(Spec("softsign", softsign), lambda g, x: g / (1 + np.abs(x)) ** 2).passed
    True
    """
    raise NotImplementedError("this rule is left out: only the check takes the derivative of its forward")


def gradient(
    forward: Callable[..., np.ndarray], inputs: Sequence[np.ndarray], k: int, g: np.ndarray, elementwise: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Of sum(g * forward(*inputs)) with respect to input k, and its uncertainty; both of that input's shape.

    >>> value, _ = gradient(lambda x, y: x @ y, (np.eye(2), np.array([3.0, 4.0])), 0, np.array([1.0, 10.0]))
    >>> np.round(value, 9)
    array([[ 3.,  4.],
           [30., 40.]])
    """
    value, uncertainty = derivative(forward, inputs, k, np.shape(g), elementwise)
    return applied(value, g, np.shape(inputs[k]), elementwise), applied(uncertainty, np.abs(g), np.shape(inputs[k]), elementwise)


def derivative(
    forward: Callable[..., np.ndarray], inputs: Sequence[np.ndarray], k: int, out: tuple[int, ...], elementwise: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Of the result, of shape `out`, with respect to input k: a number a place if elementwise, else all of the Jacobian, inputs first."""
    arrays = [np.asarray(a, float) if np.asarray(a).dtype.kind == "f" else np.asarray(a) for a in inputs]
    with np.errstate(all="ignore"):
        if elementwise:
            full = [np.broadcast_to(a, out) for a in arrays]
            return slope(lambda t: np.asarray(forward(*full[:k], full[k] + t, *full[k + 1 :]), float), np.abs(full[k]))
        found = np.zeros((2, *arrays[k].shape, *out))
        for place in np.ndindex(arrays[k].shape):

            def moved(t: np.ndarray, place: tuple[int, ...] = place) -> np.ndarray:
                a = arrays[k].copy()
                a[place] += t.flat[0]
                return np.asarray(forward(*arrays[:k], a, *arrays[k + 1 :]), float)

            found[(slice(None), *place)] = slope(moved, np.full(out, np.abs(arrays[k][place])))
    return found[0], found[1]


def applied(derivative: np.ndarray, g: np.ndarray, shape: tuple[int, ...], elementwise: bool) -> np.ndarray:
    """What `derivative` gave, times g: of the shape of the input. A result without a g counts for nothing, even if it is nan."""
    with np.errstate(all="ignore"):
        product = np.where(g == 0, 0.0, g * derivative)
    if not elementwise:
        return product.sum(axis=tuple(range(len(shape), product.ndim)))
    extra = product.ndim - len(shape)
    axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1))
    return product.sum(axes, keepdims=True).reshape(shape)
