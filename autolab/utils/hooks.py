"""What every `register_..._hook` gives back, where PyTorch keeps it; hooks on tensors that are saved."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import RemovableHandle
from autolab.torch_api.legacy_constructors import warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Decorate a hook that need not be saved with its tensor: pickling the tensor then does not warn."""
    f.__torch_unserializable__ = True
    return f
