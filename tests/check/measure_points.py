"""Is the same mistake paid the same in every operation? Mistakes crossed with operations, and the parts of *value* that they earn.

python -m tests.check.measure_points                # changes of the right gradient, in all exercises on operations
python -m tests.check.measure_points --families     # and the generated rules, by family and kind, for a reader to compare

A change that leaves one of several gradients as it is earns more there, which is no unequal pay: of families, what the wrong gradients
earn is shown by itself, with its spread.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Iterator

from autolab.check import Report, check
from autolab.check.api.check import judge, reference_of
from autolab.check.run.specs import SPECS

from .changed import CHANGES, CannotChange, Changed
from .measure_generated import generate

Spread = dict[float, list[str]]


def share(report: Report) -> float:
    """The part of *value* that was earned."""
    return round(next(v.share for v in report.verdicts if v.name == "value"), 3)


def share_of_wrong(report: Report) -> float:
    """The part of *value* that the wrong gradients earn, by themselves: care is paid as far as gradients are right."""
    right = next(v.points / v.max_points for v in report.verdicts if v.name == "purity")
    return round((share(report) - right) / (1 - right), 2) if right < 1 else 1.0


def changes() -> Iterator[tuple[str, float, Spread]]:
    """Each change of a right gradient, what it is worth by the scale, and the operations by what they give for it."""
    for name, (make, worth) in CHANGES.items():
        spread: Spread = defaultdict(list)
        for spec in SPECS.values():
            reference = reference_of(spec)
            try:
                report = judge(spec, reference, Changed(reference, make))
            except CannotChange:
                continue
            spread[share(report)].append(spec.name)
        yield name, worth, spread


def families() -> Iterator[tuple[str, Spread]]:
    """The generated rules: the family of the mistake, and the operations by what they give for it."""
    groups: dict[str, Spread] = defaultdict(lambda: defaultdict(list))
    for entry in generate():
        if entry.kinds and not entry.inputs:
            report = check(entry.reference, entry.rule)
            said = f"{entry.operation} ({report.diagnoses[0].family if report.diagnoses else ''})"
            groups[entry.family][share_of_wrong(report)].append(said)
    yield from groups.items()


def main() -> None:
    """Print what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", action="store_true")
    os.environ["AUTOLAB_HOME"] = "off"
    options = parser.parse_args()
    for name, worth, spread in changes():
        print(f"{name}: {worth:g} in {len(spread[worth])} operations", flush=True)
        for part, operations in spread.items():
            if part != worth:
                print(f"    {part:g}: {', '.join(operations)}")
    for name, spread in families() if options.families else ():
        if len(spread) > 1:
            width = max(spread) - min(spread)
            print(f"{name}: {width:.2f}", {part: len(operations) for part, operations in sorted(spread.items())}, flush=True)
            for operations in sorted(spread.values(), key=len)[:-1]:
                print(f"    {', '.join(operations[:12])}")


if __name__ == "__main__":
    main()
