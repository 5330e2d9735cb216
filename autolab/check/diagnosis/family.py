"""What a kind of mistake is: a prediction of what a rule with it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def unknown(*_: Any) -> Any:
    """What is predicted of a kind of mistake of which nothing is known but its name."""
    raise LookupError("nothing is predicted")


@dataclass(eq=False, slots=True)
class Family:
    """A kind of mistake: its name, a sentence about the gradient of `{x}`, and the array it predicts. Hundreds are made for a check."""

    name: str
    text: str
    predict: Callable[..., Any] = unknown  # of an observation and an input
    exact: bool = True  # whether it can be the only explanation; a slip in one decomposition cannot
    complete: bool = False  # a whole wrong formula, after which no other explanation is looked for
    hint: str = ""  # whose hint to give, if not that of the family
    step: str = ""  # of a slip in one step, what that is called
    elsewhere: Callable[[Callable[[Any], bool]], list[str]] | None = None  # in which other steps the same slip fits, by a test
    of_right: bool = False  # whether the prediction rests on what is right alone, and the family is the same in the next check


class Remembered(Generic[T]):
    """What an iterator gives, made as it is asked for and kept."""

    def __init__(self, more: Iterator[T]):
        self._made: list[T] = []
        self._more = more

    def __iter__(self) -> Iterator[T]:
        place = 0
        while True:
            if place == len(self._made):
                try:
                    self._made.append(next(self._more))
                except StopIteration:
                    return
            yield self._made[place]
            place += 1
