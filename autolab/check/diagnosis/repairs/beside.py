"""How a change that makes the rule right is said beside what its numbers show."""

from __future__ import annotations

from dataclasses import replace

from ..diagnosis import Mistake
from ..formulas.mutants import A_STEP


def with_repair(found: Mistake | None, repair: Mistake) -> Mistake:
    """The change that makes the rule right, which is a fact; then what is only likely, if it says more than where it is wrong."""
    if found is None or (any(words in found.text for words in SEEN_ONLY) and ";" not in found.text):  # a place is said after it
        return repair
    if found.sure:
        if AGREES.get(found.family, set()) & {repair.family, *repair.parts}:
            return replace(found, text=f"{found.text}: it {repair.text.partition('; besides')[0]}")
        return replace(
            found, text=f"{repair.text}. In its numbers, it {found.text}", hint=repair.family, parts=(*found.parts, repair.family)
        )
    if "has two mistakes" in found.text and repair.family != "setting":  # where one is enough
        return repair
    guesses = [found.text, *(other.text for other in found.also if A_STEP not in other.text)]
    text = ". Or it ".join([f"{repair.text}. Perhaps it {guesses[0]}", *guesses[1:]])
    parts = (*(other.name for other in found.also), *found.parts, repair.family)
    return replace(found, text=text, also=(), hint=found.hint or repair.family, parts=parts)


def may_be_chance(found: Mistake) -> bool:
    """Is it true of the numbers, and perhaps not what was written: a term that vanishes for another value, or a bare number?"""
    if found.family in ("constant", "places"):
        return found.text.endswith("everywhere") or any(words in found.text for words in OF_ENTRIES)
    return found.family in OF_NUMBERS


OF_NUMBERS = {"variable", "setting", "diagonal only", "upstream collapsed", "upstream only", "wrong axis"}
OF_ENTRIES = ("where it should not be", "right except", "wrong where")
# What says the same of the source as of the numbers.
AGREES = {"variable": {"variable", "swapped"}, "wrong axis": {"axis", "wrong axis"}, "setting": {"number", "size"}, "places": {"places"}}
# What is seen of a gradient, and says little of the rule.
SEEN_ONLY = ("with wrong factors", "reaches other entries", "also reaches", "but not always the same one",
             "has the right numbers in the wrong places")  # fmt: skip
