"""Every operator of PyTorch's database: run on its first samples, or absent for a reason, or different for a reason.

The whole set of samples is `python -m tests.oracle.compare --all`.
"""

import itertools
from pathlib import Path

import pytest

from .compare import here, operators, problems

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
SAMPLES, WRONG = 2, 8


def reasons(name):
    """{operator: reason} of a file beside this one, whose lines are `reason: operator operator ...` or `operator: reason`."""
    lines = (Path(__file__).parent / name).read_text().splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    if name == "different.txt":
        return dict(pairs)
    return {operator: reason for reason, found in pairs for operator in found.split()}


OPERATORS = operators()
ABSENT, DIFFERENT = reasons("absent.txt"), reasons("different.txt")
PRESENT = [name for name, info in OPERATORS.items() if here(info) is not None]


def test_what_is_absent_is_absent_for_a_reason():
    names = {info.name for name, info in OPERATORS.items() if name not in PRESENT}
    assert sorted(names - ABSENT.keys()) == []


def test_what_has_appeared_has_left_the_list():
    assert sorted(ABSENT.keys() & {OPERATORS[name].name for name in PRESENT}) == []


def test_the_lists_name_operators_of_pytorch():
    assert sorted(ABSENT.keys() - {info.name for info in OPERATORS.values()}) == sorted(DIFFERENT.keys() - OPERATORS.keys()) == []


@pytest.mark.parametrize("name", [name for name in PRESENT if name not in DIFFERENT])
def test_the_operator_is_pytorchs(torch, name):
    dtypes = ("float64", "int64", "bool")
    found = problems(OPERATORS[name], dtypes, limit=SAMPLES, wrong=WRONG)
    assert list(itertools.islice(found, 5)) == []


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_different_still_is(torch, name):
    assert any(True for _ in problems(OPERATORS[name], ("float64",)))
