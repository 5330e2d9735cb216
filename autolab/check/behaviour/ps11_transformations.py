"""Problem set 11: transformations. A rule for a loop, rules for batches, transposes, levels, and a tangent out of two backward passes."""

from __future__ import annotations

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

from ..run.inputs import draw
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult, arrays, leaf_tensor, pair


class _Loop:
    """A loop that shrinks a vector until it is short, and counts how often it is asked."""

    def __init__(self, limit: float = 0.5):
        self.limit, self.asked, self.ran = limit, 0, 0

    def cond(self, x) -> bool:
        self.asked += 1
        return bool(np.sum(x * x) > self.limit)

    def body_jvp(self, x, dx) -> tuple:
        self.ran += 1
        return 0.5 * x + 0.2 * np.sin(x), (0.5 + 0.2 * np.cos(x)) * dx

    def steps(self, x, dx, more: int = 0) -> list:
        """The pairs on the way, the first and the last included."""
        found = [(x, dx)]
        while self.cond(found[-1][0]):
            found.append(self.body_jvp(*found[-1]))
        for _ in range(more):
            found.append(self.body_jvp(*found[-1]))
        return found


def _looped(f, x, dx, limit=0.5) -> Data:
    loop = _Loop(limit)
    return dict(zip(("value", "tangent"), pair(f(loop.cond, loop.body_jvp, x, dx), "the value and its tangent"), strict=True))


def _after(x, dx, at=-1, more=0) -> Data:
    value, tangent = _Loop().steps(x, dx, more)[at]
    return {"value": value, "tangent": tangent}


def _not_carried(x, dx) -> Data:
    steps = _Loop().steps(x, dx)
    return {"value": steps[-1][0], "tangent": _Loop().body_jvp(steps[-2][0], dx)[1]}


def _added(x, dx) -> Data:
    steps = _Loop().steps(x, dx)
    return {"value": steps[-1][0], "tangent": np.sum([t for _, t in steps[1:]], axis=0)}


def _by_tangent(x, dx) -> Data:
    loop = _Loop()
    for _ in range(100):
        if not loop.cond(dx):
            break
        x, dx = loop.body_jvp(x, dx)
    return {"value": x, "tangent": dx}


def _counted(f, x, dx) -> Data:
    loop = _Loop()
    f(loop.cond, loop.body_jvp, x, dx)
    return {"asked": loop.asked, "ran": loop.ran}


def _counts(x, dx) -> Data:
    steps = len(_Loop().steps(x, dx))
    return {"asked": steps, "ran": steps - 1}


def _long_vector(rng):
    return draw(rng, (4,)) + 2.5, draw(rng, (4,))


ONE_MORE = ("order", "The body runs once more than the loop would", "The condition is asked before the body, also the first time.")
WHILE_JVP = Behaviour("while_jvp", (
    Scene("value and tangent", _looped, _after, "each round moves the tangent on",
          "Each round takes the value and the tangent of the last.", 4, _long_vector, slips=[
              Slip("not carried", "Every round starts from the first tangent again", "What moves on from round to round besides the value?",
                   _not_carried),
              Slip(*ONE_MORE, lambda x, dx: _after(x, dx, more=1)),
              Slip("order", "The body runs once less than the loop would", "When does the condition become false?",
                   lambda x, dx: _after(x, dx, at=-2)),
              Slip("constant", "The tangent does not move", "The body gives a new tangent in each round.",
                   lambda x, dx: {"value": _after(x, dx)["value"], "tangent": dx}),
              Slip("extra term", "The tangents of all rounds are added up", "A round replaces the value; what does it do with the tangent?",
                   _added),
              Slip("exchanged", "The value and the tangent are exchanged", "Return the value first.",
                   lambda x, dx: {"value": _after(x, dx)["tangent"], "tangent": _after(x, dx)["value"]}),
              Slip("condition", "The condition looks at the tangent", "The loop ends when the loop ends: the condition gets the value.",
                   _by_tangent)]),
    Scene("no round at all", lambda f, x, dx: _looped(f, 0.01 * x, dx), lambda x, dx: {"value": 0.01 * x, "tangent": dx},
          "a loop that does not run changes nothing", "Ask the condition first.", 2, _long_vector, slips=[
              Slip(*ONE_MORE, lambda x, dx: dict(zip(("value", "tangent"), _Loop().body_jvp(0.01 * x, dx), strict=True)))]),
    Scene("calls", _counted, _counts, "one call of the body for each round", "`body_jvp` gives both: call it once in a round.", 2,
          _long_vector, says={"asked": "how often the condition was asked", "ran": "how often the body ran"}, slips=[
              Slip("twice", "The body runs twice in each round", "`body_jvp` gives the value and the tangent in one call.",
                   lambda x, dx: {"ran": 2 * _counts(x, dx)["ran"]})]),
))  # fmt: skip


