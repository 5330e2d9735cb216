"""The explorable of checkpoint schedules: a few slots for many layers, and what has to be run again for the backward pass."""

import gc
import weakref
from collections import Counter
from functools import cache
from typing import NamedTuple

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import rectangle, words
from autolab.utils.checkpoint import checkpoint, checkpoint_sequential
from autolab.utils.collector import collector_paused
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, choice, slider

MOST_LAYERS, MOST_SLOTS = 12, 3
REUSED, EMPTY = "is used again", "stays empty"
ROW, WIDE = 24, 224  # pixels of a layer's line, and of the longest plan
RAIL, TOP, LABELS = 36, 78, 34  # pixels of a slot's rail, of what is above the lines, of their numbers
COLUMNS = ["Plan", "Forward runs", "Most runs of one layer", "Values alive at once"]


class Timeline(NamedTuple):
    """What the engine did, in its order: ("forward" or "back", layer); and what was alive, as (layer, from, to)."""

    events: tuple
    lives: tuple

    @property
    def runs(self):
        """How often each layer ran forward."""
        return Counter(layer for what, layer in self.events if what == "forward")

    @property
    def most_alive(self):
        """How many results were alive at once, at most."""
        return max(sum(start <= at < end for _, start, end in self.lives) for at in range(1, len(self.events) + 1))


@cache
def fewest(layers, slots, reuse=True):
    """The fewest runs of a layer that one gradient of a chain takes, and where the first slot has to be for that.

    Parameters
    ----------
    layers, slots : int
        The input is kept in any case, and takes no slot.
    reuse : bool
        Whether a slot is used again as soon as its value is not needed any more.

    Returns
    -------
    (int, int)
        By dynamic programming. With `reuse` these are the counts of `revolve` (Griewank and Walther, Algorithm 799, ACM TOMS 26(1), 2000),
        and one run for each layer more, that in which the layer is recorded.

    Examples
    --------
    >>> fewest(10, 0), fewest(10, 1), fewest(10, 2)
    ((55, 9), (30, 6), (25, 4))
    """
    if layers == 1:
        return 1, 1
    if not slots:
        return layers * (layers + 1) // 2, layers - 1
    return min((m + fewest(m, slots * reuse, reuse)[0] + fewest(layers - m, slots - 1, reuse)[0], m) for m in range(1, layers))


