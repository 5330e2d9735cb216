"""Optimizers: they write into parameters, in place and without recording."""

import importlib as _importlib
import sys as _sys

from autolab.optim.adagrad_family import Adadelta, Adagrad, RMSprop
from autolab.optim.adam import Adam, AdamW
from autolab.optim.adam_variants import Adamax, NAdam, RAdam
from autolab.optim.lbfgs import LBFGS
from autolab.optim.matrix_optimizers import Adafactor, Muon
from autolab.optim.optimizer import Optimizer
from autolab.optim.rprop import Rprop
from autolab.optim.sgd import ASGD, SGD
from autolab.torch_api.missing import explain_missing as _explain_missing

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "lr_scheduler", "swa_utils",
]  # fmt: skip


_LAZY = ("lr_scheduler", "swa_utils")  # loaded when first used


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _explain_missing(_importlib.import_module(f"{__name__}.{name}"))
    raise AttributeError(f"module 'autolab.optim' has no attribute '{name}'")


_explain_missing(_sys.modules[__name__])  # also where it is imported by its whole name
