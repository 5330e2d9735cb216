"""What every `register_..._hook` gives back, where PyTorch keeps it."""

from autolab.engine.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
