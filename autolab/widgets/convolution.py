"""The explorable of convolution: which outputs an input touches, through which weights; and so the kernel, turned around."""

from functools import cache

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import words
from autolab.trace.values import number, shape_text
from autolab.widgets.heat_maps import GAP, TILE, brief, factor, heat_map, middle
from autolab.widgets.panel import Frame, Panel, choice, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers

MOST = 6, 3  # rows and columns of the input, and of the kernel
TALL, TOP, TITLE = 30, 34, 36  # pixels of a cell, and above the first and the second row of matrices
SETTINGS = {"stride 1": {}, "stride 2, padding 1": {"stride": 2, "padding": 1}}
INPUT = ((1, 0, 2, 1), (0, 1, 3, 0), (2, 1, 0, 1), (1, 0, 1, 2))
KERNEL = ((1, 2), (3, 4))
FIRST = -1.0, 0.0, 1.0  # stops of w[0, 0]


@of_real_numbers
def convolution_backward(x=INPUT, w=KERNEL, g=None, settings=None):
    """Forward and back through a convolution, entry by entry: windows of the input, the kernel turned around, and its own gradient.

    Parameters
    ----------
    x, w : tuple or Tensor
        The input, of up to 6 rows and columns, and the kernel, of up to 3; one channel each.
    g : tuple or Tensor, optional
        The gradient of the output: a matrix with at least the rows and columns of the largest output, of which each setting takes the
        upper left ones. By default 1, -1, 0, 2 again and again.
    settings : dict, optional
        Name -> arguments of `conv2d`. By default a stride of 1, and one of 2 with padding.

    Returns
    -------
    Panel
        Steps through the outputs, the inputs and the kernel; each entry can be pressed. The number in the kernel can be dragged.

    Raises
    ------
    ValueError
        If a matrix is too large, or has other axes than two.
    RuntimeError
        In the words of `conv2d`, if the kernel is larger than the padded input.

    Examples
    --------
    >>> panel = convolution_backward(((1, 2), (3, 4)), ((1, 10), (0, 0)), settings={"stride 1": {}}).move(step=3)
    >>> panel.sentence
    'x[0, 1] is used by 1 of 1 output. The weights on its way, times g: x.grad[0, 1] = 10 × 1 = 10.'
    """
    settings = SETTINGS if settings is None else dict(settings)
    image, kernel = (torch.as_tensor(t, dtype=torch.float64).detach().clone() for t in (x, w))
    for name, t, most in (("x", image, MOST[0]), ("w", kernel, MOST[1])):
        if t.dim() != 2 or not 0 < max(t.shape) <= most or not min(t.shape):
            raise ValueError(
                f"convolution_backward shows matrices of up to {most} rows and columns for {name}; {name} has shape {shape_text(t.shape)}"
            )
    shapes = {name: tuple(_convolved(image, kernel, more).shape) for name, more in settings.items()}
    rows, columns = (max(shape[axis] for shape in shapes.values()) for axis in (0, 1))
    if g is None:
        g = [[(1.0, -1.0, 0.0, 2.0)[(i * columns + j) % 4] for j in range(columns)] for i in range(rows)]
    incoming = torch.as_tensor(g, dtype=torch.float64).detach()
    if incoming.dim() != 2 or incoming.shape[0] < rows or incoming.shape[1] < columns:
        raise ValueError(f"g needs at least {rows} rows and {columns} columns, as the output; it has shape {shape_text(incoming.shape)}")
    entries = [(name, i, j) for name, (r, c) in (("y", (rows, columns)), ("x", image.shape), ("w", kernel.shape))
               for i in range(r) for j in range(c)]  # fmt: skip
    number_of = {entry: k + 1 for k, entry in enumerate(entries)}
    first = sorted({*FIRST, kernel[0, 0].item()})

    @cache
    def computed(setting, corner):
        """y, the Jacobians of y in x and in w as [row, column, row, column], and the gradients; all by the engine."""
        weight, leaf = kernel.clone(), image.clone().requires_grad_()
        weight[0, 0] = corner
        weight.requires_grad_()
        y = _convolved(leaf, weight, settings[setting])
        g = incoming[: y.shape[0], : y.shape[1]]
        units = torch.eye(y.numel(), dtype=torch.float64).reshape(-1, *y.shape)
        pairs = [torch.autograd.grad(y, [leaf, weight], unit, retain_graph=True) for unit in units]
        by_x, by_w = (torch.stack(list(side)).reshape(*y.shape, *t.shape) for side, t in zip(zip(*pairs), (leaf, weight)))
        grads = torch.autograd.grad(y, [leaf, weight], g)
        return [t.detach().numpy() + 0.0 for t in (leaf, weight, y, g, *grads, by_x, by_w)]

    @cache
    def touched(setting):
        """Which output reads which input, and with which weight: [row, column, row, column] of True, and as (row, column)."""
        one = torch.ones_like(kernel)
        marked = image.clone().zero_().requires_grad_()
        y = _convolved(marked, one, settings[setting])
        units = torch.eye(y.numel(), dtype=torch.float64).reshape(-1, *y.shape)
        found = torch.stack([torch.autograd.grad(y, marked, unit, retain_graph=True)[0] for unit in units])
        return found.reshape(*y.shape, *image.shape).numpy() != 0

    everything = [a for name in settings for corner in first for a in computed(name, corner)[:6]]
    size = max(34, round(max(len(brief(v)) for a in everything for v in a.ravel()) * chart.CHAR) + 6), TALL
    most = max(int(max(np.ravel(more.get("padding", 0)))) for more in settings.values())
    edges = [max(GAP + (image.shape[1] + 2 * most) * size[0] + 4, TILE)]
    beside = edges[0] + GAP + max(kernel.shape[1], columns) * size[0] + 18
    edges.append(max(beside + columns * size[0] + 4, edges[0] + TILE))
    second = TOP + max(kernel.shape[0], rows) * TALL + TITLE
    third = TOP + image.shape[0] * TALL + TITLE
    low = max(second + rows * TALL, TOP + (image.shape[0] + 2 * most) * TALL, third + kernel.shape[0] * TALL)
    places = {
        "x": (GAP + most * size[0], TOP + most * TALL), "w": (edges[0] + GAP, TOP), "y": (beside, TOP), "with": (edges[0] + GAP, second),
        "g": (beside, second), "x.grad": (edges[1] + GAP, TOP), "w.grad": (edges[1] + GAP, third),
    }  # fmt: skip
    tallest = max(a.max() for a in (np.abs(image.numpy()), np.abs(kernel.numpy()), np.abs(incoming.numpy())))
    end = max(edges[1] + GAP + image.shape[1] * size[0] + 4, edges[1] + TILE)

    def padding(setting):
        return np.broadcast_to(settings[setting].get("padding", 0), 2)

    def corner_of(name, setting):
        """Where a matrix begins: the input after what it is padded with."""
        down, right = padding(setting) if name == "x" else (most, most)
        return places[name][0] - (most - right) * size[0], places[name][1] - (most - down) * TALL

    def outline(name, cells, setting, kind="grad"):
        """A line around the cells (row, column) of a matrix: one box if they fill it."""
        (x0, y0), cells = corner_of(name, setting), [(int(i), int(j)) for i, j in cells]
        if not cells:
            return ""
        r, c = ([cell[axis] for cell in cells] for axis in (0, 1))
        tall, wide = max(r) - min(r) + 1, max(c) - min(c) + 1
        boxes = [(min(r), min(c), tall, wide)] if tall * wide == len(cells) else [(i, j, 1, 1) for i, j in cells]
        path = "".join(
            f"M{x0 + j * size[0] - 2} {y0 + i * TALL - 2}h{n * size[0] + 2}v{m * TALL + 2}h{-n * size[0] - 2}z" for i, j, m, n in boxes
        )
        return chart.keyed(f"around {name}", f'<path d="{path}" class="al-l al-l-{kind}"/>')

    @cache
    def map_of(name, setting, corner):
        matrices = dict(zip(("x", "w", "y", "g", "x.grad", "w.grad"), computed(setting, corner)))
        array, (x0, y0) = matrices[name], corner_of(name, setting)
        stops = [[number_of.get((name, i, j)) for j in range(array.shape[1])] for i in range(len(array))]
        pad = padding(setting) if name == "x" else (0, 0)
        around = [chart.rectangle(x0 + j * size[0], y0 + i * TALL, size[0] - 2, TALL - 2, "empty")
                  for i in range(-pad[0], len(array) + pad[0]) for j in range(-pad[1], array.shape[1] + pad[1])
                  if not (0 <= i < len(array) and 0 <= j < array.shape[1])]  # fmt: skip
        title = words(x0 - pad[1] * size[0], y0 - pad[0] * TALL - 9, name, "head")
        return "".join([title, *around, *heat_map(x0, y0, array, name, size, tallest, "step" * (name in ("x", "w", "y")), stops)])

    def make(setting, corner, step):
        step = int(step)
        image, kernel, y, g, x_grad, w_grad, by_x, by_w = computed(setting, corner)
        reads, parts = touched(setting), [map_of(name, setting, corner) for name in places if name != "with"]
        name, i, j = entries[step - 1] if step else ("", 0, 0)
        absent = name == "y" and (i >= y.shape[0] or j >= y.shape[1])
        pairs, grid, title, flights, target, result = [], None, "", [], "", 0.0
        every = [(a, b) for a in range(y.shape[0]) for b in range(y.shape[1])]
        if name == "y" and not absent:
            title, grid = "window", by_w[i, j]
            window = np.argwhere(reads[i, j])
            parts += [
                outline("x", window, setting, "a"),
                outline("w", np.argwhere(np.ones_like(kernel)), setting, "a"),
                outline("y", [(i, j)], setting, "a"),
            ]
            pairs = [(grid[a, b], kernel[a, b], (a, b)) for a, b in np.ndindex(kernel.shape)]
            result, target = y[i, j], "y"
        elif name == "x":
            title, grid = "weights", np.where(reads[:, :, i, j], by_x[:, :, i, j], np.nan)
            cells = [at for at in every if reads[(*at, i, j)]]
            parts += [
                outline("x", [(i, j)], setting, "a"),
                *(outline(n, cells, setting) for n in ("y", "g")),
                outline("x.grad", [(i, j)], setting),
            ]
            pairs = [(grid[at], g[at], at) for at in cells]
            result, target = x_grad[i, j], "x.grad"
        elif name == "w":
            title, grid = "inputs", by_w[:, :, i, j]
            parts += [outline("w", [(i, j)], setting, "a"), outline("g", every, setting), outline("w.grad", [(i, j)], setting)]
            pairs = [(grid[at], g[at], at) for at in every]
            result, target = w_grad[i, j], "w.grad"
        if grid is not None:
            place = places["with"]
            shown, blank = np.isfinite(grid), np.nan_to_num(grid)
            parts += [words(place[0], place[1] - 9, title, "head"), *heat_map(*place, blank, title, size, tallest, known=shown)]
            goal, way = middle(*places[target], i, j, size), "value" if name == "y" else "grad"
            flights = [chart.flight(brief(p * q), middle(*place, *at, size), goal, way) for p, q, at in pairs if p * q]
        said = _said(name, i, j, y, pairs, result, setting, absent, kernel, reads)
        parts += [chart.scale_legend(GAP, TOP + (len(image) + 2 * padding(setting)[0]) * TALL + 12, -tallest, tallest, True),
                  chart.number_handle(places["w"][0] + 48, TOP - 18, number(corner, 3), "corner", "w[0, 0]", resting="")]  # fmt: skip
        matrices = {"x": image, "w": kernel, "y": y, "g": g, "x.grad": x_grad, "w.grad": w_grad}
        table = [[of, _listed(a)] for of, a in matrices.items()]
        return Frame(said, parts, table, flights=flights)

    controls = [
        choice("setting", list(settings), label="Setting"), slider("corner", first, start=kernel[0, 0].item(), label="w[0, 0]"),
        timeline(len(entries), label="Entry"),
    ]  # fmt: skip
    return Panel("Backward through a convolution", controls, make, ["Matrix", "Numbers"], (end, low + 46), breaks=edges)


