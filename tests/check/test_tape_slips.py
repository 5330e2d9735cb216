"""Slips in single lines of rules that nobody wrote down as formulas: families of mistakes crossed with operations.

The operations run through factorisations, loops, reshapes and windows; a slip is made by replacing a piece of the right rule's text.
"""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

import autolab as torch
from autolab.check import Spec, check, derivative_of_forward, diagnose
from autolab.check.diagnosis.replay import Tape, line_of_caller
from autolab.check.diagnosis.replays.traces import Trace
from autolab.engine.op import GENERAL, LINEAR, Op


def symmetric(a):
    return (a + a.T) / 2


def eigenvectors(x):
    return torch.linalg.eigh((x + x.T) / 2)[1]


def singular_values(x):
    return torch.linalg.svdvals(x)


def recurrent(x, w, u):
    h = torch.zeros(2, 5, dtype=torch.float64)
    for t in range(x.shape[0]):
        h = (x[t] @ w + h @ u).tanh()
    return h


def moving_average(x):
    c, out = 0 * x[0], []
    for t in range(x.shape[0]):
        c = 0.8 * c + 0.2 * x[t]
        out.append(c)
    return torch.stack(out)


def focal(x):
    p = x.sigmoid()
    return -((1 - p) ** 2) * p.log()


