"""Explorables of Jacobians: one filled by columns and by rows, and products with one that is never built."""

import textwrap
from functools import cache

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import rectangle, words
from autolab.trace import record
from autolab.trace.values import number, shape_text
from autolab.widgets.costs import shortest_time
from autolab.widgets.panel import Frame, Panel, choice, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers
from autolab.widgets.shapes import MOST, grid, ring

SIZES = 1, 2, 4, 8


# -- forward against reverse -----------------------------------------------------------------------


def _layer(inputs, outputs):
    weight = torch.cos(torch.arange(outputs * inputs, dtype=torch.float64)).reshape(outputs, inputs)
    return lambda x: torch.tanh(weight @ x)


def forward_against_reverse(make=_layer, sizes=SIZES):
    """A whole Jacobian, column after column by forward mode and row after row by reverse mode: passes are counted, times measured.

    Parameters
    ----------
    make : function
        Takes the numbers of inputs and outputs, returns a function from a vector of the one size to a vector of the other.
    sizes : tuple of int
        The stops of both sliders.

    Returns
    -------
    Panel
        Each step is a pass of both modes; a mode that has the whole matrix waits.

    Raises
    ------
    TypeError
        If `make` does not take the two numbers.
    RuntimeError
        If the result of the function has another size than asked for.

    Examples
    --------
    >>> panel = forward_against_reverse(sizes=(1, 4)).move(inputs=4, outputs=1)
    >>> panel.sentence.partition(":")[0]
    '4 inputs, 1 output'
    """
    sizes = sorted(set(sizes))
    try:
        made = {(n, m): make(n, m) for n in sizes for m in sizes}
    except TypeError as error:
        raise TypeError(f"forward_against_reverse calls make(inputs, outputs) for the function to measure; here: {error}") from error
    found = {(n, m): _jacobians(f, n, m) for (n, m), f in made.items()}
    most = sizes[-1]
    side = max(264 / most, 8)
    lefts, top = (12, 308), 58

    def frame(inputs, outputs, step):
        n, m, step = int(inputs), int(outputs), int(step)
        columns, rows, seconds, apart = found[n, m]
        passes = min(step, n), min(step, m)
        scale = max(np.abs(rows).max(), 1e-12)
        parts = []
        halves = (lefts[0], columns, n, "forward", "columns", seconds[0]), (lefts[1], rows, m, "reverse", "rows", seconds[1])
        for left, matrix, count, name, of, took in halves:
            done = min(step, count)
            parts.append(words(left, 22, f"{name}: {_plural(done, 'pass')}", "head"))
            parts.append(words(left, 44, f"{of} {done} of {count}; all in {took * 1e6:.0f} µs", "note"))
            parts.append(rectangle(left, top, side * most, side * most, "empty"))
            for i in range(done):  # a part each, which the next frames share
                at = (slice(None), slice(i, i + 1)) if of == "columns" else (slice(i, i + 1),)
                shift = (side * i, 0) if of == "columns" else (0, side * i)
                parts.append(chart.heat(left + shift[0], top + shift[1], matrix[at], (side, side), scale, label=f"{of[:-1]} {i}"))
            parts.append(f'<rect x="{left - 1}" y="{top - 1}" width="{side * n:.1f}" height="{side * m:.1f}" class="al-l al-l-line"/>')
            if 0 < step <= count:
                box = (step - 1, 0, 1, m) if of == "columns" else (0, step - 1, n, 1)
                parts.append(_outline(left, top, side, box, "a" if of == "columns" else "grad"))
        parts.append(chart.handle(lefts[0] + side * n, top + side * m, "inputs", "outputs", label="Size of the Jacobian", point=False))
        modes = ("forward mode (jvp)", n, seconds[0]), ("reverse mode (vjp)", m, seconds[1])
        table = [[mode, str(count), f"{s * 1e6:.0f} µs", str(done)] for (mode, count, s), done in zip(modes, passes)]
        return Frame(_said(n, m, step, seconds, apart), parts, table)

    texts = [str(s) for s in sizes]
    start = sizes[-1], sizes[max(len(sizes) - 2, 0)]
    controls = [
        slider("inputs", sizes, texts, start=start[0]), slider("outputs", sizes, texts, start=start[1]), timeline(most, label="Pass"),
    ]  # fmt: skip
    tracks = {"inputs": [lefts[0] + side * s for s in sizes], "outputs": [top + side * s for s in sizes]}
    size = lefts[1] + max(side * most, 264) + 20, top + side * most + 20
    return Panel(
        "Forward mode against reverse mode", controls, frame, ["Mode", "Passes", "Time", "Done"], size, breaks=[296], tracks=tracks
    )


