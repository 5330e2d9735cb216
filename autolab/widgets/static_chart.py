"""Still figures by matplotlib, for a paper or a slide. Only here is it imported, and only when asked for."""

import io

from autolab.draw.style import PALETTE

CLASSES = ("leaf", "o"), ("out", "s"), ("custom", "^")  # colour and mark of each, as in the widget


def training(looks, points, labels, x, y):
    """Loss curve and decision boundary as a matplotlib Figure.

    `looks` are (steps done, loss, share on the right side, class of each cell of the plane); `x`, `y` the ends of the plane.
    """
    try:
        from matplotlib.colors import ListedColormap
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            'figure() needs matplotlib, which is not installed: pip install "autolab-grad[lab]". picture() gives an SVG and needs nothing.'
        ) from None

    class Still(Figure):
        def _repr_png_(self):  # a notebook shows it, whatever its backend is
            file = io.BytesIO()
            self.savefig(file, format="png", dpi=120)
            return file.getvalue()

    made = Still(figsize=(9, 3.6), layout="constrained")
    curve, plane = made.subplots(1, 2)
    done, loss, right, chosen = looks[-1]
    curve.plot([look[0] for look in looks], [look[1] for look in looks], color=PALETTE["leaf-edge"][0])
    curve.set(xlabel="step", ylabel="loss", ylim=(0, None), title=f"loss {loss:.3g} after {done} steps")
    fills = ListedColormap([PALETTE[f"{name}-fill"][0] for name, _ in CLASSES])
    plane.imshow(chosen % 3, extent=(*x, *y), aspect="auto", cmap=fills, vmin=0, vmax=2, interpolation="nearest")
    for k, (name, mark) in enumerate(CLASSES):
        mine = points[labels % 3 == k]
        plane.scatter(mine[:, 0], mine[:, 1], marker=mark, s=14, color=PALETTE[f"{name}-edge"][0])
    plane.set(title=f"{right:.0%} on the right side")
    return made
