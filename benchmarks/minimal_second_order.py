"""The least that an engine in Python can do for second derivatives: a tape whose rules are operations on the tape.

As in `minimal_engine`, without all else that an engine has. A rule is written once, for values (a pass that is recorded) and
for arrays (the last pass). Constants are plain arrays, and get no gradients.
"""

import numpy as np

from benchmarks.minimal_engine import newest_first, next_number
from benchmarks.workloads import Data, Program


class RecordedValue:
    """An array, and how it was made: from which values, and the rule for their gradients, which is given the operands and the result."""

    __slots__ = ("array", "number", "parents", "rule")
    __array_ufunc__ = None  # NumPy leaves `array @ value` to us

    def __init__(self, array, parents=(), rule=None):
        self.array, self.parents, self.rule, self.number = array, parents, rule, next_number()

    def __mul__(self, other):
        if type(other) is not RecordedValue:
            return RecordedValue(self.array * other, (self,), lambda g, x, out: (g * other,))
        return RecordedValue(self.array * other.array, (self, other), mul_rule)

    def __add__(self, other):
        return RecordedValue(self.array + other.array, (self, other), add_rule if self.array.ndim == other.array.ndim else bias_rule)

    def __sub__(self, constant):
        return RecordedValue(self.array - constant, (self,), same_rule)

    def __rsub__(self, constant):
        return RecordedValue(constant - self.array, (self,), minus_rule)

    def __neg__(self):
        return RecordedValue(-self.array, (self,), minus_rule)

    def __matmul__(self, other):
        return RecordedValue(self.array.dot(other.array), (self, other), matmul_rule)

    dot = __matmul__  # as arrays have it

    def __rmatmul__(self, constant):
        return product(constant, self)

    @property
    def T(self):
        return RecordedValue(self.array.T, (self,), transpose_rule)


def mul_rule(g, x, y, out):
    return g * y, g * x


def add_rule(g, x, y, out):
    return g, g


def bias_rule(g, x, y, out):
    return g, column_sums(g)


def same_rule(g, x, out):
    return (g,)


def minus_rule(g, x, out):
    return (-g,)


def matmul_rule(g, x, y, out):
    return g.dot(y.T), x.T.dot(g)


def product(constant, y):
    """constant @ y"""
    if type(y) is not RecordedValue:
        return constant.dot(y)
    return RecordedValue(constant.dot(y.array), (y,), lambda g, y, out: (product(constant.T, g),))


def transpose_rule(g, x, out):
    return (g.T,)


def tanh_rule(g, x, out):
    return (g * (ONE - out * out),)


ONE = np.float32(1)


def tanh(x):
    return RecordedValue(np.tanh(x.array), (x,), tanh_rule)


def column_sums(x):
    if type(x) is not RecordedValue:
        return np.ones(len(x), x.dtype).dot(x)
    rows = len(x.array)
    return RecordedValue(column_sums(x.array), (x,), lambda g, x, out: (repeat(g, rows),))


def repeat(x, rows):
    """A row, so many times."""
    if type(x) is not RecordedValue:
        return np.broadcast_to(x, (rows, len(x)))
    return RecordedValue(repeat(x.array, rows), (x,), lambda g, x, out: (column_sums(g),))


def dot(x, constant):
    """The sum of the products of all entries."""
    return RecordedValue(np.vdot(x.array, constant), (x,), lambda g, x, out: (g * constant,))


def mean_of_squares(x):
    scale = np.float32(2 / x.array.size)
    return RecordedValue(np.vdot(x.array, x.array) * scale / 2, (x,), lambda g, x, out: (x * (g * scale),))


def backward(roots, gradients, record=False):
    """The gradient of each leaf: a RecordedValue if it is recorded, else an array."""
    pending, leaves = dict(zip(roots, gradients)), {}
    for value in newest_first(roots):
        g = pending.pop(value)
        if value.rule is None:
            leaves[value] = g
            continue
        operands = (*value.parents, value) if record else (*[p.array for p in value.parents], value.array)
        for parent, gi in zip(value.parents, value.rule(g, *operands)):
            pending[parent] = pending[parent] + gi if parent in pending else gi
    return leaves


def hvp(data: Data) -> Program:
    parameters = {name: RecordedValue(value) for name, value in data["parameters"].items()}
    p, leaves, directions = parameters, parameters.values(), data["direction"].values()

    def step():
        h = tanh(data["x"] @ p["W1"] + p["b1"])
        h = tanh(h @ p["W2"] + p["b2"])
        loss = mean_of_squares(h @ p["W3"] + p["b3"] - data["target"])
        first = backward([loss], [ONE], record=True)
        slope, *others = [dot(first[leaf], v) for leaf, v in zip(leaves, directions, strict=True)]
        for other in others:
            slope = slope + other
        second = backward([slope], [ONE])
        return [second[leaf] for leaf in leaves]

    return Program(step, lambda: dict(zip(p, step(), strict=True)))
