"""Pictures of a loop over samples and of the same under vmap: arguments, rows, columns, gradients."""

import math

import numpy as np

from autolab.draw import chart
from autolab.draw.chart import words
from autolab.trace.values import number, shape_text
from autolab.widgets.listing import array
from autolab.widgets.shapes import ring

MOST_LINES, MOST_NUMBERS, MOST_LISTED = 6, 8, 9
TILE, CELL, ROW, APART = 304, (52, 26), 26, 14
TOP = 98  # of the results
FAR = 1e5  # where no hand gets
SEEN = 246  # pixels of a tile that the smallest screen shows


def check_lines(name, lines):
    """Whether there is room for the operations of a function."""
    if not 0 < len(lines) <= MOST_LINES:
        raise ValueError(f"{name} has {len(lines)} operations; the picture has room for 1 to {MOST_LINES}")
    for line in lines:
        if math.prod(line.shape) > MOST_NUMBERS or not math.prod(line.shape):
            raise ValueError(
                f"{line.text} has shape {shape_text(line.shape)} for a sample; the picture has room for 1 to {MOST_NUMBERS} numbers"
            )


def inputs(names, args, dims, sample, scale):
    """The arguments as cells, with lines around what the sample reads; and how far down they reach."""
    parts, x, y, low = [], 12, 0, 0
    for k, (name, a, d) in enumerate(zip(names, args, dims)):
        grid = array(a)
        column = a.dim() == 1 and d == 0
        grid = grid.reshape(-1, 1) if column else grid
        rows, columns = grid.reshape(-1, grid.shape[-1] if grid.ndim else 1).shape
        title, note = f"{name} {shape_text(a.shape)}", "shared" if d is None else f"axis {d}"
        wide = max(columns * CELL[0], len(title) * chart.HEAD, len(note) * chart.CHAR) + 16
        if x > 12 and x + wide > TILE:
            x, y = 12, low
        texts = [[number(v, 3) for v in row] for row in grid.reshape(rows, columns)]
        if k == 0:
            held, texts[0][0] = texts[0][0], ""
        parts += [words(x, y + 20, title, "head"), words(x, y + 40, note, "note"), chart.heat(x, y + 52, grid, CELL, scale, texts, name)]
        if k == 0:
            parts.append(chart.number_handle(x + CELL[0] / 2 - 1, y + 52 + CELL[1] / 2 - 1, held, "first", f"first entry of {name}"))
        if sample is not None:
            where = (0, 0, rows, columns) if d is None else (sample, 0, 1, columns) if d == 0 else (0, sample, rows, 1)
            parts.append(ring(x, y + 52, *where, CELL, "a"))
        low = max(low, y + 52 + rows * CELL[1] + 14)
        x += wide
    return parts, low


def _columns(lines, left):
    """Where the numbers of each line are in a row: its left edge, the width of a number, and how many there are."""
    counts = [math.prod(line.shape) for line in lines]
    unit = min(CELL[0], (TILE - 34 - 10 * (len(lines) - 1)) / sum(counts))
    found, x = [], left + 28
    for n in counts:
        found.append((x, unit, n))
        x += unit * n + 10
    return found


def _cells(x, y, values, unit, scale, label):
    texts = [[number(v, 3) for v in row] for row in values]
    roomy = max(len(t) for row in texts for t in row) * chart.CHAR + 5 <= unit
    return chart.heat(x, y, values, (unit, ROW), scale, texts if roomy else [[""] * len(row) for row in texts], label)


def largest(run):
    """The number of the full colour."""
    found = np.concatenate([np.ravel(a) for a in (*map(array, run.args), *(array(line.values) for line in run.lines), [1e-12])])
    return float(np.abs(found[np.isfinite(found)]).max())


def _hit(x, y, width, height):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="al-hit"/>'


def _top(run, left, title, counted):
    signs = [
        words(x + unit * n / 2, TOP - 18, line.sign, "note", "middle") for line, (x, unit, n) in zip(run.lines, _columns(run.lines, left))
    ]
    return [words(left + 12, 20, title, "head"), words(left + 12, 42, f"operations: {counted}"), *signs]


