"""Module: a tree of parameters, buffers and submodules with a forward."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from autolab.engine import dtypes
from autolab.engine.modes import recording
from autolab.engine.node import RemovableHandle
from autolab.engine.tensor import Tensor
from autolab.nn.parameter import Parameter

PLACES = ("_parameters", "_buffers", "_modules")


class Module:
    """Base of all layers and models. Set Parameters and Modules as attributes in `__init__`; compute in `forward`.

    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = nn.Parameter(torch.tensor([2.]))
    ...
    ...     def forward(self, x):
    ...         return self.w * x
    >>> Net()(torch.tensor([3.]))
    tensor([6.], grad_fn=<MulBackward0>)
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _modules={}, _transient_buffers=set(), _forward_hooks={},
            _forward_pre_hooks={},
        )  # fmt: skip

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Call the module itself, not this: hooks run around it."""
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

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, args) before forward; what it returns replaces the arguments."""
        return RemovableHandle(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, args, output) after forward; what it returns replaces the output."""
        return RemovableHandle(self._forward_hooks, hook)

    # -- attributes ------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Python comes here only for what is not an ordinary attribute: most often a parameter.
        own = self.__dict__
        try:
            return own["_parameters"][name]
        except KeyError:
            pass
        for place in PLACES:
            if place in own and name in own[place]:
                return own[place][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        kind = Parameter if isinstance(value, Parameter) else Module if isinstance(value, Module) else None
        if "_parameters" not in own:
            if kind is not None:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call: begin __init__ with super().__init__()")
            object.__setattr__(self, name, value)
        elif kind is Parameter:
            self._forget(name, but=self._parameters)
            self.register_parameter(name, value)
        elif name in self._parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{torch_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self._parameters[name] = None
        elif kind is Module:
            self._forget(name, but=self._modules)
            self.add_module(name, value)
        elif name in self._modules:
            if value is not None:
                raise TypeError(f"cannot assign '{torch_name(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            self._modules[name] = None
        elif name in self._buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{torch_name(value)}' as buffer '{name}' (torch.Tensor or None expected)")
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if any(name in self.__dict__[place] for place in PLACES):
            self._forget(name)
        else:
            object.__delattr__(self, name)

    def _forget(self, name: str, but: Any = None) -> None:
        """A name stands in one place only; what is replaced there keeps its position."""
        for place in (self.__dict__, self._parameters, self._buffers, self._modules):
            if place is not but:
                place.pop(name, None)
        self._transient_buffers.discard(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parameters, *self._buffers, *self._modules]

    def _check_name(self, name: Any, what: str, place: dict[str, Any]) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call: begin __init__ with super().__init__()")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in place:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name. TypeError for what is no Parameter, KeyError for a bad name."""
        self._check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained; kept out of state_dict unless persistent."""
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{torch_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = tensor
        (self._transient_buffers.discard if persistent else self._transient_buffers.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name; None reserves the name. Raises TypeError for what is no Module, KeyError for a bad name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{torch_name(module)} is not a Module subclass" + (
                ": put parentheses after it to make one" if isinstance(module, type) and issubclass(module, Module) else ""
            ))  # fmt: skip
        self._check_name(name, "module", self._modules)
        self._modules[name] = module

    register_module = add_module

    # -- walking the tree ----------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, once each, with dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self.named_children(remove_duplicate=False):
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, once each."""
        return (module for _, module in self.named_modules())

    def named_children(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The modules directly below, with their names."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                if remove_duplicate:
                    seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly below."""
        return (m for _, m in self.named_children())

    def _named(self, place: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        seen: set[int] = set()
        for path, module in modules:
            for name, value in getattr(module, place).items():
                if value is not None and id(value) not in seen:
                    if remove_duplicate:
                        seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with dotted names; a shared one once."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, once each: what an optimizer takes."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """All buffers with dotted names; a shared one once."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, once each."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module of that dotted name; this one for "". Raises AttributeError if there is none."""
        module = self
        for name in target.split(".") if target else ():
            found = getattr(module, name, None)
            if found is None:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            if not isinstance(found, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
            module = found
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of that dotted name. Raises AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        found = getattr(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call fn on every module below, then on this one."""
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self

    # -- modes -----------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Module:
        """Training mode on (or off) for this module and all below it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for m in self.modules():
            m.training = mode
        return self

    def eval(self) -> Module:
        """Training mode off: dropout and the like stop."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Train all parameters, or freeze them."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters (or write zeros into them)."""
        for p in self.parameters():
            if set_to_none or p._grad is None:
                p._grad = None
            else:
                p._grad.detach_().zero_()  # type: ignore[attr-defined]

    def to(self, *args: Any, **kwargs: Any) -> Module:
        """All floating point parameters and buffers in another dtype, in place. A device is accepted and means nothing."""
        for m in self.modules():
            for t in [*m._parameters.values(), *m._buffers.values()]:
                if t is not None and t.is_floating_point():  # type: ignore[attr-defined]
                    t.data = t.data.to(*args, **kwargs)  # type: ignore[attr-defined]
                    if t._grad is not None:
                        t._grad.data = t._grad.data.to(*args, **kwargs)  # type: ignore[attr-defined]
        return self

    def double(self) -> Module:
        """Everything floating point in float64."""
        return self.to(dtypes.float64)

    def float(self) -> Module:
        """Everything floating point in float32."""
        return self.to(dtypes.float32)

    def half(self) -> Module:
        """Everything floating point in float16."""
        return self.to(dtypes.float16)

    def bfloat16(self) -> Module:
        """Everything floating point in bfloat16."""
        return self.to(dtypes.bfloat16)

    def cpu(self) -> Module:
        """This module: it is on the CPU."""
        return self

    # -- state -----------------------------------------------------------------------------------------

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Tensor]:
        """Parameters and persistent buffers by dotted name. They share memory with the module; detached unless keep_vars."""
        state: OrderedDict[str, Tensor] = OrderedDict() if destination is None else destination
        kept = {name: b for name, b in self._buffers.items() if name not in self._transient_buffers}
        for name, t in [*self._parameters.items(), *kept.items()]:
            if t is not None:
                state[prefix + name] = t if keep_vars else t.detach()  # type: ignore[attr-defined]
        for name, module in self.named_children(remove_duplicate=False):
            module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Copy values in by name; returns the names that are missing and those that were not expected.

        Raises RuntimeError listing those names (if strict), and what does not fit in size; then nothing is copied.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        own = self.state_dict()
        keys = IncompatibleKeys([k for k in own if k not in state_dict], [k for k in state_dict if k not in own])
        problems = []
        if strict and keys.missing_keys:
            problems.append(f"Missing key(s) in state_dict: {quoted(keys.missing_keys)}. ")
        if strict and keys.unexpected_keys:
            problems.append(f"Unexpected key(s) in state_dict: {quoted(keys.unexpected_keys)}. ")
        for k, t in own.items():
            if k not in state_dict:
                continue
            new = state_dict[k]
            if not isinstance(new, Tensor):
                problems.append(
                    f'While copying the parameter named "{k}", expected torch.Tensor or Tensor-like object from checkpoint but '
                    f"received {type(new)}"
                )
            elif new.shape != t.shape:
                problems.append(
                    f"size mismatch for {k}: copying a param with shape {new.shape} from checkpoint, the shape in current model is "
                    f"{t.shape}."
                )
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems))
        with recording(False):
            for k, t in own.items():
                if k in state_dict:
                    t.copy_(state_dict[k])  # type: ignore[attr-defined]
        return keys

    # -- text ------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the parentheses when this module is printed."""
        return ""

    def _lines(self) -> list[str]:
        return [f"({name}): {m!r}" for name, m in self._modules.items()]

    def __repr__(self) -> str:
        lines = [line.replace("\n", "\n  ") for line in self._lines()]
        extra = self.extra_repr()
        if not lines and "\n" not in extra:
            return f"{type(self).__name__}({extra})"
        return "\n  ".join([f"{type(self).__name__}(", *(extra.split("\n") if extra else []), *lines]) + "\n)"


class IncompatibleKeys(NamedTuple):
    """What load_state_dict found missing, and what it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


def quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def torch_name(thing: Any) -> str:
    """The type of something as PyTorch's messages call it."""
    if isinstance(thing, Tensor):
        return f"torch.{thing.dtype.title}Tensor"
    cls = thing if isinstance(thing, type) else type(thing)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
