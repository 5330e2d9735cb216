"""The workloads in MyGrad. It has no second derivatives, so hvp is missing."""

import mygrad as mg
import numpy as np
from mygrad.nnet.activations import relu
from mygrad.nnet.losses import softmax_crossentropy

from benchmarks.updates import adam, sgd
from benchmarks.workloads import Data, Program


def dense(p, x):
    """A fully connected network; the last layer has no activation."""
    depth = len(p) // 2
    for number in range(1, depth):
        x = relu(mg.matmul(x, p[f"W{number}"]) + p[f"b{number}"])
    return mg.matmul(x, p[f"W{depth}"]) + p[f"b{depth}"]


def program(data: Data, loss, update=None) -> Program:
    tensors = {name: mg.tensor(value.copy()) for name, value in data["parameters"].items()}
    arrays = {name: tensor.data for name, tensor in tensors.items()}
    update = update and update(arrays, data["lr"])

    def step():
        for tensor in tensors.values():
            tensor.null_grad()
        value = loss(tensors)
        value.backward()
        if update:
            update({name: tensor.grad for name, tensor in tensors.items()})
        return value

    def answer():
        value = [step() for _ in range(3 if update else 1)][-1]
        return {"loss": value.data, **(arrays if update else {name: t.grad.copy() for name, t in tensors.items()})}

    return Program(step, answer)


def scalar_chain(data: Data) -> Program:
    def loss(p):
        y = p["x"]
        for _ in range(data["rounds"]):
            y = y * p["a"]
            y = y + p["b"]
            y = mg.tanh(y)
        return y * p["a"]

    return program(data, loss)


def small_mlp(data: Data) -> Program:
    return program(data, lambda p: mg.mean((dense(p, data["x"]) - data["target"]) ** 2), sgd)


def mlp(data: Data) -> Program:
    return program(data, lambda p: softmax_crossentropy(dense(p, data["x"]), data["target"]), adam)


def rnn(data: Data) -> Program:
    def loss(p):
        h = np.zeros_like(data["target"])
        for x in data["x"]:
            h = mg.tanh(mg.matmul(x, p["Wx"]) + mg.matmul(h, p["Wh"]) + p["b"])
        return mg.mean((h - data["target"]) ** 2)

    return program(data, loss)


def elementwise(data: Data) -> Program:
    def loss(p):
        z = mg.tanh(p["x"] * p["y"] + p["x"]) * p["y"]
        z = mg.log(mg.exp(z) + 1) - p["y"]
        return mg.sum(z * z * 0.5)

    return program(data, loss)


def deep(data: Data) -> Program:
    def loss(p):
        y = p["x"]
        for _ in range(data["nodes"]):
            y = y + p["c"]
        return y

    return program(data, loss)


PROGRAMS = {f.__name__: f for f in (scalar_chain, small_mlp, mlp, rnn, elementwise, deep)}
