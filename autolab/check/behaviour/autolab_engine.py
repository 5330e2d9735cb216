"""autolab's own engine with the names of the capstone's contract: what a learner's engine is compared with."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

import autolab as torch


def tensor(data: Any, requires_grad: bool = False) -> Any:
    """autolab's tensor of these numbers, float64."""
    return torch.tensor(np.array(data, dtype=float), requires_grad=requires_grad)


def value(number: float) -> Any:
    """autolab's tensor of one number, a leaf."""
    return tensor(number, requires_grad=True)


class Layer:
    """Something whose tensors learn."""

    def parameters(self) -> list:
        """Its tensors, in the order in which they were made."""
        return [p for p in vars(self).values() if isinstance(p, torch.Tensor)]


class Linear(Layer):
    """The layer of the contract."""

    def __init__(self, inputs: int, outputs: int, rng: Any, bias: bool = True):
        bound = 1 / math.sqrt(inputs)
        self.weight = tensor(rng.uniform(-bound, bound, (outputs, inputs)), requires_grad=True)
        self.bias = tensor(np.zeros(outputs), requires_grad=True) if bias else None

    def __call__(self, x: Any) -> Any:
        return torch.nn.functional.linear(x, self.weight, self.bias)


class Sequential:
    """Layers and functions one after the other."""

    def __init__(self, *layers: Any):
        self.layers = layers

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> list:
        """The tensors that learn."""
        return [p for layer in self.layers for p in getattr(layer, "parameters", list)()]


class Embedding(Layer):
    """A row for each whole number."""

    def __init__(self, n: int, d: int, rng: Any):
        self.weight = tensor(rng.normal(0, 0.02, (n, d)), requires_grad=True)

    def __call__(self, index: Any) -> Any:
        return self.weight[torch.tensor(index)]


class LayerNorm(Layer):
    """The layer of the contract."""

    def __init__(self, d: int):
        self.weight, self.bias = tensor(np.ones(d), requires_grad=True), tensor(np.zeros(d), requires_grad=True)

    def __call__(self, x: Any) -> Any:
        return torch.nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias)


def cross_entropy(scores: Any, target: Any) -> Any:
    """The mean negative log-probability of the right class."""
    return torch.nn.functional.cross_entropy(scores, torch.tensor(target))


def train(model: Any, inputs: Any, target: Any, optimizer: Any, batch: int, steps: int) -> list[float]:
    """The loss of each step."""
    losses = []
    for k in range(steps):
        rows = [i % len(inputs) for i in range(k * batch, k * batch + batch)]
        optimizer.zero_grad()
        loss = cross_entropy(model(tensor(inputs[rows])), target[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def accuracy(model: Any, inputs: Any, target: Any) -> float:
    """The part of the rows that are right."""
    with torch.no_grad():
        return float(np.mean(model(tensor(inputs)).numpy().argmax(axis=1) == target))


def attention(q: Any, k: Any, v: Any) -> Any:
    """Causal attention."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def checkpoint(f: Any, *inputs: Any) -> Any:
    """f, computed again when gradients are wanted."""
    return torch.utils.checkpoint.checkpoint(f, *inputs, use_reentrant=False)


def grad(output: Any, inputs: Any, create_graph: bool = False) -> list:
    """The gradients of an output."""
    return list(torch.autograd.grad(output, list(inputs), create_graph=create_graph))


AUTOLAB = SimpleNamespace(
    Tensor=tensor, Value=value, no_grad=torch.no_grad, grad=grad, checkpoint=checkpoint, attention=attention,
    Linear=Linear, Sequential=Sequential, Embedding=Embedding, LayerNorm=LayerNorm, cross_entropy=cross_entropy,
    SGD=lambda parameters, lr, momentum=0.0: torch.optim.SGD(list(parameters), lr=lr, momentum=momentum),
    Adam=lambda parameters, lr=0.001, **how: torch.optim.Adam(list(parameters), lr=lr, **how), train=train, accuracy=accuracy,
)  # fmt: skip
AUTOLAB.relu = lambda x: x.relu()
