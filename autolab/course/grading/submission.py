"""What was handed in, made gradable: whatever is missing is put back, whatever is locked is as it was released.

Nothing here runs anything, follows a symbolic link, or raises because of what a student wrote.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from autolab.course.preprocessors import HIDDEN

from .pictures import pictures

LONGEST, SEARCHED = 32 << 20, 128 << 20  # bytes of a file that are read; in which outputs are looked for, to leave them out
AT_ONCE, MOST = 300_000, 1_000_000  # values of JSON that are read at once; that are read at all, a cell at a time
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
CELLS, LONGEST_CELL = 2000, 200_000  # cells of a notebook; characters of one that is run
CHUNK = 1 << 16
FEW = 5  # missing cells are named one by one
RESUMES = 20  # times that reading goes on behind what is no JSON
# A cell is an entry of a list; behind a colon there is metadata.
NEXT_CELL = re.compile(r'[^:\s]\s*(\{\s*"(?:attachments|cell_type|execution_count|id|metadata|outputs|source)")')
BETWEEN = re.compile(r"[ \t\r\n,]*")
# What is handed in under the name of a notebook, by how it begins; what is no UTF-8 is \ufffd.
OTHERS = {
    "%pdf": "a PDF", "pk\3\4": "an archive (zip)", "pk\5\6": "an empty archive (zip)", "\x1f\ufffd": "an archive (gzip)",
    "bzh": "an archive (bzip2)", "7z\ufffd": "an archive (7z)", "\ufffd7zxz": "an archive (xz)", "rar!": "an archive (rar)",
    "\ufffdpng": "a picture (PNG)", "<!doctype": "a web page (HTML)", "<html": "a web page (HTML)",
    "version https://git-lfs": "a pointer of Git LFS",
}  # fmt: skip


@dataclass(frozen=True)
class FormCell:
    """A cell that nbgrader knows: what it was, and what it is worth."""

    name: str
    cell_type: str
    source: str
    locked: bool
    grade: bool
    solution: bool
    task: bool = False
    points: float = 0.0
    checksum: str = ""

    def metadata(self) -> dict[str, Any]:
        """The nbgrader metadata of this cell."""
        data = {
            "grade": self.grade, "grade_id": self.name, "locked": self.locked, "solution": self.solution,
            "task": self.task, "schema_version": 3, "cell_type": self.cell_type, "checksum": self.checksum,
        }  # fmt: skip
        return {**data, "points": self.points} if self.grade or self.task else data


Form = Sequence[FormCell]


def form_of(notebook: Any) -> list[FormCell]:
    """The form of a notebook, from nbgrader's gradebook (an `nbgrader.api.Notebook`)."""
    points = {c.name: float(c.max_score) for c in (*notebook.grade_cells, *notebook.task_cells)}
    grades = {c.name for c in notebook.grade_cells}
    tasks = {c.name for c in notebook.task_cells}
    solutions = {c.name for c in notebook.solution_cells}
    return [
        FormCell(s.name, s.cell_type, s.source or "", bool(s.locked), s.name in grades, s.name in solutions,
                 s.name in tasks, points.get(s.name, 0.0), s.checksum or "")
        for s in notebook.source_cells
    ]  # fmt: skip


def read(path: str | Path) -> tuple[NotebookNode, list[str]]:
    """The notebook in a file, as much of it as can be read, and what was wrong with it."""
    text, notes = read_text(path)
    notebook, more = empty() if text is None else parse(text, Path(path).name)
    return notebook, notes + more


