"""Recording or not, as users ask for it: context managers that are decorators too, over the state in `engine.modes`."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autolab.engine.modes import modes, untracked
from autolab.engine.tensor import Tensor

__all__ = [
    "enable_grad", "inference_mode", "is_inference", "is_inference_mode_enabled", "is_multithreading_enabled", "no_grad",
    "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


def is_grad_enabled() -> bool:
    """True if operations on this thread are recorded.

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    >>> is_grad_enabled()
    True
    """
    return modes.grad


class _GradMode:
    """A context manager that is also a decorator, for functions and generators alike."""

    value: bool

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(modes.grad)
        modes.record(self.value)

    def __exit__(self, *exc: object) -> None:
        modes.record(self._before.pop())

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
    """Within it, results are recorded again, also inside `no_grad`.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with no_grad():
    ...     with enable_grad():
    ...         y = x * 2
    >>> y.requires_grad
    True
    """

    value = True


def is_inference_mode_enabled() -> bool:
    """True if new tensors of this thread are inference tensors.

    >>> with inference_mode():
    ...     is_inference_mode_enabled()
    True
    """
    return modes.inference


class inference_mode(_GradMode):
    """`no_grad`, and more: new tensors are inference tensors, which count no writes and can never take part in a graph.

    Forward mode is off as well.

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
        self._outside: list[tuple[bool, bool, bool, Any]] = []

    def __enter__(self) -> None:
        self._outside.append((modes.grad, modes.forward, modes.inference, modes.counter))
        modes.grad = modes.forward = not self.mode
        if self.mode != modes.inference:
            modes.inference, modes.counter = self.mode, untracked if self.mode else None
        modes.settle()

    def __exit__(self, *exc: object) -> None:
        modes.grad, modes.forward, modes.inference, modes.counter = self._outside.pop()
        modes.settle()

    def _again(self) -> _GradMode:
        return inference_mode(self.mode)


class set_grad_enabled(_GradMode):
    """Turn recording on or off: at once when called, until the end of the block when used as a context manager.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        if type(mode) is not bool:
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
        self.value = mode
        self._at_call = modes.grad
        modes.record(self.value)

    def __enter__(self) -> None:
        self._before.append(self._at_call)
        modes.record(self.value)

    def _again(self) -> _GradMode:
        return set_grad_enabled(self.value)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        modes.record(self._at_call)  # as a decorator it changes nothing outside the function
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.value})"


def is_inference(input: Tensor) -> bool:
    """True for a tensor made in inference mode.

    >>> with inference_mode():
    ...     t = torch.ones(1)
    >>> is_inference(t), is_inference(torch.ones(1))
    (True, False)
    """
    return input.is_inference()


def is_multithreading_enabled() -> bool:
    """What set_multithreading_enabled said. A backward pass always runs in the thread that asked for it.

    >>> is_multithreading_enabled()
    True
    """
    return modes.multithreading


class set_multithreading_enabled:
    """Whether a backward pass may use several threads; here it never does, so that this changes nothing but the answer.

    >>> with set_multithreading_enabled(False):
    ...     is_multithreading_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self.before = modes.multithreading
        self.mode = modes.multithreading = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.multithreading = self.before


@contextmanager
def _unsafe_preserve_version_counter(tensors: Tensor | Sequence[Tensor]) -> Iterator[Any]:
    """Within it, writes to these tensors are not noticed by graphs that saved them: for those who know what they do."""
    several = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    before = [t._version for t in several]
    try:
        yield
    finally:
        for t, version in zip(several, before):
            t.version[0] = version
