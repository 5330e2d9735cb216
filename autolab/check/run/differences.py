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

MOST_STACKED = 1 << 18  # numbers in all copies of an input together

Range = tuple[float, float]
EVERYWHERE = (-np.inf, np.inf)
Moved = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of steps, and of the numbers (by their places in a row) that are moved by them


@np.errstate(all="ignore")
def slope(f: Callable[[np.ndarray], np.ndarray], size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivative of f at 0, place by place, and its uncertainty.

    f(t) takes an array of steps of the shape of `size`, by which each place is moved, and returns an array of that shape;
    `size` is how large the numbers are that are moved.

    >>> value, uncertainty = slope(lambda t: (3 + t) ** 2, np.array(3.0))
    >>> abs(value - 6) < 1e-10, uncertainty < 1e-10
    (np.True_, np.True_)
    """
    return _place_by_place(f, size, np.full(np.shape(size), np.inf), ENOUGH)


def _place_by_place(f: Callable, size: np.ndarray, room: np.ndarray, enough: float) -> tuple[np.ndarray, np.ndarray]:
    def moved(t: np.ndarray, which: np.ndarray) -> np.ndarray:
        steps = np.zeros(size.size)
        steps[which] = t
        return np.ravel(f(steps.reshape(size.shape)))[which]

    middle = np.ravel(f(np.zeros(size.shape)))
    value, uncertainty = _slopes(moved, middle, np.ravel(size), np.ravel(room), enough)
    return value.reshape(size.shape), uncertainty.reshape(size.shape)


def _slopes(f: Moved, middle: np.ndarray, sizes: np.ndarray, rooms: np.ndarray, enough: float) -> tuple[np.ndarray, np.ndarray]:
    """What f(t, which) changes by, for a row of numbers, and the uncertainty; `middle` is what it gives for each if none is moved.

    `sizes` is how large the numbers are, and `rooms` how far each may be moved.
    """
    best, least, last = np.zeros(middle.shape), np.full(middle.shape, np.inf), np.full(middle.shape, np.inf)
    before, lost, places = np.full(middle.shape, np.nan), ~np.isfinite(middle), (-1, *(1 for _ in middle.shape[1:]))
    close_by = _close_by(f, middle, sizes, rooms)
    (one, unsure), (other, unsure_too) = close_by
    lost |= np.abs(one - other) > BEND * (np.abs(one) + np.abs(other)) + unsure + unsure_too
    reach = np.minimum(np.maximum(sizes, 1.0), rooms / 0.041)  # four steps of a hundredth
    todo = np.flatnonzero(~_all(lost))
    for step in STEPS:
        if not todo.size:
            break
        t, at, size = step * reach[todo], middle[todo], sizes[todo].reshape(places)
        h = t.reshape(places)
        right, left = ([at, *(f(sign * k * t, todo) for k in range(1, 5))] for sign in (1, -1))
        value = sum(weight * (right[k] - left[k]) for k, weight in CENTRAL) / h
        sides = [sum(c * a for c, a in zip(ONE_SIDED, points, strict=True)) / h for points in (right, left)]
        noise = ROUNDING * (np.max(np.abs([right, left]), axis=(0, 1)) + size * np.abs(value)) / h  # of f, and of where it is asked
        apart = np.abs(sides[0] + sides[1])  # the left one runs backwards
        one_slope = apart <= SIDES * np.maximum(np.abs(value), 1e-3) + 100 * noise
        for near, doubt in close_by:
            one_slope &= ~(np.abs(near[todo] - value) > BEND * np.maximum(np.abs(near[todo]), np.abs(value)) + doubt[todo])
        off = np.abs(value - before[todo]) + noise
        before[todo] = np.where(one_slope, value, np.nan)
        off = np.where(one_slope & (off < np.inf), off, np.inf)  # what is not a number settles nothing
        three = np.maximum(off, np.minimum(last[todo], 1e3 * off))  # three steps agree: two may do so by chance
        better = three < least[todo]
        last[todo], best[todo], least[todo] = off, np.where(better, value, best[todo]), np.where(better, three, least[todo])
        smaller = np.abs(best[todo])
        of_next = RATIO * ROUNDING * (np.abs(at) + size * smaller) / h  # a smaller step is less sure than this
        todo = todo[~_all((least[todo] <= enough * smaller) | (least[todo] < of_next) | lost[todo])]
    return best, least


@np.errstate(all="ignore")
def along(
    forward: Callable[..., np.ndarray],
    inputs: Sequence[np.ndarray],
    k: int,
    g: np.ndarray,
    direction: np.ndarray,
    within: Range = EVERYWHERE,
    enough: float = ENOUGH,
) -> tuple[float, float]:
    """Of sum(g * forward(*inputs)), how fast it changes where input k moves in this direction, and the uncertainty.

    >>> value, _ = along(lambda x: x**2, (np.array([1.0, 3.0]),), 0, np.array([1.0, 1.0]), np.array([1.0, -1.0]))
    >>> round(value, 9)
    -4.0
    """
    a, (low, high) = np.asarray(inputs[k], float), within

    def moved(t: np.ndarray) -> np.ndarray:
        return np.asarray(np.sum(g * forward(*inputs[:k], a + t * direction, *inputs[k + 1 :])))

    room = np.min(np.where(direction == 0, np.inf, np.minimum(a - low, high - a) / np.abs(direction)), initial=np.inf)
    value, uncertainty = _place_by_place(moved, np.asarray(np.abs(a).max(initial=0.0)), np.asarray(room), enough)
    return float(value), float(uncertainty)


def _all(each: np.ndarray) -> np.ndarray:
    """Does it hold of all that a number changes?"""
    return np.all(each.reshape(len(each), -1), axis=1)


def _close_by(f: Moved, middle: np.ndarray, sizes: np.ndarray, rooms: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The slopes on both sides as close by as rounding allows, and how unsure each is: it tells nothing where it bends even there."""
    height = np.where(np.isfinite(middle), np.abs(middle), 0.0)
    t = np.minimum(CLOSE * sizes + 1e5 * ROUNDING * height.reshape(len(height), -1).max(axis=1, initial=0.0), rooms / 2)
    every, places, found = np.arange(len(sizes)), (-1, *(1 for _ in middle.shape[1:])), []
    for sign in (1, -1):
        near, nearer = ((f(sign * part * t, every) - middle) / (sign * part * t).reshape(places) for part in (1.0, 0.5))
        unsure = 100 * ROUNDING * (height + sizes.reshape(places) * np.abs(near)) / t.reshape(places)
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


@np.errstate(all="ignore")
def derivative(
    forward: Callable[..., np.ndarray],
    inputs: Sequence[np.ndarray],
    k: int,
    out: tuple[int, ...],
    elementwise: bool,
    within: Range = EVERYWHERE,
    enough: float = ENOUGH,
) -> tuple[np.ndarray, np.ndarray]:
    """Of the result, of shape `out`, with respect to input k: a number a place if elementwise, else all of the Jacobian, inputs first."""
    arrays = [np.asarray(a, float) if np.asarray(a).dtype.kind == "f" else np.asarray(a) for a in inputs]
    a, (low, high) = arrays[k], within
    if not a.size:
        return np.zeros((*a.shape, *out)), np.zeros((*a.shape, *out))
    room = np.minimum(a - low, high - a)

    def result(a: np.ndarray) -> np.ndarray:
        return np.asarray(forward(*arrays[:k], a, *arrays[k + 1 :]), float)

    if elementwise:
        arrays = [np.broadcast_to(a, out) for a in arrays]
        return _place_by_place(lambda t: result(arrays[k] + t), np.abs(arrays[k]), np.broadcast_to(room, out), enough)
    middle = np.broadcast_to(result(a), (a.size, *out))
    sizes, rooms = np.abs(a).ravel(), np.ravel(room)
    copies = _Copies(result, a, out, np.minimum(0.01 * (sizes + 1), rooms / 2))
    found = _slopes(copies, middle, sizes, rooms, enough)
    return found[0].reshape(*a.shape, *out), found[1].reshape(*a.shape, *out)


class _Copies:
    """f for copies of an array, in each of which one number is moved: at once, if f treats a stack of them as it treats each."""

    def __init__(self, f: Callable[[np.ndarray], np.ndarray], a: np.ndarray, out: tuple[int, ...], step: np.ndarray):
        self.f, self.a, self.out, every = f, a, out, np.arange(a.size)
        self.stacks = 4 < a.size and a.size**2 <= MOST_STACKED and all(self._alike(sign * step, every) for sign in (1, -1))

    def __call__(self, t: np.ndarray, which: np.ndarray) -> np.ndarray:
        copies = self._copies(t, which)
        return self.f(copies) if self.stacks else np.stack([self.f(copy) for copy in copies])

    def _copies(self, t: np.ndarray, which: np.ndarray) -> np.ndarray:
        copies = np.repeat(self.a[None], len(which), axis=0)
        copies.reshape(len(which), -1)[np.arange(len(which)), which] += t
        return copies

    def _alike(self, t: np.ndarray, which: np.ndarray) -> bool:
        copies = self._copies(t, which)
        try:
            together = self.f(copies)
        except Exception:  # it takes no stack
            return False
        return together.shape == (len(which), *self.out) and all(map(_same, together, map(self.f, copies)))


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.all((a == b) | (np.abs(a - b) <= 1e-13 * np.max(np.abs(b), initial=0.0)) | (np.isnan(a) & np.isnan(b))))


def applied(derivative: np.ndarray, g: np.ndarray, shape: tuple[int, ...], elementwise: bool) -> np.ndarray:
    """What `derivative` gave, times g: of the shape of the input. A result without a g counts for nothing, even if it is nan."""
    with np.errstate(all="ignore"):
        product = np.where(g == 0, 0.0, g * derivative)
    if not elementwise:
        return product.sum(axis=tuple(range(len(shape), product.ndim)))
    extra = product.ndim - len(shape)
    axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1))
    return product.sum(axes, keepdims=True).reshape(shape)
