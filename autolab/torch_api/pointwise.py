"""Functions that work entry by entry."""

from __future__ import annotations

import builtins
import warnings
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.modes import modes
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor, new_tensor
from autolab.fast.first_calls import is_counted
from autolab.rules import arithmetic, calculus
from autolab.rules import elementwise as rows
from autolab.rules.input_checks import floats, floats_to_invert
from autolab.torch_api.complex_numbers import must_hold_complex, to_complex, without_imaginary_part
from autolab.torch_api.device import require_cpu
from autolab.torch_api.dims import BOOLS, INTEGERS, refuse, require_tensor, to_floats, whole
from autolab.torch_api.layout import CHANNELS_LAST
from autolab.torch_api.older_overloads import numbers_last
from autolab.torch_api.out import into
from autolab.torch_api.public import declare, example_of, method, public
from autolab.transforms.boxes import created, in_vmap

NONE: dict[str, Any] = {}


def unary(row: Op, doc: str, example: str, *, inplace: bool = True, **forms: Any) -> Any:
    """PyTorch's function for a row of one input: also a method, and in place unless told otherwise."""

    run: Any = None  # of the row, once it is written

    def function(input: Tensor, *, out: Any = None) -> Tensor:
        nonlocal run
        if out is not None:
            return into(out, function, input)
        if run is None:
            if is_counted(row.run):
                return row.run(input)
            run = row.run
        return run(input)

    doc = f"{doc} Entry by entry; result of the same shape.{example_of(row.name, example)}"
    return declare(function, row.name, doc, method=True, inplace=inplace, **forms)


NUMBERS = (*dtypes.NUMBERS, np.generic, np.ndarray)


def operands(name: str, input: Any, other: Any, numbers: str = "either") -> None:
    """Raise TypeError for what is not an operand. `numbers`: whether "either", the "second" or "none" of them may be a number."""
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        return
    for position, (argument, value) in enumerate((("input", input), ("other", other)), 1):
        if isinstance(value, Tensor):
            continue
        if isinstance(value, NUMBERS) and (numbers == "either" or (numbers == "second" and position == 2)):
            continue
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}")
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")


def binary(row: Op, doc: str, example: str, numbers: str = "either", *, inplace: bool = True, bits: bool = False, **forms: Any) -> Any:
    """PyTorch's function for a row of two inputs that broadcast: also a method, and in place unless told otherwise.

    bits: it is about the bits of integers and bools, and refuses floats.
    """
    name, refuse = row.name, floats(f"{row.name}_cpu") if bits else None

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return into(out, function, input, other)
        operands(name, input, other, numbers)
        if refuse is not None and not builtins.max(getattr(input, "level", 0), getattr(other, "level", 0)):
            refuse(*(getattr(t, "payload", t) for t in (input, other)))
        return row.run(input, other)

    how = "Integers and bools only. Entry by entry; shapes broadcast." if bits else "Entry by entry; shapes broadcast, dtypes promote."
    return declare(function, name, f"{doc} {how}{example_of(name, example)}", method=True, inplace=inplace, **forms)


