"""Checkpoint schedules: what is counted is what the engine runs, and the best is what dynamic programming and the binomials say."""

import itertools
import math

import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets import checkpointing
from autolab.widgets.checkpointing import fewest


@pytest.fixture(autouse=True)
def no_frames_in_advance(monkeypatch):
    monkeypatch.setattr("autolab.widgets.panel.PATIENCE", 0)


@pytest.fixture(scope="module")
def panel():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autolab.widgets.panel.PATIENCE", 0)
        return widgets.checkpoint_timeline()


def measured(layers, marks, reuse=True):
    return checkpointing._measure(checkpointing._plan(layers, marks, reuse), layers, torch.sin)


def revolve(layers, snapshots):
    """Griewank and Walther (2000): the fewest advances of a chain. `snapshots` counts the input; recorded runs are not counted."""
    r = next(r for r in range(layers) if layers <= math.comb(snapshots + r, snapshots))
    return r * layers - math.comb(snapshots + r, snapshots + 1)


def test_the_fewest_runs_are_those_of_revolve():
    for layers, slots in itertools.product(range(1, 31), range(5)):
        assert fewest(layers, slots)[0] == revolve(layers, slots + 1) + layers


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("slots", [0, 1, 2, 3])
def test_the_best_plan_takes_as_few_runs_in_the_engine_and_no_plan_takes_fewer(slots, reuse):
    counts = {marks: measured(6, marks, reuse).runs.total() for marks in itertools.combinations(range(1, 6), slots)}
    assert min(counts.values()) == fewest(6, slots, reuse)[0]
    assert counts[checkpointing._best(6, slots, reuse)] == min(counts.values())


@pytest.mark.parametrize(("marks", "alive"), [((), 1), ((6,), 2), ((4, 7), 3), ((3, 5, 7), 4)])
def test_no_more_values_are_alive_than_slots_and_the_one_that_is_used(marks, alive):
    assert measured(10, marks).most_alive == alive


@pytest.mark.parametrize(("marks", "reuse"), [((), True), ((6,), True), ((4, 7), True), ((2, 9), False)])
def test_every_plan_gives_the_gradient_of_the_chain(marks, reuse):
    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    layers = [torch.sin, torch.exp, torch.tanh, torch.cos, torch.sin] * 2
    expected = torch.autograd.grad(checkpointing._all_kept(layers, x).sum(), x)[0]
    assert torch.equal(torch.autograd.grad(checkpointing._plan(10, marks, reuse)(layers, x).sum(), x)[0], expected)


def test_layers_go_back_one_by_one_and_each_has_just_run():
    events = measured(10, (4, 7)).events
    assert [k for what, k in events if what == "back"] == list(range(10, 0, -1))
    assert all(before == ("forward", k) for before, (what, k) in itertools.pairwise(events) if what == "back")


def test_segments_of_checkpoint_sequential_run_twice_but_for_the_last(panel):
    table = {row[0]: row[1:] for row in panel.reset().rows}
    assert table["checkpoint_sequential, 2 segments"] == ["15", "2", "5"]
    assert table["checkpoint_sequential, 3 segments"][0] == str(10 + 3 + 3)
    assert table["every value is kept"][:2] == ["10", "1"] and table["only the input is kept"][0] == "55"


def test_the_middle_is_not_the_best_place_and_a_win_is_said(panel):
    assert panel.reset().sentence.endswith("With 1 slot 30 are enough: drag it.")
    assert [panel.move(slot1=k).sentence.startswith("You win") for k in range(1, 10)] == [k == 6 for k in range(1, 10)]
    assert panel.move(slot1=4, slot2=7).sentence.startswith("You win: 25 forward runs, the fewest with 2 slots. Parts of 4, 3 and 3 layers")


def test_where_a_free_slot_stays_empty_equal_parts_win(panel):
    said = panel.reset().move(reuse="stays empty").sentence
    assert said == "You win: 35 forward runs, the fewest with 1 slot. Parts of 5 and 5 layers: no slot is used twice."


def test_slots_that_are_not_used_or_wasted_are_said(panel):
    assert panel.reset().move(slot1=0).sentence.startswith("Only the input x is kept: 55 forward runs")
    assert panel.move(slot1=4, slot2=4).sentence.startswith("Two slots keep the same output, and one of them is wasted")


def test_the_code_is_what_pytorch_would_run(panel):
    code = panel.reset().move(slot1=6)._cached_frame(panel.at)["code"]
    assert code.splitlines()[1:] == ["h6 = checkpoint(layers_1_to_6, x, use_reentrant=False)", "y = layers_7_to_10(h6)"]


def test_pytorch_itself_runs_the_layers_in_this_order(torch, monkeypatch):
    from torch.utils.checkpoint import checkpoint

    calls, x = [], torch.full((4,), 0.5, requires_grad=True)
    layers = [lambda h, k=k: (calls.append(k), torch.sin(h))[1] for k in range(1, 11)]
    with monkeypatch.context() as patch:
        patch.setattr(checkpointing, "checkpoint", checkpoint)
        checkpointing._plan(10, (4, 7), True)(layers, x).sum().backward()
    assert calls == [k for what, k in measured(10, (4, 7)).events if what == "forward"]


@pytest.mark.parametrize("wrong", [{"layers": 3}, {"layers": 13}, {"slots": 0}, {"slots": 4}])
def test_what_has_no_room_is_refused(wrong):
    with pytest.raises(ValueError, match="room for"):
        widgets.checkpoint_timeline(**wrong)


def test_its_page_is_small_and_has_every_plan(panel, tmp_path):
    page = panel.reset().save(tmp_path / "page.html").read_text("utf-8")
    assert len(page) < 150_000 and len(panel.offline()["frames"]) == 200
