"""How a change that makes the rule right is said beside what its numbers show: two explanations at most, the likelier first."""

from __future__ import annotations

import ast
import dis
import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from types import FunctionType
from typing import Any

import numpy as np

from autolab.formula import definition

from ...run.candidate import LocalCandidate
from ...run.observation import Observation
from ..diagnosis import Mistake
from ..family import Family
from ..formulas.mutants import A_STEP
from ..gradients.links import WRONG_STEP
from ..gradients.series import LIKE_A_SERIES
from .indices import ALL_ADDED


def with_repair(found: Mistake | None, repair: Mistake, x: str) -> Mistake:
    """The change that makes the rule right, and what is only likely, if it says more than where it is wrong.

    Where both are of one kind they say the same: the others are left out. Some changes mend a rule by chance, and come last.
    """
    if found is None or (any(words in found.text for words in SEEN_ONLY) and ";" not in found.text):  # a place is said after it
        return in_full(repair)
    if found.text.startswith(WRONG_STEP) and repair.sure:  # which says where, and what
        return in_full(repair)
    if repair.family == "overwritten" and found.family in SHARES:  # what is said to be a share is the last of equal parts
        return in_full(repair)
    changes = repair.every()
    if found.text.startswith(UNUSED) and repair.doubtful:  # which was asked of the rule, and of all its gradients
        return found
    if found.sure and (kind := unseen(found)):
        if any(c.name in kind.agrees for c in changes):
            return replace(found, text=f"{found.text}: it {in_full(repair).text}")
        if not kind.names:
            return found
        if not kind.by or repair.family in kind.by:
            return replace(in_full(repair), sure=repair.sure)
    if found.sure:
        if change := next((c for c in changes if c.name in AGREES.get(found.family, ())), None):
            seen = found.text.replace(OVERWRITES, BUFFERED) if ALL_ADDED in change.text else found.text
            return replace(found, text=f"{seen}: it {change.text.partition('; besides')[0]}")
        if found.text.startswith(UNUSED):  # which was asked of the rule
            return replace(found, text=f"{found.text}. It {in_full(repair).text}", parts=(*found.parts, repair.family))
        return replace(
            found, text=f"{in_full(repair).text}. In its numbers, it {found.text}", hint=repair.family, parts=(*found.parts, repair.family)
        )
    if any(words in found.text for words in TWO_MISTAKES):  # where one is enough
        return in_full(repair)
    first, *more = found.every()
    guesses = [first, *(f for f in more if A_STEP not in f.text)]
    guesses = [f for f in guesses if not any(_contradicts(f, c) for c in changes)]
    if not guesses:
        return replace(in_full(repair), sure=False)
    nearest = [(f, min(changes, key=partial(_kinship, f))) for f in guesses]
    guess, change = next((pair for pair in nearest if _kinship(*pair) < FAR), (guesses[0], changes[0]))
    agreed = _kinship(guess, change) < FAR
    said = [change.text.partition("; besides")[0] if "; besides" in guess.text else change.text, guess.text.format(x=x)]
    is_first = agreed or not (repair.doubtful or _may_be_chance(change, guess))
    text = ". Perhaps it ".join(said) if is_first else ". Or it ".join(said[::-1])
    others = [f for f in guesses if agreed and f is not guess and f.exact and not _say_the_same(f, guess)][:1]
    text = ". Or it ".join([text, *(f.text.format(x=x) for f in others)])
    parts = (*(f.name for f in others), *found.parts, change.name)
    return replace(
        found,
        family=guess.name,
        text=text,
        also=(),
        hint=guess.hint or (guess.name if change.name == "number" else change.name),
        parts=parts,
    )


def in_full(repair: Mistake) -> Mistake:
    """The change with the other one that is as likely. Of two at one place only one is said: an axis or an index is more than a number."""
    changes = repair.every()
    if repair.family == "number":
        changes.sort(key=lambda c: not (c.name in SHARPER and _place(c.text) == _place(repair.text)))
    first, *others = changes
    elsewhere = [other for other in others if _place(other.text) != _place(first.text)]
    _, *besides = repair.text.partition("; besides")
    text = ", or ".join([first.text.partition("; besides")[0], *(other.text.removeprefix("would be right ") for other in elsewhere)])
    return replace(repair, family=first.name, text="".join([text, *besides]), also=(), parts=(*repair.parts, *(c.name for c in others)))


def _place(text: str) -> tuple[str, str]:
    """How what is quoted last begins, and its line."""
    *_, quote, line = text.partition("; besides")[0].rsplit("`", 2)
    return quote[:BEGINNING], line


