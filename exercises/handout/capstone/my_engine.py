"""My own engine: reverse-mode automatic differentiation on NumPy.

capstone.ipynb says what each part does, and checks it. The names below are the contract: keep them and their arguments. What they
are made of is yours: add functions, classes and attributes, or other modules beside this one. Import NumPy and what comes with
Python, nothing else.
"""

import contextlib
import itertools
import math

import numpy as np

# Milestone 1: scalars


class Value:
    """A number that remembers how it was computed.

    `data` is a float, `grad` a float that is 0.0 until `backward` has been called. The other operand of `+`, `*`, `-` and `/` may be
    a plain number, on either side; the exponent of `**` is a plain number.
    """

    def __init__(self, data, parents=(), local=()):
        # your code here
        raise NotImplementedError

    def __add__(self, other):
        # your code here
        raise NotImplementedError

    def __mul__(self, other):
        # your code here
        raise NotImplementedError

    def __pow__(self, n):
        # your code here
        raise NotImplementedError

    def exp(self):
        """e to this power."""
        # your code here
        raise NotImplementedError

    def log(self):
        """The natural logarithm."""
        # your code here
        raise NotImplementedError

    def tanh(self):
        """The hyperbolic tangent."""
        # your code here
        raise NotImplementedError

    def relu(self):
        """This number if it is positive, else 0; the derivative at 0 is 0."""
        # your code here
        raise NotImplementedError

    def backward(self):
        """Add to the `grad` of every input the derivative of this value with respect to it.

        Only inputs collect from call to call: values in between start at 0 in each call, also those that two results share.
        A chain of thousands of values is no problem, so nothing here calls itself once for each value.
        """
        # your code here
        raise NotImplementedError

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def __truediv__(self, other):
        return self * other**-1

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return self**-1 * other


# Milestone 2: tensors and broadcasting


def no_grad():
    """A block in which nothing is recorded: `with no_grad(): ...`. Afterwards it is as before, also after an error."""
    # your code here
    raise NotImplementedError


class Tensor:
    """An array of floats that remembers how it was computed.

    `data` is the NumPy array, `shape` its shape, `requires_grad` whether gradients are wanted, `grad` is None or what has arrived (an
    array or a Tensor, of the shape of `data`). Operands broadcast as in NumPy; one of them may be a number or an array.
    """

    __array_ufunc__ = None  # so that `array * tensor` asks the tensor

    def __init__(self, data, requires_grad=False):
        # your code here
        raise NotImplementedError

    @property
    def shape(self):
        """The shape of the array."""
        return self.data.shape

    def __add__(self, other):
        # your code here
        raise NotImplementedError

    def __mul__(self, other):
        # your code here
        raise NotImplementedError

    def __pow__(self, n):
        # your code here
        raise NotImplementedError

    def __matmul__(self, other):
        """Matrix product of tensors with two axes or more; the axes before the last two broadcast."""
        # your code here
        raise NotImplementedError

    def sum(self, axis=None, keepdims=False):
        """The sum over an axis, over several (a tuple), or over all."""
        # your code here
        raise NotImplementedError

    def mean(self, axis=None, keepdims=False):
        """The mean over an axis, over several (a tuple), or over all."""
        # your code here
        raise NotImplementedError

    def reshape(self, *shape):
        """The same numbers in another shape."""
        # your code here
        raise NotImplementedError

    def transpose(self, i, j):
        """With axes i and j swapped."""
        # your code here
        raise NotImplementedError

    def __getitem__(self, index):
        """What NumPy gives for this index: a number, a slice, an array of rows, or a tuple of these."""
        # your code here
        raise NotImplementedError

    def exp(self):
        """e to these powers."""
        # your code here
        raise NotImplementedError

    def log(self):
        """The natural logarithm."""
        # your code here
        raise NotImplementedError

    def tanh(self):
        """The hyperbolic tangent."""
        # your code here
        raise NotImplementedError

    def relu(self):
        """Each number if it is positive, else 0; the derivative at 0 is 0."""
        # your code here
        raise NotImplementedError

    def backward(self, gradient=None):
        """Add to the `grad` of every leaf that requires one its gradient; then let the graph go.

        `gradient` is that of this tensor, a Tensor of its shape; it may be left out if the tensor has one entry. Raises RuntimeError
        if it is left out otherwise, and if the graph was let go before.
        """
        # your code here
        raise NotImplementedError

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -other

    def __truediv__(self, other):
        return self * other**-1.0

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return self**-1.0 * other


