"""The names that PyTorch has in this file; they are written beside BatchNorm, with which they share nearly everything."""

from autolab.nn.modules.batchnorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, _InstanceNorm

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "_InstanceNorm"]
