"""Another value in the place of one that an operation of a tape takes: an input, what another row gave, or a part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..replay import Node, Tape
from .lines import Lines, Slip


def other_values(known: Lines, line: Any) -> Iterator[tuple[str, str, Slip]]:
    """Another value in the place of one of the sources: an input, or what another row gave, counted from the row itself."""
    tape = known.tape
    first = tape.nodes[known.by_line[line][0]]
    words = {**tape.words(known.is_in_loop(line)), **known.words}
    for j, source in enumerate(first.sources if first.name != "incoming_of_row" else ()):
        right = f"{words[source]} belongs" if source in words else "another value belongs"
        shape = np.shape(tape.values[source])
        for place, word in known.words.items():
            if place != source and np.shape(tape.values[place]) == shape:
                yield "variable", f"uses {word} where {right}{{where}}", partial(_input_instead, j=j, place=place)
        if first.row < 0 or source not in tape.results:
            continue
        for number, place in enumerate(tape.results):
            if place >= 0 and place != source and np.shape(tape.values[place]) == shape:
                text = f"uses {words[place]} where {right}{{where}}"
                if words[place] == words.get(source):
                    text = f"uses {words[place]} in another step than the one that belongs there{{where}}"
                yield "variable", text, partial(_result_instead, j=j, by=number - first.row)


# What only takes numbers from its source, and what is one of several results.
WITHOUT_PARTS = {"part", *(f"forward {row}" for row in ("gather", "index", "index_select", "select", "slice"))}


def parts(known: Lines, line: Any) -> Iterator[tuple[str, str, Slip]]:
    """A part of what a row gave, such as one of two terms, in the place of the whole."""
    tape, words = known.tape, known.tape.words(known.is_in_loop(line))
    first = tape.nodes[known.by_line[line][0]]
    for j, source in enumerate(first.sources if first.name != "incoming_of_row" and first.row >= 0 else ()):
        for m in range(len(tape.nodes[source].sources) if source in tape.results and tape.nodes[source].name not in WITHOUT_PARTS else 0):
            for sign, how in ((1, ""), (-1, "minus ")):
                text = f"uses {how}one part of {words[source]} where the whole of it belongs{{where}}"
                yield "term", text, partial(_part_instead, j=j, m=m, sign=sign)


def _instead(node: Node, s: list[Any], j: int, other: Any) -> Any:
    """What an operation gives with another value for source j: for all places of it, as in a square, if j is the first of them."""
    first = node.sources.index(node.sources[j]) == j
    return node.function(*(other if k == j or (first and node.sources[k] == node.sources[j]) else v for k, v in enumerate(s)))


def _input_instead(tape: Tape, node: Node, s: list[Any], value: Any, j: int, place: int) -> Any:
    return _instead(node, s, j, tape.values[place])


def _part_instead(tape: Tape, node: Node, s: list[Any], value: Any, j: int, m: int, sign: int) -> Any:
    made = tape.nodes[node.sources[j]]
    part = np.broadcast_to(tape.values[made.sources[m]], np.shape(s[j]))
    return node.function(*s[:j], sign * part, *s[j + 1 :])


def _result_instead(tape: Tape, node: Node, s: list[Any], value: Any, j: int, by: int) -> Any:
    number = node.row + by
    if not 0 <= number < len(tape.results) or tape.results[number] < 0:
        raise LookupError("there is no such row")
    return _instead(node, s, j, tape.values[tape.results[number]])


def of_first_step(known: Lines, nodes: Sequence[int]) -> Iterator[tuple[str, str, Slip]]:
    """In all steps of a loop a value that forward had in the first of them."""
    tape, words = known.tape, known.tape.words(every_round=True)
    for j in range(min(len(tape.nodes[k].sources) for k in nodes)) if len(nodes) > 1 else ():
        sources = sorted({tape.nodes[k].sources[j] for k in nodes})
        if len(sources) > 1 and all(k in words for k in sources):
            text = f"uses in every step what {words[sources[0]]} is in the first one: each step has its own{{where}}"
            yield "places", text, partial(_input_instead, j=j, place=sources[0])


def of_next_step(known: Lines, nodes: Sequence[int]) -> Iterator[tuple[str, str, Slip]]:
    """In each step of a loop a value of the step before it, or after it."""
    tape, words = known.tape, known.tape.words(every_round=True)
    first, *others = (tape.nodes[k] for k in nodes)
    period = abs(first.row - others[0].row) if others and first.name != "incoming_of_row" else 0
    for j, source in enumerate(first.sources if period else ()):
        for by in (-period, period) if source in tape.results else ():
            text = f"uses {words.get(source, 'a value')} in another step than the one that belongs there{{where}}"
            yield "variable", text, partial(_result_instead, j=j, by=tape.results.index(source) - first.row + by)
