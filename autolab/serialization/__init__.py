"""Saving and loading: PyTorch's files, both ways, and safetensors. What is loaded may build tensors, and nothing else, unless allowed."""

from autolab.serialization import safetensors
from autolab.serialization.reading import get_unsafe_globals_in_checkpoint, load
from autolab.serialization.safe import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from autolab.serialization.writing import save

__all__ = [
    "add_safe_globals", "clear_safe_globals", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "safe_globals",
    "safetensors", "save",
]  # fmt: skip