exp = unary(rows.exp, "e to the power of the input.", "[0., 1.] -> [1.0000, 2.7183]")
expm1 = unary(rows.expm1, "exp(input) - 1, exact for small inputs.", "[1e-10] -> [1.0000e-10]")
log = unary(rows.log, "Natural logarithm; -inf at 0, nan below.", "[1., 0., -1.] -> [0., -inf, nan]")
log1p = unary(rows.log1p, "log(1 + input), exact for small inputs.", "[1e-10] -> [1.0000e-10]")
sqrt = unary(rows.sqrt, "Square root; its gradient at 0 is inf.", "[4., -1.] -> [2., nan]")
rsqrt = unary(rows.rsqrt, "1 / sqrt(input).", "[4., 0.] -> [0.5000,    inf]")
reciprocal = unary(rows.reciprocal, "1 / input.", "[4., 0.] -> [0.2500,    inf]")
neg = unary(rows.neg, "The input with its sign changed.", "[1., -2.] -> [-1.,  2.]", aliases="negative")
sin = unary(rows.sin, "Sine of radians.", "[0., pi / 2] -> [0., 1.]")
cos = unary(rows.cos, "Cosine of radians.", "[0., pi] -> [ 1., -1.]")
tan = unary(rows.tan, "Tangent of radians.", "[0., 1.] -> [0.0000, 1.5574]")
tanh = unary(rows.tanh, "Hyperbolic tangent.", "[-100., 0., 0.5] -> [-1.0000,  0.0000,  0.4621]")
sigmoid = unary(rows.sigmoid, "1 / (1 + exp(-input)).", "[0., 2.] -> [0.5000, 0.8808]")
relu = unary(rows.relu, "max(input, 0); the gradient at 0 is 0.", "[-1., 2.] -> [0., 2.]")
erf = unary(rows.erf, "The error function.", "[0., 1.] -> [0.0000, 0.8427]")
abs = unary(rows.abs, "Absolute value; the gradient at 0 is 0.", "[-1., 2.] -> [1., 2.]", aliases="absolute")
ceil = unary(rows.ceil, "The smallest integer not below.", "[-1.5, 1.5] -> [-1.,  2.]")
trunc = unary(rows.trunc, "The integer part.", "[-1.5, 1.5] -> [-1.,  1.]", aliases="fix")
isnan = unary(rows.isnan, "Whether an entry is nan.", "[1., nan] -> [False,  True]", inplace=False)
isinf = unary(rows.isinf, "Whether an entry is infinite.", "[-inf, nan] -> [ True, False]", inplace=False)
isfinite = unary(rows.isfinite, "Whether an entry is a finite number.", "[1., inf, nan] -> [ True, False, False]", inplace=False)
logical_not = unary(rows.logical_not, "Whether an entry is zero.", "[0., 2.] -> [ True, False]")
acos = unary(calculus.acos, "The angle whose cosine it is; nan outside of [-1, 1].", "[-1., 2.] -> [3.1416,    nan]", aliases="arccos")
acosh = unary(calculus.acosh, "Inverse of cosh; nan below 1.", "[1., 0.] -> [0., nan]", aliases="arccosh")
angle = unary(arithmetic.angle, "0 for positive numbers, pi for negative ones.", "[2., -2.] -> [0.0000, 3.1416]", inplace=False)
asin = unary(calculus.asin, "The angle whose sine it is; nan outside of [-1, 1].", "[1., 2.] -> [1.5708,    nan]", aliases="arcsin")
asinh = unary(calculus.asinh, "Inverse of sinh.", "[0., 1.] -> [0.0000, 0.8814]", aliases="arcsinh")
atan = unary(calculus.atan, "The angle whose tangent it is.", "[1., inf] -> [0.7854, 1.5708]", aliases="arctan")
atanh = unary(calculus.atanh, "Inverse of tanh; nan outside of [-1, 1].", "[0.5, 1., 2.] -> [0.5493,    inf,    nan]", aliases="arctanh")
cosh = unary(calculus.cosh, "Hyperbolic cosine.", "[0., 1.] -> [1.0000, 1.5431]")
deg2rad = unary(calculus.deg2rad, "Degrees as radians.", "[180., 1.] -> [3.1416, 0.0175]")
exp2 = unary(calculus.exp2, "2 to the power of the input.", "[3., -1.] -> [8.0000, 0.5000]")
frac = unary(arithmetic.frac, "What trunc leaves: input - trunc(input).", "[1.5, -1.5] -> [ 0.5000, -0.5000]")
log10 = unary(calculus.log10, "Logarithm to base 10.", "[1000., 2.] -> [3.0000, 0.3010]")
log2 = unary(calculus.log2, "Logarithm to base 2.", "[8., 3.] -> [3.0000, 1.5850]")
rad2deg = unary(calculus.rad2deg, "Radians as degrees.", "[pi, 1.] -> [180.0000,  57.2958]")
signbit = unary(
    arithmetic.signbit, "Whether the sign is minus, that of -0.0 included.", "[0., -0., -1.] -> [False,  True,  True]", inplace=False
)
sinc = unary(calculus.sinc, "sin(pi x) / (pi x), 1 at 0.", "[0., 0.5] -> [1.0000, 0.6366]")
sinh = unary(calculus.sinh, "Hyperbolic sine.", "[0., 1.] -> [0.0000, 1.1752]")

