"""In what way a wrong gradient resembles the right one: facts about its numbers, whatever the mistake is called."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..diagnosis.gradients.jacobian_rows import rows_of
from ..diagnosis.quiet import quiet
from ..diagnosis.replays.chains import chains
from ..diagnosis.replays.stepwise import Chain
from ..run.observation import RIGHT, Observation, close, error_of

NEARLY = 0.02  # relative to the largest entry: by so much a slip in a small number may be off
SOME = 1 / 3  # of the entries that are not 0 on both sides
POWERS = (1, -1, 2, -2)
MOST_ROWS = 24  # of a Jacobian

Arrays = tuple[np.ndarray, np.ndarray]  # what came back, and what is right


@dataclass(frozen=True)
class Calls:
    """The calls in which the gradient for x is wrong, each made twice: with g, and with another g."""

    x: str
    pairs: Sequence[tuple[Observation, Observation]]
    ones: Observation | None = None  # a call whose g is 1 everywhere
    later: Observation | None = None  # one with the shapes and settings of the first call of all, and other numbers

    def arrays(self, o: Observation) -> Arrays | None:
        """What came back and what is right, of one shape; None if they do not compare. One number may stand for all entries."""
        got, want = o.got[self.x], o.want[self.x]
        if got is None or not (np.isfinite(got).all() and np.isfinite(want).all()):
            return None
        if o.reference.elementwise and got.size == 1:
            got = np.broadcast_to(got.reshape(()), want.shape)
        return (got, want) if got.shape == want.shape else None

    @cached_property
    def seen(self) -> list[Arrays]:
        """Of each call; nothing if one of them does not compare."""
        found = [self.arrays(o) for o, _ in self.pairs]
        return [a for a in found if a] if all(found) else []

    def everywhere(self, fact: Callable[[np.ndarray, np.ndarray], object]) -> bool:
        """Does it hold of what came back and what is right in each call?"""
        return bool(self.seen) and all(fact(got, want) for got, want in self.seen)


@quiet
def resemblance(calls: Calls) -> str:
    """The first of the facts below that holds in all of the calls; nothing if none does."""
    with np.errstate(all="ignore"):
        return next((name for name, holds in FACTS.items() if holds(calls)), "")


def _has_another_shape(calls: Calls) -> bool:
    pairs = [(o.got[calls.x], o.want[calls.x]) for o, _ in calls.pairs]
    return all(got is not None and got.size == want.size and close(got.reshape(want.shape), want) for got, want in pairs)


def _is_zero(calls: Calls) -> bool:
    return calls.everywhere(lambda got, want: np.abs(got).max(initial=0.0) <= 1e-12 * np.abs(want).max(initial=0.0))


def _is_multiple(calls: Calls) -> bool:
    """One number times the right one in each call: the same in all, or as the sizes and settings are."""
    return _are_multiples(calls) and not _is_of_the_data(calls)


def _are_multiples(calls: Calls) -> bool:
    factors, others = [multiple(*a) for a in calls.seen], [calls.arrays(o) for _, o in calls.pairs]
    if not factors or not all(factors) or not all(a and multiple(*a) for a in others):
        return False
    return any(np.count_nonzero(want) > 1 for _, want in calls.seen) or np.ptp(factors) <= 1e-9 * max(map(abs, factors))


def _is_of_the_data(calls: Calls) -> bool:
    """Is the number another one for other inputs of the same shapes?"""
    later = calls.arrays(calls.later) if calls.later else None
    factors = [multiple(got, want) for got, want in calls.seen]
    return later is not None and not np.isclose(multiple(*later), factors, rtol=1e-9, atol=0).any()


def multiple(got: np.ndarray, want: np.ndarray) -> float:
    """How many times the right one it is; 0 if it is no multiple.

    >>> multiple(np.array([2.0, -6.0]), np.array([-1.0, 3.0])), multiple(np.array([2.0, 6.0]), np.array([-1.0, 3.0]))
    (-2.0, 0.0)
    """
    ratio = float(np.vdot(want, got) / np.vdot(want, want)) if np.any(want) else 0.0
    return ratio if ratio and close(got, ratio * want) else 0.0


def _is_g(calls: Calls) -> bool:
    return all((got := o.got[calls.x]) is not None and got.shape == o.g.shape and close(got, o.g) for o, _ in calls.pairs)


def _is_off_by_a_number_in_places(calls: Calls) -> bool:
    """One number times the right one at some entries, the same in all calls and for every g, and right at the others.

    A number in one piece of a function; or a sign, as of |x| where x belongs.
    """
    numbers = []
    for o, other in calls.pairs:
        both = [a for a in (calls.arrays(o), calls.arrays(other)) if a]
        if o is other or len(both) < 2 or not all(_is_zero_where_it_should_be(*a) for a in both):
            return False
        one, two = (np.where(np.abs(want) > 1e-9 * np.abs(want).max(initial=0.0), got / want, np.nan) for got, want in both)
        tells = np.isfinite(one) & np.isfinite(two)
        if not close(one[tells], two[tells]):
            return False
        numbers.append(one[tells & (np.abs(one - 1) > 1e-7)])
    found = np.concatenate(numbers) if numbers else np.empty(0)
    if not found.size or not found.all() or np.ptp(found) > 1e-7 * np.abs(found).max():
        return False
    return calls.pairs[0][0].reference.elementwise or bool(np.isclose(found[0], -1))


def _leaves_g_out(calls: Calls) -> bool:
    pairs = [(one.got[calls.x], other.got[calls.x]) for one, other in calls.pairs]
    return all(a is not None and b is not None and close(a, b) for a, b in pairs)


def _is_right_where_g_is_one(calls: Calls) -> bool:
    """Is the local derivative there? It says nothing where what is right for this g is 0, as it is for a softmax."""
    ones = calls.arrays(calls.ones) if calls.ones else None
    if ones is None or not np.abs(ones[1]).max(initial=0.0) > 1e-9:
        return False
    return bool(np.abs(ones[0] - ones[1]).max() <= RIGHT * np.abs(ones[1]).max())


def _has_the_numbers_elsewhere(calls: Calls) -> bool:
    return any(want.size > 1 for _, want in calls.seen) and calls.everywhere(
        lambda got, want: close(np.sort(got, axis=None), np.sort(want, axis=None))
    )


def _has_some_entries(calls: Calls) -> bool:
    right = counted = 0
    for got, want in ((o.got[calls.x], o.want[calls.x]) for o, _ in calls.pairs):
        if got is None or got.shape != want.shape:
            return False
        scale = np.abs(want).max(initial=0.0)
        counts = (np.abs(want) > 1e-12 * scale) | ~(np.abs(got) <= 1e-12 * scale)
        right += int(np.sum(counts & (np.abs(got - want) <= 1e-9 * scale)))
        counted += int(np.sum(counts))
    return right > SOME * counted


def has_some_derivatives(calls: Calls) -> bool:
    """Are a third of the derivatives right, of those that are not 0 on both sides? Of a few results; it takes a call for each."""
    o = min((o for o, _ in calls.pairs), key=lambda o: o.out.size)
    rows = rows_of(o, calls.x, range(0, o.out.size, 1 + o.out.size // MOST_ROWS))
    if rows is None:
        return False
    yours, right = map(np.stack, rows)
    scale = np.abs(right).max(initial=0.0)
    counts = (np.abs(right) > 1e-12 * scale) | ~(np.abs(yours) <= 1e-12 * scale)
    return bool(np.sum(counts & (np.abs(yours - right) <= 1e-9 * scale)) > SOME * np.sum(counts))


def has_a_factor_in_a_term(calls: Calls) -> bool:
    """Is what comes back through one link of the chain rule off by a factor, and the rest right?"""
    first, x = calls.pairs[0][0], calls.x
    for link in _links(first, x):
        one = _term(first, x, *link)
        if one and _is_off_by_a_factor(Calls(x, [(one, one)])):
            pairs = [(_term(o, x, *link), _term(other, x, *link)) for o, other in calls.pairs]
            terms = [(one, other) for one, other in pairs if one and other]
            if len(terms) == len(pairs) and _is_off_by_a_factor(Calls(x, terms)):
                return True
    return False


def _links(o: Observation, x: str) -> Iterator[tuple[int, int, int]]:
    """Of each way to spell out forward, its steps and their arguments through which something comes back."""
    for number, chain in enumerate(chains(o, x)):
        for i, step in enumerate(chain.steps if chain else ()):
            yield from ((number, i, k) for k in step.passed)


def _term(o: Observation, x: str, number: int, i: int, k: int) -> Observation | None:
    """What comes back through a link alone, beside what the learner's gradient has without the rest; None if that is all or nothing."""
    found = chains(o, x)
    chain = _of_any(found[number]) if number < len(found) else None
    if chain is None or i >= len(chain.steps) or k not in chain.steps[i].passed or np.shape(o.got[x]) != o.want[x].shape:
        return None
    whole, term = o.want[x], o.want[x] - chain.changed(x, {(i, k): np.zeros(chain.steps[i].shape(k))})
    size = np.abs(whole).max(initial=0.0)
    if np.abs(term).max(initial=0.0) <= 1e-9 * size or np.abs(whole - term).max(initial=0.0) <= 1e-9 * size:
        return None
    return replace(o, got={**o.got, x: o.got[x] - (whole - term)}, want={x: term})


