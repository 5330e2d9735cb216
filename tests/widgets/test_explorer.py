"""explore() as Python knows it, without a browser."""

import json

import pytest
import traitlets

import autolab as torch

pytest.importorskip("anywidget")


def parabola(x, y):
    return x * y + x**2


def test_values_and_gradients_at_a_position():
    explorer = torch.explore(parabola, x=(-3, 3), y=2.0)
    assert explorer.sentence == "x = 1, y = 2: the result is 3; its gradient is 4 for x and 1 for y."
    assert explorer.move(x=-1.5).sentence == ("x = -1.5, y = 2: the result is -0.75; its gradient is -1 for x and -1.5 for y.")


def test_every_number_is_the_engines_own():
    explorer = torch.explore(lambda x: (x.sin() * 3).exp(), x=(-2, 2))
    for at in (-1.7, 0.3, 1.9):
        x = torch.tensor(at, requires_grad=True)
        (x.sin() * 3).exp().backward()
        (leaf,) = [s for s in explorer.move(x=at).trace.steps if s.grad is not None]
        assert leaf.grad.after.data == x.grad.item()


def test_every_stop_of_one_slider_is_computed_in_advance():
    explorer = torch.explore(parabola, x=(-3, 3), y=2.0)
    assert len(explorer.presets) == len(explorer.inputs[0]["stops"]) == 61
    assert explorer.presets["41"] == explorer.move(x=1.1).frame


def test_the_kernel_is_asked_for_several_sliders():
    explorer = torch.explore(parabola, x=(-3, 3), y=(0, 1))
    assert explorer.presets == {}
    explorer.values = {"x": 2.0, "y": 0.5}
    assert explorer.frame["values"] == {"x": 2.0, "y": 0.5}
    assert explorer.sentence.startswith("x = 2, y = 0.5: the result is 5;")


@pytest.mark.parametrize(("given", "stops"), [
    ((-3, 3), [-3, -2.9, -2.8]), ((0, 2), [0, 0.05, 0.1]), ((0, 1, 0.25), [0, 0.25, 0.5]), ((1e-3, 3e-3), [0.001, 0.00105]),
])  # fmt: skip
def test_stops_are_round_numbers(given, stops):
    explorer = torch.explore(lambda x: x * 1, x=given)
    assert explorer.inputs[0]["stops"][: len(stops)] == stops
    assert explorer.inputs[0]["stops"][-1] == given[1]


@pytest.mark.parametrize(("given", "start"), [
    ((-3, 3), 1), ((0, 5), 3), ((-2, 2), 1), ((0, 1), 0.7), ((0, 7, 0.3), 4.5), ((-10, 10), 3), ((0, 1000), 700), ((-1, 0), -0.3),
    ((0, 1, 1), 0),
])  # fmt: skip
def test_a_slider_opens_at_a_number_with_few_digits(given, start):
    assert torch.explore(lambda x: x * 1, x=given).values == {"x": start}


def test_a_function_with_an_if_has_a_picture_for_each_branch():
    explorer = torch.explore(lambda x: x.exp() if x > 0 else x * 2, x=(-1, 1))
    assert len(explorer.pictures) == 2
    first, second = explorer.move(x=0.5).frame["picture"], explorer.move(x=-0.5).frame["picture"]
    assert first != second


def test_the_picture_stays_while_numbers_change():
    explorer = torch.explore(parabola, x=(-3, 3), y=2.0)
    assert len(explorer.pictures) == 1


def test_weights_outside_the_function_have_their_names():
    weight = torch.tensor([2.0, 3.0], requires_grad=True)
    explorer = torch.explore(lambda x: (weight * x).sum(), x=(-1, 1))
    assert "weight" in explorer.pictures[0]["names"]
    assert weight.grad is None


def test_a_tensor_is_passed_as_it_is():
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    assert "5 for x" in torch.explore(lambda x, w: (w * x).sum(), x=(-1, 1), w=w).sentence


def test_where_the_function_fails_the_sentence_says_so():
    def picky(x):
        if x > 0.5:
            raise ValueError("too large for me")
        return x * 2

    explorer = torch.explore(picky, x=(-1, 1), stops=11)
    # the start is checked when the widget is made, so it must be where the function works
    assert explorer.move(x=1.0).sentence == "x = 1: ValueError: too large for me"
    assert explorer.move(x=0.0).frame["picture"] == 0


def test_what_is_not_a_number_is_shown():
    explorer = torch.explore(lambda x: x.log(), x=(-1, 1))
    assert explorer.move(x=-1.0).sentence == "x = -1: the result is nan; its gradient is -1 for x."


def test_values_are_clipped_to_the_sliders():
    assert torch.explore(parabola, x=(-3, 3), y=2.0).move(x=50).values == {"x": 3.0}


def test_an_unknown_slider_is_named():
    with pytest.raises(traitlets.TraitError, match=r"\['z'\]; the sliders are \['x'\]"):
        torch.explore(parabola, x=(-3, 3), y=2.0).move(z=1.0)