def parse(text: str, name: str) -> tuple[NotebookNode, list[str]]:
    """A notebook from its text; from broken JSON, and from very much of it, the cells that are whole."""
    notes, data = [], None
    whole, (text, values) = text, _readable_part(text)
    if values > MOST and '"outputs"' in whole:  # a plot that keeps its points must not cost what was written
        text, values = _readable_part(_without_outputs(whole.encode("utf-8", "replace")).decode("utf-8", "replace"))
    if values <= AT_ONCE:
        with contextlib.suppress(ValueError, RecursionError):
            data = _whole_characters(json.loads(text), text)
    if data is None:
        cells, ended = _whole_cells(text)
        data = {"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}
        if not ended and not cells and (what := no_notebook(text)):
            notes.append(f"{name} is {what} and no notebook, so there was nothing to grade: hand in the notebook itself, the .ipynb file")
        elif not ended:
            damaged = "is not valid JSON, as a file that was cut off or edited by hand" if text.strip() else "is empty"
            problem = f"holds more than {MOST:,} numbers, texts and lists" if values > MOST else damaged
            notes.append(f"{name} {problem}; {len(cells)} cells could be read")
    if isinstance(data, dict) and "worksheets" in data and "cells" not in data:
        data = {"cells": _old_cells(data["worksheets"])}
        notes.append(f"{name} is in an old format, and was converted; {len(data['cells'])} cells could be read")
    cells = data.get("cells") if isinstance(data, dict) else None
    if not isinstance(cells, list):
        cells = []
    if not cells and not notes:
        notes.append(f"{name} has no cells")
    if len(cells) > CELLS:
        notes.append(f"{name} has more than {CELLS} cells; the first {CELLS} are read")
    clean = [c for c in (_cell(raw, i) for i, raw in enumerate(cells[:CELLS])) if c is not None]
    return _notebook(clean), notes


def _old_cells(sheets: Any) -> list[dict]:
    """The cells of a notebook in format 2 or 3, at most CELLS and one more, each without its outputs, in today's words."""
    cells = [
        {**cell, "source": cell.get("input", cell.get("source"))}
        for sheet in (sheets if isinstance(sheets, list) else [])
        if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
        for cell in sheet["cells"]
        if isinstance(cell, dict)
    ]
    return cells[: CELLS + 1]


def no_notebook(text: str) -> str:
    """What a file is whose first characters are those of something else; "" if they are not."""
    return next((what for mark, what in OTHERS.items() if text.lstrip(" \t\r\n\ufeff")[:30].lower().startswith(mark)), "")


def _readable_part(text: str) -> tuple[str, int]:
    """As much of a text as has at most MOST values of JSON, and how many there are, or MOST + 1.

    `{},` takes three bytes of a file and seventy of memory: thirty megabytes of it would take ten seconds and a gigabyte.
    """
    values = 0
    for start in range(0, len(text), CHUNK):
        values += sum(text.count(mark, start, start + CHUNK) for mark in "[{,")
        if values > MOST:
            return text[:start], MOST + 1
    return text, values


def _whole_cells(text: str) -> tuple[list[dict], bool]:
    """The cells of a notebook that are whole, without their outputs, and whether these are all."""
    start, cells, decoder, resumed = re.search(r'"cells"\s*:\s*\[', text), [], json.JSONDecoder(), 0
    if not start and (first := NEXT_CELL.search(text)):  # the damage is before the first cell
        start, resumed = first, 1
    at = start.start(1) if resumed and start else start.end() if start else len(text)
    while len(cells) <= CELLS and (at := BETWEEN.match(text, at).end()) < len(text):  # type: ignore[union-attr]  # it matches nothing as well
        if text[at] == "]":
            return cells, not resumed
        try:
            cell, end = decoder.raw_decode(text, at)
            cell, at = _whole_characters(cell, text[at:end]), end
        except (ValueError, RecursionError):
            if (resumed := resumed + 1) > RESUMES or not (found := NEXT_CELL.search(text, at)):
                break
            at = found.start(1)
            continue
        if resumed and not (isinstance(cell, dict) and {"cell_type", "source"} <= cell.keys()):
            continue
        kept = ("attachments", "cell_type", "execution_count", "id", "metadata", "source")
        cells.append({k: cell[k] for k in kept if k in cell} if isinstance(cell, dict) else {})
    return cells, len(cells) > CELLS


def _whole_characters(data: Any, text: str) -> Any:
    """What was read from a text: half a pair of UTF-16, which JSON can spell and no file can hold, is a question mark, in names, too."""
    if "\\ud" not in text and "\\uD" not in text:
        return data
    return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode())


