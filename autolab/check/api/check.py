"""`check`: a rule that someone wrote, put to all cases of an exercise and judged."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from autolab.engine.op import ADJOINT
from autolab.utils import pin, progress
from autolab.utils.collector import collector_paused

from ..behaviour.behaviours import BEHAVIOURS
from ..behaviour.scenes import LocalPlayer
from ..diagnosis.budget import begin_check
from ..diagnosis.diagnosis import Diagnosis
from ..run.candidate import BrokenSource, Candidate, LocalCandidate, from_source
from ..run.cases import Case, cases, known_cases
from ..run.content import digest
from ..run.limit import SECONDS, why_endless
from ..run.reference import EXACT, Reference
from ..run.runs import CaseRun
from ..run.spec import Spec
from ..run.specs import SPECS, row, spec_for
from .judge_behaviour import judge_behaviour
from .properties import Properties
from .report import Report

ORDER = {"mutation": 0, "second call": 1, "repeated": 4}  # causes before what comes of them; what is not known comes late

MOST_REFERENCES = 3
_REFERENCES: dict[str | None, Reference] = {}  # to exercises of one's own that were checked, by all that they depend on


def check(
    name: str | Spec, candidate: Any, *, seed: int = 0, points: float | None = None, second_order: bool | None = None,
    seconds: float = SECONDS,
) -> Report:  # fmt: skip
    """Judge a backward rule that someone wrote for an operation of the table, and say how it is wrong.

    Parameters
    ----------
    name : str or Spec
        The operation, such as "mul"; or an exercise of one's own.
    candidate : Function class, pair (forward, backward), or backward function
        A class with static methods `forward(ctx, ...)` and `backward(ctx, g)`, or functions on arrays; a plain backward
        takes g first and then what it needs by name: inputs, `out`, `<input>_shape`, settings.
    seed : int
        Draws the inputs and the incoming gradients.
    points : float, optional
        What a right rule is worth; as the exercise says if not given.
    second_order : bool, optional
        Must the rule itself be differentiable (a Function class on tensors)? As the exercise says if not given.
    seconds : float
        How long one call of the rule may take before it is stopped.

    Returns
    -------
    Report
        `report.points` of `report.max_points`; a table in a notebook, text with `print`, `report.to_json()`.

    Raises
    ------
    KeyError
        No operation has this name.
    LookupError
        The operation exists, but which inputs it needs is not known yet.
    TypeError
        `candidate` is neither a Function class nor functions.

    Examples
    --------
    >>> report = check("mul", (lambda x, y: x * y, lambda g, x, y: (g * y, g * x)))
    >>> report.points, report.max_points
    (6.25, 10.0)
    >>> report.diagnoses[0].family, report.diagnoses[0].certainty
    ('not summed', 'certain')
    """
    if behaviour := BEHAVIOURS.get(name) if isinstance(name, str) else None:
        player = candidate if hasattr(type(candidate), "play") else LocalPlayer(behaviour, candidate, seconds)
        report = judge_behaviour(behaviour, player, seed=seed, points=points)
        return _counted(report) if player is not candidate else report
    spec = name if isinstance(name, Spec) else spec_for(name)
    key = digest(spec) if spec.row else None  # of an exercise of one's own
    reference = _REFERENCES.pop(key, None) or reference_of(spec)
    if isinstance(candidate, str) and "\n" in candidate.strip():
        candidate = from_source(candidate)
    if not (hasattr(candidate, "call") and hasattr(candidate, "judges_forward")):
        candidate = LocalCandidate(candidate, reference, seconds)
    if second_order is not None:
        spec = replace(spec, second=second_order)
    reference.drawn = {} if key and reference.drawn is None else reference.drawn
    report = judge(spec, reference, candidate, seed=seed)
    # What differences had to be asked for may have been an input of this check alone: the next one begins anew.
    if key and not reference.stopped and reference.on_tensors and reference.precision <= EXACT:
        _REFERENCES[key] = reference
        if len(_REFERENCES) > MOST_REFERENCES:
            del _REFERENCES[next(iter(_REFERENCES))]
    if isinstance(candidate, (LocalCandidate, BrokenSource)):
        report = _counted(report)
    return report if points is None else report.worth(points)


def reference_of(spec: Spec) -> Reference:
    """The right answer to an exercise; for a name that is not known, a KeyError with those that look like it."""
    return Reference.of(replace(spec, row=spec.row or row(spec.name, BEHAVIOURS)))


def _counted(report: Report) -> Report:
    """Note the attempt on the learner's machine; not while a grader runs, whose attempts are not theirs."""
    if why := why_endless():
        report = replace(report, notes=(*report.notes, why))
    if "NBGRADER_EXECUTION" in os.environ:
        return report
    pin.compare_notebook()
    if os.environ.get("AUTOLAB_HOME") == "off":
        return report
    first = report.diagnoses[0].text if report.diagnoses else ""
    points = f"{report.points:g} of {report.max_points:g}"
    entry = progress.remember("exercise", report.exercise, report.passed, "; ".join(filter(None, [points, first])))
    return replace(report, attempt=entry["attempts"])


