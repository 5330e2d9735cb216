"""Which submissions share text: for a person to look at. It is not a verdict, and no grade depends on it.

The fingerprints of code are the parts of its syntax tree in a normal form (`syntax_trees`). Prose, and code that is no Python, becomes
words or tokens. Every `LENGTH` of them in a row have a number, and of every `WINDOW` numbers in a row the smallest is kept (winnowing:
Schleimer, Wilkerson and Aiken, SIGMOD 2003), so a passage of LENGTH + WINDOW - 1 tokens that two share is found wherever it stands.
What was released is no evidence, nor is what many have.
"""

from __future__ import annotations

import html
import itertools
import keyword
import re
import statistics
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from .problem_sets import problem_sets
from .report import STYLE
from .rubric import rubrics
from .syntax_trees import Part, parts

LENGTH, WINDOW = 12, 6  # tokens; numbers
MANY, FEW = 0.1, 3  # what more than this part of the submissions have, and more than so many, says nothing
MOST = 400_000  # characters of one submission; what follows is not read
SAME = 0.3  # of an assignment's cells, from which another one asks the same
SHOWN = 600  # characters of a passage

# A string (to its end, or that of the line or text), a comment, a number, a name, an operator. Linear in the length of the text: an
# alternative that begins to match does match.
TOKEN = re.compile(
    r"\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*(?:\"\"\")?|'''(?:[^'\\]|\\.|'(?!''))*(?:''')?"
    r"|\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?"
    r"|#[^\n]*|\d[\w.]*|[^\W\d]\w*|\*\*|//|[-+*/@<>=!]=|->|\S",
    re.DOTALL,
)
WORD = re.compile(r"\w+")
NEWLINE = re.compile(r"\r\n?|\n")
UNINDENTED = re.compile(r"^(?=[^\s#)\]}])", re.MULTILINE)


class Token(NamedTuple):
    """What a token counts as, and where it stands."""

    kind: str
    start: int
    end: int


def code_tokens(source: str) -> Iterator[Token]:
    """The tokens of Python source, broken or not: names are `v`, but for keywords and what stands after a dot."""
    dot = False
    for found in TOKEN.finditer(source):
        text = found[0]
        if text[0] == "#":
            continue
        if text[0].isalpha() or text[0] == "_":
            text = text if keyword.iskeyword(text) or dot else "v"
        elif text[0] in "\"'":
            text = "s"
        dot = text == "."
        yield Token(text, found.start(), found.end())


def word_tokens(text: str) -> Iterator[Token]:
    """The words of prose, in lower case."""
    for found in WORD.finditer(text):
        yield Token(found[0].lower(), found.start(), found.end())


def numbers(tokens: Sequence[Token]) -> list[int]:
    """One for every LENGTH tokens in a row."""
    kinds = [zlib.crc32(t.kind.encode("utf-8", "replace")) for t in tokens]
    power, total, found = pow(BASE, LENGTH, MODULUS), 0, []
    for i, kind in enumerate(kinds):
        total = (total * BASE + kind) % MODULUS
        if i >= LENGTH:
            total = (total - kinds[i - LENGTH] * power) % MODULUS
        if i >= LENGTH - 1:
            found.append(total)
    return found


BASE, MODULUS = 1_000_003, (1 << 61) - 1


def winnow(hashes: Sequence[int]) -> dict[int, int]:
    """Of every WINDOW numbers in a row the smallest, the last of equals, and where it stands first."""
    kept: dict[int, int] = {}
    for start in range(max(1, len(hashes) - WINDOW + 1)) if hashes else ():
        window = hashes[start : start + WINDOW]
        least = min(window)
        kept.setdefault(least, start + max(i for i, h in enumerate(window) if h == least))
    return kept


class Place(NamedTuple):
    """Where a fingerprint stands: the cell, and the first and last character."""

    cell: int
    start: int
    end: int


@dataclass
class Submission:
    """One student's notebooks of one assignment, in one course."""

    student: str
    course: str
    cells: list[tuple[str, str]]  # "code" or "markdown", and the source
    prints: dict[int, Place] = field(default_factory=dict)
    counts: bool = True  # among the many who have a passage; a solution does not

    @property
    def name(self) -> str:
        """The student, with the course if that is another one."""
        return f"{self.student} ({self.course})" if self.course else self.student


def fingerprint(submission: Submission, released: set[int]) -> None:
    """Fill in the fingerprints of a submission, without those that what was released has."""
    left = MOST
    for number, (kind, source) in enumerate(submission.cells):
        left -= len(source)
        for value, start, end in prints(kind, source) if left >= 0 else ():
            if value not in released:
                submission.prints.setdefault(value, Place(number, start, end))


