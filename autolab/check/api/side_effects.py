"""How a rule behaves besides being right: towards other calls, its arguments, dtypes, and whose formula it is."""

from __future__ import annotations

import numpy as np

from autolab.autograd import enable_grad

from ..diagnosis.conditioning import is_as_near_as_known
from ..diagnosis.diagnose import FLOAT32, inexact, is_noisy
from ..diagnosis.diagnosis import Diagnosis, diagnosis, fault, worst_place
from ..run.candidate import Answer, Candidate, second_order
from ..run.inputs import draw
from ..run.observation import RIGHT, Observation, error_of
from ..run.reference import EXACT, Reference
from ..run.runs import CaseRun, adds_up, same, worst_result
from ..run.spec import Spec
from .report import Verdict

SLOW = 0.25  # seconds for one call
SINGLE = 1e-5  # what a formula loses in float32
ROUGH = 0.02  # more than any formula loses there, even one that subtracts nearly equal numbers


class SideEffects:
    """One candidate and the runs of all its cases; each method gives one verdict and may leave diagnoses."""

    def __init__(self, spec: Spec, reference: Reference, candidate: Candidate, runs: dict[str, list[CaseRun]], naming: bool = True):
        self.spec, self.reference, self.candidate, self.runs = spec, reference, candidate, runs
        self.inputs = tuple(reference.differentiable())
        self.diagnoses: list[Diagnosis] = []
        self.plain = runs.get("value", [])
        self.seen = [run.first for run in self.plain if run.first]
        self.explained: set[str] = set()
        self.remarks: list[str] = []
        self.naming = naming  # whether to look for the kind of mistake
        self.almost = ""  # in which way the gradient lacks digits, where that need not be a difference quotient
        self.right = 0.0  # the part of the gradients that is right, as the exercise weighs them
        self.result_is_right = False  # that of forward, where it is asked
        self.nearly = False  # whether forward is right to a few digits only

    @property
    def exact(self) -> float:
        """How close to the reference a formula comes."""
        return max(EXACT, self.reference.precision)

    def accumulation(self) -> Verdict:
        """Does a call leave the next one as it was: two backwards, two forwards, the same array twice?"""

        def wrong(family: str, text: str, where: str = "") -> Verdict:
            return self._wrong("accumulation", diagnosis(family, "certain", text, where=where))

        for run in self.plain:
            if run.first and not run.repeatable:
                said = f"fails: {fault(run.answer).text}" if run.answer.fault else "with the same g gives another gradient"
                return wrong("second call", f"A second backward {said}", run.where)
        between, alone = self._first("between"), self._first("one")
        if alone and not between:
            said = fault(self.runs["between"][0].answer).text if "between" in self.runs else "it gives no gradient"
            return wrong("state", f"Another forward before backward makes it fail: {said}")
        if alone and between and any(not same(between.got[x], alone.got[x]) for x in self.inputs):
            return wrong("state", "Another forward before backward changes the gradient: what was saved is kept outside ctx")
        right = all(error_of(o, x) <= RIGHT for o in self.seen for x in self.inputs)
        for run in self.runs.get("repeated", []):
            if right and not (run.first and adds_up(run.first, self.inputs)):
                return wrong("repeated", "The gradients are wrong when the same array is given twice, as in x * x")
        return Verdict("accumulation", True, "calls do not disturb each other")

    def purity(self) -> Verdict:
        """Are the arguments as they were?"""
        for run in self._all(*self.runs):
            named = [("the incoming gradient g", a, b) for a, b in zip(run.case.upstream, run.answer.upstream, strict=True)]
            after = zip(self.reference.inputs, run.case.inputs, run.answer.inputs, strict=True)
            named += [(f"the input {x}", a, b) for x, a, b in after]
            for what, before, now in named:
                if not same(before, now):
                    return self._wrong("purity", diagnosis("mutation", "certain", f"The rule writes into {what}", where=run.where))
        return Verdict("purity", True, "inputs and g are left as they were")

    def dtype(self) -> Verdict:
        """Are float64 inputs computed in float64? A gradient of another dtype than its input is no fault: the engine casts it."""
        run = next(iter(self.runs.get("float32", [])), None)
        if run is None or not run.first:
            return Verdict("dtype", False, f"with float32: {fault(run.answer).text}" if run else "not judged")
        got = {f"the gradient for {x}": run.first.got[x] for x in self.inputs}
        if self.candidate.judges_forward:
            got = {"the result": run.answer.out, **got}
        if any(d.family == "precision" for d in self.diagnoses):
            return Verdict("dtype", False, "float64 inputs are computed with fewer digits")
        exact = all(error_of(o, x) <= self.exact for o in self.seen for x in self.inputs) and not self.explained
        for x in self.inputs if exact else ():
            if not (error_of(run.first, x) <= ROUGH or is_as_near_as_known(run.first, x)):
                text = f"The gradient for {x} is right for float64 inputs and wrong for float32"
                worst = worst_place([run.first], x)
                found = diagnosis("dtype", "certain", text, input=x, where=run.where, worst=worst)
                return self._wrong("dtype", found, f"with float32: {worst}")
        for what, value in got.items():
            if value is not None and value.dtype != np.float32:
                said = f"for float32 inputs {what} is {value.dtype}: no fault, only slower and larger"
                self.remarks.append(said)
                return Verdict("dtype", True, said)
        return Verdict("dtype", True, "float32 stays float32")

    def method(self) -> Verdict:
        """Is it a formula, and the learner's own?"""
        if any(run.answer.recorded for run in self._all(*self.runs)):
            text = "Backward asks the engine for the derivative instead of computing it"
            return self._wrong("method", diagnosis("engine called", "certain", text))
        scaled = self._first("scaled")
        for x in self.inputs:
            if any(error_of(o, x) > RIGHT for o in self.seen) or any(d.family == "precision" for d in self.diagnoses):
                continue
            seen = [*self.seen, scaled] if scaled else self.seen
            error = max(error_of(o, x) for o in seen)
            if error > self.exact and all(error_of(o, x) <= self.exact or is_as_near_as_known(o, x) for o in seen):
                continue
            if error > self.exact and self.nearly:
                return Verdict("method", None, "not judged: forward is not exact either")
            if error > self.exact and not (error < FLOAT32 and self._is_rounded(x)):
                text = f"The gradient for {x} is right to {error:.0e} only; a formula is exact to 1e-15"
                found = inexact(self.candidate, seen, x, next(run for run in self.plain if run.first).case.settings, error)
                if found.family != "number":
                    return self._wrong("method", found, text)
                self.diagnoses.append(found)
                self.almost = text
                return Verdict("method", None, "not judged: the gradient is right to a few digits only")
        return Verdict("method", True, "no difference quotient, no call of the engine")

    def _is_rounded(self, x: str) -> bool:
        """Does a formula with a number of float32 in it come as close? A difference quotient is noisy, and useless in float32."""
        run, single = self.plain[0], self._first("float32")
        if single is None or error_of(single, x) > SINGLE:
            return False
        return run.first is not None and not is_noisy(self.candidate, run.first, run.case.settings, x)

    def second_order(self) -> Verdict:
        """Can the gradient be differentiated again, with the right result?"""
        run, second = self.plain[0], getattr(self.candidate, "second", None)
        row = self.reference.row or self.reference.function
        if second is None or row is None:
            return Verdict("second order", None, "not judged: the rule runs elsewhere")
        rng = np.random.default_rng(0)
        v = [draw(rng, np.shape(run.names[x])) for x in self.inputs]
        got, failed = second(run.case.inputs, run.case.settings, run.case.upstream[0], v)
        if failed:
            return self._wrong("second order", fault(Answer(None, (), (), (), failed), run.where), failed.text)
        if got is None:
            return Verdict("second order", None, "only a Function class on tensors can be differentiated again")
        settings = self.reference.call_settings(run.case.settings)
        names = self.reference.inputs
        with enable_grad():
            want = second_order(row, run.case.inputs, (), settings, self.inputs, names, run.case.upstream[0], v)
        for x, yours, right in zip((*self.inputs, "g"), got, want, strict=True):
            zero = np.zeros(np.shape(run.names[x]) if x != "g" else run.case.upstream[0].shape)
            yours, right = (zero if a is None else a for a in (yours, right))
            if yours.shape != right.shape or not np.allclose(yours, right, rtol=1e-8, atol=1e-10):
                text = f"The gradient is right, but its own derivative for {x} is not: something was detached or computed outside"
                at = f" (at {worst_result(yours, right).removeprefix('result').strip()})" if yours.shape == right.shape else ""
                return self._wrong("second order", diagnosis("second order", "certain", text + at, where=run.where), text)
        return Verdict("second order", True, "the gradient can be differentiated again")

    def notes(self) -> tuple[str, ...]:
        """Remarks that cost nothing."""
        found = list(self.remarks)
        runs = self._all(*self.runs)
        if any(run.answer.bare for run in runs):
            found.append("your rule returns NumPy arrays, which will do here; F.apply and PyTorch want a Tensor: torch.from_numpy(array)")
        if any(run.answer.listed for run in runs):
            found.append("backward returns a list, which will do here; F.apply and PyTorch want a tuple: return a, b")
        if any(run.answer.left_out for run in runs):
            known = " and ".join(self.inputs)
            found.append(
                f"backward returns gradients for {known} alone, which will do here; "
                "a Function returns one for each argument, and None where there is none"
            )
        printed = next((run.answer.printed for run in runs if run.answer.printed.strip()), "")
        if printed:
            first = printed.strip().splitlines()[0][:80]
            found.append(f"your rule prints, which is not shown while it is checked: {first!r}")
        slowest = max((run.answer.seconds for run in runs), default=0.0)
        if slowest > SLOW:
            found.append(f"one call takes {slowest:.2g} s, on arrays of a few numbers: a loop over entries where NumPy has one operation?")
        return tuple(found)

    def _wrong(self, name: str, found: Diagnosis, reason: str = "") -> Verdict:
        self.diagnoses.append(found)
        return Verdict(name, False, reason or found.text)

    def _all(self, *purposes: str) -> list[CaseRun]:
        return [run for purpose in purposes for run in self.runs.get(purpose, [])]

    def _first(self, purpose: str) -> Observation | None:
        runs = self.runs.get(purpose)
        return runs[0].first if runs else None

    def _evidence(self) -> list[Observation]:
        return [o for run in self._all("value", "one", "other", "broadcast") for o in run.observations]
