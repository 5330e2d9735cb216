"""Every explorable as Python knows it: it can be stepped, moved, undone and reset, and its numbers are the engine's own."""

import asyncio
import functools
import json
import re
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import traitlets

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets.export import SIZE
from autolab.widgets.functions import StraightThrough
from autolab.widgets.panel import Frame, Panel, StateMachine, slider, timeline


def small_room():
    return widgets.train(steps=40, start=False)


def worlds():
    return widgets.compare(lambda w: (w * 2 - 1) ** 2, lambda w: (w * 2).detach() * w, w=3.0)


NO_PANELS = {"Stepper", "graph_builder", "explore", "Explorer", "live", "quiz", "predict", "progress"}
# Each explorable by itself, but those that would take long or want an argument.
MAKERS = {name: getattr(widgets, name) for name in widgets.__all__ if name not in NO_PANELS} | {
    "memory_against_depth": lambda: widgets.memory_against_depth(depths=(2, 4), segments=(0, 2)),
    "underflow": lambda: widgets.underflow(torch.tensor([1e-9, 1.0])),
    "optimizer_race": lambda: widgets.optimizer_race(steps=4, rates=(0.01, 0.1)), "train": small_room, "compare": worlds,
    "forward_against_reverse": lambda: widgets.forward_against_reverse(sizes=(1, 2)),
    "fusion": lambda: widgets.fusion(x=torch.ones(100_000)),
    "vanishing_and_exploding": lambda: widgets.vanishing_and_exploding(depths=(2, 4), gains=(0.5, 1.0), width=8, batch=8),
    "checkpoint_timeline": lambda: widgets.checkpoint_timeline(5, 1),
    "implicit_function": lambda: widgets.implicit_function(stops=6), "expectation_gradients": lambda: widgets.expectation_gradients(mus=(0.0, 1.0)),
}  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return functools.cache(lambda name: MAKERS[name]())


@pytest.fixture(params=MAKERS)
def panel(request, made):
    return made(request.param).reset()


def moved(panel):
    """Change something, whatever can be changed."""
    for control in panel.controls:
        if control["kind"] == "actions":
            return panel.press(next(iter(panel._cached_frame(panel.at)["next"])))
        if len(control["stops"]) > 1:
            return panel._go({**panel.at, control["name"]: 1 if panel.at[control["name"]] != 1 else 0})
    raise AssertionError("nothing to move")


# -- what all have in common -----------------------------------------------------------------------


def test_undo_takes_the_last_change_back_and_reset_all(panel):
    start, sentence = dict(panel.at), panel.sentence
    moved(panel)
    assert panel.at != start
    assert panel.undo().at == start
    assert panel.sentence == sentence
    moved(panel)
    assert panel.reset().at == start


def test_what_nobody_has_moved_has_a_film_of_more_than_one_picture(panel):
    panel.past = []
    assert len({sentence for _, sentence in panel._stills(None)}) > 1


def test_a_still_has_a_size_in_whole_pixels_as_what_writes_it_wants(panel):
    assert SIZE.search(panel.picture())


def test_a_still_has_nothing_that_looks_as_if_it_could_be_dragged_or_pressed(panel):
    for svg, _ in panel._stills(None):
        inside = svg.split("</style>")[1]
        assert not re.findall(r'class="al-(?:ring|grip)"|role="(?:slider|button)"|al-held', inside)


def test_where_nothing_runs_steps_that_nobody_has_taken_are_seen_done(made):
    panel = made("broadcast_backward").reset()
    panel.past = []
    for printed in (panel.printed(), panel._repr_mimebundle_()[0]["image/svg+xml"]):
        assert "b.grad [4]" in printed
    assert "b.grad [4]" not in panel.picture()
    assert panel.move(step=1).printed() == panel.picture()


