"""Make the pictures in docs/images again: `python tests/browser/pictures.py`. Run it when a picture has changed its looks.

`graph.svg` is what `autolab.draw.svg` returns; the others are real widgets in a real browser.
"""

import os
import shutil
import tempfile
from pathlib import Path

import autolab as torch
from autolab.draw import svg
from autolab.trace import record

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def loss():
    """What the pictures show."""
    w = torch.tensor(-3.0, requires_grad=True)
    x = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(8.0, requires_grad=True)
    loss = (w * x + b) ** 2
    return record(loss)


def main():
    """Write all of them."""
    from playwright.sync_api import sync_playwright

    torch.manual_seed(0)
    IMAGES.mkdir(exist_ok=True)
    svg(loss()).save(IMAGES / "graph.svg")
    chromium = os.environ.get("AUTOLAB_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = torch.Stepper(loss()).save_html(Path(folder) / "page.html")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1240, "height": 900}, reduced_motion="reduce")
        page.goto(page_file.as_uri())
        for _ in range(4):
            page.get_by_role("button", name="Step", exact=True).click()
        page.mouse.move(0, 0)
        page.locator(".al-root").screenshot(path=IMAGES / "stepper.png")
        widgets = {"chain-rule": torch.widgets.chain_rule(), "training-room": torch.widgets.train(steps=200).wait()}
        for name, widget in widgets.items():
            page.goto(widget.save_html(Path(folder) / "page.html").as_uri())
            page.wait_for_selector("[data-autolab] > *", state="attached")
            page.locator(".al-root").screenshot(path=IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
