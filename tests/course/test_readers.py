"""Every reader of a student's text against long hostile texts: four times as long takes about four times as long, no more.

The judge has no clock while it reads. A reader that is new belongs into READERS.
"""

import html
import json
import math
import time

import numpy as np
import pytest
from nbformat import NotebookNode

from autolab.course import report
from autolab.course.grading import grade, protocol, submission
from autolab.course.grading.class_list import StudentLine
from autolab.course.grading.submission import parse, raised_points, repair
from autolab.widgets import questions

from .pages import page_of
from .test_hostile import FORM

# What makes backtracking expensive: a run, and then something that does not fit.
TEXTS = (
    "1", "1 ", "1,", "1x", " ", "(", "[", "]", "-", "1e", "1.", ",111", "a", "_", "\n", "\t", "\\", "'", '"', "*", "**a *", "_a ", "`a ``",
    "> ", "- ", "[a](", "![", "[a][", "$a ", "$$", "<a", "<!--", "&amp;", "http://a", "~~a ", "[^a]", "[a]: b\n", "a|b\n-|-\n", "\\begin{a}",
    "\\(", "#", "1. ", "***", "\x1b[", "\x1b[1;", "def ", "def\n", "class a\n", "np.", "np.a", "autolab.check.", "os.", "check('", "pip -",
    "!pip -a ", "!pip", "BEGIN HIDDEN TESTS\n", "{", "{}", "[],", '{"a":', '"cells":', '"cells" ', "Error: ", "é", "\ud800", "\U0001f600",
)  # fmt: skip
CELLS = (
    "{},",
    "[],",
    "1,",
    '"ab",',
    '{"source":"def a():"},',
    '{"metadata":{"nbgrader":{"grade_id":"exp"}}},',
    "[",
    '{"a":',
    "9",
    " ",
    ",",
)


def notebook_of(text, kind="code", name=None):
    facts = {"nbgrader": {"grade_id": name}} if name else {}
    cells = [
        {"cell_type": kind, "source": part, "metadata": facts} for part in [text[i : i + 150_000] for i in range(0, len(text), 150_000)]
    ]
    return parse(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}), "n.ipynb")[0]


def repaired(text):
    """Lost metadata, claims and order."""
    notebook = notebook_of(text)
    raised_points(notebook, FORM)
    repair(notebook, FORM)


def shown(kind):
    """The page for the student, and what Formgrader shows."""

    def read(text):
        notebook = notebook_of(text, kind)
        for cell in notebook.cells:
            cell.outputs = [grade.new_output("stream", name="stdout", text=cell.source)]
        page_of(notebook)
        submission.disarm(notebook)

    return read


def looked_through(text):
    """What the grader looks for in a cell before it runs, and where one failed."""
    grader = grade.NotebookGrader(None, 1)
    result = grade.NotebookResult(NotebookNode(cells=[]), 1)
    grader.ask = lambda *_: {"error": {"name": "E" + text[:20], "value": text, "traceback": [text]}, "text": text}
    grade._reasons.cache_clear()  # what is remembered takes no time
    for source in (text, "!" + text):
        grader._student(NotebookNode(cell_type="code", source=source[:150_000], metadata={}), "cell 1", result)


def asked(question):
    return lambda text: questions.judge(question, text)


def remembered(text):
    """The report on the class."""
    reports = [{"student": text, "scores": {}, "diagnoses": [], "seconds": 1.0, "notebook": "n", "suspicious": [text], "notes": [text],
                "seed": 1, "box": "none"}]  # fmt: skip
    report.page("ps", report.summary(reports, {text: 1.0}, {"a": 1.0}, [StudentLine(text)]))


def message(text):
    with pytest.raises(protocol.Broken):
        protocol.read(text.encode("utf-8", "replace"), b"")


