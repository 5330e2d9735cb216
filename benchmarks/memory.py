"""``python -m benchmarks.memory``: the memory that a training step needs at its highest, in PyTorch and in autolab.

    python -m benchmarks.memory                  # all programs of benchmarks.programs
    python -m benchmarks.memory resnet gpt       # some

Each program runs in a process of its own, once for each way. After two steps, and a third for which unused memory has been given back,
a fourth is measured (the third may put its arrays elsewhere, while their last place is still counted): its highest level less what is left
when it is over, which are parameters, their gradients, the optimizer's state and the data. What a compiled program holds from step to step
counts as needed by the step: it is dropped before the rest is weighed. There are two measures:

- *resident*: pages that Linux says the process had at most. Everything counts, an allocator's waste too, to a quarter of a megabyte.
- *arrays*: what is asked for. NumPy reports to tracemalloc, which also counts Python's objects; PyTorch's profiler counts tensors only,
  neither its nodes nor the scratch memory of its kernels. It is to the byte, and the same in each run.
"""

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.growth import in_status, library
from benchmarks.measure import ROOT
from benchmarks.programs import PROGRAMS

WAYS = ("torch", "eager", "compiled")
MEGABYTE = 1 << 20
LEAST = 0.5  # megabytes: below this, pages say nothing


def trim() -> None:
    """Give back to the system what is not in use, so that the next step has to ask for all that it needs."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def resident(step: Callable[[], Any], drop: Callable[[], None]) -> float:
    """Megabytes of pages that a step needs beyond what is left after `drop`."""
    trim()
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the highest is counted anew
    step()
    highest = in_status("VmHWM")
    drop()
    trim()
    return max(highest - in_status("VmRSS"), 0.0)


def reported(step: Callable[[], Any], drop: Callable[[], None]) -> float:
    """Megabytes of arrays and Python's objects, as tracemalloc counts them. The program has to be made while it counts."""
    gc.collect()
    tracemalloc.reset_peak()
    step()
    highest = tracemalloc.get_traced_memory()[1]
    drop()
    gc.collect()
    return (highest - tracemalloc.get_traced_memory()[0]) / MEGABYTE


def profiled(step: Callable[[], Any]) -> float:
    """Megabytes of tensors at the highest of a step of PyTorch's, as its profiler sees them made and freed."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        step()  # what is freed without having been seen made is not counted: the last gradients, in this step
        step()
    level, highest = 0, 0
    # not seen.events(): those are without the memory that an operation got and gave
    for event in sorted(seen.profiler.kineto_results.events(), key=lambda e: e.start_ns()):
        if event.name() == "[memory]":
            level += event.nbytes()
            highest = max(highest, level)
    return (highest - level) / MEGABYTE


def measured(way: str, name: str) -> dict[str, float]:
    """Both measures of a program's step, in this process."""
    T = library("torch" if way == "torch" else "autolab")

    def made() -> tuple[Callable[[], Any], Callable[[], None]]:
        step, drop = PROGRAMS[name](T), lambda: None
        if way == "compiled":
            step = T.compile(step)
            drop = step._compiled.programs[True].clear
        for _ in range(2):
            step()
        return step, drop

    step, drop = made()
    resident(step, lambda: None)
    found = {"resident": resident(step, drop)}
    if way == "torch":
        return found | {"arrays": profiled(step)}
    del step, drop
    tracemalloc.start()
    return found | {"arrays": reported(*made())}


def row(name: str) -> dict[str, dict[str, float]]:
    found = {}
    for way in WAYS:
        command = [sys.executable, "-m", "benchmarks.memory", "--one", way, name]
        result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
        found[way] = json.loads(result.stdout.splitlines()[-1])
    return found


def line(name: str, found: dict[str, dict[str, float]]) -> str:
    cells = [f"{name:20}"]
    for measure in ("resident", "arrays"):
        base = found["torch"][measure]
        cells.append(f"{base:9.2f} MB")
        cells += [f"{found[way][measure] / base:9.2f}" if base >= LEAST else f"{found[way][measure]:6.2f} MB" for way in WAYS[1:]]
    return " ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}; all by default")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)  # a way and a program, in this process
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(*options.one)))
        return
    if unknown := set(options.programs) - set(PROGRAMS):
        parser.error(f"there is no program named {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    head = "".join(f" {measure:>12}" + "".join(f" {way:>9}" for way in WAYS[1:]) for measure in ("resident", "arrays"))
    print(f"{'memory / torch':20}{head}")
    for name in options.programs or PROGRAMS:
        print(line(name, row(name)), flush=True)


if __name__ == "__main__":
    main()
