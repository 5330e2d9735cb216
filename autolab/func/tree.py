"""Nested containers of tensors ("pytrees"): take them apart, and put things back in the same form.

Containers are tuples, lists, dicts (also OrderedDict and defaultdict), named tuples and deques; anything else is a leaf, also None.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple


class Form(NamedTuple):
    """How a container was built: its type, its keys (or what else it needs), and the forms of what is in it. A leaf has none."""

    kind: type | None = None
    keys: Any = None
    parts: tuple[Form, ...] = ()

    def __repr__(self) -> str:
        """The containers alone: (*, [*, *], {'a': *})."""
        inside = [repr(part) for part in self.parts]
        if self.kind is None:
            return "*"
        if self.kind is tuple:
            return f"({', '.join(inside)}{',' * (len(inside) == 1)})"
        if self.kind is list:
            return f"[{', '.join(inside)}]"
        if issubclass(self.kind, dict):
            return "{" + ", ".join(f"{k!r}: {part}" for k, part in zip(self.names, inside)) + "}"
        return f"{self.kind.__name__}({', '.join(inside)})"

    @property
    def names(self) -> Any:
        return self.keys[0] if self.kind is defaultdict else self.keys

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return 1 if self.kind is None else sum(part.size for part in self.parts)


LEAF = Form()


def opened(x: Any) -> tuple[type | None, Any, Any]:
    """(kind, keys, items) of a container; kind is None for a leaf."""
    kind = type(x)
    if kind is tuple or kind is list:
        return kind, None, x
    if kind is dict or kind is OrderedDict:
        return kind, tuple(x), x.values()
    if kind is defaultdict:
        return kind, (tuple(x), x.default_factory), x.values()
    if kind is deque:
        return kind, x.maxlen, x
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        return kind, None, x
    return None, None, ()


def flatten(x: Any) -> tuple[list[Any], Form]:
    """All leaves from left to right, and the form in which they stood."""
    leaves: list[Any] = []
    return leaves, form_of(x, leaves)


def form_of(x: Any, leaves: list[Any]) -> Form:
    """The form of x; what is in it is added to `leaves`."""
    kind, keys, items = opened(x)
    if kind is None:
        leaves.append(x)
        return LEAF
    return Form(kind, keys, tuple([form_of(item, leaves) for item in items]))


def unflatten(leaves: Any, form: Form) -> Any:
    """The containers again, with other leaves."""
    return build(iter(leaves), form)


def build(leaves: Any, form: Form) -> Any:
    kind = form.kind
    if kind is None:
        return next(leaves)
    items = [build(leaves, part) for part in form.parts]
    if kind is list:
        return items
    if kind is tuple:
        return tuple(items)
    if kind is dict or kind is OrderedDict:
        return kind(zip(form.keys, items))
    if kind is defaultdict:
        return defaultdict(form.keys[1], zip(form.keys[0], items))
    if kind is deque:
        return deque(items, form.keys)
    return kind(*items)


def mapped(function: Callable[..., Any], x: Any) -> Any:
    """The same containers with function(leaf) in place of each leaf."""
    leaves, form = flatten(x)
    return unflatten([function(leaf) for leaf in leaves], form)


def spread(prefix: Any, form: Form) -> list[Any] | None:
    """One value for each leaf of `form` from containers that may be less deep; None if they do not fit.

    spread((0, (1, 2)), form of (a, (b, c))) is [0, 1, 2]; spread((0, 1), the same) is [0, 1, 1].
    """
    kind, keys, items = opened(prefix)
    if kind is None:
        return [prefix] * form.size
    if kind is not form.kind or keys != form.keys or len(items) != len(form.parts):
        return None
    found: list[Any] = []
    for item, part in zip(items, form.parts):
        values = spread(item, part)
        if values is None:
            return None
        found += values
    return found
