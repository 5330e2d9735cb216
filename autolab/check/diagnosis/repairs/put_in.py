"""What may be put in at a place of a rule: a factor, a divisor, a term, a mask, a slope, or a function of what is there."""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .indices import is_written_into, turns
from .schema import Site
from .values import Change, Edit, Pool, elementwise, is_array, is_mask, is_number, quote_of, shape_of, then, with_axis


def is_whole(site: Site) -> bool:
    """Is it a term, and no factor of one? A factor that is put into a product may be put anywhere in it."""
    node, parent = site.node, site.parents[0]
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Div)):
        return isinstance(parent.op, ast.Div) and parent.right is node and isinstance(node, ast.BinOp)
    is_owner = isinstance(parent, ast.Attribute) and isinstance(node, ast.Name) and parent.attr not in ("sum", "mean")
    return not (isinstance(parent, ast.UnaryOp) or is_owner)


def some(value: Any, before: Any = 1) -> Any:
    """The value, if it is not 0 everywhere where it was not before: then nothing is missing, and it should not be there."""
    if not np.any(value) and np.any(before):
        raise LookupError("nothing is left of it")
    return value


OF_AN_ARRAY: tuple[tuple[float, str, str, Callable], ...] = (
    (2.05, "factor", "one more factor in", operator.mul), (2.15, "factor", "one more divisor of", operator.truediv),
    (2.1, "term", "one more term beside", operator.add), (2.2, "term", "one more term beside", operator.sub),
    (2.25, "factor", "one more factor in", lambda v, w: v * _rest(w, 0)),
    (2.3, "factor", "one more divisor of", lambda v, w: v / _rest(w, 0)),
    (3.2, "term sign", "another term in the place of", lambda v, w: w - v), (3, "factor", "one more factor in", lambda v, w: v * w**2),
    (3, "factor", "one more divisor of", lambda v, w: v / w**2),
)  # fmt: skip


def _rest(share: Any, low: float) -> Any:
    """1 less what is in the slope of a sigmoid or of tanh, if it may be one."""
    if not np.all(np.asarray(share > low) & np.asarray(share < 1)):
        raise LookupError("it is no share")
    return 1 - share


def _several(value: Any) -> Any:
    """An array: of one number the square may be chance."""
    if not shape_of(value):
        raise LookupError("it is one number")
    return value


OF_A_SIZE: tuple[tuple[float, str, str, Callable], ...] = (
    (2.05, "scale", "a whole number, such as a size or an index, or a setting as a divisor of", operator.truediv),
    (2.2, "scale", "a whole number, such as a size or an index, or a setting as a factor of", operator.mul),
)  # fmt: skip


def factors(site: Site, pool: Pool) -> Iterator[Edit]:
    """One more factor, divisor or term."""
    if not (is_array(site.value) or isinstance(site.value, float)) or not is_whole(site) or is_written_into(site):
        return
    quote = quote_of(site)
    is_sum = not (isinstance(site.parents[0], ast.BinOp) and isinstance(site.parents[0].op, (ast.Add, ast.Sub)))
    for values, ways in ((pool.arrays, OF_AN_ARRAY), (pool.sizes, OF_A_SIZE)):
        for key, value_of in values.items():
            for number, (cost, family, what, way) in enumerate(ways):
                if values is pool.arrays and way in OF_A_STATEMENT and _is_a_statement_of_g(site, pool):
                    continue  # it was tried before
                if is_sum or not family.startswith("term"):
                    change = lambda do, a, k, n, f=value_of, way=way: _put_in(way, do(*a, **k), f(n))
                    yield Edit(cost, family, f"{what} {quote}", (number, key, family), change)
                if number == 0 and values is pool.arrays and _is_a_column(value_of, site):
                    column = lambda do, a, k, n, f=value_of, way=way: _put_in(way, do(*a, **k), with_axis(f(n), -1))
                    yield Edit(cost + 0.05, family, f"{what} {quote}", (number, key, family, "column"), column)
    for key, value_of in pool.forward.items() if pool.comes_from_g(site) else ():
        for cost, what, way in ((2.35, "one more factor in", operator.mul), (2.4, "one more divisor of", operator.truediv)):
            change = lambda do, a, k, n, f=value_of, way=way: _put_in(way, do(*a, **k), f(n))
            yield Edit(cost, "factor", f"{what} {quote}", ("by a value of forward", key, way), change)
    for key, value_of in pool.arrays.items() if is_array(site.value) else ():
        for cost, way in ((2.3, _slope_of_sigmoid), (2.32, _slope_of_tanh)):
            if not _is_a_statement_of_g(site, pool):
                change = lambda do, a, k, n, f=value_of, way=way: _put_in(way, do(*a, **k), _several(f(n)))
                yield Edit(cost, "factor", f"one more factor in {quote}", ("slope", key, way), change)
    for c in (2, 0.5, 3, 4, 1 / 3, 0.25, *UNITS):
        said = "another unit of angles, or another logarithm, in" if c in UNITS else "one more number as a factor of"
        yield Edit(2.3, "constant", f"{said} {quote}", ("times", c), then(lambda v, c=c: v * c))
    for c in (1, -1, 0.5, 1e-5, 1e-8, 1e-6, 1e-12):
        yield Edit(3 if abs(c) == 1 else 3.5, "term", f"one more number added to {quote}", ("plus", c), then(lambda v, c=c: some(v + c)))


