"""Explorable: the bucket that gradients fall into, and w on its loss."""

import functools
import math

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes, short
from autolab.draw.curves import heights, sample
from autolab.trace.values import number
from autolab.widgets.functions import function_name, value_and_gradient
from autolab.widgets.panel import Frame, StateMachine
from autolab.widgets.real_numbers import of_real_numbers

BACKWARD, ZERO, STEP = "Backward", "Zero grad", "Step"
TILE, HIGH, LOW = 276, 300, 36  # pixels of a half, and of what is below it
PAGE_STATES = 1350  # a page of more comes close to 150 kB


def square(w):
    """The loss that the lessons begin with."""
    return w**2


@of_real_numbers
def accumulation(f=square, w=3.0, lr=0.1):
    """Drag the gradient into the bucket, tip it out, drag what is in it onto the curve: every backward pass adds to `.grad`.

    The buttons Backward, Zero grad and Step do the same, in any order.

    Parameters
    ----------
    f : function
        The loss, of one number.
    w : float
        Where the parameter starts.
    lr : float
        Learning rate of the `torch.optim.SGD` that takes the steps.

    Returns
    -------
    StateMachine

    Raises
    ------
    TypeError, RuntimeError
        If `f` does not return a single number that depends on w.

    Examples
    --------
    >>> bucket = accumulation(lambda w: w**2, w=3.0)
    >>> bucket.press("Backward").press("Backward").sentence
    'Backward adds 6: w.grad is 12. w is 3.'
    >>> bucket.undo().sentence
    'Backward adds 6: w.grad is 6. w is 3.'
    """
    if not callable(f):
        raise TypeError(f"accumulation needs a loss of one number, and got {type(f).__name__}: accumulation(lambda w: w**2, w=3.0)")

    # a state: (w, grad or None, what was last poured in, the last action)
    def act(state, action):
        value, grad, _, _ = state
        leaf = torch.tensor(value, dtype=torch.float64, requires_grad=True)
        leaf.grad = None if grad is None else torch.tensor(grad, dtype=torch.float64)
        added = 0.0
        if action == BACKWARD:
            with np.errstate(all="ignore"):
                loss = f(leaf)
                if not isinstance(loss, torch.Tensor):
                    raise TypeError(f"{function_name(f)} returned {type(loss).__name__}; the loss must be a Tensor computed from w")
                loss.backward()
            added = leaf.grad.item() - (grad or 0.0)
        else:
            optimizer = torch.optim.SGD([leaf], lr=lr)
            optimizer.zero_grad() if action == ZERO else optimizer.step()
        return leaf.item(), None if leaf.grad is None else leaf.grad.item(), added, action

    def show(state):
        value, grad, added, action = state
        held = "none" if grad is None else number(grad)
        said = {
            "": f"w is {number(value)} and w.grad is {held}.",
            BACKWARD: f"Backward adds {number(added)}: w.grad is {held}. w is {number(value)}.",
            ZERO: f"Zero grad empties the bucket: w.grad is {held}. w is {number(value)}.",
            STEP: "Step changes nothing: there is no gradient." if grad is None else
                  f"Step moves w by -{short(lr)} × {held}, to {number(value)}. The bucket stays as it is.",
        }[action]  # fmt: skip
        moved = value + lr * grad if action == STEP and grad is not None else value  # where w was
        picture = _hill(curve(_scale(value, moved, start=reach)), value, moved, grad) + _bucket(grad, added, lr, _scale(grad, start=step))
        flights = [chart.flight(f"+ {short(added)}", (TILE / 2, 130), (TILE + 150, 120), "grad")] if action == BACKWARD and added else []
        return Frame(said, picture, [["w", number(value)], ["w.grad", held], ["last poured in", number(added)]], flights=flights)

    first = act((float(w), None, 0.0, ""), BACKWARD)
    if not math.isfinite(first[1]):
        raise ValueError(f"the gradient of {function_name(f)} at w = {number(w)} is {first[1]}; the bucket holds finite ones only")
    reach, step = max(2 * abs(float(w)), 1.0), max(abs(first[1]), 1e-12) * 4

    @functools.cache
    def curve(size):
        places, values, _ = sample(lambda at: (value_and_gradient(f, at)[0],), -size, size, 81)
        axes = Axes((-size, size), chart.span(heights(values)), (0, 0), (TILE, HIGH), ("w", ""), "loss")
        return axes, axes.frame() + axes.line(places, values[:, 0]), f

    title = f"The bucket of gradients of {function_name(f)}"
    begin, actions = (float(w), None, 0.0, ""), [BACKWARD, ZERO, STEP]
    more = {"walk": 10 * [BACKWARD, STEP, ZERO], "page_states": PAGE_STATES, "breaks": [TILE]}
    return StateMachine(title, begin, act, show, lambda s: actions, ["What", "Number"], (2 * TILE, HIGH + LOW), **more)


