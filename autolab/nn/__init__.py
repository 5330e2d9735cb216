"""Modules: parameters with a forward."""

from autolab.nn import functional, init
from autolab.nn.activations import GELU, LeakyReLU, ReLU, Sigmoid, SiLU, Softmax, Softplus, Tanh
from autolab.nn.containers import ModuleList, Sequential
from autolab.nn.layers import Dropout, Embedding, Flatten, Identity, LayerNorm, Linear
from autolab.nn.losses import BCEWithLogitsLoss, CrossEntropyLoss, MSELoss, NLLLoss
from autolab.nn.module import Module
from autolab.nn.parameter import Parameter

__all__ = [
    "BCEWithLogitsLoss", "CrossEntropyLoss", "Dropout", "Embedding", "Flatten", "GELU", "Identity", "LayerNorm", "LeakyReLU",
    "Linear", "MSELoss", "Module", "ModuleList", "NLLLoss", "Parameter", "ReLU", "Sequential", "SiLU", "Sigmoid", "Softmax",
    "Softplus", "Tanh", "functional", "init",
]  # fmt: skip
