"""What it costs to see a backward pass: recording, layout, opening a large graph, and in a browser a step and a slider.

    python -m benchmarks.pictures [--browser]

What Python does is CPU time, the least of several runs. What the browser does is wall time from the key to the painted frame, 95th
percentile and median of 120 keys, and beside it the time that its scripts, styles and layout took for one key. A slider is moved on a
page from disk, where every position is known, and in JupyterLab, where the kernel is asked for each. `--browser` needs the tests'
packages and a Chromium (AUTOLAB_CHROMIUM, or `chromium` on the path).
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
from autolab.draw.layout import LayoutBox, layout
from autolab.trace import graph, record

AIMS = {
    "trace of 100 nodes, beyond backward": 10, "layout of 10 nodes": 1.7, "layout of 100 nodes": 24, "layout of 1000 nodes": 290,
    "picture of 5000 nodes": 1000, "stepper of 5000 nodes": 1000, "page of 5000 nodes is written": 3000, "slider, the kernel's part": 150,
    "step to paint, 100 nodes": 33, "step to paint, 100 nodes, with its table": 33, "step to paint, 1000 nodes": 100,
    "step to paint, 1000 nodes, with its table": 100, "slider from presets": 50, "slider through the kernel": 150,
    "page of 5000 nodes opens": 1000,
}  # fmt: skip

# From the key to the moment when the next frame has been painted: a message comes after the frame that it was sent in.
WATCHED = """() => {
    window.times = [];
    addEventListener("keydown", (event) => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => times.push(performance.now() - event.timeStamp);
        port2.postMessage(0);
    }), true);
}"""
# The same, but when the kernel has answered: the sentence has changed by then.
ANSWERED = """(root) => {
    window.times = [];
    let pressed = null;
    root.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
    new MutationObserver(() => {
        if (pressed === null) return;
        const start = pressed;
        pressed = null;
        requestAnimationFrame(() => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = () => times.push(performance.now() - start);
            port2.postMessage(0);
        });
    }).observe(root.querySelector("[role=status]"), { childList: true, characterData: true, subtree: true });
}"""
EXPLORED = (
    "import autolab as torch",
    "torch.explore(lambda a, b: (a * b + a**2).sin(), a=(0, 2), b=(-1, 1))",  # too many positions to compute them in advance
    'print("-".join(["all", "cells", "ran"]))',
)
OPENED = """new MutationObserver((_, observer) => {
    if (!document.querySelector("[data-node]")) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.opened = performance.now(); }));
}).observe(document, { childList: true, subtree: true })"""
KEYS = 120
WORK = "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"


def chain(count: int) -> Any:
    """A recurrence of about so many nodes, in which every third one is used twice."""
    x, w = torch.tensor(1.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    y = x
    for _ in range(count // 3):
        y = (y * w).tanh() + x
    return y


def cpu_time(work: Callable[[], Any], runs: int = 7) -> float:
    """Milliseconds of CPU time of the best run."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def layout_time(count: int) -> float:
    """CPU milliseconds to lay out a recurrence of so many nodes."""
    trace = graph(chain(count))
    index = {node.id: i for i, node in enumerate(trace.nodes)}
    boxes, edges = [LayoutBox(64, 130) for _ in index], [(index[e.source], index[e.target]) for e in trace.edges]
    return cpu_time(lambda: layout(boxes, edges), 3)


def in_python() -> dict[str, float]:
    """The rows of the table that need no browser."""
    small, large = chain(100), chain(5000)
    explorer = torch.explore(lambda x, y: (x * y + x**2).sin(), x=(-3, 3), y=(0, 1))
    found = {"trace of 100 nodes, beyond backward": cpu_time(lambda: record(small)) - cpu_time(lambda: small.backward(retain_graph=True))}
    found |= {f"layout of {n} nodes": layout_time(n) for n in (10, 100, 1000)}
    found["picture of 5000 nodes"] = cpu_time(lambda: svg(large), 3)
    found["stepper of 5000 nodes"] = cpu_time(lambda: torch.Stepper(large), 3)
    stepper = torch.Stepper(large)
    with tempfile.TemporaryDirectory() as folder:
        found["page of 5000 nodes is written"] = cpu_time(lambda: stepper.save_html(Path(folder) / "page.html"), 1)
    turns = iter(range(1000))
    found["slider, the kernel's part"] = cpu_time(lambda: explorer.move(y=next(turns) % 50 / 50))
    return found


