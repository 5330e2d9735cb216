"""One notebook: its cells run in the sandbox, its locked tests outside, and each test cell gets the outputs of its verdict."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import math
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from nbformat import NotebookNode

from autolab.check.api.report import MIMETYPE, Report
from autolab.course.rubric import markdown_cell
from autolab.version import __version__

from . import protocol
from .files import FilePolicy
from .handlers import ERROR, INSTALLS, LINE, LINES, OUTPUT, RESULTS, SHOWS, without_points
from .judge import CellOutcome, Judge
from .offline.pip import OFFLINE
from .paths import hide_paths, without_paths
from .roots import has_negative_root
from .sandbox import RemoteError, Sandbox, Session
from .second_opinion import UNKNOWN, SecondOpinion
from .submission import LONGEST_CELL

SHOWN = 400_000  # characters of all outputs of one notebook
CODE = 1_000_000  # characters of all cells of one notebook that are run
UNPAID = re.compile(r"""^check\(\s*(['"])(\w+)\1\s*,\s*([A-Za-z_]\w*)\s*\)\s*\Z""", re.MULTILINE)  # the end of a cell that shows a check
CHALLENGES = 20  # checks without points of one notebook are judged
CHECK = re.compile(r"^check\(\s*['\"](\w+)['\"]", re.MULTILINE)
COMPLEX = "complex numbers, or more digits than a float has, as numerical differentiation does"
# Words that an answer on derivatives does not need, each within a line. They cost nothing; `autolab course report` lists them for a person.
SUSPICIOUS = {
    "the table of rules": r"autolab\.(rules|fast)|\bTABLE\b|(autolab\.check\.|from autolab\.check import )(?!check\b)\w+",
    "the engine's derivatives": r"autolab\.func|\bforward_ad\b|(?<!def )\bjvp\(|\bjac(fwd|rev)\(",
    "the system": r"\b(os\.(_exit|kill|fork|system)|subprocess|socket|ctypes|gc\.get_\w+|_getframe|inspect\.stack)\b",
    COMPLEX: (
        r"\b(complex\d*|csingle|cdouble|cmath|imag|emath|c?longdouble|(float|complex)(96|128|160|192|256)|mpmath)\b"
        r"|\b(import|from) (decimal|fractions)\b|\b\d[\d_.]{0,30}(e[-+]?\d{1,4})?[jJ]\b"
        r"|\b(scimath|view_as_complex|typecodes|sctypeDict)\b|\.(i?r?fftn?|eig|eigvals|polar|roots)\b"
        r"|(?<!order=)['\"][<>=|]?(D|F|G|g|c8|c16|c32|f12|f16)['\"]"  # what NumPy calls these dtypes
        r"|\(-\d[\d.]{0,30}\) ?\*\* ?\(?(0?\.\d|1 ?/)|pow(er)?\(-\d"  # a root of a negative number
    ),
    "the checker": r"autolab\.course|\b(BEHAVIOURS|SPECS|LocalCandidate|LocalPlayer)\b",
    "what others rely on": (
        r"(?m)\bnp\.\w+ = |\b(builtins|sys\.modules|user_ns|get_ipython|sitecustomize|meta_path)\b|\b(globals|locals|vars)\(\)"
        r"|^[ \t]*%(reset|xdel|reset_selective)\b|\bdel[ \t]+(np|torch|autolab|Function|check)\b"
        r"|^[ \t]*(np|torch|autolab|Function|check)[ \t]*=[^=]|\bas (np|torch)\b(?<!numpy as np)(?<!autolab as torch)"
        r"|\bdef check\(|\bclass Function\b"
    ),
}


# The errors of a cell that does not reach or find something.
UNREACHED = {"URLError", "HTTPError", "gaierror", "ConnectionError", "ConnectionRefusedError", "TimeoutError", "ConnectTimeout"}
NOT_FOUND = {"ModuleNotFoundError", "FileNotFoundError", "PermissionError"}


def fresh_seed() -> int:
    """A seed that nobody can know before."""
    return secrets.randbits(32)


@dataclass
class NotebookResult:
    """What came out of one notebook."""

    notebook: NotebookNode
    seed: int
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    suspicious: list[str] = field(default_factory=list)
    diagnoses: list[dict[str, str]] = field(default_factory=list)


class CellRun(NamedTuple):
    """A student's cell that ran."""

    source: str
    name: str
    exercise: int
    suspicious: bool


class NotebookGrader:
    """Runs one notebook in sessions of one sandbox."""

    def __init__(self, sandbox: Sandbox, seed: int, files: Mapping[str, bytes] | None = None, allowed: FilePolicy | None = None):
        self.sandbox, self.seed, self.files, self.allowed = sandbox, seed, files or {}, allowed or FilePolicy()
        self.session: Session | None = None
        self.kinds: dict[str, str] = {}
        self.replay: list[CellRun] = []  # the cells that ran and did not end the process
        self.exercise, self.tested = 0, False
        self.subject: set[str] = set()  # what the set itself speaks of, in its locked cells: an answer may do so, too
        self.until, self.room, self.code, self.challenges = math.inf, SHOWN, CODE, 0
        self.second = SecondOpinion(sandbox, self.files, lambda: self.replay)

    def grade(self, notebook: NotebookNode) -> NotebookResult:
        """Fill in the outputs of all code cells. Never raises because of what a student wrote."""
        self._open()  # before the clock runs: the start of a sandbox is not the student's time
        start = time.monotonic()
        assert self.session
        self.session.until = self.until = self.second.until = start + self.sandbox.limits.total
        result = NotebookResult(notebook, self.seed)
        judge = Judge(self.ask, self.seed, self.second)
        try:
            for number, cell in enumerate(notebook.cells):
                if cell.cell_type != "code":
                    continue
                facts = cell.metadata.get("nbgrader", {})
                if _is_test(cell):
                    self._test(judge, cell, result)
                    continue
                judge.forget()
                if facts.get("locked") and not facts.get("solution"):
                    self.subject |= {COMPLEX}.intersection(_reasons(cell.source))
                    judge.run(cell.source, f"<{facts.get('grade_id', 'setup')}>")
                wanted = _wanted(judge, notebook.cells[number + 1 :])
                if (call := self._unpaid_check(cell)) is None:
                    self._student(cell, f"cell {number + 1}", result, wanted)
                else:
                    self._challenge(judge, cell, call, f"cell {number + 1}", result, wanted)
            for cell in notebook.cells:
                hide_paths(cell)
        finally:
            self._close()
            self.second.close()
        result.suspicious += [f"exercise {name} {UNKNOWN}" for name in self.second.unknown]
        if self._over() and not any(str(self._too_late()) in note for note in result.notes):
            result.notes.append(f"the notebook was stopped: {self._too_late()}")
        result.seconds = time.monotonic() - start
        return result

    # --- the session, which may end at any time

    def ask(self, what: str, *arguments: Any) -> Any:
        """Ask the open session; open one, and run again what ran before, if there is none. "put" takes a question that is encoded."""
        if self._over():
            raise self._too_late()
        if self.session is not None and self.session.broken:
            self._close()
        if self.session is None:
            self._open()
        assert self.session
        try:
            if what == "kinds":
                return self._kinds(*arguments)
            if what == "put":
                return self.session.put(*arguments)
            if what == "run":
                self.kinds.clear()
            return self.session.ask(what, *arguments)
        except protocol.Broken as error:
            raise (self._too_late() if error.late and self._over() else error) from None

    def _over(self) -> bool:
        return time.monotonic() >= self.until

    def _too_late(self) -> protocol.Broken:
        late = protocol.Broken(f"the {self.sandbox.limits.total:g} seconds of this notebook are over")
        late.late = True
        return late

    def _kinds(self, names: list[str]) -> dict[str, str]:
        """What kind of thing each name is; it stays so until the next cell runs."""
        assert self.session
        if unknown := [n for n in names if n not in self.kinds]:
            said = self.session.ask("kinds", unknown)
            said = said if isinstance(said, dict) else {}
            self.kinds |= {n: str(said.get(n)) for n in unknown}
        return {n: self.kinds[n] for n in names}

    def _open(self) -> None:
        """Open a session in which everything has run that ran before. Raises Broken when the seconds of the notebook end meanwhile."""
        while True:
            self.kinds.clear()
            self.session = self.sandbox.open(self.files)
            self.session.until = self.until
            lost = self._run_again()
            if self._over():
                self._close()
                raise self._too_late()
            if lost is None:
                return
            self.replay.remove(lost)  # it went well once: leave it out from now on
            self._close()

    def _run_again(self) -> CellRun | None:
        """Run what ran before; the cell that the process did not survive this time."""
        assert self.session
        for cell in self.replay:
            if self._over():
                break
            try:
                self.session.ask("run", cell.source, cell.name)
            except protocol.Broken:
                return cell
            except RemoteError:
                continue
        return None

    def _close(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None

    # --- cells

    def _student(self, cell: NotebookNode, name: str, result: NotebookResult, wanted: Sequence[str] = ()) -> None:
        """Run a cell; the tests after it will ask of which kind these names are."""
        source = cell.source
        cell.outputs, cell.execution_count = [], None
        self.code -= len(source)
        if len(source) > LONGEST_CELL or self.code < 0:
            longer = f"longer than {LONGEST_CELL}" if len(source) > LONGEST_CELL else f"beyond the first {CODE} of the notebook's"
            source, cell.source = "", f"{source[:2000]}\n... (cut: this cell was {longer} characters)"
            result.notes.append(f"{in_words(cell)} is {longer} characters and was not run")
        if not source.strip():
            return
        if self._over():
            cell.outputs = [_error("Stopped", f"This cell was not run: {self._too_late()}.")]
            return
        facts = cell.metadata.get("nbgrader", {})
        if facts.get("solution"):
            self.exercise, self.tested = self.exercise + self.tested, False
        ours = facts.get("locked") and not facts.get("solution")  # it is as it was released
        reasons = [what for what in _reasons(source) if what not in self.subject and not ours]
        result.suspicious += [f"{name} reaches for {what}" for what in reasons]
        cell.execution_count = 1
        try:
            said = self.ask("run", source, name, list(wanted))
            kinds = said.get("kinds") if isinstance(said, dict) else None
            self.kinds |= {n: str(kinds[n]) for n in wanted if n in kinds} if isinstance(kinds, dict) else {}
            cell.outputs = self._fit_outputs(_outputs(said))
            if (hint := self._hint(source, cell.outputs)) and not any(hint in note for note in result.notes):
                result.notes.append(f"{in_words(cell)}: {hint}")
            self.replay.append(CellRun(source, name, self.exercise, bool(reasons)))
        except RemoteError as error:
            cell.outputs = [_error("RemoteError", str(error))]
        except protocol.Broken as error:
            self._close()
            cell.outputs = [_error("Stopped", f"This cell was stopped: {error}. The cells after it run without it.")]
            result.notes.append(f"{in_words(cell)} was stopped: {error}. {self._advice(error)}")

    def _unpaid_check(self, cell: NotebookNode) -> re.Match[str] | None:
        """The check without points in which a cell ends, if it is one that the judge takes."""
        if cell.metadata.get("nbgrader") or len(cell.source) > min(LONGEST_CELL, self.code) or self.challenges >= CHALLENGES:
            return None
        call = UNPAID.search(cell.source)
        return call if call and _is_python(cell.source[: call.start()]) else None

    def _challenge(
        self, judge: Judge, cell: NotebookNode, call: re.Match[str], name: str, result: NotebookResult, wanted: Sequence[str]
    ) -> None:
        """Run a cell without the check in which it ends, and show what that says: it is judged outside, as any other, once for a class.

        Where there is nothing to judge, the check runs after the cell, and shows its error.
        """
        self.challenges += 1
        source = cell.source
        if call.start():
            cell.source = f"{source[: call.start()]}None"  # an expression before it shows nothing
            self._student(cell, name, result, [*wanted, call[3]])
            cell.source = source
            if any(output.output_type == "error" for output in cell.outputs):
                return
        shown, report = cell.get("outputs", []) if call.start() else [], None
        with contextlib.suppress(LookupError, TypeError, ValueError, RemoteError, protocol.Broken):
            report = judge.unpaid(call[2], call[3])
        if report is None:
            cell.source = call[0]
            self._student(cell, name, result, wanted)
            cell.source, cell.outputs = source, [*shown, *cell.outputs]
            return
        text = new_output("execute_result", {"text/plain": without_points(report)}, execution_count=1)
        cell.execution_count, cell.outputs = 1, [*shown, *self._fit_outputs([text])]

    def _advice(self, error: protocol.Broken) -> str:
        """What a student whose cell was stopped can do."""
        limits = self.sandbox.limits
        if error.late:
            return (
                f"A cell has {limits.busy:g} seconds to compute and {limits.cell:g} in all: look for a loop that does not end, "
                "and for inputs that are larger than the exercise needs"
            )
        return "It ended Python itself (exit, a crash, too much memory): restart your kernel and run all cells to see where"

    def _hint(self, source: str, outputs: list[NotebookNode]) -> str:
        """What a cell wanted that the sandbox does not have, and what it has."""
        wanted = {output.ename for output in outputs if output.output_type == "error"}
        if wanted & UNREACHED or any(INSTALLS.search(line[:LINE]) for line in source.splitlines() if line.lstrip().startswith(("!", "%"))):
            return OFFLINE
        if wanted & NOT_FOUND:
            here = ", ".join(sorted(self.files)) or "nothing"
            return (
                f"While this is graded, numpy and autolab are here, and beside the notebook {here}. "
                f"Of what was handed in beside it these kinds are taken along: {self.allowed}."
            )
        return ""

    def _fit_outputs(self, outputs: list[NotebookNode]) -> list[NotebookNode]:
        """The outputs of a cell, as long as there is room in the notebook."""
        kept = []
        for output in outputs:
            self.room -= len(json.dumps(output))
            if self.room < 0:
                return [*kept, new_output("stream", name="stderr", text="(not shown: the outputs of this notebook are too long)\n")]
            kept.append(output)
        return kept

    def _without(self, others: list[CellRun], run: Callable[[], CellOutcome], first: CellOutcome, points: float) -> CellOutcome:
        """A cell that tampers with the process must not cost another exercise: judge that without it, and keep the better."""
        before = self.replay
        self._close()
        self.replay = [ran for ran in before if ran not in others]
        second = run()
        if worth(second, points) > worth(first, points):
            return second
        self._close()
        self.replay = before
        return first

    def _test(self, judge: Judge, cell: NotebookNode, result: NotebookResult) -> None:
        points = float(cell.metadata.nbgrader["points"])
        self.tested = True
        run = functools.partial(judge.run, cell.source, f"<{cell.metadata.nbgrader['grade_id']}>")
        outcome = run()
        others = [ran for ran in self.replay if ran.suspicious and ran.exercise != self.exercise]
        if others and worth(outcome, points) < points:
            outcome = self._without(others, run, outcome, points)
        if self.session is not None and self.session.broken:
            self._close()
        cell.execution_count, cell.outputs = 1, verdict_outputs(cell.source, points, outcome)
        for report in outcome.reports:
            result.diagnoses += [
                {"exercise": report.exercise, "cell": cell.metadata.nbgrader["grade_id"], "family": d.family,
                 "certainty": d.certainty, "text": d.text} for d in report.diagnoses
            ]  # fmt: skip


def _is_test(cell: NotebookNode) -> bool:
    facts = cell.metadata.get("nbgrader", {})
    return bool(facts.get("grade") and not facts.get("solution"))


def _wanted(judge: Judge, cells: list[NotebookNode]) -> list[str]:
    """The names that are asked for before the next cell runs in the sandbox: by tests, and by a locked cell."""
    names: dict[str, None] = {}
    for cell in (c for c in cells if c.cell_type == "code"):
        facts = cell.metadata.get("nbgrader", {})
        if _is_test(cell) or facts.get("locked"):
            names |= dict.fromkeys(judge.wanted(cell.source, f"<{facts.get('grade_id', 'setup')}>"))
        if not _is_test(cell):
            break
    return list(names)


@functools.lru_cache(512)  # most cells of a class are as they were handed out
def _is_python(source: str) -> bool:
    """Is it whole statements without magics?"""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


@functools.lru_cache(512)
def _reasons(source: str) -> tuple[str, ...]:
    """What a cell reaches for that an answer does not need."""
    found = {what for line in io.StringIO(source) for what in _reasons_in(line)}
    return tuple(what for what in SUSPICIOUS if what in found or (what == COMPLEX and has_negative_root(source)))


@functools.lru_cache(2048)  # many lines are in every student's answer
def _reasons_in(line: str) -> tuple[str, ...]:
    return tuple(what for what, words in SUSPICIOUS.items() if re.search(words, line))


def in_words(cell: NotebookNode) -> str:
    """A cell by what its author knows it by: the answer's name, or how the cell begins."""
    facts = cell.metadata.get("nbgrader", {})
    if facts.get("solution") and facts.get("grade_id"):
        return f"the answer {facts['grade_id']!r}"
    first = next((line.strip() for line in cell.source.splitlines() if line.strip()), "")
    return f"the cell that begins with {first[:40]!a}"


def graded_with(seed: int, sandbox: Sandbox) -> dict[str, Any]:
    """What a graded notebook, and its feedback, says of how it was graded."""
    return {"seed": seed, "box": sandbox.mode, "version": __version__, "graded": f"{datetime.now(UTC):%Y-%m-%d}"}


def worth(outcome: CellOutcome, points: float) -> float:
    """The points that a test came to."""
    if outcome.error:
        return 0.0
    if outcome.report is not None:
        return _shown(outcome.report, points)[0]
    return clamp(outcome.value, points) if isinstance(outcome.value, (int, float)) else points


def clamp(value: float, points: float) -> float:
    """Between none and all points, whatever a test ended in."""
    try:
        value = float(value)
    except OverflowError:  # an integer of a thousand digits
        return 0.0
    return min(max(value, 0.0), points) if math.isfinite(value) else 0.0


def verdict_outputs(source: str, points: float, outcome: CellOutcome) -> list[NotebookNode]:
    """The outputs of a test cell from which nbgrader reads its points: a number, or an error for none."""
    outputs = []
    if outcome.printed:
        outputs.append(new_output("stream", name="stdout", text=outcome.printed))
    if outcome.error:
        return [*outputs, _error(*outcome.error)]
    report, call = outcome.report, CHECK.search(source)
    if report is None and call:
        return [*outputs, _error("NoVerdict", f"No verdict, no points: the cell did not end in check({call[1]!r}, ...).")]
    if report is None:
        if isinstance(outcome.value, (int, float)) and not isinstance(outcome.value, bool):
            value = repr(clamp(outcome.value, points))
            outputs.append(new_output("execute_result", {"text/plain": value}, execution_count=1))
        return outputs
    earned, data = _shown(report, points)
    data = {"text/plain": repr(earned), **data}
    return [*outputs, new_output("execute_result", data, execution_count=1)]


_SHOWN: dict[tuple[int, float], tuple[Report, float, dict[str, Any]]] = {}  # by identity: one verdict stands for many students


def _shown(report: Report, points: float) -> tuple[float, dict[str, Any]]:
    """What a report is worth as the points of a cell, and what the cell shows of it."""
    if (key := (id(report), points)) not in _SHOWN:
        if len(_SHOWN) > 1000:
            _SHOWN.clear()
        shown = report.worth(points)
        data = {k: v for k, v in shown.to_dict().items() if k not in ("seconds", "seed")}
        data = without_paths({"text/html": shown._repr_html_(), MIMETYPE: data})
        _SHOWN[key] = report, clamp(shown.points, points), data
    return _SHOWN[key][1:]


def new_output(kind: str, data: dict[str, Any] | None = None, **more: Any) -> NotebookNode:
    """An output as nbformat makes it, without the validation, which takes longer than the rest."""
    more |= {} if data is None else {"data": NotebookNode(data), "metadata": NotebookNode()}
    return NotebookNode(output_type=kind, **more)


def _error(name: str, text: str, lines: list[str] | None = None) -> NotebookNode:
    return new_output("error", ename=name, evalue=text, traceback=lines or [f"{name}: {text}"])


def _outputs(said: Any) -> list[NotebookNode]:
    """What a student's cell showed: text, and nothing else; as much as the sandbox keeps, and room for the word that it cut."""
    said = said if isinstance(said, dict) else {}

    def kept(text: Any, most: int = OUTPUT) -> str:
        return protocol.cut(str(text), most + 100)

    outputs = []
    if isinstance(text := said.get("text"), str) and text:
        outputs.append(new_output("stream", name="stdout", text=kept(text)))
    several = {key: said[key][:most] for key, most in (("shown", SHOWS), ("results", RESULTS)) if isinstance(said.get(key), list)}
    shown = [s.get("text/plain") for s in several.get("shown", ()) if isinstance(s, dict)]
    outputs += [new_output("display_data", {"text/plain": kept(text)}) for text in shown if isinstance(text, str)]
    results = [text for text in several.get("results", ()) if isinstance(text, str)]
    outputs += [new_output("execute_result", {"text/plain": kept(text)}, execution_count=1) for text in results]
    error = said.get("error")
    if isinstance(error, dict):
        lines = error.get("traceback")
        lines = [kept(line, ERROR) for line in lines[:LINES]] if isinstance(lines, list) else []
        outputs.append(_error(kept(error.get("name"), ERROR), kept(error.get("value"), ERROR), lines))
    return outputs


def add_notes(notebook: NotebookNode, notes: list[str]) -> None:
    """Tell the student, at the top, what was repaired and what was stopped."""
    if notes:
        text = "**When this was graded:**\n\n" + "\n".join(f"- {note}" for note in notes)
        notebook.cells.insert(0, markdown_cell(text, "grading-notes"))
