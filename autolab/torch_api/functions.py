"""Functions that work entry by entry, continued: calculus, remainders, choices, bits, and what is made of several of them."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import arithmetic, smooth
from autolab.rules import elementwise as rows
from autolab.torch_api import pointwise as p
from autolab.torch_api.dims import require_floats, require_tensor, to_floats
from autolab.torch_api.inplace import rename_node
from autolab.torch_api.named_results import named
from autolab.torch_api.out import C_NAMES
from autolab.torch_api.pointwise import NONE, binary, unary

UNARY: dict[str, tuple[Op, str]] = {
    "acos": (smooth.acos, "The angle whose cosine it is; nan outside of [-1, 1]."),
    "acosh": (smooth.acosh, "Inverse of cosh; nan below 1."),
    "angle": (arithmetic.angle, "0 for positive numbers, pi for negative ones."),
    "asin": (smooth.asin, "The angle whose sine it is; nan outside of [-1, 1]."),
    "asinh": (smooth.asinh, "Inverse of sinh."),
    "atan": (smooth.atan, "The angle whose tangent it is."),
    "atanh": (smooth.atanh, "Inverse of tanh; nan outside of [-1, 1]."),
    "cosh": (smooth.cosh, "Hyperbolic cosine."),
    "deg2rad": (smooth.deg2rad, "Degrees as radians."),
    "exp2": (smooth.exp2, "2 to the power of the input."),
    "frac": (arithmetic.frac, "What trunc leaves: input - trunc(input)."),
    "log10": (smooth.log10, "Logarithm to base 10."),
    "log2": (smooth.log2, "Logarithm to base 2."),
    "rad2deg": (smooth.rad2deg, "Radians as degrees."),
    "signbit": (arithmetic.signbit, "Whether the sign is minus, that of -0.0 included."),
    "sinc": (smooth.sinc, "sin(pi x) / (pi x), 1 at 0."),
    "sinh": (smooth.sinh, "Hyperbolic sine."),
}
BINARY: dict[str, tuple[Op, str, str]] = {
    "atan2": (smooth.atan2, "The angle of the point (other, input), in (-pi, pi].", "none"),
    "copysign": (arithmetic.copysign, "The size of the input with the sign of other.", "second"),
    "fmax": (arithmetic.fmax, "The larger of two; of a nan and a number the number.", "none"),
    "fmin": (arithmetic.fmin, "The smaller of two; of a nan and a number the number.", "none"),
    "fmod": (arithmetic.fmod, "input - other * trunc(input / other): has the sign of the input.", "second"),
    "hypot": (smooth.hypot, "The length of the vector (input, other), without overflow.", "none"),
    "ldexp": (smooth.ldexp, "input * 2**other.", "none"),
    "logaddexp": (smooth.logaddexp, "log(exp(input) + exp(other)), without overflow.", "none"),
    "logaddexp2": (smooth.logaddexp2, "log2(2**input + 2**other), without overflow.", "none"),
    "logical_xor": (arithmetic.logical_xor, "Whether exactly one is nonzero.", "none"),
    "xlogy": (smooth.xlogy, "input * log(other), 0 where the input is 0.", "either"),
}
BITWISE: dict[str, tuple[Op, str, str]] = {
    "bitwise_left_shift": (arithmetic.bitwise_left_shift, "input * 2**other, in bits.", "either"),
    "bitwise_right_shift": (arithmetic.bitwise_right_shift, "input / 2**other rounded down, in bits.", "either"),
    "gcd": (arithmetic.gcd, "Greatest common divisor.", "none"),
    "lcm": (arithmetic.lcm, "Least common multiple.", "none"),
}
globals().update({name: p.bitwise(name, row, doc, numbers) for name, (row, doc, numbers) in BITWISE.items()})
globals().update({name: unary(name, row, doc) for name, (row, doc) in UNARY.items()})
globals().update({name: binary(name, row, doc, numbers) for name, (row, doc, numbers) in BINARY.items()})

# What this module gives: functions of the package, methods of Tensor, methods that write in place (with an underscore), and
# functions that take `out=` (those of the tables above have it).
COMPOSED = (
    "addcdiv addcmul conj_physical clamp_max clamp_min float_power frexp isclose heaviside isneginf isposinf isreal lerp logit "
    "mvlgamma nan_to_num nextafter positive real sgn"
)
FACTS = "conj imag is_complex is_floating_point is_nonzero is_conj is_neg resolve_conj resolve_neg"
FUNCTIONS = " ".join([*UNARY, *BINARY, *BITWISE, COMPOSED, FACTS, "fill rsub"])
METHODS = " ".join([*UNARY, *BINARY, *BITWISE, COMPOSED, FACTS]).replace(" real ", " ").replace(" imag ", " ")  # those are properties
NOT_IN_PLACE = "angle signbit fmax fmin logaddexp logaddexp2".split()
IN_PLACE = " ".join(
    [*(name for name in (*UNARY, *BINARY, *BITWISE) if name not in NOT_IN_PLACE),
     "addcdiv addcmul clamp_max clamp_min conj_physical float_power heaviside lerp logit mvlgamma nan_to_num nextafter sgn"]
)  # fmt: skip
OUT = "addcdiv addcmul clamp_max clamp_min conj_physical float_power frexp heaviside isneginf isposinf lerp logit nan_to_num nextafter sgn"
ALIASES = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "fix": "trunc",
}  # fmt: skip
fix = p.trunc


frexp_result = named("frexp", "mantissa exponent", __name__)


def frexp(input: Tensor) -> Any:
    """Mantissa in [0.5, 1) and int32 exponent: input = mantissa * 2**exponent."""
    if require_tensor(input, "frexp").payload.dtype not in dtypes.FLOATING:
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes; this one is {input.dtype}")
    return frexp_result(*apply(arithmetic.frexp, (input,), NONE))


def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number after the input in the direction of other. Entry by entry; shapes broadcast, dtypes promote."""
    p.operands("nextafter", input, other, "none")
    joined = dtypes.of(dtypes.result_type([input, other]))
    input, other = p.to(input, joined), p.to(other, joined)
    require_floats(input, "nextafter_cpu")
    return apply(arithmetic.nextafter, (input, other), NONE)  # type: ignore[no-any-return]


