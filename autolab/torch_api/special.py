"""PyTorch's special functions. Their rows are loaded when the first of them is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from autolab.engine.apply import apply
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor
from autolab.torch_api.dims import require_tensor, whole
from autolab.torch_api.out import into
from autolab.torch_api.pointwise import NONE, operands

# name: (file of its row, numbers it takes beside tensors, what it is)
UNARY = {
    "erfc": ("error_functions", "1 - erf(input), exact where that is small."),
    "erfcx": ("error_functions", "exp(input**2) * erfc(input), which neither vanishes nor overflows for positive inputs."),
    "erfinv": ("error_functions", "Inverse of erf; nan outside of [-1, 1]."),
    "ndtr": ("error_functions", "The probability that a standard normal number is below the input."),
    "ndtri": ("error_functions", "Inverse of ndtr; nan outside of [0, 1]."),
    "log_ndtr": ("error_functions", "log(ndtr(input)), exact far to the left."),
    "entr": ("error_functions", "-input * log(input): 0 at 0, -inf below."),
    "lgamma": ("gamma", "Logarithm of the size of the gamma function."),
    "digamma": ("gamma", "Derivative of lgamma."),
    "i0": ("bessel", "Modified Bessel function of the first kind, order 0."),
    "i0e": ("bessel", "exp(-|input|) * i0(input)."),
    "i1": ("bessel", "Modified Bessel function of the first kind, order 1."),
    "i1e": ("bessel", "exp(-|input|) * i1(input)."),
    "airy_ai": ("bessel", "Airy's function Ai. It has no gradient."),
    "bessel_j0": ("bessel", "Bessel function of the first kind, order 0. It has no gradient."),
    "bessel_j1": ("bessel", "Bessel function of the first kind, order 1. It has no gradient."),
    "bessel_y0": ("bessel", "Bessel function of the second kind, order 0. It has no gradient."),
    "bessel_y1": ("bessel", "Bessel function of the second kind, order 1. It has no gradient."),
    "modified_bessel_i0": ("bessel", "Modified Bessel function of the first kind, order 0. It has no gradient; i0 has."),
    "modified_bessel_i1": ("bessel", "Modified Bessel function of the first kind, order 1. It has no gradient; i1 has."),
    "modified_bessel_k0": ("bessel", "Modified Bessel function of the second kind, order 0. It has no gradient."),
    "modified_bessel_k1": ("bessel", "Modified Bessel function of the second kind, order 1. It has no gradient."),
    "scaled_modified_bessel_k0": ("bessel", "exp(input) * modified_bessel_k0(input)."),
    "scaled_modified_bessel_k1": ("bessel", "exp(input) * modified_bessel_k1(input)."),
    "spherical_bessel_j0": ("bessel", "sin(input) / input, 1 at 0. It has no gradient."),
}
POLYNOMIALS = (
    "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
    "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u "
    "shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w"
).split()
BINARY = {
    "zeta": ("gamma", "either", "Hurwitz's zeta function: the sum of (other + k)**-input over k = 0, 1, 2 ..."),
    "igamma": ("gamma", "none", "The part of the gamma integral of order `input` below `other`, from 0 to 1."),
    "igammac": ("gamma", "none", "The part of the gamma integral of order `input` above `other`: 1 - igamma."),
    "xlog1py": ("smooth", "either", "input * log(1 + other), 0 where the input is 0."),
    **dict.fromkeys(POLYNOMIALS, ("polynomials", "either", "The orthogonal polynomial of degree `other` (n in PyTorch) at the input.")),
}

# What this module gives: functions of the package, methods of Tensor, methods that write in place. The others are in autolab.special.
FUNCTIONS = METHODS = "erfc erfinv lgamma digamma i0 igamma igammac polygamma"
IN_PLACE = "erfc erfinv lgamma digamma i0 igamma igammac polygamma"
OUT = "polygamma"


def _row(name: str, file: str) -> Op:
    """A row from a file that may not have been loaded yet."""
    return getattr(import_module(f"autolab.rules.{file}"), name)  # type: ignore[no-any-return]


def _unary(name: str, file: str, doc: str) -> Any:
    row: Any = None

    def function(input: Tensor, *, out: Any = None) -> Tensor:
        nonlocal row
        if out is not None:
            return into(out, function, input)  # type: ignore[no-any-return]
        row = row or _row(name, file)
        return row.run(require_tensor(input, name), settings=NONE)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} Entry by entry; result of the same shape."
    return function


def _binary(name: str, file: str, numbers: str, doc: str) -> Any:
    row: Any = None

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        nonlocal row
        if out is not None:
            return into(out, function, input, other)  # type: ignore[no-any-return]
        operands(name, input, other, numbers)
        row = row or _row(name, file)
        return apply(row, (input, other), NONE)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} Entry by entry; shapes broadcast."
    return function


globals().update({name: _unary(name, *what) for name, what in UNARY.items()})
globals().update({name: _binary(name, *what) for name, what in BINARY.items()})


def polygamma(n: Any, input: Any) -> Tensor:
    """The n-th derivative of digamma. As a method the tensor comes first: x.polygamma(n)."""
    n, input = (input, n) if isinstance(n, Tensor) else (n, input)
    if whole(n, "polygamma(): argument 'n'") < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n; it is {n}")
    return apply(_row("polygamma", "gamma"), (require_tensor(input, "polygamma", "input", 2),), {"n": n})  # type: ignore[no-any-return]
