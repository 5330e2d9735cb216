"""The lessons' questions for a quiz elsewhere. Both files are read back here by what their formats say, and answered."""

import io
import json
import re
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from autolab.course import question_export as export
from autolab.questions import drawn
from autolab.widgets.questions import judge, quiz

DRAWN = export.items(draw=2, seed=3)
ALL = export.items(predictions=True) + DRAWN
BY_KIND = {kind: [item for item in ALL if item.question["kind"] == kind] for kind in export.KINDS}
NAMES = {"q": export.QTI}


def autolab_course(*arguments):
    pytest.importorskip("nbgrader")
    from autolab.cli.course import course

    return CliRunner().invoke(course, ["questions", *map(str, arguments)])


def answers(question):
    """Answers to try: all that a lesson foresees, and one that it does not."""
    if question["kind"] in ("number", "shape"):
        return [question["right"], *(value for value, _ in question["wrong"]), 1e9 if question["kind"] == "number" else [99, 98, 97]]
    texts = [option["text"] for option in question["options"]]
    return texts if question["kind"] == "choice" else [export.right_answer(question), texts[:1], texts[::-1]]


# -- Moodle ------------------------------------------------------------------------------------------------


def moodle_question(item):
    return ElementTree.fromstring(export.moodle([item])).findall("question")[1]


def html_of(element):
    return element.find("text").text


def by_text(question, made):
    return {o["text"]: answer for o, answer in zip(question["options"], made.findall("answer"), strict=True)}


def in_moodle(question, made, answer):
    """(part of the points, what is said) in Moodle: numbers and short answers are compared in turn, marks of choices add up."""
    if made.get("type") == "multichoice":
        chosen = [by_text(question, made)[text] for text in ([answer] if isinstance(answer, str) else answer)]
        return sum(float(a.get("fraction")) for a in chosen) / 100, "".join(html_of(a.find("feedback")) for a in chosen)
    for known in made.findall("answer"):
        text = known.find("text").text
        same = (
            abs(answer - float(text)) <= float(known.find("tolerance").text)
            if made.get("type") == "numerical"
            else text == str(tuple(answer)).replace(" ", "")
        )
        if same:
            return float(known.get("fraction")) / 100, html_of(known.find("feedback"))
    return 0, ""


@pytest.mark.parametrize("kind", ["choice", "number", "shape"])
def test_moodle_judges_as_the_lesson_does_and_says_the_same(kind):
    for item in BY_KIND[kind]:
        made = moodle_question(item)
        for answer in answers(item.question):
            right, said = judge(item.question, answer)
            points, feedback = in_moodle(item.question, made, answer)
            assert points == right
            assert not feedback or feedback == f"<p>{export.code_as_html(said)}</p>", item.title


def test_in_moodle_all_that_applies_is_the_whole_and_ticking_everything_is_nothing():
    for item in BY_KIND["several"]:
        question, made = item.question, moodle_question(item)
        assert in_moodle(question, made, export.right_answer(question))[0] == pytest.approx(1, abs=1e-6)
        wrong = len(question["options"]) > len(export.right_answer(question))
        assert in_moodle(question, made, [o["text"] for o in question["options"]])[0] == pytest.approx(float(not wrong), abs=1e-6)


def test_in_moodle_the_places_of_steps_are_those_of_the_right_order():
    for item in BY_KIND["order"]:
        places = {html_of(step): int(step.find("answer/text").text) for step in moodle_question(item).findall("subquestion")}
        steps = [f"<p>{export.code_as_html(text)}</p>" for text in export.right_answer(item.question)]
        assert sorted(places, key=places.get) == steps != list(places)


def test_in_moodle_each_lesson_is_a_category_and_each_question_has_its_tags():
    root = ElementTree.fromstring(export.moodle(export.items(["04", "05"])))
    categories = [c.text for c in root.findall("question/category/text")]
    assert categories == ["$course$/top/autolab/Lesson 04", "$course$/top/autolab/Lesson 05"]
    assert [t.text for t in root.findall("question")[1].findall("tags/tag/text")] == ["lesson 04", "choice", "quiz"]


