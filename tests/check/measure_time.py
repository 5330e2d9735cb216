"""How long a check takes: milliseconds of CPU for the first check of an exercise by each wrong rule, with what is said of it.

python -m tests.check.measure_time                # the distribution of each set, and the slowest
python -m tests.check.measure_time --every 5      # of every fifth rule
python -m tests.check.measure_time --profile 20   # and what the slowest twenty have in common
python -m tests.check.measure_time --start        # and the first check in a process that has loaded nothing yet

The last line of the table is for all exercises that tell no rule together. Sets: the rules of `measure.py` by the course's exercises; and exercises that tell no rule, as instructors write them (those of the
families, their rules taken away, and `own_specs.py`). What a check keeps for the next one is forgotten before each. A rule's time is its
least of some rounds over all of them, since a machine has other work.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from autolab.check import Spec, check, derivative_of_forward
from autolab.check.run import cases
from autolab.check.run.specs import load_rows
from autolab.engine.op import Op

from . import families_axes, families_places, measure_generated, own_specs
from .measure import WRONG

GOALS = {"median": 20.0, "most": 100.0}


class Timed(NamedTuple):
    """A wrong rule and the exercise that it is checked in."""

    kind: str
    name: str
    exercise: str | Spec
    rule: Callable

    def check(self) -> Any:
        """As the first time."""
        cases.forget()
        for f in caches():
            f.cache_clear()
        return check(self.exercise, self.rule, seconds=5)


def caches() -> list[Any]:
    """What functions of the checker keep between checks."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("autolab.check"):
            found |= {id(f): f for f in vars(module).values() if hasattr(f, "cache_clear")}
    return list(found.values())


def without_rule(spec: Spec) -> Spec:
    """The exercise, with nothing said of its derivative."""
    row = spec.row
    return replace(spec, row=Op(row.name, row.forward, row.kind, **dict.fromkeys(row.rules, derivative_of_forward)))


def rules() -> Iterator[Timed]:
    """All that are timed."""
    for w in WRONG:
        if w.family == "time":  # it is stopped by the clock
            continue
        yield Timed("course", f"{w.operation} {w.rule.__name__}", w.operation, w.rule)
    for m in families_axes.made():
        if m.spec.row is not None and not families_axes.is_right(m):
            yield Timed("own: axes", f"{m.name} {m.family} {m.kind} {m.settings}", without_rule(m.spec), m.rule)
    for e in families_places.made():
        if e.spec.row is not None and families_places.changes(e):
            yield Timed("own: places", f"{e.name} {e.which}", without_rule(e.spec), e.rule)
    for g in measure_generated.generate():
        if g.kinds and isinstance(g.reference, Spec) and g.reference.row is not None:
            yield Timed("own: windows", f"{g.operation} {g.family}", without_rule(g.reference), g.rule)
    for own in own_specs.OWN:
        for kind, rule in own_specs.slips(own):
            yield Timed("own: larger", f"{own.spec.name} {kind}", own.spec, rule)


# Of the families some thousand rules are made, much alike: of each set, one in so many.
EVERY = {"own: axes": 12, "own: windows": 12, "own: places": 3}


def chosen(every: int, only: str) -> list[Timed]:
    """Of each kind every so many."""
    seen: dict[str, int] = {}
    found = []
    for r in rules():
        seen[r.kind] = k = seen.get(r.kind, -1) + 1
        if k % (every * EVERY.get(r.kind, 1)) == 0 and only in f"{r.kind} {r.name}":
            found.append(r)
    return found


def timed(some: list[Timed], rounds: int) -> list[float]:
    """Milliseconds of each."""
    least = [float("inf")] * len(some)
    for _ in range(rounds):
        for k, r in enumerate(some):
            start = time.process_time()
            r.check()
            least[k] = min(least[k], 1e3 * (time.process_time() - start))
    return least


