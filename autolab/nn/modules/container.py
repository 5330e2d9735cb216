"""Modules that hold modules, and modules that hold parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn.modules.module import Module, torch_name
from autolab.nn.parameter import Parameter


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

    def __setitem__(self, i: Any, module: Module) -> None:
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
        if not isinstance(modules, Iterable):
            raise TypeError(f"{type(self).__name__}.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Put a module in front of the one with that number; returns the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        modules = list(self._modules.values())
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"Index out of range: {index}")
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key: Any) -> Module:
        """Take out the module with that number."""
        module = self[key]
        del self[key]
        return module


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

    def __delitem__(self, i: Any) -> None:
        names = list(self._modules)
        for key in names[i] if isinstance(i, slice) else [self._key(i)]:
            delattr(self, key)
        if all(name.isdigit() for name in names):
            self._renumber(list(self._modules.values()))

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*self._repeated(times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        return self.extend(self._repeated(times)[len(self) :])

    def _repeated(self, times: int) -> list[Module]:
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return list(self) * times

    def forward(self, input: Any) -> Any:
        """The input, passed through all modules in order."""
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input


class ModuleList(Numbered):
    """A list of modules whose parameters are found. It has no forward: say in yours how they are used.

    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    ...     def forward(self, x):
    ...         for layer in self.layers:
    ...             x = x + layer(x)
    ...         return x
    >>> len(list(Net().parameters())), Net()(ones(2, 4)).shape
    (6, torch.Size([2, 4]))
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _of(self, items: list[tuple[str, Any]]) -> Any:
        return type(self)([module for _, module in items])

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

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


def pairs_of(container: Any, given: Any) -> list[tuple[Any, Any]]:
    """The items of a mapping, or the pairs themselves. Raises TypeError for anything else, ValueError for what is not a pair."""
    name = f"{type(container).__name__}.update"
    if not isinstance(given, Iterable):
        raise TypeError(f"{name} should be called with an iterable of key/value pairs, but got {type(given).__name__}")
    if isinstance(given, Mapping | ModuleDict | ParameterDict):
        return list(given.items())
    found = []
    for j, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{type(container).__name__} update sequence element #{j} should be Iterable; is {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{type(container).__name__} update sequence element #{j} has length {len(pair)}; 2 is required")
        found.append(pair)
    return found


class ModuleDict(Module):
    """A dict of modules whose parameters are found. It has no forward: say in yours how they are used.

    >>> heads = nn.ModuleDict({"digit": nn.Linear(4, 10), "sign": nn.Linear(4, 1)})
    >>> heads["digit"](ones(2, 4)).shape, list(heads)
    (torch.Size([2, 10]), ['digit', 'sign'])
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take out everything, in place."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take out the module under a key."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The keys, in the order they were added."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules, in the order of their keys."""
        return self._modules.values()

    def items(self) -> Any:
        """Pairs of a key and its module."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Add those of a mapping, or of pairs."""
        for key, module in pairs_of(self, modules):
            self[key] = module


class _Holder(Module):
    """What ParameterList and ParameterDict share: tensors become parameters, and anything else is kept as it is."""

    def _put(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def _described(self, key: str, value: Any) -> str:
        if not isinstance(value, Tensor):
            return f"({key}): Object of type: {type(value).__name__}"
        size = "x".join(str(n) for n in value.shape)
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        dtype = torch_name(value.data) if isinstance(self, ParameterDict) else value.dtype
        return f"({key}): {kind} containing: [{dtype} of size {size}]"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_Holder):
    """A list of parameters that a module finds. Tensors become parameters; anything else may be in it, too.

    >>> levels = nn.ParameterList([zeros(2), zeros(3)])
    >>> [p.shape for p in levels.parameters()]
    [torch.Size([2]), torch.Size([3])]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def _key(self, i: Any) -> str:
        i = operator.index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"index {i} is out of range")
        return str(i % len(self))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)([getattr(self, str(k)) for k in range(*i.indices(len(self)))])
        return getattr(self, self._key(i))

    def __setitem__(self, i: Any, value: Any) -> None:
        self._put(self._key(i), value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add one at the end; returns the list."""
        self._size += 1
        self._put(str(self._size - 1), value)
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add several at the end; returns the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(f"  {self._described(str(k), v)}" for k, v in enumerate(self))


class ParameterDict(_Holder):
    """A dict of parameters that a module finds. Tensors become parameters; anything else may be in it, too.

    >>> sides = nn.ParameterDict({"left": zeros(2), "right": zeros(3)})
    >>> sides["left"].requires_grad, [name for name, _ in sides.named_parameters()]
    (True, ['left', 'right'])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}').")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._name(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._name(key)] = None
        self._put(key, value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._name(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dict with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter under a key, put there if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take out everything, in place."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out the one under a key."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out the last."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The one under a key, or the default."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with one value under all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The keys, in the order they were added."""
        return self._keys.keys()

    def items(self) -> Any:
        """Pairs of a key and its parameter."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Any:
        """The parameters, in the order of their keys."""
        return [self[key] for key in self._keys]

    def update(self, parameters: Any) -> None:
        """Add those of a mapping, or of pairs."""
        for key, value in pairs_of(self, parameters):
            self[key] = value

    def __or__(self, other: ParameterDict) -> ParameterDict:
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        return other.__or__(self)

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(f"  {self._described(str(k), v)}" for k, v in self.items())
