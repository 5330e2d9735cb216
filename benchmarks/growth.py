"""``python -m benchmarks.growth``: how time and memory of a training step grow, in PyTorch and in autolab.

    python -m benchmarks.growth                                    # a table
    python -m benchmarks.growth --plot docs/images/growth.svg      # and a picture of it

Five things grow, each alone: layers, numbers in a layer, samples, the length of a sequence, parameters (tensors of 100 numbers, which
Adam updates). Time is CPU time, one thread, both libraries in turns. Memory is what a process of its own grows by at most while it makes
a model and its data and takes three steps, after three small ones; Linux tells it.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.measure import summary, turns
from benchmarks.programs import filled, numbers, training, whole
from benchmarks.workloads import Program


def depth(T: Any, n: int) -> Callable[[], Any]:
    return network(T, [32] * (n + 1), 16)


def width(T: Any, n: int) -> Callable[[], Any]:
    return network(T, [n, n, n], 16)


def batch(T: Any, n: int) -> Callable[[], Any]:
    return network(T, [64, 64, 10], n)


def network(T: Any, widths: list[int], samples: int) -> Callable[[], Any]:
    layers = [part for a, b in pairwise(widths) for part in (T.nn.Linear(a, b), T.nn.Tanh())]
    net = filled(T, T.nn.Sequential(*layers))
    x = T.tensor(numbers(samples, widths[0]))
    return training(T.optim.SGD(net.parameters(), lr=0.01), lambda: (net(x) ** 2).mean())


def length(T: Any, n: int) -> Callable[[], Any]:
    """Attention of four heads over a sequence, with a layer norm and a head."""
    nn, F = T.nn, T.nn.functional
    token, qkv, norm, head = nn.Embedding(65, 64), nn.Linear(64, 192), nn.LayerNorm(64), nn.Linear(64, 65)
    net = filled(T, nn.ModuleList([token, qkv, norm, head]))
    text = T.tensor(whole(65, 4, n + 1))

    def loss():
        x = token(text[:, :-1])
        q, k, v = (t.view(4, n, 4, 16).transpose(1, 2) for t in qkv(norm(x)).split(64, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.cross_entropy(head(x + y.transpose(1, 2).reshape(4, n, 64)).flatten(0, 1), text[:, 1:].flatten())

    return training(T.optim.SGD(net.parameters(), lr=0.1), loss)


def parameters(T: Any, n: int) -> Callable[[], Any]:
    each = [T.nn.Parameter(T.tensor(numbers(100, seed=k))) for k in range(n)]

    def loss():
        total = 0.0
        for p in each:
            total = total + (p * p).sum()
        return total

    return training(T.optim.Adam(each, lr=1e-3), loss)


SWEEPS: dict[str, tuple[Callable[[Any, int], Callable[[], Any]], tuple[int, ...], str]] = {
    "depth": (depth, (2, 8, 32, 128), "layers of 32"),
    "width": (width, (8, 32, 128, 512, 1024), "numbers in a layer"),
    "batch": (batch, (1, 16, 256, 4096), "samples"),
    "length": (length, (8, 32, 128, 512), "length of the sequence"),
    "parameters": (parameters, (4, 16, 64, 256), "parameters, Adam"),
}


def library(name: str) -> Any:
    if name == "torch":
        import torch

        torch.set_num_threads(1)
        return torch
    import autolab

    return autolab


def times(sweep: str, n: int, rounds: int) -> dict[str, float]:
    make = SWEEPS[sweep][0]
    steps = {name: Program(make(library(name), n), dict) for name in ("torch", "autolab")}
    table = summary(turns(steps, rounds))
    return {name: table[name]["seconds"] for name in steps} | {"ratio": table["autolab"]["/torch"]}


def in_status(key: str) -> float:
    """Megabytes that Linux tells of this process."""
    line = next(line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024


def grown(name: str, sweep: str, n: int) -> float:
    """The most by which this process grows when it makes a model and its data and takes three steps, in megabytes."""
    make, sizes, _ = SWEEPS[sweep]
    small = make(library(name), sizes[0])
    for _ in range(3):
        small()
    before = in_status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the highest is counted anew
    step = make(library(name), n)
    for _ in range(3):
        step()
    return max(in_status("VmHWM") - before, 0.0)


def crossing(sizes: tuple[int, ...], ratios: list[float]) -> str:
    """Where autolab's line crosses PyTorch's, between which sizes."""
    for (a, left), (b, right) in pairwise(zip(sizes, ratios, strict=True)):
        if (left < 1) != (right < 1):
            return f"the lines cross between {a} and {b}"
    return f"autolab is {'faster' if ratios[0] < 1 else 'slower'} at all sizes"


def plot(found: dict, file: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "autolab", "font.size": 8})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(SWEEPS), figsize=(11, 4), layout="constrained")
    for column, (sweep, (_, sizes, title)) in enumerate(SWEEPS.items()):
        for row, what in enumerate(("ms", "MB")):
            box = axes[row][column]
            for name, colour, mark in (("torch", "#a4400b", "s-"), ("autolab", "#0b62a4", "o-")):
                box.loglog(sizes, found[sweep][what][name], mark, color=colour, label="PyTorch" if name == "torch" else name, markersize=4)
            box.grid(alpha=0.3)
            box.spines[["top", "right"]].set_visible(False)
            box.set(xlabel=title if row else "", ylabel=("ms of CPU a step", "MB grown")[row] if not column else "")
    axes[0][0].legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.splitlines()[0])
    parser.add_argument("--plot", metavar="FILE", help="draw it as well (needs matplotlib)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # memory of a library, a sweep and a size, in this process
    options = parser.parse_args()
    if options.one:
        name, sweep, n = options.one
        print(grown(name, sweep, int(n)))
        return 0
    found: dict = {}
    for sweep, (_, sizes, title) in SWEEPS.items():
        seconds = [times(sweep, n, options.rounds) for n in sizes]
        memory = {"torch": [], "autolab": []}
        for name in memory:
            for n in sizes:
                command = [sys.executable, "-m", "benchmarks.growth", "--one", name, sweep, str(n)]
                memory[name].append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        found[sweep] = {"ms": {name: [1e3 * s[name] for s in seconds] for name in memory}, "MB": memory}
        ratios = [s["ratio"] for s in seconds]
        print(f"{title}: {crossing(sizes, ratios)}")
        for k, n in enumerate(sizes):
            ms, mb = ([found[sweep][what][name][k] for name in memory] for what in ("ms", "MB"))
            print(f"  {n:>6}  ms {ms[0]:9.2f} {ms[1]:9.2f}  ratio {ratios[k]:5.2f}  MB {mb[0]:7.1f} {mb[1]:7.1f}", flush=True)
    if options.plot:
        plot(found, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
