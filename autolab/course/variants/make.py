"""A problem set with drawn exercises, as an assignment of its own: one for the class, or one for each student."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import numpy as np

from autolab.check import Reference, judge
from autolab.check.api.score import RowCandidate
from autolab.check.diagnosis.formulas.mutants import mutants
from autolab.course.notebook import from_markdown
from autolab.course.release import release_of
from autolab.course.solutions import WRONG
from autolab.utils.pin import course_version

from .bank import Bank, Variant, read_bank
from .draw import EVERYBODY, course_key, draw, read_record, record, recorded, write_record
from .text import solution, with_variants


@dataclass
class Made:
    """What was made: the assignment, its notebook, what the class has, and who has exercises of their own."""

    assignment: str
    text: Path
    chosen: dict[str, str]
    students: list[str]
    releases: Path | None = None


def make_variant(course: Path, problem_set: str, year: str, assignment: str = "", students: Sequence[str] = ()) -> Made:
    """Draw the exercises of a problem set and write them as an assignment, `SET-YEAR` if it has no other name.

    With `students` each has a draw of their own: a release in variants/ASSIGNMENT/release/STUDENT, and beside it the source that
    they are graded by. A student who has one keeps it; later calls add new students.

    Raises LookupError for a set without a bank, FileExistsError if the class has the assignment already, ValueError for a name or
    a bank that cannot be.
    """
    assignment = assignment or f"{problem_set}-{year}"
    if not re.fullmatch(r"\w[\w.-]*", assignment) or assignment == problem_set:
        raise ValueError(f"{assignment!r} names a folder beside {problem_set}, and must be of letters, digits, dots and hyphens")
    bank, origin = read_bank(course, problem_set), problem_text(course, problem_set)
    original = origin.read_text("utf-8")
    key, path = course_key(course), record(course, assignment)
    before = read_record(path)
    if before and not students:
        raise FileExistsError(f"{path} says that {assignment} is drawn already; take another --year, or another name with --name")
    drawn = {who: recorded(bank, names) for who, names in before.items()}
    for who in (EVERYBODY, *students):
        drawn.setdefault(who, draw(bank, key, year, who))
    text = course / "text" / assignment / origin.name
    if EVERYBODY not in before:
        if text.exists():
            raise FileExistsError(f"{text} exists already; take another name with --name")
        _write_class(course, bank, original, text, drawn[EVERYBODY], problem_set)
    folder = course / "variants" / assignment
    for who in drawn:
        if who != EVERYBODY and not (folder / "source" / who / f"{origin.stem}.ipynb").exists():
            _write_student(folder, bank, original, origin.stem, who, assignment, drawn[who])
    write_record(path, drawn)
    own = sorted(who for who in drawn if who != EVERYBODY)
    chosen = {answer: variant.name for answer, variant in drawn[EVERYBODY].items()}
    return Made(assignment, text, chosen, own, folder / "release" if own else None)


def problem_text(course: Path, problem_set: str) -> Path:
    """The text of a problem set. Raises LookupError if it has none, or several."""
    found = sorted((course / "text" / problem_set).glob("*.md"))
    if len(found) != 1:
        raise LookupError(f"{course / 'text' / problem_set} has {len(found)} texts; variants are made of a set with one")
    return found[0]


def _write_class(course: Path, bank: Bank, original: str, target: Path, chosen: Mapping[str, Variant], problem_set: str) -> None:
    """An assignment like any other: text, source, wrong answers, rubric."""
    assignment = target.parent.name
    text = with_variants(original, bank, chosen)
    source = course / "source" / assignment / f"{target.stem}.ipynb"
    notebook = from_markdown(text, str(target))
    if version := course_version(course):
        notebook.metadata["autolab"] = {"version": version}
    for path, content in ((target, text), (source, nbformat.writes(notebook) + "\n")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    wrong = course / "wrong" / f"{problem_set}.md"
    kept = wrong.read_text("utf-8") if wrong.exists() else ""
    fences = [f[0] for f in WRONG.finditer(kept) if f[1] not in chosen]
    fences += [f for answer, variant in chosen.items() if (f := wrong_answer(bank, answer, variant))]
    (course / "wrong").mkdir(exist_ok=True)
    (course / "wrong" / f"{assignment}.md").write_text("\n\n".join([f"# Wrong answers to {assignment}", *fences]) + "\n", "utf-8")
    if (rubric := course / "rubric" / f"{problem_set}.md").exists():
        shutil.copy(rubric, course / "rubric" / f"{assignment}.md")


def wrong_answer(bank: Bank, answer: str, variant: Variant) -> str:
    """The solution with one slip of the pen in a rule that the check catches and names, as a fence of wrong/SET.md; "" if there is none."""
    if not variant.is_rule or variant.answer or not variant.rules:
        return ""
    reference = Reference.of(variant.spec)
    prelude = next((slot.prelude.strip() + "\n\n\n" for slot in bank.slots() if slot.answer == answer and slot.prelude), "")
    for x in reference.differentiable():
        for mutant, wrong in mutants(variant.rules[x], (*reference.inputs, "out", "g"), spelled=True):
            with np.errstate(all="ignore"):
                report = judge(variant.shown_spec, Reference.of(variant.shown_spec), RowCandidate(reference, x, wrong), seed=1)
            if any(d.family == mutant.family for d in report.diagnoses):
                other = replace(variant, rules={**variant.rules, x: mutant.formula})
                source = re.sub(r"[ \t]*### (BEGIN|END) SOLUTION\n", "", prelude + solution(other) + "\n")
                return f"```python {answer} {mutant.family}\n{source}```"
    return ""


def _write_student(
    folder: Path, bank: Bank, original: str, stem: str, student: str, assignment: str, chosen: Mapping[str, Variant]
) -> None:
    """The source that a student is graded by, and what they get."""
    source = from_markdown(with_variants(original, bank, chosen), f"variants/{assignment}/{student}")
    version = course_version(folder.parents[1])
    source.metadata["autolab"] = {"assignment": assignment, "student": student,
                                  "variants": {answer: variant.name for answer, variant in chosen.items()},
                                  **({"version": version} if version else {})}  # fmt: skip
    for kind, notebook in (("release", release_of(source)), ("source", source)):
        path = folder / kind / student / f"{stem}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nbformat.writes(notebook) + "\n", "utf-8")
