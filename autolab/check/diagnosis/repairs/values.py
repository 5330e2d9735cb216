"""What a change of a rule is, and the values that one may put in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .schema import Site

Change = Callable[..., Any]  # of what the place does, its operands, its keywords, the local variables


class Edit(NamedTuple):
    """One change at one place; `key` is the same wherever the same slip is mended, `what` continues "would be right with"."""

    cost: float
    family: str
    what: str
    key: Any
    change: Change
    others: Mapping[int, Change] = {}  # what changes besides, at the sites with these numbers


class Pool(NamedTuple):
    """Values that a rule may have left out: how each is found among the local variables."""

    arrays: Mapping[Any, Callable[[Mapping[str, Any]], Any]]
    sizes: Mapping[Any, Callable[[Mapping[str, Any]], Any]]
    shapes: Mapping[Any, Callable[[Mapping[str, Any]], Any]]
    # by its source: its value on the first run, and how it is found
    masks: Mapping[str, tuple[Any, Callable[[Mapping[str, Any]], Any]]] = {}
    settings: frozenset[str] = frozenset()  # the names that are settings of the call
    forward: Mapping[Any, Callable[[Mapping[str, Any]], Any]] = {}  # what forward works out on its way
    # and what it gives a name: in the first call, and how it is found in each
    named: Mapping[str, tuple[Any, Callable[[Mapping[str, Any]], Any]]] = {}
    ends: Mapping[str, tuple[Any, Callable[[Mapping[str, Any]], Any]]] = {}  # the same of what a loop leaves in a name
    comes_from_g: Callable[[Site], bool] = lambda site: False
    calls: frozenset[str] = frozenset()  # the functions that forward calls
    inputs: frozenset[str] = frozenset()


def is_array(value: Any) -> bool:
    """An array or a tensor of numbers with a point."""
    return hasattr(value, "ndim") and hasattr(value, "sum") and "float" in str(getattr(value, "dtype", ""))


def is_number(value: Any) -> bool:
    """A plain number, not an array."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_)) and not shape_of(value)


def is_mask(value: Any, array: Any) -> bool:
    """Does it choose some of the entries of an array, with True and False or with 1 and 0?"""
    if value is array or not hasattr(value, "dtype") or shape_of(value) != shape_of(array) or not shape_of(value):
        return False
    flat = np.ravel(value if isinstance(value, np.ndarray) else value.detach().numpy())
    return flat.dtype.kind == "b" or (flat.dtype.kind in "fiu" and bool(np.all((flat == 0) | (flat == 1))) and 0 < flat.sum() < flat.size)


def shape_of(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def kind_of(value: Any) -> str:
    if is_number(value):
        return "size" if isinstance(value, (int, np.integer)) else "array"
    if isinstance(value, tuple):
        return "shape"
    if is_array(value):
        return "array"
    return str(getattr(value, "dtype", "")) if hasattr(value, "ndim") else ""


def elementwise(name: str, value: Any) -> Any:
    """An elementwise function of an array or a tensor."""
    return getattr(np, name)(value) if isinstance(value, (np.ndarray, np.generic, float, int)) else getattr(value, name)()


def transposed(value: Any) -> Any:
    """The last two axes exchanged."""
    return value.swapaxes(-1, -2)


def flipped(value: Any, axis: int) -> Any:
    """Backwards along an axis."""
    return np.flip(value, axis) if isinstance(value, np.ndarray) else value.flip(axis)


def with_axis(value: Any, axis: int) -> Any:
    """An axis of size 1 put in."""
    return np.expand_dims(value, axis) if isinstance(value, (np.ndarray, np.generic)) else value.unsqueeze(axis)


def exchanged(values: tuple, i: int, j: int) -> tuple:
    """The same with two in each other's place."""
    return tuple(values[{i: j, j: i}.get(k, k)] for k in range(len(values)))


def evaluated(node: ast.expr) -> Callable[[Mapping[str, Any]], Any]:
    """What an expression of the rule gives where it is asked again, of the local variables and NumPy."""
    code = compile(ast.Expression(ast.fix_missing_locations(node)), "expression", "eval")
    return lambda names: eval(code, {"np": np}, dict(names))


def assigned(site: Site, node: Any) -> Any:
    """What a name is given, if the function gives it one value and that is an expression; another node is itself."""
    if not isinstance(node, ast.Name):
        return node
    function: Any = site.parents[-1]
    if not hasattr(function, "stored"):
        every = [n for n in ast.walk(function) if isinstance(n, (ast.Assign, ast.AugAssign, ast.For))]
        function.stored = [(n, {t.id for t in _targets(n) if isinstance(t, ast.Name)}) for n in every]
    stored = [n for n, names in function.stored if node.id in names]
    if len(stored) != 1 or not isinstance(stored[0], ast.Assign):
        return node
    value: Any = stored[0].value
    while hasattr(value, "was"):
        value = value.was
    return value


def _targets(node: Any) -> list[ast.AST]:
    return [t for target in getattr(node, "targets", None) or [node.target] for t in ast.walk(target)]


def instead(function: Callable[..., Any]) -> Change:
    """A change that does something else with the same operands."""
    return lambda do, args, kwargs, names: function(*args, **kwargs)


def then(function: Callable[..., Any]) -> Change:
    """A change of what comes out."""
    return lambda do, args, kwargs, names: function(do(*args, **kwargs))


def short(text: str, most: int = 50) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def quote_of(site: Site) -> str:
    """The source of a place in quotes, cut to one short line."""
    return f"`{short(site.text())}`"


def size_in_words(key: Any) -> str:
    """What a size is called by its key in a pool: a name of the rule, or an array of the call and its axis."""
    if not isinstance(key, tuple):
        return f"`{key}`"
    name, axis = key
    if name == "the call's":
        return str(axis)
    of = "the result" if name == "out" else name
    return f"the number of entries of {of}" if axis is None else f"the size of axis {axis} of {of}"
