"""Modules that hold modules."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from autolab.nn.module import Module


class Numbered(Module):
    """What Sequential and ModuleList share: submodules in a row, reached by number."""

    def _key(self, i: Any) -> str:
        i = operator.index(i)
        n = len(self._modules)
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of range")
        return list(self._modules)[i % n]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())  # type: ignore[arg-type]

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return self._of(list(self._modules.items())[i])
        return self._modules[self._key(i)]

    def _of(self, items: list[tuple[str, Any]]) -> Any:
        raise NotImplementedError

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, self._key(i), module)

    def __delitem__(self, i: Any) -> None:
        keys = list(self._modules)[i] if isinstance(i, slice) else [self._key(i)]
        for key in keys:
            delattr(self, key)
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules: list[Any]) -> None:
        self._modules.clear()
        for k, module in enumerate(modules):
            self.add_module(str(k), module)

    def append(self, module: Module) -> Any:
        """Add a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several at the end; returns the container."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Put a module in front of the one with that number."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)


class Sequential(Numbered):
    """Modules one after another: each takes what the one before returns. An OrderedDict gives them names.

    >>> nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    Sequential(
      (0): Linear(in_features=2, out_features=8, bias=True)
      (1): ReLU()
      (2): Linear(in_features=8, out_features=1, bias=True)
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        items = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in items:
            self.add_module(str(name), module)

    def _of(self, items: list[tuple[str, Any]]) -> Any:
        return type(self)(OrderedDict(items))

    def forward(self, input: Any) -> Any:
        """The input, passed through all modules in order."""
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input


class ModuleList(Numbered):
    """A list of modules whose parameters are found. It has no forward: say in yours how they are used."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def _of(self, items: list[tuple[str, Any]]) -> Any:
        return type(self)(module for _, module in items)

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def _lines(self) -> list[str]:
        """Equal neighbours are printed once, with their range: (0-2): 3 x Linear(...)."""
        runs: list[tuple[int, int, str]] = []
        for k, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], k, text)
            else:
                runs.append((k, k, text))
        return [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]
