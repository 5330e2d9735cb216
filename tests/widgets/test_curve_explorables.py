"""Explorables of functions and of training: what is drawn is what the engine computes."""

import json
import re
import time

import numpy as np
import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets.explorer import live


def texts(panel):
    return re.findall(r"<text[^>]*>([^<]*)<", panel.picture())


def lines(panel, kind):
    """The points of each line of a kind, piece by piece."""
    paths = re.findall(rf'<path d="([^"]*)" class="al-l al-l-{kind}"', panel.picture())
    return [[tuple(map(float, p.split())) for p in piece.split("L")] for path in paths for piece in path.split("M")[1:] if "L" in piece]


def handles(panel):
    found = re.findall(r'data-along-x="(\w*)" data-along-y="(\w*)".*?translate\(([-\d.]+) ([-\d.]+)\)', panel.picture())
    return {(x, y): (float(px), float(py)) for x, y, px, py in found}


# -- chain rule ------------------------------------------------------------------------------------


def test_each_operation_has_its_curve_and_sends_what_it_receives_times_its_slope():
    panel = widgets.chain_rule(lambda x: torch.sin(torch.exp(x**2)), x=(0, 1)).move(x=0.5)
    said = texts(panel)
    slopes = [float(t.split()[1]) for t in said if t.startswith("slope ")]
    sent = [float(t.split()[1]) for t in said if t.startswith("sends ")]
    received = [float(t.split("= ")[1]) for t in said if t.startswith("g = ")]
    assert [t for t in said if t in ("xʸ", "eˣ", "sin")] == ["xʸ", "eˣ", "sin"]
    assert sent == pytest.approx([g * d for g, d in zip(received, slopes[1:])], rel=0.02)
    assert received[:-1] == pytest.approx(sent[1:], rel=0.02)
    assert sent[0] == pytest.approx(slopes[0], rel=0.02)  # what arrives at x is the slope of the whole


def test_the_handle_is_on_the_curve_at_every_stop():
    panel = widgets.chain_rule(x=(-2, 2))
    (curve,) = [line for line in lines(panel, "a") if len(line) > 100 and line[0][0] < 100]
    for x in (-2, -1.2, 0.4, 2):
        px, py = handles(panel.move(x=x))["x", ""]
        assert px == pytest.approx(panel.tracks["x"][panel.at["x"]], abs=0.1)
        assert py == pytest.approx(np.interp(px, *zip(*curve)), abs=1.5)


def test_a_function_with_an_if_has_the_operations_of_its_branch():
    panel = widgets.chain_rule(lambda x: x.exp() if x > 0 else 3 * x + 1, x=(-1, 1))
    assert "eˣ" in texts(panel.move(x=0.5)) and "eˣ" not in texts(panel.move(x=-0.5))
    assert {"×", "+"} <= set(texts(panel))


@pytest.mark.parametrize("f", [
    lambda x: -1.23456e-5 * x * 98765.4 + x.sin() * x.exp(), lambda x: (1 / (x * 1e-7)).tanh() * 1e9, lambda x: torch.nn.functional.softplus(x) / 1e6,
])  # fmt: skip
def test_words_fit_into_the_picture_of_an_operation(f):
    panel = widgets.chain_rule(f, x=(-2, 2))
    for x in (-1.7777, 0.0667, 2):
        panel.move(x=x)
        tiles = [t for left, t in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*)<', panel.picture()) if float(left) > 276]
        assert len(tiles) >= 4 and max(map(len, tiles)) <= 15


def test_a_weight_that_is_no_function_of_x_stands_aside():
    w = torch.tensor(3.0, requires_grad=True)
    panel = widgets.chain_rule(lambda x: w * x, x=(-1, 1)).move(x=0.5)
    assert {"slope 3", "sends 3"} <= set(texts(panel))
    assert "slope 0.5" not in texts(panel)


def test_where_a_function_jumps_its_curve_is_interrupted():
    for line in lines(widgets.chain_rule(lambda x: x.round() + 0 * x, x=(-2, 2)), "a"):
        assert all(abs(y1 - y0) < 5 for (_, y0), (_, y1) in zip(line, line[1:]))


