"""Classes that see what is called with them: `__torch_function__`.

A subclass of Tensor stays what it is through every function (`__torch_function__` of Tensor), and may say otherwise with one of its
own; so may a class that is not a tensor, and a mode, which sees all calls of a block. Programs without them pay nothing:
a subclass gets methods that ask it first when it is made, and with the first of them (or when `autolab.overrides` is loaded) the
functions of the package are replaced by functions that look at their arguments. `autograd.backward` and `grad` look by themselves, for
programs import them by name, and before they define a class.
"""

from __future__ import annotations

import functools
import importlib
import types
from _thread import _local as ThreadLocal
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.torch_api.lazy import LazyMethod

HOMES = ("autolab", "autolab.nn.functional", "autolab.linalg", "autolab.special")
# Functions that are not asked about: they make or set something, or say what a thing is.
LEFT_ALONE = frozenset(
    "is_tensor tensor as_tensor from_numpy get_default_dtype set_default_dtype manual_seed seed initial_seed get_rng_state set_rng_state "
    "set_printoptions is_grad_enabled is_inference_mode_enabled typename save load vmap compile quiz predict explore".split()
)
# What makes up a Tensor, and what Python itself asks for.
ENGINE_NAMES = frozenset(
    "payload edge wants_grad version view_info extra level _grad _home _level _own ensure_extra writable_array numbers all_numbers "
    "as_subclass _make_subclass __new__ __init__ __init_subclass__ __class__ __dict__ __weakref__ __slots__ __doc__ __module__ "
    "__hash__ __annotations__ __torch_function__ __getattribute__ __setattr__ __dir__ __reduce_ex__ __array_ufunc__ "
    "__array_function__ __array_priority__ __format__ __firstlineno__ __static_attributes__".split()
)
OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__mod__": "remainder", "__pow__": "pow", "__matmul__": "matmul", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
    "__ge__": "ge", "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__neg__": "neg", "__abs__": "abs",
}  # fmt: skip


class State(ThreadLocal):
    """What this thread has switched off, and the modes it is in, the innermost last."""

    def __init__(self) -> None:
        self.off = False
        self.modes: list[Any] = []


state = State()
watching = False  # whether there may be somebody who wants to be asked


class DisableTorchFunctionSubclass:
    """Within it, functions run as they do for ordinary tensors.

    >>> class Metres(torch.Tensor):
    ...     pass
    >>> length = torch.ones(2).as_subclass(Metres)
    >>> with torch.overrides.DisableTorchFunctionSubclass():
    ...     plain = length + length
    >>> type(length + length).__name__, type(plain).__name__
    ('Metres', 'Tensor')
    """

    def __enter__(self) -> None:
        self.before, state.off = state.off, True

    def __exit__(self, *exc: object) -> None:
        state.off = self.before


