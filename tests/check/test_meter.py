"""The time limit of a browser, which has neither signals nor threads, tried here: every kind of endless code is stopped, and shown."""

from __future__ import annotations

import itertools
import re
import sys
import time

import numpy as np
import pytest

import autolab as torch
from autolab.check import check
from autolab.check.run import limit as limits
from autolab.check.run import meter
from autolab.check.run.limit import limit
from autolab.check.run.meter import TooLong

pytestmark = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring came with Python 3.12")
SECONDS = 0.15


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setattr(limits, "ONE_THREAD", True)
    yield
    assert not meter.meters and meter.tool is None


def loop(g, x):
    while True:
        pass


def body(g, x):
    while True:
        g = np.sin(g)


def numbers(g, x):
    for _ in itertools.count():
        pass


def comprehension(g, x):
    return [0 for _ in itertools.repeat(0) if _]


def generator(g, x):
    def without_end():
        while True:
            yield 1

    return sum(without_end())


def handed_on(g, x):
    def without_end():
        yield from itertools.count()

    return sum(without_end())


def called_by_c(g, x):
    return max(iter(lambda: 0, 1))


def tree(g, x):
    def grow(n):
        return n and grow(n - 1) + grow(n - 1)

    return grow(60)


def bare_except(g, x):
    while True:
        try:
            g = g * 1.0
        except:  # noqa: E722
            pass


def bare_except_around_a_loop(g, x):
    while True:
        try:
            while True:
                g = g * 1.0
        except:  # noqa: E722
            pass


def bare_except_around_a_call(g, x):
    while True:
        try:
            body(g, x)
        except:  # noqa: E722
            continue


def slow_calls(g, x):
    while True:
        time.sleep(0.02)


def tensors(g, x):
    y = torch.tensor(1.0, requires_grad=True)
    while True:
        y = y * 1.0


ENDLESS = [
    loop, body, numbers, comprehension, generator, handed_on, called_by_c, tree, bare_except, bare_except_around_a_loop, bare_except_around_a_call,
    slow_calls, tensors,
]  # fmt: skip


@pytest.mark.parametrize("rule", ENDLESS, ids=lambda rule: rule.__name__)
def test_endless_code_is_stopped_and_its_line_shown(rule):
    start = time.perf_counter()
    (found,) = check("square", rule, seconds=SECONDS).diagnoses
    assert time.perf_counter() - start < 5
    assert found.family == "time"
    assert re.search(r"line \d+: ", found.text)
    assert f"did not come to an end within {SECONDS} seconds" in found.text


def test_it_calls_itself_without_end():
    def again(g, x):
        return again(g, x)

    assert [d.family for d in check("square", again).diagnoses] == ["recursion"]


def test_a_piece_of_an_engine_is_stopped_too():
    report = check("topological_order", lambda root: loop(None, root), seconds=SECONDS)
    assert [d.family for d in report.diagnoses] == ["time"]


def test_the_limit_outside_ends_the_block_inside():
    with pytest.raises(TooLong), limit(SECONDS), limit(60):
        loop(None, None)


def test_after_the_limit_inside_the_one_outside_goes_on():
    with pytest.raises(TooLong), limit(3 * SECONDS):
        with pytest.raises(TooLong), limit(SECONDS):
            loop(None, None)
        assert meter.meters
        loop(None, None)


def test_what_ends_in_time_is_left_alone():
    with limit(SECONDS):
        pass
    until = time.perf_counter() + 2 * SECONDS
    while time.perf_counter() < until:
        pass


def test_an_exception_inside_comes_out_and_the_limit_is_gone():
    with pytest.raises(ZeroDivisionError), limit(SECONDS):
        1 / 0  # noqa: B018


def test_the_way_out_of_a_block_is_not_interrupted(monkeypatch):
    monkeypatch.setattr(meter, "EVERY", 1)
    for _ in range(20):
        with limit(0):
            pass


def test_a_library_may_put_its_state_in_order():
    for _ in range(20):
        with pytest.raises(TooLong), limit(0.001), torch.no_grad():
            loop(None, None)
        assert torch.is_grad_enabled()


def test_time_in_which_others_compute_does_not_count():
    with limit(SECONDS, busy=True):
        for _ in range(20):
            time.sleep(SECONDS / 10)


@pytest.fixture
def tools(request):
    taken = [i for i in request.param if sys.monitoring.get_tool(i) is None]
    for i in taken:
        sys.monitoring.use_tool_id(i, "a debugger")
    yield
    for i in taken:
        sys.monitoring.free_tool_id(i)


@pytest.mark.parametrize("tools", [[0, 1, 2, 3]], indirect=True)
def test_beside_other_tools(tools):
    report = check("square", loop, seconds=SECONDS)
    assert [d.family for d in report.diagnoses] == ["time"] and not report.notes


@pytest.mark.parametrize("tools", [range(6)], indirect=True)
def test_where_every_tool_is_taken_a_note_says_that_nothing_ends_a_loop(tools):
    report = check("square", lambda g, x: 2 * g * x, seconds=SECONDS)
    assert report.passed
    assert "a loop without end would not be stopped" in report.notes[-1]
