"""The workloads in MyGrad. It has no second derivatives, so hvp is missing."""

import mygrad as mg
from mygrad.nnet.activations import relu
from mygrad.nnet.losses import softmax_crossentropy

from benchmarks.losses import programs


def value_and_gradients(loss):
    def run(parameters):
        tensors = {name: mg.tensor(value, copy=False) for name, value in parameters.items()}
        value = loss(tensors)
        value.backward()
        return value.data, {name: tensor.grad for name, tensor in tensors.items()}

    return run


PROGRAMS = programs(mg, mg.matmul, relu, softmax_crossentropy, value_and_gradients)
