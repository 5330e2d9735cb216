"""Reading a pickle that nobody vouches for: a machine that knows a few instructions, and a few names it may be told.

A pickle is a program; pickle.load runs it, whatever it calls. This machine builds lists, dicts, numbers and tensors. It looks no name
up: a name is either in its table or refused.
"""

from __future__ import annotations

import pickle
import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autolab import dtypes
from autolab.size import Size
from autolab.torch_api.device import device

REFUSED = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, do those steps only if you trust the "
    "source of the checkpoint.\n"
    "\t(1) Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
    "execution. Do it only if you got the file from a trusted source.\n"
    "\t(2) Alternatively, to load with `weights_only=True`, allow what the next sentence names.\n"
    "\tWeightsUnpickler error: {}"
)
MARK = object()


class NotAllowed(pickle.UnpicklingError):
    """Something that the machine does not do."""


# -- names ---------------------------------------------------------------------------------------------

_added: dict[str, Any] = {}


def encode(text: str, encoding: str) -> bytes:
    """How older pickles write bytes."""
    if encoding != "latin1" or not isinstance(text, str):
        raise NotAllowed(f"codecs.encode is allowed for text in latin1 only, not for {encoding!r}")
    return text.encode("latin1")


def make_bytearray(content: Any = b"", encoding: str = "latin-1") -> bytearray:
    """bytearray of bytes or text. Of a number it would be as long as the number says."""
    if not isinstance(content, bytes | bytearray | str) or encoding not in ("latin-1", "latin1"):
        raise NotAllowed(f"bytearray is allowed for bytes and text, not for {type(content)}")
    return bytearray(content, encoding) if isinstance(content, str) else bytearray(content)


KNOWN: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict, "collections.Counter": Counter, "builtins.set": set, "builtins.frozenset": frozenset,
    "builtins.bytearray": make_bytearray, "_codecs.encode": encode, "torch.Size": Size, "torch.device": device,
    **{f"torch.{d.name}": d for d in dtypes.ALL},
}  # fmt: skip
BUILT = (OrderedDict, Counter)  # what may be given attributes after it is made


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let `load` make instances of these classes, and call these functions; or (one of them, the name it has in the file).

    >>> import collections
    >>> add_safe_globals([collections.Counter])
    >>> get_safe_globals()
    [<class 'collections.Counter'>]
    >>> clear_safe_globals()
    """
    for thing in safe_globals:
        found, name = thing if isinstance(thing, tuple) else (thing, f"{thing.__module__}.{thing.__qualname__}")
        _added[name] = found


def get_safe_globals() -> list[Any]:
    """A list of what `add_safe_globals` has added.

    >>> get_safe_globals()
    []
    """
    return list(_added.values())


def clear_safe_globals() -> None:
    """Forget what was added by `add_safe_globals`.

    >>> import collections
    >>> add_safe_globals([collections.ChainMap])
    >>> clear_safe_globals()
    >>> get_safe_globals()
    []
    """
    _added.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Add classes and functions as `add_safe_globals` does, for a block: they are forgotten at the end.

    >>> import collections
    >>> with safe_globals([collections.ChainMap]):
    ...     get_safe_globals()
    [<class 'collections.ChainMap'>]
    """
    before = dict(_added)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _added.clear()
        _added.update(before)


# -- the machine ------------------------------------------------------------------------------------------

CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
MADE: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple, "EMPTY_SET": set}
PUSHED = frozenset(
    "BININT BININT1 BININT2 INT LONG LONG1 LONG4 BINFLOAT FLOAT BINUNICODE BINUNICODE8 SHORT_BINUNICODE UNICODE BINSTRING "
    "SHORT_BINSTRING STRING BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8".split()
)
IGNORED = frozenset(("PROTO", "FRAME"))


