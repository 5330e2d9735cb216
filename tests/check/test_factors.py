"""Functions that give a factor of a matrix, indices into another array, and sums that were taken of g alone."""

import numpy as np
import pytest

import autolab
from autolab.check import check, diagnose

FACTOR = [lambda a: autolab.linalg.qr(a)[0], lambda a: autolab.linalg.qr(a)[1]]
MATRICES = [np.array([[4.0, 1.0, 0.3], [0.5, 2.0, -0.6], [0.2, -0.9, 7.0]]), np.array([[4.0, 1.0], [0.5, 2.0], [-0.3, 1.5]])]


def both(m):
    return m + np.tril(m, -1).T


def rule(which, m, g, a):
    q, r = np.linalg.qr(a)
    return (q @ m(r @ g.T) if which else g + q @ m(-g.T @ q)) @ np.linalg.inv(r).T


@pytest.mark.parametrize("a", MATRICES)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    ("m", "said"),
    [
        (lambda m: np.tril(m), "has the triangle alone"),
        (lambda m: np.tril(m) + np.tril(m).T, "counts the diagonal of the triangle twice"),
        (lambda m: both(np.triu(m)), "keeps the other triangle"),
        (lambda m: both(m), "keeps the whole matrix"),
    ],
)
def test_the_triangle_of_a_qr_factorisation_is_named(a, which, m, said):
    (found,) = diagnose(lambda g, a: rule(which, m, g, a), FACTOR[which], [a])
    assert said in found.text and found.certainty != "unknown"


@pytest.mark.parametrize("which", [0, 1])
def test_the_right_rule_of_qr_is_right(which):
    assert all(diagnose(lambda g, a: rule(which, lambda m: both(np.tril(m)), g, a), FACTOR[which], [a]) == [] for a in MATRICES)


@pytest.mark.parametrize(("which", "other"), [(0, "R"), (1, "Q")])
def test_a_factor_that_is_taken_for_a_constant_is_named(which, other):
    wrong = lambda g, a: g @ np.linalg.inv(np.linalg.qr(a)[1]).T if which == 0 else np.linalg.qr(a)[0] @ g
    assert f"takes {other} for a constant" in diagnose(wrong, FACTOR[which], [MATRICES[1]])[0].text


def test_the_name_of_the_matrix_does_not_matter():
    found = diagnose(lambda g, q: g @ np.linalg.inv(np.linalg.qr(q)[1]).T, lambda q: autolab.linalg.qr(q)[0], [MATRICES[1]])
    assert "takes R for a constant" in found[0].text


def put(choose):
    def backward(g, x, axis):
        out = np.zeros_like(x)
        choose(out, x, axis, np.expand_dims(g, axis))
        return out

    return backward


@pytest.mark.parametrize("index", [lambda x, n: x.argmax() % n, lambda x, n: min(x.argmax(), n - 1), lambda x, n: x.argmax()])
def test_an_index_of_the_flattened_array_along_an_axis_is_named(index):
    wrong = put(lambda out, x, axis, g: np.put_along_axis(out, np.full(g.shape, index(x, x.shape[axis])), g, axis))
    found = check("amax", wrong).diagnoses[0]
    assert found.family == "axis" and "of the largest entry of the whole x" in found.text


def test_an_index_along_an_axis_in_the_flattened_array_is_named():
    assert "in the flattened x" in check("amax", put(lambda out, x, axis, g: np.put(out, x.argmax(axis), g))).diagnoses[0].text


def test_the_first_of_equal_entries_is_still_a_tie():
    wrong = put(lambda out, x, axis, g: np.put_along_axis(out, np.expand_dims(x.argmax(axis), axis), g, axis))
    assert check("amax", wrong).diagnoses[0].family == "tie"


def test_g_that_is_summed_and_then_times_a_mean_is_named():
    wrong = lambda g, out, axis: out * (g - g.sum(axis, keepdims=True) * out.mean(axis, keepdims=True))
    found = check("softmax", wrong).diagnoses[0]
    assert found.certainty == "certain" and "by the mean of its partners" in found.text
