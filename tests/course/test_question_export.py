"""The lessons' questions for a quiz elsewhere. Both files are read back here by what their formats say, and answered."""

import io
import json
import re
import zipfile
from xml.etree import ElementTree

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


# -- what importers refuse ---------------------------------------------------------------------------------

# Moodle takes only these parts of the points, in per cent, to five digits (question/engine/bank.php).
MOODLE_PARTS = [0, 100, 90, 80, 75, 70, 60, 50, 40, 30, 25, 20, 12.5, 10, 5, *(100 / n for n in (3, 6, 7, 9)), 200 / 3, 250 / 3]
# The children of QTI's elements in the order of its schema; "?" at most once, "+" at least once, "*" any number of times.
QTI_CONTENT = {
    "assessmentItem": "responseDeclaration* outcomeDeclaration* itemBody? responseProcessing? modalFeedback*",
    "responseDeclaration": "correctResponse?", "correctResponse": "value+", "outcomeDeclaration": "defaultValue?", "defaultValue": "value+",
    "itemBody": "p* choiceInteraction* orderInteraction*", "choiceInteraction": "prompt? simpleChoice+",
    "orderInteraction": "prompt? simpleChoice+", "textEntryInteraction": "", "responseProcessing": "responseCondition* setOutcomeValue*",
    "responseCondition": "responseIf responseElseIf* responseElse?", "value": "", "variable": "", "correct": "", "baseValue": "", "code": "",
    "match": "variable baseValue? correct?", "gte": "variable baseValue", "lte": "variable baseValue", "and": "gte lte", "or": "match+",
    "setOutcomeValue": "baseValue? variable?", "p": "code* textEntryInteraction?", "prompt": "code*", "simpleChoice": "code*",
    "modalFeedback": "code*", "responseIf": "match? and? or? setOutcomeValue*", "responseElseIf": "and? or? setOutcomeValue*",
    "assessmentTest": "testPart+", "testPart": "assessmentSection+", "assessmentSection": "selection? assessmentItemRef*", "selection": "",
    "assessmentItemRef": "",
}  # fmt: skip
QTI_REQUIRED = {
    "assessmentItem": "identifier title adaptive timeDependent", "responseDeclaration": "identifier cardinality baseType",
    "outcomeDeclaration": "identifier cardinality baseType", "choiceInteraction": "responseIdentifier shuffle maxChoices",
    "orderInteraction": "responseIdentifier shuffle", "simpleChoice": "identifier", "textEntryInteraction": "responseIdentifier",
    "modalFeedback": "outcomeIdentifier showHide identifier", "setOutcomeValue": "identifier", "baseValue": "baseType",
    "variable": "identifier", "correct": "identifier", "assessmentTest": "identifier title", "selection": "select",
    "testPart": "identifier navigationMode submissionMode", "assessmentSection": "identifier title visible",
    "assessmentItemRef": "identifier href",
}  # fmt: skip


def local(element):
    return element.tag.rpartition("}")[2]


def refused_by_schema(root):
    """What QTI's schema says against a document: children that do not belong, in a wrong order, or missing; attributes that are missing."""
    found = []
    for element in root.iter():
        children, name = "".join(f"{local(child)} " for child in element), local(element)
        pattern = re.sub(r"(\w+)([?+*]?) ?", r"(?:\1 )\2", QTI_CONTENT[name])
        if not re.fullmatch(pattern, children):
            found.append(f"{name}: {children}")
        found += [f"{name} without {a}" for a in QTI_REQUIRED.get(name, "").split() if a not in element.attrib]
        found += [
            f"{name} {value}"
            for a, value in element.attrib.items()
            if a.lower().endswith("identifier") and not re.fullmatch(r"[^\W\d][\w.-]*", value)
        ]
    return found


def test_the_rules_of_the_schema_refuse_what_is_out_of_order():
    bad = ElementTree.fromstring(
        "<assessmentItem identifier='1a' title='' adaptive='false' timeDependent='false'><itemBody><choiceInteraction "
        "responseIdentifier='R' shuffle='true'/></itemBody><outcomeDeclaration identifier='S' cardinality='single' baseType='float'/>"
        "</assessmentItem>"
    )
    assert refused_by_schema(bad) == ["assessmentItem: itemBody outcomeDeclaration ", "assessmentItem 1a", "choiceInteraction: ",
                                      "choiceInteraction without maxChoices"]  # fmt: skip


def test_every_file_of_qti_has_the_elements_and_attributes_of_the_schema():
    for name in PACKAGE.namelist():
        if name != "imsmanifest.xml":
            assert refused_by_schema(ElementTree.fromstring(PACKAGE.read(name))) == [], name


