"""Explorable of float16: where gradients lie in its range, and what a loss scale does to them."""

import contextlib
import io

import numpy as np

import autolab as torch
from autolab import datasets, nn
from autolab.draw import chart
from autolab.draw.chart import Axes, short
from autolab.widgets.panel import Frame, Panel, slider
from autolab.widgets.real_numbers import of_real_numbers

TILE, HIGH = 276, 316
SMALLEST, NORMAL, LARGEST = 2.0**-24, 2.0**-14, 65504.0


@of_real_numbers
def underflow(gradients=None, history=None):
    """Where the sizes of gradients lie in float16's range, and what a loss scale does to them.

    Parameters
    ----------
    gradients : Tensor, Module, or list of Tensors, optional
        Gradients, or parameters that have a `.grad`. By default those of seven layers with sigmoids, trained on the digits for 60 steps in
        float16 with a GradScaler, whose history is then shown too.
    history : list of float, optional
        The scale of a GradScaler, step by step.

    Returns
    -------
    Panel
        Lost: not zero in float32 and zero after `(gradient * scale).half()`. Too large: infinite there.

    Raises
    ------
    ValueError
        If there is no gradient, or all are zero.

    Examples
    --------
    >>> panel = underflow(torch.tensor([1e-9, 1e-6, 1e-3, 1.0]))
    >>> panel.move(scale=1).sentence
    'Scale 1: of 4 gradients 1 (25%) become zero in float16, and 0 become infinite.'
    >>> panel.move(scale=2.0**16).sentence
    'Scale 65536 (2^16): of 4 gradients 0 (0%) become zero in float16, and 1 become infinite.'
    """
    if gradients is None:
        gradients, history = _scaled_training()
    if isinstance(gradients, nn.Module):
        gradients = list(gradients.parameters())
    tensors = [gradients] if isinstance(gradients, torch.Tensor) else list(gradients)
    if not all(isinstance(t, torch.Tensor) for t in tensors):
        raise TypeError(f"underflow needs a Module or Tensors, and got {gradients!r:.60}")
    tensors = [t.grad if t.grad is not None else t for t in tensors if not (t.requires_grad and t.is_leaf and t.grad is None)]
    if not tensors:
        raise ValueError("there is no gradient to show: call backward() first, or give the gradients themselves")
    with torch.no_grad():
        g = torch.cat([t.detach().float().reshape(-1) for t in tensors])
        g = g[g != 0]
    if not g.numel():
        raise ValueError("all of these gradients are zero: there is nothing to lose")
    sizes = g.abs().numpy()
    stops = [2.0**k for k in range(0, 33, 2)]
    bins = 2.0 ** np.arange(-44, 26)
    most = max(np.histogram(sizes * s, bins)[0].max() for s in stops)
    axes = Axes((bins[0], bins[-1]), (0, 1.5 * most), (0, 0), (TILE, HIGH - 46), ("", ""), " ", "x")
    bottom = axes.top + axes.height
    base = [axes.frame(), chart.words(8, 20, "gradient × scale in float16", "head")]
    marks = [f'<path d="M{axes.x(limit):.1f} {axes.top}V{bottom}" class="al-l al-l-c"/>' for limit in (SMALLEST, NORMAL, LARGEST)]
    zones = (
        ("zero", bins[0], SMALLEST, 17),
        ("subnormal", SMALLEST, NORMAL, 36),
        ("normal", NORMAL, LARGEST, 17),
        ("inf", LARGEST, bins[-1], 17),
    )
    for name, low, high, down in zones:
        half = len(name) * chart.CHAR / 2 + 4  # and a frame that a halo does not cut
        x = min(max((axes.x(low) + axes.x(high)) / 2, axes.left + half), axes.left + axes.width - half)
        marks.append(chart.words(x, axes.top + down, name, "note al-halo", "middle"))
    # the handle is below the median, and the histogram moves with it
    anchor = min(float(np.median(sizes)), bins[-1] / stops[-1])
    track = [axes.x(max(anchor, bins[0]) * s) for s in stops]
    base += [
        f'<path d="M{track[0]:.1f} {bottom + 46}H{track[-1]:.1f}" class="al-l al-l-line"/>',
        chart.words(8, bottom + 51, "scale", "note"),
    ]
    if history:
        limits = (min(history) / 2, max(history) * 2)
        right = Axes((0, len(history)), limits, (TILE, 0), (TILE, HIGH), ("step", ""), "GradScaler's history", "y")
        base += [right.frame(), right.line(range(len(history)), history, "b"), right.point(len(history) - 1, history[-1], "b")]

    def make(scale):
        with torch.no_grad(), np.errstate(over="ignore"):
            half = (g * scale).half()
            lost, gone = int((half == 0).sum().item()), int(torch.isinf(half).sum().item())
        counts = np.histogram(sizes * scale, bins)[0]
        is_lost = (bins[1:] <= SMALLEST) | (bins[:-1] >= LARGEST)
        bars = [axes.bars(bins[:-1][of], bins[1:][of], counts[of], kind) for kind, of in (("a", ~is_lost), ("c", is_lost))]
        power = f" (2^{int(np.log2(scale))})" if scale > 1 else ""
        share = f"{100 * lost / len(sizes):.3g}%"
        said = f"Scale {scale:.0f}{power}: of {len(sizes)} gradients {lost} ({share}) become zero in float16, and {gone} become infinite."
        rows = [
            [f"{short(low)} to {short(high)}", str(count), "lost" if gone else "kept"]
            for low, high, count, gone in zip(bins, bins[1:], counts, is_lost)
            if count
        ]
        x = track[stops.index(scale)]
        hold = [
            f'<path d="M{x:.1f} {axes.top}V{bottom + 46}" class="al-grid"/>',
            chart.handle(x, bottom + 46, along_x="scale", label="scale"),
        ]
        return Frame(said, base + bars + marks + hold, rows)

    scales = slider("scale", stops, [f"2^{int(np.log2(s))}" for s in stops])
    return Panel(
        "Underflow in float16", [scales], make, ["Size", "How many", "In float16"], (TILE * (2 if history else 1), HIGH),
        breaks=[TILE] if history else [], tracks={"scale": track},
    )  # fmt: skip


def _scaled_training(steps=60):
    state = torch.get_rng_state()
    torch.manual_seed(0)
    images, labels = datasets.digits("train")
    # each sigmoid takes at least three quarters of a gradient
    deep = [part for _ in range(5) for part in (nn.Linear(32, 32), nn.Sigmoid())]
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.Sigmoid(), *deep, nn.Linear(32, 10))
    torch.set_rng_state(state)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(init_scale=2.0**16, growth_interval=8)
    history = []
    with contextlib.redirect_stderr(io.StringIO()), np.errstate(all="ignore"):
        for k in range(steps):
            at = slice(64 * (k % 20), 64 * (k % 20) + 64)
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = nn.functional.cross_entropy(net(images[at]), labels[at])
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            history.append(scaler.get_scale())
            scaler.update()
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(images[:256]), labels[:256]).backward()
    return list(net.parameters()), history


__all__ = ["underflow"]