def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above 0, `values` at 0. Raises RuntimeError for different dtypes."""
    require_tensor(values, "heaviside", "values", 2)
    if require_tensor(input, "heaviside").payload.dtype != values.payload.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return apply(arithmetic.heaviside, (input, values), NONE)  # type: ignore[no-any-return]


def sgn(input: Tensor) -> Tensor:
    """-1, 0 or 1, as `sign`."""
    if require_tensor(input, "sgn").payload.dtype == np.bool_:
        return p.clone(input)
    return apply(arithmetic.sgn, (input,), NONE)  # type: ignore[no-any-return]


def positive(input: Tensor) -> Tensor:
    """The input itself. Raises RuntimeError for bools."""
    if require_tensor(input, "positive").payload.dtype == np.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def _itself(name: str) -> Any:
    def function(input: Tensor) -> Tensor:
        return require_tensor(input, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The input itself: all numbers here are real."
    return function


real, conj, conj_physical, resolve_conj, resolve_neg = map(_itself, "real conj conj_physical resolve_conj resolve_neg".split())


def imag(input: Tensor) -> Tensor:
    """Raises RuntimeError: all numbers here are real."""
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes. autolab has no complex numbers.")


def is_complex(input: Tensor) -> bool:
    """False: all numbers here are real."""
    require_tensor(input, "is_complex")
    return False


def is_conj(input: Tensor) -> bool:
    """False: nothing here is stored conjugated."""
    return is_complex(input)


def is_neg(input: Tensor) -> bool:
    """False: nothing here is stored negated."""
    return is_complex(input)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is one of floating point."""
    return require_tensor(input, "is_floating_point").payload.dtype in dtypes.FLOATING


def is_nonzero(input: Tensor) -> bool:
    """Whether the one entry is not zero. Raises RuntimeError for more entries or none."""
    return builtins.bool(require_tensor(input, "is_nonzero"))


def isreal(input: Tensor) -> Tensor:
    """True everywhere: all numbers here are real."""
    return new_tensor(np.ones(require_tensor(input, "isreal").payload.shape, bool)[()])


def isposinf(input: Tensor) -> Tensor:
    """Whether an entry is inf."""
    return require_tensor(input, "isposinf") == math.inf


