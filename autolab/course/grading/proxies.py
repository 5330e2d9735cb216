"""What a student defined, as the judge sees it: proxies that ask the sandbox, and a candidate that `judge` can call."""

from __future__ import annotations

import builtins
import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autolab.autograd import Function
from autolab.check import BEHAVIOURS, Answer, Fault, Reference
from autolab.check.behaviour.scenes import LONGEST_WORD, Outcome
from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import from_numpy

from . import protocol
from .protocol import cut
from .sandbox import RemoteError

TOGETHER, ALONE = 0.25, 0.75  # of the seconds of a cell: all scenes in one question, then one that had no answer
KINDS = ("blank", "exception", "count", "type", "time", "recursion", "syntax")
LARGEST, TIMES = 1 << 14, 64  # entries of an array that comes back, whatever was sent; times what was sent
Ask = Callable[..., Any]  # ask(what, *arguments): of the session that is open


class Proxy:
    """Something that the student's cells define. Calling it calls the student's function, on plain values."""

    def __init__(self, name: str, ask: Ask):
        self._name, self._ask = name, ask

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        tensors = [i for i, a in enumerate(arguments) if isinstance(a, Tensor)]
        values = [_numbers(a) for a in arguments]
        with _errors_of_same_name():
            answer = self._ask("call", self._name, tuple(values), keywords, tensors)
        return _like_arguments(answer, bool(tensors), most_entries(values))

    def __repr__(self) -> str:
        return f"<{self._name}, in the box>"


def function_class(name: str, ask: Ask) -> type[Function]:
    """A Function for the engine on this side, whose forward and backward are the student's."""
    numbers = itertools.count(1)

    def forward(ctx: Any, *arguments: Any) -> Any:
        ctx.number, ctx.settings = next(numbers), len(arguments)
        with _errors_of_same_name():
            values = tuple(_numbers(a) for a in arguments)
            out = ask("forward", name, ctx.number, values)
        ctx.most = most_entries(values)
        return _like_arguments(out, True, ctx.most)

    def backward(ctx: Any, *gradients: Any) -> Any:
        with _errors_of_same_name():
            returned = ask("backward", name, ctx.number, tuple(_numbers(g) for g in gradients))
        return tuple(_like_arguments(r, True, ctx.most) for r in returned)

    body = {"forward": staticmethod(forward), "backward": staticmethod(backward), "_in_the_box": name}
    return type(name, (Function,), body)


def name_of(candidate: Any) -> Any:
    """The name, or the names, under which the sandbox knows a candidate; None if it is not in the sandbox."""
    if isinstance(candidate, (tuple, list)):
        names = tuple(name_of(c) for c in candidate)
        return names if names and all(names) else None
    if isinstance(candidate, Proxy):
        return candidate._name
    return getattr(candidate, "_in_the_box", None) if isinstance(candidate, type) else None