def terms_in_brackets(site: Site, pool: Pool) -> Iterator[Edit]:
    """One more term of a sum that is a factor, such as `1 - a` for `1 - a - b`."""
    is_sum = isinstance(site.node, ast.BinOp) and isinstance(site.node.op, (ast.Add, ast.Sub))
    if not is_sum or is_whole(site) or not (is_array(site.value) or isinstance(site.value, float)):
        return
    for key, value_of in pool.arrays.items():
        if shape_of(value_of(site.names)) in ((), shape_of(site.value)):
            for way in (operator.sub, operator.add):
                change: Change = lambda do, a, k, n, f=value_of, way=way: some(way(do(*a, **k), f(n)))
                yield Edit(2.3, "term", f"one more term in {quote_of(site)}", ("in brackets", key, way), change)


def halves_of_a_product(site: Site, pool: Pool) -> Iterator[Edit]:
    """1 - v where 1 - 2 v belongs: v (1 - v) has a derivative of two terms."""
    node, parent = site.node, site.parents[0]
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or not is_array(site.value) or len(site.args) != 2:
        return
    if is_number(site.args[0]) and site.args[0] == 1 and not _is_times_itself(site, node, parent):
        text = f"another number in {quote_of(site)}: of a product both factors have a derivative"
        yield Edit(1.42, "term", text, ("half of a product",), lambda do, a, k, names: a[0] - 2 * a[1])


def _is_times_itself(site: Site, node: ast.BinOp, parent: Any) -> bool:
    """Is it v (1 - v), which is what it should be?"""
    if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, ast.Mult):
        return False
    beside = parent.left if parent.right is node else parent.right
    while isinstance(beside, ast.BinOp) and isinstance(beside.op, ast.Mult):
        beside = beside.right if parent.right is node else beside.left
    return site.text(beside) == site.text(node.right)


def masks(site: Site, pool: Pool) -> Iterator[Edit]:
    """A mask as one more factor."""
    if not is_array(site.value) or not is_whole(site) or is_written_into(site):
        return
    for mask, (value, value_of) in pool.masks.items():
        if is_mask(value, site.value):
            times: Change = lambda do, a, k, n, f=value_of: _put_in(operator.mul, do(*a, **k), f(n))
            yield Edit(1.66, "mask", f"the mask `{mask}` as a factor of {quote_of(site)}", ("masked", mask), times)


def of_a_statement(site: Site, pool: Pool) -> Iterator[Edit]:
    """One more factor or divisor of all that a statement makes of g: of the chain rule, that is soon left out."""
    if not is_array(site.value) or not _is_a_statement_of_g(site, pool):
        return
    for key, value_of in pool.arrays.items():
        for way, (cost, what) in OF_A_STATEMENT.items():
            change = lambda do, a, k, n, f=value_of, way=way: _put_in(way, do(*a, **k), f(n))
            family = "mask" if way is _where_positive else "factor"
            yield Edit(cost, family, f"{what} {quote_of(site)}", ("of a statement", key, way), change)
            if way is operator.mul and _is_a_column(value_of, site):
                column = lambda do, a, k, n, f=value_of: _put_in(operator.mul, do(*a, **k), with_axis(f(n), -1))
                yield Edit(cost, "factor", f"{what} {quote_of(site)}", ("of a statement", key, "column"), column)


