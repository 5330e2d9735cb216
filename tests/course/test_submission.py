"""Whatever is handed in, every exercise that can be graded is, and the feedback says what was repaired."""

import bz2
import dataclasses
import gzip
import json
import lzma
import os
import time

import nbformat
import pytest
from nbgrader import utils

from autolab.course.grading import submission
from autolab.course.grading.scheduler import Course
from autolab.course.grading.submission import parse, read, repair
from autolab.course.grading.worker import as_text
from autolab.course.notebook import from_markdown
from autolab.course.release import form_of_source, release_of

from .hostile import TEXT
from .mutations import at, places
from .pages import page_of
from .test_hostile import FORM, FULL, LIMITS, submitted

RIGHT = json.loads(submitted(None))
BLANK = dict.fromkeys(FULL, 0.0)


def changed(change):
    notebook = json.loads(json.dumps(RIGHT))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    change(notebook)
    return json.dumps(notebook)


def cells(notebook):
    return {c["metadata"].get("nbgrader", {}).get("grade_id"): c for c in notebook["cells"]}


def remove(*names):
    return lambda n: n.update(cells=[c for c in n["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") not in names])


def points(n):
    cells(n)["square-check"]["metadata"]["nbgrader"]["points"] = 1000


def duplicate(n):
    n["cells"].append(json.loads(json.dumps(cells(n)["exp"])))
    n["cells"].append({**cells(n)["exp-check"], "source": "8.0"})


def strip(n):
    for cell in n["cells"]:
        cell["metadata"], cell["id"] = {}, "x" + cell["id"]


def move(n):
    n["cells"].reverse()


def edit(n):
    cells(n)["square-check"]["source"] = "1000.0"


def retype(n):
    cell = cells(n)["square-check"]
    cell["cell_type"] = "markdown"
    del cell["outputs"], cell["execution_count"]


def kernel(n):
    n["metadata"] = {"kernelspec": {"name": "ir", "language": "R"}, "language_info": {"name": "R"}, "widgets": "x" * 10}


def outputs(n):
    cells(n)["square"]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 3_000_000}]


def nonsense(n):
    n["cells"] += [None, 3, {"cell_type": "code"}, {"cell_type": "raw", "source": 7, "metadata": []}]


def unknown(n):
    n["cells"].append({"cell_type": "code", "source": "99.0", "metadata": {"nbgrader": {"grade": True, "grade_id": "bonus", "points": 99}}})


REPAIRED = {
    "tests deleted": (remove("square-check", "exp-hidden"), "'square-check' was missing, and is put back"),
    "everything but the answers deleted": (
        remove("setup", "square-check", "square-hidden", "exp-check", "exp-hidden"),
        "'setup' was missing",
    ),
    "points changed": (points, None),
    "cells duplicated": (duplicate, "'exp-check' is there 2 times; the last one counts"),
    "metadata stripped": (strip, "'square' had lost its metadata, and was recognised"),
    "cells moved": (move, "cells had been moved, and are back in their order"),
    "a test edited": (edit, "the locked cell 'square-check' had been changed"),
    "a test made text": (retype, "'square-check' had become markdown"),
    "another kernel": (kernel, None),
    "huge outputs": (outputs, None),
    "cells that are none": (nonsense, None),
    "a test of one's own": (unknown, None),
}
DAMAGED = "n.ipynb is not valid JSON, as a file that was cut off or edited by hand"
UNREADABLE = {
    "an empty file": ("", "n.ipynb is empty; 0 cells could be read"),
    "a picture": ("\x89PNG\r\n", f"{DAMAGED}; 0 cells could be read"),
    "a list": ("[1, 2]", "n.ipynb has no cells"),
    "a number": ("3", "n.ipynb has no cells"),
    "nested a million times": ("[" * 1_000_000, f"{DAMAGED}; 0 cells could be read"),
    "cells that are text": ('{"cells": "all"}', "n.ipynb has no cells"),
}


def repaired(text):
    notebook, notes = parse(text, "n.ipynb")
    notes += repair(notebook, FORM)
    nbformat.validate(notebook)
    return notebook, notes


def form_of(notebook):
    return [(c.metadata.nbgrader.grade_id, c.metadata.nbgrader.get("points")) for c in notebook.cells if "nbgrader" in c.metadata]


