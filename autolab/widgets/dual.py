"""The explorable of dual numbers: a value and a tangent go through a program side by side."""

import re
from functools import cache

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes, rectangle, words
from autolab.formula import body
from autolab.trace.sentences import SPOKEN, fill, symbol
from autolab.trace.values import number
from autolab.transforms.dual import ForwardMode, rule_arguments, rule_of
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, choice, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers

STOPS = 25
REACH = 2.0  # how far an input's slider and curve go to either side
MOST = 9  # lines of a program that a picture has room for
LINE = 40  # pixels from one line to the next
TOP = 40
TILE = 310, 296  # the program, and the curve
VALUE, TANGENT, CELL = 138, 220, 78  # where the two columns of numbers begin, and how wide they are


class Program(ForwardMode):
    """Forward mode that remembers its lines: operation, arguments, results, settings, and the arguments' values."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def run(self, op, args, values, settings):
        """One operation on dual numbers."""
        results = super().run(op, args, values, settings)
        self.lines.append((op, args, results, settings, values))
        return results


def product_and_sine(x, y):
    """A function of two numbers."""
    return x * y + torch.sin(x)


@of_real_numbers
def dual_numbers(f=product_and_sine, /, **inputs):
    """A program run on dual numbers: each line computes a value, and beside it the tangent, by the rule of the same operation.

    Parameters
    ----------
    f : function
        Takes the inputs by keyword and returns a single number.
    **inputs : float
        The first one has a slider. Without any, x is 1 and y is 2.

    Returns
    -------
    Panel
        Values and tangents are those of the engine's forward mode; the last tangent is compared with the gradient by `backward()`.

    Raises
    ------
    TypeError, RuntimeError
        If the result is not a single number that depends on the inputs.
    ValueError
        If the program has more than 9 lines: a picture has no room for them.

    Examples
    --------
    >>> panel = dual_numbers(lambda x: x * x + 3 * x, x=2.0).move(step=4)
    >>> panel.sentence
    'The last tangent is the derivative: 7 for each 1 that x moves. backward() gives x.grad = 7.'
    """
    inputs = {name: float(value) for name, value in (inputs or {"x": 1.0, "y": 2.0}).items()}
    first = next(iter(inputs))
    _check(f, inputs)
    count = len(_lines(f, inputs, first)[0])
    if count > MOST:
        raise ValueError(f"{function_name(f)} has {count} lines on dual numbers; the picture has room for {MOST}")
    stops = np.round(np.linspace(inputs[first] - REACH, inputs[first] + REACH, STOPS), 9)
    height = max(TOP + LINE * (count + len(inputs)) + 12, 300)

    @cache
    def program_at(name, x):
        here = {**inputs, first: x}
        lines, tangent, gradient = _lines(f, here, name)
        return here, lines, tangent, gradient, *_slope(f, here, name, np.linspace(inputs[name] - REACH, inputs[name] + REACH, 61), tangent)

    def make(moves, x, step):
        name, step = moves.removesuffix(" moves"), int(step)
        here, lines, tangent, gradient, curve, slope = program_at(name, x)
        listing = [(n, n, v, float(n == name), "", ()) for n, v in here.items()] + lines
        done = len(here) + step
        now = listing[done - 1] if 0 < step <= len(lines) else None
        parts = [words(6, 24, "program", "head"), words(VALUE, 24, "value", "head"), words(TANGENT, 24, "tangent", "head")]
        rows = []
        for i, (target, said, value, moved, rule, _) in enumerate(listing):
            y, known = TOP + LINE * i, i < done
            parts.append(words(6, y + 20, said, "" if known else "note"))
            kinds = (VALUE, "leaf"), (TANGENT, "grad")
            parts += [rectangle(left, y, CELL, 30, kind if known else "empty") for left, kind in kinds]
            if known:
                shown = (
                    chart.number_handle(VALUE + CELL / 2, y + 15, number(value, 4), "x", said)
                    if said == first
                    else words(VALUE + CELL / 2, y + 20, number(value, 4), "value", "middle")
                )
                parts += [shown, words(TANGENT + CELL / 2, y + 20, number(moved, 4), "grad", "middle")]
            if now is not None and target in (now[0], *now[5]):
                kind = "grad" if target == now[0] else "a"
                parts.append(f'<rect x="{VALUE - 4}" y="{y - 4}" width="168" height="38" rx="7" class="al-l al-l-{kind}"/>')
            rows.append([said, number(value) if known else "not yet", number(moved) if known else "not yet", rule if known else ""])
        parts += curve + slope * (step > len(lines))
        return Frame(_sentence(now, step, name, here, tangent, gradient), parts, rows)

    controls = [
        choice("moves", [f"{n} moves" for n in inputs], label="Direction"), slider("x", stops, start=inputs[first], label=first),
        timeline(count + 1, label="Line"),
    ]  # fmt: skip
    return Panel(
        f"Dual numbers through {function_name(f)}", controls, make, ["Line", "Value", "Tangent", "Rule of the tangent"],
        (sum(TILE), height), breaks=[TILE[0]],
    )  # fmt: skip


def _leaf(value):
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def _check(f, inputs):
    out = f(**{n: _leaf(v) for n, v in inputs.items()})
    name = function_name(f)
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"{name} returned {type(out).__name__}; it must return a Tensor computed from its arguments")
    if out.dim() or out.grad_fn is None:
        raise RuntimeError(f"the result of {name} has shape {list(out.shape)}; it must be a single number that depends on the inputs")


def _lines(f, inputs, moving):
    """The program as (name, text, value, tangent, rule, what it reads) of each line; the last tangent; the gradient by `backward()`."""
    starts = {n: [torch.tensor(float(k), dtype=torch.float64) for k in (v, n == moving)] for n, v in inputs.items()}
    with Program() as program, np.errstate(all="ignore"):
        boxes = {n: program.input(*pair) for n, pair in starts.items()}
        out = f(**boxes)
        names, found = {id(box): n for n, box in boxes.items()}, []
        for op, args, results, settings, values in program.lines:
            target, box = f"v{len(found) + 1}", results[0]
            names[id(box)] = target
            told = [names.get(id(a)) or number(_plain(v), 4) for a, v in zip(args, values)]
            rule = _tangent_rule(op, args, values, results, settings, program)
            sources = tuple(names[id(a)] for a in args if id(a) in names)
            found.append((target, f"{target} = {written(op, told, settings)}", _plain(box), _tangent(program, box), rule, sources))
        tangent = _tangent(program, out)
    leaves = {n: _leaf(v) for n, v in inputs.items()}
    with np.errstate(all="ignore"):
        gradient = torch.autograd.grad(f(**leaves), leaves[moving], allow_unused=True)[0]
    return found, tangent, 0.0 if gradient is None else gradient.item()


def _plain(value):
    return float(np.asarray(value.payload if isinstance(value, torch.Tensor) else value))


def _tangent(program, box):
    return _plain(box.tangent) if program.owns(box) and box.tangent is not None else 0.0


def written(op, told, settings):
    """An operation as a line of a program: v1 × y, sin(x), v2 ** 3."""
    told = told + [number(v, 4) for v in settings.values() if isinstance(v, int | float)]
    if op.name in ("pow", "pow_scalar"):
        return " ** ".join(told)
    sign = symbol(op.name)
    return f"{told[0]} {sign} {told[1]}" if len(told) == 2 and len(sign) == 1 else f"{op.name}({', '.join(told)})"


def _tangent_rule(op, args, values, results, settings, program):
    """The rule for the tangent with its numbers; "" if nothing moves, or where the rule is long."""
    with np.errstate(all="ignore"):
        names = rule_arguments(op, list(values), tuple(program.take(r) for r in results), settings)
    terms = []
    for i, a in enumerate(args):
        rule = rule_of(op, i)
        if rule is not None and program.owns(a) and a.tangent is not None:
            needs = {n: np.asarray(names[n].payload)[()] if isinstance(names[n], torch.Tensor) else names[n] for n in rule.needs}
            terms.append(fill(body(rule.function), {rule.incoming: np.asarray(a.tangent.payload)[()], **needs}))
    text = re.sub(r"(?<!\*)\*(?!\*)", "×", " + ".join(terms).replace("np.", ""))
    return text if len(text) <= SPOKEN and " if " not in text else ""


def _slope(f, here, name, xs, tangent):
    """The function along the input that moves, and the tangent at the point."""
    at = {n: torch.tensor(v, dtype=torch.float64) for n, v in here.items()}
    with torch.no_grad(), np.errstate(all="ignore"):
        ys = [f(**{**at, name: torch.tensor(float(x), dtype=torch.float64)}).item() for x in xs]
        result = f(**at).item()
    axes = Axes((xs[0], xs[-1]), chart.span(ys), (TILE[0], 0), (TILE[1], 300), (name, ""), "the result")
    straight = [axes.straight(here[name], result, tangent), axes.point(here[name], result, "grad", f"slope {number(tangent, 4)}", tangent)]
    return [axes.frame(), axes.line(xs, ys, "a"), axes.point(here[name], result, "a")], straight


def _sentence(now, step, name, here, tangent, gradient):
    if not step:
        still = " and ".join(n for n in here if n != name)
        rest = f", that of {still} is 0" if still else ""
        return f"{name} is {number(here[name])} and moves: its tangent is 1{rest}. Each line computes a value and a tangent."
    if now is None:
        last = f"The last tangent is the derivative: {number(tangent)} for each 1 that {name} moves."
        return f"{last} backward() gives {name}.grad = {number(gradient)}."
    _, said, value, moved, rule, sources = now
    reads = f"from {' and '.join(dict.fromkeys(sources))}" if sources else "a constant"
    return f"{said} is {number(value)}; its tangent, {reads}: {rule + ' = ' if rule and rule != number(moved) else ''}{number(moved)}."


__all__ = ["dual_numbers", "product_and_sine"]