def _cell(raw: Any, number: int) -> NotebookNode | None:
    """One cell without outputs, and without anything but pictures in its attachments and nbgrader's facts in its metadata."""
    if not isinstance(raw, dict):
        return None
    source = raw.get("source", "")
    source = "".join(s for s in source if isinstance(s, str)) if isinstance(source, list) else source
    source = source if isinstance(source, str) else ""
    metadata = raw.get("metadata")
    facts = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = facts.get("grade_id") if isinstance(facts, dict) else None
    kind = raw.get("cell_type")
    known = isinstance(kind, str) and kind != ""
    cell = _new("code" if kind == "code" or (not known and "execution_count" in raw) else "markdown", source, f"c{number}")
    if cell.cell_type == "markdown" and (shown := pictures(raw.get("attachments"))):
        cell["attachments"] = shown
    if isinstance(name, str):
        cell.metadata["nbgrader"] = NotebookNode(facts)
    cell.metadata["was"] = raw.get("id")
    cell.metadata["stated_type"] = kind if known else None
    return cell


def _new(kind: str, source: str, name: str = "new") -> NotebookNode:
    # nbformat's own functions validate each cell against the schema, which takes longer than grading it
    code = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return NotebookNode(cell_type=kind, source=source, id=name, metadata=NotebookNode(), **code)


def _notebook(cells: list[NotebookNode]) -> NotebookNode:
    metadata = NotebookNode(kernelspec=NotebookNode(KERNEL), language_info=NotebookNode(name="python"))
    return NotebookNode(cells=cells, metadata=metadata, nbformat=4, nbformat_minor=5)


def raised_points(notebook: NotebookNode, form: Form) -> list[str]:
    """The cells that claim to be worth something else than when they were released. (`repair` puts that back.)"""
    known, claims = {c.name: c for c in form}, []
    for cell in notebook.cells:
        facts, released = cell.metadata.get("nbgrader", {}), known.get(_name(cell) or "")
        claimed = facts.get("points")
        if not isinstance(claimed, (int, float)) or (released is None and not facts.get("grade")):
            continue
        worth = released.points if released else 0.0
        if claimed != worth:
            claims.append(f"cell {_name(cell)[:100]!a} claims {claimed!r:.20} points where {worth:g} were released")
    return claims[:10]


def repair(notebook: NotebookNode, form: Form) -> list[str]:
    """Put back what was released, in place, and say what was wrong."""
    known, notes = {c.name: c for c in form}, []
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") not in known:
            cell.metadata.pop("nbgrader", None)
    _recognise(notebook, form, notes)
    _one_of_each(notebook, known, notes)
    _recognise(notebook, form, notes)  # a copy of another answer's cell that was written over
    _in_order(notebook, form, notes)
    _restore(notebook, known, notes)
    for number, cell in enumerate(notebook.cells):
        cell.metadata.pop("was", None)
        cell.metadata.pop("stated_type", None)
        cell["id"] = re.sub(r"[^\w-]", "-", _name(cell) or f"c{number}", flags=re.ASCII)[:64]
    return notes


def _name(cell: NotebookNode) -> str | None:
    return cell["metadata"].get("nbgrader", {}).get("grade_id")  # an attribute of a NotebookNode takes ten times as long


def _recognise(notebook: NotebookNode, form: Form, notes: list[str]) -> None:
    """Cells whose metadata was lost: by their id, by their text, or by what they define."""
    here = {_name(c) for c in notebook.cells}
    if here.issuperset(wanted.name for wanted in form):
        return
    lost = [(c, c.source.strip(), _definitions(c.source)) for c in notebook.cells if _name(c) is None]
    for wanted in form:
        if wanted.name in here:
            continue
        released, defined = wanted.source.strip(), _definitions(wanted.source) if wanted.solution else set()
        loose = [(c, text, names) for c, text, names in lost if _name(c) is None and c.cell_type == wanted.cell_type]
        same_id = [c for c, *_ in loose if c.metadata.get("was") == wanted.name]
        same_text = [c for c, text, _ in loose if text == released != ""]
        same_definitions = [c for c, _, names in loose if defined and defined <= names]
        for cell in [*same_id, *same_text, *same_definitions][:1]:
            cell.metadata["nbgrader"] = NotebookNode(grade_id=wanted.name)
            notes.append(f"cell {wanted.name!r} had lost its metadata, and was recognised")


def _definitions(source: str) -> set[str]:
    return set(re.findall(r"^(?:class|def)[ \t]+(\w+)", source[:LONGEST_CELL], re.MULTILINE))


