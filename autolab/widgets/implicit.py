"""The explorable of the implicit function theorem: the derivative of a solution, without the solver."""

from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes, words
from autolab.draw.curves import contours, simplified
from autolab.trace.values import number
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, choice, slider
from autolab.widgets.real_numbers import of_real_numbers

MOST = 100  # steps until Newton's method gives up
SHOWN = 12  # the last ones have room
SMALL, ROUNDING = 1e-10, 1e-14  # shares of the largest |F| in the picture: where the solver stops, and what rounding leaves
STEEP = 1e3  # a tangent from this slope on is called vertical
STEP = 1e-5  # of the finite difference
FLOOR, MOST_ERROR = 1e-17, 1e8  # what is exact is drawn at the floor: a logarithm has no place for 0
GRID = 241
CODE = "F_a, F_x = torch.autograd.grad(F(a, x), (a, x))\ndx_da = -F_a / F_x"
TILE = 296


def fold(a, x):
    """0 on a curve with two vertical tangents: between them there are three solutions, and beyond them one."""
    return x**3 - 3 * x - a


def circle(a, x):
    """0 on the circle of radius 2."""
    return a**2 + x**2 - 4


def kepler(a, x):
    """Kepler's equation for an eccentricity of 0.8: `a` is the mean anomaly, `x` the eccentric one."""
    return x - 0.8 * torch.sin(x) - a


