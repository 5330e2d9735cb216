"""The names that PyTorch has in this file; they are written in `resize`."""

from autolab.nn.modules.resize import ChannelShuffle

__all__ = ["ChannelShuffle"]