class Machine:
    """Runs a pickle, as far as it only builds. `tensors` are the names that make tensors, `storage` what a persistent id stands for."""

    def __init__(self, tensors: dict[str, Any], storage: Callable[[Any], Any]) -> None:
        self.names = {**KNOWN, **tensors}
        self.storage = storage
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, program: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(program):
            name = opcode.name
            if name == "STOP":
                return self.stack.pop()
            if name in PUSHED:
                self.stack.append(argument)
            elif name in CONSTANTS:
                self.stack.append(CONSTANTS[name])
            elif name in MADE:
                self.stack.append(MADE[name]())
            elif name not in IGNORED:
                step = getattr(self, f"do_{name.lower()}", None)
                if step is None:
                    raise NotAllowed(f"Unsupported operand {name}")
                step(argument)
        raise NotAllowed("the pickle ends before it is complete")

    def since_mark(self) -> list[Any]:
        """What was put on the stack since the last mark, taken off together with it."""
        k = len(self.stack) - 1
        while self.stack[k] is not MARK:
            k -= 1
        found = self.stack[k + 1 :]
        del self.stack[k:]
        return found

    # -- memory and marks

    def do_mark(self, _: Any) -> None:
        self.stack.append(MARK)

    def do_pop(self, _: Any) -> None:
        self.stack.pop()

    def do_binput(self, k: int) -> None:
        self.memo[k] = self.stack[-1]

    do_long_binput = do_put = do_binput

    def do_memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def do_binget(self, k: int) -> None:
        self.stack.append(self.memo[k])

    do_long_binget = do_get = do_binget

    # -- containers

    def do_tuple(self, _: Any) -> None:
        self.stack.append(tuple(self.since_mark()))

    def do_tuple1(self, _: Any, n: int = 1) -> None:
        self.stack[-n:] = [tuple(self.stack[-n:])]

    def do_tuple2(self, _: Any) -> None:
        self.do_tuple1(_, 2)

    def do_tuple3(self, _: Any) -> None:
        self.do_tuple1(_, 3)

    def do_list(self, _: Any) -> None:
        self.stack.append(self.since_mark())

    def do_dict(self, _: Any) -> None:
        items = self.since_mark()
        self.stack.append(dict(zip(items[::2], items[1::2])))

    def do_frozenset(self, _: Any) -> None:
        self.stack.append(frozenset(self.since_mark()))

    def do_append(self, _: Any) -> None:
        self.extend([self.stack.pop()])

    def do_appends(self, _: Any) -> None:
        self.extend(self.since_mark())

    def extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise NotAllowed(f"Can only append to lists, but got {type(self.stack[-1])}")
        self.stack[-1].extend(items)

    def do_additems(self, _: Any) -> None:
        items = self.since_mark()
        if type(self.stack[-1]) is not set:
            raise NotAllowed(f"Can only add to sets, but got {type(self.stack[-1])}")
        self.stack[-1].update(items)

    def do_setitem(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set_items([key, value])

    def do_setitems(self, _: Any) -> None:
        self.set_items(self.since_mark())

    def set_items(self, items: list[Any]) -> None:
        if type(self.stack[-1]) not in (dict, *BUILT, *self.added_classes()):
            raise NotAllowed(f"Can only set items of dicts, but got {type(self.stack[-1])}")
        for key, value in zip(items[::2], items[1::2]):
            self.stack[-1][key] = value

    # -- names, calls, objects

    def added_classes(self) -> list[Any]:
        return [thing for thing in _added.values() if isinstance(thing, type)]

    def look_up(self, module: str, name: str) -> Any:
        full = f"{'builtins' if module == '__builtin__' else module}.{name}"
        for table in (self.names, _added):
            if full in table:
                return table[full]
        raise NotAllowed(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` context manager to "
            "allowlist this global if you trust this class/function."
        )

    def do_global(self, argument: str) -> None:
        self.stack.append(self.look_up(*argument.split(" ", 1)))

    def do_stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(self.look_up(module, name))

    def allowed(self, thing: Any) -> bool:
        return any(thing is known for known in (*self.names.values(), *_added.values()))

    def do_reduce(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack[-1]
        if not self.allowed(function) or not callable(function) or type(arguments) is not tuple:
            raise NotAllowed(f"Trying to call reduce for unrecognized function {function}")
        self.stack[-1] = function(*arguments)

    def do_newobj(self, _: Any) -> None:
        arguments, cls = self.stack.pop(), self.stack[-1]
        if not (isinstance(cls, type) and self.allowed(cls)) or type(arguments) is not tuple:
            raise NotAllowed(f"Trying to call __new__ of unrecognized class {cls}")
        self.stack[-1] = cls.__new__(cls, *arguments)

    def do_build(self, _: Any) -> None:
        state, thing = self.stack.pop(), self.stack[-1]
        if type(thing) in self.added_classes() and hasattr(thing, "__setstate__"):
            thing.__setstate__(state)
            return
        if type(thing) not in (*BUILT, *self.added_classes()):
            raise NotAllowed(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {type(thing)}"
            )
        own, slots = state if type(state) is tuple and len(state) == 2 else (state, {})
        if type(own or {}) is not dict or type(slots or {}) is not dict or (slots and type(thing) in BUILT):
            raise NotAllowed(f"attributes of {type(thing)} must come in a dict, and came as {type(own)}")
        thing.__dict__.update(own or {})
        for name, value in (slots or {}).items():
            object.__setattr__(thing, name, value)

    def do_binpersid(self, _: Any) -> None:
        self.stack[-1] = self.storage(self.stack[-1])


def globals_of(program: bytes) -> list[str]:
    """All names that a pickle asks for."""
    found: list[str] = []
    texts: list[Any] = []
    for opcode, argument, _ in pickletools.genops(program):
        if "UNICODE" in opcode.name:
            texts.append(argument)
        if opcode.name == "GLOBAL":
            found.append(str(argument).replace(" ", "."))
        elif opcode.name == "STACK_GLOBAL":
            found.append(".".join(texts[-2:]))
    return found
