"""Make docs/images/contact-sheet-*.png again: `python -m tests.browser.contact_sheet`. Each explorable at two widths, in two themes.

Run it when explorables have changed their looks, and look at the sheets. `python -m tests.browser.contact_sheet softmax_backward`
takes some of them only; the single pictures, in full size, are in build/contact-sheet either way.
"""

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, PngImagePlugin

import autolab as torch
from autolab import widgets

ROOT = Path(__file__).parents[2]
SINGLE = ROOT / "build" / "contact-sheet"
WIDTHS = 900, 375
SHEETS = 3
SCALE = 0.5  # of the pictures on the sheets
COLUMNS, GAP, HEAD = 2, 12, 22  # explorables side by side; pixels between pictures, and for a name
COLOURS = 128


def layer_by_layer():
    """What the stepper and the live forms show."""
    torch.manual_seed(0)
    x, w = torch.randn(2, 3), torch.randn(3, 4, requires_grad=True)
    return torch.Stepper(((x @ w).relu() @ torch.ones(4, 1, requires_grad=True)).exp().mean())


MAKERS = {name: getattr(widgets, name) for name in widgets.__all__ if name not in ("Explorer", "quiz", "predict", "progress")} | {
    "Stepper": layer_by_layer,
    "explore": lambda: torch.explore(lambda x, y: x * y + x**2, x=(-3, 3), y=2.0),
    "live": lambda: widgets.live("x^2 * sin(x) + y", y=2.0),
    "compare": lambda: widgets.compare(lambda w: (w * 2 - 1) ** 2, lambda w: (w * 2).detach() * w, w=3.0),
    "train": lambda: widgets.train(steps=200).wait(),
}  # fmt: skip


def to_the_middle(page):
    """An explorable with steps is looked at in their middle, one with actions after three."""
    step = page.get_by_role("toolbar").first.get_by_role("button", name="Step", exact=True)
    actions = page.get_by_role("group", name="Actions").first.get_by_role("button")
    if step.count():
        page.get_by_role("toolbar").first.get_by_role("slider").evaluate(
            "(e) => { e.value = Math.ceil(e.max / 2); for (const type of ['input', 'change']) e.dispatchEvent(new Event(type)); }"
        )
    else:
        for _ in range(3 * bool(actions.count())):
            actions.first.click()
    page.mouse.move(0, 0)


def pictures(names):
    """The pictures of each explorable: name -> (width, theme) -> picture."""
    from playwright.sync_api import sync_playwright

    SINGLE.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("AUTOLAB_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(reduced_motion="reduce")
        for name in names:
            page.goto(MAKERS[name]().save_html(Path(folder) / "page.html").as_uri())
            page.wait_for_selector("[data-autolab] > *", state="attached")
            to_the_middle(page)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                for theme in "light", "dark":
                    page.emulate_media(color_scheme=theme)
                    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # laid out anew
                    shot = page.screenshot(path=SINGLE / f"{name}-{width}-{theme}.png", clip=page.evaluate(
                        "() => ({x: 0, y: 0, width: innerWidth, height: document.querySelector('main').getBoundingClientRect().bottom + 8})"
                    ), full_page=True)  # fmt: skip
                    yield name, width, theme, Image.open(io.BytesIO(shot)).convert("RGB")
        browser.close()


def block(name, shots):
    """One explorable: its name, and its pictures beside each other."""
    small = [shot.resize([round(side * SCALE) for side in shot.size], Image.Resampling.LANCZOS) for shot in shots]
    whole = Image.new("RGB", (sum(s.width + GAP for s in small), HEAD + max(s.height for s in small)), "#808080")
    ImageDraw.Draw(whole).text((0, 2), name, "white", ImageFont.load_default(16))
    left = 0
    for shot in small:
        whole.paste(shot, (left, HEAD))
        left += shot.width + GAP
    return whole


def sheet(blocks, path):
    """Blocks below each other, in columns of about the same height, and their names in the file."""
    columns, heights = [[] for _ in range(COLUMNS)], [0] * COLUMNS
    for one in blocks.values():
        shortest = heights.index(min(heights))
        columns[shortest].append(one)
        heights[shortest] += one.height + GAP
    wide = max(one.width for one in blocks.values())
    whole = Image.new("RGB", (GAP + wide * COLUMNS, GAP + max(heights)), "#808080")
    for k, column in enumerate(columns):
        top = GAP
        for one in column:
            whole.paste(one, (GAP + wide * k, top))
            top += one.height + GAP
    told = PngImagePlugin.PngInfo()
    told.add_text("explorables", " ".join(blocks))
    whole.quantize(COLOURS, Image.Quantize.MEDIANCUT, kmeans=2, dither=Image.Dither.NONE).save(path, optimize=True, pnginfo=told)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB, {whole.width} x {whole.height}")


def main(names):
    """Take the pictures; of all explorables, also make the sheets."""
    shots = {}
    for name, _, _, shot in pictures(names or MAKERS):
        shots.setdefault(name, []).append(shot)
    blocks = {name: block(name, four) for name, four in shots.items()}
    if names:
        sheet(blocks, SINGLE / "some.png")
        return
    every = list(blocks)
    for k in range(SHEETS):
        part = every[k * len(every) // SHEETS : (k + 1) * len(every) // SHEETS]
        sheet({name: blocks[name] for name in part}, ROOT / "docs" / "images" / f"contact-sheet-{k + 1}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
