"""Explanations that are computed and not guessed: a factor, a wrong sum, a condition on the values."""

from __future__ import annotations

import ast
import math
from itertools import chain, combinations, permutations, product

import numpy as np

from autolab.formula import definition

from ...run.observation import Observation, close, number
from ...run.reference import stretched_axes
from ..diagnosis import Mistake
from ..quiet import quiet
from ..shapes import axes_in_words, axis_name, count

POWERS = {1: "times {}", -1: "divided by {}", 2: "times the square of {}",
          -2: "divided by the square of {}", 0.5: "times the root of {}", -0.5: "divided by the root of {}",
          3: "times the cube of {}", -3: "divided by the cube of {}"}  # fmt: skip


@quiet
def constant_factor(wrong: list[Observation], x: str) -> Mistake | None:
    """If the gradient is the right one times one number for each call: family, a sentence, and whether it is a rule for all calls."""
    ratios = []
    for o in wrong:
        got, want = np.asarray(o.got[x]), o.want[x]
        if got.shape != want.shape:
            return None
        scale = np.vdot(want, got) / np.vdot(want, want)
        if not np.isfinite(scale) or scale == 0 or not close(got, scale * want):
            return None
        ratios.append(float(scale))
    sizes = [_sizes(o, x) for o in wrong]
    same = close(np.array(ratios), np.full(len(ratios), ratios[0]))
    if not same or not _known_number(ratios[0]):
        for name in sizes[0]:
            for power in (1, -1):
                predicted = [n.get(name, 0) ** power if n.get(name) else 0 for n in sizes]
                if sizes[0][name] not in (0, 1) and close(np.array(ratios), np.array(predicted, float)):
                    if name in OF_RESULT:
                        how = f"{'multiplied' if power == 1 else 'divided'} by {name}"
                        missing = f": a {'division' if power == 1 else 'multiplication'} is missing, or it was done the other way round"
                        return Mistake("constant", f"is the right one {how}{missing}", True, hint="scale")
                    if same and len(ratios) > 1:
                        one_over = f"1 / ({name})" if "/" in name else f"1 / {name}"
                        maybe = f"perhaps {one_over if power == -1 else name}"  # it is as large in every call
                        return Mistake("constant", f"is {number(ratios[0])} times the right one, everywhere ({maybe})", True, hint="scale")
                    if name == USES.format(x=x) and power == -1:
                        return Mistake("averaged", f"is averaged over {name}; it has to be summed", True)
                    root = "" if name == ROOT else _or_root(ratios, sizes)
                    how = "multiplied" if power == 1 else "divided"
                    return Mistake("constant", f"is the right one {how} by {name}{root}", not root, hint="scale")
    if same:
        for name in OF_RESULT:
            for c, words in BESIDES.items():
                for power, how in ((1, "multiplied"), (-1, "divided")):
                    if (n := sizes[0].get(name)) and math.isclose(ratios[0], c * n**power, rel_tol=1e-9) and not float(n).is_integer():
                        return Mistake("constant", f"is the right one {how} by {name}, and besides {words}", True, hint="scale")
        origin, root = _known_number(ratios[0]) or number_of_forward(ratios[0], wrong[0]), _or_root(ratios, sizes)
        origin = origin or _of_two_sizes(ratios[0], wrong[0], x)
        origin += root and f"{root}, as large in every call"
        if _known_number(ratios[0]) and not wrong[0].reference.elementwise:
            origin += _or_setting(ratios[0], wrong) + _or_size(ratios[0], sizes)
        hint = "reciprocal" if constant_in_words(ratios[0]) else "scale" if root else ""
        return Mistake(
            "constant", f"is {number(ratios[0])} times the right one, everywhere" + (f" ({origin})" if origin else ""), True, hint=hint
        )
    if two := _two_numbers(ratios, sizes):
        return Mistake("constant", two, True, hint="scale")
    found = " and ".join(number(ratio) for ratio in sorted({min(ratios), max(ratios)}))
    return Mistake("constant", f"is a multiple of the right one, but not always the same one ({found})")


BESIDES = {2: "2 times too large", 0.5: "half as large as it should be", -1: "of the wrong sign", 3: "3 times too large",
           4: "4 times too large", 0.25: "a quarter as large as it should be"}  # fmt: skip


INSTEAD = ", where "  # a quotient of two sizes may be a third that nobody thought of: it is never certain


def _of_two_sizes(ratio: float, o: Observation, x: str) -> str:
    """Of calls that are alike: is it one size of x over another?"""
    for (i, n), (j, m) in permutations(enumerate(o.want[x].shape), 2):
        if n != m and math.isclose(ratio, n / m, rel_tol=1e-9):
            return f"perhaps {n} / {m}, the size of axis {i} of {x} over that of axis {j}: one is there where the other belongs"
    return ""


