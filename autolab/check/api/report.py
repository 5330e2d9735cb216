"""What a learner reads: a verdict on each property, the diagnoses, and the points."""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..diagnosis.diagnosis import Diagnosis
from ..diagnosis.gradients.jacobian_rows import Jacobians
from . import picture
from .schema import VERSION as SCHEMA

MIMETYPE = "application/vnd.autolab.report+json"
WORDS = {True: "passed", False: "wrong", None: "open"}
MARKS = {True: "\N{CHECK MARK}", False: "\N{BALLOT X}", None: "\N{EN DASH}"}


@dataclass(frozen=True)
class Verdict:
    """One property of a rule: passed, wrong, or open (None: it could not be judged), its reason and its points.

    `partial` is the part of the points, from 0 to 1, where that is neither none nor all.

    >>> from autolab.check import check
    >>> verdict = check("square", lambda g, x: g * x).verdicts[2]
    >>> verdict.name, verdict.passed, verdict.share
    ('value', False, 0.5)
    """

    name: str
    passed: bool | None
    reason: str
    points: float = 0.0
    max_points: float = 0.0
    partial: float | None = None

    @property
    def share(self) -> float:
        """The part of the points that is earned, from 0 to 1."""
        return self.partial if self.partial is not None else float(bool(self.passed))


