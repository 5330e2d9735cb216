"""Module: a tree of parameters, buffers and submodules with a forward."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor
from autolab.nn.parameter import Parameter


class Module:
    """Base of all layers and models. Set Parameters and Modules as attributes in `__init__`; compute in `forward`.

    >>> class Net(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = Parameter(tensor([2.]))
    ...
    ...     def forward(self, x):
    ...         return self.w * x
    >>> Net()(tensor([3.]))
    tensor([6.], grad_fn=<MulBackward0>)
    """

    training: bool

    def __init__(self) -> None:
        set_plainly = super().__setattr__
        set_plainly("training", True)
        set_plainly("_parameters", {})
        set_plainly("_buffers", {})
        set_plainly("_modules", {})
        set_plainly("_forward_hooks", {})
        set_plainly("_forward_pre_hooks", {})

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._forward_hooks and not self._forward_pre_hooks:
            return self.forward(*args, **kwargs)
        for hook in list(self._forward_pre_hooks.values()):
            result = hook(self, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
        out = self.forward(*args, **kwargs)
        for hook in list(self._forward_hooks.values()):
            result = hook(self, args, out)
            out = out if result is None else result
        return out

    # -- attributes ------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        kept = self.__dict__.get("_parameters")
        if isinstance(value, Parameter | Module) and kept is None:
            kind = "parameters" if isinstance(value, Parameter) else "module"
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if isinstance(value, Parameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._forget(name)
            self._modules[name] = value
        elif kept is not None and name in kept:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            kept[name] = None
        elif kept is not None and name in self._buffers and (value is None or isinstance(value, Tensor)):
            self._buffers[name] = value
        else:
            super().__setattr__(name, value)

    def _forget(self, name: str) -> None:
        for place in (self.__dict__, self._parameters, self._buffers, self._modules):
            place.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_parameters" in own:
            if name in own["_parameters"]:  # the usual case, so it comes first
                return own["_parameters"][name]
            if name in own["_buffers"]:
                return own["_buffers"][name]
            if name in own["_modules"]:
                return own["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parameters, *self._buffers, *self._modules]

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name."""
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained."""
        self._buffers[name] = tensor

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name."""
        self._modules[name] = module

    # -- walking the tree ----------------------------------------------------------------------------

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, once each, with dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((name, m) for name, m in self._modules.items() if m is not None)

    def children(self) -> Iterator[Module]:
        return (m for _, m in self.named_children())

    def _named(self, place: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, value in getattr(module, place).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All parameters with dotted names; a shared one once."""
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (b for _, b in self.named_buffers(recurse=recurse))

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call fn on every module below, then on this one."""
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self

    # -- state -----------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Module:
        """Training mode on (or off) for this module and all below it."""
        for m in self.modules():
            m.training = mode
        return self

    def eval(self) -> Module:
        """Training mode off: dropout and the like stop."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters (or write zeros into them)."""
        for p in self.parameters():
            if p._grad is not None:
                if set_to_none:
                    p._grad = None
                else:
                    p._grad = p._grad.detach().zero_()  # type: ignore[attr-defined]

    def to(self, *args: Any, **kwargs: Any) -> Module:
        """All floating point parameters and buffers in another dtype, in place. A device is accepted and means nothing."""
        for m in self.modules():
            for place in (m._parameters, m._buffers):
                for t in place.values():
                    if t is not None and t.is_floating_point():
                        t.data = t.data.to(*args, **kwargs)
        return self

    def double(self) -> Module:
        from autolab.engine.dtypes import float64

        return self.to(float64)

    def float(self) -> Module:
        from autolab.engine.dtypes import float32

        return self.to(float32)

    def state_dict(self, *, prefix: str = "") -> OrderedDict[str, Tensor]:
        """Parameters and buffers by dotted name, detached; they share memory with the module."""
        state: OrderedDict[str, Tensor] = OrderedDict()
        for path, m in self.named_modules(prefix=prefix.rstrip(".")):
            for place in (m._parameters, m._buffers):
                for name, t in place.items():
                    if t is not None:
                        state[f"{path}.{name}" if path else name] = t.detach()
        return state

    def load_state_dict(self, state_dict: Any, strict: bool = True) -> Any:
        """Copy values in by name. Raises RuntimeError listing missing and unexpected names (if strict) and wrong sizes."""
        own = self.state_dict()
        missing = [k for k in own if k not in state_dict]
        unexpected = [k for k in state_dict if k not in own]
        problems = []
        if strict and unexpected:
            problems.append(f"Unexpected key(s) in state_dict: {', '.join(map(repr, unexpected))}. ")
        if strict and missing:
            problems.append(f"Missing key(s) in state_dict: {', '.join(map(repr, missing))}. ")
        for k, t in own.items():
            if k in state_dict and state_dict[k].shape != t.shape:
                problems.append(
                    f"size mismatch for {k}: copying a param with shape {state_dict[k].shape} from checkpoint, "
                    f"the shape in current model is {t.shape}."
                )
        if problems:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems).replace('"', "'")
            )
        with recording(False):
            for k, t in own.items():
                if k in state_dict:
                    t.copy_(state_dict[k])  # type: ignore[attr-defined]
        return missing, unexpected

    def register_forward_hook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(module, args, output) after forward; what it returns replaces the output."""
        from autolab.engine.node import RemovableHandle

        return RemovableHandle(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(module, args) before forward; what it returns replaces the arguments."""
        from autolab.engine.node import RemovableHandle

        return RemovableHandle(self._forward_pre_hooks, hook)

    # -- text ------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the parentheses when this module is printed."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(m).replace("\n", "\n  ") for name, m in self._modules.items()]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(([extra] if extra else []) + lines) + "\n)"


class Sequential(Module):
    """Modules one after another: each takes what the one before returns."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        items = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, module in items:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)(OrderedDict(list(self._modules.items())[i]))
        return list(self._modules.values())[i]

    def append(self, module: Module) -> Sequential:
        self.add_module(str(len(self)), module)
        return self


class ModuleList(Module):
    """A list of modules whose parameters are found."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        for m in modules:
            self.append(m)
        return self

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, i: Any) -> Any:
        modules = list(self._modules.values())
        return type(self)(modules[i]) if isinstance(i, slice) else modules[i]
