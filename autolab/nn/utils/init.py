"""Modules made without starting values."""

from __future__ import annotations

import inspect
from typing import Any

from autolab.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters are left as they come from memory: for those that are loaded or drawn another way.

    Raises RuntimeError for what is no Module, or takes no `device`. The random numbers are still drawn, and thrown away.

    >>> layer = skip_init(torch.nn.Linear, 3, 2)
    >>> layer.weight.shape  # its numbers are any
    torch.Size([2, 3])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    return module_cls(*args, **kwargs).to_empty(device=kwargs.get("device") or "cpu")