def _summed(axis, batch):
    """A scene's play: samples of shape (4, 4) along the axis `batch`."""
    return lambda f, x: {"out": f(np.ascontiguousarray(np.moveaxis(x, 0, batch)), axis, batch)}


UNSHIFTED = (
    "axis",
    "The axis counts with the samples: it is one of theirs, or one too early",
    "Where is axis 0 of a sample when the samples are in front?",
)
OVERSHIFTED = ("axis", "An axis that counts from the end has been shifted too", "Does -1 mean another axis when one is added in front?")
UNMOVED = ("placement", "The samples are not in front of the result", "Move the batch axis to the front first (np.moveaxis).")
CUMSUM_VMAP = Behaviour("cumsum_vmap", (
    Scene("the first axis", _summed(0, 0), lambda x: {"out": np.cumsum(x, 1)}, "axis 0 of a sample is axis 1 of the batch", UNSHIFTED[2], 2,
          arrays((4, 4, 4)), slips=[
              Slip(*UNSHIFTED, lambda x: {"out": np.cumsum(x, 0)}),
              Slip("axis", "The wrong axis of the samples is summed", UNSHIFTED[2], lambda x: {"out": np.cumsum(x, 2)}),
              Slip("reduced", "The axis is summed up, and should be summed along", "cumsum keeps the shape.",
                   lambda x: {"out": x.sum(1)})]),
    Scene("from the end", _summed(-1, 0), lambda x: {"out": np.cumsum(x, -1)}, "-1 stays -1", OVERSHIFTED[2], 1, arrays((4, 4, 4)), slips=[
        Slip(*OVERSHIFTED, lambda x: {"out": np.cumsum(x, 0)})]),
    Scene("samples elsewhere", _summed(0, 2), lambda x: {"out": np.cumsum(x, 1)}, "samples along any axis", UNMOVED[2], 1,
          arrays((4, 4, 4)), slips=[
              Slip(*UNMOVED, lambda x: {"out": np.cumsum(np.moveaxis(x, 0, 2), 0)}),
              Slip(*UNMOVED, lambda x: {"out": np.cumsum(np.moveaxis(x, 0, 2), 1)}),
              Slip(*UNSHIFTED, lambda x: {"out": np.cumsum(x, 0)})]),
    Scene("samples last, from the end", _summed(-2, -1), lambda x: {"out": np.cumsum(x, -2)}, "and both together", UNMOVED[2], 1,
          arrays((4, 4, 4)), slips=[
              Slip(*OVERSHIFTED, lambda x: {"out": np.cumsum(x, -1)}),
              Slip(*UNMOVED, lambda x: {"out": np.cumsum(np.moveaxis(x, 0, -1), -2)})]),
))  # fmt: skip


def _chosen(axes, arrange):
    return lambda f, c, x, y: {"out": f(*arrange(c > 0, x, y), axes)}


STRETCHED = ("axis", "The condition of a sample is used for an entry: it runs along the wrong axis",
             "Each sample has one condition. What shape makes it count for a whole row?")  # fmt: skip
