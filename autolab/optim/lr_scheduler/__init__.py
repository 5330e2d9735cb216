"""Learning rates that change while training goes on."""

from autolab.optim.lr_scheduler.base import LRScheduler
from autolab.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from autolab.optim.lr_scheduler.cyclic import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from autolab.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from autolab.optim.lr_scheduler.plateau import ReduceLROnPlateau

_LRScheduler = LRScheduler  # its name in programs from before PyTorch 2.0

for _scheduler in list(vars().values()):  # one module to programs, as in PyTorch: the files are for reading
    if isinstance(_scheduler, type):
        _scheduler.__module__ = __name__

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]  # fmt: skip
