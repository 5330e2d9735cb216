"""How much a check may try: counted and never timed, so that the same rule is told the same on every machine.

The unit is an operation on a small array, some microseconds. All inputs of a check share one budget, of which a part is left for each.
Slips on a tape have a budget of their own (`tape_slips.py`), since they are often what is found. What is tried is counted whether or not
an earlier check worked it out already. When the budget is spent, what was seen by then is said. Looks that are not counted here call one
of the two rules, and each call is (`Reference.count`): a rule that loops counts for more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..run.observation import Observation
from ..run.reference import EXACT, MOST_CALLS, Reference

MOST = 20000
LEAST = 7000  # for a second input; half of it for a third, a third for a fourth
UNLIKELY = 0.75  # of what is left for an input: how far it may be spent on what is rarely found, before what is often found is tried
NUMBERS = 9600  # in the arrays of a call: with so many, one operation counts twice
FORMULA = 12  # a wrong formula, or a slip in a chain of rows
CALL = 150  # the right rule on other numbers, forward and back
LINES = 4000  # of Python in the learner's rule: with so many, a call of it counts twice
MOST_LINES = 400_000  # of one call: of a rule that runs more, nothing is tried
ROW = 15  # a row of a function that is run again, forward and back


def begin_check(reference: Reference) -> None:
    """Nothing is spent yet, and no difference was needed: a grader asks about many submissions with one reference."""
    reference.tried, reference.explained, reference.repairing, reference.calls, reference.stopped = 0.0, 0, 0, 0, False
    reference.weight, reference.precision = 1, EXACT


def begin(o: Observation) -> None:
    """The gradient for another input is looked at."""
    reference = o.reference
    if not reference.explained and o.ask is not None:
        lines = lines_run(lambda: o.ask([o.g]))  # type: ignore[misc]
        reference.weight = 1 + lines // LINES if lines <= MOST_LINES else MOST_CALLS + 1
    reference.tried = reference.began = min(reference.tried, MOST - LEAST / max(reference.explained, 1))
    reference.explained += 1


def affordable(o: Observation, work: float, share: float = 1.0) -> bool:
    """May this be tried? Then it is counted."""
    after, began = o.reference.tried + work * size(o), o.reference.began
    if after > began + share * (MOST - began):
        return False
    o.reference.tried = after
    return True


def size(o: Observation) -> float:
    """By how much an operation counts for more than one on small arrays."""
    if "size" not in o.memo:
        o.memo["size"] = 1 + sum(map(np.size, (*o.inputs, o.g))) / NUMBERS
    return o.memo["size"]


def lines_run(call: Callable[[], Any]) -> int:
    """How many lines of Python a call runs, each as often as it does: a count of its loops, which ends soon after MOST_LINES.

    Not those of the engine, whose operations run fewer once functions are written out for them.

    >>> lines_run(lambda: [k for k in range(200)]) - lines_run(lambda: [k for k in range(100)]) >= 100
    True
    """
    count = 0

    def look(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if event == "call" and not _counts(frame.f_globals.get("__name__", "")):
            return None
        count += event == "line"
        if count > MOST_LINES:
            sys.settrace(None)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def _counts(module: str) -> bool:
    """Is it of the learner, of an exercise or of the check?"""
    package, _, part = module.partition(".")
    return part.startswith("check") if package == "autolab" else package not in sys.stdlib_module_names


def lines_for_each(run: Callable[[slice], Any], few: int) -> float:
    """How many lines more `run` runs for each number more, about: 0 where NumPy does it all; of a loop over pairs more than `few`.

    It is given a piece of the numbers, each time another one: what it worked out for the same ones it may know.
    """
    run(slice(few))  # what is worked out once, is now
    one, two = (lines_run(lambda part=part: run(part)) for part in (slice(few, 2 * few), slice(2 * few, 4 * few)))  # type: ignore[misc]
    return (two - one) / few
