"""One page about a graded class, and tables for a learning management system."""

from __future__ import annotations

import csv
import html
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .items import items

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;margin:.5rem 0 1.5rem}td,th{padding:.15rem 1rem .15rem 0;text-align:left;vertical-align:top}
td{overflow-wrap:anywhere;min-width:3rem}svg{max-width:100%;height:auto}
.bar{fill:#2a6f97}text{font-size:12px;fill:currentColor}
@media (prefers-color-scheme:dark){body{color:#eee;background:#181818}.bar{fill:#61a5c2}}
"""
ITEMS = (
    "Difficulty is the mean part of the points, from 0 (nobody has any) to 1. Discrimination tells whether those who do well elsewhere "
    "do well here: the correlation with the sum of all other items, and by how much the best and the last 27 % by that sum differ. Above "
    "0.2 is usual; near 0 an item tells nothing about who knows the rest, because all or none can do it, or because it asks for "
    "something else; below 0 look for a mistake in the item. Numbers of a small class vary by chance: for 30 students by about 0.35 "
    "either way, for 100 by 0.2. Written answers are not in them."
)


def summary(reports: Sequence[dict[str, Any]], totals: dict[str, float], points: dict[str, float]) -> dict[str, Any]:
    """What a class did: `reports` as the gradebook keeps them, the points of each student, the points of each cell."""
    by_hand = {name for report in reports for name, score in report["scores"].items() if score is None}
    scores: dict[str, dict[str, float]] = {}
    for report in reports:  # what a person reads has points for blanks alone here
        scores.setdefault(report["student"], {}).update({n: s for n, s in report["scores"].items() if n not in by_hand})
    hardest = [
        {"cell": i.name, "mean": i.difficulty * points[i.name], "of": points[i.name], "graded": i.answers,
         "difficulty": i.difficulty, "correlation": i.correlation, "upper_lower": i.upper_lower}
        for i in items(scores, {name: points.get(name, 0.0) for own in scores.values() for name in own})
    ]  # fmt: skip
    seen = {(r["student"], d["exercise"], d["family"], d["text"]) for r in reports for d in r["diagnoses"]}
    common = Counter((exercise, family) for _, exercise, family in {(s, e, f) for s, e, f, _ in seen})
    examples = {(e, f): text for _, e, f, text in sorted(seen, reverse=True)}
    slowest = sorted(reports, key=lambda r: -r["seconds"])[:10]
    return {
        "students": len(totals),
        "of": sum(points.values()),
        "mean": sum(totals.values()) / len(totals) if totals else 0.0,
        "totals": totals,
        "hardest": hardest,
        "diagnoses": [{"exercise": e, "family": f, "students": n, "example": examples[e, f]} for (e, f), n in common.most_common(20)],
        "slowest": [{"student": r["student"], "notebook": r["notebook"], "seconds": round(r["seconds"], 2)} for r in slowest],
        "suspicious": [{"student": r["student"], "what": text} for r in reports for text in r["suspicious"]],
        "repaired": [{"student": r["student"], "what": text} for r in reports for text in r["notes"]],
        "seeds": sorted({r["seed"] for r in reports}),
        "boxes": sorted({r["box"] for r in reports}),
    }


def page(assignment: str, data: dict[str, Any]) -> str:
    """The summary as HTML: no script, nothing from the network."""
    title = html.escape(assignment)
    parts = [
        f"<h1>{title}: {data['students']} students, mean {data['mean']:.1f} of {data['of']:g} points</h1>",
        "<h2>Distribution</h2>", _histogram(list(data["totals"].values()), data["of"]),
        f"<h2>Hardest first</h2><p>{ITEMS}</p>",
        _table(("cell", "mean", "of", "graded", "difficulty", "correlation", "best and last"),
               [(r["cell"], f"{r['mean']:.2f}", f"{r['of']:g}", r["graded"], f"{r['difficulty']:.2f}",
                 *("" if r[k] is None else f"{r[k]:+.2f}" for k in ("correlation", "upper_lower"))) for r in data["hardest"]]),
        "<h2>Commonest diagnoses</h2>",
        _table(("exercise", "kind", "students", "for example"),
               [(d["exercise"], d["family"], d["students"], d["example"]) for d in data["diagnoses"]]),
        "<h2>Slowest</h2>",
        _table(("student", "notebook", "seconds"), [(s["student"], s["notebook"], s["seconds"]) for s in data["slowest"]]),
        "<h2>Worth a look</h2><p>Words that an answer does not need, links, files that set up a program, points that were raised. ",
        "They cost nothing: a person decides.</p>",
        _table(("student", "what"), [(s["student"], s["what"]) for s in data["suspicious"]]),
        "<h2>Repaired or stopped</h2>",
        _table(("student", "what"), [(s["student"], s["what"]) for s in data["repaired"]]),
        f"<p>Graded with seed {', '.join(map(str, data['seeds'])) or 'none'} in {', '.join(data['boxes']) or 'no box'}.</p>",
    ]  # fmt: skip
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title><style>{STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    if not rows:
        return "<p>None.</p>"
    top = "".join(f"<th scope='col'>{head}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


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


def table(
    assignment: str, totals: dict[str, float], of: float, system: str, people: Mapping[str, tuple[str, str]] = MappingProxyType({})
) -> str:
    """A CSV for "canvas" or "moodle"; `people` gives name and number in the learning management system where they are known."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    if system == "canvas":
        write(["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment])
        write(["    Points Possible", "", "", "", "", f"{of:g}"])
        for student, score in sorted(totals.items()):
            name, number = people.get(student, ("", ""))  # Canvas wants a name or a number beside the login
            write([_inert(name or student), _inert(number), "", _inert(student), "", f"{score:g}"])
    else:
        write(["username", assignment, f"{assignment} percent"])  # a new column in Moodle has a maximum of 100
        for student, score in sorted(totals.items()):
            write([_inert(student), f"{score:g}", f"{100 * score / of if of else 0.0:g}"])
    return out.getvalue()


def _inert(text: str) -> str:
    # a spreadsheet would run a cell that starts like a formula
    return f"'{text}" if text.startswith(tuple("=+-@\t\r")) else text
