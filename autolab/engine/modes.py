"""7. What the thread is doing: recording or not, at which level, with which hooks.

One thread-local object holds it all. `fast` is true when there is nothing to look at but the tensors themselves: no transform is
active, nobody wants to see saved values. Reading a thread-local costs as much as multiplying two numbers, so the shortcuts of
`autolab.shortcuts` first look at a plain global: how many threads are not fast, or do not record, at the moment.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable
from typing import Any

# The globals of all generated shortcuts. `slow_threads` is the number of threads that are not in the usual mode.
GENERATED: dict[str, Any] = {"__name__": "autolab.engine.generated", "slow_threads": 0}
_counting = threading.Lock()


class Modes(threading.local):
    """The state of one thread."""

    def __init__(self) -> None:
        self.grad = True
        self.forward = True  # whether forward mode computes tangents
        self.levels: list[Any] = []
        self.saved_hooks: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
        self.passes = 0  # backward passes that are under way, one within the other
        self.hooks_disabled: str | None = None  # why no saved-tensor hooks may be set
        self.anomaly = False
        self.multithreading = True  # only for those who ask: a pass runs in one thread
        self.check_nan = True  # in anomaly mode: also refuse gradients that are nan
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
        watched = self.saved_hooks or self.anomaly or self.watch or self.profiler or self.counter or self.autocast or self.tracer
        self.watched = bool(watched)
        self.fast = not (watched or self.levels)
        usual = self.fast and self.grad
        if usual != self.usual:
            self.usual = usual
            with _counting:
                GENERATED["slow_threads"] += -1 if usual else 1


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
            modes.grad = self.on
            modes.settle()

    def __exit__(self, *exc: object) -> None:
        if modes.grad != self.before:
            modes.grad = self.before
            modes.settle()


def is_grad_enabled() -> bool:
    """True if operations on this thread are recorded."""
    return modes.grad


class _GradMode:
    """A context manager that is also a decorator, for functions and generators alike."""

    value: bool

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(modes.grad)
        modes.grad = self.value
        modes.settle()

    def __exit__(self, *exc: object) -> None:
        modes.grad = self._before.pop()
        modes.settle()

    def _again(self) -> _GradMode:
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
                "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return self._around_generator(function)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return inside

    def _around_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # The mode holds while the generator's body runs, not while it waits for its caller.
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            step, value = generator.send, None
            while True:
                try:
                    with self._again():
                        item = step(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    value, step = (yield item), generator.send
                except GeneratorExit:
                    with self._again():
                        generator.close()
                    raise
                except BaseException as error:
                    value, step = error, generator.throw

        return inside


class no_grad(_GradMode):
    """Within it, results remember nothing and do not require grad.

    >>> x = tensor([1.], requires_grad=True)
    >>> with no_grad():
    ...     (x * 2).requires_grad
    False
    """

    value = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        self = super().__new__(cls)
        if function is not None:  # used as a bare decorator: @no_grad
            self.__init__()  # type: ignore[misc]
            return self(function)
        return self


class enable_grad(no_grad):
    """Within it, results are recorded again, also inside `no_grad`."""

    value = True


def untracked(args: Any, counter: list[int]) -> list[int]:
    """What inference mode gives to new tensors."""
    return Untracked(counter)


def is_inference_mode_enabled() -> bool:
    """True if new tensors of this thread are inference tensors."""
    return modes.inference


class inference_mode(_GradMode):
    """`no_grad`, and more: new tensors are inference tensors, which count no writes and can never take part in a graph.

    `inference_mode(False)` within it goes back to normal.

    >>> with inference_mode():
    ...     t = tensor([1.0])
    >>> t.is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if callable(mode):  # used as a bare decorator: @inference_mode
            self.__init__()  # type: ignore[misc]
            return self(mode)
        return self

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = bool(mode)
        self._outside: list[tuple[bool, bool, Any]] = []

    def __enter__(self) -> None:
        self._outside.append((modes.grad, modes.inference, modes.counter))
        modes.grad = not self.mode
        if self.mode != modes.inference:
            modes.inference, modes.counter = self.mode, untracked if self.mode else None
        modes.settle()

    def __exit__(self, *exc: object) -> None:
        modes.grad, modes.inference, modes.counter = self._outside.pop()
        modes.settle()

    def _again(self) -> _GradMode:
        return inference_mode(self.mode)


class set_grad_enabled(_GradMode):
    """Turn recording on or off: at once when called, until the end of the block when used as a context manager."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.value = bool(mode)
        self._at_call = modes.grad
        modes.grad = self.value
        modes.settle()

    def __enter__(self) -> None:
        self._before.append(self._at_call)
        modes.grad = self.value
        modes.settle()

    def _again(self) -> _GradMode:
        return set_grad_enabled(self.value)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        modes.grad = self._at_call  # as a decorator it changes nothing outside the function
        modes.settle()
        return super().__call__(function)
