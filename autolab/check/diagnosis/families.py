"""The mistakes that people make in backward rules, each as a prediction of what the wrong rule returns.

A family says: if this is the mistake, then the gradient is exactly that array. Predictions are compared with what came
back, on real random numbers and several draws, so a match is a fact about the rule and not a guess about its author. A
prediction that raises is none: the mistake cannot be made there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain as chained
from itertools import combinations
from typing import Any

import numpy as np

from ..run.observation import Observation, close
from ..run.reference import Reference, sum_to
from .family import Family, Remembered
from .formulas.equivalent_formulas import equivalent_formulas
from .formulas.expressions import Values
from .formulas.factorisations import factor_formulas, mistaken_factors
from .formulas.misconceptions import misconceptions
from .formulas.mutants import mutants, value_in_words
from .formulas.sources import source_formula
from .formulas.spectral import mistaken_spectra
from .gradients.jacobian_rows import right_rows
from .gradients.scaling import POWERS
from .replays.axes import other_axes
from .replays.chains import chains
from .replays.choices import choices
from .replays.early_sums import early_sums
from .replays.halves import halves
from .replays.jumps import jumps
from .replays.loops import last_turns, loops_of
from .replays.other_entries import other_entries
from .replays.own_entries import own_entries
from .replays.partners import partners
from .replays.powers import powers
from .replays.settings import other_settings
from .replays.shares import shares
from .replays.sigmoids import sigmoid_slopes
from .replays.sizes import other_sizes
from .replays.stepwise import Chain, ChainSlip, slips
from .replays.triangles import other_triangles
from .replays.turns import other_turns
from .shapes import axes_in_words


def families(first: Observation, x: str, calls: bool = True, explained: Callable[[], bool] = bool) -> Iterator[Family]:
    """Everything that may have gone wrong in the rule for `x`, the simplest explanation first.

    `first`: an observation of it; the steps of the operation are looked up there. `calls`: also other settings and what may go
    wrong in a call of the right rule, of which only what explains `first` is given. `explained`: is one found already that is
    whole? Then no slip is looked for in the steps of the operation, which are more than half of all.
    """
    reference = first.reference
    plain, slips_of_pen = _kept(first, x)
    yield from about_g(reference)
    yield from plain
    vague = []
    for family in slips_of_pen:
        if family.name in VAGUE:
            vague.append(family)
        else:
            yield family
    if calls:
        yield from other_settings(first, x)
    if reference.function:  # nothing is known of it but its steps
        yield from _about_chains(first, x)
    yield from _about_result(reference, x)
    yield from _about_siblings(reference, x)
    if not reference.function and not explained():
        yield from _about_chains(first, x)
    yield from _about_shape(reference)
    if calls and not reference.elementwise:
        yield from _about_neighbours(first, x)
    for look in (other_turns, other_triangles, other_sizes, early_sums, other_axes) if calls else ():
        yield from look(first, x)
    yield from _about_factors(reference, (1, -1, 2, -2))
    yield Family(
        "extra term",
        "is the right one plus g: g is added where it should not be, or a term that takes it off is missing",
        lambda o, x: o.want[x] + o.g,
    )
    less = "is the right one minus g: a term with g is missing, or g is subtracted where it should not be"
    yield Family("extra term", less, lambda o, x: o.want[x] - o.g)
    yield from vague


def same_mistake(first: Observation, x: str, known: Family) -> Iterator[Family]:
    """A mistake in the gradient for another input, made in that for `x`: what is found late for the one is tried first for the other."""
    every = other_axes(first, x) if known.name == "axis" else _kept(first, x)[1] if known.exact else _about_chains(first, x)
    return (family for family in every if (family.name, family.text) == (known.name, known.text))


def _kept(first: Observation, x: str) -> tuple[Iterable[Family], Iterable[Family]]:
    """What rests on the right answer alone, made once."""
    if ("families", x) not in first.about_right:
        first.about_right["families", x] = tuple(Remembered(part) for part in _of_right(first, x))
    return first.about_right["families", x]


def _of_right(first: Observation, x: str) -> tuple[Iterator[Family], Iterator[Family]]:
    """What rests on the right answer alone: about places and values, and the slips in the formula."""
    reference = first.reference
    plain = chained(
        _about_places(first, x),
        _about_misconceptions(reference, x),
        mistaken_factors(first, x),
        mistaken_spectra(first, x),
        _about_values(reference, x),
        _about_settings(first),
    )
    slips_of_pen = chained(_about_formula(reference, x), _about_equivalent_formulas(first, x))
    return _marked(plain), _marked(slips_of_pen)


def _marked(every: Iterator[Family]) -> Iterator[Family]:
    for family in every:
        family.of_right = True
        yield family


VAGUE = {"step"}


# What several predictions are made of.


def _only(possible: Any, value: Any) -> Any:
    """The value, where the mistake is possible."""
    if not possible:
        raise LookupError("this mistake cannot be made here")
    return value


def _rule(o: Observation, x: str, /, g: Any = None, **names: Any) -> np.ndarray:
    """The right rule with other values in it, summed as it should be."""
    value = o.reference.raw(x, o.g if g is None else g, {**o.names, **names})
    return sum_to(value, o.shape(x)) if o.reference.elementwise else value


def _raw(o: Observation, x: str) -> np.ndarray:
    """The right gradient before any axis is summed."""
    if (key := ("raw", x, *(o.shape(y) for y in o.reference.inputs))) not in o.about_right:
        o.about_right[key] = o.reference.raw(x, o.g, o.names)
    return o.about_right[key]


def _summed(o: Observation, x: str, value: np.ndarray) -> np.ndarray:
    """Stretched to the result and summed to the shape of x, where that is how gradients are made."""
    return sum_to(np.broadcast_to(value, o.out.shape), o.shape(x)) if o.reference.elementwise else value


def _zero(o: Observation, x: str) -> np.ndarray:
    got = o.got[x]  # rounding may leave 1e-17 where two terms cancel
    return got if got.shape == o.want[x].shape and np.abs(got).max() <= 1e-12 * np.abs(o.want[x]).max() else 0 * o.want[x]


def _other_side(o: Observation, x: str) -> np.ndarray:
    """g where a mask lets nothing through."""
    return _only(o.g.shape == o.want[x].shape and np.all((o.want[x] == 0) | (o.want[x] == o.g)), o.g - o.want[x])


# The incoming gradient, whatever the formula is.

IN_PLACE_OF_G: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ones": np.ones_like, "square": np.square, "inverse": np.reciprocal, "size": np.abs, "sign": np.sign,
    "sum": lambda g: np.full_like(g, g.sum()), "mean": lambda g: np.full_like(g, g.mean()),
    "largest entry": lambda g: np.full_like(g, g.max()), "positive part": lambda g: np.where(g > 0, g, 0),
}  # fmt: skip


def _for_g(o: Observation, x: str, what: str) -> np.ndarray:
    """The right gradient for another g, those for all of the table at once: the engine goes back once."""
    if (key := ("for other g", x, o.shape(x))) not in o.about_right:
        gradients = o.reference.gradients(x, [change(o.g) for change in IN_PLACE_OF_G.values()], o.names)
        o.about_right[key] = dict(zip(IN_PLACE_OF_G, gradients, strict=True))
    return o.about_right[key][what]


ABOUT_G = (
    Family("zero", "is zero everywhere", _zero),
    Family("sign", "has the right size and the wrong sign, everywhere", lambda o, x: -o.want[x]),
    Family("upstream ignored", "does not depend on the incoming gradient g: it is the local derivative alone, as if g were 1 everywhere",
           lambda o, x: _for_g(o, x, "ones")),
    Family("upstream only", "is the incoming gradient g, unchanged: the local derivative is missing, "
           "and entries receive it that forward did not let through",
           lambda o, x: _only(np.any(_other_side(o, x)) and np.any(o.want[x]), o.g)),
    Family("upstream only", "is the incoming gradient g, unchanged: the local derivative is missing",
           lambda o, x: _only(o.g.shape == o.want[x].shape, o.g)),
    Family("upstream only", "is g, spread over all entries alike: the local derivative is missing",
           lambda o, x: _only(not o.reference.elementwise, np.broadcast_to(np.expand_dims(o.g, o.names["axis"]), o.want[x].shape))),
    Family("not spread", "is g with an axis of size 1 put back: it is not spread over the entries that went into it",
           lambda o, x: _only(o.g.ndim < o.want[x].ndim, np.expand_dims(o.g, o.names["axis"]))),
    Family("upstream ignored", "is 1 everywhere", lambda o, x: np.ones_like(o.want[x])),
    Family("upstream added", "is the local derivative plus the incoming gradient g; the chain rule multiplies them",
           lambda o, x: _for_g(o, x, "ones") + o.g),
)  # fmt: skip
ABOUT_SIZE_OF_G = (
    Family("upstream twice", "uses the incoming gradient g twice", lambda o, x: _for_g(o, x, "square")),
    Family("upstream twice", "divides by the incoming gradient g", lambda o, x: _for_g(o, x, "inverse")),
    Family("upstream size", "uses the size of g without its sign", lambda o, x: _for_g(o, x, "size")),
    Family("upstream size", "uses the sign of g without its size", lambda o, x: _for_g(o, x, "sign")),
    *(Family("upstream collapsed", f"uses one number, the {what} of g, where every entry of g belongs to its own place",
             lambda o, x, what=what: _for_g(o, x, what)) for what in ("sum", "mean", "largest entry")),
    Family("mask from g", "is g where g is positive and 0 elsewhere: the mask asks g instead of the forward values",
           lambda o, x: np.where(o.g > 0, o.g, 0)),
    Family("mask from g", "is right where g is positive and 0 elsewhere: the mask asks g",
           lambda o, x: _for_g(o, x, "positive part")),
)  # fmt: skip


def about_g(reference: Reference) -> Iterator[Family]:
    """What may go wrong with the incoming gradient, whatever the formula is."""
    yield from ABOUT_G
    for name in (*reference.inputs, "out"):
        yield Family("upstream ignored", f"uses {value_in_words(name)} where the incoming gradient g belongs",
                     lambda o, x, n=name: _only(np.shape(o.names[n]) == o.g.shape, _rule(o, x, np.asarray(o.names[n]))))  # fmt: skip
    yield from ABOUT_SIZE_OF_G


def _is_right(o: Observation, x: str) -> bool:
    """Is the gradient for another input right? Then it was not exchanged for this one."""
    got = o.got[x]
    return not o.reference.elementwise and got is not None and close(got, o.want[x])


def _about_values(reference: Reference, x: str) -> Iterator[Family]:
    yield Family("mask", "is 0 where it should be g and g where it should be 0: the mask is the wrong way round", _other_side)
    others = [name for name in reference.differentiable() if name != x]
    for other in others:
        text = f"is the one that {other} should receive"
        yield Family("swapped", text, lambda o, x, other=other: _only(not _is_right(o, other), o.want[other]))
        if reference.elementwise:  # or that, and not summed
            yield Family("swapped", text, lambda o, x, other=other: o.reference.raw(other, o.g, o.names))
        elif not reference.function:
            yield Family("elementwise", f"multiplies g and {other} entry by entry, and forward does more than that",
                         lambda o, x, other=other: _only(o.g.ndim and np.ndim(o.names[other]), o.g * o.names[other]))  # fmt: skip
    for index in (y for y in reference.inputs if y not in reference.differentiable() and not reference.elementwise):
        for by in (1, -1):
            text = f"is right for the entries {'after' if by > 0 else 'before'} those that {index} names: places are counted from 0"
            yield Family("places", text, lambda o, x, index=index, by=by: _beside(o, x, index, by))
    for other in others:
        text = f"is right where {{x}} and {other} are exchanged: each is where the other belongs"
        yield Family("swapped", text, lambda o, x, other=other: _exchanged(o, x, other))
    for other in (y for y in reference.inputs if y != x):
        for c, name, how in ((0, "variable", "were 0: it is left out"), (-1, "term sign", "had the other sign")):
            text = f"is what would be right if {other} {how}"
            yield Family(name, text, lambda o, x, other=other, c=c: _scaled(o, x, other, c))
    if others:
        # The table may write x / y as `out`: what is one power of y too few must not be called a wrong variable.
        yield from _about_factors(reference, (1, -1))
    if reference.elementwise and len(reference.inputs) == 2:
        a, b = reference.inputs
        for sign, operation in (("+", np.add), ("-", np.subtract), ("/", np.divide)):
            yield Family("operation", f"is g times ({a} {sign} {b})", lambda o, x, f=operation: sum_to(o.g * f(*o.inputs), o.shape(x)))
    if not reference.elementwise:
        for name in (*others, "g"):
            text = f"adds up {value_in_words(name)} over axis 0 before it is used"
            text += ": each part along that axis belongs to its own part of the result"
            yield Family("wrong axis", text, lambda o, x, n=name: _added_up(o, x, n))
    needs = reference.rules[x][1] if not reference.function else ()  # of a function, its chain knows
    for needed in needs:
        if needed != "out" and needed not in reference.inputs:
            continue
        for other in (*reference.inputs, "out", "g"):
            if other == needed:
                continue
            asks = other == "g" and set("<>") & set(reference.formulas.get(x, ""))
            text = f"uses {value_in_words(other)} where {value_in_words(needed)} belongs" + ": the mask asks g" * bool(asks)
            yield Family("mask from g" if asks else "variable", text,
                         lambda o, x, n=needed, m=other: _instead(o, x, n, m))  # fmt: skip
    if not reference.elementwise:
        text = "keeps only the effect of each entry on its own result; here every entry also changes the others"
        yield Family("diagonal only", text, _diagonal_only)
    if "out" in needs and len(reference.inputs) == 1:
        yield Family("applied twice", "uses forward applied twice: what forward saved was passed through the function again",
                     lambda o, x: _rule(o, x, out=np.asarray(o.reference.result((o.out,), o.settings))))  # fmt: skip


def _beside(o: Observation, x: str, index: str, by: int) -> np.ndarray:
    """The gradient as if an index named the entries beside those that it names; from the last one it goes on with the first."""
    t = np.asarray(o.names[index])
    n = next(n for n in reversed(_only(t.dtype.kind in "iu" and t.size, o.shape(x))) if n > t.max())
    inputs = [(t + by) % n if y == index else o.names[y] for y in o.reference.inputs]
    return o.reference.gradient(x, o.g, o.reference.environment(inputs, o.settings))


def _about_neighbours(first: Observation, x: str) -> Iterator[Family]:
    """Another input, each of its entries taken for the one beside it."""
    for y in first.reference.inputs:
        value = np.asarray(first.names[y])
        for by, where in ((1, "before"), (-1, "after")) if y != x and value.dtype.kind == "f" and value.ndim and len(value) > 2 else ():
            text = f"uses the entries of {y} one place {where} those that belong there, along its first axis"
            yield Family("places", text, lambda o, x, y=y, by=by: (
                _rule(o, x, **{y: np.roll(o.names[y], by, 0)})), exact=False)  # fmt: skip


def _exchanged(o: Observation, x: str, other: str) -> np.ndarray:
    """The gradient for x as if the two inputs had changed places."""
    inputs = {y: o.names[y] for y in o.reference.inputs} | {x: o.names[other], other: o.names[x]}
    _only(np.shape(o.names[x]) == np.shape(o.names[other]), inputs)
    names = o.reference.environment(list(inputs.values()), o.settings)
    return o.reference.gradient(x, _only(np.shape(names["out"]) == o.g.shape, o.g), names)


def _scaled(o: Observation, x: str, other: str, c: float) -> np.ndarray:
    """The gradient for x as if another input were a multiple of what it is; of the same shape, or it is a factor or a power."""
    value = np.asarray(o.names[other])
    _only(value.dtype.kind == "f" and value.ndim and value.shape == o.shape(x), value)
    found = o.reference.gradient(
        x, o.g, o.reference.environment([c * value if y == other else o.names[y] for y in o.reference.inputs], o.settings)
    )
    return _only(np.any(found) and not close(abs(found), abs(o.want[x])), found)


def _instead(o: Observation, x: str, needed: str, other: str) -> np.ndarray:
    """The gradient with another value in the place of one that counts. A value that is only compared with itself then is none."""
    if other == "g":
        alike = o.g.size > 1 or np.size(o.names[needed]) == 1  # one number for many cancels in a softmax, as any number does
        return _rule(o, x, **{needed: _only(alike and _counts(o, x, needed), o.g)})
    found = _rule(o, x, **{needed: _only(_counts(o, x, needed), o.names[other])})
    value = np.asarray(o.names[other])
    noise = np.resize(np.linspace(0.3, 2.7, 7), value.shape)
    return _only(value.dtype.kind != "f" or not close(_rule(o, x, **{needed: noise, other: noise}), found), found)


def _counts(o: Observation, x: str, name: str) -> bool:
    """Do the values under this name count in the rule, or its shape alone? Nobody takes another value for a shape."""
    if ("counts", x, name) not in o.about_right:
        value = np.asarray(o.names[name])
        noise = np.resize(np.linspace(0.3, 2.7, 7), value.shape) if value.dtype.kind == "f" else None
        o.about_right["counts", x, name] = noise is None or not close(_rule(o, x, **{name: noise}), o.want[x])
    return o.about_right["counts", x, name]


def _added_up(o: Observation, x: str, name: str) -> np.ndarray:
    value = np.asarray(o.g if name == "g" else o.names[name])
    value = _only(value.ndim > 1 and value.dtype.kind == "f", np.broadcast_to(value.sum(0, keepdims=True), value.shape))
    return _rule(o, x, value) if name == "g" else _rule(o, x, **{name: value})


def _diagonal_only(o: Observation, x: str) -> np.ndarray:
    n = _only(o.out.shape == o.want[x].shape and o.out.size <= 64, o.out.size)
    diagonal = [row.flat[i] for i, row in enumerate(right_rows(o, x, range(n)))]
    return o.g * np.reshape(diagonal, o.out.shape)


def _about_result(reference: Reference, x: str) -> Iterator[Family]:
    if reference.elementwise:
        yield Family("division", "is g divided by the derivative: they belong multiplied",
                     lambda o, x: _summed(o, x, o.g * o.g / _raw(o, x)))  # fmt: skip
    yield Family("forward", "is the result of forward, not a gradient", lambda o, x: o.out)
    if not reference.elementwise and len(reference.inputs) > 1:
        text = "is forward applied to g: it goes the way of forward, and backward goes from each result to what went into it"
        # A product with a transpose that is missing is the same.
        yield Family("transposed", text, lambda o, x: np.asarray(o.reference.result(
            [o.g if y == x else o.names[y] for y in o.reference.inputs], o.settings)), exact=False, hint="permutation")  # fmt: skip
    if len(reference.inputs) == 1:
        text, runs = "is forward applied to g; backward needs its derivative", False
        if not reference.elementwise:
            text = "is forward applied to g: it goes the way of forward, and backward goes from each result to what went into it"
            runs = reference.name in ("cumsum", "roll")  # one way along an axis
        yield Family("flipped" if runs else "forward", text, lambda o, x: np.asarray(o.reference.result((o.g,), o.settings)))
    yield Family("forward", "is g times the result of forward, where g times its derivative belongs", lambda o, x: o.g * o.out)


def _about_factors(reference: Reference, powers: tuple[int, ...]) -> Iterator[Family]:
    for name in (*reference.inputs, "out"):
        for power in powers:
            for sign in (1, -1):
                text = f"is {'minus ' * (sign < 0)}the right one {POWERS[power].format(value_in_words(name))}"
                yield Family("factor", text, lambda o, x, n=name, p=power, s=sign: sum_to(
                    s * _raw(o, x) * o.names[n] ** p, o.shape(x)))  # fmt: skip


def _about_settings(first: Observation) -> Iterator[Family]:
    for name, given in first.settings.items():
        if name not in ("axis", "dim") and not isinstance(given, bool) and isinstance(given, (int, float)):
            for sign in (1, -1) if isinstance(given, float) else ():
                text = f"leaves out the condition with {name}: it is what would be right if no number were beyond it"
                yield Family("setting", text, lambda o, x, n=name, s=sign: _beyond(o, x, n, s), hint="mask")
            for value in (0, 1, 2, *([-1] if isinstance(given, int) else ()), 0.5, 0.1, 0.01, 0.2, 3):
                yield Family("setting", f"does not use {name}: it is what would be right if {name} were {value}",
                             lambda o, x, n=name, v=value: _as_if(o, x, n, v))  # fmt: skip
    if "reduction" in first.settings:
        text = "takes a mean where forward takes a sum, and a sum where it takes a mean"
        yield Family("constant", text, lambda o, x: _as_if(o, x, "reduction", {"mean": "sum", "sum": "mean"}[o.settings["reduction"]]),
                     hint="setting")  # fmt: skip
        for reduction in ("mean", "sum"):
            yield Family("setting", f"does not use reduction: it is what belongs to {reduction!r}",
                         lambda o, x, v=reduction: _as_if(o, x, "reduction", v))  # fmt: skip


def _beyond(o: Observation, x: str, name: str, sign: int) -> np.ndarray:
    """What would be right if a setting were far away; of a limit, it is the same as soon as all numbers are within."""
    _only(np.isfinite(o.reference.result(o.inputs, {**o.settings, name: sign * 1e9})).all(), o)
    far = _as_if(o, x, name, sign * 1e9)
    within = sign * 20 * max(1.0, *(float(np.abs(a).max(initial=0.0)) for a in o.inputs))
    return _only(o.gave(x, far) and np.allclose(far, _as_if(o, x, name, within), rtol=1e-9, atol=1e-12), far)


def _as_if(o: Observation, x: str, name: str, value: Any) -> np.ndarray:
    """What would be right if a setting were another."""
    if _only(name in o.settings, o.settings)[name] == value:
        return o.want[x]
    names = o.reference.environment(o.inputs, {**o.settings, name: value})
    g = _only(names["out"].ndim == o.out.ndim, np.zeros_like(names["out"]))  # of another length: as far as it goes
    both = tuple(slice(min(n, m)) for n, m in zip(g.shape, o.g.shape, strict=True))
    g[both] = o.g[both]
    return o.reference.gradient(x, g, names)


def _about_shape(reference: Reference) -> Iterator[Family]:
    yield Family("not spread", "has the shape of the result: g has to reach every entry that went into it",
                 lambda o, x: _only(o.g.size < o.want[x].size, o.g))  # fmt: skip
    yield Family("not summed", "is g as it came: it is not summed to the shape of {x}",
                 lambda o, x: _only(o.g.size > o.want[x].size, o.g), exact=False)  # fmt: skip
    if not reference.elementwise:
        text = "is the sum of g along the axis, the same for all entries: each of them has a part in other results"
        yield Family("upstream collapsed", text, lambda o, x: _only(
            o.g.shape == o.want[x].shape, np.broadcast_to(o.g.sum(o.names["axis"], keepdims=True), o.g.shape)))  # fmt: skip
        text = "is g as it came, with the shape of the result: each entry has to go back to where it came from"
        yield Family("not spread", text, lambda o, x: o.g)
    yield Family("keepdims", "lays g along the last axis: the axis that forward removed was not put back in its place",
                 lambda o, x: _only("axis" in o.names and 0 < o.g.ndim < o.want[x].ndim,
                                    np.broadcast_to(o.g, o.want[x].shape)))  # fmt: skip


def _about_formula(reference: Reference, x: str) -> Iterator[Family]:
    def predict(o, x, wrong):
        if (key := ("rule", x, *(o.shape(y) for y in o.reference.inputs))) not in o.about_right:
            o.about_right[key] = Values(o.reference.names_of_rule(x, o.g, o.names))
        value = np.asarray(wrong.value(o.about_right[key]))
        return sum_to(value, o.shape(x)) if o.reference.elementwise else value

    if formula := reference.formulas.get(x):
        for mutant, wrong in mutants(formula, (*reference.inputs, "out", "g")):
            yield Family(mutant.family, f"is {mutant.text}", lambda o, x, wrong=wrong: predict(o, x, wrong))


def _about_misconceptions(reference: Reference, x: str) -> Iterator[Family]:
    for wrong, formula in misconceptions(reference.name, x, reference.inputs):
        yield Family(wrong.family, wrong.text, lambda o, x, f=formula: _summed(o, x, f.evaluate(o)), complete=True)


def _about_equivalent_formulas(first: Observation, x: str) -> Iterator[Family]:
    reference = first.reference

    def predict(o, x, formula, slip, letter):
        if (key := ("equal", x, formula)) not in o.about_right:
            value = formula.evaluate(o)
            o.about_right[key] = o.reference.elementwise or close(np.broadcast_to(value, o.want[x].shape), o.want[x])
        return _summed(o, x, _only(o.about_right[key], formula).evaluate(o, slip, letter))

    written = source_formula(reference, x)
    known = equivalent_formulas(reference.name, x, reference.inputs) or (factor_formulas(first, x) if reference.function else [])
    for formula in (*known, *([written] if written else [])):
        for mutant, slip, letter in formula.mutants():
            text = f"is {mutant.text}" + (f", in {value_in_words(letter)}" if letter else "")
            yield Family(mutant.family, text, lambda o, x, f=formula, s=slip, v=letter: predict(o, x, f, s, v))


LOOKS = (halves, own_entries, shares, other_entries, partners, sigmoid_slopes, choices, slips, jumps, powers)


def _about_chains(first: Observation, x: str) -> Iterator[Family]:
    for k, chain in enumerate(chains(first, x)):
        if chain is None:
            continue
        for slip in _looks(first, chain, x):
            elsewhere = partial(_elsewhere, chain, x, k, slip) if slip.step else None
            yield replace(_of_chain(slip, k, chain), elsewhere=elsewhere, step=slip.step)


def _looks(o: Observation, chain: Chain, x: str) -> Iterator[ChainSlip]:
    in_loops = o.reference.function and loops_of(o.reference)
    return chained(*(look(chain, x) for look in ((last_turns, *LOOKS) if in_loops else LOOKS)))


def _of_chain(slip: ChainSlip, k: int, first: Chain) -> Family:
    """A slip in the first call's chain; where another call takes other steps, by a branch, it is the slip of the same words there."""

    def predict(o: Observation, x: str) -> np.ndarray:
        chain = _same_chain(o, x, k)
        if chain.layout == first.layout or loops_of(o.reference):  # steps of several turns have the same words
            return slip.predict(chain)
        if (key := ("slips", x, k)) not in o.memo:
            o.memo[key] = {other.text: other for other in reversed([*_looks(o, chain, x)])}
        return o.memo[key][slip.text].predict(chain)

    return Family(slip.family, slip.text, predict, exact=False, complete=slip.complete)


