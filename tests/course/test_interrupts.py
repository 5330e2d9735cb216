"""The first Ctrl-C saves what is being graded; the second ends at once, with no process left and no traceback."""

import concurrent.futures
import multiprocessing
import os
import signal
import threading
import time

import pytest

from autolab.course.grading import interrupts
from autolab.course.grading.interrupts import FIRST, SECOND, Interrupts
from autolab.course.grading.scheduler import _all


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_raises_nothing_and_is_remembered(capfd):
    before = signal.getsignal(signal.SIGINT)
    with Interrupts().watched() as watched:
        press()
        assert watched.asked
    assert capfd.readouterr().err == FIRST and signal.getsignal(signal.SIGINT) is before


def test_the_second_ends_this_process_and_those_that_grade(monkeypatch, capfd):
    ended = []
    monkeypatch.setattr(interrupts.os, "_exit", ended.append)
    grader = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    grader.start()
    with Interrupts().watched():
        press()
        press()
    grader.join(10)
    assert ended == [130] and grader.exitcode == -signal.SIGKILL
    assert capfd.readouterr().err == FIRST + SECOND


def test_a_forked_process_leaves_it_to_the_one_that_grades_the_class(capfd):
    watched = Interrupts()
    watched.process += 1
    watched.interrupt()
    watched.interrupt()
    assert not watched.asked and capfd.readouterr().err == ""


def test_another_thread_is_not_in_the_way():
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lambda: Interrupts().watched().__enter__())
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("ahead", [1, 3, 20])
def test_what_runs_ends_and_nothing_else_is_begun(ahead):
    begun, done, asked = [], [], threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for number in _all(pool, range(10), ahead, lambda number: begun.append(number) or number, asked.is_set):
            done.append(number)
            asked.set()
    assert done[0] == 0 and sorted(done) == begun and len(begun) <= ahead + 1


def test_an_end_before_the_first_begins_nothing():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert list(_all(pool, range(10), 3, lambda number: number, lambda: True)) == []