@pytest.mark.parametrize("name", REPAIRED)
def test_a_damaged_notebook_has_its_form_again(name):
    change, said = REPAIRED[name]
    notebook, notes = repaired(changed(change))
    assert form_of(notebook) == [(c.name, c.points if c.grade else None) for c in FORM]
    for cell, form in zip([c for c in notebook.cells if "nbgrader" in c.metadata], FORM, strict=True):
        assert cell.source == (form.source if form.locked else cells(RIGHT_TEXT)[form.name]["source"])
    assert said is None or any(said in note for note in notes)


RIGHT_TEXT = json.loads(changed(lambda n: None))


def test_of_a_test_that_its_teacher_has_changed_no_student_is_told_to_have_changed_it():
    today = [dataclasses.replace(c, source=c.source + "\n# Clearer.") if c.name == "square-check" else c for c in FORM]
    notebook = parse(changed(lambda n: None), "n.ipynb")[0]
    assert repair(notebook, today) == ["the locked cell 'square-check' is of another release; that of today counts"]
    assert next(c.source for c in notebook.cells if c.id == "square-check").endswith("# Clearer.")


def test_of_what_was_handed_in_as_it_was_released_nothing_is_said():
    notebook, notes = repaired(changed(lambda n: None))
    assert "HIDDEN-CASE" in next(c.source for c in notebook.cells if c.id == "square-hidden")
    assert notes == []


def test_a_written_answer_that_was_emptied_is_as_it_was_released_and_waits_for_nobody():
    source = from_markdown("# Why\n\n```markdown written why 4\nBecause.\n```\n")
    released, form = release_of(source), form_of_source(source)
    for text, score in (("  \n", 0), ("Because it adds up.", None)):
        notebook = nbformat.from_dict(json.loads(nbformat.writes(released)))
        answer = next(c for c in notebook.cells if c.metadata.get("nbgrader"))
        answer.source = text
        assert repair(notebook, form) == []
        assert utils.determine_grade(answer)[0] == score
    answer.source, answer.attachments = "", {"a.png": {"image/png": "aGk="}}
    assert repair(notebook, form) == [] and utils.determine_grade(answer)[0] is None


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_blank_with_a_reason(name):
    text, said = UNREADABLE[name]
    notebook, notes = repaired(text)
    assert form_of(notebook) == [(c.name, c.points if c.grade else None) for c in FORM]
    assert notes[0] == said


def test_of_a_truncated_file_the_whole_cells_count():
    text = changed(lambda n: None)
    notebook, notes = repaired(text[: text.index('"exp-check"')])
    assert "is not valid JSON" in notes[0]
    assert "2 * x * g" in next(c.source for c in notebook.cells if c.id == "square")


def test_that_nearly_all_cells_are_missing_is_said_once(monkeypatch):
    monkeypatch.setattr(submission, "FEW", 2)
    n, text = sum(c.grade or c.locked for c in FORM), json.dumps({"cells": [{"cell_type": "code", "source": "1"}]})
    assert f"{n} of the {n} locked and graded cells were missing, and are put back: " in " ".join(repaired(text)[1])
    assert not any(note.startswith("cell 'square-check'") for note in repaired(text)[1])


@pytest.mark.parametrize("text", ["", "{", "{}", '{"cells": []}'])
def test_where_there_are_no_cells_that_is_all_that_is_said(text):
    assert len(repaired(text)[1]) == 1


def test_of_what_was_not_handed_in_no_cell_is_said_to_be_missing():
    assert submission.repair(submission.empty()[0], FORM) == []


def test_of_a_file_with_marks_of_a_merge_the_cells_behind_them_count():
    text = changed(lambda n: None)
    at = text.index('"source"', text.index('"exp"'))
    _, notes = repaired(text[:at] + "\n<<<<<<< HEAD\n" + text[at:])
    assert notes == [f"{DAMAGED}; {len(RIGHT['cells']) - 1} cells could be read"]


def test_a_cell_that_was_written_over_a_copy_of_another_is_recognised():
    def overwrite(n):
        cells(n)["square"]["metadata"]["nbgrader"]["grade_id"] = "exp"

    notebook, notes = repaired(changed(overwrite))
    assert "2 * x * g" in next(c.source for c in notebook.cells if c.id == "square")
    assert "cell 'square' had lost its metadata, and was recognised" in notes


