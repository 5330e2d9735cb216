"""How it is measured: answers first, then all libraries in turns in one process."""

import gc
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.workloads import Program, Workload

ROOT = Path(__file__).parents[1]
SECONDS_PER_TURN = 0.03
SECONDS_ALONE = 60


def disagreement(workload: Workload, answer: dict, right: dict) -> str:
    """Empty if the answer is right, else the first array that differs and by how much."""
    for name, expected in right.items():
        if name not in answer:
            return f"no {name} in the answer"
        a, b = np.asarray(answer[name], np.float64), np.asarray(expected, np.float64)
        if a.size != b.size:
            return f"{name} has shape {a.shape}, not {b.shape}"
        error, size = np.abs(a.reshape(b.shape) - b).max(), np.abs(b).max()
        if not error <= workload.rtol * max(size, 1e-3):
            return f"{name} is off by {error:.1e}, where the largest value is {size:.1e}"
    return ""


def turns(programs: dict[str, Program], rounds: int) -> dict[str, list[float]]:
    """Seconds of CPU time a step, round by round. Every round hears each library, in alternating order."""
    repeats = {}
    for name, program in programs.items():
        program.step()
        start = time.process_time()
        program.step()
        repeats[name] = max(1, min(1000, int(SECONDS_PER_TURN / max(time.process_time() - start, 1e-6))))
    gc.collect()
    gc.freeze()  # what is loaded already is nobody's garbage
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(rounds):
        for name in list(programs) if number % 2 else reversed(programs):
            step = programs[name].step
            start = time.process_time()
            for _ in range(repeats[name]):
                step()
            seconds[name].append((time.process_time() - start) / repeats[name])
    gc.unfreeze()
    return seconds


def summary(seconds: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """For each library the median time, and the median over rounds of its ratio to every other."""
    table = {}
    for name, times in seconds.items():
        table[name] = {"seconds": statistics.median(times)}
        for other, reference in seconds.items():
            table[name][f"/{other}"] = statistics.median(a / b for a, b in zip(times, reference, strict=True))
    return table


def in_turns(workload: Workload, libraries: dict, rounds: int) -> tuple[dict, dict[str, str]]:
    """Check every library's answer, then time those that are right."""
    right = libraries["numpy"][workload.name](workload.data()).answer()
    right = {name: np.array(value) for name, value in right.items()}
    programs, notes = {}, {}
    for name, by_name in libraries.items():
        if workload.name not in by_name:
            notes[name] = "has no such program"
            continue
        try:
            wrong = disagreement(workload, by_name[workload.name](workload.data()).answer(), right)
            if wrong:
                notes[name] = f"not timed, since its answer differs: {wrong}"
            else:
                programs[name] = by_name[workload.name](workload.data())
        except Exception as error:  # a library that fails must not stop the others
            notes[name] = f"failed: {type(error).__name__}: {error}"
    return summary(turns(programs, rounds)), notes


def in_processes(workload: Workload, libraries: dict) -> tuple[dict, dict[str, str]]:
    """Time each library in a process of its own, which may run out of stack or of time."""
    seconds, notes = {}, {}
    for name, by_name in libraries.items():
        if workload.name not in by_name:
            notes[name] = "has no such program"
            continue
        command = [sys.executable, "-m", "benchmarks", "--one", name, workload.name]
        try:
            result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=SECONDS_ALONE)
        except subprocess.TimeoutExpired:
            notes[name] = f"stopped after {SECONDS_ALONE} s"
            continue
        if result.returncode:
            last = (result.stderr.strip().splitlines() or ["no message"])[-1]
            notes[name] = f"failed with exit code {result.returncode}: {last[:160]}"
        else:
            seconds[name] = [json.loads(result.stdout.splitlines()[-1])]
    return summary(seconds), notes


def one(workload: Workload, program: Program) -> float:
    """Seconds of the second of two steps, results dropped."""
    program.step()
    start = time.process_time()
    program.step()
    return time.process_time() - start


def imports(names: list[str], rounds: int) -> dict[str, float]:
    """Milliseconds of `import name` in a fresh interpreter, medians; NumPy's own time is part of every other."""
    code = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    milliseconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            output = subprocess.run([sys.executable, "-c", code.format(name)], capture_output=True, text=True, cwd=ROOT, check=True).stdout
            milliseconds[name].append(1000 * float(output))
    return {name: statistics.median(times) for name, times in milliseconds.items()}