@of_real_numbers
def implicit_function(F=None, a=(-2.5, 2.5), x=(-2.5, 2.5), starts=(-2.0, 0.0, 2.0), stops=11):
    """Drag a, and the solution x of F(a, x) = 0 slides along its curve; its derivative dx/da = -F_a / F_x needs no solver.

    Newton's method solves. The derivative through its steps and a finite difference of its solutions are compared with the formula.

    Parameters
    ----------
    F : function or list of function, optional
        Of two single numbers; 0 where x solves the equation for a. By default a fold, a circle and Kepler's equation.
    a, x : (float, float)
        The lowest and highest number in the picture.
    starts : tuple of float
        Where Newton's method may start, the stops of a handle.
    stops : int
        How many stops a has.

    Returns
    -------
    Panel
        Errors are absolute, against the solution that only rounding limits, and its derivative. Saved tensors are counted by
        `saved_tensors_hooks`.

    Raises
    ------
    TypeError
        If F does not return a Tensor.
    RuntimeError
        If F is not a single number that depends on both.
    ValueError
        If F is 0 nowhere in the picture.

    Examples
    --------
    >>> panel = implicit_function(lambda a, x: x**2 - a, a=(0, 4), starts=(1.0,), stops=5).move(a=4.0)
    >>> panel.rows[0][:2]
    ['dx/da = -F_a / F_x', '0.25']
    """
    functions = [fold, circle, kepler] if F is None else list(F) if isinstance(F, list | tuple) else [F]
    functions = {function_name(f): f for f in functions}
    a_stops, starts = np.linspace(*a, stops), sorted(set(map(float, starts)))
    left = Axes(_wider(a), _wider((min(x[0], starts[0]), max(x[1], starts[-1]))), (0, 0), (TILE, 300), ("a", ""), "x where F(a, x) = 0")
    right = Axes((-SHOWN, 0), (FLOOR, MOST_ERROR), (TILE, 0), (TILE, 300), ("Newton's step, 0 is the last", ""), "error", "y")
    legends = chart.legend(TILE + 12, 322, [("a", "x"), ("b", "dx/da through steps")])
    legends += chart.legend(TILE + 12, 346, [("grad", "dx/da by -F_a / F_x")])
    legends += words(12, 327, "Drag a along the curve and past", "note") + words(12, 351, "its end: which x, which dx/da?", "note")
    surfaces = {name: _surface(name, f, left) for name, f in functions.items()}

    def make(F, a, start):
        curve, most, count = surfaces[F]
        run = _newton(functions[F], a, start, most)
        difference = _difference(functions[F], a, run.xs[-1], most) if run.ended else nan
        xs = [v if isfinite(v) else nan for v in run.xs]
        parts = [left.frame(), curve, right.frame(), legends]
        parts.append(left.line([a, left.xlim[1]], [start, start], "line"))
        parts.append(_path(left, a, xs))
        if run.ended:
            slope = run.formula
            parts.append(left.upright(a, "", "grad") if abs(slope) > STEEP else left.straight(a, xs[-1], slope))
            for kind, errors in zip(("a", "b", "grad"), run.errors[: 1 if abs(slope) > STEEP else 3]):
                shown = [min(max(e, FLOOR), MOST_ERROR) if isfinite(e) else nan for e in errors]
                parts += [right.line(range(1 - len(shown), 1), shown, kind), right.point(0, shown[-1], kind)]
        at = left.y(xs[-1]) if run.ended and left.ylim[0] <= xs[-1] <= left.ylim[1] else left.top + left.height
        parts.append(chart.handle(left.left + left.width, left.y(start), "", "start", "start of Newton's method"))
        parts.append(chart.handle(left.x(a), at, "a", "", "a on the curve"))
        return Frame(_sentence(a, start, run, count(a)), parts, _rows(run, difference), CODE)

    controls = [
        choice("F", list(functions)), slider("a", a_stops, [number(v, 3) for v in a_stops], start=a_stops[-(stops // 3) - 1]),
        slider("start", starts, start=starts[0], label="start of x"),
    ]  # fmt: skip
    tracks = {"a": [left.x(v) for v in a_stops], "start": [left.y(v) for v in starts]}
    return Panel("Implicit function: the derivative without the solver", controls, make, ["What", "Number", "Error", "Saved tensors"],
                 (2 * TILE, 360), breaks=[TILE], tracks=tracks)  # fmt: skip


@dataclass
class Run:
    """Newton's method: x at each step, the derivative in three ways, and the errors of x, through the steps and by the formula."""

    xs: list
    ended: bool
    partials: tuple = (nan, nan)
    exact: float = nan
    formula: float = nan
    through: float = nan
    errors: tuple = ()
    saved: tuple = (0, 0)


def _newton(F, a, start, most, whole=True):
    """`most`: the largest |F|. Without `whole` it goes on until rounding stops it, and no derivative of the result is computed."""
    saved, small = [], most * (SMALL if whole else ROUNDING)
    with np.errstate(all="ignore"):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (saved.append(1), t)[1], lambda t: t):
            leaf = torch.tensor(a, dtype=torch.float64, requires_grad=True)
            xs = [torch.tensor(start, dtype=torch.float64, requires_grad=True)]
            for _ in range(MOST):
                value = F(leaf, xs[-1])
                if abs(value.item()) <= small or not isfinite(value.item()):
                    break
                (slope,) = torch.autograd.grad(value, xs[-1], create_graph=True)
                after = xs[-1] - value / slope
                xs.append(after if whole else after.detach().requires_grad_())
        numbers = [v.item() for v in xs]
        run = Run(numbers, abs(F(leaf, xs[-1]).item()) <= small)
        if not whole or not run.ended:
            return run
        shown = xs[-SHOWN - 1 :]
        through = [torch.autograd.grad(v, leaf, retain_graph=True, allow_unused=True)[0] for v in shown]
        through = [0.0 if d is None else d.item() for d in through]
        partials = [_partials(F, a, v.item()) for v in shown]
        formulas = [-F_a / F_x + 0.0 for F_a, F_x, _ in partials]
        x = _newton(F, a, numbers[-1], most, whole=False).xs[-1]
        F_a, F_x, _ = _partials(F, a, x)
        exact = -F_a / F_x
        ends = zip(([v.item() for v in shown], through, formulas), (x, exact, exact))
        errors = [[abs(v - end) for v in of] for of, end in ends]
    return Run(numbers, True, partials[-1][:2], exact, formulas[-1], through[-1], errors, (partials[-1][2], len(saved)))


def _difference(F, a, x, most):
    """The derivative by two more solves beside a, which start at the solution."""
    ahead, behind = (_newton(F, a + h, x, most, whole=False) for h in (STEP, -STEP))
    return (ahead.xs[-1] - behind.xs[-1]) / (2 * STEP) if ahead.ended and behind.ended else nan


def _partials(F, a, x):
    """F_a and F_x by one call of `grad`, and how many tensors its graph saves."""
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (saved.append(1), t)[1], lambda t: t):
        at = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (a, x)]
        value = F(*at)
    F_a, F_x = torch.autograd.grad(value, at)
    return F_a.item(), np.float64(F_x.item()), len(saved)