class SandboxCandidate:
    """A rule that is called in the sandbox. The verdict is made here, from the arrays.

    `reply` is what came back before, if it did; `by_engine` says that the judge has seen that the rule needs the engine's derivatives.
    """

    def __init__(self, name: Any, reference: Reference, ask: Ask, reply: Any = None, by_engine: bool = False):
        self.name, self.inputs, self.result, self.ask = name, reference.inputs, reference.result, ask
        self.differentiable = tuple(reference.differentiable())
        self.defaults = {k: v for k, v in reference.defaults.items() if _is_plain(v)}
        self.count = 0
        self.judges_forward = not isinstance(name, str)
        if isinstance(name, str):
            self.judges_forward = ask("kinds", [name]).get(name) == "function class"
        self.ended: str | None = None
        self.ready: dict[int, Any] = {}
        self.reply, self.by_engine = reply, by_engine
        self.late = False  # whether a call found no end
        self.more = False  # something was asked beside what was prepared

    def question(self, cases: Sequence[Any]) -> bytes:
        """All calls in one question."""
        calls = [self._call(c.inputs, c.settings, c.upstream, c.between) for c in cases]
        return protocol.question("rules", (self.name, self.inputs, self.differentiable, self.defaults, calls))

    def prepare(self, question: bytes) -> str | None:
        """Ask for all calls at once, and keep what comes back; what is returned is the same for the same answers.

        If the process does not survive them, `call` asks for each again.
        """
        try:
            self.reply = self.ask("put", question)
        except protocol.Broken as error:
            if error.late:  # once is enough
                self.ended = f"Your code was stopped: {error}"
            return None
        return self.reply.digest()

    def read(self) -> None:
        """Read what `prepare` kept."""
        if self.reply is None:
            return
        try:
            answers = self.reply.read()
        except (protocol.Broken, RemoteError, ValueError):
            return
        if isinstance(answers, list):
            self.ready = dict(enumerate(answers))

    def call(
        self,
        inputs: Sequence[np.ndarray],
        settings: Mapping[str, Any],
        upstream: Sequence[np.ndarray],
        between: Sequence[np.ndarray] | None = None,
    ) -> Answer:
        """Forward once and backward for each incoming gradient, in the sandbox."""
        self.count += 1
        answer = self.ready.pop(self.count - 1, None)
        if answer is None and not self.ended:
            self.more = True
            try:
                (answer,) = self.ask(
                    "rules", self.name, self.inputs, self.differentiable, self.defaults, [self._call(inputs, settings, upstream, between)]
                )
            except (protocol.Broken, RemoteError) as error:
                self.ended = str(error) if isinstance(error, RemoteError) else f"Your code was stopped: {error}"
            except (ValueError, TypeError):
                self.ended = "the answer is not what a rule returns"
        if self.ended:
            return self._nothing(inputs, upstream, Fault("forward", "exception", self.ended))
        if isinstance(answer, dict) and isinstance(answer.get("refused"), str):
            raise TypeError(answer["refused"][:600])
        try:
            return self._answer(answer, inputs, upstream)
        except TooLarge as error:
            self.ended = str(error)
            return self._nothing(inputs, upstream, Fault("forward", "exception", self.ended))
        except (KeyError, TypeError, ValueError, AttributeError):
            self.ended = "the answer is not what a rule returns"
            return self._nothing(inputs, upstream, Fault("forward", "exception", self.ended))

    def second(self, inputs: Sequence, settings: Mapping, g: np.ndarray, directions: Any) -> tuple[Any, Fault | None]:
        """The gradients of backward itself, which only the sandbox can differentiate."""
        self.more = True
        try:
            given = (tuple(inputs), dict(settings), g, directions)
            answer = self.ask("second", self.name, self.inputs, self.differentiable, given)
            if answer["fault"] is not None:
                return None, _rule_fault(answer["fault"])
            most = most_entries(inputs)
            return [_numeric(a, most) for a in answer["got"]], None
        except (protocol.Broken, RemoteError) as error:
            return None, Fault("backward", "exception", f"Your code was stopped: {error}")
        except TooLarge as error:
            return None, Fault("backward", "exception", str(error))
        except (KeyError, TypeError, ValueError):
            return None, Fault("backward", "exception", "the answer is not what a rule returns")

    def _call(self, inputs: Sequence, settings: Mapping, upstream: Sequence, between: Sequence | None) -> list:
        first: dict[int, int] = {}
        same = [first.setdefault(id(a), i) for i, a in enumerate(inputs)]
        result = None if self.judges_forward else np.asarray(self.result(inputs, settings))
        return [result, list(inputs), dict(settings), list(upstream), None if between is None else list(between), same]

    def _answer(self, answer: Any, inputs: Sequence[np.ndarray], upstream: Sequence[np.ndarray]) -> Answer:
        out, gradients, now, gs, said, recorded = answer
        most = most_entries([*inputs, *upstream])
        gradients = tuple(tuple(_numeric(g, most) for g in one) for one in gradients)
        if len(gradients) > len(upstream) or any(len(one) != len(inputs) for one in gradients):
            raise ValueError
        now = [np.asarray(a) for a in inputs] if now is None else now  # None: as they were
        gs = [np.asarray(g) for g in upstream] if gs is None else gs
        if len(now) != len(inputs) or len(gs) != len(upstream):
            raise ValueError
        after, gs, out = (tuple(_numeric(a, most) for a in now), tuple(_numeric(a, most) for a in gs), _numeric(out, most))
        if any(a is None for a in (*after, *gs)):
            raise ValueError
        fault = None
        if said is not None:
            fault = _rule_fault(said)
            self.late |= fault.kind == "time"
        elif len(gradients) < len(upstream) or out is None:
            raise ValueError  # fewer answers than questions, and no reason
        return Answer(out, gradients, after, gs, fault, self.by_engine or recorded is not False)

    def _nothing(self, inputs: Sequence[np.ndarray], upstream: Sequence[np.ndarray], fault: Fault) -> Answer:
        return Answer(None, (), tuple(inputs), tuple(upstream), fault)


