"""Which kind of mistake foretells what a rule gave, in all calls: each family makes the gradient that a rule with it would give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..run.observation import Observation, close
from .budget import FORMULA, affordable, size
from .diagnosis import Mistake
from .families import about_g, families, same_mistake
from .family import Family
from .quiet import quiet

FACTS = {"sign", "zero", "swapped", "not summed", "upstream ignored", "upstream twice", "upstream size", "upstream collapsed",
         "mask from g"}  # fmt: skip
SHARPER_THAN_A_FACTOR = {"sign", "zero"}
MOST_SAID = 2  # kinds of mistake in one sentence
SYNONYMS = {"variable": ("forward", "applied twice", "step"), "applied twice": ("variable", "step"),
            "forward": ("function",), "function": ("step", "variable"),
            "division": ("power", "factor", "variable"),
            "power": ("factor", "variable"), "mask": ("variable",), "permutation": ("transposed", "step", "forward", "places"),
            "transposed": ("order", "permutation", "step"),
            # where nothing is left of a link
            "term": ("upstream ignored", "upstream collapsed", "mask from g", "variable")}  # fmt: skip


MOST_TRIED = 1000  # wrong formulas for the gradients of one call, about 0.1 ms each: what has more steps than any exercise has more
LEAST_TRIED = 300  # for each input


def _affordable(every: Iterable[Family], o: Observation) -> Iterator[Family]:
    """These, as long as a check may go on looking: they are counted, so that it says the same on each machine."""
    cost = size(o)
    spent = o.memo.get("tried", 0.0)
    most = max(MOST_TRIED - spent, LEAST_TRIED) / cost
    following: Callable = quiet(next)  # what fails to make one makes no more
    for count, family in enumerate(iter(partial(following, iter(every), None), None)):
        o.memo["tried"] = spent + count * cost
        if count >= most or not affordable(o, FORMULA):
            return
        yield family


def family_of(wrong: list[Observation], right: list[Observation], x: str, scaled: bool) -> tuple[list[Family], bool] | None:
    """The first family that predicts all calls, and another if another kind of mistake predicts them as well.

    If none does, those that predict the wrong calls and not the right ones, and False. What each predicts for the first call is kept.
    """
    first, others = wrong[0], wrong[1:]
    if not scaled and (same := _explained_elsewhere(wrong, right, x)):
        return same, True
    predicted: list[tuple[Family, np.ndarray]] = []
    passed_over: list[Family] = []
    first.memo.update({("predicted", x): predicted, ("passed over", x): passed_over})
    facts = FACTS | {"upstream only"} if first.reference.elementwise else FACTS
    all_calls: list[Family] = []
    wrong_calls: list[Family] = []
    every = (
        about_g(first.reference)
        if scaled
        else families(first, x, explained=lambda: any(f.exact and f.name != "function" for f in all_calls))
    )
    for family in _affordable(every, first):
        if (scaled and family.name not in SHARPER_THAN_A_FACTOR) or _is_said(family, all_calls):
            continue
        value = _prediction(family, first, x)
        if value is None:
            passed_over.append(family)
            continue
        predicted.append((family, value))
        if not _equals(value, first, x) or not all(fits(family, o, x) for o in others):
            continue
        if family.name in ("variable", "number") and number_times_g(wrong, x):
            continue
        if all(fits(family, o, x) for o in right):
            all_calls.append(family)
            if len(all_calls) == MOST_SAID or family.name in facts or family.complete:
                break
        elif not _is_said(family, wrong_calls) and len(wrong_calls) < MOST_SAID:
            if not wrong_calls or wrong_calls[0].name not in facts:
                wrong_calls.append(family)
    if all_calls:
        return [_in_which_steps(family, [*wrong, *right], x) for family in all_calls], True
    return (wrong_calls, False) if wrong_calls and not scaled else None


def _in_which_steps(family: Family, every: list[Observation], x: str) -> Family:
    """A slip of one step, with the other steps in which it gives the same: the numbers cannot say in which of them it happened."""
    same = family.elsewhere(lambda other: all(fits(other, o, x) for o in every)) if family.elsewhere else []
    steps = list(dict.fromkeys([family.step, *same]))
    if len(steps) < 2:
        return family
    said = f"{', '.join(steps[:-1])} or {steps[-1]} ({'both' if len(steps) == 2 else 'all of them'} give the same numbers)"
    return replace(family, text=family.text.replace(family.step, said, 1))


def _explained_elsewhere(wrong: list[Observation], right: list[Observation], x: str) -> list[Family]:
    """What explains the gradient for another input, if all of it explains this one too."""
    known = wrong[0].memo.get("explained", [])
    same = [next((f for f in same_mistake(wrong[0], x, one) if all(fits(f, o, x) for o in (*wrong, *right))), None) for one in known]
    return [family for family in same if family] if all(same) else []


def number_times_g(wrong: Sequence[Observation], x: str) -> float:
    """The number, if what came back is the same one times g in all calls; else 0. No value is in it, whatever cancels out in a formula."""
    ratios = []
    for o in wrong:
        got = o.got[x]
        if got.shape != o.g.shape or got.size < 2 or not o.g.all():
            return 0.0
        ratios.append(np.ravel(got / o.g))
    ratio = np.concatenate(ratios)
    return float(ratio[0]) if close(ratio, np.full_like(ratio, ratio[0])) else 0.0


def _is_said(family: Family, said: list[Family]) -> bool:
    return any(family.name in (other.name, *SYNONYMS.get(other.name, ())) for other in said)


def _prediction(family: Family, o: Observation, x: str) -> np.ndarray | None:
    if family.of_right:
        return o.worked_out((x, family), lambda: family.predict(o, x))
    try:
        return np.asarray(family.predict(o, x))
    except Exception:  # a mutated formula may raise anything; then it is not this one
        return None


def fits(family: Family, o: Observation, x: str) -> bool:
    value = _prediction(family, o, x)
    return value is not None and _equals(value, o, x)


def _equals(value: np.ndarray, o: Observation, x: str) -> bool:
    got = o.got[x]
    try:
        if o.reference.elementwise and got.shape != value.shape == o.out.shape:
            return close(np.broadcast_to(got, value.shape), value)  # it may have lost its g, and so its shape
        return o.gave(x, value)
    except Exception:  # not numbers
        return False


def gives_an_answer(family: Family, o: Observation, x: str) -> bool:
    try:
        return np.shape(family.predict(o, x)) == o.want[x].shape
    except Exception:  # as it should: the rule raised here
        return False


MULTIPLES = {2: "2 times too large", 0.5: "half as large", -1: "the wrong sign", -2: "2 times too large, with the wrong sign",
             -0.5: "half as large, with the wrong sign"}  # fmt: skip


def find_slip_and_factor(wrong: list[Observation], x: str) -> Mistake | None:
    """A slip of the pen, and a wrong factor besides."""
    for family, value in wrong[0].memo["predicted", x]:
        if not family.exact:  # a slip in one decomposition, and another besides: who would believe that?
            continue
        first = _ratio(value, wrong[0], x)
        words = next((words for c, words in MULTIPLES.items() if first and np.isclose(first, c, rtol=1e-9)), None)
        if words and all(np.isclose(_ratio(_prediction(family, o, x), o, x), first, rtol=1e-9) for o in wrong[1:]):
            return Mistake(family.name, f"{family.text.format(x=x)}; besides, it is {words}")
    return None


def _ratio(value: np.ndarray | None, o: Observation, x: str) -> float:
    """How many times a prediction the gradient is; 0 if it is not a multiple of it."""
    try:
        predicted = np.asarray(value, float)
        ratio = float(np.vdot(predicted, o.got[x]) / np.vdot(predicted, predicted)) if predicted.any() else 0.0
        return ratio if ratio and close(o.got[x], ratio * predicted) else 0.0
    except Exception:  # then it is not this one
        return 0.0
