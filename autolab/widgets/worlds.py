"""Explorable: the same code with one line changed, two runs moment by moment."""

import difflib
import functools
import inspect
import textwrap
from itertools import zip_longest
from typing import NamedTuple

import autolab as torch
from autolab.draw import chart
from autolab.trace import Trace, record, watch
from autolab.trace import compare as compare_traces
from autolab.trace.values import number
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, slider, timeline

CELL, GAP, TALL, PITCH, TOP = 134, 16, 48, 56, 64
WIDTH = 2 * CELL + GAP + 10
LINE = 15  # characters in a cell
MOST = 60  # moments: of a longer run the input stays where it is
REACH, DRAG = 6, 0.5  # stops of the input to either side, and how far they are apart
APART = "differs", "first difference"


def compare(f, g, /, **inputs):
    """The same code with one line changed: two traces side by side, moment by moment, and the first at which they part.

    Parameters
    ----------
    f, g : function, Tensor or Trace
        Two functions that take the inputs and return a loss; or two losses; or two traces.
    **inputs : float or Tensor
        For functions. Each gets leaves of its own with these values, so that neither disturbs the other. The first that is a number
        can be dragged: both functions are run again.

    Returns
    -------
    Panel
        The timeline goes through the values forward, then the steps of the backward pass.

    Raises
    ------
    TypeError
        If one is neither a function, a Tensor nor a Trace.
    RuntimeError
        If a loss has no graph, or is not a single number.

    Examples
    --------
    >>> panel = compare(lambda x: (3 * x) ** 2, lambda x: (3 * x) ** 3, x=2.0)
    >>> panel.comparison.sentence
    'Forward 3: xʸ (PowBackward0) made 36 in one run and 216 in the other.'
    >>> compare(lambda x: x * 2, lambda x: x * 2, x=1.0).comparison.equal
    True
    """
    state = torch.get_rng_state()
    name, start = next(((n, v) for n, v in inputs.items() if isinstance(v, int | float)), ("", 0.0)) if _run_again(f, g) else ("", 0.0)

    def run(value):
        here = inputs if value is None else {**inputs, name: value}
        traces = []
        for h in (f, g):
            torch.set_rng_state(state)
            traces.append(_trace_of(h, here))
        return _Run(*traces)

    names = [function_name(h) if callable(h) and not isinstance(h, torch.Tensor | Trace) else "" for h in (f, g)]
    names = names if all(names) and names[0] != names[1] else ["first", "second"]
    first, known = run(float(start) if name else None), functools.cache(run)
    name = name if len(first.moments) <= MOST else ""
    stops = [start + k * DRAG for k in range(-REACH, REACH + 1)] if name else []
    runs = [first, *(known(stop) for stop in stops if _is_possible(known, stop))]
    last, tall = max(len(one.moments) for one in runs), max(_top(len(one.moments) + 1, one.forward) for one in runs)
    listing = _changed_lines(f, g, first.traces)

    def make(step, value=None):
        here = first if value is None or value == start else known(value)
        moments, forward, parted, found = here.moments, here.forward, here.parted, here.found
        step = min(int(step), len(moments))
        rows, picture = [], list(_head(names, forward))
        for m, pair in enumerate(moments, 1):
            texts = ["nothing" if one is None else one.said for one in pair] if m <= step else ["not yet", "not yet"]
            verdict = "" if m > step else "first difference" if m == parted else "same" if here.alike[m - 1] else "differs"
            rows.append([str(m), *texts, verdict])
            row = "".join(_row(m, pair, verdict, step, forward, name))
            picture.append(chart.pressable(row, set=("step", m), key=f"moment {m}"))
            if m == step:
                picture.append(f'<rect x="2" y="{_top(m, forward) - 3.5}" width="{WIDTH - 4}" height="{TALL + 7}" rx="7" class="al-l"/>')
            if m <= forward and _is_leaf(pair[0], name):
                told = chart.words(-CELL / 2 - 1, 8, pair[0].number[:LINE], "" if verdict in APART else "value")
                held = CELL / 2 + 10, _top(m, forward) + 31
                picture.append(chart.number_handle(*held, number(value, 4), "value", name, resting=told))
        given = f" {name} is {number(start if value is None else value, 4)}." if name else ""
        said = f"Ready.{given} {len(moments)} moments: values forward, then the backward pass."
        if step:
            said = f"Moment {step}: {_sentence(names, moments[step - 1], step == parted, found)}"
        if step == len(moments):
            said += " " + _ending(names, here.traces, found, parted)
        elif parted and step > parted:
            said += f" The first difference was at moment {parted}."
        return Frame(said, picture, rows, listing, focus=(0, _top(max(step, 1), forward) - 30, WIDTH, TALL + 60))

    size = (WIDTH, tall + 4)
    controls = [timeline(last, label="Moment")]
    if name:
        controls.append(slider("value", stops, start=start, label=name))
    panel = Panel(f"Two worlds: {names[0]} and {names[1]}", controls, make, ["Moment", names[0], names[1], "Compared"], size)
    panel.comparison = first.found
    return panel


