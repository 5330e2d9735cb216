"""Special functions that NumPy lacks, on raw arrays."""

import math

import numpy as np

from autolab.rules.blocks import clip, horner, in_blocks

# erf is its Taylor series about the nearest of these centres, 1/64 apart; from 6 on it is 1 to the last digit.
CENTRES = np.arange(6 * 64 + 1) / 64
BLOCK = 8192  # entries at a time, so that the steps of the series stay in the cache


def erf_series():
    """Row k: the coefficient of t**k in erf(centre + t), for every centre.

    erf'(a + t) = 2/sqrt(pi) exp(-a*a) exp(-2at - t*t), and with b(t) = exp(-2at - t*t), b' = -2(a + t) b gives its coefficients:
    k b_k = -2 (a b_(k-1) + b_(k-2)).
    """
    b = [np.ones_like(CENTRES), -2 * CENTRES]
    for k in range(2, 7):
        b.append(-2 / k * (CENTRES * b[-1] + b[-2]))
    slope = 2 / math.sqrt(math.pi) * np.exp(-CENTRES * CENTRES)
    return [np.array([math.erf(a) for a in CENTRES.tolist()]), *(slope * bk / (k + 1) for k, bk in enumerate(b))]


# |t| <= 1/128: the first term left out is below the rounding of the result.
ERF_SERIES = erf_series()

# For float32 erf(x) is x P(x**2) / Q(x**2), good to 2e-8 of it, up to where it rounds to 1: a rational Chebyshev approximation as in
# W. J. Cody, Math. Comp. 23 (1969). It is computed in float64, at half the speed of float32, and rounded once.
ONE = 3.925
P = (1.12837915, 0.190553212, 0.0527640625, 0.00377087025, 0.000284814819, 2.0464342e-06)
Q = (1, 0.502206123, 0.114166082, 0.0149797967, 0.00116346953, 3.805055e-05)


def erf_into(x, out):
    near = clip(x, -ONE, ONE).astype(np.float64)
    square, found = near * near, np.empty_like(near)
    horner(P, square, found)
    found *= near
    horner(Q, square, near)
    np.divide(found, near, out, casting="same_kind")


def erf(x):
    """The error function, within two units in the last place of math.erf (float16 and bfloat16: of float32)."""
    if x.dtype not in (np.float32, np.float64):
        return erf(x.astype(np.float32)).astype(x.dtype)
    if x.ndim == 0:
        return x.dtype.type(math.erf(x))
    if x.dtype == np.float32 and x.size:
        return in_blocks(erf, np.ascontiguousarray(x), into=erf_into)
    series = ERF_SERIES
    flat = x.reshape(-1)
    out = np.empty_like(flat)
    for start in range(0, flat.size, BLOCK):
        block, y = flat[start : start + BLOCK], out[start : start + BLOCK]
        t = np.minimum(np.abs(block), 6)
        nearest = (np.fmin(t, 6) * 64 + 0.5).astype(np.intp)  # fmin: nan has no nearest centre, any will do
        t -= nearest.astype(x.dtype) / 64
        np.take(series[-1], nearest, out=y, mode="clip")
        for row in series[-2::-1]:
            y *= t
            y += np.take(row, nearest, mode="clip")
        np.copysign(y, block, out=y)
    return out.reshape(x.shape)
