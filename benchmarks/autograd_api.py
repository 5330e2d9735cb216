"""The workloads in HIPS autograd: pure functions of a dict of arrays."""

import autograd.numpy as np
from autograd import value_and_grad
from autograd.differential_operators import make_hvp

from benchmarks.losses import dense, programs
from benchmarks.workloads import Data, Program


def cross_entropy(scores, target):
    scores = scores - np.max(scores, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(scores), axis=1)) - scores[np.arange(len(target)), target])


def hvp(data: Data) -> Program:
    product = make_hvp(lambda p: np.mean((dense(p, data["x"], np.dot, np.tanh) - data["target"]) ** 2))

    def step():
        return product(data["parameters"])[0](data["direction"])

    return Program(step, step)


PROGRAMS = {**programs(np, np.dot, lambda x: np.maximum(x, 0), cross_entropy, value_and_grad), "hvp": hvp}
