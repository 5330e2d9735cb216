"""8. What the thread is doing: recording or not, at which level, with which hooks.

One thread-local object holds it all. `fast` is true when there is nothing to look at but the tensors themselves: no transform is
active, nobody wants to see saved values. Reading a thread-local costs as much as multiplying two numbers, so what is written out for
speed first looks at a plain global: which threads are not fast, or do not record, at the moment.
"""

from __future__ import annotations

from _thread import _local as ThreadLocal  # threading.local, without loading the rest of `threading`
from _thread import get_ident
from collections.abc import Callable
from typing import Any

slow_threads: set[int] = set()  # the threads that are not in the usual mode, by number


class Modes(ThreadLocal):
    """The state of one thread."""

    def __init__(self) -> None:
        self.thread = get_ident()
        self.grad = True
        self.forward = True  # whether forward mode computes tangents
        self.levels: list[Any] = []
        self.saved_hooks: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
        self.passes = 0  # backward passes that are under way, one within the other
        self.hooks_disabled: str | None = None  # why no saved-tensor hooks may be set
        self.anomaly: Any = None  # told of each node that is made (`remember`), and runs it (`gradients`): to say which line failed
        self.check_nan = True  # in anomaly mode: also refuse gradients that are nan
        self.multithreading = True  # only for those who ask: a pass runs in one thread
        self.watch: Callable[[Any, Any], None] | None = None  # told of each node and its results, as they are recorded
        self.profiler: Any = None  # runs each operation (`operation`) and each backward pass (`walk`), and times them
        # Gives the version counters of new results where they are not ordinary: in inference mode, and in a Function's forward.
        self.counter: Callable[[Any, list[int]], list[int]] | None = None
        self.inference = False
        self.autocast: Any = None  # says in which dtype each operation is to run, where that is not the tensors' own
        self.before_write: Callable[[Any], None] | None = None  # told of a tensor that is about to be written to
        self.tracer: Any = None  # notes all that a call does, so that `compile` can replay it
        self.fast = self.usual = True
        self.watched = False

    def settle(self) -> None:
        """Work out `fast`, `watched` (somebody but the transforms wants to know) and `usual` again, after any of the others has changed."""
        own = self.__dict__  # to ask a thread-local for it takes as long as for any attribute
        watched = bool(
            own["saved_hooks"] or own["anomaly"] or own["watch"] or own["profiler"] or own["counter"] or own["autocast"] or own["tracer"]
        )
        levels = own["levels"]
        for level in levels:
            level.watched = watched
        own["watched"] = watched
        own["fast"] = not (watched or levels)
        self.record(own["grad"])

    def record(self, on: bool) -> None:
        """Record operations from now on, or do not."""
        own = self.__dict__
        own["grad"] = on
        usual = own["fast"] and on
        if usual != own["usual"]:
            own["usual"] = usual
            (slow_threads.discard if usual else slow_threads.add)(own["thread"])


modes = Modes()


class Untracked(list[int]):
    """The version counter of an inference tensor: it counts nothing, so outside of inference mode nobody may rely on it."""

    def __getitem__(self, i: Any) -> Any:
        if not modes.inference:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
                "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
                "`torch.no_grad()` instead of `torch.inference_mode()`."
            )
        return super().__getitem__(i)


class recording:
    """For the engine's own use: whether operations are recorded within a block."""

    __slots__ = ("before", "on")

    def __init__(self, on: bool) -> None:
        self.on = on

    def __enter__(self) -> None:
        self.before = modes.grad
        if self.on != self.before:
            modes.record(self.on)

    def __exit__(self, *exc: object) -> None:
        if modes.grad != self.before:
            modes.record(self.before)


def untracked(args: Any, counter: list[int]) -> list[int]:
    """What inference mode gives to new tensors."""
    return Untracked(counter)
