"""Families of functions that are loaded with the first use of one of their names.

A first step needs few of them, and loading them all took a third of the import. The tables say which names a family declares; a test
compares them with what it declares.
"""

from __future__ import annotations

import sys
from importlib import import_module

from autolab.engine.tensor import Tensor
from autolab.torch_api import inplace
from autolab.torch_api.lazy import LazyMethod, LazyProperty
from autolab.torch_api.methods import declared_methods
from autolab.torch_api.public import DECLARED, functions

# Names of the package.
FUNCTIONS = {
    "comparisons": "allclose equal is_floating_point is_nonzero isclose isneginf isposinf",
    "cumulative": "corrcoef cov cumulative_trapezoid diff dist gradient renorm trapezoid trapz",
    "diagonals": "diag diag_embed diagflat diagonal tril tril_indices triu triu_indices",
    "dtype_info": "can_cast finfo iinfo promote_types result_type",
    "index": "gather index_add index_select masked_select narrow nonzero scatter_add select",
    "joining": (
        "argwhere atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes cartesian_prod column_stack combinations dsplit dstack "
        "fliplr flipud hsplit hstack meshgrid repeat_interleave rot90 row_stack split_with_sizes tensor_split unravel_index vsplit "
        "vstack"
    ),
    "legacy_constructors": (
        "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor get_device "
        "is_same_size is_signed typename"
    ),
    "linalg": "bmm dot einsum ger matmul mm mv outer",
    "more_creation": (
        "asarray bartlett_window blackman_window empty_permuted empty_strided frombuffer hamming_window hann_window kaiser_window range "
        "scalar_tensor"
    ),
    "more_pointwise": (
        "clamp_max clamp_max_ clamp_min clamp_min_ fill float_power frexp heaviside lerp logit logit_ nan_to_num nan_to_num_ nextafter "
        "positive rsub sgn"
    ),
    "products": "addbmm addcdiv addcmul addmm addmv addr baddbmm cdist chain_matmul cross inner kron pdist tensordot vander vdot",
    "random": (
        "_sample_dirichlet _standard_gamma bernoulli binomial multinomial normal poisson rand rand_like randint randint_like randn "
        "randn_like randperm"
    ),
    "reduce": (
        "all amax amin any argmax argmin count_nonzero cumprod cumsum logcumsumexp logsumexp max mean min nanmean nansum norm prod std "
        "std_mean sum var var_mean"
    ),
    "scatter": (
        "index_copy index_fill index_put index_put_ index_reduce masked_scatter nonzero_static put scatter scatter_reduce take "
        "take_along_dim"
    ),
    "shape": (
        "broadcast_tensors broadcast_to cat chunk concat concatenate flatten flip moveaxis movedim numel permute ravel reshape roll split "
        "squeeze stack swapaxes swapdims tile transpose unbind unflatten unsqueeze"
    ),
    "softmax": "log_softmax softmax",
    "sorting": (
        "aminmax argsort bincount bucketize cummax cummin histc histogram histogramdd isin kthvalue median mode msort nanmedian "
        "nanquantile quantile searchsorted sort topk unique unique_consecutive"
    ),
    "special": "digamma erfc erfinv i0 igamma igammac lgamma mvlgamma polygamma",
    "storage": "TypedStorage UntypedStorage is_storage",
    "transposes": "adjoint t",
    "view_copies": (
        "alias_copy as_strided_copy diagonal_copy diagonal_scatter expand_copy narrow_copy permute_copy select_copy select_scatter "
        "slice_copy slice_scatter split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy "
        "unsqueeze_copy view_copy"
    ),
    "views": "as_strided as_strided_ as_strided_scatter detach detach_ resize_as_ unsafe_chunk unsafe_split unsafe_split_with_sizes",
}
# Names of Tensor, those that write in place among them.
METHODS = {
    "comparisons": "allclose equal is_floating_point is_nonzero isclose isneginf isposinf",
    "cumulative": "corrcoef cov diff dist renorm renorm_ sum_to_size",
    "diagonals": "diag diag_embed diagflat diagonal tril tril_ triu triu_",
    "index": "gather index_add index_add_ index_select masked_select narrow nonzero scatter_add scatter_add_ select",
    "joining": "argwhere dsplit fliplr flipud hsplit repeat_interleave rot90 split_with_sizes tensor_split vsplit",
    "legacy_constructors": "cuda get_device is_pinned is_same_size is_set_to is_shared is_signed new pin_memory xpu",
    "linalg": "bmm dot ger matmul mm mv outer",
    "more_creation": "new_empty_strided",
    "more_pointwise": (
        "clamp_max clamp_max_ clamp_min clamp_min_ float_power float_power_ frexp heaviside heaviside_ lerp lerp_ logit logit_ "
        "nan_to_num nan_to_num_ nextafter nextafter_ positive sgn sgn_"
    ),
    "products": (
        "addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ cross inner kron trace vdot"
    ),
    "random": "bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_ uniform_",
    "reduce": (
        "all amax amin any argmax argmin count_nonzero cumprod cumprod_ cumsum cumsum_ logcumsumexp logsumexp max mean min nanmean nansum "
        "norm prod std sum var"
    ),
    "scatter": (
        "index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_reduce index_reduce_ masked_scatter masked_scatter_ "
        "nonzero_static put put_ scatter scatter_ scatter_reduce scatter_reduce_ take take_along_dim"
    ),
    "shape": (
        "broadcast_to chunk expand expand_as flatten flip moveaxis movedim numel permute ravel repeat reshape reshape_as roll size split "
        "squeeze swapaxes swapdims tile transpose unbind unflatten unsqueeze view view_as"
    ),
    "softmax": "log_softmax softmax",
    "sorting": (
        "aminmax argsort bincount cummax cummin histc histogram kthvalue median mode msort nanmedian nanquantile quantile sort topk "
        "unique unique_consecutive"
    ),
    "special": (
        "digamma digamma_ erfc erfc_ erfinv erfinv_ i0 i0_ igamma igamma_ igammac igammac_ lgamma lgamma_ mvlgamma mvlgamma_ polygamma "
        "polygamma_"
    ),
    "storage": "storage untyped_storage",
    "transposes": "adjoint t",
    "view_copies": "diagonal_scatter narrow_copy select_scatter slice_scatter",
    "views": (
        "apply_ as_strided as_strided_ as_strided_scatter detach detach_ fill_diagonal_ map2_ map_ resize_ resize_as_ set_ "
        "share_memory_ squeeze_ storage_offset swapaxes_ swapdims_ t_ transpose_ unfold unsafe_chunk unsafe_split "
        "unsafe_split_with_sizes unsqueeze_"
    ),
}
# Attributes of Tensor.
PROPERTIES = {"transposes": "H T mH mT"}
FAMILY_OF = {name: family for family, names in FUNCTIONS.items() for name in names.split()}


