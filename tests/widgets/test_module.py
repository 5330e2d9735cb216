"""The ES module and its style, as text."""

import re

import autolab.widgets.base as base
from autolab import widgets
from autolab.draw.style import PALETTE


def test_module_and_style_are_small():
    # the module is what is parsed and run; every view of all explorables is in it
    assert len(base.MODULE.encode()) < 120_000
    assert len(base.CSS.encode()) < 30_000


def test_the_module_depends_on_nothing():
    assert not re.search(r"^\s*import\b|\bimport\(|\brequire\(|https?:(?!//www\.w3\.org/2000/svg)", base.MODULE, re.M)


def test_the_module_makes_no_ids():
    assert not re.search(r"\bid:|\.id\s*=|setAttribute\(\"id\"|getElementById", base.MODULE)


def test_every_class_has_our_prefix():
    names = " ".join(re.findall(r'class: "([^"]+)"', base.MODULE)).split()
    assert names
    assert all(name.startswith("al-") for name in names)
    selectors = re.sub(r"\{[^}]*\}", "{}", re.sub(r"/\*.*?\*/", "", base.CSS, flags=re.S))
    foreign = {name for name in re.findall(r"\.([a-z][\w-]+)", selectors) if not name.startswith("al-")}
    assert foreign == {"vscode-dark", "jp-OutputArea-output", "jp-RenderedText"}  # a theme; text that a cell prints


def test_every_colour_of_the_style_is_in_the_palette():
    assert set(re.findall(r"var\(--al-([\w-]+)", base.CSS)) <= set(PALETTE)
    assert not re.search(r"#[0-9a-f]{3,6}\b", (base.STATIC / "autolab.css").read_text("utf-8"))


def names_on(sheet):
    """What `tests.browser.contact_sheet` has written into a picture."""
    start = sheet.index(b"tEXtexplorables")
    return sheet[start + 16 : start + 4 + int.from_bytes(sheet[start - 4 : start], "big")].decode().split()


def test_every_explorable_is_on_a_contact_sheet():
    sheets = [path.read_bytes() for path in (base.STATIC.parents[2] / "docs" / "images").glob("contact-sheet-*.png")]
    shown = [name for name in widgets.__all__ if name not in ("Explorer", "quiz", "predict", "progress")]
    assert sorted(name for sheet in sheets for name in names_on(sheet)) == sorted(shown)
    assert sum(map(len, sheets)) < 3_000_000