def _kinship(guess: Family, change: Family) -> int:
    """How near are the two kinds of mistake: one and the same, two names of it, or none of these?"""
    return 0 if guess.name == change.name else 1 if {guess.name, change.name} in KIN else FAR


def _say_the_same(guess: Family, other: Family) -> bool:
    return "n - 1" in guess.text and "n - 1" in other.text


def _contradicts(guess: Family, change: Family) -> bool:
    """Does it say that the very value belongs there which the change takes away?"""
    taken = re.search(r"another value in the place of `(\w+)`", change.text)
    belongs = re.search(r"where ([\w ]+?) belongs", guess.text)
    return bool(taken and belongs and belongs[1] == {"out": "the result of forward"}.get(taken[1], taken[1]))


def _may_be_chance(change: Family, guess: Family) -> bool:
    """Is another value often as good as what is missing? A sum that was put in, too."""
    return (change.name == "variable" and guess.name in LEFT_OUT) or any(words in change.text for words in PUT_IN)


def may_be_chance(found: Mistake, o: Observation) -> bool:
    """Is it true of the numbers, and perhaps not what was written: a symptom, a term that vanishes for another value, or a bare number?"""
    if found.family == "zero" or re.search(OF_A_LOOP, found.text):  # what the last round gives, or an index that is off by one
        return _has_a_loop(o)
    if any(words in found.text for words in SYMPTOMS) or found.text.endswith("and right elsewhere") or unseen(found):
        return True
    if WITHOUT_MASK in found.text:
        return _has_a_mask(o)
    if found.family in ("constant", "places"):
        return found.text.endswith("everywhere") or any(words in found.text for words in OF_ENTRIES)
    return found.family in OF_NUMBERS


WITHOUT_MASK = "the right one without its mask"
OF_A_LOOP = r"^is the right one times \w+$|^applies a factor or divisor .* before the scan"


@dataclass(frozen=True)
class Unseen:
    """A sentence that is sure of the numbers and leaves open what in the rule gives them, or names what the rule may not have."""

    words: str
    agrees: frozenset[str] | set[str]  # the families of a change that says the same
    names: bool = False  # does it name something, so that a change of something else goes before it?
    by: frozenset[str] | set[str] = frozenset()  # the families of such changes, if not all
    needs: bool = False  # is it not sure where no change confirms it?


def unseen(found: Mistake) -> Unseen | None:
    """The kind of such a sentence, if it is one."""
    return next((kind for kind in UNSEEN if re.search(kind.words, found.text)), None)


def as_sure_as_seen(found: Mistake) -> Mistake:
    """Where no change of the rule confirms it, what names a place is not sure."""
    kind = unseen(found) if found.sure else None
    return replace(found, sure=False) if kind and kind.needs else found


UNSEEN = (
    Unseen(r"n / \(n - 1\)", {"number", "size", "normalisation", "scale", "averaged"}, names=True, needs=True),
    Unseen(r"transposed the wrong way: ", set(), names=True, needs=True),
    Unseen(r"in one sum: ", set(), names=True, by={"mask", "early sum"}),
    Unseen(r", in (?:the|both) ", set(), names=True),
    Unseen(r"once more than it should be$|with one factor too often$", {"power", "factor", "variable", "number", "division"}),
    Unseen(r"what belongs to another axis$", {"axis", "wrong axis"}),
)
SHARES = {"constant", "averaged", "factor"}
LAST_ROUND = "; or it is what one round of a loop gives, where those of all belong"


def not_of_a_loop(found: Mistake, observations: Sequence[Observation], x: str) -> Mistake:
    """A share of the right one may be one of equal parts, if the rule has a loop: the numbers are the same, and only the source tells."""
    if not found.sure or found.family not in SHARES or not any(_is_share(o, x) for o in observations) or not _has_a_loop(observations[0]):
        return found
    return replace(found, text=found.text + LAST_ROUND, sure=False)


def _is_share(o: Observation, x: str) -> bool:
    """Is it the right one divided by a whole number?"""
    if o.failed or np.shape(o.got[x]) != o.want[x].shape or not np.any(o.got[x]):
        return False
    parts = float(np.vdot(o.got[x], o.want[x]) / np.vdot(o.got[x], o.got[x]))
    return parts > 1.5 and bool(np.isclose(parts, round(parts), rtol=1e-9))


