"""The gradient of another operation of the table, taken for that of this one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from autolab.engine.op import ADJOINT
from autolab.rules import TABLE

from ...run.observation import Observation, close
from ...run.reference import Reference, sum_to
from ...run.specs import SPECS
from ..diagnosis import Mistake
from ..quiet import quiet

RARE = {
    "copysign",
    "hypot",
    "ldexp",
    "nextafter",
    "xlogy",
    "xlog1py",
}  # nobody takes another operation for them; their rules are plain formulas


@cache
def _operations(inputs: int, elementwise: bool) -> list[Reference]:
    """Operations that take as many arrays, by their simplest names first."""
    found = []
    for name in sorted({*TABLE, *SPECS}, key=lambda name: (len(name), name)):
        row = SPECS[name].row if name in SPECS else None
        row = row or TABLE.get(name)  # rows of files that nothing has loaded are left out: loading takes longer than a check
        if row is None or row.complex == ADJOINT or (row.kind == "elementwise") != elementwise or name in RARE:
            continue  # a complex row has rules of complex numbers
        if len(row.inputs) == inputs == len(row.rules):
            found.append(Reference.of(row))
    return found


@quiet
def other_operation(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first operation whose gradient fits all these calls."""
    here = wrong[0].reference
    if len(here.inputs) > 2 or (here.function and not here.elementwise):
        return None
    for other in _operations(len(here.inputs), here.elementwise):
        y = other.inputs[here.inputs.index(x)]
        if other.name != here.name and all(_is_gradient(other, y, o, x) for o in wrong):
            return Mistake("function", f"is the gradient of {other.name}, another operation", True)
        if other.name != here.name and "out" in other.rules[y][1] and all(_is_gradient(other, y, o, x, o.out) for o in wrong):
            return Mistake("function", f"is what the rule of {other.name} gives, another operation, with the result of this one", True)
    return None


def _is_gradient(other: Reference, y: str, o: Observation, x: str, out: np.ndarray | None = None) -> bool:
    try:
        settings = {name: o.names[name] for name in other.settings if name in o.names}
        names = other.environment(o.inputs, settings)
        if names["out"].shape != o.g.shape:
            return False
        if out is not None:
            names["out"] = out
        value = other.raw(y, o.g, names)
        if other.elementwise:
            value = sum_to(np.broadcast_to(value, o.out.shape), o.shape(x))
        return bool(np.any(value)) and close(o.got[x], value)
    except Exception:  # it takes other settings, or other inputs
        return False