def loop_rows(run, sample, step, scale):
    """Rows that are apart, one for each time that f ran; when all are done they slide together."""
    size = len(run.loop)
    done, together = min(step, size), step > size
    counted = run.loop_counts[-1] if together else run.loop_counts[done - 1] if done else 0
    parts = _top(run, TILE, f"loop: f, {size} times", counted)
    columns = _columns(run.lines, TILE)
    for i in range(size):
        y = TOP + i * (ROW if together else ROW + APART)
        press = _hit(TILE + 4, y, 24, ROW) + words(TILE + 12, y + 18, str(i), "note")
        cells = ""
        for line, (x, unit, n) in zip(run.loop[i], columns):
            if i < done:
                cells += _cells(x, y, array(line.values).reshape(1, -1), unit, scale, f"{line.name} of sample {i}")
            else:
                press += chart.rectangle(x, y, unit * n - 2, ROW - 2, "empty")
        press = chart.pressable(press, set=("step", i + 1), label=f"{i}: run the loop to this sample", key=f"to row {i}")
        parts.append(chart.keyed(f"row {i}", press + cells))
    if sample is not None:
        (start, *_), (x, unit, n) = columns[0], columns[-1]
        parts.append(ring(start, TOP + sample * (ROW + APART), 0, 0, 1, 1, (x + unit * n - start, ROW), "a"))
    low = TOP + size * (ROW + APART) + 14
    for k, line in enumerate(run.lines):
        shape = shape_text(line.shape)
        parts += [words(TILE + 12, low + 22 * k, _short(line.text, shape)), words(TILE + SEEN, low + 22 * k, shape, "note", "end")]
    return parts


def _row_end(i):
    """Where a hand has pulled over so many rows of the loop."""
    return TOP + i * (ROW + APART) - APART / 2


def _column_ends(lines):
    """Where a hand has pulled over so many columns of vmap."""
    return [2 * TILE + 22, *(x + unit * n + 5 for x, unit, n in _columns(lines, 2 * TILE))]


def fold_tracks(size, lines, last):
    """Where the step goes under a hand: down over the rows of the loop until they fold, then to the right over the columns."""
    down, right = [*map(_row_end, range(size + 1)), _row_end(size) + ROW], _column_ends(lines)
    away = last + 1 - len(down)
    return {"step y": down + [FAR] * away, "step x": [-FAR] * (size + 1) + right + [FAR] * (away + 1 - len(right))}


def hands(run, step):
    """A ring to pull down over the rows, and one to pull over the columns. While the rows fold both are there: a finger holds one."""
    size, parts = len(run.loop), []
    if step <= size + 1:
        y = _row_end(step) if step <= size else TOP + ROW * size + 12  # the rows have come together
        parts.append(chart.keyed("sweep", f'<path d="M{TILE + 34} {y}H{TILE + SEEN}" class="al-l al-l-a"/>'))
        parts.append(chart.handle(TILE + 20, y, "", "step", "Loop", point=False))
    if step > size:
        x = _column_ends(run.lines)[step - size - 1]
        parts.append(chart.keyed("sweep on", f'<path d="M{x} {TOP - 4}V{TOP + ROW * size + 4}" class="al-l al-l-a"/>'))
        parts.append(chart.handle(x, TOP + ROW * size + 12, "step", "", "vmap", point=False))
    return parts


def axis_columns(run, done, scale):
    """The same table with its rows as one axis, filled column by column."""
    left, size, columns = 2 * TILE, len(run.loop), _columns(run.lines, 2 * TILE)
    parts = _top(run, left, "vmap(f): one call", len(run.lines[done - 1].ran) if done > 0 else 0)
    for k, (line, (x, unit, n)) in enumerate(zip(run.lines, columns)):
        known = k < done and _cells(x, TOP, array(line.values).reshape(size, -1), unit, scale, line.name)
        press = known or chart.rectangle(x, TOP, unit * n - 2, ROW * size - 2, "empty")
        if not known:
            press = chart.pressable(press, set=("step", size + 2 + k), label=f"{line.text}: once for all samples", key=f"to column {k}")
        parts.append(chart.keyed(f"column {k}", press))
    if done >= 0:
        parts.append(f'<path d="M{left + 20} {TOP}h-6v{ROW * size - 2}h6" class="al-l al-l-a"/>')
        parts.append(words(left + SEEN, 42, f"one axis of {size}", "note", "end"))
    if done > 0:
        x, unit, n = columns[done - 1]
        parts.append(ring(x, TOP, 0, 0, size, n, (unit, ROW), "a"))
    low = TOP + size * (ROW + APART) + 14
    for k, line in enumerate(run.lines):
        if k < done:
            shape = f"{line.name} {shape_text(line.inside)}"
            parts += [words(left + 12, low + 22 * k, shape), words(left + SEEN, low + 22 * k, _short(line.told(), shape), "note", "end")]
    return parts


