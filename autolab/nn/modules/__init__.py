"""The modules, a file a family, under the file names that PyTorch gives them; `autolab.nn` has all their names."""

from importlib import import_module as _import_module
from typing import Any as _Any

from autolab.nn.modules.module import Module

_FILES = (
    "activation adaptive attention batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy linear loss "
    "module normalization padding pixelshuffle pooling resize rnn sparse transformer upsampling utils"
).split()

__all__ = ["Module"]


def __getattr__(name: str) -> _Any:
    if name in _FILES:
        return _import_module(f"{__name__}.{name}")
    import autolab.nn as nn

    if name in nn._HOMES:  # type: ignore[attr-defined]
        return getattr(nn, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    import autolab.nn as nn

    return sorted([*nn._HOMES, "Module"])  # type: ignore[attr-defined]
