"""From a step or a drag to the paint, in a real browser: `python -m tests.browser.measure_paint`. Prints milliseconds, and the load.

Each input is an event in the page; the clock stops in the first task after the next frame, which has then been painted, so that an
idle machine shows 17 ms at least. `busy` is what the page's main thread worked for it, on its own clock, which other programs on the
machine disturb less. The aim is 33 ms for graphs to 100 nodes and 100 ms for 1000, at the 95th percentile.
"""

import os
import shutil
import statistics
import tempfile
from pathlib import Path

import autolab as torch
from autolab import widgets
from autolab.draw.svg import render

INPUTS = 40  # of each kind

# One event, awaited until the frame after it has been painted.
MEASURE = """async (kind) => {
  const root = [...document.querySelectorAll(".al-root")].at(-1);
  const painted = () => new Promise((done) => requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel();
    port1.onmessage = done; port2.postMessage(0); }));
  const step = [...root.querySelectorAll("button")].find((b) => b.textContent === "Step");
  const range = root.querySelector(kind === "timeline" ? "[role=toolbar] .al-range" : ".al-slider .al-range");
  await painted();
  const begun = performance.now();
  if (kind === "step") (step.getAttribute("aria-disabled") === "true" ? root.querySelector("button") : step).click();
  else {
    range.value = String((Number(range.value) + Math.max(1, Math.floor(Number(range.max) / 7))) % (Number(range.max) + 1));
    range.dispatchEvent(new Event("input", { bubbles: true }));
  }
  await painted();
  return performance.now() - begun;
}"""


def chain(length):
    """A graph of about so many nodes."""
    x, w = torch.tensor(0.5, requires_grad=True), torch.tensor(0.9, requires_grad=True)
    h = x
    for _ in range((length - 2) // 2):
        h = (h * w).sin()
    return h


def every_node(length):
    """A stepper whose picture is not collapsed."""
    stepper = torch.Stepper(chain(length))
    stepper.groups, stepper.svg = {}, render(stepper._groups.trace, "end", cells=True)
    return stepper


CASES = {
    "stepper, 100 drawn": (lambda: every_node(100), ("step", "timeline")),
    "stepper, 1000 drawn": (lambda: every_node(1000), ("step", "timeline")),
    "stepper, 100 nodes": (lambda: torch.Stepper(chain(100)), ("step", "timeline")),
    "stepper, 1000 nodes": (lambda: torch.Stepper(chain(1000)), ("step", "timeline")),
    "explore, 100 nodes": (lambda: torch.explore(lambda x: _powers(x, 49), x=(-1, 1)), ("slider",)),
    "chain rule": (widgets.chain_rule, ("slider",)),
    "optimizer race": (lambda: widgets.optimizer_race(steps=20), ("step", "slider")),
    "softmax": (widgets.softmax_backward, ("step", "slider")),
    "attention": (widgets.attention_backward, ("step",)),
    "graph of the gradient": (widgets.gradient_graph, ("step", "slider")),
    "curvature": (widgets.curvature, ("slider",)),
    "training room": (lambda: widgets.train(steps=80).wait(), ("step", "timeline")),
}


def _powers(x, times):
    for _ in range(times):
        x = (x * 0.99).sin()
    return x


def _busy(metrics):
    """Milliseconds that the main thread of the page has worked."""
    found = metrics.send("Performance.getMetrics")["metrics"]
    return 1000 * next(one["value"] for one in found if one["name"] == "TaskDuration")


def _shown(times):
    times = sorted(times)
    return f"median {statistics.median(times):6.1f}  p95 {times[int(0.95 * (len(times) - 1))]:6.1f}"


def main():
    """Measure all of them."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("AUTOLAB_CHROMIUM") or shutil.which("chromium")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, (make, kinds) in CASES.items():
            page = browser.new_page(viewport={"width": 1000, "height": 900})
            page.goto(make().save_html(Path(folder) / "page.html").as_uri())
            page.wait_for_selector("[data-autolab] > *", state="attached")
            metrics = page.context.new_cdp_session(page)
            metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
            for kind in kinds:
                waited, busy = [], [_busy(metrics)]
                for _ in range(INPUTS):
                    waited.append(page.evaluate(MEASURE, kind))
                    busy.append(_busy(metrics))
                print(f"{name:24} {kind:9} waited {_shown(waited)}   busy {_shown([b - a for a, b in zip(busy, busy[1:])])}", flush=True)
            page.close()
        browser.close()
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
