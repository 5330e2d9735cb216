"""PyTorch's `torch.signal`: window functions."""

from autolab.signal import windows

__all__ = ["windows"]
