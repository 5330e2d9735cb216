"""Questions: each answer is judged, and explained; a page without a kernel does the same."""

import json

import pytest
from nbclient import NotebookClient

from autolab.course.notebook import from_markdown
from autolab.utils import progress
from autolab.widgets.questions import Quiz, as_number, as_shape, choice, judge, number, order, predict, quiz, several, shape

QUESTIONS = [
    choice("Which node fires first?", {"the youngest": "It has received everything.", "the leaf": "Leaves come last."}, "the youngest"),
    several("What is saved?", {"`x`": "Its rule needs it.", "the result": "No rule asks for it.", "`y`": "The other rule."}, ["`x`", "`y`"]),
    number("x² twice at 3", 12, why="Gradients add up.", wrong={6: "That is one pass."}),
    shape("`W.grad` of W (3, 4)", (3, 4), why="As W.", wrong={(4, 3): "Transposed."}),
    order("A training step", ["zero", "forward", "backward", "step"], why="Old gradients would be added.",
          early={"backward": "There is no loss yet."}),
    number("A small gradient", 1.024e-5, why="1024 times 1e-8.", wrong={1e-8: "Not divided yet.", 0: "It did not vanish."}, tolerance=1e-7),
]  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOLAB_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("k", "answer", "right", "said"), [
    (0, "the youngest", True, "received everything"), (0, "the leaf", False, "Leaves come last"), (0, "?", False, "none of the answers"),
    (1, ["`x`", "`y`"], True, "Its rule needs it. The other rule."), (1, ["`x`", "the result"], False, "Not: the result."),
    (2, "12", True, "add up"), (2, 12.0, True, "add up"), (2, "6", False, "one pass"), (2, "7", False, "It is larger."), (2, "20", False, "It is smaller."), (2, "-12", False, "look at the sign"), (2, "x", False, "Write a number"),
    (2, "24", False, "what was counted twice?"), (2, "120", False, "count the powers of ten"),
    (3, "(3, 4)", True, "As W"), (3, [4, 3], False, "Transposed"), (3, "3", False, "It has 2 axes."), (3, "3, 5", False, "look at axis 1."), (3, "9, 5", False, "look at axis 0 and axis 1."), (3, "a", False, "Write a shape"),
    (4, ["zero", "forward", "backward", "step"], True, "Old gradients"), (4, ["zero", "backward", "forward", "step"], False, "Up to step 1 it is right. Too early: backward. There is no loss yet."),
    (4, ["step", "zero", "forward", "backward"], False, "first step is another"),
    (5, "1.02e-5", True, "1024 times"), (5, "0", False, "did not vanish"), (5, "1e-8", False, "Not divided yet"), (5, "5.1e-6", False, "left out?"),
])  # fmt: skip
def test_each_answer_gets_its_explanation(k, answer, right, said):
    verdict, explanation = judge(QUESTIONS[k], answer)
    assert verdict is right and said in explanation


@pytest.mark.parametrize(("text", "value"), [("1/4", 0.25), (" -2e-3", -0.002), ("", None), ("1/0", None), ("abc", None),
    ("2^16", 65536), ("2**-2", 0.25), ("1,000,000", 1e6), ("1 000_000", 1e6), ("\u22123.", -3), (".5", 0.5), ("1e3/2", 500),
    ("0,5", None), ("1e999", None), ("9^999", None), ("-1^.5", None), ("0^-1", None), ("0x10", None), ("inf", None),
])  # fmt: skip
def test_numbers_as_people_write_them(text, value):
    assert as_number(text) == value


@pytest.mark.parametrize(("text", "value"), [
    ("3, 4", [3, 4]), ("(3,)", [3]), ("[2 3]", [2, 3]), ("2x3", [2, 3]), ("()", []), ("torch.Size([2, 3])", [2, 3]), ("", None), ("3.5", None),
])  # fmt: skip
def test_shapes_as_people_write_them(text, value):
    assert as_shape(text) == value


def test_a_whole_number_is_counted_exactly_and_any_other_to_three_digits():
    assert [judge(number("?", 2048, "w"), n)[0] for n in (2048, 2049, 2047.5)] == [True, False, False]
    assert [judge(number("?", 2.3026, "w"), n)[0] for n in (2.3026, 2.303, 2.31)] == [True, True, False]


def test_attempts_are_kept_on_this_machine(home):
    q = quiz("05 accumulation", *QUESTIONS)
    q.answer(3, 6)
    q.answer(3, 12)
    entry = progress.read()["quiz"]["05 accumulation: 3"]
    assert entry["attempts"] == 2 and entry["right"] and q.points() == 1
    assert json.loads((home / "progress.json").read_text())


