"""The lessons' questions for a quiz elsewhere: Moodle, whatever reads QTI 2.1, or cells of a problem set.

Every answer keeps its explanation, as far as the other side has a place for it. Two things are judged differently there: Moodle gives
part of the points for part of what applies, and neither side says more about a wrong number or shape than what a lesson foresaw.

Sources: Moodle's documentation of its XML format; IMS Question and Test Interoperability 2.1, 2012.
"""

from __future__ import annotations

import io
import itertools
import math
import pkgutil
import zipfile
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree

from autolab import questions
from autolab.questions import drawn
from autolab.widgets.questions import code_as_html

Element = ElementTree.Element
KINDS = ("choice", "several", "number", "shape", "order")
TEXT_LENGTH = 40  # characters that a field for a number or a shape shows
QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
METADATA = "http://ltsc.ieee.org/xsd/LOM"


class Item(NamedTuple):
    """A question, the lesson that asks it, and where: a name such as "quiz 3", or that of the prediction."""

    lesson: str
    name: str
    question: dict[str, Any]

    @property
    def title(self) -> str:
        return f"{self.lesson} {self.name}"

    @property
    def tags(self) -> list[str]:
        """What to find it by: its lesson, its kind, and whether the lesson asks it at the end or before a cell."""
        asked = {"quiz": "quiz", "drawn": "drawn numbers"}.get(self.name.partition(" ")[0], "prediction")
        return [f"lesson {self.lesson}", self.question["kind"], asked]

    @property
    def group(self) -> str:
        """Its lesson; for drawn numbers also the name of what is drawn, since a quiz takes one of these."""
        kind = self.name.rpartition(" ")[0]
        return f"Lesson {self.lesson}" + f"/{kind.replace('_', ' ')}" * kind.startswith("drawn ")


def lessons() -> list[str]:
    """The lessons that have questions.

    >>> lessons()[:3]
    ['00', '01', '02']
    """
    return sorted(found.name.removeprefix("lesson") for found in pkgutil.iter_modules(questions.__path__) if found.name != "drawn")


def items(
    wanted: Sequence[str] = (), kinds: Collection[str] = KINDS, predictions: bool = False, draw: int = 0, seed: int = 0
) -> list[Item]:
    """The questions of these lessons (all if none are named), in the order of the lessons.

    The quiz of a lesson can be asked anywhere. A prediction asks about the lines around it: read it before you ask it elsewhere.

    With `draw`, so many of each question with drawn numbers instead: others for each seed, with answers that the engine computes.

    Raises LookupError for a lesson or a kind that does not exist, and ValueError if there are not so many different ones.

    >>> [item.title for item in items(["05"], draw=2)]  # doctest: +ELLIPSIS
    ['05 drawn three 1', '05 drawn three 2', '05 drawn aside 1', '05 drawn aside 2', ...]
    >>> [item.title for item in items(["04"], ["shape"])]
    ['04 quiz 7']
    """
    for known, given, name in ((lessons(), wanted, "lesson"), (KINDS, kinds, "kind of question")):
        unknown = [one for one in given if one not in known]
        if unknown:
            raise LookupError(f"there is no {name} {unknown[0]!r}: there are {', '.join(known)}")
    made = (_drawn(lesson, draw, seed) if draw else _of_lesson(lesson, predictions) for lesson in wanted or lessons())
    return [item for group in made for item in group if item.question["kind"] in kinds]


def _drawn(lesson: str, count: int, seed: int) -> list[Item]:
    return [
        Item(lesson, f"drawn {name} {k}", question)
        for name in drawn.makers(lesson)
        for k, question in enumerate(drawn.variants(lesson, name, seed, count), 1)
    ]


def _of_lesson(lesson: str, predictions: bool) -> list[Item]:
    asked = questions.asked(lesson).items()
    return [Item(lesson, name, question) for name, question in asked if predictions or name.startswith("quiz ")]


