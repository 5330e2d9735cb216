"""What is called with a class of one's own: `torch.overrides`.

A class with a `__torch_function__(cls, func, types, args, kwargs)` says what functions give that are called with it: a subclass of Tensor
always, any other class once this module is imported.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.torch_api import overriding
from autolab.torch_api.overriding import DisableTorchFunctionSubclass, TorchFunctionMode

__all__ = [
    "DisableTorchFunctionSubclass", "TorchFunctionMode", "handle_torch_function", "has_torch_function", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of one of these wants to be asked, or a mode is on.

    >>> class Celsius:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return "asked"
    >>> has_torch_function([Celsius()]), has_torch_function([torch.ones(2)])
    (True, False)
    """
    return not overriding.state.off and (bool(overriding.state.modes) or bool(overriding.relevant(relevant_args)))


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of arguments one by one."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Let the classes of the relevant arguments say what a function gives. Raises TypeError if none of them knows.

    >>> class Celsius:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return "Celsius says what " + func.__name__ + " gives"
    >>> handle_torch_function(torch.exp, [Celsius()], Celsius())
    'Celsius says what exp gives'
    """
    return overriding.ask(public_api, overriding.relevant(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorate a function of your own that is to ask its arguments; `dispatcher(*args)` gives those that matter.

    >>> class Celsius:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return "Celsius"
    >>> @wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return 2 * x
    >>> double(3), double(Celsius())
    (6, 'Celsius')
    """

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: Any) -> bool:
    """True for a tensor, and for what has a `__torch_function__`.

    >>> is_tensor_like(torch.ones(2)), is_tensor_like([1.0, 1.0])
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether this is a method of Tensor, or what reads or writes one of its properties.

    >>> is_tensor_method_or_property(torch.Tensor.sum), is_tensor_method_or_property(torch.Tensor.shape.__get__)
    (True, True)
    """
    owner = getattr(func, "__self__", None)
    members = list(vars(Tensor).values())
    return func in [m for m in members if callable(m)] or owner in [m for m in members if isinstance(m, property)]


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name under which PyTorch has a function: `torch.add`, `torch.Tensor.add`.

    >>> resolve_name(torch.exp), resolve_name(torch.Tensor.exp)
    ('torch.exp', 'torch.Tensor.exp')
    """
    if is_tensor_method_or_property(f):
        own = {id(getattr(m, "fget", m)): name for name, m in vars(Tensor).items()}
        owner = getattr(f, "__self__", None)
        name = own.get(id(owner.fget if owner is not None else f))
        return None if name is None else f"torch.Tensor.{name}" + (f".{f.__name__}" if owner is not None else "")
    return getattr(f, "known_as", None)


overriding.watch_functions()