def test_an_old_format_is_converted():
    cell = {"cell_type": "code", "language": "python", "input": "1 + 1", "outputs": [], "metadata": {}, "collapsed": False}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": [cell], "metadata": {}}]}
    notebook, notes = repaired(json.dumps(old))
    assert notes[0] == "n.ipynb is in an old format, and was converted; 1 cells could be read"
    assert notebook.cells[0].source == "1 + 1" and notebook.cells[0].cell_type == "code"


@pytest.mark.parametrize("sheets", [None, 3, [], [None, 3], [{"cells": 3}], [{"cells": [None, {"input": 3}, {"input": ["1", None]}]}]])
def test_an_old_format_that_is_none_is_read_as_far_as_it_goes(sheets):
    _, notes = repaired(json.dumps({"nbformat": 2, "worksheets": sheets}))
    assert "is in an old format, and was converted" in notes[0] and "Error" not in " ".join(notes)


@pytest.mark.parametrize(("data", "what"), [
    (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "a PDF"),
    (b"PK\3\4\x14\0" + bytes(90), "an archive (zip)"),
    (gzip.compress(b"{}", mtime=0), "an archive (gzip)"),
    (bz2.compress(b"{}"), "an archive (bzip2)"),
    (lzma.compress(b"{}"), "an archive (xz)"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)"),
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
    (b"\n<!DOCTYPE html><html>", "a web page (HTML)"),
], ids=lambda value: value if isinstance(value, str) else "file")  # fmt: skip
def test_what_is_no_notebook_is_called_what_it_is(data, what):
    _, notes = submission.parse(submission.decode(data), "n.ipynb")
    assert notes == [f"n.ipynb is {what} and no notebook, so there was nothing to grade: hand in the notebook itself, the .ipynb file"]


@pytest.mark.parametrize("kind", [None, {"a": 1}, "", ["code"]])
def test_a_cell_without_a_type_is_what_was_handed_out(kind):
    def untyped(n):
        for cell in n["cells"] if kind is None else [cells(n)["square"]]:
            cell.pop("cell_type") if kind is None else cell.update(cell_type=kind)

    notebook, notes = repaired(changed(untyped))
    assert [c.cell_type for c in notebook.cells] == [c["cell_type"] for c in RIGHT["cells"]]
    assert len(notes) == 1 and "had become" not in notes[0]
    assert (", do" if kind is None else "cell 'square' does") + " not say what is code and what is text" in notes[0]


def test_a_cell_that_became_raw_is_said_to_be_raw():
    _, notes = repaired(changed(lambda n: cells(n)["square"].update(cell_type="raw")))
    assert notes == ["cell 'square' had become raw, and is code again"]


def test_a_notebook_under_another_name_is_named(tmp_path):
    (tmp_path / "source").mkdir()
    for student, name in (("ada", "n.ipynb"), ("bob", "n (1).ipynb"), ("eve", "<b>.txt")):
        folder = tmp_path / "submitted" / student / "ps"
        folder.mkdir(parents=True)
        (folder / name).write_text("{}")
    said = {job.student: job.notes for job in Course(tmp_path).jobs("ps", {"n": FORM}, 1, LIMITS, None)}
    assert said["ada"] == () and said["eve"] == ("n.ipynb was not handed in",)
    assert said["bob"][1] == "instead there is 'n (1).ipynb': a notebook keeps the name it was handed out with"


def handed_in(tmp_path, **files):
    folder = tmp_path / "submitted" / "ada" / "ps"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "source").mkdir()
    return Course(tmp_path).job("ada", "ps", "n", {"n": FORM}, 1, LIMITS, None)


@pytest.mark.parametrize("name", ["n (1).ipynb", "N.IPYNB", "unpacked/n.ipynb"])
def test_the_only_notebook_is_graded_whatever_it_is_called(tmp_path, name):
    job = handed_in(tmp_path, **{name: submitted(None)})
    assert job.text == submitted(None)
    assert job.notes == ("n.ipynb was not handed in", f"{name!r} has its cells, and is graded instead")


