"""A recurrence as seen from outside: what each step gets of its own g, and the factor with which a step passes back what it got.

Of h[t] = f(h[t - 1], x[t], a), entry by entry, row t of the Jacobian is row t - 1 times the derivative of h[t] by h[t - 1], and what step t
adds. Both are read from the rows of the right rule and from those of the rule at hand, whatever f is; where they differ is the mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...run.observation import Observation, close
from ..diagnosis import Mistake
from ..quiet import quiet
from ..shapes import axis_name
from .jacobian_rows import jacobians, right_row

LARGEST = 64  # results; each costs a call of both rules
SHORTEST = 3  # steps
SHOWN = 2  # calls that have to show the same


@dataclass(frozen=True, eq=False)
class Side:
    """The rows of one rule: of each input like the result (T, T, lanes), of each other one (T, lanes, entries); lanes do not mix."""

    steps: dict[str, np.ndarray]
    others: dict[str, np.ndarray]

    @cached_property
    def carry(self) -> np.ndarray | None:
        """The derivative of h[t] by h[t - 1], (T, lanes); not a number where nothing shows it, and None if rows are no recurrence."""
        rows = np.concatenate(list(self.steps.values()), axis=1)
        found = np.full((len(rows), rows.shape[2]), np.nan)
        size = np.abs(rows).max()
        for t in range(1, len(rows)):
            before, now = rows[t - 1], rows[t] * (np.arange(rows.shape[1]) % len(rows) < t)[:, None]
            best = np.abs(before).argmax(axis=0)[None]
            at = np.take_along_axis(before, best, 0)[0]
            known = np.abs(at) > 1e-12 * size
            found[t, known] = np.take_along_axis(now, best, 0)[0, known] / at[known]
            if np.abs(now - np.where(known, found[t], 0) * before).max() > 1e-9 * max(size, np.abs(now).max()):
                return None
        return found

    def own(self, x: str, carry: np.ndarray) -> np.ndarray:
        """What step t adds: (T, lanes), or (T, lanes, entries)."""
        if x in self.steps:
            return np.asarray(np.einsum("ttl->tl", self.steps[x]))
        rows = self.others[x]
        return np.asarray(rows - np.nan_to_num(carry)[..., None] * np.concatenate([0 * rows[:1], rows[:-1]]))

    def rows(self, x: str) -> np.ndarray:
        """The largest derivative of each step of the result."""
        value = self.steps[x] if x in self.steps else self.others[x]
        return np.asarray(np.abs(value).max(axis=(1, 2)))


Read = tuple[Side, Side, np.ndarray, bool]  # the right rows, those at hand, the states (T, lanes), and whether forward begins at the end


@quiet
def find_recurrence(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """What is wrong in one step of a recurrence, if the first of these calls show the same."""
    shown = sorted((o for o in wrong if o.out.size <= LARGEST), key=lambda o: -o.out.size)[:SHOWN]  # many steps show most
    if wrong[0].reference.elementwise or not shown:
        return None
    o = shown[0]
    for axis in range(max(len(o.shape(y)) for y in o.reference.inputs)):
        seen = [_compare(o, x, axis) for o in shown]
        if seen[0] and all(found and found.text == seen[0].text for found in seen):
            return seen[0]
    return None


def _inputs(o: Observation) -> list[str]:
    return [x for x in o.reference.differentiable() if np.asarray(o.names[x]).dtype.kind == "f"]  # a mask has no derivative


def _sides(o: Observation, axis: int) -> Read | None:
    """What is read along this axis, if it is a recurrence there."""
    if ("recurrence", axis) not in o.memo:
        last = not any(o.shape(y) == o.out.shape for y in _inputs(o))
        o.memo["recurrence", axis] = _by_prefixes(o, axis) if last else _read(o, axis)
    return o.memo["recurrence", axis]


def _by_prefixes(o: Observation, axis: int) -> Read | None:
    """Of an operation that gives the last state alone: what it gives after 1, 2, 3, ... steps are the states."""
    along = [y for y in o.reference.inputs if len(o.shape(y)) > axis and o.shape(y)[:axis] + o.shape(y)[axis + 1 :] == o.out.shape]
    n = o.shape(along[0])[axis] if along else 0
    if n < SHORTEST or n * o.out.size > LARGEST or o.ask is None or axis_name(o) or not any(o.shape(y)[axis] == n for y in along):
        return None
    units = list(np.eye(o.out.size).reshape(-1, *o.out.shape))
    rows: tuple[dict[str, list], dict[str, list]] = {}, {}
    states = []
    try:
        turned = [np.flip(o.names[y], axis) if y in along else o.names[y] for y in o.reference.inputs]
        if close(o.reference.environment(turned, o.settings)["out"], o.out):  # a sum, a mean, a maximum: no step comes before another
            return None
        for t in range(1, n + 1):
            part = [np.take(o.names[y], range(t), axis) if y in along else o.names[y] for y in o.reference.inputs]
            names = o.reference.environment(part, o.settings)
            states.append(np.ravel(names["out"]))
            answers = o.ask(units, tuple(part)) if np.shape(names["out"]) == o.out.shape else None
            for x in _inputs(o) if answers else ():
                for some, value in zip(
                    rows, ([o.reference.gradient(x, g, names) for g in units], [a[x] for a in answers or ()]), strict=True
                ):
                    whole = np.zeros((o.out.size, *o.shape(x)))
                    whole[(slice(None), *[slice(m) for m in value[0].shape])] = value
                    some.setdefault(x, []).append(whole)
    except Exception:  # the operation, or the rule at hand, takes no other number of steps
        return None
    right, yours = Side({}, {}), Side({}, {})
    for x in _inputs(o):
        for side, found in zip((right, yours), rows, strict=True):
            if len(found.get(x, ())) != n:
                return None
            lines = np.stack(found[x])  # (T, lanes, *shape of x)
            if x not in along:
                side.others[x] = lines.reshape(n, o.out.size, -1)
                continue
            inner = np.moveaxis(lines, axis + 2, 2).reshape(n, o.out.size, n, o.out.size)
            side.steps[x] = np.einsum("tlsl->tsl", inner)
            if np.abs(inner).sum() > np.abs(side.steps[x]).sum() * (1 + 1e-9):
                return None
    known = right.carry
    if known is None or not np.nan_to_num(known).any() or close(known[1:], np.ones_like(known[1:])):  # a sum is none
        return None
    return right, yours, np.stack(states), False


def _read(o: Observation, axis: int) -> Read | None:
    if axis >= o.out.ndim or o.out.shape[axis] < SHORTEST:
        return None
    n = o.out.shape[axis]
    right, yours = Side({}, {}), Side({}, {})
    if any(o.shape(x) == o.out.shape and not _stays_in_lanes(o, x, axis) for x in _inputs(o)):
        return None
    for x in _inputs(o):
        pair = jacobians(o, x)
        if pair is None:
            return None
        for side, matrix in ((right, pair.right), (yours, pair.yours)):
            lines = np.moveaxis(matrix.reshape(*o.out.shape, -1), axis, 0).reshape(n, -1, matrix.shape[1])
            if o.shape(x) != o.out.shape:
                side.others[x] = lines
                continue
            inner = np.moveaxis(lines.reshape(*lines.shape[:2], *o.out.shape), axis + 2, 2).reshape(n, lines.shape[1], n, -1)
            side.steps[x] = np.einsum("tlsl->tsl", inner)
            if np.abs(inner).sum() > np.abs(side.steps[x]).sum() * (1 + 1e-9):  # lanes mix
                return None
    late = all(not np.triu(a.max(2), 1).any() for a in map(np.abs, right.steps.values()))
    if not late:
        for side in (right, yours):
            for name, value in side.steps.items():
                side.steps[name] = value[::-1, ::-1]
            for name, value in side.others.items():
                side.others[name] = value[::-1]
    if any(np.triu(np.abs(a).max(2), 1).any() for a in right.steps.values()):
        return None
    known = right.carry
    states = np.moveaxis(o.out, axis, 0).reshape(n, -1)
    return (right, yours, states if late else states[::-1], not late) if known is not None and np.nan_to_num(known).any() else None


def _stays_in_lanes(o: Observation, x: str, axis: int) -> bool:
    """Does the last result of the first lane depend on that lane alone, and on no later step of it, or the other way round?

    The right rule is asked for two rows, and the one at hand for none.
    """
    found = []
    for step in (0, o.out.shape[axis] - 1):
        place = [0] * o.out.ndim
        place[axis] = step
        row = np.moveaxis(right_row(o, x, int(np.ravel_multi_index(place, o.out.shape))), axis, 0) != 0
        lane = row[(slice(None), *place[:axis], *place[axis + 1 :])]
        if row.sum() != lane.sum():
            return False
        found.append(lane)
    return not (found[0][1:].any() and found[1][:-1].any())


BACK = "what comes back from the step after"
WRONG_FACTOR = "a wrong factor"  # of which nothing more is seen
LACKS = f"lacks {BACK}"
STATE_AFTER = "uses the state of step t"
AT_THE_END = "on the g of each step, and all else is right: it belongs to what forward makes of a state where it gives it out"


def _compare(o: Observation, x: str, axis: int) -> Mistake | None:
    sides = _sides(o, axis)
    if sides is None:
        return None
    right, yours, states, turned = sides
    other_way = any(
        np.triu(np.abs(a).max(2), 1).any() and not np.tril(np.abs(a).max(2), -1).any() for a in (yours.steps[y] for y in yours.steps)
    )
    if other_way:
        where = "after" if turned else "before"
        text = f"runs through the steps in the wrong direction: what it collects along axis {axis} comes from the steps {where} each one"
        return Mistake("flipped", text, parts=("forward",))
    if found := _lost_rows(right, yours, x):
        return found
    assert right.carry is not None
    along = [y for y in o.reference.inputs if y in right.steps or (len(o.shape(y)) > axis and o.shape(y)[axis] == len(states))]
    values = {y: np.moveaxis(np.asarray(o.names[y]), axis, 0).reshape(len(states), -1) for y in along}
    values = {y: value[::-1] if turned else value for y, value in values.items()}
    every = states.size == o.out.size
    masks = {y: value for y, value in values.items() if value.shape[1] in (1, states.shape[1])}
    step = Step(right, states, {y: values[y] for y in right.steps}, masks, every)
    carries = [c for c in (yours.carry, right.carry, 0 * right.carry) if c is not None]
    if x in yours.steps:
        if yours.carry is None:
            return None
        carries = carries[:1]
    want = right.own(x, right.carry)
    for carry in carries:
        if close(yours.own(x, carry), want):
            return _said(step.about_carry(carry))
    if yours.carry is None:
        return None
    own = step.about_own(yours.own(x, yours.carry), want)
    wrong_carry = step.about_carry(yours.carry)
    by_prefixes = not every  # there a loop that begins at the wrong step is wrong in all of them
    if wrong_carry is None:
        return _said(own) if own and not (by_prefixes and ELSEWHERE in own[1]) else None
    if own and step.is_same_factor(yours.carry, yours.own(x, yours.carry), want):
        return Mistake(own[0], own[1].replace(OWN[:-12], WHOLE[:-12]).replace(ELSEWHERE, ""), parts=("factor",))
    if own is None or by_prefixes:
        return None
    if _is_scaled(right, yours, x):
        return Mistake("factor", f"has {WRONG_FACTOR} {AT_THE_END}", parts=("power",))
    return Mistake(
        wrong_carry[0], f"{wrong_carry[1]}; besides, it {own[1]}", parts=(own[0], *("diagonal only",) * wrong_carry[1].startswith("lacks"))
    )


def _is_scaled(right: Side, yours: Side, x: str) -> bool:
    """Is each row the right one times a number, another one in each?"""
    ours, theirs = ((side.steps if x in side.steps else side.others)[x] for side in (right, yours))
    over = 1 if x in right.steps else 2
    size = (ours * ours).sum(over, keepdims=True)
    ratio = (ours * theirs).sum(over, keepdims=True) / np.where(size == 0, 1, size)
    return close(ratio * ours, theirs)


def _said(found: tuple[str, str] | None) -> Mistake | None:
    return Mistake(*found, parts=("diagonal only",) * found[1].startswith("lacks what comes")) if found else None


def _lost_rows(right: Side, yours: Side, x: str) -> Mistake | None:
    """Steps whose g is not used at all, where all else is right."""
    needed, there = right.rows(x), yours.rows(x)
    lost = (there <= 1e-12 * needed.max()) & (needed > 1e-12 * needed.max())
    ours, theirs = ((side.steps if x in side.steps else side.others)[x] for side in (right, yours))
    if not lost.any() or not close(theirs[~lost], ours[~lost]):
        return None
    if lost[:-1].sum() == (needed[:-1] > 1e-12 * needed.max()).sum() and not lost[-1]:
        text = f"uses g of the step where backward begins alone: {BACK} takes the place of a step's own g, where both are added"
        return Mistake("overwritten", text, parts=("one of many",))
    if lost.sum() == 1:
        return Mistake("one of many", f"never uses g of step {int(lost.argmax())}, counted as forward goes: the loop leaves it out")
    return None


OWN = "in what a step makes of its own g, each step "
ELSEWHERE = "; the factors from step to step are another matter"
WHOLE = "in what a step makes of all that comes to it, each step "


@dataclass(frozen=True, eq=False)
class Step:
    """What is right in each step, and what people make of it."""

    right: Side
    states: np.ndarray  # (T, lanes)
    values: dict[str, np.ndarray]  # those of the inputs that have steps
    masks: dict[str, np.ndarray]  # those of all inputs that have one for each step: (T, lanes)
    every: bool = True  # does forward give the states of all steps?

    @cached_property
    def slopes(self) -> list[np.ndarray]:
        """What the steps make of their own g, where that is not the same in all of them, such as the slope of a tanh: (T, lanes)."""
        assert self.right.carry is not None
        values = [self.right.own(x, self.right.carry) for x in self.right.steps]
        return [v for v in values if np.all(v) and np.ptp(v, axis=0).min() > 1e-9 * np.abs(v).max()]

    @property
    def alone(self) -> str:
        return "each step uses its own g alone" if self.every else "the last step alone receives g, and passes nothing back"

    def about_carry(self, got: np.ndarray) -> tuple[str, str] | None:
        """The family and a sentence, if the factor to the step before is wrong."""
        want = self.right.carry
        assert want is not None
        known = np.isfinite(want) & np.isfinite(got)
        a, b = got[known], want[known]
        if not a.size or close(a, b):
            return None
        for family, text, value in ((
            ("term", f"{LACKS}: {self.alone}", 0 * b),
            ("factor", f"passes {BACK} on to the step before without its factor, the derivative of a state by the one before", 0 * b + 1),
            ("term sign", f"passes {BACK} on with the wrong sign", -b),
            ("power", f"passes {BACK} on with its factor once too often", b * b),
        )):  # fmt: skip
            if close(a, value):
                return family, text
        for by, word in ((-1, "after"), (1, "before")):
            if _is_shifted(got, want, by):
                return "places", f"passes {BACK} on with the factor of the step {word} the one where it belongs"
        if _chooses_otherwise(a, b):
            return self._about_mask(got, want)
        for family, text in _of_slopes(got, want, self.slopes):
            return family, f"{text}, where it passes on {BACK}"
        for y, value in self.values.items():
            if close(got[known], value[known]):
                return "variable", f"passes {BACK} on times {y}, which is not the derivative of a state by the one before"
        if _is_same_in_all(got, want):
            return (
                "factor",
                f"passes {BACK} on with a factor missing or too many that is the same in all steps, such as a weight of the state",
            )
        return "factor", f"passes {BACK} on to the step before with {WRONG_FACTOR}: that is the derivative of a state by the one before"

    def _about_mask(self, got: np.ndarray, want: np.ndarray) -> tuple[str, str]:
        """Where the state is not passed on from every step: is it an input that says so?"""
        known = np.isfinite(want) & np.isfinite(got)
        for y, value in self.masks.items():
            for passes in (value != 0, value == 0, value != 1, value == 1):
                if close(np.where(passes, got, 0)[known], want[known]):
                    return "mask", f"does not use {y} where it passes on {BACK}: forward does not pass the state on from every step"
        if not np.any(got[known] * want[known]) and np.all(got[known] + want[known]):
            return "mask", f"passes {BACK} on where forward does not pass the state on, and there alone: a condition is the wrong way round"
        return "mask", f"passes {BACK} on at other places than forward passes the state on: a mask or a choice is another"

    def about_own(self, got: np.ndarray, want: np.ndarray) -> tuple[str, str] | None:
        """The same, of what a step makes of its own g."""
        if close(got, want):
            return None
        size = np.abs(want).max()
        rows, needed = (np.abs(a).reshape(len(a), -1).max(1) > 1e-12 * size for a in (got, want))
        if (needed & ~rows).any() and close(got[rows], want[rows]):
            if rows.sum() == 1:
                return (
                    "overwritten",
                    "keeps what one step of the loop gives: each step overwrites the one before (=), where all are added (+=)",
                )
            if rows.any() and (needed & ~rows).sum() == 1:
                return "term", f"lacks what step {int((needed & ~rows).argmax())} gives, counted as forward goes: the loop leaves it out"
        if close(got, -want):
            return "sign", f"has the wrong sign {OWN.removesuffix(', each step ')}"
        for y, value in self.values.items():
            if got.ndim == 2 and close(got[1:] * self.states[:-1], want[1:] * value[:-1]):
                return "variable", f"uses {y} of step t - 1 where the state of step t - 1 belongs"
        if self._uses_next(got, want):
            return "places", f"{STATE_AFTER} where that of step t - 1 belongs: forward makes step t of the state before it"
        for by, word in ((-1, "after"), (1, "before")):
            if _is_shifted(got, want, by):
                return "places", f"has the factor of the step {word} the one where it belongs: {OWN}takes that of another step"
        off = (np.abs(got - want).reshape(len(got), -1) > 1e-9 * size).any(axis=1)
        if off.sum() == 1:
            return self._about_one(got, want, int(off.argmax()))
        if lacking := self._lacks(got, want):
            return "term", f"misses a term {OWN.removesuffix(', each step ')}: the one with {lacking}"
        flat = _flat(got, want)
        for family, text in _of_slopes(*flat, self.slopes) if flat else ():
            return family, f"{text}, {OWN.removesuffix(', each step ')}"
        if _chooses_otherwise(got[1:], want[1:]):
            return _of_choice(got, want)
        return "factor", f"has {WRONG_FACTOR} {OWN.removesuffix(', each step ')}{ELSEWHERE}"

    def _about_one(self, got: np.ndarray, want: np.ndarray, k: int) -> tuple[str, str]:
        """Of the one step that is wrong."""
        if k == 0 and got.ndim == 2 and close(want[0], np.ones_like(want[0])) and not np.any(np.isclose(want[1:], 1)):
            text = "is wrong in step 0 alone, counted as forward goes: it has a factor there as the others have"
            return "factor", f"{text}, and forward begins with the value itself, whose factor is 1"
        text = f"is right in each step but step {k}, counted as forward goes" + ", which is where backward begins" * (k == len(want) - 1)
        return "one of many", text

    def is_same_factor(self, carry: np.ndarray, got: np.ndarray, want: np.ndarray) -> bool:
        """Is the same wrong factor in both, so that the step is wrong as a whole?"""
        assert self.right.carry is not None
        flat = _flat(got, want)
        if flat is None:
            return False
        with np.errstate(all="ignore"):
            one, other = carry[1:] / self.right.carry[1:], flat[0][1:] / flat[1][1:]
        known = np.isfinite(one) & np.isfinite(other)
        return bool(known.any() and close(one[known], other[known]))

    def _uses_next(self, got: np.ndarray, want: np.ndarray) -> bool:
        """Is it off by one number times how far the state moves in a step, and perhaps the slope there?"""
        moved = np.concatenate([self.states[:1], np.diff(self.states, axis=0)])
        off = got - want
        return any(_is_multiple(off, moved * slope) for slope in (1.0, *self.slopes))

    def _lacks(self, got: np.ndarray, want: np.ndarray) -> str:
        """The value that is left out of what each step makes of its own g, after the first step."""
        before = np.concatenate([0 * self.states[:1], self.states[:-1]])
        values = {"the state of the step before": before, **self.values}
        return next((said for said, v in values.items() for s in (1.0, *self.slopes) if _is_multiple((want - got)[1:], (v * s)[1:])), "")


def _is_multiple(off: np.ndarray, by: np.ndarray) -> bool:
    """Is it one number along each lane times this?"""
    by = by.reshape(*by.shape, *[1] * (off.ndim - 2))
    with np.errstate(all="ignore"):
        ratio = (by * off).sum(0) / (by * by).sum(0)
    return bool(np.any(off) and np.all(np.isfinite(ratio)) and np.abs(off - ratio * by).max() <= 1e-9 * np.abs(off).max())


def _flat(got: np.ndarray, want: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Of each step and lane the largest entry, if the others are wrong by the same factor."""
    if got.ndim == 2:
        return got, want
    at = np.abs(want).argmax(axis=2)[..., None]
    one, other = (np.take_along_axis(a, at, 2) for a in (got, want))
    return (one[..., 0], other[..., 0]) if close(got * other, one * want) else None