def _convolved(x, w, settings):
    return torch.nn.functional.conv2d(x[None, None], w[None, None], **settings)[0, 0]


def _listed(array):
    return "; ".join(", ".join(number(v, 4) for v in row) for row in array)


def _said(name, i, j, y, pairs, result, setting, absent, kernel, reads):
    if absent:
        return f"{setting}: the output has shape {shape_text(y.shape)}, without an entry [{i}, {j}]."
    if not name:
        middle = tuple(n // 2 for n in reads.shape[2:])
        return (
            f"{setting}: y = conv2d(x, w) has shape {shape_text(y.shape)}, and its gradient is g. "
            f"Which outputs does x[{middle[0]}, {middle[1]}] touch, and with which weights? Press it."
        )
    terms = " + ".join(f"{factor(p)} × {factor(q)}" for p, q, _ in pairs if p or q) or "0"
    if name == "y":
        return f"y[{i}, {j}] is the window of x times the kernel, entry by entry, and summed: {terms} = {number(result, 4)}."
    if name == "w":
        return f"w[{i}, {j}] meets an input for every output. Those inputs times g: w.grad[{i}, {j}] = {terms} = {number(result, 4)}."
    whole = len(pairs) == kernel.size and kernel.size > 1
    turned = " All of the kernel, turned by 180°: x.grad is conv_transpose2d(g, w)." if whole else ""
    if not pairs:
        return f"x[{i}, {j}] is used by no output, so x.grad[{i}, {j}] = 0."
    used = f"x[{i}, {j}] is used by {len(pairs)} of {y.size} output{'' if y.size == 1 else 's'}."
    return f"{used}{turned} The weights on its way, times g: x.grad[{i}, {j}] = {terms} = {number(result, 4)}."


__all__ = ["convolution_backward"]