# -- QTI ---------------------------------------------------------------------------------------------------

PACKAGE = zipfile.ZipFile(io.BytesIO(export.qti(ALL)))


def holds(test, answer):
    """Does a test of an item's response processing hold for this answer?"""
    name, parts = test.tag.rpartition("}")[2], list(test)
    if name in ("and", "or"):
        return (all if name == "and" else any)(holds(part, answer) for part in parts)
    if name == "match":
        return str(tuple(answer)) == parts[1].text
    return answer >= float(parts[1].text) if name == "gte" else answer <= float(parts[1].text)


def in_qti(made, answer):
    """(score, what is said) by the first branch that holds."""
    said = {one.get("identifier"): "".join(one.itertext()) for one in made.findall("q:modalFeedback", NAMES)}
    for branch in made.find("q:responseProcessing/q:responseCondition", NAMES):
        if holds(branch[0], answer):
            values = {one.get("identifier"): one[0].text for one in branch.findall("q:setOutcomeValue", NAMES)}
            return float(values.get("SCORE", 0)), said[values["FEEDBACK"]]
    return 0, ""


@pytest.mark.parametrize("kind", ["number", "shape"])
def test_qti_judges_what_is_written_as_the_lesson_does_and_says_the_same(kind):
    for item in BY_KIND[kind]:
        made = ElementTree.fromstring(PACKAGE.read(f"items/{export._name(item)}.xml"))
        for answer in answers(item.question):
            right, said = judge(item.question, answer)
            score, feedback = in_qti(made, answer)
            assert score == right
            assert not feedback or feedback == said.replace("`", ""), item.title


@pytest.mark.parametrize("kind", ["choice", "several", "order"])
def test_in_qti_the_correct_response_names_the_right_answers(kind):
    for item in BY_KIND[kind]:
        made = ElementTree.fromstring(PACKAGE.read(f"items/{export._name(item)}.xml"))
        texts = {c.get("identifier"): "".join(c.itertext()).strip() for c in made.iter(f"{{{export.QTI}}}simpleChoice")}
        correct = [texts[v.text] for v in made.findall("q:responseDeclaration/q:correctResponse/q:value", NAMES)]
        right = export.right_answer(item.question)
        assert correct == [text.replace("`", "") for text in ([right] if kind == "choice" else right)]


def test_the_package_lists_each_of_its_files_once_and_its_test_asks_each_question():
    listed = re.findall(r'<file href="([^"]*)"', PACKAGE.read("imsmanifest.xml").decode())
    asked = re.findall(r'<assessmentItemRef [^>]*href="([^"]*)"', PACKAGE.read("test.xml").decode())
    assert sorted(["imsmanifest.xml", *listed]) == sorted(PACKAGE.namelist()) and sorted(["test.xml", *asked]) == sorted(listed)


def test_the_same_questions_are_the_same_bytes():
    assert export.qti(ALL[:5]) == export.qti(ALL[:5])


# -- drawn numbers -----------------------------------------------------------------------------------------


def numbers_in(question):
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?", question["prompt"])]


@pytest.mark.parametrize("lesson", export.lessons())
def test_every_lesson_has_numbers_to_draw_and_each_mistake_its_own_answer(lesson):
    questions = drawn.drawn(lesson, seed=5, count=6)
    assert len({q["prompt"] for q in questions}) == len(questions) > 0
    for question in questions:
        assert drawn.tells_apart(question) and judge(question, question["right"]) == (True, question["why"])
        assert len(question["wrong"]) >= 2 and all(judge(question, value) == (False, said) for value, said in question["wrong"])


def test_a_seed_gives_the_same_numbers_and_another_one_others():
    assert drawn.drawn("09", 1, 3) == drawn.drawn("09", 1, 3) != drawn.drawn("09", 2, 3)