def profile(slowest: list[Timed], lines: int) -> None:
    """Where the time goes, in all of them together."""
    profiler = cProfile.Profile()
    for r in slowest:
        profiler.runcall(r.check)
    pstats.Stats(profiler).sort_stats("cumulative").print_stats("autolab|tests", lines)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(lines // 2)


START = """
import time
start = time.process_time()
from autolab.check import check
loaded = time.process_time()
import numpy as np
source = '''{source}'''
check({operation!r}, source, seconds=5)
first = time.process_time()
from autolab.check.run import cases
cases.forget()
check({operation!r}, source, seconds=5)
print(1e3 * (loaded - start), 1e3 * (first - loaded), 1e3 * (time.process_time() - first))
"""
WRONG_SOURCES = {
    "square": "def backward(g, x):\n    return 2 * g * x**2\n",
    "mul": "def backward(g, x, y):\n    return g * x, g * y\n",
    "softmax": "def backward(g, out, axis):\n    return out * (g - (g * out).mean(axis, keepdims=True))\n",
    "layer_norm": "def backward(g, x, weight, bias):\n    return g * weight, g * x, g.sum(0)\n",
    "matmul": "def backward(g, x, y):\n    return g @ y, x @ g\n",
    "conv1d": "def backward(g, x, weight):\n    return np.zeros_like(x), np.zeros_like(weight)\n",
    "attention": "def backward(g, q, k, v):\n    return g, g, g\n",
    "cumprod": "def backward(g, x, axis):\n    return g * np.cumprod(x, axis)\n",
}


def start() -> None:
    """The first check of all in processes of their own: what is imported, the first check, and the same again as the first of an exercise."""
    print(f"{'ms of CPU, a new process':28}{'import':>8}{'first':>8}{'again':>8}")
    for operation, source in WRONG_SOURCES.items():
        runs = [
            subprocess.run(
                [sys.executable, "-c", START.format(operation=operation, source=source)], capture_output=True, text=True, check=True
            )
            for _ in range(3)
        ]
        columns = zip(*(map(float, run.stdout.split()[-3:]) for run in runs), strict=True)
        print(f"{operation:28}" + "".join(f"{min(column):8.1f}" for column in columns))


def table(some: list[Timed], ms: list[float]) -> str:
    """A line for each kind."""
    lines = [f"{'ms of CPU, first check':28}{'rules':>7}{'median':>8}{'p90':>7}{'p99':>7}{'most':>7}{'> 100':>7}"]
    own = np.array([r.kind.startswith("own") for r in some])
    sets = {kind: np.array([r.kind == kind for r in some]) for kind in dict.fromkeys(r.kind for r in some)} | {"own": own}
    for kind, which in sets.items():
        a = np.array(ms)[which]
        if a.size:
            p = np.percentile(a, [50, 90, 99])
            lines.append(f"{kind:28}{a.size:7}{p[0]:8.1f}{p[1]:7.1f}{p[2]:7.1f}{a.max():7.1f}{np.sum(a > GOALS['most']):7}")
    return "\n".join(lines)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="of each set every so many")
    parser.add_argument("--only", default="", help="rules whose set and name contain this")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--slowest", type=int, default=20, help="how many are shown")
    parser.add_argument("--profile", type=int, default=0, help="of how many of the slowest it is shown where their time goes")
    parser.add_argument("--start", action="store_true", help="the first check in a new process, too")
    parser.add_argument("-v", "--verbose", action="store_true", help="what is said of each, one line a rule, to compare two states by")
    options = parser.parse_args()
    os.environ["AUTOLAB_HOME"] = "off"
    if options.start:
        start()
    load_rows()
    some = chosen(options.every, options.only)
    if options.verbose:
        for r in some:
            print(f"{r.kind} {r.name}: " + " | ".join(f"{d.family} ({d.certainty}) {d.text}" for d in r.check().diagnoses))
        return
    some[0].check()
    gc.collect()
    gc.freeze()
    ms = timed(some, options.rounds)
    print(table(some, ms))
    order = sorted(range(len(some)), key=lambda k: -ms[k])
    for k in order[: options.slowest]:
        print(f"{ms[k]:7.1f} {some[k].kind}: {some[k].name}")
    if options.profile:
        profile([some[k] for k in order[: options.profile]], 60)


if __name__ == "__main__":
    main()
