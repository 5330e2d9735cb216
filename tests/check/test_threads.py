"""A check leaves the threads of BLAS asleep: on a busy machine they wait for each other, and a check of 50 ms takes seconds."""

from __future__ import annotations

import numpy as np
import pytest

import autolab
from autolab.check import diagnose
from autolab.check.diagnosis.gradients.products import _least_squares

SMALL = 1000  # numbers, of which BLAS and LAPACK work alone
DECOMPOSITIONS = ("lstsq", "solve", "svd", "eigh", "inv", "qr")


@pytest.fixture
def positive(rng):
    a = rng.normal(size=(4, 4))
    return a @ a.T + 4 * np.eye(4)


def inverses_for_transposes(g, a):
    low = np.linalg.cholesky(a)
    part = np.tril(np.linalg.inv(low) @ g)
    whole = np.linalg.inv(low).T @ (part - np.diag(np.diag(part)) / 2) @ np.linalg.inv(low)
    return (whole + whole.T) / 2


def test_no_decomposition_of_a_check_is_large_enough_for_threads(monkeypatch, positive):
    sizes = []
    for name in DECOMPOSITIONS:
        function = getattr(np.linalg, name)
        monkeypatch.setattr(np.linalg, name, lambda a, *more, f=function, **how: sizes.append(np.size(a)) or f(a, *more, **how))
    diagnose(inverses_for_transposes, autolab.linalg.cholesky, [positive])
    assert 0 < max(sizes) < SMALL


@pytest.fixture
def columns(rng):
    a = rng.normal(size=(60, 20))
    return a / np.linalg.norm(a, axis=0)


def test_weights_without_blas_are_those_of_least_squares(columns, rng):
    target = rng.normal(size=60)
    assert np.allclose(_least_squares(columns, columns.T @ columns, target), np.linalg.lstsq(columns, target, rcond=None)[0])


def test_a_column_that_depends_on_those_before_has_no_weight(columns):
    columns[:, 7] = (columns[:, 3] + columns[:, 5]) / 2
    weights = _least_squares(columns, columns.T @ columns, columns @ np.eye(20)[[2, 7]].sum(0))
    assert np.allclose(weights, np.eye(20)[2] + np.eye(20)[[3, 5]].sum(0) / 2)
