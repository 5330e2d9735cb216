"""Programs to repair: they run and train wrongly. A repair is judged by what it computes on other data than it was shown with.

What is expected is computed on NumPy arrays with the derivatives written out, and so is what each mistake gives: the
program as it was shown, and repairs that only hide its symptom. None of these earns a point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autolab.autograd.graph import saved_tensors_hooks
from autolab.torch_api.creation import from_numpy
from autolab.torch_api.generator import get_rng_state, manual_seed, set_rng_state
from autolab.torch_api.random import rand

from ..run.inputs import draw
from .ps1_scalar import ScalarNode
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult, arrays, kind_of
from .wrong_passes import scalar_backward

SAYS = {"losses": "the losses", "w": "the last w", "b": "the last b", "kept": "forward keeps more than the input of the block"}


class Mistake(NamedTuple):
    """What goes wrong, with a program that does it: it takes and returns what the right one does."""

    family: str
    text: str
    hint: str
    program: Callable


def repaired(name: str, right: Callable, mistakes: Sequence[Mistake], scenes: Sequence[tuple], more: Sequence[Slip] = ()) -> Behaviour:
    """An exercise in repair. Each scene is (name, play, inputs, what is said if it is right, hint, points)."""

    def slip(mistake: Mistake, play: Callable) -> Slip:
        def expect(*inputs):
            try:
                return play(mistake.program, *inputs)
            except (ValueError, IndexError):  # it does not run on these data
                return {"losses": "none"}

        return Slip(mistake.family, mistake.text, mistake.hint, expect)

    made = [
        Scene(scene, play, lambda *inputs, play=play: play(right, *inputs), passed, hint, points, inputs,
              [*(slip(m, play) for m in mistakes), *more], SAYS, rtol=1e-7, tells=False)
        for scene, play, inputs, passed, hint, points in scenes
    ]  # fmt: skip
    return Behaviour(name, tuple(made))


def run_of(result: Any, *names: str) -> Data:
    """The entries of what a program returned: some arrays, and the losses last."""
    if not isinstance(result, (tuple, list)) or len(result) != len(names) + 1:
        raise UnexpectedResult(f"result is {kind_of(result)}, expected {', '.join(names)} and the list of losses")
    *found, losses = result
    return {**{name: _stacked(one) for name, one in zip(names, found, strict=True)}, "losses": [float(loss) for loss in losses]}


def _stacked(value: Any) -> Any:
    value = [part.detach().numpy() if hasattr(part, "detach") else part for part in value] if isinstance(value, (list, tuple)) else value
    return np.asarray(value.detach().numpy() if hasattr(value, "detach") else value, dtype=float)


def tensors(*values: np.ndarray) -> list[Any]:
    """Tensors on copies of these arrays."""
    return [from_numpy(np.array(value)) for value in values]


# -- problem set 1: a graph that is built once ---------------------------------------------------------------


def _line(w, b, points, rate, steps):
    losses = []
    for _ in range(steps):
        errors = [w * x + b - t for x, t in points]
        losses.append(sum(e * e for e in errors))
        w, b = w - rate * sum(2 * e * x for e, (x, _) in zip(errors, points, strict=True)), b - rate * sum(2 * e for e in errors)
    return w, b, losses


def _line_accumulating(w, b, points, rate, steps):
    losses, total = [], np.zeros(2)
    for _ in range(steps):
        errors = [w * x + b - t for x, t in points]
        losses.append(sum(e * e for e in errors))
        total += [sum(2 * e * x for e, (x, _) in zip(errors, points, strict=True)), sum(2 * e for e in errors)]
        w, b = w - rate * total[0], b - rate * total[1]
    return w, b, losses


LINE_STEPS = {2: 3, 5: 6}  # for so many points


def _line_point_by_point(w, b, points, rate, steps):
    for _ in range(steps):
        for x, t in points:
            error = w * x + b - t
            w, b = w - rate * 2 * error * x, b - rate * 2 * error
    return {"w": w, "b": b}


def _plus_errors(loss, weight, bias, points):
    """The node of this loss plus the squared errors, made as the program makes it."""

    def add(a, b):
        return ScalarNode(a.data + b.data, (a, b), (1.0, 1.0))

    for x, t in points:
        product = ScalarNode(weight.data * x, (weight, ScalarNode(x)), (x, weight.data))
        error = add(add(product, bias), ScalarNode(-t))
        loss = add(loss, ScalarNode(error.data**2, (error,), (2 * error.data,)))
    return loss


def _line_stale(new_losses: bool, *wrong: str) -> Callable:
    """The graph is built once, on the numbers of the start; `wrong` is how its backward leaves the nodes inside."""

    def program(w, b, points, rate, steps):
        weight, bias = ScalarNode(w), ScalarNode(b)
        loss = _plus_errors(ScalarNode(0.0), weight, bias, points)
        losses = []
        for _ in range(steps):
            weight.grad = bias.grad = 0.0
            scalar_backward(*wrong)(loss)
            now = sum((weight.data * x + bias.data - t) ** 2 for x, t in points)
            losses.append(now if new_losses else loss.data)
            weight.data, bias.data = weight.data - rate * weight.grad, bias.data - rate * bias.grad
        return weight.data, bias.data, losses

    return program


def _line_growing(*wrong: str) -> Callable:
    """The loss is not begun anew: that of a step contains those of all steps before; `wrong` is how backward leaves the nodes inside."""

    def program(w, b, points, rate, steps):
        weight, bias, loss, losses = ScalarNode(w), ScalarNode(b), ScalarNode(0.0), []
        for _ in range(steps):
            loss = _plus_errors(loss, weight, bias, points)
            weight.grad = bias.grad = 0.0
            scalar_backward(*wrong)(loss)
            losses.append(loss.data)
            weight.data, bias.data = weight.data - rate * weight.grad, bias.data - rate * bias.grad
        return weight.data, bias.data, losses

    return program


def _line_restarted(w, b, points, rate, steps):
    once = _line(w, b, points, rate, 1)
    return once[0], once[1], once[2] * steps


def _line_averaged(w, b, points, rate, steps):
    w, b, losses = _line(w, b, points, rate / len(points), steps)
    return w, b, [loss / len(points) for loss in losses]


STALE = ("stale", "The graph is built once, so every step uses the numbers with which it began",
         "A node keeps the numbers that it was made with. When does the next step get nodes of its own?")  # fmt: skip
HIDDEN = ("stale", "The losses are new in every step, but the gradients still come from a graph that was built once",
          "Which nodes does backward walk over in the second step, and which numbers are in their local derivatives?")  # fmt: skip


def _fit_line(n: int, steps: int):
    def play(f, w, b, x, t):
        points = [(float(a), float(c)) for a, c in zip(x, t, strict=True)]
        return run_of(f(float(w), float(b), points, 0.02, steps), "w", "b")

    return play, lambda rng: (draw(rng, (), 0.3, 1.7), draw(rng, (), 0.3, 1.7), draw(rng, (n,), 0.1, 1.9), draw(rng, (n,), -1.9, -0.1))


STALE_GRAPH = repaired("stale_graph", _line, [
    *(Mistake(*STALE, _line_stale(False, *wrong)) for wrong in ((), ("kept inside",))),
    *(Mistake(*HIDDEN, _line_stale(True, *wrong)) for wrong in ((), ("kept inside",))),
    Mistake("accumulation", "Old gradients are still in .grad when the next step begins", "What is in .grad when the second step begins?",
            _line_accumulating),
    *(Mistake("accumulation", "The loss of a step contains the losses of all steps before it", "Where does the sum over the points begin?",
              _line_growing(*wrong)) for wrong in ((), ("kept inside",))),
    Mistake("restarted", "Each step begins at the w and b that the function was given, so only the last step counts",
            "From which numbers does the second step make its values?", _line_restarted),
    Mistake("averaged", "The loss is the mean over the points; in this program it is their sum",
            "What is the loss in the two steps by hand?", _line_averaged),
    Mistake("one of many", "Only the last point counts in the loss",
            "What happens to the error of the first point when the second one comes?",
            lambda w, b, points, rate, steps: _line(w, b, points[-1:], rate, steps)),
], [
    ("two points", *_fit_line(2, LINE_STEPS[2]), "three steps downhill", "Print the losses. What do they say about the graph?", 3),
    ("five points", *_fit_line(5, LINE_STEPS[5]), "six steps downhill, on more points", "Compare the second step with paper.", 3),
], [
    Slip("order", "The line moves after each point, not once for all of them", "The loss is a sum over the points; one step follows it.",
         lambda w, b, x, t: _line_point_by_point(w, b, list(zip(x, t, strict=True)), 0.02, LINE_STEPS[len(x)])),
])  # fmt: skip


# -- problem set 2: one place for what two calls saved -----------------------------------------------------------


def _bumps(saved: Callable[[np.ndarray], np.ndarray]):
    """`saved(u)` is what the rules of the bumps find: u itself, one row for each bump, or something else in its place."""

    def program(centres, x, t, rate, steps):
        centres, x, t = (np.asarray(a, float) for a in (centres, x, t))
        losses = []
        for _ in range(steps):
            u = x - centres[:, None]
            error = np.exp(-u * u).sum(0) - t
            losses.append((error**2).mean())
            found = saved(u)
            centres = centres - rate * (2 * error * 2 * found * np.exp(-found * found)).mean(1)
        return centres, losses

    return program


def _fit_bumps(k: int, steps: int):
    def play(f, centres, x, t):
        return run_of(f(*tensors(centres, x, t), 0.5, steps), "centres")

    return play, arrays((k,), (7,), (7,))


SHARED_STATE = repaired("shared_state", _bumps(lambda u: u), [
    Mistake("shared", "Every rule reads what the last call saved: all centres move as the last one should",
            "What is in Bump.x when backward begins, and how many calls of forward have there been?",
            _bumps(lambda u: np.broadcast_to(u[-1], u.shape))),
    Mistake("shared", "Every rule reads what the first call saved: all centres move as the first one should",
            "Each call has to save its own input. Where is there a place for it?", _bumps(lambda u: np.broadcast_to(u[0], u.shape))),
    Mistake("order", "Every rule reads what another call saved: they are taken in the wrong order",
            "Backward runs the last call first. Save in a place that belongs to the call, and there is no order to keep.",
            _bumps(lambda u: u[::-1])),
], [
    ("two bumps", *_fit_bumps(2, 3), "each centre has a gradient of its own", "Check the gradient of each centre for itself.", 3),
    ("three bumps", *_fit_bumps(3, 4), "and so it is with three", "How many calls of forward come before the first backward?", 3),
])  # fmt: skip


# -- problem set 3: a weight along the wrong axis ------------------------------------------------------------------


def _effects(spread: Callable[[np.ndarray, int], np.ndarray], size: Callable[[np.ndarray, int, int], float] | None = None):
    """`spread(weight, columns)` is the weight of each entry, and `size` what the sum is divided by."""

    def program(table, weight, rate, steps):
        table, weight = np.asarray(table, float), np.asarray(weight, float)
        n, m = table.shape
        rows, columns, losses = np.zeros(n), np.zeros(m), []
        divisor = size(weight, n, m) if size else weight.sum() * m
        for _ in range(steps):
            error = rows[:, None] + columns - table
            each = spread(weight, m)
            losses.append((each * error**2).sum() / divisor)
            pull = 2 * each * error / divisor
            rows, columns = rows - rate * pull.sum(1), columns - rate * pull.sum(0)
        return rows, columns, losses

    return program


def _fit_effects(n: int, m: int, steps: int):
    def play(f, table, weight):
        return run_of(f(*tensors(table, weight), 0.5, steps), "rows", "columns")

    return play, lambda rng: (draw(rng, (n, m)), draw(rng, (n,), 0.1, 2.9))


ROW_WEIGHTS = repaired("row_weights", _effects(lambda w, m: w[:, None] * np.ones(m)), [
    Mistake("axis", "The weights run along the columns: entry (i, j) is weighted with weight j and not with weight i",
            "Broadcasting aligns shapes at the end. With which axis of the errors does a shape (n,) meet?",
            _effects(lambda w, m: w + 0 * w[:, None])),
    Mistake("averaged", "Every row counts the same: the weights have been averaged away",
            "A row with twice the weight should pull twice as hard.", _effects(lambda w, m: w.mean() * np.ones((len(w), m)))),
    Mistake("averaged", "Every row counts the same: the weights are not used",
            "A row with twice the weight should pull twice as hard.", _effects(lambda w, m: np.ones((len(w), m)), lambda w, n, m: n * m)),
    Mistake("not divided", "The sum is divided by the number of entries and not by their weights",
            "A weighted mean of ones is 1, whatever the weights are.",
            _effects(lambda w, m: w[:, None] * np.ones(m), lambda w, n, m: n * m)),
], [
    ("a square table", *_fit_effects(4, 4, 3), "each row counts by its weight",
     "Give one row the weight 0. Which entries should no longer pull?", 3),
    ("another shape", *_fit_effects(3, 5, 3), "the table need not be square",
     "Try a table whose sides differ: what does broadcasting say?", 3),
])  # fmt: skip


# -- problem set 4: one buffer under several names -----------------------------------------------------------------


def _momentum(velocity: Callable[[list, list], list]):
    """A chain of square matrices, trained with momentum; `velocity(old, gradients)` is what each step is made of."""

    def program(weights, x, t, rate, steps):
        weights, x, t = [np.asarray(w, float) for w in weights], np.asarray(x, float), np.asarray(t, float)
        moving, losses = [np.zeros_like(w) for w in weights], []
        for _ in range(steps):
            inputs = [x]
            for w in weights:
                inputs.append(inputs[-1] @ w)
            error = inputs[-1] - t
            losses.append((error**2).mean())
            g = 2 * error / error.size
            gradients: list[np.ndarray] = []
            for h, w in zip(inputs[-2::-1], weights[::-1], strict=True):
                gradients.insert(0, h.T @ g)
                g = g @ w.T
            moving = velocity(moving, gradients)
            weights = [w - rate * v for w, v in zip(weights, moving, strict=True)]
        return weights, losses

    return program


def _one_velocity(old: list, gradients: list) -> list:
    v, seen = old[-1], []
    for g in gradients:
        v = 0.9 * v + g
        seen.append(v)
    return seen


def _chain(k: int, steps: int):
    def play(f, x, t, *weights):
        return run_of(f(tensors(*weights), *tensors(x, t), 0.02, steps), "weights")

    return play, lambda rng: tuple(draw(rng, shape, -0.9, 0.9) for shape in ((6, 3), (6, 3), *((3, 3),) * k))


SHARED_BUFFER = repaired("shared_buffer", _momentum(lambda old, gradients: [0.9 * v + g for v, g in zip(old, gradients, strict=True)]), [
    Mistake("shared", "All layers share one velocity: each is moved by the gradients of the others, too",
            "How many tensors are in the list of velocities? Compare `velocities[0] is velocities[1]`.", _momentum(_one_velocity)),
    Mistake("missing", "There is no momentum: every step uses its own gradient only",
            "Momentum carries on from step to step. What is left of the velocity when the next step begins?",
            _momentum(lambda old, gradients: gradients)),
    Mistake("twice", "The layers are moved by the mean of their gradients",
            "A velocity belongs to one layer.",
            _momentum(lambda old, gradients: [0.9 * old[0] + sum(gradients) / len(gradients)] * len(gradients))),
], [
    ("two layers", *_chain(2, 3), "each layer has a velocity of its own", "What should the velocity of a layer be after one step?", 3),
    ("three layers", *_chain(3, 4), "and so it is with three", "The first step shows it already: compare it with the gradients.", 3),
])  # fmt: skip


# -- problem set 5: probabilities where scores belong ------------------------------------------------------------


def _softmax(a: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(a - a.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _through(p: np.ndarray, g: np.ndarray, axis: int = -1) -> np.ndarray:
    return p * (g - (g * p).sum(axis, keepdims=True))


def _classifier(loss_and_pull: Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]):
    """`loss_and_pull(scores, onehot)` is the loss and its gradient for the scores."""

    def program(weight, x, target, rate, steps):
        weight, x = np.asarray(weight, float), np.asarray(x, float)
        onehot = np.eye(weight.shape[0])[np.asarray(target).astype(int)]
        losses = []
        for _ in range(steps):
            loss, pull = loss_and_pull(x @ weight.T, onehot)
            losses.append(loss)
            weight = weight - rate * pull.T @ x
        return weight, losses

    return program


def _cross_entropy(axis: int, size: Callable[[np.ndarray], float] = len):
    def loss_and_pull(scores, onehot):
        p = _softmax(scores, axis)
        return -(np.log(p) * onehot).sum() / size(scores), (p * onehot.sum(axis, keepdims=True) - onehot) / size(scores)

    return loss_and_pull


def _softmax_twice(scores, onehot):
    p = _softmax(scores)
    loss, pull = _cross_entropy(-1)(p, onehot)
    return loss, _through(p, pull)


def _expected_share(scores, onehot):
    p = _softmax(scores)
    return -(p * onehot).sum() / len(scores), _through(p, -onehot / len(scores))


def _classify(n: int, classes: int, steps: int):
    def play(f, weight, x, target):
        return run_of(f(*tensors(weight, x, target), 0.3, steps), "weight")

    def inputs(rng):
        return draw(rng, (classes, 3)), draw(rng, (n, 3)), np.concatenate([np.arange(classes), rng.integers(classes, size=n - classes)])

    return play, inputs


SOFTMAX_TWICE = repaired("softmax_twice", _classifier(_cross_entropy(-1)), [
    Mistake("applied twice", "The softmax runs twice: cross-entropy takes scores, and receives probabilities",
            "Which first line has the formula of cross-entropy? What does it do to its input?", _classifier(_softmax_twice)),
    Mistake("term", "The loss is the mean of the right class's probability, and not of its logarithm",
            "A certain wrong answer should cost much more than an uncertain one.", _classifier(_expected_share)),
    Mistake("axis", "The probabilities add up to 1 along the samples and not along the classes",
            "Print the sum of the probabilities of the first sample.", _classifier(_cross_entropy(0))),
    Mistake("not divided", "The loss is a sum over the samples and not their mean",
            "With twice as many samples the step should not double.", _classifier(_cross_entropy(-1, lambda scores: 1))),
], [
    ("three classes", *_classify(8, 3, 3), "scores go into the loss",
     "What does a network that is sure and right have as its loss? It should be near 0.", 3),
    ("five classes", *_classify(12, 5, 4), "the same with five classes", "Compare the gradient for the scores with p - y.", 3),
])  # fmt: skip


# -- problem set 6: one array in two places --------------------------------------------------------------------


def _mixture(slopes: Callable[[np.ndarray, np.ndarray], tuple]):
    """y = u v + (u + v) with u = w1 x and v = w2 x; `slopes(u, v)` is what arrives at u and at v for 1 at y."""

    def program(w1, w2, x, t, rate, steps):
        losses = []
        for _ in range(steps):
            u, v = w1 * x, w2 * x
            error = u * v + u + v - t
            losses.append((error**2).sum())
            at_u, at_v = slopes(u, v)
            w1, w2 = w1 - rate * 2 * error * at_u * x, w2 - rate * 2 * error * at_v * x
        return w1, w2, losses

    return program


def _fit_mixture(n: int, steps: int):
    def play(f, w1, w2, x, t):
        return run_of(f(w1, w2, x, t, 0.02, steps), "w1", "w2")

    return play, lambda rng: tuple(draw(rng, (n,), -0.9, 0.9) for _ in range(4))


SHARED_GRADIENT = repaired("shared_gradient", _mixture(lambda u, v: (1 + v, 1 + u)), [
    Mistake("shared", "Two nodes have the same array as their gradient, and what is added to one is added to the other",
            "Which arrays does the rule of `add` return, and what does += do to an array?", _mixture(lambda u, v: (1 + u + v, 1 + u + v))),
    Mistake("overwritten", "A later contribution overwrites an earlier one", "A node with two users has two contributions: they add up.",
            _mixture(lambda u, v: (v / 2, u / 2))),
    Mistake("overwritten", "Only the first contribution to a gradient counts", "A node with two users has two contributions: they add up.",
            _mixture(lambda u, v: (0.5, 0.5))),
], [
    ("three numbers", *_fit_mixture(3, 3), "each node has a gradient of its own", "Compute the gradient of u for x = 1 on paper.", 3),
    ("seven numbers", *_fit_mixture(7, 5), "and so it is with more steps", "Print id(node.grad) for all nodes of the tape.", 3),
])  # fmt: skip


# -- problem set 7: a mask that is drawn anew -------------------------------------------------------------------


def _dropping(masks: Callable[[Any, Callable], tuple]):
    """`masks(start, draw_mask)` is the mask of forward and that of backward; `start` is the state of the generator at the start."""

    def program(w1, w2, x, t, rate, steps):
        w1, w2, x, t = (np.asarray(a, float) for a in (w1, w2, x, t))
        start, losses, shape = get_rng_state(), [], (len(x), w2.shape[1])
        for _ in range(steps):
            forward, back = masks(start, lambda: 2.0 * np.asarray(rand(shape) < 0.5))
            a = x @ w1
            h = np.tanh(a @ w2)
            error = (h * forward).sum(1) - t
            losses.append((error**2).mean())
            inner = (2 * error / len(t))[:, None] * back * (1 - h * h)
            w1, w2 = w1 - rate * x.T @ (inner @ w2.T), w2 - rate * a.T @ inner
        return w1, w2, losses

    return program


def _one_mask(start: Any, draw_mask: Callable) -> tuple:
    return (draw_mask(),) * 2


def _first_mask(start: Any, draw_mask: Callable) -> tuple:
    set_rng_state(start)
    return _one_mask(start, draw_mask)


def _mask_of_zero(start: Any, draw_mask: Callable) -> tuple:
    manual_seed(0)
    return _one_mask(start, draw_mask)


def _fit_dropping(steps: int, seed: int):
    def play(f, w1, w2, x, t):
        before, saved = get_rng_state(), [0]
        running: list[bool] = []

        def pack(a):  # what is saved before the first rule runs
            saved[0] += 0 if running else a.numel()
            return a

        def unpack(a):
            running.append(True)
            return a

        manual_seed(seed)
        try:
            with saved_tensors_hooks(pack, unpack):
                found = run_of(f(*tensors(w1, w2, x, t), 0.1, steps), "w1", "w2")
            return {**found, "kept": saved[0] > x.size + w1.size + x.shape[0] * w2.shape[0] + 3 * len(t)}
        finally:
            set_rng_state(before)

    return play, arrays((3, 2), (2, 4), (6, 3), (6,))


NO_CHECKPOINT = Slip("not a checkpoint", "The block keeps what it computed: it is a checkpoint no more",
                     "The gradient is right, and the memory is not saved. Which mask does the second run need?",
                     lambda *inputs: {"kept": True})  # fmt: skip
REPLAYED_NOISE = repaired("replayed_noise", _dropping(_one_mask), [
    Mistake("randomness", "The second run of the block draws another mask: the gradient is that of another loss",
            "How often is torch.rand called in one step, and which of the masks belongs to the loss?",
            _dropping(lambda start, draw_mask: (draw_mask(), draw_mask()))),
    Mistake("randomness", "Every step has the same mask: always the same entries are dropped",
            "One step needs one mask, and the next step another.", _dropping(_first_mask)),
    Mistake("randomness", "Every step has the same mask: the generator is set to 0 before each of them",
            "One step needs one mask, and the next step another.", _dropping(_mask_of_zero)),
    Mistake("missing", "Nothing is dropped any more", "Dropout is part of the model: the mask has to stay.",
            _dropping(lambda start, draw_mask: (np.ones((1, 1)),) * 2)),
], [
    ("two steps", *_fit_dropping(2, 3), "one mask for both runs", "Print the mask in both runs of the block.", 3),
    ("five steps", *_fit_dropping(5, 11), "and a new one in every step", "Which random numbers does the second step use?", 3),
], [NO_CHECKPOINT])  # fmt: skip


# -- problem set 8: a step that backward does not see -----------------------------------------------------------


def _meta(pull: Callable[..., np.ndarray], *, inner_loss: bool = False):
    """`pull(inner, before, after)` is what one task adds to the gradient: inner is the Jacobian of its own step."""

    def program(w, tasks, inner_rate, rate, steps):
        w, tasks = np.asarray(w, float), [tuple(np.asarray(a, float) for a in task) for task in tasks]
        losses = []
        for _ in range(steps):
            found = []
            for x, t in tasks:
                first = x @ w - t
                before = 2 * x.T @ first / len(t)
                error = x @ (w - inner_rate * before) - t
                inner = np.eye(len(w)) - inner_rate * 2 * x.T @ x / len(t)
                counted = ((first if inner_loss else error) ** 2).mean()
                found.append((counted, pull(inner, before, 2 * x.T @ error / len(t))))
            losses.append(sum(loss for loss, _ in found) / len(tasks))
            w = w - rate * sum(g for _, g in found) / len(tasks)
        return w, losses

    return program


def _learn(k: int, steps: int):
    def play(f, w, *data):
        start, *given = tensors(w, *data)
        return run_of(f(start, list(zip(given[::2], given[1::2], strict=True)), 0.1, 0.2, steps), "w")

    return play, lambda rng: (draw(rng, (3,)), *(draw(rng, shape, -0.9, 0.9) for _ in range(k) for shape in ((5, 3), (5,))))


INNER_STEP = repaired("inner_step", _meta(lambda inner, before, after: inner @ after), [
    Mistake("cut", "The gradient of the inner step counts as a constant: how it changes with w is missing",
            "Does the graph of the inner gradient reach w? Draw it, and look at the setting that keeps it.",
            _meta(lambda inner, before, after: after)),
    Mistake("cut", "The inner step is left out of the gradient: w is moved by the losses before it",
            "Which loss should become small: the one before the inner step, or the one after it?",
            _meta(lambda inner, before, after: before, inner_loss=True)),
    Mistake("term", "Only what is behind the inner gradient counts: w itself is cut off where the step begins",
            "w - rate * g depends on w in two ways.", _meta(lambda inner, before, after: (inner - np.eye(len(after))) @ after)),
], [
    ("two tasks", *_learn(2, 3), "the inner step is differentiated", "Work out one task with one number on paper.", 3),
    ("three tasks", *_learn(3, 5), "and so it is with three tasks", "The Hessian of each task has a say: where?", 3),
])  # fmt: skip

BROKEN = (STALE_GRAPH, SHARED_STATE, ROW_WEIGHTS, SHARED_BUFFER, SOFTMAX_TWICE, SHARED_GRADIENT, REPLAYED_NOISE, INNER_STEP)