def test_between_two_notebooks_a_person_chooses(tmp_path):
    job = handed_in(tmp_path, **{"n (1).ipynb": submitted(None), "n-2.ipynb": submitted(None)})
    assert job.text is None and job.notes[1].startswith("instead there is 'n (1).ipynb', 'n-2.ipynb'")


def test_a_second_notebook_and_what_is_no_notebook_are_named(tmp_path):
    assert handed_in(tmp_path, **{"n.ipynb": "{}", "n-Copy1.ipynb": "{}"}).notes == (
        "beside it there is 'n-Copy1.ipynb', which is not graded",
    )
    os.remove(tmp_path / "submitted" / "ada" / "ps" / "n.ipynb"), os.remove(tmp_path / "submitted" / "ada" / "ps" / "n-Copy1.ipynb")
    (tmp_path / "submitted" / "ada" / "ps" / "n.zip").write_text("")
    assert (
        Course(tmp_path).job("ada", "ps", "n", {"n": FORM}, 1, LIMITS, None).notes[1] == "instead there is n.zip, which is not a notebook"
    )


def test_a_time_of_handing_in_that_is_none_is_named(tmp_path):
    assert handed_in(tmp_path, **{"n.ipynb": "{}", "timestamp.txt": "yesterday"}).notes == (
        "timestamp.txt says 'yesterday', which is no time: this counts as handed in on time",
    )


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "secret.ipynb").write_text(changed(lambda n: None))
    os.symlink(tmp_path / "secret.ipynb", tmp_path / "n.ipynb")
    notebook, notes = read(tmp_path / "n.ipynb")
    assert notebook.cells == []
    assert notes == ["n.ipynb is not an ordinary file (a link is not followed)"]


def test_a_pipe_and_a_folder_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "n.ipynb")
    (tmp_path / "m.ipynb").mkdir()
    assert read(tmp_path / "n.ipynb")[1] == ["n.ipynb is not an ordinary file"]
    assert "is not an ordinary file" in read(tmp_path / "m.ipynb")[1][0]
    assert read(tmp_path / "nothing.ipynb")[1] == ["nothing.ipynb was not handed in"]


def test_of_a_file_that_is_too_long_the_beginning_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "LONGEST", 10)
    (tmp_path / "n.ipynb").write_text("x" * 11)
    text, (note,) = submission.read_text(tmp_path / "n.ipynb")
    assert text == "x" * 10 and "is too long (0 MB): without its outputs, the first 0 MB are read. Clear the outputs" in note


def test_a_plot_that_keeps_its_points_costs_no_cell(monkeypatch):
    plot = {"output_type": "display_data", "data": {"x": list(range(9999))}, "metadata": {}}
    text = changed(lambda n: cells(n)["square"].update(outputs=[plot]))
    before = parse(text, "n.ipynb")
    monkeypatch.setattr(submission, "MOST", 5000)
    assert parse(text, "n.ipynb") == before


def test_outputs_do_not_make_a_notebook_too_long(tmp_path, monkeypatch):
    text = changed(lambda n: cells(n)["square"].update(outputs=[{"output_type": "stream", "name": "stdout", "text": [']"\\'] * 9999}]))
    monkeypatch.setattr(submission, "LONGEST", len(text) // 2)
    (tmp_path / "n.ipynb").write_text(text)
    notebook, notes = read(tmp_path / "n.ipynb")
    assert [c.source for c in notebook.cells] == [c.source for c in parse(text, "n.ipynb")[0].cells] and notes == []


def test_very_many_outputs_cost_no_cell():
    text = changed(lambda n: cells(n)["square"].update(outputs=["MANY"]))
    before, one = parse(text, "n.ipynb"), json.dumps({"output_type": "stream", "name": "stdout", "text": ["1\n"]})
    assert parse(text.replace('"MANY"', ", ".join([one] * 300_000)), "n.ipynb") == before


SCRIPTS = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "[x](&#106;avascript:alert(1))",
    "![x](http://elsewhere/seen.png)", "[x]\n\n[x]: javascript:alert(1)", "<javascript:alert(1)>", "a <svg/onload=alert(1)> b",
    "see http://elsewhere/seen, HTTPS://elsewhere",
)  # fmt: skip


