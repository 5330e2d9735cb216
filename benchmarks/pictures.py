"""What it costs to see a backward pass: recording, layout, opening a large graph, and in a browser a step and a slider.

    python -m benchmarks.pictures [--browser]

Recording and layout are CPU time, the least of several runs; what the browser does is wall time from the key to the painted picture,
95th percentile. `--browser` needs playwright and a Chromium (AUTOLAB_CHROMIUM, or `chromium` on the path).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import autolab as torch
from autolab.draw import svg
from autolab.draw.layout import Box, layout
from autolab.trace import graph, record

AIMS = {
    "trace of 100 nodes, beyond backward": 10, "layout of 10 nodes": 1.7, "layout of 100 nodes": 24, "layout of 1000 nodes": 290,
    "picture of 5000 nodes": 1000, "stepper of 5000 nodes": 1000, "step to paint, 100 nodes": 33, "step to paint, 1000 nodes": 100,
    "slider from presets": 50, "slider, the kernel's part": 150,
}  # fmt: skip

PAINTED = """async ([keys, selector, arrow]) => {
    const el = document.querySelector(selector), times = [];
    const painted = () => new Promise((done) => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = done;
        port2.postMessage(0);
    }));
    for (let i = 0; i < keys; i++) {
        await painted();
        const start = performance.now();
        if (arrow) el.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
        else { el.value = String(i % 60); el.dispatchEvent(new Event("input", { bubbles: true })); }
        await painted();
        times.push(performance.now() - start);
    }
    return times;
}"""


def chain(count: int) -> Any:
    """A recurrence of about so many nodes, in which every third one is used twice."""
    x, w = torch.tensor(1.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    y = x
    for _ in range(count // 3):
        y = (y * w).tanh() + x
    return y


def least(work: Callable[[], Any], runs: int = 7) -> float:
    """Milliseconds of CPU time of the best run."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def laid_out(count: int) -> float:
    """CPU milliseconds to lay out a recurrence of so many nodes."""
    trace = graph(chain(count))
    index = {node.id: i for i, node in enumerate(trace.nodes)}
    boxes, edges = [Box(64, 130) for _ in index], [(index[e.source], index[e.target]) for e in trace.edges]
    return least(lambda: layout(boxes, edges), 3)


def in_python() -> dict[str, float]:
    """The rows of the table that need no browser."""
    small, large = chain(100), chain(5000)
    explorer = torch.explore(lambda x, y: (x * y + x**2).sin(), x=(-3, 3), y=(0, 1))
    found = {"trace of 100 nodes, beyond backward": least(lambda: record(small)) - least(lambda: small.backward(retain_graph=True))}
    found |= {f"layout of {n} nodes": laid_out(n) for n in (10, 100, 1000)}
    found["picture of 5000 nodes"] = least(lambda: svg(large), 3)
    found["stepper of 5000 nodes"] = least(lambda: torch.Stepper(large), 3)
    turns = iter(range(1000))
    found["slider, the kernel's part"] = least(lambda: explorer.move(y=next(turns) % 50 / 50))
    return found


def in_browser() -> dict[str, float]:
    """The rows of the table that a browser measures."""
    from playwright.sync_api import sync_playwright

    found = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = os.environ.get("AUTOLAB_CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
        pages = {f"step to paint, {n} nodes": (torch.Stepper(chain(n)), ".al-button", True) for n in (100, 1000)}
        pages["slider from presets"] = torch.explore(lambda x: (x * 3 + 1).sin() ** 2, x=(-3, 3)), "input", False
        for name, (widget, selector, arrow) in pages.items():
            page.goto(widget.save_html(Path(folder) / "page.html").as_uri())
            found[name] = statistics.quantiles(page.evaluate(PAINTED, [60, selector, arrow]), n=20)[-1]
        browser.close()
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures")
    parser.add_argument("--browser", action="store_true", help="also what needs a browser")
    found = in_python() | (in_browser() if parser.parse_args().browser else {})
    for name, aim in AIMS.items():
        if name in found:
            print(f"{name:<38} {found[name]:8.1f} ms   aim {aim}")


if __name__ == "__main__":
    main()
