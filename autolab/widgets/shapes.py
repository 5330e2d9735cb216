"""Explorable of broadcasting: what the way forward stretches, the way back sums. And what matrices of numbers look like."""

import itertools
from functools import cache

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import rectangle, words
from autolab.trace.values import number, shape_text
from autolab.widgets.panel import Frame, Panel, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers

MOST = 8  # rows and columns that a picture has room for
PAGES = 4  # and matrices, one below another, of a tensor with three axes
BETWEEN = 8  # pixels between two of them
CELL = 44, 28
DRAGGED = -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0  # what the first entry of g can be


def leaf_of(given, start):
    """A leaf for a shape, numbered from `start`; or the tensor itself."""
    if isinstance(given, torch.Tensor):
        return given.detach().clone().double().requires_grad_()
    shape = (given,) if isinstance(given, int) else tuple(given)
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise TypeError(f"expected a Tensor, or a shape such as (2, 3); got {given!r:.60}")
    return (torch.arange(int(np.prod(shape)), dtype=torch.float64).reshape(shape) + start).requires_grad_()


def texts_of(t):
    """A tensor as rows of texts."""
    a = np.atleast_2d(np.asarray(t.detach().numpy()))
    return [[number(v, 3) for v in row] for row in a]


def cell_size(*tensors):
    """Of a cell that has room for the numbers of these tensors."""
    longest = max(len(text) for t in tensors for text in texts_of(t.reshape(-1))[0])
    return max(34, round(longest * chart.CHAR) + 11), CELL[1]


def cell(x, y, text, kind, size=CELL):
    """One cell of a matrix."""
    said = words(x + size[0] / 2 - 1.5, y + size[1] / 2 + 4, text, "grad" if kind == "grad" else "", "middle") if text else ""
    return rectangle(x, y, size[0] - 3, size[1] - 3, kind) + said


def grid(left, top, rows, kinds, size=CELL, title=""):
    """A matrix as a list of parts, a cell each; `kinds` is one word or a matrix of words."""
    parts = [words(left, top - 9, title, "head")] if title else []
    for i, row in enumerate(rows):
        for j, text in enumerate(row):
            parts.append(cell(left + j * size[0], top + i * size[1], text, kinds if isinstance(kinds, str) else kinds[i][j], size))
    return parts


def ring(left, top, row, column, rows, columns, size=CELL, kind="grad"):
    """A line around some cells of a matrix."""
    x, y = left + column * size[0] - 3, top + row * size[1] - 3
    inside = f'width="{columns * size[0] + 3:.1f}" height="{rows * size[1] + 3:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {inside} rx="6" class="al-l al-l-{kind}"/>'


def check_size(*tensors):
    if max(n for t in tensors for n in (*t.shape, 1)) > MOST:
        shapes = " and ".join(shape_text(t.shape) for t in tensors)
        raise ValueError(
            f"the picture has room for {MOST} rows and columns, and the shapes are {shapes}; smaller ones follow the same rule"
        )


OPERATIONS = {"+": torch.add, "*": torch.mul, "-": torch.sub, "/": torch.div}


class Stretched:
    """A tensor that broadcasting stretches to the shape of the result, drawn where its numbers come from and where they go."""

    def __init__(self, name, tensor, shape, size):
        self.name, self.tensor, self.shape, self.size = name, tensor, tuple(shape), size
        self.padded = (1,) * (len(self.shape) - tensor.dim()) + tuple(tensor.shape)
        self.axes = [k for k, (n, m) in enumerate(zip(self.padded, self.shape)) if n != m or k < len(self.shape) - tensor.dim()]
        self.indices = list(itertools.product(*map(range, self.shape)))

    def source(self, index):
        """The entry of the tensor, in the result's axes, that an entry of the result reads."""
        return tuple(0 if n == 1 else i for i, n in zip(index, self.padded))

    def place(self, index):
        """Where an entry is drawn, from the upper left corner: matrices one below another."""
        page, row, column = (0,) * (3 - len(index)) + tuple(index)
        lines = (1, *self.shape)[-2] if len(self.shape) > 1 else 1
        return column * self.size[0], row * self.size[1] + page * (lines * self.size[1] + BETWEEN)

    def draw(self, left, top, values, piled, kinds, held=None):
        """The cells: in a pile on the entry that they come from, or each in its own place. `kinds`: of that entry, of the others.

        The entry `held` has no number: a handle has it.
        """
        array = np.asarray(values.detach().numpy()).reshape(self.padded if piled else self.shape)
        parts = []
        for index in sorted(self.indices, key=lambda at: at == self.source(at)):
            of = self.source(index) if piled else index
            on_top = index == self.source(index)
            text = number(array[of], 3) if (on_top or not piled) and index != held else ""
            x, y = self.place(of)
            part = cell(left + x, top + y, text, kinds[not on_top], self.size)
            parts.append(chart.keyed(f"{self.name}{'.'.join(map(str, index))}{kinds[0]}", part))
        return parts