def _elsewhere(chain: Chain, x: str, k: int, slip: ChainSlip, fits: Callable[[Family], bool]) -> list[str]:
    """The other steps in which the same slip explains it: not those on the way to its own or from there, which lose the same."""
    found = [slip]
    for other in slips(chain, x):
        if other.step and other.kind == slip.kind:
            ways = [(min(a.at, other.at), max(a.at, other.at)) for a in found]
            if not any(chain.leads_to(*way) for way in ways) and fits(_of_chain(other, k, chain)):
                found.append(other)
    return [other.step for other in found[1:]]


def _same_chain(o: Observation, x: str, k: int) -> Chain:
    """The same decomposition on other numbers, if it is one for these inputs."""
    chain = chains(o, x)[k]
    return _only(chain, chain)


# Operations whose derivatives are taken for one another.
SIBLINGS = {
    "softmax": ("log_softmax",), "log_softmax": ("softmax",), "std": ("var",), "var": ("std",), "sum": ("mean",), "mean": ("sum",),
    "amax": ("amin",), "amin": ("amax",), "cumsum": ("cumprod",), "tril": ("triu",), "triu": ("tril",),
}  # fmt: skip
CURVES = ("sigmoid", "tanh", "exp", "log", "sin", "cos", "sqrt", "reciprocal", "relu", "silu", "abs", "sinh", "cosh", "atan")
OTHER_AXIS = {"layer_norm": "batch_norm", "batch_norm": "layer_norm"}


