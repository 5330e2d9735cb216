"""Problem set 8: beyond the first derivative. Values are compared, and how often a function was asked for them."""

from __future__ import annotations

from collections.abc import Sequence

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
EXP_TIMES = Behaviour("exp_times_twice", (
    Scene("first derivative", _nth(1), lambda x, g: {"derivative": (x + 1) * np.exp(x) * g}, "(x + 1) exp(x) times g",
          "A product has two terms in its derivative.", 2, arrays((5,), (5,)), slips=[
              Slip("upstream ignored", "The incoming gradient is ignored", "The chain rule has two factors.",
                   lambda x, g: {"derivative": (x + 1) * np.exp(x)}),
              Slip("term", "Only the exponential is differentiated, and not the x in front", "A product has two terms in its derivative.",
                   lambda x, g: {"derivative": x * np.exp(x) * g}),
              Slip("term", "Only the x in front is differentiated, and not the exponential", "A product has two terms in its derivative.",
                   lambda x, g: {"derivative": np.exp(x) * g}),
              Slip("order", "This is the second derivative; backward returns the first", "Differentiate once; the engine does the rest.",
                   lambda x, g: {"derivative": (x + 2) * np.exp(x) * g})]),
    Scene("second derivative", _nth(2), lambda x, g: {"derivative": (x + 2) * np.exp(x) * g}, "backward can be differentiated",
          CUT[2], 2, arrays((5,), (5,)), slips=[
              Slip(*CUT, lambda x, g: {"derivative": 0 * x}),
              Slip("constant", "A part of the second derivative is missing: the saved exponential has no history",
                   "Save x and take its exponential in backward, or save a result of forward; a number made on the way has no history.",
                   lambda x, g: {"derivative": np.exp(x) * g}),
              Slip("constant", "A part of the second derivative is missing: the factor x + 1 has no history", CUT[2],
                   lambda x, g: {"derivative": (x + 1) * np.exp(x) * g})]),
    Scene("inside a square", _squared, lambda x, g: {"derivative": (4 * x**2 + 8 * x + 2) * np.exp(2 * x) * g},
          "g has a history, too", CUT[2], 1, arrays((5,), (5,)), slips=[
              Slip("cut", "The incoming gradient has lost its history: g depends on x as well when the result is squared",
                   "Use g as it comes in.", lambda x, g: {"derivative": 2 * x * (x + 2) * np.exp(2 * x) * g})]),
    Scene("third derivative", _nth(3), lambda x, g: {"derivative": (x + 3) * np.exp(x) * g}, "and again", CUT[2], 1,
          arrays((5,), (5,))),
))  # fmt: skip


def _hypotenuse(x, g, n) -> np.ndarray:
    y = np.sqrt(1 + x * x)
    return g * x / y if n == 1 else g / y**3


ROOT = Behaviour("hypotenuse_twice", (
    Scene("first derivative", _nth(1), lambda x, g: {"derivative": _hypotenuse(x, g, 1)}, "from the result",
          "The derivative is written with x and the result: put in one number by hand.", 1, arrays((5,), (5,)), slips=[
              Slip("upstream ignored", "The incoming gradient is ignored", "The chain rule has two factors.",
                   lambda x, g: {"derivative": x / np.sqrt(1 + x * x)}),
              Slip("constant", "The gradient is half as large: the 2 that the square brings down is missing",
                   "Differentiate 1 + x * x first.", lambda x, g: {"derivative": g * x / np.sqrt(1 + x * x) / 2})]),
    Scene("second derivative", _nth(2), lambda x, g: {"derivative": _hypotenuse(x, g, 2)},
          "the saved result knows where it came from", "Save the result itself with ctx.save_for_backward: it comes back "
          "with its history, and its history is your own rule.", 3, arrays((5,), (5,)), slips=[
              Slip("cut", "The second derivative is zero: what backward used had no history", "Save the result itself with "
                   "ctx.save_for_backward(x, out), and return the same out.", lambda x, g: {"derivative": 0 * x}),
              Slip("term", "The result that backward used had no history: it counts as a constant", "Save the result itself with "
                   "ctx.save_for_backward(x, out), and return the same out.", lambda x, g: {"derivative": g / np.sqrt(1 + x * x)}),
              Slip("term", "The x that backward used had no history: it counts as a constant", "Save x with ctx.save_for_backward.",
                   lambda x, g: {"derivative": -g * x * x / np.sqrt(1 + x * x) ** 3})]),
))  # fmt: skip


