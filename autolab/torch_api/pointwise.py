"""Functions that work entry by entry."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.modes import modes
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import arithmetic
from autolab.rules import elementwise as rows
from autolab.rules.refuse import floats, floats_to_invert
from autolab.torch_api.device import require_cpu
from autolab.torch_api.dims import require_tensor, to_floats, whole
from autolab.torch_api.layout import CHANNELS_LAST
from autolab.torch_api.out import into
from autolab.transforms.batched import in_vmap
from autolab.transforms.level import created

# What this module gives: functions of the package, methods of Tensor, methods that write in place (with an underscore).
FUNCTIONS = (
    "abs add allclose bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clone cos div eq equal "
    "erf exp expm1 floor floor_divide ge gt isfinite isinf isnan le log log1p logical_and logical_not "
    "logical_or lt masked_fill maximum minimum mul ne neg pow reciprocal relu remainder round rsqrt "
    "sigmoid sign sin sqrt square sub tan tanh trunc where"
)
METHODS = (
    "abs add allclose astype bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clone cos div eq "
    "equal erf exp expm1 floor floor_divide ge gt isfinite isinf isnan le log log1p logical_and "
    "logical_not logical_or lt masked_fill maximum minimum mul ne neg pow reciprocal relu remainder round "
    "rsqrt sigmoid sign sin sqrt square sub tan tanh to trunc"
)
IN_PLACE = (
    "abs add ceil clamp div exp expm1 floor floor_divide log log1p masked_fill mul neg pow reciprocal "
    "relu remainder round rsqrt sigmoid sign sin cos sqrt square sub tan tanh trunc erf eq ne lt le gt ge logical_and logical_or "
    "logical_not bitwise_and bitwise_or bitwise_xor bitwise_not"
)
OUT = "add bitwise_not clamp div masked_fill pow round sign square sub where"  # and those of `unary`, `binary` and `bitwise`
ALIASES = {
    "absolute": "abs", "clip": "clamp", "multiply": "mul", "subtract": "sub",
    "divide": "div", "true_divide": "div", "negative": "neg", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le",
    "not_equal": "ne",
}  # fmt: skip

NONE: dict[str, Any] = {}


def unary(name: str, row: Op, doc: str) -> Any:
    """PyTorch's function for a row of one input."""

    def first_time(input: Tensor, settings: dict[str, Any]) -> Tensor:
        nonlocal run
        result = row.run(require_tensor(input, name), settings=settings)
        run = row.run
        return result  # type: ignore[no-any-return]

    run: Any = first_time

    def function(input: Tensor, *, out: Any = None) -> Tensor:
        return run(input, NONE) if out is None else into(out, function, input)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} Entry by entry; result of the same shape."
    return function


NUMBERS = (int, builtins.float, np.generic, np.ndarray)


def operands(name: str, input: Any, other: Any, numbers: str = "either") -> None:
    """Raise TypeError for what is no operand. `numbers`: whether "either", the "second" or "none" of them may be a number."""
    for position, (argument, value) in enumerate((("input", input), ("other", other)), 1):
        if isinstance(value, Tensor):
            continue
        if isinstance(value, NUMBERS) and (numbers == "either" or (numbers == "second" and position == 2)):
            continue
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}")
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")


def binary(name: str, row: Op, doc: str, numbers: str = "either") -> Any:
    """PyTorch's function for a row of two inputs that broadcast."""

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return into(out, function, input, other)  # type: ignore[no-any-return]
        operands(name, input, other, numbers)
        return apply(row, (input, other), NONE)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} Entry by entry; shapes broadcast, dtypes promote."
    return function


def bitwise(name: str, row: Op, doc: str, numbers: str = "either") -> Any:
    """PyTorch's function on the bits of integers and bools."""
    refuse = floats(f"{name}_cpu")

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return into(out, function, input, other)  # type: ignore[no-any-return]
        operands(name, input, other, numbers)
        if not builtins.max(getattr(input, "level", 0), getattr(other, "level", 0)):
            refuse(*(getattr(t, "payload", t) for t in (input, other)))
        return apply(row, (input, other), NONE)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} Integers and bools only. Entry by entry; shapes broadcast."
    return function


exp = unary("exp", rows.exp, "e to the power of the input.")
expm1 = unary("expm1", rows.expm1, "exp(input) - 1, exact for small inputs.")
log = unary("log", rows.log, "Natural logarithm; -inf at 0, nan below.")
log1p = unary("log1p", rows.log1p, "log(1 + input), exact for small inputs.")
sqrt = unary("sqrt", rows.sqrt, "Square root; its gradient at 0 is inf.")
rsqrt = unary("rsqrt", rows.rsqrt, "1 / sqrt(input).")
reciprocal = unary("reciprocal", rows.reciprocal, "1 / input.")
neg = unary("neg", rows.neg, "The input with its sign changed.")
sin = unary("sin", rows.sin, "Sine of radians.")
cos = unary("cos", rows.cos, "Cosine of radians.")
tan = unary("tan", rows.tan, "Tangent of radians.")
tanh = unary("tanh", rows.tanh, "Hyperbolic tangent.")
sigmoid = unary("sigmoid", rows.sigmoid, "1 / (1 + exp(-input)).")
relu = unary("relu", rows.relu, "max(input, 0); the gradient at 0 is 0.")
erf = unary("erf", rows.erf, "The error function.")
abs = unary("abs", rows.abs, "Absolute value; the gradient at 0 is 0.")
sign_of_number = unary("sign", rows.sign, "-1, 0 or 1.")