def _surface(name, F, axes):
    """The curve F = 0 as a part, the largest |F|, and a function that counts the solutions for an a."""
    at = [torch.tensor(float(np.mean(lim)) + 0.1, dtype=torch.float64, requires_grad=True) for lim in (axes.xlim, axes.ylim)]
    value = F(*at)
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} returned {type(value).__name__}; F(a, x) must return a Tensor computed from its two arguments")
    if value.dim() or None in torch.autograd.grad(value.sum(), at, allow_unused=True):
        raise RuntimeError(f"{name} of two numbers must be a single number that depends on both; it has shape {list(value.shape)}")
    a, x = np.linspace(*axes.xlim, GRID), np.linspace(*axes.ylim, GRID)
    with torch.no_grad(), np.errstate(all="ignore"):
        grid = torch.func.vmap(torch.func.vmap(F, (0, None)), (None, 0))(torch.tensor(a), torch.tensor(x)).numpy()
    lines = contours(a, x, grid, 0.0)
    if not lines:
        raise ValueError(f"{name} is 0 nowhere between a = {a[0]:g} and {a[-1]:g}, x = {x[0]:g} and {x[-1]:g}; choose other ranges a and x")
    drawn = "".join(axes.line(*zip(*simplified(line, 0.004)), "a") for line in lines)

    def count(where):
        column = np.array([np.interp(where, a, row) for row in grid]) >= 0
        return int((column[1:] != column[:-1]).sum())

    return drawn, float(np.nanmax(np.abs(grid))), count


def _path(axes, a, xs):
    """The way of Newton's method above an a, with a tick for each x."""
    low, high = axes.top, axes.top + axes.height
    ys = [min(max(axes.y(v), low), high) for v in xs if v == v]
    across = axes.x(a)
    ticks = "".join(f"M{across - 3:.0f} {y:.0f}h7" for y in ys[:-1] if low < y < high)
    return f'<path d="M{across:.0f} {min(ys):.0f}V{max(ys):.0f}{ticks}" class="al-l al-l-b"/>' if len(ys) > 1 else ""


def _wider(lim):
    air = 0.1 * (lim[1] - lim[0])
    return lim[0] - air, lim[1] + air


def _rows(run, difference):
    if not run.ended:
        return [["x", "none found", "", ""]]
    F_a, F_x = run.partials
    steps = len(run.xs) - 1
    x, through, formula = (f"{errors[-1]:.1g}" for errors in run.errors)
    beside = f"{abs(difference - run.exact):.1g}"
    if abs(run.formula) > STEEP:
        through = formula = beside = "none exists"
    return [
        ["dx/da = -F_a / F_x", number(run.formula), formula, str(run.saved[0])],
        [f"dx/da through {_many(steps, 'step')}", number(run.through), through, str(run.saved[1])],
        [f"dx/da by difference, h = {STEP:g}", number(difference), beside, "0, two more solves"],
        ["x", number(run.xs[-1]), x, ""], ["F_a", number(F_a), "", ""], ["F_x", number(F_x), "", ""],
    ]  # fmt: skip


def _many(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def _sentence(a, start, run, count):
    where = f"a = {number(a, 3)}"
    if not run.ended:
        if not count:
            return f"{where}: no x in the picture solves F(a, x) = 0, so there is nothing to differentiate."
        what = "F_x is 0 on its way, so a step has no end" if not isfinite(run.xs[-1]) else f"{MOST} steps were not enough"
        return f"{where}: Newton's method from x = {number(start, 3)} finds no solution: {what}. Choose another start."
    steps = len(run.xs) - 1
    F_a, F_x = (number(v, 3) for v in run.partials)
    slope, through = number(run.formula, 3), number(run.through, 3)
    if abs(run.formula) > STEEP:
        return (
            f"{where}: F_x is {F_x}{', as near 0 as the solver comes' if run.partials[1] else ''}. The tangent is vertical: dx/da does "
            f"not exist, and the theorem asks for F_x ≠ 0. The formula still returns {slope}, {_many(steps, 'step')} "
            f"return{'s' * (steps == 1)} {through}, and neither warns."
        )
    formula = f"dx/da = -F_a / F_x = -({F_a}) / {F_x} = {slope}"
    if not steps:
        return (
            f"{where}: the start x = {number(start, 3)} is a solution, so Newton's method takes no step, and through no step dx/da is 0. "
            f"The formula does not ask how x was found: {formula}."
        )
    _, off_through, off_formula = (errors[-1] for errors in run.errors)
    back = f"off by {off_through:.0g}"
    if off_through > 0.01 * max(1, abs(run.exact)):
        back = f"{through}. x is right, and its derivative through the steps is not: that error falls a step later"
    which = "" if not count else ", the only solution" if count == 1 else f", one of {count} solutions"
    return (
        f"{where}: Newton's method takes {_many(steps, 'step')} to x = {number(run.xs[-1], 4)}{which}. "
        f"At x alone, {formula} (off by {off_formula:.0g}): one call of grad, {_many(run.saved[0], 'saved tensor')}. "
        f"Back through the steps, {run.saved[1]} saved: {back}."
    )


__all__ = ["circle", "fold", "implicit_function", "kepler"]
