"""The explorable of checkpoints as a game: run layers, keep a few values, and bring the gradient back with the fewest runs."""

from collections import deque
from functools import cache
from typing import NamedTuple

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import rectangle, words
from autolab.trace.values import number
from autolab.widgets.checkpointing import MOST_SLOTS
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, StateMachine

MOST_LAYERS = 10
WASTE = 3  # so many runs too many, and the game is lost
RUN, KEEP, BACK, RESTORE = "Run", "Keep", "Back", "Restore"
ROW, RAIL, TOP = 36, 40, 40  # pixels of a layer's line, of a slot's rail, of what is above the lines
BOX, CHIP = (76, 28), (38, 28)  # of a layer, of a value
SCORE = 284  # pixels of the score beside the board


class Position(NamedTuple):
    """`left` layers have not gone back yet; `at` is the layer whose output is current (0: the input); `kept` others like it."""

    left: int
    at: int
    kept: tuple


def moves(position, slots):
    """What can be done in a position: action -> (position after it, runs of a layer that it takes)."""
    left, at, kept = position
    found = {}
    if at < left - 1:
        found[RUN] = Position(left, at + 1, kept), 1
    elif left:
        still = tuple(k for k in kept if k < left - 1)  # what is not needed any more gives its slot back
        found[BACK] = Position(left - 1, max((0, *still)), still), 1
    if 0 < at < left and at not in kept and len(kept) < slots:
        found[KEEP] = Position(left, at, tuple(sorted((*kept, at)))), 0
    for k in (0, *kept) if left else ():
        if k != at:
            found[f"{RESTORE} {_name(k)}"] = Position(left, k, kept), 0
    return found


@cache
def fewest_runs(layers, slots):
    """The fewest runs of a layer to the end, from each position of the game, by a search through all of them.

    From the start it is what `fewest` computes by its recurrence, the binomial schedule.

    Examples
    --------
    >>> fewest_runs(10, 2)[Position(10, 0, ())]
    25
    """
    start = Position(layers, 0, ())
    before, found = {start: []}, [start]
    for position in found:
        for after, runs in moves(position, slots).values():
            if after not in before:
                before[after] = []
                found.append(after)
            before[after].append((position, runs))
    least, waiting = {}, deque((end, 0) for end in found if not end.left)
    while waiting:  # a move takes one run or none: what takes none is looked at first
        position, total = waiting.popleft()
        if position in least:
            continue
        least[position] = total
        for earlier, runs in before[position]:
            (waiting.append if runs else waiting.appendleft)((earlier, total + runs))
    return least


def checkpoint_game(layers=8, slots=2, layer=torch.sin):
    """Bring the gradient back through a chain of layers with the fewest runs: what is worth keeping, and what is run again?

    The gradient goes back through the last layer that is left, which needs the value below it. A run takes the current value one layer up,
    and forgets the one below, unless that is in a slot. The input is kept in any case. A slot is free again when its value is not
    needed any more.

    Parameters
    ----------
    layers : int
        How many layers the chain has, 3 to 10.
    slots : int
        Places for values besides the input, 1 to 3.
    layer : function
        What each layer computes, of one number. Values and gradients are the engine's, layer by layer.

    Returns
    -------
    StateMachine
        Its actions are "Run", "Keep", "Back", and "Restore h3" for each value that is kept. Each run of a layer counts, that of the way
        back, too. The count is compared with the fewest that are possible, found by a search; `fewest` of
        `autolab.widgets.checkpointing` gives the same number by the recurrence of Griewank and Walther.

    Raises
    ------
    ValueError
        If there are more or fewer layers or slots than that.

    Examples
    --------
    >>> game = checkpoint_game(3, 1)
    >>> for action in ["Run", "Keep", "Run", "Back", "Back", "Back"]:
    ...     game = game.press(action)
    >>> game.sentence[:46]
    'You win: 5 runs, the fewest with 1 slot. dy/dx'
    """
    for name, given, low, high in (("layers", layers, 3, MOST_LAYERS), ("slots", slots, 1, MOST_SLOTS)):
        if not low <= given <= high:
            raise ValueError(f"checkpoint_game has room for {low} to {high} {name}, got {given}")
    least = fewest_runs(layers, slots)
    start = Position(layers, 0, ())
    best, many = least[start], f"{slots} slot{'' if slots == 1 else 's'}"
    values, gradients = _run(layers, layer)
    board = _Board(layers, slots)

    def can(state):
        position, runs = state
        return moves(position, slots) if runs + least[position] <= best + WASTE else {}

    def act(state, action):
        position, more = can(state)[action]
        return position, state[1] + more

    def show(state):
        position, runs = state
        end = runs + least[position]
        said = _sentence(position, runs, end, best, many, gradients)
        now = f"{_name(position.at)} = {number(values[position.at])}" if position.left else "none"
        gradient = f"{_derivative(position.left)} = {number(gradients[position.left])}"
        rows = [["current value", now], ["kept", ", ".join(map(_name, (0, *position.kept)))], ["gradient", gradient],
                ["layers to go back", str(position.left)], ["runs so far", str(runs)], ["runs in the end, at best", str(end)],
                [f"fewest with {many}", str(best)]]  # fmt: skip
        picture = board.draw(position, can(state)) + _score(board.width, runs, end, best, now, gradient)
        return Frame(said, picture, rows)

    def walk():
        state = start, 0
        while state[0].left:
            states = {action: (after, more) for action, (after, more) in can(state).items()}
            action = min(states, key=lambda a: least[states[a][0]] + states[a][1] + (0.5 if a.startswith(RESTORE) else 0))
            yield action
            state = act(state, action)

    title = f"Checkpoint game: {layers} layers of {function_name(layer)}, {many}"
    size = board.width + SCORE, max(board.height, 310)
    return StateMachine(title, (start, 0), act, show, can, ["What", "Now"], size, walk=list(walk()), breaks=[board.width])