class _Run:
    """Two traces, moment by moment: pairs of what happens, whether they are alike, and where the first difference is."""

    def __init__(self, *traces):
        self.traces, self.found = traces, compare_traces(*traces)
        forward = list(_align(*([_forward(node) for node in t.in_order_of_creation()] for t in traces)))
        self.forward = len(forward)
        self.moments = [*forward, *_align(*([_backward(t, k) for k in range(len(t.steps))] for t in traces))]
        self.alike = [None not in pair and pair[0].all == pair[1].all for pair in self.moments]
        self.parted = None if all(self.alike) else self.alike.index(False) + 1


def _run_again(*runs):
    """Whether they are functions, which can be run with another number."""
    return all(callable(h) and not isinstance(h, torch.Tensor | Trace) for h in runs)


def _is_possible(run, value):
    try:
        run(value)
    except Exception:  # the frame there says what is raised
        return False
    return True


def _is_leaf(event, name):
    return bool(name) and event is not None and event.heading == name


class Event(NamedTuple):
    """What happens in one run at one moment: in a cell, in a sentence; what it is aligned by, and all that is compared."""

    heading: str
    number: str
    said: str
    key: tuple
    all: tuple


def _exact(value):
    return None if value is None else (value.shape, value.dtype, repr(value.data), value.fingerprint)


def _heading(node):
    return node.label if node.kind == "leaf" else f"{node.symbol or node.op or node.name} {node.label or node.name}"


def _forward(node):
    text, label = ("?", "?") if node.value is None else (node.value.text, node.value.label)
    key = node.name, _exact(node.value)
    return Event(_heading(node), f"= {label}", f"{node.display_name} = {text}", key, key)


def _backward(trace, k):
    step, node = trace.steps[k], trace.node(trace.steps[k].node)
    number = f"grad {step.incoming[0].label if step.incoming[0] else 'none'}"
    if step.grad:
        number = f".grad {step.grad.after.label}"
    key = node.name, node.label if node.kind == "leaf" else "", *map(_exact, step.incoming)
    grads = (_exact(step.grad.before), _exact(step.grad.after)) if step.grad else ()
    return Event(_heading(node), number, step.sentence, key, (key, grads, *(_exact(one.value) for one in step.outgoing)))


def _align(a, b):
    """Events of two runs in pairs: equal ones beside each other, and None where the other run has nothing like it."""
    keys = [e.key for e in a], [e.key for e in b]
    for kind, i, j, k, m in difflib.SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if kind == "replace" and [key[0] for key in keys[0][i:j]] != [key[0] for key in keys[1][k:m]]:
            names = [[e.key[0] for e in run] for run in (a[i:j], b[k:m])]
            for _, p, q, r, t in difflib.SequenceMatcher(None, *names, autojunk=False).get_opcodes():
                yield from zip_longest(a[i + p : i + q], b[k + r : k + t])
        else:
            yield from zip_longest(a[i:j], b[k:m])


