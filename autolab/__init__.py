"""autolab: automatic differentiation to learn from, with PyTorch's names. `import autolab as torch` runs PyTorch code.

Importing it loads NumPy; the rest is loaded when it is used (ml_dtypes with the first bfloat16).
"""

import importlib as _importlib
import sys as _sys
import warnings as _warnings

# As in PyTorch, log(0) is -inf and 0/0 is nan without a word. NumPy's warnings about them point into our rules, not at user code.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"autolab\.")

from autolab.memory import keep_freed_memory as _keep_freed_memory

_keep_freed_memory()

from autolab import autograd, fast as _fast
from autolab.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from autolab.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from autolab.autograd.grad_mode import is_inference
from autolab.dtypes import bfloat16, bool_ as bool, dtype, float16, float32, float64, int8, int16, int32, int64, uint8
from autolab.autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from autolab.engine.tensor import Tensor
from autolab.size import Size
from autolab.torch_api.missing import MissingName as _MissingName, bind_missing as _bind_absent, explain_missing as _explain_missing
from autolab.torch_api.creation import (
    as_tensor, device, empty_like, from_dlpack, from_numpy, full_like, get_default_dtype, is_tensor, ones_like, set_default_dtype, tensor,
    zeros_like,
)  # fmt: skip
from autolab.torch_api.generator import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from autolab.torch_api import inplace as _inplace
from autolab.torch_api.lazy import bind_lazy_methods as _bind_later
from autolab.torch_api.public import functions as _functions
from autolab.torch_api.settings import (
    channels_last, channels_last_3d, contiguous_format, e, inf, nan, newaxis, pi, preserve_format, strided,
)  # fmt: skip
from autolab.torch_api.printing import set_printoptions
from autolab.version import __version__

float, double, half = float32, float64, float16
int, long, short = int32, int64, int16
for _name, _function in _functions():  # each is declared at its definition, in a file a family
    setattr(_sys.modules[__name__], _name, _function)
for _name in _inplace.FUNCTIONS.split():
    setattr(_sys.modules[__name__], _name, getattr(Tensor, _name))

# What PyTorch has here too, with the same arguments.
_OF_NN = (
    "adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout avg_pool1d bilinear celu celu_ channel_shuffle conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity dropout feature_alpha_dropout group_norm hardshrink layer_norm "
    "embedding_bag max_pool1d max_pool1d_with_indices max_pool2d max_pool3d native_channel_shuffle pairwise_distance pixel_shuffle "
    "pixel_unshuffle prelu rms_norm rrelu rrelu_ selu selu_ threshold threshold_"
)
# What PyTorch has here with arguments of its own.
_LIKE_NN = (
    "alpha_dropout_ batch_norm binary_cross_entropy_with_logits constant_pad_nd cosine_embedding_loss ctc_loss dropout_ embedding "
    "feature_alpha_dropout_ feature_dropout feature_dropout_ hinge_embedding_loss instance_norm kl_div margin_ranking_loss "
    "native_batch_norm native_group_norm native_layer_norm poisson_nll_loss triplet_margin_loss"
)

# Loaded when first used: subpackages, and what a learner calls in one line.
_LAZY = {
    "nn": "autolab.nn", "optim": "autolab.optim",
    "datasets": "autolab.datasets", "trace": "autolab.trace", "draw": "autolab.draw", "widgets": "autolab.widgets",
    "check": "autolab.check", "course": "autolab.course", "func": "autolab.func", "rules": "autolab.rules", "special": "autolab.special",
    "signal": "autolab.signal", "compiler": "autolab.compiler",
    "linalg": "autolab.linalg", "random": "autolab.torch_api.generator", "utils": "autolab.utils",
    "testing": "autolab.testing", "amp": "autolab.amp", "profiler": "autolab.profiler", "_C": "autolab._C",
    "cuda": "autolab.cuda", "cpu": "autolab.cpu",
    "serialization": "autolab.serialization", "backends": "autolab.backends", "compat": "autolab.compat",
    "accelerator": "autolab.accelerator", "mps": "autolab.mps", "xpu": "autolab.xpu", "distributed": "autolab.distributed",
    "return_types": "autolab.return_types", "hub": "autolab.hub", "jit": "autolab.jit", "fx": "autolab.fx",
    "distributions": "autolab.distributions", "overrides": "autolab.overrides", "masked": "autolab.masked",
}  # fmt: skip
_LAZY_NAMES = {
    "autocast": "autolab.amp", "GradScaler": "autolab.amp", "is_autocast_enabled": "autolab.amp.autocast_mode",
    "get_autocast_dtype": "autolab.amp.autocast_mode", "is_autocast_cache_enabled": "autolab.amp.autocast_mode",
    "clear_autocast_cache": "autolab.amp.autocast_mode", "save": "autolab.serialization", "load": "autolab.serialization",
    "vmap": "autolab.func", "compile": "autolab.compiler", "Stepper": "autolab.widgets", "explore": "autolab.widgets",
    "predict": "autolab.widgets", "quiz": "autolab.widgets", "exercises": "autolab.utils.exercises",
}  # fmt: skip
_MATRICES = (
    "cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet lu lu_solve matrix_exp matrix_power ormqr orgqr pinverse qr "
    "slogdet svd triangular_solve"
)
_LAZY_NAMES |= dict.fromkeys([*_MATRICES.split(), "lu_unpack"], "autolab.linalg.older")
_LAZY_NAMES |= dict.fromkeys(_OF_NN.split(), "autolab.nn.functional") | dict.fromkeys(_LIKE_NN.split(), "autolab.nn.functional.torch_names")
_bind_later("autolab.nn.functional", "hardshrink prelu")
_LAZY_NAMES |= dict.fromkeys(["svd_lowrank", "pca_lowrank", "lobpcg"], "autolab.linalg.lowrank")
_bind_later("autolab.linalg.older", _MATRICES)

__all__ = [name for name in [*dir(), *_LAZY, *_LAZY_NAMES] if not name.startswith("_")]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _explain_missing(_importlib.import_module(_LAZY[name]))
    if name.startswith("_foreach_"):
        from autolab.torch_api.foreach import TABLE as _TABLE

        if name in _TABLE:
            return _TABLE[name]
    if name in _LAZY_NAMES:
        return getattr(_importlib.import_module(_LAZY_NAMES[name]), name)
    raise _MissingName(f"module 'autolab' has no attribute '{name}'", name, lambda: __all__)


def __dir__() -> list[str]:
    return __all__


_bind_absent()
_explain_missing(autograd)

if _sys.modules.get("IPython"):
    from autolab.utils.tracebacks import shorten as _shorten

    _shorten(_sys.modules["IPython"].get_ipython())
