"""Explorables as files: pages, pictures, strips and animations."""

import re
import shutil
import xml.etree.ElementTree as ET

import pytest

from autolab.draw import chart

pytest.importorskip("anywidget")

from autolab.widgets import export  # noqa: E402
from autolab.widgets.panel import Frame, Panel, slider, timeline  # noqa: E402


def steps(count=3):
    return Panel(
        "Steps", [timeline(count)], lambda step: Frame(f"At step {step:g}.", [chart.words(10, 30, f"step {step:g}")]), [], (200, 60)
    )


def slides():
    return Panel("Slides", [slider("x", (1, 2, 3))], lambda x: Frame(f"x is {x:g}.", [chart.words(10, 30, f"x {x:g}")]), [], (200, 60))


def said(path):
    return [el.text for el in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_the_suffix_says_what_is_saved(tmp_path):
    assert steps().save(tmp_path / "a.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert said(steps().move(step=2).save(tmp_path / "a.svg")) == ["step 2"]
    with pytest.raises(ValueError, match=r"a.docx: an explorable is saved as .html, .svg, .png or .pdf"):
        steps().save(tmp_path / "a.docx")


@pytest.mark.parametrize("tool", ["rsvg-convert", "inkscape", "chromium"])
@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_a_program_that_is_there_makes_pictures_for_print(tmp_path, monkeypatch, tool, suffix, start):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    monkeypatch.setitem(export.TOOLS, suffix, {tool: export.TOOLS[suffix][tool]})
    data = steps().save(tmp_path / f"a{suffix}").read_bytes()
    assert data.startswith(start)
    if suffix == ".png":
        assert [int.from_bytes(data[k : k + 4], "big") for k in (16, 20)] == [400, 120]  # two pixels for each


def test_without_such_a_program_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match=r"A .png file needs rsvg-convert \(apt install librsvg2-bin\), Inkscape or Chromium"):
        steps().save(tmp_path / "a.png")


def test_a_strip_has_the_pictures_with_their_sentences(tmp_path):
    panel = steps()
    assert said(panel.film(tmp_path / "a.svg")) == [t for k in range(4) for t in (f"step {k}", f"{k + 1}. At step {k}.")]
    assert panel.at == {"step": 0}
    assert said(slides().film(tmp_path / "b.svg", [{"x": 1}, {"x": 3}])) == ["x 1", "1. x is 1.", "x 3", "2. x is 3."]


def test_without_steps_a_strip_has_what_was_visited(tmp_path):
    assert said(slides().move(x=3).move(x=2).film(tmp_path / "a.svg"))[::2] == ["x 1", "x 3", "x 2"]


def test_a_long_timeline_is_told_in_twelve_pictures_with_both_ends(tmp_path):
    found = said(steps(100).film(tmp_path / "a.svg"))[::2]
    assert len(found) == 12 and found[0] == "step 0" and found[-1] == "step 100"


def test_pictures_of_a_strip_do_not_lie_on_each_other(tmp_path):
    text = steps(11).film(tmp_path / "a.svg").read_text("utf-8")
    places = [tuple(map(float, p)) for p in re.findall(r'<svg x="([\d.]+)" y="([\d.]+)"', text)]
    assert len(set(places)) == 12
    assert all(abs(ax - bx) >= 200 or abs(ay - by) >= 60 for i, (ax, ay) in enumerate(places) for bx, by in places[:i])


def test_an_animation_is_an_svg(tmp_path):
    assert "@keyframes" in steps().film(tmp_path / "a.svg", seconds=1).read_text("utf-8")
    with pytest.raises(ValueError, match="an animation is written as .svg"):
        steps().film(tmp_path / "a.gif", seconds=1)
