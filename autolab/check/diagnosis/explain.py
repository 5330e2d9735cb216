"""From observations to the kind of mistake: the first explanation that fits them all, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..run.observation import TOLERANCE, Observation, close, error_of, number
from ..run.reference import stretched_axes
from .diagnosis import Diagnosis, diagnosis, furthest, worst_place
from .families import VAGUE, Family, about_g, families
from .jacobian import is_linear, jacobians, recognise, ties, weights
from .known_functions import curve, other_terms
from .scaling import ALIKE, axes_in_words, constant_factor, fixed_number, places, reduction
from .stepwise import stretched


def explain(observations: Sequence[Observation], x: str, show: Sequence[Observation] = ()) -> Diagnosis | None:
    """The mistake behind the gradient for `x` in all these calls, or None if it is right in all of them.

    A call that raised may be among them: an explanation has to fail there as well. The worst place is looked for among
    `show`, if one of them is wrong.
    """
    answered = [o for o in observations if not o.failed]
    wrong = [o for o in answered if error_of(o, x) > TOLERANCE]
    if not wrong:
        return None
    shown = [o for o in show if not o.failed and error_of(o, x) > TOLERANCE] or wrong
    more: dict[str, Any] = {"input": x, "where": _shapes(furthest(shown, x)), "worst": worst_place(shown, x)}
    about = f"The gradient for {x} "
    if all(o.got[x] is None for o in wrong):
        return diagnosis("none", "certain", about + "is None", **more)
    found = mistake([o for o in observations if o.failed or o.got[x] is not None], x)
    invariant = _invariant(answered, x)
    if not found:
        text = "is wrong, in no way that this checker knows" + _fraction(wrong, x)
        return diagnosis("unknown", "unknown", about + text + invariant, **more)
    if found.place:
        more |= {"where": _shapes(found.place), "worst": worst_place([found.place], x)}
    more["alternatives"] = tuple(other.name for other in found.also)
    said = ". Or it ".join([found.text, *(other.text.format(x=x) for other in found.also)])
    return diagnosis(found.family, "certain" if found.sure else "likely", about + said + invariant, **more)


def _shapes(o: Observation) -> str:
    shapes = [f"{x} {o.names[f'{x}_shape']}" for x in o.reference.inputs]
    return ", ".join(shapes + [f"{k}={o.names[k]!r}" for k in o.reference.settings if k in o.settings])


def _fraction(wrong: list[Observation], x: str) -> str:
    o = wrong[0]
    got, want = o.got[x], o.want[x]
    if got is None or got.shape != want.shape or got.size < 2:
        return ""
    right = int(np.sum(np.isclose(got, want, rtol=1e-9, atol=1e-12)))
    return f" ({right} of {got.size} entries are right)" if right else ""


def _invariant(observations: Sequence[Observation], x: str) -> str:
    """What must hold for any right gradient of this operation, if it does not hold here."""
    seen = [o for o in observations if o.got[x] is not None and o.got[x].shape == o.want[x].shape]
    if not seen or seen[0].reference.elementwise or any(not o.want[x].ndim for o in seen):
        return ""
    sums = []
    for o in seen:
        axis = o.names.get("axis", -1)
        if isinstance(axis, int) and axis >= o.want[x].ndim:  # an axis of the result
            return ""
        want, got = o.want[x].sum(axis), o.got[x].sum(axis)
        if np.abs(want).max() > 1e-12 * np.abs(o.want[x]).max():
            return ""
        sums.append(float(got.flat[np.abs(got).argmax()]))
    worst = max(sums, key=abs)
    if abs(worst) < 1e-9:
        return ""
    return (
        f". Adding the same number to every entry of {x} along the axis does not change the result, "
        f"so this gradient must add up to 0 along that axis; yours adds up to {number(worst)}"
    )


@dataclass(frozen=True)
class Mistake:
    """A family that fits, and what it says."""

    family: str
    text: str
    sure: bool
    predict: Callable | None = None
    place: Observation | None = None
    also: tuple[Family, ...] = ()  # other kinds of mistake that explain it as well


def _right(o: Observation, x: str) -> np.ndarray:
    return o.want[x]


def mistake(observations: list[Observation], x: str) -> Mistake | None:
    """First the formula, on calls where x is not stretched; then, given the formula, the sum over stretched axes."""
    plain = [o for o in observations if not _is_stretched(o, x)]
    rule = None
    if not plain:  # x is stretched in every call: what was done to it is asked first
        stretched = [o for o in observations if error_of(o, x) > TOLERANCE]
        return _exchanged(stretched, x) or _summing_mistake(stretched, x, _right) or _rule_mistake(observations, x)
    if any(error_of(o, x) > TOLERANCE for o in plain if not o.failed):
        rule = _rule_mistake(plain, x)
        if rule is None or rule.predict is None:
            return rule
    stretched = [o for o in observations if not o.failed and _is_stretched(o, x) and error_of(o, x) > TOLERANCE]
    if rule is None and (found := _exchanged(stretched, x)):
        return found
    if rule and rule.family == "swapped" and stretched and _exchanged(stretched, x):
        return replace(rule, sure=True)
    summing = _summing_mistake(stretched, x, rule.predict if rule else _right)
    if rule is None or summing is None:
        return rule or summing
    return replace(rule, text=f"{rule.text}; besides, it {summing.text}", sure=rule.sure and summing.sure)


def _rule_mistake(plain: list[Observation], x: str) -> Mistake | None:
    """The first explanation that fits: a factor, a family's prediction, a sum, a pattern in the Jacobian, a condition."""
    answered = [o for o in plain if not o.failed]
    failed = [o for o in plain if o.failed]
    wrong = sorted((o for o in answered if error_of(o, x) > TOLERANCE), key=lambda o: o.want[x].size + o.out.size)
    enough = len(wrong) > 1
    if all(o.got[x].size == o.want[x].size and close(o.got[x].reshape(o.want[x].shape), o.want[x]) for o in answered):
        return Mistake("flattened", "has the right numbers in the wrong shape", enough)
    if all(_is_thin(o, x) for o in wrong):
        return Mistake("not spread", "has the right numbers and is not spread over the entries that share them", enough)
    if found := _not_numbers(wrong, x):
        return found
    if found := _few_digits(wrong, x):
        return found
    if found := _stacked(wrong, answered, x):
        return found
    factor = constant_factor(wrong, x)
    if tie := _tie(wrong, x):
        return tie
    right = [o for o in answered if o not in wrong]
    (family, *others), consistent = _family_of(wrong, right, x, bool(factor and factor[2])) or ((None,), False)
    if family:
        consistent &= all(not _gives_an_answer(family, o, x) for o in failed)
        sure = enough and consistent and not others and family.exact and family.name not in VAGUE
        return Mistake(family.name, family.text.format(x=x), sure, family.predict, also=tuple(others))
    if factor and (first := _averaged(wrong[0], x)) and all((f := _averaged(o, x)) and f[0] == first[0] for o in wrong[1:]):
        return Mistake(*first, enough and not failed)
    if factor and not factor[2] and (fixed := fixed_number(answered, x)):
        return Mistake("constant", fixed, enough and not failed)
    if factor:
        some = ", in the calls where it is wrong" if len(wrong) < len(answered) else ""
        return Mistake(factor[0], factor[1] + some, factor[2] and enough and not failed and not some)
    if all(_is_surplus(o, x) for o in wrong):
        text = f"is right where it should not be 0, and not 0 elsewhere: it also reaches entries of {x} that the result does not depend on"
        return Mistake("mask", text, False)
    first = _reduction_of(wrong[0], x)
    if first and all((f := _reduction_of(o, x)) and f[0] == first[0] for o in wrong[1:]):
        return Mistake(*first, enough and not failed and ALIKE not in first[1])  # a mask that is missing looks the same
    if where := places(answered, x):
        return Mistake("places", where, enough and not failed)
    if shape := curve(wrong, x):
        return Mistake(*shape)
    moved = _moved(wrong, x)
    if moved and moved[2]:
        return Mistake(*moved[:2], enough)
    if (found := _pattern(wrong, x)) and not (moved and found.family == "mask"):
        return replace(found, sure=found.sure and enough and not failed)
    if moved:
        return Mistake(*moved[:2], False)
    if found := _two_slips(wrong, x) or _summed_alone(wrong, x):
        return found
    if terms := other_terms(wrong, x):
        return Mistake(*terms)
    if found := _as_function_of_g(wrong, x) or _partly(wrong, x) or _near(wrong, x):
        return found
    return None if wrong[0].reference.elementwise else _pattern(wrong, x, weights)