WHERE_VMAP = Behaviour("where_vmap", (
    Scene("all have samples", _chosen((0, 0, 0), lambda c, x, y: (c, x, y)), lambda c, x, y: {"out": np.where((c > 0)[:, None], x, y)},
          "one condition for each row", STRETCHED[2], 3, arrays((4,), (4, 4), (4, 4)), slips=[
              Slip(*STRETCHED, lambda c, x, y: {"out": np.where(c > 0, x, y)}),
              Slip("swapped", "The two choices are exchanged", "Where the condition is true, x is chosen.",
                   lambda c, x, y: {"out": np.where((c > 0)[:, None], y, x)})]),
    Scene("a condition for all", _chosen((None, 0, 0), lambda c, x, y: (c[0], x, y)), lambda c, x, y: {"out": x if c[0] > 0 else y},
          "None: the same for all", "An input without a batch axis takes part in every sample.", 1, arrays((4,), (6, 4), (6, 4))),
    Scene("a choice for all", _chosen((0, None, 0), lambda c, x, y: (c, x[0], y)),
          lambda c, x, y: {"out": np.where((c > 0)[:, None], x[0], y)}, "on either side", STRETCHED[2], 1, arrays((4,), (4, 4), (4, 4)),
          slips=[Slip(*STRETCHED, lambda c, x, y: {"out": np.where(c > 0, x[0], y)})]),
    Scene("samples last", _chosen((0, 1, 1), lambda c, x, y: (c, np.ascontiguousarray(x.T), np.ascontiguousarray(y.T))),
          lambda c, x, y: {"out": np.where((c > 0)[:, None], x, y)}, "samples along any axis", UNMOVED[2], 1, arrays((4,), (4, 4), (4, 4)),
          slips=[
              Slip(*UNMOVED, lambda c, x, y: {"out": np.where((c > 0)[:, None], x.T, y.T)}),
              Slip(*UNMOVED, lambda c, x, y: {"out": np.where(c > 0, x.T, y.T)}),
              Slip(*STRETCHED, lambda c, x, y: {"out": np.where(c > 0, x, y)})]),
))  # fmt: skip


def _adjoint(f, g) -> Data:
    return {"out": f(g)}


INVERSE = (
    "inverse",
    "This is the inverse, not the transpose",
    "The transpose has the columns of the matrix as its rows. Write the matrix for n = 3.",
)
ITSELF = ("not transposed", "This is the map itself, not its transpose", "Write the matrix for n = 3, and exchange rows and columns.")
CUMSUM_TRANSPOSE = Behaviour("cumsum_transpose", (
    Scene("value", _adjoint, lambda g: {"out": np.cumsum(g[::-1])[::-1]}, "each entry of x is in all later sums",
          "In which entries of y does x[i] occur?", 4, arrays((5,)), slips=[
              Slip(*ITSELF, lambda g: {"out": np.cumsum(g)}),
              Slip(*INVERSE, lambda g: {"out": np.diff(g, prepend=0.0)}),
              Slip("inverse", "This is the transpose of the inverse", INVERSE[2], lambda g: {"out": -np.diff(g, append=0.0)}),
              Slip("order", "The sums are right, and in the opposite order", "Turn around before the sum and after it.",
                   lambda g: {"out": np.cumsum(g[::-1])}),
              Slip("order", "The map itself, turned around", "Turn around before the sum, too.", lambda g: {"out": np.cumsum(g)[::-1]}),
              Slip("off by one", "Each sum begins one entry too late", "Does x[i] occur in y[i]?",
                   lambda g: {"out": np.cumsum(g[::-1])[::-1] - g})]),
    Scene("one entry", _adjoint, lambda g: {"out": g}, "also of a single number", "For n = 1 the matrix is (1).", 1,
          arrays((1,)), side=True),
))  # fmt: skip
DIFF_TRANSPOSE = Behaviour("diff_transpose", (
    Scene("value", _adjoint, lambda g: {"out": -np.diff(g, prepend=0.0, append=0.0)}, "each entry of x is in two differences",
          "x[i] occurs in y[i - 1] with +1 and in y[i] with -1, except at the ends.", 4, arrays((4,)), slips=[
              Slip("sign", "Every entry has the wrong sign", "With which sign does x[0] occur in y[0]?",
                   lambda g: {"out": np.diff(g, prepend=0.0, append=0.0)}),
              Slip(*ITSELF, lambda g: {"out": np.diff(g)}),
              Slip("inverse", "This sums the differences up again: an inverse, not the transpose", INVERSE[2],
                   lambda g: {"out": np.concatenate([[0.0], np.cumsum(g)])}),
              Slip("edges", "The two ends are missing: x has one entry more than g", "x[0] and the last x are in one difference each.",
                   lambda g: {"out": -np.diff(g)}),
              Slip("edges", "The last entry of x gets nothing", "x[-1] is in one difference.",
                   lambda g: {"out": np.append(-np.diff(g, prepend=0.0), 0.0)}),
              Slip("term", "Only one of the two differences that an entry is in counts", "x[i] occurs in y[i - 1] and in y[i].",
                   lambda g: {"out": np.append(-g, 0.0)}),
              Slip("term", "Only one of the two differences that an entry is in counts", "x[i] occurs in y[i - 1] and in y[i].",
                   lambda g: {"out": np.append(0.0, g)})]),
))  # fmt: skip


