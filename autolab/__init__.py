"""autolab: automatic differentiation to learn from, with PyTorch's names. `import autolab as torch` runs PyTorch code.

Importing it loads NumPy and ml_dtypes; the rest is loaded when it is used.
"""

import importlib as _importlib
import warnings as _warnings

# As in PyTorch, log(0) is -inf and 0/0 is nan without a word. NumPy's warnings about them point into our rules, not at user code.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"autolab\.")

from autolab import autograd, nn, optim
from autolab.autograd import enable_grad, no_grad, set_grad_enabled
from autolab.engine.dtypes import bfloat16, bool_ as bool, dtype, float16, float32, float64, int8, int16, int32, int64, uint8
from autolab.engine.modes import is_grad_enabled
from autolab.engine.tensor import Size, Tensor
from autolab.surface.creation import (
    arange, as_tensor, bernoulli, device, empty, empty_like, eye, from_numpy, full, full_like, get_default_dtype, is_tensor,
    linspace, manual_seed, ones, ones_like, rand, rand_like, randint, randint_like, randn, randn_like, randperm,
    set_default_dtype, tensor, zeros, zeros_like,
)  # fmt: skip
from autolab.surface.index import gather, index_add, index_select, masked_select, narrow, nonzero, scatter_add, select
from autolab.surface.linalg import addmm, bmm, dot, einsum, matmul, mm, mv, outer
from autolab.surface.pointwise import (
    abs, add, allclose, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, ceil, clamp, clone, cos, div, eq, equal, erf, exp,
    expm1, floor, floor_divide, ge, gt, isfinite, isinf, isnan, le, log, log1p, logical_and, logical_not, logical_or, lt,
    masked_fill, maximum, minimum, mul, ne, neg, pow, reciprocal, relu, remainder, round, rsqrt, sigmoid, sign, sin, sqrt,
    square, sub, tan, tanh, trunc, where,
)  # fmt: skip
from autolab.surface.printing import set_printoptions
from autolab.surface.reduce import (
    all, amax, amin, any, argmax, argmin, count_nonzero, cumsum, log_softmax, logsumexp, max, mean, min, norm, prod, softmax,
    std, sum, var,
)  # fmt: skip
from autolab.surface.shape import (
    broadcast_tensors, broadcast_to, cat, chunk, diagonal, flatten, flip, movedim, numel, permute, ravel, reshape, roll, split,
    squeeze, stack, t, tile, transpose, tril, triu, unbind, unflatten, unsqueeze,
)  # fmt: skip
from autolab.version import __version__

float, double, half = float32, float64, float16
int, long, short = int32, int64, int16
concat = concatenate = cat
multiply, subtract, divide, absolute, clip, negative = mul, sub, div, abs, clamp, neg
swapaxes, moveaxis = transpose, movedim

# Loaded when first used: subpackages, and what a learner calls in one line.
_LAZY = {
    "datasets": "autolab.datasets", "trace": "autolab.trace", "draw": "autolab.draw", "widgets": "autolab.widgets",
    "check": "autolab.check", "course": "autolab.course", "func": "autolab.func", "rules": "autolab.rules",
}  # fmt: skip
_LAZY_NAMES = {"Stepper": "autolab.widgets", "explore": "autolab.widgets"}

__all__ = [name for name in dir() if not name.startswith("_")] + [*_LAZY, *_LAZY_NAMES]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _importlib.import_module(_LAZY[name])
    if name in _LAZY_NAMES:
        return getattr(_importlib.import_module(_LAZY_NAMES[name]), name)
    raise AttributeError(f"autolab has no '{name}' (module 'torch' may have it; see docs/differences-from-pytorch.md)")


def __dir__() -> list[str]:
    return __all__