def _has_a_loop(o: Observation) -> bool:
    """In the rule, or in a function of the same file that it calls."""
    candidate = getattr(o.ask, "candidate", None)
    rule = candidate.methods.get("backward") if isinstance(candidate, LocalCandidate) else None
    if not isinstance(rule, FunctionType):
        return False
    names = inspect.getclosurevars(rule)
    called = [f for f in (rule, *names.globals.values(), *names.nonlocals.values()) if isinstance(f, FunctionType)]
    codes = [f.__code__ for f in called if f.__code__.co_filename == rule.__code__.co_filename]
    return any(step.opname == "FOR_ITER" or "JUMP_BACKWARD" in step.opname for code in codes for step in dis.get_instructions(code))


OVERWRITES = ": each overwrites the one before (=), where they have to be added (+=)"
NOT_ADDED = ": the others are left out, and all of them have to be added"
BUFFERED = " where an index names a place more than once: += with an index adds one of them there, and loses the others"


def as_written(found: Mistake, o: Observation) -> Mistake:
    """Values that overwrite each other are said to do so only where the rule sets values, and does not add them.

    And a mask is not sure to be what is missing where there is one.
    """
    if WITHOUT_MASK in found.text and _has_a_mask(o):
        return replace(found, sure=False)
    if OVERWRITES not in found.text or (stores := _stores(o)) is None or stores[0]:
        return found
    return replace(found, text=found.text.replace(OVERWRITES, BUFFERED if stores[1] else NOT_ADDED))


def or_exchanged(found: Mistake, wrong: Sequence[Observation], x: str) -> Mistake:
    """A wrong sign may be two neighbours, or two inputs, in each other's places, where forward takes their difference."""
    if found.family != "sign" or not found.sure or wrong[0].reference.elementwise:
        return found
    others = [y for y in wrong[0].reference.inputs if y != x]
    pairs = [pair for pair in combinations(others, 2) if all(_is_exchanged(o, x, *pair) for o in wrong)]
    if pairs:
        what = " and ".join(pairs[0])
    elif node := _rule_of(wrong[0]):
        ways = set().union(*map(_neighbour, ast.walk(node)))
        what = "the neighbour before and the one after" if len(ways) > 1 else ""
    else:
        what = ""
    return replace(found, text=f"{found.text}; or {what} are in each other's places, which is the same here") if what else found


def _is_exchanged(o: Observation, x: str, one: str, other: str) -> bool:
    """Is it right where these two inputs change places?"""
    if o.shape(one) != o.shape(other):
        return False
    try:
        inputs = [o.names[{one: other, other: one}.get(y, y)] for y in o.reference.inputs]
        return o.gave(x, o.reference.gradient(x, o.g, o.reference.environment(inputs, o.settings)))
    except Exception:  # forward does not take them so
        return False


