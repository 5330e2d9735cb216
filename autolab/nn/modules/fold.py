"""The names that PyTorch has in this file; they are written in `resize`."""

from autolab.nn.modules.resize import Fold, Unfold

__all__ = ["Fold", "Unfold"]
