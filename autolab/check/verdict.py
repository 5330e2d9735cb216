"""From the answers to a verdict on each property, with its points and its reason."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from autolab.autograd import enable_grad
from autolab.utils import progress

from . import picture
from .behaviour import LocalPlayer, judge_behaviour
from .behaviours import BEHAVIOURS
from .candidate import Answer, Broken, Candidate, LocalCandidate, from_source, second_order
from .cases import Case, cases, draw
from .diagnosis import Diagnosis, asking, diagnosis, error_of, explain, fault, observe, stopped, worst_place
from .jacobian import Pair, is_linear, jacobians
from .limit import SECONDS
from .observation import Observation, close
from .reference import Reference
from .report import Report, Verdict
from .specs import SPECS, Spec, spec_for

RIGHT = 1e-4  # up to here the derivative is the right one, computed badly
SLOW = 0.25  # seconds for one call
FIRST = {"mutation": 0, "second call": 1}  # causes before what comes of them
EXACT = 1e-12  # a formula in float64 is this exact; a difference quotient is not


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
    (8.0, 10.0)
    >>> report.diagnoses[0].family, report.diagnoses[0].certainty
    ('not summed', 'certain')
    """
    if behaviour := BEHAVIOURS.get(name) if isinstance(name, str) else None:
        player = candidate if hasattr(candidate, "play") else LocalPlayer(behaviour, candidate)
        report = judge_behaviour(behaviour, player, seed=seed, points=points)
        return _counted(report) if player is not candidate else report
    spec = name if isinstance(name, Spec) else spec_for(name)
    reference = Reference.of(spec.row or spec.name)
    if isinstance(candidate, str) and "\n" in candidate.strip():
        candidate = from_source(candidate)
    if not (hasattr(candidate, "call") and hasattr(candidate, "judges_forward")):
        candidate = LocalCandidate(candidate, reference, seconds)
    if second_order is not None:
        spec = replace(spec, second=second_order)
    report = judge(spec, reference, candidate, seed=seed)
    if isinstance(candidate, (LocalCandidate, Broken)):
        report = _counted(report)
    return report if points is None else report.worth(points)


def _counted(report: Report) -> Report:
    """Note the attempt on the learner's machine; not while a grader runs, whose attempts are not theirs."""
    if "NBGRADER_EXECUTION" in os.environ or os.environ.get("AUTOLAB_HOME") == "off":
        return report
    first = report.diagnoses[0].text if report.diagnoses else ""
    points = f"{report.points:g} of {report.max_points:g}"
    entry = progress.remember("exercise", report.exercise, report.passed, "; ".join(filter(None, [points, first])))
    return replace(report, attempt=entry["attempts"])


def judge(
    spec: Spec, reference: Reference, candidate: Candidate, *, seed: int = 0, drawn: Iterable[Case] | None = None
) -> Report:
    """The verdict on a candidate, wherever it runs: it is asked only for arrays. `drawn`: the cases of this seed, if they are known."""
    start = time.perf_counter()
    with np.errstate(all="ignore"):
        require(spec, reference)
        court = _heard(spec, reference, candidate, cases(spec, reference, np.random.default_rng(seed)) if drawn is None else drawn)
        verdicts = court.verdicts()
        # What writes into its arguments is also wrong the second time: the cause goes first.
        found = sorted(court.diagnoses, key=lambda d: FIRST.get(d.family, 2))
        found = [replace(d, hint=spec.hints.get(d.family, d.hint)) for d in found]
        both = court.jacobians()
    return Report(spec.name, verdicts, _merged(found), seed, time.perf_counter() - start, court.notes(), both)


def require(spec: Spec, reference: Reference) -> None:
    """Raise LookupError if the operation has no gradient, or if it is not known which inputs it needs."""
    if not reference.rules:
        raise LookupError(f"{spec.name!r} has no gradient, so there is no rule to check")
    if spec.name in SPECS:
        return
    try:
        for case in cases(spec, reference, np.random.default_rng(0)):
            names = reference.environment(case.inputs, case.settings)
            for x in reference.differentiable():
                reference.gradient(x, case.upstream[0], names)
    except LookupError:
        raise
    except Exception as error:
        settings = ", ".join(f"{k}=..." for k in reference.settings)
        raise LookupError(
            f"no exercise on {spec.name!r} yet: the inputs that fit its shape and kind do not fit it ({error}). "
            f"Add a Spec({spec.name!r}, shapes=[...], settings=[dict({settings})]) to autolab/check/specs.py, "
            "or call diagnose() with your inputs."
        ) from error