def _sentence(names, pair, first, found):
    if None in pair:
        k = pair.index(None)
        said = f"{names[1 - k]} alone: {pair[1 - k].said.rstrip('.')}."
        return f"here they part. {said}" if first else said
    if first and found.first:
        return f"here they part. {found.first.sentence}"
    here = [one.said.rstrip(".") for one in pair]
    return f"both alike. {here[0]}." if here[0] == here[1] else f"{names[0]}: {here[0]}. {names[1]}: {here[1]}."


def _top(m, forward):
    return TOP + (m - 1) * PITCH + (34 if m > forward else 0)


def _head(names, forward):
    for k, name in enumerate(names):
        yield chart.words(k * (CELL + GAP) + 5, 18, name if len(name) <= LINE - 1 else f"{name[: LINE - 2]}…", "head")
    yield chart.words(5, TOP - 12, "values, forward", "value")
    yield chart.words(5, _top(forward + 1, forward) - 12, "gradients, backward", "grad")


def _row(m, pair, verdict, step, forward, dragged):
    top, apart = _top(m, forward), verdict in APART
    for k, one in enumerate(pair):
        left = 5 + k * (CELL + GAP)
        if m > step or one is None:
            yield chart.rectangle(left, top, CELL, TALL, "empty")
            # what will run is seen in advance, what comes of it is not
            yield chart.words(left + 4, top + 19, _cut(one.heading) if one else "nothing" * (m <= step), "note") + " "
            continue
        yield chart.rectangle(left, top, CELL, TALL, "custom" if apart else "leaf" if m <= forward else "grad")
        yield chart.words(left + 4, top + 19, _cut(one.heading))
        if k == 0 and m <= forward and _is_leaf(one, dragged):
            continue  # a handle has the number
        yield chart.words(left + 4, top + 39, one.number[:LINE], "" if apart else "value" if m <= forward else "grad")
    if m <= step:
        yield chart.words(5 + CELL + GAP / 2, top + 30, "≠" if apart else "=", "head" if apart else "note", "middle")


def _cut(text):
    return text if len(text) <= LINE else f"{text[: LINE - 1]}…"


def _changed_lines(f, g, traces):
    """The two codes as one listing: `-` before what is in the first only, `+` before what is in the second only."""
    try:
        both = [textwrap.dedent(inspect.getsource(h)).splitlines() for h in (f, g)]
    except (OSError, TypeError):
        both = [[], []]
    if both[0] == both[1]:  # two functions of one line, or no source: what was recorded, instead
        both = [[f"{n.name}: {n.forward}, {n.settings}".rstrip(", ") for n in t.in_order_of_creation() if n.kind != "leaf"] for t in traces]
    return "\n".join(line.rstrip() for line in difflib.ndiff(*both) if not line.startswith("?"))


def _ending(names, traces, found, parted):
    """What both runs came to."""
    if found.equal:
        return "The two runs are the same, bit for bit."
    ends = [{t.node(s.node).label: s.grad.after.label for s in t.steps if s.grad} for t in traces]
    grads = [f"{leaf}.grad is {ends[0].get(leaf, 'None')} and {ends[1].get(leaf, 'None')}" for leaf in dict.fromkeys([*ends[0], *ends[1]])]
    first = f"They part at moment {parted}. " if parted else ""
    return f"{first}In the end, in {names[0]} and in {names[1]}, {'; '.join(grads)}."


def _trace_of(h, inputs):
    if isinstance(h, Trace):
        return h
    if isinstance(h, torch.Tensor):
        return record(h)
    if not callable(h):
        raise TypeError(f"compare takes two functions, two losses or two traces, and got {type(h).__name__}: compare(f, g, x=2.0)")
    leaves = {name: _leaf(value) for name, value in inputs.items()}
    with watch():
        loss = h(**leaves)
    return record(loss, names=leaves)


def _leaf(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    return torch.tensor(float(value), requires_grad=True)


__all__ = ["compare"]