def _child(parent: Element, tag: str, text: str = "", **attributes: str) -> Element:
    made = ElementTree.SubElement(parent, tag, attributes)
    made.text = text or None
    return made


def _written(root: Element) -> bytes:
    ElementTree.indent(root)
    data: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _digits(value: float) -> str:
    return format(value, ".15g")


def _margin(question: dict[str, Any], value: float) -> float:
    """How far a number may be from this one, right or wrong, to count as it: not nearer to another wrong one."""
    most: float = question["tolerance"] * max(1.0, abs(value))
    if value == question["right"]:
        return most
    return min(most, *(abs(value - float(other)) / 2 for other, _ in question["wrong"] if other != value), math.inf)


def _shape_spellings(shape: Iterable[int]) -> list[str]:
    """A shape as people write it: (3, 4), 3, 4, [3, 4], with spaces or without.

    >>> _shape_spellings([3])
    ['(3,)', '(3)', '3', '3,', '[3]', '[3,]']
    """
    inner = ", ".join(map(str, shape))
    inners = [f"{inner},", inner] if inner.isdigit() else [inner]
    marked = [f"({text})" for text in inners] + [*reversed(inners)] * bool(inner) + [f"[{text}]" for text in reversed(inners)]
    return list(dict.fromkeys(spelling for text in marked for spelling in (text, text.replace(" ", ""))))


# -- Moodle ------------------------------------------------------------------------------------------------


def moodle(wanted: Iterable[Item]) -> bytes:
    """A file for Moodle's question bank: *Import*, *Moodle XML format*. Each lesson is a category.

    Each question with drawn numbers is one below it: a quiz takes a random question of it.

    >>> moodle(items(["04"])).count(b'<question type="')
    8
    """
    root = ElementTree.Element("quiz")
    for name, group in itertools.groupby(wanted, lambda item: item.group):
        category = _child(root, "question", type="category")
        _child(_child(category, "category"), "text", f"$course$/top/autolab/{name}")
        for item in group:
            kind, write = MOODLE[item.question["kind"]]
            made = _child(root, "question", type=kind)
            _child(_child(made, "name"), "text", item.title)
            _html(made, "questiontext", item.question["prompt"])
            _html(made, "generalfeedback", "" if kind == "multichoice" else item.question["why"])
            _child(made, "defaultgrade", "1")
            write(made, item.question)
            tags = _child(made, "tags")
            for tag in item.tags:
                _child(_child(tags, "tag"), "text", tag)
    return _written(root)


def _html(parent: Element, tag: str, text: str, **attributes: str) -> Element:
    made = _child(parent, tag, format="html", **attributes)
    _child(made, "text", f"<p>{code_as_html(text)}</p>" if text else "")
    return made


def _moodle_choice(made: Element, question: dict[str, Any]) -> None:
    right = sum(option["right"] for option in question["options"])
    wrong = len(question["options"]) - right
    _child(made, "single", "true" if question["kind"] == "choice" else "false")
    _child(made, "shuffleanswers", "true")
    _child(made, "answernumbering", "none")
    for option in question["options"]:
        share = 100 / right if option["right"] else 0 if question["kind"] == "choice" else -100 / wrong
        answer = _html(made, "answer", option["text"], fraction=f"{share:.7g}")
        _html(answer, "feedback", option["why"])


def _moodle_number(made: Element, question: dict[str, Any]) -> None:
    for value, said in [[question["right"], question["why"]], *question["wrong"]]:
        answer = _child(made, "answer", fraction="100" if value == question["right"] else "0", format="plain_text")
        _child(answer, "text", _digits(value))
        _html(answer, "feedback", said)
        _child(answer, "tolerance", _digits(_margin(question, value)))


def _moodle_shape(made: Element, question: dict[str, Any]) -> None:
    _child(made, "usecase", "0")
    for value, said in [[question["right"], question["why"]], *question["wrong"]]:
        for spelling in _shape_spellings(value):
            answer = _child(made, "answer", fraction="100" if value == question["right"] else "0", format="plain_text")
            _child(answer, "text", spelling)
            _html(answer, "feedback", said)


