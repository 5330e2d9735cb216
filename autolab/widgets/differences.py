"""The explorable of finite differences: how wrong they are, against the size of the step."""

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes
from autolab.trace.values import number
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, choice, slider
from autolab.widgets.real_numbers import of_real_numbers

STEPS = [10.0 ** (k / 2) for k in range(-32, 1)]
FLOOR = 1e-17  # what is exact is drawn here: a logarithm has no place for 0
PRECISIONS = {"float64": (torch.float64, np.complex128), "float32": (torch.float32, np.complex64)}
METHODS = (
    ("one-sided", "a", "(f(x + h) − f(x)) / h"),
    ("central", "b", "(f(x + h) − f(x − h)) / 2h"),
    ("complex step", "c", "Im f(x + ih) / h"),
)


def growing_wave(x):
    """A function in NumPy's words, so that Tensors and complex numbers go through it."""
    return np.exp(x) * np.sin(x)


@of_real_numbers
def finite_differences(f=growing_wave, x=1.0):
    """The error of a difference quotient against its step h: one-sided, central and complex, beside the engine's own gradient.

    Parameters
    ----------
    f : function
        Of one number. It is called with Tensors; and with NumPy's complex numbers for the complex step, as the engine has none. Written
        with operators and NumPy's functions it takes both; otherwise there is no third curve, and the sentence says why.
    x : float
        Where the derivative is taken.

    Returns
    -------
    Panel
        Errors are relative to the gradient by `backward()` in float64.

    Raises
    ------
    TypeError, RuntimeError
        If `f` does not return a single number that depends on x.
    ValueError
        If the gradient at x is zero or not finite: then there is no relative error.

    Examples
    --------
    >>> panel = finite_differences(lambda x: x**3, x=1.0).move(h=1e-8)
    >>> [row[0] for row in panel.rows]
    ['one-sided', 'central', 'complex step', 'backward()']
    """
    exact = _gradient(f, x, torch.float64)
    if not np.isfinite(exact) or exact == 0:
        raise ValueError(
            f"the gradient of {function_name(f)} at x = {x:g} is {exact:g}; a relative error needs one that is finite and not 0"
        )
    estimates = {name: _estimates(f, x, *kinds) for name, kinds in PRECISIONS.items()}
    found, missing = ({name: pair[k] for name, pair in estimates.items()} for k in (0, 1))
    own = {name: _gradient(f, x, dtype) for name, (dtype, _) in PRECISIONS.items()}
    errors = {name: {m: [abs(e - exact) / abs(exact) for e in es] for m, es in of.items()} for name, of in found.items()}
    left = Axes((1e-16, 1), (FLOOR, 10), (0, 0), (296, 300), ("h", ""), "relative error", "xy")
    right = Axes((-1.6, 1.6), (-1.9, 1.9), (296, 0), (296, 300), ("t / h", ""), "f, zoomed to h")
    near = np.linspace(-1.5, 1.5, 91)

    def make(h, numbers):
        k, dtype = STEPS.index(h), PRECISIONS[numbers][0]
        shown = [(m, kind, formula) for m, kind, formula in METHODS if m in found[numbers]]
        picture = [
            left.frame(),
            chart.legend(12, 322, [(kind, m) for m, kind, _ in shown[:2]]),
            chart.legend(12, 346, [(kind, m) for m, kind, _ in shown[2:]]),
        ]
        rows = []
        for m, kind, formula in shown:
            all_errors = errors[numbers][m]
            picture.append(left.line(STEPS, [max(e, FLOOR) for e in all_errors], kind))
            picture.append(left.point(h, min(max(all_errors[k], FLOOR), 10), kind))
            rows.append([m, formula, number(found[numbers][m][k], 12), f"{all_errors[k]:.2g}"])
        if missing[numbers]:
            rows.append(["complex step", METHODS[2][2], "none", missing[numbers]])
        rows.append(["backward()", "the chain rule", number(own[numbers], 12), f"{abs(own[numbers] - exact) / abs(exact):.2g}"])
        picture += [
            left.upright(h, "", "grad"),
            chart.handle(left.x(h), left.top + left.height, "h", label="h"),
            *_zoom(right, f, x, h, dtype, near, exact, found[numbers]["one-sided"][k]),
        ]
        said = _sentence(numbers, h, k, {m: errors[numbers][m] for m, _, _ in shown})
        return Frame(f"{said} No complex step: {missing[numbers]}." if missing[numbers] else said, picture, rows)

    controls = [slider("h", STEPS, [number(h, 2) for h in STEPS], start=1e-4), choice("numbers", list(PRECISIONS), label="Numbers")]
    title, columns = f"How wrong is a finite difference of {function_name(f)}?", ["Method", "Formula", "Derivative", "Relative error"]
    return Panel(title, controls, make, columns,
                 (592, 360), breaks=[296], tracks={"h": [left.x(h) for h in STEPS]})  # fmt: skip


