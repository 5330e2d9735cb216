"""Exercises on the engine itself: what a piece of it does, not which derivative it returns.

A scene is played with the learner's function or class on plain arrays and gives plain numbers and words: results, call
counts, an order, bytes held, the name of an error. That side may sit in another process. What is expected is computed
on the other side, from the same arrays; so are the slips: what a particular mistake would have given.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from autolab.autograd import enable_grad
from autolab.torch_api.creation import from_numpy

from ..run.candidate import Fault, fault_of, quiet
from ..run.inputs import draw
from ..run.limit import SECONDS, limit
from ..run.meter import TooLong, of_library

Data = Mapping[str, Any]
LONGEST_WORD = 400
SHORT = 0.5  # seconds for a scene, after one did not come to an end


@dataclass(frozen=True)
class Slip:
    """A mistake in an exercise on behaviour, by what it would have given: `expect(*arrays)` names the entries that give it away.

    >>> squared = Slip("power", "The number is squared", "Twice, not squared.", lambda: {"result": 9})
    >>> squared.expect(), squared.sure
    ({'result': 9}, True)
    """

    family: str
    text: str
    hint: str
    expect: Callable[..., Data]
    sure: bool = True


@dataclass(frozen=True)
class Scene:
    """One thing to try: `play(candidate, *arrays)` beside `expect(*arrays)`; both return a dict of numbers and words.

    `inputs` draws the arrays; a scene with arrays is played on two draws, and each may be a different one of `slips`.

    >>> twice = Scene("a number", lambda f, n: {"result": f(n)}, lambda n: {"result": 2 * n}, "it is doubled", "Try it with 3.",
    ...               inputs=lambda rng: (rng.normal(),))
    >>> twice.play(lambda n: n + n, 1.5), twice.expect(1.5)
    ({'result': 3.0}, {'result': 3.0})
    """

    name: str
    play: Callable[..., Data]
    expect: Callable[..., Data]
    passed: str  # what is said if it is right
    hint: str
    points: float = 1.0
    inputs: Callable[[np.random.Generator], tuple] = lambda rng: ()
    slips: Sequence[Slip] = ()
    says: Mapping[str, str] = field(default_factory=dict)  # what an entry is, in words
    rtol: float = 1e-9
    tells: bool = True  # what is expected: False where that would be the answer
    shows: Sequence[str] = ()  # names for its inputs, where a learner can try these numbers by hand
    context: str = ""  # an entry that is told with what is wrong, such as the whole list
    side: bool = False  # holds of unrelated code as well: its points are earned as far as those of the other scenes are


@dataclass(frozen=True)
class WrongWay:
    """A candidate with one mistake, or two: what it gives in every scene is what a learner's gives who makes it."""

    family: str
    text: str
    hint: str
    candidate: Any
    several: bool = False  # two mistakes: looked for if no single one fits


@dataclass(frozen=True)
class Behaviour:
    """One exercise on what a piece of code does: its scenes, in the order in which a person would repair them.

    >>> from autolab.check import judge_behaviour
    >>> doubling = Behaviour("doubling", (
    ...     Scene("a number", lambda f: {"result": f(3)}, lambda: {"result": 6}, "twice 3 is 6", "Try it with 3.",
    ...           slips=[Slip("power", "The number is squared", "Twice, not squared.", lambda: {"result": 9})]),))
    >>> judge_behaviour(doubling, LocalPlayer(doubling, lambda n: n**2)).diagnoses[0].text
    'The number is squared'
    """

    name: str
    scenes: tuple[Scene, ...]
    wrong_ways: tuple[WrongWay, ...] = ()  # a mistake shows in several scenes: it is looked for in all of them at once

    @property
    def points(self) -> float:
        """What all scenes are worth."""
        return sum(scene.points for scene in self.scenes)


@dataclass(frozen=True)
class Outcome:
    """What a scene gave, or why it gave nothing: all that a player hands to the judge.

    >>> Outcome({"result": 6}).fault is None
    True
    """

    data: Data | None
    fault: Fault | None = None


class Player(Protocol):
    """Something that plays a scene with the learner's code. It may sit in another process.

    >>> class Doubles:
    ...     def play(self, scene, inputs):
    ...         return Outcome({"result": 6})
    >>> player: Player = Doubles()
    """

    def play(self, scene: str, inputs: Sequence[np.ndarray]) -> Outcome:
        """Play the scene of this name on these arrays."""
        ...