# -- two gradients ---------------------------------------------------------------------------------


def test_a_gradient_that_jumps_is_not_drawn_as_a_slope():
    panel = widgets.two_gradients(torch.relu, torch.abs)
    steep = [(a, b) for line in lines(panel, "a") for a, b in zip(line, line[1:]) if a[0] > 276 and abs(b[1] - a[1]) > 5]
    assert steep == []


def test_functions_are_chosen_from_a_menu():
    panel = widgets.two_gradients().move(f="round", g="sigmoid", x=0)
    assert [row[:3] for row in panel.rows] == [["round", "0", "0"], ["sigmoid", "0.5", "0.25"]]
    assert panel.undo().rows[0][0] == "relu"


def test_a_rule_that_is_not_the_slope_of_its_curve_is_named_and_no_other():
    panel = widgets.two_gradients(x=(-3, 3))
    panel.move(f="abs", g="StraightThrough", x=1.5)
    assert panel.sentence.endswith("abs gives 1.5 and gradient 1; StraightThrough gives 2 and gradient 1.")  # it jumps there
    assert panel.rows[1][3] == "none: it jumps"
    for name in "relu", "round", "sigmoid", "abs":
        assert all("though" not in panel.move(f=name, g=name, x=at).sentence for at in (-3, -0.5, 0, 0.2, 3)), name
    assert panel.move(g="StraightThrough", x=0.3).sentence.endswith("gradient 1, though its curve has slope 0 there.")


@pytest.mark.parametrize("x", [-3.0, -0.6, 2.4])
def test_the_line_at_the_point_has_the_slope_of_the_rule_and_stays_in_the_frame(x):
    panel = widgets.two_gradients(torch.abs, torch.sigmoid).move(x=x)
    found = [(line[0], line[-1]) for line in lines(panel, "grad")]
    steep = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in found]
    assert steep[1] / steep[0] == pytest.approx(float(panel.rows[1][2]) / float(panel.rows[0][2]), abs=0.01)
    (left, right), (top, bottom) = [(min(v), max(v)) for v in zip(*(p for line in lines(panel, "a") for p in line if p[0] < 276))]
    assert all(left <= px <= right and top - 25 <= py <= bottom + 25 for line in found for px, py in line)


def test_two_functions_of_one_name_are_told_apart():
    panel = widgets.two_gradients(lambda x: x, lambda x: 2 * x, x=(0, 1)).move(x=1)
    assert [row[:2] for row in panel.rows] == [["f 1", "1"], ["f 2", "2"]]


# -- accumulation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [lambda w: w**2, lambda w: -(w**2), lambda w: 1e6 * w])
def test_the_bucket_holds_whatever_is_poured_in(f):
    bucket = widgets.accumulation(f, w=3.0)
    for _ in range(9):
        bucket.press("Backward")
    held = float(bucket.rows[1][1])
    ticks = [(float(y) - 5, float(t)) for y, t in re.findall(r'<text x="364.0" y="([\d.]+)"[^>]*>([-\d.e+]+)<', bucket.picture())]
    (low, a), (high, b) = ticks[0], ticks[-1]
    rects = [(float(y), float(h)) for y, h in re.findall(r'<rect x="380.0" y="([\d.]+)" [^/]*?height="([\d.]+)"', bucket.picture())]
    end = min(y for y, _ in rects) if held > 0 else max(y + h for y, h in rects)
    assert end == pytest.approx(low + (held - a) * (high - low) / (b - a), abs=1)
    assert 40 <= end <= 260


def test_w_stands_on_its_loss_wherever_steps_carry_it():
    bucket = widgets.accumulation(lambda w: w**2, w=3.0, lr=3.0)
    for action in ("Backward", "Step", "Backward", "Step"):
        bucket.press(action)
        assert "al-m-a" in bucket.picture()
    assert bucket.rows[0] == ["w", "57"]


# -- underflow -------------------------------------------------------------------------------------


