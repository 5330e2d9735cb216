"""Of float32 in fewer steps, with float64 inside."""

from __future__ import annotations

import math

import numpy as np

from autolab.engine.node import F32
from autolab.fast.blocks import Array, clip, horner
from autolab.fast.kernel import block_kernel
from autolab.rules import error_functions as rows

# log(erfcx(r) / t) as a polynomial in t = 1 / (1 + 0.4 r), good to 5e-9 from 0 to where erfc vanishes. The form is that of Numerical
# Recipes, 6.2.
TAIL = (
    -1.48864227117, 0.999534264091, 0.426735137308, 0.118992751932, 0.299703005664, -0.960732690609, 1.91212030604, -2.92581951017,
    2.53646702642, -1.11567671303, 0.19731869827,
)  # fmt: skip


def erfc(x: Array, out: Array) -> None:
    """t exp(log(erfcx / t) - r**2) for r = |x|, and 2 less that on the left: without a choice that has to wait for x."""
    with np.errstate(all="ignore"):
        r = np.abs(x).astype(np.float64)
        t, power = clip(r, 0, 10.2), np.empty_like(r)
        t *= 0.4
        t += 1
        np.divide(1, t, t)
        horner(TAIL, t, power)
        r *= r
        power -= r
        np.exp(power, power)
        power *= t
        np.copysign(power, x, power)
        np.add(power, 2.0 * np.signbit(x), out, casting="same_kind")


# erfinv(x) / x as a polynomial in w - 2.5, w = -log(1 - x**2), good to 1e-8 for w below 5: M. Giles, Approximating the erfinv function, GPU
# Computing Gems (2011).
CENTRAL = (
    1.50140936, 0.246640289, -0.00417738976, -0.00125274842, 0.000218346915, -4.95974349e-06, -3.46335616e-06, 4.65428729e-07,
    2.32858444e-08, -8.73983086e-09,
)  # fmt: skip
NEAR_ONE = math.sqrt(1 - math.exp(-5))


def erfinv(x: Array, out: Array) -> None:
    w = clip(x, -NEAR_ONE, NEAR_ONE).astype(np.float64)
    w *= w
    np.subtract(1, w, w)
    np.log(w, w)
    np.subtract(-2.5, w, w)
    central = np.empty_like(w)
    horner(CENTRAL, w, central)
    np.multiply(central, x, out, casting="same_kind")
    tail = np.abs(x) > NEAR_ONE
    if tail.any():
        out[tail] = rows.erfinv.forward(x[tail])


block_kernel(rows.erfc, erfc, least=0, dtypes=(F32,))
block_kernel(rows.erfinv, erfinv, least=0, dtypes=(F32,))
