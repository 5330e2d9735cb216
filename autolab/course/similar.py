"""Which submissions share text: for a person to look at. It is not a verdict, and no grade depends on it.

Code becomes tokens in which names that a student chose are all one, and layout and comments are gone; prose becomes words. Every
`LENGTH` tokens in a row have a number, and of every `WINDOW` numbers in a row the smallest is kept as a fingerprint (winnowing:
Schleimer, Wilkerson and Aiken, SIGMOD 2003), so a passage of LENGTH + WINDOW - 1 tokens that two share is found wherever it stands.
What was released is no evidence, nor is what many have.
"""

from __future__ import annotations

import html
import keyword
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from autolab.course.report import STYLE

LENGTH, WINDOW = 12, 6  # tokens; numbers
MANY, FEW = 0.1, 3  # what more than this part of the submissions have, and more than so many, says nothing
MOST_TOKENS = 60_000  # of one submission; what follows is not read
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


@dataclass
class Submission:
    """One student's notebooks of one assignment, in one course."""

    student: str
    course: str
    cells: list[tuple[str, str]]  # "code" or "markdown", and the source
    prints: dict[int, tuple[int, int]] = field(default_factory=dict)  # fingerprint: cell, and the token it begins with
    tokens: list[list[Token]] = field(default_factory=list)
    counts: bool = True  # among the many who have a passage; the solution does not

    @property
    def name(self) -> str:
        """The student, with the course if that is another one."""
        return f"{self.student} ({self.course})" if self.course else self.student


def fingerprint(submission: Submission, released: set[int]) -> None:
    """Fill in the fingerprints of a submission, without those that what was released has."""
    left = MOST_TOKENS
    for number, (kind, source) in enumerate(submission.cells):
        tokens = list(code_tokens(source) if kind == "code" else word_tokens(source))[: max(left, 0)]
        left -= len(tokens)
        submission.tokens.append(tokens)
        for value, at in winnow(numbers(tokens)).items():
            if value not in released:
                submission.prints.setdefault(value, (number, at))


def released_numbers(cells: Iterable[tuple[str, str]]) -> set[int]:
    """All numbers of what was released, not only the fingerprints: windows begin elsewhere in a text with an answer in it."""
    found: set[int] = set()
    for kind, source in cells:
        found.update(numbers(list(code_tokens(source) if kind == "code" else word_tokens(source))))
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
    limit = max(FEW, int(MANY * sum(one.counts for one in submissions)))
    rare = {value: who for value, who in holders.items() if sum(submissions[i].counts for i in who) <= limit}
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


def _longest(a: Submission, b: Submission, values: Iterable[int]) -> tuple[str, str]:
    """The longest passage that two share, as each wrote it."""
    best, where = 0, ((0, 0), (0, 0))
    seen: set[tuple[int, int]] = set()
    for value in values:
        (cell, at), (other, to) = a.prints[value], b.prints[value]
        if (cell, at) in seen:
            continue
        mine, theirs = a.tokens[cell], b.tokens[other]
        n = 0
        while at + n < len(mine) and to + n < len(theirs) and mine[at + n].kind == theirs[to + n].kind:
            seen.add((cell, at + n))
            n += 1
        if n > best:
            best, where = n, ((cell, at), (other, to))
    (cell, at), (other, to) = where
    return _text(a, cell, at, best), _text(b, other, to, best)


def _text(submission: Submission, cell: int, at: int, n: int) -> str:
    tokens = submission.tokens[cell]
    return submission.cells[cell][1][tokens[at].start : tokens[at + n - 1].end][:SHOWN] if n else ""


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


def released(root: Path, assignment: str) -> list[tuple[str, str]]:
    """The cells that students got: of release/, or of source/ without solutions."""
    from autolab.course.grading import submission
    from autolab.course.release import release_of

    paths = sorted((root / "release" / assignment).glob("*.ipynb"))
    notebooks = [submission.read(path)[0] for path in paths]
    notebooks = notebooks or [release_of(submission.read(path)[0]) for path in sorted((root / "source" / assignment).glob("*.ipynb"))]
    return [(c.cell_type, c.source) for notebook in notebooks for c in notebook.cells]


def solution(root: Path, assignment: str) -> list[Submission]:
    """The answers in source/, which are public where they are as they came, as one more submission."""
    from autolab.course.grading import submission

    notebooks = [submission.read(path)[0] for path in sorted((root / "source" / assignment).glob("*.ipynb"))]
    cells = [(c.cell_type, c.source) for n in notebooks for c in n.cells if c.cell_type == "code" and "BEGIN SOLUTION" in c.source]
    return [Submission("the solution", f"source/{assignment}", cells, counts=False)]


def compare(root: Path, assignment: str, earlier: Sequence[Path] = ()) -> dict[str, Any]:
    """The pairs of an assignment, also with its solution and with other courses. Raises LookupError if nothing was handed in."""
    base = released_numbers(released(root, assignment))
    found = submissions_of(root, assignment)
    if not found:
        raise LookupError(f"nobody handed in {assignment}: there is no folder {root / 'submitted'}/STUDENT/{assignment}")
    for other in earlier:
        base |= released_numbers(released(other, assignment))
        found += submissions_of(other, assignment, other.resolve().name)
    answers = solution(root, assignment)
    for one in (*found, *answers):
        fingerprint(one, base)
    return {
        "submissions": len(found),
        "fingerprints": sum(len(one.prints) for one in found) / len(found),
        "pairs": [{**pair._asdict(), "share": [round(part, 3) for part in pair.share]} for pair in pairs([*found, *answers])],
    }


MEANING = (
    "Two answers to one exercise are alike because both are right, because both come from the same lesson, or because one is the "
    "other's; source/ has the course's solution. The numbers cannot tell. Left out are what was released and what more than {many:.0%} "
    "of the submissions, and more than {few}, have; names, layout and comments do not count. Read the passages, and ask the students, "
    "before you conclude anything."
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
    heads = ("students", "fingerprints", "part of each", "longest passage", "of the other")
    top = "".join(f"<th scope='col'>{head}</th>" for head in heads)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>" if rows else "<p>No two share what few have.</p>"
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title><style>{STYLE}{WRAP}</style></head><body>"
        f"<h1>{title}</h1><p>{data['submissions']} submissions, {data['fingerprints']:.0f} fingerprints each. "
        f"{MEANING.format(many=MANY, few=FEW)}</p>{table}</body></html>\n"
    )