def _or_setting(c: float, wrong: list[Observation]) -> str:
    """A setting that is this number in every call, or one over it."""
    for name, value in wrong[0].settings.items():
        if isinstance(value, float) and value not in (0, 1) and all(o.settings.get(name) == value for o in wrong):
            for number_of, how in ((1 / value, "is missing"), (value, "is there once too often")):
                if math.isclose(abs(c), abs(number_of), rel_tol=1e-9):
                    return f", or {name}, a setting, {how}"
    return ""


def _two_numbers(ratios: list[float], sizes: list[dict[str, float]]) -> str:
    """A size too many or too few, and a plain number besides; or one size where another belongs."""
    ratio = np.array(ratios)
    known = {name: of for name in sizes[0] if (of := np.array([n.get(name, 0) for n in sizes], float)).all() and np.ptp(of)}
    for one, a in known.items():
        for other, b in known.items():
            if close(ratio, a / b):
                return f"is divided by {other}{INSTEAD}{one} belongs"
    for name, of in known.items():
        for c, words in BESIDES.items():
            for power, how in ((1, "multiplied"), (-1, "divided")):
                if close(ratio, c * of**power):
                    return f"is the right one {how} by {name}, and besides {words}"
    return ""


@quiet
def fixed_number(answered: list[Observation], x: str, written: set[float] | None = None) -> str:
    """One number in every call, where a size belongs that is not the same in all of them; in words, or nothing.

    `written`: the numbers in the source of the rule; it is one of those.
    """
    ratios, sizes = np.array(_ratios(answered, x)), [_sizes(o, x) for o in answered]
    if not ratios.size:
        return ""
    for name in sizes[0]:
        of = np.array([n.get(name, 0) for n in sizes], float)
        if np.ptp(of) and of.all():
            for at, how in ((of / ratios, "divided"), (ratios * of, "multiplied")):
                if close(at, np.full_like(at, at[0])) and math.isclose(at[0], round(at[0]), rel_tol=1e-9) and at[0] > 1:
                    if written is None or any(math.isclose(abs(c), at[0]) for c in written):
                        return f"is {how} by {number(at[0])} in every call, where {name} belongs"
    return ""


@quiet
def other_size(answered: list[Observation], x: str) -> str:
    """One size where another belongs, in all calls, those where both are the same among them; in words, or nothing."""
    ratios = _ratios(answered, x)
    if not ratios or np.ptp(ratios) <= 1e-9 * max(ratios):
        return ""
    sizes = [_sizes(o, x) for o in answered]
    axes, entries = ([name for name in sizes[0] if name.startswith(kind)] for kind in ("the size of axis", "the number of entries of"))
    for one, other in chain(permutations(axes, 2), permutations([*axes, *entries], 2)):
        belongs, taken = (np.array([n.get(name, 0) for n in sizes], float) for name in (one, other))
        if belongs.all() and taken.all() and close(np.array(ratios), belongs / taken):
            return f"is divided by {other}{INSTEAD}{one} belongs"
    return ""


def _ratios(answered: list[Observation], x: str) -> list[float]:
    """How many times the right one it is in each call; nothing if it is no multiple of it in one of them."""
    ratios = []
    for o in answered:
        got, want = np.asarray(o.got[x]), o.want[x]
        ratio = float(np.vdot(want, got) / np.vdot(want, want)) if got.shape == want.shape and want.any() else 0.0
        if not ratio or not close(got, ratio * want):
            return []
        ratios.append(ratio)
    return ratios


ROOT = "the square root of the size of its last axis"


def _or_root(ratios: list[float], sizes: list[dict[str, float]]) -> str:
    """What is a number, or a size, may be the root of a size as well: of 4 it is 2."""
    roots = np.array([n.get(ROOT, 0) for n in sizes], float)
    return f", or {ROOT}" if roots.all() and any(close(np.array(ratios), roots**power) for power in (1, -1)) else ""


def _or_size(ratio: float, sizes: list[dict[str, float]]) -> str:
    """What is a plain number may be a size, if that is the same in every call."""
    for name in sizes[0]:
        for at, how in ((ratio, "is missing"), (1 / ratio, "too many")):
            if at > 1 and all(math.isclose(n.get(name, 0), at, rel_tol=1e-9) for n in sizes):
                return f", or a division by {name}, which is {number(at)} in every call, {how}"
    return ""


# Numbers that are drawn at random: who finds them as a factor has found where it comes from.
OF_RESULT = ("the result of forward", "the square of the result of forward")
USES = "the number of results that each entry of {x} takes part in"


