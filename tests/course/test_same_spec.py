"""What the specs of a class have in common is made once, and no two specs are taken for one that could judge differently."""

import pytest

from autolab.course.grading import judge
from autolab.course.grading.judge import Judge
from autolab.course.grading.proxies import Proxy
from autolab.course.grading.same_spec import known_spec

from .test_judge import session

SOURCE = """
import numpy as np
from autolab.check import Kink, Spec, derivative_of_forward
from autolab.engine.op import ELEMENTWISE, Op
SLOPE = {slope}
TABLE = np.array([1.0, {entry}])
def steep(x, power={power}):
    return x ** power * TABLE[0] + SLOPE
SPEC = Spec("own", Op("own", lambda x: {forward}, ELEMENTWISE, x={rule}), {more})
"""
USUAL = {"slope": 2, "entry": 3.0, "power": 2, "forward": "steep(x)", "rule": "lambda g, x: 2 * g * x", "more": ""}


def made(names=None, **changes):
    names = {"__name__": "__judge__"} | (names or {})
    exec(compile(SOURCE.format(**USUAL | changes), "<own>", "exec"), names)
    return names["SPEC"]


def test_specs_from_one_source_are_one():
    assert known_spec(made()).spec is known_spec(made()).spec


@pytest.mark.parametrize(
    "change",
    [
        {"slope": 3}, {"slope": 2.0}, {"entry": 4.0}, {"power": 3}, {"forward": "steep(x) + 0"}, {"rule": "lambda g, x: 2.5 * g * x"},
        {"rule": "derivative_of_forward"}, {"more": "kink=Kink('x', 0.0, (0.0, 1.0), 0.0)"}, {"more": "extreme={'x': (-800.0, 900.0)}"},
        {"more": "settings=({'n': 2},)"}, {"more": "make=lambda rng, shapes, settings: ()"}, {"more": "points={'value': 3.0}"},
        {"forward": "np.exp(steep(x))"}, {"forward": "(lambda y: steep(y))(x)"},
    ],
)  # fmt: skip
def test_specs_that_differ_in_anything_are_two(change):
    assert known_spec(made(**change)).spec is not known_spec(made()).spec


def test_a_spec_that_asks_the_student_is_never_taken_for_another():
    names = {"theirs": Proxy("theirs", print)}
    assert known_spec(made(names, forward="theirs(x)")) is None
    assert known_spec(made(names, slope="theirs")) is None
    assert known_spec(made(names)) is not None


def test_a_forward_in_a_module_of_the_instructors_own_is_read(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    known = []
    for factor in ("2", "3"):
        (tmp_path / f"operations{factor}.py").write_text(f"FACTOR = {factor}\ndef twice(x):\n    return FACTOR * x\n")
        module = __import__(f"operations{factor}")
        module.twice.__module__ = "operations"
        known.append(known_spec(made({"twice": module.twice}, forward="twice(x)")).spec)
    assert known[0] is not known[1]


TEST = SOURCE.format(**USUAL) + "from autolab.check import check\ncheck(SPEC, backward, points=8)"


def test_the_reference_is_made_once_for_a_class_and_each_student_has_their_own_verdict(monkeypatch):
    times = []
    monkeypatch.setattr(judge, "require", lambda *a: times.append(a))
    monkeypatch.setattr(judge, "_CASE_SETS", {})
    reports = [Judge(session(rule), 5).run(TEST, "<own>").report for rule in ("2 * x * g", "x * g", "(x * 2) * g")]
    assert [r.passed for r in reports] == [True, False, True] and len(times) == 1
    assert reports[0].points == reports[2].points == 8 > reports[1].points