def _heard(spec: Spec, reference: Reference, candidate: Candidate, drawn: Iterable[Case]) -> Court:
    """All cases put to the candidate."""
    runs: dict[str, list[Run]] = {}
    for case in drawn:
        answer = candidate.call(case.inputs, case.settings, case.upstream, case.between)
        runs.setdefault(case.purpose, []).append(Run(case, answer, reference, candidate))
        if answer.fault and answer.fault.kind in ("blank", "syntax", "time"):
            break  # the next call would say the same, and a loop without end takes its time each time
    return Court(spec, reference, candidate, runs)


def _merged(found: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """One diagnosis for each kind of mistake: the first, which names the other inputs that show the same."""
    kept: dict[str, Diagnosis] = {}
    for d in found:
        first = kept.setdefault(d.family, d)
        if d.input and first.input and d.input != first.input:
            sure = first.certainty if first.certainty == d.certainty else "likely"
            kept[d.family] = replace(first, text=f"{first.text}. The same holds for {d.input}", certainty=sure)
    return tuple(kept.values())


class Run:
    """One case, the answer to it, and the right answer."""

    def __init__(self, case: Case, answer: Answer, reference: Reference, candidate: Candidate):
        self.case, self.answer = case, answer
        self.where = case.describe(reference.inputs)
        self.names = reference.environment(case.inputs, case.settings)
        calls = zip(case.upstream, answer.gradients, strict=False)
        given = tuple(case.settings)
        ask = asking(candidate, reference, case.inputs, case.settings)
        self.seen = [observe(reference, self.names, g, gradients, given, ask) for g, gradients in calls]
        self.failure = None if self.seen else stopped(reference, self.names, case.upstream[0])

    @property
    def first(self) -> Observation | None:
        """What the first backward call gave; None if it raised."""
        return self.seen[0] if self.seen else None

    @property
    def repeatable(self) -> bool:
        """Does the last call, with the g of the first, give what the first gave?"""
        if len(self.seen) < len(self.case.upstream):
            return False
        return all(_same(a, self.seen[-1].got[x]) for x, a in self.seen[0].got.items())

    @property
    def observations(self) -> list[Observation]:
        """All that a diagnosis may rest on."""
        if self.failure:
            return [self.failure]
        return self.seen[:2] if self.repeatable else self.seen[:1]


class Court:
    """All properties of one candidate; each method gives one verdict and may leave diagnoses."""

    def __init__(self, spec: Spec, reference: Reference, candidate: Candidate, runs: dict[str, list[Run]]):
        self.spec, self.reference, self.candidate, self.runs = spec, reference, candidate, runs
        self.inputs = tuple(reference.differentiable())
        self.diagnoses: list[Diagnosis] = []
        self.plain = runs.get("value", [])
        self.seen = [run.first for run in self.plain if run.first]
        self.explained: set[str] = set()

    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each property that applies, in the order in which a person would repair them."""
        judged = {"forward": self.forward()}
        if not self.seen:
            found = fault(self.plain[0].answer, self.plain[0].where)
            self.diagnoses.append(found)
            answer = self.plain[0].answer
            reason = "not judged: backward gave no gradients" if answer.out is not None else "not judged: no result"
            judged |= {name: Verdict(name, None, reason) for name in self._applicable() if name != "forward"}
            return self._with_points(judged)
        judged["value"], judged["upstream"] = self.value_and_upstream()
        for name in self._applicable():
            if name not in judged:
                judged[name] = getattr(self, name.replace(" ", "_"))()
        if judged["method"].passed is False and judged["value"].passed:
            judged["value"] = Verdict("value", False, judged["method"].reason)
        return self._with_points(judged)

    def _applicable(self) -> list[str]:
        names = ["forward", "shape", "value", "upstream"]
        if self.spec.broadcast_for(self.reference):
            names.append("broadcasting")
        names.append("accumulation")
        if self.spec.extreme:
            names.append("stability")
        return [*names, "purity", "dtype", "method", *["second order"] * self.spec.second]

    def _with_points(self, judged: dict[str, Verdict]) -> tuple[Verdict, ...]:
        # A rule that is wrong everywhere also writes into nothing: care counts once there is something to care for.
        worth = judged["value"].share > 0 or any(d.family in ("sign", "constant") for d in self.diagnoses)
        out = []
        for name in self._applicable():
            verdict, of = judged[name], self.spec.points.get(name, 0.0)
            if name == "forward" and not self.candidate.judges_forward:
                of = 0.0
            counts = worth or name == "forward"
            reason = verdict.reason if counts or not verdict.passed else "counts once a gradient is right"
            points = round(of * verdict.share, 2) if counts else 0.0
            out.append(replace(verdict, points=points, max_points=of, reason=reason))
        return tuple(out)

    # --- properties

    def forward(self) -> Verdict:
        """Is the result right, in value and shape?"""
        if not self.candidate.judges_forward:
            return Verdict("forward", None, "not asked: only backward was given")
        for run in self._all("value", "broadcast"):
            out, want = run.answer.out, run.names["out"]
            if out is None:
                return Verdict("forward", False, f"with {run.where}: {fault(run.answer).text}")
            if out.shape != want.shape:
                text = f"result: received shape {out.shape}, expected shape {want.shape}"
            elif not np.allclose(out, want, rtol=1e-9, atol=1e-12, equal_nan=True):
                text = _worst_result(out, want)
            else:
                continue
            found = diagnosis("wrong result", "certain", f"Forward is wrong: {text}", where=run.where)
            self.diagnoses.append(found)
            return Verdict("forward", False, f"with {run.where}: {text}")
        return Verdict("forward", True, "the result is right")

    def shape(self) -> Verdict:
        """Does each gradient have the shape of its input, where nothing is broadcast?"""
        for run in self.plain:
            if not run.first:
                found = fault(run.answer, run.where)
                if not self.explained:
                    self.diagnoses.append(self._only_matrices(run) or found)
                return Verdict("shape", False, f"with {run.where}: {found.text}")
            for x in self.inputs:
                got, want = run.first.got[x], run.first.want[x]
                if got is None or got.shape != want.shape:
                    received = "None" if got is None else f"shape {got.shape}"
                    text = f"with {run.where}: gradient for {x}: received {received}, expected shape {want.shape}"
                    return Verdict("shape", False, text)
        return Verdict("shape", True, "each gradient has the shape of its input")

    def _only_matrices(self, failed: Run) -> Diagnosis | None:
        """A rule that is right for matrices and raises for every stack of them."""
        stacked = [run for run in self.plain if run.names["out"].ndim > 2]
        if failed not in stacked or any(run.first for run in stacked):
            return None
        text = f"The rule is right for two axes and fails for three: {fault(failed.answer).text}"
        return diagnosis("2-D only", "certain", text, where=failed.where)

    def value_and_upstream(self) -> tuple[Verdict, Verdict]:
        """Is the local derivative right, and is the incoming gradient multiplied in?"""
        shares, reasons, straight = [], [], True
        for x in self.inputs:
            share, reason, linear = self._one_input(x)
            shares.append(share)
            straight &= linear
            if reason:
                reasons.append(reason)
        share = sum(shares) / len(shares)
        value = Verdict("value", share == 1, "; ".join(reasons) or "the derivative is right", partial=share)
        if straight:
            return value, Verdict("upstream", True, "the gradient is linear in g")
        return value, Verdict(
            "upstream", False, "the gradient does not follow g: twice the g must give twice the gradient"
        )

    def _one_input(self, x: str) -> tuple[float, str, bool]:
        """Part of the points, reason, and whether the gradient is linear in g."""
        wrong = [o for o in self.seen if error_of(o, x) > RIGHT]
        ones, *calls = (self._first(purpose) for purpose in ("ones", "one", "other", "both", "zero"))
        linear = not ones or _is_linear(x, *calls)
        if not wrong:
            return (*self._exact(x), linear)
        found = explain(self._evidence(), x, show=wrong)
        if found:
            self.diagnoses.append(found)
            self.explained.add(x)
        if ones and error_of(ones, x) <= RIGHT < error_of(calls[0] or ones, x):
            return 1.0, f"{x}: right where g is 1", False
        if found and found.family.startswith(("upstream", "mask from g")) and found.family != "upstream only":
            linear = False
        right = [o for o in self.seen if o not in wrong]
        if right and max(o.out.ndim for o in right) < min(o.out.ndim for o in wrong):
            return 0.5, str(worst_place(wrong, x)), linear
        return 0.0, str(worst_place(wrong, x)), linear

    def _exact(self, x: str) -> tuple[float, str]:
        """A right gradient may still have lost digits, or be wrong at a kink."""
        if max(error_of(o, x) for o in self.seen) > EXACT and all(
            np.array_equal(o.got[x], np.asarray(o.got[x], np.float32)) for o in self.seen
        ):
            text = f"The gradient for {x} has only the digits of float32, for float64 inputs"
            self.diagnoses.append(diagnosis("precision", "certain", text, input=x, worst=worst_place(self.seen, x)))
        kink = self.spec.kink
        if kink is None or kink.input != x:
            return 1.0, ""
        run = self.runs["kink"][0]
        if not run.first:
            return 0.5, f"at {x} = {kink.at:g}: {fault(run.answer).text}"
        o = run.first
        at = np.asarray(o.names[x]) == kink.at
        slope = o.got[x][at] / o.g[at]
        low, high = kink.slopes
        if not np.all((slope >= low - 1e-12) & (slope <= high + 1e-12)):
            text = f"The gradient for {x} is {slope[0]:.6g} times g at {x} = {kink.at:g}, outside [{low:g}, {high:g}]"
            self.diagnoses.append(diagnosis("kink", "certain", text, input=x, worst=worst_place([o], x)))
            return 0.5, text
        if not np.allclose(slope, kink.convention):
            said = f"you take the slope {slope[0]:.6g}, PyTorch takes {kink.convention:g}: both will do"
            return 1.0, f"at {x} = {kink.at:g} {said}"
        return 1.0, ""

    def broadcasting(self) -> Verdict:
        """Is each gradient summed over the axes along which its input was stretched?"""
        reason, order = "", []
        for run in self.runs.get("broadcast", []):
            wrong = [x for x in self.inputs if run.first and error_of(run.first, x) > RIGHT]
            order += [x for x in wrong if x not in order]
            if not run.first:
                reason = reason or f"with {run.where}: {fault(run.answer).text}"
            elif wrong and not reason:
                reason = f"with {run.where}: {worst_place([run.first], wrong[0])}"
        for x in order:
            if x not in self.explained and (found := explain(self._evidence(), x)):
                self.diagnoses.append(found)
        if reason and not order and not self.explained:
            failed = next(run for run in self.runs["broadcast"] if not run.first)
            self.diagnoses.append(fault(failed.answer, failed.where))
        return Verdict("broadcasting", not reason, reason or "stretched axes are summed")

    def accumulation(self) -> Verdict:
        """Does a call leave the next one as it was: two backwards, two forwards, the same array twice?"""

        def wrong(family: str, text: str, where: str = "") -> Verdict:
            self.diagnoses.append(diagnosis(family, "certain", text, where=where))
            return Verdict("accumulation", False, text)

        for run in self.plain:
            if run.first and not run.repeatable:
                said = (
                    f"fails: {fault(run.answer).text}" if run.answer.fault else "with the same g gives another gradient"
                )
                return wrong("second call", f"A second backward {said}", run.where)
        between, alone = self._first("between"), self._first("one")
        if alone and (not between or any(not _same(between.got[x], alone.got[x]) for x in self.inputs)):
            return wrong(
                "state", "Another forward before backward changes the gradient: what was saved is kept outside ctx"
            )
        right = all(error_of(o, x) <= RIGHT for o in self.seen for x in self.inputs)
        for run in self.runs.get("repeated", []):
            if right and not (run.first and _adds_up(run.first, self.inputs)):
                return wrong("repeated", "The gradients are wrong when the same array is given twice, as in x * x")
        return Verdict("accumulation", True, "calls do not disturb each other")

    def stability(self) -> Verdict:
        """Is the gradient finite and right where a careless formula overflows?"""
        for run in self.runs.get("extreme", []):
            if not run.first:
                return Verdict("stability", False, f"with large numbers: {fault(run.answer).text}")
            out = run.answer.out
            if out is not None and np.any(~np.isfinite(out)) and np.all(np.isfinite(run.names["out"])):
                text = "The result of forward is not finite for large numbers"
                self.diagnoses.append(diagnosis("unstable", "certain", text, where=run.where))
                return Verdict("stability", False, text)
            for x in self.inputs:
                got, want = run.first.got[x], run.first.want[x]
                if got is None or got.shape != want.shape:
                    return Verdict("stability", False, f"with large numbers: {worst_place([run.first], x)}")
                lost = ~np.isfinite(got) & np.isfinite(want)
                if lost.any():
                    at = np.asarray(run.names[x])
                    text = f"The gradient for {x} is not finite"
                    text += f" at {x} = {at[lost].flat[0]:.6g}" if at.shape == lost.shape else " for large numbers"
                    if x not in self.explained:
                        self.diagnoses.append(
                            diagnosis("unstable", "certain", text, input=x, worst=worst_place([run.first], x))
                        )
                    return Verdict("stability", False, text)
        return Verdict("stability", True, "large numbers give finite gradients")

    def purity(self) -> Verdict:
        """Are the arguments as they were?"""
        for run in self._all(*self.runs):
            named = [
                ("the incoming gradient g", a, b) for a, b in zip(run.case.upstream, run.answer.upstream, strict=True)
            ]
            after = zip(self.reference.inputs, run.case.inputs, run.answer.inputs, strict=True)
            named += [(f"the input {x}", a, b) for x, a, b in after]
            for what, before, now in named:
                if not _same(before, now):
                    text = f"The rule writes into {what}"
                    self.diagnoses.append(diagnosis("mutation", "certain", text, where=run.where))
                    return Verdict("purity", False, text)
        return Verdict("purity", True, "inputs and g are left as they were")

    def dtype(self) -> Verdict:
        """Do float32 inputs give a float32 result and float32 gradients?"""
        run = next(iter(self.runs.get("float32", [])), None)
        if run is None or not run.first:
            return Verdict("dtype", False, f"with float32: {fault(run.answer).text}" if run else "not judged")
        got = {f"the gradient for {x}": run.first.got[x] for x in self.inputs}
        if self.candidate.judges_forward:
            got = {"the result": run.answer.out, **got}
        for what, value in got.items():
            if value is not None and value.dtype != np.float32:
                text = f"For float32 inputs {what} is {value.dtype}"
                self.diagnoses.append(diagnosis("dtype", "certain", text))
                return Verdict("dtype", False, text)
        if any(d.family == "precision" for d in self.diagnoses):
            return Verdict("dtype", False, "float64 inputs are computed in float32")
        return Verdict("dtype", True, "float32 stays float32")

    def method(self) -> Verdict:
        """Is it a formula, and the learner's own?"""
        if any(run.answer.recorded for run in self._all(*self.runs)):
            text = "Backward asks the engine for the derivative instead of computing it"
            self.diagnoses.append(diagnosis("engine called", "certain", text))
            return Verdict("method", False, text)
        scaled = self._first("scaled")
        for x in self.inputs:
            if any(error_of(o, x) > RIGHT for o in self.seen) or any(d.family == "precision" for d in self.diagnoses):
                continue
            seen = [*self.seen, scaled] if scaled else self.seen
            error = max(error_of(o, x) for o in seen)
            if error > EXACT:
                text = f"The gradient for {x} is right to {error:.0e} only; a formula is exact to 1e-15"
                found = diagnosis("finite differences", "likely", f"{text}: probably a difference quotient", input=x,
                                  worst=worst_place(seen, x))  # fmt: skip
                self.diagnoses.append(found)
                return Verdict("method", False, text)
        return Verdict("method", True, "no difference quotient, no call of the engine")

    def second_order(self) -> Verdict:
        """Can the gradient be differentiated again, with the right result?"""
        run, second = self.plain[0], getattr(self.candidate, "second", None)
        row = self.reference.row
        if second is None or row is None:
            return Verdict("second order", None, "not judged: the rule runs elsewhere")
        rng = np.random.default_rng(0)
        v = [draw(rng, np.shape(run.names[x])) for x in self.inputs]
        got, failed = second(run.case.inputs, run.case.settings, run.case.upstream[0], v)
        if failed or got is None:
            text = failed.text if failed else "only a Function class on tensors can be differentiated again"
            if failed:
                self.diagnoses.append(fault(Answer(None, (), (), (), failed), run.where))
            return Verdict("second order", False if failed else None, text)
        settings = self.reference.own(run.case.settings)
        names = self.reference.inputs
        with enable_grad():
            want = second_order(row, run.case.inputs, (), settings, self.inputs, names, run.case.upstream[0], v)
        for x, yours, right in zip((*self.inputs, "g"), got, want, strict=True):
            zero = np.zeros(np.shape(run.names[x]) if x != "g" else run.case.upstream[0].shape)
            yours, right = (zero if a is None else a for a in (yours, right))
            if yours.shape != right.shape or not np.allclose(yours, right, rtol=1e-8, atol=1e-10):
                text = f"The gradient is right, but its own derivative for {x} is not: something was detached or computed outside"
                worst = _worst_result(yours, right).removeprefix("result") if yours.shape == right.shape else ""
                found = diagnosis("second order", "certain", f"{text}{' (at ' + worst.strip() + ')' if worst else ''}", where=run.where)
                self.diagnoses.append(found)
                return Verdict("second order", False, text)
        return Verdict("second order", True, "the gradient can be differentiated again")

    def notes(self) -> tuple[str, ...]:
        """Remarks that cost nothing."""
        found = []
        runs = self._all(*self.runs)
        printed = next((run.answer.printed for run in runs if run.answer.printed.strip()), "")
        if printed:
            first = printed.strip().splitlines()[0][:80]
            found.append(f"your rule prints, which is not shown while it is checked: {first!r}")
        slowest = max((run.answer.seconds for run in runs), default=0.0)
        if slowest > SLOW:
            found.append(f"one call takes {slowest:.2g} s, on arrays of a few numbers: a loop over entries where NumPy has one operation?")
        return tuple(found)

    def jacobians(self) -> Pair | None:
        """Both matrices for the first input whose gradient is wrong, where they are small enough to look at."""
        for o in sorted(self.seen, key=lambda o: o.out.size):
            for x in self.inputs:
                wrong = o.got[x] is not None and o.got[x].shape == o.want[x].shape and error_of(o, x) > RIGHT
                if wrong and picture.fits(o.out.size, o.want[x].size):
                    pair = jacobians(o, x)
                    return pair if pair and is_linear(o, pair) else None
        return None

    # --- helpers

    def _all(self, *purposes: str) -> list[Run]:
        return [run for purpose in purposes for run in self.runs.get(purpose, [])]

    def _first(self, purpose: str) -> Observation | None:
        runs = self.runs.get(purpose)
        return runs[0].first if runs else None

    def _evidence(self) -> list[Observation]:
        return [o for run in self._all("value", "one", "other", "broadcast") for o in run.observations]


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is b or a is None or b is None:
        return a is b
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def _adds_up(o: Observation, inputs: Iterable[str]) -> bool:
    """For one array given as both inputs: is the sum right? Where the two tie, as in max(x, x), they may share as they like."""
    if all(error_of(o, x) <= RIGHT for x in inputs):
        return True
    got, want = [o.got[x] for x in inputs], [o.want[x] for x in inputs]
    if any(a is None or a.shape != b.shape for a, b in zip(got, want, strict=True)):
        return False
    tied = close(want[0], want[-1])  # each has an equal share
    within = all(
        np.all((a * b >= -1e-12) & (np.abs(a) <= np.abs(sum(want)) + 1e-12)) for a, b in zip(got, want, strict=True)
    )
    return tied and within and close(sum(got), sum(want))


def _is_linear(x: str, *calls: Observation | None) -> bool:
    """Of g, h, g + h and 0: does the third give the sum of the first two, and the last nothing?"""
    if any(o is None or o.got[x] is None for o in calls):
        return False
    one, other, both, zero = (o.got[x] for o in calls if o)
    if not one.shape == other.shape == both.shape:
        return False
    return not np.any(zero) and bool(np.all(np.abs(one + other - both) <= 1e-4 * np.abs(both).max(initial=1e-300)))


def _worst_result(got: np.ndarray, want: np.ndarray) -> str:
    distance = np.abs(np.asarray(got, float) - want)
    at = np.unravel_index(np.argmax(np.where(np.isnan(distance), np.inf, distance)), distance.shape)
    place = f"[{', '.join(str(int(i)) for i in at)}]" if at else ""
    return f"result{place}: received {got[at]:.6g}, expected {want[at]:.6g}"