def _value(f, x, dtype):
    with torch.no_grad(), np.errstate(all="ignore"):
        return f(torch.tensor(x, dtype=dtype)).item()


def _gradient(f, x, dtype):
    leaf = torch.tensor(float(x), dtype=dtype, requires_grad=True)
    y = f(leaf)
    if not isinstance(y, torch.Tensor):
        raise TypeError(f"{function_name(f)} returned {type(y).__name__}; it must return a Tensor computed from its argument")
    if y.numel() != 1 or not y.requires_grad:
        raise RuntimeError(
            f"{function_name(f)} of a single number must be a single number that depends on it; it has shape {list(y.shape)}"
        )
    return torch.autograd.grad(y, leaf, torch.ones_like(y))[0].item()


def _estimates(f, x, dtype, complex_dtype):
    """Method -> its estimate at each step, all of it in numbers of one precision; and why the complex step is missing, if it is."""
    kind = torch.zeros(0, dtype=dtype).numpy().dtype.type
    x0 = kind(x)
    f0 = kind(_value(f, x0, dtype))
    found = {"one-sided": [], "central": []}
    for h in map(kind, STEPS):
        ahead, behind = kind(_value(f, x0 + h, dtype)), kind(_value(f, x0 - h, dtype))
        found["one-sided"].append(float((ahead - f0) / h))
        found["central"].append(float((ahead - behind) / (h + h)))
    try:
        with np.errstate(all="ignore"):
            found["complex step"] = [float(np.imag(complex(f(complex_dtype(x + 1j * h)))) / h) for h in STEPS]
    except (TypeError, AttributeError, ValueError, RuntimeError) as error:
        return (
            found,
            f"{function_name(f)} does not take a complex number ({type(error).__name__}): write it with operators and np functions",
        )
    return found, ""


def _zoom(axes, f, x, h, dtype, near, slope, chord):
    """f(x + t) - f(x) in units of h and of the slope: a line where f is smooth, a curve where it bends, steps where numbers end."""
    f0 = _value(f, x, dtype)
    rise = [(_value(f, float(np.float64(x) + t * h), dtype) - f0) / (h * slope) for t in near]
    rise = [r if abs(r) <= 1.9 else float("nan") for r in rise]
    lines = [axes.straight(0, 0, 1, "b"), axes.line(near, rise, "a"), axes.straight(0, 0, chord / slope, "grad")]
    return [axes.frame(), *lines, axes.point(0, 0, "a"),
            chart.legend(308, 322, [("b", "tangent"), ("grad", "chord")])]  # fmt: skip


def _sentence(numbers, h, k, errors):
    said = ", ".join(f"{m} is off by {e[k]:.1g}" for m, e in errors.items())
    one = errors["one-sided"]
    best = int(np.argmin(one))
    why = "Here the curve bends within h, so a smaller step is better" if k > best + 2 else (
        "Here f(x + h) and f(x) share most of their digits, so rounding leads and a larger step is better" if k < best - 2 else
        "Here it is near the best that one side can do"
    )  # fmt: skip
    return f"h = {number(h, 2)} in {numbers}: {said} (relative). {why}."


__all__ = ["finite_differences", "growing_wave"]
