"""Wrong rules, written as students write them: operation, family of the mistake, words of the report, rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from autolab.autograd import Function, enable_grad, grad

WRONG: list[Wrong] = []


class Wrong(NamedTuple):
    """A wrong rule and what has to be said about it."""

    operation: str
    family: str
    says: str
    rule: type | Callable | tuple


def wrong(operation: str, family: str, says: str = ""):
    def keep(rule):
        WRONG.append(Wrong(operation, family, says, rule))
        return rule

    return keep


# --- square


@wrong("square", "constant", "0.5 times the right one")
class ForgotTheTwo(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x


@wrong("square", "upstream ignored", "does not depend on the incoming gradient")
class LocalDerivativeOnly(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x


@wrong("square", "upstream added", "plus the incoming gradient")
class AddsUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x + grad_output


@wrong("square", "mutation", "writes into the incoming gradient g")
class WritesIntoG(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output *= 2 * x
        return grad_output


@wrong("square", "engine called", "asks the engine")
class LetsTheEngineDoIt(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with enable_grad():
            x = x.detach().requires_grad_()
            return grad(x * x, x, grad_output)[0]


@wrong("square", "variable", "the result of forward where x belongs")
class SavedTheWrongThing(Function):
    @staticmethod
    def forward(ctx, x):
        out = x * x
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


@wrong("square", "sign", "the wrong sign")
def minus(g, x):
    return -2 * x * g


@wrong("square", "upstream only", "the local derivative is missing")
def passes_g_through(g, x):
    return g


@wrong("square", "finite differences", "probably a difference quotient")
def central_difference(g, x, h=1e-6):
    return g * ((x + 1e-6) ** 2 - (x - 1e-6) ** 2) / 2e-6


@wrong("square", "finite differences")
def wide_difference_that_is_nearly_exact(g, x):
    return g * ((x + 1e-3) ** 2 - (x - 1e-3) ** 2) / 2e-3


@wrong("square", "upstream collapsed", "the sum of g")
def sums_g(g, x):
    return 2 * x * g.sum()


@wrong("square", "precision", "digits of float32")
def single_precision_inside(g, x):
    return (2 * g * x).astype("float32").astype(x.dtype)


@wrong("square", "flattened", "the right numbers in the wrong shape")
def flat(g, x):
    return (2 * g * x).ravel()


@wrong("square", "none", "is None")
def forgot_to_return(g, x):
    2 * g * x


@wrong("square", "exception", "NameError")
def misspelt(g, x):
    return 2 * g * X  # noqa: F821


# --- mul


@wrong("mul", "not summed", "is not summed over axis 0")
class ForgetsToSum(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * y, grad_output * x


def leading(g, like):
    while g.ndim > like.ndim:
        g = g.sum(0)
    return g


def sum_to(g, like):
    g = leading(g, like)
    for axis, n in enumerate(like.shape):
        if n == 1 and g.shape[axis] != 1:
            g = np.sum(g, axis=axis, keepdims=True)
    return g


@wrong("mul", "not summed", "is not summed over axis 1")
def sums_leading_axes_only(g, x, y):
    return leading(g * y, x), leading(g * x, y)


@wrong("mul", "keepdims", "axes of size 1")
def loses_axes_of_size_one(g, x, y):
    def reduce(a, like):
        a = leading(a, like)
        return a.sum(axis=tuple(i for i, n in enumerate(like.shape) if n == 1 and a.shape[i] != 1))

    return reduce(g * y, x), reduce(g * x, y)


@wrong("mul", "averaged", "it has to be summed")
def averages(g, x, y):
    def reduce(a, like):
        while a.ndim > like.ndim:
            a = a.mean(axis=0)
        for axis, n in enumerate(like.shape):
            if n == 1 and a.shape[axis] != 1:
                a = a.mean(axis=axis, keepdims=True)
        return a

    return reduce(g * y, x), reduce(g * x, y)


@wrong("mul", "swapped", "is the one that y should receive")
def own_input(g, x, y):
    return sum_to(g * x, x), sum_to(g * y, y)


@wrong("mul", "count", "1 gradient, expected 2")
def one_gradient(g, x, y):
    return g * y


@wrong("mul", "wrong axis", "is summed over axis 0")
def always_the_first_axis(g, x, y):
    return g * y, (g * x).sum(axis=0)


@wrong("mul", "state", "kept outside ctx")
class KeepsThingsOnTheClass(Function):
    @staticmethod
    def forward(ctx, x, y):
        KeepsThingsOnTheClass.saved = x, y
        return x * y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = KeepsThingsOnTheClass.saved
        return sum_to(grad_output * y, x), sum_to(grad_output * x, y)


# --- relu


@wrong("relu", "upstream only", "the local derivative is missing")
def no_mask(g, x):
    return g


@wrong("relu", "mask from g", "the mask asks g")
class MasksTheGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return x * (x > 0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (grad_output > 0)


@wrong("relu", "mask", "the wrong way round")
def inverted(g, x):
    return np.where(x > 0, 0, g)


@wrong("relu", "forward", "g times the result of forward")
def clips_instead(g, x):
    return g * np.maximum(x, 0)


@wrong("relu", "places", "except where x is negative: there it is 0.01 g")
def leaks(g, x):
    return np.where(x > 0, g, 0.01 * g)


@wrong("relu", "kink", "at x = 0")
def divides_at_the_kink(g, x):
    return g * (x / np.abs(x) + 1) / 2


@wrong("relu", "mutation", "writes into the input x")
class ClipsItsInput(Function):
    @staticmethod
    def forward(ctx, x):
        x[x < 0] = 0
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# --- others


@wrong("exp", "variable", "uses x where the result of forward belongs")
def x_for_out(g, x):
    return g * x


@wrong("exp", "applied twice", "forward applied twice")
def exp_of_exp(g, out):
    return g * np.exp(out)


@wrong("log", "division", "a multiplication and a division exchanged")
def multiplies(g, x):
    return g * x


@wrong("log", "power")
def squares(g, x):
    return g / x**2


@wrong("tanh", "power", "its square belongs")
def forgets_the_square(g, out):
    return g * (1 - out)


@wrong("tanh", "variable", "uses x where the result of forward belongs")
def square_of_the_input(g, x):
    return g * (1 - x**2)


@wrong("tanh", "term sign", "the wrong sign on one of its terms")
def plus_for_minus(g, out):
    return g * (1 + out**2)


@wrong("tanh", "unstable", "not finite at x =")
def overflows(g, x):
    e = np.exp(2 * x)
    return g * 4 * e / (e + 1) ** 2


@wrong("tanh", "finite differences")
def difference_of_tanh(g, x):
    return g * (np.tanh(x + 1e-5) - np.tanh(x - 1e-5)) / 2e-5


@wrong("sigmoid", "factor", "without one of its factors")
def half_a_sigmoid(g, out):
    return g * (1 - out)


@wrong("sqrt", "constant", "2 times the right one")
def forgets_the_half(g, out):
    return g / out


@wrong("sin", "function", "sin where cos belongs")
def sin_of_sin(g, x):
    return g * np.sin(x)


@wrong("div", "sign", "The gradient for y has the right size and the wrong sign")
def plus_in_the_denominator(g, x, y):
    return sum_to(g / y, x), sum_to(g * x / y**2, y)


@wrong("div", "factor", "the right one times y")
def one_power_too_few(g, x, y):
    return sum_to(g / y, x), sum_to(-g * x / y, y)


@wrong("sub", "sign", "The gradient for y")
def both_plus(g, x, y):
    return sum_to(g, x), sum_to(g, y)


@wrong("matmul", "transposed", "transposed the wrong way")
def no_transpose(g, x, y):
    return g @ y, x @ g


@wrong("matmul", "order", "in the other order")
def other_order(g, x, y):
    return np.swapaxes(y, -1, -2) @ g, g @ np.swapaxes(x, -1, -2)


@wrong("matmul", "2-D only", "right where x has 2 axes and fails where it has 3")
def transposes_everything(g, x, y):
    return g @ y.T, x.T @ g


@wrong("softmax", "term", "must add up to 0")
def first_term_only(g, out, axis):
    return g * out


@wrong("softmax", "diagonal only", "every entry also changes the others")
def treats_it_as_elementwise(g, out, axis):
    return g * out * (1 - out)


@wrong("softmax", "axis", "belongs to another axis")
def always_the_last_axis(g, out, axis):
    return out * (g - (g * out).sum(-1, keepdims=True))


@wrong("sum", "upstream ignored")
def ones(g, x, axis):
    return np.ones_like(x)


@wrong("sum", "keepdims", "not put back")
def forgets_the_axis(g, x, axis):
    return g * np.ones_like(x)


@wrong("sum", "not spread", "has the shape of the result")
def g_as_it_is(g, x, axis):
    return g


@wrong("mean", "constant", "divided by the number of entries")
def divides_by_all(g, x, axis):
    return np.expand_dims(g, axis) * np.ones_like(x) / x.size
