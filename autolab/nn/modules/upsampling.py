"""The names that PyTorch has in this file; they are written in `resize`."""

from autolab.nn.modules.resize import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