mul = binary(rows.mul, "Product.", "[1., 2.], 10 -> [10., 20.]", aliases="multiply")
maximum = binary(rows.maximum, "The larger of two; a tie shares the gradient.", "[1., 5.], [3., 2.] -> [3., 5.]", "none", inplace=False)
minimum = binary(rows.minimum, "The smaller of two; a tie shares the gradient.", "[1., 5.], [3., 2.] -> [1., 2.]", "none", inplace=False)
eq = binary(rows.eq, "Whether equal.", "[1, 2, 3], 2 -> [False,  True, False]", "second")
ne = binary(rows.ne, "Whether different.", "[1, 2, 3], 2 -> [ True, False,  True]", "second", aliases="not_equal")
lt = binary(rows.lt, "Whether less.", "[1, 2, 3], 2 -> [ True, False, False]", "second", aliases="less")
le = binary(rows.le, "Whether less or equal.", "[1, 2, 3], 2 -> [ True,  True, False]", "second", aliases="less_equal")
gt = binary(rows.gt, "Whether greater.", "[1, 2, 3], 2 -> [False, False,  True]", "second", aliases="greater")
ge = binary(rows.ge, "Whether greater or equal.", "[1, 2, 3], 2 -> [False,  True,  True]", "second", aliases="greater_equal")
logical_and = binary(rows.logical_and, "Whether both are nonzero.", "[0, 1, 2], [1, 0, 3] -> [False, False,  True]", "none")
logical_or = binary(rows.logical_or, "Whether one is nonzero.", "[0, 1, 0], [1, 0, 0] -> [ True,  True, False]", "none")
remainder = binary(rows.remainder, "input - other * floor(input / other): has the sign of other.", "[-7, 7], 3 -> [2, 1]")
floor_divide = binary(rows.floor_divide, "The quotient rounded down.", "[-7, 7], 2 -> [-4,  3]")
atan2 = binary(
    calculus.atan2,
    "The angle of the point (other, input), in (-pi, pi].",
    "[1., -1.], [0., -1.] -> [ 1.5708, -2.3562]",
    "none",
    aliases="arctan2",
)
copysign = binary(arithmetic.copysign, "The size of the input with the sign of other.", "[1., -2.], -3 -> [-1., -2.]", "second")
fmax = binary(
    arithmetic.fmax, "The larger of two; of a nan and a number the number.", "[1., nan], [2., 2.] -> [2., 2.]", "none", inplace=False
)
fmin = binary(
    arithmetic.fmin, "The smaller of two; of a nan and a number the number.", "[1., nan], [2., 2.] -> [1., 2.]", "none", inplace=False
)
fmod = binary(arithmetic.fmod, "input - other * trunc(input / other): has the sign of the input.", "[-7, 7], 3 -> [-1,  1]", "second")
hypot = binary(
    calculus.hypot,
    "The length of the vector (input, other), without overflow.",
    "[3., 3e30], [4., 4e30] -> [5.0000e+00, 5.0000e+30]",
    "none",
)
ldexp = binary(calculus.ldexp, "input * 2**other.", "[1., 3.], [4, -1] -> [16.0000,  1.5000]", "none")
logaddexp = binary(
    calculus.logaddexp, "log(exp(input) + exp(other)), without overflow.", "[1000.], [1000.] -> [1000.6932]", "none", inplace=False
)
logaddexp2 = binary(calculus.logaddexp2, "log2(2**input + 2**other), without overflow.", "[3.], [1.] -> [3.3219]", "none", inplace=False)
logical_xor = binary(arithmetic.logical_xor, "Whether exactly one is nonzero.", "[0, 1, 2], [1, 0, 3] -> [ True,  True, False]", "none")
xlogy = binary(calculus.xlogy, "input * log(other), 0 where the input is 0.", "[0., 2.], [0., 3.] -> [0.0000, 2.1972]")

