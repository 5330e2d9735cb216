"""A time limit for code that somebody else wrote: in a notebook, in a grader's process, in a thread."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys
import threading
from collections.abc import Iterator

from . import meter
from .meter import AGAIN, Meter, TooLong

SECONDS = 5.0
if hasattr(signal, "setitimer"):
    REAL, BUSY = (signal.ITIMER_REAL, signal.SIGALRM), (signal.ITIMER_VIRTUAL, signal.SIGVTALRM)
ONE_THREAD = sys.platform == "emscripten"  # as in a browser


def limit(seconds: float = SECONDS, busy: bool = False) -> contextlib.AbstractContextManager[None]:
    """Raise TooLong in this block after so many seconds. It ends loops in Python; one long call of NumPy ends first.

    `busy`: seconds in which this process computes, not those in which others do; where the system can tell.

    >>> with contextlib.suppress(TooLong), limit(0.05):
    ...     while True:
    ...         pass
    """
    if ONE_THREAD:
        return Meter(seconds, busy)
    main = threading.current_thread() is threading.main_thread()
    free = hasattr(signal, "setitimer") and main and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    return _alarm(seconds, *BUSY if busy else REAL) if free else _watchdog(seconds)


def why_endless() -> str:
    """Why nothing ends a loop here and now, as a sentence; empty if `limit` does.

    >>> why_endless()
    ''
    """
    if ONE_THREAD and meter.free_tool() is None:
        return "no time limit: a debugger or a profiler holds every tool of sys.monitoring, so a loop without end would not be stopped"
    return ""


@contextlib.contextmanager
def _alarm(seconds: float, timer: int, sent: int) -> Iterator[None]:
    def stop(number, frame):
        raise TooLong

    before = signal.signal(sent, stop)
    signal.setitimer(timer, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(sent, before)


@contextlib.contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    # Signals reach the main thread only, and not on Windows; an exception can be sent to any thread.
    target, done, sent, turn = threading.get_ident(), threading.Event(), threading.Event(), threading.Lock()

    def watch():
        wait = seconds
        while not done.wait(wait):
            with turn:
                if not done.is_set():
                    sent.set()
                    _send(target, TooLong)
            wait = AGAIN

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        with turn:
            done.set()
        thread.join()
        if sent.is_set():
            _take_what_was_sent(target)


def _send(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _take_what_was_sent(thread: int) -> None:
    # The last TooLong may not have arrived. Another error takes its place and is caught here. Sending None instead would leave the
    # interpreter's mark that something waits: Python 3.11 then calls a profiled function for ever.
    with contextlib.suppress(_Nothing):
        _send(thread, _Nothing)
        while True:
            pass


class _Nothing(BaseException):
    """Takes the place of an error that is not wanted any more."""
