"""What `check` says where the inputs, or the number of results, do not fit: what to do."""

from __future__ import annotations

import numpy as np
import pytest

import autolab
from autolab.check import Spec, check, diagnose
from autolab.engine.op import GENERAL, Op


@pytest.mark.parametrize("name", ["topk", "sort", "eigh", "svd", "qr", "cummax", "std_mean", "kthvalue", "split"])
def test_a_row_with_several_results_says_to_name_one(name):
    spec = Spec(name, shapes=(((4, 4),), ((3, 3),)), settings=({"k": 2, "axis": -1},))
    for refused in (lambda: check(spec, lambda g, x: g), lambda: diagnose(lambda g, x: g, name, [np.eye(3)])):
        with pytest.raises(LookupError, match=r"results, and .* one. Name the result .*diagnose\(rule, lambda x: autolab.sort\(x\)\[0\]"):
            refused()


def test_what_it_says_to_do_works():
    x = np.array([[0.3, 1.7, -0.4], [2.6, -1.2, 0.9]])
    back = lambda g, x: np.take_along_axis(g, np.argsort(np.argsort(x, -1), -1), -1)
    assert diagnose(back, lambda x: autolab.sort(x)[0], [x]) == []


@pytest.mark.parametrize("name", ["sum", "flip", "amax"])
def test_an_axis_that_is_not_there_is_no_bare_error(name):
    with pytest.raises(LookupError, match="do not fit .*axis 5 is out of bounds") as raised:
        check(Spec(name, shapes=(((3, 4),),), settings=({"axis": 5},)), lambda g, x: g)
    assert type(raised.value) is LookupError


def positive_definite(rng, shapes, settings):
    a = rng.normal(size=shapes[0])
    return (a @ a.T + 3 * np.eye(len(a)),)


def cholesky_back(g, x, out):
    p = np.tril(out.T @ g) * (1 - np.eye(len(x)) / 2)
    s = np.linalg.solve(out.T, np.linalg.solve(out.T, p.T).T)
    return (s + s.T) / 2


def test_inputs_that_are_made_keep_their_form():
    factor = Op("factor", lambda x: np.linalg.cholesky(x), GENERAL, x=cholesky_back)
    spec = Spec("factor", factor, shapes=(((3, 3),), ((4, 4),)), make=positive_definite)
    assert check(spec, cholesky_back).passed and not check(spec, lambda g, x, out: cholesky_back(g, x, out).T * 2).passed


def test_inputs_of_an_own_spec_that_do_not_fit_are_said_to_be_its_own():
    spec = Spec("factor", Op("factor", lambda x: np.linalg.cholesky(x), GENERAL, x=cholesky_back), shapes=(((3, 3),),))
    with pytest.raises(LookupError, match=r"the inputs that this Spec\('factor', ...\) draws do not fit its forward: LinAlgError: "):
        check(spec, cholesky_back)


def scaled(x, y, eps=0.1):
    return x * y / (1 + eps)


def starred(x, y, *, eps=0.1):
    return x * y / (1 + eps)


@pytest.mark.parametrize(
    ("forward", "given", "words"),
    [
        (scaled, {"settings": ({"eps": 0.2},)}, r"name 'eps', which .* an input.* after a star: def forward\(x, y, \*, eps\)"),
        (scaled, {}, r"those of 2 inputs in .*, and its forward takes 3: x, y, eps\. .* after a star"),
        (starred, {"settings": ({"eps": 0.2},)}, None),
    ],
)
def test_a_setting_that_is_written_as_an_input_is_named(forward, given, words):
    row = Op("scaled", forward, GENERAL, x=lambda g, y, eps=0.1: g * y / (1 + eps), y=lambda g, x, eps=0.1: g * x / (1 + eps))
    spec = Spec("scaled", row, shapes=(((3,), (3,)),), **given)
    rule = lambda g, x, y, eps=0.1: (g * y / (1 + eps), g * x / (1 + eps))
    if words is None:
        assert check(spec, rule).passed
        return
    with pytest.raises(LookupError, match=words):
        check(spec, rule)