bitwise_and = binary(rows.bitwise_and, "Bitwise and.", "[12], [10] -> [8]", bits=True)
bitwise_or = binary(rows.bitwise_or, "Bitwise or.", "[12], [10] -> [14]", bits=True)
bitwise_xor = binary(rows.bitwise_xor, "Bitwise exclusive or.", "[12], [10] -> [6]", bits=True)
bitwise_left_shift = binary(arithmetic.bitwise_left_shift, "input * 2**other, in bits.", "[1, 3], 2 -> [ 4, 12]", bits=True)
bitwise_right_shift = binary(arithmetic.bitwise_right_shift, "input / 2**other rounded down, in bits.", "[8, -3], 1 -> [ 4, -2]", bits=True)
gcd = binary(arithmetic.gcd, "Greatest common divisor.", "[12, 7], [18, 21] -> [6, 7]", "none", bits=True)
lcm = binary(arithmetic.lcm, "Least common multiple.", "[12, 7], [18, 21] -> [36, 21]", "none", bits=True)


@public(method=True, inplace=True, out=True)
def floor(input: Tensor) -> Tensor:
    """The largest integer not above. Entry by entry; result of the same shape.

    >>> floor(tensor([-1.5, 1.5]))
    tensor([-2.,  1.])
    """
    return rows.float_floor.run(require_tensor(input, "floor"))


@public(method=True, inplace=True, out=True)
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; a bool is its own sign. Entry by entry; result of the same shape.

    >>> sign(tensor([-2., 0., 3.]))
    tensor([-1.,  0.,  1.])
    """
    return clone(input) if require_tensor(input, "sign").payload.dtype == np.bool_ else apply(rows.sign, (input,), NONE)


@public(method=True, inplace=True, out=True)
def bitwise_not(input: Tensor) -> Tensor:
    """Bitwise not of integers, logical not of bools. Raises TypeError for floats.

    >>> bitwise_not(tensor([0, 5])), bitwise_not(tensor([True]))
    (tensor([-1, -6]), tensor([False]))
    """
    if not require_tensor(input, "bitwise_not").level:
        floats_to_invert(input.payload)
    return apply(rows.bitwise_not, (input,), NONE)


def scaled(input: Any, other: Any, alpha: Any) -> Any:
    """alpha * other, to be added to input. Raises RuntimeError for an alpha that their dtype does not hold."""
    kind = type(alpha)
    if kind is builtins.bool or (kind is builtins.float and not (isinstance(input, Tensor) and input.payload.dtype in dtypes.INEXACT)):
        found = dtypes.result_type([getattr(t, "payload", t) for t in (input, other)])
        if kind is builtins.bool and found != np.bool_:
            raise RuntimeError("Boolean alpha only supported for Boolean results. Write alpha=1.")
        if kind is builtins.float and found not in dtypes.INEXACT:
            raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number. Convert one with .float().")
    return other if alpha == 1 else other * alpha


@public(method=True, inplace=True, out=True)
def add(input: Any, other: Any, *older: Any, alpha: Any = 1) -> Tensor:
    """input + alpha * other. Shapes broadcast, dtypes promote.

    >>> add(tensor([1., 2.]), 10, alpha=2)
    tensor([21., 22.])
    """
    if older:
        (input, other), (alpha,) = numbers_last("add", (input, other, *older), 2, "add(input, other, *, alpha=1)")
    operands("add", input, other)
    return rows.add.run(input, other if type(alpha) is int and alpha == 1 else scaled(input, other, alpha))


@public(method=True, inplace=True, out=True, aliases="subtract")
def sub(input: Any, other: Any, *older: Any, alpha: Any = 1) -> Tensor:
    """input - alpha * other. Shapes broadcast, dtypes promote.

    >>> sub(tensor([1., 2.]), 10, alpha=2)
    tensor([-19., -18.])
    """
    if older:
        (input, other), (alpha,) = numbers_last("sub", (input, other, *older), 2, "sub(input, other, *, alpha=1)")
    operands("sub", input, other)
    return rows.sub.run(input, other if type(alpha) is int and alpha == 1 else scaled(input, other, alpha))


@public(method=True, inplace=True, out=True, aliases="divide true_divide")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other; integers give the default float. With rounding_mode "floor" or "trunc" an integer, of the operands' dtype.

    Raises RuntimeError for another rounding_mode.

    >>> div(tensor([7, -7]), 2, rounding_mode="floor")
    tensor([ 3, -4])
    """
    operands("div", input, other)
    if rounding_mode is None:
        return apply(rows.div, (input, other), NONE)
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    row = rows.floor_divide if rounding_mode == "floor" else rows.trunc_divide
    return apply(row, (input, other), NONE)


