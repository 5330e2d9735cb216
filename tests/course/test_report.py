"""The report on a class: the commonest mistakes with an answer of the class that does not say whose it is, and a line a student."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autolab.course.grading.class_list import StudentLine
from autolab.course.grading.marks import CellMarks, Marks
from autolab.course.mistakes import add_code, bare, commonest, known_names
from autolab.course.report import page, rubric_rows, summary

WRONG = 'def back(g, x):  # {who}, group 3\n    "By {who}."\n    return g * x\n'


def report(student, text="A sentence.", family="factor", **more):
    said = {"exercise": "square", "cell": "square-check", "family": family, "text": text}
    return {"student": student, "assignment": "ps", "notebook": "n", "scores": {"square-check": 1.0}, "seconds": 1.0,
            "diagnoses": [said], "suspicious": [], "notes": [], "seed": 1, "box": "b", **more}  # fmt: skip


def hand_in(root, student, source):
    (root / student / "ps").mkdir(parents=True)
    cells = [new_code_cell("early", metadata={"nbgrader": {"solution": True, "grade_id": "early"}}),
             new_code_cell(source, metadata={"nbgrader": {"solution": True, "grade_id": "square"}}),
             new_code_cell("check", metadata={"nbgrader": {"grade": True, "grade_id": "square-check"}}),
             new_code_cell("later", metadata={"nbgrader": {"solution": True, "grade_id": "later"}})]  # fmt: skip
    nbformat.write(new_notebook(cells=cells), root / student / "ps" / "n.ipynb")


def test_a_mistake_is_shown_with_an_answer_of_the_class_and_not_its_author(tmp_path):
    reports = [report("ada17"), report("eve")]
    lines = [StudentLine("ada17", ("Ada", "Lovelace")), StudentLine("eve")]
    hand_in(tmp_path, "ada17", WRONG.format(who="Ada Lovelace"))
    hand_in(tmp_path, "eve", "def back(g, eve):\n    pass")  # shorter, and a name of Python's is one of the class
    found = commonest(reports, lines)
    add_code(found, reports, lines, tmp_path)
    assert [(m["students"], m["code"]) for m in found] == [(2, "def back(g, x):\n    return g * x")]


def test_what_is_not_written_yet_comes_after_the_mistakes():
    reports = [report(f"s{i}", family="blank") for i in range(9)] + [report("ada")]
    assert [(m["family"], m["students"]) for m in commonest(reports)] == [("factor", 1), ("blank", 9)]


def test_a_sentence_that_names_a_student_is_not_the_example():
    reports = [report("ada", "ValueError: ada was here"), report("eve", "ValueError: oh"), report("max", "ValueError: Ada too")]
    assert [(m["students"], m["example"]) for m in commonest(reports)] == [(3, "ValueError: oh")]
    assert commonest(reports[:1])[0]["example"] == ""


def test_the_page_says_who_was_graded_with_other_tests_and_what_to_do():
    reports, totals, points = [report("ada"), report("eve")], {"ada": 1.0, "eve": 1.0}, {"square-check": 1.0}
    now, then = (page("ps", summary(reports, totals, points, [], before)) for before in ([], ["eve"]))
    assert "other tests" not in now and "1 of 2 students were graded with other tests" in then and "grade ps --regrade" in then


@pytest.mark.parametrize("source", ["def f(:", "'''open", "# only a comment"])
def test_what_is_no_python_is_not_shown(source):
    assert bare(source) == ""


def test_a_name_is_known_in_any_case_and_not_inside_another_word():
    names = known_names([report("ada")], [StudentLine("li", ("Li",))])
    assert names.search("by ADA_1") and names.search("li2") is None and not names.search("adapted list")


def test_three_hundred_students_are_three_hundred_lines_in_a_box_that_scrolls():
    students = [f"s{i:03d}" for i in range(300)]
    lines = [StudentLine(s, seconds_late=7200.0 * (i == 7), unread=["why"] * (i == 9)) for i, s in enumerate(students)]
    reports = [report(s, notes=["a cell was put back, and this is a long sentence on it"] * (i == 5)) for i, s in enumerate(students)]
    data = summary(reports, dict.fromkeys(students, 1.0), {"square-check": 2.0}, lines)
    assert [s["student"] for s in data["class"][:4]] == ["s005", "s007", "s009", "s000"]
    html = page("ps", data)
    table = html[html.index("aria-label='students'") :]
    assert len(re.findall("<tr>", table[: table.index("</table>")])) == 301 and "tabindex='0'" in html
    assert "1 late, 1 with an answer to be read, 1 repaired or stopped" in html


def test_what_a_student_wrote_is_text_on_the_page():
    data = summary(
        [report("<i>eve", "<script>", notes=["<b>"], suspicious=["<u>"])], {"<i>eve": 1.0}, {"square-check": 2.0}, [StudentLine("<i>eve")]
    )
    assert not re.search("<(script|b|u|i)>", page("<ps>", data))


def test_it_says_what_the_class_earned_for_each_row_of_a_rubric():
    said = {"ada": (2.0, "Rows: 2 0"), "bob": (2.0, "Rows: 1 1"), "eve": (2.0, "no rows"), "max": (None, "")}
    marks = [Marks(who, "", "ps", "n", cells={"why": CellMarks(n, 3.0)}, comments={"why": text}) for who, (n, text) in said.items()]
    rows = rubric_rows({"why": "| points | for |\n|---|---|\n| 2 | this, `g` |\n| 1 | that |"}, marks)
    assert [(r["for"], r["earned"]) for r in rows] == [("this, `g`", {"ada": 2.0, "bob": 1.0}), ("that", {"ada": 0.0, "bob": 1.0})]
    html = page("ps", summary([report("ada")], {"ada": 2.0}, {"why": 3.0}, [], written=rows))
    assert "row by row" in html and "<td>this, <code>g</code></td><td class='n'>1.50</td><td class='n'>2</td><td class='n'>2</td>" in html
    assert "row by row" not in page("ps", summary([report("ada")], {"ada": 2.0}, {"why": 3.0}, []))
