"""An operation of an instructor's own: proven when it is added, checked in the release, and its rule is not there to be read."""

import nbformat
import numpy as np
import pytest

from autolab.check import Report
from autolab.course.grading.sandbox import Limits
from autolab.course.grading.selftest import selftest
from autolab.course.grading.worker import Job, grade
from autolab.course.notebook import build, from_markdown
from autolab.course.own_spec import without_rules
from autolab.course.release import form_of_source, release_of
from autolab.course.scaffold import add_exercise
from autolab.course.solutions import read, solve

SPEC = '''
"""The derivative is one over (1 + |x|) squared."""
from autolab.check import Spec
from autolab.engine.op import ELEMENTWISE, Op
import numpy as np

def denominator(x):
    return 1 + np.abs(x)

def slope(x):
    "The answer."
    return 1 / denominator(x) ** 2  # the answer

SPEC = Spec("softsign", Op("softsign", lambda x: x / denominator(x), ELEMENTWISE, x=lambda g, x: g * slope(x)))
'''
PRODUCT = """
from autolab.check import Spec
from autolab.engine.op import ELEMENTWISE, Op
import numpy as np
SPEC = Spec("growth", Op("growth", lambda x, y, *, rate=0.5: np.exp(rate * x) * y, ELEMENTWISE,
                         x=lambda g, out, rate: rate * g * out, y=lambda g, x, rate: g * np.exp(rate * x)), settings=({"rate": 0.7},))
"""

STEPS = """
from autolab.check import Spec
from autolab.engine.op import ELEMENTWISE, Op
import numpy as np
SPEC = Spec("steps", Op("steps", lambda x: np.floor(x), ELEMENTWISE, x=lambda g, x: g * (np.abs(x) <= 2)), surrogate=True)
"""


@pytest.fixture
def add(tmp_path):
    def added(code, name="own"):
        (tmp_path / "spec.py").write_text(code)
        text = add_exercise(tmp_path, "ps9", name, tmp_path / "spec.py")
        return read(tmp_path / "source" / "ps9" / f"{text.stem}.ipynb")

    return added


@pytest.mark.parametrize("code", [SPEC, PRODUCT, STEPS])
def test_the_solution_is_made_from_the_rules_and_gets_all_points(add, code):
    found = [value for value in solve(add(code)).values() if isinstance(value, Report)]
    assert [r.max_points for r in found] == [8.0, 2.0] and all(r.passed for r in found)


def test_the_release_has_a_check_that_says_how_an_answer_is_wrong_and_no_rule(add):
    release = release_of(add(SPEC))
    shown = "\n".join(cell.source for cell in release.cells)
    assert "slope" not in shown and "answer" not in shown and "** 2" not in shown and "derivative_of_forward" in shown
    wrong = {"own": "def own_backward(g, x): return g / (1 + np.abs(x))"}
    report = solve(release, wrong)["own-check"]
    assert report.diagnoses[0].family == "term" and report.points < 3


def test_a_student_is_graded_by_both(add):
    source = add(SPEC)
    for cell in source.cells:
        if cell.id == "own":
            cell.source = "def own_backward(g, x): return g * np.sign(x)"
    done = grade(Job("ada", "ps9", "own", nbformat.writes(source), (), form_of_source(source), 7, Limits(), "limits"))
    assert done.scores == {"own-check": 0.0, "own-hidden": 0.0} and {d["cell"] for d in done.diagnoses} == {"own-check", "own-hidden"}


def test_where_inputs_have_the_same_shape_the_text_says_so_and_nothing_is_summed(add):
    source = add(PRODUCT.replace("settings=", "broadcast=False, settings="))
    shown = "\n".join(cell.source for cell in source.cells)
    assert "; the inputs have the same shape." in shown and "sum_to" not in shown
    assert all(r.passed for r in solve(source).values() if isinstance(r, Report))


def test_the_rule_of_a_surrogate_is_given_in_the_check_and_is_no_leak(add, tmp_path):
    assert "derivative_of_forward" not in "\n".join(cell.source for cell in add(STEPS).cells)
    assert not selftest(tmp_path / "source" / "ps9" / "own.ipynb", mode="limits").problems


def test_a_wrong_rule_is_refused_before_anything_is_written(add, tmp_path):
    with pytest.raises(ValueError, match=r"spec.py: the rule for x is not the derivative of forward: at x = .*, differences of forward"):
        add(SPEC.replace("** 2  #", "** 1  #"))
    assert not (tmp_path / "text").exists()


def test_a_spec_that_cannot_be_called_is_said_in_a_sentence_and_once(add, tmp_path):
    wrong = SPEC.replace("lambda x: x / denominator(x)", "lambda x: float(x) / denominator(x)")
    with pytest.raises(ValueError, match="spec.py: forward, or what makes its inputs, raises TypeError"):
        add(wrong)
    add(SPEC)
    text = tmp_path / "text" / "ps9" / "own.md"
    text.write_text(text.read_text().replace("lambda x: x / denominator(x)", "lambda x: float(x) / denominator(x)"))
    build(tmp_path)
    assert len(selftest(tmp_path / "source" / "ps9" / "own.ipynb", mode="limits").problems) == 1


def test_a_wrong_rule_of_a_matrix_is_shown_with_its_entry(add):
    code = "from autolab.check import Spec\nfrom autolab.engine.op import GENERAL, Op\n"
    row = "Op('flip', lambda x: x.T, GENERAL, x=lambda g: g)"
    with pytest.raises(ValueError, match=r"forward: at x\[0, 1\] = [-\d.]+: the rule gives"):
        add(f"{code}SPEC = Spec('flip', {row}, shapes=(((3, 3),), ((4, 4),)))")


def test_a_function_of_numpy_as_forward_is_refused_with_what_to_write(add):
    with pytest.raises(ValueError, match=r"spec.py: write forward and rules as functions of Python, such as lambda"):
        add(SPEC.replace("lambda x: x / denominator(x)", "np.tanh"))


@pytest.mark.parametrize(
    ("code", "said"),
    [("SPEC = 3", "keywords"), ("rules = dict(x=f)\nSPEC = Spec('a', Op('a', f, **rules))", "keywords"), ("SPEC = (", "never closed")],
)
def test_a_spec_whose_rules_cannot_be_left_out_is_refused_with_its_line(code, said):
    with pytest.raises(ValueError, match=rf"n.md, line 2: .*{said}"):
        from_markdown(f"\n```spec own own_backward 8 2\n{code}\n```\n", "n.md")


def test_what_only_the_rules_need_is_left_out_with_them():
    names = {"np": np}
    exec(without_rules(SPEC), names)
    assert "denominator" in names and "slope" not in names


@pytest.mark.parametrize("points", [20.0, 6.67, 0.5])
def test_points_are_shared_without_a_rest(add, tmp_path, points):
    (tmp_path / "spec.py").write_text(SPEC)
    add_exercise(tmp_path, "ps9", "own", tmp_path / "spec.py", points)
    found = [v for v in solve(read(tmp_path / "source" / "ps9" / "own.ipynb")).values() if isinstance(v, Report)]
    assert sum(r.points for r in found) == pytest.approx(points) == sum(r.max_points for r in found)
