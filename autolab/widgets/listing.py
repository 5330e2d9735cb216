"""The operations of a function, written down while it runs in a loop over samples and under vmap."""

from dataclasses import dataclass

import numpy as np

import autolab as torch
from autolab.engine.apply import apply
from autolab.trace.sentences import symbol
from autolab.trace.values import number, shape_text
from autolab.transforms.level import Level, outputs_of
from autolab.widgets.dual import written
from autolab.widgets.functions import function_name


@dataclass
class Line:
    """One operation of f: its text and sign, its shape without and with the axis, what the engine had run when it was done and before."""

    text: str
    sign: str
    shape: tuple
    inside: tuple
    ran: list
    before: int
    values: object

    @property
    def name(self):
        """Of the result."""
        return self.text.partition(" ")[0]

    def told(self):
        """What the engine ran for this line."""
        return ", ".join(self.ran[self.before :])


@dataclass
class Run:
    """f on all samples: the arguments and their `in_dims`, the loop's lines for each sample, vmap's, and what both counted."""

    args: list
    loop: list
    loop_counts: list
    lines: list
    ran: list
    out: np.ndarray
    apart: float


class Listing(Level):
    """Runs each operation on the level below and writes it down."""

    def __init__(self, names=(), outer=None):
        self.names, self.outer, self.lines, self.ran = list(names), outer, [], []

    def run(self, op, args, values, settings):
        """One operation."""
        results = tuple([self.put(out) for out in outputs_of(op, apply(op, values, settings))])
        self.ran.append(op.name)
        told = [next((name for box, name in self.names if box is a), None) or _told(a) for a in args]
        target = f"v{len(self.lines) + 1}"
        self.names += [(box, target) for box in results[:1]]
        inside = tuple(torch.func.debug_unwrap(results[0]).shape)
        ran = [] if self.outer is None else list(self.outer.ran)
        before = len(self.lines[-1].ran) if self.lines else 0
        text = f"{target} = {written(op, told, settings)}"
        self.lines.append(Line(text, symbol(op.name) or op.name, tuple(results[0].shape), inside, ran, before, self.take(results[0])))
        return results


def _told(value):
    return shape_text(value.shape) if getattr(value, "shape", ()) else number(float(np.asarray(getattr(value, "payload", value))), 4)


def run_both(f, names, shaped, dims, size):
    """`f` in a loop and under vmap, each within a listing that counts what the engine runs. `dims`: in_dims of the arguments `shaped`."""
    loop, counts = [], []
    with np.errstate(all="ignore"):
        with Listing() as outer:
            boxes, results = [outer.put(a) for a in shaped], []
            for i in range(size):
                one = [b if d is None else b.select(d, i) for b, d in zip(boxes, dims)]
                with Listing() as inner:
                    given = [inner.put(a) for a in one]
                    inner.names = list(zip(given, names))
                    results.append(_result(f, f(*given)))
                    results[-1] = inner.take(results[-1])
                loop.append(inner.lines)
                for line in inner.lines:
                    line.values = outer.take(line.values)
                counts.append(len(outer.ran))
            stacked = outer.take(torch.stack(results))
            counts.append(len(outer.ran))
        lines = []

        def listed(*args):
            with Listing(outer=outer) as inner:
                given = [inner.put(a) for a in args]
                inner.names = list(zip(given, names))
                out = inner.take(_result(f, f(*given)))
            lines[:] = inner.lines
            return (out, *(line.values for line in inner.lines))

        with Listing() as outer:
            found = torch.func.vmap(listed, in_dims=dims)(*[outer.put(a) for a in shaped])
            out, *values = [outer.take(v) for v in found]
    for line, value in zip(lines, values):
        line.values = value
    apart = float(np.abs(out.numpy() - stacked.numpy()).max(initial=0))
    return Run(shaped, loop, counts, lines, list(outer.ran), out.numpy(), apart)


def _result(f, out):
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"{function_name(f)} returned {type(out).__name__}; it must return a Tensor computed from its arguments")
    return out


def array(values):
    """A tensor's numbers; -0 is 0."""
    return np.asarray(values.detach().numpy(), float) + 0.0


__all__ = ["Line", "Listing", "Run", "array", "run_both"]
