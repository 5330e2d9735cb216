"""The explorable of second derivatives: Newton's step against the gradient's on a surface, and Hessian times vector without the Hessian."""

from functools import cache

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes, words
from autolab.trace.values import number
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, choice, slider
from autolab.widgets.race import clipped, goal, surface
from autolab.widgets.real_numbers import of_real_numbers

TILE, PLOT, HIGH = 276, 252, 322
STOPS = 5  # places along each axis: the page has them all
RATES = 0.03, 0.1, 0.3
ANGLES = tuple(range(0, 181, 30))
FLAT = 1e-9  # an eigenvalue below this share of the larger one is 0
CIRCLE = "M1 0A1 1 0 0 1 -1 0A1 1 0 0 1 1 0"
BRANCH = [(np.cosh(t), np.sinh(t)) for t in np.linspace(-2.4, 2.4, 15)]
HYPERBOLA = "".join("M" + "L".join(f"{side * a:.2f} {b:.2f}" for a, b in BRANCH) for side in (1, -1))
CODE = """\
g, H = grad(f)(p), hessian(f)(p)
newton = -torch.linalg.solve(H, g)
Hv = torch.func.jvp(grad(f), (p,), (v,))[1]  # without H"""


def bowl(x, y):
    """A long bowl, turned by 30 degrees: eight times as much curvature across as along."""
    u, w = 0.866025 * x + 0.5 * y, 0.866025 * y - 0.5 * x
    return (u**2 + 8 * w**2) / 2


def saddle(x, y):
    """Up along x, down along y."""
    return x**2 / 2 - y**2


def rosenbrock(x, y):
    """Rosenbrock's valley, with 10 in place of 100, and a tenth as high."""
    return (1 - x) ** 2 / 10 + (y - x**2) ** 2


@of_real_numbers
def curvature(f=None, start=(-1.0, 1.0), x=(-2, 2), y=(-2, 2), stops=STOPS, rates=RATES):
    """Newton's step against the gradient's: drag the point, slide the step size, turn v and see H v, which needs no Hessian H.

    Parameters
    ----------
    f : function or dict, optional
        Of two numbers (two tensors), or name -> such a function. By default a long bowl, a saddle, and Rosenbrock's valley.
    start : tuple
        Where the point is at the beginning.
    x, y : tuple
        The part of the plane that is shown.
    stops : int
        How many places the point has along each axis.
    rates : tuple of float
        The step sizes of the slider.

    Returns
    -------
    Panel
        The curve through the point is where the quadratic model is as high as there; Newton's step goes to its centre. H v is computed by
        `jvp` of `grad`, the eigenvalues by `hessian`.

    Raises
    ------
    TypeError
        If a function does not take two numbers and return one that depends on them.

    Examples
    --------
    >>> panel = curvature(lambda x, y: x**2 - y**2, start=(1.0, 1.0))
    >>> panel.sentence.partition(". ")[0]
    'f = 0: H is indefinite, with eigenvalues -2 and 2'
    """
    functions = f if isinstance(f, dict) else {function_name(g): g for g in ((bowl, saddle, rosenbrock) if f is None else (f,))}
    places = [_stops(ends, at, stops) for ends, at in ((x, start[0]), (y, start[1]))]
    plane = Axes(x, y, (0, 0), (TILE, PLOT), ("x", "y"))
    round_v = Axes((-1.35, 1.35), (-1.35, 1.35), (TILE, 0), (TILE, PLOT - 18))
    for name, g in functions.items():
        _check(name, g, start)
    grounds = cache(lambda name: surface(functions[name], plane, 7, 0.4))

    @cache
    def local(name, px, py):
        return _Local(functions[name], px, py)

    def make(function, px, py, rate, angle):
        here, (ground, lowest) = local(function, px, py), grounds(function)
        turn = np.deg2rad(angle)
        v = np.array([np.cos(turn), np.sin(turn)])
        hv = here.times(v)
        newton, gradient = here.step(here.newton), here.step(-rate * here.g)
        parts = [plane.frame(), ground, _model(plane, here)]
        parts.append(_arrow(plane, here.p, None if newton is None else here.p + here.newton, "b"))
        parts.append(_arrow(plane, here.p, here.p - rate * here.g, "grad"))
        parts.append(chart.handle(plane.x(px), plane.y(py), "px", "py", "the point"))
        parts.append(chart.legend(12, PLOT + 26, [("grad", "gradient step"), ("b", "Newton")]))
        parts.append(chart.legend(12, PLOT + 52, [("c", "model's level")]) + goal(TILE - 84, PLOT + 52, lowest))
        parts += _turning(round_v, here, v, hv)
        bend = float(v @ hv)
        parts.append(words(TILE + 12, PLOT + 57, f"H v = {_pair(hv)}"))
        rows = [
            ["point", _pair(here.p), number(here.value, 3)], ["gradient", _pair(here.g)], ["H", "; ".join(map(_pair, here.H))],
            ["gradient step", _pair(here.p - rate * here.g), number(gradient, 3)],
            ["Newton's step", "none"] if newton is None else ["Newton's step", _pair(here.p + here.newton), number(newton, 3)],
            ["H v", _pair(hv)],
        ]  # fmt: skip
        return Frame(f"{_kind(here)}. {_steps(here, rate, gradient, newton)} {_bend(here, v, hv, bend)}", parts, rows, CODE)

    controls = [
        choice("function", list(functions)),
        slider("px", places[0], start=start[0], label="x"), slider("py", places[1], start=start[1], label="y"),
        slider("rate", rates, start=max(rates), label="step size"),
        slider("angle", ANGLES, [f"{a}°" for a in ANGLES], start=60, label="angle of v"),
    ]  # fmt: skip
    tracks = {"px": [plane.x(s) for s in places[0]], "py": [plane.y(s) for s in places[1]],
              "angle": [round_v.x(np.cos(np.deg2rad(a))) for a in ANGLES]}  # fmt: skip
    title = "Curvature: Newton's step against the gradient's"
    return Surface(title, controls, make, ["What", "Numbers", "f"], (2 * TILE, HIGH), breaks=[TILE], tracks=tracks)


