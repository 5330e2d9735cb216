"""What a session in the sandbox answers: run this cell, call that function on these arrays.

This runs in the student's process, so nothing here protects anything; the judge takes what it says for numbers, and
for nothing more.
"""

from __future__ import annotations

import ast
import contextlib
import io
import pickle
import re
import signal
import socket
import sys
import time
import traceback
import warnings
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

import autolab
from autolab.autograd import Function
from autolab.engine.tensor import Tensor
from autolab.fast import first_calls
from autolab.torch_api.creation import from_numpy
from autolab.torch_api.families import load_families
from autolab.torch_api.public import DECLARED
from autolab.utils.tracebacks import short

from . import protocol
from .derivatives import functions_used
from .offline.pip import OFFLINE

EMPTY = re.compile(r"\A(?:[ \t]*\n)+")  # lines at the top, which IPython does not count
SHOWS, RESULTS = 20, 5  # displays and results of a cell that are kept
OUTPUT, ERROR, LINES = 20_000, 1000, 20  # characters that a cell prints, or displays at a time; of an error; lines of its traceback
PRINTS, DISPLAYS = 50_000, 5000  # in one cell, after which it is stopped: a loop over a training set prints 60,000 lines
SHOWN = {"text/plain"}
SCENES, SCENE = 0.25, 0.7  # of the seconds of a question: scenes are begun, and one of them is ended, before the process is
LOOPS = 1.0  # seconds of computing after which a rule, which takes milliseconds, is taken for a loop
INSTALLS = re.compile(r"\b(pip3?|conda|mamba|uv|apt|apt-get)\s+(-\S+\s+)*(install|add)\b")
LINE = 1000  # characters of a line in which that is looked for
AGAIN = 0.5  # of these seconds has what was taken for a loop in another test, until the next cell runs
LAST = ("blank", "syntax", "time")  # faults after which the judge asks no more


