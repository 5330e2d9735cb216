"""A fuzzer for the checker: students' right rules with random slips, each decided by numbers alone and put to `check`.

python -m tests.check.fuzz --minutes 5 --seed 1      # exit 1 if anything was found
python -m tests.check.fuzz --minutes 5 --only softmax

Whether a mutant is wrong is decided here and not by the checker: its result against forward's, its gradients against
finite differences of forward, of order eight, on shapes and numbers of our own, and a Function also by `apply`. Then `check` judges it.
What is found: a wrong rule accepted, a right one refused, a certain sentence that another seed does not repeat, a crash, a slow check.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from autolab.autograd import Function
from autolab.check import BEHAVIOURS, LocalCandidate, Reference, Report, check
from autolab.check.run.cases import shapes_for
from autolab.check.run.inputs import Shapes, draw
from autolab.check.run.spec import Spec
from autolab.check.run.specs import spec_for
from autolab.torch_api.creation import from_numpy

from . import right, right_fresh, right_more, right_styles, right_unusual
from .mutations import mutate

WRONG, RIGHT = 1e-5, 1e-7  # relative to the largest entry; a rule in between is left alone
SLOW = 0.1  # seconds of CPU
CARE = {"stability", "purity", "dtype", "accumulation", "method"}  # what a rule with right gradients may still lack
FACTS = {"nan", "exception", "unknown"}  # what is seen on some numbers and not on others, and true where it is said
STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))  # central differences of order eight
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
    """The right rules of the tests, and the solutions of the problem sets."""
    return [*_from_tests(), *_from_exercises()]


def _from_tests() -> Iterator[Source]:
    for module in (right, right_fresh, right_more, right_styles, right_unusual):
        for node in ast.parse(Path(str(module.__file__)).read_text("utf-8")).body:
            match node:
                case ast.FunctionDef(decorator_list=[ast.Call(func=ast.Name("right"), args=[ast.Constant(operation)])]) | \
                     ast.ClassDef(decorator_list=[ast.Call(func=ast.Name("right"), args=[ast.Constant(operation)])]):  # fmt: skip
                    node.decorator_list = []
                    yield Source(operation, node.name, node, vars(module))


def _from_exercises() -> Iterator[Source]:
    from autolab.course.solutions import CALL, read  # asks for nbformat

    for path in sorted(EXERCISES.glob("*/*.ipynb")):
        names: dict[str, Any] = {"__name__": "__main__"}
        trees: dict[str, ast.ClassDef] = {}
        cells = [c for c in read(path).cells if c.cell_type == "code"]
        for cell in cells:
            if cell.metadata.get("nbgrader", {}).get("solution") or cell.metadata.get("nbgrader", {}).get("locked"):
                if "check(" in cell.source:
                    continue
                tree = ast.parse(cell.source)
                trees |= {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
                exec(compile(tree, str(path), "exec"), names)
        for cell in cells:
            call = CALL.search(cell.source)
            if call and call[1] not in BEHAVIOURS and call[2] in trees and cell.id.endswith(("-check", "-try")):
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
    spec = spec_for(operation)
    reference, rng = Reference.of(spec), np.random.default_rng([seed, 99])
    found = []
    for shapes in (*shapes_for(spec, reference), *_more_shapes(spec, reference)):
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
        return [((2, 6), (6,)), ((2, 1), (2, 6)), ((3, 3), (3,)), ((4,), (2, 3, 1)), ((1, 1), (2, 3)), ((2, 2, 2), (2, 1, 2))]
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


def error(rule: Any, operation: str, call: Call) -> float:
    """How far the rule is off in this call: 0 is right, and infinite what raises or has another shape."""
    reference = Reference.of(spec_for(operation))
    answer = LocalCandidate(rule, reference, 2.0).call(call.inputs, call.settings, (call.g, call.g))
    if answer.fault or np.shape(answer.out) != call.out.shape:
        return np.inf
    if call.slopes:
        slope = answer.gradients[0][0] / call.g if np.shape(answer.gradients[0][0]) == call.g.shape else np.inf
        return 0.0 if np.all((slope >= call.slopes[0] - 1e-12) & (slope <= call.slopes[1] + 1e-12)) else np.inf
    pairs = [(np.asarray(answer.out), call.out)] if isinstance(rule, (type, tuple)) else []
    for gradients in answer.gradients:
        got = dict(zip(reference.inputs, gradients, strict=False))
        for x, want in call.want.items():
            value = got[x]
            if value is None or value.shape != want.shape:
                return np.inf if value is not None or want.any() else 0.0
            pairs.append((value, want))
    return max((_distance(a, b) for a, b in pairs), default=0.0)


def _is_zero_for_zero(rule: Any, operation: str, call: Call) -> bool:
    """Is the gradient 0 where g is? A division by g is not, and right everywhere else."""
    if call.slopes:
        return True
    none = 0 * call.g
    want = {x: np.zeros_like(a) for x, a in call.want.items()}
    return error(rule, operation, replace(call, g=none, want=want)) == 0.0


def _distance(got: np.ndarray, want: np.ndarray) -> float:
    off = np.abs(got - want).max(initial=0.0) / (np.abs(want).max(initial=0.0) or 1.0)
    return float(off) if np.isfinite(off) else np.inf


def applies(rule: Any, operation: str, call: Call) -> bool:
    """Does `apply` take what this Function returns, once lists are tuples and arrays tensors, which the checker lets pass with a note?"""
    if not (isinstance(rule, type) and issubclass(rule, Function)):
        return True
    reference = Reference.of(spec_for(operation))
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
        self.random = Random(self.seed)
        every = [s for s in sources() if self.only in ("", s.operation)]
        self.usable = [(s, kept) for s in every if (kept := self._calls(s))]
        self.seen: set[tuple[str, str]] = set()

    def _calls(self, source: Source) -> list[Call]:
        """The calls for which the rule was written: where it is right before anything is changed."""
        rule = source.run(ast.unparse(source.tree))
        with np.errstate(all="ignore"):
            return [c for c in calls(source.operation, self.seed) if error(rule, source.operation, c) < RIGHT]

    def step(self) -> None:
        """One mutant."""
        source, kept = self.random.choice(self.usable)
        mutant = mutate(source.tree, self.random, 2 if self.random.random() < 0.15 else 1)
        if mutant is None or (source.name, mutant.source) in self.seen:
            return
        self.seen.add((source.name, mutant.source))
        try:
            rule = source.run(mutant.source)
        except Exception:  # what is not Python is not a rule
            return
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            errors = []
            for call in kept:
                errors.append(error(rule, source.operation, call))
                if errors[-1] == np.inf:
                    break
            wrong = max(errors) > WRONG or not applies(rule, source.operation, kept[0])
            right = max(errors) < RIGHT and not wrong and all(_is_zero_for_zero(rule, source.operation, call) for call in kept)
        self.counts["wrong" if wrong else "right" if right else "unclear"] += 1
        self._judge(source, mutant, rule, wrong, right)

    def _judge(self, source: Source, mutant: Any, rule: Any, wrong: bool, right: bool) -> None:
        def note(what: str, said: str) -> None:
            self.counts[what] += 1
            self.finds.append(Find(what, source, mutant.kind, mutant.source, said))

        start = time.process_time()
        try:
            report = check(source.operation, rule, seconds=2)
        except Exception as failure:
            note("crash", f"{type(failure).__name__}: {failure}")
            return
        spent = time.process_time() - start
        failed = {v.name for v in report.verdicts if v.passed is False}
        if report.passed and wrong:
            note("accepted though wrong", f"points {report.points:g} of {report.max_points:g}")
        unstable = bool(report.diagnoses) and report.diagnoses[0].family == "unstable"  # where numbers are large, which is not tried here
        if right and failed - CARE and not failed & {"method"} and not unstable:
            note("refused though right", _first(report))
        if spent > SLOW and not self.quick:
            again = [_time(source.operation, rule) for _ in range(2)]
            if min(again) > SLOW and not any(d.family == "time" for d in report.diagnoses):
                note("slow", f"{1e3 * min(again):.0f} ms")
        if wrong and report.diagnoses and report.diagnoses[0].certainty == "certain":
            self.counts["certain"] += 1
            others = [check(source.operation, rule, seed=seed, seconds=2) for seed in (1, 2)]
            said = [{d.family, *d.alternatives} for r in (report, *others) for d in r.diagnoses[:1] if d.family not in FACTS]
            if said and any(families.isdisjoint(said[0]) for families in said):
                note("certain, and not on other numbers", " | ".join(map(_first, [report, *others])))
        self.counts["named"] += wrong and any(d.certainty != "unknown" for d in report.diagnoses)


def _first(report: Report) -> str:
    return (
        str(report.diagnoses[0]).replace("\n", " ")
        if report.diagnoses
        else "; ".join(v.reason for v in report.verdicts if v.passed is False)
    )


def _time(operation: str, rule: Any) -> float:
    start = time.process_time()
    check(operation, rule, seconds=2)
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
    print(f"{len(fuzzer.usable)} right rules of {len({s.operation for s, _ in fuzzer.usable})} operations", flush=True)
    while time.monotonic() < end:
        fuzzer.step()
        for find in fuzzer.finds[told:]:
            print(find, flush=True)
        told = len(fuzzer.finds)
    print(", ".join(f"{n} {what}" for what, n in fuzzer.counts.most_common()))
    return 1 if fuzzer.finds else 0


if __name__ == "__main__":
    sys.exit(main())