class Surface(Panel):
    """A page has every point with every step size, and every angle at the start; Python has the rest."""

    def _positions(self):
        start = {name: c["start"] for name, c in self._controls.items()}
        stops = {name: range(len(c["stops"])) for name, c in self._controls.items()}
        found = [{**start, "function": f, "angle": a} for f in stops["function"] for a in stops["angle"]]
        found += [
            {**start, "function": f, "rate": r, "px": i, "py": j}
            for f in stops["function"] for r in stops["rate"] for i in stops["px"] for j in stops["py"]
        ]  # fmt: skip
        return list({self._key(at): at for at in found}.values())


class _Local:
    """A surface at a point: value, gradient, Hessian with its eigenvalues and eigenvectors, Newton's step (None if H is singular)."""

    def __init__(self, f, x, y):
        self.f, self.p = lambda p: f(p[0], p[1]), np.array([x, y])
        at = torch.tensor([x, y], dtype=torch.float64)
        self.gradient = torch.func.grad(self.f)
        self.value, self.g = self.f(at).item(), self.gradient(at).numpy() + 0.0
        self.H = torch.func.hessian(self.f)(at).numpy() + 0.0
        self.eigenvalues, self.eigenvectors = np.linalg.eigh(self.H)
        size = np.abs(self.eigenvalues)
        self.singular = not size.min() > FLAT * size.max()
        h, g = (torch.tensor(a.tolist(), dtype=torch.float64) for a in (self.H, self.g))
        self.newton = None if self.singular else -torch.linalg.solve(h, g).numpy()

    def times(self, v):
        """H v, by forward mode over the gradient: no matrix is built."""
        at, direction = (torch.tensor(a.tolist(), dtype=torch.float64) for a in (self.p, v))
        return torch.func.jvp(self.gradient, (at,), (direction,))[1].numpy() + 0.0

    def step(self, by):
        """The value after a step, without what rounding leaves of 0."""
        return None if by is None else round(self.f(torch.tensor((self.p + by).tolist(), dtype=torch.float64)).item(), 12)


def _check(name, f, start):
    leaves = [torch.tensor(float(s), dtype=torch.float64, requires_grad=True) for s in start]
    try:
        out = f(*leaves)
    except TypeError as error:
        raise TypeError(f"curvature calls {name} with two numbers, as in lambda x, y: x**2 + y**2; here: {error}") from error
    if not isinstance(out, torch.Tensor) or out.numel() != 1 or not out.requires_grad:
        raise TypeError(f"curvature shows a surface: {name} must return one number that depends on x and y")


def _stops(ends, start, count):
    return sorted({*(float(v) for v in np.round(np.linspace(*map(float, ends), count), 6)), float(start)})


def _pair(numbers):
    return f"({number(numbers[0], 3)}, {number(numbers[1], 3)})"


# -- the picture -----------------------------------------------------------------------------------


