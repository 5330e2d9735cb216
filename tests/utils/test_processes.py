"""Processes in a ring: what they add up, what they send, and what is said when one fails."""

import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from autolab.utils.processes import Ring, _accept, _connect, _send, run_in_processes


def ring_of(size):
    """Rings in one process, joined by pairs of sockets."""
    pairs = [socket.socketpair() for _ in range(size)]
    return [Ring(r, size, left=pairs[r - 1][1], right=pairs[r][0]) for r in range(size)]


def reduced(arrays):
    rings, results = ring_of(len(arrays)), [a.copy() for a in arrays]
    for work in [ring.all_reduce(a) for ring, a in zip(rings, results)]:
        work.wait()
    return rings, results


@pytest.mark.parametrize(("size", "length"), [(2, 10), (3, 10), (4, 2), (5, 0), (3, 400_000)])
def test_all_processes_end_with_the_same_sum(size, length):
    arrays = [np.random.default_rng(r).normal(size=length) for r in range(size)]
    _, results = reduced(arrays)
    np.testing.assert_allclose(results[0], np.sum(arrays, axis=0), rtol=1e-12, atol=1e-12)
    assert len({r.tobytes() for r in results}) == 1


@pytest.mark.parametrize("size", [2, 4, 5])
def test_each_sends_twice_the_array_but_for_one_chunk_each_time(size):
    rings, _ = reduced([np.ones((20, 3), np.float32)] * size)
    assert [ring.bytes_sent for ring in rings] == [2 * (size - 1) * 20 * 3 * 4 // size] * size


def test_several_sums_may_be_under_way():
    rings = ring_of(2)
    arrays = [[np.full(5, 10.0 * k + r) for k in range(3)] for r in range(2)]
    works = [ring.all_reduce(a) for ring, mine in zip(rings, arrays) for a in mine]
    for work in works:
        work.wait()
    assert [a[0] for a in arrays[0]] == [1, 21, 41] and all(work.ended >= work.began > 0 for work in works)


def test_a_neighbour_that_has_gone_is_an_error():
    pairs = [socket.socketpair() for _ in range(2)]
    ring = Ring(0, 2, left=pairs[0][0], right=pairs[1][0])
    for _, far in pairs:
        far.close()
    with pytest.raises(ConnectionError):
        ring.all_reduce(np.ones(4)).wait()


def test_an_array_that_cannot_be_written_over_is_refused():
    with pytest.raises(ValueError, match="contiguous and writeable"):
        Ring(0, 1).all_reduce(np.ones((3, 4)).T)


def test_a_caller_without_the_key_is_not_let_in():
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        port, key = server.getsockname()[1], b"k" * 32
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            _send(stranger, b"x" * 32)
            calling = pool.submit(_connect, port, key)
            with _accept(server, key) as known, calling.result() as friend:
                assert known.getpeername() == friend.getsockname()


def doubled(x):
    return 2 * x


def summed(ring, start):
    a = np.arange(6.0) + doubled(start) * ring.rank
    ring.all_reduce(a).wait()
    return a.tolist(), torch.__name__  # noqa: F821  # the process knows it


def test_only_functions_with_a_source_of_their_own_are_sent():
    for wrong in (len, lambda ring: 1, 3):
        with pytest.raises(TypeError, match="sends the source of functions that `def` made"):
            run_in_processes(wrong, 2)
    with pytest.raises(ValueError, match="expects count >= 1, but got 0"):
        run_in_processes(summed, 0)


def fails(ring):
    if ring.rank == 1:
        raise ValueError("the second one")
    ring.all_reduce(np.ones(3)).wait()


def sleeps(ring):
    time.sleep(30)


def test_real_processes_add_up_and_know_the_functions_that_they_need():
    assert run_in_processes(summed, 2, 5, needs=(doubled,)) == [([10, 12, 14, 16, 18, 20], "autolab")] * 2


def test_a_failure_comes_with_its_traceback():
    with pytest.raises(RuntimeError, match=r"process 1 failed:[\s\S]*ValueError: the second one"):
        run_in_processes(fails, 2)


def test_what_takes_too_long_is_ended():
    with pytest.raises(TimeoutError):
        run_in_processes(sleeps, 1, seconds=0.3)


def test_a_browser_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(sys, "platform", "emscripten")
    with pytest.raises(RuntimeError, match="a browser runs one process"):
        run_in_processes(summed, 2, 5)