def _is_surplus(o: Observation, x: str) -> bool:
    """Right wherever the right one is not 0, and the same number where it is: nothing was asked of the places."""
    got, want = o.got[x], o.want[x]
    if got.shape != want.shape or o.reference.elementwise:
        return False
    needed = want != 0
    return bool(needed.any() and not needed.all() and close(got[needed], want[needed]) and got[~needed].all())


def _summed_alone(wrong: list[Observation], x: str) -> Mistake | None:
    """Of a product: g added up to the shape of the input, and then times a value of that shape, or nothing."""
    o = wrong[0]
    if o.reference.elementwise or len(o.reference.inputs) < 2:
        return None
    for count in range(1, o.g.ndim + 1):
        for axes in combinations(range(o.g.ndim), count):
            for name in ("", *o.reference.inputs, "out"):
                if all(_is_summed_times(o, x, axes, name) for o in wrong):
                    text = f"is g, added up over {axes_in_words(axes)}"
                    if not name:
                        return Mistake("upstream only", f"{text}: the local derivative is missing", False)
                    whose = f"{name} itself: the values of another input belong there" if name == x else name
                    if name != x:
                        whose += ": each entry of g has its own partner, before anything is added up"
                    return Mistake("variable", f"{text}, times {whose}", False)
    return None


