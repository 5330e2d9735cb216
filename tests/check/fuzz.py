"""A fuzzer for the checker: students' right rules with random slips, each decided by numbers alone and put to `check`.

python -m tests.check.fuzz --minutes 5 --seed 1      # exit 1 if anything was found
python -m tests.check.fuzz --minutes 5 --only softmax

Whether a mutant is wrong is decided here and not by the checker: its result against forward's, its gradients against
finite differences of forward, of order eight, on shapes and numbers of our own, and a Function also by `apply`. Then `check` judges it.
What is found: a wrong rule accepted, a right one refused, a certain sentence that another seed does not repeat or that these numbers
contradict, points that are out of bounds or more than a rule without a right gradient can have, a crash, our own traceback, a slow check.
Solutions of the exercises on behaviour are changed as well: nothing decides about them here, and all that is not about being right holds.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import inspect
import io
import os
import re
import sys
import textwrap
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from autolab.autograd import Function
from autolab.check import BEHAVIOURS, LocalCandidate, Reference, Report, check
from autolab.check.diagnosis import quiet
from autolab.check.run.cases import shapes_for
from autolab.check.run.inputs import Shapes, draw
from autolab.check.run.spec import Spec
from autolab.check.run.specs import spec_for
from autolab.torch_api.creation import from_numpy

from . import own_specs, right, right_fresh, right_more, right_odd, right_styles, right_unusual
from .mutations import mutate

WRONG, RIGHT = 1e-5, 1e-7  # relative to the largest entry; a rule in between is left alone
SLOW = 0.15  # seconds of CPU, on a machine that may be busy
CARE = {"stability", "purity", "dtype", "accumulation", "method"}  # what a rule with right gradients may still lack
FACTS = {"nan", "exception", "unknown"}  # what is seen on some numbers and not on others, and true where it is said
STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))  # central differences of order eight
SLOW_OWN = 1.5  # of an exercise whose rule is not told
SECONDS = 2  # for a rule that finds no end
NUMBER = r"(-?[\d.]+(?:e-?\d+)?)"
# Sentences that say what can be looked up: a pattern, and what has to hold of what came back, what is right, g, and the number in it.
SENTENCES: list[tuple[str, Callable[..., bool]]] = [
    (r"is zero everywhere", lambda got, want, g, n: np.abs(got).max() <= 1e-12 * np.abs(want).max()),
    (r"has the right size and the wrong sign, everywhere", lambda got, want, g, n: alike(got, -want)),
    (r"is the incoming gradient g, unchanged: the local derivative is missing$", lambda got, want, g, n: alike(got, g)),
    (rf"is {NUMBER} times g: a number stands", lambda got, want, g, n: alike(got, n * g, 1e-4)),
    (rf"is {NUMBER} times (?:too large|the right one)$", lambda got, want, g, n: alike(got, n * want, 1e-4)),
    (r"is half as large as it should be$", lambda got, want, g, n: alike(got, want / 2)),
    (r"is 1 everywhere", lambda got, want, g, n: alike(got, np.ones_like(want))),
]
EXERCISES = Path(__file__).resolve().parents[2] / "exercises" / "source"


class Source(NamedTuple):
    """A right rule as text: for which operation, its name, and the names that it uses."""

    operation: str
    name: str
    tree: ast.FunctionDef | ast.ClassDef
    names: dict[str, Any]

    def run(self, text: str) -> Any:
        """The rule that this text defines."""
        names = dict(self.names)
        exec(compile(text, "<mutant>", "exec"), names)
        return names[self.name]


def sources() -> list[Source]:
    """The right rules of the tests and of instructors' own exercises, and the solutions of the problem sets."""
    return [*_from_tests(), *_from_own(), *_from_exercises()]


OWN = {each.spec.name: each.spec for each in own_specs.OWN}


def exercise(name: str) -> Spec:
    """The exercise with this name: one of the table's, or one of an instructor's."""
    return OWN.get(name) or spec_for(name)