def _about_siblings(reference: Reference, x: str) -> Iterator[Family]:
    """What would be right for another operation."""
    for formula in equivalent_formulas(OTHER_AXIS.get(reference.name, ""), x, reference.inputs):
        text = f"belongs to another axis: it normalises as {OTHER_AXIS[reference.name]} does"
        yield Family("axis", text, lambda o, x, f=formula: f.evaluate(o))
    alone = reference.elementwise and len(reference.inputs) == 1
    for other in SIBLINGS.get(reference.name, ()) or (CURVES if alone else ()):
        if other != reference.name:
            yield Family("function", f"is the gradient of {other}", lambda o, x, n=other: _gradient_of(n, o))
            if alone or other in SIBLINGS:
                yield Family("function", f"is what the rule of {other} gives", lambda o, x, n=other: _rule_of(n, o, x))


def _rule_of(other: str, o: Observation, x: str) -> np.ndarray:
    """The rule of another operation, on the values that this one saved."""
    reference = Reference.of(other)
    y = reference.inputs[0]
    value = reference.raw(y, o.g, {**o.names, y: o.names[x]})
    return sum_to(np.broadcast_to(value, o.out.shape), o.shape(x))


def _gradient_of(other: str, o: Observation) -> np.ndarray:
    reference = Reference.of(other)
    return reference.gradient(reference.inputs[0], o.g, reference.environment(o.inputs, o.settings))


