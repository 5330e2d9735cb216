"""Code that does not come to an end is stopped, wherever it runs, and shown the line where it was."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time

import pytest

from autolab.check import check
from autolab.check.run.limit import limit
from autolab.check.run.meter import TooLong


def endless(g, x):
    while True:
        g = g * 1.0


def stubborn(g, x):
    while True:
        try:
            g = g * 1.0
        except:  # noqa: E722
            if time.perf_counter() > stubborn.until:
                raise


def test_a_loop_without_end_is_stopped_and_shown():
    start = time.perf_counter()
    report = check("square", endless, seconds=0.1)
    assert time.perf_counter() - start < 2
    (found,) = report.diagnoses
    assert (found.family, found.certainty) == ("time", "certain")
    assert "did not come to an end within 0.1 seconds" in found.text
    assert "line" in found.text
    assert report.points == 0


def test_in_a_thread_too():
    reports = []
    thread = threading.Thread(target=lambda: reports.append(check("square", endless, seconds=0.1)))
    thread.start()
    thread.join(5)
    assert [d.family for d in reports[0].diagnoses] == ["time"]


AFTERWARDS = """
import sys, threading
from autolab.check import check

def endless(g, x):
    while True:
        g = g * 1.0

for seconds in (0.1, 60):
    thread = threading.Thread(target=lambda: check("square", endless if seconds < 1 else lambda g, x: 2 * g * x, seconds=seconds))
    thread.start()
    thread.join()
calls = []
sys.setprofile(lambda frame, event, argument: calls.append(event))
(lambda: 1)()
sys.setprofile(None)
print("call" in calls)
"""


def test_nothing_of_it_is_left_for_who_profiles_afterwards():
    # Python 3.11 calls a profiled function for ever while an error waits for a thread that is no more.
    run = subprocess.run([sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "True"


def test_a_bare_except_does_not_swallow_it():
    stubborn.until = time.perf_counter() + 0.3
    assert [d.family for d in check("square", stubborn, seconds=0.1).diagnoses] == ["time"]


@pytest.mark.skipif(sys.platform == "emscripten", reason="what is raised in the collector's callback leaves Pyodide's own run")
def test_one_that_runs_out_while_garbage_is_collected_is_raised_again():
    ends = []

    def slow(phase, info):  # what this raises is ignored
        ends.append(phase)
        end = time.perf_counter() + 0.2
        while time.perf_counter() < end:
            pass

    with pytest.raises(TooLong), limit(0.1):
        gc.callbacks.append(slow)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(slow)
        assert ends
        while True:
            pass


def test_what_ends_in_time_runs_on():
    with limit(0.1):
        pass
    time.sleep(0.15)  # nothing arrives afterwards


def test_an_alarm_that_somebody_else_has_set_is_left_alone():
    import signal

    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers here")
    before = signal.getitimer(signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        with pytest.raises(TooLong), limit(0.05):
            while True:
                pass
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)


def test_a_function_that_calls_itself_without_end():
    def again(g, x):
        return again(g, x)

    assert [d.family for d in check("square", again).diagnoses] == ["recursion"]


SOURCE = "def backward(g, x):\n    return 2 * g * x{}\n"


def test_source_text_is_judged_and_a_syntax_error_shown_with_its_line():
    assert check("square", SOURCE.format("")).passed
    (found,) = check("square", SOURCE.format(")")).diagnoses
    assert found.family == "syntax"
    assert "line 2: return 2 * g * x)" in found.text


def test_a_loop_without_end_in_a_piece_of_an_engine_is_stopped_as_well():
    def endless(root):
        while True:
            pass

    report = check("topological_order", endless, seconds=0.1)
    assert [d.family for d in report.diagnoses] == ["time"]
    assert "did not come to an end within 0.1 seconds" in report.diagnoses[0].text