class CountingFunction:
    """f(a, b, c) = sum(a ** 3) + sum(a) * sum(b ** 2) + sum(c), which counts its calls. c is in no second derivative."""

    def __init__(self):
        self.calls = 0

    def __call__(self, a, b, c):
        self.calls += 1
        return (a**3).sum() + a.sum() * (b**2).sum() + c.sum()


def _parameters(a, b, c) -> list:
    return [leaf_tensor(p) for p in (a, b, c)]


def _products(found) -> Sequence:
    if not isinstance(found, (list, tuple)) or len(found) != 3:
        size = f" of {len(found)}" if isinstance(found, (list, tuple)) else ""
        raise UnexpectedResult(f"result is a {type(found).__name__}{size}, expected a list of 3: one product for each parameter")
    return found


def _hvp(f, a, b, c, u, v, w) -> Data:
    found = _products(f(CountingFunction(), _parameters(a, b, c), [from_numpy(d) for d in (u, v, w)]))
    return {"a": found[0], "b": found[1]}


def _hvp_of_linear(f, a, b, c, u, v, w) -> Data:
    found = _products(f(CountingFunction(), _parameters(a, b, c), [from_numpy(d) for d in (u, v, w)]))
    return {"c": found[2]}


def _hvp_calls(f, a, b, c, u, v, w) -> Data:
    counted, params = CountingFunction(), _parameters(a, b, c)
    f(counted, params, [from_numpy(d) for d in (u, v, w)])
    return {"calls": counted.calls, "grad": all(p.grad is None for p in params)}


def _right_hvp(a, b, c, u, v, w) -> dict[str, np.ndarray]:
    mixed = 2 * (b * v).sum()
    return {"a": 6 * a * u + mixed, "b": 2 * b * u.sum() + 2 * a.sum() * v}


PARAMETERS = arrays((3,), (2, 2), (4,), (3,), (2, 2), (4,))
HVP = Behaviour("network_hvp", (
    Scene("value", _hvp, _right_hvp, "the Hessian times v, in all blocks",
          "The sum of gradient times v over all parameters is one number; differentiate that for each of them.", 4, PARAMETERS, slips=[
              Slip("diagonal only", "Each parameter is treated by itself: how the gradient of one depends on another is missing",
                   "Add the products up over all parameters before the second derivative.",
                   lambda a, b, c, u, v, w: {"a": 6 * a * u, "b": 2 * a.sum() * v}),
              Slip("first order", "These are the gradients, not yet differentiated a second time", "Gradient times v is a number; "
                   "differentiate that.", lambda a, b, c, u, v, w: {"a": 3 * a**2 + (b**2).sum(), "b": 2 * a.sum() * b}),
              Slip("first order", "These are the gradients times v", "Differentiate the number sum(gradient * v).",
                   lambda a, b, c, u, v, w: {"a": (3 * a**2 + (b**2).sum()) * u, "b": 2 * a.sum() * b * v}),
              Slip("vector", "The rows of the Hessian are added up before v comes in: v times the sum of each row",
                   "Multiply by v between the two derivatives, not afterwards.",
                   lambda a, b, c, u, v, w: {"a": (6 * a + 2 * b.sum()) * u, "b": (2 * b * len(a) + 2 * a.sum()) * v}),
              Slip("vector", "v has no effect: this is the sum of each row of the Hessian", "Multiply by v between the two derivatives.",
                   lambda a, b, c, u, v, w: {"a": 6 * a + 2 * b.sum(), "b": 2 * b * len(a) + 2 * a.sum()})]),
    Scene("no second derivative", _hvp_of_linear, lambda a, b, c, u, v, w: {"c": 0 * w}, "zeros where the loss is linear",
          "The gradient of a parameter may depend on no parameter at all: its row of the Hessian is 0. See allow_unused.", 1,
          PARAMETERS),
    Scene("cost", lambda f, *arrays: {"calls": _hvp_calls(f, *arrays)["calls"]}, lambda *arrays: {"calls": 1},
          "one forward pass, whatever the size", "Differentiate the graph you have: call f once, and take no difference quotient.", 1,
          PARAMETERS, says={"calls": "how often f was called"}),
    Scene("leaves .grad alone", lambda f, *arrays: {"grad": _hvp_calls(f, *arrays)["grad"]}, lambda *arrays: {"grad": True},
          "nothing is left in .grad", "autograd.grad returns; backward stores.", 1, PARAMETERS,
          says={"grad": "the .grad of every parameter is still None"}, side=True),
))  # fmt: skip