BESIDE_A_BATCH = {"weight", "bias", "target", "labels"}  # inputs of layers and losses: axis 0 of their first input is a batch


def _sizes(o: Observation, x: str) -> dict[str, float]:
    """Numbers that people divide by, by what they are."""
    n = o.want[x].size
    named: dict[str, float] = {}
    if m := entries_behind(o, x):
        named["the number of entries that each result is made of"] = m
        named |= {"n / (n - 1), n entries behind each result: one of the two divides by n, the other by n - 1": m / (m - 1) if m > 1 else 0}
        named |= {"n - 1, one less than the number of entries behind each result": m - 1}
    if not o.reference.elementwise and o.out.size > n and o.out.size % n == 0:
        named[USES.format(x=x)] = o.out.size / n
    is_of_batches = not BESIDE_A_BATCH.isdisjoint(o.reference.inputs)
    for y in o.reference.inputs:
        for i, size in enumerate(o.shape(y)):
            named[f"the size of axis {i} of {y}" + " (the batch size)" * (i == 0 and y == o.reference.inputs[0] and is_of_batches)] = size
    for i, size in enumerate(o.out.shape):
        named.setdefault(f"the size of axis {i} of the result", size)
    for y in o.reference.inputs:
        if len(o.shape(y)) > 1:
            named[f"the number of rows of {y}, all axes but the last counted"] = math.prod(o.shape(y)[:-1])
    named |= {f"the number of entries of {x}": n, "the number of entries of the result": o.out.size}
    if n % max(o.out.size, 1) == 0:
        named[f"the number of entries of {x} behind each result"] = n / o.out.size
    named |= {"(n - 1), one less than the number of entries": n - 1, "n / (n - 1)": n / (n - 1) if n > 1 else 0}
    for name, value in o.settings.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            named |= {f"{name}, a setting": value, f"(1 - {name})": 1 - value}
            named |= {f"({name} - 1)": value - 1, f"({name} / (1 - {name}))": value / (1 - value) if value != 1 else 0}
            named |= {f"the square of {name}": value**2, f"the square of (1 - {name})": (1 - value) ** 2}
    if not o.out.ndim:
        named["the result of forward"] = float(o.out)
        named["the square of the result of forward"] = float(o.out) ** 2
        for y in o.reference.inputs:
            a = np.asarray(o.names[y])
            if a.ndim == 2 and a.shape[0] == a.shape[1] and a.dtype.kind == "f":
                named[f"the determinant of {y}"] = float(np.linalg.det(a))
    shape = o.want[x].shape
    if shape:
        named[ROOT] = math.sqrt(shape[-1])
    return named


def entries_behind(o: Observation, x: str) -> int:
    """How many entries lie along the axis, or the axes; 0 if the operation has none."""
    try:
        return count(o.want[x].shape, o.names[axis_name(o) or "axis"])
    except (KeyError, IndexError, TypeError, ZeroDivisionError):
        return 0


CONSTANTS = {"ln 2": math.log(2), "ln 10": math.log(10), "pi": math.pi, "2 pi": 2 * math.pi, "180 / pi": 180 / math.pi,
             "e": math.e}  # fmt: skip
PLAIN_POWERS = {0.5: "the root of {}", -0.5: "1 / the root of {}", 1: "{}", -1: "1 / {}"}
MULTIPLES = {2: "twice ", 0.5: "half of ", 4: "four times ", 0.25: "a quarter of ", math.sqrt(2): "the root of 2 times ",
             math.sqrt(0.5): "1 / the root of 2 times "}  # fmt: skip
OF_CONSTANT = {
    2: "the square of {}, as if a constant multiplied where the derivative divides by it: the reciprocal is used",
    -2: "1 / the square of {}, as if the derivative were divided by a constant that multiplies it: the reciprocal is used",
    1: "{}: a factor {} too many, or a division by it is missing, or its root is the wrong way round",
    -1: "1 / {}: a factor {} is missing, or a division by it too many, or its root is the wrong way round",
    0.5: "the root of {}, as if {} were there for its root: the root of a constant is missing",
    -0.5: "1 / the root of {}, as if it were divided by {} for its root: the root of a constant is missing",
}


def _known_number(c: float) -> str:
    known = {-1: "the sign", 2: "a 2 too many", 0.5: "a 2 is missing", 3: "a 3 too many", 1 / 3: "a 3 is missing", 4: "a 4 too many",
             math.sqrt(2): "the square root of 2", math.sqrt(0.5): "1 / the square root of 2"}  # fmt: skip
    plain = next((text for value, text in known.items() if math.isclose(c, value, rel_tol=1e-9)), "")
    return plain or constant_in_words(c)