@lru_cache(4096)  # most cells of a class are as they were handed out
def prints(kind: str, source: str) -> tuple[tuple[int, int, int], ...]:
    """The fingerprints of a cell, each with its first and last character."""
    return tuple(_code_prints(source) if kind == "code" else _token_prints(list(word_tokens(source)), 0))


def _token_prints(tokens: Sequence[Token], offset: int) -> Iterator[tuple[int, int, int]]:
    for value, at in winnow(numbers(tokens)).items():
        yield value, offset + tokens[at].start, offset + tokens[min(at + LENGTH, len(tokens)) - 1].end


def _code_prints(source: str) -> Iterator[tuple[int, int, int]]:
    """Those of the syntax tree; of what is no Python those of its tokens, and of the statements around it their trees."""
    for start, text, found in _trees(source):
        if found is None:
            yield from _token_prints(list(code_tokens(text)), start)
            continue
        lines = [0, *(match.end() for match in NEWLINE.finditer(text)), len(text)]
        yield from ((part.value, start + lines[part.first - 1], start + lines[part.last]) for part in found)


def _trees(source: str) -> Iterator[tuple[int, str, tuple[Part, ...] | None]]:
    """Pieces of a source, where each begins, and the parts of its tree: one piece, if it is Python, else its unindented statements."""
    if (found := parts(source)) is not None:
        yield 0, source, found
        return
    starts = [0, *(match.start() for match in UNINDENTED.finditer(source)), len(source)]
    for start, end in itertools.pairwise(sorted(set(starts))):
        yield start, source[start:end], parts(source[start:end])


def released_numbers(cells: Iterable[tuple[str, str]]) -> set[int]:
    """All numbers of what was released, not only the fingerprints: windows begin elsewhere in a text with an answer in it."""
    found: set[int] = set()
    for kind, source in cells:
        found.update(numbers(list(code_tokens(source) if kind == "code" else word_tokens(source))))
        found.update(part.value for part in (parts(source) or () if kind == "code" else ()))
    return found


class Pair(NamedTuple):
    """Two submissions, how many fingerprints they share, which part of each that is, and the longest passage."""

    first: str
    second: str
    shared: int
    share: tuple[float, float]
    passages: tuple[str, str]


def pairs(submissions: Sequence[Submission], least: int = 4, most: int = 50) -> list[Pair]:
    """The pairs that share at least `least` fingerprints that few have; what weighs most, a rare one more, first.

    Submissions of one student in one course are not compared; nor are two of earlier courses.
    """
    holders: dict[int, list[int]] = defaultdict(list)
    for i, one in enumerate(submissions):
        for value in one.prints:
            holders[value].append(i)
    everybody = Counter(_groups(submissions))
    limits = {group: max(FEW, int(MANY * count)) for group, count in everybody.items()}
    rare = {
        value: who
        for value, who in holders.items()
        if all(count <= limits[group] for group, count in Counter(_groups(submissions[i] for i in who)).items())
    }
    own = [sum(value in rare for value in one.prints) for one in submissions]
    shared: dict[tuple[int, int], list[int]] = defaultdict(list)
    for value, who in rare.items():
        for pair in combinations(who, 2):
            shared[pair].append(value)
    weight = {pair: sum(1 / (len(rare[value]) - 1) for value in values) for pair, values in shared.items()}
    found = []
    for (i, j), values in sorted(shared.items(), key=lambda item: (-weight[item[0]], item[0])):
        a, b = submissions[i], submissions[j]
        if len(values) < least or (a.course and b.course) or (a.student, a.course) == (b.student, b.course):
            continue
        found.append(Pair(a.name, b.name, len(values), (len(values) / own[i], len(values) / own[j]), _longest(a, b, values)))
        if len(found) == most:
            break
    return found


def _groups(submissions: Iterable[Submission]) -> Iterator[str]:
    """Among whom a submission counts: all, and those of the class if it is one."""
    for one in submissions:
        if one.counts:
            yield from ("all",) if one.course else ("all", "class")


class Nearness(NamedTuple):
    """How many parts of a student's code are in a solution, and which part of all of theirs that is."""

    student: str
    parts: int
    share: float


