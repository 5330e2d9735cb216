"""The checker's own figures: how many wrong rules it catches and names, how many right ones it refuses, how long it takes.

python -m tests.check.measure         # the table; exit 1 if a goal is missed
python -m tests.check.measure -v      # and each rule that was not named
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from autolab.check import check, diagnose

from . import (  # noqa: F401  (they fill the lists)
    right_fresh,
    right_more,
    right_odd,
    right_styles,
    right_unusual,
    wrong_families,
    wrong_held_out_fresh,
    wrong_held_out_functions,
    wrong_held_out_layers,
    wrong_held_out_mixed,
    wrong_held_out_pointwise,
    wrong_held_out_reductions,
    wrong_held_out_rest,
    wrong_layers,
    wrong_misconceptions,
    wrong_pointwise,
    wrong_shapes,
    wrong_sizes,
)
from .right import RIGHT
from .wrong import WRONG
from .wrong_functions import WRONG_FUNCTIONS

# the figure, the goal, and whether it must not be smaller or not be larger
GOALS = {
    "wrong rules": (120, "least"), "operations": (30, "least"), "right rules": (80, "least"),
    "caught, %": (100.0, "least"), "named, %": (90.0, "least"), "certain but wrong": (0, "most"),
    "right refused": (0, "most"), "median, ms of CPU": (20.0, "most"),
}  # fmt: skip


@dataclass(frozen=True)
class Result:
    """One rule and what the checker said."""

    operation: str
    rule: str
    expected: set[str]  # families; none for a right rule
    passed: bool
    said: Any  # the first diagnosis
    families: set[str]
    ms: float

    @property
    def named(self) -> bool:
        """Is the mistake among those that were recognised?"""
        return bool(self.expected & self.families)

    @property
    def certain_but_wrong(self) -> bool:
        """Was another kind of mistake called certain?"""
        return bool(self.said and self.said.certainty == "certain" and self.said.family not in self.expected)

    def __str__(self) -> str:
        said = f"{self.said.family} ({self.said.certainty}): {self.said.text[:120]}" if self.said else "nothing"
        return f"{self.operation} {self.rule}: {' or '.join(sorted(self.expected)) or 'right'}; the checker says {said}"


def run() -> list[Result]:
    """Check every rule once."""
    entries = [(w.operation, w.rule, set(w.family.split("|"))) for w in WRONG] + [(*r, set()) for r in RIGHT]
    results = []
    for operation, rule, expected in entries:
        start = time.process_time()
        report = check(operation, rule, seconds=2)
        ms = 1e3 * (time.process_time() - start)
        results.append(_result(operation, rule, expected, report.passed, report.diagnoses, ms))
    for wrong in WRONG_FUNCTIONS:
        start = time.process_time()
        found = diagnose(wrong.rule, wrong.reference, [np.array(a) for a in wrong.inputs], **wrong.settings)
        ms = 1e3 * (time.process_time() - start)
        results.append(_result(_name(wrong.reference), wrong.rule, set(wrong.family.split("|")), not found, found, ms))
    return results


def _result(operation: str, rule: Any, expected: set[str], passed: bool, found: Any, ms: float) -> Result:
    known = {f for d in found if d.certainty != "unknown" for f in (d.family, *d.alternatives)}
    return Result(operation, rule.__name__, expected, passed, next(iter(found), None), known, ms)


def _name(function: Any) -> str:
    return f"function, line {function.__code__.co_firstlineno}"


def figures(results: list[Result]) -> dict[str, float]:
    """The numbers that have goals."""
    wrong, right = [r for r in results if r.expected], [r for r in results if not r.expected]
    return {
        "wrong rules": len(wrong),
        "operations": len({r.operation for r in wrong}),
        "right rules": len(right),
        "caught, %": 100 * sum(not r.passed for r in wrong) / len(wrong),
        "named, %": 100 * sum(r.named for r in wrong) / len(wrong),
        "certain but wrong": sum(r.certain_but_wrong for r in wrong),
        "right refused": sum(not r.passed for r in right),
        "median, ms of CPU": statistics.median(r.ms for r in results),
    }


def table(results: list[Result]) -> str:
    """One line for each operation."""
    by = defaultdict(list)
    for r in results:
        by[r.operation].append(r)
    lines = [f"{'operation':18}{'wrong':>7}{'caught':>8}{'named':>7}{'right':>7}{'passed':>8}{'ms':>7}"]
    for operation, rs in sorted(by.items()):
        wrong, right = [r for r in rs if r.expected], [r for r in rs if not r.expected]
        counts = len(wrong), sum(not r.passed for r in wrong), sum(r.named for r in wrong), len(right), sum(r.passed for r in right)
        ms = statistics.median(r.ms for r in rs)
        lines.append(f"{operation:18}{counts[0]:7}{counts[1]:8}{counts[2]:7}{counts[3]:7}{counts[4]:8}{ms:7.1f}")
    return "\n".join(lines)


def misses(found: dict[str, float]) -> list[str]:
    """The goals that are not reached."""
    return [name for name, (goal, way) in GOALS.items() if (found[name] < goal if way == "least" else found[name] > goal)]


def main() -> int:
    """Print the table and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true", help="list the rules that were not named or wrongly judged")
    os.environ["AUTOLAB_HOME"] = "off"
    verbose = parser.parse_args().verbose
    results = run()
    found = figures(results)
    print(table(results), end="\n\n")
    for r in results:
        bad = r.passed or r.certain_but_wrong if r.expected else not r.passed
        if bad or (verbose and r.expected and not r.named):
            print(r)
    missed = misses(found)
    for name, (goal, way) in GOALS.items():
        print(f"{name:22}{found[name]:8.4g}   goal: at {way} {goal:g}{'   MISSED' if name in missed else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