def _arrow(axes, start, end, kind):
    """From point to point, cut at the frame. It has few numbers: a page holds hundreds."""
    if end is None or not np.isfinite(end).all():
        return ""
    here, there = ((axes.x(p[0]), axes.y(p[1])) for p in (start, end))
    a, b = clipped(here, there, (axes.left, axes.top), (axes.left + axes.width, axes.top + axes.height))
    if a is None or np.hypot(b[0] - a[0], b[1] - a[1]) < 2:
        return ""
    n = f"{np.hypot(b[0] - a[0], b[1] - a[1]):.0f}"
    turned = np.rad2deg(np.arctan2(b[1] - a[1], b[0] - a[0]))
    line = f'<path d="M0 0H{n}" class="al-l al-l-{kind}"/><path d="M{n} 0l-8 3.5v-7z" class="al-m-{kind}"/>'
    return f'<g transform="translate({a[0]:.1f} {a[1]:.1f}) rotate({turned:.1f})">{line}</g>'


def _model(axes, here):
    """Where the quadratic model is as high as at the point: an ellipse or a hyperbola around the end of Newton's step, with its axes."""
    if here.singular:
        return ""
    centre = here.p + here.newton
    level = here.newton @ here.H @ here.newton
    radii = np.sqrt(np.abs(level / here.eigenvalues))
    if not radii.min() > 1e-6:
        return ""
    columns = here.eigenvectors * radii
    mixed = here.eigenvalues[0] < 0 < here.eigenvalues[1]
    if mixed and level < 0:
        path = HYPERBOLA
    elif mixed:
        path, columns = HYPERBOLA, columns[:, ::-1]
    else:
        path = CIRCLE
    return _clip(axes, _mapped(axes, centre, columns, path + "M-1 0H1M0 -1V1", "c"))


def _mapped(axes, centre, columns, path, kind):
    """A path around the origin, mapped by a matrix and moved, in pixels."""
    across, up = axes.width / np.ptp(axes.xlim), -axes.height / np.ptp(axes.ylim)
    (a, c), (b, d) = columns
    matrix = [across * a, up * b, across * c, up * d, axes.x(centre[0]), axes.y(centre[1])]
    said = " ".join(f"{m:.2f}" for m in matrix)
    return f'<path d="{path}" transform="matrix({said})" vector-effect="non-scaling-stroke" class="al-l al-l-{kind}"/>'


def _clip(axes, part):
    box = f'x="{axes.left}" y="{axes.top}" width="{axes.width}" height="{axes.height}"'
    return f'<svg {box} viewBox="{axes.left} {axes.top} {axes.width} {axes.height}" overflow="hidden">{part}</svg>'


def _turning(axes, here, v, hv):
    """v on the unit circle, and H v on the ellipse that H makes of the circle, both drawn in the size of the circle."""
    full = float(np.abs(here.eigenvalues).max()) or 1.0
    tip, image = (axes.x(v[0]), axes.y(v[1])), hv / full
    return [
        axes.frame(), _mapped(axes, (0, 0), np.eye(2), CIRCLE, "a"), _mapped(axes, (0, 0), here.H / full, CIRCLE, "c"),
        _arrow(axes, np.zeros(2), v, "a"), _arrow(axes, np.zeros(2), image, "grad"),
        chart.handle(*tip, "angle", label="v"), chart.legend(TILE + 12, PLOT + 26, [("a", "v"), ("grad", f"H v / {number(full, 3)}")]),
    ]  # fmt: skip


# -- the sentence ----------------------------------------------------------------------------------


def _kind(here):
    low, high = here.eigenvalues
    kind = "singular" if here.singular else "positive definite" if low > 0 else "negative definite" if high < 0 else "indefinite"
    return f"f = {number(here.value, 3)}: H is {kind}, with eigenvalues {number(low, 3)} and {number(high, 3)}"


def _steps(here, rate, gradient, newton):
    if not np.abs(here.g).max() > 1e-9:
        return "The gradient is 0: neither step moves."
    along = float(here.g @ here.H @ here.g / (here.g @ here.g))
    said = f"The gradient step {_way(gradient, here.value)}"
    if gradient > here.value and along > 0:
        said += f": {number(rate, 3)} is too long where the curvature along it is {number(along, 3)}"
    if newton is None:
        return f"{said}. There is no Newton step: H has no inverse."
    low, high = here.eigenvalues
    goal = "minimum" if low > 0 else "top" if high < 0 else "saddle"
    wrong = "; so far away the model is wrong" if newton > here.value and low > 0 else ""
    return f"{said}. Newton's step {_way(newton, here.value)}, at the {goal} of its model{wrong}."


def _way(after, before):
    return f"{'climbs' if after > before else 'descends'} to {number(after, 3)}"


def _bend(here, v, hv, bend):
    if abs(float(v[0] * hv[1] - v[1] * hv[0])) < 1e-4 * np.abs(here.eigenvalues).max():
        return f"H v is {number(bend, 3)} v: an eigenvector."
    return f"Along v the surface bends {'up' if bend > 0 else 'down'}: v · H v = {number(bend, 3)}."


__all__ = ["bowl", "curvature", "rosenbrock", "saddle"]