def _scale(*numbers, start):
    """The end of a scale that holds all of these: it doubles until it does."""
    most = max((abs(x) for x in numbers if x is not None and math.isfinite(x)), default=0.0)
    while start < most * (1 - 1e-9):
        start *= 2
    return start


def _hill(curve, value, before, grad):
    """The loss with w on it, where it came from, and the slope that the gradient says; below it the gradient to drag."""
    axes, base, f = curve
    height, slope = value_and_gradient(f, value)
    parts = [chart.drop(base, "curve"), axes.straight(value, height, slope) if grad is not None else "", axes.point(value, height, "a")]
    parts.append(chart.words(axes.left + 6, axes.top + 18, f"w = {short(value)}", "value"))
    if before != value:
        old = value_and_gradient(f, before)[0]
        x0, x1, y = axes.x(before), axes.x(value), axes.y(old)
        parts += [chart.mark(x0, y, "b", 4), chart.arrow(x0, y, x1, y, "line") if abs(x1 - x0) > 9 else ""]
    label = f"{BACKWARD}: the gradient {number(slope)} into the bucket"
    parts.append(chart.words(12, HIGH + 22, "gradient", "note"))
    parts.append(chart.draggable(_chip(90, short(slope), "grad"), BACKWARD, "bucket", label, key="gradient"))
    return parts


def _chip(x, text, kind):
    """A box with a few words, below the picture, that can be dragged or pressed."""
    wide = max(chart.CHAR * len(text) + 16, 44)
    return chart.rectangle(x, HIGH + 2, wide, 30, kind) + chart.words(x + wide / 2, HIGH + 22, text, "grad" * (kind == "grad"), "middle")


def _bucket(grad, added, lr, scale):
    """The bucket with its scale: what was in it, and what was poured in last; a negative gradient hangs below zero."""
    top, middle, low = 40.0, 150.0, 260.0
    held, left, right = (grad or 0.0), TILE + 96, TILE + 196

    def y(size):
        return middle - (middle - top) * max(-1.0, min(1.0, size / scale))

    was = held - added
    parts = [
        chart.words(TILE + 12, 22, "w.grad", "head"),
        chart.words(TILE + 264, 22, "none" if grad is None else number(held), "grad", "end"),
    ]
    for tick in chart.ticks(-scale, scale, 6):
        parts += [
            f'<path d="M{left} {y(tick):.1f}H{right}" class="al-grid"/>',
            chart.words(left - 8, y(tick) + 5, short(tick), "note", "end"),
        ]
    for low_end, high_end, kind in ((0.0, was, "leaf"), (was, held, "grad")):
        if abs(high_end - low_end) > 1e-9 * scale:
            above, below = sorted((y(low_end), y(high_end)))
            parts.append(chart.rectangle(left + 8, above, right - left - 16, below - above, kind))
    parts.append(f'<path d="M{left} {top}V{low}H{right}V{top}M{left - 4} {middle}H{right + 4}" class="al-l al-l-line"/>')
    parts.append(chart.drop(f'<rect x="{left}" y="{top}" width="{right - left}" height="{low - top}" class="al-cell al-hit"/>', "bucket"))
    if grad is not None:
        step = f"-{short(lr)} × {short(held)}"
        parts.append(chart.draggable(_chip(TILE + 12, step, "leaf"), STEP, "curve", f"{step}: {STEP}", key="step"))
    parts.append(chart.pressable(_chip(TILE + 168, ZERO.lower(), "op"), action=ZERO, key="zero"))
    if added:
        parts += [chart.words(right + 10, (y(was) + y(held)) / 2 + 5, f"+ {short(added)}", "grad")]
    return parts


__all__ = ["accumulation"]