def test_a_slider_of_ipywidgets_drives_and_follows():
    explorer = torch.explore(parabola, x=(-3, 3), y=2.0)
    slider = explorer.slider("x")
    slider.value = 2.0
    assert explorer.values == {"x": 2.0}
    explorer.move(x=-1.0)
    assert slider.value == -1.0


def test_a_slider_of_ipywidgets_can_be_given():
    ipywidgets = pytest.importorskip("ipywidgets")
    slider = ipywidgets.FloatSlider(min=0, max=5, value=2)
    explorer = torch.explore(parabola, x=slider, y=2.0)
    assert explorer.values == {"x": 2.0}
    slider.value = 3.0
    assert explorer.sentence.startswith("x = 3, y = 2: the result is 15")


@pytest.mark.parametrize(("make", "error", "phrases"), [
    (lambda: torch.explore(3, x=(0, 1)), TypeError, ["function", "int"]),
    (lambda: torch.explore(parabola, x=1.0, y=2.0), ValueError, ["no slider", "(-3, 3)"]),
    (lambda: torch.explore(parabola, x=(1, 1), y=2.0), ValueError, ["x=(1, 1)", "empty"]),
    (lambda: torch.explore(parabola, x=(3, -3), y=2.0), ValueError, ["empty", "smaller"]),
    (lambda: torch.explore(parabola, x=(0, 1, 0), y=2.0), ValueError, ["step must be above 0"]),
    (lambda: torch.explore(parabola, x=(0, 1, 5), y=2.0), ValueError, ["at least 2"]),
    (lambda: torch.explore(parabola, x=(0, 1, 2, 3), y=2.0), TypeError, ["(low, high, step)"]),
    (lambda: torch.explore(parabola, x=("a", "b"), y=2.0), TypeError, ["finite numbers"]),
    (lambda: torch.explore(parabola, x=(0, 1), y="two"), TypeError, ["y is str", "a Tensor"]),
    (lambda: torch.explore(lambda x: x.item(), x=(0, 1)), TypeError, ["return a Tensor", "float"]),
    (lambda: torch.explore(lambda x: None, x=(0, 1)), TypeError, ["Did you forget `return`"]),
    (lambda: torch.explore(lambda x: x * torch.ones(3), x=(0, 1)), RuntimeError, ["single number", "[3]", ".sum()"]),
    (lambda: torch.explore(lambda x: torch.tensor(1.0), x=(0, 1)), RuntimeError, ["depends on none of the inputs", "detach()"]),
    (lambda: torch.explore(parabola, x=(0, 1)), TypeError, ["missing 1 required positional argument: 'y'"]),
])  # fmt: skip
def test_what_cannot_be_explored_says_why(make, error, phrases):
    with pytest.raises(error) as caught:
        make()
    assert all(phrase in str(caught.value) for phrase in phrases)


# -- other forms ----------------------------------------------------------------------------------------


def test_a_notebook_without_a_kernel_has_a_picture_and_a_text():
    data, _ = torch.explore(parabola, x=(-3, 3), y=2.0)._repr_mimebundle_()
    assert data["image/svg+xml"].startswith("<svg")
    assert data["text/plain"].startswith("x = 1, y = 2: the result is 3;")


def test_a_page_has_every_position_of_its_sliders(tmp_path):
    explorer = torch.explore(parabola, x=(-3, 3), y=(0, 1))
    data = explorer.offline()
    stops = [len(i["stops"]) for i in data["inputs"]]
    assert stops[0] * stops[1] == len(data["presets"]) <= 1500
    assert data["values"] == data["frame"]["values"]
    assert "x =" in explorer.save_html(tmp_path / "page.html").read_text("utf-8")


def test_a_page_that_is_too_long_finds_its_grid_in_a_few_attempts(monkeypatch):
    tried = []
    explorer = torch.explore(parabola, x=(-3, 3), y=(0, 1))
    monkeypatch.setattr(explorer, "_page_bytes", 20_000)
    monkeypatch.setattr(explorer, "_on_grid", lambda count, made=explorer._on_grid: tried.append(count) or made(count))
    stops = [len(i["stops"]) for i in explorer.offline()["inputs"]]
    assert 7 < max(stops) < max(tried)
    assert len(tried) <= 7


def test_a_page_with_too_many_sliders_is_refused(tmp_path):
    explorer = torch.explore(lambda **all: sum(all.values()), **dict.fromkeys("abcdef", (0, 1)))
    with pytest.raises(ValueError, match="6 sliders have too many"):
        explorer.save_html(tmp_path / "page.html")


def test_what_the_browser_gets_is_strict_json():
    state = torch.explore(lambda x: x.log(), x=(-1, 1)).get_state()
    json.dumps({k: v for k, v in state.items() if k != "layout"}, allow_nan=False)


def test_presets_are_small():
    explorer = torch.explore(lambda x: ((x * 3 + 1).sin() ** 2 + x).exp() * x, x=(-3, 3))
    assert len(json.dumps(explorer.presets)) < 61 * 600