def squared_distances(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def grouped(x):
    rows = x.reshape(3, 2, 10)
    rows = (rows - rows.mean(-1, keepdim=True)) / (rows.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    return rows.reshape(3, 4, 5)


# Of each operation the shapes of its inputs and the right rule.
OPERATIONS = {
    eigenvectors: (
        [(4, 4)],
        """
        def rule(g, x):
            w, v = np.linalg.eigh((x + x.T) / 2)
            gaps = w - w[:, None] + np.eye(4)
            inner = v.T @ g
            y = v @ (inner / gaps * (1 - np.eye(4))) @ v.T
            return (y + y.T) / 2
        """,
    ),
    singular_values: (
        [(4, 3)],
        """
        def rule(g, x):
            u, s, vt = np.linalg.svd(x, full_matrices=False)
            return (u * g) @ vt
        """,
    ),
    recurrent: (
        [(4, 2, 3), (3, 5), (5, 5)],
        """
        def rule(g, x, w, u):
            hs = [np.zeros((2, 5))]
            for a in x:
                hs.append(np.tanh(a @ w + hs[-1] @ u))
            dx, dw, du = np.zeros_like(x), 0 * w, 0 * u
            for i in reversed(range(len(x))):
                d = g * (1 - hs[i + 1] ** 2)
                dx[i], dw, du, g = d @ w.T, dw + x[i].T @ d, du + hs[i].T @ d, d @ u.T
            return dx, dw, du
        """,
    ),
    moving_average: (
        [(6, 3)],
        """
        def rule(g, x):
            dx, c = np.empty_like(x), 0
            for i in reversed(range(len(x))):
                c = g[i] + 0.8 * c
                dx[i] = 0.2 * c
            return dx
        """,
    ),
    focal: (
        [(3, 5)],
        """
        def rule(g, x):
            p = 1 / (1 + np.exp(-x))
            return g * (2 * (1 - p) * np.log(p) * p * (1 - p) - (1 - p) ** 2 * (1 - p))
        """,
    ),
    squared_distances: (
        [(4, 3), (5, 3)],
        """
        def rule(g, x, y):
            d = x[:, None] - y[None]
            return 2 * (g[..., None] * d).sum(1), -2 * (g[..., None] * d).sum(0)
        """,
    ),
    grouped: (
        [(3, 4, 5)],
        """
        def rule(g, x):
            h, gg = x.reshape(3, 2, 10), g.reshape(3, 2, 10)
            s = np.sqrt(h.var(-1, keepdims=True) + 1e-5)
            z = (h - h.mean(-1, keepdims=True)) / s
            return ((gg - gg.mean(-1, keepdims=True) - z * (gg * z).mean(-1, keepdims=True)) / s).reshape(x.shape)
        """,
    ),
}
SLIPS = [
    (eigenvectors, "inner / gaps", "inner * np.sign(gaps)", "factor|variable"),
    (eigenvectors, "inner / gaps", "inner * gaps", "division|factor|constant"),
    (eigenvectors, "(y + y.T) / 2", "y", "transposed|term"),
    (eigenvectors, "(y + y.T) / 2", "-y", "sign"),
    (eigenvectors, "inner = v.T @ g", "inner = v @ g", "transposed"),
    (singular_values, "@ vt", "@ vt.T", "transposed"),
    (singular_values, "(u * g)", "(u * g / s)", "factor"),
    (singular_values, "(u * g)", "(u * g * 2 * s)", "factor"),
    (recurrent, "d @ u.T", "d @ u", "transposed|variable"),
    (recurrent, "dw + x[i].T @ d", "x[i].T @ d", "overwritten|term"),
    (recurrent, "hs[i].T @ d", "hs[i + 1].T @ d", "variable"),
    (recurrent, "(1 - hs[i + 1] ** 2)", "(1 - hs[i + 1])", "power|factor"),
    (recurrent, "(1 - hs[i + 1] ** 2)", "(1 + hs[i + 1] ** 2)", "term sign"),
    (moving_average, "g[i] + 0.8 * c", "g[i] + c", "factor"),
    (moving_average, "0.2 * c", "c", "factor|constant"),
    (focal, "np.log(p) * p * (1 - p)", "np.log(p)", "factor"),
    (squared_distances, "2 * (g[..., None] * d).sum(1)", "2 * g.sum(1)[:, None] * d.sum(1)", "upstream collapsed|wrong axis"),
    (squared_distances, "d = x[:, None] - y[None]", "d = -y[None] + 0 * x[:, None]", "term"),
    (grouped, "(3, 2, 10)", "(3, 4, 5)", "axis"),
    (grouped, "(3, 2, 10)", "(3, 1, 20)", "axis"),
]  # fmt: skip


def made(text):
    space = {"np": np}
    exec(textwrap.dedent(text), space)
    return space["rule"]


def inputs_of(function, rng):
    arrays = [rng.uniform(0.2, 1.8, shape) for shape in OPERATIONS[function][0]]
    if function is recurrent:  # nothing may saturate
        arrays = [0.7 * (a - 1) for a in arrays]
    return [a + np.diag(3.0 * np.arange(len(a))) if a.shape == (4, 4) else a for a in arrays]


@pytest.mark.parametrize("function", OPERATIONS, ids=lambda f: f.__name__)
def test_the_rules_that_slips_are_put_into_are_right(function, rng):
    assert diagnose(made(OPERATIONS[function][1]), function, inputs_of(function, rng)) == []


@pytest.mark.parametrize(("function", "right", "wrong", "families"), SLIPS, ids=lambda a: getattr(a, "__name__", None))
def test_a_slip_in_a_line_is_named(function, right, wrong, families, rng):
    text = OPERATIONS[function][1]
    assert right in text
    found = diagnose(made(text.replace(right, wrong)), function, inputs_of(function, rng))
    assert all(d.certainty != "unknown" for d in found)
    assert {f for d in found for f in (d.family, *d.alternatives)} & set(families.split("|"))


@pytest.mark.parametrize("function", [eigenvectors, recurrent, moving_average, grouped], ids=lambda f: f.__name__)
def test_a_traced_function_gives_the_gradient_of_the_engine(function, rng):
    arrays = inputs_of(function, rng)
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    result = function(*tensors)
    g = rng.normal(size=tuple(result.shape))
    result.backward(torch.tensor(g))
    tape = Tape()
    inputs = [tape.leaf(a) for a in arrays]
    trace = Trace(function, {f"x{k}": a for k, a in enumerate(arrays)}, {})
    assert np.allclose(np.asarray(trace.gradient(tape, inputs, 0, tape.leaf(g))), tensors[0].grad.numpy())


def columns(x, *, kernel):
    a, b = kernel
    n, c, h, w = x.shape
    taps = [x[:, :, i : h - a + 1 + i, j : w - b + 1 + j].reshape(n, c, -1) for i in range(a) for j in range(b)]
    return np.stack(taps, 2).reshape(n, c * a * b, -1)


def columns_back(g, x_shape, kernel, turned=False, added=True):
    n, c, h, w = x_shape
    a, b = kernel
    g = g.reshape(n, c, b, a, -1).swapaxes(2, 3) if turned else g.reshape(n, c, a, b, -1)
    out = np.zeros(x_shape)
    for i in range(a):
        for j in range(b):
            part = g[:, :, i, j].reshape(n, c, h - a + 1, w - b + 1)
            at = (slice(None), slice(None), slice(i, h - a + 1 + i), slice(j, w - b + 1 + j))
            out[at] = out[at] + part if added else part
    return out


COLUMNS = Spec(
    "columns",
    Op("columns", columns, LINEAR, x=lambda g, x_shape, kernel: columns_back(g, x_shape, kernel)),
    settings=({"kernel": (2, 3)}, {"kernel": (3, 2)}),
    shapes=(((2, 3, 4, 5),), ((1, 2, 5, 5),)),
)


def test_columns_that_are_unpacked_right_pass():
    assert check(COLUMNS, lambda g, x_shape, kernel: columns_back(g, x_shape, kernel)).passed


@pytest.mark.parametrize(("family", "how"), [("permutation", {"turned": True}), ("overwritten", {"added": False})])
def test_columns_that_are_unpacked_wrongly_are_named(family, how):
    report = check(COLUMNS, lambda g, x_shape, kernel: columns_back(g, x_shape, kernel, **how))
    assert report.diagnoses[0].family == family


POWER_MEAN = Spec(
    "power_mean",
    Op("power_mean", lambda x, *, p: (x**p).mean(-1) ** (1 / p), GENERAL,
       x=lambda g, x, out, p: g[..., None] * x ** (p - 1) / x.shape[-1] * out[..., None] ** (1 - p)),
    settings=({"p": 1.5}, {"p": 3.0}), shapes=(((3, 5),), ((4, 4),)), domain={"x": (0.2, 2.8)},
)  # fmt: skip


def test_a_number_that_is_written_in_for_a_setting_is_named():
    report = check(POWER_MEAN, lambda g, x, out: g[..., None] * x**2 / x.shape[-1] * out[..., None] ** -2)
    assert report.diagnoses[0].family == "setting"
    assert "were 3 in every call" in report.diagnoses[0].text


def test_a_size_in_the_place_of_another_is_named_with_both():
    report = check("attention", Scaled)
    assert "root of the size of the last axis of q" in report.diagnoses[0].text


def softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def Scaled(g, q, k, v):  # noqa: N802
    p = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    h = g @ np.swapaxes(v, -1, -2)
    ds = p * (h - (h * p).sum(-1, keepdims=True)) / np.sqrt(k.shape[-2])
    return ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g


def test_a_rule_that_is_wrong_for_one_setting_says_for_which():
    spec = Spec("var", settings=({"axis": 0}, {"axis": -1}, {"axis": -1, "keepdims": True}), shapes=(((3, 5),), ((4, 4),)))
    report = check(spec, lambda g, x, axis: 2 * (x - x.mean(axis, keepdims=True)) * np.expand_dims(g, axis) / (x.shape[axis] - 1))
    assert "except where keepdims is True" in report.diagnoses[0].text


def test_windows_that_go_on_at_the_beginning_are_named(rng):
    def smoothed(x):
        wide = torch.cat([0 * x[:, :1], x, 0 * x[:, :1]], 1)
        return (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) / 3

    (found,) = diagnose(lambda g, x: (np.roll(g, 1, 1) + g + np.roll(g, -1, 1)) / 3, smoothed, [rng.uniform(0.2, 2.8, (3, 7))])
    assert found.family == "padding"


def instance_norm(x):
    centred = x - x.mean((2, 3), keepdim=True)
    return centred / (x.var((2, 3), correction=0, keepdim=True) + 1e-5).sqrt()


def normal_back(g, x, axes=(2, 3), factor=lambda z, x: z):
    s = np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    z = factor((x - x.mean(axes, keepdims=True)) / s, x)
    return (g - g.mean(axes, keepdims=True) - z * (g * z).mean(axes, keepdims=True)) / s


@pytest.mark.parametrize(
    ("family", "how"),
    [("axis", {"axes": (0, 2, 3)}), ("axis", {"axes": (1, 2, 3)}), ("axis", {"axes": (3,)}), ("variable", {"factor": lambda z, x: x})],
)
def test_slips_in_a_normalisation_are_named_whatever_it_is_called(family, how, rng):
    (found,) = diagnose(lambda g, x: normal_back(g, x, **how), instance_norm, [rng.normal(size=(2, 3, 2, 4))])
    assert found.family == family


def test_rows_of_the_eigenvectors_for_their_columns_are_named():
    def rule(g, x):
        v = np.linalg.eigh((x + x.T) / 2)[1]
        return g * (np.outer(v[-1], v[-1]) - np.outer(v[0], v[0]))

    report = check("spread", rule)
    assert report.diagnoses[0].family == "transposed"
    assert "rows of a factor" in report.diagnoses[0].text


def test_a_right_normalisation_is_right(rng):
    assert diagnose(normal_back, instance_norm, [rng.normal(size=(2, 3, 2, 4))]) == []


def lines_called_from_two_places(module):
    """Where a rule is worked on, if functions of this module call it in two places."""

    def noted():
        return line_of_caller()

    def rule():
        return noted()

    names = {"__name__": module}
    exec("def one(f):\n    return f()\n\ndef other(f):\n    g = f\n    return g()", names)
    return names["one"](rule), names["other"](rule)


def test_a_line_is_the_same_wherever_the_engine_calls_it_from():
    """It does so from another place once functions are written out for an operation, and the same has to be said then."""
    one, other = lines_called_from_two_places("autolab.fast.written")
    assert one == other


def test_a_line_of_a_helper_is_another_where_it_is_called_from_another_line():
    one, other = lines_called_from_two_places("exercise")
    assert one != other


CELLS = {"tanh": (np.tanh, lambda h: 1 - h**2), "exp": (lambda z: np.exp(-0.3 * z), lambda h: -0.3 * h)}


@pytest.mark.parametrize(("cell", "x"), [("tanh", "x"), ("tanh", "a"), ("exp", "a")])
def test_the_state_of_another_step_in_a_derivative_is_named_by_numbers_alone(cell, x, monkeypatch):
    """A square takes its value twice: both are another step's."""
    monkeypatch.setattr("autolab.check.diagnosis.explain.find_repair", lambda *_: None)
    step, slope = CELLS[cell]

    def last_state(x, a):
        h = 0 * x[0]
        for t in range(len(x)):
            h = step(x[t] + a * h)
        return h

    def back(g, x, a, late):
        h = [0 * x[0]]
        for t in range(len(x)):
            h.append(step(x[t] + a * h[t]))
        dx, da = np.zeros_like(x), np.zeros_like(a)
        for t in reversed(range(len(x))):
            dx[t] = g * slope(h[t + 1 - late])
            da, g = da + dx[t] * h[t], a * dx[t]
        return dx, da

    op = Op("last_state", last_state, GENERAL, x=derivative_of_forward, a=derivative_of_forward)
    spec = Spec("last_state", op, shapes=(((5, 3), (3,)), ((4, 4), (4,))))
    assert check(spec, lambda g, x, a: back(g, x, a, 0)).passed
    report = check(spec, lambda g, x, a: back(g, x, a, 1))
    said = [d.text for d in report.diagnoses if d.input == x or f"holds for {x}" in d.text]
    assert said and re.search(rf"uses the result of [^,]*{cell}[^,]* in another step", said[0])
    assert "rounds" not in said[0]  # it is so in each of them


@pytest.mark.parametrize(("name", "rest"), [("matched", 1.0), ("weighted", 0.3)])
def test_another_axis_in_one_of_many_sums_is_named_by_numbers_alone(name, rest, monkeypatch):
    monkeypatch.setattr("autolab.check.diagnosis.explain.find_repair", lambda *_: None)

    def forward(x, y, *, t):
        return (np.log(np.exp(x @ y.T / t).sum(axis=1)) - rest * (x * y).sum(axis=1) / t).sum() + rest * (x * x).mean()

    def back(g, x, y, t, axis):
        e = np.exp(x @ y.T / t)
        d = g * (e / e.sum(axis, keepdims=True) - rest * np.eye(len(x))) / t
        return d @ y + 2 * rest * g * x / x.size, d.T @ x

    op = Op(name, forward, GENERAL, x=derivative_of_forward, y=derivative_of_forward)
    spec = Spec(name, op, shapes=(((4, 3), (4, 3)), ((4, 4), (4, 4))), settings=({"t": 2.0}, {"t": 5.0}))
    assert check(spec, lambda g, x, y, t: back(g, x, y, t, 1)).passed
    report = check(spec, lambda g, x, y, t: back(g, x, y, t, 0))
    assert "the sum in it goes along axis 0" in report.diagnoses[0].text