def checkpoint_timeline(layers=10, slots=2, layer=torch.sin):
    """Drag slots along a chain of layers: which values to keep, so that the backward pass has the least to run again?

    Parameters
    ----------
    layers : int
        How many layers the chain has, 4 to 12.
    slots : int
        Places for values besides the input, 1 to 3.
    layer : function
        What each layer computes.

    Returns
    -------
    Panel
        Each plan is run, as nested calls of `torch.utils.checkpoint.checkpoint`: what is drawn is what the layers reported. (While a
        part runs for the first time, the calls nested in it keep their inputs, too.) The count is compared with the fewest runs that
        are possible, by dynamic programming (`fewest`).

    Raises
    ------
    ValueError
        If there are more or fewer layers or slots than that.

    Examples
    --------
    >>> panel = checkpoint_timeline()
    >>> panel.sentence[:62]
    'Slot 1 keeps the output of layer 5: 31 forward runs of a layer'
    >>> panel.move(slot1=6).sentence[:49]
    'You win: 30 forward runs, the fewest with 1 slot.'
    """
    for name, given, low, high in (("layers", layers, 4, MOST_LAYERS), ("slots", slots, 1, MOST_SLOTS)):
        if not low <= given <= high:
            raise ValueError(f"checkpoint_timeline has room for {low} to {high} {name}, got {given}")
    measured = cache(lambda marks, reuse: _measure(_plan(layers, marks, reuse), layers, layer))
    longest = layers * (layers + 1) // 2 + layers
    others = [
        _row("only the input is kept", measured((), True)), _row("every value is kept", _measure(_all_kept, layers, layer)),
        *(_row(f"checkpoint_sequential, {k} segments", _measure(_in_segments(k), layers, layer)) for k in (2, 3)),
    ]  # fmt: skip
    left = 14 + max(RAIL * slots, 52) + LABELS
    unit = WIDE / longest  # pixels of one run

    def make(reuse, **places):
        kept = [int(at) for at in places.values()]
        marks, reuse, used = tuple(sorted({at for at in kept if at})), reuse == REUSED, sum(at > 0 for at in kept)
        timeline = measured(marks, reuse)
        best = fewest(layers, used, reuse)[0]
        runs = timeline.runs.total()
        parts = _draw(timeline, layers, left, unit)
        for k, (name, at) in enumerate(places.items()):
            x, rail = 14 + RAIL * (k + 0.5), f"V{_y(0, layers)}"
            parts += [f'<path d="M{x} {_y(layers, layers)}{rail}" class="al-l al-l-line"/>', words(x, TOP - 10, k + 1, "head", "middle")]
            parts.append(chart.handle(x, _y(at, layers), along_y=name, label=f"slot {k + 1}"))
        parts += _bars(runs, best, left, _y(0, layers) + 44, unit)
        rows = [_row("this plan", timeline), _row(f"best with {_many(used, 'slot')}", measured(_best(layers, used, reuse), reuse)), *others]
        return Frame(_sentence(layers, kept, used, timeline, best, reuse), parts, rows, _code(layers, marks, reuse))

    starts = [layers // 2] + [0] * (slots - 1)
    texts = ["not used", *(f"layer {k}" for k in range(1, layers))]
    controls = [
        *(slider(f"slot{k + 1}", range(layers), texts, start, f"slot {k + 1}") for k, start in enumerate(starts)),
        choice("reuse", [REUSED, EMPTY], label="A slot that is free"),
    ]  # fmt: skip
    size = left + WIDE + 4, _y(0, layers) + 124
    tracks = {f"slot{k + 1}": [_y(at, layers) for at in range(layers)] for k in range(slots)}
    title = f"Checkpoints in a chain of {layers} layers: {function_name(layer)}"
    return Panel(title, controls, make, COLUMNS, size, tracks=tracks, breaks=[left - LABELS])


def _best(layers, slots, reuse):
    """The layers whose outputs are kept in the best plan."""
    marks, start = [], 0
    for left in range(slots, 0, -1):
        start += fewest(layers - start, left, reuse)[1]
        marks.append(start)
    return tuple(marks)


def _plan(layers, marks, reuse):
    """A chain in nested checkpoints: `marks` are kept on the first way forward; slots that are free again go where it is best."""

    def part(layer_list, start, end, slots, marks):
        if end - start == 1:
            return layer_list[start]
        split = marks[0] if marks else start + fewest(end - start, slots, reuse)[1]
        first = part(layer_list, start, split, slots * reuse, ())
        second = part(layer_list, split, end, max(slots - 1, 0), marks[1:])
        return lambda h: second(checkpoint(first, h, use_reentrant=False))

    return lambda layer_list, x: part(layer_list, 0, layers, len(marks), marks)(x)


def _all_kept(layer_list, x):
    for layer in layer_list:
        x = layer(x)
    return x


def _in_segments(count):
    return lambda layer_list, x: checkpoint_sequential(layer_list, count, x, use_reentrant=False)


def _measure(run, layers, layer):
    """Run a chain forward and back, and listen to its layers."""
    events, lives, seen, open_lives = [], [], set(), {}

    def heard(number):
        def call(h):
            if number not in seen:
                seen.add(number)
                h.register_hook(lambda g: events.append(("back", number)))
            events.append(("forward", number))  # before it: the last run of a part is broken off once it has saved what was missing
            out = layer(h)
            start = len(events)
            open_lives[start] = number
            weakref.finalize(out.payload, lambda: lives.append((open_lives.pop(start), start, len(events)))).atexit = False
            return out

        return call

    x = torch.full((4,), 0.5, dtype=torch.float64, requires_grad=True)
    with collector_paused():
        run([heard(number) for number in range(1, layers + 1)], x).sum().backward()
    if open_lives:
        gc.collect()
    return Timeline(tuple(events), tuple(sorted(lives)))


def _row(name, timeline):
    return [name, str(timeline.runs.total()), str(max(timeline.runs.values())), str(timeline.most_alive)]


def _many(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def _y(layer, layers):
    return TOP + ROW * (layers - layer) + ROW / 2


def _draw(timeline, layers, left, unit):
    """Lines for layers, the input lowest; time goes to the right, one run of a layer after another."""
    height = ROW * (layers + 1)
    parts = [words(14, 24, "slots", "head"), words(left, 24, "time, run by run", "head"),
             f'<rect x="{left}" y="{TOP}" width="{WIDE}" height="{height}" class="al-axes"/>']  # fmt: skip
    parts += [words(left - 8, _y(k, layers) + 5, k or "x", "note", "end") for k in range(layers + 1)]

    def boxes(which, tall):
        return "".join(f"M{left + unit * at:.1f} {_y(k, layers) - tall / 2:.0f}h{unit * long:.1f}v{tall}h{-unit * long:.1f}z"
                       for k, at, long in which)  # fmt: skip

    end, seen = len(timeline.events), set()
    alive = [(0, 0, end), *((k, start, stop - start) for k, start, stop in timeline.lives if stop > start + 1)]
    runs = {True: [], False: []}
    for at, (what, k) in enumerate(timeline.events):
        if what == "forward":
            runs[k not in seen].append((k, at, 1))
            seen.add(k)
    parts.append(f'<path d="{boxes(alive, 6)}" class="al-cell al-k-saved"/>')
    for first, kind in ((True, "leaf"), (False, "custom")):
        parts.append(f'<path d="{boxes(runs[first], 14)}" class="al-cell al-k-{kind}"/>')
    back = [(left + unit * (at + 0.5), _y(k, layers)) for at, (what, k) in enumerate(timeline.events) if what == "back"]
    parts.append('<path d="' + "".join(f"M{x:.1f} {y - 6:.0f}l5 6l-5 6l-5 -6z" for x, y in back) + '" class="al-m-grad"/>')
    return parts


def _bars(runs, best, left, y, unit):
    """How many runs there are, and the fewest, in the scale of the picture; and what the colours say."""
    parts = [words(left, y, f"{runs} runs", "head"), rectangle(left, y + 6, unit * runs, 18, "custom" if runs > best else "out"),
             words(left, y + 44, f"{best} at best"), rectangle(left, y + 50, unit * best, 18, "empty")]  # fmt: skip
    for k, (kind, name) in enumerate((("leaf", "first run"), ("custom", "run again"), ("saved", "alive"), ("grad", "back"))):
        x, middle = left + 112 * (k % 2), 39 + 22 * (k // 2)
        sign = rectangle(x, middle - 6, 16, 12, kind) if kind != "grad" else chart.mark(x + 8, middle, "grad")
        parts += [sign, words(x + 22, middle + 5, name)]
    return parts


def _sentence(layers, kept, used, timeline, best, reuse):
    runs = timeline.runs.total()
    counts = f"{runs} forward runs of a layer, {runs - layers} of them repeated"
    marks = sorted({at for at in kept if at})
    if not used:
        return f"Only the input x is kept: {counts}. Drag a slot up to the layer whose output it is to keep."
    if len(marks) < used:
        return f"Two slots keep the same output, and one of them is wasted: {counts}. Drag one away."
    told = " and ".join(f"slot {k + 1} keeps the output of layer {at}" for k, at in enumerate(kept) if at)
    if runs > best:
        return f"{told[0].upper()}{told[1:]}: {counts}. With {_many(used, 'slot')} {best} are enough: drag {'it' if used == 1 else 'them'}."
    parts = [str(b - a) for a, b in zip([0, *marks], [*marks, layers])]
    why = "a slot is free again before the first part is repeated, so that part may be the longest" if reuse else "no slot is used twice"
    sizes = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"You win: {runs} forward runs, the fewest with {_many(used, 'slot')}. Parts of {sizes} layers: {why}."


def _code(layers, marks, reuse):
    ends, name, lines = [0, *marks, layers], "x", []
    for a, b in zip(ends, ends[1:]):
        part = f"layers_{a + 1}_to_{b}"
        last = b == layers
        lines.append(f"{'y' if last else f'h{b}'} = " + (f"{part}({name})" if last else f"checkpoint({part}, {name}, use_reentrant=False)"))
        name = f"h{b}"
    return "\n".join(["from torch.utils.checkpoint import checkpoint", *lines])


__all__ = ["checkpoint_timeline", "fewest"]