def test_answers_that_the_engine_computes_are_those_of_the_formula():
    for question in drawn.variants("03", "chain", 7, 5):
        a, b, n, x = numbers_in(question)
        assert question["right"] == n * a * (a * x + b) ** (n - 1)
    for question in drawn.variants("11", "half", 7, 5):
        _, big, extra = numbers_in(question)
        assert question["right"] == float(np.float16(big) + np.float16(extra))
    for question in drawn.variants("12", "adam", 7, 5):
        w, _, rate = numbers_in(question)
        assert question["right"] == pytest.approx(w - rate)


def test_more_questions_than_there_are_is_refused():
    with pytest.raises(ValueError, match="lesson 02 has 28 different questions 'nodes', not 50"):
        drawn.variants("02", "nodes", 0, 50)
    refused = autolab_course("02", "--draw", "50")
    assert refused.exit_code == 2 and "ask for fewer" in refused.output


def test_a_test_elsewhere_takes_one_of_each_question_with_drawn_numbers():
    wanted = export.items(["05"], draw=3)
    categories = ElementTree.fromstring(export.moodle(wanted)).findall("question/category/text")
    assert [c.text.rpartition("autolab/")[2] for c in categories] == ["Lesson 05/drawn added", "Lesson 05/drawn parts"]
    test = ElementTree.fromstring(zipfile.ZipFile(io.BytesIO(export.qti(wanted))).read("test.xml"))
    sections = test.findall("q:testPart/q:assessmentSection", NAMES)
    assert [section.find("q:selection", NAMES).get("select") for section in sections] == ["1", "1"]
    assert [len(section.findall("q:assessmentItemRef", NAMES)) for section in sections] == [3, 3]
    assert {item.tags[2] for item in wanted} == {"drawn numbers"}


def test_cells_with_drawn_numbers_have_answers_that_get_all_points():
    pytest.importorskip("nbgrader")
    from autolab.course.notebook import from_markdown

    source = from_markdown(export.cells(["04", "05"], draw=2, seed=9))
    names = {}
    for cell in source.cells:
        if cell.cell_type == "code" and not cell.id.endswith("-check"):
            exec(cell.source, names)
    checks = [cell for cell in source.cells if cell.id.endswith("-check")]
    assert [eval(cell.source, names) for cell in checks] == [cell.metadata.nbgrader.points for cell in checks] == [4, 4]


# -- cells, and the command --------------------------------------------------------------------------------


def test_cells_have_answers_that_get_all_points_and_a_release_without_them():
    pytest.importorskip("nbgrader")
    from autolab.course.notebook import from_markdown
    from autolab.course.release import release_of

    source = from_markdown(export.cells(["04", "05"]))
    names = {}
    exec(source.cells[3].source, names)
    given = export.items(["04"])
    assert quiz("04", *(i.question for i in given)).points(names["answers_04"]) == len(given) == source.cells[4].metadata.nbgrader.points
    assert "16, once" not in release_of(source).cells[3].source


def test_right_answers_are_right():
    assert all(judge(item.question, export.right_answer(item.question))[0] for item in ALL)


def test_the_command_lists_writes_and_refuses(tmp_path):
    listed = autolab_course("04", "--kind", "shape")
    assert listed.output.startswith("04 quiz 7") and listed.exit_code == 0
    assert json.loads(autolab_course("04", "--json").output)[0]["tags"][0] == "lesson 04"
    written = autolab_course("04", "--for", "qti", "--out", tmp_path / "q.zip")
    assert zipfile.is_zipfile(tmp_path / "q.zip") and "7 questions" in written.output
    for wrong, said in [(["99"], "there is no lesson '99'"), (["04", "--kind", "essay"], "there is no kind of question 'essay'"),
                        (["04", "--for", "cells", "--predictions"], "leave out"), (["01", "--kind", "shape"], "No question")]:  # fmt: skip
        refused = autolab_course(*wrong)
        assert refused.exit_code == 2 and said in refused.output