@pytest.mark.parametrize(("k", "answer"), [(0, "?"), (2, "x"), (3, "a")])
def test_an_answer_that_cannot_be_read_is_not_an_attempt(k, answer):
    q = quiz("x", *QUESTIONS)
    assert q.answer(k + 1, answer) == judge(QUESTIONS[k], answer) and q.attempts[k] == []


def test_nothing_is_kept_if_so_asked_or_if_it_cannot_be(monkeypatch, home):
    monkeypatch.setenv("AUTOLAB_HOME", "off")
    quiz("x", QUESTIONS[2]).answer(1, 12)
    assert not (home / "progress.json").exists()
    (home / "file").write_text("")
    monkeypatch.setenv("AUTOLAB_HOME", str(home / "file"))
    quiz("x", QUESTIONS[2]).answer(1, 12)


def test_a_broken_file_is_put_aside(home):
    (home / "progress.json").write_text("{")
    quiz("x", QUESTIONS[2]).answer(1, 12)
    assert progress.read()["quiz"]["x: 1"]["right"] and (home / "progress.broken.json").exists()


ASSIGNMENT = """
```python locked questions
from autolab.questions import lesson05 as asks
from autolab.widgets import quiz

quiz(*asks.quiz)
```

```python answer answers
def answers():
    ### BEGIN SOLUTION
    return [14, asks.quiz[2]["options"][0]["text"], [], "1/8", ["p.grad is None", "a step now changes nothing"], "zeros"]
    ### END SOLUTION
```

```python check grade 6
quiz(*asks.quiz).points(answers)
```
"""


def test_a_quiz_gives_part_of_the_points_of_a_cell_that_nbgrader_grades():
    utils = pytest.importorskip("nbgrader.utils")
    done = NotebookClient(from_markdown(ASSIGNMENT), kernel_name="python3").execute()
    assert utils.determine_grade(done.cells[-1]) == (4, 6)


def test_answers_from_a_list_can_be_graded():
    right = ["the youngest", ["`x`", "`y`"], 12, (3, 4), ["zero", "forward", "backward", "step"]]
    assert quiz("x", *QUESTIONS[:5]).points(right) == 5
    assert quiz("x", *QUESTIONS[:5]).points(["the leaf", [], 6, (4, 3), []]) == 0


def test_without_script_or_kernel_the_answers_can_be_opened():
    page = quiz("x", *QUESTIONS).picture()
    assert page.count("<details>") == 6 and "<code>W.grad</code>" in page and "Not yet backward: There is no loss yet." in page
    bundle, _ = quiz("x", *QUESTIONS)._repr_mimebundle_()
    assert "text/html" in bundle and "image/svg+xml" not in bundle
    assert bundle["text/plain"].startswith("1. Which node fires first?\n   - the youngest")


def test_a_prediction_is_one_question_of_the_right_kind():
    kinds = [predict("?", 3, "w"), predict("?", (2, 3), "w"), predict("?", "a", "w", {"b": "no"}, choices=["a", "b"])]
    assert [q.questions[0]["kind"] for q in kinds] == ["number", "shape", "choice"]
    assert all(isinstance(q, Quiz) and q.reveal for q in kinds)
    assert kinds[2].answer(1, "b") == (False, "no")
    assert "<p><b>a</b></p><p>w</p><p>b: no</p>" in kinds[2].picture()  # why it is right is said once, and first


def test_mistakes_of_an_author_are_said():
    with pytest.raises(ValueError, match="'c' is said to be right, but it is none of the options: a, b"):
        choice("?", {"a": "", "b": ""}, "c")
    with pytest.raises(ValueError, match="at least one question"):
        quiz("x")
    with pytest.raises(ValueError, match="at least two steps"):
        order("?", ["a"], "w")
    with pytest.raises(ValueError, match="'a' cannot come too early: it is none of the later steps, b"):
        order("?", ["a", "b"], "w", early={"a": "no"})
    with pytest.raises(IndexError, match="there is no question 2: this quiz has 1"):
        quiz("x", QUESTIONS[0]).answer(2, 1)


def test_steps_to_order_are_never_shown_in_order():
    for n in range(2, 7):
        steps = [str(i) for i in range(n)]
        assert sorted(order("?", steps, "w")["mixed"]) == list(range(n)) != order("?", steps, "w")["mixed"]


def test_quiz_is_the_function_however_it_is_reached():
    import autolab

    assert autolab.quiz is autolab.widgets.quiz is quiz
