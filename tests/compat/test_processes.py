"""`torch.multiprocessing`: Python's, and `spawn`, which tells of what went wrong in a process."""

import operator

import pytest

from autolab.compat import processes


def test_spawn_ends_when_all_have_ended():
    assert processes.spawn(operator.add, (1,)) is None


def test_spawn_brings_the_traceback_home():
    with pytest.raises(
        processes.ProcessRaisedException, match=r"-- Process 0 terminated with the following error:\n[^$]*ZeroDivisionError"
    ):
        processes.spawn(operator.truediv, (0,))


def test_spawn_tells_the_exit_code():
    with pytest.raises(processes.ProcessExitedException, match="process 0 terminated with exit code 7"):
        processes.start_processes(leave, (7,))


def leave(rank, code):
    import os

    os._exit(code)


def test_it_is_pythons_multiprocessing():
    import multiprocessing

    assert processes.Queue == multiprocessing.Queue and processes.get_sharing_strategy() in processes.get_all_sharing_strategies()


def test_files_that_are_elsewhere_are_found_under_pytorchs_names():
    from autolab.compat import Finder

    names = ("distributions.multinomial", "distributions.half_cauchy", "optim.adamw", "distributions.kl", "nowhere")
    found = [Finder().real_name(name) for name in names]
    assert found == [
        "autolab.distributions.discrete",
        "autolab.distributions.transformed",
        "autolab.optim.adam",
        "autolab.distributions.kl",
        None,
    ]
