"""2. When a program may be used again: everything that the call could see is as it was.

What a function can see is found by looking: its arguments, its closure, the globals that its code names, what modules and classes
hold under those names, and whatever hangs on all that (modules with their settings and parameters, lists, plain objects), for the
functions it calls as well. Numbers and flags are compared by value, tensors by shape, dtype and requires_grad, all else by identity.
The test is written out as one Python function.
"""

from __future__ import annotations

import enum
import functools
import inspect
import random
import re
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.nn.modules.module import Module

PLAIN = (bool, int, float, complex, str, bytes, type(None))
OURS = "autolab"
IMPURE = set(
    "print input open next random default_rng urandom uuid4 datetime now today time time_ns perf_counter perf_counter_ns "
    "monotonic process_time sleep environ getenv".split()
)
UNNAMED = {"forward", "__call__", "__getitem__", "__getattr__", "__contains__", "__iter__", "__len__", "__bool__"}  # called without a name
LIBRARIES = {OURS, "numpy", *sys.stdlib_module_names}  # whose functions are taken to depend on their arguments alone
LARGEST_ARRAY = 1 << 20  # entries of a NumPy array outside: all of them are compared at each call
# kinds of objects that do not change
FIXED = (type, types.ModuleType, types.BuiltinFunctionType, range, slice, np.dtype, np.ufunc, re.Pattern, enum.Enum)
FUNCTIONS = (types.FunctionType, staticmethod, classmethod, property)


