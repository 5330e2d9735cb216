"""Tools for modules: gradients clipped, parameters as one vector, weights written otherwise. Loaded when first used."""

from importlib import import_module as _import_module
from typing import Any as _Any

_HOMES = {
    **dict.fromkeys("clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm".split(), "clip_grad"),
    **dict.fromkeys("parameters_to_vector vector_to_parameters".split(), "convert_parameters"),
    **dict.fromkeys("fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights".split(), "fusion"),
    **dict.fromkeys("remove_weight_norm weight_norm".split(), "weightnorm"),
    **dict.fromkeys("remove_spectral_norm spectral_norm".split(), "spectral"),
    "skip_init": "init",
}
_FILES = "clip_grad convert_parameters fusion init parametrizations parametrize prune rnn stateless".split()

__all__ = sorted([*_HOMES, "parametrizations", "parametrize", "prune", "rnn", "stateless"])


def __getattr__(name: str) -> _Any:
    if name in _HOMES:
        found = globals()[name] = getattr(_import_module(f"{__name__}.{_HOMES[name]}"), name)
        return found
    if name in _FILES:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
