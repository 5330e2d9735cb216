"""The names that PyTorch has in this file; they are written in `resize`."""

from autolab.nn.modules.resize import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
