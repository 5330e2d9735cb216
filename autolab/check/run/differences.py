"""Derivatives of a forward by differences of its own results: what a reference is held against, and stands for one that is left out.

Central differences of order eight, in float64, with steps from a hundredth downwards, until two of them agree with one another and
with the slopes close by: a step that goes past the next entry of a sorted row sees another function, and a smooth one. Each comes with
its uncertainty, which is infinite where there is no derivative: at a kink both sides disagree, however small the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

CENTRAL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
ONE_SIDED = (-25 / 12, 4.0, -3.0, 4 / 3, -1 / 4)  # order four: the slope on one side
RATIO = 7.31  # the jumps of a rounding function do not share it
STEPS = tuple(0.01 * RATIO**-k for k in range(17))
ENOUGH = 1e-11  # relative: closer than rounding allows for most functions
SIDES = 1e-5  # relative: by how much the slopes of both sides may differ
ROUNDING = 4 * np.finfo(float).eps
CLOSE = 1e-9  # relative: how far the slopes close by are taken
BEND = 0.01  # relative: by how much they may differ from the derivative

Range = tuple[float, float]
EVERYWHERE = (-np.inf, np.inf)


@np.errstate(all="ignore")
def slope(
    f: Callable[[np.ndarray], np.ndarray], size: np.ndarray, room: np.ndarray | float = np.inf, alike: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The derivative of f at 0, place by place, and its uncertainty.

    f(t) takes an array of steps of the shape of `size`, by which each place is moved, and returns an array of that shape;
    `size` is how large the numbers are that are moved, and `room` how far they may be moved; `alike`: all by the same step.

    >>> value, uncertainty = slope(lambda t: (3 + t) ** 2, np.array(3.0))
    >>> abs(value - 6) < 1e-10, uncertainty < 1e-10
    (np.True_, np.True_)
    """
    best, least = np.zeros(size.shape), np.full(size.shape, np.inf)
    middle = f(np.zeros(size.shape))
    before, last, lost = None, np.full(size.shape, np.inf), ~np.isfinite(middle)
    close_by = _close_by(f, middle, size, room, alike)
    (right_slope, right_unsure), (left_slope, left_unsure) = close_by
    lost |= np.abs(right_slope - left_slope) > BEND * np.abs(right_slope) + BEND * np.abs(left_slope) + right_unsure + left_unsure
    reach = np.minimum(np.maximum(size, 1.0), room / 0.041)  # four steps of a hundredth
    for step in STEPS:
        h = step * reach
        right, left = ([middle, *(f(sign * k * h) for k in range(1, 5))] for sign in (1, -1))
        value = sum(weight * (right[k] - left[k]) for k, weight in CENTRAL) / h
        sides = [sum(c * a for c, a in zip(ONE_SIDED, points, strict=True)) / h for points in (right, left)]
        noise = ROUNDING * (np.max(np.abs([right, left]), axis=(0, 1)) + size * np.abs(value)) / h  # of f, and of where it is asked
        apart = np.abs(sides[0] + sides[1])  # the left one runs backwards
        one_slope = apart <= SIDES * np.maximum(np.abs(value), 1e-3) + 100 * noise
        for near, unsure in close_by:
            one_slope &= ~(np.abs(near - value) > BEND * np.maximum(np.abs(near), np.abs(value)) + unsure)
        off = np.full(size.shape, np.inf) if before is None else np.abs(value - before) + noise
        before = np.where(one_slope, value, np.nan)
        off = np.where(one_slope & (off < np.inf), off, np.inf)  # what is not a number settles nothing
        three = np.maximum(off, np.minimum(last, 1e3 * off))  # three steps agree: two may do so by chance
        last, better = off, three < least
        best, least = np.where(better, value, best), np.where(better, three, least)
        of_next = RATIO * ROUNDING * (np.abs(middle) + size * np.abs(best)) / h
        if np.all((least <= ENOUGH * np.abs(best)) | (least < of_next) | lost):  # smaller steps are less sure
            break
    return best, least


def _close_by(
    f: Callable[[np.ndarray], np.ndarray], middle: np.ndarray, size: np.ndarray, room: np.ndarray | float, alike: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The slopes on both sides as close by as rounding allows, and how unsure each is: it tells nothing where it bends even there."""
    height = np.where(np.isfinite(middle), np.abs(middle), 0.0)
    height = np.full(size.shape, height.max(initial=0.0)) if alike else height
    h, found = np.minimum(CLOSE * size + 1e5 * ROUNDING * height, room / 2), []
    for sign in (1, -1):
        near, nearer = ((f(sign * part * h) - middle) / (sign * part * h) for part in (1.0, 0.5))
        unsure = 100 * ROUNDING * (np.abs(middle) + size * np.abs(near)) / h
        bends = ~(np.abs(near - nearer) <= BEND * np.abs(near) + unsure)
        found.append((near, np.where(bends, np.inf, unsure)))
    return found


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
    forward: Callable[..., np.ndarray],
    inputs: Sequence[np.ndarray],
    k: int,
    g: np.ndarray,
    elementwise: bool = False,
    within: Range = EVERYWHERE,
) -> tuple[np.ndarray, np.ndarray]:
    """Of sum(g * forward(*inputs)) with respect to input k, and its uncertainty; both of that input's shape.

    That input stays `within` these numbers.

    >>> value, _ = gradient(lambda x, y: x @ y, (np.eye(2), np.array([3.0, 4.0])), 0, np.array([1.0, 10.0]))
    >>> np.round(value, 9)
    array([[ 3.,  4.],
           [30., 40.]])
    """
    value, uncertainty = derivative(forward, inputs, k, np.shape(g), elementwise, within)
    return applied(value, g, np.shape(inputs[k]), elementwise), applied(uncertainty, np.abs(g), np.shape(inputs[k]), elementwise)


def derivative(
    forward: Callable[..., np.ndarray],
    inputs: Sequence[np.ndarray],
    k: int,
    out: tuple[int, ...],
    elementwise: bool,
    within: Range = EVERYWHERE,
) -> tuple[np.ndarray, np.ndarray]:
    """Of the result, of shape `out`, with respect to input k: a number a place if elementwise, else all of the Jacobian, inputs first."""
    arrays = [np.asarray(a, float) if np.asarray(a).dtype.kind == "f" else np.asarray(a) for a in inputs]
    low, high = within
    with np.errstate(all="ignore"):
        room = np.minimum(arrays[k] - low, high - arrays[k])
        if elementwise:
            full = [np.broadcast_to(a, out) for a in arrays]
            move = lambda t: np.asarray(forward(*full[:k], full[k] + t, *full[k + 1 :]), float)
            return slope(move, np.abs(full[k]), np.broadcast_to(room, out))
        found = np.zeros((2, *arrays[k].shape, *out))
        for place in np.ndindex(arrays[k].shape):

            def moved(t: np.ndarray, place: tuple[int, ...] = place) -> np.ndarray:
                a = arrays[k].copy()
                a[place] += t.flat[0]
                return np.asarray(forward(*arrays[:k], a, *arrays[k + 1 :]), float)

            found[(slice(None), *place)] = slope(moved, np.full(out, np.abs(arrays[k][place])), room[place], alike=True)
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
