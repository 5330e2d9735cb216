"""What a tape has of one line of code: the same operation in every round of a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..replay import Node, Tape

Slip = Callable[[Tape, Node, list[Any], Any], Any]  # of a tape, one of its operations, the sources of that and what it gave


@dataclass(eq=False)
class Lines:
    """A tape with its operations by the line that they come from."""

    tape: Tape
    by_line: dict[Any, list[int]]
    words: dict[int, str]  # of the values that may be taken for one another
    rounds: Counter[Any]  # how often each line of forward ran
    joins: bool  # does forward put the results of several rounds together at its end?

    def is_in_loop(self, line: Any) -> bool:
        """Does what is on this line, or the line of forward that it belongs to, happen several times?"""
        tag = line[0][0]
        return len(self.by_line[line]) > 1 or (bool(tag) and self.rounds[tag[2] if arrives(line) else tag[1]] > 1)


def arrives(line: Any) -> bool:
    """Is it where what comes back from several rows is added up?"""
    tag = line[0][0]
    return bool(tag) and tag[0] == "arrives"
