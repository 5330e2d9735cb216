"""Tools for modules: gradients clipped, parameters as one vector, weights written otherwise. Loaded when first used."""

from autolab.torch_api.lazy import lazy as _lazy

_HOMES = {
    **dict.fromkeys("clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm".split(), "clip_grad"),
    **dict.fromkeys("parameters_to_vector vector_to_parameters".split(), "convert_parameters"),
    **dict.fromkeys("fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights".split(), "fusion"),
    **dict.fromkeys("remove_weight_norm weight_norm".split(), "weightnorm"),
    **dict.fromkeys("remove_spectral_norm spectral_norm".split(), "spectral"),
    "skip_init": "init",
}
_FILES = "clip_grad convert_parameters fusion init parametrizations parametrize prune rnn stateless".split()

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval", "fuse_conv_bn_weights",
    "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize",
    "prune", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init", "spectral_norm", "stateless", "vector_to_parameters",
    "weight_norm",
]  # fmt: skip

__getattr__ = _lazy(__name__, _FILES, {name: f".{home}" for name, home in _HOMES.items()})


def __dir__() -> list[str]:
    return __all__
