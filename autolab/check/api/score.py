"""How well an exercise tells right from wrong: its row is judged with one slip of the pen after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diagnosis.formulas.expressions import Values, Wrong
from ..diagnosis.formulas.mutants import Mutant, mutants
from ..run.candidate import Answer, Arrays, Fault, Settings
from ..run.observation import close
from ..run.reference import Reference, sum_to
from ..run.spec import Spec
from ..run.specs import spec_for
from .check import judge


@dataclass(frozen=True)
class Score:
    """Of all mutants of a row: how many fail, how many are named, and which pass although they are wrong."""

    name: str
    caught: int
    named: int
    same: int  # mutants that compute the right gradient after all
    missed: tuple[str, ...]

    def __str__(self) -> str:
        total = self.caught + len(self.missed)
        text = f"{self.name}: {self.caught} of {total} wrong rules caught, {self.named} named"
        return text + "".join(f"\n  passes: {formula}" for formula in self.missed)


def mutation_score(exercise: str | Spec, named: bool = True) -> Score:
    """Judge every mutant of an exercise's row, and say how many are named unless that is not asked.

    >>> print(mutation_score("tanh"))
    tanh: 19 of 19 wrong rules caught, 19 named
    """
    spec = spec_for(exercise) if isinstance(exercise, str) else exercise
    reference = Reference.of(spec)
    caught = known = same = 0
    missed = []
    for x in reference.differentiable():
        for mutant, wrong in mutants(reference.formulas.get(x, ""), (*reference.inputs, "out", "g"), spelled=True):
            candidate = RowCandidate(reference, x, wrong)
            report = judge(spec, reference, candidate, seed=1, naming=named)
            if report.passed and candidate.is_right:
                same += 1
            elif report.passed:
                missed.append(f"{x}: {mutant.formula}")
            else:
                caught += 1
                known += any(d.certainty != "unknown" for d in report.diagnoses)
    return Score(spec.name, caught, known, same, tuple(missed))


class RowCandidate:
    """The row as a candidate, with another formula for one of its inputs."""

    judges_forward = True

    def __init__(self, reference: Reference, x: str | None = None, wrong: Wrong | None = None):
        self.reference, self.x, self.wrong, self.wants = reference, x, wrong, tuple(reference.settings)
        self.is_right = True  # until a gradient differs from the right one

    def call(self, inputs: Arrays, settings: Settings, upstream: Arrays, between: Arrays | None = None) -> Answer:
        """Evaluate the row."""
        out, gradients, fault = None, [], None
        with np.errstate(all="ignore"):
            try:
                names = self.reference.environment(inputs, settings)
                out = names["out"]
                gradients = [tuple(self._gradient(x, g, names) for x in self.reference.inputs) for g in upstream]
            except Exception as error:  # a mutated formula may raise anything
                self.is_right = False
                fault = Fault("backward", "exception", f"backward raised {type(error).__name__}: {error}")
        return Answer(out, tuple(gradients), tuple(inputs), tuple(upstream), fault)

    def _gradient(self, x: str, g: np.ndarray, names: dict[str, Any]) -> np.ndarray | None:
        if x not in self.reference.rules:
            return None
        right = self.reference.gradient(x, g, names)
        if x != self.x or self.wrong is None:
            return right
        value = np.asarray(self.wrong.value(Values(self.reference.names_of_rule(x, g, names))))
        if value.dtype.kind not in "fiub":
            raise TypeError(f"the formula gives no numbers but {value.dtype}")
        if self.reference.elementwise:
            value = sum_to(np.broadcast_to(value, g.shape), names[f"{x}_shape"])
        self.is_right &= close(value, right) or not np.all(np.isfinite(right))
        return value


__all__ = ["Mutant", "RowCandidate", "Score", "mutation_score"]
