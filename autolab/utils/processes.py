"""Several processes on this machine that add up arrays in a ring: the data parallel training of lesson 23.

It is not torch.distributed: one machine, one operation, and no group outlives the call. What travels is what travels there, as each
process sends to its right neighbour only.
"""

from __future__ import annotations

import hmac
import inspect
import os
import pickle
import queue
import selectors
import socket
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.torch_api.dims import whole

__all__ = ["Ring", "Work", "have_processes", "run_in_processes"]

HOST = "127.0.0.1"
CHILD = "from autolab.utils.processes import child; child()"


def have_processes() -> bool:
    """Whether this Python can start other processes: not in a browser.

    >>> have_processes()
    True
    """
    return sys.platform != "emscripten"


# -- messages --------------------------------------------------------------------------------------


def _send(line: socket.socket, data: bytes) -> None:
    line.sendall(len(data).to_bytes(8, "big") + data if len(data) < 4096 else len(data).to_bytes(8, "big"))
    if len(data) >= 4096:
        line.sendall(data)


def _receive(line: socket.socket) -> bytearray:
    return _exactly(line, int.from_bytes(_exactly(line, 8), "big"))


def _exactly(line: socket.socket, size: int) -> bytearray:
    data, at = bytearray(size), 0
    while at < size:
        got = line.recv_into(memoryview(data)[at:])
        if not got:
            raise ConnectionError("the process at the other end has gone")
        at += got
    return data


def _connect(port: int, key: bytes) -> socket.socket:
    line = socket.create_connection((HOST, port))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _send(line, key)
    return line


def _accept(server: socket.socket, key: bytes) -> socket.socket:
    """The next caller that knows the key: any program of this machine could call."""
    while True:
        line, _ = server.accept()
        line.settimeout(5)
        try:
            known = hmac.compare_digest(bytes(_exactly(line, 8 + len(key))[8:]), key)
        except OSError:
            known = False
        if known:
            line.settimeout(None)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return line
        line.close()


# -- the ring --------------------------------------------------------------------------------------


class Work:
    """An all-reduce under way. `began` and `ended` are seconds of `time.perf_counter`, `ended` once it is done.

    >>> ring = Ring(0, 1)
    >>> ring.all_reduce(np.ones(3)).wait()
    """

    def __init__(self) -> None:
        self.done = threading.Event()
        self.error: OSError | None = None
        self.began = self.ended = 0.0

    def wait(self) -> None:
        """Wait until it is done. Raises ConnectionError if a neighbour has gone."""
        self.done.wait()
        if self.error is not None:
            raise self.error


class Ring:
    """One of `size` processes in a ring, number `rank`. `bytes_sent` counts what it has sent to its right neighbour.

    >>> ring = Ring(rank=0, size=1)  # a ring of one: nothing to send
    >>> ring.all_reduce(np.array([1.0, 2.0])).wait()
    >>> ring.bytes_sent
    0
    """

    def __init__(self, rank: int, size: int, left: socket.socket | None = None, right: socket.socket | None = None) -> None:
        self.rank, self.size, self.bytes_sent = rank, size, 0
        self._left, self._right = left, right
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        if size > 1:
            for loop in (self._run_tasks, self._run_sender):
                threading.Thread(target=loop, daemon=True).start()

    def all_reduce(self, array: np.ndarray) -> Work:
        """Replace the array, in all processes, by the sum of all processes' arrays, in the background.

        Every process calls it in the same order with arrays of one shape and dtype, and leaves the array alone until
        `wait()` of the result. All processes end up with the same bits.

        Raises ValueError for an array that is not contiguous.

        >>> a = np.ones(4)
        >>> Ring(0, 1).all_reduce(a).wait()
        """
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise ValueError("all_reduce writes the sum into the array: it must be contiguous and writeable. Pass array.copy().")
        work = Work()
        if self.size > 1:
            self._tasks.put((work, array.reshape(-1)))
        else:
            work.done.set()
        return work

    def _run_tasks(self) -> None:
        while True:
            work, flat = self._tasks.get()
            work.began = time.perf_counter()
            try:
                self._add_up(np.array_split(flat, self.size))
            except OSError as error:
                work.error = error
            work.ended = time.perf_counter()
            work.done.set()

    def _run_sender(self) -> None:
        assert self._right is not None
        while True:
            try:
                _send(self._right, self._out.get())
            except OSError:
                return  # the other thread, which waits for an answer, will see that the neighbour has gone

    def _pass_on(self, chunk: np.ndarray, dtype: Any) -> np.ndarray:
        """Send a chunk to the right, and take one from the left."""
        assert self._left is not None
        data = chunk.tobytes()
        self.bytes_sent += len(data)
        self._out.put(data)  # by a thread: if all sent at once and nobody took, the lines would be full
        return np.frombuffer(_receive(self._left), dtype)

    def _add_up(self, chunks: list[np.ndarray]) -> None:
        r, p = self.rank, self.size
        for step in range(p - 1):  # reduce-scatter: afterwards chunk r + 1 is complete here
            came = self._pass_on(chunks[(r - step) % p], chunks[0].dtype)
            chunks[(r - step - 1) % p] += came
        for step in range(p - 1):  # all-gather: the complete chunks go round
            came = self._pass_on(chunks[(r + 1 - step) % p], chunks[0].dtype)
            chunks[(r - step) % p][:] = came


# -- starting processes ----------------------------------------------------------------------------


