"""Functions that work entry by entry."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from autolab.engine import dtypes
from autolab.engine.apply import apply
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor, fresh
from autolab.rules import elementwise as rows
from autolab.surface.dims import require_tensor

NONE: dict[str, Any] = {}


def unary(name: str, row: Op, doc: str) -> Any:
    """PyTorch's function for a row of one input."""

    def first_time(input: Tensor, settings: dict[str, Any]) -> Tensor:
        nonlocal run
        result = row.run(require_tensor(input, name), settings=settings)
        run = row.run
        return result  # type: ignore[no-any-return]

    run: Any = first_time

    def function(input: Tensor) -> Tensor:
        return run(input, NONE)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} Entry by entry; result of the same shape."
    return function


def binary(name: str, row: Op, doc: str) -> Any:
    """PyTorch's function for a row of two inputs that broadcast."""

    def function(input: Any, other: Any) -> Tensor:
        if not isinstance(input, Tensor):
            require_tensor(other, name, "other", 2)
        elif not isinstance(other, Tensor | int | float | np.ndarray | np.generic):
            require_tensor(other, name, "other", 2)
        return apply(row, (input, other), NONE)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} Entry by entry; shapes broadcast, dtypes promote."
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
sign = unary("sign", rows.sign, "-1, 0 or 1.")
floor = unary("floor", rows.float_floor, "The largest integer not above.")
ceil = unary("ceil", rows.ceil, "The smallest integer not below.")
trunc = unary("trunc", rows.trunc, "The integer part.")
isnan = unary("isnan", rows.isnan, "Whether an entry is nan.")
isinf = unary("isinf", rows.isinf, "Whether an entry is infinite.")
isfinite = unary("isfinite", rows.isfinite, "Whether an entry is a finite number.")
logical_not = unary("logical_not", rows.logical_not, "Whether an entry is zero.")
bitwise_not = unary("bitwise_not", rows.bitwise_not, "Bitwise not of integers, logical not of bools.")

mul = binary("mul", rows.mul, "Product.")
maximum = binary("maximum", rows.maximum, "The larger of two; a tie shares the gradient.")
minimum = binary("minimum", rows.minimum, "The smaller of two; a tie shares the gradient.")
eq = binary("eq", rows.eq, "Whether equal.")
ne = binary("ne", rows.ne, "Whether different.")
lt = binary("lt", rows.lt, "Whether less.")
le = binary("le", rows.le, "Whether less or equal.")
gt = binary("gt", rows.gt, "Whether greater.")
ge = binary("ge", rows.ge, "Whether greater or equal.")
logical_and = binary("logical_and", rows.logical_and, "Whether both are nonzero.")
logical_or = binary("logical_or", rows.logical_or, "Whether one is nonzero.")
bitwise_and = binary("bitwise_and", rows.bitwise_and, "Bitwise and.")
bitwise_or = binary("bitwise_or", rows.bitwise_or, "Bitwise or.")
bitwise_xor = binary("bitwise_xor", rows.bitwise_xor, "Bitwise exclusive or.")
remainder = binary("remainder", rows.remainder, "input - other * floor(input / other): has the sign of other.")
floor_divide = binary("floor_divide", rows.floor_divide, "The quotient rounded down.")


def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other. Shapes broadcast, dtypes promote."""
    return apply(rows.add, (input, other if alpha == 1 else other * alpha), NONE)


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other. Shapes broadcast, dtypes promote."""
    return apply(rows.sub, (input, other if alpha == 1 else other * alpha), NONE)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other; with rounding_mode "floor" or "trunc" rounded to an integer. Integers give the default float."""
    if rounding_mode == "floor":
        return floor_divide(input, other)  # type: ignore[no-any-return]
    quotient = apply(rows.div, (input, other), NONE)
    if rounding_mode is None:
        return quotient
    if rounding_mode != "trunc":
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    return trunc(quotient)  # type: ignore[no-any-return]


def pow(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent: a number or a tensor, on either side. Raises RuntimeError for integers to negative powers."""
    if isinstance(exponent, Tensor | np.ndarray):
        return apply(rows.pow, (input, exponent), NONE)
    require_tensor(input, "pow")
    if isinstance(exponent, builtins.float) and input.payload.dtype not in dtypes.FLOATING:
        input = to(input, get_default())
    if isinstance(exponent, int) and exponent < 0 and input.payload.dtype not in dtypes.FLOATING:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return apply(rows.pow_scalar, (input,), {"exponent": exponent})  # type: ignore[no-any-return]


def get_default() -> dtypes.dtype:
    return dtypes.of(dtypes.default.floating)


def square(input: Tensor) -> Tensor:
    """input * input."""
    return pow(input, 2)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer (halves to even), or the nearest with so many decimals."""
    return apply(rows.round, (input,), {"decimals": decimals})  # type: ignore[no-any-return]


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit to [min, max]; the gradient is 1 within, ends included, and 0 outside. Bounds are numbers or tensors."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        out = input if min is None else where(input < min, as_operand(min, input), input)
        return out if max is None else where(out > max, as_operand(max, input), out)
    if input.payload.dtype not in dtypes.FLOATING and (isinstance(min, builtins.float) or isinstance(max, builtins.float)):
        input = to(input, get_default())
    return apply(rows.clamp, (input,), {"min": min, "max": max})  # type: ignore[no-any-return]


def as_operand(value: Any, like: Tensor) -> Tensor:
    """A number as a 0-d tensor beside `like`."""
    return value if isinstance(value, Tensor) else fresh(dtypes.cast(value, like.payload.dtype))


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, other elsewhere; all three broadcast. With a condition alone: its nonzero indices."""
    if input is None and other is None:
        return tuple(fresh(i) for i in np.nonzero(np.atleast_1d(condition.payload)))
    if condition.payload.dtype != np.bool_:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.title}")
    return apply(rows.where, (condition, input, other), NONE)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` where the boolean mask holds, the input elsewhere. The mask broadcasts; value is a number or a 0-d tensor."""
    if mask.payload.dtype != np.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.title}")
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
            )
        value = to(value, input.dtype)
    return apply(rows.masked_fill, (input, mask, value), NONE)


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own memory; gradients flow back through it."""
    return apply(rows.clone, (input,), NONE)  # type: ignore[no-any-return]


def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False) -> Tensor:
    """This tensor in another dtype, itself if it has it already. A device is accepted and means nothing: there is only the CPU."""
    for a in args:
        if isinstance(a, Tensor):
            dtype = a.dtype
        elif isinstance(a, dtypes.dtype) or a in (builtins.float, int, bool):
            dtype = a
    if dtype is None or dtypes.to_numpy(dtype) == self.payload.dtype:
        return clone(self) if copy else self
    return apply(rows.to, (self,), {"dtype": dtypes.to_numpy(dtype), "source": self.payload.dtype})  # type: ignore[no-any-return]


def astype(self: Tensor, dtype: Any) -> Tensor:
    """NumPy's word for `to`, for the engine."""
    return to(self, dtype=dtypes.of(np.dtype(dtype)))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere."""
    if input.payload.dtype != other.payload.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    a, b = (np.asarray(t.payload, np.float64) for t in (input, other))
    return builtins.bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same entries."""
    return input.shape == other.shape and builtins.bool(np.all(np.equal(input.payload, other.payload)))