def test_the_histogram_moves_with_the_handle():
    panel = widgets.underflow(torch.tensor([1e-6] * 9 + [1e-3]))

    def bar():
        return min(float(x) for x in re.findall(r'<rect x="([\d.]+)" [^/]*class="al-cell al-k-[ac]"', panel.picture()))

    first, start = bar(), handles(panel)["scale", ""][0]
    panel.move(scale=2.0**16)
    assert bar() - first == pytest.approx(handles(panel)["scale", ""][0] - start, abs=0.3)


# -- optimizer race --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def race():
    return widgets.optimizer_race(steps=12, rates=(0.05, 1.0))


def test_dragging_the_start_moves_all_paths_and_is_one_undo(race):
    before = race.reset().picture()
    race.move(x0=1.5, y0=2.0, step=0)
    assert [row[1:3] for row in race.rows] == [["1.5", "2"]] * 3
    assert race.picture() != before
    assert race.undo().picture() == before


def places(path):
    """The points of a path of M and l."""
    at = np.zeros(2)
    for pen, told in re.findall("([Ml])([^Ml]+)", path):
        at = np.array(re.findall(r"-?[\d.]+", told), float) + (at if pen == "l" else 0)
        yield at


def test_paths_that_leave_end_in_the_frame_and_are_told_apart(race):
    race.reset().move(rate=1.0, step=12)
    drawn = re.findall(r'<path d="([^"]+)" class="al-l al-l-([abc])" style="stroke-width:([\d.]+)px"', race.picture())
    thick = {kind: float(width) for _, kind, width in drawn if float(width) != 1.5}
    assert len(set(thick.values())) == 3
    points = np.array([point for d, *_ in drawn for point in places(d)])
    assert (points[:, 0] >= 61.5).all() and (points[:, 0] <= 276).all() and (points[:, 1] >= 11.5).all() and (points[:, 1] <= 330).all()
    assert "outside of the picture" in race.sentence or "left every number" in race.sentence


@pytest.mark.parametrize(("f", "x", "y", "told"), [
    (lambda x, y: (x - 0.37) ** 2 + (y + 0.61) ** 2, 0.37, -0.61, "minimum"), (lambda x, y: x + (y - 0.5) ** 2, -1, 0.5, "lowest"),
])  # fmt: skip
def test_the_minimum_is_marked_where_it_is(f, x, y, told):
    race = widgets.optimizer_race(f, start=(0.5, 0.5), x=(-1, 1), y=(-1, 1), steps=1, rates=(0.1,), momenta=(0.9,))
    (px, py) = re.search(r'd="M([\d.]+) ([\d.]+)h14[^"]*" class="al-plus"', race.picture()).groups()
    places = dict(zip(race.controls[0]["stops"], race.tracks["x0"])), dict(zip(race.controls[1]["stops"], race.tracks["y0"]))
    at = [np.interp(v, *np.array(sorted(p.items())).T) for v, p in zip((x, y), places)]
    assert (float(px) + 7, float(py)) == pytest.approx(at, abs=0.4)
    assert told in texts(race)


def test_momentum_is_a_slider_only_of_those_that_take_one():
    def fixed(p, lr):
        return torch.optim.SGD(p, lr=lr)

    alone = widgets.optimizer_race(steps=2, rates=(0.1,), optimizers={"plain": fixed})
    assert "momentum" not in [c["name"] for c in alone.controls]
    both = widgets.optimizer_race(lambda x, y: x**2 + y**2, steps=3, rates=(0.1,)).move(step=3, momentum=0)
    assert both.rows[0][3] == both.rows[1][3]  # momentum 0 is plain descent
    assert both.move(momentum=0.99).rows[0][3] != both.rows[1][3]


def test_a_page_knows_every_start_and_every_rate_at_every_step(race):
    frames = race.offline()["frames"]
    stops = {c["name"]: len(c["stops"]) for c in race.controls}
    start = {c["name"]: c["start"] for c in race.controls}
    for pair in [("x0", "y0"), ("rate", "step"), ("momentum", "step")]:
        for i, j in np.ndindex(*(stops[name] for name in pair)):
            assert race._key({**start, pair[0]: i, pair[1]: j}) in frames


