"""From observations to the kind of mistake: the first explanation that fits them all, and how sure it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autolab.utils.collector import collector_paused

from ..run.cases import forget
from ..run.limit import SECONDS, limit
from ..run.meter import TooLong
from ..run.observation import TOLERANCE, Observation, Right, close, error_of, number
from ..run.reference import Reference, stretched_axes
from .budget import begin
from .diagnosis import Diagnosis, Mistake, diagnosis, furthest, worst_place
from .failures import of_the_wrong_calls, setting_of_wrong_calls
from .families import VAGUE
from .family import Family
from .formulas.mutants import A_STEP, INTERMEDIATE
from .formulas.spectral import find_as_of_numbers
from .gradients import digits, patterns
from .gradients.call_factors import find_call_factor, find_last_step
from .gradients.contributions import find_ends, of_blocks, shared
from .gradients.entries import find_entries, find_other_norm
from .gradients.iterations import find_iteration
from .gradients.jacobian import LEAVES_OUT, weights
from .gradients.known_functions import known_function, one_for_all, other_terms
from .gradients.links import wrong_link, wrong_number, wrong_weights
from .gradients.measures import find_measure
from .gradients.normalisations import find_normalisation
from .gradients.other_inputs import find_fixed_setting, find_other_inputs
from .gradients.other_operations import other_operation
from .gradients.permutations import find_permutation
from .gradients.products import find_products
from .gradients.recurrences import LACKS, STATE_AFTER, WRONG_FACTOR, find_recurrence
from .gradients.regions import find_regions
from .gradients.scalar_rules import find_scalar_rule
from .gradients.scaling import ALIKE, INSTEAD, OF_RESULT, ROOT, constant_factor, fixed_number, other_size, places, reduction
from .gradients.scans import find_scan
from .gradients.selections import find_other_end, find_selection
from .gradients.series import find_matrix_series, find_near_zero, find_series
from .gradients.terms import find_terms
from .gradients.windows import find_windows
from .named import only_what_is_there, written_numbers
from .predictions import FACTS, family_of, find_slip_and_factor, fits, gives_an_answer, number_times_g
from .quiet import quiet
from .repairs.beside import as_sure_as_seen, as_written, in_full, may_be_chance, not_of_a_loop, or_exchanged, with_repair
from .repairs.other_forward import find_other_forward
from .repairs.search import find_repair
from .replays.early_sums import early_unbroadcast
from .replays.halves import ONE_HALF
from .replays.orders import find_order
from .replays.reshapes import find_reshape, find_same_forward
from .replays.stepwise import A_TERM
from .replays.tape_slips import find_same_slip, find_tape_slip
from .replays.two_slips import find_two_slips
from .shapes import axes_in_words
from .smaller import SYMPTOMS, explained_in_smaller_calls


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
    found = _explained(observations, x, answered, wrong, more)
    return found or diagnosis("unknown", "unknown", about + UNKNOWN, **more)


UNKNOWN = "is wrong, in no way that this checker knows"


@quiet
def _explained(observations: Sequence[Observation], x: str, answered: list[Observation], wrong: list[Observation], more: dict) -> Diagnosis:
    about = f"The gradient for {x} "
    reference = observations[0].reference
    begin(observations[0])
    with warnings.catch_warnings(), collector_paused(), reference.trying():
        warnings.simplefilter("ignore")  # of a wrong formula that was tried
        found = _in_time(reference, lambda: mistake([o for o in observations if o.failed or o.got[x] is not None], x))
        found = found and not_of_a_loop(found, observations, x)
        is_open = found is None or _is_open(found) or not found.sure or may_be_chance(found, observations[0])
        repair = find_repair(observations, x) if is_open and not reference.stopped else None
        if not repair and _is_open(found):
            found = _in_time(reference, lambda: explained_in_smaller_calls(wrong, x, mistake)) or found
        if not repair and _is_open(found):
            found = _in_time(reference, lambda: find_other_forward(wrong, x)) or found
    is_known = found is not None
    more["seen"] = (found.family, *(other.name for other in found.also), *found.parts) if found else ()
    if found:
        found = only_what_is_there(found, wrong[0], x)
    if repair:
        found = with_repair(found, repair, x)
    elif found:
        found = as_sure_as_seen(found)
    if found:
        found = or_exchanged(as_written(found, wrong[0]), wrong, x)
    invariant = _invariant(answered, x)
    where = setting_of_wrong_calls(answered, [error_of(o, x) > TOLERANCE for o in answered])
    if where and not is_known:
        thick = any(o.got[x].ndim > o.want[x].ndim for o in wrong)
        wrong_calls = "elsewhere" if where.startswith("only") else "there"
        besides = f": {wrong_calls} it {'has more axes than its input' if thick else 'is something else'}"
        besides += f". It {in_full(repair).text}" if repair else ""
        others = ("keepdims",) * thick + ((repair.family,) if repair else ())
        more["seen"] = ("setting", *("keepdims",) * thick)
        return diagnosis("setting", "likely", f"{about}is right {where}{besides}", alternatives=others, **more)
    if where and found and not found.sure and not repair:
        found = replace(found, text=f"{of_the_wrong_calls(found.text.format(x=x), where)}; it is right {where}")
    if not found:
        return diagnosis("unknown", "unknown", about + UNKNOWN + _fraction(wrong, x) + invariant, **more)
    if found.place:
        more |= {"where": _shapes(found.place), "worst": worst_place([found.place], x)}
    also = [other for other in found.also if A_STEP not in other.text]
    more["alternatives"] = (*(other.name for other in also), *found.parts)
    said = ". Or it ".join([found.text, *(other.text.format(x=x) for other in also)])
    return diagnosis(found.family, "certain" if found.sure else "likely", about + said + invariant, found.hint, **more)


def _is_open(found: Mistake | None) -> bool:
    """Is nothing known, or no more than how it looks?"""
    return found is None or any(words in found.text for words in SYMPTOMS)


def _in_time(reference: Reference, look: Callable[[], Mistake | None]) -> Mistake | None:
    """What a look finds, or nothing, from then on, once a look was ended.

    Counts bound the calls of both rules and the loops in them. They cannot bound what a learner's rule has NumPy do in one call, such as
    the inverse of a large matrix: for such a rule there is a clock.
    """
    if reference.stopped:
        return None
    try:
        with limit(SECONDS, busy=True):
            return look()
    except TooLong:
        reference.stopped = True
        forget()  # what was half worked out
        return None


def _shapes(o: Observation) -> str:
    shapes = [f"{x} {o.shape(x)}" for x in o.reference.inputs]
    return ", ".join(shapes + [f"{k}={o.settings[k]!r}" for k in o.reference.settings if k in o.settings])


def _fraction(wrong: list[Observation], x: str) -> str:
    got, want = wrong[0].got[x], wrong[0].want[x]
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
        axis = o.names.get("axis") if "axis" in o.reference.settings else -1
        if isinstance(axis, int) and not -o.want[x].ndim <= axis < o.want[x].ndim:  # an axis of the result
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


@quiet
def mistake(observations: list[Observation], x: str) -> Mistake | None:
    """First the formula, on calls where x is not stretched; then, given the formula, the sum over stretched axes."""
    plain = [o for o in observations if not _is_stretched(o, x)]
    rule = None
    if not plain:  # x is stretched in every call: what was done to it is asked first
        stretched = [o for o in observations if error_of(o, x) > TOLERANCE]
        return patterns.find_exchange(stretched, x) or _summing_mistake(stretched, x) or _rule_mistake(observations, x)
    if any(error_of(o, x) > TOLERANCE for o in plain if not o.failed):
        rule = _rule_mistake(plain, x)
        if rule is None or rule.predict is None:
            return rule
    stretched = [o for o in observations if not o.failed and _is_stretched(o, x) and error_of(o, x) > TOLERANCE]
    if rule is None and (found := patterns.find_exchange(stretched, x)):
        return found
    if rule and rule.family == "swapped" and stretched and patterns.find_exchange(stretched, x):
        return replace(rule, sure=True)
    summing = _summing_mistake(stretched, x, rule.predict if rule else None)
    if rule is None or summing is None:
        return rule or summing
    return replace(rule, text=f"{rule.text}; besides, it {summing.text}", sure=rule.sure and summing.sure)


def _rule_mistake(plain: list[Observation], x: str) -> Mistake | None:
    """The first explanation that fits: a factor, a family's prediction, a sum, a pattern in the Jacobian, a condition."""
    answered = [o for o in plain if not o.failed]
    failed = [o for o in plain if o.failed]
    wrong = sorted((o for o in answered if error_of(o, x) > TOLERANCE), key=lambda o: o.want[x].size + o.out.size)
    several, everywhere = len(wrong) > 1, len(wrong) > 1 and not failed
    if all(o.got[x].size == o.want[x].size and close(o.got[x].reshape(o.want[x].shape), o.want[x]) for o in answered):
        return Mistake("flattened", "has the right numbers in the wrong shape", several)
    if all(patterns.is_thin(o, x) for o in wrong):
        return Mistake("not spread", "has the right numbers and is not spread over the entries that share them", several)
    if found := patterns.find_nan(wrong, x) or digits.find_lost_digits(answered, x) or _stacked(wrong, x):
        return found
    _remember(wrong, plain, x)
    wrong = [o for o in wrong if np.isfinite(o.got[x]).all()] or wrong  # a division by 0 in one call hides what is wrong in all
    factor = constant_factor(wrong, x)
    if found := find_same_slip(wrong, x) or find_same_forward(wrong, x):
        return found
    if found := patterns.find_tie(wrong, x) or find_permutation(wrong, x) or find_matrix_series(wrong, x):
        return found
    right = [o for o in answered if o not in wrong]
    (family, *others), consistent = family_of(wrong, right, x, bool(factor and factor.sure)) or ((None,), False)
    if family and family.name == "places":  # a term that is left out is likelier
        family, *others = sorted([family, *others], key=lambda f: f.name != "term")
    if left_out := next((f for f in (family, *others) if f and f.text.startswith(A_TERM)), None):  # which is simpler than a wrong factor
        family, others = left_out, [f for f in (family, *others) if f.name not in OF_A_FACTOR and f is not left_out]
    if family and family.name == "upstream ignored" and digits.hears(wrong[0], x):  # then it is not g that is lost
        if found := digits.find_cut_g(wrong, x):
            return found
        consistent = False
    for o in wrong:
        o.memo["explained"] = [family, *others] if family else o.memo.get("explained", [])
    if family and family.name == "diagonal only" and others and others[0].text.startswith(ONE_HALF):
        family, others = others[0], []  # which says why
    doubtful = all(_is_doubtful(other) for other in (family, *others))
    looks = (find_scan, find_iteration, find_fixed_setting, find_recurrence) if doubtful and not (factor and factor.sure) else ()
    if found := _first(looks, wrong, x):
        slip = find_tape_slip(wrong, x) if any(words in found.text for words in OF_A_STEP) else None
        if slip and STATE_AFTER in found.text and slip.family == "variable":  # which says the same
            slip = None
        return slip or replace(found, sure=found.sure and everywhere)
    if family and not wrong[0].reference.elementwise and (family.name in OF_ITS_OWN or family.text.endswith(NOTHING)):
        if (found := find_recurrence(wrong, x)) and found.text.startswith(LACKS):
            return replace(found, family="diagonal only", sure=everywhere, parts=(family.name, "term"))
    if doubtful and (found := _shared(wrong, x)):
        return replace(found, sure=found.sure and everywhere)
    if family and family.name == "not summed" and (found := find_normalisation(wrong, x)):
        return replace(found, sure=found.sure and everywhere)
    if family:
        consistent &= all(not gives_an_answer(family, o, x) for o in failed)
        sure = several and consistent and not others and family.exact and family.name not in VAGUE
        if wrong[0].reference.elementwise and (other := _other_reading(family, wrong, x)):
            return Mistake(family.name, f"{family.text.format(x=x)}, or it {other.text}", False, family.predict, parts=(other.name,))
        piecewise = ALSO_A_PIECE if wrong[0].reference.elementwise else set[str]()
        if all(f.name in piecewise for f in (family, *others)) and (piece := find_regions(wrong, x)):
            if others:  # what is seen of the numbers goes before the formulas that give them
                return replace(piece, sure=False, also=(family,))
            others, sure = [Family(piece.family, piece.text, family.predict)], False
        elif not others and family.name in ALSO_A_STEP and (found := find_recurrence(wrong, x)):
            others, sure = [Family(found.family, found.text, family.predict)], False
        elif not others and family.name == "variable" and (slip := _other_slip(wrong, x)):
            return replace(slip, sure=False, also=(family,))
        elif others and IN_A_LETTER in family.text and (measure := find_measure(wrong, x)):
            return replace(measure, sure=False)
        elif INTERMEDIATE in family.text and (measure := find_measure(wrong, x)):
            return replace(measure, sure=measure.sure and sure)
        elif family.name in ALSO_A_MEASURE and (measure := find_measure(wrong, x)):
            return replace(measure, sure=False, also=(family,))
        elif family.name in PERHAPS_IN_A_PIECE[sure] and (piece := find_regions(wrong, x)):
            text = f"{family.text.format(x=x)}; it {piece.text}"
            return Mistake(family.name, text, sure, family.predict, also=tuple(others), hint=family.hint)
        return Mistake(family.name, family.text.format(x=x), sure, family.predict, also=tuple(others), hint=family.hint)
    if not factor and wrong[0].reference.elementwise and (number_of_g := number_times_g(wrong, x)):
        return Mistake("upstream only", f"is {number(number_of_g)} times g: a number stands where the local derivative belongs", everywhere)
    if factor and (found := patterns.seen_in_all(wrong, x, patterns.find_average)):
        return replace(found, sure=everywhere)
    root = bool(factor and ROOT in factor.text)  # what also fits a root is not looked for among other numbers
    if factor and (right or not factor.sure) and not root:
        if fixed := fixed_number(answered, x, numbers := written_numbers(wrong[0])):
            return Mistake("constant", fixed, everywhere and numbers is not None, hint="fixed size")
        if right and (exchanged := other_size(answered, x)):
            return Mistake("constant", exchanged, hint="size")
    if factor and OF_RESULT[0] in factor.text and (missing := find_last_step(wrong, x)):
        text = f"{missing}: {factor.text.removeprefix('is the right one ')}"
        return replace(factor, text=text, sure=factor.sure and everywhere, hint="factor")
    if (
        factor
        and not root
        and (not factor.sure or not several or factor.text.endswith("everywhere"))
        and (found := find_call_factor(wrong, x))
    ):
        return replace(found, sure=found.sure and everywhere)
    if factor and not factor.sure and all(o.want[x].size == 1 for o in wrong) and (found := find_tape_slip(wrong, x)):
        return found  # one number is always a multiple of another
    if factor and not factor.sure and not root and (found := find_measure(wrong, x)):
        return replace(found, sure=found.sure and everywhere)
    if factor and right:
        return replace(factor, text=f"{factor.text}, in the calls where it is wrong", sure=False)
    if factor:
        return replace(factor, sure=factor.sure and everywhere and INSTEAD not in factor.text)
    if found := find_other_norm(wrong, x) or patterns.find_held_extreme(wrong, x):
        return replace(found, sure=found.sure and everywhere)
    half = ("symmetric part", x) in wrong[0].memo  # all that is asked of whole answers was asked before
    if found := None if half else find_products(wrong, x, [*right, *failed]):
        return replace(found, sure=found.sure and everywhere)
    if found := None if half else find_as_of_numbers(wrong, x):
        return found
    if found := find_scalar_rule(wrong, x):
        return replace(found, sure=found.sure and everywhere)
    if found := patterns.find_fixed_size(wrong, x) or find_scan(wrong, x) or find_normalisation(wrong, x) or find_entries(wrong, x):
        return replace(found, sure=found.sure and everywhere)
    if found := find_windows(wrong, x):
        return replace(found, sure=found.sure and several)
    if found := patterns.find_overwritten(wrong, x):
        return replace(found, sure=found.sure and everywhere)
    if all(patterns.is_surplus(o, x) for o in wrong):
        text = f"is right where it should not be 0, and not 0 elsewhere: it also reaches entries of {x} that the result does not depend on"
        piece = find_regions(wrong, x)
        return Mistake("mask", f"{text}; it {piece.text}" if piece else text)
    if found := patterns.seen_in_all(wrong, x, patterns.find_reduction):
        return replace(found, sure=everywhere and ALIKE not in found.text)  # a mask that is missing looks the same
    if found := find_series(wrong, x) or patterns.find_g_unused(wrong, x):
        return replace(found, sure=found.sure and everywhere)
    if found := patterns.find_part_without_g(wrong, x):
        return found
    where = places(answered, x)
    if where and not (wrong[0].reference.elementwise and "something else" in where):
        return Mistake("places", where, everywhere)
    if found := find_regions(wrong, x):
        return replace(found, sure=found.sure and everywhere)
    if where:
        return Mistake("places", where, everywhere)
    if found := one_for_all(wrong, x):
        return replace(found, sure=found.sure and everywhere)
    if found := (wrong[0].reference.elementwise and other_operation(wrong, x)) or find_measure(wrong, x) or known_function(wrong, x):
        return replace(found, sure=found.sure and everywhere)
    if found := patterns.find_nan(wrong, x, besides=True):
        return found
    if found := find_selection(wrong, x) or find_other_end(wrong, x) or find_order(wrong, x):
        return replace(found, sure=found.sure and everywhere)
    moved = patterns.find_move(wrong, x)
    if moved and patterns.WRONG_PLACES in moved.text and (found := patterns.find_in_jacobian(wrong, x, of_blocks)):
        return found
    if moved and (moved.sure or moved.family == "places"):
        elsewhere = (find_other_inputs, find_reshape) if patterns.WRONG_PLACES in moved.text else ()
        return _first(elsewhere, wrong, x) or replace(moved, sure=moved.sure and several)
    if found := _symmetrised(plain, x) or _spread(plain, x):
        return found
    seen = patterns.find_index(wrong, x) or patterns.find_in_jacobian(wrong, x)
    computations = (find_other_inputs, other_operation, find_reshape, find_tape_slip, find_terms)
    if not (seen and seen.sure) and (found := _first(computations, wrong, x)):
        return replace(found, sure=found.sure and not seen)
    pairs = (find_ends, patterns.find_offsets, find_slip_and_factor, find_wrong_link, find_two_slips)
    if not (seen and (seen.sure or seen.family in ONE_SENTENCE or seen.text.startswith(LEAVES_OUT))) and (found := _first(pairs, wrong, x)):
        return found
    if seen and not (moved and seen.family == "mask"):
        return replace(seen, sure=seen.sure and everywhere)
    return (
        moved or patterns.find_early_sum(wrong, x) or other_terms(wrong, x) or digits.find_cut_g(wrong, x)
        or patterns.find_g_dependence(wrong, x) or patterns.find_multiple_at_some_places(wrong, x)
        or patterns.find_factor_of_rows(wrong, x) or find_near_zero(wrong, x)
        or patterns.find_small_error(wrong, x)
        or (None if wrong[0].reference.elementwise else patterns.find_in_jacobian(wrong, x, weights))
    )  # fmt: skip


