"""What hangs below a module, and by which names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from autolab.engine.tensor import Tensor
from autolab.nn.parameter import Parameter

Module: TypeAlias = Any  # module.py, which is built on this


class Tree:
    """The part of Module that walks: submodules, parameters and buffers with their dotted names."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """This module and all below it, once each, with dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, once each."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly below, once each, with their names."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly below, once each."""
        return (module for _, module in self.named_children())

    def _named_members(
        self, get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]], prefix: str = "", recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:  # fmt: skip
        """What a function finds in each module, with dotted names."""
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        seen: set[int] = set()
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is not None and id(value) not in seen:
                    if remove_duplicate:
                        seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All parameters with dotted names; a shared one once."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, once each: what an optimizer takes."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """All buffers with dotted names; a shared one once."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, once each."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    # -- by name -------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The module of that dotted name; this one for "". Raises AttributeError if there is none."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Tree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module in place of the one of that dotted name; with strict=True there must be one.

        Raises ValueError for an empty name, AttributeError for a path that is not there.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Tree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Tree):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str, what: str, holds: Callable[[Any, str], bool]) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if not holds(module, name):
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of that dotted name. Raises AttributeError if there is none."""
        return self._get_member(target, "an nn.Parameter", lambda m, name: isinstance(getattr(m, name), Parameter))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of that dotted name. Raises AttributeError if there is none."""
        return self._get_member(target, "a buffer", lambda m, name: name in m._buffers)

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Call fn on every module below, then on this one."""
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self