def _is_shifted(got: np.ndarray, want: np.ndarray, by: int) -> bool:
    """Is it, where both are known, what belongs to the step `by` before?"""
    n = len(want)
    inner = slice(2, n - 1) if n > SHORTEST else slice(0, 0)
    a, b, c = got[inner], want[2 - by : n - 1 - by], want[inner]
    if a.shape != b.shape:
        return False
    known = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    return bool(known.sum() > 1 and close(a[known], b[known]) and not close(b[known], c[known]))


SLOPE = "a factor that changes from step to step, such as the slope of the function that forward applies at the end of a step"


def _of_slopes(got: np.ndarray, want: np.ndarray, slopes: Sequence[np.ndarray]) -> Iterator[tuple[str, str]]:
    """A slope that is missing, there twice, or that of another step."""
    with np.errstate(all="ignore"):
        ratio = got / want
    for s in slopes:
        for family, text, value in (
            ("factor", f"lacks {SLOPE}", ratio * s),
            ("power", f"has once too often {SLOPE}", ratio / s),
            ("places", f"takes from the step before {SLOPE}", ratio[1:] * s[1:] / s[:-1]),
            ("places", f"takes from the step after {SLOPE}", ratio[:-1] * s[:-1] / s[1:]),
        ):
            lines = [line[np.isfinite(line)] for line in value.T]
            if all(line.size > 1 and close(line, np.full_like(line, line[0])) for line in lines):
                if family != "places" or close(np.concatenate(lines), np.ones(sum(map(len, lines)))):
                    yield family, text


