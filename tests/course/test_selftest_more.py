"""What `autolab course check` says before it grades: wrong references, labels without a meaning, answers that reach into tests."""

import pytest

from autolab.course.grading.selftest import selftest, with_checks_judged
from autolab.course.notebook import build, from_markdown
from autolab.course.solutions import families, label_problems

from .test_selftest import OWN

HELPER = "def root(x):\n    return np.sqrt(x)\n"
CHALLENGE = """
```python answer double
def double(g, x):
    ### BEGIN SOLUTION
    return 2 * g * x
    ### END SOLUTION
```

```python
from autolab.check import check

check("square", double)
```

```python
check("square", lambda g, x: g)
```
"""


@pytest.fixture
def course(tmp_path):
    """Proves a notebook of this text, with these wrong answers."""

    def proven(text, wrong=""):
        for folder in ("text/ps", "wrong"):
            (tmp_path / folder).mkdir(parents=True)
        (tmp_path / "text" / "ps" / "own.md").write_text(text)
        (tmp_path / "wrong" / "ps.md").write_text(wrong)
        (path,) = build(tmp_path)
        return selftest(path, mode="limits")

    return proven


def test_a_wrong_reference_is_all_that_is_said(course):
    (problem,) = course(OWN.replace("x=lambda g, x: g / (1 + np.abs(x)) ** 2", "x=lambda g, x: g / (1 + np.abs(x))")).problems
    assert "own.ipynb, exercise softsign: the rule for x is not the derivative of forward: at x = " in problem


def test_a_solution_that_uses_what_a_test_defines_is_named_before_it_is_graded(course):
    text = OWN.replace("np.abs(x)) ** 2\n    ###", "root(x * x)) ** 2\n    ###").replace(
        "### BEGIN HIDDEN TESTS\n", f"### BEGIN HIDDEN TESTS\n{HELPER}"
    )
    (problem,) = course(text).problems
    assert "cell softsign: the solution uses 'root', which only the test softsign-check defines" in problem


def test_a_helper_in_a_locked_cell_is_there(course):
    assert (
        course(
            OWN.replace("import numpy as np\n```", f"import numpy as np\n\n{HELPER}```", 1).replace(
                "return g / (1 +", "return g / (root(1) +", 1
            )
        ).problems
        == []
    )


@pytest.mark.parametrize(("wrong", "caught"), [("2 * g * x * x", 1), ("g * (x + x)", 0)])
def test_an_answer_without_points_is_judged_by_its_report(course, wrong, caught):
    found = course(CHALLENGE, f"```python double variable\ndef double(g, x):\n    return {wrong}\n```\n")
    assert found.points == 0 and found.wrong["caught"] == caught
    assert ["passes every check" in problem for problem in found.problems] == [True] * (1 - caught)


def test_a_check_that_shows_a_mistake_of_its_own_is_no_test():
    source = from_markdown(CHALLENGE)
    _, unpaid = with_checks_judged(source)
    assert unpaid == {source.cells[1].id}


@pytest.mark.parametrize(
    ("fence", "said"),
    [
        ("```python mull not summed", "no answer 'mull' in ps. Did you mean 'mul'?"),
        ("```python mul not sumed", "no kind of mistake is called 'not sumed'. Did you mean 'not summed'?"),
        ("```python mul qqq", "Write unknown where the checker has no name"),
        ("```python mul unknown", ""),
        ("```python mul", "is not a wrong answer: write ```python ANSWER KIND"),
        ("```py mul not summed", "is not a wrong answer"),
        ("```", "is not a wrong answer"),
        ("```python mul not summed  ", ""),
    ],
)
def test_a_label_without_a_meaning_is_named_with_its_line(tmp_path, fence, said):
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "ps.md").write_text(f"# Wrong\n\n{fence}\npass\n```\n")
    found = label_problems(tmp_path, "ps", {"mul", "exp"})
    assert ["ps.md, line 3: " in f and said in f for f in found] == [True] * bool(said)


def test_a_fence_that_is_not_closed_is_named(tmp_path):
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "ps.md").write_text("```python mul sign\npass\n\n```python exp sign\npass\n```\n")
    assert any("not closed" in f for f in label_problems(tmp_path, "ps", {"mul", "exp"}))


def test_every_kind_that_a_report_names_is_a_label():
    assert {"not summed", "behaviour", "visited", "upstream ignored", "second order"} <= families()