def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; a bool is its own sign. Entry by entry; result of the same shape."""
    if isinstance(input, Tensor) and input.payload.dtype == np.bool_:
        return clone(input)
    return sign_of_number(input)  # type: ignore[no-any-return]


floor = unary("floor", rows.float_floor, "The largest integer not above.")
ceil = unary("ceil", rows.ceil, "The smallest integer not below.")
trunc = unary("trunc", rows.trunc, "The integer part.")
isnan = unary("isnan", rows.isnan, "Whether an entry is nan.")
isinf = unary("isinf", rows.isinf, "Whether an entry is infinite.")
isfinite = unary("isfinite", rows.isfinite, "Whether an entry is a finite number.")
logical_not = unary("logical_not", rows.logical_not, "Whether an entry is zero.")


def bitwise_not(input: Tensor) -> Tensor:
    """Bitwise not of integers, logical not of bools. Raises TypeError for floats."""
    if not require_tensor(input, "bitwise_not").level:
        floats_to_invert(input.payload)
    return apply(rows.bitwise_not, (input,), NONE)  # type: ignore[no-any-return]


mul = binary("mul", rows.mul, "Product.")
maximum = binary("maximum", rows.maximum, "The larger of two; a tie shares the gradient.", "none")
minimum = binary("minimum", rows.minimum, "The smaller of two; a tie shares the gradient.", "none")
eq = binary("eq", rows.eq, "Whether equal.", "second")
ne = binary("ne", rows.ne, "Whether different.", "second")
lt = binary("lt", rows.lt, "Whether less.", "second")
le = binary("le", rows.le, "Whether less or equal.", "second")
gt = binary("gt", rows.gt, "Whether greater.", "second")
ge = binary("ge", rows.ge, "Whether greater or equal.", "second")
logical_and = binary("logical_and", rows.logical_and, "Whether both are nonzero.", "none")
logical_or = binary("logical_or", rows.logical_or, "Whether one is nonzero.", "none")
bitwise_and = bitwise("bitwise_and", rows.bitwise_and, "Bitwise and.")
bitwise_or = bitwise("bitwise_or", rows.bitwise_or, "Bitwise or.")
bitwise_xor = bitwise("bitwise_xor", rows.bitwise_xor, "Bitwise exclusive or.")
remainder = binary("remainder", rows.remainder, "input - other * floor(input / other): has the sign of other.")
floor_divide = binary("floor_divide", rows.floor_divide, "The quotient rounded down.")


def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other. Shapes broadcast, dtypes promote."""
    operands("add", input, other)
    return apply(rows.add, (input, other if alpha == 1 else other * alpha), NONE)  # type: ignore[no-any-return]


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other. Shapes broadcast, dtypes promote."""
    operands("sub", input, other)
    return apply(rows.sub, (input, other if alpha == 1 else other * alpha), NONE)  # type: ignore[no-any-return]


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other; integers give the default float. With rounding_mode "floor" or "trunc" an integer, of the operands' dtype."""
    operands("div", input, other)
    if rounding_mode is None:
        return apply(rows.div, (input, other), NONE)  # type: ignore[no-any-return]
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    row = rows.floor_divide if rounding_mode == "floor" else rows.trunc_divide
    return apply(row, (input, other), NONE)  # type: ignore[no-any-return]


