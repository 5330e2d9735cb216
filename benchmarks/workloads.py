"""What is measured: the question, the data, and how exactly the answers must agree.

All data is float32 and the same in every run. Weights are (in, out), as `x @ W` reads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Data = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    name: str
    question: str
    data: Callable[[], Data]
    rtol: float = 1e-3
    alone: bool = False  # in a process of its own, since it may not come back


@dataclass(frozen=True)
class Program:
    """One workload in one library.

    `step` is what is timed: forward, backward, and the update where there is one. `answer` runs a few steps and gives
    the loss and the gradients (or, after updates, the parameters) as arrays.
    """

    step: Callable[[], object]
    answer: Callable[[], dict[str, np.ndarray]]


def program(data: Data, value_and_gradients: Callable[[dict], tuple[Any, dict]], update=None) -> Program:
    """A Program of a function that gives loss and gradients at a dict of parameters, and of an optimizer where there is one."""
    parameters = {name: value.copy() for name, value in data["parameters"].items()}
    update = update and update(parameters, data["lr"])

    def step():
        loss, gradients = value_and_gradients(parameters)
        if update:
            update(gradients)
        return loss, gradients

    def answer():
        loss, gradients = [step() for _ in range(3 if update else 1)][-1]
        return {"loss": loss, **(parameters if update else gradients)}

    return Program(step, answer)


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def layers(rng: np.random.Generator, *widths: int) -> dict[str, np.ndarray]:
    """Weights and biases of a fully connected network: W1, b1, W2, b2 ..."""
    parameters = {}
    for number, (fan_in, fan_out) in enumerate(pairwise(widths), 1):
        parameters[f"W{number}"] = normal(rng, fan_in, fan_out, scale=fan_in**-0.5)
        parameters[f"b{number}"] = normal(rng, fan_out, scale=0.1)
    return parameters


def scalar_chain() -> Data:
    # a near 1 and b near 0 keep the gradient away from zero and from denormal numbers.
    values = {"x": 0.5, "a": 1.0, "b": 1e-4}
    return {"parameters": {name: np.array(value, np.float32) for name, value in values.items()}, "rounds": 333}


def small_mlp() -> Data:
    rng = np.random.default_rng(1)
    x = normal(rng, 32, 2)
    return {"parameters": layers(rng, 2, 16, 16, 1), "x": x, "target": x[:, :1] * x[:, 1:], "lr": 0.05}


def mlp() -> Data:
    rng = np.random.default_rng(2)
    x = rng.random((64, 784), dtype=np.float32)
    return {"parameters": layers(rng, 784, 256, 10), "x": x, "target": rng.integers(0, 10, 64), "lr": 1e-3}


def rnn() -> Data:
    rng = np.random.default_rng(3)
    parameters = {"Wx": normal(rng, 16, 32, scale=0.25), "Wh": normal(rng, 32, 32, scale=32**-0.5), "b": normal(rng, 32, scale=0.1)}
    return {"parameters": parameters, "x": normal(rng, 100, 16, 16), "target": normal(rng, 16, 32)}


def elementwise() -> Data:
    rng = np.random.default_rng(4)
    return {"parameters": {"x": normal(rng, 1_000_000), "y": normal(rng, 1_000_000)}}


def hvp() -> Data:
    rng = np.random.default_rng(5)
    parameters = layers(rng, 16, 32, 32, 1)
    direction = {name: normal(rng, *value.shape) for name, value in parameters.items()}
    return {"parameters": parameters, "direction": direction, "x": normal(rng, 32, 16), "target": normal(rng, 32, 1)}


def deep() -> Data:
    return {"parameters": {"x": np.array([1.0], np.float32), "c": np.array([1e-6], np.float32)}, "nodes": 100_000}


WORKLOADS = {
    workload.name: workload
    for workload in [
        Workload("scalar_chain", "1000 operations (mul, add, tanh) on one number: what does a node cost?", scalar_chain),
        Workload("small_mlp", "2-16-16-1, batch 32, MSE, SGD: a student's first network, one training step", small_mlp),
        Workload("mlp", "784-256-10, batch 64, cross-entropy, Adam: one training step", mlp),
        Workload("rnn", "tanh RNN, 100 steps of 16 x 32: a graph of 500 small matrices", rnn),
        Workload("elementwise", "10 operations on a million numbers: memory traffic", elementwise),
        Workload("hvp", "Hessian times vector for a 16-32-32-1 network: backward through backward", hvp),
        Workload("deep", "a chain of 100,000 nodes, built, run backward and dropped", deep, alone=True),
    ]
}
