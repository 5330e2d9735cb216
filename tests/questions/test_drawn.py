"""What lessons ask with numbers is drawn, and computed; whatever is drawn has one right answer that a person finds by hand."""

import functools
import math
import re

import numpy as np
import pytest

from autolab import questions
from autolab.questions import drawn
from autolab.questions.drawn import again, draws
from autolab.utils import lessons
from autolab.widgets.questions import judge, number

LESSONS = [lesson.number for lesson in lessons.listed()]
MAKERS = [(lesson, name) for lesson in LESSONS for name in drawn.makers(lesson)]
DIGIT = re.compile(r"(?<![\w.₀-₉])-?\d")  # not that of float16 or w₂

# Questions whose answers have digits and are not drawn, and why not.
COUNTED = "a count of the operations of one program"
MEASURED = "the lesson has just measured it, or is about to"
LAW = "the same whatever the numbers are, which is what is asked"
WORDS = "a formula, a line of code, or a 0 in a sentence: no number is computed"
FIXED = {
    "00 slip": WORDS, "02 quiz 1": WORDS, "05 nothing": WORDS, "11 quiz 1": WORDS, "13 quiz 4": WORDS, "14 quiz 1": WORDS, "21 quiz 1": WORDS,
    "01 boxes": COUNTED, "02 lines": COUNTED, "06 freeze_plain": COUNTED, "20 lines": COUNTED, "20 products": COUNTED,
    "03 kinds": LAW, "16 two": LAW, "16 total": LAW, "16 quiz 4": LAW, "21 squares": LAW, "21 matmul": LAW, "22 step": LAW,
    "04 loop": MEASURED, "10 disk": MEASURED, "11 digits": MEASURED, "17 compiled": MEASURED,
}  # fmt: skip
# Answers that need a logarithm, a power of e or a root: with a pocket calculator.
CALCULATED = {
    ("00", "guess"), ("12", "knows_nothing"), ("14", "first_loss"), ("16", "three"), ("16", "start"), ("16", "perplexity"),
    ("17", "temperature"), ("17", "divided"),
}  # fmt: skip


def has_digits(question):
    return question["kind"] in ("number", "shape") or (question["kind"] == "choice" and DIGIT.search(question["shown"]))


def of_makers(lesson):
    """The questions of a lesson that were made by what draws others."""
    return [question for name in drawn.makers(lesson) for question in drawn.MAKERS[lesson][name].asked]


def by_hand(value):
    """Is this a number that a person can work out in a minute: of few digits, a simple fraction, or a power?"""
    digits = len(f"{value:.12g}".lstrip("-").replace(".", "").partition("e")[0].strip("0"))
    fraction = any(abs(value * n - round(value * n)) < 1e-8 and abs(value * n) < 10_000 for n in range(1, 1025))
    power = any((root := round(abs(value) ** (1 / n))) > 1 and math.isclose(root**n, abs(value), rel_tol=1e-9) for n in range(2, 31))
    inverse = value != 0 and abs(1 / value - round(1 / value)) < 1e-6 * abs(1 / value)
    return digits <= 5 or fraction or power or inverse


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_question_whose_answer_has_a_digit_draws_it_or_says_why_not(lesson):
    drawn_here = of_makers(lesson)
    fixed = {name for name, q in questions.asked(lesson).items() if has_digits(q) and not any(q is made for made in drawn_here)}
    assert fixed == {name[3:] for name in FIXED if name[:2] == lesson}


@pytest.mark.parametrize("lesson", LESSONS)
def test_what_draws_is_asked_by_its_lesson_with_the_numbers_of_its_text(lesson):
    asked = list(questions.asked(lesson).values())
    for question in of_makers(lesson):
        assert any(question is one for one in asked) and drawn.tells_apart(question), question["prompt"]


@functools.cache
def twenty(lesson, name):
    return drawn.variants(lesson, name, 2027, 20)


def each_answer(question):
    """The answers that a question foresees, with what it says to them and whether they are right."""
    if "options" in question:
        return [(option["text"], option["why"], option["right"]) for option in question["options"]]
    return [(question["right"], question["why"], True), *((value, said, False) for value, said in question["wrong"])]


