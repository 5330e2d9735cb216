"""Tracebacks in IPython and Jupyter that are as short as the mistake: the student's own lines and the message.

Loaded by `import autolab` in IPython only. `%tb` shows every frame of the last error, `%xmode Verbose` those of every error.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import operator
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from autolab.torch_api.missing import nearest

LIBRARIES = sys.stdlib_module_names | {"numpy", "ml_dtypes", "numba"}  # what autolab calls
WIDTH = 100  # columns


def shorten(shell: Any) -> None:
    """Let a shell of IPython leave autolab's frames out. If another handler is set already, that one stays."""
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception, KeyboardInterrupt), show)


def show(shell: Any, etype: type, error: BaseException, tb: TracebackType, tb_offset: int | None = None) -> None:
    """Show the error that is being handled as IPython does, without autolab's frames."""
    if tb.tb_frame.f_code.co_name != "run_code":  # the cell was not run: it could not be compiled
        (shell.showindentationerror if isinstance(error, IndentationError) else shell.showsyntaxerror)()
        return
    suggest(error, tb)
    with whole_words(shell):
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
        yield sum(len(entries(tb)) - len(entries(each.__traceback__)) for each, tb, _ in state)
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


@contextlib.contextmanager
def whole_words(shell: Any) -> Iterator[None]:
    """Within the block the messages in a traceback break at words. JupyterLab breaks long lines anywhere."""
    publish = shell._showtraceback

    def show_wrapped(etype: type, error: BaseException, lines: list[str]) -> None:
        message = re.compile(rf"(\x1b\[[\d;]*m)*({'|'.join(type(each).__name__ for each in chain(error))})\b")
        publish(etype, error, [at_words(line) if message.match(line) else line for line in lines])

    shell._showtraceback = show_wrapped
    try:
        yield
    finally:
        shell._showtraceback = publish


def at_words(text: str) -> str:
    """A text with its long lines broken between words."""
    fill = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False).fill
    return "\n".join(fill(line) if len(line) > WIDTH else line for line in text.split("\n"))


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
    for entry in entries(tb):
        module = entry.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        inside = module in packages or (inside and module in LIBRARIES | {""})  # "": a line that was generated
        if not inside:
            shown.append(entry)
    rest = None
    for entry in reversed(shown):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest


def entries(tb: TracebackType | None) -> list[TracebackType]:
    """A traceback as a list, from the outermost call to the innermost."""
    found = []
    while tb is not None:
        found.append(tb)
        tb = tb.tb_next
    return found


# -- what was meant --------------------------------------------------------------------------------


def suggest(error: BaseException, tb: TracebackType) -> None:
    """Add "Did you mean: 'softmax'?" to an error about a name that is not there. Python says it in a terminal, IPython does not."""
    with contextlib.suppress(Exception):  # whatever these objects do, the error itself must be shown
        name, known = searched(error, tb)
        near = nearest(name, known) if name and not name.startswith("__") and "Did you mean" not in str(error) else None
        if near is not None:
            error.args = (f"{error}. Did you mean: '{near}'?",)
            if isinstance(error, ImportError):
                error.msg = error.args[0]


def searched(error: BaseException, tb: TracebackType) -> tuple[str, Iterable[str]]:
    """The name that was not found, and the names among which it was looked for."""
    text = str(error)
    if isinstance(error, AttributeError) and error.name is not None:
        return error.name, dir(error.obj)
    if type(error) is NameError:
        frame = entries(tb)[-1].tb_frame
        return error.name or "", {*frame.f_locals, *frame.f_globals, *dir(builtins)}
    if isinstance(error, ImportError) and (found := re.match(r"cannot import name '(\w+)' from '([\w.]+)'", text)):
        return found[1], dir(sys.modules[found[2]])
    if isinstance(error, TypeError) and (found := re.match(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'", text)):
        return found[2], parameters(found[1])
    return "", ()


def parameters(qualified: str) -> set[str]:
    """The parameters of the package's functions of a name, such as `softmax` or `Linear.__init__`."""
    find, names = operator.attrgetter(qualified), set()
    for module in [module for name, module in sys.modules.items() if name.startswith("autolab.")]:
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            names |= set(inspect.signature(find(module)).parameters)
    return names