class LocalPlayer:
    """A learner's code in this process, with a limit of time (in seconds) for each scene; `busy` counts seconds of computing only.

    What it raises does not come out: it is the fault of the outcome.

    >>> halving = Behaviour("halving", (Scene("a number", lambda f: {"result": f(3)}, lambda: {"result": 1.5}, "right", "Try 3."),))
    >>> LocalPlayer(halving, lambda n: n / 0).play("a number", ()).fault.text
    'your code raised ZeroDivisionError: division by zero'
    """

    def __init__(self, behaviour: Behaviour, candidate: Any, seconds: float = SECONDS, busy: bool = False):
        self.scenes = {scene.name: scene for scene in behaviour.scenes}
        self.candidate, self.seconds, self.busy = candidate, seconds, busy

    def play(self, scene: str, inputs: Sequence[np.ndarray]) -> Outcome:
        """Play the scene on copies of the arrays."""
        with quiet(), enable_grad():
            try:
                with limit(self.seconds, self.busy):
                    return Outcome(plain(self.scenes[scene].play(self.candidate, *(np.array(a) for a in inputs))))
            except TooLong as error:
                found = fault_of("your code", error, self.seconds)
                self.seconds = min(self.seconds, SHORT)  # each further scene may have the same loop
                return Outcome(None, found)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # SystemExit among them
                return Outcome(None, _named(error))


class UnexpectedResult(TypeError):
    """A scene got something else than it asked for: a fact about the value, and nothing that the learner's code raised."""


def _named(error: BaseException) -> Fault:
    if isinstance(error, NotImplementedError):
        return Fault("call", "blank", "not written yet")
    if isinstance(error, UnexpectedResult):
        return Fault("call", "type", str(error))
    found = fault_of("your code" if _reached_code(error) else "calling your code or using what it returned", error)
    if found.kind == "recursion":  # without end, or only once for each of many nodes
        return Fault("call", found.kind, "your code calls itself more often than Python allows, about a thousand times", found.line)
    return Fault("call", found.kind, found.text, found.line)


def _reached_code(error: BaseException) -> bool:
    """Did the learner's own lines raise it? A file that is no Python, or cannot be imported, counts as one."""
    return isinstance(error, (SyntaxError, ImportError)) or any(
        not of_library(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)
    )


def kind_of(value: Any) -> str:
    """What a value is, in words.

    >>> kind_of(None), kind_of(3), kind_of((1, 2))
    ('None', 'an int', 'a tuple of 2')
    """
    if value is None:
        return "None"
    name = type(value).__name__
    many = f" of {len(value)}" if isinstance(value, (tuple, list)) else ""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}{many}"


def plain(data: Data) -> dict[str, Any]:
    """Numbers as arrays, words as short text: all that may cross to the judge.

    >>> plain({"order": ["a", "b"], "calls": 2})
    {'order': 'a b', 'calls': array(2)}
    """
    return {str(key): _plain(key, value) for key, value in data.items()}


def _plain(key: str, value: Any) -> Any:
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if isinstance(value, str):
        return value[:LONGEST_WORD]
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        return " ".join(value)[:LONGEST_WORD]
    if isinstance(value, (list, tuple)):
        value = [v.detach().numpy() if hasattr(v, "detach") else v for v in value]
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "fiubc":
        if isinstance(value, (list, tuple)) and (odd := [v for v in value if not isinstance(v, (int, float, np.ndarray, np.generic))]):
            raise UnexpectedResult(f"{key} has {kind_of(odd[0])} in it, expected numbers")
        found = array.item() if array.dtype == object and not array.ndim else value
        raise UnexpectedResult(f"{key} is {kind_of(found)}, expected numbers")
    return array


def arrays(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], tuple]:
    """The inputs of a scene: an array of random numbers for each shape."""
    return lambda rng: tuple(draw(rng, shape) for shape in shapes)


def leaf_tensor(a: np.ndarray) -> Any:
    """A tensor on these numbers that requires a gradient."""
    return from_numpy(a).requires_grad_()


def pair(value: Any, of: str) -> Sequence:
    """The two things that a function was asked for."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise UnexpectedResult(f"result is {kind_of(value)}, expected a pair: {of}")
    return value


def error_name(call: Callable[[], Any]) -> str:
    """The type of the error that a call raises, or "nothing". An answer that is not written yet stays so.

    A type of one's own is named by the type of Python's that it is made from: it is one, too.
    """
    return error_text(call).partition(":")[0]


def error_text(call: Callable[[], Any]) -> str:
    """The type and the words of the error that a call raises, or "nothing"."""
    try:
        call()
    except NotImplementedError:
        raise
    except Exception as error:
        return f"{next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == 'builtins')}: {error}"
    return "nothing"
