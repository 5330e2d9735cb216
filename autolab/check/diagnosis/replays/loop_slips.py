"""Slips that are made in every round of a loop: a contribution, or the slope of a function, that is lost on the way back.

They are asked first where what comes back goes round a loop: a rule for it is a loop, too, and what it lacks it lacks in each round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...run.observation import Observation
from ..replay import Node, Tape
from .lines import Lines, Slip
from .sigmoids import SLOPES, with_slope
from .stepwise import CURVES

INCOMING = "incoming_of_row"
LOSES = "loses one of several contributions: it is left out, or another overwrites it"


def loop_slips(o: Observation, known: Lines, line: Any) -> Iterator[tuple[str, str, Slip]]:
    """What may be lost on one line in every round."""
    tag = line[0][0]
    if not tag or not known.is_in_loop(line):
        return
    if tag[0] == "arrives":
        yield from _lost_on_arrival(o, known, line)
    elif tag[0] == "back" and (way := known.tape.through.get(known.by_line[line][0])):
        yield "overwritten", LOSES + _missing(o, way), lambda t, n, s, v: 0 * v
    yield from _without_slope(known, line)
    yield from _slope_of_sigmoid(known, line)


def _lost_on_arrival(o: Observation, known: Lines, line: Any) -> Iterator[tuple[str, str, Slip]]:
    """Of what comes back to a value in each step of a loop, one of two contributions."""
    sources = known.tape.nodes[known.by_line[line][0]].sources
    of_input = line[0][0][1] >= 0  # what comes to it in each step comes the same way
    for kept in range(len(sources)) if len(sources) == 2 else ():
        way = None if of_input else known.tape.through.get(sources[1 - kept])
        yield "overwritten", LOSES + (_missing(o, way) if way else ""), partial(_one_source, k=kept)


def _missing(o: Observation, way: tuple[str, list[int]]) -> str:
    row, others = way
    beside = " and ".join(o.reference.inputs[k] for k in others)
    return f". What comes back through {row}{f' to what {beside} is combined with' if beside else ''} is missing, in every step"


def _one_source(tape: Tape, node: Node, s: list[Any], value: Any, k: int) -> Any:
    return np.broadcast_to(s[k], np.shape(value))


def _without_slope(known: Lines, line: Any) -> Iterator[tuple[str, str, Slip]]:
    """What a step passes on has not been multiplied by the slope of the function after it, while other contributions have."""
    tape = known.tape
    node = tape.nodes[known.by_line[line][0]]
    if not tape.names or known.by_line[line][0] not in tape.through:
        return
    for j, source in enumerate(node.sources):
        if (at := _last_product(tape, source)) is not None and tape.nodes[at].row != node.row and _goes_several_ways(tape, at):
            slope, (through, _) = tape.names.name(tape.nodes[at].row, every_round=True), tape.through[known.by_line[line][0]]
            text = f"is without the derivative of {slope} in one of its terms: what comes back through {through}, in every step"
            yield "factor", text, partial(_undone, j=j)


def _last_product(tape: Tape, k: int) -> int | None:
    """The product of what came back and a slope that a value on the tape is, if nothing else was done to it."""
    while tape.nodes[k].name == INCOMING:
        k = tape.nodes[k].sources[0]
    node = tape.nodes[k]
    is_slope = node.name == "multiply" and node.tag[0] and node.tag[0][0] == "back" and node.tag[0][-1] in CURVES
    return k if is_slope and len(node.sources) == 2 and tape.nodes[node.sources[0]].name == INCOMING else None


def _goes_several_ways(tape: Tape, at: int) -> bool:
    """Does what comes back here go on to several arguments of rows?"""
    same, ways = {at}, set[int]()
    for k in tape.counting:
        if not same.isdisjoint(tape.nodes[k].sources):
            (same if tape.nodes[k].name == INCOMING else ways).add(k)
    return len(ways) > 1


def _undone(tape: Tape, node: Node, s: list[Any], value: Any, j: int) -> Any:
    at = _last_product(tape, node.sources[j])
    if at is None:
        raise LookupError("another step is there")
    return node.function(*s[:j], s[j] / tape.values[tape.nodes[at].sources[1]], *s[j + 1 :])


def _slope_of_sigmoid(known: Lines, line: Any) -> Iterator[tuple[str, str, Slip]]:
    """Of 1 / (1 + exp(-z)), which is spelled out, the derivative is known as a whole."""
    node = known.tape.nodes[known.by_line[line][0]]
    names = known.tape.names
    if node.name == "multiply" and line[0][0][0] == "back" and names and _sigmoid(known.tape, node) is not None:
        said = f"the sigmoid {names.name(node.row + 2, every_round=True).removeprefix('the reciprocal ')}"
        for family, text, other in SLOPES:
            yield family, text.format(said), partial(_other_slope, other=other)


def _sigmoid(tape: Tape, node: Node) -> Any:
    """Its value, if the row of this node is its exponential."""
    places = tape.results[node.row : node.row + 3] if node.row >= 0 else []
    if [tape.nodes[k].name for k in places] != ["forward exp", "forward add", "forward reciprocal"]:
        return None
    exp, total, value = (tape.values[k] for k in places)
    return value if np.array_equal(total, 1 + exp) and np.array_equal(value, 1 / total) else None


def _other_slope(tape: Tape, node: Node, s: list[Any], value: Any, other: Callable[[Any], Any]) -> Any:
    return with_slope(value, _sigmoid(tape, node), other)