def constant_in_words(c: float) -> str:
    """Which power of a well-known constant it is, and what gives that; nothing if it is none."""
    for said, value in CONSTANTS.items():
        for power, text in OF_CONSTANT.items():
            if math.isclose(abs(c), value**power, rel_tol=1e-9):
                return ("with the wrong sign, " if c < 0 else "") + text.format(said, said)
    for said, value in CONSTANTS.items():
        for (power, words), (times, how_often) in product(PLAIN_POWERS.items(), MULTIPLES.items()):
            if math.isclose(abs(c), times * value**power, rel_tol=1e-9):
                return ("with the wrong sign, " if c < 0 else "") + f"{how_often}{words.format(said)}"
    return ""


def number_of_forward(c: float, o: Observation) -> str:
    """Which number in the source of forward it is, or its root, or one over it; nothing if it is none."""
    forward = getattr(o.reference.forward, "forward", o.reference.forward)
    node = definition(forward)
    values = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, float)} if node else set()
    for value in sorted(value for value in values if value > 0 and value not in (0.5, 1.0, 2.0)):
        for power, words in PLAIN_POWERS.items():
            if math.isclose(abs(c), value**power, rel_tol=1e-9):
                return ("with the wrong sign, " if c < 0 else "") + words.format(f"{number(value)}, a number in forward")
    return ""


def reduction(got: np.ndarray, full: np.ndarray, shape: tuple[int, ...], right: tuple[int, ...] | None = None) -> Mistake | None:
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
                if how == "summed" and got.size == math.prod(shape) and value.ndim == got.ndim and _is_cut(got, value):
                    return Mistake("wrong axis", f"{_reduction(how, axes, right, got.shape, shape).text}, and it is cut to its shape")
                if keepdims and axes and set(axes) > set(right) and got.shape == shape and _same_all_over(got, value, shape):
                    surplus = axes_in_words(a for a in axes if a not in right)
                    if how == "slice":
                        return Mistake("places", f"is {ALIKE} {surplus}: what belongs to its first entry")
                    return Mistake("wrong axis", f"is {REDUCED[how]} over {surplus} too, and so {ALIKE} {surplus}")
    return None


def _is_cut(got: np.ndarray, value: np.ndarray) -> bool:
    """Is it the beginning of a longer array?"""
    longer = got.size < value.size and all(n <= m for n, m in zip(got.shape, value.shape, strict=True))
    return longer and close(got, value[tuple(slice(n) for n in got.shape)])


def _reduction(how: str, axes: tuple[int, ...], right: tuple[int, ...], got: tuple, shape: tuple) -> Mistake:
    if how == "summed" and set(axes) == set(right):
        return Mistake("keepdims", f"has the right numbers in the wrong shape: the axes of size 1 are not as they were in {shape}")
    if not right:
        return Mistake("wrong axis", f"is {REDUCED[how]} over {axes_in_words(axes)}, where no axis was stretched")
    if how == "averaged":
        return Mistake("averaged", f"is averaged over {axes_in_words(axes)}; it has to be summed")
    if how == "maximum":
        return Mistake("one of many", f"keeps only the largest contribution along {axes_in_words(axes)}; all of them count")
    if how == "slice":
        return Mistake("one of many", f"keeps only the first slice along {axes_in_words(axes)}; all of them count")
    if not axes:
        return Mistake("not summed", f"is not summed over {axes_in_words(right)}")
    missing, surplus = [a for a in right if a not in axes], [a for a in axes if a not in right]
    if missing and not surplus:
        return Mistake("not summed", f"is summed over {axes_in_words(axes)} but not over {axes_in_words(missing)}")
    return Mistake("wrong axis", f"is summed over {axes_in_words(axes)}; it has to be summed over {axes_in_words(right)}")


ALIKE = "the same everywhere along"


def _same_all_over(got: np.ndarray, value: np.ndarray, shape: tuple[int, ...]) -> bool:
    extra = value.ndim - len(shape)
    if any(n != 1 for n in value.shape[:extra]):
        return False
    value = value.reshape(value.shape[extra:])
    return all(n in (1, m) for n, m in zip(np.shape(value), shape, strict=True)) and close(got, np.broadcast_to(value, shape))


REDUCED = {"summed": "summed", "averaged": "averaged", "maximum": "reduced to its maximum", "slice": "cut to its first slice"}


def _first(a: np.ndarray, axis: tuple[int, ...], keepdims: bool) -> np.ndarray:
    index = tuple((slice(0, 1) if keepdims else 0) if i in axis else slice(None) for i in range(a.ndim))
    return a[index]


@quiet
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
    """What appears in the wrong places, if that is simple."""
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
