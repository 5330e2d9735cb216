"""autolab: automatic differentiation to learn from, with PyTorch's names. `import autolab as torch` runs PyTorch code.

Importing it loads NumPy; the rest is loaded when it is used (ml_dtypes with the first bfloat16).
"""

import importlib as _importlib
import sys as _sys
import warnings as _warnings

# As in PyTorch, log(0) is -inf and 0/0 is nan without a word. NumPy's warnings about them point into our rules, not at user code.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"autolab\.")
# But an imaginary part must not get lost without a word: what drops it on purpose says so itself.
_warnings.filterwarnings("error", message="Casting complex values", category=RuntimeWarning, module=r"autolab\.")

from autolab.memory import collector_paused as _collector_paused, keep_freed_memory as _keep_freed_memory

_keep_freed_memory()

with _collector_paused():
    from autolab import autograd, fast as _fast
from autolab.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from autolab.autograd.grad_mode import is_inference
from autolab.dtypes import (
    bfloat16, bool_ as bool, complex64, complex128, dtype, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32,
    uint64,
)  # fmt: skip
from autolab.autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from autolab.engine.tensor import Tensor
from autolab.size import Size
from autolab.torch_api.missing import bind_missing as _bind_missing, explain_missing as _explain_missing
from autolab.torch_api.creation import (
    as_tensor, device, empty_like, from_dlpack, from_numpy, full_like, get_default_dtype, is_tensor, ones_like, set_default_dtype, tensor,
    zeros_like,
)  # fmt: skip
from autolab.torch_api.families import FAMILY_OF as _FAMILY_OF, load_family as _load_family
from autolab.torch_api.generator import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from autolab.torch_api import inplace as _inplace
from autolab.torch_api.lazy import LazyFinder as _LazyFinder, bind_lazy_methods as _bind_lazy_methods, lazy as _lazy
from autolab.torch_api.public import DECLARED as _DECLARED, functions as _functions
from autolab.torch_api.settings import (
    channels_last, channels_last_3d, contiguous_format, e, inf, nan, newaxis, pi, preserve_format, strided,
)  # fmt: skip
from autolab.version import __version__

float, double, half = float32, float64, float16
cfloat, cdouble = complex64, complex128
int, long, short = int32, int64, int16
for _name, _function in _functions(_DECLARED):  # each is declared at its definition, in a file a family
    setattr(_sys.modules[__name__], _name, _function)
for _name in _inplace.FUNCTIONS.split():
    if _name not in _FAMILY_OF:
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

# Loaded when first used: subpackages and modules, and functions by the module they are in.
_MODULES = (
    "_C accelerator amp backends check compat compiler course cpu cuda datasets distributed distributions draw fft func fx hub jit linalg "
    "masked mps nn optim overrides profiler random return_types rules serialization signal special testing trace utils widgets xpu"
).split()
_NAMES = {
    "autocast": "autolab.amp", "GradScaler": "autolab.amp", "is_autocast_enabled": "autolab.amp.autocast_mode",
    "get_autocast_dtype": "autolab.amp.autocast_mode", "is_autocast_cache_enabled": "autolab.amp.autocast_mode",
    "clear_autocast_cache": "autolab.amp.autocast_mode", "save": "autolab.serialization", "load": "autolab.serialization",
    "set_printoptions": "autolab.torch_api.printing", "is_anomaly_enabled": "autolab.autograd.anomaly_mode",
    "is_anomaly_check_nan_enabled": "autolab.autograd.anomaly_mode",
    "vmap": "autolab.func", "compile": "autolab.compiler", "exercises": "autolab.utils.exercises",
}  # fmt: skip
_MATRICES = (
    "cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet lu lu_solve matrix_exp matrix_power ormqr orgqr pinverse qr "
    "slogdet svd triangular_solve"
)
_NAMES |= dict.fromkeys([*_MATRICES.split(), "lu_unpack"], "autolab.linalg.older")
_NAMES |= dict.fromkeys(_OF_NN.split(), "autolab.nn.functional") | dict.fromkeys(_LIKE_NN.split(), "autolab.nn.functional.torch_names")
_bind_lazy_methods("autolab.nn.functional", "hardshrink prelu")
_NAMES |= dict.fromkeys(["svd_lowrank", "pca_lowrank", "lobpcg"], "autolab.linalg.lowrank")
_bind_lazy_methods("autolab.linalg.older", _MATRICES)
_NAMES |= dict.fromkeys(["stft", "istft"], "autolab.nn.functional.spectrograms")
_bind_lazy_methods("autolab.nn.functional.spectrograms", "stft istft")

_load = _lazy("autolab", _MODULES, _NAMES)
if _sys.platform == "emscripten":
    _importlib.import_module("autolab.browser").begin()