READERS = {
    "a number": asked(questions.number("?", 3, "w")), "a shape": asked(questions.shape("?", (3, 4), "w")),
    "an option": asked(questions.choice("?", {"a": "b", "c": "d"}, "a")), "several": asked(questions.several("?", {"a": "b", "c": "d"}, ["a"])),
    "an order": asked(questions.order("?", ["a", "b"], "w")), "a file": lambda text: parse(text, "n.ipynb"),
    "a cell that lost its metadata": repaired, "code on a page": shown("code"), "Markdown on a page": shown("markdown"),
    "a cell before it runs": looked_through, "a message from the sandbox": message, "the report": remembered,
    "a file in UTF-16": lambda text: submission.decode(text.encode("utf-16", "replace")),
}  # fmt: skip


def seconds(read, text, most=math.inf):
    """The least of a few measurements, of this process alone."""
    least = math.inf
    for _ in range(3):
        start = time.process_time()
        read(text)
        least = min(least, time.process_time() - start)
        if least < 0.004:
            break
    return least


def grows(read, make, sizes=(10_000, 40_000)):
    """How many times as long it takes for a text four times as long; what takes a few milliseconds is not measured further."""
    small, large = (make(n) for n in sizes)
    later = seconds(read, large)
    return 1.0 if later < 0.008 else later / max(seconds(read, small), 0.001)


@pytest.mark.parametrize("reader", READERS)
def test_no_text_of_a_student_takes_more_than_its_length(reader):
    slow = {}
    for text in TEXTS:

        def make(n, text=text):
            return text * (n // len(text)) + "!"

        times = grows(READERS[reader], make)
        if times > 9 and grows(READERS[reader], make) > 9:
            slow[text] = times
    assert not slow


@pytest.mark.parametrize("answer", ["1" * 22 + "!", "1 " * 15 + "!"])
def test_a_short_answer_takes_no_time_either(answer):
    assert seconds(READERS["a shape"], answer) < 0.1  # it was seconds, and doubled with every digit


@pytest.mark.parametrize("cell", CELLS)
def test_a_notebook_of_many_values_is_read_as_far_as_memory_allows(cell):
    text = '{"cells": [' + cell * (6_000_000 // len(cell))
    notebook, (note, *_) = parse(text, "n.ipynb")
    assert "cells could be read" in note or "no cells" in note or "more than 2000 cells" in note
    assert len(notebook.cells) <= submission.CELLS


def test_of_very_many_values_few_are_in_memory_at_once():
    import tracemalloc

    text = '{"cells": [' + "{}," * 3_000_000
    tracemalloc.start()
    parse(text, "n.ipynb")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(text)


def test_pictures_and_tables_of_numbers_do_not_cost_the_cells_below_them():
    first = {"cell_type": "code", "source": "a", "metadata": {}, "outputs": [{"data": list(range(450_000))}]}
    picture = {"cell_type": "code", "source": "b", "metadata": {}, "outputs": [{"data": {"image/png": "A" * 3_000_000}}]}
    notebook, notes = parse(json.dumps({"cells": [first, picture, {**first, "source": "c", "outputs": []}], "nbformat": 4}), "n.ipynb")
    assert ([c.source for c in notebook.cells], notes) == (["a", "b", "c"], [])


NO_ANSWERS = {
    "None": None, "long": 10**4299, "longer": 10**5000, "inf": math.inf, "nan": math.nan, "nested": [[1]], "list": [10**5000],
    "dict": {"a": 1}, "not a size": [math.nan], "object": object(), "bytes": b"3", "array": np.ones(2), "arrays": [np.ones(2), "c"],
}  # fmt: skip


@pytest.mark.parametrize("answer", NO_ANSWERS)
@pytest.mark.parametrize("reader", ["a number", "a shape", "an option", "several", "an order"])
def test_an_answer_that_is_none_is_wrong_and_no_exception(reader, answer):
    assert READERS[reader](NO_ANSWERS[answer])[0] is False


def test_a_markdown_text_that_is_long_is_shown_as_it_is():
    text = "*a* " * 10_000
    assert html.escape(text) in page_of(notebook_of(text, "markdown"))
