"""Optimizers: they write into parameters, in place and without recording."""

from autolab.optim.adagrad_family import Adadelta, Adagrad, RMSprop
from autolab.optim.adam import Adam, AdamW
from autolab.optim.adam_variants import Adamax, NAdam, RAdam
from autolab.optim.lbfgs import LBFGS
from autolab.optim.matrix_optimizers import Adafactor, Muon
from autolab.optim.optimizer import Optimizer
from autolab.optim.rprop import Rprop
from autolab.optim.sgd import ASGD, SGD
from autolab.optim.sparse_adam import SparseAdam
from autolab.torch_api.lazy import lazy as _lazy

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils",
]  # fmt: skip


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


__getattr__ = _lazy(__name__, ["lr_scheduler", "swa_utils"])