def _of_any(chain: Chain | None) -> Chain | None:
    """A chain that is asked about changes which do not give what was received."""
    chain = copy.copy(chain)
    if chain:
        chain.received = None
    return chain


def _is_off_by_a_factor(calls: Calls) -> bool:
    """The same number along an axis, or a power of an input or of the result: one factor too many, or too few."""
    if _are_multiples(calls):
        return True
    if not calls.everywhere(_is_zero_where_it_should_be):
        return False
    factors = [np.where(want == 0, np.nan, got / want) for got, want in calls.seen]
    if all(np.allclose(np.abs(f[np.isfinite(f)]), 1, rtol=1e-9) for f in factors):
        return False  # a sign in one of its terms, or in the entries of one place: no factor
    for axis in range(-min(map(np.ndim, factors)), 0):
        rows = [_has_one_number_in_each_row(f, axis) for f in factors]
        if any(rows) and None not in rows:
            return True
    if any(all(_is_derivative(f, o, calls.x, p) for f, (o, _) in zip(factors, calls.pairs, strict=True)) for p in (1, -2)):
        return True
    names = [*calls.pairs[0][0].reference.inputs, "out"]
    return any(all(_is_power(f, o, calls.x, n, p) for f, (o, _) in zip(factors, calls.pairs, strict=True)) for n in names for p in POWERS)


