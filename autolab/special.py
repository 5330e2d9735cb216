"""PyTorch's `torch.special`: the special functions, and other names for ordinary ones.

>>> import autolab as torch
>>> torch.special.expit(torch.tensor(0.0))
tensor(0.5000)
"""

from autolab.torch_api import functions as _functions
from autolab.torch_api import pointwise as _pointwise
from autolab.torch_api import reduce as _reduce
from autolab.torch_api import special as _special

_OTHER_NAMES = {
    "expit": _pointwise.sigmoid, "expm1": _pointwise.expm1, "log1p": _pointwise.log1p, "round": _pointwise.round,
    "erf": _pointwise.erf, "exp2": _functions.exp2, "sinc": _functions.sinc, "xlogy": _functions.xlogy, "logit": _functions.logit,
    "multigammaln": _functions.mvlgamma, "logsumexp": _reduce.logsumexp, "softmax": _reduce.softmax,
    "log_softmax": _reduce.log_softmax, "gammaln": _special.lgamma, "psi": _special.digamma, "gammainc": _special.igamma,
    "gammaincc": _special.igammac, "polygamma": _special.polygamma,
}  # fmt: skip
__all__ = sorted([*_OTHER_NAMES, *(name for name in (*_special.UNARY, *_special.BINARY) if name not in ("lgamma", "igamma", "igammac"))])
globals().update({name: _OTHER_NAMES.get(name) or getattr(_special, name) for name in __all__})
