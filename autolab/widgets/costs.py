"""The explorable of memory against depth, with checkpoints and without; and how costs are measured and told."""

import gc
import time
import tracemalloc
import weakref

import autolab as torch
from autolab import nn
from autolab.draw import chart
from autolab.draw.chart import Axes
from autolab.utils.checkpoint import checkpoint_sequential
from autolab.utils.collector import collector_paused
from autolab.widgets.panel import Frame, Panel, slider


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
    if layer is not None and not callable(layer):
        raise TypeError(f"layer makes a layer in each call, as in lambda: nn.Linear(64, 64); got {type(layer).__name__}")
    make_layer = layer or (lambda: nn.Sequential(nn.Linear(64, 64), nn.Tanh()))
    x = torch.ones(256, 64) if input is None else input
    depths, segments = sorted(set(depths)), sorted({0, *segments})
    layers = [make_layer() for _ in range(depths[-1])]
    if not all(map(callable, layers)):
        raise TypeError(
            f"layer makes a layer in each call, as in lambda: nn.Linear(64, 64); here it returned {type(layers[0]).__name__}, "
            "which cannot be called"
        )
    out = layers[0](x)
    if out.shape != x.shape:
        raise RuntimeError(f"the layer makes {list(out.shape)} of {list(x.shape)}; layers are stacked, so both shapes must be equal")

    def passes(depth, count, heard=None):
        for part in layers[:depth]:
            part.zero_grad()
        h = x.detach().requires_grad_()
        stack = layers[:depth] if heard is None else [_Listened(part, k, heard) for k, part in enumerate(layers[:depth], 1)]
        if count:
            h = checkpoint_sequential(stack, count, h, use_reentrant=False)
        else:
            for part in stack:
                h = part(h)
        loss = h.sum()
        del h  # or the last result would live to the end
        loss.backward()

    pairs = [(d, s) for d in depths for s in segments if s <= d]
    gc.collect()
    with collector_paused():
        memory = {at: _peak(lambda at=at: passes(*at)) for at in pairs}
    seconds = dict.fromkeys(pairs, float("inf"))
    for _ in range(5):  # in turn, so that a slow moment of the machine does not meet one of them alone
        seconds = {at: min(s, shortest_time(lambda at=at: passes(*at), 1)) for at, s in seconds.items()}
    found = {at: (memory[at], seconds[at]) for at in pairs}
    lives = {at: _lifetimes(lambda heard, at=at: passes(*at, heard)) for at in pairs}
    ends = (depths[0] - 0.5, depths[-1] + 0.5)
    left = Axes(ends, (0, 1.12 * max(memory.values()) / 1e3), (296, 0), (296, 290), ("layers", ""), "peak memory, kB")
    right = Axes(ends, (0, 1.12 * max(seconds.values()) * 1e3), (592, 0), (296, 290), ("layers", ""), "time, ms")
    frames = [left.frame(), right.frame()]

    def curve(axes, table, unit, count, kind):
        at = [d for d in depths if (d, count) in table]
        line = axes.line(at, [table[d, count] * unit for d in at], kind)
        return [line, *(axes.point(d, table[d, count] * unit, kind) for d in at)]

    plain = curve(left, memory, 1e-3, 0, "a") + curve(right, seconds, 1e3, 0, "a")

    def make(depth, segments):
        depth, count = int(depth), int(segments)
        shown = (depth, count) if (depth, count) in found else (depth, 0)
        rows = [["no checkpoints" if not s else f"{s} segments", size_text(memory[depth, s]), f"{seconds[depth, s] * 1e3:.3g} ms",
                 str(_most_alive(lives[depth, s][0])[0])] for s in all_segments if (depth, s) in found]  # fmt: skip
        names = [("a", "no checkpoints"), *([("b", f"{count} segments")] if count else [])]
        picture = frames + plain + [chart.legend(300, 316, names)]
        if count:
            picture += curve(left, memory, 1e-3, count, "b") + curve(right, seconds, 1e3, count, "b")
        picture += [axes.upright(depth, "", "grad") for axes in (left, right)] + _timeline(*lives[shown], depth)
        picture.append(chart.handle(left.x(depth), left.top + left.height, "depth", label="layers"))
        own, alive = found[depth, 0], _most_alive(lives[depth, 0][0])[0]
        said = f"{depth} layers without checkpoints: {size_text(own[0])} at the peak, {own[1] * 1e3:.3g} ms, "
        said += f"the values of {alive} layers alive at once."
        if count and (depth, count) not in found:
            said += f" {count} segments need at least {count} layers."
        elif count:
            m, t = found[depth, count]
            again = sum(not first for *_, first in lives[depth, count][0])
            said += (
                f" In {count} segments: {size_text(m)} ({m / own[0]:.2f} times), {t * 1e3:.3g} ms ({t / own[1]:.2f} times); "
                f"{again} layers run again, {_most_alive(lives[depth, count][0])[0]} alive at once."
            )
        return Frame(said, picture, rows)

    all_segments = segments
    controls = [
        slider("depth", depths, [str(d) for d in depths], start=depths[-1]),
        slider("segments", segments, ["none", *(str(s) for s in segments[1:])], start=segments[min(len(segments) - 1, 3)]),
    ]
    columns = ["How", "Peak memory", "Time", "Layers alive at once"]
    tracks = {"depth": [left.x(d) for d in depths]}
    return Panel("Memory against depth", controls, make, columns, (888, 330), breaks=[296, 592], tracks=tracks)