def in_browser() -> dict[str, list[float]]:
    """The rows of the table that a browser measures: median and 95th percentile of wall time, and the work of one step."""
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = os.environ.get("AUTOLAB_CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
        meter = page.context.new_cdp_session(page)
        meter.send("Performance.enable")

        def worked() -> float:
            metrics = {metric["name"]: metric["value"] for metric in meter.send("Performance.getMetrics")["metrics"]}
            return 1e3 * sum(metrics[name] for name in WORK)

        file = Path(folder) / "page.html"
        pages: dict[str, tuple[Any, str]] = {f"step to paint, {n} nodes": (torch.Stepper(chain(n)), "button") for n in (100, 1000)}
        pages["slider from presets"] = torch.explore(lambda x: (x * 3 + 1).sin() ** 2, x=(-3, 3)), "input"
        for name, (widget, focused) in pages.items():
            for table in ("", ", with its table") if "step" in name else ("",):
                page.goto(widget.save_html(file).as_uri())
                if table:
                    page.locator("summary").click()
                page.locator(f".al-root {focused}").first.focus()
                page.evaluate(WATCHED)
                before = worked()
                for k in range(KEYS):
                    page.keyboard.press("ArrowRight" if k % KEYS < 90 else "ArrowLeft")
                    page.wait_for_function("n => times.length > n", arg=k)
                found[name + table] = quantiles(page.evaluate("times")) + [(worked() - before) / KEYS]
        page.add_init_script(OPENED)
        torch.Stepper(chain(5000)).save_html(file)
        seen = []
        for _ in range(5):
            page.goto(file.as_uri())
            page.wait_for_function("window.opened")
            seen.append(page.evaluate("opened"))
        found["page of 5000 nodes opens"] = quantiles(seen)
        found["slider through the kernel"] = quantiles(through_the_kernel(browser, Path(folder)))
        browser.close()
    return found


def through_the_kernel(browser: Any, folder: Path) -> list[float]:
    """Milliseconds from each key on a slider in JupyterLab to the paint of what the kernel answered."""
    import nbformat

    from tests.browser.conftest import run_notebook, serving, watched

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in EXPLORED])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}  # else it asks
    (folder / "root").mkdir()
    nbformat.write(made, folder / "explored.ipynb")
    with serving("lab", folder / "root", folder / "home") as jupyter:
        page = watched(browser.new_context(viewport={"width": 1300, "height": 1000}, reduced_motion="reduce"))
        run_notebook(page, jupyter, folder / "explored.ipynb", "all-cells-ran")
        root = page.get_by_role("group", name="Explore a function", exact=True)
        root.get_by_role("slider", name="a").focus()
        root.evaluate(ANSWERED)
        for k in range(KEYS):
            page.keyboard.press("ArrowLeft" if k % 30 < 15 else "ArrowRight")
            page.wait_for_function("n => times.length > n", arg=k)
        return list(page.evaluate("times"))


def quantiles(times: list[float]) -> list[float]:
    """Median and 95th percentile."""
    return [statistics.median(times), sorted(times)[max(0, -(-len(times) * 95 // 100) - 1)]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures")
    parser.add_argument("--browser", action="store_true", help="also what needs a browser")
    also = parser.parse_args().browser
    for name, took in in_python().items():
        print(f"{name:<42} {took:8.1f} ms   aim {AIMS[name]}")
    for name, (middle, late, *work) in (in_browser() if also else {}).items():
        told = f", of which {work[0]:.1f} ms of work" if work else ""
        print(f"{name:<42} {late:8.1f} ms   aim {AIMS[name]}   (median {middle:.1f}{told})")


if __name__ == "__main__":
    main()
