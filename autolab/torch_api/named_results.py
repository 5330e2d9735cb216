"""What functions with several results return: a tuple whose parts have names, printed as PyTorch prints it."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

TYPES: dict[str, Any] = {}  # by the name of the function


def named(name: str, fields: str, module: str) -> Any:
    """A tuple type with these fields. (A NamedTuple takes ten times as long to make, at every import.)"""
    names = tuple(fields.split())

    def new(cls: type, *values: Any) -> Any:
        if len(values) != len(names):
            raise TypeError(f"{name} takes {len(names)} values ({', '.join(names)}), but got {len(values)}")
        return tuple.__new__(cls, values)

    def show(self: Any) -> str:
        return f"torch.return_types.{name}(\n" + ",\n".join(f"{n}={v!r}" for n, v in zip(names, self)) + ")"

    TYPES[name] = type(f"{name.removeprefix('linalg_')}_result", (tuple,), {
        "__slots__": (), "__new__": new, "__repr__": show, "__getnewargs__": lambda self: tuple(self), "_fields": names,
        "__doc__": f"What {name} returns: {', '.join(names)}.", "__module__": module,
        **{n: property(itemgetter(i)) for i, n in enumerate(names)},
    })  # fmt: skip
    return TYPES[name]
