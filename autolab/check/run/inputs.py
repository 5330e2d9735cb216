"""Shapes and numbers on which a wrong rule cannot look right.

No entry lies near 0, 1 or 2 (x * x, x + x and x ** x agree at 2); shapes are square and not; n, n - 1, N and N * M all
differ; every way to broadcast is tried.
"""

from __future__ import annotations

import numpy as np

Shapes = tuple[tuple[int, ...], ...]

UNARY: tuple[Shapes, ...] = (((3, 5),), ((4, 4),), ((2, 3, 4),))
DENSE: tuple[Shapes, ...] = (((5, 30),),)  # of a function made of pieces every piece is met
FLAT: tuple[Shapes, ...] = (((30,),),)  # of one axis
ROW_PAIRS: tuple[Shapes, ...] = (((3, 5), (3, 5)), ((4, 4), (4, 4)))  # rows of scores, with a target or noise of the same shape
BINARY: tuple[Shapes, ...] = (*ROW_PAIRS, ((2, 3, 4), (2, 3, 4)))
ROWS: tuple[Shapes, ...] = (((3, 5),), ((4, 4),), ((2, 5, 3),))
BROADCAST: tuple[Shapes, ...] = (
    ((3, 5), (5,)), ((5,), (3, 5)),          # an axis that one of them does not have
    ((3, 5), (3, 1)), ((1, 5), (3, 5)),      # an axis of size 1
    ((3, 1), (1, 5)),                        # both are stretched
    ((4, 4), (4,)), ((4, 1), (4, 4)),        # square: the wrong axis has the right size
    ((3, 5), ()), ((), (3, 5)),              # a single number
    ((2, 3, 4), (3, 1)), ((4, 1, 5), (3, 5)),  # both kinds at once
)  # fmt: skip
LARGE = (-800.0, -50.0, 60.0, 900.0)  # where a careless formula overflows
TINY = (-2e-9, 1e-9)  # where a quotient that is kept from 0 is another one
BROADCAST_3: tuple[Shapes, ...] = tuple(  # each of three is stretched, alone and with another
    tuple(order[(i + shift) % 3] for i in range(3))
    for order in (((3, 5), (5,), (3, 5)), ((3, 5), (3, 1), (1, 5)), ((4, 4), (4,), ()), ((2, 3, 4), (3, 1), (1, 4)))
    for shift in range(3)
)


def draw(rng: np.random.Generator, shape: tuple[int, ...], low: float = -3.0, high: float = 3.0) -> np.ndarray:
    """Random numbers in [low, high) that keep 0.08 away from every whole number, where there is room for that.

    Where a side has no end they lie within 6 of the other, and between -3 and 3 where neither has one.
    """
    low = low if np.isfinite(low) else min(-3.0, high - 6)
    high = high if np.isfinite(high) else max(3.0, low + 6)
    a = np.asarray(rng.uniform(low, high, shape))
    whole = np.floor(a)
    kept_away = np.asarray(whole + 0.08 + 0.84 * (a - whole))
    return np.where((low <= kept_away) & (kept_away < high), kept_away, a)
