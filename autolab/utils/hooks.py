"""What every `register_..._hook` gives back, where PyTorch keeps it."""

from autolab.engine.node import RemovableHandle

__all__ = ["RemovableHandle"]