def load_family(family: str) -> None:
    """Load a family, and give the package and Tensor what it declares."""
    module = import_module(f"autolab.torch_api.{family}")
    names = {*FUNCTIONS.get(family, "").split(), *METHODS.get(family, "").split()}
    declared = [d for d in DECLARED if d.names[0] in names]
    for name, function in (*declared_methods(declared), *getattr(module, "PROPERTIES", {}).items()):
        if isinstance(vars(Tensor)[name], LazyMethod):  # and not what somebody else has put there
            setattr(Tensor, name, function)
    in_place = ((name, vars(Tensor)[name]) for name in inplace.FUNCTIONS.split() if name in names)
    for name, function in (*functions(declared), *in_place):
        vars(sys.modules["autolab"]).setdefault(name, function)


def load_families() -> None:
    """Load all of them, for those who want to see every function."""
    for family in FUNCTIONS | METHODS:
        load_family(family)


def load_method(family: str, name: str) -> object:
    load_family(family)
    return vars(Tensor)[name]


def bind_families() -> None:
    """Give Tensor the methods of families that are not loaded."""
    for lazy, table in ((LazyMethod, METHODS), (LazyProperty, PROPERTIES)):
        for family, name in ((family, name) for family, names in table.items() for name in names.split()):
            setattr(Tensor, name, lazy(name, lambda family=family, name=name: load_method(family, name)))  # type: ignore[misc]