def judge(
    spec: Spec, reference: Reference, candidate: Candidate, *, seed: int = 0, drawn: Iterable[Case] | None = None, naming: bool = True
) -> Report:
    """The verdict on a candidate, wherever it runs: it is asked only for arrays. `check` makes the three from a name and a rule.

    `drawn`: the cases of this seed, if they are known. Without `naming` it says whether a rule is wrong, and not how.
    Raises LookupError if the operation has no gradient, or if the inputs that the exercise says do not fit it.

    >>> reference = Reference.of("sin")
    >>> candidate = LocalCandidate(lambda g, x: g * np.cos(x), reference)
    >>> judge(Spec("sin"), reference, candidate).passed
    True
    """
    start = time.perf_counter()
    begin_check(reference)
    with np.errstate(all="ignore"):
        with _fitting(spec, reference):
            drawn = list(known_cases(spec, reference, seed) if drawn is None else drawn)
        runs = _run_cases(spec, reference, candidate, drawn)
        with collector_paused():  # the rule came to an end in each call; when all is said, most of what was made is gone
            properties = Properties(spec, reference, candidate, runs, naming)
            verdicts = properties.verdicts()
            # What writes into its arguments is also wrong the second time, and what is wrong also where an array is given twice.
            found = sorted(properties.diagnoses, key=lambda d: ORDER.get(d.family, 2 + (d.certainty == "unknown")))
            found = [replace(d, hint=spec.hints.get(d.family, d.hint)) for d in found]
            both, notes = properties.jacobians() if naming else None, properties.notes()
            _forget(runs)
            del properties
    return Report(spec.name, verdicts, _merged(found), seed, time.perf_counter() - start, notes, both)


def _forget(runs: dict[str, list[CaseRun]]) -> None:
    """Let go of what was tried: its formulas hold the calls that hold them, and the collector would have to find thousands of them."""
    for run in itertools.chain(*runs.values()):
        for o in filter(None, (*run.seen, run.failure)):
            o.memo.clear()
    runs.clear()


def require(spec: Spec, reference: Reference) -> None:
    """Raise LookupError if the operation has no gradient, or if it is not known which inputs it needs."""
    with _fitting(spec, reference), np.errstate(all="ignore"):
        for case in () if spec.name in SPECS else cases(spec, reference, np.random.default_rng(0)):
            names = reference.environment(case.inputs, case.settings)
            for x in reference.differentiable():
                reference.gradient(x, case.upstream[0], names)