def _one_of_each(notebook: NotebookNode, known: dict[str, FormCell], notes: list[str]) -> None:
    """Of several cells with one id the last answer counts, and the others are ordinary cells."""
    groups: dict[str, list[NotebookNode]] = {}
    for cell in notebook.cells:
        if name := _name(cell):
            groups.setdefault(name, []).append(cell)
    for name, cells in groups.items():
        if len(cells) == 1:
            continue
        form = known[name]
        answers = [c for c in cells if c.source.strip() != form.source.strip()] if form.solution else []
        kept = (answers or cells)[-1]
        notes.append(f"cell {name!r} is there {len(cells)} times; the last one counts")
        for cell in cells:
            if cell is not kept:
                cell.metadata.pop("nbgrader", None)
                if not form.solution:
                    cell.source = ""


def _in_order(notebook: NotebookNode, form: Form, notes: list[str]) -> None:
    """Cells that were moved go back to their place, each with the ordinary cells that are below it."""
    order = {c.name: i for i, c in enumerate(form)}
    names = [n for c in notebook.cells if (n := _name(c))]
    if names == sorted(names, key=order.__getitem__):
        return
    notes.append("cells had been moved, and are back in their order")
    head, parts = [], []
    for cell in notebook.cells:
        if name := _name(cell):
            parts.append((order[name], [cell]))
        elif parts:
            parts[-1][1].append(cell)
        else:
            head.append(cell)
    notebook.cells = head + [cell for _, cells in sorted(parts, key=lambda p: p[0]) for cell in cells]


def _restore(notebook: NotebookNode, known: dict[str, FormCell], notes: list[str]) -> None:
    """Missing cells, locked text, points and kinds are as they were released."""
    order = {name: i for i, name in enumerate(known)}
    here = {_name(c): c for c in notebook.cells}
    needed = [name for name, form in known.items() if form.grade or form.task or form.locked]
    missing = [name for name in needed if name not in here]
    none = not notebook.cells  # said already: it was not handed in, or could not be read
    if (few := none or len(missing) > max(FEW, 0.7 * len(needed))) and not none:
        notes.append(
            f"{len(missing)} of the {len(needed)} locked and graded cells were missing, and are put back: "
            "it may be another notebook, or only a part of this one"
        )
    untyped = [name for name in known if name in here and here[name].metadata.get("stated_type", "") is None]
    if untyped:
        said = f"cell {untyped[0]!r} does" if len(untyped) == 1 else f"{len(untyped)} cells, such as {untyped[0]!r}, do"
        notes.append(f"{said} not say what is code and what is text (cell_type), which was put back as it was handed out")
    for name, form in known.items():
        cell = here.get(name)
        kept = form.locked and not form.solution  # a cell that is as it was handed out
        of_another = kept and cell is not None and cell.source != form.source and _is_as_released(cell)
        if cell is None:
            if name in missing and not few:
                notes.append(f"cell {name!r} was missing, and is put back")
            cell = _new(form.cell_type, form.source)
            after = [i for i, c in enumerate(notebook.cells) if (n := _name(c)) and order[n] < order[name]]
            before = [i for i, c in enumerate(notebook.cells) if (n := _name(c)) and order[n] > order[name]]
            notebook.cells.insert(before[0] if before else after[-1] + 1 if after else len(notebook.cells), cell)
            if not before:  # below every answer, wherever that stands
                notebook.cells.remove(cell)
                notebook.cells.append(cell)
        elif cell.cell_type != form.cell_type:
            if name not in untyped:
                found = str(cell.metadata.get("stated_type", cell.cell_type))[:20]
                notes.append(f"cell {name!r} had become {found}, and is {form.cell_type} again")
            replacement = _new(form.cell_type, cell.source)
            notebook.cells[notebook.cells.index(cell)] = cell = replacement
        cell.metadata["nbgrader"] = NotebookNode(form.metadata())
        if kept and cell.source != form.source:
            if cell.source.strip() != _without_hidden(form.source):
                what = "is of another release; that of today counts" if of_another else "had been changed, and is as it was"
                notes.append(f"the locked cell {name!r} {what}")
            cell.source = form.source
        elif form.grade and form.solution and not cell.source.strip() and not cell.get("attachments"):
            cell.source = form.source  # nothing is an answer as little as what was released: nobody has to read it


def _is_as_released(cell: NotebookNode) -> bool:
    """Whether a cell has the checksum that it was released with: a test that its teacher has changed since, and no student."""
    facts = cell.metadata.get("nbgrader", {})
    try:
        return facts.get("checksum") == compute_checksum(cell)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # a grade without points, or points that no float holds
        return False