def _name(k):
    return f"h{k}" if k else "x"


def _many(runs):
    return f"{runs} run{'' if runs == 1 else 's'}"


def _derivative(k):
    return f"dy/d{_name(k)}"


def _run(layers, layer):
    """The value above each layer and the derivative of the last one by it: the engine's, one layer at a time."""
    values = [torch.tensor(0.5, dtype=torch.float64)]
    for _ in range(layers):
        values.append(layer(values[-1]))
    gradients = [torch.ones_like(values[-1])]
    for value in reversed(values[:-1]):
        leaf = value.detach().requires_grad_()
        layer(leaf).backward(gradients[-1])
        gradients.append(leaf.grad)
    return [value.item() for value in values], [g.item() for g in reversed(gradients)]


def _sentence(position, runs, end, best, many, gradients):
    left, at, kept = position
    count = _many(runs)
    if not left and end == best:
        return f"You win: {count}, the fewest with {many}. dy/dx = {number(gradients[0])} has arrived."
    if not left:
        return f"dy/dx = {number(gradients[0])} has arrived after {count}; {best} are enough with {many}. Undo, or Reset and play again."
    if end > best + WASTE:
        return f"This cannot end below {end} runs, and {best} are enough: the game is lost. Undo, or Reset and play again."
    if not runs:
        return f"Bring the gradient from y down to x with {best} runs. Layer {left} goes back first; it needs {_name(left - 1)}."
    told = f"{_name(at)} is the current value"
    told += f", {' and '.join(map(_name, kept))} {'is' if len(kept) == 1 else 'are'} kept" if kept else ""
    next_move = f"Layer {left} can go back." if at == left - 1 else f"Layer {left} needs {_name(left - 1)}."
    worse = f" It will be {end} runs at best, and {best} were enough." if end > best else ""
    return f"{told} after {count}. {next_move}{worse}"


