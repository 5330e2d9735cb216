"""What a learner sees besides points: both Jacobians, remarks, attempts; and what a program sees."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from autolab.check import JSON_SCHEMA, check
from autolab.check.run.candidate import own_time
from autolab.utils import progress

from .right import Square, SquareWithAttribute
from .right_more import Exp, TanhLoops
from .wrong import ForgetsToSum


def first_term_only(g, out, axis):
    return g * out


def test_the_two_jacobians_show_what_is_missing():
    report = check("softmax", first_term_only)
    lines = report.picture().splitlines()
    assert lines[0] == "d result / d x, 15 by 15: 75 of 225 derivatives differ, 60 missing"
    assert lines[2].split()[0] == "+!.!.!.!.!."
    assert report.jacobians.right.shape == (15, 15)


def test_the_picture_is_valid_svg_with_a_text_alternative():
    html = check("softmax", first_term_only)._repr_html_()
    svg = html[html.index("<svg") : html.index("</svg>") + 6]
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert "60 missing" in root.get("aria-label")
    assert len([r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("fill-opacity")]) == 15 + 75


def test_a_right_rule_and_one_that_ignores_g_have_no_picture():
    assert check("square", Square).picture() == ""
    assert check("square", lambda g, x: 2 * x).picture() == ""


def test_a_report_keeps_its_schema():
    validate = pytest.importorskip("jsonschema").validate
    for rule in (Square, lambda g, x: x, lambda g, x: g * np.nan, lambda g, x: None, lambda g: g[0]):
        validate(json.loads(check("square", rule).to_json()), JSON_SCHEMA)
    validate(json.loads(check("mul", ForgetsToSum).to_json()), JSON_SCHEMA)


def test_a_rule_that_prints_is_right_and_told_so():
    def talks(g, x):
        print("x is", x.shape)
        return 2 * g * x

    report = check("square", talks)
    assert report.passed
    assert "note: your rule prints, which is not shown while it is checked: 'x is (3, 5)'" in str(report)


def test_a_slow_rule_is_right_and_told_so():
    def slow(g, x):
        while slow.until > own_time():
            pass
        return 2 * g * x

    slow.until = own_time() + 0.32
    report = check("square", slow, seconds=60)  # of the clock; a busy machine takes ten for 0.3 s of work
    assert report.passed
    assert "one call takes 0.3" in report.notes[0]


def test_attempts_are_counted_on_the_learners_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOLAB_HOME", str(tmp_path))
    check("square", lambda g, x: g * x)
    report = check("square", Square)
    assert report.attempt == 2
    assert ", attempt 2" in report._repr_html_()
    assert progress.read()["exercise"]["square"] == {
        "attempts": 2, "right": True, "last": "8 of 8", "when": progress.read()["exercise"]["square"]["when"],
    }  # fmt: skip


def test_a_wrong_attempt_is_kept_with_its_diagnosis(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOLAB_HOME", str(tmp_path))
    check("square", lambda g, x: g * x)
    assert "0.5 times the right one" in progress.read()["exercise"]["square"]["last"]


def test_nothing_is_kept_while_a_grader_runs_or_where_it_is_off(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOLAB_HOME", str(tmp_path))
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    check("square", Square)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("AUTOLAB_HOME", "off")
    assert check("square", Square).attempt == 0


@pytest.mark.parametrize("rule", [Square, SquareWithAttribute])
def test_a_rule_made_of_operations_on_tensors_can_be_differentiated_again(rule):
    report = check("square", rule, second_order=True)
    assert report.passed, str(report)
    assert report.verdicts[-1].name == "second order"


def test_a_rule_that_leaves_the_engine_cannot_be_differentiated_again():
    report = check("tanh", TanhLoops, second_order=True)
    assert [v.name for v in report.verdicts if not v.passed] == ["second order"]
    assert check("tanh", TanhLoops).passed
    assert check("exp", Exp, second_order=True).passed