def near_solutions(submissions: Sequence[Submission], answers: Sequence[Submission], least: int = 4) -> list[Nearness]:
    """Every student whose code has parts of a solution, the nearest first, whether many have the same or not."""
    solved = {value for answer in answers for value in answer.prints}
    found = []
    for one in submissions:
        code = [value for value, place in one.prints.items() if one.cells[place.cell][0] == "code"]
        both = sum(value in solved for value in code)
        if both >= least and not one.course:
            found.append(Nearness(one.name, both, both / len(code)))
    return sorted(found, key=lambda n: (-n.share, -n.parts, n.student))


def _longest(a: Submission, b: Submission, values: Iterable[int]) -> tuple[str, str]:
    """What two share in the cells where they share most, from its first line to its last, as each wrote it."""
    cells: dict[tuple[int, int], list[int]] = defaultdict(list)
    for value in values:
        cells[a.prints[value].cell, b.prints[value].cell].append(value)
    most = max(cells.values(), key=len)
    return _text(a, [a.prints[value] for value in most]), _text(b, [b.prints[value] for value in most])


def _text(submission: Submission, places: Sequence[Place]) -> str:
    source = submission.cells[places[0].cell][1]
    return source[min(place.start for place in places) : max(place.end for place in places)].rstrip()[:SHOWN]


def submissions_of(root: Path, assignment: str, course: str = "") -> list[Submission]:
    """What was handed in, as much of it as can be read; each student with all notebooks of the assignment."""
    from autolab.course.grading import submission
    from autolab.course.grading.scheduler import Course

    found = []
    place = Course(root)
    for student in place.students(assignment):
        cells: list[tuple[str, str]] = []
        folder = place.root / "submitted" / student / assignment
        if folder.is_symlink() or folder.parent.is_symlink():
            continue
        for path in sorted(folder.glob("*.ipynb"))[:20]:
            notebook, _ = submission.read(path)
            cells += [(c.cell_type, c.source[:200_000]) for c in notebook.cells]
        found.append(Submission(student, course, cells))
    return found


def notebooks(*folders: Path) -> Iterator[Any]:
    """The notebooks that lie in folders, as much of each as can be read."""
    from autolab.course.grading import submission

    for folder in folders:
        for path in sorted(folder.glob("*.ipynb")):
            yield submission.read(path)[0]


def released(root: Path, assignment: str) -> list[tuple[str, str]]:
    """The cells that students got: of release/, or of source/ without solutions; and of the exercises that students have of their own."""
    from autolab.course.release import release_of

    found = list(notebooks(root / "release" / assignment)) or [release_of(n) for n in notebooks(root / "source" / assignment)]
    drawn = notebooks(*sorted((root / "variants" / assignment / "release").glob("*")))
    return list(dict.fromkeys((c.cell_type, c.source) for notebook in (*found, *drawn) for c in notebook.cells))


def solutions(root: Path, assignment: str, shipped: Path | None = None) -> list[Submission]:
    """The answers that are nobody's, each kind as one more submission: in source/, of the variants, and as autolab came with them."""
    drawn = sorted((root / "variants" / assignment / "source").glob("*"))
    places = [(f"source/{assignment}", [root / "source" / assignment]), (f"variants/{assignment}", drawn)]
    if shipped:
        places += [(f"{name} as shipped", [shipped / "source" / name]) for name in same_exercises(root, assignment, shipped)]
    found, seen = _samples(root, assignment), set[str]()
    for where, folders in places:
        sources = [c.source for n in notebooks(*folders) for c in n.cells if c.cell_type == "code" and "BEGIN SOLUTION" in c.source]
        if new := [source for source in dict.fromkeys(sources) if source not in seen]:
            found.append(Submission("the solution", where, [("code", source) for source in new], counts=False))
        seen.update(sources)
    return found


def _samples(root: Path, assignment: str) -> list[Submission]:
    """The sample answers of the rubric and the model answers in source/, each of which a student may have copied."""
    written = [c.source for n in notebooks(root / "source" / assignment) for c in n.cells
               if c.cell_type == "markdown" and c.metadata.get("nbgrader", {}).get("solution")]  # fmt: skip
    places = (("rubric", list(rubrics(root, assignment).values())), ("source", written))
    return [
        Submission("the sample answers", f"{where}/{assignment}", [("markdown", text) for text in texts], counts=False)
        for where, texts in places
        if texts
    ]


def same_exercises(root: Path, assignment: str, other: Path) -> list[str]:
    """The assignments of another course that ask what this one asks: by their name, or because they have many of its cells."""
    wanted = _cell_ids(root, assignment)
    names = sorted(folder.name for folder in (other / "source").glob("*") if folder.is_dir())
    return [
        name
        for name in names
        if (other.resolve(), name) != (root.resolve(), assignment)
        and (name == assignment or len(wanted & _cell_ids(other, name)) > SAME * len(wanted))
    ]


