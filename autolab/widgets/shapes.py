"""Explorables of shapes: what broadcasting stretches and backward sums, and which operand a product's gradient transposes."""

import numpy as np

import autolab as torch
from autolab.draw.plot import arrow, cells, words
from autolab.trace.values import number
from autolab.widgets.panel import Frame, Panel, choice, timeline

MOST = 8  # rows and columns that a picture has room for
PAGES = 4  # and matrices, one below another, of a tensor with three axes
BETWEEN = 8  # pixels between two of them


def _tensor(given, start):
    """A leaf for a shape, numbered from `start`; or the tensor itself."""
    if isinstance(given, torch.Tensor):
        return given.detach().clone().double().requires_grad_()
    shape = (given,) if isinstance(given, int) else tuple(given)
    return (torch.arange(int(np.prod(shape)), dtype=torch.float64).reshape(shape) + start).requires_grad_()


def _rows(t):
    """A tensor as rows of texts."""
    a = np.atleast_2d(np.asarray(t.detach().numpy()))
    return [[number(v, 3) for v in row] for row in a]


def _stack(left, top, t, kind, size, title):
    """A tensor of up to three axes: matrices one below another. `kind` tells an index's. Returns the part, its width and height."""
    pages = t.detach().reshape((1,) * max(2 - t.dim(), 0) + tuple(t.shape))
    pages = pages.reshape((-1, *pages.shape[-2:]))
    parts, width, height = [], 0, 0
    for n, page in enumerate(pages):
        rows = _rows(page)
        kinds = [[kind((n, i, j)[3 - t.dim() :]) for j in range(len(row))] for i, row in enumerate(rows)]
        part, width, drawn = cells(left, top + height, rows, kinds, size, title if n == 0 else "")
        parts.append(part)
        height += drawn + BETWEEN
    return "".join(parts), width, height - BETWEEN


def _check_size(*tensors):
    if max(n for t in tensors for n in (*t.shape, 1)) > MOST:
        shapes = " and ".join(_list(t.shape) for t in tensors)
        raise ValueError(
            f"the picture has room for {MOST} rows and columns, and the shapes are {shapes}; smaller ones follow the same rule"
        )


def _list(shape):
    return f"[{', '.join(map(str, shape))}]"


# -- 12: broadcast backward ------------------------------------------------------------------------

OPERATIONS = {"+": torch.add, "*": torch.mul, "-": torch.sub, "/": torch.div}


def broadcast_backward(a=(3, 1), b=(4,), operation="*"):
    """Two shapes in: which axes are stretched on the way forward, and summed on the way back.

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
    >>> broadcast_backward((3, 1), (4,)).move(step=4).sentence
    'b.grad has shape [4]: the gradient [3, 4] is summed over axis 0, where b was stretched.'
    """
    if operation not in OPERATIONS:
        raise ValueError(f"operation is {operation!r}, expected one of {', '.join(OPERATIONS)}")
    x, y = _tensor(a, 1), _tensor(b, 1)
    if max(x.dim(), y.dim()) > 3:
        raise ValueError(f"broadcast_backward draws up to three axes; a has shape {_list(x.shape)}, b has shape {_list(y.shape)}")
    out = OPERATIONS[operation](x, y)
    _check_size(x, y, out)
    if out.dim() == 3 and len(out) > PAGES:
        raise ValueError(f"the picture has room for {PAGES} matrices, the result has shape {_list(out.shape)}; fewer follow the same rule")
    full = [x.expand(out.shape), y.expand(out.shape)]
    OPERATIONS[operation](*full).sum().backward()
    grads = [x.grad.clone(), y.grad.clone()]
    seen = [
        torch.autograd.grad(OPERATIONS[operation](*(free := [f.detach().requires_grad_() for f in full])).sum(), free)[k] for k in (0, 1)
    ]
    rank = out.dim()
    pages, lines = (1, 1, *out.shape[:-1])[-2:]
    apart = (28 * lines + BETWEEN) * pages - BETWEEN + 70

    def axes_of(t):
        """Axes of the result along which a tensor was stretched."""
        padded = (1,) * (rank - t.dim()) + tuple(t.shape)
        return [k for k in range(rank) if padded[k] != out.shape[k] or k < rank - t.dim()]

    stretched = [axes_of(t) for t in (x, y)]

    def sum_of(k, name):
        t, axes = (x, y)[k], stretched[k]
        if not axes:
            return f"{name}.grad has shape {_list(t.shape)}, that of the result: nothing was stretched, nothing is summed."
        which = ("axis " if len(axes) == 1 else "axes ") + " and ".join(map(str, axes))
        return (
            f"{name}.grad has shape {_list(t.shape)}: the gradient {_list(out.shape)} is summed over {which}, where {name} was stretched."
        )

    def stretch_said():
        parts = [f"{n} {_list(t.shape)} along {' and '.join(f'axis {k}' for k in s)}" for n, t, s in zip("ab", (x, y), stretched) if s]
        return f"Stretched to {_list(out.shape)}: {'; '.join(parts)}." if parts else "The shapes are equal: nothing is stretched."

    def make(step):
        sentences = [
            f"a has shape {_list(x.shape)}, b has shape {_list(y.shape)}.", stretch_said(),
            f"a {operation} b has shape {_list(out.shape)}. Its gradient is 1 everywhere, as after .sum().",
            sum_of(0, "a"), sum_of(1, "b"),
        ]  # fmt: skip
        parts, rows = [], []
        for k, (name, t) in enumerate(zip("ab", (x, y))):
            top = 40 + apart * k
            parts += _draw(t, full[k] if step >= 1 else t, name, 20, top, stretched[k] if step >= 1 else [])
            if step >= 3 + k:
                grown, w, _ = _stack(330, top, seen[k], _all_grad, (58, 28), f"before the sum {_list(out.shape)}")
                summed, _, _ = _stack(660, top, grads[k], _all_grad, (58, 28), f"{name}.grad {_list(t.shape)}")
                parts += [grown, summed, arrow(335 + w, top + 13, 652, top + 13, "grad")]
            rows.append([name, _list(t.shape), _list(out.shape), ", ".join(map(str, stretched[k])) or "none",
                         str(grads[k].tolist()) if step >= 3 + k else "not yet"])  # fmt: skip
        return Frame(sentences[step], parts, rows)

    return Panel(f"Broadcasting a {operation} b, forward and back", [timeline(4)], make,
                 ["Tensor", "Shape", "Stretched to", "Stretched axes", "Gradient"], (900, 2 * apart + 10))  # fmt: skip


