"""What checkpointing saves, and what it costs: 64 layers in 8 segments, forward and backward.

    python -m benchmarks.checkpoint

Memory is what NumPy and Python hold after the forward pass, and at most during the whole step (tracemalloc). Time is CPU time, in turns.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import autolab as torch
from autolab.utils.checkpoint import checkpoint_sequential


def build(layers: int, width: int, rows: int, activation: str) -> tuple[Any, Any]:
    torch.manual_seed(0)
    make = getattr(torch.nn, activation)
    model = torch.nn.Sequential(*[m for _ in range(layers) for m in (torch.nn.Linear(width, width), make())])
    return model, torch.randn(rows, width)


def memory_of(step: Callable[[], Any]) -> tuple[int, int]:
    """Bytes held after `step` while what it returns is alive, and at most while it and the backward pass ran."""
    gc.collect()
    tracemalloc.start()
    loss = step()
    after = tracemalloc.get_traced_memory()[0]
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return after, peak


def main() -> None:
    options = argparse.ArgumentParser(description="memory and time of checkpoint_sequential, as ratios to the plain step")
    for name, default in (("layers", 64), ("segments", 8), ("width", 512), ("rows", 512), ("rounds", 9)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--activation", default="ReLU", help="ReLU, Tanh, GELU ...: what a forward pass costs beside a backward pass")
    chosen = options.parse_args()
    model, x = build(chosen.layers, chosen.width, chosen.rows, chosen.activation)
    ways = {
        "plain": lambda: model(x).square().mean(),
        "in segments": lambda: checkpoint_sequential(model, chosen.segments, x, use_reentrant=False).square().mean(),
        "reentrant": lambda: checkpoint_sequential(model, chosen.segments, x.requires_grad_(), use_reentrant=True).square().mean(),
    }
    memory = {}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for name, step in ways.items():
        step().backward()  # the gradients of parameters are there before anything is counted
        memory[name] = memory_of(step)
    for turn in range(chosen.rounds):
        for name in list(ways)[:: 1 if turn % 2 else -1]:
            start = time.process_time()
            ways[name]().backward()
            times[name].append(time.process_time() - start)
    print(f"{chosen.layers} layers of {chosen.width} with {chosen.activation}, {chosen.rows} rows, {chosen.segments} segments")
    print(f"{'':12} {'held':>9} {'at most':>9} {'time':>9}      as ratios")
    for name in ways:
        ratios = [statistics.median(a / b for a, b in zip(times[name], times["plain"]))]
        ratios = [m / p for m, p in zip(memory[name], memory["plain"])] + ratios
        megabytes = [f"{m / 1e6:6.1f} MB" for m in memory[name]]
        print(f"{name:12} {' '.join(megabytes)} {statistics.median(times[name]) * 1e3:6.0f} ms  {' '.join(f'{r:5.2f}' for r in ratios)}")


if __name__ == "__main__":
    main()
