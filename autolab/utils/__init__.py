"""What programs need around a model: checkpointing (`utils.checkpoint`) and data (`utils.data`). Each is loaded when it is used."""

import importlib as _importlib

from autolab.torch_api.missing import explain_missing as _explain_missing

_LAZY = ("checkpoint", "data")

__all__ = [*_LAZY]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _explain_missing(_importlib.import_module(f"{__name__}.{name}"))
    raise AttributeError(f"module 'autolab.utils' has no attribute '{name}'; it has {', '.join(_LAZY)}")
