"""The losses of the workloads for libraries with NumPy's names: HIPS autograd and MyGrad run this same code."""

from collections.abc import Callable

import numpy

from benchmarks.updates import adam, sgd
from benchmarks.workloads import Data, Program, program

Loss = Callable[[dict], object]


def programs(np, matmul, relu, cross_entropy, value_and_gradients: Callable[[Loss], Callable]) -> dict[str, Callable[[Data], Program]]:
    """The workloads by name, for a module with NumPy's names."""

    def scalar_chain(data: Data) -> Loss:
        def loss(p):
            y = p["x"]
            for _ in range(data["rounds"]):
                y = y * p["a"]
                y = y + p["b"]
                y = np.tanh(y)
            return y * p["a"]

        return loss

    def small_mlp(data: Data) -> Loss:
        return lambda p: np.mean((dense(p, data["x"], matmul, relu) - data["target"]) ** 2)

    def mlp(data: Data) -> Loss:
        return lambda p: cross_entropy(dense(p, data["x"], matmul, relu), data["target"])

    def rnn(data: Data) -> Loss:
        def loss(p):
            h = numpy.zeros_like(data["target"])
            for x in data["x"]:
                h = np.tanh(matmul(x, p["Wx"]) + matmul(h, p["Wh"]) + p["b"])
            return np.mean((h - data["target"]) ** 2)

        return loss

    def elementwise(data: Data) -> Loss:
        def loss(p):
            z = np.tanh(p["x"] * p["y"] + p["x"]) * p["y"]
            z = np.log(np.exp(z) + 1) - p["y"]
            return np.sum(z * z * 0.5)

        return loss

    def deep(data: Data) -> Loss:
        def loss(p):
            y = p["x"]
            for _ in range(data["nodes"]):
                y = y + p["c"]
            return y[0]

        return loss

    updates = {small_mlp: sgd, mlp: adam}
    return {
        f.__name__: lambda data, f=f: program(data, value_and_gradients(f(data)), updates.get(f))
        for f in (scalar_chain, small_mlp, mlp, rnn, elementwise, deep)
    }


def dense(p, x, matmul, activation):
    """A fully connected network; the last layer has no activation."""
    depth = len(p) // 2
    for number in range(1, depth):
        x = activation(matmul(x, p[f"W{number}"]) + p[f"b{number}"])
    return matmul(x, p[f"W{depth}"]) + p[f"b{depth}"]
