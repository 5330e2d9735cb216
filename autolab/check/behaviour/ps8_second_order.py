"""Problem set 8: beyond the first derivative. Values are compared, and how often a function was asked for them."""

from __future__ import annotations

import numpy as np

from autolab.autograd import backward, grad
from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

from ..run.exercises import softmax
from ..run.inputs import draw
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult, arrays, leaf_tensor, pair


def _derivatives(cls, x, g, n) -> list:
    """The first n derivatives of the sum of g * f(x)."""
    a = leaf_tensor(x)
    y, found = (cls.apply(a) * from_numpy(g)).sum(), []
    for _ in range(n):
        if not y.requires_grad:
            found.append(np.zeros_like(x))
            continue
        (d,) = grad(y, a, create_graph=True, allow_unused=True)
        d = a.detach() * 0 if d is None else d
        found.append(d.detach().numpy())
        y = d.sum()
    return found


def _squared(cls, x, g) -> Data:
    """The second derivative of the sum of g * f(x) ** 2: what comes into backward depends on x as well."""

    class Inside:
        apply = staticmethod(lambda a: cls.apply(a) ** 2)

    return {"derivative": _derivatives(Inside, x, g, 2)[-1]}


def _nth(n):
    return lambda cls, x, g: {"derivative": _derivatives(cls, x, g, n)[-1]}


CUT = ("cut", "The second derivative is zero: backward computed with numbers that have no history",
       "In backward, use tensors and their operations: no .numpy(), .detach(), .data or no_grad.")  # fmt: skip
CUBE = Behaviour("cube_twice", (
    Scene("first derivative", _nth(1), lambda x, g: {"derivative": 3 * x**2 * g}, "3 x ** 2 times g", "As in problem set 2.", 2,
          arrays((5,), (5,)), slips=[
              Slip("upstream ignored", "The incoming gradient is ignored", "The chain rule has two factors.",
                   lambda x, g: {"derivative": 3 * x**2}),
              Slip("constant", "The gradient is too small by a constant factor", "Which number does differentiating bring down?",
                   lambda x, g: {"derivative": x**2 * g}),
              Slip("order", "This is the second derivative; backward returns the first", "Differentiate once; the engine does the rest.",
                   lambda x, g: {"derivative": 6 * x * g})]),
    Scene("second derivative", _nth(2), lambda x, g: {"derivative": 6 * x * g}, "backward can be differentiated", CUT[2], 2,
          arrays((5,), (5,)), slips=[
              Slip(*CUT, lambda x, g: {"derivative": 0 * x}),
              Slip("constant", "The second derivative is off by a factor: part of backward has no history", CUT[2],
                   lambda x, g: {"derivative": 3 * x * g})]),
    Scene("inside a square", _squared, lambda x, g: {"derivative": 30 * x**4 * g}, "g has a history, too", CUT[2], 1,
          arrays((5,), (5,)), slips=[
              Slip("cut", "The incoming gradient has lost its history: g depends on x as well when the result is squared",
                   "Use g as it comes in.", lambda x, g: {"derivative": 12 * x**4 * g})]),
    Scene("third derivative", _nth(3), lambda x, g: {"derivative": 6 * g}, "and again", CUT[2], 1, arrays((5,), (5,))),
))  # fmt: skip


def _tanh(x, g, n) -> np.ndarray:
    t = np.tanh(x)
    return g * (1 - t**2) if n == 1 else g * -2 * t * (1 - t**2)


TANH = Behaviour("tanh_twice", (
    Scene("first derivative", _nth(1), lambda x, g: {"derivative": _tanh(x, g, 1)}, "from the result",
          "The derivative of tanh is written with its result: put in one number by hand.", 1, arrays((5,), (5,)), slips=[
              Slip("upstream ignored", "The incoming gradient is ignored", "The chain rule has two factors.",
                   lambda x, g: {"derivative": 1 - np.tanh(x) ** 2})]),
    Scene("second derivative", _nth(2), lambda x, g: {"derivative": _tanh(x, g, 2)},
          "the saved result knows where it came from", "Save the result itself with ctx.save_for_backward: it comes back "
          "with its history, and its history is your own rule.", 3, arrays((5,), (5,)), slips=[
              Slip("cut", "The second derivative is zero: what backward used had no history", "Save the result itself with "
                   "ctx.save_for_backward(out), and return the same out.", lambda x, g: {"derivative": 0 * x})]),
))  # fmt: skip