def pow(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent: a number or a tensor, on either side. Raises RuntimeError for integers to negative powers."""
    if isinstance(exponent, Tensor | np.ndarray):
        return apply(rows.pow, (input, exponent), NONE)  # type: ignore[no-any-return]
    operands("pow", input, exponent)
    if isinstance(exponent, builtins.float):
        input = to_floats(input)
    elif input.payload.dtype == np.bool_:
        input = to(input, dtypes.int64)
    if isinstance(exponent, int) and exponent < 0 and input.payload.dtype not in dtypes.FLOATING:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return apply(rows.pow_scalar, (input,), {"exponent": exponent})  # type: ignore[no-any-return]


def square(input: Tensor) -> Tensor:
    """input * input."""
    return pow(input, 2)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer (halves to even), or the nearest with so many decimals."""
    require_tensor(input, "round")
    decimals = whole(decimals, "round(): argument 'decimals'")
    return apply(rows.round, (input,), {"decimals": decimals})  # type: ignore[no-any-return]


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit to [min, max]; the gradient is 1 within, ends included, and 0 outside. Bounds are numbers or tensors."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    require_tensor(input, "clamp")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        out = input if min is None else apply(arithmetic.clamp_min, (input, min), NONE)
        return out if max is None else apply(arithmetic.clamp_max, (out, max), NONE)  # type: ignore[no-any-return]
    if input.payload.dtype not in dtypes.FLOATING and (isinstance(min, builtins.float) or isinstance(max, builtins.float)):
        input = to_floats(input)
    return apply(rows.clamp, (input,), {"min": min, "max": max})  # type: ignore[no-any-return]


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, other elsewhere; all three broadcast. With a condition alone: its nonzero indices."""
    if input is None and other is None:
        if in_vmap(condition):
            raise RuntimeError(
                "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::where: the samples "
                "may differ in how many of their entries are not zero. Use where(condition, a, b)."
            )
        return tuple(new_tensor(i) for i in np.nonzero(np.atleast_1d(condition.payload)))
    for value in (input, other):
        if not isinstance(value, Tensor | int | builtins.float | np.generic):
            names = ", ".join(type(v).__name__ for v in (condition, input, other))
            raise TypeError(
                f"where() received an invalid combination of arguments - got ({names}), but expected (Tensor condition, "
                "Tensor or Number input, Tensor or Number other)"
            )
    if require_tensor(condition, "where", "condition").payload.dtype != np.bool_:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.title}")
    return apply(rows.where, (condition, input, other), NONE)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` where the boolean mask holds, the input elsewhere. The mask broadcasts; value is a number or a 0-d tensor."""
    require_tensor(mask, "masked_fill", "mask", 2)
    if isinstance(value, complex):
        raise RuntimeError(f"value cannot be converted to type {input.dtype.name} without overflow: {value} is complex")
    if not isinstance(value, Tensor | int | builtins.float | np.generic):
        raise TypeError(
            f"masked_fill() received an invalid combination of arguments - got (Tensor, {type(value).__name__}), but expected "
            "(Tensor mask, Tensor or Number value)"
        )
    if mask.payload.dtype != np.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.title}")
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
        value = to(value, input.dtype)
    elif input.payload.dtype not in dtypes.FLOATING:
        value = _fitting(value, input.dtype)
    return apply(rows.masked_fill, (input, mask, value), NONE)


def _fitting(value: Any, d: dtypes.dtype) -> Any:
    """A Python number for a tensor of integers or bools. Raises RuntimeError if the dtype cannot hold it."""
    if d is dtypes.bool_:
        return builtins.bool(value)
    limits = np.iinfo(d.numpy)
    if not limits.min <= value <= limits.max:
        c_type = "int64_t" if d is dtypes.int64 else f"{d.name}_t"
        raise RuntimeError(f"value cannot be converted to type {c_type} without overflow: {value} does not fit {d!r}")
    return int(value)


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own memory; gradients flow back through it. It keeps the order of memory, unless that is to be contiguous."""
    if memory_format is not None and repr(memory_format) in CHANNELS_LAST and in_vmap(input):
        raise RuntimeError(
            "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
            f"torch.contiguous_format (got {memory_format}): a sample's memory is part of the batch's."
        )
    settings = {"order": "C"} if repr(memory_format) == "torch.contiguous_format" else NONE
    copy = apply(rows.clone, (input,), settings)
    return created(copy) if modes.levels else copy  # type: ignore[no-any-return]


def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
       memory_format: Any = None) -> Tensor:  # fmt: skip
    """This tensor in another dtype, itself if it has it already.

    Called as to(dtype), to(device), to(device, dtype) or to(other). The only device is the CPU; others raise PyTorch's exception.
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
    if dtype is None or dtypes.to_numpy(dtype) == self.payload.dtype:
        return clone(self) if copy else self
    return apply(rows.to, (self,), {"dtype": dtypes.to_numpy(dtype), "source": self.payload.dtype})  # type: ignore[no-any-return]


def astype(self: Tensor, dtype: Any) -> Tensor:
    """NumPy's word for `to`, for the engine."""
    return to(self, dtype=dtypes.of(np.dtype(dtype)))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere."""
    require_tensor(input, "allclose")
    require_tensor(other, "allclose", "other", 2)
    if input.payload.dtype != other.payload.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    a, b = (np.asarray(t.payload, np.float64) for t in (input, other))
    return builtins.bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same entries."""
    require_tensor(input, "equal")
    require_tensor(other, "equal", "other", 2)
    if in_vmap(input) or in_vmap(other):
        raise RuntimeError("Batching rule not implemented for aten::equal: it answers for all samples at once. Use (a == b).all().")
    return input.shape == other.shape and builtins.bool(np.all(np.equal(input.payload, other.payload)))
