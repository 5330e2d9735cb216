"""``python -m benchmarks.first_call``: what a program costs before it is fast, in PyTorch and in autolab.

    python -m benchmarks.first_call                  # all programs of benchmarks.programs
    python -m benchmarks.first_call resnet --rounds 5

Milliseconds of CPU time in fresh processes, in turns; medians. *import* is that of the library, NumPy's own apart; *first call* makes the
network, its data and its optimizer, and takes one step, with all that is loaded and written then; *step* is the second step. For autolab
two parts of the first call are shown: modules that are loaded with their first use, and functions that are written for the rows that the
program calls (docs/decisions/fast.md). What the compiled program takes beyond the eager one is to trace the step and write it out.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from typing import Any

from benchmarks.growth import library
from benchmarks.measure import ROOT
from benchmarks.programs import FIRST, MORE, PROGRAMS

WAYS = ("torch", "eager", "compiled")


class Clock:
    """Adds up the time that functions take, each call from the outside: one within another counts once."""

    def __init__(self) -> None:
        self.seconds, self.depth = 0.0, 0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            self.depth += 1
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.depth -= 1
                self.seconds += 0 if self.depth else time.process_time() - start

        return run


def measured(way: str, name: str) -> dict[str, float]:
    """Milliseconds of each part, in this process, which has not loaded the library yet."""
    start = time.process_time()
    T = library("torch" if way == "torch" else "autolab")
    loaded = time.process_time()
    modules, functions = Clock(), Clock()
    SourceFileLoader.exec_module = modules.timed(SourceFileLoader.exec_module)  # type: ignore[method-assign]
    if way != "torch":
        written = sys.modules["autolab.engine.op"].CODEGEN
        written |= {hook: functions.timed(write) for hook, write in written.items() if hook != "backward"}  # that one runs a pass
        first_calls = sys.modules["autolab.fast.first_calls"]
        for part in ("compile_forward", "compile_run"):
            setattr(first_calls, part, functions.timed(getattr(first_calls, part)))
    begin = time.process_time()
    step = PROGRAMS[name](T)
    if way == "compiled":
        step = T.compile(step)
    step()
    first = time.process_time()
    step()
    seconds = {
        "import": loaded - start, "first": first - begin, "step": time.process_time() - first,
        "modules": modules.seconds, "functions": functions.seconds,
    }  # fmt: skip
    return {part: 1e3 * value for part, value in seconds.items()}


def row(name: str, rounds: int) -> dict[str, dict[str, float]]:
    """The medians over some rounds, by way and part."""
    seen: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.first_call", "--one", way, name]
            result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
            seen[way].append(json.loads(result.stdout.splitlines()[-1]))
    return {way: {part: statistics.median(one[part] for one in some) for part in some[0]} for way, some in seen.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_call", description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}; all by default")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each; results are medians over them")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)  # a way and a program, in this process
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(*options.one)))
        return
    if unknown := set(options.programs) - set(PROGRAMS):
        parser.error(f"there is no program named {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    print(f"{'':20} |   PyTorch            | eager                                | compiled     | first call / PyTorch")
    print(f"{'ms of CPU':20} | import  first   step | import  first (modules functions)    | import first | with import    without")
    ratios = []
    for name in options.programs or [program.__name__ for program in FIRST + MORE]:
        found = row(name, options.rounds)
        torch, eager, compiled = (found[way] for way in WAYS)
        with_import = [(one["import"] + one["first"]) / (torch["import"] + torch["first"]) for one in (eager, compiled)]
        without = [one["first"] / torch["first"] for one in (eager, compiled)]
        ratios.append(with_import + without)
        print(
            f"{name:20} | {torch['import']:6.0f} {torch['first']:6.0f} {torch['step']:6.1f} | {eager['import']:6.0f} {eager['first']:6.0f} "
            f"({eager['modules']:7.0f} {eager['functions']:9.0f})    | {compiled['import']:6.0f} {compiled['first']:5.0f} | "
            + "  ".join(" ".join(f"{ratio:5.2f}" for ratio in pair) for pair in (with_import, without)),
            flush=True,
        )
    print("the highest ratios:", *(f"{max(column):.2f}" for column in zip(*ratios, strict=True)))


if __name__ == "__main__":
    main()
