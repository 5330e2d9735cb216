"""Optimizers: they write into parameters, in place and without recording."""

from autolab.optim.adam import Adam
from autolab.optim.optimizer import Optimizer
from autolab.optim.sgd import SGD

__all__ = ["SGD", "Adam", "Optimizer"]