def _is_summed_times(o: Observation, x: str, axes: tuple[int, ...], name: str) -> bool:
    summed = o.g.sum(axes) if max(axes) < o.g.ndim else o.g
    value = np.asarray(o.names[name]) if name else np.ones(())
    if summed.shape != o.want[x].shape or value.shape not in ((), summed.shape):
        return False
    return close(o.got[x], summed * value)


def _partly(wrong: list[Observation], x: str) -> Mistake | None:
    """Right at some places, and the same multiple of the right one at all others."""
    ratios = []
    for o in wrong:
        got, want = o.got[x], o.want[x]
        if got.shape != want.shape:
            return None
        off = ~np.isclose(got, want, rtol=1e-9, atol=1e-12)
        if off.all() or not np.all(want[off]):
            return None
        ratios.append(got[off] / want[off])
    ratio = np.concatenate(ratios)
    if ratio.size < 3 or not close(ratio, np.full_like(ratio, ratio[0])):
        return None
    return Mistake("places", f"is right at some places, and {ratio[0]:.6g} times the right one at the others", False)


NEAR = 0.05  # of the largest entry


def _near(wrong: list[Observation], x: str) -> Mistake | None:
    """Off by a little, everywhere: by a number in it and not by its form."""
    off = max(error_of(o, x) for o in wrong)
    if off > NEAR:
        return None
    text = f"is close to the right one, off by at most {100 * off:.2g} % of its largest entry: "
    text += "a small number such as eps stands in it, a rounded constant, or an approximation"
    return Mistake("number", text, False)


def _stacked(wrong: list[Observation], answered: list[Observation], x: str) -> Mistake | None:
    """More axes than the input has, in the calls with a stack of them: one gradient for each part, not their sum."""
    deep = [o for o in wrong if o.got[x].ndim > o.want[x].ndim]
    if not deep or wrong[0].reference.elementwise:
        return None
    if all(close(o.got[x].sum(tuple(range(o.got[x].ndim - o.want[x].ndim))), o.want[x]) for o in deep):
        rest = [o for o in wrong if o not in deep]
        if not rest:
            axes = axes_in_words(range(deep[0].got[x].ndim - deep[0].want[x].ndim))
            text = f"is not summed over {axes}: it has a part of its own for each entry of the batch, and not the shape of {x}"
            return Mistake("not summed", text, len(deep) > 1)
        found = _rule_mistake(rest, x)
        return found and replace(found, sure=False)
    flat = [o for o in wrong if o not in deep]
    found = _rule_mistake(flat, x) if flat else None
    return found and replace(found, text=f"{found.text}; in a stack it has another shape besides", sure=False)