def _moodle_order(made: Element, question: dict[str, Any]) -> None:
    """To match steps with their places: every Moodle has that, and not every one has questions of order."""
    _child(made, "shuffleanswers", "true")
    for k in question["mixed"]:
        step = _html(made, "subquestion", question["options"][k]["text"])
        _child(_child(step, "answer"), "text", str(k + 1))


MOODLE: dict[str, tuple[str, Callable[[Element, dict[str, Any]], None]]] = {
    "choice": ("multichoice", _moodle_choice), "several": ("multichoice", _moodle_choice), "number": ("numerical", _moodle_number),
    "shape": ("shortanswer", _moodle_shape), "order": ("matching", _moodle_order),
}  # fmt: skip


# -- QTI ---------------------------------------------------------------------------------------------------


def qti(wanted: Iterable[Item], title: str = "autolab") -> bytes:
    """A content package of QTI 2.1, a zip: a file for each question, and a test with a section for each lesson.

    Of a question with drawn numbers the test takes one, another one for each candidate.

    >>> zipfile.ZipFile(io.BytesIO(qti(items(["04"])))).namelist()[:3]
    ['imsmanifest.xml', 'test.xml', 'items/autolab-04-quiz-1.xml']
    """
    wanted = list(wanted)
    files = {f"items/{_name(item)}.xml": _written(_qti_item(item)) for item in wanted}
    files = {"imsmanifest.xml": _written(_manifest(wanted)), "test.xml": _written(_qti_test(wanted, title))} | files
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in files.items():  # with a date of its own: the same questions are the same bytes
            package.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _name(item: Item) -> str:
    return f"autolab-{item.title.replace(' ', '-').replace('_', '-')}"


def _manifest(wanted: list[Item]) -> Element:
    root = ElementTree.Element("manifest", {"xmlns": PACKAGE, "identifier": "autolab-questions"})
    about = _child(root, "metadata")
    _child(about, "schema", "QTIv2.1 Package")  # what QTI's profile of content packages asks for
    _child(about, "schemaversion", "1.0.0")
    _child(root, "organizations")
    resources = _child(root, "resources")
    test = _child(resources, "resource", identifier="test", type="imsqti_test_xmlv2p1", href="test.xml")
    _child(test, "file", href="test.xml")
    for item in wanted:
        href = f"items/{_name(item)}.xml"
        resource = _child(resources, "resource", identifier=_name(item), type="imsqti_item_xmlv2p1", href=href)
        general = _child(_child(_child(resource, "metadata"), "lom", xmlns=METADATA), "general")
        for tag in item.tags:
            _child(_child(general, "keyword"), "string", tag, language="en")
        _child(resource, "file", href=href)
        _child(test, "dependency", identifierref=_name(item))
    return root


def _qti_test(wanted: list[Item], title: str) -> Element:
    root = ElementTree.Element("assessmentTest", {"xmlns": QTI, "identifier": "autolab", "title": title})
    part = _child(root, "testPart", identifier="part", navigationMode="nonlinear", submissionMode="individual")
    for name, group in itertools.groupby(wanted, lambda item: item.group):
        identifier = name.lower().replace(" ", "-").replace("/", "-")
        section = _child(part, "assessmentSection", identifier=identifier, title=name.replace("/", ": "), visible="true")
        if "/" in name:
            _child(section, "selection", select="1")
        for item in group:
            _child(section, "assessmentItemRef", identifier=_name(item), href=f"items/{_name(item)}.xml")
    return root


