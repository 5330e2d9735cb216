"""Runs the locked tests outside the sandbox, where the names that a student defined are proxies."""

from __future__ import annotations

import ast
import builtins
import contextlib
import hashlib
import io
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

import autolab.check
from autolab.check import BEHAVIOURS, SPECS, Behaviour, Reference, Report, judge
from autolab.check.api import check as verdict
from autolab.check.api.check import reference_of, require
from autolab.check.api.judge_behaviour import draws, judge_behaviour
from autolab.check.run.cases import Case, cases
from autolab.check.run.spec import Spec
from autolab.check.run.specs import spec_for

from . import protocol
from .handlers import ERROR, OUTPUT
from .proxies import Proxy, SandboxCandidate, SandboxPlayer, function_class, name_of
from .same_spec import known_spec
from .sandbox import RemoteError, Session
from .second_opinion import SecondOpinion

UNPAID = -1  # the seed of checks without points
KINDS: dict[str, Callable[..., Any]] = {"function class": function_class, "callable": Proxy, "value": Proxy}


@dataclass
class CellOutcome:
    """What running a locked test came to: its value or its error, what it printed, and its reports."""

    value: Any = None
    report: Report | None = None
    error: tuple[str, str, list[str]] | None = None  # name, text, traceback lines
    printed: str = ""
    reports: list[Report] = field(default_factory=list)


def check_seed(seed: int, run: int) -> int:
    """The seed of one check in one grading: not to be known before, and the same when graded again with the same run."""
    return int.from_bytes(hashlib.sha256(f"{run}:{seed}".encode()).digest()[:4], "little")


