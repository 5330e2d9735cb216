"""A time limit where there are neither signals nor threads, as in a browser: Python itself looks at the clock.

`sys.monitoring` calls `look` at each jump (every loop in Python has one), and where a function begins or a generator goes on.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

EVERY = 8  # events to one look: a look at a browser's clock takes two microseconds
AGAIN = 0.25  # seconds in which a library may put in order what it had begun
NAME = "autolab's time limit"
PACKAGE, NUMPY, PYTHON = Path(__file__).parents[2], Path(np.__file__).parent, Path(os.__file__).parent
LIBRARIES = (*(f"{folder}{os.sep}" for folder in (PACKAGE, NUMPY, PYTHON)), "<frozen", "<__array")  # NumPy's dispatch is <__array_...>
monitoring: Any = getattr(sys, "monitoring", None)  # since Python 3.12; no browser runs an older one

meters: list[Meter] = []  # those that run, the outermost first
tool: int | None = None  # the tool's number while one runs
left = EVERY


class TooLong(BaseException):
    """Raised in the code that runs over its time. Not an Exception: `except Exception` in a loop would swallow it."""


class Meter:
    """Raise TooLong in this block after so many seconds, in the only thread.

    A loop that swallows it gets it again at once; a function of a library, which may be tidying up, after AGAIN seconds.
    With `busy` the seconds are those in which this process computes. One long call of NumPy ends first.
    """

    def __init__(self, seconds: float, busy: bool = False):
        self.seconds, self.clock = seconds, time.process_time if busy else time.monotonic
        self.end, self.again = 0.0, 0.0

    def __enter__(self) -> None:
        start = self.clock()
        self.end = self.again = start + self.seconds
        if not meters:
            hold()
        meters.append(self)

    def __exit__(self, *exc: object) -> None:
        meters.remove(self)
        if not meters:
            release()


def hold() -> None:
    """Take a tool's number, if one is free, and watch."""
    global tool, left
    tool, left = free_tool(), EVERY
    if tool is None:
        return
    events = monitoring.events
    monitoring.use_tool_id(tool, NAME)
    for event in (events.JUMP, events.PY_START, events.PY_RESUME):
        monitoring.register_callback(tool, event, look)
    monitoring.set_events(tool, events.JUMP | events.PY_START | events.PY_RESUME)


def release() -> None:
    """Watch no more, and give the number back."""
    global tool
    if tool is not None:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
        tool = None


def free_tool() -> int | None:
    """A tool's number that nobody holds: 3 and 4 are free by custom, the others are a debugger's, coverage's and a profiler's."""
    return next((i for i in (4, 3, 2, 1, 0, 5) if monitoring.get_tool(i) is None), None)


def of_library(file: str) -> bool:
    """Is this file the package's own, NumPy's or Python's?

    >>> of_library(__file__), of_library("<ipython-input-1>")
    (True, False)
    """
    return file.startswith(LIBRARIES) or "site-packages" in file


def look(code: CodeType, *where: Any) -> None:
    """At every so many events: is it too late?"""
    global left
    left -= 1
    if left > 0:
        return
    left = EVERY
    for meter in meters:
        now = meter.clock()
        if now < meter.end:
            continue
        left = 1
        if code.co_filename == look.__code__.co_filename:  # on the way out of the block
            return
        if now >= meter.again or not of_library(code.co_filename):
            meter.again = now + AGAIN
            raise TooLong