def _is_zero_where_it_should_be(got: np.ndarray, want: np.ndarray) -> bool:
    least = 1e-12 * np.abs(want).max(initial=0.0)
    return bool(np.all(np.abs(got[np.abs(want) <= least]) <= least))


def _has_one_number_in_each_row(factor: np.ndarray, axis: int) -> bool | None:
    """None if it has not; False if no row has two entries that tell."""
    tells = np.isfinite(factor)
    low, high = (f(np.where(tells, factor, fill), axis=axis) for f, fill in ((np.min, np.inf), (np.max, -np.inf)))
    several = tells.sum(axis) > 1
    alike = high - low <= 1e-7 * np.maximum(abs(high), abs(low))
    return bool(several.any()) if np.all(alike | ~several) else None


def _is_derivative(factor: np.ndarray, o: Observation, x: str, power: int) -> bool:
    """Is it a number times the derivative, which is in it twice then, or times 1 / derivative**2, which is in it divided?"""
    if not o.reference.elementwise or o.g.shape != factor.shape:
        return False
    slope = o.want[x] / o.g
    tells = np.isfinite(factor) & (slope != 0)
    return bool(tells.sum() > 1 and np.ptp(slope[tells]) and multiple(factor[tells], slope[tells] ** float(power)))


def _is_power(factor: np.ndarray, o: Observation, x: str, name: str, power: int) -> bool:
    """Is it a number times this power of a value? What is a number times g has to lack this value, and nothing else."""
    value = np.asarray(o.names[name])
    if value.shape != factor.shape or value.dtype.kind != "f":
        return False
    tells = np.isfinite(factor)
    times = multiple(factor[tells], value[tells] ** float(power))
    of_g = o.g.shape == np.shape(o.got[x]) == factor.shape and multiple(o.got[x], o.g)
    return bool(tells.sum() > 1 and (abs(times - 1) < 1e-9 if of_g else times))


# The order counts: zero is a multiple, and what leaves g out may be right where g is 1.
FACTS: dict[str, Callable[[Calls], bool]] = {
    "another shape": _has_another_shape,
    "zero": _is_zero,
    "multiple": _is_multiple,
    "nearly right": lambda calls: all(error_of(o, calls.x) <= NEARLY for o, _ in calls.pairs),
    "g itself": _is_g,
    "a number in places": _is_off_by_a_number_in_places,
    "elsewhere": _has_the_numbers_elsewhere,
    "right where g is 1": _is_right_where_g_is_one,
    "without g": _leaves_g_out,
    "one factor": _is_off_by_a_factor,
    "some entries": _has_some_entries,
}

PARTS = (has_some_derivatives, has_a_factor_in_a_term)  # asked where no kind of mistake shows

__all__ = ["FACTS", "PARTS", "Calls", "multiple", "resemblance"]
