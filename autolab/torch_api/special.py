"""PyTorch's special functions. Their rows are loaded when the first of them is called."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from autolab.engine.apply import apply
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor
from autolab.rules.input_checks import halves
from autolab.torch_api.dims import require_tensor, to_floats, whole
from autolab.torch_api.out import into
from autolab.torch_api.pointwise import NONE, operands
from autolab.torch_api.public import entitle, example_of, public

# PyTorch's kernels for these do not take float16 and bfloat16.
NO_HALVES = set(
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 erfcx log_ndtr modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 "
    "modified_bessel_k1 ndtri scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 zeta".split()
)


def _row(name: str, file: str) -> Op:
    """A row from a file that may not have been loaded yet."""
    row: Op = getattr(import_module(f"autolab.rules.{file}"), name)
    if name in NO_HALVES or file == "polynomials":
        row.check = row.check or halves(f"{name}_cpu")
    return row


def _example_of(name: str, example: str, package: bool) -> str:
    """The example as a program calls it: most names are in `torch.special` only."""
    return example_of(name if package else f"torch.special.{name}", example)


def _unary(name: str, file: str, doc: str, example: str, package: bool = False) -> Any:
    row: Any = None

    def function(input: Tensor, *, out: Any = None) -> Tensor:
        nonlocal row
        if out is not None:
            return into(out, function, input)
        row = row or _row(name, file)
        return row.run(require_tensor(input, name), settings=NONE)

    entitle(function, name, f"{doc} Entry by entry; result of the same shape.{_example_of(name, example, package)}")
    return public(method=True, inplace=True)(function) if package else function


def _binary(name: str, file: str, doc: str, example: str, numbers: str = "either", package: bool = False) -> Any:
    row: Any = None

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        nonlocal row
        if out is not None:
            return into(out, function, input, other)
        operands(name, input, other, numbers)
        row = row or _row(name, file)
        return apply(row, (input, other), NONE)

    entitle(function, name, f"{doc} Entry by entry; shapes broadcast.{_example_of(name, example, package)}")
    return public(method=True, inplace=True)(function) if package else function


def _polynomial(name: str, doc: str, example: str) -> Any:
    return _binary(name, "polynomials", f"{doc} The degree is `other` (n in PyTorch), the input is x.", example)


erfc = _unary("erfc", "error_functions", "1 - erf(input), exact where that is small.", "[0., 5.] -> [1.0000e+00, 1.5375e-12]", package=True)
erfcx = _unary(
    "erfcx",
    "error_functions",
    "exp(input**2) * erfc(input), which neither vanishes nor overflows for positive inputs.",
    "[0., 100.] -> [1.0000, 0.0056]",
)
erfinv = _unary(
    "erfinv", "error_functions", "Inverse of erf; nan outside of [-1, 1].", "[0., 0.5, 2.] -> [0.0000, 0.4769,    nan]", package=True
)
ndtr = _unary(
    "ndtr", "error_functions", "The probability that a standard normal number is below the input.", "[0., 1.96] -> [0.5000, 0.9750]"
)
ndtri = _unary("ndtri", "error_functions", "Inverse of ndtr; nan outside of [0, 1].", "[0.5, 0.975] -> [0.0000, 1.9600]")
log_ndtr = _unary("log_ndtr", "error_functions", "log(ndtr(input)), exact far to the left.", "[0., -20.] -> [  -0.6931, -203.9172]")
entr = _unary("entr", "error_functions", "-input * log(input): 0 at 0, -inf below.", "[0., 0.5, -1.] -> [0.0000, 0.3466,   -inf]")
lgamma = _unary("lgamma", "gamma", "Logarithm of the size of the gamma function.", "[0.5, 5.] -> [0.5724, 3.1781]", package=True)
digamma = _unary("digamma", "gamma", "Derivative of lgamma.", "[1., 2.] -> [-0.5772,  0.4228]", package=True)
i0 = _unary("i0", "bessel", "Modified Bessel function of the first kind, order 0.", "[0., 1.] -> [1.0000, 1.2661]", package=True)
i0e = _unary("i0e", "bessel", "exp(-|input|) * i0(input).", "[0., 100.] -> [1.0000, 0.0399]")
i1 = _unary("i1", "bessel", "Modified Bessel function of the first kind, order 1.", "[0., 1.] -> [0.0000, 0.5652]")
i1e = _unary("i1e", "bessel", "exp(-|input|) * i1(input).", "[0., 100.] -> [0.0000, 0.0397]")
airy_ai = _unary("airy_ai", "bessel", "Airy's function Ai. It has no gradient.", "[0., 1.] -> [0.3550, 0.1353]")
bessel_j0 = _unary("bessel_j0", "bessel", "Bessel function of the first kind, order 0. It has no gradient.", "[0., 1.] -> [1.0000, 0.7652]")
bessel_j1 = _unary("bessel_j1", "bessel", "Bessel function of the first kind, order 1. It has no gradient.", "[0., 1.] -> [0.0000, 0.4401]")
bessel_y0 = _unary(
    "bessel_y0", "bessel", "Bessel function of the second kind, order 0. It has no gradient.", "[0., 1.] -> [  -inf, 0.0883]"
)
bessel_y1 = _unary(
    "bessel_y1", "bessel", "Bessel function of the second kind, order 1. It has no gradient.", "[0., 1.] -> [   -inf, -0.7812]"
)
modified_bessel_i0 = _unary(
    "modified_bessel_i0",
    "bessel",
    "Modified Bessel function of the first kind, order 0. It has no gradient; i0 has.",
    "[0., 1.] -> [1.0000, 1.2661]",
)
modified_bessel_i1 = _unary(
    "modified_bessel_i1",
    "bessel",
    "Modified Bessel function of the first kind, order 1. It has no gradient; i1 has.",
    "[0., 1.] -> [0.0000, 0.5652]",
)
modified_bessel_k0 = _unary(
    "modified_bessel_k0",
    "bessel",
    "Modified Bessel function of the second kind, order 0. It has no gradient.",
    "[0., 1.] -> [   inf, 0.4210]",
)
modified_bessel_k1 = _unary(
    "modified_bessel_k1",
    "bessel",
    "Modified Bessel function of the second kind, order 1. It has no gradient.",
    "[0., 1.] -> [   inf, 0.6019]",
)
scaled_modified_bessel_k0 = _unary(
    "scaled_modified_bessel_k0", "bessel", "exp(input) * modified_bessel_k0(input).", "[1., 100.] -> [1.1445, 0.1252]"
)
scaled_modified_bessel_k1 = _unary(
    "scaled_modified_bessel_k1", "bessel", "exp(input) * modified_bessel_k1(input).", "[1., 100.] -> [1.6362, 0.1258]"
)
spherical_bessel_j0 = _unary(
    "spherical_bessel_j0", "bessel", "sin(input) / input, 1 at 0. It has no gradient.", "[0., 1.] -> [1.0000, 0.8415]"
)

zeta = _binary("zeta", "gamma", "Hurwitz's zeta function: the sum of (other + k)**-input over k = 0, 1, 2 ...", "[2.], 1 -> [1.6449]")
igamma = _binary(
    "igamma",
    "gamma",
    "The part of the gamma integral of order `input` below `other`, from 0 to 1.",
    "[1.], [2.] -> [0.8647]",
    "none",
    package=True,
)
igammac = _binary(
    "igammac",
    "gamma",
    "The part of the gamma integral of order `input` above `other`: 1 - igamma.",
    "[1.], [2.] -> [0.1353]",
    "none",
    package=True,
)
xlog1py = _binary("xlog1py", "calculus", "input * log(1 + other), 0 where the input is 0.", "[0., 2.], [-1., 1.] -> [0.0000, 1.3863]")

chebyshev_polynomial_t = _polynomial(
    "chebyshev_polynomial_t",
    "Chebyshev polynomial of the first kind: T_n(cos t) = cos(n t).",
    "[0.5], [0, 1, 2, 3] -> [ 1.0000,  0.5000, -0.5000, -1.0000]",
)
chebyshev_polynomial_u = _polynomial(
    "chebyshev_polynomial_u",
    "Chebyshev polynomial of the second kind: U_n(cos t) = sin((n + 1) t) / sin(t).",
    "[0.5], [0, 1, 2, 3] -> [ 1.,  1.,  0., -1.]",
)
chebyshev_polynomial_v = _polynomial(
    "chebyshev_polynomial_v",
    "Chebyshev polynomial of the third kind: V_n(cos t) = cos((n + 1/2) t) / cos(t / 2).",
    "[0.5], [0, 1, 2, 3] -> [ 1.,  0., -1., -1.]",
)
chebyshev_polynomial_w = _polynomial(
    "chebyshev_polynomial_w",
    "Chebyshev polynomial of the fourth kind: W_n(cos t) = sin((n + 1/2) t) / sin(t / 2).",
    "[0.5], [0, 1, 2, 3] -> [ 1.,  2.,  1., -1.]",
)
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h", "Physicists' Hermite polynomial, orthogonal under exp(-x**2).", "[0.5], [0, 1, 2, 3] -> [ 1.,  1., -1., -5.]"
)
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he",
    "Probabilists' Hermite polynomial, orthogonal under exp(-x**2 / 2).",
    "[0.5], [0, 1, 2, 3] -> [ 1.0000,  0.5000, -0.7500, -1.3750]",
)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l",
    "Laguerre polynomial, orthogonal under exp(-x) for x > 0.",
    "[0.5], [0, 1, 2, 3] -> [ 1.0000,  0.5000,  0.1250, -0.1458]",
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p", "Legendre polynomial, orthogonal on [-1, 1].", "[0.5], [0, 1, 2, 3] -> [ 1.0000,  0.5000, -0.1250, -0.4375]"
)
shifted_chebyshev_polynomial_t = _polynomial(
    "shifted_chebyshev_polynomial_t",
    "`chebyshev_polynomial_t` at 2 x - 1, for x in [0, 1].",
    "[0.75], [0, 1, 2, 3] -> [ 1.0000,  0.5000, -0.5000, -1.0000]",
)
shifted_chebyshev_polynomial_u = _polynomial(
    "shifted_chebyshev_polynomial_u",
    "`chebyshev_polynomial_u` at 2 x - 1, for x in [0, 1].",
    "[0.75], [0, 1, 2, 3] -> [ 1.,  1.,  0., -1.]",
)
shifted_chebyshev_polynomial_v = _polynomial(
    "shifted_chebyshev_polynomial_v",
    "`chebyshev_polynomial_v` at 2 x - 1, for x in [0, 1].",
    "[0.75], [0, 1, 2, 3] -> [ 1.,  0., -1., -1.]",
)
shifted_chebyshev_polynomial_w = _polynomial(
    "shifted_chebyshev_polynomial_w",
    "`chebyshev_polynomial_w` at 2 x - 1, for x in [0, 1].",
    "[0.75], [0, 1, 2, 3] -> [ 1.,  2.,  1., -1.]",
)


@public(method=True, inplace=True, out=True)
def polygamma(n: Any, input: Any) -> Tensor:
    """The n-th derivative of digamma. As a method the tensor comes first: x.polygamma(n). Raises RuntimeError for negative n.

    >>> polygamma(1, tensor([1.]))
    tensor([1.6449])
    """
    n, input = (input, n) if isinstance(n, Tensor) else (n, input)
    if whole(n, "polygamma(): argument 'n'") < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n; it is {n}")
    return apply(_row("polygamma", "gamma"), (require_tensor(input, "polygamma", "input", 2),), {"n": n})


@public(method=True, inplace=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the p-dimensional gamma function: p (p - 1) / 4 log(pi), plus lgamma at input, input - 1/2, ... (p of them).

    Raises RuntimeError for p < 1.

    >>> mvlgamma(tensor([2.]), p=1), mvlgamma(tensor([2.]), p=2)
    (tensor([0.]), tensor([0.4516]))
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if require_tensor(input, "mvlgamma").dtype.name == "bool":
        raise RuntimeError("The input tensor may not be a boolean tensor. Convert it first: t.int().")
    x = to_floats(input)
    total: Any = p * (p - 1) / 4 * math.log(math.pi)
    for j in range(p):
        total = lgamma(x - j / 2) + total
    return total