def _as_function_of_g(wrong: list[Observation], x: str) -> Mistake | None:
    """Whatever the formula is: does the gradient change with g, and is it linear in it?"""
    for one, other in combinations(wrong, 2):
        if one.out is not other.out or np.array_equal(one.g, other.g):
            continue
        if one.got[x].shape == other.got[x].shape and close(one.got[x], other.got[x]):
            text = "does not change when g does: the incoming gradient is not used, and the rest is not right either"
            return Mistake("upstream ignored", text, False)
        both = one.ask([one.g + other.g, 2 * one.g]) if one.ask else None
        if both is None or any(b[x] is None or b[x].shape != one.got[x].shape for b in both):
            continue
        if not close(both[0][x], one.got[x] + other.got[x]) and not close(both[1][x], 2 * one.got[x]):
            text = "is not linear in g: twice the g does not give twice the gradient, and the rest is not right either"
            return Mistake("upstream twice", text, False)
    return None


def _exchanged(stretched: list[Observation], x: str) -> Mistake | None:
    """Has the gradient the shape of the other input, wherever the two shapes differ?"""
    for y in stretched[0].reference.differentiable() if stretched else ():
        differ = [o for o in stretched if o.shape(x) != o.shape(y)]
        shapes = [(np.shape(o.got[x]), np.shape(o.got[y])) == (o.shape(y), o.shape(x)) for o in differ]
        if y != x and differ and all(shapes):
            return Mistake("swapped", f"has the shape of {y}, and that for {y} the shape of {x}", True, place=differ[0])
    return None


FACTS = {"sign", "zero", "swapped", "not summed", "upstream ignored", "upstream twice", "upstream size", "upstream collapsed",
         "mask from g"}  # fmt: skip


def _family_of(wrong: list[Observation], right: list[Observation], x: str, scaled: bool) -> tuple[list[Family], bool] | None:
    """The first family that predicts all calls, and another if another kind of mistake predicts them as well.

    If none does, those that predict the wrong calls and not the right ones, and False.
    """
    facts = FACTS | {"upstream only"} if wrong[0].reference.elementwise else FACTS
    all_calls: list[Family] = []
    wrong_calls: list[Family] = []
    for family in about_g(wrong[0].reference) if scaled else families(wrong[0], x):
        if scaled and family.name not in SHARPER_THAN_A_FACTOR:
            continue
        if _is_said(family, all_calls) or not all(_fits(family, o, x) for o in wrong):
            continue
        if all(_fits(family, o, x) for o in right):
            all_calls.append(family)
            if len(all_calls) == MOST_SAID or family.name in facts or family.complete:
                return all_calls, True
        elif not _is_said(family, wrong_calls) and len(wrong_calls) < MOST_SAID:
            if not wrong_calls or wrong_calls[0].name not in facts:
                wrong_calls.append(family)
    if all_calls:
        return all_calls, True
    return (wrong_calls, False) if wrong_calls and not scaled else None


def _is_said(family: Family, found: list[Family]) -> bool:
    return any(family.name in (other.name, *SYNONYMS.get(other.name, ())) for other in found)


MOST_SAID = 2  # kinds of mistake in one sentence


SYNONYMS = {"variable": ("forward", "applied twice", "step"), "applied twice": ("variable", "step"),
            "forward": ("function",), "function": ("step", "variable"),
            "division": ("power", "factor", "variable"),
            "power": ("factor", "variable"), "mask": ("variable",), "permutation": ("transposed", "step", "forward"),
            "transposed": ("order", "permutation", "step")}  # fmt: skip


def _is_thin(o: Observation, x: str) -> bool:
    """Would stretching make it right?"""
    got, want = o.got[x], o.want[x]
    if got.size >= want.size or got.ndim > want.ndim:
        return False
    try:
        return close(np.broadcast_to(got, want.shape), want)
    except ValueError:
        return False