def _disabled_torch_function_impl(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A `__torch_function__` that leaves results as they are: what Parameter has."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def is_pytorchs(func: Any) -> bool:
    """Whether a function or a method comes from the package `torch` and not from this one."""
    home = getattr(func, "__module__", None) or getattr(getattr(func, "__objclass__", None), "__module__", None) or ""
    return home.partition(".")[0] == "torch"


def torch_function(cls: Any, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run func; tensors among the results become tensors of this class.

    Gives NotImplemented for classes it does not know. PyTorch asks this method too; TypeError says that its functions take no such tensor.
    """
    if is_pytorchs(func):
        raise TypeError(
            f"no implementation found for PyTorch's own {func.__name__} on types that implement __torch_function__: "
            f"{[f'{t.__module__}.{t.__qualname__}' for t in types]}. "
            "Call the function of autolab, or give PyTorch a tensor of its own: torch.from_numpy(t.detach().numpy())."
        )
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if func in (Tensor.grad.__get__, Tensor._base.__get__) else converted(result, cls)


def converted(result: Any, cls: Any) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return as_subclass(result, cls)
    if isinstance(result, tuple | list) and not hasattr(type(result), "numel"):
        made = [converted(r, cls) for r in result]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    return result


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same tensor, numbers and history, as one of another class.

    >>> class Metres(torch.Tensor):
    ...     pass
    >>> type(torch.ones(2).as_subclass(Metres)).__name__
    'Metres'
    """
    t = object.__new__(cls)
    for slot in ("payload", "edge", "wants_grad", "version", "view_info", "extra", "_grad"):
        setattr(t, slot, getattr(self, slot))
    return t


def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """A leaf of another class over the numbers of `data`."""
    return as_subclass(data.detach(), cls).requires_grad_(require_grad)


def overrides(a: Any) -> bool:
    """Whether the class of `a` wants to be asked."""
    cls = type(a)
    if cls is Tensor or not hasattr(cls, "__torch_function__") or cls.__module__.partition(".")[0] == "torch":  # PyTorch's own
        return False
    return cls.__torch_function__ is not _disabled_torch_function_impl


def relevant(arguments: Iterable[Any]) -> list[Any]:
    """One argument of each class that wants to be asked, subclasses before the classes they come from."""
    found: list[Any] = []
    for a in arguments:
        for one in a if isinstance(a, tuple | list) else (a,):
            if overrides(one) and all(type(one) is not type(other) for other in found):
                place = next((k for k, other in enumerate(found) if isinstance(one, type(other))), len(found))
                found.insert(place, one)
    return found


def asked(arguments: Iterable[Any]) -> list[Any] | None:
    """Whom to ask about a call with these arguments; None if nobody wants to be."""
    if state.off:
        return None
    found = relevant(arguments)
    return found if found or state.modes else None


def ask(func: Callable[..., Any], found: Sequence[Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Let the innermost mode, or the classes in turn, say what func gives. Raises TypeError if all say NotImplemented."""
    kinds = tuple(type(a) for a in found)
    if state.modes:
        mode = state.modes.pop()
        try:
            result = mode.__torch_function__(func, kinds, args, kwargs)
        finally:
            state.modes.append(mode)
        if result is not NotImplemented:
            return result
    for a in found:
        result = type(a).__torch_function__(func, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(func, "known_as", f"torch.Tensor.{getattr(func, '__name__', func)}")
    if ".functional." in name or ".autograd." in name:
        raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {list(kinds)}")
    asked = "".join(f"\n  - mode {mode}" for mode in state.modes[-1:]) + "".join(f"\n  - tensor subclass {kind}" for kind in kinds)
    raise TypeError(f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n{asked}")


def asking(function: Callable[..., Any], func: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The function, asking those among its arguments who want to be asked. They are told that it was `func` (itself)."""

    @functools.wraps(function)
    def asks(*args: Any, **kwargs: Any) -> Any:
        found = asked((*args, *kwargs.values()))
        if found is not None:
            return ask(func or asks, found, args, kwargs)
        return function(*args, **kwargs)

    asks.asks = True  # type: ignore[attr-defined]
    return asks


def method(name: str, there: Any) -> Any:
    """A method or property of Tensor that asks first."""
    if isinstance(there, property):
        ways: Any = ((there.fget, "__get__"), (there.fset, "__set__"), (there.fdel, "__delete__"))
        return property(*(access and asking(access, getattr(there, way)) for access, way in ways))  # type: ignore[arg-type]

    @functools.wraps(there)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = asked((self, *args, *kwargs.values()))
        if found is not None:
            return ask(getattr(Tensor, OPERATORS.get(name, name)), found, (self, *args), kwargs)
        return there(self, *args, **kwargs)

    return call


def entries(self: Tensor) -> Any:
    """What `for entry in t` goes through."""
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind())


@functools.cache
def methods() -> dict[str, Any]:
    """All that a class with a `__torch_function__` has in place of Tensor's own."""
    importlib.import_module("autolab.torch_api.families").load_families()
    for name in [name for name, m in vars(Tensor).items() if isinstance(m, LazyMethod) and (name == "backward" or name.startswith("__"))]:
        getattr(Tensor, name)  # operators are made, if nobody has asked for them yet
    members = {name: m for name, m in vars(Tensor).items() if name not in ENGINE_NAMES and isinstance(m, types.FunctionType | property)}
    return {name: method(name, m) for name, m in members.items()} | {"__iter__": entries}


def init_subclass(cls: Any, **kwargs: Any) -> None:
    """Called for each new subclass of Tensor: its methods are to ask it."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    if cls.__module__.startswith("autolab.transforms"):  # a transform's tensors are tensors like others
        cls.__torch_function__ = _disabled_torch_function_impl
    between = cls.__mro__[1 : cls.__mro__.index(Tensor)]
    if cls.__module__.partition(".")[0] == "autolab" or cls.__torch_function__ is _disabled_torch_function_impl:
        return
    for name, member in methods().items():
        if not any(name in vars(c) for c in (cls, *between)):
            setattr(cls, name, member)
    watch_functions()


@functools.cache
def watch_functions() -> None:
    """From now on the functions of the package ask their arguments, those that are loaded later too."""
    global watching
    watching = True
    importlib.import_module("autolab.torch_api.families").load_families()
    for home in HOMES:
        module = importlib.import_module(home)
        vars(module).update({name: watched(home, name, found) for name, found in vars(module).items()})
        if "__getattr__" in vars(module):
            module.__getattr__ = later(module, module.__getattr__)  # type: ignore[method-assign]


def watched(home: str, name: str, found: Any) -> Any:
    ours = isinstance(found, types.FunctionType) and found.__module__.startswith("autolab") and not hasattr(found, "asks")
    if not ours or name.startswith("_") or name in LEFT_ALONE:
        return found
    made: Any = asking(found)
    made.known_as = f"{home.replace('autolab', 'torch')}.{name}"
    return made


def later(module: types.ModuleType, load: Callable[[str], Any]) -> Callable[[str], Any]:
    @functools.wraps(load)
    def __getattr__(name: str) -> Any:
        found = load(name)
        made = watched(module.__name__, name, found)
        if made is not found:
            setattr(module, name, made)
        return made

    return __getattr__


class TorchFunctionMode:
    """A block in which all calls come by: `__torch_function__(func, types, args, kwargs)` says what each gives.

    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.zeros(1)
    >>> with Log():
    ...     y = torch.exp(x) + 1
    exp
    add
    """

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        state.modes.append(self)
        watch_functions()
        everybody(+1)
        return self

    def __exit__(self, *exc: object) -> None:
        everybody(-1)
        state.modes.pop()


counting = allocate_lock()
within = 0  # modes that are entered, in all threads
usual: dict[str, Any] = {}  # Tensor's own methods, while there are any


def everybody(change: int) -> None:
    """While a mode is on, ordinary tensors ask too."""
    global within
    with counting:
        within += change
        if within and not usual:
            usual.update({name: vars(Tensor)[name] for name in methods()})
            members = methods()
        elif not within:
            members = dict(usual)
            usual.clear()
        else:
            return
        for name, member in members.items():
            setattr(Tensor, name, member)


def bind() -> None:
    """Give Tensor what its subclasses go by."""
    ours = {"__torch_function__": classmethod(torch_function), "__init_subclass__": classmethod(init_subclass)}  # type: ignore[arg-type]
    for name, member in (ours | {"as_subclass": as_subclass, "_make_subclass": staticmethod(_make_subclass)}).items():
        setattr(Tensor, name, member)
