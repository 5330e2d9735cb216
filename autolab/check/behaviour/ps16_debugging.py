"""Problem set 16: broken training programs, each with another family of mistakes, judged like those of sets 1 to 8."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..run.inputs import draw
from .broken_programs import Mistake, repaired, run_of, tensors

# -- an optimizer that has another tensor ------------------------------------------------------------------


def _on_the_sphere(kind: str = "") -> Callable:
    """Descent with momentum; w has length 1 after each step. `kind` is a mistake."""

    def program(w, x, t, rate, steps):
        w, x, t = (np.asarray(a, float) for a in (w, x, t))
        held, velocity, gradient, losses = w, 0 * w, 0 * w, []
        for step in range(steps):
            error = x @ w - t
            losses.append((error**2).mean())
            fresh = 2 * x.T @ error / len(t)
            if kind == "lost" and step:  # the optimizer holds the first tensor, which no loss reaches any more
                gradient = 0 * w
            else:
                gradient = fresh
            velocity = gradient if kind == "no momentum" else 0.9 * velocity + gradient
            held = held - rate * velocity
            if kind == "lost":
                w = held / np.linalg.norm(held) if not step else w
            else:
                held = w = held / (1 if kind == "free" else np.linalg.norm(held))
        return w, losses

    return program


def _regression(n: int, steps: int, rate: float = 0.05):
    def play(f, w, x, t):
        return run_of(f(*tensors(w, x, t), rate, steps), "w")

    return play, lambda rng: (draw(rng, (3,)), draw(rng, (n, 3), -1.9, 1.9), draw(rng, (n,)))


LOST_LEAF = repaired("lost_leaf", _on_the_sphere(), [
    Mistake("lost leaf", "After the first step nothing moves: the optimizer has another tensor than the loss",
            "Compare id(w) before and after a step with that of the tensor in optimizer.param_groups[0]['params'].",
            _on_the_sphere("lost")),
    Mistake("missing", "w no longer has length 1 after a step", "The constraint is part of the task. How is a leaf overwritten?",
            _on_the_sphere("free")),
    Mistake("missing", "There is no momentum: the optimizer forgets everything after each step",
            "A new optimizer has no velocity. Keep the old one, and the tensor that it has.", _on_the_sphere("no momentum")),
], [
    ("three steps", *_regression(5, 3), "the optimizer moves what the loss uses", "What does look say in the second step?", 4),
    ("six steps", *_regression(9, 6), "and so it goes on", "Which tensors are in the optimizer's list?", 4),
])  # fmt: skip

# -- a target that moves along -----------------------------------------------------------------------------


def _values(kind: str = "") -> Callable:
    """The value of a state should be its reward plus 0.9 times the value of the next state, which is given for each step."""

    def program(w, now, after, reward, rate, steps):
        w, now, after, reward = (np.asarray(a, float) for a in (w, now, after, reward))
        first, losses = w, []
        for _ in range(steps):
            target = reward + 0.9 * after @ (first if kind == "frozen" else w)
            error = now @ w - target
            losses.append((error**2).mean())
            moving = {"": now, "frozen": now, "both": now - 0.9 * after, "wrong side": -0.9 * after}[kind]
            w = w - rate * 2 * moving.T @ error / len(error)
        return w, losses

    return program


def _chain(n: int, steps: int):
    def play(f, w, now, after, reward):
        return run_of(f(*tensors(w, now, after, reward), 0.05, steps), "w")

    return play, lambda rng: (draw(rng, (3,)), draw(rng, (n, 3), -1.9, 1.9), draw(rng, (n, 3), -1.9, 1.9), draw(rng, (n,)))


MOVING_TARGET = repaired("moving_target", _values(), [
    Mistake("not cut", "The gradient flows into the target, too: it is pulled towards the prediction",
            "Draw the graph of the loss. On how many paths does it reach w, and which of them should there be?", _values("both")),
    Mistake("cut", "The prediction is cut off, and the target is moved towards it",
            "Which of the two should change?", _values("wrong side")),
    Mistake("stale", "The target is that of the first step: it does not follow the new weights",
            "The target is computed anew in each step; only its gradient is cut.", _values("frozen")),
], [
    ("three steps", *_chain(5, 3), "only the prediction is moved", "Draw the graph: which paths lead to w?", 4),
    ("five steps", *_chain(8, 5), "and the target is new in each step", "From which weights is the target computed in the second step?", 4),
])  # fmt: skip

# -- a nan that was swept away -------------------------------------------------------------------------------


def _directions(kind: str = "") -> Callable:
    """Rows are normalised; a row of zeros stays one. t is compared with the part along v."""

    def program(w, x, v, t, rate, steps):
        w, x, v, t = (np.asarray(a, float) for a in (w, x, v, t))
        losses = []
        for _ in range(steps):
            h = x @ w
            norm = np.sqrt((h * h).sum(1, keepdims=True))
            there = norm > 0
            size = np.where(there, norm, 1.0)
            unit = h / size
            error = unit @ v - t
            count = there.sum() if kind == "left out" else len(t)
            counted = there[:, 0] if kind == "left out" else np.ones(len(t))
            losses.append((counted * error**2).sum() / count)
            g = (2 * error * counted / count)[:, None] * v
            pull = x.T @ (np.where(there, g - unit * (g * unit).sum(1, keepdims=True), 0) / size)
            w = w - rate * (0 if kind == "swept" else pull)
        return w, losses

    return program


def _rows(n: int, empty: int, steps: int):
    def play(f, w, x, v, t):
        return run_of(f(*tensors(w, x, v, t), 0.3, steps), "w")

    def inputs(rng):
        x = draw(rng, (n, 3))
        x[:empty] = 0
        return draw(rng, (3, 2)), x, draw(rng, (2,)), draw(rng, (n,))

    return play, inputs


SWEPT_NAN = repaired("swept_nan", _directions(), [
    Mistake("nan", "Nothing moves: the gradient is nan, and 0 has been put in its place",
            "Take nan_to_num away, and let anomaly mode name the rule. What does it divide by?", _directions("swept")),
    Mistake("count", "The rows of zeros are left out, and the mean is over the others only",
            "They count with the part 0: the mean is over all rows.", _directions("left out")),
], [
    ("one row of zeros", *_rows(5, 1, 3), "rows of zeros send no gradient, and the others theirs",
     "Which rule makes the nan, in which row?", 4),
    ("three rows of zeros", *_rows(9, 3, 4), "and so it is with more of them",
     "Make the argument safe before the operation, as in lesson 08.", 4),
])  # fmt: skip

# -- five lines in the wrong order --------------------------------------------------------------------------


def _clipped(clip: Callable) -> Callable:
    """`clip(for_w, for_b)` is what the step is made of."""

    def program(w, b, x, t, rate, most, steps):
        w, x, t = (np.asarray(a, float) for a in (w, x, t))
        b, losses = float(np.asarray(b)), []
        for _ in range(steps):
            error = x @ w + b - t
            losses.append((error**2).mean())
            for_w, for_b = clip(2 * x.T @ error / len(t), 2 * error.mean(), most)
            w, b = w - rate * for_w, b - rate * for_b
        return w, b, losses

    return program


def _together(g, h, most):
    share = min(1.0, most / (np.sqrt((g**2).sum() + h**2) + 1e-6))
    return g * share, h * share


def _one_by_one(g, h, most):
    return g * min(1.0, most / (np.linalg.norm(g) + 1e-6)), h * min(1.0, most / (abs(h) + 1e-6))


def _with_limit(n: int, steps: int):
    def play(f, w, b, x, t):
        return run_of(f(*tensors(w, b, x, t), 0.1, 1.5, steps), "w", "b")

    return play, lambda rng: (draw(rng, (3,)), draw(rng, ()), draw(rng, (n, 3)), draw(rng, (n,), 5.1, 9.9))


LATE_CLIP = repaired("clip_order", _clipped(_together), [
    Mistake("order", "Nothing is clipped: when the limit is applied, there are no gradients yet",
            "What is in .grad after zero_grad, and what after backward? Put a print between the lines.",
            _clipped(lambda g, h, most: (g, h))),
    Mistake("each apart", "Each parameter is clipped for itself: the direction of the step is changed",
            "The limit is for the norm of all gradients together.", _clipped(_one_by_one)),
    Mistake("each apart", "Each entry is clipped for itself: the direction of the step is changed",
            "clip_grad_norm_ shortens the whole gradient; clip_grad_value_ cuts its entries.",
            _clipped(lambda g, h, most: (np.clip(g, -most, most), np.clip(h, -most, most)))),
    Mistake("always", "The gradient always gets the length of the limit, also when it is shorter",
            "A gradient within the limit stays as it is.",
            _clipped(lambda g, h, most: tuple(a * most / np.sqrt((g**2).sum() + h**2) for a in (g, h)))),
], [
    ("three steps", *_with_limit(5, 3), "a step is never longer than rate times the limit", "How long is the first step?", 4),
    ("forty steps", *_with_limit(6, 40), "and short gradients stay as they are",
     "What happens to a gradient that is shorter than the limit?", 4),
])  # fmt: skip

# -- a column and a row --------------------------------------------------------------------------------------


def _margins(kind: str = "") -> Callable:
    """The hinge loss of labels 1 and -1: relu(1 - t y)."""

    def program(w, x, t, rate, steps):
        w, x, t = (np.asarray(a, float) for a in (w, x, t))
        t, losses = t.reshape(-1), []
        for _ in range(steps):
            y = x @ w
            if kind == "square":
                inside = 1 - t[:, None] * y
                for_y = np.where(inside > 0, -t[:, None], 0).sum(0) / inside.size
            elif kind == "columns":
                inside = 1 - t[:, None] * y
                for_y = np.where(inside > 0, -t[:, None], 0).sum(0) / len(t)
            else:
                inside = 1 - (t.mean() if kind == "mean" else t) * y
                for_y = np.where(inside > 0, -(t.mean() if kind == "mean" else t), 0) / len(t)
            losses.append(np.maximum(inside, 0).sum() / (len(t) if kind == "columns" else inside.size))
            w = w - rate * x.T @ for_y
        return w, losses

    return program


def _labels(n: int, steps: int):
    def play(f, w, x, t):
        return run_of(f(*tensors(w, x, t), 0.3, steps), "w")

    def inputs(rng):
        signs = np.ones((n, 1))
        signs[rng.permutation(n)[: n // 3 + 1]] = -1
        return draw(rng, (3,)), draw(rng, (n, 3)), signs

    return play, inputs


COLUMN_TARGET = repaired("column_target", _margins(), [
    Mistake("broadcast", "Every prediction is compared with every label: the margins are a square",
            "Print the shape of the margin.", _margins("square")),
    Mistake("broadcast", "Every prediction is compared with every label, and the sum is divided by their number once",
            "Print the shape of the margin.", _margins("columns")),
    Mistake("averaged", "Every sample has the mean of all labels", "Each prediction has a label of its own.", _margins("mean")),
], [
    ("five samples", *_labels(5, 3), "each prediction has its own label", "Print the shapes of prediction, label and margin.", 4),
    ("nine samples", *_labels(9, 5), "and so it is with nine", "Compare the first loss with paper.", 4),
])  # fmt: skip

# -- a write that nobody counts ------------------------------------------------------------------------------


def _capped(slope: Callable, value: Callable = np.minimum) -> Callable:
    """The mean of (v . min(e^(x w), cap) - t)²; `slope(h, cap)` is the derivative of the capped exponential."""

    def program(w, v, x, t, cap, rate, steps):
        w, v, x, t = (np.asarray(a, float) for a in (w, v, x, t))
        losses = []
        for _ in range(steps):
            h = np.exp(x @ w)
            error = value(h, cap) @ v - t
            losses.append((error**2).mean())
            w = w - rate * x.T @ ((2 * error / len(t))[:, None] * v * slope(h, cap))
        return w, losses

    return program


def _exponentials(n: int, steps: int):
    def play(f, w, v, x, t):
        return run_of(f(*tensors(w, v, x, t), 2.0, 0.02, steps), "w")

    shapes = (((3, 2), -0.9, 0.9), ((2,), 0.1, 0.9), ((n, 3), -1.9, 1.9), ((n,), 1.1, 2.9))
    return play, lambda rng: tuple(draw(rng, *shape) for shape in shapes)


UNCOUNTED_WRITE = repaired("uncounted_write", _capped(lambda h, cap: np.where(h < cap, h, 0)), [
    Mistake("overwritten", "What the rule of exp had saved was overwritten: above the cap it sends the cap back, and not 0",
            "What does the node of exp save? Compare h._version before and after the write.", _capped(np.minimum)),
    Mistake("straight through", "Above the cap the gradient goes through as if there were none",
            "How does the result move when its argument moves, above the cap?", _capped(lambda h, cap: h)),
    Mistake("missing", "There is no cap any more", "The cap is part of the model: put it where it is recorded.",
            _capped(lambda h, cap: h, lambda h, cap: h)),
], [
    ("six samples", *_exponentials(6, 3), "above the cap nothing moves", "Which derivative has a constant?", 4),
    ("twelve samples", *_exponentials(12, 5), "and so it is in later steps", "Check the gradient of one sample above the cap.", 4),
])  # fmt: skip

DEBUGGING = (LOST_LEAF, MOVING_TARGET, SWEPT_NAN, LATE_CLIP, COLUMN_TARGET, UNCOUNTED_WRITE)
