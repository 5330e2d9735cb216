"""Modules that are a function with settings: most activations, losses, pools and paddings."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.modules.module import Module

REQUIRED = inspect.Parameter.empty


class Signature:
    """The signature of a class that is made from its table of settings when somebody asks."""

    def __get__(self, instance: Any, owner: Any) -> inspect.Signature:
        if not owner.__init__.__code__.co_flags & inspect.CO_VARARGS:
            own = inspect.signature(owner.__init__)
            return own.replace(parameters=list(own.parameters.values())[1:])
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind, default=value) for name, value in owner.settings.items()])


class Configured(Module):
    """A module with settings, in the order of its arguments: a subclass says which, and the function of `nn.functional` that it calls."""

    function: ClassVar[str]
    settings: ClassVar[dict[str, Any]] = {}
    bare: ClassVar[bool] = False  # whether the settings are printed without their names
    __signature__ = Signature()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        for name, value in given(type(self), args, kwargs).items():
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Any:
        """The function of the settings."""
        return getattr(F, self.function)(input, **{name: getattr(self, name) for name in self.settings})

    def extra_repr(self) -> str:
        """All settings; `inplace` only if it is True."""
        shown = [(name, getattr(self, name)) for name in self.settings if name != "inplace"]
        if getattr(self, "inplace", False):
            shown.append(("inplace", True))
        return ", ".join(f"{value}" if self.bare else f"{name}={value}" for name, value in shown)


def given(cls: type[Configured], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The value of each setting. Raises TypeError as Python does for a call that does not fit."""
    settings, name = cls.settings, f"{cls.__name__}.__init__()"
    required = [key for key, value in settings.items() if value is REQUIRED]
    if len(args) > len(settings):
        least = len(required) + 1
        takes = f"from {least} to {len(settings) + 1}" if least <= len(settings) else f"{least}"
        raise TypeError(f"{name} takes {takes} positional argument{'s' * (len(settings) > 0)} but {len(args) + 1} were given")
    found = dict(zip(settings, args))
    for key, value in kwargs.items():
        if key not in settings:
            raise TypeError(f"{name} got an unexpected keyword argument '{key}'")
        if key in found:
            raise TypeError(f"{name} got multiple values for argument '{key}'")
        found[key] = value
    missing = [repr(key) for key in required if key not in found]
    if missing:
        listed = " and ".join([", ".join(missing[:-1]), missing[-1]] if len(missing) > 1 else missing)
        raise TypeError(f"{name} missing {len(missing)} required positional argument{'s' * (len(missing) > 1)}: {listed}")
    return {key: found.get(key, value) for key, value in settings.items()}