@public(method=True, inplace=True, out=True)
def pow(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent: a number or a tensor, on either side. Raises RuntimeError for integers to negative powers.

    >>> pow(tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    if isinstance(exponent, Tensor | np.ndarray) or (isinstance(exponent, complex) and not isinstance(exponent, builtins.float)):
        return apply(rows.pow, (input, exponent), NONE)
    operands("pow", input, exponent)
    if isinstance(exponent, builtins.float):
        input = to_floats(input)
    elif input.payload.dtype == np.bool_:
        if isinstance(exponent, bool):
            return clone(input) if exponent else apply(rows.fill, (input, True), NONE)
        input = to(input, dtypes.int64)
    if isinstance(exponent, int) and exponent < 0 and input.payload.dtype not in dtypes.INEXACT:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return apply(rows.pow_scalar, (input,), {"exponent": exponent})


@public(method=True, inplace=True, out=True)
def square(input: Tensor) -> Tensor:
    """input * input; its gradient is 2 * input. Entry by entry; result of the same shape.

    >>> square(tensor([-2., 3.]))
    tensor([4., 9.])
    """
    return pow(require_tensor(input, "square"), 2)


@public(method=True, inplace=True, out=True)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer (halves to even), or the nearest with so many decimals.

    >>> round(tensor([0.5, 1.5, 2.25]), decimals=1)
    tensor([0.5000, 1.5000, 2.2000])
    """
    require_tensor(input, "round")
    decimals = whole(decimals, "round(): argument 'decimals'")
    refuse(input, "round_cpu" if decimals else "round_vml_cpu", INTEGERS if decimals else BOOLS)
    return apply(rows.round, (input,), {"decimals": decimals})


@public(method=True, inplace=True, out=True, aliases="clip")
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit to [min, max]; the gradient is 1 within, ends included, and 0 outside. Bounds are numbers or tensors.

    Raises RuntimeError without any bound.

    >>> clamp(tensor([-2., 0.5, 3.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if require_tensor(input, "clamp").payload.dtype == np.bool_:
        refuse_bools_to_clamp(input, min, max)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        out = input if min is None else apply(arithmetic.clamp_min, (input, min), NONE)
        return out if max is None else apply(arithmetic.clamp_max, (out, max), NONE)
    if input.payload.dtype not in dtypes.FLOATING and (isinstance(min, builtins.float) or isinstance(max, builtins.float)):
        input = to_floats(input)
    return apply(rows.clamp, (input,), {"min": min, "max": max})


def refuse_bools_to_clamp(input: Tensor, min: Any, max: Any) -> None:
    """Bools may be clamped by tensors, and by floats, which make them floats."""
    bounds = [b for b in (min, max) if b is not None]
    if not any(isinstance(b, Tensor) for b in bounds) and dtypes.result_type([input.payload, *bounds]) == np.bool_:
        kernel = "clamp_cpu" if len(bounds) == 2 else "clamp_max_scalar_cpu" if min is None else "clamp_min_scalar_cpu"
        refuse(input, kernel, BOOLS)


@public(out=True)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, other elsewhere; all three broadcast. With a condition alone: its nonzero indices.

    Raises RuntimeError for a condition that is not bool.

    >>> where(tensor([True, False]), tensor([1., 2.]), 0.)
    tensor([1., 0.])
    """
    if input is None and other is None:
        if in_vmap(condition):
            raise RuntimeError(
                "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::where: the samples "
                "may differ in how many of their entries are not zero. Use where(condition, a, b)."
            )
        return tuple(new_tensor(dtypes.as_places(i)) for i in np.nonzero(np.atleast_1d(condition.payload)))
    for value in (input, other):
        if not isinstance(value, (Tensor, *dtypes.NUMBERS, np.generic)):
            names = ", ".join(type(v).__name__ for v in (condition, input, other))
            raise TypeError(
                f"where() received an invalid combination of arguments - got ({names}), but expected (Tensor condition, "
                "Tensor or Number input, Tensor or Number other)"
            )
    if require_tensor(condition, "where", "condition").payload.dtype == np.uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of PyTorch. "
            "Use a boolean condition instead.",
            stacklevel=3,
        )
        condition = condition != 0
    if condition.payload.dtype != np.bool_:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.title}")
    return apply(rows.where, (condition, input, other), NONE)


