"""Several threads at once: modes are each thread's own, gradients of a shared leaf add up."""

import contextlib
import sys
import threading

import pytest


def in_threads(n, work):
    """Run work(k) in n threads; raise what any of them raised."""
    failures = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


@pytest.fixture
def _switching_all_the_time():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_with_graphs_of_their_own_do_not_meet(lib):
    leaves = [lib.tensor(1.0 + k, requires_grad=True) for k in range(4)]

    def work(k):
        for _ in range(50):
            y = leaves[k]
            for _ in range(10):
                y = y * 1.0 + leaves[k] * 0.0
            (y * y).backward()

    in_threads(4, work)
    assert [leaf.grad.item() for leaf in leaves] == [100.0 * (1 + k) for k in range(4)]


@pytest.mark.usefixtures("_switching_all_the_time")
def test_gradients_from_several_threads_into_one_leaf_add_up(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)

    def work(k):
        for _ in range(200):
            (x * 2).sum().backward()

    in_threads(4, work)
    assert x.grad.tolist() == [1600.0, 1600.0]


def test_no_first_gradient_is_lost_between_threads(monkeypatch):
    import autolab as torch
    from autolab.engine import node

    # Between "there is no gradient yet" and "this is it" comes a call of new_tensor(): hold each thread up there.
    make, other = node.new_tensor, threading.Barrier(2)

    def fresh(payload):
        with contextlib.suppress(threading.BrokenBarrierError):
            other.wait(0.2)
        return make(payload)

    monkeypatch.setattr(node, "new_tensor", fresh)
    x = torch.tensor(1.0, requires_grad=True)
    in_threads(2, lambda k: (x * 2).backward())
    assert x.grad.item() == 4.0


def test_one_retained_graph_may_be_walked_by_several_threads(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * x).sum()
    found = [None] * 4

    def work(k):
        for _ in range(20):
            found[k] = lib.autograd.grad(y, x, retain_graph=True)[0].tolist()

    in_threads(4, work)
    assert found == [found[0]] * 4 and found[0] is not None


def test_grad_mode_belongs_to_the_thread(lib):
    x, seen = lib.tensor(1.0, requires_grad=True), []
    with lib.no_grad():
        in_threads(1, lambda k: seen.append((lib.is_grad_enabled(), (x * 2).requires_grad)))
        assert not lib.is_grad_enabled()
    assert seen == [(True, True)]


def test_one_decorated_function_may_run_in_threads_of_different_modes(lib):
    first_inside, second_inside, first_left, after = *(threading.Event() for _ in range(3)), {}

    @lib.no_grad()
    def quiet(inside, go_on):
        inside.set()
        go_on.wait(10)

    def work(k):
        if k == 0:
            quiet(first_inside, second_inside)
            first_left.set()
        else:
            first_inside.wait(10)
            lib.set_grad_enabled(False)
            quiet(second_inside, first_left)
        after[k] = lib.is_grad_enabled()

    in_threads(2, work)
    assert after == {0: True, 1: False}


def test_no_grad_in_one_thread_does_not_stop_the_recording_of_another():
    import autolab as torch

    x, inside, done = torch.tensor(1.0, requires_grad=True), threading.Event(), threading.Event()

    def work(k):
        if k:
            with torch.no_grad():
                inside.set()
                done.wait(10)
                assert not (x * 2).requires_grad
        else:
            inside.wait(10)
            try:
                (x * 3).backward()
            finally:
                done.set()

    in_threads(2, work)
    assert x.grad.item() == 3.0
