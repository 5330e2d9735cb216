"""The mistakes that people make in backward rules, each as a prediction of what the wrong rule returns.

A family says: if this is the mistake, then the gradient is exactly that array. Predictions are compared with what came
back, on real random numbers and several draws, so a match is a fact about the rule and not a guess about its author.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain as chained
from itertools import combinations
from typing import Any

import numpy as np

from ..run.observation import Observation, close
from ..run.reference import Reference, sum_to
from .equivalent_formulas import ways
from .misconceptions import beliefs
from .mutants import mutants
from .mutants import value_in_words as _value
from .scaling import axes_in_words
from .stepwise import Chain, chains, slips


@dataclass(frozen=True)
class Family:
    """A kind of mistake: its name, a sentence about the gradient of `{x}`, and the array it predicts."""

    name: str
    text: str
    predict: Callable[[Observation, str], Any]
    exact: bool = True  # whether it can be the only explanation; a slip in one way to spell an operation out cannot
    belief: bool = False  # a whole wrong formula, after which no other explanation is looked for


def families(first: Observation, x: str) -> Iterator[Family]:
    """Everything that may have gone wrong in the rule for `x`, the simplest explanation first.

    `first`: an observation of it; the steps of the operation are looked up there.
    """
    reference = first.reference
    yield from about_g(reference)
    yield from _about_places(reference)
    yield from _about_beliefs(reference, x)
    yield from _about_values(reference, x)
    yield from _about_settings(first)
    vague = []
    for family in chained(_about_formula(reference, x), _about_ways(reference, x)):
        if family.name in VAGUE:
            vague.append(family)
        else:
            yield family
    if reference.function:  # nothing is known of it but its steps
        yield from _about_chains(first, x)
    yield from _about_result(reference)
    yield from _about_siblings(reference, x)
    if not reference.function:
        yield from _about_chains(first, x)
    yield from _about_shape(reference)
    yield from _about_factors(reference, (1, -1, 2, -2))
    yield from _about_terms()
    yield from vague


VAGUE = {"step"}


def _rule(o: Observation, x: str, /, g: Any = None, **names: Any) -> np.ndarray:
    """The right rule with other values in it, summed as it should be."""
    value = o.reference.raw(x, o.g if g is None else g, {**o.names, **names})
    return sum_to(np.asarray(value), o.names[f"{x}_shape"]) if o.reference.elementwise else value


def about_g(reference: Reference) -> Iterator[Family]:
    """What may go wrong with the incoming gradient, whatever the formula is."""

    def ones(o):
        return np.ones_like(o.g)

    yield Family("zero", "is zero everywhere", _nothing)
    yield Family("sign", "has the right size and the wrong sign, everywhere", lambda o, x: -o.want[x])
    yield Family(
        "upstream ignored",
        "does not depend on the incoming gradient g: it is the local derivative alone, as if g were 1 everywhere",
        lambda o, x: _rule(o, x, ones(o)),
    )
    yield Family(
        "upstream only",
        "is the incoming gradient g, unchanged: the local derivative is missing, and entries receive it that forward did not let through",
        lambda o, x: o.g if np.any(_other_side(o, x)) and np.any(o.want[x]) else _no_such_setting(),
    )
    yield Family(
        "upstream only",
        "is the incoming gradient g, unchanged: the local derivative is missing",
        lambda o, x: o.g if o.g.shape == o.want[x].shape else _no_such_setting(),
    )
    if not reference.elementwise:
        yield Family(
            "upstream only",
            "is g, spread over all entries alike: the local derivative is missing",
            lambda o, x: np.broadcast_to(np.expand_dims(o.g, o.names["axis"]), o.want[x].shape),
        )
    yield Family(
        "not spread",
        "is g with an axis of size 1 put back: it is not spread over the entries that went into it",
        lambda o, x: np.expand_dims(o.g, o.names["axis"]) if o.g.ndim < o.want[x].ndim else _no_such_setting(),
    )
    yield Family("upstream ignored", "is 1 everywhere", lambda o, x: np.ones_like(o.want[x]))
    yield Family(
        "upstream added",
        "is the local derivative plus the incoming gradient g; the chain rule multiplies them",
        lambda o, x: _rule(o, x, ones(o)) + o.g,
    )
    for name in (*reference.inputs, "out"):
        text = f"uses {_value(name)} where the incoming gradient g belongs"
        yield Family("upstream ignored", text, lambda o, x, n=name: _with_as_g(o, x, n))
    yield Family("upstream twice", "uses the incoming gradient g twice", lambda o, x: _rule(o, x, o.g * o.g))
    yield Family("upstream twice", "divides by the incoming gradient g", lambda o, x: _rule(o, x, 1 / o.g))
    yield Family("upstream size", "uses the size of g without its sign", lambda o, x: _rule(o, x, np.abs(o.g)))
    yield Family("upstream size", "uses the sign of g without its size", lambda o, x: _rule(o, x, np.sign(o.g)))
    for what, number in (("sum", np.sum), ("mean", np.mean), ("largest entry", np.max)):
        yield Family(
            "upstream collapsed",
            f"uses one number, the {what} of g, where every entry of g belongs to its own place",
            lambda o, x, number=number: _rule(o, x, np.full_like(o.g, number(o.g))),
        )
    yield Family(
        "mask from g",
        "is g where g is positive and 0 elsewhere: the mask asks g instead of the forward values",
        lambda o, x: np.where(o.g > 0, o.g, 0),
    )
    yield Family(
        "mask from g", "is right where g is positive and 0 elsewhere: the mask asks g", lambda o, x: _rule(o, x, np.where(o.g > 0, o.g, 0))
    )


def _about_values(reference: Reference, x: str) -> Iterator[Family]:
    yield Family("mask", "is 0 where it should be g and g where it should be 0: the mask is the wrong way round", _other_side)
    others = [name for name in reference.differentiable() if name != x]
    for other in others:
        text = f"is the one that {other} should receive"
        yield Family("swapped", text, lambda o, x, other=other: o.want[other])
        if reference.elementwise:  # or that, and not summed
            yield Family("swapped", text, lambda o, x, other=other: o.reference.raw(other, o.g, o.names))
        if not reference.elementwise and not reference.function:
            yield Family(
                "elementwise",
                f"multiplies g and {other} entry by entry, as if forward did: forward multiplies matrices",
                lambda o, x, other=other: o.g * o.names[other],
            )
    if others:
        # The table may write x / y as `out`: what is one power of y too few must not be called a wrong variable.
        yield from _about_factors(reference, (1, -1))
    if reference.elementwise and len(reference.inputs) == 2:
        a, b = reference.inputs
        for sign, operation in MIXED.items():
            yield Family("operation", f"is g times ({a} {sign} {b})", lambda o, x, f=operation: sum_to(
                o.g * f(*(o.names[y] for y in o.reference.inputs)), o.names[f"{x}_shape"]))  # fmt: skip
    if not reference.elementwise:
        for name in (*others, "g"):
            text = f"adds up {_value(name)} over axis 0 before it is used: each part along that axis belongs to its own part of the result"
            yield Family("wrong axis", text, lambda o, x, n=name: _added_up(o, x, n))
    needs = reference.rules[x][1] if not reference.function else ()  # of a function, its chain knows
    for needed in needs:
        if needed != "out" and needed not in reference.inputs:
            continue
        for other in (*reference.inputs, "out", "g"):
            if other == needed:
                continue
            asks = other == "g" and set("<>") & set(reference.formulas.get(x, ""))
            yield Family(
                "mask from g" if asks else "variable",
                f"uses {_value(other)} where {_value(needed)} belongs" + ": the mask asks g" * bool(asks),
                lambda o, x, n=needed, m=other: _rule(o, x, **{n: o.g if m == "g" else o.names[m]}),
            )
    if not reference.elementwise:
        yield Family(
            "diagonal only",
            "keeps only the effect of each entry on its own result; here every entry also changes the others",
            _diagonal_only,
        )
    if "out" in needs and len(reference.inputs) == 1:
        yield Family(
            "applied twice",
            "uses forward applied twice: what forward saved was passed through the function again",
            lambda o, x: _rule(o, x, out=np.asarray(o.reference.result((o.out,), {k: o.names[k] for k in o.given}))),
        )


def _added_up(o: Observation, x: str, name: str) -> np.ndarray:
    value = np.asarray(o.g if name == "g" else o.names[name])
    if value.ndim < 2 or value.dtype.kind != "f":
        raise ValueError("no stack")
    value = np.broadcast_to(value.sum(0, keepdims=True), value.shape)
    return _rule(o, x, value) if name == "g" else _rule(o, x, **{name: value})


MIXED = {"+": np.add, "-": np.subtract, "/": np.divide}


def _about_result(reference: Reference) -> Iterator[Family]:
    yield Family("division", "is g divided by the derivative: they belong multiplied", _upside_down)
    yield Family("forward", "is the result of forward, not a gradient", lambda o, x: o.out)
    if len(reference.inputs) == 1 and reference.elementwise:
        yield Family("forward", "is forward applied to g; backward needs its derivative", _forward_of_g)
    elif len(reference.inputs) == 1:
        text = "is forward applied to g: it goes the way of forward, and backward goes from each result to what went into it"
        runs = reference.name in ("cumsum", "roll")  # one way along an axis
        yield Family("flipped" if runs else "forward", text, _forward_of_g)
    yield Family("forward", "is g times the result of forward, where g times its derivative belongs", lambda o, x: o.g * o.out)


HOW = {1: "times", -1: "divided by", 2: "times the square of", -2: "divided by the square of"}


def _about_factors(reference: Reference, powers: tuple[int, ...]) -> Iterator[Family]:
    for name in (*reference.inputs, "out"):
        for power in powers:
            for sign in (1, -1):
                yield Family(
                    "factor",
                    f"is {'minus ' * (sign < 0)}the right one {HOW[power]} {_value(name)}",
                    lambda o, x, n=name, p=power, s=sign: sum_to(
                        s * o.reference.raw(x, o.g, o.names) * o.names[n] ** p, o.names[f"{x}_shape"]
                    ),
                )


def _with_as_g(o: Observation, x: str, name: str) -> np.ndarray:
    """The right rule with another array in the place of g."""
    value = np.asarray(o.names[name])
    if value.shape != o.g.shape:
        raise ValueError("of another shape than g")
    return _rule(o, x, value)


def _upside_down(o: Observation, x: str) -> np.ndarray:
    if not o.reference.elementwise:
        raise ValueError("no derivative of its own for each entry")
    raw = o.reference.raw(x, o.g, o.names)
    return sum_to(np.broadcast_to(o.g * o.g / raw, o.out.shape), o.names[f"{x}_shape"])


def _other_axis(o: Observation, x: str, axis: int | None) -> np.ndarray:
    """The local derivative as if forward had gone along another axis, and its own g for each entry."""
    given = {name: o.names[name] for name in o.given}
    own = given["axis"]
    if axis == own or not isinstance(own, int):
        raise LookupError("that is its axis")
    reference, inputs = o.reference, [o.names[y] for y in o.reference.inputs]
    names = reference.environment(inputs, {**given, "axis": axis})
    local = reference.raw(x, np.ones_like(names["out"]), names)
    g = o.g if o.g.shape == o.want[x].shape else np.expand_dims(o.g, own)
    return g * local


def _as_if(o: Observation, x: str, name: str, value: Any) -> np.ndarray:
    """What would be right if a setting were another number."""
    if name not in o.given:
        raise LookupError("no such setting")
    if o.names[name] == value:
        return o.want[x]
    given = {n: o.names[n] for n in o.given}
    names = o.reference.environment([o.names[y] for y in o.reference.inputs], {**given, name: value})
    if names["out"].ndim != o.out.ndim:
        raise ValueError("another shape")
    g = np.zeros_like(names["out"])  # of another length: as far as it goes
    both = tuple(slice(min(n, m)) for n, m in zip(g.shape, o.g.shape, strict=True))
    g[both] = o.g[both]
    return o.reference.gradient(x, g, names)


def _about_settings(first: Observation) -> Iterator[Family]:
    for name in first.given:
        if name == "axis" or isinstance(first.names[name], bool) or not isinstance(first.names[name], (int, float)):
            continue
        for value in (0, 1, 2, -1, 0.5, 0.1, 0.01, 0.2, 3):
            yield Family("setting", f"does not use {name}: it is what would be right if {name} were {value}",
                         lambda o, x, n=name, v=value: _as_if(o, x, n, v))  # fmt: skip
    if "reduction" in first.given:
        for value in ("mean", "sum"):
            yield Family("setting", f"does not use reduction: it is what belongs to {value!r}",
                         lambda o, x, v=value: o.want[x] if o.names["reduction"] == v else _as_if(o, x, "reduction", v))  # fmt: skip


def _forward_of_g(o: Observation, x: str) -> np.ndarray:
    settings = {name: o.names[name] for name in o.given}
    return np.asarray(o.reference.result((o.g,), settings))


def _about_terms() -> Iterator[Family]:
    yield Family("extra term", "is the right one plus g: g is added once too often", lambda o, x: o.want[x] + o.g)
    yield Family("extra term", "is the right one minus g: g is subtracted where it should not be", lambda o, x: o.want[x] - o.g)


def _about_shape(reference: Reference) -> Iterator[Family]:
    yield Family(
        "not spread",
        "has the shape of the result: g has to reach every entry that went into it",
        lambda o, x: o.g if o.g.size < o.want[x].size else _no_such_setting(),
    )
    yield Family(
        "not summed",
        "is g as it came: it is not summed to the shape of {x}",
        lambda o, x: o.g if o.g.size > o.want[x].size else _no_such_setting(),
        exact=False,
    )
    if not reference.elementwise:
        yield Family("not spread", "is g as it came, with the shape of the result: each entry has to go back to where it came from",
                     lambda o, x: o.g)  # fmt: skip
    yield Family("keepdims", "lays g along the last axis: the axis that forward removed was not put back in its place",
                 lambda o, x: np.broadcast_to(o.g, o.want[x].shape)
                 if 0 < o.g.ndim < o.want[x].ndim and "axis" in o.names else _no_such_setting())  # fmt: skip
    for axis in (None, 0, 1, -1, -2):
        yield Family(
            "axis",
            "is what belongs to another axis",
            lambda o, x, axis=axis: _rule(o, x, axis=axis if "axis" in o.names else _no_such_setting()),
        )
    yield Family("axis", "is what belongs to the other axis",
                 lambda o, x: _rule(o, x, axis=1 - o.names["axis"] % 2 if o.want[x].ndim > 1 else _no_such_setting()))  # fmt: skip
    for axis in (None, 0, -1):
        text = f"belongs to another axis: its derivative is taken {'over everything' if axis is None else f'along axis {axis}'}"
        yield Family("axis", text, lambda o, x, axis=axis: _other_axis(o, x, axis))


def _about_formula(reference: Reference, x: str) -> Iterator[Family]:
    def predict(o, x, code):
        value = o.reference.evaluate(x, code, o.g, o.names)
        return sum_to(value, o.names[f"{x}_shape"]) if o.reference.elementwise else value

    if formula := reference.formulas.get(x):
        for mutant, code in mutants(formula, (*reference.inputs, "out", "g")):
            yield Family(mutant.family, f"is {mutant.text}", lambda o, x, code=code: predict(o, x, code))


def _about_beliefs(reference: Reference, x: str) -> Iterator[Family]:
    for belief, way in beliefs(reference.name, x, reference.inputs):

        def predict(o, x, way=way):
            value = way.evaluate(o)
            if not o.reference.elementwise:
                return value
            return sum_to(np.broadcast_to(value, o.out.shape), o.names[f"{x}_shape"])

        yield Family(belief.family, belief.text, predict, belief=True)


def _about_ways(reference: Reference, x: str) -> Iterator[Family]:
    right: dict[tuple[int, int], bool] = {}
    for k, way in enumerate(ways(reference.name, x, reference.inputs)):

        def predict(o, x, way=way, code=None, letter="", k=k):
            if (id(o), k) not in right:
                value = way.evaluate(o)
                right[id(o), k] = close(np.broadcast_to(value, o.want[x].shape), o.want[x]) if not o.reference.elementwise else True
            if not right[id(o), k]:
                raise LookupError("this way is not one for these inputs")
            value = way.evaluate(o, code, letter)
            if not o.reference.elementwise:
                return value
            return sum_to(np.broadcast_to(value, o.out.shape), o.names[f"{x}_shape"])

        for mutant, code, letter in way.slips():
            text = f"is {mutant.text}" + (f", in {_value(letter)}" if letter else "")
            yield Family(mutant.family, text, lambda o, x, p=predict, c=code, v=letter: p(o, x, code=c, letter=v))


def _about_chains(first: Observation, x: str) -> Iterator[Family]:
    for way, spelled in enumerate(chains(first, x)):
        for slip in slips(spelled, x) if spelled else ():
            yield Family(slip.family, slip.text, lambda o, x, s=slip, way=way: s.predict(_same_way(o, x, way)), exact=False)


def _same_way(o: Observation, x: str, way: int) -> Chain:
    found = chains(o, x)
    if way >= len(found) or found[way] is None:
        raise LookupError("this way to spell it out is not one for these inputs")
    return found[way]


def _nothing(o: Observation, x: str) -> np.ndarray:
    got = o.got[x]  # rounding may leave 1e-17 where two terms cancel
    return got if got.shape == o.want[x].shape and np.abs(got).max() <= 1e-12 * np.abs(o.want[x]).max() else 0 * o.want[x]


# Operations whose derivatives are taken for one another.
SIBLINGS = {
    "softmax": ("log_softmax",), "log_softmax": ("softmax",), "std": ("var",), "var": ("std",), "sum": ("mean",), "mean": ("sum",),
    "amax": ("amin",), "amin": ("amax",), "cumsum": ("cumprod",), "tril": ("triu",), "triu": ("tril",),
}  # fmt: skip
CURVES = ("sigmoid", "tanh", "exp", "log", "sin", "cos", "sqrt", "reciprocal", "relu", "silu", "abs", "sinh", "cosh", "atan")


def _about_siblings(reference: Reference, x: str) -> Iterator[Family]:
    """What would be right for another operation."""
    for way in ways(OTHER_AXIS.get(reference.name, ""), x, reference.inputs):
        text = f"belongs to another axis: it normalises as {OTHER_AXIS[reference.name]} does"
        yield Family("axis", text, lambda o, x, w=way: w.evaluate(o))
    alone = reference.elementwise and len(reference.inputs) == 1
    for other in SIBLINGS.get(reference.name, ()) or (CURVES if alone else ()):
        if other != reference.name:
            yield Family("function", f"is the gradient of {other}", lambda o, x, n=other: _of(n, o, x))
            if alone or other in SIBLINGS:
                yield Family("function", f"is what the rule of {other} gives", lambda o, x, n=other: _rule_of(n, o, x))


OTHER_AXIS = {"layer_norm": "batch_norm", "batch_norm": "layer_norm"}


def _rule_of(other: str, o: Observation, x: str) -> np.ndarray:
    """The rule of another operation, on the values that this one saved."""
    reference = type(o.reference).of(other)
    y = reference.inputs[0]
    value = reference.raw(y, o.g, {**o.names, y: o.names[x]})
    return sum_to(np.broadcast_to(value, o.out.shape), o.names[f"{x}_shape"])


def _of(other: str, o: Observation, x: str) -> np.ndarray:
    reference = type(o.reference).of(other)
    inputs = [o.names[y] for y in o.reference.inputs]
    settings = {name: o.names[name] for name in o.given}
    return reference.gradient(reference.inputs[0], o.g, reference.environment(inputs, settings))


def _about_places(reference: Reference) -> Iterator[Family]:
    """The right numbers, or what they are made of, in other places."""
    yield Family("transposed", "is the right one transposed", lambda o, x: np.swapaxes(o.want[x], -1, -2))
    if reference.elementwise:
        return
    for count in (1, 2):
        for axes in combinations((-1, -2, -3), count):
            yield Family("flipped", f"runs backwards along {axes_in_words(axes)}", lambda o, x, a=axes: np.flip(o.want[x], a))
    for name in reference.inputs:
        for count in (1, 2):
            axes = tuple(range(-count, 0))
            yield Family("flipped", f"uses {name} the wrong way round (flipped) along {axes_in_words(axes)}",
                         lambda o, x, n=name, a=axes: _rule(o, x, **{n: np.flip(o.names[n], a)}))  # fmt: skip
    yield Family(
        "permutation", "is moved by the permutation of forward, where its inverse belongs", lambda o, x: np.transpose(o.g, o.names["axes"])
    )


def _no_such_setting():
    raise LookupError("this mistake cannot be made here")


def _other_side(o: Observation, x: str) -> np.ndarray:
    if o.g.shape != o.want[x].shape or not np.all((o.want[x] == 0) | (o.want[x] == o.g)):
        raise ValueError("the derivative is not a mask")
    return o.g - o.want[x]


def _diagonal_only(o: Observation, x: str) -> np.ndarray:
    if o.out.shape != o.want[x].shape or o.out.size > 64:
        raise ValueError("not a square Jacobian")
    diagonal = np.empty(o.out.size)
    for i in range(o.out.size):
        unit = np.zeros(o.out.size)
        unit[i] = 1
        diagonal[i] = o.reference.gradient(x, unit.reshape(o.out.shape), o.names).flat[i]
    return o.g * diagonal.reshape(o.out.shape)
