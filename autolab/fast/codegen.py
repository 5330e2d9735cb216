"""Functions made of text: the names that all of them share, and when they are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.engine.op import Op

NAMES: dict[str, Any] = {"__name__": "autolab.fast.generated"}  # the globals of all generated functions
MOST_INPUTS = 3


def can_specialise(op: Op) -> bool:
    """Whether functions are written for a row."""
    return not op.variadic and op.outputs == 1 and 1 <= len(op.inputs) <= MOST_INPUTS


def define(name: str, text: str, closure: dict[str, Any], file: str) -> Callable[..., Any]:
    """Compile a function whose free names are in `closure`, or else in NAMES."""
    lines = [f"def make({', '.join(closure)}):", *("    " + line for line in text.splitlines()), f"    return {name}"]
    place: dict[str, Any] = {}
    exec(compile("\n".join(lines), file, "exec"), NAMES, place)
    return place["make"](**closure)  # type: ignore[no-any-return]


class generated_method:
    """A method that is written for each class when it is first asked for: what `cached_property` is for a value."""

    def __init__(self, write: Callable[[Any], Callable[..., Any]]) -> None:
        self.write = write

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, node: Any, cls: type) -> Any:
        function = self.write(cls)
        setattr(cls, self.name, function)
        return getattr(cls if node is None else node, self.name)