def _not_numbers(wrong: list[Observation], x: str) -> Mistake | None:
    """Not a number, or infinite, where the right gradient is an ordinary number."""
    for o in wrong:
        got, want = o.got[x], o.want[x]
        lost = ~np.isfinite(got) if got.shape == want.shape else np.zeros(())
        if not lost.any() or not np.isfinite(want).all() or not close(np.where(lost, want, got), want):
            continue
        text = f"is not a number (nan, inf) at {int(lost.sum())} of {lost.size} places"
        for name in (*o.reference.inputs, "out", "g"):
            value = np.asarray(o.g if name == "g" else o.names[name])
            if value.shape == lost.shape:
                for word, test in (("negative", value < 0), ("positive", value > 0)):
                    if np.array_equal(test, lost) and not lost.all():
                        text += f": exactly where {name} is {word}"
        return Mistake("nan", f"{text}; a log or root of a negative number, or 0 / 0, on the way", True, place=o)
    return None


def _few_digits(wrong: list[Observation], x: str) -> Mistake | None:
    """Right but for its last digits, and no more digits than half precision has."""
    for o in wrong:
        got, want = np.asarray(o.got[x]), o.want[x]
        if got.shape != want.shape or not np.array_equal(got, got.astype(np.float16)) or error_of(o, x) > 2e-3:
            return None
    return Mistake("precision", "has only the digits of float16, for float64 inputs", len(wrong) > 1)


def _tie(wrong: list[Observation], x: str) -> Mistake | None:
    """Something else than equal shares, where several entries are the largest."""
    for o in wrong:
        values = np.asarray(o.names[x])
        if o.reference.elementwise or len(np.unique(values)) == values.size:
            return None
    pairs = [(o, pair) for o in wrong[:2] if (pair := jacobians(o, x)) and is_linear(o, pair)]
    found = [ties(o, pair) for o, pair in pairs]
    return Mistake(*found[0]) if found and all(f and f == found[0] for f in found) else None


def _moved(wrong: list[Observation], x: str) -> tuple[str, str, bool] | None:
    """The right numbers in other places."""
    if wrong[0].reference.elementwise or not all(o.want[x].size > 1 for o in wrong):
        return None
    mover = all(np.isin(o.want[x], o.g).all() for o in wrong)  # nothing but moving: every number comes from g as it is
    o = wrong[-1]
    if not all(o.got[x].size == o.want[x].size and close(np.sort(o.got[x], axis=None), np.sort(o.want[x], axis=None)) for o in wrong):
        if mover and all(np.isin(o.got[x], o.g).all() for o in wrong):
            if o.got[x].shape != o.want[x].shape:
                return ("pieces", f"is another piece of g: it has shape {o.got[x].shape}, expected {o.want[x].shape}", True)
            return "pieces", f"is another piece of g than the one that came from {x}", True
        return None
    if all(close(o.got[x].ravel(), o.g.ravel()) for o in wrong):
        return (
            "permutation",
            "has its numbers in the order of g: they were given another shape, and not moved back to where they came from",
            True,
        )
    if o.got[x].shape != o.want[x].shape:
        return ("permutation", f"has the right numbers with the axes in another order: {o.got[x].shape}, expected {o.want[x].shape}", mover)
    at = tuple(int(i) for i in np.argwhere(~np.isclose(o.got[x], o.want[x]))[0])
    to = tuple(int(i) for i in np.argwhere(np.isclose(o.got[x], o.want[x][at]))[0])
    return ("permutation", f"has the right numbers in the wrong places: what belongs at {list(at)} is at {list(to)}", mover)


def _pattern(wrong: list[Observation], x: str, look: Callable = recognise) -> Mistake | None:
    """What the two Jacobians show, if they show the same for two calls."""
    found: list[tuple[str, str, bool]] = []
    for o in wrong:
        pair = jacobians(o, x)
        if pair is None or not is_linear(o, pair):
            continue
        seen = look(o, pair)
        if seen is None or (found and found[0][0] != seen[0]):
            return None
        found.append(seen)
        if len(found) == 2:
            break
    if not found:
        return None
    family, text, sure = found[0]
    return Mistake(family, text, sure and len(found) > 1)