def find_wrong_link(wrong: list[Observation], x: str) -> Mistake | None:
    """The step of forward whose derivative is wrong, whatever it is."""
    return wrong_number(wrong, x) or wrong_weights(wrong, x) or patterns.find_in_jacobian(wrong, x, wrong_link)


def _shared(wrong: list[Observation], x: str) -> Mistake | None:
    """What belongs to a chosen entry and is given to others as well: there is more of it than there should be."""
    more = not wrong[0].reference.elementwise and any(np.count_nonzero(o.want[x]) < np.count_nonzero(o.got[x]) for o in wrong)
    return patterns.find_in_jacobian(wrong, x, shared) if more else None


def _first(looks: Iterable[Callable[..., Mistake | None]], wrong: list[Observation], x: str) -> Mistake | None:
    return next(filter(None, (look(wrong, x) for look in looks)), None)


def _other_reading(family: Family, wrong: list[Observation], x: str) -> Family | None:
    """The result of forward in the place of x, if that gives the same ones.

    The sign of abs(x) is 1, and 1 / x is its own inverse.
    """
    if family.name not in ("upstream only", "variable", "division") or family.text.startswith(AT_RESULT):
        return None
    other = Family("variable", f"{AT_RESULT} {x} belongs", _at_result)
    seen = replace(wrong[0], got={x: np.full_like(wrong[0].got[x], np.nan)}, memo={})
    return other if all(fits(other, o, x) for o in wrong) and np.isfinite(_at_result(seen, x)).any() else None


