"""All that an exercise depends on: whether two of an instructor's own are the same, each made anew from one source."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import hashlib
import sys
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from autolab.engine.op import Op

INSTALLED = ("autolab", "numpy", "math")  # packages whose functions are the same whenever they have the same code
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), np.generic, np.dtype)
OF_AN_OP = (
    "name", "forward", "kind", "settings", "shared", "promote", "promoted_inputs", "outputs", "view", "matrices", "holds", "products",
    "jvp", "batch", "check", "number", "node_name", "namer",
)  # fmt: skip


class UnknownContent(TypeError):
    """Something whose content cannot be read, such as a proxy for what a student defined."""


def digest(value: Any) -> str | None:
    """The same for values that depend on the same; None for one that depends on what cannot be compared."""
    try:
        return hashlib.sha256(repr(content(value)).encode("utf-8", "surrogatepass")).hexdigest()
    except (UnknownContent, RecursionError):
        return None


def content(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """All that a value depends on, as nested tuples of plain values: of a function its code, and what that names.

    Raises UnknownContent for what is neither data nor code.
    """
    if id(value) in inside:  # it names itself
        return "again", inside.index(id(value))
    inside = (*inside, id(value))
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, PLAIN):
        return kind, repr(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return kind, str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, (tuple, list)):
        return kind, tuple(content(v, inside) for v in value)
    if isinstance(value, Mapping):
        return kind, tuple((content(k, inside), content(v, inside)) for k, v in value.items())
    if isinstance(value, CodeType):
        parts = value.co_code, value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars, value.co_flags, value.co_argcount
        return parts, tuple(content(c, inside) for c in value.co_consts)
    if isinstance(value, ModuleType) and value.__name__.split(".")[0] in INSTALLED:
        return kind, value.__name__
    if isinstance(value, functools.partial):
        return kind, content((value.func, value.args, value.keywords), inside)
    if isinstance(value, Op):
        rules = {name: rule.function for name, rule in value.rules.items()}
        return kind, content([getattr(value, name) for name in OF_AN_OP], inside), content(rules, inside)
    if dataclasses.is_dataclass(value) and kind.startswith("autolab."):
        return kind, tuple(content(getattr(value, f.name), inside) for f in dataclasses.fields(value))
    if _is_installed(value):
        return kind, getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__)
    if isinstance(value, FunctionType):
        return kind, _of_function(value, inside)
    raise UnknownContent(kind)


def _is_installed(value: Any) -> bool:
    """Can this be found by its name in a package that no student and no test has written?"""
    if isinstance(value, np.ufunc):
        return getattr(np, value.__name__, None) is value
    names = getattr(value, "__qualname__", "").split(".")
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    if found is not builtins and getattr(found, "__name__", "").split(".")[0] not in INSTALLED:
        return False
    return functools.reduce(lambda at, name: getattr(at, name, None), names, found) is value


def _of_function(function: FunctionType, inside: tuple[int, ...]) -> tuple[Any, ...]:
    """Code, defaults, closure, and the globals that the code names; those of an installed package are what they are."""
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError as empty:  # a function that is not written yet
        raise UnknownContent(function.__qualname__) from empty
    names = {} if (function.__module__ or "").split(".")[0] in INSTALLED else {n: function.__globals__[n] for n in _names(function)}
    held = (function.__code__, function.__defaults__, function.__kwdefaults__, cells, names)
    return function.__module__, tuple(content(part, inside) for part in held)


def _names(function: FunctionType) -> list[str]:
    codes, found = [function.__code__], set[str]()
    for code in codes:
        found |= set(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    return sorted(found & function.__globals__.keys())