class _Board:
    """Lines for layers, the input lowest: rails for what is kept, the layers, the current value, the gradient."""

    def __init__(self, layers, slots):
        self.layers, self.slots = layers, slots
        self.rails = 14
        self.boxes = self.rails + RAIL * slots + 8
        self.now = self.boxes + BOX[0] + 10
        self.back = self.now + CHIP[0] + 12
        self.width = self.back + CHIP[0] + 16
        self.height = self.y(-1) + ROW / 2 + 16

    def y(self, k):
        return TOP + ROW * (self.layers - k) + ROW / 2

    def draw(self, position, can):
        left, at, kept = position
        middle = [self.rails + RAIL * self.slots / 2 - 2, self.boxes + BOX[0] / 2, self.now + CHIP[0] / 2, self.back + CHIP[0] / 2]
        parts = [words(x, 24, name, "note", "middle") for x, name in zip(middle, ("slots", "layers", "now", "grad"))]
        tall = ROW * (self.layers + 1)
        parts.append(chart.drop(rectangle(self.rails - 5, TOP, RAIL * self.slots + 6, tall + ROW, "empty"), "slots"))
        parts.append(chart.drop(rectangle(self.now - 4, TOP, CHIP[0] + 8, tall, "empty"), "now"))
        parts += [
            self._layer(k, left, RUN if k == at + 1 and RUN in can else BACK if k == left and BACK in can else "")
            for k in range(1, self.layers + 1)
        ]
        parts.append(self._value(0, self.boxes, at, can, BOX[0]))
        for slot in range(self.slots):
            x = self.rails + RAIL * slot
            if slot < len(kept):
                parts.append(self._value(kept[slot], x, at, can, CHIP[0] - 2, f"slot {slot}"))
            else:
                parts.append(chart.keyed(f"slot {slot}", self._chip(x, -1, "", "freed", CHIP[0] - 2)))
        if left:
            parts.append(self._current(at, can))
        parts.append(chart.keyed("gradient", self._chip(self.back, left, "g", "grad")))
        return [part for part in parts if part]

    def _chip(self, x, k, name, kind, wide=CHIP[0]):
        y = self.y(k)
        told = words(x + wide / 2, y + 5, name, "grad" if kind == "grad" else "", "middle") if name else ""
        return rectangle(x, y - CHIP[1] / 2, wide, CHIP[1], kind) + told

    def _layer(self, k, left, action):
        kind = "grad" if k > left else "custom" if action == BACK else "leaf" if action == RUN else "op"
        box = self._chip(self.boxes, k, f"layer {k}", kind, BOX[0])
        if not action:
            return chart.keyed(f"layer {k}", box)
        label = f"Back through layer {k}" if action == BACK else f"Run layer {k}"
        return chart.drop(chart.pressable(box, action=action, label=label, key=f"layer {k}"), "layer")

    def _value(self, k, x, at, can, wide, key=""):
        """A value that is kept: it is restored when it is pressed, or dragged to where the current value is."""
        chip, action, key = self._chip(x, k, _name(k), "saved", wide), f"{RESTORE} {_name(k)}", key or f"value {k}"
        return chart.draggable(chip, action, "now", action, key=key) if action in can else chart.keyed(key, chip)

    def _current(self, at, can):
        """The current value: pressed, or dragged onto the next layer, it goes on; dragged onto the rails it is kept."""
        action, chip = RUN if RUN in can else BACK, self._chip(self.now, at, _name(at), "leaf")
        onto = {"layer": action} | ({"slots": KEEP} if KEEP in can else {})
        if action not in can:
            return chart.keyed("now", chip)
        label = f"{_name(at)}, current: {action}"
        return chart.draggable(chip, action, onto, label, key="now")


def _score(left, runs, end, best, now, gradient):
    """How many runs there are, will be at best, and the fewest; the two numbers; what the colours say."""
    unit, x, parts = (SCORE - 24) / (best + WASTE + 1), left + 8, []
    bars = [(f"{_many(runs)} so far", runs, "leaf"), (f"{end} in the end, at best", end, "custom" if end > best else "out"),
            (f"{best} are enough", best, "empty")]  # fmt: skip
    for k, (name, count, kind) in enumerate(bars):
        y = 24 + 58 * k
        wide = min(unit * count, SCORE - 16)
        parts += [words(x, y, name, "" if k else "head"), rectangle(x, y + 8, wide, 18, kind) if wide else ""]
    parts += [words(x, 202, f"now: {now}", "value"), words(x, 226, f"grad: {gradient}", "grad")]
    for k, (kind, name) in enumerate((("leaf", "current"), ("saved", "kept"), ("op", "to go back"), ("grad", "gone back"))):
        at, y = x + 138 * (k % 2), 256 + 24 * (k // 2)
        parts += [rectangle(at, y - 6, 16, 12, kind), words(at + 22, y + 5, name)]
    return [part for part in parts if part]


__all__ = ["Position", "checkpoint_game", "fewest_runs", "moves"]
