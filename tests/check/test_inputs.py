"""What `check` says where the inputs, or the number of results, do not fit: what to do."""

from __future__ import annotations

import numpy as np
import pytest

import autolab
from autolab.check import Spec, check, diagnose


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