@contextlib.contextmanager
def _fitting(spec: Spec, reference: Reference) -> Iterator[None]:
    """What the right rule raises in this block, as a LookupError: the inputs do not fit it. Those of the exercises here do."""
    if not reference.rules:
        raise LookupError(f"{spec.name!r} has no gradient, so there is no rule to check")
    if reference.row is not None and reference.row.complex == ADJOINT:
        raise LookupError(f"{spec.name!r} is an operation on complex numbers, which the checker does not know")
    reference.require_one_result()
    _require_arguments(spec, reference)
    try:
        yield
    except Exception as error:
        if spec is SPECS.get(spec.name) or type(error) is LookupError:  # an IndexError or a KeyError is one as well
            raise
        if spec.name in SPECS:
            raise LookupError(
                f"the shapes and settings of this Spec({spec.name!r}, ...) do not fit the operation: {error}. Change them."
            ) from error
        if spec.shapes or spec.make:
            raise LookupError(
                f"the inputs that this Spec({spec.name!r}, ...) draws do not fit its forward: {type(error).__name__}: {error}. Change its "
                "shapes, settings, domain or make."
            ) from error
        settings = ", ".join(f"{k}=..." for k in reference.settings)
        raise LookupError(
            f"no exercise on {spec.name!r} yet: the inputs that fit its shape and kind do not fit it ({error}). "
            f"Add a Spec({spec.name!r}, shapes=[...], settings=[dict({settings})]) to autolab/check/run/specs.py, "
            "or call diagnose() with your inputs."
        ) from error


def _require_arguments(spec: Spec, reference: Reference) -> None:
    """Raise LookupError if an exercise of one's own does not say what its forward takes."""
    if spec.row is None or getattr(reference.row, "variadic", False):
        return
    inputs, given = reference.inputs, {name for settings in (*spec.settings, *spec.besides) for name in settings}
    if named := [x for x in inputs if x in given]:
        raise LookupError(
            f"the settings of this Spec({spec.name!r}, ...) name {named[0]!r}, which its forward takes as an input. An array is an input; "
            f"a setting comes after a star: def forward({', '.join(x for x in inputs if x not in given)}, *, {', '.join(named)})"
        )
    if other := next((shapes for shapes in spec.shapes if len(shapes) != len(inputs)), None):
        raise LookupError(
            f"the shapes of this Spec({spec.name!r}, ...) are those of {len(other)} inputs in {other}, and its forward takes "
            f"{len(inputs)}: {', '.join(inputs)}. Give one shape for each; what is not an array comes after a star in forward, as a setting"
        )


def _run_cases(spec: Spec, reference: Reference, candidate: Candidate, drawn: Iterable[Case]) -> dict[str, list[CaseRun]]:
    """All cases put to the candidate, by their purpose."""
    runs: dict[str, list[CaseRun]] = {}
    last = None
    named = {name for settings in spec.settings for name in settings}
    for case in drawn:
        if case.purpose == "besides" and case.settings.keys() - named and getattr(candidate, "wants", None) == ():
            continue  # a Function has no place for another setting
        answer = candidate.call(case.inputs, case.settings, case.upstream, case.between)
        last = CaseRun(case, answer, reference, candidate, last, partial(_fitting, spec, reference))
        runs.setdefault(case.purpose, []).append(last)
        stops = ("time",) if case.purpose == "besides" else ("blank", "syntax", "time")  # a rule may have no branch for what is not asked
        if answer.fault and answer.fault.kind in stops:
            break  # the next call would say the same, and a loop without end takes its time each time
    return runs


def _merged(found: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Each sentence once, with the other inputs of which it is said but for their names; of one input only the first of each kind."""
    kept: list[tuple[Diagnosis, set[str], list[str]]] = []
    for d in found:
        alike = [(k, first, said, others) for k, (first, said, others) in enumerate(kept) if first.family == d.family]
        if any(not (d.input and first.input) or d.input == first.input for _, first, *_ in alike):
            continue
        sentences = _sentences(d)
        if same := next((a for a in alike if a[2] & sentences), None):
            k, first, said, others = same
            sure = first.certainty if first.certainty == d.certainty else "likely"
            kept[k] = replace(first, certainty=sure), said, [*others, str(d.input)]
        else:
            kept.append((d, sentences, []))
    return tuple(replace(d, text=f"{d.text}. The same holds for {_listed(others)}") if others else d for d, _, others in kept)


def _listed(names: list[str]) -> str:
    """
    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _sentences(d: Diagnosis) -> set[str]:
    """What is said of an input, without its name: where it stands for the gradient, and everywhere."""
    return {d.text.removeprefix(f"The gradient for {d.input} "), re.sub(rf"\b{d.input}\b", "_", d.text)} if d.input else {d.text}
