"""What every `register_..._hook` gives back, where PyTorch keeps it; hooks on tensors that are saved."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import RemovableHandle
from autolab.torch_api.tensor_facts import warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Decorate a hook that need not be saved with its tensor: pickling the tensor then does not warn.

    >>> import pickle
    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(unserializable_hook(lambda g: None))
    >>> pickle.loads(pickle.dumps(x))  # without a warning
    tensor([1., 1.], requires_grad=True)
    """
    f.__torch_unserializable__ = True
    return f