def _cell_ids(root: Path, assignment: str) -> set[str]:
    cells = (cell for notebook in notebooks(root / "source" / assignment) for cell in notebook.cells)
    return {name for cell in cells if (name := cell.metadata.get("nbgrader", {}).get("grade_id"))}


def compare(root: Path, assignment: str, earlier: Sequence[Path] = ()) -> dict[str, Any]:
    """The pairs of an assignment, also with its solutions and with other courses. Raises LookupError if nothing was handed in."""
    found, cells = submissions_of(root, assignment), released(root, assignment)
    if not found:
        raise LookupError(f"nobody handed in {assignment}: there is no folder {root / 'submitted'}/STUDENT/{assignment}")
    notes = []
    for other in earlier:
        names, before = same_exercises(root, assignment, other), len(found)
        for name in names:
            cells += released(other, name)
            found += submissions_of(other, name, other.resolve().name + f", {name}" * (name != assignment))
        if len(found) == before:
            asks = f"nobody handed in {', '.join(names)}" if names else f"no assignment there has the cells of {assignment}"
            notes.append(f"{other} is not compared: {asks}")
    base, answers = released_numbers(cells), solutions(root, assignment, _shipped())
    for one in (*found, *answers):
        fingerprint(one, base)
    return {
        "submissions": len(found),
        "fingerprints": sum(len(one.prints) for one in found) / len(found),
        "near_solutions": [{**near._asdict(), "share": round(near.share, 3)} for near in near_solutions(found, answers)],
        "pairs": [{**pair._asdict(), "share": [round(part, 3) for part in pair.share]} for pair in pairs([*found, *answers])],
        "notes": notes,
    }


def _shipped() -> Path | None:
    try:
        return problem_sets()
    except LookupError:
        return None


MEANING = (
    "Two answers to one exercise are alike because both are right, because both come from the same lesson, or because one is the "
    "other's; solutions are compared too. The numbers cannot tell. Left out are what was released and what more than {many:.0%} of the "
    "submissions, and more than {few}, have. Code is compared as syntax trees: names, layout, comments, imports, the order of a sum and "
    "statements without effect do not count. Read the passages, and ask the students, before you conclude anything."
)

NEAR = (
    "This part of the code that each wrote is in a solution too, whether many have it or not. Most right answers to a small exercise "
    "are in it: the median of those listed is {median:.0%}. One far above the others, or with no part of its own, may be worth a question."
)


def _near(students: Sequence[Mapping[str, Any]]) -> str:
    """A table of those whose code is nearest to a solution."""
    if not students:
        return ""
    median = statistics.median(one["share"] for one in students)
    rows = "".join(
        f"<tr><td>{html.escape(one['student'])}</td><td class='n'>{one['parts']}</td><td class='n'>{one['share']:.0%}</td></tr>"
        for one in students
    )
    return (
        f"<h2>Near a solution</h2><p>{NEAR.format(median=median)}</p>"
        "<div class='box' tabindex='0' role='region' aria-label='near a solution'>"
        "<table><thead><tr><th scope='col'>student</th><th scope='col' class='n'>parts in a solution</th>"
        f"<th scope='col' class='n'>of all of theirs</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


WRAP = "pre{white-space:pre-wrap}"


def page(assignment: str, data: Mapping[str, Any]) -> str:
    """The pairs as HTML: no script, nothing from the network."""
    title = html.escape(f"{assignment}: passages that two submissions share")
    rows = "".join(
        f"<tr><td>{html.escape(p['first'])}<br>{html.escape(p['second'])}</td><td>{p['shared']}</td>"
        f"<td>{p['share'][0]:.0%}<br>{p['share'][1]:.0%}</td>"
        + "".join(f"<td><pre>{html.escape(text)}</pre></td>" for text in p["passages"])
        + "</tr>"
        for p in data["pairs"]
    )
    heads = ("students", "shared parts", "of all parts of each", "where they share most", "the other")
    top = "".join(f"<th scope='col'>{head}</th>" for head in heads)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>" if rows else "<p>No two share what few have.</p>"
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title><style>{STYLE}{WRAP}</style></head><body>"
        f"<h1>{title}</h1><p>{data['submissions']} submissions, {data['fingerprints']:.0f} parts each that were not released. "
        f"{MEANING.format(many=MANY, few=FEW)}</p>{_near(data['near_solutions'])}<h2>Pairs</h2>{table}</body></html>\n"
    )
