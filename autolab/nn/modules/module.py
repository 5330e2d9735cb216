"""Module: a tree of parameters, buffers and submodules with a forward."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from autolab import dtypes
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor
from autolab.nn.modules.hooks import (
    Hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from autolab.nn.modules.state import State
from autolab.nn.modules.tree import Tree
from autolab.nn.parameter import Buffer, Parameter
from autolab.torch_api.creation import empty_like

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook", "torch_name",
]  # fmt: skip

PLACES = ("_parameters", "_buffers", "_modules")
HOOKS = (
    "_forward_hooks _forward_hooks_with_kwargs _forward_hooks_always_called _forward_pre_hooks _forward_pre_hooks_with_kwargs "
    "_backward_hooks _backward_pre_hooks _state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks "
    "_load_state_dict_post_hooks"
).split()


class Module(Hooks, Tree, State):
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
    call_super_init = False  # whether __init__ passes what it is given to the next class in line

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            name, what = type(self).__name__, f"keyword argument '{next(iter(kwargs))}'" if kwargs else "arguments"
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected {what}")
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _modules={}, _non_persistent_buffers_set=set(), _is_full_backward_hook=None
        )
        self.__dict__.update([(name, {}) for name in HOOKS])
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Call the module itself, not this: hooks run around it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile `forward` in place: the settings are those of `torch.compile`. Hooks stay around it as they are.

        >>> model = nn.Linear(3, 2)
        >>> model.compile()
        >>> model(torch.ones(5, 3)).shape
        torch.Size([5, 2])
        """
        compile = import_module("autolab.compiler").compile  # a layer above this one
        self.__dict__.pop("forward", None)
        self.__dict__["forward"] = compile(self.forward, *args, **kwargs)

    # -- attributes ------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Python comes here only for what is not an ordinary attribute: most often a parameter.
        own = self.__dict__
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
            if "." in name or name == "":
                self.add_module(name, value)  # says what is wrong with the name
            self._modules[name] = registered(self, "module", name, value)
        elif name in self._modules:
            if value is not None:
                raise TypeError(f"cannot assign '{torch_name(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            self._modules[name] = registered(self, "module", name, None)
        elif name in self._buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{torch_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            self._buffers[name] = registered(self, "buffer", name, value)
            if isinstance(value, Buffer):
                (self._non_persistent_buffers_set.discard if value.persistent else self._non_persistent_buffers_set.add)(name)
        elif isinstance(value, Buffer):
            self._forget(name)
            self.register_buffer(name, value, value.persistent)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if any(name in self.__dict__[place] for place in PLACES):
            self._forget(name)
        else:
            object.__delattr__(self, name)

    def _forget(self, name: str, but: Any = None) -> None:
        """A name is in one place only; what is replaced there keeps its position."""
        for place in (self.__dict__, self._parameters, self._buffers, self._modules):
            if place is not but:
                place.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _check_name(self, name: Any, what: str, place: dict[str, Any]) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call: begin __init__ with super().__init__()")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {torch_name(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}' if what == "module" else f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in place:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name. TypeError for what is no Parameter, KeyError for a bad name."""
        self._check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{torch_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express '{name}' "
                "as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = param if param is None else registered(self, "parameter", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained; kept out of state_dict unless persistent."""
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{torch_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = registered(self, "buffer", name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name; None reserves the name. Raises TypeError for what is no Module, KeyError for a bad name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{torch_name(module)} is not a Module subclass" + (
                ": put parentheses after it to make one" if isinstance(module, type) and issubclass(module, Module) else ""
            ))  # fmt: skip
        self._check_name(name, "module", self._modules)
        self._modules[name] = registered(self, "module", name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`: a module that this one holds under a name."""
        self.add_module(name, module)

    # -- modes -----------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Any:
        """Training mode on (or off) for this module and all below it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for m in self.children():
            m.train(mode)
        return self

    def eval(self) -> Any:
        """Training mode off: dropout and the like stop."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Train all parameters, or freeze them."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters (or write zeros into them)."""
        for p in self.parameters():
            if set_to_none or p._grad is None:
                p.grad = None
            else:
                p._grad.detach_().zero_()

    # -- conversion --------------------------------------------------------------------------------------

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Put fn(t) in the place of each parameter, gradient and buffer. Parameters stay the same objects."""
        if recurse:
            for m in self.children():
                m._apply(fn)
        for p in self._parameters.values():
            if p is not None:
                with recording(False):
                    p.data = fn(p.data)
                    if p._grad is not None:
                        p._grad.data = fn(p._grad.data)
        for name, b in self._buffers.items():
            if b is not None:
                self._buffers[name] = fn(b)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """All floating point parameters and buffers in another dtype, in place. to(dtype), to(device), to(device, dtype), to(tensor).

        Raises TypeError for an integer dtype.
        """
        asked = [a.dtype if isinstance(a, Tensor) else a for a in (*args, *kwargs.values())]
        for d in asked:
            if isinstance(d, dtypes.dtype) and not d.is_floating_point:
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={d}")
        kwargs.pop("memory_format", None)
        device_only = tuple(a for a in args if not isinstance(a, dtypes.dtype | Tensor))
        devices = {k: v for k, v in kwargs.items() if k != "dtype"}

        def converted(t: Any) -> Any:
            if t.is_floating_point():
                return t.to(*args, **kwargs)
            return t.to(*device_only, **devices) if device_only or "device" in devices else t

        return self._apply(converted)

    def _floats(self, dtype: Any) -> Any:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def double(self) -> Any:
        """Everything floating point in float64."""
        return self._floats(dtypes.float64)

    def float(self) -> Any:
        """Everything floating point in float32."""
        return self._floats(dtypes.float32)

    def half(self) -> Any:
        """Everything floating point in float16."""
        return self._floats(dtypes.float16)

    def bfloat16(self) -> Any:
        """Everything floating point in bfloat16."""
        return self._floats(dtypes.bfloat16)

    def type(self, dst_type: Any) -> Any:
        """Everything in a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Any:
        """This module: it is on the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Any:
        """Raises AssertionError, as PyTorch's own build for CPUs does."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """The same shapes, in memory in which nothing in particular stands."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def share_memory(self) -> Any:
        """Raises AttributeError: threads see the same tensors anyway, and processes get copies."""
        return self._apply(lambda t: t.share_memory_())

    # -- text ------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses when this module is printed."""
        return ""

    def _lines(self) -> list[str]:
        return [f"({name}): {m!r}" for name, m in self._modules.items()]

    def __repr__(self) -> str:
        lines = [line.replace("\n", "\n  ") for line in self._lines()]
        extra = self.extra_repr()
        if not lines and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        return "\n  ".join([f"{self._get_name()}(", *(extra.split("\n") if extra else []), *lines]) + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if hasattr(state.get("forward"), "_torchdynamo_orig_callable"):  # compiled, and of no use to another module
            del state["forward"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update([(name, {}) for name in HOOKS])
        self.__dict__.update(state)


def affine(module: Module) -> tuple[Any, Any]:
    """`module.weight, module.bias`, without the time that Python takes to find that they are not ordinary attributes."""
    own = module.__dict__["_parameters"]
    try:
        return own["weight"], own["bias"]
    except KeyError:  # parametrized, or replaced by a plain tensor
        return module.weight, module.bias


def torch_name(thing: Any) -> str:
    """The type of something as PyTorch's messages call it."""
    if isinstance(thing, Tensor):
        return f"torch.{thing.dtype.title}Tensor"
    cls = thing if isinstance(thing, type) else type(thing)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