class Judge:
    """The tests of one notebook: their names, and how to reach what they name in the sandbox."""

    def __init__(self, ask: Callable[..., Any], seed: int, second: SecondOpinion | None = None):
        self.ask, self.seed, self.second = ask, seed, second
        self.names: dict[str, Any] = {"__name__": "__judge__", "__builtins__": builtins}
        self.proxies: set[str] = set()
        self.reports: list[Report] = []
        self.verdicts: dict[Any, SessionVerdict] = {}  # since the last cell of the student's, by the question
        self.only_checks = False  # is the test that runs nothing else?

    def forget(self) -> None:
        """Drop the verdicts: a cell of the student's runs, after which the same question may have another answer."""
        self.verdicts.clear()

    def run(self, source: str, name: str) -> CellOutcome:
        """Run trusted code. What it names and this side does not define is asked of the sandbox."""
        outcome, sink = CellOutcome(), io.StringIO()
        self.reports = []
        try:
            body, end, wanted, self.only_checks = _compile(source, name)
            if not self.only_checks:  # it may change what a verdict depends on, here or there
                self.forget()
            self._bind(wanted)
            with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink), self._checks():
                exec(body, self.names)
                outcome.value = eval(end, self.names) if end else None
        except protocol.Broken as error:
            outcome.error = ("Stopped", f"your code was stopped: {error}", [])
        except RemoteError as error:
            outcome.error = ("RemoteError", str(error)[:1000], [])
        except (Exception, SystemExit) as error:
            lines = traceback.format_exception_only(type(error), error)
            outcome.error = (type(error).__name__, protocol.cut(str(error), ERROR), [protocol.cut(line, ERROR) for line in lines])
        outcome.printed, outcome.reports = protocol.cut(sink.getvalue(), OUTPUT), self.reports
        if isinstance(outcome.value, Report):
            outcome.report = outcome.value
        return outcome

    def check(
        self,
        exercise: str | Spec,
        candidate: Any,
        *,
        seed: int = 0,
        points: float | None = None,
        second_order: bool | None = None,
        seconds: float | None = None,  # the sandbox has its own limit
    ) -> Report:
        """What `autolab.check.check` is while a test runs: it draws with a fresh seed, and asks the sandbox.

        What was asked since the last cell of the student's is not asked again: on other numbers that nobody knew it would find the same.
        """
        seed, name = check_seed(seed, self.seed), name_of(candidate)
        if name is None:
            report = CHECK(exercise, candidate, seed=seed, points=points, second_order=second_order)
        elif isinstance(exercise, str) and exercise in BEHAVIOURS:
            report = _scaled(self._judge_behaviour(exercise, name, seed), points)
        else:
            report = _scaled(self._judge_rule(exercise, second_order, name, seed), points)
        self.reports.append(report)
        return report

    def _known(self, question: tuple) -> Report | None:
        """The verdict on this question, if the session has answered it since the last cell of the student's and is still there."""
        known = self.verdicts.get(question)
        return known.report if known and not known.session.broken else None

    def _note(self, question: tuple, exercise: Any, session: Session, report: Report) -> None:
        """Keep a verdict for the same question. What found no end may be a matter of the machine, and is asked again."""
        if self.only_checks and not any(d.family == "time" for d in report.diagnoses):
            self.verdicts[question] = SessionVerdict(exercise, session, report)

    def unpaid(self, exercise: str, answer: str) -> Report | None:
        """The verdict on an answer to a challenge, on numbers that no test with points draws; None if there is no such answer."""
        kind = self.ask("kinds", [answer]).get(answer)
        if kind not in KINDS:
            return None
        once = Judge(self.ask, self.seed)  # without a second opinion, which is about points
        return once.check(exercise, KINDS[kind](answer, self.ask), seed=UNPAID)

    def _judge_behaviour(self, exercise: str, name: Any, seed: int) -> Report:
        """The verdict on scenes. What was judged once is not judged again, as with rules."""
        behaviour, place = BEHAVIOURS[exercise], (exercise, seed, name)
        question = id(behaviour), name
        if report := self._known(question):
            return report
        player = SandboxPlayer(exercise, name, self.ask)
        known = _SCENE_SETS.get(place)
        if known is None or known.behaviour is not behaviour:
            known = _remember(_SCENE_SETS, place, SceneSet(behaviour, player.question(draws(behaviour, seed)), {}))
        said = player.prepare(known.question)
        report = known.verdicts.get(said)
        if report is None:
            report = judge_behaviour(behaviour, player, seed=seed)
            if said and not player.more:  # the verdict rests on this answer alone
                _remember(known.verdicts, said, report, 64)
        if said:
            self._note(question, behaviour, player.reply.session, report)
        return report

    def _judge_rule(self, exercise: str | Spec, second: bool | None, name: Any, seed: int) -> Report:
        """The verdict on a rule. Most students of a class give the same numbers: what was judged once is not judged again."""
        spec = exercise if isinstance(exercise, Spec) else spec_for(exercise)
        kept = spec if SPECS.get(spec.name) is spec else spec.name if spec == Spec(spec.name) else None
        same = known_spec(spec) if kept is None else None
        if same:
            spec, kept = same.spec, same.spec
        reference = same.reference if same else _reference(spec)
        spec = spec if second is None else replace(spec, second=second)
        question = kept if isinstance(kept, str) else id(kept), spec.second, name
        if kept and (report := self._known(question)):
            return report
        candidate = SandboxCandidate(name, reference, self.ask)
        place = (*question, seed, candidate.judges_forward)
        known = _CASE_SETS.get(place) if kept else None
        if known is None:
            with np.errstate(all="ignore"):
                require(spec, reference)
                drawn = list(cases(spec, reference, np.random.default_rng(seed)))
                known = _remember(_CASE_SETS, place, CaseSet(kept, drawn, candidate.question(drawn), {}))
        said = candidate.prepare(known.question)
        report = known.verdicts.get(said)
        if report is None:
            candidate.read()
            report = judge(spec, reference, candidate, seed=seed, drawn=known.cases)
            if said and not candidate.more:  # the verdict rests on this answer alone
                _remember(known.verdicts, said, report, 64)
        if said and _is_right(report) and self._needs_engine(spec, reference, name, known, said):
            candidate = SandboxCandidate(name, reference, self.ask, candidate.reply, by_engine=True)
            candidate.read()
            report = judge(spec, reference, candidate, seed=seed, drawn=known.cases)
        if kept and said:
            self._note(question, kept, candidate.reply.session, report)
        return report

    def _needs_engine(self, spec: Spec, reference: Reference, name: Any, known: CaseSet, said: str) -> bool:
        """Is a rule that is right wrong where the engine takes no derivatives?"""
        if self.second is None or not self.second.wanted():
            return False
        with contextlib.suppress(protocol.Broken, RemoteError):
            candidate = SandboxCandidate(name, reference, self.second.ask, self.second.put(known.question))
            if candidate.reply is not None:
                if candidate.reply.digest() == said:
                    return False
                candidate.read()
                right = _is_right(judge(spec, reference, candidate, drawn=known.cases, naming=False))
                if right or not (candidate.ended or candidate.late):
                    return not right
        if spec.name not in self.second.unknown:
            self.second.unknown.append(spec.name)
        return False

    def wanted(self, source: str, name: str) -> list[str]:
        """The names that a test will ask the sandbox for, as far as is known before it runs."""
        try:
            named = _compile(source, name)[2]
        except SyntaxError:
            return []
        return [n for n in named if n not in self.names or n in self.proxies]

    def _bind(self, named: tuple[str, ...]) -> None:
        wanted = [n for n in named if n not in self.names or n in self.proxies]
        kinds = self.ask("kinds", wanted) if wanted else {}
        for name in wanted:
            self.names.pop(name, None)
            kind = kinds.get(name) if isinstance(kinds, dict) else None
            if kind in KINDS:
                self.names[name] = KINDS[kind](name, self.ask)
                self.proxies.add(name)

    @contextlib.contextmanager
    def _checks(self) -> Iterator[None]:
        # This process is the judge's own; the tests import `check` from where everybody does.
        autolab.check.check = verdict.check = self.check
        try:
            yield
        finally:
            autolab.check.check = verdict.check = CHECK


