"""What programs need around a model: checkpointing (`utils.checkpoint`) and data (`utils.data`). Each is loaded when it is used."""

import importlib as _importlib

from autolab.torch_api.absent import watch as _watch

_LAZY = ("checkpoint", "data")

__all__ = [*_LAZY]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _watch(_importlib.import_module(f"{__name__}.{name}"))
    raise AttributeError(f"module 'autolab.utils' has no attribute '{name}'; it has {', '.join(_LAZY)}")
