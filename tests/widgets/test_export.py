"""Explorables as files: pages, pictures, strips and animations."""

import re
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import autolab as torch
from autolab.draw import chart
from autolab.draw.style import PALETTE, STYLE

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
    assert said(steps().save(tmp_path / "a.svg")) == ["step 3"]  # none has been taken: the last, as in print
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


def test_what_is_elsewhere_in_the_next_picture_of_an_animation_glides_there(tmp_path):
    def make(x):
        moves = chart.keyed("moves", chart.rectangle(10 * x, 20, 8, 8)) + chart.keyed("twin", chart.words(5, 50, "a"))
        return Frame("A sentence.", [moves, chart.keyed("twin", chart.words(5 + x, 50, "b")), chart.keyed("stays", '<path d="M3 4h2"/>')])

    panel = Panel("Moves", [slider("x", (1, 3))], make, [], (200, 60))
    first, second = panel.film(tmp_path / "a.svg", seconds=1).read_text("utf-8").split('class="al-film"')[1:]
    told = re.findall(r'<g (?:style="([^"]*)" )?data-key="(\w+)"', second)
    assert told == [("--x:-20px;--y:0px", "moves"), ("", "twin"), ("--x:-2px;--y:0px", "twin"), ("", "stays")]
    assert "--x" not in first


def test_an_animation_has_steps_that_a_strip_leaves_out(tmp_path):
    assert len(said(steps(29).film(tmp_path / "a.svg", seconds=1))) == 60
    assert len(said(steps(29).film(tmp_path / "b.svg"))) == 24


def test_a_film_of_a_game_ends_with_its_end(tmp_path):
    widgets = pytest.importorskip("autolab.widgets")
    assert "You win: 5 runs" in " ".join(said(widgets.checkpoint_game(3, 1).film(tmp_path / "a.svg"))[-4:])
    assert "each visited once, give x.grad" in " ".join(said(widgets.paths(blocks=2).film(tmp_path / "b.svg"))[-3:])


def test_an_animation_is_an_svg_or_a_gif(tmp_path):
    assert "@keyframes" in steps().film(tmp_path / "a.svg", seconds=1).read_text("utf-8")
    with pytest.raises(ValueError, match="a.png: an animation is written as .svg or .gif; without `seconds`, the states are a strip"):
        steps().film(tmp_path / "a.png", seconds=1)


@pytest.mark.skipif(not any(map(shutil.which, export.TOOLS[".png"])), reason="no program that draws an SVG in pixels")
def test_the_paper_of_a_gif_is_white(tmp_path):
    image = pytest.importorskip("PIL.Image")
    x = torch.tensor(2.0, requires_grad=True)
    with image.open(torch.Stepper((x * x + x).exp()).film(tmp_path / "a.gif")) as film:
        assert {frame.convert("RGB").getpixel((3, 3)) for frame in frames_of(film)} == {(255, 255, 255)}


@pytest.mark.skipif(not any(map(shutil.which, export.TOOLS[".png"])), reason="no program that draws an SVG in pixels")
def test_a_gif_has_the_colours_of_its_pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    explorer = torch.explore(lambda x, y: x * y + x**2, x=(-3, 3), y=2.0)
    with image.open(explorer.film(tmp_path / "a.gif", states=[{"x": 1}])) as film:
        common = sorted(film.convert("RGB").getcolors(1 << 24))[-4:]
    expected = {PALETTE[name][0] for name in ("paper", "leaf-fill", "op-fill", "out-fill")}
    assert {f"#{r:02x}{g:02x}{b:02x}" for _, (r, g, b) in common} == expected


@pytest.mark.skipif(not any(map(shutil.which, export.TOOLS[".png"])), reason="no program that draws an SVG in pixels")
def test_a_gif_shows_each_state_for_so_long_and_tells_its_sentences(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(export, "ONE_SHOT", 200)  # two pictures of 92 pixels
    with image.open(steps().film(tmp_path / "a.gif", seconds=0.5)) as film:
        assert film.info["comment"].decode().split("\n") == ["Steps", "At step 0.", "At step 1.", "At step 2.", "At step 3."]
        assert (film.size, film.info["loop"]) == ((400, 184), 0)
        frames = [(frame.info["duration"], frame.convert("L").point(lambda v: v < 128).getbbox()) for frame in frames_of(film)]
    assert [duration for duration, _ in frames] == [500] * 4
    assert all(box[0] > 10 and 30 < box[1] < 70 and box[3] > 125 for _, box in frames)  # the picture above, its sentence below


def frames_of(film):
    for k in range(film.n_frames):
        film.seek(k)
        yield film


def test_what_a_film_needs_is_said(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="a.svg: seconds is 0, expected a number above 0"):
        steps().film(tmp_path / "a.svg", seconds=0)
    with pytest.raises(ValueError, match="a.svg: a film needs one state at least, and `states` is empty"):
        steps().film(tmp_path / "a.svg", [])
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r'a.gif: a GIF needs Pillow, which is not installed: pip install "autolab-grad\[lab\]"'):
        steps().film(tmp_path / "a.gif")


def test_a_stepper_is_filmed_step_by_step(tmp_path):
    x = torch.tensor(2.0, requires_grad=True)
    stepper = torch.Stepper(x * x + x)
    told = " ".join(said(stepper.film(tmp_path / "a.svg")))
    expected = ["Ready. + (AddBackward0) fires first.", *(step.sentence for step in stepper.trace.steps)]
    assert [f"{k}. {sentence}" in told for k, sentence in enumerate(expected, 1)] == [True] * 4
    with pytest.raises(ValueError, match="states are .9.; this backward pass has the steps 0 to 3"):
        stepper.film(tmp_path / "a.svg", [9])


def test_a_function_is_filmed_along_its_first_slider(tmp_path):
    explorer = torch.explore(lambda x, y: x * y, x=(0, 1), y=(-1, 1))
    told = [t for t in said(explorer.film(tmp_path / "a.svg", seconds=1)) if t.startswith("x = ")]
    assert (len(told), told[0][:5], told[-1][:5]) == (12, "x = 0", "x = 1")
    assert "x = 0.5, y = 1:" in " ".join(said(explorer.film(tmp_path / "b.svg", [{"x": 0.5, "y": 1.0}])))


def test_what_a_picture_is_made_of_has_its_looks_in_a_file_too():
    """Not from the page's style sheets alone: what python draws is styled by `STYLE`."""
    root = Path(export.__file__).parents[1]
    drawn = set(re.findall(r"\bal-[a-z-]+", "".join(p.read_text("utf-8") for p in [*root.glob("draw/*.py"), *root.glob("widgets/*.py")])))
    sheets = "".join(p.read_text("utf-8") for p in root.glob("widgets/static/*.css"))
    painted = re.findall(r"^\.(al-[a-z-]+)[^{},:\[]*\{[^}]*(?:fill|stroke)", sheets, re.MULTILINE)
    assert [name for name in painted if name in drawn and f".{name}" not in STYLE] == []
