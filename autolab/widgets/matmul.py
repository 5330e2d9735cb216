"""The explorable of a matrix product's gradients: which operand is transposed, and why."""

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import words
from autolab.trace.values import number, shape_text
from autolab.widgets.panel import Frame, Panel, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers
from autolab.widgets.shapes import cell_size, check_size, grid, leaf_of, ring, texts_of

BESIDE, BELOW = 28, 40  # pixels between two matrices; below there is a title
LEFT, TOP = 12, 34


@of_real_numbers
def matmul_backward(a=(2, 3), b=(3, 4), g=None):
    """The two gradients of a matrix product, cell by cell: which outputs an entry touches, and so which operand is transposed.

    B is above the product and A beside it, so that A[i, k] meets row k of B on the way into row i of the product.

    Parameters
    ----------
    a, b : tuple or Tensor
        Shapes (n, k) and (k, m), filled with 1, 2, 3 ...; or matrices.
    g : Tensor, optional
        The gradient of the product, of shape (n, m); -1, 1, 3, 0, 2 again and again by default.

    Returns
    -------
    Panel
        Steps through the cells of A.grad and then of B.grad; the slider changes g[0, 0].

    Raises
    ------
    RuntimeError
        If the shapes do not fit, in the words of `matmul` or of `backward`.
    ValueError
        If one is not a matrix, or has more than 8 rows or columns.

    Examples
    --------
    >>> panel = matmul_backward((2, 3), (3, 2)).move(step=1)
    >>> panel.sentence
    'A[0, 0] touches row 0 of A @ B, through row 0 of B. So A.grad[0, 0] is row 0 of g times row 0 of B: (-1) × 1 + 1 × 2 = 1.'
    """
    x, y = leaf_of(a, 1), leaf_of(b, 1)
    if x.dim() != 2 or y.dim() != 2:
        raise ValueError(f"matmul_backward shows two matrices; A has shape {shape_text(x.shape)}, B has shape {shape_text(y.shape)}")
    out = x @ y
    check_size(x, y)
    if not x.numel() or not y.numel():
        raise ValueError(f"matmul_backward needs entries to show; A has shape {shape_text(x.shape)}, B has shape {shape_text(y.shape)}")
    g = (torch.arange(out.numel(), dtype=torch.float64) * 2 % 5 - 1).reshape(out.shape) if g is None else g.detach().double()
    first = [float(v) for v in range(-3, 4)]
    first = sorted({*first, g[0, 0].item()})
    seen = {}

    def gradients(corner):
        if corner not in seen:
            incoming = g.clone()
            incoming[0, 0] = corner
            seen[corner] = (incoming, *torch.autograd.grad(out, [x, y], incoming, retain_graph=True))
        return seen[corner]

    (n, k), m = x.shape, y.shape[1]
    size = cell_size(x, y, g, *gradients(g[0, 0].item()), *gradients(first[0]), *gradients(first[-1]))
    right, low = LEFT + k * size[0] + BESIDE, TOP + k * size[1] + BELOW
    second = max(right + m * size[0] + 12, 296)
    third = second + max(LEFT + max(k, m) * size[0] + 12, 296)
    places = {"A": (LEFT, low), "B": (right, TOP), "g": (right, low), "A.grad": (second + LEFT, low), "B.grad": (second + LEFT, TOP)}

    def around(name, *box, kind="grad"):
        return ring(*places[name], *box, size, kind)

    def cells(name, texts, kinds, start=None):
        """A matrix; its cells can be pressed if `start` is the step of the first."""
        title, *parts = grid(*places[name], texts, kinds, size, f"{name} {shape_text((len(texts), len(texts[0])))}")
        if start is None:
            return [title, *parts]
        label = [f"{name}[{i}, {j}] = {text}: its gradient" for i, row in enumerate(texts) for j, text in enumerate(row)]
        return [title, *(chart.pressable(part, set=("step", start + i), label=label[i]) for i, part in enumerate(parts))]

    def make(step, g00):
        incoming, gx, gy = gradients(g00)
        step = int(step)
        active = _active(step, x.shape, y.shape)
        parts = (
            cells("A", texts_of(x), "leaf", 1)
            + cells("B", texts_of(y), "leaf", 1 + n * k)
            + cells("g", [["", *texts_of(incoming)[0][1:]], *texts_of(incoming)[1:]], "grad")
        )
        for name, grad, count in (("A.grad", gx, min(step, n * k)), ("B.grad", gy, max(step - n * k, 0))):
            columns = grad.shape[1]
            kinds = [["grad" if r * columns + c < count else "empty" for c in range(columns)] for r in range(len(grad))]
            shown = [[t if kind == "grad" else "" for t, kind in zip(*pair)] for pair in zip(texts_of(grad), kinds)]
            parts += cells(name, shown, kinds)
        said, terms = _step(active, x.detach(), y.detach(), incoming, gx, gy)
        if active and active[0] == "A":
            _, r, c = active
            parts += [
                around("A", r, c, 1, 1, kind="a"),
                around("B", c, 0, 1, m, kind="a"),
                around("g", r, 0, 1, m),
                around("A.grad", r, c, 1, 1),
            ]
        elif active:
            _, r, c = active
            parts += [
                around("B", r, c, 1, 1, kind="a"),
                around("A", 0, r, n, 1, kind="a"),
                around("g", 0, c, n, 1),
                around("B.grad", r, c, 1, 1),
            ]
        corner = number(g00, 3)
        to_the_left = (len(corner) * chart.CHAR + 30) / 2 - size[0] / 2 + 1.5  # beside the next entry
        inside = words(to_the_left, 5, corner, "grad", "middle")
        parts.append(chart.number_handle(right + size[0] / 2 - 1.5 - to_the_left, low + 13, corner, "g00", "g[0, 0]", "grad", inside))
        parts += [words(third + LEFT, TOP - 10 + 24 * i, line, "head" if i == 0 else "") for i, line in enumerate(terms)]
        rows = [
            [name, shape_text(t.shape), str(t.tolist()) if t.numel() <= 40 else "large"]
            for name, t in [("A", x.detach()), ("B", y.detach()), ("g", incoming), ("A.grad", gx), ("B.grad", gy)]
        ]
        return Frame(said, parts, rows)

    height = max(low + n * size[1] + 12, TOP + 24 * (max(n, m) + 3))
    controls = [timeline(n * k + k * m, label="Cell"), slider("g00", first, start=g[0, 0].item(), label="g[0, 0]")]
    columns = ["Matrix", "Shape", "Numbers"]
    return Panel("Gradients of A @ B", controls, make, columns, (third + 296, height), breaks=[second, third])


