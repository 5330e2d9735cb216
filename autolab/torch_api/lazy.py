"""What is loaded when it is first used: names of a package, methods of Tensor, modules that a table makes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.torch_api.missing import MissingName, explain_missing


def lazy(package: str, modules: Iterable[str] = (), names: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """A `__getattr__` for a package, which loads its modules, and names by the module they are in, when they are first asked for.

        __getattr__ = lazy(__name__, ["init", "utils"], {"Linear": ".modules.linear"})

    It says what was meant by a name that the package does not have.
    """
    modules, names = frozenset(modules), names or {}

    def __getattr__(name: str) -> Any:
        home = sys.modules[package]
        if name in modules:
            return explain_missing(import_module(f"{package}.{name}"))
        if name not in names:
            raise MissingName(f"module '{package}' has no attribute '{name}'", name, lambda: dir(home))
        value = getattr(import_module(names[name], package), name)
        setattr(home, name, value)
        return value

    __getattr__.says_what_was_meant = True  # type: ignore[attr-defined]
    return __getattr__


class LazyMethod:
    """A method of Tensor that is made, or loaded, when it is first asked for, and then is here itself."""

    def __init__(self, name: str, load: Callable[[], Any]) -> None:
        self.name, self.load = name, load

    def __get__(self, instance: Any, owner: type) -> Any:
        method = self.load()
        setattr(Tensor, self.name, method)
        return method if instance is None else method.__get__(instance, owner)


class LazyProperty(LazyMethod):
    """A property of Tensor that is loaded when it is first asked for, or set."""

    def __set__(self, instance: Any, value: Any) -> None:
        setattr(Tensor, self.name, self.load())
        setattr(instance, self.name, value)


def bind_lazy_methods(module: str, names: str) -> None:
    """Give Tensor methods without loading the module that they are in."""
    for name in names.split():
        setattr(Tensor, name, LazyMethod(name, lambda name=name: getattr(import_module(module), name)))  # type: ignore[misc]


class LazyFinder:
    """Finds modules of a package that nobody else knows, by a finder that is loaded then: `find_spec` of another module."""

    def __init__(self, package: str, finder: str) -> None:
        self.package, self.finder = package, finder

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> Any:
        """The module's spec, or None. Nothing is loaded for modules of other packages, and for the finder's own."""
        if not fullname.startswith(f"{self.package}.") or self.finder.startswith(fullname):
            return None
        return import_module(self.finder).find_spec(fullname)
