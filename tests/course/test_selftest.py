"""`autolab course check`: a problem set is proven before a class sees it, and what does not hold is named with file and cell."""

import pytest

from autolab.course.grading.selftest import selftest
from autolab.course.notebook import build

SPEC = """from autolab.check import Spec
from autolab.engine.op import ELEMENTWISE, Op
import numpy as np
SPEC = Spec("softsign", Op("softsign", lambda x: x / (1 + np.abs(x)), ELEMENTWISE, x=lambda g, x: g / (1 + np.abs(x)) ** 2))
from autolab.check import check

check(SPEC, softsign_backward, points=5)"""
OWN = f"""
```python locked setup
import numpy as np
```

```python answer softsign
def softsign_backward(g, x):
    ### BEGIN SOLUTION
    return g / (1 + np.abs(x)) ** 2
    ### END SOLUTION
```

```python check softsign-check 5
### BEGIN HIDDEN TESTS
{SPEC}
### END HIDDEN TESTS
```
"""
WRONG = """
```python softsign factor
def softsign_backward(g, x):
    return {answer}
```
"""


@pytest.fixture
def proof(tmp_path):
    """Proves the exercise above, with one wrong answer kept for it."""

    def proven(answer, text=OWN):
        for folder in ("text/ps", "wrong"):
            (tmp_path / folder).mkdir(parents=True)
        (tmp_path / "text" / "ps" / "own.md").write_text(text)
        (tmp_path / "wrong" / "ps.md").write_text(WRONG.format(answer=answer))
        (path,) = build(tmp_path)
        return selftest(path, mode="limits")

    return proven


def test_an_exercise_on_an_operation_of_ones_own_is_proven(proof):
    found = proof("3 * g / (1 + np.abs(x)) ** 2")
    assert not found.problems
    (exercise,) = found.exercises
    assert exercise["name"] == "softsign" and exercise["caught"] >= 5 and exercise["alternative"]
    assert (found.wrong["caught"], found.wrong["of"]) == (1, 1)


def test_a_wrong_answer_that_passes_is_a_problem(proof):
    found = proof("g / (1 + np.abs(x)) ** 2")
    assert "own.ipynb, cell softsign: the wrong answer 'factor' of wrong/ passes every check" in found.problems[0]


def test_a_solution_that_is_wrong_and_a_test_that_gives_points_to_a_blank_are_problems(proof):
    text = OWN.replace("return g /", "return 2 * g /") + "\n```python check free 1\nassert True\n```\n"
    problems = "\n".join(proof("0 * g", text).problems)
    assert "cell softsign-check: the solution gets" in problems
    assert "cell free: a blank answer gets 1 points" in problems