MULTIPLES = {2: "2 times too large", 0.5: "half as large", -1: "the wrong sign", -2: "2 times too large, with the wrong sign",
             -0.5: "half as large, with the wrong sign"}  # fmt: skip


def _two_slips(wrong: list[Observation], x: str) -> Mistake | None:
    """A slip of the pen, and a wrong factor besides."""
    for family in families(wrong[0], x):
        if not family.exact:  # a slip in one way to spell it out, and another besides: who would believe that?
            continue
        first = _ratio(family, wrong[0], x)
        words = next((words for c, words in MULTIPLES.items() if first and np.isclose(first, c, rtol=1e-9)), None)
        if first and words and all(np.isclose(_ratio(family, o, x) or 0, first, rtol=1e-9) for o in wrong[1:]):
            return Mistake(family.name, f"{family.text.format(x=x)}; besides, it is {words}", False)
    return None


def _ratio(family: Family, o: Observation, x: str) -> float | None:
    try:
        predicted = np.asarray(family.predict(o, x), float)
        size = np.vdot(predicted, predicted)
        ratio = float(np.vdot(predicted, o.got[x]) / size) if size else 0.0
        return ratio if ratio and close(o.got[x], ratio * predicted) else None
    except Exception:  # then it is not this one
        return None


def _reduction_of(o: Observation, x: str) -> tuple[str, str] | None:
    """What was summed that should not be; or, where g itself is to be summed (a bias), along which axes it was."""
    got, want = o.got[x], o.want[x]
    if found := reduction(got, want, want.shape, ()):
        return found
    for full, shape in stretched(o, x):
        if found := reduction(got, full, shape):
            return found
    extra = o.g.ndim - want.ndim
    for count in range(1, o.g.ndim + 1) if extra >= 0 and not o.reference.elementwise else ():
        for axes in combinations(range(o.g.ndim), count):
            summed = o.g.sum(axes, keepdims=True)
            if summed.size == want.size and close(summed.reshape(want.shape), want):
                return reduction(got, o.g, want.shape, axes)
    return None


def _averaged(o: Observation, x: str) -> tuple[str, str] | None:
    """Was what a layer adds up for its bias averaged?"""
    for full, shape in stretched(o, x):
        found = reduction(o.got[x], full, shape)
        if found and found[0] == "averaged":
            return found
    return None


SHARPER_THAN_A_FACTOR = {"sign", "zero"}


def _fits(family: Family, o: Observation, x: str) -> bool:
    try:
        predicted = np.asarray(family.predict(o, x))
        if o.reference.elementwise and o.got[x].shape != predicted.shape == o.out.shape:
            return close(np.broadcast_to(o.got[x], predicted.shape), predicted)  # it may have lost its g, and so its shape
        return close(o.got[x], predicted)
    except Exception:  # a mutated formula may raise anything; then it is not this one
        return False


def _gives_an_answer(family: Family, o: Observation, x: str) -> bool:
    try:
        return np.shape(family.predict(o, x)) == o.want[x].shape
    except Exception:  # as it should: the rule raised here
        return False


def _summing_mistake(stretched: list[Observation], x: str, predict: Callable) -> Mistake | None:
    found = []
    for o in stretched:
        raw = np.broadcast_to(o.reference.raw(x, o.g, o.names), o.out.shape)
        unsummed = replace(o, names={**o.names, f"{x}_shape": o.out.shape}, want={**o.want, x: raw})
        try:
            full = np.broadcast_to(np.asarray(predict(unsummed, x)), o.out.shape)
            found.append(reduction(o.got[x], full, o.shape(x)))
        except Exception:  # the mistake in the formula says nothing about these shapes
            found.append(None)
    known = [(f, o) for f, o in zip(found, stretched, strict=True) if f]
    if not known:
        return None
    (name, sentence), o = known[0]
    shape = o.shape(x)
    text = f"{sentence}: {x} has shape {shape}, and forward stretched it to {o.out.shape}"
    return Mistake(name, text, all(f and f[0] == name for f in found), place=o)


def _is_stretched(o: Observation, x: str) -> bool:
    return o.reference.elementwise and bool(stretched_axes(o.shape(x), o.out.shape))