def _neighbour(node: ast.AST) -> set[int]:
    """Which neighbour an expression names: x[i + 1] and roll(x, -1) the one after, as 1; the others the one before, as -1."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "roll":
        shift = next((_constant(k.value) for k in node.keywords if k.arg in ("shift", "shifts")), _constant(node.args[1:2]))
        return {-shift} & {1, -1}
    if isinstance(node, ast.Subscript):
        steps = [part for part in ast.walk(node.slice) if isinstance(part, ast.BinOp) and _constant(part.right) == 1]
        return {1 if isinstance(part.op, ast.Add) else -1 for part in steps if isinstance(part.op, (ast.Add, ast.Sub))}
    return set()


def _constant(node: Any) -> int:
    """A whole number as it is written, or 0."""
    try:
        value = ast.literal_eval(node[0] if isinstance(node, list) else node)
    except (ValueError, IndexError, TypeError):
        return 0
    return value if type(value) is int else 0


def _has_a_mask(o: Observation) -> bool:
    """Does the rule compare numbers?"""
    node = _rule_of(o)
    return node is not None and any(isinstance(part, ast.Compare) for part in ast.walk(node))


def _stores(o: Observation) -> tuple[bool, bool] | None:
    """Does the rule set values or entries in a loop or at an index, and does it add at an index that may be an array of places?

    None if its source cannot be read.
    """
    node = _rule_of(o)
    if node is None:
        return None
    parts = list(ast.walk(node))
    written = [part.targets[0] for part in parts if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript)]
    sets = any(not _are_apart(a, b) for a, b in combinations(written, 2))
    added = [part.target for part in parts if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Subscript)]
    sets |= any(not _are_apart(a, b) for a in written for b in added)
    sets |= any(isinstance(part, ast.Call) and getattr(part.func, "attr", "") in SETTERS for part in parts)
    sets |= any(_overwrites(part, node) for part in parts if isinstance(part, (ast.For, ast.While)))
    loops: list[Any] = [part for part in parts if _counts(part)]
    counts = {n.id for loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    return sets, any(_places_in(target.slice) - counts for target in added)


def _counts(part: Any) -> bool:
    """Is it a loop over whole numbers, as range gives them?"""
    calls = [n for n in ast.walk(part.iter) if isinstance(n, ast.Call)] if isinstance(part, (ast.For, ast.comprehension)) else []
    return bool(calls) and all(getattr(call.func, "id", "") in ("range", "reversed", "enumerate", "len") for call in calls)


def _overwrites(loop: Any, rule: Any) -> bool:
    """May a turn of the loop overwrite what the turn before has left: an entry whose index the loop does not move, or a name read later?"""
    turns = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)} if isinstance(loop, ast.For) else set()
    inside = {id(part) for part in ast.walk(loop)}
    read = {part.id for part in ast.walk(rule) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and id(part) not in inside}
    for part in ast.walk(loop):
        for target in part.targets if isinstance(part, ast.Assign) else ():
            if isinstance(target, ast.Subscript) and turns.isdisjoint(_places_in(target.slice)):
                return True
            names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            if names & read - {n.id for n in ast.walk(getattr(part, "value", part)) if isinstance(n, ast.Name)}:
                return True
    return False


def _places_in(index: Any) -> set[str]:
    """The names that say which place it is; slices may lie over each other."""
    parts = [part for part in (index.elts if isinstance(index, ast.Tuple) else [index]) if not isinstance(part, ast.Slice)]
    return {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}


def _are_apart(one: Any, other: Any) -> bool:
    """Are these entries of two arrays, or at other places along one axis, as a[:, 0] and a[:, 1:]?"""
    if ast.dump(one.value) != ast.dump(other.value):
        return True
    places = [part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice] for part in (one, other)]
    pairs = zip(*([_span(part) for part in side] for side in places), strict=False)
    return any(a[1] <= b[0] or b[1] <= a[0] for a, b in pairs)


def _span(node: Any) -> tuple[float, float]:
    """From where to where an index or a slice goes, as far as that is written as numbers from 0 on."""
    first, last = (node.lower, node.upper) if isinstance(node, ast.Slice) else (node, node)
    low, high = (part.value if isinstance(part, ast.Constant) and type(part.value) is int else None for part in (first, last))
    if not isinstance(node, ast.Slice):
        return (0, math.inf) if low is None else (low, low + 1)
    return low or 0, math.inf if high is None else high


def _rule_of(o: Observation) -> Any:
    """The definition of the rule, if it can be read."""
    candidate = getattr(o.ask, "candidate", None)
    rule = candidate.methods.get("backward") if isinstance(candidate, LocalCandidate) else None
    return definition(rule) if isinstance(rule, FunctionType) else None


SETTERS = {"put", "put_along_axis", "scatter", "scatter_", "index_put", "index_put_", "copyto", "place", "putmask"}
FAR = 2
BEGINNING = 20  # of a quote that may be cut
# What is one kind of mistake under two names.
KIN = [{"term sign", "sign"}, {"size", "constant"}, {"number", "constant"}, {"scale", "constant"}, {"axis", "wrong axis"},
       {"extra term", "term sign"}, {"order", "transposed"}, {"factor", "power"}, {"triangle", "mask"},
       {"setting", "factor"}, {"setting", "number"}]  # fmt: skip
LEFT_OUT = {"factor", "power", "term", "constant", "term sign", "division", "diagonal only"}
SHARPER = {"axis", "places", "size", "mask"}
UNUSED = "does not use "
TWO_MISTAKES = ("seems to have two mistakes", "has the same mistake in two places")
PUT_IN = ("a running sum of", "another term in the place of", "one more divisor of")
# What is true of a gradient, and says where to look and not what was written.
SYMPTOMS = ("sin and cos exchanged", "nothing arrives there", "is never looked at", "as if it were a constant", "in one sum",
            "is not brought back", "whatever its size is", "forward applied to g", "of several contributions")  # fmt: skip
OF_NUMBERS = {"variable", "setting", "diagonal only", "upstream collapsed", "upstream only", "wrong axis"}
OF_ENTRIES = ("where it should not be", "right except", "wrong where")
# What says the same of the source as of the numbers.
AGREES = {
    "overwritten": {"overwritten"},
    "variable": {"variable", "swapped"},
    "wrong axis": {"axis", "wrong axis"},
    "setting": {"number", "size"},
    "places": {"places"},
    "zero": {"overwritten"},
}
# What is seen of a gradient, and says little of the rule.
SEEN_ONLY = ("with wrong factors", "reaches other entries", "also reaches", "but not always the same one",
             "has the right numbers in the wrong places", "is close to the right one", "there it is something else",
             LIKE_A_SERIES)  # fmt: skip