def indexed_factors(site: Site, pool: Pool) -> Iterator[Edit]:
    """In a loop over entries: one more factor that is an entry of an array, at the numbers of the loops."""
    names = list(dict.fromkeys(turns(site))) if _is_written_in_a_loop(site) else []
    said = f"one more factor in {quote_of(site)}"
    if not names or len(names) > MOST_TURNS or not (is_number(site.value) or is_array(site.value)):
        return
    for key, array in site.names.items() if not shape_of(site.value) else ():
        for which in itertools.permutations(names, array.ndim) if isinstance(array, np.ndarray) and 0 < array.ndim <= len(names) else ():
            change: Change = lambda do, a, k, n, key=key, at=which: do(*a, **k) * n[key][tuple(n[i] for i in at)]
            yield Edit(1.68, "factor", said, ("an entry", key, which), change)
    for key, array in site.names.items() if shape_of(site.value) else ():
        for axis, name in itertools.product(range(array.ndim), names) if isinstance(array, np.ndarray) and 0 < array.ndim < 3 else ():
            for is_column in _layouts(array.shape[:axis] + array.shape[axis + 1 :], shape_of(site.value)):
                part = partial(_part, key, name, axis, is_column)
                row: Change = lambda do, a, k, n, part=part: do(*a, **k) * part(n)
                yield Edit(1.7, "factor", said, ("a row", key, axis, name, is_column), row)


def _layouts(part: tuple[int, ...], shape: tuple[int, ...]) -> list[bool]:
    """May it stand along the last axis, and may it stand as a column?"""
    return [is_column for is_column, fits in ((False, part in ((), shape[-1:])), (True, part == shape[:1] and len(shape) > 1)) if fits]


def _part(key: str, number: str, axis: int, is_column: bool, names: Any) -> Any:
    """What an array has at the number of a loop."""
    part = np.take(names[key], names[number], axis)
    return part[..., None] if is_column else part


MOST_TURNS = 4


def _is_written_in_a_loop(site: Site) -> bool:
    """Is it all that a statement writes, in an array or under a name?"""
    parent = site.parents[0]
    return isinstance(parent, (ast.Assign, ast.AugAssign)) and getattr(parent.value, "was", parent.value) is site.node


def _is_a_statement_of_g(site: Site, pool: Pool) -> bool:
    parent = site.parents[0]
    if not isinstance(parent, (ast.Assign, ast.AugAssign, ast.Return)):
        return False
    return getattr(parent.value, "was", parent.value) is site.node and pool.comes_from_g(site)


def _slope_of_sigmoid(value: Any, share: Any) -> Any:
    return value * _rest(share, 0) * share


def _slope_of_tanh(value: Any, share: Any) -> Any:
    return value * _rest(share * share, -1)


def _where_positive(value: Any, other: Any) -> Any:
    mask = other > 0
    if mask.all() or not mask.any():
        raise LookupError("it has one sign")
    return np.where(mask, value, 0.0) if isinstance(value, np.ndarray) else value * mask  # what is taken away may be not a number


OF_A_STATEMENT = {operator.mul: (1.62, "one more factor in"), operator.truediv: (1.64, "one more divisor of"),
                  _slope_of_sigmoid: (1.58, "one more factor in"), _slope_of_tanh: (1.6, "one more factor in"),
                  _where_positive: (1.69, "a mask as one more factor in")}  # fmt: skip


def rests(site: Site, pool: Pool) -> Iterator[Edit]:
    """1 less a share that gets a name: where the share and the rest are both used, each in the place of the other."""
    if is_array(site.value) and isinstance(site.parents[0], ast.Assign) and isinstance(site.node, (ast.Call, ast.BinOp)):
        if np.all(np.asarray(site.value > 0) & np.asarray(site.value < 1)):
            text = f"1 less it in the place of {quote_of(site)}"
            yield Edit(1.6, "variable", text, ("the rest", site.text()), then(lambda v: 1 - v))


