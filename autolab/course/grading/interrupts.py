"""Ctrl-C while a class is graded: the first finishes and saves what is running, the second ends at once."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator

FIRST = "\ninterrupted: what is being graded is finished and saved; Ctrl-C again stops at once\n"
SECOND = "\nstopped at once: the same command grades what is not saved\n"
STATUS = 130  # what a shell says of a program that Ctrl-C ended


class Interrupts:
    """Whether Ctrl-C has asked for an end."""

    def __init__(self) -> None:
        self.asked = False
        self.process = os.getpid()

    @contextlib.contextmanager
    def watched(self) -> Iterator[Interrupts]:
        """Take the place of KeyboardInterrupt, which would come anywhere. In another thread than the first nothing changes."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = signal.signal(signal.SIGINT, self.interrupt)
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, before)

    def interrupt(self, *_: object) -> None:
        """What SIGINT does."""
        if os.getpid() != self.process:  # a process that was forked and does not ignore it yet
            return
        if self.asked:
            self.end()
        else:
            self.asked = True
            _say(FIRST)

    def end(self) -> None:
        """End this process and those that grade for it, as a kill does: the gradebook has whole batches, the files whole pages."""
        for process in multiprocessing.active_children():
            process.kill()
        _say(SECOND)
        os._exit(STATUS)


def _say(text: str) -> None:
    """To stderr without its buffer, in which the interrupted code may be writing."""
    with contextlib.suppress(OSError):
        os.write(2, text.encode())
