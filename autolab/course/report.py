"""One page about a graded class."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from autolab.widgets.questions import code_as_html

from .grading.class_list import StudentLine
from .grading.marks import Marks
from .items import items
from .mistakes import commonest
from .rubric import criteria, earned_rows

STYLE = """
body{font:15px/1.4 system-ui,sans-serif;max-width:80rem;margin:1rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.4rem;margin:.3rem 0}h2{font-size:1.1rem;margin:.6rem 0 .2rem}p{margin:.3rem 0}summary{cursor:pointer}
.wide{display:grid;grid-template-columns:11fr 9fr;gap:0 2rem}.wide>*{min-width:0}
.box{max-height:12rem;overflow:auto;border:1px solid #ccc;margin:.3rem 0}.tall{max-height:22.5rem}.students{max-height:16rem}
.students td{white-space:nowrap}td:first-child{white-space:nowrap}.students li{white-space:normal}
.tall td:last-child,.students td:last-child{min-width:9rem}
.box:focus-visible,summary:focus-visible{outline:2px solid #2a6f97;outline-offset:2px}
table{border-collapse:collapse;width:100%}td,th{padding:.15rem .4rem;text-align:left;vertical-align:top}
thead th{position:sticky;top:0;background:#eee}tbody tr:nth-child(even){background:#f6f6f6}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}th.n{white-space:normal}
pre{margin:.2rem 0;font-size:13px;overflow-x:auto}
svg{max-width:100%;height:auto}.bar{fill:#2a6f97}text{font-size:12px;fill:currentColor}
@media (max-width:60rem){.wide{grid-template-columns:1fr}}
@media (prefers-color-scheme:dark){body{color:#eee;background:#181818}.bar{fill:#61a5c2}.box{border-color:#555}
thead th{background:#333}tbody tr:nth-child(even){background:#222}}
@media print{.box{max-height:none}}
"""
ITEMS = (
    "Difficulty is the mean part of the points, from 0 (nobody has any) to 1. Discrimination tells whether those who do well elsewhere "
    "do well here: the correlation with the sum of all other items, and by how much the best and the last 27 % by that sum differ. Above "
    "0.2 is usual; near 0 an item tells nothing about who knows the rest, because all or none can do it, or because it asks for "
    "something else; below 0 look for a mistake in the item. Numbers of a small class vary by chance: for 30 students by about 0.35 "
    "either way, for 100 by 0.2. Written answers count in them once they are read."
)


def summary(
    reports: Sequence[dict[str, Any]],
    totals: dict[str, float],
    points: dict[str, float],
    lines: Sequence[StudentLine],
    outdated: Sequence[str] = (),
    written: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """What a class did: `reports` as grading left them, the points of each student and of each cell, the gradebook's class list, the
    students who were graded with other tests or points than today's, and the rows of the rubrics (`rubric_rows`).
    """
    scores = {line.student: line.scores for line in lines}
    hardest = [
        {"cell": i.name, "mean": i.difficulty * points[i.name], "of": points[i.name], "graded": i.answers,
         "difficulty": i.difficulty, "correlation": i.correlation, "upper_lower": i.upper_lower}
        for i in items(scores, {name: points.get(name, 0.0) for own in scores.values() for name in own})
    ]  # fmt: skip
    slowest = sorted(reports, key=lambda r: -r["seconds"])[:10]
    return {
        "students": len(totals),
        "of": sum(points.values()),
        "mean": sum(totals.values()) / len(totals) if totals else 0.0,
        "totals": totals,
        "hardest": hardest,
        "diagnoses": commonest(reports, lines),
        "class": _class(reports, totals, lines),
        "slowest": [{"student": r["student"], "notebook": r["notebook"], "seconds": round(r["seconds"], 2)} for r in slowest],
        "suspicious": [{"student": r["student"], "what": text} for r in reports for text in r["suspicious"]],
        "repaired": [{"student": r["student"], "what": text} for r in reports for text in r["notes"]],
        "seeds": sorted({r["seed"] for r in reports}),
        "boxes": sorted({r["box"] for r in reports}),
        "outdated": list(outdated),
        "rubric_rows": list(written),
    }


def rubric_rows(rubrics: Mapping[str, str], marks: Iterable[Marks]) -> list[dict[str, Any]]:
    """What each row of each rubric earned, by student: those whose rows are known."""
    several = list(marks)
    found = []
    for cell, rubric in rubrics.items():
        rows, earned = criteria(rubric), {}
        for m in several:
            if cell in m.cells and (known := earned_rows(m.comments.get(cell, ""), rows, m.cells[cell].points)) is not None:
                earned[m.student] = known
        found += [{"cell": cell, "for": row.text, "of": row.of, "earned": {who: own[i] for who, own in earned.items()}}
                  for i, row in enumerate(rows)]  # fmt: skip
    return found


def outdated_sentence(assignment: str, students: Sequence[str], of: int) -> str:
    """That some were graded with other tests or points than today's, and what to do."""
    return (
        f"{len(students)} of {of} students were graded with other tests, points or rubrics than today's, or another version of autolab: "
        f"{', '.join(students[:10])}{' ...' * (len(students) > 10)}. "
        f"`autolab course grade {assignment} --regrade` grades all with those of today."
    )


def _class(reports: Sequence[dict[str, Any]], totals: dict[str, float], lines: Sequence[StudentLine]) -> list[dict[str, Any]]:
    """One entry a student; those first with whom something is the matter."""
    said: dict[str, dict[str, list[str]]] = {student: {"repaired": [], "suspicious": []} for student in totals}
    for report in reports:
        if report["student"] in said:
            said[report["student"]]["repaired"] += report["notes"]
            said[report["student"]]["suspicious"] += report["suspicious"]
    known = {line.student: line for line in lines}
    found = []
    for student, points in totals.items():
        line = known.get(student) or StudentLine(student)
        found.append({"student": student, "points": points, "seconds_late": line.seconds_late, "penalty": line.penalty,
                      "unread": line.unread, "changed": line.changed, **said[student]})  # fmt: skip
    return sorted(
        found, key=lambda s: (not any(s[k] for k in ("seconds_late", "unread", "changed", "repaired", "suspicious")), s["student"])
    )


def page(assignment: str, data: dict[str, Any]) -> str:
    """The summary as HTML: no script, nothing from the network."""
    title, students, before = html.escape(assignment), data["class"], data["outdated"]
    counts = [f"{n} {what}" for what, n in (
        ("late", sum(bool(s["seconds_late"]) for s in students)),
        ("with an answer to be read", sum(bool(s["unread"] or s["changed"]) for s in students)),
        ("repaired or stopped", sum(bool(s["repaired"]) for s in students)),
        ("worth a look", sum(bool(s["suspicious"]) for s in students)),
    ) if n]  # fmt: skip
    parts = [
        f"<h1>{title}: {data['students']} students, mean {data['mean']:.1f} of {data['of']:g} points</h1>",
        f"<p><strong>{html.escape(outdated_sentence(assignment, before, data['students']))}</strong></p>" if before else "",
        "<div class='wide'><section><h2>Distribution</h2>", _histogram(list(data["totals"].values()), data["of"]),
        f"<h2>Parts, hardest first</h2><details><summary>What the numbers say</summary><p>{ITEMS}</p></details>",
        _table("parts, hardest first", ("part", "mean", "of", "graded", "difficulty", "correlation", "best −\xa0last"),
               [(r["cell"], f"{r['mean']:.2f}", f"{r['of']:g}", r["graded"], f"{r['difficulty']:.2f}",
                 *("" if r[k] is None else f"{r[k]:+.2f}" for k in ("correlation", "upper_lower"))) for r in data["hardest"]],
               {1, 2, 3, 4, 5, 6}),
        "</section><section><h2>Commonest mistakes</h2>",
        _table("commonest mistakes", ("exercise", "kind", "students", "for example"),
               [(d["exercise"], d["family"], d["students"], _example(d)) for d in data["diagnoses"]], {2}, "box tall"),
        *_rubrics(data["rubric_rows"]),
        f"</section></div><h2>Students</h2><p>{', '.join(counts) or 'Nobody is late, nothing is left to read'}. "
        "What is worth a look costs nothing: a person decides.</p>",
        _table("students", ("student", "points", "late", "to be read", "repaired or stopped", "worth a look"),
               [(s["student"], f"{s['points']:g}", _late(s), ", ".join([*s["unread"], *(f"{name} (changed)" for name in s["changed"])]),
                 _folded(s["repaired"]), _folded(s["suspicious"])) for s in students], {1}, "box students"),
        "<details><summary>Slowest</summary>",
        _table("slowest", ("student", "notebook", "seconds"),
               [(s["student"], s["notebook"], s["seconds"]) for s in data["slowest"]], {2}),
        "</details><details><summary>How it was graded</summary>",
        f"<p>With seed {', '.join(map(str, data['seeds'])) or 'none'} in {', '.join(data['boxes']) or 'no box'}.</p></details>",
    ]  # fmt: skip
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>{title}</title><style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _rubrics(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What the class earned for each row of the rubrics; nothing where no rows were marked."""
    known = []
    for row in (row for row in rows if row["earned"]):
        marked = len(row["earned"])
        mean = sum(row["earned"].values()) / marked
        known.append((row["cell"], Markup(code_as_html(row["for"])), f"{mean:.2f}", f"{row['of']:g}", marked))
    table = _table("written answers", ("answer", "for", "mean", "of", "marked"), known, {2, 3, 4})
    return ["<h2>Written answers, row by row</h2>", table] if known else []


class Markup(str):
    """HTML that is made here, with what it holds escaped."""


def _example(mistake: dict[str, Any]) -> Markup:
    code = f"<details><summary>An answer</summary><pre>{html.escape(mistake['code'])}</pre></details>" if mistake.get("code") else ""
    return Markup(html.escape(mistake["example"]) + code)


def _folded(texts: Sequence[str]) -> Markup:
    """One line: the only text if it is short, else how many there are, which opens."""
    if len(texts) == 1 and len(texts[0]) <= 40:
        return Markup(html.escape(texts[0]))
    count = f"{len(texts)}: " if len(texts) > 1 else ""
    entries = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
    return Markup(f"<details><summary>{count}{html.escape(texts[0][:32])} ...</summary><ul>{entries}</ul></details>" if texts else "")


def _late(student: Mapping[str, Any]) -> str:
    """By how much, in the largest unit that fits, and what it costs."""
    seconds = student["seconds_late"]
    if not seconds:
        return ""
    size, unit = next(((size, unit) for size, unit in ((86400, "d"), (3600, "h")) if seconds >= size), (60, "min"))
    return f"{seconds / size:.3g} {unit}" + (f", −{student['penalty']:g}" if student["penalty"] else "")


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Collection[int] = (), kind: str = "box") -> str:
    """A table in a box that scrolls, by keyboard too."""
    if not rows:
        return "<p>None.</p>"
    marks = [" class='n'" if i in numbers else "" for i in range(len(heads))]
    top = "".join(f"<th scope='col'{mark}>{head}</th>" for head, mark in zip(heads, marks, strict=True))
    body = "".join(f"<tr>{''.join(map(_cell, row, marks))}</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div class='{kind}' tabindex='0' role='region' aria-label='{title}'>{table}</div>"


def _cell(value: Any, mark: str) -> str:
    return f"<td{mark}>{value if isinstance(value, Markup) else html.escape(str(value))}</td>"


def _histogram(values: list[float], of: float, bins: int = 10) -> str:
    if not values or not of:
        return "<p>Nobody is graded yet.</p>"
    counts = Counter(min(int(v / of * bins), bins - 1) for v in values)
    most, width, height = max(counts.values()), 50, 120
    bars = "".join(
        f"<rect class='bar' x='{i * width + 2}' y='{height - counts[i] * 100 / most:.1f}' width='{width - 4}' "
        f"height='{counts[i] * 100 / most:.1f}'/><text x='{i * width + 4}' y='{height + 14}'>{i * of / bins:g}</text>"
        f"<text x='{i * width + 4}' y='{height - counts[i] * 100 / most - 3:.1f}'>{counts[i] or ''}</text>"
        for i in range(bins)
    )
    said = ", ".join(f"{counts[i]} from {i * of / bins:g}" for i in range(bins) if counts[i])
    size = f"width='{bins * width}' height='{height + 20}' viewBox='0 0 {bins * width} {height + 20}'"
    return f"<svg role='img' aria-label='students by points: {said}' {size}>{bars}</svg>"