def settings(site: Site, pool: Pool) -> Iterator[Edit]:
    """A setting as one more factor or divisor, which is soon forgotten."""
    if not (is_array(site.value) or isinstance(site.value, float)) or not is_whole(site) or is_written_into(site):
        return
    for name in sorted(pool.settings):
        if isinstance(value_of := site.names.get(name), float) and value_of != 1:
            for what, way in (("one more factor in", operator.mul), ("one more divisor of", operator.truediv)):
                change = lambda do, a, k, n, name=name, way=way: _put_in(way, do(*a, **k), n[name])
                yield Edit(1.45, "factor", f"{what} {quote_of(site)}", ("setting", name, way), change)


def _put_in(way: Callable, value: Any, other: Any) -> Any:
    if way in (operator.add, operator.sub) and np.array_equal(value, other):
        raise LookupError("twice a value is a factor, and a value less itself is 0")
    return some(way(value, other), value)


def _is_a_column(value_of: Callable, site: Site) -> bool:
    """Has the value one number for each row of this place?"""
    try:
        shape, of_site = shape_of(value_of(site.names)), shape_of(site.value)
    except Exception:  # of another call it is not known here
        return False
    return 0 < len(shape) < len(of_site) and shape == of_site[: len(shape)]


UNITS = (math.pi / 180, 180 / math.pi, math.log(10), 1 / math.log(10), math.log(2), 1 / math.log(2))

FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "root": ("power", lambda v: v**0.5), "reciprocal": ("power", lambda v: 1 / v),
    "1 - v": ("term", lambda v: 1 - v), "abs": ("function", abs), "1 - v^2": ("power", lambda v: 1 - v**2),
    "cube": ("power", lambda v: v**3), "reciprocal square": ("power", lambda v: 1 / v**2), "power 3/2": ("power", lambda v: v**1.5),
    "v (1 - v)": ("factor", lambda v: v * (1 - v)), "logistic": ("function", lambda v: 1 / (1 + elementwise("exp", -v))),
    "1 - e^-v": ("function", lambda v: 1 - elementwise("exp", -v)),
    **{name: ("function", lambda v, name=name: elementwise(name, v)) for name in ("exp", "log", "sign", "tanh", "cos", "sin")},
}  # fmt: skip


def squares(site: Site, pool: Pool) -> Iterator[Edit]:
    """The square of the value in its place."""
    if (is_array(site.value) or isinstance(site.value, float)) and not is_written_into(site):
        yield Edit(1.4, "power", f"a power of {quote_of(site)}", ("f", "square"), then(lambda v: some(v**2)))


def units(site: Site, pool: Pool) -> Iterator[Edit]:
    """A direction: a vector, or each of several, divided by its length."""
    if is_array(site.value) and shape_of(site.value)[-1:] in ((2,), (3,), (4,)) and not is_written_into(site) and is_whole(site):
        text = f"a unit vector, divided by its length, in the place of {quote_of(site)}"
        yield Edit(2.02, "normalisation", text, ("unit",), then(_unit))
    if isinstance(site.node, ast.Call) and is_array(site.value) and getattr(site.node.func, "attr", "") in ("sign", "sgn"):
        text = f"a unit vector, divided by its length, in the place of {quote_of(site)}"
        yield Edit(1.5, "normalisation", text, ("unit for sign",), lambda do, a, k, n: _unit(a[0] if a else do.args[0]))


def _unit(value: Any) -> Any:
    return value / (value * value).sum(-1)[..., None] ** 0.5


def functions_of(site: Site, pool: Pool) -> Iterator[Edit]:
    """Another function of the value in its place."""
    if (is_array(site.value) or isinstance(site.value, float)) and not is_written_into(site):
        said = {"power": "a power of", "term": "one more term beside", "factor": "one more factor beside"}
        for name, (family, function) in FUNCTIONS.items():
            text = f"{said.get(family, 'a function of')} {quote_of(site)}"
            yield Edit(3, family, text, ("f", name), then(lambda v, f=function: some(f(v))))
        if isinstance(site.value, np.ndarray) and site.value.ndim > 1 and site.value.shape[-1] == site.value.shape[-2]:
            yield Edit(2, "function", f"the inverse of {quote_of(site)}", ("inverse",), then(np.linalg.inv))
            yield Edit(2, "term", f"one more term beside {quote_of(site)}: the identity", ("identity",), then(_with_identity))


def _with_identity(value: np.ndarray) -> np.ndarray:
    return value + np.eye(value.shape[-1])