AT_RESULT = "uses the result of forward where"


def _at_result(o: Observation, x: str) -> np.ndarray:
    """The right gradient with the result of forward for the input, where that is in its domain, and there alone it may differ."""
    low, high = (o.reference.domain or {}).get(x) or (-np.inf, np.inf)
    if o.out.shape != o.want[x].shape:
        raise LookupError("they have different shapes")
    inside = (low <= o.out) & (o.out <= high)
    inputs = [np.where(inside, o.out, o.names[x]) if y == x else o.names[y] for y in o.reference.inputs]
    return np.where(inside, o.reference.gradient(x, o.g, o.reference.environment(inputs, o.settings)), o.got[x])


def _other_slip(wrong: list[Observation], x: str) -> Mistake | None:
    """Where values cancel out because one of them is exchanged, what is left looks as if a term had been left out; which is likelier."""
    slip = None if wrong[0].reference.elementwise else find_tape_slip(wrong, x)
    return slip if slip and slip.family != "variable" else None


def _is_doubtful(family: Family | None) -> bool:
    """May what is seen in a recurrence say it better than this?"""
    return family is None or family.name in VAGUE or not (family.exact or family.name in FACTS or family.name == "setting")


def _symmetrised(plain: list[Observation], x: str) -> Mistake | None:
    """Is the right one symmetric in all these calls, and what came back not? Then what is wrong with its symmetric part is asked."""
    answered = [o for o in plain if not o.failed]
    if ("symmetric part", x) in answered[0].memo or not all(_is_square(o.got[x]) and _is_square(o.want[x]) for o in answered):
        return None
    if not all(close(o.want[x], o.want[x].mT) for o in answered) or all(close(o.got[x], o.got[x].mT) for o in answered):
        return None
    if all(close(o.got[x] + o.got[x].mT, 2 * o.want[x]) for o in answered):
        return Mistake("transposed", f"is not symmetric, and its symmetric part is right: {SYMMETRIC}", len(answered) > 1, parts=("term",))
    if any(np.abs(o.got[x] + o.got[x].mT).max() <= 1e-9 * np.abs(o.got[x]).max() for o in answered):
        return None
    halves = [_as_if(o, x, lambda got, _: (got + got.mT) / 2 if _is_square(got) else got, ("symmetric part", x)) for o in answered]
    found = _rule_mistake(halves, x)
    return found and replace(found, text=f"{found.text}; besides, it is not symmetric: {SYMMETRIC}", sure=False, predict=None)