def run_in_processes(
    function: Callable[..., Any], count: int, *args: Any, needs: tuple[Callable[..., Any], ...] = (), seconds: float = 60
) -> list[Any]:
    """Call `function(ring, *args)` in `count` new processes, and return what each returned, in the order of ranks.

    The functions may be defined in a notebook. Their source is sent, so they may use each other, `np`, `torch` (autolab), `nn`
    and `time`, but no other name from outside. Arguments and results are pickled.

    Parameters
    ----------
    function : function
        Its first argument is a Ring.
    count : int
        How many processes. They talk over the loopback interface and compute with one thread each.
    args : objects
        Further arguments, the same for all.
    needs : tuple of function
        Other functions that it calls.
    seconds : float
        After which all are ended.

    Raises
    ------
    TypeError, ValueError
        For what is not a function made by `def`, as its source is sent; and for a count below 1.
    RuntimeError
        If one of them fails, with its traceback; or in a browser, where there are no processes.
    TimeoutError
        If they take longer than `seconds`.

    >>> def which(ring, word):
    ...     return f"{word} {ring.rank} of {ring.size}"
    >>> run_in_processes(which, 1, "process")
    ['process 0 of 1']
    """
    if whole(count, "run_in_processes: count") < 1:
        raise ValueError(f"run_in_processes expects count >= 1, but got {count}")
    for f in (*needs, function):
        if not inspect.isfunction(f) or f.__name__ == "<lambda>":
            raise TypeError(f"run_in_processes sends the source of functions that `def` made, and {f!r} is not one")
    if not have_processes():
        raise RuntimeError("a browser runs one process, and cannot start others. Run this on a computer with Python installed.")
    source = "\n\n".join(textwrap.dedent(inspect.getsource(f)) for f in (*needs, function))
    key, until = os.urandom(32), time.monotonic() + seconds
    paths = os.pathsep.join(p for p in sys.path if p)
    env = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    children: list[subprocess.Popen[bytes]] = []
    lines: dict[int, socket.socket] = {}
    with socket.create_server((HOST, 0)) as server:
        try:
            for rank in range(count):
                one = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, env=env)
                children.append(one)
                assert one.stdin is not None
                one.stdin.write(pickle.dumps((server.getsockname()[1], key, rank, count, source, function.__name__, args)))
                one.stdin.close()
            ports = {}
            while len(lines) < count:
                line = _next_caller(server, key, children, until)
                rank, port = pickle.loads(_receive(line))
                lines[rank], ports[rank] = line, port
            for line in lines.values():
                _send(line, pickle.dumps(ports))
            return _results(lines, until, seconds)
        finally:
            for one in children:
                one.kill()
            for one in children:
                one.wait()
            for line in lines.values():
                line.close()


def _next_caller(server: socket.socket, key: bytes, children: list[subprocess.Popen[bytes]], until: float) -> socket.socket:
    server.settimeout(0.2)
    while True:
        try:
            return _accept(server, key)
        except TimeoutError:
            ended = [(rank, one.returncode) for rank, one in enumerate(children) if one.poll() is not None]
            if ended:
                raise RuntimeError(f"process {ended[0][0]} ended with exit code {ended[0][1]} before it began") from None
            if time.monotonic() > until:
                raise TimeoutError("the processes did not start in time. Is the machine busy? Give them more `seconds`.") from None


def _results(lines: dict[int, socket.socket], until: float, seconds: float) -> list[Any]:
    found: dict[int, Any] = {}
    with selectors.DefaultSelector() as waiting:
        for rank, line in lines.items():
            waiting.register(line, selectors.EVENT_READ, rank)
        while len(found) < len(lines):
            ready = waiting.select(max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError(f"after {seconds:g} seconds {len(lines) - len(found)} of {len(lines)} processes had not finished")
            for at, _ in ready:
                try:
                    good, value = pickle.loads(_receive(lines[at.data]))
                except ConnectionError:
                    raise RuntimeError(f"process {at.data} has gone without an answer") from None
                if not good:
                    raise RuntimeError(f"process {at.data} failed:\n{value}")
                found[at.data] = value
                waiting.unregister(at.fileobj)
    return [found[rank] for rank in sorted(found)]


def child() -> None:
    """What a new process does: join the ring, call the function, send what it returned.

    >>> child.__name__  # only `run_in_processes` calls it, in another process
    'child'
    """
    port, key, rank, count, source, name, args = pickle.loads(sys.stdin.buffer.read())
    with socket.create_server((HOST, 0)) as server:
        parent = _connect(port, key)
        _send(parent, pickle.dumps((rank, server.getsockname()[1])))
        ports = pickle.loads(_receive(parent))
        right = _connect(ports[(rank + 1) % count], key) if count > 1 else None
        left = _accept(server, key) if count > 1 else None
    try:
        answer = pickle.dumps((True, _call(source, name, Ring(rank, count, left, right), args)))
    except BaseException:
        answer = pickle.dumps((False, traceback.format_exc()))
    _send(parent, answer)
    parent.recv(1)  # until the parent has read: a socket that closes may take its last message with it


def _call(source: str, name: str, ring: Ring, args: tuple[Any, ...]) -> Any:
    import autolab as torch

    names: dict[str, Any] = {"np": np, "torch": torch, "nn": torch.nn, "time": time, "__name__": "autolab_process"}
    exec(compile(source, "<what the processes run>", "exec"), names)
    return names[name](ring, *args)