# -- forward and back ------------------------------------------------------------------------------


def test_numbers_travel_along_the_edges_of_the_node_that_is_computed():
    panel = widgets.forward_and_back(lambda x, y: x * y + x, x=2.0, y=3.0)
    flights = [[f["text"] for f in panel.step().frame.get("flights", [])] for _ in range(6)]
    assert [sorted(f) for f in flights[:2]] == [["2", "3"], ["2", "6"]]
    assert [sorted(f) for f in flights[2:4]] == [["1", "1"], ["2", "3"]]
    kinds = ({f["kind"] for f in panel.move(step=2).frame["flights"]}, {f["kind"] for f in panel.move(step=3).frame["flights"]})
    assert kinds == ({"value"}, {"grad"})


# -- explore and live ------------------------------------------------------------------------------


def test_the_point_of_each_input_is_on_the_curve_of_the_result():
    explorer = torch.explore(lambda x, y: x * y + x**2, x=(-3, 3), y=(-2, 2)).move(x=2.0, y=-1.5)
    for name in ("x", "y"):
        curve, px, py, tangent = explorer.frame["plots"][name]
        path = re.search(r'd="([^"]*)" class="al-l al-l-a"', curve)[1]
        points = np.array([list(map(float, p.split())) for p in path[1:].split("L")])
        assert py == pytest.approx(np.interp(px, *points.T), abs=1)
        assert tangent.startswith("<path")
        (control,) = [c for c in explorer.inputs if c["name"] == name]
        assert px == control["track"][control["stops"].index(explorer.values[name])]


def test_a_slow_function_is_shown_without_curves_and_many_inputs_with_four():
    def slow(x):
        time.sleep(0.004)
        sum(range(400_000))
        return x * 2

    assert torch.explore(slow, x=(-1, 1), stops=3).frame["plots"] == {}
    assert len(torch.explore(lambda **all: sum(all.values()), **dict.fromkeys("abcdef", (0, 1))).frame["plots"]) == 4


@pytest.mark.parametrize(("typed", "value", "python"), [
    ("x^2", 4, "x**2"), ("x^2 + 1", 5, "x**2 + 1"), ("2^x", 4, "2**x"), ("x²", 4, "x**2"), ("-x^2", -4, "-x**2"), ("2×x", 4, "2*x"),
    ("x^-1", 0.5, "x**-1"), ("2^3^2 * x", 1024, "2**3**2 * x"),
])  # fmt: skip
def test_what_is_written_as_on_paper_is_read_and_taught(typed, value, python):
    engine = live(typed).move(x=2.0)
    assert engine.sentence.startswith(f"x = 2: the result is {value};")
    assert engine.hint.endswith(f"this is {python}.") and "Python writes" in engine.hint
    assert engine.type("x ** 3").hint == ""


@pytest.mark.parametrize(("typed", "said"), [
    ("3x", "a product is written with a star"), ("x y", "a product is written with a star"), ("sin", "sin is a function: write sin"),
    ("x | 1", "has more in it"), ("x % 2", "has more in it"), ("~x", "has more in it"), ("x // 2", "has more in it"),
    ("not x", "has more in it"), ("x < 1", "has more in it"), ("3(x + 1)", "none of the functions"),
])  # fmt: skip
def test_what_is_no_expression_is_said_in_words(typed, said):
    with pytest.raises(ValueError, match=said):
        live(typed)


def test_a_power_of_powers_does_not_stop_the_kernel():
    engine = live("x * 1")
    engine.expression = "9**9**9**9 * x"
    assert "OverflowError" in engine.problem


@pytest.mark.parametrize("start", [2.0, 0.123, -7, 0, 1e6])
def test_a_number_is_where_a_slider_starts(start):
    engine = live("x * y", y=start)
    (slider,) = [c for c in engine.inputs if c["name"] == "y"]
    assert engine.values["y"] == slider["start"] == start
    assert start in slider["stops"] and len(slider["stops"]) > 40
    assert slider["stops"][0] < start < slider["stops"][-1]