@pytest.mark.parametrize(("name", "at", "number", "times"), [
    ("matmul_backward", {}, "-1", 2), ("dual_numbers", {}, "1", 2), ("vector_jacobian", {}, "-1", 2), ("loop_to_vmap", {}, "1", 9),
    ("forward_and_back", {}, "= 1", 1), ("compare", {"step": 1}, "= 3", 2), ("gradient_graph", {}, "1.5", 1), ("convolution_backward", {}, "13", 3),
])  # fmt: skip
def test_a_still_has_the_number_that_is_dragged_elsewhere_where_it_belongs(made, name, at, number, times):
    assert made(name).reset().move(**at).picture().count(f">{number}</text>") == times


def test_a_point_that_is_dragged_elsewhere_is_a_point_in_a_still(made):
    rest = re.findall(r'translate\(([-\d.]+) ([-\d.]+)\)"><circle r="4.5" class="al-rest al-m-a"/>', made("underflow").reset().picture())
    assert [float(x) for x, _ in rest] == made("underflow").tracks["scale"][:1]


def test_undo_at_the_start_changes_nothing(panel):
    panel.past = []
    at = dict(panel.at)
    assert panel.undo().at == at


def test_a_frame_has_a_sentence_a_table_and_a_picture(panel):
    frame = panel._cached_frame(panel.at)
    assert len(frame["sentence"]) > 10
    assert frame["rows"] and all(len(row) <= len(panel.columns) for row in frame["rows"])
    picture = ET.fromstring(panel.picture())
    assert picture.tag.endswith("svg") and panel.sentence in picture.attrib["aria-label"]
    assert panel.sentence in panel.text()


def test_what_is_sent_is_json_and_a_part_is_sent_once(panel):
    state = panel.get_state()
    json.dumps({key: state[key] for key in state if not key.startswith("_") and key != "layout"}, allow_nan=False)
    assert len(set(panel.parts)) == len(panel.parts)
    assert not re.search(r"\sid=|https?:", "".join(panel.parts))


def test_a_page_without_a_kernel_has_every_frame(panel, tmp_path, monkeypatch):
    monkeypatch.setattr("autolab.widgets.panel.PAGE_STATES", 300)
    data = panel.offline()
    page = panel.save_html(tmp_path / "page.html").read_text("utf-8")
    assert len(page) < 1_000_000
    for frame in data["frames"].values():
        assert all(i < len(data["parts"]) for i in frame["picture"])
        assert {str(to) for to in frame.get("next", {}).values() if to is not None} <= set(data["frames"])
    if "ask" not in data and "progress" not in data:
        assert len(data["frames"]) == len(panel._positions())


# -- the panel itself --------------------------------------------------------------------------------


def double(x, step):
    if x == 2:
        raise ValueError("two is not shown")
    return Frame(f"{x * 2:g} at {step}", ["<path/>"], [[x]])


@pytest.fixture
def plain():
    return Panel("Plain", [slider("x", [0, 1, 2], start=1), timeline(2)], double, ["x"], (10, 10))


def test_a_value_goes_to_the_nearest_stop(plain):
    assert plain.move(x=0.4).sentence == "0 at 0"
    assert plain.step().sentence == "0 at 1"


def test_a_frame_that_raises_says_so_and_the_others_work(plain):
    assert plain.move(x=2).sentence == "x = 2, Step = 0: ValueError: two is not shown"
    assert plain.undo().sentence == "2 at 0"


def test_steps_stop_at_the_end(plain):
    assert plain.step().step().step().sentence == "2 at 2"


def test_unknown_controls_and_words_are_refused(plain, made):
    with pytest.raises(KeyError, match="no control 'y'; the controls are"):
        plain.move(y=1)
    with pytest.raises(traitlets.TraitError, match="the controls are"):
        plain.at = {"x": 1}
    with pytest.raises(ValueError, match="is none of joined, cut"):
        made("scissors").move(xa="glue")
    with pytest.raises(TypeError, match="no steps"):
        made("scissors").step()