def _chooses_otherwise(got: np.ndarray, want: np.ndarray) -> bool:
    """Are some of the right factors 0, and other ones at hand?"""
    same = (np.abs(got) <= 1e-12 * np.abs(want).max()) == (np.abs(want) <= 1e-12 * np.abs(want).max())
    return not bool(same.all()) and bool(np.any(want == 0))


def _of_choice(got: np.ndarray, want: np.ndarray) -> tuple[str, str]:
    """Which of them are 0 and should not be, or the other way round; all others may be right."""
    least = 1e-12 * np.abs(want).max()
    nothing, none_wanted = np.abs(got) <= least, np.abs(want) <= least
    lost, more, own = (nothing & ~none_wanted).any(), (none_wanted & ~nothing).any(), OWN.removesuffix(", each step ")
    if more and not lost and close(np.where(none_wanted, 0, got), want):
        return "mask", f"is not 0 where it should be {own}, and right elsewhere: a mask or a condition is missing"
    if lost and not more and got.ndim > 2 and close(np.where(nothing, 0, want), got):
        return "term", f"misses a term {own}: a step also uses other entries of its input than those that get something"
    return "mask", f"is 0 at other places than it should be {own}: a mask or a choice is another"


def _is_same_in_all(got: np.ndarray, want: np.ndarray) -> bool:
    """Is it the right one times one number along each lane?"""
    with np.errstate(all="ignore"):
        ratio = got / want
    lines = [line[np.isfinite(line)] for line in ratio.T]
    return all(line.size > 1 and close(line, np.full_like(line, line[0])) for line in lines)