class Guards:
    """Collects the conditions for one call, and the tensors that it could reach."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.conditions: list[str] = []
        self.names: dict[str, Any] = {"Tensor": Tensor, "same_array": same_array, "hooked": hooked, "of_data": of_data}
        self.known: dict[int, str] = {}
        self.inputs: list[Tensor] = []
        self.places: list[str] = []  # how each input is reached from args and kwargs
        self.outside: list[Tensor] = []
        self.seen: set[int] = set()
        self.code_names = set(UNNAMED)
        self.owners: dict[int, tuple[Any, Any]] = {}  # modules and classes, with what they hold
        self.impure = ""
        self.arguments = True
        hooks = sys.modules.get("autolab.nn.modules.hooks")
        if hooks is not None:
            self.names["everywhere"] = hooks.everywhere  # type: ignore[attr-defined]
            self.conditions.append("not everywhere")
            self.impure = "calls the hooks of all modules" if hooks.everywhere else ""  # type: ignore[attr-defined]
        self.conditions.append(f"len(args) == {len(args)} and len(kwargs) == {len(kwargs)}")
        for i, a in enumerate(args):
            self.look(a, f"args[{i}]")
        for name, a in kwargs.items():
            self.conditions.append(f"{name!r} in kwargs")
            self.look(a, f"kwargs[{name!r}]")
        self.arguments = False
        self.look_into_function(function)
        self.look_up_names()

    def name(self, value: Any) -> str:
        """A name under which the test can speak of an object."""
        name = self.known.get(id(value))
        if name is None:
            name = self.known[id(value)] = f"o{len(self.names)}"
            self.names[name] = value  # kept, so that no other object gets its id
        return name

    def look(self, value: Any, place: str, depth: int = 0) -> None:
        """Add the conditions for what is found at a place."""
        kind = type(value)
        if kind in PLAIN:
            same = f"type({place}) is {kind.__name__} and {place} == {value!r}"
            if kind in (float, complex) and not value:
                same += f" and repr({place}) == {repr(value)!r}"  # -0.0 == 0.0
            if value is None or kind is bool:
                same = f"{place} is {value!r}"
            if kind is float and value != value:
                same = f"{place} != {place}"
            if kind is not type(None) and kind is not bool:
                self.names.setdefault(kind.__name__, kind)
            self.conditions.append(same if repr(value) not in ("inf", "-inf") else f"{place} == {self.name(value)}")
            return
        if isinstance(value, Tensor):
            self.look_at_tensor(value, place)
            return
        if kind in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            place = self.fixed(value, place, f"type({place}) is {self.name(kind)}", len(value))
            if depth < 4 and len(value) <= 256:
                for i, item in enumerate(value):
                    self.look(item, f"{place}[{i}]", depth + 1)
            return
        if isinstance(value, dict):
            place = self.fixed(value, place, f"type({place}) is {self.name(kind)}", len(value))
            if len(value) > 1:
                self.conditions.append(f"(*{place},) == {self.name(tuple(value))}")
            if depth < 4 and len(value) <= 256:
                for key, item in value.items():
                    if type(key) in (str, int):
                        self.look(item, f"{place}[{key!r}]", depth + 1)
            return
        if kind in (set, frozenset) and all(type(item) in PLAIN for item in value):
            self.conditions.append(f"{place} == {self.name(frozenset(value))}")
            return
        if isinstance(value, np.ndarray | np.generic):
            if value.size > LARGEST_ARRAY or value.dtype.kind == "O":
                self.impure = self.impure or "uses a NumPy array, whose numbers may change from call to call"
            self.conditions.append(f"same_array({place}, {self.name(value.copy())})")
            return
        self.conditions.append(f"{place} is {self.name(value)}")
        before, self.arguments = self.arguments, False  # what hangs on an object is found through the object
        self.look_into(value, self.name(value), depth)
        self.arguments = before

    def fixed(self, value: Any, place: str, kind: str, length: int) -> str:
        """A container: among the arguments any of this kind and length will do, elsewhere it has to be the same one."""
        if self.arguments:
            self.conditions.append(f"{kind} and len({place}) == {length}")
            return place
        own = self.name(value)
        self.conditions.append(f"{place} is {own} and {f'len({own}) == {length}' if length else f'not {own}'}")
        return own

    def look_at_tensor(self, t: Tensor, place: str) -> None:
        wanted = f"{place}.wants_grad is {t.wants_grad} and ({place}.edge is None) is {t.edge is None} and not hooked({place})"
        if self.arguments:
            dtype = self.name(t.payload.dtype)
            self.conditions.append(
                f"isinstance({place}, Tensor) and {place}.payload.shape == {t.payload.shape} and {place}.payload.dtype is {dtype} "
                f"and {wanted} and {place}.level == 0 and ({place}.view_info is None or of_data({place}))"
            )
            twin = next((i for i, other in enumerate(self.inputs) if other is t), None)
            self.conditions += [f"{place} is {self.places[twin]}"] if twin is not None else [f"{place} is not {p}" for p in self.places]
            if twin is None:
                self.inputs.append(t)
                self.places.append(place)
                self.look_at_attributes(t, place)
            return
        self.conditions.append(f"{place} is {self.name(t)}")
        twin = next((i for i, other in enumerate(self.inputs) if other is t), None)
        if twin is not None:  # an argument that the function also knows from elsewhere
            self.conditions.append(f"{self.places[twin]} is {self.name(t)}")
            return
        if id(t) in self.seen:
            return
        self.seen.add(id(t))
        self.outside.append(t)
        own, dtype, numbers = self.name(t), self.name(t.payload.dtype), self.name(t.payload)
        wanted = f"{own}.wants_grad is {t.wants_grad} and ({own}.edge is None) is {t.edge is None} and not hooked({own})"
        alike = f"({own}.payload.shape == {t.payload.shape} and {own}.payload.dtype is {dtype})"
        self.conditions.append(f"({own}.payload is {numbers} or {alike}) and {wanted}")
        self.look_at_attributes(t, own)

    def look_at_attributes(self, t: Tensor, place: str) -> None:
        """What a user hung on a tensor."""
        for key, item in list(t.__dict__.items()):
            self.look(item, f"{place}.__dict__[{key!r}]", 1)

    def look_up_names(self) -> None:
        """What modules and classes hold under the names that code uses: a function there may be replaced, and sees a world of its own."""
        known = -1
        while known != len(self.seen):
            known = len(self.seen)
            for owner, fields in list(self.owners.values()):
                theirs = own_library(owner) or installed(owner)
                for n in sorted(self.code_names & fields.keys()):
                    item = fields[n]
                    place = f"{self.name(fields)}[{n!r}]"
                    if type(item) in PLAIN or not (theirs or isinstance(item, (*FIXED, *FUNCTIONS))):
                        self.look(item, place)
                        continue
                    self.conditions.append(f"{place} is {self.name(item)}")
                    if isinstance(item, types.ModuleType) or not theirs:
                        self.look_into_function(getattr(item, "__func__", None) or getattr(item, "fget", None) or item)

    def look_into(self, value: Any, name: str, depth: int) -> None:
        """What hangs on an object: a function's world, a module's parameters and settings, an object's attributes."""
        if id(value) in self.seen or depth > 6:
            return
        if isinstance(value, types.FunctionType | types.MethodType | types.BuiltinFunctionType | type | types.ModuleType):
            self.look_into_function(value)
            return
        self.seen.add(id(value))
        if isinstance(value, Module):
            depth = 0  # networks are nested as deeply as one likes, and what is seen once is not looked into again
        module = type(value).__module__ or ""
        fields = getattr(value, "__dict__", None)
        slots = [n for cls in type(value).__mro__ for n in slots_of(cls) if hasattr(value, n)]
        if isinstance(value, np.random.Generator | np.random.RandomState | random.Random) or hasattr(type(value), "__next__"):
            self.impure = self.impure or f"uses a {type(value).__name__}, which gives something else at each call"
        elif isinstance(value, FIXED) or (module.startswith(OURS) and fields is None):
            return
        elif (fields is None and not slots) or isinstance(value, list | tuple | set | deque | bytearray):
            self.impure = self.impure or f"uses a {type(value).__name__}, which may change without being seen"
        slots += ["func", "args", "keywords"] if isinstance(value, functools.partial) else []
        for n in slots:
            self.look(getattr(value, n), f"{name}.{n}", depth + 1)
        if fields is None:
            return
        if hasattr(value, "param_groups"):  # an optimizer: its steps are done again as they are
            for group in value.param_groups:
                for p in group["params"]:
                    self.look(p, self.name(p), depth + 1)
            return
        own = self.name(fields)
        self.conditions.append(f"len({own}) == {len(fields)}")
        for key, item in list(fields.items()):
            if type(item) in PLAIN or isinstance(item, Tensor | list | tuple | dict | set | frozenset | np.ndarray | np.generic):
                self.look(item, f"{own}[{key!r}]", depth + 1)
            elif key.startswith("__"):
                continue
            else:
                self.conditions.append(f"{own}[{key!r}] is {self.name(item)}")
                self.look_into(item, self.name(item), depth + 1)
        if not module.startswith(OURS):
            for cls in type(value).__mro__:
                for key, item in vars(cls).items() if not cls.__module__.startswith((OURS, "builtins")) else ():
                    if type(item) in PLAIN and not key.startswith("__"):
                        self.look(item, f"{name}.{key}", depth + 1)
                self.look_into_function(cls)

    def look_into_function(self, function: Any) -> None:
        """The closure, defaults and globals of a function that a user wrote, and of those it names."""
        if isinstance(function, types.MethodType):
            self.look(function.__self__, self.name(function.__self__))
            function = function.__func__
        if isinstance(function, types.ModuleType) or (isinstance(function, type) and not own_library(function)):
            self.seen.add(id(function))
            self.owners[id(function)] = function, vars(function)
            return
        if not isinstance(function, types.FunctionType):
            if hasattr(function, "__dict__") and not isinstance(function, type | types.ModuleType) and function is not None:
                self.look_into(function, self.name(function), 0)
            return
        inner, made = inspect.unwrap(function), written_in(function)
        if id(function) in self.seen or (made in LIBRARIES and own_library(inner) and not isinstance(inner, Module)):
            return
        self.seen.add(id(function))
        names = () if made == OURS else every_name(function.__code__)  # of what `func` makes of a function, only what it holds
        self.code_names.update(names)
        own = self.name(function)
        impure = sorted(IMPURE & set(names))
        if impure and not self.impure:
            self.impure = f"uses {impure[0]}, which would happen once only"
        for i, cell in enumerate(function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self.look(value, f"{self.name(cell)}.cell_contents")
            del i
        world = self.name(function.__globals__)
        for n in names:
            if n in function.__globals__:
                self.look(function.__globals__[n], f"{world}[{n!r}]")
        for i, default in enumerate(function.__defaults__ or ()):
            self.look(default, f"{own}.__defaults__[{i}]")

    def compiled(self) -> Callable[[tuple[Any, ...], dict[str, Any]], bool]:
        """The conditions as one function."""
        unique = list(dict.fromkeys(self.conditions))
        # in chunks: Python's compiler has a limit on how deep an expression may be
        body = "\n".join(f"        if not ({c}): return False" for c in unique)
        missing = "(AttributeError, KeyError, IndexError, TypeError)"
        text = f"def test(args, kwargs):\n    try:\n{body}\n    except {missing}:\n        return False\n    return True\n"
        place: dict[str, Any] = {}
        exec(compile(text, "<guards>", "exec"), self.names, place)
        return place["test"]  # type: ignore[no-any-return]


def same_array(a: Any, known: Any) -> bool:
    return type(a) is type(known) and a.dtype == known.dtype and a.shape == known.shape and a.tobytes() == known.tobytes()


def own_library(thing: Any) -> bool:
    """Whether a function, class or module is ours, Python's or NumPy's."""
    return package(thing) in LIBRARIES


def written_in(function: types.FunctionType) -> str:
    """The package of its code, whatever it is called after."""
    return str(function.__globals__.get("__name__")).partition(".")[0]


def installed(thing: Any) -> bool:
    """Whether it is of a package that was installed beside ours. What hangs on its functions is not looked for: it would be all of it."""
    file = getattr(sys.modules.get(package(thing)), "__file__", None) or ""
    return file.startswith((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))


def package(thing: Any) -> str:
    name = thing.__name__ if isinstance(thing, types.ModuleType) else thing.__module__
    return (name or "").partition(".")[0]


def of_data(t: Tensor) -> bool:
    """Whether a view has no history that could change behind it, and lies in memory like any other tensor: a slice of the data, say."""
    base = t.view_info.base  # type: ignore[union-attr]
    return not t.wants_grad and not base.wants_grad and base.edge is None and not base.level and t.payload.flags.c_contiguous


def hooked(t: Tensor) -> bool:
    """Whether a leaf has hooks: they are called by a backward pass that Python does not see when it is compiled."""
    extra = t.extra
    if extra is None:
        return False
    node = extra.accumulator()
    return bool(extra.hooks or extra.post_hooks or (node is not None and node.hooks is not None))


def slots_of(cls: type) -> list[str]:
    slots = cls.__dict__.get("__slots__", ())
    return [n for n in ((slots,) if isinstance(slots, str) else slots) if not n.startswith("__")]


def every_name(code: Any) -> list[str]:
    """The names that a function's code and the code inside it look up."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += every_name(constant)
    return names
