"""A function on tensors as one tape: the rows of the table that it runs through, forward, and their rules on the way back.

Unlike a chain of `stepwise.py`, it may run through rows with several results, such as a factorisation; and what the rules do is on the
tape as well, operation by operation.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autolab.autograd import no_grad
from autolab.engine.apply import dispatch
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy
from autolab.transforms.dual import rule_arguments

from ...run.reference import sum_to
from ..formulas.textbook import Rule
from ..replay import Asking, CannotReplay, Tape, Unnoted
from ..step_names import Frames, StepNames, frames_up_to, instruction, row_in_words

MOST_ROWS = 120
LIBRARY = "autolab."
ENGINE = ("autolab.engine.", "autolab.fast.")


@dataclass(eq=False)
class RowRun:
    """One row that ran: which values it took (or which constants), the places of its results, and the line that called it."""

    row: Any
    sources: list[Any]  # of each argument: its place, or the constant itself
    settings: Mapping[str, Any]
    places: list[int]
    line: Any
    frames: Frames


class Trace:
    """The rows that a function runs through on some inputs."""

    def __init__(self, function: Callable, inputs: Mapping[str, np.ndarray], settings: Mapping[str, Any]):
        self.rows: list[RowRun] = []
        self.count = self.inputs = len(inputs)
        tensors = [from_numpy(np.array(a)) if np.asarray(a).dtype.kind == "f" else a for a in inputs.values()]
        self._places = {id(t): k for k, t in enumerate(tensors) if isinstance(t, Tensor)}
        self._kept: list[Any] = list(tensors)
        before, modes.tracer = modes.tracer, self
        modes.settle()
        try:
            with no_grad():
                result = function(*tensors, **settings)
        finally:
            modes.tracer = before
            modes.settle()
        if not isinstance(result, Tensor) or id(result) not in self._places or not self.rows:
            raise CannotReplay("the result comes from elsewhere")
        self.last = self._places[id(result)]

    @functools.cached_property
    def names(self) -> StepNames:
        """What each row is called."""
        return StepNames([row_in_words(run.row.name) for run in self.rows], [run.frames for run in self.rows])

    def looked(self, *about: Any) -> None:
        """The engine says that numbers are looked at."""

    def created(self, tensor: Tensor) -> None:
        """The engine says that a tensor is made of numbers: a constant."""

    def operation(self, op: Any, args: Any, settings: Mapping[str, Any]) -> Any:
        """Run one row, and note it: the engine calls this for each."""
        result = dispatch(op, args, dict(settings))
        several = result if isinstance(result, (tuple, list)) else (result,)
        if len(self.rows) >= MOST_ROWS or not all(isinstance(r, Tensor) for r in several):
            raise CannotReplay("too many rows")
        sources: list[Any] = []
        for a in args:
            raw = np.asarray(a.payload if isinstance(a, Tensor) else a)
            sources.append(self._places[id(a)] if isinstance(a, Tensor) and id(a) in self._places else raw)
        places = []
        for r in several:
            places.append(self.count)
            self._places[id(r)] = self.count
            self._kept.append(r)  # kept alive, so that no other tensor gets its id
            self.count += 1
        self.rows.append(RowRun(op, sources, {**op.settings, **settings}, places, _line(), frames_up_to(Trace.__init__.__code__)))
        return result

    def gradient(
        self, tape: Tape, inputs: Sequence[Any], x: int, g: Any,
        changed: Mapping[int, Mapping[str, Any]] | None = None, rules: Mapping[tuple[str, str], Rule] | None = None,
        without_zeros: bool = False,
    ) -> Any:  # fmt: skip
        """Forward and back on arrays that note what is done to them on this tape.

        `changed`: other settings for some of the rows. `rules`: other rules, by row and input. `without_zeros`: where 0 comes back, it is
        not sent on.
        """
        values: dict[int, Any] = dict(enumerate(inputs))
        tape.names = self.names
        ran: list[tuple[RowRun, list[Any], tuple[Any, ...]]] = []
        for number, run in enumerate(self.rows):
            tape.tag, tape.row = ("forward", run.line), number
            raw = [values[s] if isinstance(s, int) else s for s in run.sources]
            if (changed or {}).get(number, {}).get("skipped"):  # as if it were not there
                values[run.places[0]] = _opaque(tape, np.copy, (raw[0],))
                tape.results.append(-1)
                ran.append((run, raw, (values[run.places[0]],)))
                continue
            settings = {**run.settings, **(changed or {}).get(number, {})}
            result = _opaque(tape, _forward_of(run.row, settings), raw)
            results = result if isinstance(result, tuple) else (result,)
            values |= zip(run.places, results, strict=True)
            tape.results.append(getattr(results[0], "node", -1))
            tape.row_of |= {r.node: number for r in results if isinstance(r, Asking)}
            ran.append((run, raw, results))
        made = {place: run.line for run in self.rows for place in run.places}
        arrived: dict[int, Any] = {self.last: g}
        for number, (run, raw, results) in reversed([*enumerate(ran)]):
            tape.row = number
            if not any(place in arrived and (not without_zeros or np.any(arrived[place])) for place in run.places):
                continue
            if (changed or {}).get(number, {}).get("skipped"):
                back, source = arrived[run.places[0]], run.sources[0]
                arrived[source] = arrived[source] + back if source in arrived else back
                continue
            tape.tag = "incoming", run.line, run.row.name
            incoming = tuple(
                _opaque(tape, incoming_of_row, (arrived[p], r)) if p in arrived else np.zeros_like(np.asarray(r))
                for p, r in zip(run.places, results, strict=True)
            )
            names = rule_arguments(run.row, raw, results, {**run.settings, **(changed or {}).get(number, {})})
            for k, source in enumerate(run.sources):
                name = run.row.inputs[0 if run.row.variadic else k]
                if not isinstance(source, int) or name not in run.row.rules or source >= self.count:
                    continue
                tape.tag = "back", run.line, k, run.row.name
                rule = run.row.rules[name]
                function, needs = (rules or {}).get((run.row.name, name), (rule.function, rule.needs))
                back = incoming if run.row.outputs != 1 else incoming[0], *(names[n] for n in needs)
                value = _noted(tape, function, back)
                value = value[k] if run.row.variadic else value
                value = sum_to(value, np.shape(raw[k])) if run.row.kind == "elementwise" else value
                if isinstance(value, Asking):
                    others = [s for s in run.sources if isinstance(s, int) and s < len(inputs) and s != source]
                    tape.through[value.node] = self.names.name(number, every_round=True), others
                tape.tag = "arrives", source if source < len(inputs) else -1, run.line, made.get(source)
                arrived[source] = arrived[source] + value if source in arrived else value
        return arrived[x]


def _forward_of(row: Any, settings: Mapping[str, Any]) -> Callable:
    """A row with its settings, by a name of its own: what goes wrong in it goes wrong on the way there."""

    def forward(*arguments: Any) -> Any:
        return row.forward(*arguments, **settings)

    forward.__name__ = f"forward {row.name}"
    return forward


def incoming_of_row(g: Any, result: Any) -> Any:
    """What comes back to a row, and which result it belongs to: a slip may bring in the result."""
    return g


def _noted(tape: Tape, function: Callable, arguments: tuple) -> Any:
    """What a rule gives, with each of its operations noted; one that writes in place is noted as a whole."""
    with contextlib.suppress(CannotReplay):
        value = function(*arguments)
        parts = value if isinstance(value, (list, tuple)) else [value]  # of a row that takes a list, one for each
        if isinstance(tape, Unnoted) or all(isinstance(part, Asking) and part.tape is tape for part in parts):
            return value
    return _opaque(tape, function, arguments)


def _opaque(tape: Tape, function: Callable, arguments: Any) -> Any:
    """What a function gives, as one thing that happened."""
    try:
        return tape.apply(function, tuple(arguments), {})
    except CannotReplay:  # of constants alone
        return function(*arguments)


def _line() -> tuple[Any, ...]:
    """The line outside of the library that is running, and those inside that it came through.

    Not those of the engine: it takes another way once functions are written out for an operation.
    """
    frame = sys._getframe(2)
    inside = []
    while frame.f_back and (name := frame.f_globals.get("__name__", "")).startswith(LIBRARY):  # generated code has no file
        if not name.startswith(ENGINE):
            inside.append(instruction(frame))
        frame = frame.f_back
    return frame.f_code, instruction(frame), *inside