def _is_right(report: Report) -> bool:
    """Is the derivative right, whatever else is not, and was no call of the engine seen?"""
    verdicts = {v.name: v.passed for v in report.verdicts}
    return verdicts.get("method") is not False and all(verdicts.get(name) is True for name in ("shape", "value", "upstream"))


CHECK = verdict.check
_REFERENCES: dict[str, Reference] = {}


class SessionVerdict(NamedTuple):
    """A verdict, the session that it was asked in, and the exercise: its identity is part of the question."""

    exercise: Spec | Behaviour | str
    session: Session
    report: Report


class CaseSet(NamedTuple):
    """What is asked of a rule with one seed, and the verdicts on what came back, by its digest."""

    spec: Spec | str | None
    cases: list[Case]
    question: bytes
    verdicts: dict[str, Report]


class SceneSet(NamedTuple):
    """What is asked of an answer to an exercise on behaviour with one seed, and the verdicts on what came back, by its digest."""

    behaviour: Behaviour
    question: bytes
    verdicts: dict[str, Report]


_CASE_SETS: dict[Any, CaseSet] = {}
_SCENE_SETS: dict[Any, SceneSet] = {}


def _remember(kept: dict[Any, Any], key: Any, value: Any, most: int = 500) -> Any:
    if len(kept) >= most:  # memory must not grow with the class
        kept.clear()
    kept[key] = value
    return value


_SCALED: dict[tuple[int, float], tuple[Report, Report]] = {}  # by identity: one verdict stands for many students


def _scaled(report: Report, points: float | None) -> Report:
    """The same verdict, for an exercise that is worth these points."""
    if points is None:
        return report
    key = id(report), points
    return (_SCALED.get(key) or _remember(_SCALED, key, (report, report.worth(points))))[1]


def _reference(spec: Spec) -> Reference:
    if SPECS.get(spec.name) is not spec:
        return reference_of(spec)
    if spec.name not in _REFERENCES:
        _REFERENCES[spec.name] = reference_of(spec)
    return _REFERENCES[spec.name]


@lru_cache(512)  # every student's notebook has the same tests
def _compile(source: str, name: str) -> tuple[CodeType, CodeType | None, tuple[str, ...], bool]:
    """A test in two parts, all but its last expression and that; the names in it that Python does not define; is it only checks?"""
    tree = ast.parse(source, name)
    only_checks = _is_only_checks(tree)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = compile(tree, name, "exec")
    end = compile(ast.Expression(last.value), name, "eval") if last else None
    names = {n for code in (body, end) if code for n in _names(code)}
    return body, end, tuple(sorted(n for n in names if not hasattr(builtins, n))), only_checks


def _is_only_checks(tree: ast.Module) -> bool:
    """Is a test nothing but checks, names for their reports, and assertions on these? Whatever else it calls may change something."""
    if not tree.body or ast.unparse(tree.body[0]) != "from autolab.check import check":
        return False
    if not all(isinstance(statement, (ast.Expr, ast.Assign, ast.Assert)) for statement in tree.body[1:]):
        return False
    nodes = [node for statement in tree.body[1:] for node in ast.walk(statement)]
    called = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
    given = [ast.unparse(node) for node in nodes if isinstance(getattr(node, "ctx", None), ast.Store)]
    return set(called) <= {"check"} and all(name.isidentifier() and name != "check" for name in given)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
