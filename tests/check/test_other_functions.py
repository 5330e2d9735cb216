"""Functions of matrices, choices, layouts, inputs that change places, scenes that are replayed: single cases with their sentences."""

from __future__ import annotations

import numpy as np
import pytest

import autolab
from autolab.check import check, diagnose
from autolab.check.diagnosis.formulas.textbook import TEXTBOOKS, cholesky, determinant, eigh, log_determinant
from autolab.rules import TABLE
from autolab.rules.matrix import cholesky_rule, eigh_rule

R = np.random.default_rng(21)


def numbers(*shape):
    return R.uniform(0.25, 1.75, shape) * R.choice([-1, 1], shape)


def said(found):
    return " ".join(d.text for d in getattr(found, "diagnoses", found))


A = numbers(4, 4)
S = A @ A.T + 4 * np.eye(4)


def test_each_textbook_rule_belongs_to_a_row():
    assert all(row in TABLE and x in TABLE[row].rules for rules in TEXTBOOKS for row, x in rules)


def test_the_textbook_rules_of_factorisations_give_what_those_of_the_table_give():
    low, (w, v) = np.linalg.cholesky(S), np.linalg.eigh(S)
    g, of_values = np.tril(numbers(4, 4)), numbers(4)
    assert np.allclose(cholesky(g, low), cholesky_rule(g, low))
    assert np.allclose(eigh((of_values, A), w, v), eigh_rule((of_values, A), w, v))


def test_the_textbook_rules_of_determinants_give_the_cofactors():
    assert np.allclose(determinant(np.array(1.0), A, np.linalg.det(A)), np.linalg.det(A) * np.linalg.inv(A).T)
    assert np.allclose(log_determinant((None, np.array(1.0)), A), np.linalg.inv(A).T)


def test_a_function_of_a_matrix_that_is_taken_for_one_of_a_number_is_named():
    power = lambda x: autolab.linalg.matrix_exp(x)  # noqa: E731
    slope = lambda x: autolab.linalg.matrix_exp(autolab.tensor(x.T)).numpy()  # noqa: E731
    assert "as if x and its change commuted" in said(diagnose(lambda g, x: slope(0.3 * x) @ g, lambda x: power(0.3 * x) / 0.3, [A]))


def test_a_largest_eigenvalue_that_is_taken_for_the_smallest_is_another_entry():
    def rule(g, x):
        v = np.linalg.eigh(x.T @ x)[1][:, 0]
        return 2 * g * x @ np.outer(v, v)

    assert "another entry than forward takes" in said(diagnose(rule, lambda x: autolab.linalg.eigvalsh(x.mT @ x)[-1], [numbers(5, 3)]))


def test_a_matrix_of_many_numbers_is_not_made_to_look_for_regions():
    sizes = []

    def rule(g, x):
        sizes.append(x.size)
        inverse = np.linalg.inv(x @ x.T + np.eye(len(x)))
        return 2 * g * inverse @ inverse @ x @ (x.T @ x)

    check("logdet_covariance", rule)
    assert max(sizes) < 100


def test_three_numbers_are_not_read_as_a_sum_of_three_products():
    def loss(s, b):
        z = autolab.linalg.solve_triangular(autolab.linalg.cholesky(s), b[:, None], upper=False)
        return (z * z).sum()

    def rule(g, s, b):
        z = np.linalg.solve(s, b)
        return -g * np.outer(z, z), 2 * g * np.linalg.solve(np.linalg.cholesky(s), b)

    assert "product too many" not in said(diagnose(rule, loss, [S[:3, :3], numbers(3)]))


def test_a_mask_of_an_index_stays_one_when_numbers_near_by_are_tried():
    mask = np.array([[True, False, True], [False, True, True]])

    def rule(g, x, m):
        out = np.zeros_like(x)
        out.ravel()[: len(g)] = g
        return out, None

    assert "wrong places" in said(diagnose(rule, lambda x, m: x[m], [numbers(2, 3), mask]))


