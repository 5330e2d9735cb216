"""The least that an engine in Python can do: a tape on NumPy, and nothing else.

No dtypes, no versions, hooks, views, modes, second derivatives or messages; constants are plain arrays, and get no gradients. What it
takes is the floor for every engine that makes a node for each operation and calls NumPy in it; what autolab takes beyond that is the price
of all the rest.
"""

from itertools import count
from operator import attrgetter

import numpy as np

from benchmarks.updates import sgd
from benchmarks.workloads import Data, Program

next_number = count().__next__


class TapeValue:
    """An array, and how it was made: from which values, the rule for their gradients, and what that asks for."""

    __slots__ = ("array", "number", "parents", "rule", "saved")
    __array_ufunc__ = None  # NumPy leaves `array @ value` to us

    def __mul__(self, other):
        return record(self.array * other.array, (self, other), mul_rule, (self.array, other.array))

    def __add__(self, other):
        rule = add_rule if self.array.ndim == other.array.ndim else bias_rule
        return record(self.array + other.array, (self, other), rule, None)

    def __sub__(self, constant):
        return record(self.array - constant, (self,), same_rule, None)

    def __matmul__(self, other):
        return record(self.array.dot(other.array), (self, other), matmul_rule, (self.array, other.array))

    def __rmatmul__(self, constant):
        return record(constant.dot(self.array), (self,), after_constant_rule, constant)


def record(array, parents, rule, saved) -> TapeValue:
    value = TapeValue()
    value.array, value.parents, value.rule, value.saved, value.number = array, parents, rule, saved, next_number()
    return value


def leaf(array) -> TapeValue:
    return record(array, (), None, None)


def mul_rule(g, saved):
    x, y = saved
    return g * y, g * x


def add_rule(g, saved):
    return g, g


def bias_rule(g, saved):
    return g, np.ones(len(g), g.dtype).dot(g)


def same_rule(g, saved):
    return (g,)


def matmul_rule(g, saved):
    x, y = saved
    return g.dot(y.T), x.T.dot(g)


def after_constant_rule(g, x):
    return (x.T.dot(g),)


def tanh_rule(g, out):
    return (g * (1 - out * out),)


def relu_rule(g, out):
    return (g * (out > 0),)


def mean_of_squares_rule(g, a):
    return (g * np.float32(2 / a.size) * a,)


def tanh(x: TapeValue) -> TapeValue:
    out = np.tanh(x.array)
    return record(out, (x,), tanh_rule, out)


def relu(x: TapeValue) -> TapeValue:
    out = np.maximum(x.array, 0)
    return record(out, (x,), relu_rule, out)


def mean_of_squares(x: TapeValue) -> TapeValue:
    a = x.array
    return record(np.vdot(a, a) / np.float32(a.size), (x,), mean_of_squares_rule, a)


def newest_first(roots: list) -> list:
    """All that the roots were made from, and they themselves."""
    order, seen = list(roots), set(roots)
    for value in order:  # it grows meanwhile
        for parent in value.parents:
            if parent not in seen:
                seen.add(parent)
                order.append(parent)
    return sorted(order, key=attrgetter("number"), reverse=True)


def backward(root: TapeValue) -> dict[TapeValue, np.ndarray]:
    """The gradient of each leaf."""
    pending, leaves = {root: np.ones_like(root.array)[()]}, {}
    for value in newest_first([root]):
        g = pending.pop(value)
        if value.rule is None:
            leaves[value] = g
            continue
        for parent, gi in zip(value.parents, value.rule(g, value.saved)):
            pending[parent] = pending[parent] + gi if parent in pending else gi
        value.saved = None
    return leaves


def program(data: Data, loss, update=None) -> Program:
    arrays = {name: value.copy()[()] for name, value in data["parameters"].items()}
    values = {name: leaf(array) for name, array in arrays.items()}
    update = update and update(arrays, data["lr"])

    def step():
        value = loss(values)
        found = backward(value)
        gradients = {name: found[v] for name, v in values.items()}
        if update:
            update(gradients)
        return value.array, gradients

    def answer():
        value, gradients = [step() for _ in range(3 if update else 1)][-1]
        return {"loss": value, **(arrays if update else gradients)}

    return Program(step, answer)


def scalar_chain(data: Data) -> Program:
    def loss(p):
        y = p["x"]
        for _ in range(data["rounds"]):
            y = y * p["a"]
            y = y + p["b"]
            y = tanh(y)
        return y * p["a"]

    return program(data, loss)


def small_mlp(data: Data) -> Program:
    x, target = data["x"], data["target"]

    def loss(p):
        h = relu(x @ p["W1"] + p["b1"])
        h = relu(h @ p["W2"] + p["b2"])
        return mean_of_squares(h @ p["W3"] + p["b3"] - target)

    return program(data, loss, sgd)


def rnn(data: Data) -> Program:
    xs, target = list(data["x"]), data["target"]

    def loss(p):
        h = np.zeros_like(target)
        for x in xs:
            h = tanh(x @ p["Wx"] + h @ p["Wh"] + p["b"])
        return mean_of_squares(h - target)

    return program(data, loss)


PROGRAMS = {f.__name__: f for f in (scalar_chain, small_mlp, rnn)}