def test_a_machine_goes_on_beyond_what_was_computed_in_advance():
    machine = StateMachine("Count", 0, lambda s, a: s + 1, lambda s: Frame(f"at {s}"), lambda s: ["more"], ["n"], (1, 1))
    machine._act = lambda s, a: s + 1000  # computed in advance up to 119
    for _ in range(121):
        machine.press("more")
    assert machine.sentence == "at 2119"
    assert machine.undo().sentence == "at 1119"


def test_a_page_of_a_machine_knows_more_than_the_widget_that_can_ask():
    machine = StateMachine("Count", 0, lambda s, a: s + 1, lambda s: Frame(f"at {s}"), lambda s: ["more"], ["n"], (1, 1))
    data = machine.offline()
    assert len(machine.frames) < 200 < len(data["frames"])
    assert data["frames"]["150"]["next"] == {"more": 151}
    assert data["frames"][str(len(data["frames"]) - 1)]["next"] == {"more": None}
    assert data["ask"] is None


def test_a_machine_answers_the_browser():
    counter = widgets.version_counter()
    for _ in range(3):
        counter.press("a.add_(1)")
    counter.ask = {"state": counter.at["state"], "action": "v.mul_(2)", "n": 1}
    assert counter.sentence.startswith("After v.mul_(2)")


def test_what_cannot_be_pressed_is_said(made):
    with pytest.raises(KeyError, match="none of what can be done here: Backward, Zero grad, Step"):
        made("accumulation").press("Forward")


def test_sliding_sends_positions_and_no_pictures(plain):
    sent = []
    plain.send_state = lambda key=None: sent.append(key)
    plain.move(x=0)
    assert not {"parts", "frames"} & {name for key in sent for name in ([key] if isinstance(key, str) else key or [])}


# -- each with its own numbers -------------------------------------------------------------------------


def test_own_derivatives_multiply_to_the_gradient():
    panel = widgets.chain_rule(lambda x: torch.sin(torch.exp(x**2)), x=(0, 1)).move(x=0.5)
    own = [float(row[3]) for row in panel.rows if row[3]]
    x = torch.tensor(0.5, requires_grad=True)
    torch.sin(torch.exp(x**2)).backward()
    assert len(own) == 3
    assert np.prod(own) == pytest.approx(x.grad.item(), rel=1e-4)


def test_where_paths_meet_it_is_said():
    assert "the products add to 11" in widgets.chain_rule(lambda x: x**2 + 5 * x, x=(0, 4)).move(x=3).sentence


def test_any_two_functions_can_be_compared_a_function_class_too():
    panel = widgets.two_gradients(torch.round, StraightThrough).move(x=1.3)
    assert panel.rows == [["round", "1", "0", "0"], ["StraightThrough", "1", "1", "0"]]


@pytest.mark.parametrize("make", [widgets.chain_rule, widgets.two_gradients])
def test_functions_that_cannot_be_drawn_are_refused(make):
    with pytest.raises(TypeError, match="returned float; it must return a Tensor"):
        make(lambda x: x.item())
    with pytest.raises(RuntimeError, match=r"has shape \[2\]"):
        make(lambda x: torch.stack([x, x]))
    with pytest.raises(ValueError, match="a pair"):
        make(torch.sin, x=3)


def test_forward_comes_before_backward():
    panel = widgets.forward_and_back(lambda x: (3 * x + 2) ** 2, x=1.0)
    said = [panel.sentence] + [panel.step().sentence for _ in range(7)]
    assert [s.split(":")[0] for s in said[1:]] == ["Forward"] * 3 + ["Back"] * 4
    assert said[-1] == "Back: x (AccumulateGrad) receives 30; x.grad becomes 30."


def test_gradients_fall_into_the_bucket():
    bucket = widgets.accumulation(lambda w: w**2, w=3.0, lr=0.1)
    for action, grad in [("Backward", "6"), ("Backward", "12"), ("Backward", "18"), ("Step", "18"), ("Zero grad", "none")]:
        assert bucket.press(action).rows[1] == ["w.grad", grad]
    assert bucket.rows[0] == ["w", "1.2"]
    assert "Step changes nothing" in bucket.press("Step").sentence