def test_a_choice_of_the_next_in_size_is_said():
    def rule(g, x):
        out = np.zeros_like(x)
        out[np.arange(len(x)), np.argsort(x, 1)[:, 3]] = g
        return out

    assert "next larger entry" in said(diagnose(rule, lambda x: x.median(dim=1)[0], [numbers(4, 6)]))


def test_what_is_not_chosen_by_size_is_not_said_by_size():
    assert "smallest" not in said(diagnose(lambda g, x: np.roll(g, 3, -1), lambda x: x.roll(1, -1), [numbers(3, 6)]))


def test_a_lost_contribution_of_an_index_is_not_called_a_constant():
    def rule(g, x, i, j):
        out = np.zeros_like(x)
        out[i, j] = g
        return out, None, None

    places = np.array([0, 2, 3, 2]), np.array([1, 1, 0, 1])
    assert diagnose(rule, lambda x, i, j: x[i, j], [numbers(4, 4), *places])[0].family == "overwritten"


def test_halves_that_forward_takes_the_other_way_round_are_said():
    def rule(g, x):
        a, b = x[:, 3:], x[:, :3]
        s = 1 / (1 + np.exp(-b))
        return np.concatenate([g * a * s * (1 - s), g * s], 1)

    def gate(x):
        a, b = x.chunk(2, dim=1)
        return a * b.sigmoid()

    assert "its halves are exchanged" in said(diagnose(rule, gate, [numbers(3, 6)]))


def test_contributions_that_are_averaged_in_part_are_said():
    counts = np.array([1.0, 2.0, 3.0, 2.0, 1.0])  # of the windows of three that cover each place
    rule = lambda g, x: np.stack([(g / counts)[k : k + 3] for k in range(3)])  # noqa: E731
    forward = lambda x: sum(autolab.nn.functional.pad(x[k], (k, 2 - k)) for k in range(3))  # noqa: E731
    assert "averaged in part" in said(diagnose(rule, forward, [numbers(3, 3)]))


def test_a_step_of_forward_that_a_rule_does_not_know_is_said():
    def covariance(x):
        d = x - x.mean(1, keepdim=True)
        return (d * d).sum(1).exp()

    rule = lambda g, x: g[:, None] * 2 * x * np.exp((x * x).sum(1, keepdims=True))  # noqa: E731
    assert "never takes off the result of mean" in said(diagnose(rule, covariance, [numbers(3, 5) / 2]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g, z, u: (g - u * (u.conj() * g).real) / z.abs() ** 2, "divided once more"),
        (lambda g, z, u: (g - u * (u.conj() * g).imag) / z.abs(), "an imaginary part where a real part belongs"),
        (lambda g, z, u: (g - u * (u.conj() * g).real / 2) / z.abs(), "half as large"),
        (lambda g, z, u: -u * (u.conj() * g).real / z.abs(), "misses one of its terms"),
    ],
)
def test_a_scene_of_complex_numbers_is_replayed(change, words):
    class Phase(autolab.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z / z.abs()

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return change(g, z, z / z.abs())

    assert words in said(check("unit_phase", Phase))


def test_a_scene_of_an_estimator_is_replayed():
    def control(g, h, mean):
        c = ((g - g.mean()) * (h - h.mean())).mean() / h.var(ddof=1)
        return (g.mean() - c * (h.mean() - mean), c) if h.var() else (g.mean(), 0.0)

    assert "divides by n - 1 where n belongs" in said(check("control_variate", control))


def test_the_gradient_of_another_input_is_named_in_a_scene():
    class Quotient(autolab.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a / b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return -g * (a / b**2).conj(), g / b.conj()

    assert "is the one that b should receive" in said(check("complex_quotient", Quotient))


def test_what_is_left_in_frequencies_is_named_in_a_scene():
    class Filter(autolab.autograd.Function):
        @staticmethod
        def forward(ctx, x, h):
            spectrum = autolab.fft.fft(x)
            ctx.save_for_backward(spectrum, h)
            return autolab.fft.ifft(spectrum * h)

        @staticmethod
        def backward(ctx, g):
            spectrum, h = ctx.saved_tensors
            back = autolab.fft.fft(g) / len(g)
            return back * h.conj(), back * spectrum.conj()

    assert "Fourier transform" in said(check("circular_filter", Filter))
