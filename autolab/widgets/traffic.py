"""The explorable of fusion: data on their way between memory and cache, for each operation or for all of them."""

import numpy as np

import autolab as torch
from autolab.compiler import explain
from autolab.compiler.emit import BLOCK
from autolab.draw import chart
from autolab.draw.chart import rectangle, words
from autolab.trace.values import number
from autolab.widgets.costs import shortest_time, size_text
from autolab.widgets.panel import Frame, Panel, timeline

DRAWN = 8  # blocks of an array that are drawn, at most
BAR = 172, 112  # of the bytes so far: where it begins, its width in pixels for all of eager's
EAGER = 10  # pixels that the ring goes for an operation of eager mode, before the first block
LEFT, TOP, ROW, BLOCKS, CELL = 296, 40, 32, 96, 24  # of the second half, the first array, from one to the next, of its blocks, of a block


def _chain(x):
    return torch.relu(x * 2 + 5) * 0.5


def fusion(f=_chain, x=None):
    """Memory traffic of a chain of elementwise operations: read and written once for each operation, or once for all of them.

    Parameters
    ----------
    f : function
        Of one tensor; chains of elementwise operations in it are fused by `torch.compile`.
    x : Tensor, optional
        What it is called with; a million float32 from 0.5 to 1 by default.

    Returns
    -------
    Panel
        Bytes read and written, from the arrays that each NumPy call takes and gives; the cache shows the first number of what is worked on.
        Times are measured, the shortest of five.

    Raises
    ------
    RuntimeError
        If the compiler leaves `f` to eager mode (it says why), or finds nothing to fuse.

    Examples
    --------
    >>> panel = fusion(lambda x: x * 2 + 5, torch.ones(100_000))
    >>> panel.move(step=99).sentence.partition(";")[0]
    'multiply and add: eager 1.6 MB read and written, fused 800 kB (2 times less)'
    """
    x = torch.linspace(0.5, 1, 1_000_000) if x is None else x
    compiled = torch.compile(f)
    compiled._compiled.keeps_numbers = True  # those of the blocks are shown
    with torch.no_grad():
        out = compiled(x)
        program = explain(compiled).programs[0]
        if getattr(program, "reason", ""):
            raise RuntimeError(f"the compiler leaves this function to eager mode: {program.reason}")
        if not program.fused or max(map(len, program.fused)) < 2:
            raise RuntimeError("nothing to fuse: the function has no two elementwise operations in a row on tensors large enough for it")
        apart = (compiled(x) - f(x)).abs().max().item() if isinstance(out, torch.Tensor) else 0.0
        seconds = shortest_time(lambda: f(x), 5), shortest_time(lambda: compiled(x), 5)
    chain = max(program.fused, key=len)
    made = {id(o) for s in chain for o in s.outs if o is not None}
    used_in = {}
    for s in chain:
        for v in s.values():
            used_in.setdefault(id(v), []).append(s)
    first = [v for s in chain for v in s.values() if id(v) not in made and _bytes(v)]
    last = [o for s in chain for o in s.outs if o is not None and id(o) not in used_in]
    once = {id(v): v for v in first}.values()
    fused = sum(map(_bytes, once)), sum(map(_bytes, last))
    calls = [(s.function.__name__, sum(map(_bytes, s.values())), sum(_bytes(o) for o in s.outs if o is not None)) for s in chain]
    eager = [r + w for _, r, w in calls]
    names = " and ".join(", ".join(name for name, _, _ in calls).rsplit(", ", 1))

    count = len(calls)
    sources = list(once)
    row = {id(v): k for k, v in enumerate(sources)} | {
        id(o): len(sources) + i for i, s in enumerate(chain) for o in s.outs if o is not None
    }
    inputs = ["x"] if len(sources) == 1 else [f"input {k}" for k in range(1, len(sources) + 1)]
    reads = [sorted({row[id(v)] for v in s.values() if id(v) in row}) for s in chain]
    last_use = {r: i for i, read in enumerate(reads) for r in read}
    kept = {row[id(o)] for o in last}
    entries = max(int(np.size(v.sample)) for v in sources)
    blocks = -(-entries // BLOCK)
    drawn = min(DRAWN, blocks)

    def fused_bytes(through):
        """Read and written by the fused loop once it has gone through so many of the blocks that are drawn."""
        return sum(fused) * min(blocks * through // drawn * BLOCK, entries) / entries

    def first_number(i, block=0):
        out = next(np.ravel(o.sample) for o in chain[i].outs if o is not None)
        return f"{calls[i][0]} {number(out[min(block * BLOCK, out.size - 1)].item(), 3)}"

    def make(step):
        step = int(step)
        rows = [[name, f"{r:,}", f"{w:,}", _fused_row(i)] for i, (name, r, w) in enumerate(calls)]
        done, through = min(step, count), min(max(step - count, 0), drawn)
        labels = inputs + [name for name, _, _ in calls]
        parts = [*_traffic(0, "eager", sum(eager[:done]), sum(eager)), *_traffic(LEFT, "fused", fused_bytes(through), sum(eager))]
        flights = []
        for k, label in enumerate(labels):
            i = k - len(inputs)
            freed = k not in kept and i >= 0 and (last_use.get(k, count) + 1 < done or through > 0)
            array = _array(0, k, label, drawn, drawn if i < done else 0, freed)
            parts += array if i < 0 else [chart.pressable(array, set=("step", i + 1), key=f"operation {i}")]
            if i < 0 or k in kept:
                name, *cells = _array(LEFT, k, label if i < 0 else "result", drawn, drawn if i < 0 else through)
                parts += [name, *(cells if i < 0 else _blocks(cells, count))]
        parts += _sweep(through, TOP + ROW * len(inputs), TOP + ROW * (len(labels) - 1))
        low = TOP + ROW * len(labels) + 26
        parts += _cache(0, low, [first_number(done - 1)] if 0 < step <= count else [])
        block = blocks * (through - 1) // drawn
        parts += _cache(LEFT, low, [first_number(i, block) for i in range(count)] if through else [])
        if 0 < step <= count:
            i = step - 1
            parts += [_around(0, r, drawn, "a") for r in reads[i]] + [_around(0, len(inputs) + i, drawn, "grad")]
            share = size_text(calls[i][1] / max(len(reads[i]), 1))
            flights = [chart.flight(share, _middle(r, drawn), (150, low + 20)) for r in reads[i]]
            flights.append(chart.flight(size_text(calls[i][2]), (150, low + 20), _middle(len(inputs) + i, drawn)))
        elif through and step <= count + drawn:
            at = LEFT + BLOCKS + CELL * (through - 0.5)
            flights = [chart.flight("block", (at, TOP + ROW * k + 10), (LEFT + 150, low + 20)) for k in range(len(inputs))]
            flights += [chart.flight("block", (LEFT + 150, low + 20), (at, TOP + ROW * k + 10)) for k in kept]
        focus = (LEFT * (through > 0), 0, LEFT, low + 40)
        return Frame(said(step, done, through), parts, rows, flights=flights, focus=focus)

    def said(step, done, through):
        if not step:
            return (
                "Ready. Eager mode moves whole arrays for each operation of the chain; the fused loop takes one block through all of them."
            )
        if step <= count:
            name, r, w = calls[step - 1]
            return f"{name} reads {size_text(r)} and writes {size_text(w)}; eager so far {size_text(sum(eager[:step]))}."
        if through < drawn:
            first, last = blocks * (through - 1) // drawn + 1, blocks * through // drawn
            which = f"block {last} of {blocks}: it" if first == last else f"blocks {first} to {last} of {blocks}: each"
            return (
                f"Fused, {which} is read once, goes through {names} in the cache, and is written once; "
                f"so far {size_text(fused_bytes(through))}."
            )
        return (
            f"{names}: eager {size_text(sum(eager))} read and written, fused {size_text(sum(fused))} "
            f"({sum(eager) / sum(fused):.3g} times less); "
            f"measured for all of f: {seconds[0] * 1e3:.3g} ms eager, {seconds[1] * 1e3:.3g} ms compiled, "
            f"results apart by at most {apart:.1g}."
        )

    def _fused_row(i):
        s = chain[i]
        reads = sum(_bytes(v) for v in s.values() if id(v) not in made)
        return f"{reads:,} read, {sum(_bytes(o) for o in s.outs if o is not None and o in last):,} written"

    columns = ["Operation", "Eager: bytes read", "Eager: bytes written", "Fused"]
    height = TOP + ROW * (len(inputs) + count) + 26 + 24 * -(-count // 2) + 34
    controls = [timeline(count + drawn, label="Operation or block")]
    track = [_block(0) - EAGER * (count - k) for k in range(count)] + [_block(b) for b in range(drawn + 1)]
    return Panel(
        "Fusion: memory traffic, eager and fused", controls, make, columns, (2 * LEFT, height), breaks=[LEFT], tracks={"step": track}
    )


def _bytes(value):
    # a constant or a number stays in a register
    return 0 if value.constant or np.ndim(value.sample) == 0 else int(np.asarray(value.sample).nbytes)


def _traffic(left, name, count, most):
    """The bytes so far, and a bar of them in the scale of both halves."""
    begin, width = left + BAR[0], BAR[1]
    full = rectangle(begin, 9, width * count / most, 16, "grad") if count else ""
    said = words(left + 12, 22, name, "head"), words(left + 100, 22, size_text(count), "grad")
    return [*said, rectangle(begin, 9, width, 16, "empty"), full]


def _array(left, k, label, drawn, filled, freed=False):
    """An array in memory: its name, and as many of its blocks as have been written."""
    y = TOP + ROW * k
    if freed:
        return [words(left + 12, y + 16, label[:9], "freed"), words(left + BLOCKS, y + 16, "freed", "freed")]
    cells = [rectangle(left + BLOCKS + CELL * b, y, CELL - 3, 22, "leaf" if b < filled else "empty") for b in range(drawn)]
    return [words(left + 12, y + 16, label[:9]), *cells]


def _blocks(cells, before):
    """The blocks of the result: pressing one runs the fused loop up to it."""
    last = len(cells)
    return [
        chart.pressable(c, set=("step", before + b), label=f"fused, block {b} of {last}", key=f"block {b}") for b, c in enumerate(cells, 1)
    ]


def _around(left, k, drawn, kind):
    return f'<rect x="{left + BLOCKS - 4}" y="{TOP + ROW * k - 4}" width="{CELL * drawn + 5}" height="30" rx="6" class="al-l al-l-{kind}"/>'


def _block(b):
    """The middle of the b-th block of the second half; 0 is before the first."""
    return LEFT + BLOCKS + CELL * (b - 0.5) - 1


def _sweep(through, top, bottom):
    """The fused loop as a ring to drag through the blocks: it leads from the inputs to the result."""
    x, y = _block(through), (top + bottom) / 2 - 5
    arrow = f'<path d="M{x} {top - 8}V{bottom - 3}" class="al-l al-l-{"a" if through else "line"}"/>'
    return [chart.keyed("sweep", arrow), chart.handle(x, y, "step", label="Fused loop", point=False)]


def _middle(k, drawn):
    return BLOCKS + CELL * drawn / 2, TOP + ROW * k + 16


def _cache(left, top, names):
    """The cache, and the operations that work in it, each with the first number that it gives."""
    lines = [", ".join(names[k : k + 2]) for k in range(0, len(names), 2)] or [""]
    box = rectangle(left + 12, top, LEFT - 24, 24 * len(lines) + 8, "saved" if names else "empty")
    return [
        words(left + 12, top - 6, "cache: first number of a block" if left else "cache: first number", "note"),
        box,
        *(words(left + 22, top + 22 + 24 * k, line[:30]) for k, line in enumerate(lines)),
    ]


__all__ = ["fusion"]