def _plural(k, what):
    return f"{k} {what}{'' if k == 1 else 's' if not what.endswith('s') else 'es'}"


def _outline(left, top, side, box, kind):
    x, y, width, height = (side * v for v in box)
    return (
        f'<rect x="{left + x - 2:.1f}" y="{top + y - 2:.1f}" width="{width + 2:.1f}" height="{height + 2:.1f}" class="al-l al-l-{kind}"/>'
    )


def _said(n, m, step, seconds, apart):
    if not step:
        fewer = f"{'Forward' if n < m else 'Reverse'} mode needs fewer." if n != m else "Both need the same number."
        return (
            f"{_plural(n, 'input')}, {_plural(m, 'output')}: forward mode takes {_plural(n, 'pass')}, {seconds[0] * 1e6:.0f} µs; "
            f"reverse mode {_plural(m, 'pass')}, {seconds[1] * 1e6:.0f} µs. {fewer} The two Jacobians differ by at most {apart:.1g}."
        )
    ahead = (
        f"forward mode pushes unit vector {step - 1} through and gets column {step - 1}" if step <= n
        else f"forward mode has all {_plural(n, 'column')} since pass {n}"
    )  # fmt: skip
    back = (
        f"reverse mode pulls unit vector {step - 1} back and gets row {step - 1}" if step <= m
        else f"reverse mode has all {_plural(m, 'row')} since pass {m}"
    )  # fmt: skip
    return f"Pass {step}: {ahead}; {back}."


def _jacobians(f, n, m):
    """The matrix by columns, the matrix by rows, (seconds forward, in reverse), and how far the two are apart."""
    x = torch.linspace(-1, 1, n, dtype=torch.float64) if n > 1 else torch.tensor([0.5], dtype=torch.float64)
    out = f(x)
    if tuple(out.shape) != (m,):
        raise RuntimeError(f"make({n}, {m}) must give a function to a vector of {m}; its result has shape {list(out.shape)}")

    def forward():
        eye = torch.eye(n, dtype=torch.float64)
        return torch.stack([torch.func.jvp(f, (x,), (eye[k],))[1] for k in range(n)], 1)

    def reverse():
        leaf = x.detach().requires_grad_()
        y, eye = f(leaf), torch.eye(m, dtype=torch.float64)
        return torch.stack([torch.autograd.grad(y, leaf, eye[k], retain_graph=True)[0] for k in range(m)])

    columns, rows = forward().numpy(), reverse().numpy()
    return columns, rows, (shortest_time(forward, 2), shortest_time(reverse, 2)), float(np.abs(columns - rows).max())


# -- vector times Jacobian -------------------------------------------------------------------------

WEIGHT = [[1.0, 2.0, 0.0, -1.0], [0.5, -1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 2.0]]
FUNCTIONS = {
    "exp(x)": torch.exp, "x ** 2": lambda x: x**2, "relu(x)": torch.relu, "sum(x)": torch.sum, "cumsum(x)": lambda x: torch.cumsum(x, 0),
    "W @ x": lambda x: torch.tensor(WEIGHT, dtype=torch.float64) @ x, "softmax(x)": lambda x: torch.softmax(x, 0),
}  # fmt: skip
CELL = 48, 30
GAP = 6