def warm() -> None:
    """Do once what every session does, so that a fork finds it done."""
    from autolab.check import SPECS, Reference, check
    from autolab.check.run.candidate import LocalCandidate  # noqa: F401

    first_calls.FIRST_CALLS = 0  # one process writes for all sessions what each of them would write again

    class Product(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    check("mul", (lambda x, y: x * y, lambda g, x, y: (g * y, g * x)))
    check("mul", Product)  # wrong, so that the diagnosis is loaded, too
    for spec in SPECS.values():
        with contextlib.suppress(LookupError):
            _ = Reference.of(spec).formulas  # read from their source
    write_shortcuts()
    forget_what_is_expected()


def prepare(shell: Any) -> None:
    """Make IPython's shell fit for sessions."""
    from autolab.check import Report

    shell.display_formatter.active_types = list(SHOWN)
    shell.display_formatter.formatters["text/plain"].for_type(Report, lambda report, p, _: p.text(without_points(report)))
    transform, parse = shell.transform_cell, shell.compile.ast_parse
    trees: dict[str, ast.AST] = {}  # of the cell that runs next, which IPython would read a second time

    def transform_cell(cell: str) -> str:
        trees.clear()
        python = EMPTY.sub("", cell)
        if (tree := _python_tree(python, parse)) is None:
            return transform(cell)
        trees[python] = tree
        return python

    shell.transform_cell = transform_cell
    shell.compile.ast_parse = lambda source, *how, **more: trees.pop(source, None) or parse(source, *how, **more)
    waits = shell.should_run_async  # it compiles a cell to find an await
    shell.should_run_async = lambda cell, **how: ("await" in cell or "async" in cell) and waits(cell, **how)
    system = shell.system  # pip takes a second to find out that it cannot, and longer on a busy machine
    shell.system = lambda command: print(OFFLINE) if INSTALLS.search(command[:LINE]) else system(command)
    for name in ("pip", "conda", "mamba"):
        shell.register_magic_function(lambda line: print(OFFLINE), "line", name)
    shell.register_magic_function(lambda line: None, "line", "matplotlib")  # pictures are drawn and not shown, with or without it


def without_points(report: Any) -> str:
    """The text of a report on an answer that counts no points: how many of its properties are right, and which are not."""
    judged = [v for v in report.verdicts if v.max_points]
    head = f"{report.exercise} (no points): {sum(v.passed is True for v in judged)} of {len(judged)} properties are right"
    bare = replace(report, verdicts=tuple(replace(v, points=0.0, max_points=0.0) for v in report.verdicts))
    return "\n".join([head, *str(bare).splitlines()[1:]])


def write_shortcuts() -> None:
    """Use every function once, recorded and not: the engine writes code for a row when it is first used."""
    quiet = {"creation", "more_creation", "random", "settings"}  # these change or make something else than a result
    load_families()
    names = [n for d in DECLARED if d.package and d.function.__module__.rpartition(".")[2] not in quiet for n in d.names]
    operators = ("add", "sub", "mul", "truediv", "pow", "matmul", "neg", "abs", "eq", "lt", "le", "gt", "ge", "ne", "getitem")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for recorded in (True, False):
            with autolab.enable_grad() if recorded else autolab.no_grad():
                for function in [
                    *(getattr(autolab, name, None) for name in dict.fromkeys(names)),
                    *(getattr(autolab.Tensor, f"__{name}__", None) for name in (*operators, *(f"r{name}" for name in operators))),
                ]:
                    c = autolab.full((2, 2), 0.5, dtype=autolab.float64)
                    x = c.clone().requires_grad_()
                    for arguments in ((x,), (x, x), (x, 0), (x, 0.5), (x, c), (c, x)):
                        _try(function, arguments)


def _try(function: Any, arguments: tuple) -> None:
    with contextlib.suppress(Exception):
        result = function(*arguments)
        if result.requires_grad:
            result.sum().backward()


def forget_what_is_expected() -> None:
    """Take out of this process what an exercise on behaviour expects: only scenes are played here, and judged outside."""
    from autolab import check
    from autolab.check.api import check as verdict

    scenes = [scene for behaviour in check.BEHAVIOURS.values() for scene in behaviour.scenes]
    kept = {f"{f.__module__}.{f.__qualname__}" for f in functions_used(scene.play for scene in scenes)}
    for scene in scenes:
        object.__setattr__(scene, "expect", None)
        object.__setattr__(scene, "slips", ())
    for name, module in list(sys.modules.items()):
        if name.startswith("autolab.check.behaviour.ps"):
            for own, value in list(vars(module).items()):
                if isinstance(value, FunctionType) and value.__module__ == name and f"{name}.{own}" not in kept:
                    delattr(module, own)
    judged = verdict.check

    def here(name: Any, candidate: Any, **keywords: Any) -> Any:
        if isinstance(name, str) and name in check.BEHAVIOURS:
            return check.Report(name, (), (), 0, 0.0)  # a learner's own cell may call check; its verdict is made outside
        return judged(name, candidate, **keywords)

    check.check = verdict.check = here


class TooMuchOutput(BaseException):
    """Ends a cell that shows something again and again. What it defined before stays; to end the process would cost the exercise."""

    def __init__(self, times: int, what: str):
        super().__init__(
            f"this cell {what} more than {times:,} times, and was stopped there. What it defined before counts, what comes after was not "
            f"run: take the output out of the loop, or show every thousandth"
        )


class CappedOutput(io.StringIO):
    """Keeps the first characters that are written, and counts the rest; ends a cell that writes again and again."""

    def __init__(self, limit: int):
        super().__init__()
        self.left, self.lost, self.times = limit, 0, 0

    def write(self, text: str) -> int:
        """Write as much as still fits, and count the rest."""
        self.times += text != "\n"  # which print writes by itself
        if self.times > PRINTS:
            self.times = 0  # what writes of it, IPython too, may do so
            raise TooMuchOutput(PRINTS, "printed")
        kept = text[: self.left]
        self.left -= len(kept)
        self.lost += len(text) - len(kept)
        super().write(kept)
        return len(text)

    def text(self) -> str:
        """What was kept, and how much was not."""
        return self.getvalue() + (f"\n... {self.lost} more characters\n" if self.lost else "")


class Handlers:
    """One session: a namespace with a student's cells run in it."""

    def __init__(self, shell: Any, connection: socket.socket, busy: float = 0.0):
        self.shell, self.connection, self.busy = shell, connection, busy
        self.contexts: dict[int, Any] = {}
        self.endless: set[str] = set()  # what found no end since the last cell
        self.handlers = {
            "run": self.run, "run_through": self.run_through, "kinds": self.kinds, "rules": self.rules, "second": self.second,
            "forward": self.forward, "backward": self.backward, "call": self.call, "play": self.play,
            "plays": self.plays,
        }  # fmt: skip
        # kept here: a student may replace the module's own names, and only break what is theirs
        self._receive, self._send, self._encode, self._timer = _question, protocol.send, protocol.encode, signal.setitimer

    def loop(self) -> None:
        """Answer until the other side is gone."""
        while True:
            name, arguments = self._receive(self.connection)
            self._timer(signal.ITIMER_PROF, self.busy)  # a loop ends the process: its signal is not caught
            try:
                answer = self._encode({"ok": self.handlers[name](*arguments)})
            except BaseException as error:
                answer = self._encode({"error": f"{type(error).__name__}: {_error_text(error)}"})
            self._timer(signal.ITIMER_PROF, 0)
            self._send(self.connection, answer)

    def run(self, source: str, name: str, wanted: list[str] | None = None) -> dict[str, Any]:
        """A cell, with IPython's semantics; and of which kind these names are after it."""
        self.endless.clear()
        shell, shown, sink = self.shell, [], CappedOutput(OUTPUT)

        def publish(data, metadata=None, **_):
            shown.append({k: protocol.cut(str(v), OUTPUT) for k, v in data.items() if k in SHOWN} if len(shown) < SHOWS else {})
            if len(shown) == DISPLAYS:
                raise TooMuchOutput(DISPLAYS, "displayed something")

        shell.display_pub.publish = publish
        hook, results = shell.displayhook, []
        hook.write_output_prompt = hook.finish_displayhook = lambda *a, **k: None
        hook.write_format_data = lambda data, md=None: results.append(protocol.cut(str(data.get("text/plain", "")), OUTPUT))
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            shell.showtraceback = lambda *a, **k: None
            done = shell.run_cell(source, store_history=False, silent=False)
        error = done.error_before_exec or done.error_in_exec
        outcome: dict[str, Any] = {"text": sink.text(), "shown": shown[:SHOWS], "results": results[:RESULTS], "error": None}
        if error is not None:
            outcome["error"] = {"name": type(error).__name__[:200], "value": _error_text(error), "traceback": _traceback(error)}
        with contextlib.suppress(Exception):  # an odd object is asked about later, where it costs its own exercise
            outcome["kinds"] = self.kinds(wanted or [])
        return outcome

    def run_through(self, source: str, name: str) -> None:
        """A cell, and if it ends in an error its statements one by one: where no derivatives are taken, one must not cost the next."""
        if self.run(source, name)["error"] is None:
            return
        for statement in ast.parse(self.shell.transform_cell(source)).body:
            with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(CappedOutput(0)):
                exec(compile(ast.Module([statement], []), name, "exec"), self.shell.user_ns)

    def kinds(self, names: list[str]) -> dict[str, str]:
        """For each name: "function class", "callable", "value", or "missing"."""
        return {name: _kind(self.shell.user_ns.get(name, _MISSING)) for name in names}

    def rules(self, what: Any, inputs: tuple, differentiable: tuple, defaults: dict, calls: tuple) -> list:
        """Several calls of a rule; after one that is not written yet, or that found no end, the others need no answer."""
        from autolab.check.run.candidate import LocalCandidate

        answers, known = [], _ReferenceStub(inputs, differentiable, None, defaults)
        try:
            ready = LocalCandidate(self._object(what), known, self._seconds(what, LOOPS))
        except TypeError as error:
            return [{"refused": str(error)}]
        with ready.batch():
            for known.given, *given in calls:
                answers.append(self.rule(ready, *given))
                if (answers[-1][4] or [None, None])[1] in LAST:
                    self._note_end(what, answers[-1][4])
                    break
        return answers

    def _seconds(self, what: Any, seconds: float) -> float:
        return seconds * AGAIN if repr(what) in self.endless else seconds

    def _note_end(self, what: Any, fault: list | None) -> None:
        if fault and fault[1] == "time":
            self.endless.add(repr(what))

    def rule(self, candidate: Any, arrays: list, settings: dict, upstream: list, between: list | None, same: list[int]) -> list:
        """One call of a rule, as `autolab.check.LocalCandidate` makes it: result, gradients, arguments afterwards, fault, recorded."""
        arrays = [arrays[i] for i in same]  # the same array given twice is the same array here
        answer = candidate.call(arrays, settings, upstream, between)
        fault = answer.fault and [answer.fault.phase, answer.fault.kind, answer.fault.text, answer.fault.line]
        after = _changed(arrays, answer.inputs), _changed(upstream, answer.upstream)  # the judge looks whether they were written into
        return [answer.out, [list(g) for g in answer.gradients], *after, fault, bool(answer.recorded)]

    def second(self, what: Any, inputs: tuple, differentiable: tuple, given: tuple) -> dict[str, Any]:
        """Backward differentiated once more, by the engine."""
        from autolab.check.run.candidate import LocalCandidate

        got, fault = LocalCandidate(self._object(what), _ReferenceStub(inputs, differentiable, None)).second(*given)
        return {"got": got, "fault": fault and [fault.phase, fault.kind, fault.text, fault.line]}

    def forward(self, name: str, number: int, arguments: tuple) -> Any:
        """The forward of a Function class, on tensors; its context stays here."""
        from autolab.check.run.candidate import Context

        cls = self._object(name)
        tensors = [_tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
        self.contexts[number] = context = Context(len(tensors), Tensor)
        if "setup_context" in vars(cls):
            out = cls.forward(*tensors)
            cls.setup_context(context, tuple(tensors), out)
        else:
            out = cls.forward(context, *tensors)
        return _plain(out)

    def backward(self, name: str, number: int, gradients: tuple) -> Any:
        """The backward that belongs to an earlier forward."""
        returned = self._object(name).backward(self.contexts[number], *(_tensor(g) for g in gradients))
        return _plain(returned if isinstance(returned, (tuple, list)) else (returned,))

    def call(self, name: str, arguments: tuple, keywords: dict, tensors: list[int]) -> Any:
        """A function on plain values; `tensors` are the positions that arrive as tensors."""
        values = [_tensor(a) if i in tensors else _own(a) for i, a in enumerate(arguments)]
        return _plain(self._object(name)(*values, **_own(keywords)))

    def plays(self, what: Any, exercise: str, scenes: list) -> list:
        """Scenes of an exercise on behaviour, each on its draws, as far as a short time allows; the judge asks for the others alone."""
        answers: list[dict[str, Any]] = []
        end = time.process_time() + SCENES * self.busy
        for scene, draws in scenes:
            for arrays in draws:
                if self.busy and time.process_time() > end:
                    return answers
                answers.append(self.play(what, exercise, scene, arrays))
                if (fault := answers[-1]["fault"]) and fault[1] == "time":
                    return answers
                if fault or not arrays:  # the judge asks no more of this scene
                    break
        return answers

    def play(self, what: Any, exercise: str, scene: str, arrays: tuple) -> dict[str, Any]:
        """One scene of an exercise on behaviour."""
        from autolab.check import BEHAVIOURS, LocalPlayer

        player = LocalPlayer(BEHAVIOURS[exercise], self._object(what), self._seconds(what, SCENE * self.busy), busy=True)
        outcome = player.play(scene, arrays)
        fault = outcome.fault and [outcome.fault.phase, outcome.fault.kind, outcome.fault.text, outcome.fault.line]
        self._note_end(what, fault)
        return {"data": outcome.data, "fault": fault}

    def _object(self, what: Any) -> Any:
        if isinstance(what, (list, tuple)):
            return tuple(self._object(w) for w in what)
        try:
            return self.shell.user_ns[what]
        except KeyError:
            raise NameError(f"name {what!r} is not defined") from None


def _question(connection: Any) -> tuple[str, tuple]:
    """The next question. It is the judge's, and may be a pickle; answers never are."""
    return pickle.loads(protocol.receive_raw(connection)[1])


def _changed(before: Any, after: Any) -> list | None:
    """What became of arguments; None if nothing did, which is shorter to say."""
    for a, b in zip(before, after, strict=True):
        if type(a) is not np.ndarray or a.shape != b.shape or a.dtype != b.dtype or a.tobytes() != b.tobytes():
            return list(after)
    return None


class _ReferenceStub:
    """As much of a reference as a rule needs in order to be called: names, and forward's result where that is not asked."""

    def __init__(self, inputs: tuple, differentiable: tuple, result: Any, defaults: dict | None = None):
        self.defaults = defaults or {}
        self.inputs, self._differentiable, self.given = tuple(inputs), tuple(differentiable), result

    def differentiable(self) -> tuple[str, ...]:
        return self._differentiable

    def result(self, inputs: Any, settings: Any) -> Any:
        return self.given


def _python_tree(source: str, parse: Any) -> ast.AST | None:
    """The syntax tree of a cell with nothing in it that only IPython understands: to look for magics takes longer than to run it."""
    try:
        return None if source.rstrip().endswith("?") else parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


_MISSING = object()


def _kind(value: Any) -> str:
    if value is _MISSING:
        return "missing"
    if isinstance(value, type) and issubclass(value, Function):
        return "function class"
    if callable(value):
        return "callable"
    return "value"


def _tensor(value: Any) -> Any:
    return from_numpy(np.array(value))


def _own(value: Any) -> Any:
    """The same with arrays that own their memory, as those do that a student makes: in a message they lie in its bytes."""
    if isinstance(value, (list, tuple)):
        return type(value)(_own(v) for v in value)
    if isinstance(value, dict):
        return {k: _own(v) for k, v in value.items()}
    return np.array(value) if isinstance(value, np.ndarray) else value


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_plain(v) for v in value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return np.asarray(value.detach().numpy()) if hasattr(value, "detach") else value


def _error_text(error: BaseException) -> str:
    try:
        return protocol.cut(str(error), ERROR)
    except BaseException:
        return "(its text raises as well)"


def _traceback(error: BaseException) -> list[str]:
    try:
        with short(error, ("autolab", "IPython")):
            lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-6)
        return [protocol.cut(line, ERROR) for line in lines][-LINES:]
    except BaseException:
        return [type(error).__name__[:200]]