class _Listened:
    """A layer that tells when its result is computed, when that is freed, and when its gradient comes."""

    def __init__(self, layer, number, heard):
        self.layer, self.number, self.heard = layer, number, heard

    def __call__(self, h):
        out = self.layer(h)
        self.heard("computed", self.number)
        weakref.finalize(out.payload, self.heard, "freed", self.number).atexit = False
        if out.requires_grad:
            out.register_hook(lambda g: self.heard("back", self.number))
        return out


def _lifetimes(run):
    """What lives when: (layer, from, to, whether it is the first time) of each result; and the moments of the way back, by layer.

    Time is counted in layers that are run, forward or back.
    """
    clock, alive, lives, back, seen = 0, {}, [], [], set()

    def heard(what, layer):
        nonlocal clock
        if what == "freed":
            start, first = alive[layer].pop(0)
            lives.append((layer, start, clock, first))
            return
        clock += 1
        if what == "back":
            back.append((layer, clock))
        else:
            alive.setdefault(layer, []).append((clock, layer not in seen))
            seen.add(layer)

    run(heard)
    if any(alive.values()):
        gc.collect()
    return sorted(lives), back


def _most_alive(lives):
    """How many results are alive at once, at most; and when, for the first time."""
    moments = sorted({start for _, start, _, _ in lives})
    return max(((sum(start <= t <= end for _, start, end, _ in lives), t) for t in moments), key=lambda found: found[0])


def _timeline(lives, back, depth):
    """A line for each layer, the first at the bottom; a bar for as long as its values are there, a mark where its gradient comes."""
    last = max([end for _, _, end, _ in lives] + [at for _, at in back])
    left, top, width, height = 40, 30, 244, 216
    x, line = (lambda t: left + width * (t - 1) / max(last, 1)), height / depth
    parts = [f'<rect x="{left}" y="{top}" width="{width}" height="{height}" class="al-axes"/>']
    for layer, start, end, first in lives:
        y, tall = top + line * (depth - layer), max(line - 2, 2)
        box = f'x="{x(start):.1f}" y="{y + 1:.1f}" width="{max(x(end) - x(start), 2.5):.1f}" height="{tall:.1f}"'
        parts.append(f'<rect {box} class="al-cell al-k-{"leaf" if first else "custom"}"/>')
    most, when = _most_alive(lives)
    parts.append(chart.words(12, 21, f"values alive, at most {most}", "head"))
    parts.append(f'<path d="M{x(when) + 1.5:.1f} {top}v{height}" class="al-l al-l-b"/>')
    parts += [chart.mark(x(at), top + line * (depth - layer + 0.5), "grad", min(4, line / 3)) for layer, at in back]
    parts += [chart.words(left - 6, top + height - 4, "1", "note", "end"), chart.words(left - 6, top + 14, depth, "note", "end")]
    parts.append(chart.words(left + width, top + height + 19, "layers run, forward and back", "note", "end"))
    names = [("leaf", "first run"), ("custom", "run again")]
    for k, (kind, name) in enumerate(names):
        parts += [chart.rectangle(12 + 130 * k, 276, 20, 14, kind), chart.words(38 + 130 * k, 288, name)]
    parts += ['<path d="M178 298v18" class="al-l al-l-b"/>', chart.words(192, 311, "most alive")]
    return [*parts, chart.mark(22, 306, "grad"), chart.words(38, 311, "gradient comes")]


def _peak(run):
    """Bytes at the peak of a run, beyond what was there before."""
    run()
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


__all__ = ["memory_against_depth"]