@of_real_numbers
def vector_jacobian(functions=None, x=(0.5, -1.0, 1.0, 0.0)):
    """Row vector times Jacobian, and Jacobian times column vector: the matrix, which is never built, and the rule that replaces it.

    Parameters
    ----------
    functions : dict, optional
        Name -> function from a vector to a vector or a number. By default exp, a square, relu, sum, cumsum, a matrix product and softmax.
    x : tuple or Tensor
        Where the derivatives are taken; a vector.

    Returns
    -------
    Panel
        v J is what `autograd.grad` returns for v; J u is what `func.jvp` returns for u. The matrix is here for the eye only.

    Raises
    ------
    TypeError, RuntimeError
        If a function does not return a vector or a number that depends on x.
    ValueError
        If x is not a vector, or has more than 8 entries.

    Examples
    --------
    >>> panel = vector_jacobian({"3 x": lambda x: 3 * x}, x=(1.0, 2.0)).move(v=2, step=1)
    >>> panel.sentence
    'v J, entry 0: v times column 0 of J, 2 × 3 + (-1) × 0 = 6.'
    """
    functions = FUNCTIONS if functions is None else dict(functions)
    at = torch.as_tensor(x, dtype=torch.float64).detach().clone()
    if at.dim() != 1 or not 0 < len(at) <= MOST:
        raise ValueError(f"vector_jacobian shows a vector of up to {MOST} entries; x has shape {shape_text(at.shape)}")
    found = {name: _products(name, f, at) for name, f in functions.items()}
    n, tall = len(at), max(len(J) for J, *_ in found.values())
    corner = GAP + CELL[0] + GAP, 68 + CELL[1] + GAP
    right = corner[0] + n * CELL[0] + GAP
    wide = max(right + CELL[0] + 4, 296)

    def make(function, v, step):
        jacobian, rules, pull, push = found[function]
        m, step = len(jacobian), int(step)
        row = np.array([v, -1.0, 2.0, 1.0] * 2)[:m]
        column = np.array([1.0, -1.0, 2.0, 0.0] * 2)[:n]
        down, across = pull(row), push(column)
        active = ("v J", step - 1) if 0 < step <= n else ("J u", step - n - 1) if n < step <= n + m else None
        ended = step > n + m
        seen = min(step, n), min(max(step - n, 0), m)
        low = corner[1] + m * CELL[1] + GAP
        texts = [["·" if not e else _fit(e) for e in line] for line in jacobian]
        resting = "".join(_vector(-CELL[0] / 2, -13, row[:1], "grad", False))
        parts = [
            words(GAP, 22, f"J {shape_text(jacobian.shape)}, never built", "head"),
            *_vector(GAP, corner[1] + CELL[1], row[1:], "grad", False),
            chart.number_handle(GAP + CELL[0] / 2, corner[1] + 13, number(v, 2), "v", "v[0]", "grad", resting),
            *_vector(corner[0], corner[1] - GAP - CELL[1], column, "leaf", True),
            *grid(corner[0], corner[1], texts, "empty", CELL), words(GAP + 16, corner[1] - 10, "v", "head"),
            words(corner[0], 58, "u", "head"),
            *_vector(corner[0], low, down, "grad", True, seen[0]), *_vector(right, corner[1], across, "leaf", False, seen[1]),
            words(GAP + 8, low + 20, "v J", "head"), words(right + 8, corner[1] - 10, "J u", "head"),
        ]  # fmt: skip
        if active and active[0] == "v J":
            j = active[1]
            parts += [ring(*corner, 0, j, m, 1, CELL), ring(GAP, corner[1], 0, 0, m, 1, CELL), ring(corner[0], low, 0, j, 1, 1, CELL)]
        elif active:
            i = active[1]
            parts += [ring(*corner, i, 0, 1, n, CELL, "a"), ring(corner[0], corner[1] - GAP - CELL[1], 0, 0, 1, n, CELL, "a"),
                      ring(right, corner[1], i, 0, 1, 1, CELL, "a")]  # fmt: skip
        lines = [line for rule in rules for line in textwrap.wrap(rule, 32, subsequent_indent="  ")]
        lines += ["", f"J has {m * n} numbers, {int((jacobian == 0).sum())} are 0.", "For a million inputs:", f"J has {_huge(m, n)}."]
        parts += [words(wide + 12, 54 + 24 * i, line) for i, line in enumerate(lines)] + [words(wide + 12, 22, "the rule instead", "head")]
        rows = [["v", str(row.tolist())], ["v J, by autograd.grad", str(np.round(down, 6).tolist())], ["u", str(column.tolist())],
                ["J u, by func.jvp", str(np.round(across, 6).tolist())], *(["rule", r] for r in rules)]  # fmt: skip
        return Frame(_product_said(function, active, ended, jacobian, row, column, down, across, rules), parts, rows)

    controls = [
        choice("function", list(functions)), slider("v", range(-3, 4), start=1, label="v[0]"), timeline(n + tall + 1, label="Entry"),
    ]  # fmt: skip
    height = corner[1] + tall * CELL[1] + GAP + CELL[1] + 16
    return Panel("Vector times Jacobian", controls, make, ["What", "Numbers"], (wide + 308, max(height, 250)), breaks=[wide])


