"""A page of an explorable is small, and what is packed into it is what Python sent."""

import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets import base, packing
from autolab.widgets.questions import number

MOST = 150_000  # bytes
w = torch.tensor([0.5, -1.0], requires_grad=True)
WITH_ARGUMENTS = {
    "Stepper": lambda: widgets.Stepper((w * torch.tensor([2.0, 3.0]) + 1).relu().sum()),
    "explore": lambda: widgets.explore(lambda x, y: x * y + x**2, x=(-3, 3), y=2.0),
    "compare": lambda: widgets.compare(lambda w: (w * 2 - 1) ** 2, lambda w: (w * 2).detach() * w, w=3.0),
    "train": lambda: widgets.train().wait(),
    "quiz": lambda: widgets.quiz("Page", number("2 + 2?", 4, "Counted.")),
}
NAMES = [name for name in widgets.__all__ if name not in ("Explorer", "predict", "progress")]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_less_than_150_kilobytes(name, tmp_path):
    page = WITH_ARGUMENTS.get(name, getattr(widgets, name))().save(tmp_path / "page.html")
    assert page.stat().st_size < MOST


def test_a_page_of_five_trainings_has_less_than_150_kilobytes(tmp_path):
    room = widgets.train().wait()
    for change in ({"points": "spirals"}, {"points": "circles"}, {"activation": "relu"}, {"activation": "sigmoid"}):
        room.move(**change).start().wait()
    assert room.save(tmp_path / "page.html").stat().st_size < MOST


@pytest.mark.parametrize(
    "make",
    [
        lambda: widgets.live("x * y + sin(x)", y=2.0),
        lambda: widgets.explore(lambda x, y: torch.tanh(x * y + y**2) * torch.exp(-x * x), x=(-3, 3), y=(-3, 3)),
    ],
)
def test_two_sliders_have_as_many_stops_as_a_page_has_room_for(make, tmp_path):
    assert 100_000 < make().save(tmp_path / "page.html").stat().st_size < MOST


def test_saving_a_page_leaves_the_curves_of_the_live_widget_where_they_are():
    explorer = widgets.explore(lambda x, y: x * y, x=(-3, 3), y=(-3, 3))
    before = explorer.plots, list(explorer._plots)
    explorer.offline()
    assert (explorer.plots, list(explorer._plots)) == before


def spread(column):
    """What `spread` in page.mjs does."""
    if isinstance(column, list):
        return column
    if "by" in column:
        numbers, was = [], 0
        for step in column["by"]:
            was += step or 0
            numbers.append(None if step is None else was)
        return numbers
    if "rows" in column:
        rows, was = [], []
        for row in column["rows"]:
            was = [step + (was[i] if i < len(was) else 0) for i, step in enumerate(row)]
            rows.append(was)
        return rows
    if "at" in column:
        places = [iter(spread(place)) for place in column["at"]]
        return [[next(place) for place in places[:n]] for n in spread(column["lengths"])]
    of = {name: iter(spread(values)) for name, values in column["of"].items()}
    return [{name: next(of[name]) for name in column["shapes"][k]} for k in spread(column["shape"])]


COLUMNS = {
    "nothing": [], "numbers": [3, None, 0, -5], "reals": [0.5, 1, 2], "truths": [True, 0], "words": ["a", "b"], "mixed": [1, "a", None, []],
    "rows": [[4, 5], [6, 5, 1], [], [1, 2, 3], [0, 2]], "empty": [[], []], "lists": [["a"], ["b", "c"], []], "tables": [[["x", "1"]], [["x", "2"], ["y", "3"]]],
    "objects": [{"a": 1}, {"b": None, "a": 2}, {}], "nested": [{"next": {"go": None}}, {"next": {"go": 3, "back": 0}}],
    "no names": [{}, {}], "wide": [list("abc" * 40)] * 2,
}  # fmt: skip


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
def test_a_column_stands_for_its_list(values):
    assert spread(packing.column(values)) == values


def test_a_page_carries_its_own_view_only():
    code = base.module(base.FILES["quiz"])
    assert "VIEWS.quiz =" in code
    assert "VIEWS.panel =" not in code


def test_every_view_has_a_file():
    assert set(base.FILES) == {"stepper", "explorer", "live", "quiz", "panel", "builder"}
