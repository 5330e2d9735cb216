"""How many of the rules that are made by families crossed with operations are named (generated.py).

python -m tests.check.measure_generated         # figures for each family and half
python -m tests.check.measure_generated -v      # and each rule of the first half that was not named
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from autolab.check import check, diagnose
from autolab.check.run.specs import load_rows

from . import families_functions, families_matrices, families_neighbours, families_raising, families_regions, families_windows
from .generated import GENERATED, Generated


@dataclass(frozen=True)
class Said:
    """A rule and what the checker said."""

    entry: Generated
    passed: bool
    diagnoses: Any
    ms: float

    @property
    def named(self) -> bool:
        """Is the mistake among those that were recognised?"""
        for d in self.diagnoses:
            if d.certainty != "unknown" and ({d.family, *d.alternatives} & self.entry.kinds or any(w in d.text for w in self.entry.words)):
                return True
        return False

    @property
    def certain_but_wrong(self) -> bool:
        """Was another kind of mistake called certain?"""
        return not self.named and any(d.certainty == "certain" and d.family != "exception" for d in self.diagnoses[:1])

    def __str__(self) -> str:
        d = self.diagnoses[0] if self.diagnoses else None
        said = f"{d.family} ({d.certainty}): {d.text[:250]}" if d else "nothing"
        return f"[{self.entry.family}] {self.entry.operation}: {'|'.join(sorted(self.entry.kinds))}; {self.ms:.0f} ms; {said}"


def generate() -> list[Generated]:
    """All rules of all families, made once; of all operations, whatever has been imported before."""
    if not GENERATED:
        load_rows()
        for module in (families_matrices, families_neighbours, families_raising, families_regions, families_windows, families_functions):
            module.fill()
    return GENERATED


def run(entries: list[Generated]) -> list[Said]:
    """Check each rule once."""
    said = []
    for e in entries:
        start = time.process_time()
        if e.inputs:
            found = diagnose(e.rule, e.reference, e.inputs)
            passed = not found
        else:
            report = check(e.reference, e.rule)
            passed, found = report.passed, report.diagnoses
        said.append(Said(e, passed, found, 1e3 * (time.process_time() - start)))
    return said


def table(said: list[Said]) -> str:
    """A line for each family and half."""
    groups = defaultdict(list)
    for s in said:
        groups[s.entry.family, s.entry.held_out].append(s)
        if s.entry.kinds:
            groups["all wrong", s.entry.held_out].append(s)
    lines = [f"{'family':34}{'half':>8}{'rules':>7}{'caught':>8}{'named':>7}{'%':>7}{'false':>7}{'ms':>7}{'most':>7}"]
    for (family, held_out), rs in sorted(groups.items()):
        caught, named, false = (sum(f(s) for s in rs) for f in (lambda s: not s.passed, lambda s: s.named, lambda s: s.certain_but_wrong))
        ms = [s.ms for s in rs]
        half = "held out" if held_out else "seen"
        share = 100 * named / len(rs)
        lines.append(f"{family:34}{half:>8}{len(rs):7}{caught:8}{named:7}{share:7.1f}{false:7}{statistics.median(ms):7.1f}{max(ms):7.1f}")
    return "\n".join(lines)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true", help="list the rules of the first half that were not named")
    parser.add_argument("-k", "--only", default="", help="families that contain this text")
    os.environ["AUTOLAB_HOME"] = "off"
    options = parser.parse_args()
    said = run([e for e in generate() if options.only in e.family])
    for s in said:
        if s.entry.held_out and not (s.passed == bool(s.entry.kinds) or s.certain_but_wrong):
            continue
        if (options.verbose and s.entry.kinds and not s.named) or s.passed == bool(s.entry.kinds) or s.certain_but_wrong:
            print(s)
    print(table(said))


if __name__ == "__main__":
    main()