def _products(name, f, x):
    """The Jacobian, for the eye; the lines of the rules; and what multiplies a row and a column by it without building it."""
    leaf = x.clone().requires_grad_()
    out = f(leaf)
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"{name} returned {type(out).__name__}; it must return a Tensor computed from its argument")
    if out.dim() > 1 or out.numel() > MOST or out.grad_fn is None:
        raise RuntimeError(
            f"{name} has shape {shape_text(out.shape)}; it must be a vector of up to {MOST} numbers, or a number, that depends on x"
        )
    columns = [torch.func.jvp(f, (x,), (unit,))[1].reshape(-1) for unit in torch.eye(len(x), dtype=torch.float64)]

    def pull(row):
        return torch.autograd.grad(f(leaf), leaf, torch.tensor(row, dtype=torch.float64).reshape(out.shape))[0].numpy()

    @cache
    def pushed(column):
        return torch.func.jvp(f, (x,), (torch.tensor(column, dtype=torch.float64),))[1].reshape(-1).numpy()

    trace = record(out, torch.ones_like(out))
    rules = [f"{node.op}: {rule.formula}" for node in trace.nodes for rule in node.rules[:1] if node.kind != "leaf"]
    return torch.stack(columns, 1).numpy(), rules, pull, lambda column: pushed(tuple(column))


def _vector(left, top, values, kind, across, known=None):
    shown = [_fit(v) if known is None or k < known else "" for k, v in enumerate(values)]
    kinds = [kind if known is None or k < known else "empty" for k in range(len(values))]
    return grid(left, top, [shown], [kinds], CELL) if across else grid(left, top, [[t] for t in shown], [[k] for k in kinds], CELL)


def _fit(v):
    """A number in five characters, if it has so few."""
    texts = [number(v, digits) for digits in (3, 2, 1)]
    return next((t for t in texts if len(t) <= 5), texts[-1])


def _huge(m, n):
    return "a million numbers" if m == 1 and n > 1 else "a million million numbers"


def _product_said(function, active, ended, jacobian, row, column, down, across, rules):
    if ended:
        return f"{function}: autograd.grad returns v J and func.jvp returns J u, and neither builds J. The rule is {'; '.join(rules)}."
    if active is None:
        return f"{function}: its Jacobian J is {shape_text(jacobian.shape)}. Reverse mode needs v J, forward mode needs J u."
    what, k = active
    pairs, result = (zip(row, jacobian[:, k]), down[k]) if what == "v J" else (zip(jacobian[k], column), across[k])
    terms = " + ".join(f"{_factor(p)} × {_factor(q)}" for p, q in pairs)
    told = f"v times column {k} of J" if what == "v J" else f"row {k} of J times u"
    return f"{what}, entry {k}: {told}, {terms} = {number(result, 4)}."


def _factor(v):
    return f"({number(v, 3)})" if v < 0 else number(v, 3)


__all__ = ["forward_against_reverse", "vector_jacobian"]
