"""Profiles: every operation and every node once, who ran within whom, and what the table says."""

import json

import numpy as np
import pytest

import autolab
from autolab.autograd.profiler import FunctionEvent, FunctionEventAvg, profile, record_function
from autolab.autograd.profiler_util import EventList
from autolab.engine.modes import modes
from autolab.profiler import ProfilerAction, schedule
from autolab.profiler import profile as scheduled


@pytest.fixture
def x():
    return autolab.ones(50, 50, requires_grad=True)


def names(p):
    return [event.name for event in p.function_events]


def test_a_profile_has_every_operation_and_every_node_in_the_order_in_which_they_ran(x):
    with profile() as p:
        (x * x).sum().backward()
    engine = "autograd::engine::evaluate_function: "
    assert [name for name in names(p) if not name.startswith(engine)] == [
        "aten::mul", "aten::sum", "SumBackward0", "MulBackward0", "torch::autograd::AccumulateGrad",
    ]  # fmt: skip


def test_an_operation_and_its_node_share_a_number(x):
    with profile() as p:
        (x * x).sum().backward()
    forward, backward = (next(e for e in p.function_events if e.name == name) for name in ("aten::mul", "MulBackward0"))
    assert forward.sequence_nr == backward.sequence_nr >= 0
    assert all(e.sequence_nr == -1 for e in p.function_events if e.name == "aten::gt")


def test_the_gradients_are_those_without_a_profile(x):
    with profile(record_shapes=True, profile_memory=True, with_stack=True):
        (x * 3).sum().backward()
    assert x.grad.tolist() == np.full((50, 50), 3.0).tolist()
    assert modes.profiler is None and modes.usual


def test_an_error_within_a_profile_ends_it_all_the_same(x):
    with pytest.raises(RuntimeError), profile() as p:
        x @ autolab.ones(3)
    assert modes.profiler is None and p.function_events is not None


def test_blocks_and_functions_get_a_line_that_holds_what_ran_within(x):
    @record_function("halve")
    def halve(t):
        return t / 2

    with profile() as p:
        with record_function("outer"):
            halve(x + 1)
    outer = p.function_events[0]
    assert [child.name for child in outer.cpu_children] == ["aten::add", "halve"]
    assert [child.name for child in outer.cpu_children[1].cpu_children] == ["aten::div"]
    assert outer.self_cpu_time_total <= outer.cpu_time_total


def test_without_a_profile_a_named_block_does_nothing(x):
    with record_function("unheard"):
        assert (x * 2).shape == x.shape


def test_shapes_are_recorded_on_request(x):
    with profile(record_shapes=True) as p:
        x @ autolab.ones(50, 4)
    assert p.function_events[0].input_shapes == [[50, 50], [50, 4]]
    assert "[[50, 50], [50, 4]]" in p.key_averages(group_by_input_shape=True).table()


def test_memory_is_the_net_change_in_bytes():
    big = autolab.ones(1000, 100, dtype=autolab.float64)
    with profile(profile_memory=True) as p:
        kept = big * 2
    event = p.function_events[-1]
    assert kept.shape == big.shape and 800_000 <= event.cpu_memory_usage < 900_000
    assert "CPU Mem" in p.table()


def test_the_table_is_sorted_cut_and_summed_up(x):
    with profile() as p:
        for _ in range(3):
            _ = x * 2
        _ = x + 1
    lines = p.key_averages().table(sort_by="count", row_limit=1).splitlines()
    assert lines[3].split()[0] == "aten::mul" and lines[3].split()[-1] == "3"
    assert lines[-1].startswith("Self CPU time total: ") and "aten::add" not in "".join(lines)
    assert str(p) == p.table()


def test_a_table_cannot_be_sorted_by_what_events_do_not_have(x):
    with profile() as p:
        _ = x * 2
    with pytest.raises(AttributeError, match="self_cpu_time_total"):
        p.table(sort_by="beauty")


def test_a_running_profile_has_no_table_yet():
    with profile() as p:
        assert str(p) == "<unfinished torch.autograd.profile>" and p.function_events is None
        with pytest.raises(RuntimeError, match="didn't finish running"):
            p.table()


def test_a_trace_for_the_browser_has_every_event_and_arrows_from_forward_to_backward(x, tmp_path):
    with profile() as p:
        (x * x).sum().backward()
    p.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X"] == names(p)
    assert {e["id"] for e in events if e["ph"] == "s"} == {e["id"] for e in events if e["ph"] == "f"} != set()


def test_who_ran_within_whom_is_told_from_the_times():
    spans = [(1, 0, 1), (1, 1, 2), (0, 0, 2), (0, 1, 2), (0, 1, 3)]
    events = EventList(FunctionEvent(i, "", thread, start, end) for i, (thread, start, end) in enumerate(spans, 1))
    events._populate_cpu_children()
    assert [[child.id for child in event.cpu_children] for event in events] == [[], [], [], [], [4]]


def test_averages_add_up():
    average = FunctionEventAvg()
    average.add(FunctionEvent(0, "foo", 0, 10, 15)).add(FunctionEvent(1, "foo", 0, 20, 30))
    average.add(average)
    assert (average.key, average.count, average.cpu_time_total, average.self_cpu_time_total, average.cpu_time) == ("foo", 4, 30, 30, 7.5)


@pytest.mark.parametrize(
    "plan", [{"wait": 1, "warmup": 1, "active": 2}, {"wait": 0, "warmup": 2, "active": 1, "repeat": 2, "skip_first": 3}]
)
def test_a_schedule_is_pytorchs(torch, plan):
    ours, theirs = schedule(**plan), torch.profiler.schedule(**plan)
    assert [ours(step).name for step in range(15)] == [theirs(step).name for step in range(15)]


def test_a_scheduled_profile_hands_over_each_time_its_steps_are_recorded(x):
    handed = []
    plan = schedule(wait=1, warmup=0, active=2, repeat=2)
    with scheduled(schedule=plan, on_trace_ready=lambda p: handed.append([e.key for e in p.events() if e.key.startswith("Pr")])) as p:
        for _ in range(8):
            _ = x * 2
            p.step()
    assert handed == [["ProfilerStep#1", "ProfilerStep#2"], ["ProfilerStep#4", "ProfilerStep#5"]]


def test_a_profile_is_handed_over_when_its_last_step_is_counted(x):
    numbers = []
    with scheduled(schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=lambda p: numbers.append(p.step_num)) as p:
        for _ in range(5):
            _ = x * 2
            p.step()
    assert numbers == [4]  # as in PyTorch


def test_a_profile_without_a_schedule_records_all(x):
    with scheduled() as p:
        _ = x * 2
    assert [event.key for event in p.key_averages()] == ["aten::mul"]
    assert schedule(wait=0, warmup=0, active=1)(0) is ProfilerAction.RECORD_AND_SAVE