# Milestone 3: layers


class Linear:
    """x @ weight.T + bias, with `weight` of shape (outputs, inputs) and `bias` of shape (outputs,).

    The entries of `weight` are drawn from `rng`, a NumPy Generator, between -1 / sqrt(inputs) and 1 / sqrt(inputs); those of `bias` are 0.
    With `bias=False` there is none, and `self.bias` is None.
    """

    def __init__(self, inputs, outputs, rng, bias=True):
        # your code here
        raise NotImplementedError

    def __call__(self, x):
        # your code here
        raise NotImplementedError

    def parameters(self):
        """The tensors that learn."""
        # your code here
        raise NotImplementedError


class Sequential:
    """Layers one after the other: objects with `parameters()`, or functions such as `Tensor.relu`."""

    def __init__(self, *layers):
        # your code here
        raise NotImplementedError

    def __call__(self, x):
        # your code here
        raise NotImplementedError

    def parameters(self):
        """The tensors that learn, in the order of the layers."""
        # your code here
        raise NotImplementedError


def cross_entropy(scores, target):
    """The mean negative log-probability of the right class, for scores (n, classes), also large ones, and n whole numbers."""
    # your code here
    raise NotImplementedError


class SGD:
    """Gradient descent with momentum: v = momentum * v + gradient, then parameter = parameter - lr * v; v begins as 0."""

    def __init__(self, parameters, lr, momentum=0.0):
        # your code here
        raise NotImplementedError

    def zero_grad(self):
        """Forget the gradients of all parameters."""
        # your code here
        raise NotImplementedError

    def step(self):
        """One step; a parameter without a gradient stays."""
        # your code here
        raise NotImplementedError


# Milestone 4: training


def train(model, inputs, target, optimizer, batch, steps):
    """Train with cross-entropy; return the loss of each step, floats.

    `inputs` (n, features) and `target` (n,) are arrays. Step k takes the `batch` rows after those of step k - 1; after the last row
    comes the first.
    """
    # your code here
    raise NotImplementedError


def accuracy(model, inputs, target):
    """The part of the rows whose largest score is that of the right class, from 0.0 to 1.0. Nothing is recorded."""
    # your code here
    raise NotImplementedError


# Milestone 5: second derivatives


def grad(output, inputs, create_graph=False):
    """The gradients of an output with one entry for these tensors, a list of Tensors; the `grad` of no tensor changes.

    With `create_graph` the gradients can be differentiated in turn. Raises RuntimeError if the output does not depend on an input.
    """
    # your code here
    raise NotImplementedError


# Milestone 6: checkpointing


def checkpoint(f, *inputs):
    """f(*inputs), one tensor, without keeping what is computed on the way: it is computed again when gradients are wanted.

    What f uses besides its inputs, such as the weights of a layer, receives its gradients all the same.
    """
    # your code here
    raise NotImplementedError


# Milestone 7: a fused operation


def attention(q, k, v):
    """Causal attention as one operation: softmax(q @ k.T / sqrt(d)) @ v, where place t sees the places up to t; axes (..., time, d).

    One tensor is made, the result, and the gradients of q, k and v come from one rule that you write.
    """
    # your code here
    raise NotImplementedError


# Milestone 8: what a GPT needs


class Embedding:
    """Row i of `weight`, of shape (n, d), for each whole number i of an array; drawn from a normal distribution of width 0.02."""

    def __init__(self, n, d, rng):
        # your code here
        raise NotImplementedError

    def __call__(self, index):
        # your code here
        raise NotImplementedError

    def parameters(self):
        """The tensors that learn."""
        # your code here
        raise NotImplementedError


class LayerNorm:
    """(x - mean) / sqrt(variance + 1e-5) * weight + bias along the last axis; variance is the mean square of x - mean.

    `weight` and `bias` of shape (d,) begin as ones and zeros.
    """

    def __init__(self, d):
        # your code here
        raise NotImplementedError

    def __call__(self, x):
        # your code here
        raise NotImplementedError

    def parameters(self):
        """The tensors that learn."""
        # your code here
        raise NotImplementedError


class Adam:
    """Adam as Kingma and Ba (2015, algorithm 1) write it, with the bias of both averages corrected."""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        # your code here
        raise NotImplementedError

    def zero_grad(self):
        """Forget the gradients of all parameters."""
        # your code here
        raise NotImplementedError

    def step(self):
        """One step; a parameter without a gradient stays."""
        # your code here
        raise NotImplementedError
