import time
import tracemalloc

import numpy as np
import pytest

import autolab
from benchmarks import first_call, measure, memory, operators, programs
from benchmarks.libraries import installed
from benchmarks.report import moved, table
from benchmarks.workloads import WORKLOADS, Program

LIBRARIES, ABSENT = installed()
TOGETHER = [name for name, workload in WORKLOADS.items() if not workload.alone]


def program(library, workload):
    return LIBRARIES[library][workload](WORKLOADS[workload].data())


@pytest.mark.filterwarnings("ignore")  # what autograd and MyGrad warn about is theirs
@pytest.mark.parametrize("workload", TOGETHER)
@pytest.mark.parametrize("library", sorted(LIBRARIES.keys() - {"numpy"}))
def test_every_library_computes_what_was_written_by_hand(library, workload):
    if workload not in LIBRARIES[library]:
        pytest.skip(f"{library} has no program for {workload}")
    answer = program(library, workload).answer()
    assert measure.disagreement(WORKLOADS[workload], answer, program("numpy", workload).answer()) == ""


def test_autolab_takes_part():
    assert "autolab" in LIBRARIES, ABSENT["autolab"]


def test_a_wrong_answer_is_reported_and_not_timed():
    wrong = {"scalar_chain": lambda data: Program(lambda: None, lambda: {"loss": np.nan})}
    row, notes = measure.in_turns(WORKLOADS["scalar_chain"], {"numpy": LIBRARIES["numpy"], "wrong": wrong}, rounds=1)
    assert "wrong" not in row
    assert "not timed, since its answer differs: loss" in notes["wrong"]


def test_a_library_that_fails_does_not_stop_the_others():
    def fails(data):
        raise RuntimeError("no")

    row, notes = measure.in_turns(WORKLOADS["hvp"], {"numpy": LIBRARIES["numpy"], "bad": {"hvp": fails}}, rounds=1)
    assert "numpy" in row
    assert notes["bad"] == "failed: RuntimeError: no"


def test_the_ratio_is_the_median_of_the_rounds_ratios():
    # the second round was slow for both, which a ratio of medians would not forgive
    summary = measure.summary({"a": [2.0, 20.0, 3.0], "b": [1.0, 10.0, 2.0]})
    assert summary["a"]["/b"] == 2.0


def test_only_what_moved_noticeably_is_said():
    assert moved({"rnn": 0.5, "hvp": 0.5}, {"rnn": 0.55, "hvp": 0.4, "mlp": 1}) == ["hvp moved: 0.50 -> 0.40 (faster)"]


def test_the_table_fits_a_terminal():
    libraries = ["numpy", "torch", "autolab", "compiled", "autograd", "mygrad"]
    row = {name: {"seconds": 0.0123, "/torch": 123.0} for name in libraries}
    text = table(dict.fromkeys(WORKLOADS, row), libraries, "torch")
    assert max(map(len, text.splitlines())) <= 80
    assert "12.3 ms" in text


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # roots of negative numbers
def test_everyday_calls_give_the_same_in_both_libraries(torch):
    ours, theirs = operators.names(autolab), operators.names(torch)
    for call in operators.ALL:
        if "randn" in call or "dropout" in call or call.startswith("linear("):  # drawn, or weights that were
            continue
        for a, b in zip(*(results(eval(call, space)) for space in (ours, theirs)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=call)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # of PyTorch's own, in its Hessian
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_real_programs_have_the_losses_of_pytorch(torch, name):
    make = programs.PROGRAMS[name]
    right = programs.losses(make(torch), 3)
    np.testing.assert_allclose(programs.losses(make(autolab), 3), right, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(programs.losses(autolab.compile(make(autolab)), 3), right, rtol=1e-3, atol=1e-5)


def results(value):
    """The arrays of one result or several."""
    several = value if isinstance(value, tuple | list) else (value,)
    return [np.asarray(v.detach() if hasattr(v, "detach") else v) for v in several]


def test_memory_is_what_a_step_needs_at_its_highest():
    held = []

    def step():
        held[:] = [np.ones(1 << 18)]  # 2 MB that stay
        np.ones(1 << 19).sum()  # 4 MB that go

    tracemalloc.start()
    step()
    needed = memory.reported(step, lambda: None)
    with_kept = memory.reported(step, held.clear)
    tracemalloc.stop()
    assert needed == pytest.approx(4, abs=0.1)
    assert with_kept == pytest.approx(6, abs=0.1)


def test_memory_of_small_programs_is_not_a_ratio():
    found = {way: {"resident": mb, "arrays": mb / 2} for way, mb in [("torch", 0.8), ("eager", 0.4), ("compiled", 1.2)]}
    assert memory.line("rnn", found).split() == ["rnn", "0.80", "MB", "0.50", "1.50", "0.40", "MB", "0.20", "MB", "0.60", "MB"]


def test_time_within_a_timed_call_counts_once():
    clock = first_call.Clock()
    inner = clock.timed(lambda: sum(range(300_000)))
    outer = clock.timed(lambda: (inner(), inner()))
    start = time.process_time()
    outer()
    assert 0 < clock.seconds <= time.process_time() - start