def _laplacian(f, x, w, n) -> Data:
    weights = leaf_tensor(w)
    found = f(lambda a: (a @ weights).tanh(), from_numpy(x))
    if n == 0:
        return {"laplacian": found}
    if not isinstance(found, Tensor):
        raise UnexpectedResult(f"laplacian is a {type(found).__name__}, expected a tensor that can be differentiated")
    if not found.requires_grad:
        return {"gradient": np.zeros_like(w)}
    backward((found * found).sum())
    return {"gradient": np.zeros_like(w) if weights.grad is None else weights.grad}


def _bend(x, w) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of tanh, at x @ w: the first, second and third derivative."""
    t = np.tanh(x @ w)
    slope = 1 - t * t
    return slope, -2 * t * slope, (6 * t * t - 2) * slope


def _right_laplacian(x, w) -> tuple[np.ndarray, np.ndarray]:
    """Of tanh(x @ w) it is tanh'' times |w| ** 2; and the gradient of the sum of its squares for w."""
    _, second, third = _bend(x, w)
    found = second * (w @ w)
    return found, x.T @ (2 * found * third * (w @ w)) + (4 * found * second).sum() * w


LAPLACIAN = Behaviour("laplacian", (
    Scene("value", lambda f, x, w: _laplacian(f, x, w, 0), lambda x, w: {"laplacian": _right_laplacian(x, w)[0]},
          "the second derivatives along each axis, added up", "One second derivative for each coordinate, of that coordinate's slope.",
          3, lambda rng: (draw(rng, (6, 3)) / 3, draw(rng, (3,))), slips=[
              Slip("extra term", "All entries of the Hessian are added up, the mixed ones too",
                   "Differentiate the slope along one coordinate, and of the result take that coordinate only.",
                   lambda x, w: {"laplacian": _bend(x, w)[1] * w.sum() ** 2}),
              Slip("missing", "Only the first coordinate counts", "One second derivative for each coordinate.",
                   lambda x, w: {"laplacian": _bend(x, w)[1] * w[0] ** 2}),
              Slip("missing", "Only the last coordinate counts", "One second derivative for each coordinate.",
                   lambda x, w: {"laplacian": _bend(x, w)[1] * w[-1] ** 2}),
              Slip("first order", "The slopes are added up, and not yet differentiated a second time",
                   "Differentiate each slope once more.", lambda x, w: {"laplacian": _bend(x, w)[0] * w.sum()}),
              Slip("power", "This is the squared norm of the gradient, a first derivative times itself",
                   "A second derivative is the derivative of a slope, not its square.",
                   lambda x, w: {"laplacian": _bend(x, w)[0] ** 2 * (w @ w)}),
              Slip("averaged", "The second derivatives are averaged over the coordinates", "They add up.",
                   lambda x, w: {"laplacian": _right_laplacian(x, w)[0] / 3}),
              Slip("constant", "The result is too small by the number of samples", "What is differentiated: a sum or a mean?",
                   lambda x, w: {"laplacian": _right_laplacian(x, w)[0] / len(x)}),
              Slip("axis", "The samples are added up: there is one number for each coordinate", "One number for each row of x.",
                   lambda x, w: {"laplacian": _bend(x, w)[1].sum() * w**2}),
              Slip("axis", "The samples are added up", "One number for each row of x.",
                   lambda x, w: {"laplacian": _right_laplacian(x, w)[0].sum()})]),
    Scene("its gradient", lambda f, x, w: _laplacian(f, x, w, 1), lambda x, w: {"gradient": _right_laplacian(x, w)[1]},
          "the result can be trained on", "create_graph=True in both derivatives keeps the graph of the result.", 3,
          lambda rng: (draw(rng, (6, 3)) / 3, draw(rng, (3,))), slips=[
              Slip("cut", "The result has no gradient for the weights", "create_graph=True keeps the graph of a derivative; the "
                   "second derivative needs it as well.", lambda x, w: {"gradient": 0 * w})]),
))  # fmt: skip


def _moved(found) -> Data:
    return dict(zip(("out", "tangent"), pair(found, "the result and its tangent"), strict=True))


def _turn(x, y, dx, dy) -> np.ndarray:
    return (x * dy - y * dx) / (x**2 + y**2)


def _turned(tangent):
    return lambda x, y, dx, dy: {"tangent": tangent(x, y, dx, dy)}


ANGLE_JVP = Behaviour("angle_jvp", (
    Scene("angle", lambda f, x, y, dx, dy: _moved(f(x, y, dx, dy)),
          lambda x, y, dx, dy: {"out": np.arctan2(y, x), "tangent": _turn(x, y, dx, dy)}, "both coordinates turn the point",
          "Move x by dx and y by dy at once.", 3, arrays((4,), (4,), (4,), (4,)), slips=[
              Slip("term", "Only one of the two coordinates turns the point", "Two inputs move: two terms.",
                   _turned(lambda x, y, dx, dy: _turn(x, y, 0, dy))),
              Slip("term", "Only one of the two coordinates turns the point", "Two inputs move: two terms.",
                   _turned(lambda x, y, dx, dy: _turn(x, y, dx, 0))),
              Slip("sign", "The point turns the wrong way", "From (1, 0), where does a step upwards turn it?",
                   _turned(lambda x, y, dx, dy: -_turn(x, y, dx, dy))),
              Slip("sign", "One of the two terms has the wrong sign", "At (1, 1): does a step to the right turn it up or down?",
                   _turned(lambda x, y, dx, dy: _turn(x, y, -dx, dy))),
              Slip("swapped", "Each speed is multiplied by its own coordinate: that is how the distance from 0 changes",
                   "A move straight away from 0 turns nothing.", _turned(lambda x, y, dx, dy: _turn(x, y, -dy, dx))),
              Slip("factor", "The square of the distance is missing", "The same step turns a distant point less.",
                   _turned(lambda x, y, dx, dy: x * dy - y * dx)),
              Slip("power", "The distance divides once; it divides twice", "On a circle ten times as large, at the same speed, "
                   "how fast is the turn?", _turned(lambda x, y, dx, dy: _turn(x, y, dx, dy) * np.hypot(x, y))),
              Slip("product", "This is the angle of the speeds", "The chain rule is linear in the tangents.",
                   _turned(lambda x, y, dx, dy: np.arctan2(dy, dx))),
              Slip("exchanged", "The result and its tangent are exchanged", "Return the result first.",
                   lambda x, y, dx, dy: {"out": _turn(x, y, dx, dy), "tangent": np.arctan2(y, x)})]),
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
          "The probabilities add up to 1 before and after the move, so their tangents add up to 0.", 1, arrays((5,), (5,)), side=True),
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

SECOND = (EXP_TIMES, ROOT, HVP, LAPLACIAN, ANGLE_JVP, SOFTMAX_JVP, DOT_VMAP)