def _qti_item(item: Item) -> Element:
    """An item whose outcome FEEDBACK names the sentence that answers."""
    question = item.question
    cardinality, base, write = QTI_KINDS[question["kind"]]
    root = ElementTree.Element(
        "assessmentItem", {"xmlns": QTI, "identifier": _name(item), "title": item.title, "adaptive": "false", "timeDependent": "false"}
    )
    response = _child(root, "responseDeclaration", identifier="RESPONSE", cardinality=cardinality, baseType=base)
    score = _child(root, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    _child(_child(score, "defaultValue"), "value", "0")
    many = "multiple" if question["kind"] == "several" else "single"
    _child(root, "outcomeDeclaration", identifier="FEEDBACK", cardinality=many, baseType="identifier")
    body = _child(root, "itemBody")
    processing = ElementTree.Element("responseProcessing")
    said = write(question, response, body, processing)
    root.append(processing)
    for name, text in said.items():
        feedback = _child(root, "modalFeedback", outcomeIdentifier="FEEDBACK", identifier=name, showHide="show")
        _inline(feedback, text)
    return root


def _inline(parent: Element, text: str) -> None:
    """Text in which `code` is marked."""
    marked = ElementTree.fromstring(f"<x>{code_as_html(text)}</x>")
    parent.text = marked.text
    parent.extend(marked)


def _prompted(body: Element, tag: str, prompt: str, **attributes: str) -> Element:
    made = _child(body, tag, responseIdentifier="RESPONSE", **attributes)
    _inline(_child(made, "prompt"), prompt)
    return made


def _choices(question: dict[str, Any], order: Iterable[int], made: Element) -> None:
    for k in order:
        _inline(_child(made, "simpleChoice", identifier=f"option-{k + 1}"), question["options"][k]["text"])


def _set(parent: Element, name: str, value: str) -> None:
    kind = "float" if name == "SCORE" else "identifier"
    _child(_child(parent, "setOutcomeValue", identifier=name), "baseValue", value, baseType=kind)


def _compared(parent: Element, test: str, value: str, kind: str) -> None:
    made = _child(parent, test)
    _child(made, "variable", identifier="RESPONSE")
    _child(made, "baseValue", value, baseType=kind)


def _scored(processing: Element) -> Element:
    """Where the response is the correct one: score 1."""
    condition = _child(_child(processing, "responseCondition"), "responseIf")
    match = _child(condition, "match")
    _child(match, "variable", identifier="RESPONSE")
    _child(match, "correct", identifier="RESPONSE")
    _set(condition, "SCORE", "1")
    return condition


def _qti_choice(question: dict[str, Any], response: Element, body: Element, processing: Element) -> dict[str, str]:
    correct, many = _child(response, "correctResponse"), "1" if question["kind"] == "choice" else "0"
    made = _prompted(body, "choiceInteraction", question["prompt"], shuffle="true", maxChoices=many)
    _choices(question, range(len(question["options"])), made)
    _scored(processing)
    _child(_child(processing, "setOutcomeValue", identifier="FEEDBACK"), "variable", identifier="RESPONSE")
    said = {}
    for k, option in enumerate(question["options"], 1):
        said[f"option-{k}"] = option["why"]
        if option["right"]:
            _child(correct, "value", f"option-{k}")
    return said


def _qti_order(question: dict[str, Any], response: Element, body: Element, processing: Element) -> dict[str, str]:
    correct = _child(response, "correctResponse")
    for k in range(len(question["options"])):
        _child(correct, "value", f"option-{k + 1}")
    made = _prompted(body, "orderInteraction", question["prompt"], shuffle="false")
    _choices(question, question["mixed"], made)
    _set(_scored(processing), "FEEDBACK", "right")
    return {"right": question["why"]}


def _qti_entry(question: dict[str, Any], response: Element, body: Element, processing: Element) -> dict[str, str]:
    """A number or a shape to write: the right one and each foreseen wrong one are asked for in turn."""
    known = {"right": (question["right"], question["why"])}
    known |= {f"wrong-{k}": (value, text) for k, (value, text) in enumerate(question["wrong"], 1)}
    _child(_child(response, "correctResponse"), "value", _digits(question["right"]) if question["kind"] == "number" else question["shown"])
    _inline(_child(body, "p"), question["prompt"])
    _child(_child(body, "p"), "textEntryInteraction", responseIdentifier="RESPONSE", expectedLength=str(TEXT_LENGTH))
    condition = _child(processing, "responseCondition")
    for name, (value, _) in known.items():
        branch = _child(condition, "responseIf" if name == "right" else "responseElseIf")
        if question["kind"] == "number":
            within, both = _margin(question, value), _child(branch, "and")
            for test, bound in (("gte", value - within), ("lte", value + within)):  # more systems read these than `equal` with a tolerance
                _compared(both, test, _digits(bound), "float")
        else:
            either = _child(branch, "or")
            for spelling in _shape_spellings(value):
                _compared(either, "match", spelling, "string")
        if name == "right":
            _set(branch, "SCORE", "1")
        _set(branch, "FEEDBACK", name)
    return {name: text for name, (_, text) in known.items()}


QTI_KINDS: dict[str, tuple[str, str, Callable[..., dict[str, str]]]] = {
    "choice": ("single", "identifier", _qti_choice), "several": ("multiple", "identifier", _qti_choice),
    "number": ("single", "float", _qti_entry), "shape": ("single", "string", _qti_entry), "order": ("ordered", "identifier", _qti_order),
}  # fmt: skip


# -- cells of a problem set --------------------------------------------------------------------------------

EXPECTED = {
    "choice": "the answer's text", "several": "a list of the texts that apply", "number": "a number", "shape": "a tuple",
    "order": "a list of the steps' texts, the first one first",
}  # fmt: skip


def cells(wanted: Sequence[str], draw: int = 0, seed: int = 0) -> str:
    """The quizzes of these lessons as text of a problem set: for each three cells, worth a point a question.

    With `draw`, so many of each question with drawn numbers instead.

    Raises LookupError for a lesson that does not exist.

    >>> print(cells(["04"]).splitlines()[2])
    ```python locked quiz-04
    """
    return "\n".join(_cells_of(lesson, draw, seed) for lesson in wanted)


def _cells_of(lesson: str, draw: int, seed: int) -> str:
    asked = [item.question for item in items([lesson], draw=draw, seed=seed)]
    names = {"name": f"quiz-{lesson}", "answers": f"answers-{lesson}", "heading": f"Questions on lesson {lesson}",
             "imported": f"lesson{lesson} as asks{lesson}", "made": f"quiz(*asks{lesson}.quiz)"}  # fmt: skip
    if draw:
        made = f'quiz("{lesson} with other numbers", *drawn("{lesson}", seed={seed}, count={draw}))'
        names = {"name": f"drawn-{lesson}", "answers": f"answers-drawn-{lesson}", "heading": f"Numbers of lesson {lesson}",
                 "imported": "drawn", "made": made}  # fmt: skip
    return CELLS.format(
        **names, function=names["answers"].replace("-", "_"), count=len(asked),
        module="autolab.questions.drawn" if draw else "autolab.questions",
        expected="\n".join(f"    # {k}: {EXPECTED[question['kind']]}" for k, question in enumerate(asked, 1)),
        right="\n".join(f"        {right_answer(question)!r}," for question in asked),
    )  # fmt: skip


def right_answer(question: dict[str, Any]) -> Any:
    """What `judge` of `autolab.widgets.questions` takes as right.

    >>> right_answer(items(["04"], ["shape"])[0].question)
    (5, 1)
    """
    match question["kind"]:
        case "choice":
            return question["shown"]
        case "several":
            return [option["text"] for option in question["options"] if option["right"]]
        case "order":
            return [option["text"] for option in question["options"]]
        case "shape":
            return tuple(question["right"])
    return question["right"]


CELLS = """\
## {heading} ({count} points)

```python locked {name}
from {module} import {imported}
from autolab.widgets import quiz

{made}
```

Answer above as often as you like. Then write your answers here: these count.

```python answer {answers}
def {function}():
    # A list with an answer for each question:
{expected}
    ### BEGIN SOLUTION
    return [
{right}
    ]
    ### END SOLUTION
```

```python check {name}-check {count}
{made}.points({function})
```
"""