@of_real_numbers
def broadcast_backward(a=(3, 1), b=(4,), operation="*"):
    """Two shapes in: which axes are stretched on the way forward, and summed on the way back.

    The first entry of g can be dragged: it is a term of one entry of each gradient.

    Parameters
    ----------
    a, b : tuple or Tensor
        Shapes of up to three axes (filled with 1, 2, 3 ...), or tensors. Of three axes the first is drawn as matrices one below
        another.
    operation : {"+", "-", "*", "/"}
        What is done with them.

    Returns
    -------
    Panel

    Raises
    ------
    RuntimeError
        If the shapes cannot be broadcast, in the words of the operation itself.
    ValueError
        If a shape has more than three axes, one longer than 8, or more than 4 matrices: a picture has no room for them.

    Examples
    --------
    >>> broadcast_backward((3, 1), (4,)).move(step=6).sentence
    'b.grad has shape [4]: the gradient [3, 4] is summed over axis 0, where b was stretched.'
    """
    if operation not in OPERATIONS:
        raise ValueError(f"operation is {operation!r}, expected one of {', '.join(OPERATIONS)}")
    x, y = leaf_of(a, 1), leaf_of(b, 1)
    if max(x.dim(), y.dim()) > 3:
        raise ValueError(f"broadcast_backward draws up to three axes; a has shape {shape_text(x.shape)}, b has shape {shape_text(y.shape)}")
    out = OPERATIONS[operation](x, y)
    check_size(x, y, out)
    if out.dim() == 3 and len(out) > PAGES:
        raise ValueError(
            f"the picture has room for {PAGES} matrices, the result has shape {shape_text(out.shape)}; fewer follow the same rule"
        )
    full = [t.detach().expand(out.shape).clone().requires_grad_() for t in (x, y)]
    stretched = OPERATIONS[operation](*full)

    @cache
    def gradients(first):
        """g, what the result sends to a and to b, and their gradients."""
        g = torch.ones_like(out)
        g.reshape(-1)[:1] = first
        return g, torch.autograd.grad(stretched, full, g, retain_graph=True), torch.autograd.grad(out, [x, y], g, retain_graph=True)

    size = cell_size(x, y, out, *(t for first in DRAGGED for _, sent, grads in [gradients(first)] for t in (*sent, *grads)))
    pair = [Stretched(name, t, out.shape, size) for name, t in zip("ab", (x, y))]
    result = Stretched("result", out, out.shape, size)
    pages, lines, columns = (1, 1, 1, *out.shape)[-3:]
    tall = (size[1] * lines + BETWEEN) * pages - BETWEEN
    tops = 34, 34 + tall + 40
    wide = max(columns * size[0] + 24, 296)
    lefts = [12 + k * wide for k in range(3)]
    shape = shape_text(out.shape)

    def sum_of(k):
        t, axes = pair[k], pair[k].axes
        own = shape_text(t.tensor.shape)
        if not axes:
            return f"{t.name}.grad has shape {own}, that of the result: nothing was stretched, nothing is summed."
        return f"{t.name}.grad has shape {own}: the gradient {shape} is summed over {_axes(axes)}, where {t.name} was stretched."

    def sent_to(k):
        name, other = "ab"[k], "ba"[k]
        rule = {"+": "1", "-": "1" if k == 0 else "-1", "*": other, "/": f"1 / {other}" if k == 0 else "-a / b²"}[operation]
        return f"Each entry of the result sends g × {rule} to the entry of {name} that it was computed from: {shape} in all."

    stretches = "; ".join(f"{t.name} {shape_text(t.tensor.shape)} along {_axes(t.axes)}" for t in pair if t.axes)
    sentences = [
        f"a has shape {shape_text(x.shape)}, b has shape {shape_text(y.shape)}.",
        f"Stretched to {shape}: {stretches}." if stretches else "The shapes are equal: nothing is stretched.",
        f"a {operation} b has shape {shape}: one entry of a and one of b for each. Its gradient g is 1 everywhere, as after .sum().",
        sent_to(0), sum_of(0), sent_to(1), sum_of(1),
    ]  # fmt: skip

    first = (0,) * out.dim()

    def term_in(k, g, grads):
        """Where the dragged entry of g has gone, once it is summed."""
        t, at = pair[k], pair[k].source(first)[out.dim() - pair[k].tensor.dim() :]
        place, many = str(list(at)) if at else "", out.numel() // max(t.tensor.numel(), 1)
        value = number(grads[k][at].item(), 4)
        return f" {g_name} = {number(g, 3)} is in {t.name}.grad{place} = {value}, one of {many} terms, and in no other entry."

    g_name = f"g{list(first)}" if first else "g"

    def make(step, g=1.0):
        step = int(step)
        incoming, sent, grads = gradients(g)
        parts, rows = [], []
        for k, t in enumerate(pair):
            own = shape_text(t.tensor.shape)
            parts.append(words(lefts[0], tops[k] - 9, f"{t.name} {own}" + (f" as {shape}" if step and t.axes else ""), "head"))
            parts += t.draw(lefts[0], tops[k], t.tensor if not step else full[k], not step, ("leaf", "empty"))
            if step >= 3 + 2 * k:
                summed = step >= 4 + 2 * k
                parts.append(words(lefts[2], tops[k] - 9, f"{t.name}.grad {own}" if summed else f"to {t.name}, before the sum", "head"))
                parts += t.draw(lefts[2], tops[k], grads[k] if summed else sent[k], summed, ("grad", "grad"))
                parts += [ring(lefts[2], tops[k], 0, 0, 1, 1, size)] * bool(out.numel())  # where the dragged entry of g goes
            rows.append([t.name, own, shape, ", ".join(map(str, t.axes)) or "none",
                         str(grads[k].tolist()) if step >= 4 + 2 * k else "not yet"])  # fmt: skip
        if step >= 2:
            parts.append(words(lefts[1], tops[0] - 9, f"a {operation} b {shape}", "head"))
            parts += result.draw(lefts[1], tops[0], out, False, ("out", "out"))
        if step >= 3:
            parts.append(words(lefts[1], tops[1] - 9, f"g {shape}", "head"))
            parts += result.draw(lefts[1], tops[1], incoming, False, ("grad", "grad"), first)
            middle = lefts[1] + size[0] / 2 - 1.5, tops[1] + size[1] / 2 - 1.5
            parts += [chart.number_handle(*middle, number(g, 3), "g", g_name, "grad")] * bool(out.numel())
        said = sentences[step]
        if g != 1:
            said = said.replace("g is 1 everywhere, as after .sum()", f"g is 1 everywhere but at {g_name}, where it is {number(g, 3)}")
            said += term_in(step // 2 - 2, g, grads) if step in (4, 6) else ""
        return Frame(said, parts, rows)

    controls = [timeline(6), slider("g", DRAGGED, start=1.0, label=g_name)][: 1 + bool(out.numel())]
    return Panel(
        f"Broadcasting a {operation} b, forward and back", controls, make,
        ["Tensor", "Shape", "Stretched to", "Stretched axes", "Gradient"], (3 * wide + 12, tops[1] + tall + 12),
        breaks=[left - 6 for left in lefts[1:]],
    )  # fmt: skip


def _axes(axes):
    return ("axis " if len(axes) == 1 else "axes ") + " and ".join(map(str, axes))


__all__ = ["broadcast_backward"]
