"""The right rule of any exercise with one change in its gradients, and what such a gradient is worth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autolab.check.api.points import NOTHING, PART, SLIP
from autolab.check.run.candidate import Answer, Fault
from autolab.check.run.reference import Reference


class CannotChange(Exception):
    """The change makes no sense in this exercise."""


def possible(*conditions: object) -> None:
    if not all(conditions):
        raise CannotChange


class Changed:
    """A candidate whose gradients are the right ones, changed."""

    judges_forward = True

    def __init__(self, reference: Reference, change: Callable):
        self.reference, self.change = reference, change

    def call(self, inputs, settings, upstream, between=None):
        names = self.reference.environment(inputs, settings)
        with np.errstate(all="ignore"):
            gradients = tuple(tuple(self._gradient(x, g, names) for x in self.reference.inputs) for g in upstream)
        return Answer(names["out"], gradients, tuple(inputs), tuple(upstream), None)

    def _gradient(self, x, g, names):
        if x not in self.reference.rules:
            return None
        return self.change(lambda g: self.reference.gradient(x, g, names), np.asarray(names[x]), g, names["out"])


class Raising(Changed):
    """One that may raise."""

    def call(self, inputs, settings, upstream, between=None):
        try:
            return super().call(inputs, settings, upstream, between)
        except ValueError as error:
            return Answer(None, (), tuple(inputs), tuple(upstream), Fault("backward", "exception", str(error)))


def times_deviation(right, x, g, out):
    return right(g) * (x.std(-1, keepdims=True) if x.ndim and x.shape[-1] > 1 else 0.7)


def times_norm(right, x, g, out):
    return right(g) * (np.sqrt((x * x).sum(-1, keepdims=True)) if x.ndim and x.shape[-1] > 1 else 0.7)


def times_size(right, x, g, out):
    possible(x.ndim)
    return right(g) * x.shape[-1]


def without_g(right, x, g, out):
    possible(np.any(abs(right(np.ones_like(g))) > 1e-9))  # of a softmax that is 0
    return right(np.ones_like(g))


def mean_of_g(right, x, g, out):
    possible(g.size > 1, np.any(abs(right(np.ones_like(g))) > 1e-9))
    return right(np.full_like(g, g.mean()))


def size_of_g(right, x, g, out):
    possible(g.size > 1)
    return right(abs(g))


def another_way(move: Callable) -> Callable:
    def change(right, x, g, out):
        possible(x.ndim > 1 and x.shape[-1] > 1)
        return move(right(g))

    return change


def g_itself(right, x, g, out):
    possible(g.shape == x.shape)
    possible(not g.any() or not np.allclose(right(g), g))
    return g


def times_input(right, x, g, out):
    possible(g.shape != x.shape or not g.any() or not np.allclose(right(g) * x, g))  # that of a logarithm is g itself then
    return right(g) * x


# What is changed, and the part of *value* that such a gradient earns, in whatever operation.
CHANGES: dict[str, tuple[Callable, float]] = {
    "the sign": (lambda right, x, g, out: -right(g), SLIP),
    "twice": (lambda right, x, g, out: 2 * right(g), SLIP),
    "times a size": (times_size, SLIP),
    "another shape": (another_way(np.ravel), SLIP),
    "one hundredth off": (lambda right, x, g, out: right(g) * (1 + 0.01 * np.cos(7 * x)), SLIP),
    "times the deviation": (times_deviation, PART),
    "times the norm": (times_norm, PART),
    "times the input": (times_input, PART),
    "by the input": (lambda right, x, g, out: right(g) / x, PART),
    "without g": (without_g, PART),
    "the mean of g": (mean_of_g, PART),
    "the size of g": (size_of_g, PART),
    "the square of g": (lambda right, x, g, out: right(g * g), PART),
    "the wrong way round": (another_way(lambda a: np.flip(a, -1)), PART),
    "one place further": (another_way(lambda a: np.roll(a, 1, -1)), PART),
    "half of the entries": (another_way(lambda a: a * (np.arange(a.size).reshape(a.shape) % 2)), PART),
    "g itself": (g_itself, NOTHING),
    "zeros": (lambda right, x, g, out: np.zeros_like(x), NOTHING),
    "the input": (lambda right, x, g, out: x + 0, NOTHING),
    "a function without g": (lambda right, x, g, out: np.cosh(x / 2), NOTHING),
}