@cache
def reference_of(name: str) -> Reference:
    """The right answer to it."""
    return Reference.of(exercise(name))


def _from_own() -> Iterator[Source]:
    for spec, rule in own_specs.OWN:
        tree = ast.parse(textwrap.dedent(inspect.getsource(rule))).body[0]
        if isinstance(tree, ast.FunctionDef):
            tree.decorator_list = []
            yield Source(spec.name, tree.name, tree, vars(own_specs))


def _from_tests() -> Iterator[Source]:
    for module in (right, right_fresh, right_more, right_odd, right_styles, right_unusual):
        for node in ast.parse(Path(str(module.__file__)).read_text("utf-8")).body:
            match node:
                case ast.FunctionDef(decorator_list=[ast.Call(func=ast.Name("right"), args=[ast.Constant(operation)])]) | \
                     ast.ClassDef(decorator_list=[ast.Call(func=ast.Name("right"), args=[ast.Constant(operation)])]):  # fmt: skip
                    node.decorator_list = []
                    yield Source(operation, node.name, node, vars(module))


def _from_exercises(behaviours: bool = False) -> Iterator[Source]:
    from autolab.course.solutions import CALL, read  # asks for nbformat

    for path in sorted(EXERCISES.glob("*/*.ipynb")):
        names: dict[str, Any] = {"__name__": "__main__"}
        trees: dict[str, ast.ClassDef | ast.FunctionDef] = {}
        cells = [c for c in read(path).cells if c.cell_type == "code"]
        try:
            for cell in cells:
                if cell.metadata.get("nbgrader", {}).get("solution") or cell.metadata.get("nbgrader", {}).get("locked"):
                    if "check(" in cell.source:
                        continue
                    tree = ast.parse(cell.source)
                    trees |= {n.name: n for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
                    exec(compile(tree, str(path), "exec"), names)
        except ModuleNotFoundError:  # answers that are modules beside the notebook
            continue
        for cell in cells:
            call = CALL.search(cell.source)
            if call and (call[1] in BEHAVIOURS) == behaviours and call[2] in trees and cell.id.endswith(("-check", "-try")):
                if behaviours or isinstance(trees[call[2]], ast.ClassDef):
                    yield Source(call[1], call[2], trees[call[2]], names)


@dataclass
class Call:
    """One call: what goes in, and what has to come out."""

    inputs: tuple[np.ndarray, ...]
    settings: dict[str, Any]
    g: np.ndarray
    out: np.ndarray
    want: dict[str, np.ndarray]
    slopes: tuple[float, float] | None = None  # any slope between these is right


@cache
def calls(operation: str, seed: int) -> list[Call]:
    """Calls of an operation, with derivatives by finite differences of its forward."""
    spec = exercise(operation)
    reference, rng = reference_of(operation), np.random.default_rng([seed, 99])
    found = []
    more = () if operation in OWN else _more_shapes(spec, reference)  # an instructor says which there are
    for shapes in (*shapes_for(spec, reference), *more):
        for settings in spec.settings:
            try:
                found.append(_call(spec, reference, shapes, dict(settings), rng))
            except Exception:  # shapes that this operation does not take
                continue
    return found + _special(spec, reference, rng)


def _special(spec: Spec, reference: Reference, rng: np.random.Generator) -> list[Call]:
    """Kinks, where any slope between the two sides will do, and ties, where the row says who gets what."""
    if spec.kink:
        inputs, g = (np.full((2, 3), spec.kink.at),), draw(rng, (2, 3))
        return [Call(inputs, dict(spec.settings[0]), g, reference.result(inputs, spec.settings[0]), {}, spec.kink.slopes)]
    if spec.make and spec.name == "amax":
        inputs, settings = spec.make(rng, ((3, 5),), spec.settings[0]), dict(spec.settings[0])
        names = reference.environment(inputs, settings)
        g = draw(rng, names["out"].shape)
        return [Call(inputs, settings, g, names["out"], {"x": reference.gradient("x", g, names)})]
    return []


def _more_shapes(spec: Spec, reference: Reference) -> list[Shapes]:
    """Shapes that the checker does not use."""
    if len(reference.inputs) == 1:
        return [((6,),), ((2, 7),), ((3, 3),), ((3, 2, 5),), ((2, 2, 3, 2),)]
    if reference.elementwise and len(reference.inputs) == 2:
        return [((2, 6), (6,)), ((2, 6), ()), ((2, 1), (2, 6)), ((3, 3), (3,)), ((4,), (2, 3, 1)), ((1, 1), (2, 3)), ((2, 2, 2), (2, 1, 2))]
    if reference.elementwise and not any(len(set(shapes)) > 1 for shapes in spec.shapes):
        return [((2, 6), (6,), (2, 1)), ((6,), (2, 1), (2, 6)), ((2, 1), (2, 6), (6,)), ((2, 3), (), (3,)), ((), (2, 3), (2, 1, 1))]
    return []


def _call(spec: Spec, reference: Reference, shapes: Shapes, settings: dict[str, Any], rng: np.random.Generator) -> Call:
    names = reference.inputs
    made = tuple(spec.make(rng, shapes, settings)) if spec.make else ()
    inputs = made or tuple(draw(rng, s, *spec.domain.get(x, (-3.0, 3.0))) for x, s in zip(names, shapes, strict=True))
    if spec.make and spec.name == "amax":  # finite differences know no ties
        inputs = (draw(rng, shapes[0]),)
    out = np.asarray(reference.result(inputs, settings))
    g = draw(rng, out.shape)
    want = {x: _derivative(reference, inputs, settings, g, names.index(x)) for x in reference.differentiable()}
    if spec.name == "round_through":  # its gradient is a convention
        want = {"x": g}
    return Call(inputs, settings, g, out, want)


def _derivative(reference: Reference, inputs: tuple, settings: dict[str, Any], g: np.ndarray, k: int) -> np.ndarray:
    """Of sum(g * forward) with respect to input k."""
    h, found = 5e-4, np.zeros(inputs[k].shape)
    for place in np.ndindex(found.shape):
        for step, weight in STENCIL:
            for sign in (1, -1):
                moved = inputs[k].copy()
                moved[place] += sign * step * h
                given = (*inputs[:k], moved, *inputs[k + 1 :])
                found[place] += sign * weight / h * float((g * reference.result(given, settings)).sum())
    return found


@dataclass
class Outcome:
    """What a rule gave in one call: how far off each gradient and the result are, infinite where it raises or has another shape."""

    errors: dict[str, float]
    got: dict[str, np.ndarray | None]

    @property
    def error(self) -> float:
        """How far the rule is off: 0 is right."""
        return max(self.errors.values(), default=0.0)


def error(rule: Any, operation: str, call: Call) -> float:
    """How far the rule is off in this call: 0 is right, and infinite what raises or has another shape."""
    return outcome(rule, operation, call).error


def outcome(rule: Any, operation: str, call: Call) -> Outcome:
    """Of one call."""
    reference = reference_of(operation)
    nothing = Outcome(dict.fromkeys(call.want or reference.inputs, np.inf), {})
    try:
        answer = LocalCandidate(rule, reference, SECONDS / 4).call(call.inputs, call.settings, (call.g, call.g))
    except BaseException as failure:
        if isinstance(failure, KeyboardInterrupt):
            raise
        return nothing
    if answer.fault:
        return nothing
    if call.slopes:
        (x, *_), slope = reference.inputs, answer.gradients[0][0]
        slope = slope / call.g if np.shape(slope) == call.g.shape else np.array(np.inf)
        right = np.all((slope >= call.slopes[0] - 1e-12) & (slope <= call.slopes[1] + 1e-12))
        return Outcome({x: 0.0 if right else np.inf}, {})
    errors = dict.fromkeys(call.want, 0.0)
    if isinstance(rule, (type, tuple)):
        errors["the result"] = _distance(np.asarray(answer.out), call.out) if np.shape(answer.out) == call.out.shape else np.inf
    for gradients in answer.gradients:
        got = dict(zip(reference.inputs, gradients, strict=False))
        errors |= {x: max(errors[x], _off(got[x], want)) for x, want in call.want.items()}
    return Outcome(errors, dict(zip(reference.inputs, answer.gradients[0], strict=False)))


def _follows_g(rule: Any, operation: str, call: Call) -> bool:
    """Is the gradient 0 where g is, as a division by g is not, and right for large g, as one that is cut off is not?"""
    if call.slopes:
        return True
    none = {x: np.zeros_like(a) for x, a in call.want.items()}
    if error(rule, operation, replace(call, g=0 * call.g, want=none)) != 0.0:
        return False
    return error(rule, operation, replace(call, g=-5 * call.g, want={x: -5 * a for x, a in call.want.items()})) < RIGHT


def _forget_kept() -> None:
    """Forget what a rule kept between its calls."""
    for name in ("_kept_g", "n"):
        vars(builtins).pop(name, None)


def alike(got: np.ndarray, want: np.ndarray, rtol: float = 1e-6) -> bool:
    """Are these the same numbers? One may stand for all."""
    return bool(np.allclose(got, want, rtol=rtol, atol=rtol * np.abs(want).max(initial=0.0)))


def _off(got: np.ndarray | None, want: np.ndarray) -> float:
    """How far off a gradient is."""
    if got is None or got.shape != want.shape:
        return np.inf if got is not None or want.any() else 0.0
    return _distance(got, want)


def _distance(got: np.ndarray, want: np.ndarray) -> float:
    off = np.abs(got - want).max(initial=0.0) / (np.abs(want).max(initial=0.0) or 1.0)
    return float(off) if np.isfinite(off) else np.inf


def applies(rule: Any, operation: str, call: Call) -> bool:
    """Does `apply` take what this Function returns, once lists are tuples and arrays tensors, which the checker lets pass with a note?"""
    if not (isinstance(rule, type) and issubclass(rule, Function)):
        return True
    reference = reference_of(operation)
    needed = set(reference.differentiable())
    tensors = [from_numpy(np.array(a)) for a in call.inputs]
    for x, t in zip(reference.inputs, tensors, strict=True):
        t.requires_grad_(x in needed)

    def as_tensor(a: Any) -> Any:
        return from_numpy(np.array(a)) if isinstance(a, (np.ndarray, np.generic)) else a

    def forward(*arguments: Any) -> Any:
        return as_tensor(rule.forward(*arguments))

    def backward(ctx: Any, g: Any) -> Any:
        returned = rule.backward(ctx, g)
        return tuple(map(as_tensor, returned if isinstance(returned, (tuple, list)) else (returned,)))

    try:
        lenient = type(rule.__name__, (rule,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
        lenient.apply(*tensors, *call.settings.values()).backward(from_numpy(np.array(call.g)))
    except Exception:
        return False
    return True


@dataclass
class Find:
    """Something that should not be."""

    what: str
    source: Source
    kind: str
    text: str
    said: str

    def __str__(self) -> str:
        before = ast.unparse(self.source.tree).splitlines()
        lines = [line for line in self.text.splitlines() if line not in before]
        return "\n    ".join([f"{self.what}: {self.source.operation} {self.source.name} ({self.kind})", *lines, f"-> {self.said}"])


@dataclass
class Fuzzer:
    """Mutants of right rules, one after another."""

    seed: int
    only: str = ""
    quick: bool = False  # without what depends on the clock
    counts: Counter = field(default_factory=Counter)
    finds: list[Find] = field(default_factory=list)

    def __post_init__(self) -> None:
        quiet.STRICT = True  # what fails in a diagnosis is a find
        self.random = Random(self.seed)
        every = [s for s in sources() if self.only in ("", s.operation)]
        self.usable = [(s, kept) for s in every if (kept := self._calls(s))]
        behaviours = [] if self.quick else _from_exercises(behaviours=True)
        self.scenes = [s for s in behaviours if self.only in ("", s.operation) and self._is_quick(s)]
        self.seen: set[tuple[str, str]] = set()

    def _calls(self, source: Source) -> list[Call]:
        """The calls for which the rule was written: where it is right before anything is changed."""
        rule = source.run(ast.unparse(source.tree))
        with np.errstate(all="ignore"):
            return [c for c in calls(source.operation, self.seed) if error(rule, source.operation, c) < RIGHT]

    def _is_quick(self, source: Source) -> bool:
        return _time(source.operation, source.run(ast.unparse(source.tree))) < SLOW_OWN

    def step(self) -> None:
        """One mutant."""
        if self.scenes and (not self.usable or self.random.random() < 0.15):
            source, kept = self.random.choice(self.scenes), []
        else:
            source, kept = self.random.choice(self.usable)
        mutant = mutate(source.tree, self.random, 2 if self.random.random() < 0.15 else 1, more=True)
        if mutant is None or (source.name, mutant.source) in self.seen:
            return
        self.seen.add((source.name, mutant.source))
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            self._try(source, mutant, kept)
        _forget_kept()

    def _try(self, source: Source, mutant: Any, kept: list[Call]) -> None:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                rule = source.run(mutant.source)
            except Exception:  # what is not Python is not a rule
                return
            outcomes = [outcome(rule, source.operation, call) for call in kept]
            errors = [o.error for o in outcomes]
            wrong = bool(kept) and (max(errors) > WRONG or not applies(rule, source.operation, kept[0]))
            right = bool(kept) and max(errors) < RIGHT and not wrong
            right = right and all(_follows_g(rule, source.operation, call) for call in kept)
        self.counts["wrong" if wrong else "right" if right else "unclear" if kept else "of behaviour"] += 1
        self._judge(source, mutant, rule, wrong, right, list(zip(kept, outcomes, strict=True)))

    def _judge(self, source: Source, mutant: Any, rule: Any, wrong: bool, right: bool, tried: list[tuple[Call, Outcome]]) -> None:
        def note(what: str, said: str) -> None:
            self.counts[what] += 1
            self.finds.append(Find(what, source, mutant.kind, mutant.source, said))

        def judged(seed: int = 0) -> Report:
            name = source.operation
            _forget_kept()
            return check(OWN.get(name, name), rule, seed=seed, seconds=SECONDS)

        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = judged()
        except KeyboardInterrupt:
            raise
        except BaseException as failure:
            note("crash", "".join(traceback.format_exception(failure)[-4:]))
            return
        spent = time.process_time() - start
        for said in _impossible(report, source.operation, [] if re.search("chance|keeps", mutant.kind) else tried):
            note("impossible", said)
        failed = {v.name for v in report.verdicts if v.passed is False}
        if report.passed and wrong:
            note("accepted though wrong", f"points {report.points:g} of {report.max_points:g}; notes {report.notes}")
        unstable = bool(report.diagnoses) and report.diagnoses[0].family == "unstable"  # where numbers are large, which is not tried here
        other_setting = any(" and wrong with " in v.reason for v in report.verdicts)  # those of `besides` are not tried here either
        refused = failed - CARE and not failed & {"method"} and not unstable and not other_setting
        if right and "keeps" not in mutant.kind and refused:
            note("refused though right", _first(report))
        timed = not self.quick and "time" not in mutant.kind
        slow = SLOW_OWN if source.operation in OWN or not tried else SLOW
        if spent > slow and timed and not any(d.family == "time" for d in report.diagnoses):
            again = [_time(source.operation, rule) for _ in range(2)]
            if min(again) > slow:
                note("slow", f"{1e3 * min(again):.0f} ms")
        if spent > 4 * SECONDS:
            note("no end", f"{spent:.1f} s")
        if wrong and report.diagnoses and report.diagnoses[0].certainty == "certain" and "chance" not in mutant.kind:
            self.counts["certain"] += 1
            others = [judged(seed) for seed in (1, 2)]
            said = [{d.family, *d.alternatives} for r in (report, *others) for d in r.diagnoses[:1] if d.family not in FACTS]
            if said and any(families.isdisjoint(said[0]) for families in said):
                note("certain, and not on other numbers", " | ".join(map(_first, [report, *others])))
        self.counts["named"] += wrong and any(d.certainty != "unknown" for d in report.diagnoses)


def _impossible(report: Report, operation: str, tried: list[tuple[Call, Outcome]]) -> Iterator[str]:
    """What no report may say, of any rule."""
    text = str(report) + report.to_json() + " ".join(report.notes)
    if any(part in text for part in ("site-packages", "autolab/check/", "check/run/")):
        yield f"a file of ours is shown: {text[:600]}"
    for v in report.verdicts:
        if not 0 <= v.points <= v.max_points or not 0 <= v.share <= 1:
            yield f"{v.name}: {v.points} of {v.max_points}"
    if not tried:
        return
    worth = {v.name: v.max_points for v in report.verdicts}
    most = worth.get("forward", 0) + worth.get("value", 0) / 2
    # A rule that writes into what forward saved is right the first time.
    if all(_off(o.got.get(x), want) > WRONG for call, o in tried for x, want in call.want.items()) and report.points > most + 1e-9:
        yield f"wrong in every call, and {report.points:g} of {report.max_points:g} points"
    for d in report.diagnoses:
        for pattern, holds in SENTENCES if d.certainty == "certain" and d.input else ():
            if not (found := re.match(rf"The gradient for \w+ {pattern}", d.text)):
                continue
            n = float(found[1]) if found.groups() else 0.0
            for call, o in tried:
                got, want = o.got.get(d.input), call.want.get(d.input)
                if got is None or want is None or got.shape != want.shape or o.errors[d.input] < WRONG:
                    continue
                stretched = reference_of(operation).elementwise and call.g.shape != want.shape  # what is said holds before the sum
                if not stretched and not holds(got, want, call.g if call.g.shape == want.shape else np.array(np.nan), n):
                    yield f"not so: {d.text} ({d.where})"
                    break


def _first(report: Report) -> str:
    return (
        str(report.diagnoses[0]).replace("\n", " ")
        if report.diagnoses
        else "; ".join(v.reason for v in report.verdicts if v.passed is False)
    )


def _time(operation: str, rule: Any) -> float:
    start = time.process_time()
    check(OWN.get(operation, operation), rule, seconds=SECONDS)
    return time.process_time() - start


def fuzz(seed: int, until: Callable[[Fuzzer], bool], only: str = "", quick: bool = False) -> Fuzzer:
    """Try mutants until this says enough."""
    fuzzer = Fuzzer(seed, only, quick)
    while not until(fuzzer):
        fuzzer.step()
    return fuzzer


def main() -> int:
    """Fuzz for some minutes, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="one operation")
    os.environ["AUTOLAB_HOME"] = "off"
    options = parser.parse_args()
    end, told = time.monotonic() + 60 * options.minutes, 0
    fuzzer = Fuzzer(options.seed, options.only)
    operations = len({s.operation for s, _ in fuzzer.usable})
    print(f"{len(fuzzer.usable)} right rules of {operations} operations, {len(fuzzer.scenes)} answers on behaviour", flush=True)
    while time.monotonic() < end:
        fuzzer.step()
        for find in fuzzer.finds[told:]:
            print(find, flush=True)
        told = len(fuzzer.finds)
    print(", ".join(f"{n} {what}" for what, n in fuzzer.counts.most_common()))
    return 1 if fuzzer.finds else 0


if __name__ == "__main__":
    sys.exit(main())
