"""The mistakes that people make in backward rules, each as a prediction of what the wrong rule returns.

A family says: if this is the mistake, then the gradient is exactly that array. Predictions are compared with what came
back, on real random numbers and several draws, so a match is a fact about the rule and not a guess about its author.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np

from .mutants import mutants
from .reference import Reference, stretched_axes, sum_to


@dataclass(frozen=True, eq=False)
class Observation:
    """One backward call as seen from outside: what went in, what came back, what was right."""

    reference: Reference
    names: dict[str, Any]  # inputs, settings, shapes, out
    g: np.ndarray
    got: dict[str, np.ndarray | None]
    want: dict[str, np.ndarray]
    failed: bool = False  # the rule raised instead
    given: tuple[str, ...] = ()  # the settings that the call named

    @property
    def out(self) -> np.ndarray:
        """The right result of forward."""
        return self.names["out"]


@dataclass(frozen=True)
class Family:
    """A kind of mistake: its name, a sentence about the gradient of `{x}`, and the array it predicts."""

    name: str
    text: str
    predict: Callable[[Observation, str], Any]


def families(reference: Reference, x: str) -> Iterator[Family]:
    """Everything that may have gone wrong in the rule for `x`, the simplest explanation first."""
    yield from _about_g(reference)
    yield from _about_values(reference, x)
    yield from _about_formula(reference, x)
    yield from _about_result(reference)
    yield from _about_shape(reference)
    yield from _about_factors(reference, (1, -1, 2, -2))
    yield from _about_terms()


def _rule(o: Observation, x: str, g: Any = None, **names: Any) -> np.ndarray:
    """The right rule with other values in it, summed as it should be."""
    value = o.reference.raw(x, o.g if g is None else g, {**o.names, **names})
    return sum_to(np.asarray(value), o.names[f"{x}_shape"]) if o.reference.elementwise else value


def _about_g(reference: Reference) -> Iterator[Family]:
    def ones(o):
        return np.ones_like(o.g)

    yield Family("zero", "is zero everywhere", lambda o, x: 0 * o.want[x])
    yield Family("sign", "has the right size and the wrong sign, everywhere", lambda o, x: -o.want[x])
    yield Family(
        "upstream ignored",
        "does not depend on the incoming gradient g: it is the local derivative alone, as if g were 1 everywhere",
        lambda o, x: _rule(o, x, ones(o)),
    )
    yield Family(
        "upstream only",
        "is the incoming gradient g, unchanged: the local derivative is missing",
        lambda o, x: o.g if o.g.shape == o.want[x].shape else _no_such_setting(),
    )
    yield Family("upstream ignored", "is 1 everywhere", lambda o, x: np.ones_like(o.want[x]))
    yield Family(
        "upstream added",
        "is the local derivative plus the incoming gradient g; the chain rule multiplies them",
        lambda o, x: _rule(o, x, ones(o)) + o.g,
    )
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
        "mask from g",
        "is right where g is positive and 0 elsewhere: the mask asks g",
        lambda o, x: _rule(o, x, np.where(o.g > 0, o.g, 0)),
    )


def _about_values(reference: Reference, x: str) -> Iterator[Family]:
    yield Family(
        "mask",
        "is 0 where it should be g and g where it should be 0: the mask is the wrong way round",
        _other_side,
    )
    others = [name for name in reference.differentiable() if name != x]
    for other in others:
        yield Family(
            "swapped",
            f"is the one that {other} should receive",
            lambda o, x, other=other: o.reference.raw(other, o.g, o.names),
        )
    if others:
        # The table may write x / y as `out`: what is one power of y too few must not be called a wrong variable.
        yield from _about_factors(reference, (1, -1))
    _, needs = reference.rules[x]
    for needed in needs:
        if needed != "out" and needed not in reference.inputs:
            continue
        for other in (*reference.inputs, "out", "g"):
            if other == needed:
                continue
            yield Family(
                "variable",
                f"uses {_value(other)} where {_value(needed)} belongs",
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
            lambda o, x: _rule(o, x, out=np.asarray(o.reference.result((o.out,), {}))),
        )


def _about_result(reference: Reference) -> Iterator[Family]:
    yield Family("forward", "is the result of forward, not a gradient", lambda o, x: o.out)
    yield Family(
        "forward", "is g times the result of forward, where g times its derivative belongs", lambda o, x: o.g * o.out
    )


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


def _about_terms() -> Iterator[Family]:
    yield Family("extra term", "is the right one plus g: g is added once too often", lambda o, x: o.want[x] + o.g)
    yield Family(
        "extra term", "is the right one minus g: g is subtracted where it should not be", lambda o, x: o.want[x] - o.g
    )


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
    )
    yield Family("transposed", "is the right one transposed", lambda o, x: np.swapaxes(o.want[x], -1, -2))
    for axis in (None, 0, 1, -1, -2):
        yield Family(
            "axis",
            "is what belongs to another axis",
            lambda o, x, axis=axis: _rule(o, x, axis=axis if "axis" in o.names else _no_such_setting()),
        )
    yield Family("keepdims", "lays g along the last axis: the axis that forward removed was not put back in its place",
                 lambda o, x: np.broadcast_to(o.g, o.want[x].shape))  # fmt: skip


def _about_formula(reference: Reference, x: str) -> Iterator[Family]:
    def predict(o, x, code):
        value = o.reference.evaluate(x, code, o.g, o.names)
        return sum_to(value, o.names[f"{x}_shape"]) if o.reference.elementwise else value

    if formula := reference.formulas.get(x):
        for mutant, code in mutants(formula, (*reference.inputs, "out", "g")):
            yield Family(mutant.family, f"is {mutant.text}", lambda o, x, code=code: predict(o, x, code))


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


def _value(name: str) -> str:
    return {"out": "the result of forward", "g": "the incoming gradient"}.get(name, name)


# --- a constant factor: which number it is, and where it may come from


def constant_factor(wrong: list[Observation], x: str) -> str | None:
    """A sentence if the gradient is the right one times one number for each call; with a guess where it comes from."""
    ratios = []
    for o in wrong:
        got, want = np.asarray(o.got[x]), o.want[x]
        if got.shape != want.shape:
            return None
        scale = np.vdot(want, got) / np.vdot(want, want)
        if not np.isfinite(scale) or scale == 0 or not close(got, scale * want):
            return None
        ratios.append(float(scale))
    if close(np.array(ratios), np.full(len(ratios), ratios[0])):
        origin = _known_number(ratios[0])
        return f"is {number(ratios[0])} times the right one, everywhere" + (f" ({origin})" if origin else "")
    for name, size in _sizes(wrong[0], x):
        for power in (1, -1):
            sizes = [dict(_sizes(o, x)).get(name) for o in wrong]
            predicted = [n**power if n else 0 for n in sizes]
            if size and close(np.array(ratios), np.array(predicted, float)):
                how = "multiplied by" if power == 1 else "divided by"
                return f"is the right one {how} {name}"
    found = " and ".join(number(ratio) for ratio in sorted({min(ratios), max(ratios)}))
    return f"is a multiple of the right one, but not always the same one ({found})"


def _sizes(o: Observation, x: str) -> list[tuple[str, float]]:
    n = o.want[x].size
    named = [(f"the number of entries of {x}", n), ("the number of entries of the result", o.out.size)]
    named += [(f"the number of entries of {x} behind each result", n / o.out.size)]
    for y in o.reference.inputs:
        named += [(f"the size of axis {axis} of {y}", size) for axis, size in enumerate(o.names[f"{y}_shape"])]
    named += [("(n - 1), one less than the number of entries", n - 1), ("n / (n - 1)", n / (n - 1) if n > 1 else 0)]
    named += [(f"{name}, a setting", v) for name, v in o.names.items() if isinstance(v, float)]
    return named


def _known_number(c: float) -> str:
    known = {2: "a 2 too many", 0.5: "a 2 is missing", 3: "a 3 too many", 1 / 3: "a 3 is missing", 4: "a 4 too many",
             math.log(2): "ln 2", 1 / math.log(2): "1 / ln 2", math.pi: "pi", math.sqrt(2): "the square root of 2"}  # fmt: skip
    return next((text for value, text in known.items() if math.isclose(c, value, rel_tol=1e-9)), "")


# --- broadcasting: what became of the axes that were stretched


def reduction(
    got: np.ndarray, full: np.ndarray, shape: tuple[int, ...], right: tuple[int, ...] | None = None
) -> tuple[str, str] | None:
    """What was done to the full gradient instead of summing it to `shape`: (family, sentence), or None.

    `right`: the axes that have to be summed, if they are not those that broadcasting stretched.
    """
    right = stretched_axes(shape, full.shape) if right is None else right
    if got.shape == shape and close(got, full.sum(right, keepdims=True).reshape(shape)):
        return None
    for axes in chain.from_iterable(combinations(range(full.ndim), k) for k in range(full.ndim + 1)):
        for keepdims in (False, True):
            for how, reduce in (("summed", np.sum), ("averaged", np.mean), ("maximum", np.max), ("slice", _first)):
                value = np.asarray(reduce(full, axis=axes, keepdims=keepdims)) if axes else full
                same_shape = value.shape == got.shape
                if not same_shape and value.size == got.size == math.prod(shape) and got.shape == shape:
                    value = value.reshape(shape)
                if value.shape == got.shape and close(got, value):
                    return _reduction(how, axes, right, got.shape, shape)
    return None


def _reduction(how: str, axes: tuple[int, ...], right: tuple[int, ...], got: tuple, shape: tuple) -> tuple[str, str]:
    if how == "summed" and set(axes) == set(right):
        return (
            "keepdims",
            f"has the right numbers in the wrong shape: the axes of size 1 are not as they were in {shape}",
        )
    if not right:
        return "wrong axis", f"is {REDUCED[how]} over {_axes(axes)}, where no axis was stretched"
    if how == "averaged":
        return "averaged", f"is averaged over {_axes(axes)}; it has to be summed"
    if how == "maximum":
        return "one of many", f"keeps only the largest contribution along {_axes(axes)}; all of them count"
    if how == "slice":
        return "one of many", f"keeps only the first slice along {_axes(axes)}; all of them count"
    if not axes:
        return "not summed", f"is not summed over {_axes(right)}"
    missing, surplus = [a for a in right if a not in axes], [a for a in axes if a not in right]
    if missing and not surplus:
        return "not summed", f"is summed over {_axes(axes)} but not over {_axes(missing)}"
    return "wrong axis", f"is summed over {_axes(axes)}; it has to be summed over {_axes(right)}"


REDUCED = {
    "summed": "summed",
    "averaged": "averaged",
    "maximum": "reduced to its maximum",
    "slice": "cut to its first slice",
}


def _first(a: np.ndarray, axis: tuple[int, ...], keepdims: bool) -> np.ndarray:
    index = tuple((slice(0, 1) if keepdims else 0) if i in axis else slice(None) for i in range(a.ndim))
    return a[index]


def _axes(axes: Iterable[int]) -> str:
    axes = list(axes)
    return ("axis " if len(axes) == 1 else "axes ") + " and ".join(map(str, axes))


# --- places: the gradient is right except where some question about the values has the answer yes


def places(observations: list[Observation], x: str) -> str | None:
    """A sentence if the wrong entries are exactly those where a simple condition holds, in every observation."""
    questions = [(f"{name} is {word}", name, test) for name in (x, "out", "g")
                 for word, test in (("negative", np.less), ("positive", np.greater))]  # fmt: skip
    for text, name, test in questions:
        left = []
        for o in observations:
            value = np.asarray(o.g if name == "g" else o.names[name])
            got, want = np.asarray(o.got[x]), o.want[x]
            if not value.shape == got.shape == want.shape:
                break
            wrong = ~np.isclose(got, want, rtol=1e-9, atol=1e-12)
            if not np.array_equal(wrong, test(value, 0)) or wrong.all() or not wrong.any():
                break
            left.append((got[wrong], want[wrong], o.g[wrong] if o.g.shape == got.shape else None))
        else:
            return f"is right except where {text.replace('out', 'the result')}: there " + _what(left)
    return None


def _what(left: list) -> str:
    """What stands in the wrong places, if that is simple."""
    got, want = (np.concatenate([entry[i] for entry in left]) for i in (0, 1))
    if not got.any():
        return "it is 0"
    if close(got, -want):
        return "it has the wrong sign"
    if all(g is not None for *_, g in left):
        ratio = got / np.concatenate([g for *_, g in left])
        if close(ratio, np.full_like(ratio, ratio[0])):
            return "it is " + ("g" if math.isclose(ratio[0], 1) else f"{number(ratio[0])} g")
    return "it is something else"


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal up to rounding, relative to the largest entry."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    scale = np.max(np.abs(b), initial=0.0)
    return bool(np.all(np.abs(a - b) <= 1e-9 * scale + 1e-300)) if np.isfinite(scale) else False


def number(value: float) -> str:
    """Short, and exact where it can be."""
    return f"{value:.6g}"