def _short(text, beside):
    """As much of a text as there is room for beside another one."""
    room = int((SEEN - 24) / chart.CHAR) - len(beside)
    return text if len(text) <= room else text[: room - 1] + "…"


def listing(run):
    """The operations of grad(f), with the shapes for one sample and for all."""
    parts = [words(TILE + 12, 20, "a loop of grad(f)", "head"), words(TILE + 12, 42, f"operations: {run.loop_counts[-1]}")]
    shown = run.lines if len(run.lines) <= MOST_LISTED else [*run.lines[: MOST_LISTED - 1], None]
    for k, line in enumerate(shown):
        y = TOP - 16 + 24 * k
        shapes = f"{shape_text(line.shape)} → {shape_text(line.inside)}" if line else ""
        text = line.text if line else f"and {len(run.lines) - MOST_LISTED + 1} more"
        parts += [words(TILE + 12, y, _short(text, shapes)), words(TILE + SEEN, y, shapes, "note", "end")]
    return parts


def gradients(run, summed, dims, scale):
    """The gradient of each sample, a row each; then what backward() of the sum gives."""
    values = run.out.reshape(len(run.out), -1) + 0.0
    parts = [words(2 * TILE + 12, 20, "vmap(grad(f))", "head"), words(2 * TILE + 12, 42, f"operations: {len(run.ran)}")]
    parts.append(words(2 * TILE + 12, TOP - 22, shape_text(run.out.shape), "grad"))
    unit = min(CELL[0], (TILE - 40) / values.shape[1])
    for i, row in enumerate(values):
        cells = _cells(2 * TILE + 28, TOP + i * ROW, row[None], unit, scale, f"gradient of sample {i}")
        parts.append(words(2 * TILE + 12, TOP + i * ROW + 18, str(i), "note") + cells)
    if summed is not None:
        low = TOP + len(run.out) * ROW + 66
        parts.append(words(2 * TILE + 12, low - 34, "backward() of the sum", "head"))
        parts.append(words(2 * TILE + 12, low - 12, shape_text(summed.shape) + ", the same" * (dims[0] is not None), "grad"))
        if dims[0] is None:
            parts.append(_cells(2 * TILE + 28, low, summed.reshape(1, -1), unit, scale, "gradient of the sum"))
    return parts


def flights(run, sample, line):
    """What travels: a result into the row of its sample, or the numbers of a column, all at once."""
    if sample is not None:
        (x, unit, n), value = _columns(run.loop[sample], TILE)[-1], array(run.loop[sample][-1].values).reshape(-1)[0]
        return [chart.flight(number(value, 3), (TILE / 2, TOP), (x + unit * n / 2, TOP + sample * (ROW + APART) + ROW / 2), "value")]
    if line < 0:
        return []
    columns = _columns(run.lines, 2 * TILE)
    x, unit, n = columns[line]
    start = columns[line - 1][0] if line else 2 * TILE
    values = array(run.lines[line].values).reshape(len(run.loop), -1)[:, 0]
    return [
        chart.flight(number(v, 3), (start + 14, TOP + ROW * (i + 0.5)), (x + unit * n / 2, TOP + ROW * (i + 0.5)), "value")
        for i, v in enumerate(values)
    ]


__all__ = [
    "APART", "MOST_NUMBERS", "ROW", "TILE", "TOP", "axis_columns", "check_lines", "flights", "fold_tracks", "gradients", "hands",
    "inputs", "largest", "listing", "loop_rows",
]  # fmt: skip
