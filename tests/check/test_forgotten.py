"""What a derivative on paper has and a rule forgot: a constant's reciprocal or root, the sum below shares, the size of an array."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autolab as torch
from autolab.check import Spec, check, diagnose
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

CONSTANTS = {
    "square of ln 10": (lambda x: x.log() / math.log(10), lambda g, x: g * math.log(10) / x),
    "1 / the square of ln 10": (lambda x: (x * math.log(10)).exp(), lambda g, x: g * 10**x / math.log(10)),
    "square of ln 2": (lambda x: (1 + x).log() / math.log(2), lambda g, x: g * math.log(2) / (1 + x)),
    "square of 180 / pi": (lambda x: (x * math.pi / 180).sin(), lambda g, x: g * np.cos(np.deg2rad(x)) * 180 / math.pi),
    "1 / the square of 180 / pi": (lambda x: x.atan() * 180 / math.pi, lambda g, x: g / (1 + x * x) * math.pi / 180),
    "square of 2 pi": (lambda x: x / (2 * math.pi), lambda g, x: g * 2 * math.pi),
    "1 / the root of pi": (lambda x: torch.erf(x), lambda g, x: g * 2 / math.pi * np.exp(-x * x)),
    "1 / the root of 2 pi": (
        lambda x: (-x * x / 2).exp() / math.sqrt(2 * math.pi),
        lambda g, x: -g * x * np.exp(-x * x / 2) / (2 * math.pi),
    ),
}


@pytest.mark.parametrize(("words", "function", "rule"), [(w, *both) for w, both in CONSTANTS.items()], ids=CONSTANTS)
def test_a_reciprocal_or_a_root_of_a_constant_is_named(words, function, rule, rng):
    (found,) = diagnose(rule, function, [rng.uniform(0.3, 2.7, (3, 5))])
    assert found.family == "constant" and words in found.text
    assert ("root of a constant" if "root" in words else "reciprocal") in found.text


def test_a_constant_of_a_table_row_is_named():
    assert "the reciprocal is used" in check("log10", lambda g, x: g * math.log(10) / x).diagnoses[0].text
    assert "the reciprocal is used" in check("deg2rad", lambda g: g * 180 / math.pi).diagnoses[0].text


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def shares(x):
    return x / x.sum(-1, keepdims=True)


def positive(rng, shapes, settings):
    return tuple(rng.uniform(0.3, 2.7, shape) for shape in shapes)


def of_shares(name, share, outer, h, slope):
    """A function of the shares of a row, and its right rule: `slope` is the derivative for the shares, `outer` what stands before them."""

    def rule(g, x):
        p, d = share(x), slope(share(x))
        return np.expand_dims(g, -1) * outer(x) * (d - (d * p).sum(-1, keepdims=True))

    return Spec(name, Op(name, lambda x: h(share(x)).sum(-1), GENERAL, x=rule), shapes=(((3, 5),), ((4, 4),)), make=positive)


INNER = {
    "entropy": (lambda p: -p * np.log(p), lambda p: -(np.log(p) + 1)),
    "sum of squares": (lambda p: p * p, lambda p: 2 * p),
    "sum of sines": (np.sin, np.cos),
}
OUTER = {"softmax": (softmax, softmax), "x / sum(x)": (shares, lambda x: 1 / x.sum(-1, keepdims=True))}
EVERY = [(of_shares(f"{a} of {b}", *OUTER[b], *INNER[a]), *OUTER[b], INNER[a][1]) for a in INNER for b in OUTER]
IDS = [spec.name for spec, *_ in EVERY]


@pytest.mark.parametrize(("spec", "share", "outer", "slope"), EVERY, ids=IDS)
def test_a_sum_below_shares_that_is_forgotten_is_named(spec, share, outer, slope):
    found = check(spec, lambda g, x: g[..., None] * outer(x) * slope(share(x))).diagnoses[0]
    assert {found.family, *found.alternatives} & {"term", "not summed"}


@pytest.mark.parametrize(("spec", "share", "outer", "slope"), EVERY, ids=IDS)
def test_p_times_1_minus_p_alone_is_named(spec, share, outer, slope):
    found = check(spec, lambda g, x: g[..., None] * outer(x) * (1 - share(x)) * slope(share(x))).diagnoses[0]
    assert "p (1 - p) alone" in found.text


@pytest.mark.parametrize(("spec", "share", "outer", "slope"), EVERY, ids=IDS)
def test_a_derivative_for_the_shares_alone_is_named(spec, share, outer, slope):
    found = check(spec, lambda g, x: g[..., None] * slope(share(x))).diagnoses[0]
    assert found.certainty != "unknown" and {found.family, *found.alternatives} & {"term", "factor", "step"}


def test_a_multiple_of_the_shares_that_is_too_much_is_not_said_to_be_missing():
    spec, share, _, slope = EVERY[0]

    def rule(g, x):
        p, d = share(x), slope(share(x))
        return g[..., None] * p * (d - 3 * (d * p).sum(-1, keepdims=True))

    text = check(spec, rule).diagnoses[0].text
    assert "without one of its terms" not in text and "constant" not in text


# ---------- a size that is written in


def of_rows(name, forward, rule):
    return Spec(name, Op(name, forward, GENERAL, x=rule), shapes=(((3, 5),), ((4, 4),), ((2, 6),)))


SQUARES = of_rows("row_squares", lambda x: (x * x).sum(-1), lambda g, x: 2 * g[..., None] * x)
WAVES = of_rows("waves", lambda x: np.sin(x), lambda g, x: g * np.cos(x))


@pytest.mark.parametrize(
    ("spec", "column"), [(SQUARES, lambda g, x, j: 2 * g * x[:, j]), (WAVES, lambda g, x, j: g[:, j] * np.cos(x[:, j]))], ids=["sum", "map"]
)
def test_a_loop_that_ends_too_early_is_named(spec, column):
    def rule(g, x):
        gradient = np.zeros_like(x)
        for j in range(3):
            gradient[:, j] = column(g, x, j)
        return gradient

    found = check(spec, rule).diagnoses[0]
    assert found.family == "number" and "the first 3 entries" in found.text


def test_a_number_in_the_line_that_fails_is_said_if_it_is_a_size_elsewhere():
    def rule(g, x):
        ones = np.ones((3, 5))
        return 2 * g[..., None] * ones * x

    assert "a size seems to be a fixed number" in check(SQUARES, rule).diagnoses[0].text


def test_a_loop_around_the_line_that_fails_is_shown_and_its_number_said():
    def rule(g, x):
        gradient = np.zeros_like(x)
        for j in range(5):
            column = 2 * g * x[:, j] if len(x) != 2 else g[:1] @ x
            gradient[:, j] = column
        return gradient

    text = check(SQUARES, rule).diagnoses[0].text
    assert "in `for j in range(5)`" in text and "a size seems to be a fixed number" in text


def test_a_number_that_is_no_size_is_not_said():
    def rule(g, x):
        return 7 * g * x

    assert "fixed number" not in check(Spec("kept", Op("kept", lambda x: x[..., :2].sum(-1), ELEMENTWISE, x=lambda g, x: x),
                                            shapes=(((3, 5),),)), rule).diagnoses[0].text  # fmt: skip


# ---------- series of a matrix, the other end of a choice, one axis of a kernel


def series_gradient(coefficient, terms):
    def rule(g, x):
        powers = [np.linalg.matrix_power(x.T, n) for n in range(terms)]
        return sum(coefficient(n) * powers[i] @ g @ powers[n - 1 - i] for n in range(1, terms) for i in range(n))

    return rule


MATRIX_SERIES = {
    "exponential": (torch.linalg.matrix_exp, lambda n: 1 / math.factorial(n)),
    "inverse": (lambda x: torch.linalg.inv(torch.eye(4) - x), lambda n: 1.0),
}


@pytest.mark.parametrize(("function", "coefficient"), MATRIX_SERIES.values(), ids=MATRIX_SERIES)
@pytest.mark.parametrize("terms", [3, 4, 5])
def test_a_series_of_a_matrix_that_is_cut_is_named(function, coefficient, terms, rng):
    x = rng.uniform(-0.4, 0.4, (4, 4))
    (found,) = diagnose(series_gradient(coefficient, terms), function, [x])
    assert found.family == "series" and f"after {terms} terms" in found.text


SECOND = Spec("second_smallest", Op("second_smallest", lambda x: np.sort(x, -1)[..., 1], GENERAL,
                                    x=lambda g, x: g[..., None] * (x == np.sort(x, -1)[..., 1:2])), shapes=(((3, 5),), ((4, 6),)))  # fmt: skip
TRIMMED = Spec("trimmed", Op("trimmed", lambda x: np.sort(x, 0)[:-2].sum(0), GENERAL,
                             x=lambda g, x: g * (x < np.sort(x, 0)[-2])), shapes=(((5, 3),), ((6, 4),)))  # fmt: skip
OTHER_ENDS = {
    "second": (SECOND, lambda g, x: g[..., None] * (x == np.sort(x, -1)[..., -2:-1])),
    "trimmed": (TRIMMED, lambda g, x: g * (x > np.sort(x, 0)[1])),
}


@pytest.mark.parametrize(("operation", "rule"), OTHER_ENDS.values(), ids=OTHER_ENDS)
def test_the_smallest_for_the_largest_is_named(operation, rule):
    found = check(operation, rule).diagnoses[0]
    assert found.family == "mask" and (
        "from the other end" in found.text or "the largest entries where forward took the smallest" in found.text
    )


def windows(x, k):
    return np.lib.stride_tricks.sliding_window_view(x, k.shape)


def spread_over_windows(g, x, k):
    gradient = np.zeros_like(x)
    for i, j in np.ndindex(*g.shape):
        gradient[i : i + k.shape[0], j : j + k.shape[1]] += g[i, j] * k
    return gradient


def seen_by_kernel(g, x, k):
    return np.einsum("ij,ijkl->kl", g, windows(x, k))


CORRELATION = Spec("correlation", Op("correlation", lambda x, k: np.einsum("ijkl,kl->ij", windows(x, k), k), GENERAL,
                                     x=spread_over_windows, k=seen_by_kernel), shapes=(((5, 6), (2, 3)), ((4, 4), (3, 3))))  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1])
def test_a_kernel_that_is_mirrored_along_one_axis_is_named(axis):
    found = check(CORRELATION, lambda g, x, k: (spread_over_windows(g, x, np.flip(k, axis)), seen_by_kernel(g, x, k))).diagnoses[0]
    assert found.family == "flipped" and f"along axis {axis - 2}" in found.text


@pytest.mark.parametrize("axis", [0, 1])
def test_a_gradient_of_a_kernel_that_is_mirrored_along_one_axis_is_named(axis):
    found = check(CORRELATION, lambda g, x, k: (spread_over_windows(g, x, k), np.flip(seen_by_kernel(g, x, k), axis))).diagnoses[0]
    assert found.family == "flipped" and f"along axis {axis - 2}" in found.text
