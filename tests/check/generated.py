"""Wrong rules made by families crossed with operations, and how many of them are named.

A family is a mistake that is made wherever it can be: in every operation of its kind, with all settings. The operations are two
halves: the second is measured, and not looked at while the checker is improved.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

GENERATED: list[Generated] = []


@dataclass(frozen=True)
class Generated:
    """A wrong rule, or a right one if `kinds` is empty."""

    family: str  # of the generator
    operation: str
    reference: Any  # an exercise; or a function on tensors, with its inputs
    rule: Callable
    kinds: frozenset[str]  # names of the checker for it
    words: tuple[str, ...] = ()  # any of these says it as well
    inputs: tuple[np.ndarray, ...] = ()

    @property
    def held_out(self) -> bool:
        """Is this operation of the second half?"""
        name = self.operation.removesuffix(" function").removesuffix(" hidden")
        return bool(zlib.crc32(name.encode()) % 2)


def wrong(family: str, operation: str, reference: Any, rule: Callable, kinds: str, words: tuple[str, ...] = (), inputs=()) -> None:
    """Keep a wrong rule."""
    GENERATED.append(Generated(family, operation, reference, rule, frozenset(kinds.split("|")), words, tuple(inputs)))


def right(operation: str, reference: Any, rule: Callable, inputs=()) -> None:
    """Keep a right rule."""
    GENERATED.append(Generated("right", operation, reference, rule, frozenset(), (), tuple(inputs)))