class SandboxPlayer:
    """An exercise on behaviour that is played in the sandbox. What is expected is computed here."""

    def __init__(self, exercise: str, name: Any, ask: Ask):
        self.exercise, self.name, self.ask = exercise, name, ask
        self.ended: str | None = None
        self.reply: Any = None
        self.ready: Iterator[Any] | None = None
        self.more = False  # something was asked beside what was prepared

    def question(self, draws: Sequence[Sequence[tuple]]) -> bytes:
        """All scenes in one question."""
        scenes = [scene.name for scene in BEHAVIOURS[self.exercise].scenes]
        played = [(scene, [_arrays(inputs) for inputs in both]) for scene, both in zip(scenes, draws, strict=True)]
        return protocol.question("plays", (self.name, self.exercise, played))

    def prepare(self, question: bytes) -> str | None:
        """Ask for all scenes at once, and keep what comes back; what is returned is the same for the same answers.

        Scenes without an answer, as those after one that took long, are asked for one by one.
        """
        with contextlib.suppress(protocol.Broken):
            self.reply = self.ask("put", question, TOGETHER)
        return self.reply and self.reply.digest()

    def _prepared(self) -> Any:
        """The next of the answers that `prepare` kept, or None. They are read when the first is wanted."""
        if self.ready is None:
            answers = None
            with contextlib.suppress(protocol.Broken, RemoteError, ValueError):
                answers = self.reply and self.reply.read()
            self.ready = iter(answers if isinstance(answers, list) else ())
        return next(self.ready, None)

    def play(self, scene: str, inputs: Sequence[np.ndarray]) -> Any:
        """The numbers and words that a scene gave."""
        if self.ended:
            return Outcome(None, Fault("call", "exception", self.ended))
        try:
            answer = self._prepared()
            if answer is None:
                self.more = True
                question = protocol.question("play", (self.name, self.exercise, scene, _arrays(inputs)))
                answer = self.ask("put", question, ALONE).read()
            if answer["fault"] is not None:
                phase, kind, text, line = answer["fault"]
                if kind == "time":  # once is enough
                    self.ended = "Your code was stopped: it took too long"
                return Outcome(None, Fault(str(phase)[:20], str(kind)[:20], cut(str(text), 600), line and cut(str(line), 300)))
            most = most_entries(inputs)
            return Outcome(
                {str(k): v[:LONGEST_WORD] if isinstance(v, str) else _numeric(v, most, "fiubc") for k, v in answer["data"].items()}
            )
        except protocol.Broken as error:
            self.ended = f"Your code was stopped: {error}"
        except RemoteError as error:
            self.ended = str(error)
        except TooLarge as error:
            self.ended = str(error)
        except (LookupError, TypeError, ValueError, AttributeError):
            self.ended = "the answer is not what a scene gives"
        return Outcome(None, Fault("call", "exception", self.ended))


def _arrays(inputs: Sequence[Any]) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(a) for a in inputs)


def _rule_fault(said: Any) -> Fault:
    phase, kind, text, line = said
    kind = kind if kind in KINDS else "exception"
    return Fault("backward" if phase == "backward" else "forward", kind, cut(str(text), 600), line and cut(str(line), 300))


def _is_plain(value: Any) -> bool:
    """Can it be handed over? The default of a setting may be anything."""
    return value is None or isinstance(value, (bool, int, float, str)) or (isinstance(value, tuple) and all(map(_is_plain, value)))


class TooLarge(ValueError):
    """An array came back that is far larger than what was asked about."""


def most_entries(sent: Sequence[Any]) -> int:
    """The entries of an array that are looked at. The judge explains by comparisons that multiply them, and no clock runs there."""
    return max(LARGEST, TIMES * max((a.size for a in sent if isinstance(a, np.ndarray)), default=0))


def _numeric(value: Any, most: int, kinds: str = "fiub") -> np.ndarray | None:
    if value is None:
        return None
    if type(value) is not np.ndarray or value.dtype.kind not in kinds:
        raise TypeError("not an array of numbers")
    return _looked_at(value, most)


def _looked_at(value: np.ndarray, most: int) -> np.ndarray:
    if value.size > most:
        raise TooLarge(f"it returned an array of shape {value.shape}, {value.size} entries; an answer here has at most {most}")
    return value


def _numbers(value: Any) -> Any:
    return np.array(value.detach().numpy()) if isinstance(value, Tensor) else value


def _like_arguments(value: Any, tensors: bool, most: int) -> Any:
    """Arrays as tensors where tensors were given; everything else as it is. Raises TooLarge."""
    if isinstance(value, tuple):
        return tuple(_like_arguments(v, tensors, most) for v in value)
    if not isinstance(value, np.ndarray):
        return value
    return from_numpy(np.array(_looked_at(value, most))) if tensors else _looked_at(value, most)


@contextlib.contextmanager
def _errors_of_same_name() -> Iterator[None]:
    """An exception in the sandbox is one of the same name here, if Python has one."""
    try:
        yield
    except RemoteError as error:
        name, _, text = str(error).partition(": ")
        kind = getattr(builtins, name, None)
        # StopIteration would end a loop of the test over the student's function early, and well
        if not (isinstance(kind, type) and issubclass(kind, Exception)) or issubclass(kind, (StopIteration, StopAsyncIteration)):
            raise
        try:
            same = kind(text)
        except TypeError:  # such as UnicodeDecodeError, which wants five arguments
            raise error from None
        raise same from None
