"""Which single change of a rule makes its gradient right in all calls: a fact about the rule, whatever the operation is.

The changes are tried on one call, the smallest; what is right there is confirmed on the others. Work is counted and not timed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...run.candidate import LocalCandidate
from ...run.meter import TooLong
from ...run.observation import TOLERANCE, Observation, error
from ..diagnosis import Mistake
from ..family import Family
from ..quiet import quiet
from ..smaller import smaller_call
from .changed_rule import ChangedRule
from .sentences import said
from .slopes import Slopes
from .trials import Trial, Trials

# Questions that the sites of a rule ask in the searches of one check, and those of a rule with long loops.
MOST, MOST_LONG = 180_000, 280_000
LEAST = 12_000  # of them, where other inputs have had theirs
MOST_ENTRIES = 5_000  # in the arrays of the first call
TWO_SLIPS = 0.6  # what a change costs more that leaves another mistake
ONE_OF_SEVERAL = 0.6  # and one after which the gradient for another input is still wrong: one slip may be behind both


@quiet
def find_repair(observations: Sequence[Observation], x: str, every: bool = False) -> Mistake | None:
    """The change of the rule's source that makes the gradient for x right in all these calls, or those for every input."""
    candidate = _candidate(observations)
    calls = _in_order(observations, x)
    first = calls[0]
    if candidate is None or sum(map(np.size, first.inputs)) > MOST_ENTRIES:
        return None
    if not first.reference.repairing:  # a check begins
        first.reference.repaired.clear()
    search = Search(calls, x, candidate, every)
    if not search.rule.schema.methods:
        return None
    if not (is_the_same := search.note()):
        return None
    if search.rule.is_long and not every and (small := smaller_call(first, x)):
        search = Search([small, *calls], x, candidate)
        is_the_same = search.note()
    found = search.found() if is_the_same else []
    if not found:
        return None
    best, others = found[0], found[1:2]
    sure = search.complete and not others and len(observations) > 1
    first.reference.repaired.add((best.edit.key, tuple(site.number for site in best.sites), sure))
    return _mistake(best, others, sure)


def _candidate(observations: Sequence[Observation]) -> LocalCandidate | None:
    """The rule that was asked in all these calls, if its source can be changed."""
    candidates = {id(c): c for c in (getattr(o.ask, "candidate", None) for o in observations)}
    (candidate, *others) = candidates.values()
    return candidate if isinstance(candidate, LocalCandidate) and not others else None


def _in_order(observations: Sequence[Observation], x: str) -> list[Observation]:
    """First the smallest call in which the gradient is wrong, then the others that are wrong."""
    wrong = [o for o in observations if o.failed or error(o.got[x], o.want[x]) > TOLERANCE]
    wrong.sort(key=lambda o: sum(map(np.size, o.inputs)))
    first = next((o for o in wrong if not o.failed), wrong[0])
    return list(dict.fromkeys((first, *wrong, *observations)))


def _mistake(best: Trial, others: Sequence[Trial], sure: bool) -> Mistake:
    """What the cheapest change says, and another one that costs the same."""
    text, *more = (f"would be right with {said(trial.edit, trial.sites)}" for trial in (best, *others))
    also = tuple(Family(other.edit.family, words) for other, words in zip(others, more, strict=True))
    text += "; besides, it is not summed over the axes that forward stretched" if best.is_unsummed else ""
    hint = "exchanged" if "each other's places" in text else ""
    return Mistake(best.edit.family, text, sure=sure, also=also, doubtful=best.is_partial, hint=hint)


class Search:
    """The search for a change that mends the gradient for one input, within a bound on its work."""

    def __init__(self, observations: Sequence[Observation], x: str, candidate: LocalCandidate, every: bool = False):
        self.rule = ChangedRule(observations, x, candidate, every)
        self.slopes = Slopes(self.rule)
        self.trials = Trials(self.rule, self.slopes)
        self.spent = self.rule.first.reference.repairing  # on the gradients for other inputs
        self.complete = False  # was every other change tried that is as likely?
        self.is_settled = False  # was one found that leaves no other gradient wrong?

    def note(self) -> bool:
        """Run the rule unchanged: does it answer as before?"""
        try:
            with self.rule.rule.batch():
                return self.rule.note()
        except TooLong:
            return False

    def found(self) -> list[Trial]:
        """What `run` finds, in time."""
        try:
            with self.rule.rule.batch():
                return self.run()
        except TooLong:
            return []
        finally:
            self.rule.first.reference.repairing += self.rule.work
            self.rule.schema.names.clear()  # the changed functions live in it, and it in them

    @property
    def most(self) -> int:
        """How many questions may be asked."""
        return max((MOST_LONG if self.rule.is_long else MOST) - self.spent, LEAST)

    def run(self) -> list[Trial]:
        """The cheapest changes after which the gradient is right in all calls, one of each family."""
        found: list[Trial] = []
        tried: set[Any] = set()  # what mended another input or is of a loop comes again among all
        for trial in self._in_turn(found):
            if (what := (trial.edit.change, trial.sites)) in tried:
                continue
            tried.add(what)
            if self.rule.work > self.most or (found and trial.cost > found[0].cost):
                break
            is_said = any(trial.edit.family == t.edit.family and not (t.is_unsummed or t.is_partial) for t in found)
            if is_said or not self.slopes.may_mend(trial.edit, trial.sites):
                continue
            self.rule.unsummed = False
            self.rule.still_wrong.clear()
            if all(self.rule.is_repaired(k, trial.changes) for k in range(len(self.rule.observations))):
                two, partial = self.rule.unsummed, bool(self.rule.still_wrong)
                self.is_settled |= not partial
                more = TWO_SLIPS * two + ONE_OF_SEVERAL * partial
                found.append(trial._replace(cost=trial.cost + more, is_unsummed=two, is_partial=partial))
                found.sort(key=lambda trial: trial.cost)
        families = {trial.edit.family: trial for trial in reversed(found) if trial.cost == found[0].cost}
        return sorted(families.values(), key=found.index)

    def _in_turn(self, found: list[Trial]) -> Iterator[Trial]:
        """The likeliest changes, and all others only if none of them was found: without those no change is certain."""
        self.complete = all(sure for *_, sure in self.rule.first.reference.repaired)
        yield from self.trials.known() if self.rule.first.reference.repaired else ()
        if not self.is_settled:
            self.complete = False
        if not self.is_settled and self.rule.is_long:
            yield from itertools.takewhile(lambda _: self.rule.work < self.most / 3, self.trials.of_loops())
        if not self.is_settled:
            self.complete = True
            yield from self.trials.all()