@public(method=True, inplace=True, out=True)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` where the boolean mask holds, the input elsewhere. The mask broadcasts; value is a number or a 0-d tensor.

    Raises RuntimeError for a mask that is not bool, and for a value that the dtype cannot hold.

    >>> masked_fill(tensor([1., 2.]), tensor([True, False]), 0)
    tensor([0., 2.])
    """
    require_tensor(mask, "masked_fill", "mask", 2)
    if isinstance(value, complex):
        must_hold_complex(input, value)
    if not isinstance(value, (Tensor, *dtypes.NUMBERS, np.generic)):
        raise TypeError(
            f"masked_fill() received an invalid combination of arguments - got (Tensor, {type(value).__name__}), but expected "
            "(Tensor mask, Tensor or Number value)"
        )
    if mask.payload.dtype != np.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {dtypes.c_name(mask.dtype)}")
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
        if value.payload.dtype in dtypes.COMPLEX and not value.level and input.dtype is not dtypes.bool_:
            must_hold_complex(input, value.item())
        value = to(value, input.dtype)
    else:
        value = dtypes.fitting(value, input.payload.dtype)
    return apply(rows.masked_fill, (input, mask, value), NONE)


@public(method=True)
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own memory; gradients flow back through it. It keeps the order of memory, unless a contiguous one is asked for.

    >>> x = tensor([1., 2.])
    >>> y = clone(x)
    >>> x.data_ptr() == y.data_ptr()
    False
    """
    if memory_format is not None and repr(memory_format) in CHANNELS_LAST and in_vmap(input):
        raise RuntimeError(
            "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
            f"torch.contiguous_format (got {memory_format}): a sample's memory is part of the batch's."
        )
    settings = {"order": "C"} if repr(memory_format) == "torch.contiguous_format" else NONE
    copy = apply(rows.clone, (input,), settings)
    return created(copy) if modes.levels else copy


@method
def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
       memory_format: Any = None) -> Tensor:  # fmt: skip
    """This tensor in another dtype, itself if it has it already.

    Called as to(dtype), to(device), to(device, dtype) or to(other). The only device is the CPU; others raise PyTorch's exception.
    Gradients flow back, in the dtype that they came from.

    >>> tensor([1.9, -1.9]).to(torch.int64)
    tensor([ 1, -1])
    """
    bools = [a for a in args if isinstance(a, bool)]  # non_blocking and copy
    copy = copy or (len(bools) > 1 and bools[1])
    for a in args:
        if isinstance(a, Tensor):
            dtype = a.dtype
        elif isinstance(a, dtypes.dtype | type):
            dtype = a
        elif not isinstance(a, bool):
            device = a
    if device is not None:
        require_cpu(device)
    if dtype is None or (wanted := dtypes.to_numpy(dtype)) == self.payload.dtype:
        return clone(self) if copy else self
    if self.payload.dtype in dtypes.COMPLEX and wanted not in dtypes.COMPLEX and wanted != np.bool_:
        self = without_imaginary_part(self)
    row = to_complex if wanted in dtypes.COMPLEX else rows.to
    return apply(row, (self,), {"dtype": wanted, "source": self.payload.dtype})


@method
def astype(self: Tensor, dtype: Any) -> Tensor:
    """NumPy's word for `to`, for the engine.

    >>> tensor([1, 2]).astype("float32")
    tensor([1., 2.])
    """
    return to(self, dtype=dtypes.of(np.dtype(dtype)))
