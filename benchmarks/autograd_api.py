"""The workloads in HIPS autograd: pure functions of a dict of arrays."""

import autograd.numpy as np
from autograd import value_and_grad
from autograd.differential_operators import make_hvp

from benchmarks.updates import adam, sgd
from benchmarks.workloads import Data, Program


def dense(p, x, activation):
    """A fully connected network; the last layer has no activation."""
    depth = len(p) // 2
    for number in range(1, depth):
        x = activation(np.dot(x, p[f"W{number}"]) + p[f"b{number}"])
    return np.dot(x, p[f"W{depth}"]) + p[f"b{depth}"]


def relu(x):
    return np.maximum(x, 0)


def gradients_only(data: Data, loss) -> Program:
    both = value_and_grad(loss)

    def answer():
        value, gradients = both(data["parameters"])
        return {"loss": value, **gradients}

    return Program(lambda: both(data["parameters"]), answer)


def training(data: Data, loss, update) -> Program:
    parameters = {name: value.copy() for name, value in data["parameters"].items()}
    both, update = value_and_grad(loss), update(parameters, data["lr"])

    def step():
        value, gradients = both(parameters)
        update(gradients)
        return value

    def answer():
        value = [step() for _ in range(3)][-1]
        return {"loss": value, **parameters}

    return Program(step, answer)


def scalar_chain(data: Data) -> Program:
    def loss(p):
        y = p["x"]
        for _ in range(data["rounds"]):
            y = y * p["a"]
            y = y + p["b"]
            y = np.tanh(y)
        return y * p["a"]

    return gradients_only(data, loss)


def small_mlp(data: Data) -> Program:
    return training(data, lambda p: np.mean((dense(p, data["x"], relu) - data["target"]) ** 2), sgd)


def mlp(data: Data) -> Program:
    rows, target = np.arange(len(data["target"])), data["target"]

    def loss(p):
        scores = dense(p, data["x"], relu)
        scores = scores - np.max(scores, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(scores), axis=1)) - scores[rows, target])

    return training(data, loss, adam)


def rnn(data: Data) -> Program:
    def loss(p):
        h = np.zeros_like(data["target"])
        for x in data["x"]:
            h = np.tanh(np.dot(x, p["Wx"]) + np.dot(h, p["Wh"]) + p["b"])
        return np.mean((h - data["target"]) ** 2)

    return gradients_only(data, loss)


def elementwise(data: Data) -> Program:
    def loss(p):
        z = np.tanh(p["x"] * p["y"] + p["x"]) * p["y"]
        z = np.log(np.exp(z) + 1) - p["y"]
        return np.sum(z * z * 0.5)

    return gradients_only(data, loss)


def hvp(data: Data) -> Program:
    product = make_hvp(lambda p: np.mean((dense(p, data["x"], np.tanh) - data["target"]) ** 2))

    def step():
        return product(data["parameters"])[0](data["direction"])

    return Program(step, step)


def deep(data: Data) -> Program:
    def loss(p):
        y = p["x"]
        for _ in range(data["nodes"]):
            y = y + p["c"]
        return y[0]

    return gradients_only(data, loss)


PROGRAMS = {f.__name__: f for f in (scalar_chain, small_mlp, mlp, rnn, elementwise, hvp, deep)}
