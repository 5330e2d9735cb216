"""Explorables of what things cost: memory against depth, passes against numbers of inputs and outputs, traffic eager and fused."""

import gc
import time
import tracemalloc

import numpy as np

import autolab as torch
from autolab import nn
from autolab.compiler import explain
from autolab.draw import plot
from autolab.draw.plot import Axes
from autolab.utils.checkpoint import checkpoint_sequential
from autolab.widgets.panel import Frame, Panel, slider, timeline


def size_text(count):
    """A number of bytes for people: a kB has 1000 of them, a MB a million.

    >>> size_text(512), size_text(131072), size_text(4_000_000)
    ('512 B', '131 kB', '4 MB')
    """
    for unit, size in (("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def shortest_time(run, rounds=3):
    """The shortest time of a few runs, in seconds; a run too short for the clock is repeated until the clock moves.

    >>> shortest_time(lambda: None) > 0
    True
    """
    best = float("inf")
    for _ in range(rounds):
        runs, seconds, began = 0, 0.0, time.perf_counter()
        while not seconds:
            run()
            runs, seconds = runs + 1, time.perf_counter() - began
        best = min(best, seconds / runs)
    return best


# -- 9: memory against depth -----------------------------------------------------------------------


def memory_against_depth(layer=None, input=None, depths=(2, 4, 8, 12, 16), segments=(0, 2, 3, 4, 8)):
    """Peak memory and time of one forward and backward pass against depth, without checkpoints and with them; measured here and now.

    Parameters
    ----------
    layer : function, optional
        Called once for each layer, returns a Module whose output has the shape of its input. By default a linear layer and a tanh.
    input : Tensor, optional
        What goes into the first layer; (256, 64) by default.
    depths, segments : tuple of int
        The stops of the sliders. 0 segments: nothing is checkpointed.

    Returns
    -------
    Panel
        Memory in bytes as Python's allocator counts it (tracemalloc), beyond what was there before; time in seconds, measured in
        another run, the shortest of five.

    Raises
    ------
    RuntimeError
        If the layer changes the shape of its input: then layers cannot be stacked.

    Examples
    --------
    >>> panel = memory_against_depth(depths=(2, 8), segments=(0, 4))
    >>> panel.move(depth=8, segments=4).rows[-1][0]
    '4 segments'
    """
    make_layer = layer or (lambda: nn.Sequential(nn.Linear(64, 64), nn.Tanh()))
    x = torch.ones(256, 64) if input is None else input
    depths, segments = sorted(set(depths)), sorted({0, *segments})
    layers = [make_layer() for _ in range(depths[-1])]
    out = layers[0](x)
    if out.shape != x.shape:
        raise RuntimeError(f"the layer makes {list(out.shape)} of {list(x.shape)}; layers are stacked, so both shapes must be equal")

    def passes(depth, count):
        for part in layers[:depth]:
            part.zero_grad()
        h = x.detach().requires_grad_()
        stack = layers[:depth]
        if count:
            h = checkpoint_sequential(stack, count, h, use_reentrant=False)
        else:
            for part in stack:
                h = part(h)
        h.sum().backward()

    pairs = [(d, s) for d in depths for s in segments if s <= d]
    memory = {at: _peak(lambda at=at: passes(*at)) for at in pairs}
    seconds = dict.fromkeys(pairs, float("inf"))
    for _ in range(5):  # in turn, so that a slow moment of the machine does not meet one of them alone
        seconds = {at: min(s, shortest_time(lambda at=at: passes(*at), 1)) for at, s in seconds.items()}
    found = {at: (memory[at], seconds[at]) for at in pairs}
    ends = (depths[0] - 0.5, depths[-1] + 0.5)
    left = Axes(ends, (0, 1.12 * max(memory.values()) / 1e3), (0, 0), (430, 290), ("layers", "peak, kB"), "memory")
    right = Axes(ends, (0, 1.12 * max(seconds.values()) * 1e3), (430, 0), (430, 290), ("layers", "time, ms"), "time")
    frames = [left.frame(), right.frame()]

    def curve(axes, table, unit, count, kind):
        at = [d for d in depths if (d, count) in table]
        line = axes.line(at, [table[d, count] * unit for d in at], kind)
        return [line, *(axes.point(d, table[d, count] * unit, kind) for d in at)]

    plain = curve(left, memory, 1e-3, 0, "a") + curve(right, seconds, 1e3, 0, "a")

    def make(depth, segments):
        depth, count = int(depth), int(segments)
        rows = [["no checkpoints" if not s else f"{s} segments", size_text(memory[depth, s]), f"{seconds[depth, s] * 1e3:.3g} ms"]
                for s in all_segments if (depth, s) in found]  # fmt: skip
        picture = frames + plain + [plot.legend(60, 312, [("a", "no checkpoints"), *([("b", f"{count} segments")] if count else [])])]
        if count:
            picture += curve(left, memory, 1e-3, count, "b") + curve(right, seconds, 1e3, count, "b")
        picture += [axes.upright(depth, "", "grad") for axes in (left, right)]
        own = memory[depth, 0], seconds[depth, 0]
        said = f"{depth} layers without checkpoints: {size_text(own[0])} at the peak, {own[1] * 1e3:.3g} ms."
        if count and (depth, count) not in found:
            said += f" {count} segments need at least {count} layers."
        elif count:
            m, t = found[depth, count]
            said += f" In {count} segments: {size_text(m)} ({m / own[0]:.2f} times), {t * 1e3:.3g} ms ({t / own[1]:.2f} times)."
        return Frame(said, picture, rows)

    all_segments = segments
    controls = [
        slider("depth", depths, [str(d) for d in depths], start=depths[-1]),
        slider("segments", segments, ["none", *(str(s) for s in segments[1:])], start=segments[min(len(segments) - 1, 3)]),
    ]
    return Panel("Memory against depth", controls, make, ["How", "Peak memory", "Time"], (870, 330), breaks=[430])


def _peak(run):
    """Bytes at the peak of a run, beyond what was there before."""
    run()
    gc.collect()
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        if not tracing:
            tracemalloc.stop()
    return max(peak - before, 1)


# -- 17: forward against reverse -------------------------------------------------------------------

SIZES = 1, 2, 4, 8, 16, 32


def _layer(inputs, outputs):
    weight = torch.cos(torch.arange(outputs * inputs, dtype=torch.float64)).reshape(outputs, inputs)
    return lambda x: torch.tanh(weight @ x)


def forward_against_reverse(make=_layer, sizes=SIZES):
    """A whole Jacobian, one column after another by forward mode and one row after another by reverse mode: passes and time, measured.

    Parameters
    ----------
    make : function
        Takes the numbers of inputs and outputs, returns a function from a vector of the one size to a vector of the other.
    sizes : tuple of int
        The stops of both sliders.

    Returns
    -------
    Panel

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

    def plural(k, what):
        return f"{k} {what}{'' if k == 1 else 's' if not what.endswith('s') else 'es'}"

    def frame(inputs, outputs):
        n, m = int(inputs), int(outputs)
        forward, reverse, apart = found[n, m]
        modes = ("forward mode (jvp)", forward), ("reverse mode (vjp)", reverse)
        rows = [[mode, str(passes), f"{seconds * 1e6:.0f} us"] for mode, (passes, seconds) in modes]
        fewer = f"{'Forward' if forward[0] < reverse[0] else 'Reverse'} mode needs fewer."
        cheaper = fewer if forward[0] != reverse[0] else "Both need the same number."
        said = (
            f"{plural(n, 'input')}, {plural(m, 'output')}: forward mode takes {plural(forward[0], 'pass')}, {forward[1] * 1e6:.0f} us; "
            f"reverse mode {plural(reverse[0], 'pass')}, {reverse[1] * 1e6:.0f} us. {cheaper} "
            f"The two Jacobians differ by at most {apart:.1g}."
        )
        return Frame(said, _bars(forward, reverse) + _grid(n, m), rows)

    most = max(max(f[0], r[0]) for f, r, _ in found.values()), max(max(f[1], r[1]) for f, r, _ in found.values())

    def _bars(forward, reverse):
        parts = []
        for row, (title, k) in enumerate([("passes", 0), ("time, us", 1)]):
            top = 30 + 105 * row
            parts.append(plot.words(20, top, title, "head"))
            for i, (name, value, kind) in enumerate([("forward", forward[k], "a"), ("reverse", reverse[k], "b")]):
                width = max(300 * value / most[k], 2)
                shown = str(value) if k == 0 else f"{value * 1e6:.0f}"
                parts += [plot.words(20, top + 27 + 34 * i, name, "note"), plot.rectangle(90, top + 10 + 34 * i, width, 26, kind),
                          plot.words(98 + width, top + 28 + 34 * i, shown)]  # fmt: skip
        return parts

    def _grid(n, m):
        cell = min(10, 190 / max(n, m))
        size = f'width="{cell * 0.8:.1f}" height="{cell * m:.1f}"'
        return [
            plot.words(520, 30, f"Jacobian [{m}, {n}]", "head"),
            *(f'<rect x="{520 + cell * j:.1f}" y="44" {size} class="al-cell al-k-a"/>' for j in range(n)),
            plot.words(520, 60 + cell * m + 8, f"{plural(n, 'column')} by forward mode, {plural(m, 'row')} by reverse mode", "note"),
        ]

    texts = [str(s) for s in sizes]
    controls = [slider("inputs", sizes, texts, start=sizes[-1]), slider("outputs", sizes, texts, start=sizes[0])]
    return Panel("Forward mode against reverse mode", controls, frame, ["Mode", "Passes", "Time"], (870, 270), breaks=[500])


def _jacobians(f, n, m):
    """((passes, seconds) forward, the same in reverse, how far the two results are apart)."""
    x = torch.linspace(-1, 1, n, dtype=torch.float64) if n > 1 else torch.tensor([0.5], dtype=torch.float64)
    out = f(x)
    if tuple(out.shape) != (m,):
        raise RuntimeError(f"make({n}, {m}) must give a function to a vector of {m}; its result has shape {list(out.shape)}")
    passes = {}

    def forward():
        eye = torch.eye(n, dtype=torch.float64)
        columns = [torch.func.jvp(f, (x,), (eye[k],))[1] for k in range(n)]
        passes["forward"] = len(columns)
        return torch.stack(columns, 1)

    def reverse():
        leaf = x.detach().requires_grad_()
        y, eye = f(leaf), torch.eye(m, dtype=torch.float64)
        rows = [torch.autograd.grad(y, leaf, eye[k], retain_graph=True)[0] for k in range(m)]
        passes["reverse"] = len(rows)
        return torch.stack(rows)

    apart = (forward() - reverse()).abs().max().item()
    times = shortest_time(forward, 2), shortest_time(reverse, 2)
    return (passes["forward"], times[0]), (passes["reverse"], times[1]), apart


# -- 19: fusion ------------------------------------------------------------------------------------


def _chain(x):
    return torch.relu(x * 2 + 5) * 0.5


def fusion(f=_chain, x=None):
    """Memory traffic of a chain of elementwise operations: read and written once for each operation, or once for all of them.

    Parameters
    ----------
    f : function
        Of one tensor; chains of elementwise operations in it are fused by `torch.compile`.
    x : Tensor, optional
        What it is called with; a million float32 by default.

    Returns
    -------
    Panel
        Bytes read and written, from the arrays that each NumPy call takes and gives; times are measured, the shortest of five.

    Raises
    ------
    RuntimeError
        If the compiler leaves `f` to eager mode (it says why), or finds nothing to fuse.

    Examples
    --------
    >>> panel = fusion(lambda x: x * 2 + 5, torch.ones(100_000))
    >>> panel.move(step=99).sentence.partition(";")[0]
    'multiply and add: eager 1600000 bytes read and written, fused 800000 bytes (2 times less)'
    """
    x = torch.ones(1_000_000) if x is None else x
    compiled = torch.compile(f)
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

    def make(step):
        rows = [[name, f"{r:,}", f"{w:,}", _fused_row(i)] for i, (name, r, w) in enumerate(calls)]
        parts = _lanes(calls, step, fused)
        if step < len(calls):
            said = "Ready. Each operation of the chain reads and writes whole arrays." if not step else (
                f"{calls[step - 1][0]} reads {size_text(calls[step - 1][1])} and writes {size_text(calls[step - 1][2])}; "
                f"eager so far {size_text(sum(eager[:step]))}."
            )  # fmt: skip
        else:
            said = (
                f"{names}: eager {sum(eager)} bytes read and written, fused {sum(fused)} bytes ({sum(eager) / sum(fused):.3g} times less); "
                f"measured for all of f: {seconds[0] * 1e3:.3g} ms eager, {seconds[1] * 1e3:.3g} ms compiled, "
                f"results apart by at most {apart:.1g}."
            )
        return Frame(said, parts, rows)

    def _fused_row(i):
        s = chain[i]
        reads = sum(_bytes(v) for v in s.values() if id(v) not in made)
        return f"{reads:,} read, {sum(_bytes(o) for o in s.outs if o is not None and o in last):,} written"

    columns = ["Operation", "Eager: bytes read", "Eager: bytes written", "Fused"]
    return Panel("Fusion: memory traffic, eager and fused", [timeline(len(calls), label="Operation")], make, columns,
                 (870, 110 + 44 * len(calls)), breaks=[505])  # fmt: skip


def _bytes(value):
    # a constant or a number stays in a register
    return 0 if value.constant or np.ndim(value.sample) == 0 else int(np.asarray(value.sample).nbytes)


def _lanes(calls, step, fused):
    most = max(max(r, w) for _, r, w in calls) or 1
    parts = [
        plot.words(120, 24, "eager: each reads and writes memory", "head"),
        plot.words(520, 24, "fused: block by block, in the cache", "head"),
    ]
    for i, (name, r, w) in enumerate(calls):
        top, done = 40 + 44 * i, i < step
        parts.append(plot.words(110, top + 22, name, "", "end"))
        for k, (count, word) in enumerate(((r, "read"), (w, "write"))):
            parts.append(plot.rectangle(120 + 165 * k, top, max(140 * count / most, 6), 30, "ab"[k] if done else "empty"))
            parts.append(plot.words(126 + 165 * k, top + 20, f"{word} {size_text(count)}" if done else word))
        parts.append(plot.rectangle(560, top, 180, 30, "grad" if step >= len(calls) else "empty"))
        parts.append(plot.words(650, top + 20, "in the cache", "", "middle"))
    bottom = 40 + 44 * len(calls)
    if step >= len(calls):
        parts += [plot.words(748, 60, f"read {size_text(fused[0])}"), plot.words(748, bottom - 22, f"write {size_text(fused[1])}")]
        sums = (120, sum(r + w for _, r, w in calls)), (560, sum(fused))
        parts += [plot.words(x, bottom + 26, f"in all {size_text(count)}", "head") for x, count in sums]
    return parts


__all__ = ["forward_against_reverse", "fusion", "memory_against_depth"]
