"""The lessons' questions for a quiz elsewhere. Both files are read back here by what their formats say, and answered."""

import io
import json
import re
import zipfile
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from autolab.course import question_export as export
from autolab.widgets.questions import judge, quiz

ALL = export.items(predictions=True)
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
