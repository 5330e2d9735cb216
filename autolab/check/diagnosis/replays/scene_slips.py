"""One slip in what an exercise on behaviour expects: the right answer is worked out on arrays that note what is done to them.

The exercises know the usual mistakes by name. Here each operation of the right answer is changed once, so others have a sentence, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...run.observation import close
from ..replay import Asking, Node, Tape
from .lines import Slip
from .tape_slips import slips_of

MOST_WORK = 6000  # operations on small arrays
Seen = Sequence[tuple[tuple, Mapping[str, Any], Mapping[str, Any]]]  # for each draw the arrays, what came and what was expected


@dataclass(frozen=True, eq=False)
class Noted:
    """The right answer under one name, with its operations by the line that they come from."""

    tape: Tape
    lines: dict[Any, list[int]]
    inputs: dict[int, str]  # where the inputs are, and what they are called


def find_scene_slip(expect: Callable[..., Mapping[str, Any]], seen: Seen, key: str) -> tuple[str, str] | None:
    """The kind of mistake and a clause about what has this name; None if no single slip gives it in all draws."""
    if len(seen) < 2:
        return None
    noted = [_noted(expect, inputs, want[key], key) for inputs, _, want in seen]
    if not all(noted):
        return None
    got = [np.asarray(data.get(key)) for _, data, _ in seen]
    spent = 0
    for line, nodes in sorted(noted[0].lines.items(), key=lambda item: -item[1][0]):  # type: ignore[union-attr]
        for family, text, slip in _tried(noted[0], nodes):  # type: ignore[arg-type]
            spent += len(noted[0].tape.after(tuple(nodes)))  # type: ignore[union-attr]
            if spent > MOST_WORK:
                return None
            if all(_gives(one, line, slip, a) for one, a in zip(noted, got, strict=True)):  # type: ignore[arg-type]
                return family, text.replace("{where}", "")
    return None


def _noted(expect: Callable[..., Mapping[str, Any]], inputs: tuple, want: Any, key: str) -> Noted | None:
    tape = Tape()
    try:
        leaves = [tape.leaf(np.asarray(a)) for a in inputs]
        result = expect(*leaves)[key]
        if not isinstance(result, Asking) or not close(tape.end(result), np.asarray(want)):
            return None
    except Exception:  # a loop, or something that arrays do not note
        return None
    lines: dict[Any, list[int]] = {}
    for k in tape.counting:
        node = tape.nodes[k]
        if node.sources:
            lines.setdefault((node.tag, node.name), []).append(k)
    for (tag, name), nodes in list(lines.items()):  # a helper that is called in several places
        lines.setdefault((tag[1][:2], name), []).extend(nodes)
    return Noted(tape, lines, dict(enumerate(_names(expect, len(inputs)))))


def _names(expect: Callable, count: int) -> list[str]:
    names = list(inspect.signature(expect).parameters)
    return names if len(names) == count else [f"argument {k + 1}" for k in range(count)]


def _tried(noted: Noted, nodes: Sequence[int]) -> Iterator[tuple[str, str, Slip]]:
    tape, first = noted.tape, noted.tape.nodes[nodes[0]]
    yield from slips_of(first, tape.values[nodes[0]])
    for j, source in enumerate(first.sources):
        for place, name in noted.inputs.items():
            if place != source and np.shape(tape.values[place]) == np.shape(tape.values[source]):
                right = f"{noted.inputs[source]} belongs" if source in noted.inputs else "another value belongs"
                yield "variable", f"has {name} where {right}", partial(_instead, j=j, place=place)


def _instead(tape: Tape, node: Node, s: list[Any], value: Any, j: int, place: int) -> Any:
    return node.function(*s[:j], tape.values[place], *s[j + 1 :])


def _gives(noted: Noted, line: Any, slip: Slip, got: np.ndarray) -> bool:
    try:
        with np.errstate(all="ignore"):
            return close(got, noted.tape.result(noted.tape.with_slip(noted.lines[line], slip)))
    except Exception:  # it cannot be made here
        return False
