"""9. float32 functions of the numba backend that LLVM can compute for several entries at once.

exp, log and tanh are written out as polynomials (those of S. Moshier's Cephes library, within 1.3 units in the last place), because a
call of the C library in a loop would keep LLVM from computing several entries at once. Sums and maxima are free in their order.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


def machine_code(function: Any) -> Any:
    """The function as machine code, kept on disk if there is a folder for it."""
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        return numba.njit(error_model="numpy")(function)


def f(x: float) -> Any:
    return np.float32(x)


def i(x: int) -> Any:
    return np.int32(x)


@intrinsic
def bits(context: Any, x: Any) -> Any:
    """The 32 bits of a float32, as an integer."""
    return types.int32(types.float32), lambda context, builder, signature, args: builder.bitcast(args[0], ir.IntType(32))


@intrinsic
def from_bits(context: Any, x: Any) -> Any:
    """The float32 of these 32 bits."""
    return types.float32(types.int32), lambda context, builder, signature, args: builder.bitcast(args[0], ir.FloatType())


@intrinsic
def any_order(context: Any, total: Any, x: Any) -> Any:
    """total + x in a sum whose order is free: only so can it be computed in several lanes."""
    return total(total, x), lambda context, builder, signature, args: builder.fadd(*args, flags=("reassoc", "nsz"))


@intrinsic
def fma(context: Any, x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once where the processor can."""
    number = ir.FloatType()

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        known = builder.module.declare_intrinsic("llvm.fmuladd", [number], ir.FunctionType(number, [number] * 3))
        return builder.call(known, args)

    return types.float32(x, y, z), generate


i_one, i_23, BIAS = i(1), i(23), i(127)  # BIAS: what a float32 adds to its exponent
ROUND = f(1.5 * 2**23)  # adding the first pushes all digits after the point out of a float32
LOG2E, LN2_HIGH, LN2_LOW = f(1 / math.log(2)), f(0.693359375), f(-2.12194440e-4)  # their sum is log(2)
LOWEST, HIGHEST, ROOT_HALF_BITS = f(-104), f(89), i(0x3F3504F3)
ZERO, HALF, ONE, TWO, SMALL, INF, NAN = f(0), f(0.5), f(1), f(2), f(0.625), f(math.inf), f(math.nan)
TINY, UP, DOWN = f(2.0**-126), f(2.0**23), f(-23)
EXP = tuple(map(f, (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)))
LOG = tuple(map(f, (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)))  # fmt: skip
TANH = tuple(map(f, (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)))


@numba.njit(error_model="numpy")
def exp(x):
    """2**k * exp(r) with |r| <= log(2) / 2; the power of two in two factors, since one of its own may be out of range."""
    x = LOWEST if x < LOWEST else x
    x = HIGHEST if x > HIGHEST else x
    shifted = fma(x, LOG2E, ROUND)
    k = shifted - ROUND
    r = fma(k, -LN2_LOW, fma(k, -LN2_HIGH, x))
    p = fma(fma(fma(fma(fma(EXP[0], r, EXP[1]), r, EXP[2]), r, EXP[3]), r, EXP[4]), r, EXP[5])
    y = fma(p, r * r, r) + ONE
    whole = bits(shifted) - bits(ROUND)
    half = whole >> i_one
    return y * from_bits((half + BIAS) << i_23) * from_bits((whole - half + BIAS) << i_23)


@numba.njit(error_model="numpy")
def log(x):
    """e * log(2) + log(1 + m) with 1 + m between the square roots of 1/2 and 2."""
    y, shift = (x * UP, DOWN) if x < TINY else (x, ZERO)
    e = (bits(y) - ROOT_HALF_BITS) >> i_23
    m = from_bits(bits(y) - (e << i_23)) - ONE
    z = m * m
    p = fma(fma(fma(fma(LOG[0], m, LOG[1]), m, LOG[2]), m, LOG[3]), m, LOG[4])
    p = fma(fma(fma(fma(p, m, LOG[5]), m, LOG[6]), m, LOG[7]), m, LOG[8])
    power = np.float32(e) + shift
    y = m + fma(-HALF, z, fma(power, LN2_LOW, m * z * p))
    y = fma(power, LN2_HIGH, y)
    special = INF if x > ZERO else (-INF if x == ZERO else NAN)
    return y if x > ZERO and x < INF else special


@numba.njit(error_model="numpy")
def tanh(x):
    """A polynomial near 0, 1 - 2 / (exp(2|x|) + 1) elsewhere."""
    a = abs(x)
    z = x * x
    p = fma(fma(fma(fma(TANH[0], z, TANH[1]), z, TANH[2]), z, TANH[3]), z, TANH[4])
    far = math.copysign(ONE - TWO / (exp(a + a) + ONE), x)
    return fma(p * z, x, x) if a < SMALL else far


WHOLE = ir.IntType(32)


def in_order(builder: Any, whole: Any) -> Any:
    """The bits of a float32 as an integer that grows with it, and the way back: what is negative counts down."""
    sign = builder.ashr(whole, WHOLE(31))
    return builder.xor(whole, builder.and_(sign, WHOLE(0x7FFFFFFF)))


@intrinsic
def larger(context: Any, top: Any, x: Any) -> Any:
    """The larger of two places in the order of all float32, nan behind the others: of integers LLVM finds it in several lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        now = in_order(builder, builder.bitcast(args[1], WHOLE))
        return builder.select(builder.icmp_signed(">", now, args[0]), now, args[0])

    return types.int32(types.int32, types.float32), generate


@intrinsic
def at_place(context: Any, place: Any) -> Any:
    """The float32 at a place in that order."""
    return types.float32(types.int32), lambda context, builder, signature, args: builder.bitcast(in_order(builder, args[0]), ir.FloatType())


FIRST = i(-(2**31))


@numba.njit(error_model="numpy")
def largest(row):
    """The largest of a row that is not empty; nan if there is one."""
    top = FIRST
    for k in range(row.size):
        top = larger(top, row[k])
    return at_place(top)


@numba.njit(error_model="numpy")
def sigmoid(x):
    return ONE / (ONE + exp(-x))