def _about_places(first: Observation, x: str) -> Iterator[Family]:
    """The right numbers, or what they are made of, in other places."""
    reference = first.reference
    runs = "has its weights counted from the other end" if first.g.ndim < first.want[x].ndim else "runs backwards"
    yield Family("transposed", "is the right one transposed", lambda o, x: np.swapaxes(o.want[x], -1, -2))
    if reference.elementwise:
        return
    for count in (1, 2):
        for axes in combinations((-1, -2, -3), count):
            yield Family("flipped", f"{runs} along {axes_in_words(axes)}", lambda o, x, a=axes: np.flip(o.want[x], a))
    for name in ("g", *reference.inputs):
        for axes in ((-1,), (-2, -1), (-2,), (-3,)):  # the last: the matrices of a stack
            if name == "g":
                yield Family("flipped", f"takes g in the opposite order along {axes_in_words(axes)}",
                             lambda o, x, a=axes: _rule(o, x, np.flip(o.g, a)))  # fmt: skip
                continue
            yield Family("flipped", f"uses {name} the wrong way round (flipped) along {axes_in_words(axes)}",
                         lambda o, x, n=name, a=axes: _rule(o, x, **{n: np.flip(o.names[n], a)}))  # fmt: skip
    yield Family("permutation", "is moved by the permutation of forward, where its inverse belongs",
                 lambda o, x: np.transpose(o.g, o.names["axes"]))  # fmt: skip