@pytest.mark.parametrize(("lesson", "name"), MAKERS)
def test_of_what_is_drawn_one_answer_is_right_and_each_gets_its_own_words(lesson, name):
    for seed in range(4):
        for question in drawn.variants(lesson, name, seed, 6):
            answers = each_answer(question)
            assert [right for *_, right in answers].count(True) == 1 and len(answers) >= 3, question
            assert len({said for _, said, _ in answers}) == len(answers)
            for answer, said, right in answers:
                assert judge(question, answer) == (right, said), question["prompt"]


@pytest.mark.parametrize(("lesson", "name"), [maker for maker in MAKERS if maker not in CALCULATED])
def test_what_is_drawn_can_be_worked_out_by_hand(lesson, name):
    for question in twenty(lesson, name):
        assert question["kind"] != "number" or by_hand(question["right"]), question


@pytest.mark.parametrize(("lesson", "name"), MAKERS)
def test_the_numbers_of_a_prompt_are_of_use(lesson, name):
    found = twenty(lesson, name)
    assert len({question["prompt"] for question in found}) == 20
    told = {str([*each_answer(question)]) for question in found}
    assert len(told) > 5  # what is said follows the numbers


@pytest.mark.parametrize("value", [math.pi, 2.302585, 1234567, 0.123457, 16777217])
def test_a_number_that_nobody_finds_by_hand_is_told(value):
    assert not by_hand(value)


def test_a_seed_gives_the_same_numbers_and_another_one_others():
    assert drawn.drawn("09", 1, 3) == drawn.drawn("09", 1, 3) != drawn.drawn("09", 2, 3)


def test_answers_that_the_engine_computes_are_those_of_the_formula():
    for question in drawn.variants("03", "chain", 7, 5):
        a, b, x = (int(n) for n in re.findall(r"\d+", question["prompt"]))
        n = 3 if "³" in question["prompt"] else 4
        assert question["right"] == n * a * (a * x + b) ** (n - 1)
    for question in drawn.variants("11", "round", 7, 5):
        _, _, big, extra, _ = (int(n) for n in re.findall(r"\d+", question["prompt"]))
        assert question["right"] == float(np.float16(big) + np.float16(extra))
    for question in drawn.variants("23", "unequal", 7, 5):
        n, m, g, h, total = (int(n) for n in re.findall(r"\d+", question["prompt"]))
        assert question["right"] == pytest.approx((n * g + m * h) / total)


@pytest.fixture
def doubled(monkeypatch):
    monkeypatch.setattr(drawn, "MAKERS", {})

    @draws(x=(1, 6))
    def double(x=5):
        if x == 4:
            return None
        return number(f"2 · {x}", 2 * x, why="Twice.", wrong=[(x + 2, "Added."), (x, "Once.")])

    return double


def test_the_default_numbers_are_those_that_are_asked_and_may_be_asked_again(doubled):
    assert (doubled["right"], again(doubled, x=3)["right"]) == (10, 6)
    with pytest.raises(StopIteration):
        again({**doubled}, x=3)


def test_numbers_that_are_refused_or_make_two_answers_equal_are_not_drawn(doubled):
    lesson = next(iter(drawn.MAKERS))
    rights = {question["right"] for question in drawn.variants(lesson, "double", 0, 4)}
    assert rights == {2, 6, 10, 12}  # not 2 · 2 = 2 + 2, and not 4
    with pytest.raises(ValueError, match="4 different questions 'double', not 5: ask for fewer"):
        drawn.variants(lesson, "double", 0, 5)


@pytest.mark.parametrize("lesson", lessons.listed(), ids=lambda lesson: lesson.number)
def test_progress_reads_the_prompts_of_predictions_without_running_a_file(lesson):
    asked = questions.asked(lesson.number)
    assert {*lesson.predictions} == {q["prompt"] for name, q in asked.items() if not name.startswith("quiz ")}
    assert lesson.questions == sum(name.startswith("quiz ") for name in asked)
