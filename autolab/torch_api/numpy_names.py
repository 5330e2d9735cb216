"""`axis=` and `keepdims=`, which PyTorch, too, takes for `dim=` and `keepdim=`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

NAMES = {"axis": "dim", "keepdims": "keepdim"}


def arguments(function: Any) -> tuple[str, ...]:
    """The names of a function's arguments; none for what is not written in Python."""
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def torch_arguments(kwargs: dict[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """The keyword arguments under PyTorch's names, where the function has those. A sum along dim=None is one along all dims."""
    if "dim" in kwargs and kwargs["dim"] is None and function.__name__ in ("sum", "mean"):
        return {**kwargs, "dim": ()}
    if kwargs.keys().isdisjoint(NAMES):
        return kwargs
    known = arguments(function)
    return {NAMES[k] if k in NAMES and NAMES[k] in known and k not in known else k: v for k, v in kwargs.items()}


@functools.cache  # a function and a method are often the same
def with_numpy_names(function: Any) -> Any:
    """The function, also under NumPy's names for its arguments; itself if it has no `dim`."""
    if "dim" not in arguments(function):
        return function

    def also(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **(torch_arguments(kwargs, function) if kwargs else kwargs))

    return copy_name_and_doc(also, function)


def copy_name_and_doc(wrapper: Any, function: Any) -> Any:
    """The wrapper under the name and with the text of the function: `functools.wraps`, for hundreds of them at import."""
    wrapper.__name__, wrapper.__qualname__, wrapper.__module__ = function.__name__, function.__qualname__, function.__module__
    wrapper.__doc__, wrapper.__wrapped__ = function.__doc__, function
    return wrapper