def test_the_race_is_run_by_the_real_optimizers():
    race = widgets.optimizer_race(lambda x, y: x**2 + y**2, start=(1.0, 1.0), steps=3, rates=(0.1,)).move(step=3)
    assert float(race.rows[0][3]) == pytest.approx(2 * 0.8**6, rel=1e-3)
    with pytest.raises(ValueError, match="room for three"):
        widgets.optimizer_race(optimizers=dict.fromkeys("abcd"))


def test_what_is_lost_is_what_half_loses():
    panel = widgets.underflow(torch.tensor([1e-9, 1e-6, 1e-3, 1.0]))
    assert "1 (25%) become zero" in panel.sentence
    with pytest.raises(ValueError, match="all of these gradients are zero"):
        widgets.underflow(torch.zeros(3))
    with pytest.raises(ValueError, match="no gradient to show"):
        widgets.underflow(torch.nn.Linear(2, 2))


def test_the_history_of_a_real_scaler_is_shown():
    assert "GradScaler&#x27;s history" in widgets.underflow().picture()


# -- the training room -----------------------------------------------------------------------------


def test_training_runs_in_the_background_and_can_be_stopped():
    room = widgets.train(steps=4000)
    assert room._thread.is_alive()
    room.stop()
    assert not room.running and 0 <= room.progress < 1
    done = room._done
    assert room.start().stop()._done > done


def test_with_one_thread_a_room_trains_in_turn_with_the_page(monkeypatch):
    monkeypatch.setattr("autolab.widgets.training.ONE_THREAD", True)
    turns = []

    async def page():
        room = widgets.train(steps=400)
        while room.running and len(turns) < 3:
            await asyncio.sleep(0)
            turns.append(room._done)
        return room

    with ThreadPoolExecutor(1) as beside:  # where no browser of an earlier test has a loop of its own
        room = beside.submit(asyncio.run, page()).result()
    assert room._thread is None and room.running and 0 < room._done < 400
    room.wait()
    assert room._done == 400 and not room.running
    assert turns[0] < 400


def test_a_room_that_is_stopped_and_started_at_once_goes_on():
    room = widgets.train(steps=40, start=False)
    fill, pressed = room._fill, []

    def pressed_while_it_ends(patience, most=0):
        fill(patience)
        if len(pressed) < 3:  # the thread has seen the stop and has not ended yet
            pressed.append(True)
            room.running = True

    room._fill = pressed_while_it_ends
    look = room._look

    def stopped():
        look()
        if len(pressed) < 3:
            room.running = False

    room._look = stopped
    assert room.start().wait().sentence.startswith("After 40 of 40 steps")
    assert not room.running


def test_a_trained_room_shows_every_look_again():
    room = widgets.train(steps=80).wait()
    assert room.progress == 1.0 and not room.running
    assert room.reset().sentence.startswith("After 0 of 80 steps")
    assert room.move(step=40).sentence.startswith("After 80 of 80 steps")
    assert room.start().wait().progress == 1.0  # nothing is left to do


def test_what_goes_wrong_in_the_background_is_raised_when_waited_for():
    calls = []

    def loss(scores, labels):
        calls.append(1)
        if len(calls) > 5:
            raise ZeroDivisionError("broken")
        return torch.nn.functional.cross_entropy(scores, labels)

    room = widgets.train(steps=40, loss=loss)
    with pytest.raises(ZeroDivisionError, match="broken"):
        room.wait()
    assert room.frame["sentence"] == "Training stopped after 2 steps: ZeroDivisionError: broken"  # where it is watched


def test_what_has_no_place_in_the_room_is_refused():
    with pytest.raises(ValueError, match="points in the plane"):
        widgets.train(data=torch.datasets.digits())
    with pytest.raises(ValueError, match="4 classes"):
        widgets.train(data=(torch.zeros(4, 2), torch.arange(4)))
    with pytest.raises(ValueError, match="expected one of relu"):
        widgets.train(activation="step")


