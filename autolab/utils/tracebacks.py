"""Tracebacks in IPython and Jupyter that are as short as the mistake: the student's own lines and the message.

Loaded by `import autolab` in IPython only. `%tb` shows every frame of the last error, `%xmode Verbose` those of every error.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

LIBRARIES = sys.stdlib_module_names | {"numpy", "ml_dtypes", "numba"}  # what autolab calls


def shorten(shell: Any) -> None:
    """Let a shell of IPython leave autolab's frames out. If another handler is set already, that one stays."""
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception, KeyboardInterrupt), show)


def show(shell: Any, etype: type, error: BaseException, tb: TracebackType, tb_offset: int | None = None) -> None:
    """Show the error that is being handled as IPython does, without autolab's frames."""
    if tb.tb_frame.f_code.co_name != "run_code":  # the cell was not run: it could not be compiled
        (shell.showindentationerror if isinstance(error, IndentationError) else shell.showsyntaxerror)()
        return
    if shell.InteractiveTB.mode == "Verbose":
        shell.showtraceback(running_compiled_code=True)
        return
    with short(error) as hidden, noted(error, hidden):
        shell.showtraceback(running_compiled_code=True)
    sys.last_traceback = error.__traceback__  # for %tb and %debug


@contextlib.contextmanager
def short(error: BaseException, packages: Iterable[str] = ("autolab",)) -> Iterator[int]:
    """Within the block the tracebacks of an error, and of those that led to it, leave out some packages' frames; yields how many."""
    state = [(each, each.__traceback__, each.__suppress_context__) for each in chain(error)]
    try:
        for each, tb, _ in state:
            each.__traceback__ = without(tb, packages)
        for each, _, _ in state:  # an error that was raised and caught inside says nothing about the student's code
            if each.__cause__ is None and each.__context__ is not None and each.__context__.__traceback__ is None:
                each.__suppress_context__ = True
        yield sum(length(tb) - length(each.__traceback__) for each, tb, _ in state)
    finally:
        for each, tb, suppressed in state:
            each.__traceback__, each.__suppress_context__ = tb, suppressed


@contextlib.contextmanager
def noted(error: BaseException, hidden: int) -> Iterator[None]:
    """Within the block the error has a note that says how many frames are hidden."""
    notes = list(getattr(error, "__notes__", ()))
    if hidden:
        frames = "1 frame inside autolab is" if hidden == 1 else f"{hidden} frames inside autolab are"
        error.add_note(f"({frames} not shown; %tb shows all)")
    try:
        yield
    finally:
        if notes:
            error.__notes__ = notes
        elif hidden:
            del error.__notes__


def chain(error: BaseException | None) -> list[BaseException]:
    """An error, and those that its traceback shows above it."""
    errors: list[BaseException] = []
    while error is not None and error not in errors:
        errors.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return errors


def without(tb: TracebackType | None, packages: Iterable[str]) -> TracebackType | None:
    """A traceback without the frames of some packages and of the libraries that they called; None if nothing is left."""
    shown, inside = [], False
    while tb is not None:
        module = tb.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        inside = module in packages or (inside and module in LIBRARIES | {""})  # "": a line that was generated
        if not inside:
            shown.append(tb)
        tb = tb.tb_next
    rest = None
    for entry in reversed(shown):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest


def length(tb: TracebackType | None) -> int:
    """How many frames a traceback has."""
    count = 0
    while tb is not None:
        count, tb = count + 1, tb.tb_next
    return count
