"""More functions that work entry by entry: those that programs call less often."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor
from autolab.rules import arithmetic, calculus
from autolab.rules import elementwise as rows
from autolab.torch_api.dims import require_floats, require_tensor
from autolab.torch_api.named_results import named
from autolab.torch_api.node_names import rename_node
from autolab.torch_api.out import C_NAMES
from autolab.torch_api.pointwise import NONE, clamp, clone, operands, pow, to
from autolab.torch_api.public import public

frexp_result = named("frexp", "mantissa exponent", __name__)


@public(method=True, out=True)
def frexp(input: Tensor) -> Any:
    """Mantissa in [0.5, 1) and int32 exponent: input = mantissa * 2**exponent. Raises RuntimeError for integers.

    >>> mantissa, exponent = frexp(tensor([6., 0.5]))
    >>> mantissa, exponent
    (tensor([0.7500, 0.5000]), tensor([3, 0], dtype=torch.int32))
    """
    if require_tensor(input, "frexp").payload.dtype not in dtypes.FLOATING:
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes; this one is {input.dtype}")
    return frexp_result(*apply(arithmetic.frexp, (input,), NONE))


@public(method=True, inplace=True, out=True)
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number after the input in the direction of other. Entry by entry; shapes broadcast, dtypes promote.

    >>> (nextafter(tensor([1.]), tensor([2.])) - 1).item() == torch.finfo(torch.float32).eps
    True
    """
    operands("nextafter", input, other, "none")
    joined = dtypes.of(dtypes.result_type([input, other]))
    input, other = to(input, joined), to(other, joined)
    require_floats(input, "nextafter_cpu")
    return apply(arithmetic.nextafter, (input, other), NONE)


@public(method=True, inplace=True, out=True)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above 0, `values` at 0. Raises RuntimeError for different dtypes.

    >>> heaviside(tensor([-2., 0., 3.]), tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    require_tensor(values, "heaviside", "values", 2)
    if require_tensor(input, "heaviside").payload.dtype != values.payload.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return apply(arithmetic.heaviside, (input, values), NONE)


@public(method=True, inplace=True, out=True)
def sgn(input: Tensor) -> Tensor:
    """-1, 0 or 1, as `sign`.

    >>> sgn(tensor([-2., 0., 3.]))
    tensor([-1.,  0.,  1.])
    """
    if require_tensor(input, "sgn").payload.dtype == np.bool_:
        return clone(input)
    return apply(arithmetic.sgn, (input,), NONE)


@public(method=True)
def positive(input: Tensor) -> Tensor:
    """The input itself. Raises RuntimeError for bools.

    >>> +tensor([1., -2.])
    tensor([ 1., -2.])
    """
    if require_tensor(input, "positive").payload.dtype == np.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@public(method=True, inplace=True, out=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent, computed in float64 whatever the dtypes are. Shapes broadcast.

    >>> float_power(tensor([2, 3]), 0.5)
    tensor([1.4142, 1.7321], dtype=torch.float64)
    """
    operands("float_power", input, exponent)
    both = input, exponent
    whole = any(t.is_complex() if isinstance(t, Tensor) else isinstance(t, complex) for t in both)
    wanted = dtypes.complex128 if whole else dtypes.float64
    return pow(*[to(t, dtype=wanted) if isinstance(t, Tensor) else t * 1.0 for t in both])


@public()
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input. Shapes broadcast, dtypes promote.

    >>> rsub(tensor([1., 2.]), 10)
    tensor([9., 8.])
    """
    operands("rsub", input, other, "second")
    scaled = input if alpha == 1 else input * alpha
    result: Tensor = apply(rows.rsub, (scaled, other), NONE)
    if isinstance(other, Tensor):
        rename_node(result.edge, "RsubBackward0")
    return result


@public(method=True, inplace=True, out=True)
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """No less than min, a number or a tensor.

    The gradient is 1 where the input is kept, and 0 elsewhere.

    >>> clamp_min(tensor([-1., 2.]), 0)
    tensor([0., 2.])
    """
    return clamp(input, min)


@public(method=True, inplace=True, out=True)
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """No more than max, a number or a tensor.

    The gradient is 1 where the input is kept, and 0 elsewhere.

    >>> clamp_max(tensor([-1., 2.]), 0)
    tensor([-1.,  0.])
    """
    return clamp(input, None, max)


@public(method=True, inplace=True, out=True)
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """input + weight * (end - input); weight 0 gives the input, 1 the end. Shapes broadcast; one dtype for all.

    Raises NotImplementedError for integers, RuntimeError for different dtypes.

    >>> lerp(tensor([0., 10.]), tensor([1., 20.]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    require_tensor(input, "lerp")
    require_tensor(end, "lerp", "end", 2)
    for name, t in (("end", end), ("weight", weight)):
        if isinstance(t, Tensor) and t.payload.dtype != input.payload.dtype:
            expected, found = (C_NAMES.get(d.name, d.name) for d in (input.dtype, t.dtype))
            raise RuntimeError(f"expected dtype {expected} for `{name}` but got dtype {found}")
    if input.payload.dtype not in dtypes.INEXACT:
        raise NotImplementedError(f"\"lerp_kernel_scalar\" not implemented for '{input.dtype.title}'. Convert it first: t.float().")
    return apply(arithmetic.lerp, (input, end, weight), NONE)


@public(method=True, inplace=True, out=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(p / (1 - p)), the inverse of sigmoid. With eps the input is first limited to [eps, 1 - eps].

    >>> logit(tensor([0.5, 0.9, 1.]))
    tensor([0.0000, 2.1972,    inf])
    >>> logit(tensor([1.]), eps=0.1)
    tensor([2.1972])
    """
    return apply(calculus.logit, (require_tensor(input, "logit"),), {"eps": eps})


@public(method=True, inplace=True, out=True)
def nan_to_num(input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Numbers in place of nan (0) and infinities (the largest and the lowest number of the dtype).

    >>> nan_to_num(tensor([nan, 1.]))
    tensor([0., 1.])
    """
    settings = {"nan": 0.0 if nan is None else nan, "posinf": posinf, "neginf": neginf}
    return apply(arithmetic.nan_to_num, (require_tensor(input, "nan_to_num"),), settings)


@public()
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like the input, filled with one number (or a 0-d tensor).

    >>> fill(tensor([1., 2.]), 7)
    tensor([7., 7.])
    """
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"fill only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return apply(rows.fill, (require_tensor(input, "fill"), value), NONE)
