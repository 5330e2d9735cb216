"""``python -m benchmarks.scaling``: time and memory of a node, from a hundred nodes to a million.

Prints a table; ``--plot FILE`` draws it (docs/images/scaling.svg is made so). Each size runs in a process of its own: CPU time for
building a chain of additions, running it backward and dropping it, and what Python and NumPy held while the chain was whole.
"""

import argparse
import gc
import subprocess
import sys
import time
import tracemalloc

SIZES = [100, 1_000, 10_000, 100_000, 1_000_000]


def one(nodes: int) -> tuple[float, float]:
    """Microseconds and bytes a node, for a chain of this many."""
    import autolab as torch

    x, c = torch.tensor(0.5, requires_grad=True), torch.tensor(1e-6)
    gc.disable()  # it would look through the million nodes again and again; a chain has no cycles

    def chain(nodes: int) -> torch.Tensor:
        y = x
        for _ in range(nodes):
            y = y + c
        return y

    chain(10).backward()
    tracemalloc.start()
    whole = chain(nodes)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    whole.backward()
    del whole
    rounds = max(1, 100_000 // nodes)
    start = time.process_time()
    for _ in range(rounds):
        chain(nodes).backward()
    return (time.process_time() - start) / rounds / nodes * 1e6, grown / nodes


def plot(rows: list[tuple[int, float, float]], file: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "autolab"
    from matplotlib import pyplot

    sizes, times, memory = zip(*rows, strict=True)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    left.semilogx(sizes, times, "o-", color="#0b62a4")
    left.set(xlabel="nodes", ylabel="microseconds a node", ylim=(0, 1.3 * max(times)), title="time: flat")
    right.loglog(sizes, [n * m / 1e6 for n, m in zip(sizes, memory, strict=True)], "s-", color="#a4400b")
    right.set(xlabel="nodes", ylabel="MB held", title="memory: a straight line")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--plot", metavar="FILE", help="draw the table as a picture (needs matplotlib)")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(*one(options.one))
        return 0
    rows = []
    print(f"{'nodes':>10}  {'us a node':>10}  {'bytes a node':>12}")
    for n in SIZES:
        said = subprocess.run([sys.executable, "-m", "benchmarks.scaling", "--one", str(n)], capture_output=True, text=True, check=True)
        time_each, bytes_each = map(float, said.stdout.split())
        rows.append((n, time_each, bytes_each))
        print(f"{n:>10,}  {time_each:>10.2f}  {bytes_each:>12.0f}")
    if options.plot:
        plot(rows, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