def test_the_names_that_an_item_of_qti_refers_to_exist_and_its_values_are_of_their_type():
    for name in PACKAGE.namelist()[2:]:
        item = ElementTree.fromstring(PACKAGE.read(name))
        response, (score, feedback) = item.find("q:responseDeclaration", NAMES), item.findall("q:outcomeDeclaration", NAMES)
        assert (response.get("identifier"), score.get("identifier"), feedback.get("identifier")) == ("RESPONSE", "SCORE", "FEEDBACK")
        said = [one.get("identifier") for one in item.findall("q:modalFeedback", NAMES)]
        choices = [one.get("identifier") for one in item.iter(f"{{{export.QTI}}}simpleChoice")]
        shown = [one[0].text for one in item.iter(f"{{{export.QTI}}}setOutcomeValue") if one.get("identifier") == "FEEDBACK"]
        assert len({*said}) == len(said) and {*filter(None, shown)} <= {*said} and len({*choices}) == len(choices)
        values = [one.text for one in response.iter(f"{{{export.QTI}}}value")]
        assert all(map(float, values)) or values == ["0"] if response.get("baseType") == "float" else not choices or {*values} <= {*choices}


def test_the_manifest_is_that_of_a_package_of_qti_with_its_parts_in_order():
    root = ElementTree.fromstring(PACKAGE.read("imsmanifest.xml"))
    assert [local(child) for child in root] == ["metadata", "organizations", "resources"]
    assert [child.text for child in root[0]] == ["QTIv2.1 Package", "1.0.0"]
    resources = root[2]
    names = [resource.get("identifier") for resource in resources]
    assert len({*names}) == len(names) and {d.get("identifierref") for d in resources.iter(f"{{{export.PACKAGE}}}dependency")} == {
        *names[1:]
    }
    assert {resource.get("type") for resource in resources} == {"imsqti_test_xmlv2p1", "imsqti_item_xmlv2p1"}


def test_moodle_refuses_no_question():
    for item in ALL:
        made = moodle_question(item)
        parts = [float(answer.get("fraction")) for answer in made.findall("answer")]
        assert all(any(abs(abs(part) - known) < 1e-3 for known in MOODLE_PARTS) for part in parts), item.title
        assert made.get("type") == "matching" or max(parts) == 100 or sum(p for p in parts if p > 0) == pytest.approx(100, abs=1e-3)
        assert 0 < len(made.find("name/text").text) <= 255 and html_of(made.find("questiontext"))
        assert {e.get("format") for e in made.iter() if e.get("format")} <= {"html", "plain_text"}


def test_moodle_has_enough_to_choose_from_and_each_answer_once():
    least = {"multichoice": 2, "numerical": 1, "shortanswer": 1, "matching": 3}
    for item in ALL:
        made = moodle_question(item)
        texts = [html_of(a) for a in made.findall("answer")] or [html_of(s) for s in made.findall("subquestion")]
        assert len({*texts}) == len(texts) >= least[made.get("type")] and all(texts), item.title
        if made.get("type") == "numerical":
            assert all(float(a.find("tolerance").text) >= 0 and float(html_of(a)) is not None for a in made.findall("answer"))


# -- what a lesson says to each answer ---------------------------------------------------------------------


ROUNDED = {"22 step": [0.35]}  # a wrong answer that is foreseen in two roundings


def test_every_answer_that_a_question_foresees_is_answered_in_words_of_its_own():
    for item in ALL:
        question = item.question
        said = [text for value, text in question.get("wrong", ()) if value not in ROUNDED.get(item.title, ())]
        said += [option["why"] for option in question.get("options", ()) if "why" in option]
        assert len({*said}) == len(said) and all(len(text.split()) >= 3 for text in said), item.title
        assert question["kind"] not in ("number", "shape") or (len(question["wrong"]) >= 2 and question["why"]), item.title


# -- drawn numbers -----------------------------------------------------------------------------------------


def test_drawn_questions_are_exported_with_their_explanations():
    (item,) = export.items(["04"], ["shape"], draw=1)[:1]
    assert item.tags == ["lesson 04", "shape", "drawn numbers"]
    made = ElementTree.tostring(moodle_question(item), encoding="unicode") + PACKAGE.read(f"items/{export._name(item)}.xml").decode()
    assert item.question["why"] in made


def test_more_questions_than_there_are_is_refused():
    with pytest.raises(ValueError, match="lesson 02 has 39 different questions 'nodes', not 50"):
        drawn.makers("02") and drawn.variants("02", "nodes", 0, 50)
    refused = autolab_course("02", "--draw", "50")
    assert refused.exit_code == 2 and "ask for fewer" in refused.output


def test_a_test_elsewhere_takes_one_of_each_question_with_drawn_numbers():
    wanted = export.items(["05"], draw=3)
    categories = ElementTree.fromstring(export.moodle(wanted)).findall("question/category/text")
    assert [c.text.rpartition("autolab/")[2] for c in categories] == [f"Lesson 05/drawn {name}" for name in drawn.makers("05")]
    test = ElementTree.fromstring(zipfile.ZipFile(io.BytesIO(export.qti(wanted))).read("test.xml"))
    sections = test.findall("q:testPart/q:assessmentSection", NAMES)
    assert [section.find("q:selection", NAMES).get("select") for section in sections] == ["1"] * 6
    assert [len(section.findall("q:assessmentItemRef", NAMES)) for section in sections] == [3] * 6
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
    assert (
        [eval(cell.source, names) for cell in checks]
        == [cell.metadata.nbgrader.points for cell in checks]
        == [2 * len(drawn.makers(n)) for n in ("04", "05")]
    )


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
