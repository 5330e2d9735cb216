"""Optimizers: they write into parameters, in place and without recording."""

from autolab.optim import lr_scheduler, swa_utils
from autolab.optim.adam import Adam, AdamW
from autolab.optim.adam_kin import Adamax, NAdam, RAdam
from autolab.optim.lbfgs import LBFGS
from autolab.optim.optimizer import Optimizer
from autolab.optim.rprop import Rprop
from autolab.optim.sgd import ASGD, SGD
from autolab.optim.squares import Adadelta, Adagrad, RMSprop

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop",
    "lr_scheduler", "swa_utils",
]  # fmt: skip
