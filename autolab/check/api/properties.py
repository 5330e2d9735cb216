"""From the answers of a candidate to a verdict on each property, with its points and its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..diagnosis.conditioning import is_unknown, uncertainty, uncertainty_of_result
from ..diagnosis.diagnose import FLOAT32
from ..diagnosis.diagnosis import Diagnosis, diagnosis, fault, worst_place
from ..diagnosis.explain import explain
from ..diagnosis.failures import explain_failures
from ..diagnosis.gradients.jacobian_rows import Jacobians, is_linear, jacobians
from ..run.cases import broadcast_for
from ..run.inputs import draw
from ..run.observation import RIGHT, close, error_of, observe
from ..run.runs import CaseRun, how_not_linear, worst_result
from . import picture
from .points import FOR_SOME_G, OUT_OF_RANGE, PART, SLIP, STRETCHED, credit, families_seen, weighted
from .report import Verdict
from .resemblance import PARTS, Calls, resemblance
from .side_effects import SideEffects

SMALL = "Compare every number in your formula with the text, the small ones and their places too."


class Properties(SideEffects):
    """All properties of one candidate; each method gives one verdict and may leave diagnoses."""

    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each property that applies, in the order in which a person would repair them."""
        judged = {"forward": self.forward()}
        self.result_is_right = bool(judged["forward"].passed)
        if not self.seen:
            answer = self.plain[0].answer
            self.diagnoses.append(self._failure(self.plain))
            reason = "not judged: backward gave no gradients" if answer.out is not None else "not judged: no result"
            return self._with_points({name: Verdict(name, None, reason) for name in self._applicable()} | judged)
        judged["value"], judged["upstream"] = self.value_and_upstream()
        judged |= {name: judge() for name, judge in self._applicable().items() if judge and name not in judged}
        asked = self._all(*self.runs.keys() - {"besides"})
        if not self.diagnoses and (run := next((run for run in asked if run.answer.fault), None)):
            self.diagnoses.append(fault(run.answer, run.where))  # one of the later calls did not come to an end, perhaps
        if judged["method"].passed is False and judged["value"].passed:
            judged["value"] = Verdict("value", False, judged["method"].reason)
            self.right = 0.0
        if self.almost and judged["value"].passed:
            judged["value"] = Verdict("value", False, self.almost, partial=min(SLIP, judged["value"].share))
        if judged["value"].passed and (text := self._far("range")):
            judged["value"] = Verdict("value", False, text, partial=min(OUT_OF_RANGE, judged["value"].share))
        if judged["value"].passed and (text := self._besides()):
            judged["value"] = Verdict("value", False, text, partial=min(OUT_OF_RANGE, judged["value"].share))
        return self._with_points(judged)

    def _applicable(self) -> dict[str, Callable[[], Verdict] | None]:
        """The properties that apply, and what judges each; value and upstream are judged together."""
        every = {
            "forward": self.forward, "shape": self.shape, "value": None, "upstream": None, "broadcasting": self.broadcasting,
            "accumulation": self.accumulation, "stability": self.stability, "purity": self.purity, "dtype": self.dtype,
            "method": self.method, "second order": self.second_order,
        }  # fmt: skip
        asked = {"broadcasting": broadcast_for(self.spec, self.reference), "stability": self.spec.extreme, "second order": self.spec.second}
        return {name: judge for name, judge in every.items() if asked.get(name, True)}

    def _with_points(self, judged: dict[str, Verdict]) -> tuple[Verdict, ...]:
        # A rule that is wrong everywhere also writes into nothing: care counts as far as gradients are right.
        out = []
        for name in self._applicable():
            verdict, of = judged[name], self.spec.points.get(name, 0.0)
            if name == "forward" and not self.candidate.judges_forward:
                of = 0.0
            part = 1.0 if name in ("forward", "value") else self.right
            if verdict.passed and not part:  # of a gradient without any right part it says nothing
                known = judged["value"].share > 0
                reason = verdict.reason if known else "nothing against it so far"
                verdict = replace(verdict, passed=known or None, reason=f"{reason}; its points wait for a right gradient")
            earned = verdict.share * part
            out.append(replace(verdict, points=of if earned == 1 else round(of * earned, 2), max_points=of))
        return tuple(out)

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
                text = worst_result(out, want)
                self.nearly = FLOAT32 < np.max(np.abs(out - want)) / np.abs(want).max() < 1e-3
            else:
                continue
            found = diagnosis("wrong result", "certain", f"Forward is wrong: {text}", where=run.where)
            if self.nearly:
                found = replace(found, text=f"Forward is nearly right: {text}", hint=SMALL)
            return self._wrong("forward", found, f"with {run.where}: {text}")
        return Verdict("forward", True, "the result is right")

    def shape(self) -> Verdict:
        """Does each gradient have the shape of its input, where nothing is broadcast?"""
        for run in self.plain:
            if not run.first:
                if not self.explained:
                    self.diagnoses.append(self._failure(self._all("value", "broadcast")))
                return Verdict("shape", False, f"with {run.where}: {fault(run.answer).text}")
            for x in self.inputs:
                got, want = run.first.got[x], run.first.want[x]
                if got is None or got.shape != want.shape:
                    received = "None" if got is None else f"shape {got.shape}"
                    text = f"with {run.where}: gradient for {x}: received {received}, expected shape {want.shape}"
                    return Verdict("shape", False, text)
        return Verdict("shape", True, "each gradient has the shape of its input")

    def _failure(self, runs: list[CaseRun]) -> Diagnosis:
        """What is said of a rule that raises in some of these calls."""
        if self.naming and (found := explain_failures(runs, self.inputs)):
            return found
        failed = next(run for run in runs if not run.first)
        return fault(failed.answer, failed.where)

    def value_and_upstream(self) -> tuple[Verdict, Verdict]:
        """Is the local derivative right, and is the incoming gradient multiplied in?"""
        shares, reasons, not_linear = zip(*map(self._one_input, self.inputs), strict=True)
        share = weighted(shares, self.inputs, self.spec.weights)
        right = [not bent and all(self._is_right(run, x) for run in self.plain) for x, bent in zip(self.inputs, not_linear, strict=True)]
        self.right = weighted(right, self.inputs, self.spec.weights)
        passed, text = share == 1, "; ".join(dict.fromkeys(filter(None, reasons))) or "the derivative is right"
        stretched = [STRETCHED if own == 1 and self._is_wrong_stretched(x) else own for x, own in zip(self.inputs, shares, strict=True)]
        if passed and stretched != list(shares):
            text += "; a part of its points waits for right gradients of stretched inputs"
        value = Verdict("value", passed, text, partial=weighted(stretched, self.inputs, self.spec.weights))
        return value, Verdict("upstream", not any(not_linear), next(filter(None, not_linear), "the gradient is linear in g"))

    def _is_wrong_stretched(self, x: str) -> bool:
        return any(not self._is_right(run, x) for run in self.runs.get("broadcast", []))

    def _is_right(self, run: CaseRun, x: str) -> bool:
        return run.first is not None and error_of(run.first, x) <= RIGHT

    def _one_input(self, x: str) -> tuple[float, str, str]:
        """Part of the points, reason, and how the gradient fails to follow g, if it does."""
        if self.seen and all(o.want[x].size and np.isnan(o.want[x]).all() for o in self.seen):
            return 0.0, f"what is right for {x} is not known: differences of the exercise's own forward settle nowhere", ""
        wrong = [o for o in self.seen if error_of(o, x) > RIGHT]
        right = sum(self._is_right(run, x) for run in self.plain)
        ones, *calls = (self._first(purpose) for purpose in ("ones", "one", "other", "both", "zero"))
        bent = how_not_linear(x, *calls)
        if left := self._left_over(x):
            self.diagnoses.append(left)
            self.explained.add(x)
            return 0.0, str(left.worst), bent
        if not wrong and right < len(self.plain):
            failed = next(run for run in self.plain if not run.first)
            return credit(None, right, len(self.plain)), f"with {failed.where}: {fault(failed.answer).text}", bent
        if not wrong and (calls[0] is None or error_of(calls[0], x) <= RIGHT):
            share, reason = self._exact(x)
            if bent and self.naming and (found := explain([o for o in (*self._evidence(), *calls) if o], x)):
                self.diagnoses.append(found)  # right for g, and not for another g
                self.explained.add(x)
            return (min(share, FOR_SOME_G), bent, bent) if bent else (share, reason, bent)
        wrong = wrong or [o for o in calls[:1] if o]
        found = explain(self._evidence(), x, show=wrong) if self.naming else None
        if found:
            raises = right + len(wrong) < len(self.plain)
            if found.certainty != "certain" and found.family in ("mask", "unknown") and raises and not self.explained:
                self.diagnoses.append(self._failure(self.plain))  # what it raises in other calls says more
            if found.certainty != "unknown" or not raises:
                self.diagnoses.append(found)
            self.explained.add(x)
        if found and found.family == "upstream collapsed":  # linear, and yet wrong in g alone
            bent = bent or f"the gradient for {x} does not follow g place by place"
        reason = f"{x}: right where g is 1" if bent and ones and error_of(ones, x) <= RIGHT else str(worst_place(wrong, x))
        if right == len(self.plain):
            return FOR_SOME_G, reason, bent
        among = self._wrong_calls(x)
        share = credit(found, right, len(self.plain), (resemblance(among) or "") if among else "")
        if share < PART and among and not bent and not families_seen(found) and any(look(among) for look in PARTS):
            share = PART
        return share, reason, bent

    def _wrong_calls(self, x: str) -> Calls | None:
        """Those in which the gradient is wrong: their numbers tell something, whatever the mistake is called."""
        wrong = [run.seen for run in self.plain if run.first and not self._is_right(run, x)]
        pairs = [(seen[0], seen[1] if len(seen) > 1 else seen[0]) for seen in wrong]
        return Calls(x, pairs, self._first("ones"), self._first("one")) if pairs else None

    def _far(self, *purposes: str) -> str:
        """What is wrong with a rule where numbers are large or tiny; nothing if it holds there, or is wrong for ordinary ones."""
        texts = (self._far_in(run) for run in self._all(*purposes))
        return next(filter(None, texts), "")

    def _besides(self) -> str:
        """What is wrong with a rule that is right for the settings of the exercise, and answers to others; what raises there is noted."""
        wants = getattr(self.candidate, "wants", ())
        for run in self.runs.get("besides", []):
            changed = {name: value for name, value in run.case.settings.items() if value not in self._usual(name)}
            said = ", ".join(f"{name}={value!r}" for name, value in run.case.settings.items())
            asked = all(name in wants or any(name in usual for usual in self.spec.settings) for name in changed)
            o = run.first
            if o is None:
                if asked:
                    self.remarks.append(f"with {said}, which the exercise does not ask for, {fault(run.answer).text}")
                continue
            for x in self.inputs:
                if error_of(o, x) <= RIGHT:
                    continue
                if not asked:
                    if np.shape(o.got[x]) == o.want[x].shape:
                        self.remarks.append(f"with {said}, which the exercise does not ask for, the gradient for {x} is another")
                    break
                usual = " and ".join(f"{name} is {_in_words(name, self._usual(name))}" for name in changed)
                text = f"The gradient for {x} is right where {usual}, and wrong with {said}"
                found = explain(run.observations, x) if self.naming else None
                if found and found.certainty != "unknown":
                    text += f". There it {found.text.removeprefix(f'The gradient for {x} ')}"
                family = found.family if found else "setting"
                self.diagnoses.append(diagnosis(family, "likely", text, "setting", input=x, where=run.where, worst=worst_place([o], x)))
                return text
        return ""

    def _usual(self, name: str) -> list[object]:
        """The values that a setting has in the calls of the exercise."""
        return [usual.get(name, self.reference.defaults.get(name)) for usual in self.spec.settings]

    def _far_in(self, run: CaseRun) -> str:
        """Is the result finite, and is each gradient right, wherever the right result is a number?"""
        if not run.first:
            if any(not other.first and _shapes(other) == _shapes(run) for other in self.plain):  # so it does for any numbers
                return ""
            g, names = run.case.upstream[0], run.names
            if any(is_unknown(self.reference, names, run.case.settings, g, x, RIGHT) for x in self.inputs):
                return ""  # a factorisation of such a matrix may fail
            return self._unstable(run, None, f"With large or tiny numbers {fault(run.answer).text}")
        out, want = run.answer.out, run.names["out"]
        known = np.isfinite(want)
        if self.candidate.judges_forward and out is not None and out.shape == want.shape and np.any(~np.isfinite(out) & known):
            return self._unstable(run, None, "The result of forward is not finite for large or tiny numbers")
        if self.result_is_right and out is not None and out.shape == want.shape:
            far = known & ~(np.abs(out - want) <= RIGHT * (np.abs(want) + 1))
            if far.any():
                far &= ~(np.abs(out - want) <= uncertainty_of_result(self.reference, run.names, run.case.settings))
            if far.any():
                said = worst_result(np.where(far, out, want), want)
                return self._unstable(
                    run, None, f"The result of forward is right for ordinary numbers, and not for large or tiny ones: {said}"
                )
        for x in self.inputs:
            got, right = run.first.got[x], run.first.want[x]
            if x in self.explained or not (known.all() or known.shape == right.shape):
                continue
            if got is None or got.shape != right.shape:
                return self._unstable(run, x, f"With large or tiny numbers: {worst_place([run.first], x)}")
            judged = np.isfinite(right) & (known if known.shape == right.shape else True)
            size = np.abs(right) if self.reference.elementwise else np.abs(right[judged]).max(initial=0.0)
            off = judged & ~(np.abs(got - right) <= RIGHT * (size + 1))
            if off.any():
                unsure = uncertainty(run.first, x)
                off &= ~(np.abs(got - right) <= RIGHT * (size + 1) + unsure) & np.isfinite(unsure)
            if off.any():
                lost, value = off & ~np.isfinite(got), run.names[x]
                at = tuple(np.argwhere(lost if lost.any() else off)[0])
                where = f"at {x} = {value[at]:.6g}" if np.shape(value) == off.shape else "for large or tiny numbers"
                if lost.any():
                    return self._unstable(run, x, f"The gradient for {x} is not finite {where}")
                said = f"received {got[at]:.6g}, expected {right[at]:.6g}"
                if self._is_of_g(run, x):
                    text = f"The gradient for {x} is right for some incoming gradients g, and not for others: {said}"
                    worst = worst_place([run.first], x)
                    self.diagnoses.append(diagnosis("mask from g", "certain", text, input=x, where=run.where, worst=worst))
                    return text
                return self._unstable(run, x, f"The gradient for {x} is right for ordinary numbers, and not {where}: {said}")
        return ""

    def _is_of_g(self, run: CaseRun, x: str) -> bool:
        """Is it wrong for an ordinary number, too, where g is the one that came in here?"""
        low, high = self.spec.domain.get(x, (-3.0, 3.0))
        place, g, settings = self.reference.inputs.index(x), run.case.upstream[0], run.case.settings
        ordinary = draw(np.random.default_rng(5), np.shape(run.case.inputs[place]), low, high)
        inputs = tuple(ordinary if k == place else a for k, a in enumerate(run.case.inputs))
        answer = self.candidate.call(inputs, settings, (g,))
        o = observe(self.reference, self.reference.environment(inputs, settings), g, None if answer.fault else answer.gradients[0])
        return o.failed or error_of(o, x) > RIGHT

    def _unstable(self, run: CaseRun, x: str | None, text: str) -> str:
        worst = worst_place([run.first], x) if x and run.first else None
        self.diagnoses.append(diagnosis("unstable", "certain", text, input=x, where=run.where, worst=worst))
        return text

    def _left_over(self, x: str) -> Diagnosis | None:
        """A derivative that stays what it was when the inputs change: it was kept from an earlier call."""
        first, later = self.seen[0], self._first("one")
        if later is None or error_of(later, x) <= RIGHT or np.shape(first.got[x]) != np.shape(later.got[x]):
            return None
        kept = error_of(first, x) <= RIGHT and close(later.got[x], self.reference.gradient(x, later.g, first.names))
        if not kept and self.reference.elementwise and np.shape(later.got[x]) == later.g.shape == first.g.shape:
            slope, before = later.got[x] / later.g, first.got[x] / first.g  # also of inputs that came before this check
            kept = close(slope, before) and not close(later.want[x] / later.g, first.want[x] / first.g)
            kept &= len(set(np.round(slope, 6).ravel().tolist())) > 2  # a few that are let through may be the same ones by chance
        if not kept:
            return None
        text = f"The gradient for {x} stays the derivative for other inputs, those of an earlier call: something is kept from call to call"
        return diagnosis("state", "certain", text, input=x, where=self.runs["one"][0].where, worst=worst_place([later], x))

    def _exact(self, x: str) -> tuple[float, str]:
        """A right gradient may still have lost digits, or be wrong at a kink."""
        if max(error_of(o, x) for o in self.seen) > self.exact and all(
            np.array_equal(o.got[x], np.asarray(o.got[x], np.float32)) for o in self.seen
        ):
            text = f"The gradient for {x} has only the digits of float32, for float64 inputs"
            self.diagnoses.append(diagnosis("precision", "certain", text, input=x, worst=worst_place(self.seen, x)))
        if (tied := self._first("ties")) and error_of(tied, x) > RIGHT and np.shape(tied.got[x]) == tied.want[x].shape:
            whole = np.isclose(tied.got[x].sum(), tied.want[x].sum())
            how = "you share g among them or give it to another" if whole else "your gradients for them do not add up to g"
            self.remarks.append(f"where several entries of {x} are the largest, PyTorch gives g to the first; {how}")
        kink = self.spec.kink
        if kink is None or kink.input != x:
            return 1.0, ""
        run = self.runs["kink"][0]
        if not run.first:
            return SLIP, f"at {x} = {kink.at:g}: {fault(run.answer).text}"
        o = run.first
        at = np.asarray(o.names[x]) == kink.at
        slope = o.got[x][at] / o.g[at]
        low, high = kink.slopes
        if not np.all((slope >= low - 1e-12) & (slope <= high + 1e-12)):
            text = f"The gradient for {x} is {slope[0]:.6g} times g at {x} = {kink.at:g}, outside [{low:g}, {high:g}]"
            self.diagnoses.append(diagnosis("kink", "certain", text, input=x, worst=worst_place([o], x)))
            return SLIP, text
        if not np.allclose(slope, kink.convention):
            said = f"at {x} = {kink.at:g} you take the slope {slope[0]:.6g}, PyTorch takes {kink.convention:g}: both are right"
            self.remarks.append(said)
            return 1.0, said
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
            if self.naming and x not in self.explained and (found := explain(self._evidence(), x)):
                self.diagnoses.append(found)
        if reason and not order and not self.explained:
            self.diagnoses.append(self._failure(self._all("value", "broadcast")))
        return Verdict("broadcasting", not reason, reason or "stretched axes are summed")

    def stability(self) -> Verdict:
        """Is the gradient finite and right where a careless formula overflows?"""
        text = self._far("extreme")
        return Verdict("stability", not text, text or "large numbers give finite gradients")

    def jacobians(self) -> Jacobians | None:
        """Both matrices for the first input whose gradient is wrong, where they are small enough to look at."""
        for o in sorted(self.seen, key=lambda o: o.out.size):
            for x in self.inputs:
                wrong = o.got[x] is not None and o.got[x].shape == o.want[x].shape and error_of(o, x) > RIGHT
                if wrong and picture.fits(o.out.size, o.want[x].size):
                    pair = jacobians(o, x)
                    return pair if pair and is_linear(o, pair) else None
        return None


def _in_words(name: str, values: list[object]) -> str:
    """What a setting is in the calls of an exercise."""
    if name.startswith("axis"):
        return "one number"
    return " or ".join(dict.fromkeys(map(repr, values)))


def _shapes(run: CaseRun) -> list[tuple[int, ...]]:
    return [np.shape(a) for a in run.case.inputs]