def _all_grad(index):
    return "grad"


def _draw(t, shown, name, left, top, axes):
    """A tensor, with what was made by stretching in dashes."""
    part, _, height = _stack(
        left, top, shown, lambda at: "empty" if any(at[k] for k in axes) else "leaf", (48, 28), f"{name} {_list(shown.shape)}"
    )
    hint = words(left, top + height + 16, f"dashed: stretched along {' and '.join(f'axis {k}' for k in axes)}", "note") if axes else ""
    return [part, hint]


# -- 13: matmul backward ---------------------------------------------------------------------------


def matmul_backward(a=(2, 3), b=(3, 4)):
    """The two gradients of a matrix product: which operand is transposed, shape by shape and cell by cell.

    Parameters
    ----------
    a, b : tuple or Tensor
        Shapes (n, k) and (k, m), filled with 1, 2, 3 ...; or matrices.

    Returns
    -------
    Panel

    Raises
    ------
    RuntimeError
        If the shapes do not fit, in the words of `matmul`.
    ValueError
        If one is no matrix, or has more than 8 rows or columns.

    Examples
    --------
    >>> panel = matmul_backward((2, 3), (3, 2)).move(step=1)
    >>> panel.sentence
    'A.grad[0, 0] is row 0 of g times column 0 of B transposed: 1 × 1 + 1 × 2 = 3.'
    """
    x, y = _tensor(a, 1), _tensor(b, 1)
    if x.dim() != 2 or y.dim() != 2:
        raise ValueError(f"matmul_backward shows two matrices; A has shape {_list(x.shape)}, B has shape {_list(y.shape)}")
    out = x @ y
    _check_size(x, y)
    g = torch.ones_like(out)
    out.backward(g)
    sides = {
        "A.grad = g @ B.T": (g, y.detach().T, x.grad, "g", "B transposed", "A.grad"),
        "B.grad = A.T @ g": (x.detach().T, g, y.grad, "A transposed", "g", "B.grad"),
    }
    count = max(x.numel(), y.numel())

    def make(which, step):
        left, right, result, left_name, right_name, name = sides[which]
        step = min(step, result.numel())
        columns = result.shape[1]
        i, j = divmod(step - 1, columns) if step else (-1, -1)
        size = (52, 28)

        def kinds(rows, chosen, done=lambda r, c: "op"):
            return [[("grad" if chosen(r, c) else done(r, c)) for c in range(len(row))] for r, row in enumerate(rows)]

        def seen(r, c):
            return "leaf" if r * columns + c < step else "empty"

        texts = [_rows(t) for t in (left, right, result)]
        texts[2] = [[text if r * columns + c < step else "" for c, text in enumerate(row)] for r, row in enumerate(texts[2])]
        first, w1, _ = cells(20, 60, texts[0], kinds(texts[0], lambda r, c: r == i), size, f"{left_name} {_list(left.shape)}")
        second, w2, _ = cells(
            60 + max(w1, 200), 60, texts[1], kinds(texts[1], lambda r, c: c == j), size, f"{right_name} {_list(right.shape)}"
        )
        x3 = 100 + max(w1, 200) + max(w2, 220)
        third, _, _ = cells(x3, 60, texts[2], kinds(texts[2], lambda r, c: (r, c) == (i, j), seen), size, f"{name} {_list(result.shape)}")
        signs = [words(35 + max(w1, 200), 78, "@", "head"), words(x3 - 25, 78, "=", "head")]
        shapes = f"{_list(left.shape)} @ {_list(right.shape)} gives {_list(result.shape)}, the shape of {name[0]}"
        if not step:
            said = f"{which}: {shapes}."
        else:
            terms = " + ".join(f"{number(p, 4)} × {number(q, 4)}" for p, q in zip(left[i].tolist(), right[:, j].tolist()))
            said = (
                f"{name}[{i}, {j}] is row {i} of {left_name} times column {j} of {right_name}: {terms} = {number(result[i, j].item(), 6)}."
            )
        rows = [[n, _list(t.shape), str(t.tolist()) if t.numel() <= 40 else "large"] for n, t in
                [("A", x.detach()), ("B", y.detach()), ("g", g), ("A.grad", x.grad), ("B.grad", y.grad)]]  # fmt: skip
        return Frame(said, [first, second, third, *signs], rows)

    return Panel("Gradients of A @ B", [choice("which", list(sides), label="Gradient"), timeline(count, label="Cell")], make,
                 ["Matrix", "Shape", "Numbers"], (960, 80 + 28 * max(*x.shape, *y.shape)))  # fmt: skip


__all__ = ["broadcast_backward", "matmul_backward"]
