"""The explorable of deep networks: what happens to the sizes of values and of gradients from layer to layer."""

import math

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes
from autolab.widgets.panel import Frame, Panel, choice, slider
from autolab.widgets.real_numbers import of_real_numbers

GAINS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
ACTIVATIONS = {"none": lambda h: h, "tanh": torch.tanh, "relu": torch.relu, "sigmoid": torch.sigmoid}
POWERS = -10, 6  # the sizes that are drawn, as powers of ten; what is beyond is drawn at the end
FATES = ("vanishes", 0.01), ("shrinks", 0.5), ("keeps its size", 2), ("grows", 100)  # up to this ratio of the input's to the last layer's
BINS = np.linspace(*POWERS, 49)


@of_real_numbers
def vanishing_and_exploding(depths=(2, 4, 8, 16, 24), gains=GAINS, activations=None, width=64, batch=64, seed=0):
    """Histograms of values and of gradients, layer by layer, in a deep network whose weights have standard deviation gain / sqrt(width).

    Parameters
    ----------
    depths : tuple of int
        Numbers of layers, the stops of a slider.
    gains : tuple of float
        The stops of another one.
    activations : dict, optional
        Name -> function of a Tensor; none, tanh, relu and sigmoid by default.
    width, batch : int
        Entries of a layer's values, and samples, both from the normal distribution.
    seed : int
        Of weights and samples; every position has the same ones.

    Returns
    -------
    Panel
        Layer 0 is the input. The gradient of the last layer's values is from the normal distribution, too. Lines are root mean squares.

    Examples
    --------
    >>> panel = vanishing_and_exploding(depths=(2, 8), gains=(0.5, 1.0), activations={"none": lambda h: h})
    >>> panel.move(depth=8, gain=0.5).sentence.partition(":")[0]
    'none, gain 0.5, 8 layers'
    """
    activations = ACTIVATIONS if activations is None else dict(activations)
    depths, gains = sorted(set(depths)), sorted(set(gains))
    if not depths or not gains or depths[0] < 1:
        raise ValueError(f"vanishing_and_exploding needs depths of at least one layer, and gains; got depths {depths} and gains {gains}")
    random = np.random.default_rng(seed)
    weights = [torch.tensor(random.standard_normal((width, width)) / math.sqrt(width), dtype=torch.float32) for _ in range(depths[-1])]
    x, g = (torch.tensor(random.standard_normal((batch, width)), dtype=torch.float32) for _ in range(2))

    def network(activation, gain, depth):
        """The values of every layer, the input first, and the gradient that each receives."""
        values = [x.detach().requires_grad_()]
        with np.errstate(all="ignore"):
            for weight in weights[:depth]:
                values.append(activations[activation](values[-1] @ weight * gain))
            grads = torch.autograd.grad(values[-1], values, g)
        return [v.detach().numpy() for v in values], [d.numpy() for d in grads]

    sizes = 10.0 ** np.array(POWERS, float)
    charts = [
        Axes((-0.5, depths[-1] + 0.5), sizes, (left, 0), (296, 300), ("layer", "size"), title, "y")
        for left, title in ((0, "values, forward"), (296, "gradients, back"))
    ]

    def make(activation, gain, depth):
        depth = int(depth)
        picture, roots = [axes.frame() for axes in charts], []
        for axes, arrays, kind in zip(charts, network(activation, gain, depth), ("a", "grad")):
            roots.append([_root_mean_square(a) for a in arrays])
            picture.append(_histograms(axes, arrays, kind))
            shown = [min(max(r, sizes[0]), sizes[1]) if math.isfinite(r) else sizes[1] for r in roots[-1]]
            picture += [axes.line(range(depth + 1), shown, kind), *(axes.point(k, shown[k], kind) for k in (0, depth))]
        picture.append(chart.handle(charts[0].x(depth), charts[0].top + charts[0].height, "depth", label="depth"))
        forward, back = roots
        rows = [[str(k), *(f"{v:.3g}" for v in (forward[k], back[k]))] for k in range(depth + 1)]
        return Frame(_sentence(activation, gain, depth, forward, back), picture, rows)

    controls = [
        choice("activation", list(activations), start=min(1, len(activations) - 1)), slider("gain", gains, start=0.75),
        slider("depth", depths, [str(d) for d in depths], start=16),
    ]  # fmt: skip
    tracks = {"depth": [charts[0].x(d) for d in depths]}
    return Panel(
        "Vanishing and exploding gradients", controls, make, ["Layer", "Values", "Gradients"], (592, 306), breaks=[296], tracks=tracks
    )


def _root_mean_square(array):
    """Infinite where a number is not finite."""
    with np.errstate(all="ignore"):
        size = float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))
    return size if math.isfinite(size) else math.inf


def _histograms(axes, arrays, kind):
    """The sizes of each layer's numbers, upright: the wider, the more of them. What is not finite counts as too large, 0 as too small."""
    ys = [round(axes.y(10.0**p)) for p in BINS]
    path = []
    for layer, array in enumerate(arrays):
        with np.errstate(divide="ignore"):
            powers = np.nan_to_num(np.log10(np.abs(array.astype(np.float32))), nan=POWERS[1], neginf=POWERS[0], posinf=POWERS[1])
        counts = np.histogram(np.clip(powers, *POWERS), BINS)[0]
        widths = 0.8 * (axes.x(1) - axes.x(0)) * counts / counts.max()
        path.append(f"M{axes.x(layer - 0.4):.1f} {ys[0]}")  # up along the widths, and straight down again
        was = 0.0
        for width, low, high in zip(np.round(2 * widths) / 2, ys, ys[1:]):
            path.append((f"h{width - was:g}" if width != was else "") + f"v{high - low}")
            was = width
        path.append(f"h{-was:g}z")
    return f'<path d="{"".join(path)}" fill-opacity=".5" class="al-m-{kind}"/>'


def _two_digits(value):
    return f"{float(f'{value:.2g}'):.3g}"  # 130, and not 1.3e+02


def _sentence(activation, gain, depth, forward, back):
    with np.errstate(all="ignore"):
        ratio = float(np.float64(back[0]) / back[-1])
        factor = ratio ** (1 / depth)
    fate = next((word for word, most in FATES if ratio < most), "explodes")
    return (
        f"{activation}, gain {gain:g}, {depth} layers: the gradient {fate}, from {_two_digits(back[-1])} at the last layer "
        f"to {_two_digits(back[0])} at the input, {_two_digits(factor)} times at each layer. "
        f"Values go from {_two_digits(forward[0])} to {_two_digits(forward[-1])}."
    )


__all__ = ["vanishing_and_exploding"]