SYMMETRIC = "forward uses the symmetric part of its matrix alone, so entries [i, j] and [j, i] have equal shares"


def _is_square(a: np.ndarray) -> bool:
    return a.ndim > 1 and a.shape[-1] == a.shape[-2]


def _spread(plain: list[Observation], x: str) -> Mistake | None:
    """Does what came back lack entries in all these calls? Then what is wrong with it once it is spread over them is asked."""
    answered = [o for o in plain if not o.failed]
    if answered[0].reference.elementwise or not all(_may_be_spread(o.got[x], o.want[x].shape) for o in answered):
        return None
    whole = [_as_if(o, x, lambda got, shape: np.broadcast_to(got, shape).copy() if _may_be_spread(got, shape) else got) for o in answered]
    found = _rule_mistake(whole, x)
    if found is None or found.family in VAGUE:
        return None
    text = f"is not spread over the entries that each result is made of; besides, it {found.text}"
    return Mistake("not spread", text, parts=(found.family, *found.parts))


def _may_be_spread(got: np.ndarray, shape: tuple[int, ...]) -> bool:
    try:
        return got.shape != shape and np.broadcast_shapes(got.shape, shape) == shape
    except ValueError:
        return False


def _as_if(o: Observation, x: str, change: Callable[[np.ndarray, tuple[int, ...]], np.ndarray], known: Any = None) -> Observation:
    """The call as if the rule gave for x what `change` makes of its gradient and the shape of x; `known` is remembered of it."""
    place = o.reference.inputs.index(x)

    def changed(answer: dict[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
        return answer if answer[x] is None else {**answer, x: change(answer[x], np.shape(inputs[place]))}

    def asked(gs: Any, *at: Any) -> Any:
        assert o.ask is not None
        return (answers := o.ask(gs, *at)) and [changed(answer, at[0] if at else o.inputs) for answer in answers]

    return replace(o, got=changed(o.got, o.inputs), ask=o.ask and asked, memo={known: True} if known else {})


def _remember(wrong: list[Observation], every: list[Observation], x: str) -> None:
    """How large gradients are; and with what settings the other calls were made: a number written into a rule is right in one of them."""
    settings = list({repr(o.settings): o.settings for o in every}.values())
    sizes = [np.abs(o.want[x]).max(initial=0.0) for o in every if not o.failed]
    for o in wrong:
        o.memo["usual", x] = max((float(size) for size in sizes if np.isfinite(size)), default=0.0)
        o.memo["settings", "all"] = settings
        for name in o.settings:
            o.memo["settings", name] = [s[name] for s in settings if name in s]


# What is read off the numbers of a recurrence, and may be said better, or be chance.
OF_A_STEP = (WRONG_FACTOR, STATE_AFTER, "; besides")

IN_A_LETTER = ", in "  # a slip in one part of a formula may be a factor of the whole, which is simpler to say

# Where the result of forward is x itself, or a constant, in a piece of its own, these are two ways to say it.
ALSO_A_PIECE = {"variable", "function", "forward", "applied twice", "mask from g"}

# What a normalisation makes of its own result is that result again: there another value is a factor, such as 1 / std.
ALSO_A_MEASURE = {"variable", "applied twice"}

# What a recurrence that passes nothing back looks like.
OF_ITS_OWN = {"upstream only", "diagonal only"}
NOTHING = " were 0"

# In a recurrence, g before it is carried back and an input before it is carried on give one sum: two ways to say it.
ALSO_A_STEP = {"variable", "upstream only", "elementwise"}

# A wrong number or condition in one piece is said with that piece, by whether the explanation is sure.
PERHAPS_IN_A_PIECE = {True: {"number", "step"}, False: {"number", "step", "mask", "constant", "factor", "term", "term sign"}}


def _odd_in_a_stack(wrong: list[Observation], x: str) -> list[Observation]:
    """The calls with more axes, if it has another number of entries there and nowhere else."""
    axes = [max(map(np.ndim, o.inputs)) for o in wrong]
    odd = [o.got[x].size != o.want[x].size for o in wrong]
    return [o for o, is_odd in zip(wrong, odd, strict=True) if is_odd] if odd == [n > min(axes) for n in axes] else []


def _stacked(wrong: list[Observation], x: str) -> Mistake | None:
    """More axes than the input has, in the calls with a stack of them: one gradient for each part, not their sum."""
    deep = [o for o in wrong if o.got[x].ndim > o.want[x].ndim]
    if not deep and (odd := _odd_in_a_stack(wrong, x)):
        found = _rule_mistake([o for o in wrong if o not in odd], x)
        return found and replace(found, text=f"{found.text}; in a stack it has another shape besides", sure=False)
    if not deep or wrong[0].reference.elementwise:
        return None
    rest = [o for o in wrong if o not in deep]
    found = _rule_mistake(rest, x) if rest else None
    if not rest and (summed := patterns.seen_in_all(deep, x, patterns.find_reduction)):
        return replace(summed, sure=summed.sure and len(deep) > 1)
    if not all(close(o.got[x].sum(tuple(range(o.got[x].ndim - o.want[x].ndim))), o.want[x]) for o in deep):
        return found and replace(found, text=f"{found.text}; in a stack it has another shape besides", sure=False)
    if rest:
        return found and replace(found, sure=False)
    axes = axes_in_words(range(deep[0].got[x].ndim - deep[0].want[x].ndim))
    text = f"is not summed over {axes}: it has a part of its own for each entry of the batch, and not the shape of {x}"
    return Mistake("not summed", text, len(deep) > 1)


OF_A_FACTOR = {"variable", "factor", "early sum", "places"}
ONE_SENTENCE = {"mask", "diagonal only", "overwritten", "places"}  # read from a Jacobian, and simpler than two mistakes


def _summing_mistake(stretched: list[Observation], x: str, predict: Callable | None = None) -> Mistake | None:
    """What was done to the full gradient, that of a rule with this mistake or the right one, instead of summing it."""
    found: list[tuple[Mistake | None, Observation]] = []
    for o in stretched:
        raw = np.broadcast_to(o.reference.raw(x, o.g, o.names), o.out.shape)
        unsummed = replace(o, names={**o.names, f"{x}_shape": o.out.shape}, want=Right(o.want.__getitem__, {x: raw}))
        try:
            full = np.asarray(predict(unsummed, x)) if predict else raw
            if full.shape == o.shape(x) and o.gave(x, full):  # summed already
                continue
            full = np.broadcast_to(full, o.out.shape)
            found.append((reduction(o.got[x], full, o.shape(x)) or (None if predict else early_unbroadcast(o, x)), o))
        except Exception:  # the mistake in the formula says nothing about these shapes
            found.append((None, o))
    known = [(f, o) for f, o in found if f]
    if not known:
        return None
    first, o = known[0]
    text = f"{first.text}: {x} has shape {o.shape(x)}, and forward stretched it to {o.out.shape}"
    return Mistake(first.family, text, all(f and f.family == first.family for f, _ in found), place=o, hint=first.hint)


def _is_stretched(o: Observation, x: str) -> bool:
    return o.reference.elementwise and bool(stretched_axes(o.shape(x), o.out.shape))
