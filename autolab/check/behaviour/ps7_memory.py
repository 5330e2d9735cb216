"""Problem set 7: checkpointing, micro-batches and loss scaling, judged by calls, bytes held and what is skipped."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from autolab.autograd.graph import saved_tensors_hooks
from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

from ..run.candidate import Context
from ..run.inputs import draw
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult, arrays, leaf_tensor, pair

HEIGHT = 1.35


def _hat(cls, x, g) -> Data:
    a = leaf_tensor(x)
    out = cls.apply(a, HEIGHT)
    out.backward(from_numpy(g))
    return {"out": out, "gradient": a.grad}


def _right_hat(x, g) -> dict[str, np.ndarray]:
    return {"out": np.maximum(HEIGHT - abs(x), 0), "gradient": -g * np.sign(x) * (abs(x) < HEIGHT)}


def _bytes(cls, x, g) -> Data:
    context = Context(2, Tensor)
    cls.forward(context, from_numpy(x), HEIGHT)
    kept = [*context.saved_tensors, *vars(context).values()]
    held = [a.payload if isinstance(a, Tensor) else a for a in kept if isinstance(a, (Tensor, np.ndarray))]
    each = sum(a.nbytes for a in held) / x.size
    return {"at most one": each <= 1, "number of bytes for each entry": each}


FEWER = "backward needs one of three slopes for each entry; which dtypes have one byte?"
FRUGAL = Behaviour("frugal_hat", (
    Scene("gradient", _hat, _right_hat, "up on one side, down on the other, and nothing outside",
          "Draw the function: which slopes does it have, and where?", 2, arrays((8, 5), (8, 5)), slips=[
              Slip("sign", "The hat rises on the right and falls on the left", "Draw the function: on which side of 0 does it rise?",
                   lambda x, g: {"gradient": -_right_hat(x, g)["gradient"]}),
              Slip("mask", "The sides of the hat go on outside of it", "Where is the result 0, and stays 0 when x moves?",
                   lambda x, g: {"gradient": -g * np.sign(x)}),
              Slip("term", "Both sides of the hat fall", "Draw the function: it has a slope on the left as well.",
                   lambda x, g: {"gradient": -g * (abs(x) < HEIGHT)}),
              Slip("upstream ignored", "The incoming gradient is ignored", "The chain rule has two factors.",
                   lambda x, g: {"gradient": -np.sign(x) * (abs(x) < HEIGHT)})]),
    Scene("bytes", _bytes, lambda x, g: {"at most one": True}, "at most one byte an entry", FEWER, 4, arrays((8, 5), (8, 5)),
          says={"at most one": "at most one byte for each entry is saved"}, context="number of bytes for each entry", slips=[
              Slip("behaviour", "More than one byte is saved for each entry", FEWER, lambda x, g: {"at most one": False})]),
))  # fmt: skip


class CountingBlock:
    """A function with three steps and a weight, which counts its calls."""

    def __init__(self, w: Any):
        self.w, self.calls = w, 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return (x * self.w).tanh().sin().exp()


def _block(x, w) -> tuple[np.ndarray, np.ndarray]:
    """The value, and its derivative with respect to x * w."""
    t = np.tanh(x * w)
    out = np.exp(np.sin(t))
    return out, out * np.cos(t) * (1 - t * t)


def _gradients(f, x, w, g) -> Data:
    a, b = leaf_tensor(x), leaf_tensor(w)
    out = f(CountingBlock(b), a)
    out.backward(from_numpy(g))
    nothing = np.zeros_like(w)
    return {"out": out, "x": a.grad, "w": nothing if b.grad is None else b.grad}


def _calls(f, x, w, g) -> Data:
    block = CountingBlock(leaf_tensor(w))
    out = f(block, leaf_tensor(x))
    before = block.calls
    out.backward(from_numpy(g))
    return {"before": before, "after": block.calls}


def _held(f, x, w, g) -> Data:
    held = [0]

    def keep(t):
        held[0] += t.numel()
        return t

    a, block = leaf_tensor(x), CountingBlock(leaf_tensor(w))
    with saved_tensors_hooks(keep, lambda t: t):
        out = f(block, a)
        first = held[0]
        out.backward(from_numpy(g))
    return {"more than the input": first > a.numel()}


CHECKPOINT = Behaviour("checkpoint", (
    Scene("gradient for x", lambda f, x, w, g: {k: v for k, v in _gradients(f, x, w, g).items() if k != "w"},
          lambda x, w, g: {"out": _block(x, w)[0], "x": g * _block(x, w)[1] * w}, "as without a checkpoint",
          "backward runs f again, this time with recording on, and goes back through what that recorded.", 2,
          arrays((3, 5), (3, 5), (3, 5)), slips=[
              Slip("upstream ignored", "The gradient that comes in is not passed to the second run", "backward(g), not backward().",
                   lambda x, w, g: {"x": _block(x, w)[1] * w}),
              Slip("upstream twice", "The incoming gradient is multiplied in twice", "What comes out of the second run has g in it.",
                   lambda x, w, g: {"x": g * g * _block(x, w)[1] * w}),
              Slip("twice", "x receives its gradient twice: the second run goes back beyond its beginning",
                   "The second run needs an x of its own, where backward stops.", lambda x, w, g: {"x": 2 * g * _block(x, w)[1] * w})]),
    Scene("calls", _calls, lambda x, w, g: {"before": 1, "after": 2}, "once forward, once more in backward",
          "The work of forward is done twice; that is the price.", 2, arrays((3, 5), (3, 5), (3, 5)),
          says={"before": "calls of f before backward", "after": "calls of f after backward"}, slips=[
              Slip("not a checkpoint", "f runs only once: everything that it computed was kept", "Run f under no_grad in forward.",
                   lambda x, w, g: {"before": 1, "after": 1})]),
    Scene("memory", _held, lambda x, w, g: {"more than the input": False}, "between forward and backward only the input is held",
          "Run f under no_grad in forward; a result that was recorded holds all that its graph saved.", 2,
          arrays((3, 5), (3, 5), (3, 5)), side=True,
          says={"more than the input": "forward saves more than the input"}),
    Scene("gradient for the weights", lambda f, x, w, g: {"w": _gradients(f, x, w, g)["w"]},
          lambda x, w, g: {"w": g * _block(x, w)[1] * x}, "weights inside f receive theirs", "autograd.grad asks for the inputs that "
          "you name; backward(g) on the second result reaches every leaf, the weights too.", 2,
          arrays((3, 5), (3, 5), (3, 5)), slips=[
              Slip("missing", "The weights inside f receive no gradient", "autograd.grad asks for the inputs that you name; "
                   "backward(g) reaches every leaf.", lambda x, w, g: {"w": np.zeros_like(w)}),
              Slip("twice", "The weights receive their gradient twice", "Go back through the second run once.",
                   lambda x, w, g: {"w": 2 * g * _block(x, w)[1] * x})]),
))  # fmt: skip


PADDING = -100.0
FULL = ((4, 3), (4, 3), (4, 3), (4, 3))  # of each micro-batch: how many rows, and how many of them have a target
MIXED = ((6, 5), (6, 1), (3, 2), (1, 1))
EMPTY = ((6, 5), (6, 0), (3, 2), (1, 1))


def mean_loss(w, x, t):
    """The mean of the squared error of x @ w over the rows that have a target: nan where none has one."""
    counted = t != PADDING
    return (((x @ w - t) ** 2) * counted).sum() / counted.sum()


def _cut(x, t, sizes):
    found, start = [], 0
    for n, counted in sizes:
        padded = t[start : start + n].copy()
        padded[counted:] = PADDING
        found.append((from_numpy(x[start : start + n].copy()), from_numpy(padded)))
        start += n
    return found


def _micro(sizes):
    def play(f, w, x, t):
        a = leaf_tensor(w)
        f(mean_loss, a, _cut(x, t, sizes))
        return {"grad": np.zeros_like(w) if a.grad is None else a.grad}

    return play


def _sums(sizes, w, x, t) -> list:
    """For each micro-batch the gradient of the sum of its squared errors."""
    starts = np.cumsum([0] + [n for n, _ in sizes])
    rows = [slice(start, start + counted) for start, (_, counted) in zip(starts, sizes, strict=False)]
    return [2 * x[r].T @ (x[r] @ w - t[r]) for r in rows]


def _weighted(sizes, weight, batches=slice(None)):
    """The means of the micro-batches, added up with a weight for each: weight(rows, rows with a target)."""

    def expect(w, x, t):
        parts = zip(sizes, _sums(sizes, w, x, t), strict=True)
        return {"grad": sum([weight(n, k) * part / max(k, 1) for (n, k), part in parts][batches])}

    return expect


def _count(sizes) -> int:
    return sum(k for _, k in sizes)


def _right_mean(sizes):
    return _weighted(sizes, lambda n, k: k / _count(sizes))


def _one_at_a_time(f, w, x, t) -> Data:
    a, seen = leaf_tensor(w), []

    def loss(w, x, t):
        seen.append(a.grad is not None)
        return mean_loss(w, x, t)

    f(loss, a, _cut(x, t, FULL))
    return {"calls": len(seen), "backward between": all(seen[1:])}


def _slips(sizes) -> list[Slip]:
    """The mistakes that these sizes tell from each other."""
    found = [
        Slip("not divided", "The means of the micro-batches are added as they are", "How much does one target count in each of "
             "these means, and how much in the mean over all?", _weighted(sizes, lambda n, k: 1)),
        Slip("not divided", "Each mean is multiplied by its number of targets, and nothing divides by the number of all",
             "A sum over all targets is not yet a mean.", _weighted(sizes, lambda n, k: k)),
        Slip("overwritten", "Only the last micro-batch counts", "Who empties w.grad, and when?",
             _weighted(sizes, lambda n, k: k / _count(sizes), slice(-1, None))),
    ]  # fmt: skip
    if sizes != FULL:
        found[:0] = [
            Slip("weights", "Every micro-batch counts the same, although they have different numbers of targets",
                 "Weight each mean by its number of targets over the number of all targets.",
                 _weighted(sizes, lambda n, k: 1 / len(sizes))),
            Slip("weights", "Each mean is weighted by its number of rows, and the padding is counted with them",
                 "The mean is over the rows that have a target: count these.", _weighted(sizes, lambda n, k: n / 16)),
        ]  # fmt: skip
    return found


ACCUMULATION = Behaviour("padded_batches", (
    Scene("equal counts", _micro(FULL), _right_mean(FULL), "four with 3 targets each equal one with 12",
          "Each loss is a mean over its own targets; the mean over all of them divides by more.", 1,
          arrays((3,), (16, 3), (16,)), slips=_slips(FULL)),
    Scene("other counts", _micro(MIXED), _right_mean(MIXED), "a micro-batch counts for the targets it has",
          "How much does one target of the second micro-batch count, and how much one of the first?", 2,
          arrays((3,), (16, 3), (16,)), slips=_slips(MIXED)),
    Scene("nothing but padding", _micro(EMPTY), _right_mean(EMPTY), "a micro-batch without a target changes nothing",
          "The mean over no numbers is nan, and nan times 0 is nan: such a micro-batch has to be left out.", 1,
          arrays((3,), (16, 3), (16,))),
    Scene("one at a time", _one_at_a_time, lambda w, x, t: {"calls": 4, "backward between": True},
          "each graph is gone before the next is made", "Call backward for each micro-batch; adding up the losses first keeps "
          "all the graphs alive, and the memory is that of the whole batch.", 2, arrays((3,), (16, 3), (16,)),
          says={"calls": "how often the loss was computed", "backward between": "the gradient arrives before the next micro-batch"}),
))  # fmt: skip


def _tiny(rng) -> tuple:
    return draw(rng, (6,), 1.0, 9.0).astype(np.float16), draw(rng, (6,), 1.0, 4.0).astype(np.float16)


def _small_loss(a, size):
    factors = from_numpy((a * np.float16(1e-3)).astype(np.float16))
    return lambda w: (w * factors).sum() * size


ANSWER = "the gradient, and whether it is usable"


def _scaled(size, scale):
    def play(f, a, w):
        gradient, usable = pair(f(_small_loss(a, size), leaf_tensor(w), scale), ANSWER)
        kept = np.asarray(gradient.detach().numpy() if hasattr(gradient, "detach") else gradient)
        return {"gradient": kept, "usable": bool(usable), "dtype": str(kept.dtype)}

    return play


def _unscaled(a, size) -> np.ndarray:
    return (a * np.float16(1e-3)).astype(float) * size


def _overflows(f, a, w) -> Data:
    """One entry of the gradient is beyond float16, the others are not."""
    factors = from_numpy(np.where(a == a.max(), 4, 1).astype(np.float16))
    gradient, usable = pair(f(lambda w: (w * factors).sum(), leaf_tensor(w), 2.0**15), ANSWER)
    kept = np.asarray(gradient.detach().numpy() if hasattr(gradient, "detach") else gradient, float)
    return {"usable": bool(usable), "infinite": bool(np.isinf(kept).any())}


UNDERFLOW = Slip("underflow", "The gradient is zero: on its way it was smaller than the smallest float16",
                 "Is the loss multiplied before backward, and is the gradient float32 when it is divided?",
                 lambda a, w: {"gradient": np.zeros(6)})  # fmt: skip
SCALING = Behaviour("scaled_gradient", (
    Scene("small gradients", _scaled(1e-6, 2.0**14), lambda a, w: {"gradient": _unscaled(a, 1e-6), "usable": True},
          "what float16 would round to zero comes through", "Multiply the loss before backward, divide the gradient afterwards.", 3,
          _tiny, rtol=3e-2, slips=[
              UNDERFLOW,
              Slip("not unscaled", "The gradient is still multiplied by the scale",
                   "Divide the gradient by what you multiplied the loss by.",
                   lambda a, w: {"gradient": _unscaled(a, 1e-6) * 2**14})]),
    Scene("float32", lambda f, a, w: {"dtype": _scaled(1e-6, 2.0**14)(f, a, w)["dtype"]}, lambda a, w: {"dtype": "float32"},
          "divided in float32", "The unscaled gradient fits into float32 only: convert first, divide then.", 1, _tiny),
    Scene("overflow", _overflows, lambda a, w: {"usable": False},
          "an infinite gradient is reported", "Is every entry finite?", 2, _tiny, side=True, says={"usable": "said to be usable"}, slips=[
              Slip("overflow", "A gradient with an infinite entry is said to be usable", "Is every entry finite?",
                   lambda a, w: {"usable": True, "infinite": True})]),
    Scene("leaves .grad clean", lambda f, a, w: _clean(f, a, w), lambda a, w: {"gradient": _unscaled(a, 1e-6)},
          "a second call gives the same", "What is in w.grad when the second call begins?", 1, _tiny, rtol=3e-2,
          says={"gradient": "the gradient of a second call"}, slips=[
              UNDERFLOW, Slip("accumulated", "A second call gives the sum of both: the first has left its gradient behind",
                              "What is in w.grad when the second call begins?", lambda a, w: {"gradient": 2 * _unscaled(a, 1e-6)})]),
))  # fmt: skip


def _clean(f, a, w) -> Data:
    leaf = leaf_tensor(w)
    f(_small_loss(a, 1e-6), leaf, 2.0**14)
    return {"gradient": np.asarray(pair(f(_small_loss(a, 1e-6), leaf, 2.0**14), ANSWER)[0])}


class CountingSGD:
    """Plain gradient descent on two arrays, with a list `params`; counts its steps."""

    def __init__(self, data: np.ndarray, grad: np.ndarray):
        halves = zip(np.split(data, 2), np.split(grad, 2), strict=True)
        self.params, self.steps = [SimpleNamespace(data=d.copy(), grad=g.copy()) for d, g in halves], 0

    def step(self) -> None:
        """One step downhill, with rate 0.1."""
        self.steps += 1
        for p in self.params:
            p.data -= 0.1 * p.grad


def _make(cls):
    return cls(init_scale=8.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=3)


def _with(bad: float, grad: np.ndarray) -> np.ndarray:
    """The same gradient with one entry that is not a number to step with, whatever was drawn."""
    spoilt = grad.copy()
    spoilt[np.argmin(grad)] = bad
    return spoilt


def _one_step(cls, data, grad) -> Data:
    scaler, optimizer = _make(cls), CountingSGD(data, 8 * grad)
    scaler.step(optimizer)
    return {"data": np.concatenate([p.data for p in optimizer.params]), "steps": optimizer.steps}


def _history(*finite: bool):
    def play(cls, data, grad):
        scaler, scales, steps = _make(cls), [], 0
        for ok in finite:
            optimizer = CountingSGD(data, 8 * grad if ok else _with(np.inf, grad))
            scaler.step(optimizer)
            scaler.update()
            steps += optimizer.steps
            scales.append(float(scaler.factor))
        return {"scales": scales, "steps": steps}

    return play


def _nan(cls, data, grad) -> Data:
    scaler, optimizer = _make(cls), CountingSGD(data, _with(np.nan, grad))
    scaler.step(optimizer)
    scaler.update()
    return {"steps": optimizer.steps, "scale": scaler.factor}


HISTORY = {"scales": "the scale after each update", "steps": "steps that the optimizer took", "scale": "the scale"}
PAIR = arrays((6,), (6,))
SCALER = Behaviour("grad_scaler", (
    Scene("scale", lambda cls, data, grad: {"scaled": _make(cls).scale(data)}, lambda data, grad: {"scaled": 8 * data},
          "the loss is multiplied", "scale(loss) is loss times the scale.", 1, PAIR),
    Scene("step", _one_step, lambda data, grad: {"data": data - 0.1 * grad, "steps": 1}, "gradients are divided before the step",
          "The optimizer must see the true gradient.", 2, PAIR, says=HISTORY, slips=[
              Slip("not unscaled", "The optimizer steps with the scaled gradients", "The optimizer must see the true gradient.",
                   lambda data, grad: {"data": data - 0.8 * grad}),
              Slip("not unscaled", "The gradients are multiplied by the scale a second time", "The loss was multiplied: what undoes it?",
                   lambda data, grad: {"data": data - 6.4 * grad}),
              Slip("twice", "The optimizer steps once for each parameter", "One step moves all parameters.",
                   lambda data, grad: {"steps": 2})]),
    Scene("skip and back off", _history(False, False), lambda data, grad: {"scales": [4, 2], "steps": 0},
          "inf: no step, and half the scale", "One infinite entry spoils the step; try again with a smaller scale.", 2, PAIR,
          says=HISTORY, slips=[
              Slip("not skipped", "The optimizer steps although a gradient is infinite: the weights are lost",
                   "Look at the gradients before the step.", lambda data, grad: {"steps": 2}),
              Slip("no back-off", "The scale stays as it was after an overflow", "What would happen in the next step?",
                   lambda data, grad: {"scales": [8, 8], "steps": 0}),
              Slip("grows", "After an overflow the scale grows", "Which way is out of infinity?",
                   lambda data, grad: {"scales": [16, 32]})]),
    Scene("nan", _nan, lambda data, grad: {"steps": 0, "scale": 4}, "nan is not a number to step with",
          "inf - inf is nan: ask whether all are finite.", 1, PAIR, says=HISTORY),
    Scene("growth", _history(True, True, True, True), lambda data, grad: {"scales": [8, 8, 16, 16], "steps": 4},
          "doubled after three good steps", "Count the good steps, and begin again after growing.", 2, PAIR, says=HISTORY, slips=[
              Slip("growth", "The scale grows after every good step", "Count the good steps.",
                   lambda data, grad: {"scales": [16, 32, 64, 128]}),
              Slip("growth", "Once it has grown, the scale grows with every step", "Begin to count again after growing.",
                   lambda data, grad: {"scales": [8, 8, 16, 32]}),
              Slip("growth", "The scale grows one step late", "How many good steps have there been when it is to grow?",
                   lambda data, grad: {"scales": [8, 8, 8, 16]}),
              Slip("growth", "The scale never grows", "Count the good steps.", lambda data, grad: {"scales": [8, 8, 8, 8]})]),
    Scene("in a row", _history(True, True, False, True, True, True),
          lambda data, grad: {"scales": [8, 8, 4, 4, 4, 8], "steps": 5}, "an overflow begins the count again",
          "Three good steps in a row: what does an overflow do to the count?", 2, PAIR, says=HISTORY, slips=[
              Slip("growth", "Good steps before an overflow still count towards growth", "Three in a row.",
                   lambda data, grad: {"scales": [8, 8, 4, 8, 8, 8]})]),
))  # fmt: skip


GROUPS = {
    "products": (("matmul", "linear", "conv2d"), "float16", "Most of the time goes into these, and their sums are kept in float32."),
    "exponentials and logarithms": (("exp", "log", "pow"), "float32", "exp(12) is beyond the largest float16."),
    "long sums": (("sum", "cumsum", "norm"), "float32", "Adding 1 to 2048 in float16 gives 2048."),
    "softmax and norms": (("log_softmax", "layer_norm"), "float32", "Which operations are inside?"),
    "losses": (("cross_entropy", "mse_loss"), "float32", "Differences of nearly equal numbers lose their digits."),
    "the rest": (("relu", "add", "reshape"), "input", "Nothing to gain and nothing to lose."),
}


def _precision(names):
    def play(table, *_):
        found = {name: str(table[name] if hasattr(table, "__getitem__") else table(name)).removeprefix("torch.") for name in names}
        for name, said in found.items():
            if said not in ("float16", "float32", "input"):
                raise UnexpectedResult(f"{name} is {said}, expected one of: float16, float32, input")
        return found

    return play


PRECISION = Behaviour("precision", tuple(
    Scene(group, _precision(names), lambda names=names, answer=answer: dict.fromkeys(names, answer), ", ".join(names),
          hint, 1, tells=False)
    for group, (names, answer, hint) in GROUPS.items()
))  # fmt: skip
del GROUPS  # the answers: a process that runs answers of learners keeps none

MEMORY = (FRUGAL, CHECKPOINT, ACCUMULATION, SCALING, SCALER, PRECISION)