def _moved(found) -> Data:
    return dict(zip(("out", "tangent"), pair(found, "the result and its tangent"), strict=True))


def _unit(x) -> np.ndarray:
    return x / np.sqrt(x @ x)


def _unit_tangent(x, dx) -> np.ndarray:
    y = _unit(x)
    return (dx - y * (y @ dx)) / np.sqrt(x @ x)


UNIT_JVP = Behaviour("unit_jvp", (
    Scene("value and tangent", lambda f, x, dx: _moved(f(x, dx)), lambda x, dx: {"out": _unit(x), "tangent": _unit_tangent(x, dx)},
          "the length moves too", "y = x / r, and r depends on every entry of x.", 4, arrays((5,), (5,)), slips=[
              Slip("term", "The length is treated as a constant", "r depends on every entry of x.",
                   lambda x, dx: {"tangent": dx / np.sqrt(x @ x)}),
              Slip("factor", "The tangent is too large: it is not divided by the length", "How does y move when x is ten times as long?",
                   lambda x, dx: {"tangent": _unit_tangent(x, dx) * np.sqrt(x @ x)}),
              Slip("factor", "In the second term x appears in place of the unit vector", "Divide x by its length there, too.",
                   lambda x, dx: {"tangent": (dx - x * (x @ dx)) / np.sqrt(x @ x)}),
              Slip("sign", "The second term has the wrong sign", "When x only becomes longer, the unit vector does not move.",
                   lambda x, dx: {"tangent": (dx + _unit(x) * (_unit(x) @ dx)) / np.sqrt(x @ x)}),
              Slip("not chained", "The tangent is divided by its own length", "The rule is linear in dx.",
                   lambda x, dx: {"tangent": _unit(dx)}),
              Slip("diagonal only", "Each entry moves with its own x only", "All entries share one length.",
                   lambda x, dx: {"tangent": (dx - _unit(x) ** 2 * dx) / np.sqrt(x @ x)}),
              Slip("exchanged", "The result and its tangent are exchanged", "Return the result first.",
                   lambda x, dx: {"out": _unit_tangent(x, dx), "tangent": _unit(x)})]),
    Scene("along x", lambda f, x, dx: _moved(f(x, 3 * x)), lambda x, dx: {"out": _unit(x), "tangent": 0 * x},
          "a vector that grows keeps its direction", "When x only becomes longer, the unit vector does not move.", 2,
          arrays((5,), (5,)), slips=[
              Slip("term", "The length is treated as a constant", "r depends on every entry of x.",
                   lambda x, dx: {"tangent": 3 * _unit(x)})]),
))  # fmt: skip


def _numbers(rng):
    return float(draw(rng, ())), float(draw(rng, ()))


def _nested(derivative, a, b) -> Data:
    return {
        "sum": derivative(lambda x: x * derivative(lambda y: x + y)(b))(a),
        "product": derivative(lambda x: x * derivative(lambda y: x * y)(b))(a),
    }


def _deeper(derivative, a, b) -> Data:
    return {"result": derivative(lambda x: derivative(lambda y: derivative(lambda z: x * y * z * z)(y))(x))(a)}


CONFUSED = ("confusion", "Inside the inner derivative the outer variable moves as well: two derivatives with one level",
            "Give each derivative that runs a number of its own, and leave alone what has another.")  # fmt: skip
LOST = ("cut", "The inner derivative has lost that it depends on the outer variable",
        "A tangent may itself be a Dual of a lower level: do not turn it into a number.")  # fmt: skip