class CountingFunction:
    """f(x) = sum(x ** 3) + sum(x) ** 2, which counts its calls. Hessian: diag(6 x) + 2."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return (x**3).sum() + x.sum() ** 2


def _hvp(f, x, v) -> Data:
    return {"hvp": f(CountingFunction(), leaf_tensor(x), from_numpy(v))}


def _hvp_calls(f, x, v) -> Data:
    counted, a = CountingFunction(), leaf_tensor(x)
    f(counted, a, from_numpy(v))
    return {"calls": counted.calls, "grad": a.grad is None}


HVP = Behaviour("hvp", (
    Scene("value", _hvp, lambda x, v: {"hvp": 6 * x * v + 2 * v.sum()}, "the Hessian times v",
          "The gradient times v is a number; differentiate that.", 4, arrays((5,), (5,)), slips=[
              Slip("first order", "This is the gradient, not yet differentiated a second time", "The gradient times v is a number; "
                   "differentiate that.", lambda x, v: {"hvp": 3 * x**2 + 2 * x.sum()}),
              Slip("first order", "This is the gradient times v", "Differentiate the number sum(gradient * v).",
                   lambda x, v: {"hvp": (3 * x**2 + 2 * x.sum()) * v}),
              Slip("diagonal only", "Only the diagonal of the Hessian is there", "Each entry of the gradient depends on every entry of x.",
                   lambda x, v: {"hvp": 6 * x * v}),
              Slip("vector", "The rows of the Hessian are added up before v comes in: v times the sum of each row",
                   "Multiply by v between the two derivatives, not afterwards.",
                   lambda x, v: {"hvp": (6 * x + 2 * len(x)) * v}),
              Slip("vector", "v comes in twice: the product is multiplied by v once more", "The product has the size of v, not of v * v.",
                   lambda x, v: {"hvp": (6 * x * v + 2 * v.sum()) * v}),
              Slip("vector", "v has no effect: this is the sum of each row of the Hessian", "Multiply by v between the two derivatives.",
                   lambda x, v: {"hvp": 6 * x + 2 * len(x)})]),
    Scene("cost", lambda f, x, v: {"calls": _hvp_calls(f, x, v)["calls"]}, lambda x, v: {"calls": 1},
          "one forward pass, whatever the size", "Differentiate the graph you have: call f once, and take no difference quotient.", 2,
          arrays((5,), (5,)), says={"calls": "how often f was called"}),
    Scene("leaves .grad alone", lambda f, x, v: {"grad": _hvp_calls(f, x, v)["grad"]}, lambda x, v: {"grad": True},
          "nothing is left in x.grad", "autograd.grad returns; backward stores.", 1, arrays((5,), (5,)),
          says={"grad": "x.grad is still None"}),
))  # fmt: skip


def _penalty(f, x, w, n) -> Data:
    weights = leaf_tensor(w)
    loss = f(lambda a: (a @ weights).tanh(), from_numpy(x))
    if n == 0:
        return {"penalty": loss}
    if not isinstance(loss, Tensor):
        raise UnexpectedResult(f"penalty is a {type(loss).__name__}, expected a tensor that can be differentiated")
    if not loss.requires_grad:
        return {"gradient": np.zeros_like(w)}
    backward(loss)
    return {"gradient": np.zeros_like(w) if weights.grad is None else weights.grad}


def _right_penalty(x, w) -> tuple[np.ndarray, np.ndarray]:
    t = np.tanh(x @ w)
    slope, size = 1 - t**2, np.sqrt(w @ w)
    norms = slope * size
    of_norm = 2 * (norms - 1) / len(x)
    # the norm of a row is (1 - t ** 2) |w|
    gradient = x.T @ (of_norm * size * -2 * t * slope) + (of_norm * slope).sum() * w / size
    return np.mean((norms - 1) ** 2), gradient


def _from_slopes(penalty):
    """A slip: the penalty from the gradients of all samples, shape (N, D), as someone would compute it."""
    return lambda x, w: {"penalty": penalty((1 - np.tanh(x @ w) ** 2)[:, None] * w)}


def _norms(g, axis=1) -> np.ndarray:
    return np.sqrt((g * g).sum(axis))


def _small(rng):
    return draw(rng, (6, 3)) / 3, draw(rng, (3,))


PENALTY = Behaviour("gradient_penalty", (
    Scene("value", lambda f, x, w: _penalty(f, x, w, 0), lambda x, w: {"penalty": _right_penalty(x, w)[0]},
          "the mean of (norm - 1) ** 2 over the samples", "One norm for each row of x.", 3, _small, slips=[
              Slip("power", "The squared norm is compared with 1, not the norm", "There is a root in a norm.",
                   _from_slopes(lambda g: np.mean((_norms(g) ** 2 - 1) ** 2))),
              Slip("power", "The distance from 1 is not squared", "Read the formula from the outside to the inside.",
                   _from_slopes(lambda g: np.mean(abs(_norms(g) - 1)))),
              Slip("norm", "The absolute values are added up, which is another norm", "There is a root in this norm.",
                   _from_slopes(lambda g: np.mean((abs(g).sum(1) - 1) ** 2))),
              Slip("axis", "There is one norm for the whole batch", "One norm for each row of x.",
                   _from_slopes(lambda g: (_norms(g, None) - 1) ** 2)),
              Slip("axis", "There is one norm for each column of x", "One norm for each row of x.",
                   _from_slopes(lambda g: np.mean((_norms(g, 0) - 1) ** 2))),
              Slip("constant", "The norms are too small by the number of samples", "What is differentiated: a sum or a mean?",
                   _from_slopes(lambda g: np.mean((_norms(g) / len(g) - 1) ** 2))),
              Slip("not divided", "The squares are added up and not averaged", "What appears before the sum?",
                   _from_slopes(lambda g: np.sum((_norms(g) - 1) ** 2))),
              Slip("averaged", "The norms are averaged before 1 is taken off", "Each sample has its own distance from 1.",
                   _from_slopes(lambda g: (np.mean(_norms(g)) - 1) ** 2))]),
    Scene("its gradient", lambda f, x, w: _penalty(f, x, w, 1), lambda x, w: {"gradient": _right_penalty(x, w)[1]},
          "the penalty can be trained on", "create_graph=True keeps the graph of the gradient.", 3, _small, slips=[
              Slip("cut", "The penalty has no gradient for the weights", "create_graph=True keeps the graph of the gradient.",
                   lambda x, w: {"gradient": 0 * w})]),
))  # fmt: skip


def _moved(found) -> Data:
    return dict(zip(("out", "tangent"), pair(found, "the result and its tangent"), strict=True))


MUL_JVP = Behaviour("mul_jvp", (
    Scene("product", lambda f, x, y, dx, dy: _moved(f(x, y, dx, dy)),
          lambda x, y, dx, dy: {"out": x * y, "tangent": dx * y + x * dy}, "both inputs move the product",
          "Move x by dx and y by dy at once.", 3, arrays((4,), (4,), (4,), (4,)), slips=[
              Slip("term", "Only one of the two inputs moves the product", "Two inputs move: two terms.",
                   lambda x, y, dx, dy: {"tangent": dx * y}),
              Slip("term", "Only one of the two inputs moves the product", "Two inputs move: two terms.",
                   lambda x, y, dx, dy: {"tangent": x * dy}),
              Slip("sign", "One of the two terms has the wrong sign", "How far does x * y move when y moves by dy?",
                   lambda x, y, dx, dy: {"tangent": dx * y - x * dy}),
              Slip("extra term", "The product of both tangents does not belong to the first derivative", "Count the terms.",
                   lambda x, y, dx, dy: {"tangent": dx * y + x * dy + dx * dy}),
              Slip("exchanged", "The result and its tangent are exchanged", "Return the result first.",
                   lambda x, y, dx, dy: {"out": dx * y + x * dy, "tangent": x * y}),
              Slip("swapped", "Each tangent is multiplied by its own input", "How far does x * y move when x moves by dx?",
                   lambda x, y, dx, dy: {"tangent": x * dx + y * dy}),
              Slip("product", "The tangents are multiplied with each other", "The chain rule is linear in the tangents.",
                   lambda x, y, dx, dy: {"tangent": dx * dy})]),
))  # fmt: skip
SOFTMAX_JVP = Behaviour("softmax_jvp", (
    Scene("value and tangent", lambda f, x, dx: _moved(f(x, dx)),
          lambda x, dx: {"out": softmax(x), "tangent": softmax(x) * (dx - softmax(x) @ dx)}, "the tangent of the result",
          "Every entry of the result moves with every entry of x.", 4, arrays((5,), (5,)), slips=[
              Slip("diagonal only", "Each entry moves with its own score only", "All probabilities share one sum.",
                   lambda x, dx: {"tangent": softmax(x) * (1 - softmax(x)) * dx}),
              Slip("term", "The sum over all entries does not move", "All probabilities share one sum.",
                   lambda x, dx: {"tangent": softmax(x) * dx}),
              Slip("factor", "The same number is taken off every entry", "How much of the sum falls to each entry?",
                   lambda x, dx: {"tangent": softmax(x) * dx - softmax(x) @ dx}),
              Slip("averaged", "What all entries share is averaged", "Contributions add up.",
                   lambda x, dx: {"tangent": softmax(x) * (dx - np.mean(softmax(x) * dx))}),
              Slip("factor", "The tangents are added up without their weights", "How much does each score move the sum of exponentials?",
                   lambda x, dx: {"tangent": softmax(x) * (dx - dx.sum())})]),
    Scene("sum", lambda f, x, dx: {"sum": np.sum(_moved(f(x, dx))["tangent"])}, lambda x, dx: {"sum": 0.0},
          "probabilities keep adding up to 1",
          "The probabilities add up to 1 before and after the move, so their tangents add up to 0.", 1, arrays((5,), (5,))),
    Scene("large scores", lambda f, x, dx: {"out": _moved(f(300 * x + 1700, dx))["out"]}, lambda x, dx: {"out": softmax(300 * x)},
          "no overflow", "Take the largest score off all of them before exp.", 1, arrays((5,), (5,))),
))  # fmt: skip


def _vmapped(axes, arrange):
    def play(f, x, y):
        return {"out": f(*arrange(x, y), axes)}

    return play


DOT_VMAP = Behaviour("dot_vmap", (
    Scene("both", _vmapped((0, 0), lambda x, y: (x, y)), lambda x, y: {"out": (x * y).sum(1)}, "sample by sample",
          "Which axis is left when each sample is one number?", 2, arrays((4, 4), (4, 4)), slips=[
              Slip("axis", "The wrong axis is summed: entries of different samples are mixed", "Which axis are the samples?",
                   lambda x, y: {"out": (x * y).sum(0)}),
              Slip("axis", "Everything is added up, the samples too", "Which axis is left when each sample is one number?",
                   lambda x, y: {"out": (x * y).sum()}),
              Slip("keepdims", "The axis that was summed is still there, with size 1", "Compare the shape with the table.",
                   lambda x, y: {"out": (x * y).sum(1, keepdims=True)}),
              Slip("axis", "Every sample of x meets every sample of y", "Sample i of x meets sample i of y only.",
                   lambda x, y: {"out": x @ y.T})]),
    Scene("one is shared", _vmapped((0, None), lambda x, y: (x, y[0])), lambda x, y: {"out": x @ y[0]}, "None: the same for all",
          "An input without a batch axis takes part in every sample.", 1, arrays((6, 4), (6, 4))),
    Scene("the other is shared", _vmapped((None, 0), lambda x, y: (x[0], y)), lambda x, y: {"out": y @ x[0]},
          "on either side", "An input without a batch axis takes part in every sample.", 1, arrays((6, 4), (6, 4))),
    Scene("another axis", _vmapped((1, 0), lambda x, y: (np.ascontiguousarray(x.T), y)), lambda x, y: {"out": (x * y).sum(1)},
          "samples along any axis", "Move the batch axis to the front first (np.moveaxis).", 2, arrays((4, 4), (4, 4))),
))  # fmt: skip

SECOND = (CUBE, TANH, HVP, PENALTY, MUL_JVP, SOFTMAX_JVP, DOT_VMAP)
