"""The count of operations: that it sees all arithmetic of a row, and changes none of it."""

import numpy as np
import pytest

from autolab.check.run.operations import FUNCTIONS, TEXTBOOK, Counted, counted, numpy_counts, operations
from autolab.check.run.samples import rules, sample
from autolab.check.run.specs import load_rows
from autolab.rules import TABLE

REFUSE = {"igamma", "igammac", "ctc_loss_back", "ldl_factor", "ldl_solve"}  # with a rule that only says that there is no derivative


@pytest.fixture(scope="module", autouse=True)
def table():
    load_rows()
    return [row for row in TABLE.values() if row.rules and row.name not in REFUSE]


@pytest.fixture(autouse=True)
def ignored():
    with np.errstate(all="ignore"):
        yield


def several(result):
    return [np.asarray(out) for out in (result if isinstance(result, (tuple, list)) else (result,))]


def test_each_row_with_a_derivative_has_a_sample_but_those_that_say_there_is_none(table):
    assert all(sample(row) for row in table)
    for name in REFUSE:
        with pytest.raises(LookupError, match=f"fits '{name}': .*derivative"):
            operations(TABLE[name])


def test_what_is_counted_is_what_the_row_computes(table):
    for row in table:
        arrays, settings = sample(row)
        with numpy_counts():
            result, gradients = rules(row, [a.view(Counted) for a in arrays], settings)
        plain, plain_gradients = rules(row, arrays, settings)
        for a, b in zip(several(result), several(plain), strict=True):
            assert np.allclose(a, b, rtol=1e-10, equal_nan=True), row.name
        for g, plain_g in zip(gradients, plain_gradients, strict=True):
            assert all(np.allclose(a, b, equal_nan=True) for a, b in zip(several(g), several(plain_g), strict=True)), row.name


def test_a_row_that_counts_nothing_only_moves_numbers(table):
    for row in table:
        if not operations(row).forward.any():
            arrays, settings = sample(row)
            parts = [part for a in arrays for part in (np.real(a), np.imag(a))]
            known = np.concatenate([np.ravel(part) for part in parts] + [[0.0, 1.0]])
            made = [part for out in several(row.forward(*arrays, **settings)) for part in (np.real(out), np.imag(out))]
            assert all(np.isin(out, known).all() for out in made), row.name


def test_what_comes_out_of_a_row_counts_on(table):
    for row in table:
        if row.name.startswith("as_strided"):  # a look into memory moves numbers, and nothing is computed after it
            continue
        arrays, settings = sample(row)
        with numpy_counts():
            result = row.forward(*[a.view(Counted) for a in arrays], **settings)
        for out in result if isinstance(result, (tuple, list)) else (result,):
            assert isinstance(out, Counted) or np.ndim(out) == 0, row.name


@pytest.mark.parametrize(
    ("name", "forward", "backward"),
    [("mm", 32 * 32 * 63, 2 * 32 * 32 * 63), ("sum", 8 * 49, 0), ("cumsum", 8 * 49, 8 * 49), ("index_add", 50, 0), ("gather", 0, 9),
     ("conv_input", 2 * 9 * 3 * 64 * (7 + 1), None), ("einsum", 32 * 32 * 63, 2 * 32 * 32 * 63), ("cholesky", 2 * 8**3 / 3, None)],
)  # fmt: skip
def test_the_count_of_a_row_is_that_of_its_formula(name, forward, backward):
    counts = operations(TABLE[name])
    assert counts.forward.sum() == pytest.approx(forward)
    assert backward is None or counts.rules.sum() == backward


def test_a_function_counts_apart_and_whole_numbers_count_nothing():
    before, x = counted.copy(), np.full(7, 0.5).view(Counted)
    np.exp(x * 2) + np.arange(7)
    np.arange(7).view(Counted) + 1
    assert (counted - before).tolist() == [14, 7]


def test_the_names_of_functions_are_those_of_numpy():
    assert all(isinstance(getattr(np, name), np.ufunc) for name in FUNCTIONS)


@pytest.mark.parametrize("function", [np.linalg.inv, np.linalg.det, np.linalg.cholesky, np.linalg.eigh, np.linalg.svd, np.linalg.qr])
def test_a_textbook_count_of_matrices_is_that_of_one_times_their_number(function):
    one, many = np.eye(6), np.stack([np.eye(6)] * 5)
    assert 0 < TEXTBOOK[function](None, many) == pytest.approx(5 * TEXTBOOK[function](None, one))


def test_numpy_is_back_when_the_count_stops():
    compute, forward = TABLE["erf"].compute, TABLE["add_at"].forward
    with pytest.raises(LookupError), numpy_counts():
        raise LookupError
    assert forward.__globals__["np"] is np and TABLE["erf"].compute is compute