LEVELS = Behaviour("levels", (
    Scene("a polynomial", lambda d, a, b: {"result": d(lambda x: b * x * x + x + 3)(a)}, lambda a, b: {"result": 2 * a * b + 1},
          "sums and products, with numbers on either side", "One tangent for each term.", 2, _numbers, slips=[
              Slip("product", "In a product the tangents are multiplied with each other", "The product rule has two terms.",
                   lambda a, b: {"result": 1.0}),
              Slip("term", "Only one of the two factors moves the product", "The product rule has two terms.",
                   lambda a, b: {"result": a * b + 1})]),
    Scene("twice", lambda d, a, b: {"result": d(d(lambda x: b * x * x * x))(a)}, lambda a, b: {"result": 6 * a * b},
          "a derivative of a derivative", "The values and tangents inside a Dual may be Duals of a lower level.", 2, _numbers, slips=[
              Slip("cut", "The second derivative is zero", LOST[2], lambda a, b: {"result": 0.0}),
              Slip("order", "This is the first derivative", "The result of the inner derivative is what the outer one differentiates.",
                   lambda a, b: {"result": 3 * a * a * b})]),
    Scene("two variables", _nested, lambda a, b: {"sum": 1.0, "product": 2 * a}, "each derivative has its level", CONFUSED[2], 4, _numbers,
          slips=[
              Slip(*CONFUSED, lambda a, b: {"sum": 2.0, "product": a + b}),
              Slip(*CONFUSED, lambda a, b: {"sum": 2.0}),
              Slip(*LOST, lambda a, b: {"product": a})]),
    Scene("three levels", _deeper, lambda a, b: {"result": 8 * a}, "and deeper", CONFUSED[2], 1, _numbers),
    Scene("does not move", lambda d, a, b: {"constant": d(lambda x: 3.0)(a), "other": d(lambda x: d(lambda y: x * x)(b))(a)},
          lambda a, b: {"constant": 0.0, "other": 0.0}, "what does not depend on the variable has the derivative 0",
          "The result may be a number, or a Dual of a lower level.", 1, _numbers),
))  # fmt: skip


class CountedField:
    """f(x) = sin(W @ x), which counts its calls. Its Jacobian is diag(cos(W @ x)) W."""

    def __init__(self, w):
        self.w, self.calls = from_numpy(w), 0

    def __call__(self, x):
        self.calls += 1
        return (self.w @ x).sin()


def _pushed(f, w, x, v) -> Data:
    result = f(CountedField(w), leaf_tensor(x), from_numpy(v))
    if not isinstance(result, Tensor):
        raise UnexpectedResult(f"result is a {type(result).__name__}, expected a tensor")
    return {"tangent": result}


def _pushed_calls(f, w, x, v) -> Data:
    field, a = CountedField(w), leaf_tensor(x)
    f(field, a, from_numpy(v))
    return {"calls": field.calls, "grad": a.grad is None}


def _jacobian(w, x) -> np.ndarray:
    return np.cos(w @ x)[:, None] * w


JVP_FROM_BACKWARD = Behaviour("jvp_from_backward", (
    Scene("value", _pushed, lambda w, x, v: {"tangent": _jacobian(w, x) @ v}, "J v out of two backward passes",
          "u -> u J is linear in u. What is the gradient of (u J) v for u?", 4, arrays((4, 4), (4,), (4,)), slips=[
              Slip("not transposed", "This is v J, one backward pass: rows are weighed, not columns", "Transpose once more.",
                   lambda w, x, v: {"tangent": v @ _jacobian(w, x)}),
              Slip("vector", "v has no effect on the sum over the columns: this is J times ones, times v", "Where does v come in?",
                   lambda w, x, v: {"tangent": _jacobian(w, x).sum(1) * v}),
              Slip("diagonal only", "Only the diagonal of the Jacobian is there", "Each result depends on every entry of x.",
                   lambda w, x, v: {"tangent": np.diag(_jacobian(w, x)) * v}),
              Slip("second order", "This has differentiated f twice: the second pass is for u, not for x",
                   "For which variable is u J linear?",
                   lambda w, x, v: {"tangent": -(w.T * np.sin(w @ x)) @ (w @ v)})]),
    Scene("more inputs than results", _pushed, lambda w, x, v: {"tangent": _jacobian(w, x) @ v}, "J need not be square",
          "u has the shape of f(x), v that of x.", 2, arrays((2, 5), (5,), (5,))),
    Scene("calls", lambda f, *a: {"calls": _pushed_calls(f, *a)["calls"]}, lambda w, x, v: {"calls": 1}, "one forward pass",
          "Call f once, and take no difference quotient.", 1, arrays((4, 4), (4,), (4,)), says={"calls": "how often f was called"}),
    Scene("leaves .grad alone", lambda f, *a: {"grad": _pushed_calls(f, *a)["grad"]}, lambda w, x, v: {"grad": True},
          "nothing is left in x.grad", "autograd.grad returns; backward stores.", 1, arrays((4, 4), (4,), (4,)),
          says={"grad": "x.grad is still None"}, side=True),
))  # fmt: skip

TRANSFORMATIONS = (
    WHILE_JVP, CUMSUM_VMAP, WHERE_VMAP, CUMSUM_TRANSPOSE, DIFF_TRANSPOSE, UNIT_JVP, LEVELS, JVP_FROM_BACKWARD,
)  # fmt: skip
