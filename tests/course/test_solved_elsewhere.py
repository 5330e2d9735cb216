"""No lesson, and no earlier problem set, has an answer that could be pasted into a problem set, even with its settings deleted."""

import ast
import contextlib
import inspect
import io
import itertools
import json
import linecache
import textwrap
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from autolab.autograd import Function
from autolab.check import BEHAVIOURS, LocalCandidate, Reference, judge
from autolab.check.api.judge_behaviour import judge_behaviour
from autolab.check.behaviour.scenes import Behaviour, LocalPlayer
from autolab.check.run.cases import cases
from autolab.check.run.specs import spec_for
from autolab.course.solutions import CALL, read
from autolab.course.variants.bank import read_bank

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
SETS = sorted((path.parent.name for path in (ROOT / "exercises/source").glob("ps*/*.ipynb")), key=lambda name: int(name[2:]))


def defined(code, names):
    """Each class and function that this code defines, as it is pasted: it may lose its .detach()."""
    for part in ast.parse(code).body:
        if isinstance(part, (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)):
            source = ast.unparse(part).replace(".detach()", "")
            file = f"<pasted {hash(source)}>"
            linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
            with contextlib.suppress(NameError):  # a default that the lesson computes
                exec(compile(source, file, "exec"), names)
                if hasattr(part, "name"):
                    yield part.name, names[part.name]


@cache
def of_lesson(path):
    names = {"__name__": "lesson"}
    cells = ["".join(c["source"]) for c in json.loads(path.read_text("utf-8"))["cells"] if c["cell_type"] == "code"]
    return [found for cell in cells for found in defined(cell, names)]


@cache
def answers():
    """(set, exercise): its right answer."""
    found = {}
    for problem_set in SETS:
        (path,) = (ROOT / "exercises/source" / problem_set).glob("*.ipynb")
        names, code = {"__name__": "__main__"}, [c.source for c in read(path).cells if c.cell_type == "code"]
        for source in code:
            if "### BEGIN SOLUTION" in source or (source.startswith(("import", "from")) and "check(" not in source):
                exec(source, names)
        calls = [call for source in code for call in CALL.findall(source) if call[0] != "sin"]  # the example of a set
        found |= {(problem_set, exercise): names[answer] for exercise, answer in calls if callable(names[answer])}
    return found


def kind(thing):
    return (
        "rule" if isinstance(thing, type) and issubclass(thing, Function) else "class" if isinstance(thing, type) else type(thing).__name__
    )


def arguments(thing):
    """What it takes, and how many of them it cannot do without."""
    called = thing.forward if kind(thing) == "rule" else thing.__init__ if isinstance(thing, type) else thing
    taken = [p for p in inspect.signature(called).parameters.values() if p.name not in ("ctx", "self")]
    return [p.name for p in taken], sum(p.default is p.empty for p in taken)


def fits(thing, right):
    """A rule fits by the number of its arguments; of functions, which do anything with theirs, the names are the same as well."""
    (names, fewest), (wanted, needed) = arguments(thing), arguments(right)
    return kind(thing) == kind(right) and fewest <= needed <= len(names) and (kind(thing) == "rule" or names[:needed] == wanted[:needed])


def shorter(rule, needed):
    """The rule without its last arguments: in their place are words of its own, or 0 and 1."""
    source = ast.parse(textwrap.dedent(inspect.getsource(rule.forward)))
    words = {part.value for part in ast.walk(source) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    for settings in itertools.product(words | {0, 1}, repeat=arguments(rule)[1] - needed):

        class Shorter(Function):
            @staticmethod
            def forward(ctx, *inputs, settings=settings):
                return rule.forward(ctx, *inputs, *settings)

            @staticmethod
            def backward(ctx, *g):
                found = rule.backward(ctx, *g)
                return found[:needed] if isinstance(found, tuple) else found

        yield Shorter


def pasted(thing, right):
    """What a student might paste where the right answer belongs."""
    if fits(thing, right):
        return [thing]
    return shorter(thing, arguments(right)[1]) if kind(thing) == kind(right) == "rule" and arguments(thing)[1] > arguments(right)[1] else []


@cache
def entries():
    """(set, entry of its bank): its spec, and how many arguments its rule takes."""
    banks = [read_bank(ROOT / "exercises", path.stem) for path in sorted((ROOT / "exercises/bank").glob("*.toml"))]
    rules = {(bank.set, name): v for bank in banks for name, v in bank.variants.items() if v.is_rule}
    return {entry: (v.spec, len(v.inputs) + len(v.settings)) for entry, v in rules.items()}


@cache
def looks(exercise):
    """What an answer is judged by: first by two cases, none of which is at a kink, then by all."""
    spec = entries()[exercise][0] if exercise in entries() else spec_for(exercise)
    reference = Reference.of(spec)
    some = list(itertools.islice(cases(spec, reference, np.random.default_rng(0)), 2))
    return [(replace(spec, kink=None), reference, some), (spec, reference, None)]


def is_accepted(exercise, thing):
    """Whether it gets at least half of the points: one case or scene that fails is enough to say no."""
    with contextlib.redirect_stdout(io.StringIO()):
        if exercise in BEHAVIOURS:
            whole = BEHAVIOURS[exercise]
            first = Behaviour(whole.name, whole.scenes[:1])
            return all(judge_behaviour(part, LocalPlayer(part, thing, seconds=0.2)).passed for part in (first, whole))
        reports = (
            judge(spec, reference, LocalCandidate(thing, reference), drawn=drawn, naming=False)
            for spec, reference, drawn in looks(exercise)
        )
        return all(report.points >= report.max_points / 2 for report in reports)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.name[:2])
def test_nothing_that_a_lesson_defines_is_the_answer_of_an_exercise(lesson):
    things = [(name, thing) for name, thing in of_lesson(lesson) if kind(thing) in ("rule", "class", "function")]
    tried = [(name, exercise, one) for name, thing in things for exercise, right in answers().items() for one in pasted(thing, right)]
    assert [(name, *exercise) for name, exercise, thing in tried if is_accepted(exercise[1], thing)] == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.name[:2])
def test_no_rule_of_a_lesson_is_that_of_an_entry_of_a_bank(lesson):
    rules = [(name, thing, arguments(thing)) for name, thing in of_lesson(lesson) if kind(thing) == "rule"]
    tried = [(name, e, rule) for name, rule, (names, fewest) in rules for e, (_, n) in entries().items() if fewest <= n <= len(names)]
    assert [(name, entry) for name, entry, rule in tried if is_accepted(entry, rule)] == []


@pytest.mark.parametrize("problem_set", SETS)
def test_no_answer_to_an_earlier_set_is_the_answer_of_an_exercise(problem_set):
    earlier = SETS[: SETS.index(problem_set)]
    here = [(exercise, right) for (name, exercise), right in answers().items() if name == problem_set]
    before = [(name, other, thing) for (name, other), thing in answers().items() if name in earlier]
    tried = [(other, exercise, other[2]) for exercise, right in here for other in before if fits(other[2], right)]
    assert [(*other[:2], exercise) for other, exercise, thing in tried if is_accepted(exercise, thing)] == []
