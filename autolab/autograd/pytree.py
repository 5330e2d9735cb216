"""Nested containers of tensors ("pytrees"): take them apart, and put things back in the same form.

Containers are tuples, lists, dicts (also OrderedDict and defaultdict), named tuples and deques; anything else is a leaf, also None.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import Any, NamedTuple


class Form(NamedTuple):
    """How a container was built: its type, its keys (or what else it needs), and the forms of what is in it. A leaf has none."""

    kind: type | None = None
    keys: Any = None
    parts: tuple[Form, ...] = ()
    size: int = 1  # how many leaves there are
    flat: bool = False  # whether all parts are leaves

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


LEAF = Form()


@cache
def arguments(count: int) -> Form:
    """A tuple of so many leaves."""
    return Form(tuple, None, (LEAF,) * count, count, True)


class Sorts(dict[type, Any]):
    """How to open a container of each type: a function that gives its keys (or what else it needs) and its items. None for leaves."""

    def __missing__(self, kind: type) -> Any:
        self[kind] = found = (lambda x: (None, x)) if issubclass(kind, tuple) and hasattr(kind, "_fields") else None
        return found


SORTS = Sorts({
    tuple: lambda x: (None, x),
    list: lambda x: (None, x),
    dict: lambda x: (tuple(x), x.values()),
    OrderedDict: lambda x: (tuple(x), x.values()),
    defaultdict: lambda x: ((tuple(x), x.default_factory), x.values()),
    deque: lambda x: (x.maxlen, x),
})  # fmt: skip


def flatten(x: Any) -> tuple[list[Any], Form]:
    """All leaves from left to right, and the form in which they stood."""
    leaves: list[Any] = []
    return leaves, form_of(x, leaves)


def form_of(x: Any, leaves: list[Any]) -> Form:
    """The form of x; what is in it is added to `leaves`."""
    kind = type(x)
    opened = SORTS[kind]
    if opened is None:
        leaves.append(x)
        return LEAF
    keys, items = opened(x)
    if not any(map(SORTS.__getitem__, map(type, items))):
        leaves += items
        return Form(kind, keys, (LEAF,) * len(items), len(items), True)
    before = len(leaves)
    parts = tuple([form_of(item, leaves) for item in items])
    return Form(kind, keys, parts, len(leaves) - before)


def unflatten(leaves: Any, form: Form) -> Any:
    """The containers again, with other leaves."""
    if form is LEAF or form.kind is None:
        return leaves[0]
    return filled(form, leaves) if form.flat else build(iter(leaves), form)


def build(leaves: Any, form: Form) -> Any:
    if form is LEAF or form.kind is None:
        return next(leaves)
    if form.flat:
        return filled(form, islice(leaves, form.size))
    return filled(form, [next(leaves) if part is LEAF else build(leaves, part) for part in form.parts])


def filled(form: Form, items: Any) -> Any:
    """One container, of these items."""
    kind, keys, _, _, _ = form
    if kind is tuple or kind is list:
        return kind(items)
    if kind is dict or kind is OrderedDict:
        return kind(zip(keys, items))
    if kind is defaultdict:
        return defaultdict(keys[1], zip(keys[0], items))
    if kind is deque:
        return deque(items, keys)
    return kind(*items)  # type: ignore[misc]


def mapped(function: Callable[..., Any], x: Any) -> Any:
    """The same containers with function(leaf) in place of each leaf."""
    leaves, form = flatten(x)
    return unflatten([function(leaf) for leaf in leaves], form)


def spread(prefix: Any, form: Form) -> list[Any] | None:
    """One value for each leaf of `form` from containers that may be less deep; None if they do not fit.

    spread((0, (1, 2)), form of (a, (b, c))) is [0, 1, 2]; spread((0, 1), the same) is [0, 1, 1].
    """
    kind = type(prefix)
    opened = SORTS[kind]
    if opened is None:
        return [prefix] * form.size
    keys, items = opened(prefix)
    if kind is not form.kind or keys != form.keys or len(items) != len(form.parts):
        return None
    found: list[Any] = []
    for item, part in zip(items, form.parts):
        values = spread(item, part)
        if values is None:
            return None
        found += values
    return found