_sys.meta_path.append(_LazyFinder("autolab", "autolab.compat.stand_ins"))  # cuda, jit, backends ...: modules from a table

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "Generator", "GradScaler", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor", "Size", "Stepper", "Tensor", "TypedStorage", "UntypedStorage", "abs", "abs_", "absolute",
    "accelerator", "acos", "acos_", "acosh", "acosh_", "adaptive_avg_pool1d", "adaptive_max_pool1d", "add", "addbmm", "addcdiv", "addcmul",
    "addmm", "addmv", "addr", "adjoint", "alias_copy", "all", "allclose", "alpha_dropout", "alpha_dropout_", "amax", "amin", "aminmax",
    "amp", "angle", "any", "arange", "arccos", "arccos_", "arccosh", "arccosh_", "arcsin", "arcsin_", "arcsinh", "arcsinh_", "arctan",
    "arctan2", "arctan_", "arctanh", "arctanh_", "are_deterministic_algorithms_enabled", "argmax", "argmin", "argsort", "argwhere",
    "as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter", "as_tensor", "asarray", "asin", "asin_", "asinh", "asinh_",
    "atan", "atan2", "atan_", "atanh", "atanh_", "atleast_1d", "atleast_2d", "atleast_3d", "autocast", "autograd", "avg_pool1d", "backends",
    "baddbmm", "bartlett_window", "batch_norm", "bernoulli", "bfloat16", "bilinear", "binary_cross_entropy_with_logits", "bincount",
    "binomial", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "blackman_window",
    "block_diag", "bmm", "bool", "broadcast_shapes", "broadcast_tensors", "broadcast_to", "bucketize", "can_cast", "cartesian_prod", "cat",
    "cdist", "cdouble", "ceil", "ceil_", "celu", "celu_", "cfloat", "chain_matmul", "channel_shuffle", "channels_last", "channels_last_3d",
    "check", "cholesky", "cholesky_inverse", "cholesky_solve", "chunk", "clamp", "clamp_", "clamp_max", "clamp_max_", "clamp_min",
    "clamp_min_", "clear_autocast_cache", "clip", "clip_", "clone", "column_stack", "combinations", "compat", "compile", "compiler",
    "complex", "complex128", "complex64", "concat", "concatenate", "conj", "conj_physical", "constant_pad_nd", "contiguous_format",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "copysign", "corrcoef", "cos", "cos_", "cosh",
    "cosh_", "cosine_embedding_loss", "cosine_similarity", "count_nonzero", "course", "cov", "cpu", "cross", "ctc_loss", "cuda", "cummax",
    "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "datasets", "default_generator", "deg2rad", "deg2rad_", "det", "detach",
    "detach_", "device", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy", "diagonal_scatter", "diff", "digamma", "dist",
    "distributed", "distributions", "div", "divide", "dot", "double", "draw", "dropout", "dropout_", "dsplit", "dstack", "dtype", "dtypes",
    "e", "einsum", "embedding", "embedding_bag", "empty", "empty_like", "empty_permuted", "empty_strided", "enable_grad", "engine", "eq",
    "equal", "erf", "erf_", "erfc", "erfinv", "exercises", "exp", "exp2", "exp2_", "exp_", "expand_copy", "explore", "expm1", "expm1_",
    "eye", "fast", "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "fft", "fill", "fill_",
    "finfo", "fix", "fix_", "flatten", "flip", "fliplr", "flipud", "float", "float16", "float32", "float64", "float_power", "floor",
    "floor_", "floor_divide", "fmax", "fmin", "fmod", "frac", "frac_", "frexp", "from_dlpack", "from_numpy", "frombuffer", "full",
    "full_like", "func", "fx", "gather", "gcd", "gcd_", "ge", "geqrf", "ger", "get_autocast_dtype", "get_default_device",
    "get_default_dtype", "get_device", "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "get_rng_state",
    "gradient", "greater", "greater_equal", "group_norm", "gt", "half", "hamming_window", "hann_window", "hardshrink", "heaviside",
    "hinge_embedding_loss", "histc", "histogram", "histogramdd", "hsplit", "hstack", "hub", "hypot", "i0", "igamma", "igammac", "iinfo",
    "imag", "index_add", "index_copy", "index_fill", "index_put", "index_put_", "index_reduce", "index_select", "inf", "inference_mode",
    "initial_seed", "inner", "instance_norm", "int", "int16", "int32", "int64", "int8", "inverse", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled", "is_autocast_cache_enabled", "is_autocast_enabled", "is_complex", "is_conj", "is_floating_point",
    "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "is_neg", "is_nonzero", "is_same_size", "is_signed", "is_storage",
    "is_tensor", "is_warn_always_enabled", "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal",
    "istft", "jit",
    "kaiser_window", "kl_div", "kron", "kthvalue", "layer_norm", "layout", "lcm", "lcm_", "ldexp", "ldexp_", "le", "lerp", "less",
    "less_equal", "lgamma", "linalg", "linspace", "load", "lobpcg", "log", "log10", "log10_", "log1p", "log1p_", "log2", "log2_", "log_",
    "log_softmax", "logaddexp", "logaddexp2", "logcumsumexp", "logdet", "logical_and", "logical_not", "logical_or", "logical_xor", "logit",
    "logit_", "logspace", "logsumexp", "long", "lt", "lu", "lu_solve", "lu_unpack", "manual_seed", "margin_ranking_loss", "masked",
    "masked_fill", "masked_scatter", "masked_select", "matmul", "matrix_exp", "matrix_power", "max", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "maximum", "mean", "median", "memory", "memory_format", "meshgrid", "min",
    "minimum", "mm", "mode", "moveaxis", "movedim", "mps", "msort", "mul", "multinomial", "multiply", "mv", "mvlgamma", "nan", "nan_to_num",
    "nan_to_num_", "nanmean", "nanmedian", "nanquantile", "nansum", "narrow", "narrow_copy", "native_batch_norm", "native_channel_shuffle",
    "native_group_norm", "native_layer_norm", "ne", "neg", "neg_", "negative", "negative_", "newaxis", "nextafter", "nn", "no_grad",
    "nonzero", "nonzero_static", "norm", "normal", "not_equal", "numel", "ones", "ones_like", "optim", "orgqr", "ormqr", "outer",
    "overrides", "pairwise_distance", "pca_lowrank", "pdist", "permute", "permute_copy", "pi", "pinverse", "pixel_shuffle",
    "pixel_unshuffle", "poisson", "poisson_nll_loss", "polar", "polygamma", "positive", "pow", "predict", "prelu", "preserve_format",
    "prod", "profiler", "promote_types", "put", "qr", "quantile", "quiz", "rad2deg", "rad2deg_", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "random", "randperm", "range", "ravel", "real", "reciprocal", "reciprocal_", "relu", "relu_",
    "remainder", "renorm", "repeat_interleave", "reshape", "resize_as_", "resolve_conj", "resolve_neg", "result_type", "return_types",
    "rms_norm", "roll", "rot90", "round", "round_", "row_stack", "rrelu", "rrelu_", "rsqrt", "rsqrt_", "rsub", "rules", "save",
    "scalar_tensor", "scatter", "scatter_add", "scatter_reduce", "searchsorted", "seed", "select", "select_copy", "select_scatter", "selu",
    "selu_", "serialization", "set_default_device", "set_default_dtype", "set_default_tensor_type", "set_float32_matmul_precision",
    "set_flush_denormal", "set_grad_enabled", "set_num_interop_threads", "set_num_threads", "set_printoptions", "set_rng_state",
    "set_warn_always", "sgn", "short", "sigmoid", "sigmoid_", "sign", "signal", "signbit", "sin", "sin_", "sinc", "sinc_", "sinh", "sinh_",
    "size", "slice_copy", "slice_scatter", "slogdet", "softmax", "sort", "special", "split", "split_copy", "split_with_sizes",
    "split_with_sizes_copy", "sqrt", "sqrt_", "square", "square_", "squeeze", "squeeze_copy", "stack", "std", "std_mean",
    "stft", "strided", "sub",
    "subtract", "sum", "svd", "svd_lowrank", "swapaxes", "swapdims", "t", "t_copy", "take", "take_along_dim", "tan", "tan_", "tanh",
    "tanh_", "tensor", "tensor_split", "tensordot", "testing", "threshold", "threshold_", "tile", "topk", "torch_api", "trace",
    "transforms", "transpose", "transpose_copy", "trapezoid", "trapz", "triangular_solve", "tril", "tril_indices", "triplet_margin_loss",
    "triu", "triu_indices", "true_divide", "trunc", "trunc_", "typename", "uint16", "uint32", "uint64", "uint8",
    "unbind", "unbind_copy", "unflatten", "unfold_copy",
    "unique", "unique_consecutive", "unravel_index", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze",
    "unsqueeze_copy", "use_deterministic_algorithms", "utils", "vander", "var", "var_mean", "vdot", "version", "view_as_complex",
    "view_as_real", "view_copy", "vmap", "vsplit", "vstack", "where", "widgets", "xlogy", "xlogy_", "xpu", "zero_", "zeros", "zeros_like",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in ("Stepper", "explore", "predict", "quiz"):  # not kept: without Jupyter a sentence stands in for them
        return getattr(_importlib.import_module("autolab.widgets"), name)
    if name.startswith("_foreach_"):
        from autolab.torch_api.foreach import TABLE as _TABLE

        if name in _TABLE:
            return _TABLE[name]
    if name in _FAMILY_OF:
        _load_family(_FAMILY_OF[name])
        return globals()[name]
    return _load(name)


def __dir__() -> list[str]:
    return __all__


_bind_missing()
_explain_missing(autograd)

if _sys.modules.get("IPython"):
    from autolab.utils.tracebacks import shorten as _shorten

    _shorten(_sys.modules["IPython"].get_ipython())
