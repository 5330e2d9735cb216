"""TorchScript's decorators: Python functions run as they are, so each gives back what it gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = [
    "Attribute", "Final", "annotate", "export", "fork", "freeze", "ignore", "is_scripting", "is_tracing", "load", "optimize_for_inference",
    "save", "script", "script_if_tracing", "script_method", "trace", "unused", "wait",
]  # fmt: skip


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """The function, module or class itself."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The function or module itself: nothing is recorded, so branches stay branches."""
    return func


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """As decorator, with or without arguments: the function itself."""
    return drop if callable(drop) else lambda function: function


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return fn


export = script_if_tracing = script_method = _overload = _overload_method = unused


def freeze(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """The module itself."""
    return mod


optimize_for_inference = freeze


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


def Attribute(value: Any, type: Any) -> Any:
    """The value."""
    return value


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result, computed at once."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """The result."""
    return future


def _refused(name: str, instead: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"torch.jit.{name}: autolab has no TorchScript archives. {instead}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises RuntimeError: there are no TorchScript archives."
    return function


save = _refused("save", "Save the weights: torch.save(model.state_dict(), path).")
load = _refused("load", "Build the model and load its weights: model.load_state_dict(torch.load(path)).")