def test_a_page_of_a_live_engine_knows_its_examples():
    engine = live("x + 1", x=(0, 1, 0.5))
    engine.examples = ["x + 1", "x ** 2"]
    told = json.loads(json.dumps(engine.answers(), allow_nan=False))["expression"]
    assert engine.offline()["view"] == "live" and list(told) == engine.examples
    for expression, traits in told.items():
        assert traits["frame"]["sentence"] == live(expression, x=(0, 1, 0.5)).move(**traits["values"]).sentence


# -- training room ---------------------------------------------------------------------------------


def test_each_setting_is_a_training_of_its_own_that_undo_finds_again():
    room = widgets.train(steps=40).wait()
    sentence, at = room.sentence, dict(room.at)
    room.move(rate=0.3).wait()
    assert room.sentence.startswith("After 40 of 40") and room.sentence != sentence
    room.undo()
    assert (room.sentence, room.at) == (sentence, at)
    assert room.progress == 1.0 and not room.running


def test_other_settings_begin_with_the_same_weights():
    torch.manual_seed(3)
    room = widgets.train(steps=40, start=False)
    weight = room.model[0].weight.detach().numpy().copy()
    assert (room.move(rate=0.3).model[0].weight.detach().numpy() == weight).all()
    assert (room.move(noise=0.0).model[0].weight.detach().numpy() == weight).all()
    assert (room.move(weights="2").model[0].weight.detach().numpy() != weight).any()
    assert room.move(layers="4").model[0].weight.shape == (4, 2)


def test_a_room_has_three_kinds_of_points_and_four_activations():
    room = widgets.train(steps=40, activation="relu", start=False)
    assert isinstance(room.model[1], torch.nn.ReLU)
    assert isinstance(room.move(activation="gelu").model[1], torch.nn.GELU)
    room.move(points="spirals", noise=0.0)
    points, labels = torch.datasets.spirals(200, 2, noise=0.0)
    assert (room._run.data[0] == 2 * points).all() and (room._run.data[1] == labels).all()
    assert ["points", "spirals"] in room.rows and ["activation", "gelu"] in room.rows


def test_a_training_that_has_not_begun_waits_for_the_button():
    room = widgets.train(steps=40, start=False).move(noise=0.3)
    assert not room.running and room.progress == 0


def test_train_at_the_end_begins_again_or_says_why_not():
    room = widgets.train(steps=40).wait()
    assert room.start().wait().at["weights"] == 1
    assert room.sentence.startswith("After 40 of 40")
    own = widgets.train(torch.nn.Linear(2, 2), steps=40).wait()
    own.start().wait()
    assert own.frame["sentence"] == "All 40 steps are taken: the timeline goes back to each look, and train() begins again."
    assert not own.running and len(own.controls) == 1


def test_hidden_neurons_are_shown_as_they_are():
    room = widgets.train(steps=40, layers=(3,), activation="relu", start=False)
    run = room._run
    (seen,) = run.looks[0].hidden
    assert seen.shape == (120, 3)
    with torch.no_grad():
        assert np.allclose(seen, room.model[1](room.model[0](run._seen)).numpy())
    above = [bool((seen[:, k] > 0.21 * seen[:, k].max()).any() and seen[:, k].max() > 0) for k in range(3)]
    assert room.picture().count("al-heat-high") - 1 >= sum(above)  # one is in the style
    assert "no hidden neurons" in texts(widgets.train(torch.nn.Linear(2, 2), steps=2, start=False))


def test_a_page_of_a_room_has_the_sliders_that_were_moved():
    room = widgets.train(steps=40).wait()
    assert [c["name"] for c in room.offline()["controls"]] == ["step"]
    data = room.move(noise=0.3).wait().offline()
    assert [c["name"] for c in data["controls"]] == ["step", "noise"]
    assert data["frames"][",".join(str(k) for k in data["at"].values())]["sentence"] == room.sentence
    room.at = data["at"]  # as a page says it when Python is there again
    assert room.sentence.startswith("After 40 of 40")
