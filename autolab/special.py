"""PyTorch's `torch.special`: the special functions, and other names for ordinary ones.

>>> import autolab as torch
>>> torch.special.expit(torch.tensor(0.0))
tensor(0.5000)
"""

from autolab.torch_api.more_pointwise import logit
from autolab.torch_api.pointwise import erf, exp2, expm1, log1p, round, sinc, xlogy
from autolab.torch_api.pointwise import sigmoid as expit
from autolab.torch_api.reduce import logsumexp
from autolab.torch_api.softmax import log_softmax, softmax
from autolab.torch_api.special import (
    airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1, chebyshev_polynomial_t, chebyshev_polynomial_u, chebyshev_polynomial_v,
    chebyshev_polynomial_w, digamma, entr, erfc, erfcx, erfinv, hermite_polynomial_h, hermite_polynomial_he, i0, i0e, i1, i1e,
    laguerre_polynomial_l, legendre_polynomial_p, log_ndtr, modified_bessel_i0, modified_bessel_i1, modified_bessel_k0,
    modified_bessel_k1, ndtr, ndtri, polygamma, scaled_modified_bessel_k0, scaled_modified_bessel_k1, shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u, shifted_chebyshev_polynomial_v, shifted_chebyshev_polynomial_w, spherical_bessel_j0, xlog1py, zeta,
)  # fmt: skip
from autolab.torch_api.special import igamma as gammainc
from autolab.torch_api.special import igammac as gammaincc
from autolab.torch_api.special import lgamma as gammaln
from autolab.torch_api.special import mvlgamma as multigammaln

psi = digamma

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
    "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1",
    "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "modified_bessel_i0",
    "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py", "xlogy",
    "zeta",
]  # fmt: skip