# -- live --------------------------------------------------------------------------------------------


def test_an_expression_is_typed_anew():
    engine = widgets.live("x * y", y=2.0)
    assert engine.type("x + sin(y)").sentence.startswith("x = 1, y = 2: the result is 1.9093")
    engine.expression = "x +"
    assert "is not an expression" in engine.problem
    engine.expression = "z ** 2"
    assert engine.problem == "" and list(engine.values) == ["z"]


@pytest.mark.parametrize(("typed", "said"), [
    ("x.backward()", "has more in it"), ("[x]", "has more in it"), ("'x' * x", "has more in it"), ("3 + 4", "no input to slide"),
    ("open(x)", "none of the functions"), ("__import__('os')", "has more in it|none of the functions"),
])  # fmt: skip
def test_what_cannot_be_typed_is_said(typed, said):
    with pytest.raises(ValueError, match=said):
        widgets.live(typed)


def test_functions_of_the_wrong_kind_are_refused_in_words():
    with pytest.raises(TypeError, match="optimizer_race calls f with two numbers"):
        widgets.optimizer_race(lambda x: x)
    with pytest.raises(TypeError, match="return one number that depends on x and y"):
        widgets.optimizer_race(lambda x, y: 3.0)
    with pytest.raises(TypeError, match=r"calls make\(inputs, outputs\)"):
        widgets.forward_against_reverse(lambda x: x, sizes=(1,))
    with pytest.raises(TypeError, match="a Module from points .* got str"):
        widgets.train("moons")


def test_the_last_look_at_a_training_is_at_its_end():
    for steps in (1, 39, 60, 100):
        room = widgets.train(steps=steps).wait()
        assert room.sentence.startswith(f"After {steps} of {steps} steps")
        assert room.controls[0]["stops"][-1] == room.at["step"] <= 40


def test_a_training_has_a_still_figure(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    room = widgets.train(steps=20).wait()
    figure = room.figure()
    curve, plane = figure.axes
    assert re.fullmatch(r"loss [\d.]+ after 20 steps", curve.get_title())
    assert curve.lines[0].get_xdata()[-1] == 20
    assert len(plane.collections[0].get_offsets()) == 100
    figure.savefig(tmp_path / "room.pdf")
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert "after 1 steps" in room.move(step=1).figure().axes[0].get_title()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="needs matplotlib"):
        room.figure()


# -- what cannot be shown ---------------------------------------------------------------------------------

BAD = [
    (lambda: widgets.chain_rule("x**2"), "chain_rule needs a function of tensors, and got str: 'x\\*\\*2'"),
    (lambda: widgets.vector_jacobian({"f": 3}), "vector_jacobian needs a function of tensors, and got int: 3"),
    (lambda: widgets.version_counter(lambda a: None), "returned NoneType; it must return a Tensor computed from a"),
    (lambda: widgets.accumulation(lambda w: w * 1e300 * 1e300), "the gradient of f at w = 3 is inf"),
    (lambda: widgets.memory_against_depth(3), "layer makes a layer in each call, .* got int"),
    (lambda: widgets.memory_against_depth(lambda: None), "here it returned NoneType, which cannot be called"),
    (lambda: widgets.vanishing_and_exploding(depths=(0,)), "depths of at least one layer"),
    (lambda: widgets.underflow("abc"), "underflow needs a Module or Tensors, and got 'abc'"),
    (lambda: widgets.matmul_backward(torch.ones(0, 3), torch.ones(3, 2)), r"needs entries to show; A has shape \[0, 3\]"),
    (lambda: widgets.broadcast_backward("a", "b"), "expected a Tensor, or a shape such as \\(2, 3\\); got 'a'"),
    (lambda: widgets.broadcast_backward((-1, 2), (2,)), "got \\(-1, 2\\)"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "words"), BAD)
def test_what_cannot_be_shown_is_refused_in_a_sentence(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()