def isneginf(input: Tensor) -> Tensor:
    """Whether an entry is -inf."""
    return require_tensor(input, "isneginf") == -math.inf


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|, entry by entry; equal infinities are close."""
    require_tensor(input, "isclose")
    require_tensor(other, "isclose", "other", 2)
    if input.payload.dtype != other.payload.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    a, b = input.detach(), other.detach()  # type: ignore[attr-defined]
    close = p.eq(a, b)
    if equal_nan:
        close = p.bitwise_or(close, p.bitwise_and(p.ne(a, a), p.ne(b, b)))
    if a.payload.dtype == np.bool_:
        return close  # type: ignore[no-any-return]
    if a.payload.dtype not in dtypes.FLOATING:
        a, b = a.to(dtypes.float64), b.to(dtypes.float64)  # type: ignore[attr-defined]
    apart = p.abs(a - b)  # type: ignore[operator]
    return p.bitwise_or(close, p.bitwise_and(p.isfinite(apart), p.le(apart, p.abs(b * rtol) + atol)))  # type: ignore[no-any-return]


def float_power(input: Any, exponent: Any) -> Tensor:
    """`pow` in float64."""
    p.operands("float_power", input, exponent)
    wide = [p.to(t, dtypes.float64) if isinstance(t, Tensor) else builtins.float(t) for t in (input, exponent)]
    return p.pow(*wide)


def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input."""
    p.operands("rsub", input, other, "second")
    scaled = input if alpha == 1 else input * alpha  # type: ignore[operator]
    result: Tensor = apply(rows.rsub, (scaled, other), NONE)
    if isinstance(other, Tensor):
        rename_node(result.edge, "RsubBackward0")
    return result


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """No less than min, a number or a tensor."""
    return p.clamp(input, min)


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """No more than max, a number or a tensor."""
    return p.clamp(input, None, max)


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """input + weight * (end - input); weight 0 gives the input, 1 the end. Shapes broadcast; one dtype for all."""
    require_tensor(input, "lerp")
    require_tensor(end, "lerp", "end", 2)
    for name, t in (("end", end), ("weight", weight)):
        if isinstance(t, Tensor) and t.payload.dtype != input.payload.dtype:
            expected, found = (C_NAMES.get(d.name, d.name) for d in (input.dtype, t.dtype))
            raise RuntimeError(f"expected dtype {expected} for `{name}` but got dtype {found}")
    if input.payload.dtype not in dtypes.FLOATING:
        raise NotImplementedError(f"\"lerp_kernel_scalar\" not implemented for '{input.dtype.title}'. Convert it first: t.float().")
    return apply(arithmetic.lerp, (input, end, weight), NONE)  # type: ignore[no-any-return]


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    return _fused(arithmetic.addcmul, input, tensor1, tensor2, value)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2. Raises RuntimeError for a quotient of integers."""
    return _fused(arithmetic.addcdiv, input, tensor1, tensor2, value)


def _fused(row: Op, input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    for position, (name, t) in enumerate((("input", input), ("tensor1", tensor1), ("tensor2", tensor2)), 1):
        require_tensor(t, row.name, name, position)
    return apply(row, (input, tensor1, tensor2), {"value": value})  # type: ignore[no-any-return]


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(p / (1 - p)), the inverse of sigmoid. With eps the input is first limited to [eps, 1 - eps]."""
    return apply(smooth.logit, (require_tensor(input, "logit"),), {"eps": eps})  # type: ignore[no-any-return]


def nan_to_num(input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Numbers in place of nan (0) and infinities (the largest and the lowest number of the dtype)."""
    settings = {"nan": 0.0 if nan is None else nan, "posinf": posinf, "neginf": neginf}
    return apply(arithmetic.nan_to_num, (require_tensor(input, "nan_to_num"),), settings)  # type: ignore[no-any-return]


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like the input, filled with one number (or a 0-d tensor)."""
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"fill only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return apply(rows.fill, (require_tensor(input, "fill"), value), NONE)  # type: ignore[no-any-return]


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the p-dimensional gamma function: a sum of lgamma at input, input - 1/2, ..., (p of them)."""
    from autolab.torch_api.special import lgamma

    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = to_floats(require_tensor(input, "mvlgamma"))
    total: Any = p * (p - 1) / 4 * math.log(math.pi)
    for j in range(p):
        total = lgamma(x - j / 2) + total  # type: ignore[operator]
    return total  # type: ignore[no-any-return]
