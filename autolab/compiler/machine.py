"""7. The numba backend: a chain of elementwise steps as one loop of machine code that reads each input once.

`compile(f, backend="numba")`. Convolutions are those of `direct`; everything else is as with the NumPy backend. Arithmetic is rounded as
NumPy rounds it.
float32 exp, log and tanh are written out as polynomials (those of S. Moshier's Cephes library, within 1.3 units in the last place),
because a call of the C library in the loop would keep LLVM from computing eight entries at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab.compiler.emit import Group, Source, is_sum
from autolab.compiler.lower import Step, Value, samples
from autolab.rules.elementwise import keep

try:
    import numba
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic
except ImportError:
    raise ImportError(
        'torch.compile(backend="numba") needs numba, which is not installed: pip install "autolab-grad[numba]", or leave `backend` out.'
    ) from None

from autolab.compiler.direct import DIRECT  # needs numba, too

BLOCK = 1 << 12  # entries that are summed in float32 before the sum goes on in float64
ARITHMETIC = {
    np.add: "{} + {}", np.subtract: "{} - {}", np.multiply: "{} * {}", np.true_divide: "{} / {}", np.negative: "-{}",
    np.square: "{0} * {0}", np.reciprocal: "one / {}", np.absolute: "abs({})", np.sqrt: "sqrt({})",
    np.maximum: "{0} if {0} >= {1} or {0} != {0} else {1}", np.minimum: "{0} if {0} <= {1} or {0} != {0} else {1}",
}  # fmt: skip
COMPARISONS = {
    np.greater: "{} > {}", np.greater_equal: "{} >= {}", np.less: "{} < {}", np.less_equal: "{} <= {}",
    np.equal: "{} == {}", np.not_equal: "{} != {}",
}  # fmt: skip
LOGIC = {np.logical_and: "{} and {}", np.logical_or: "{} or {}", np.logical_not: "not {}"}
FLOAT32_ONLY = {np.exp: "exp({})", np.log: "log({})", np.tanh: "tanh({})"}
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
BOOL = np.dtype(bool)


class Machine(Group):
    """A group that is written as one loop."""

    way = "run as machine code"
    least = 1 << 12  # entries: below that a call of the loop costs as much as it saves

    @classmethod
    def quick(cls, step: Any) -> Any:
        """The step, or that which sums a convolution in registers."""
        direct = DIRECT.get(step.function) if isinstance(step, Step) else None
        if direct is None:
            return step
        direct(*samples(step.args), **samples(step.kwargs))  # compiled now, or read from disk
        made = Step(direct, step.args, step.kwargs, step.elementwise)
        made.outs, made.several = step.outs, step.several
        return made

    @classmethod
    def can(cls, step: Step) -> bool:
        return formula(step) is not None or is_sum(step)

    def write(self, to: Source, i: int) -> None:
        inner = {o for s in self.steps for o in s.outs if o is not None}
        outside = dict.fromkeys(v for s in self.steps for v in s.values() if v not in inner)
        names: dict[str, Any] = dict(FUNCTIONS)
        given, parts, body, samples = [], [], [], []  # arguments of the loop, their blocks, its lines, arguments to try it with
        for v in outside:
            if np.shape(v.sample) == self.shape:
                given.append((f"f_{v.name}", f"{to.speak(v)}.reshape(-1)"))
                parts.append(f"r_{v.name} = f_{v.name}[lo:hi]")
                body.append(f"{v.name} = r_{v.name}[i]")
                samples.append(np.ascontiguousarray(v.sample).reshape(-1))
            elif v.constant:
                names[v.name] = v.sample[()]
            else:
                given.append((v.name, f"{to.speak(v)}[()]"))
                samples.append(v.sample[()])
        sums: list[Value] = []
        for s in self.steps:
            out = s.outs[0]
            assert out is not None
            if is_sum(s):
                body.append(f"p_{out.name} = any_order(p_{out.name}, {s.args[0].name})")
                names[f"zero_{out.name}"] = out.sample.dtype.type(0)
                sums.append(out)
                continue
            body.append(f"{out.name} = {formula(s)}")
            if out in self.needed:
                self.whole(to, out)
                given.append((f"w_{out.name}", f"w_{out.name}"))
                parts.append(f"r_{out.name} = w_{out.name}[lo:hi]")
                body.append(f"r_{out.name}[i] = {out.name}")
                samples.append(np.empty(out.sample.size, out.sample.dtype))
        n = math.prod(self.shape)
        text = "\n".join([
            f"def loop({', '.join(name for name, _ in given)}):",
            *(f"    t_{v.name} = 0.0" for v in sums),
            f"    for lo in range(0, {n}, {BLOCK}):",
            *(f"        p_{v.name} = zero_{v.name}" for v in sums),
            f"        hi = min(lo + {BLOCK}, {n})",
            *(f"        {line}" for line in parts),
            "        for i in range(hi - lo):",  # from 0 on, or numba would look for negative indices
            *(f"            {line}" for line in body),
            *(f"        t_{v.name} += p_{v.name}" for v in sums),
            f"    return ({''.join(f't_{v.name}, ' for v in sums)})",
        ])  # fmt: skip
        place: dict[str, Any] = {}
        exec(compile(text, "<loop>", "exec"), names, place)
        loop = numba.njit(error_model="numpy")(place["loop"])
        loop(*samples)  # compiled now, and not in the middle of somebody's measurement
        name = to.bind(loop, "loop")
        to.texts.append(text.replace("def loop(", f"def {name}("))
        results = "".join(f"t_{v.name}, " for v in sums)
        to.lines.append(f"{results + '= ' if sums else ''}{name}({', '.join(place for _, place in given)})")
        for v in sums:
            to.lines.append(f"{v.name} = {to.bind(v.sample.dtype.type, v.sample.dtype.name)}(t_{v.name})")
        to.fused.append(self.steps)


def formula(step: Step) -> str | None:
    """A step as an expression on single entries; None if it is not one of those that are exactly NumPy's."""
    function, out, args = step.function, step.outs[0], step.args
    if out is None or step.several or step.kwargs or not all(isinstance(a, Value) for a in args):
        return None
    kind, kinds = out.sample.dtype, [a.sample.dtype for a in args]
    names = [a.name for a in args]
    if function is np.where and len(args) == 3:
        return "{1} if {0} else {2}".format(*names) if kinds[0] == BOOL and kinds[1] == kinds[2] == kind else None
    if function is keep.compute:
        return f"{names[0]} if {names[1]} else {kind.name}(0)" if kinds == [kind, BOOL] and kind in FLOATS else None
    if function in LOGIC or function in COMPARISONS:
        wanted = (BOOL,) if function in LOGIC else FLOATS
        same = kinds[0] in wanted and all(k == kinds[0] for k in kinds)
        return {**LOGIC, **COMPARISONS}[function].format(*names) if same else None
    if kind not in FLOATS or not any(k == kind for k in kinds) or any(k not in (kind, BOOL) for k in kinds):
        return None
    # a mask as a factor: its entries are the numbers 0 and 1
    names = [f"({kind.name}(1) if {n} else {kind.name}(0))" if k == BOOL else n for n, k in zip(names, kinds)]
    found = ARITHMETIC.get(function) or (FLOAT32_ONLY.get(function) if kind == FLOATS[0] else None)
    return found.replace("one", f"{kind.name}(1)").format(*names) if found else None


# -- float32 functions that LLVM can compute for eight entries at once ----------------------------------


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


FUNCTIONS = {"float32": np.float32, "float64": np.float64, "sqrt": math.sqrt, "exp": exp, "log": log, "tanh": tanh, "any_order": any_order}
