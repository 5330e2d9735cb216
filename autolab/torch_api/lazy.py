"""Methods of Tensor that stand in a module which is loaded when one of them is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from autolab.engine.tensor import Tensor


class Later:
    """Stands in for a method, and puts the real one in its place when it is asked for."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __get__(self, instance: Any, owner: type) -> Any:
        method = getattr(import_module(self.module), self.name)
        setattr(Tensor, self.name, method)
        return method if instance is None else method.__get__(instance, owner)


def bind_lazy_methods(module: str, names: str) -> None:
    """Give Tensor methods without loading the module that they stand in."""
    for name in names.split():
        setattr(Tensor, name, Later(module, name))