def _active(step, a, b):
    """Which matrix, row and column a step computes; None before the first."""
    if not step:
        return None
    step -= 1
    return ("A", *divmod(step, a[1])) if step < a[0] * a[1] else ("B", *divmod(step - a[0] * a[1], b[1]))


def _step(active, x, y, g, gx, gy):
    """The sentence of a step, and its products line by line."""
    if active is None:
        lines = ["A.grad = g @ B.T", f"{shape_text(g.shape)} @ {shape_text(y.T.shape)} gives {shape_text(x.shape)}", "",
                 "B.grad = A.T @ g", f"{shape_text(x.T.shape)} @ {shape_text(g.shape)} gives {shape_text(y.shape)}"]  # fmt: skip
        said = f"A @ B has shape {shape_text(g.shape)}, and so has its gradient g. Which entries of g does an entry of A or B receive?"
        return said, lines
    which, r, c = active
    if which == "A":
        pairs = list(zip(g[r].tolist(), y[c].tolist()))
        names = [f"g[{r}, {j}] × B[{c}, {j}]" for j in range(len(pairs))]
        result = gx[r, c].item()
        said = f"A[{r}, {c}] touches row {r} of A @ B, through row {c} of B. So A.grad[{r}, {c}] is row {r} of g times row {c} of B"
        rule = f"A.grad[{r}, {c}]"
    else:
        pairs = list(zip(x[:, r].tolist(), g[:, c].tolist()))
        names = [f"A[{i}, {r}] × g[{i}, {c}]" for i in range(len(pairs))]
        result = gy[r, c].item()
        said = f"B[{r}, {c}] touches column {c} of A @ B, through column {r} of A. "
        said += f"So B.grad[{r}, {c}] is column {r} of A times column {c} of g"
        rule = f"B.grad[{r}, {c}]"
    products = [f"{_factor(p)} × {_factor(q)}" for p, q in pairs]
    lines = [rule, *(f"{name} = {number(p * q, 5)}" for name, (p, q) in zip(names, pairs)), f"sum = {number(result)}"]
    return f"{said}: {' + '.join(products)} = {number(result)}.", lines


def _factor(v):
    return f"({number(v, 4)})" if v < 0 else number(v, 4)


__all__ = ["matmul_backward"]