@dataclass(frozen=True, eq=False)
class Report:
    """The outcome of a check: a verdict on each property, the diagnoses with the most likely cause first, the points.

    Shows itself as a table in a notebook and as text elsewhere. While nbgrader runs the notebook, the text is the
    number of points: that is where nbgrader looks for partial credit.

    >>> from autolab.check import check
    >>> report = check("exp", lambda g, x: g * x)
    >>> report.passed, [v.name for v in report.verdicts if v.passed is False]
    (False, ['value'])
    >>> report.worth(3).max_points
    3.0
    """

    exercise: str
    verdicts: tuple[Verdict, ...]
    diagnoses: tuple[Diagnosis, ...]
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()  # remarks that cost nothing
    jacobians: Jacobians | None = None  # of the first gradient that is wrong, if it is small enough to look at
    attempt: int = 0  # the how manieth on this machine; 0 if nobody counts

    @property
    def points(self) -> float:
        """Points earned: of a rule without a fault all of them, else in hundredths."""
        earned = sum(v.points for v in self.verdicts)
        return self.max_points if math.isclose(earned, self.max_points, abs_tol=1e-6) else round(earned, 2)

    @property
    def max_points(self) -> float:
        """Points of a rule without a fault."""
        return round(sum(v.max_points for v in self.verdicts), 6)

    def worth(self, points: float) -> Report:
        """The same report, for an exercise that is worth this many points in all."""
        scale = points / (self.max_points or 1.0)
        scaled = [replace(v, points=v.points * scale, max_points=v.max_points * scale) for v in self.verdicts]
        return replace(self, verdicts=tuple(scaled))

    @property
    def passed(self) -> bool:
        """Is nothing wrong, and was everything judged that was asked?"""
        return all(v.passed is not False and (v.passed or not v.max_points) for v in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: numbers, text, lists."""
        return _finite({
            "schema": SCHEMA,
            "exercise": self.exercise,
            "points": self.points,
            "max_points": self.max_points,
            "passed": self.passed,
            "seed": self.seed,
            "seconds": round(self.seconds, 6),
            "verdicts": [{k: value for k, value in vars(v).items() if k != "partial"} for v in self.verdicts],
            "diagnoses": [d.to_dict() for d in self.diagnoses],
            "notes": list(self.notes),
        })  # fmt: skip

    def to_json(self) -> str:
        """The same as text, for a file or another program."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def __str__(self) -> str:
        lines = [f"{self.exercise}: {_number(self.points)} of {_number(self.max_points)} points"]
        for d in self.diagnoses:
            lines += ["", str(d)]
        lines += [""] * bool(self.diagnoses)
        wide = max((len(v.name) for v in self.verdicts), default=0) + 2
        for v, reason in zip(self.verdicts, _reasons(self.verdicts), strict=True):
            points = f"{_number(v.points)} of {_number(v.max_points)}" if v.max_points else ""
            lines.append(f"  {WORDS[v.passed]:7}{v.name:{wide}}{points:11} {reason}".rstrip())
        lines += [""] * bool(self.notes) + [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def picture(self) -> str:
        """The two Jacobians as text; empty if there is nothing to show."""
        return picture.text(self.jacobians) if self.jacobians else ""

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td {LEFT}>{MARKS[v.passed]}&nbsp;{WORDS[v.passed]}</td>"
            f"<th scope='row' {LEFT}>{html.escape(v.name)}</th>"
            f"<td {LEFT}>{_number(v.points)}&nbsp;of&nbsp;{_number(v.max_points)}</td>"
            f"<td {LEFT}>{html.escape(reason)}</td></tr>"
            for v, reason in zip(self.verdicts, _reasons(self.verdicts), strict=True)
        )
        return (
            f"<div class='autolab-report'><style>{CSS}</style>"
            f"<p><b>{html.escape(self.exercise)}</b>: {_number(self.points)} of {_number(self.max_points)} points"
            f"{f', attempt {self.attempt}' if self.attempt > 1 else ''}</p>"
            f"{''.join(map(_diagnosis, self.diagnoses))}"
            f"<table class='autolab-verdicts'><thead><tr>{HEAD}</tr></thead><tbody>{rows}</tbody></table>"
            f"{''.join(f'<p>Note: {html.escape(note)}.</p>' for note in self.notes)}{self._jacobians_html()}</div>"
        )

    def _jacobians_html(self) -> str:
        if self.jacobians is None:
            return ""
        words = html.escape(picture.summary(self.jacobians))
        legend = "A row is a result, a column an entry of the input. Blue: positive; orange with a dash: negative; outlined: differs."
        return f"<details><summary>The two Jacobians</summary><p>{words}.</p>{picture.svg(self.jacobians)}<p>{legend}</p></details>"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        grading = os.environ.get("NBGRADER_EXECUTION")
        return {
            "text/plain": repr(float(self.points)) if grading else str(self),
            "text/html": self._repr_html_(),
            # Without the time it took: a notebook that is run again stays the same.
            MIMETYPE: {key: value for key, value in self.to_dict().items() if key != "seconds"},
        }


LONG = 40  # characters of a reason that is not said twice


def _reasons(verdicts: Sequence[Verdict]) -> list[str]:
    """The reason of each verdict; a long one that is that of the line before is said once."""
    before = ["", *[v.reason for v in verdicts]]
    return ["as above" if v.reason == last and len(last) > LONG else v.reason for v, last in zip(verdicts, before, strict=False)]


def _diagnosis(d: Diagnosis) -> str:
    where = f" With {html.escape(d.where)}." if d.where else ""
    worst = f"<br>Worst place: {html.escape(str(d.worst))}." if d.worst else ""
    return f"<p><b>{html.escape(d.text)}.</b>{where} <i>({html.escape(d.how_sure)})</i>{worst}<br>Hint: {html.escape(d.hint)}</p>"


def _finite(value: Any) -> Any:
    """The same data in what JSON can say: nan and infinities become words, tuples become lists."""
    match value:
        case dict():
            return {k: _finite(v) for k, v in value.items()}
        case list() | tuple():
            return [_finite(v) for v in value]
        case float() if not math.isfinite(value):
            return str(value)
    return value


def _number(value: float) -> str:
    return f"{round(value, 2):g}"


# JupyterLab aligns cells to the right, and drops <style> until a notebook is trusted; what is in the cell stays.
LEFT = "style='text-align:left'"
HEAD = "".join(f"<th scope='col' {LEFT}>{title}</th>" for title in ("verdict", "property", "points", "reason"))

# JupyterLab styles the cells of a table with a selector of two classes, so these have three.
CSS = (
    ".autolab-report table.autolab-verdicts{border-collapse:collapse}"
    ".autolab-report table.autolab-verdicts.autolab-verdicts :is(td,th)"
    "{vertical-align:top;padding:.15em .8em .15em 0;"
    "font-weight:normal;background:none;color:var(--jp-ui-font-color1,inherit)}"
    ".autolab-report table.autolab-verdicts.autolab-verdicts thead th{border-bottom:1px solid var(--jp-border-color1,#999)}"
)