@pytest.mark.parametrize("text", SCRIPTS)
def test_what_a_student_writes_does_nothing_in_the_browser_of_who_grades(text):
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    def write(n):
        n["cells"].append({"cell_type": "markdown", "source": text, "metadata": {}, "id": "own"})

    notebook, _ = repaired(changed(write))
    submission.disarm(notebook)
    (source,) = [c.source for c in notebook.cells if c.id in ("own", f"c{len(notebook.cells) - 1}") and c.cell_type == "markdown"]
    assert source.replace("\u2060", "") == text
    made = markdown2html_mistune(source).lower()
    assert not [word for word in ("<script", "<img", "<svg", "href=") if word in made]


def test_a_page_for_a_student_runs_nothing():
    notebook, _ = repaired(
        changed(lambda n: n["cells"].append({"cell_type": "markdown", "source": SCRIPTS[0] + SCRIPTS[2], "metadata": {}}))
    )
    html = page_of(notebook)
    assert "default-src 'none'" in html
    assert "<script" not in html


def test_a_regular_expression_does_not_take_an_hour():
    def write(n):
        cells(n)["square"]["source"] = "# BEGIN HIDDEN TESTS\n" * 9000

    notebook, _ = repaired(changed(write))
    start = time.process_time()
    page_of(notebook)
    assert time.process_time() - start < 10  # backtracking would take hours


def test_a_file_in_utf16_and_half_a_character_are_read(tmp_path):
    (tmp_path / "n.ipynb").write_bytes(changed(lambda n: None).encode("utf-16"))
    notebook, notes = read(tmp_path / "n.ipynb")
    assert (len(notebook.cells) > 0, notes) == (True, [])
    assert parse('{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "n.ipynb")[0].cells[0].source == "?"


HALF = "\ud800"  # JSON can spell it as \\ud800, and no file can hold it


def set_at(notebook, path, change):
    """The same notebook, changed in one place."""
    changed = json.loads(json.dumps(notebook))
    *to_it, last = path
    change(at(changed, to_it), last)
    return changed


def renamed(parent, key):
    if isinstance(parent, dict):
        parent[HALF + key] = parent.pop(key)


@pytest.mark.parametrize("change", [lambda parent, key: parent.__setitem__(key, HALF), renamed], ids=["value", "name"])
def test_half_a_character_anywhere_stops_no_class(change):
    picture = {"attachments": {"a.png": {"image/png": "iVBORw=="}}}
    whole = RIGHT | {"cells": [RIGHT["cells"][0] | {"cell_type": "markdown"} | picture, *RIGHT["cells"]]}
    for path in (path for path in places(whole) if path):
        notebook, notes = parse(json.dumps(set_at(whole, path, change)), "n.ipynb")
        claims = submission.raised_points(notebook, FORM)
        notes = [*notes, *claims, *repair(notebook, FORM)]
        submission.disarm(notebook)
        assert f"{as_text(notebook)}{notes}{' '.join(notes)}".encode(), path


@pytest.mark.parametrize("points", [10**400, -(10**400), 1e308, float("nan"), True, "8", None, []], ids=lambda points: str(points)[:8])
def test_points_that_no_float_holds_stop_no_class(points):
    def write(notebook):
        cells(notebook)["square-check"]["metadata"]["nbgrader"] |= {"points": points}
        cells(notebook)["square-check"]["source"] += "\nprint(1)"

    notebook, notes = repaired(changed(write))
    assert any("'square-check' had been changed" in note for note in notes)
    assert cells(notebook)["square-check"]["metadata"]["nbgrader"]["points"] == 8


def test_the_text_and_the_form_agree():
    assert [c.name for c in FORM if c.grade] == list(FULL)
    assert TEXT.count("check square-") == 2
    assert LIMITS.cell < 10


def test_damage_before_the_first_cell_costs_no_cell():
    cells = [{"cell_type": "code", "source": f"x = {i}", "metadata": {}, "outputs": []} for i in range(3)]
    text = json.dumps({"cells": cells, "nbformat": 4})
    notebook, notes = submission.parse(text.replace('"cells": [', '"cells":\0['), "n.ipynb")
    assert [c.source for c in notebook.cells] == ["x = 0", "x = 1", "x = 2"]
    assert "3 cells could be read" in notes[0]
    assert submission.decode(text.encode("utf-32")) == text