@lru_cache(512)
def _without_hidden(source: str) -> str:
    """A test as students get it: the gradebook keeps it with its hidden lines."""
    return HIDDEN.sub("", source).strip()


# A tag, an address, a link or an image, a definition of a link, and what TeX can do of the kind.
ATTACHED = re.compile(r"\(attachment:([^()<>\s]+)\)")
ACTIVE = re.compile(r"<(?=[A-Za-z/!?])|(?i:https?:)(?=//)|\](?=[(:])|\\(?=href|require|style|class|cssId|html)")


def disarm(notebook: NotebookNode) -> None:
    """Take the effect from tags and links in Markdown, in place: they stay to be read, with an invisible character in them.

    A link to a picture in the cell itself is left as it is, since it asks nobody for anything.

    Formgrader sets a student's Markdown as HTML in the grader's browser, where a script may do what the grader may.
    """
    for cell in notebook.cells:
        facts = cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code" and (facts.get("solution") or not facts.get("locked")):
            cell.source = _disarmed(cell.source, cell.get("attachments", {}))


def _disarmed(source: str, attachments: Mapping[str, Any]) -> str:
    return ACTIVE.sub(lambda found: found[0] if _is_inside(found, attachments) else f"{found[0]}\u2060", source)


def _is_inside(found: re.Match[str], attachments: Mapping[str, Any]) -> bool:
    """Whether a bracket that ends a link's text is followed by the name of an attachment, and by nothing else."""
    link = ATTACHED.match(found.string, found.end())
    return bool(link and unquote(link[1]) in attachments)


def empty() -> tuple[NotebookNode, list[str]]:
    """What is graded where there is nothing to read."""
    return _notebook([]), []


def read_text(path: str | Path) -> tuple[str | None, list[str]]:
    """The text of a file that was handed in, or None and why there is none."""
    name = Path(path).name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None, [f"{name} was not handed in"]
    except OSError:
        return None, [f"{name} is not an ordinary file (a link is not followed)"]
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        return None, [f"{name} is not an ordinary file"]
    with os.fdopen(descriptor, "rb") as file:
        if facts.st_size <= LONGEST:
            return decode(file.read(LONGEST + 1)), []
        kept = _without_outputs(file.read(SEARCHED))
        if facts.st_size <= SEARCHED and len(kept) < LONGEST:  # the outputs are all that is left out, and they are made anew
            return decode(kept), []
        return decode(kept), [
            f"{name} is too long ({facts.st_size / (1 << 20):.0f} MB): without its outputs, the first {LONGEST >> 20} MB are read. "
            "Clear the outputs before you hand it in (in JupyterLab: Edit, Clear Outputs of All Cells)"
        ]


OUTPUTS = re.compile(rb'"outputs"\s*:\s*\[')
STRING, DEPTH = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', 12


def _rest_of_list(depth: int) -> re.Pattern[bytes]:
    """What is left of a JSON list behind its bracket, with lists in it so deep: one pattern, as a step for each string takes minutes."""
    inside = rb'(?:[^"\[\]]++|%b)*+' % STRING
    for _ in range(depth):
        inside = rb'(?:[^"\[\]]++|%b|\[%b\])*+' % (STRING, inside)
    return re.compile(inside + rb"\]", re.DOTALL)


REST_OF_LIST = _rest_of_list(DEPTH)


def _without_outputs(data: bytes) -> bytes:
    """The first LONGEST bytes of a notebook whose lists of outputs are empty: a loop that printed must not cost what was written."""
    parts, size, at = list[bytes](), 0, 0
    while size <= LONGEST and at < len(data):
        found = OUTPUTS.search(data, at)
        end = REST_OF_LIST.match(data, found.end()) if found else None
        until = found.end() if found else len(data)
        parts.append(data[at : min(until, at + LONGEST)])
        size, at = size + len(parts[-1]), until
        if found and not end:  # a list without an end: there is no way to know what is behind it
            break
        at = end.end() - 1 if end else at
    return b"".join(parts)[:LONGEST]


def decode(data: bytes) -> str:
    """Text, however an editor saved it; half a pair of UTF-16, which JSON can spell and no file can hold, becomes a question mark."""
    if data[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return data.decode("utf-32", errors="replace")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")
