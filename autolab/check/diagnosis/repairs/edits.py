"""The single changes that are tried at a place of a rule: a table of kinds of slips, the likeliest first.

A change is a function of what the place does, its operands and the local variables, and gives another value. Nothing here knows
an operation or a right formula.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...run.reference import sum_to
from .calls import axes, calls
from .schema import IN_PLACE, Site, same, store, store_in_place
from .values import (
    Edit,
    Pool,
    elementwise,
    flipped,
    instead,
    is_array,
    is_number,
    kind_of,
    quote_of,
    shape_of,
    short,
    then,
    transposed,
    with_axis,
)


def edits(site: Site, pool: Pool) -> Iterator[Edit]:
    """All that is tried at this place."""
    for look in (_names, _numbers, _operators, _unary, _comparisons, calls, axes, _indices, _stores, _returned, _orders, _factors, _values):
        yield from look(site, pool)


# ---------- names and numbers


def _names(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, ast.Name) or not (kind := kind_of(site.value)):
        return
    name, text = site.node.id, f"another value in the place of `{site.node.id}`"
    for other, value in site.names.items():
        if other != name and value is not site.value and kind_of(value) == kind:
            family = "variable" if kind == "array" else "size"
            cost = 1.0 if shape_of(value) == shape_of(site.value) else 1.5
            yield Edit(cost, family, text, ("name", name, other), lambda do, a, k, names, other=other: names[other])
    for step in (1, -1) if is_number(site.value) else ():
        yield Edit(1.5, "number", f"one more or one less than `{name}`", ("step", name, step), then(lambda v, s=step: v + s))
    for key, value_of in (pool.arrays if kind == "array" else pool.sizes if kind == "size" else {}).items():
        if key not in site.names:
            family = "variable" if kind == "array" else "size"
            yield Edit(2, family, text, ("name", name, key), lambda do, a, k, names, f=value_of: f(names))


def _numbers(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, (ast.Constant, ast.UnaryOp)) or site.do is not same or not is_number(n := site.value):
        return
    parent = site.parents[0]
    family = "number"
    if isinstance(parent, ast.Subscript) and isinstance(parent.value, ast.Attribute) and parent.value.attr == "shape":
        family = "size"
    elif isinstance(parent, (ast.Subscript, ast.Slice)):
        family = "places"
    elif isinstance(parent, ast.keyword) and parent.arg in ("axis", "dim"):
        family = "axis"
    elif isinstance(parent, ast.Compare):
        family = "mask"
    elif isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow) and parent.right is site.node:
        family = "power"
    text = f"another number in the place of {site.text()}"
    near = (-n, n + 1, n - 1, 2 * n, n / 2, 1 / n if n else 1, 0, 1, 2, 0.5, -1, 3, -2, 4, n + 0.5, n - 0.5, n * n)
    small = (1e-12, 1e-8, 1e-6, 1e-5, 1e-7, 1e-10, 1e-3) if 0 < abs(n) < 0.1 else ()
    for m in dict.fromkeys(near + small):
        if m != n and (isinstance(n, float) or m == int(m) or family not in ("places",)):
            m = int(m) if isinstance(n, int) and m == int(m) else m
            yield Edit(1, family, text, ("number", n, m), lambda do, a, k, names, m=m: m)
    for key, size in pool.sizes.items():
        yield Edit(1.5, "size" if family == "number" else family, text, ("number", n, key), lambda do, a, k, names, f=size: f(names))


# ---------- operators


def _operators(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, (ast.BinOp, ast.AugAssign)) or len(site.args) != 2:
        return
    quote, kind = f"`{short(site.text())}`", type(site.node.op)
    others = {
        ast.Add: (("term sign", operator.sub), ("operation", operator.mul)),
        ast.Sub: (("term sign", operator.add), ("operation", operator.mul)),
        ast.Mult: (("division", operator.truediv), ("operation", operator.add), ("elementwise", operator.matmul)),
        ast.Div: (("division", operator.mul), ("scale", operator.floordiv)), ast.FloorDiv: (("integer", operator.truediv),),
        ast.MatMult: (("elementwise", operator.mul),), ast.Pow: (("operation", operator.mul),),
        ast.BitAnd: (("mask", operator.or_),), ast.BitOr: (("mask", operator.and_),),
    }  # fmt: skip
    said = {"term sign": "the other sign in", "elementwise": "the other kind of product in"}
    for family, function in others.get(kind, ()):
        yield Edit(1, family, f"{said.get(family, 'another operation in')} {quote}", ("operator", kind, function), instead(function))
    if kind in (ast.Sub, ast.Div, ast.MatMult, ast.Pow):
        family = {ast.Sub: "term sign", ast.Div: "division", ast.MatMult: "order"}.get(kind, "power")
        yield Edit(1, family, f"the operands in the other order in {quote}", ("order", kind), instead(lambda a, b, do=site.do: do(b, a)))
    if kind is ast.MatMult:
        for left, right, turned in itertools.product((0, 1), (0, 1), (0, 1)):
            if left or right:
                family, text = ("order", "transposes and the other order in") if turned else ("transposed", "a transpose more or less in")
                yield Edit(1 + 0.5 * (left + right + turned - 1), family, f"{text} {quote}", ("matmul", left, right, turned),
                           instead(lambda a, b, le=left, ri=right, t=turned: _product(a, b, le, ri, t)))  # fmt: skip
    family = {ast.Add: "extra term", ast.Sub: "extra term", ast.Pow: "power"}.get(kind, "factor")
    part = {"extra term": "one term less", "power": "no exponent"}.get(family, "one factor less")
    yield Edit(1.5, family, f"{part} in {quote}", ("left", kind), instead(lambda a, b: a))
    if kind is not ast.Pow:
        yield Edit(1.5, family, f"{part} in {quote}", ("right", kind), instead(lambda a, b: b if kind is not ast.Sub else -b))
    if kind is ast.Div:
        yield Edit(2, "reciprocal", f"one factor less in {quote}", ("right", kind, 1), instead(lambda a, b: 1 / b))


def _product(a: Any, b: Any, left: int, right: int, turned: int) -> Any:
    a, b = transposed(a) if left else a, transposed(b) if right else b
    return b @ a if turned else a @ b


def _unary(site: Site, pool: Pool) -> Iterator[Edit]:
    if isinstance(site.node, ast.UnaryOp) and site.do is not same:
        family = "sign" if isinstance(site.node.op, ast.USub) else "mask"
        yield Edit(1, family, f"the opposite of `{short(site.text())}`", ("unary",), instead(same))


COMPARED = (operator.gt, operator.ge, operator.lt, operator.le, operator.eq, operator.ne)


def _comparisons(site: Site, pool: Pool) -> Iterator[Edit]:
    if isinstance(site.node, ast.Compare) and site.do in COMPARED:
        text = f"another condition than `{short(site.text())}`"
        for function in COMPARED:
            if function is not site.do:
                cost = 1 if hasattr(site.value, "ndim") else 1.3  # which way the rule goes
                yield Edit(cost, "mask", text, ("compare", site.do, function), instead(function))
        if is_array(site.args[0]):
            yield Edit(1.5, "mask", text, ("compare", "size"), instead(lambda a, b: site.do(abs(a), b)))


# ---------- indices and what is written


def _indices(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, ast.Subscript):
        return
    text, index = f"another index in `{short(site.text())}`", site.args[1]
    if isinstance(site.args[0], tuple) and is_number(site.value):  # one size of a shape
        for key, size in pool.sizes.items():
            yield Edit(1.2, "size", f"another size in the place of `{short(site.text())}`", ("size", key), lambda do, a, k, n, f=size: f(n))
    for key, other in _other_indices(index, site.args[0]):
        yield Edit(1, "places", text, ("index", key), lambda do, a, k, n, f=other: do(a[0], f(a[1])))
    yield Edit(1.5, "places", f"no index in `{short(site.text())}`", ("no index",), instead(lambda a, i: a))


def _other_indices(index: Any, array: Any) -> Iterator[tuple[Any, Callable[..., Any]]]:
    parts = index if isinstance(index, tuple) else (index,)

    def put(i: int, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda now: tuple(function(p) if j == i else p for j, p in enumerate(now)) if isinstance(now, tuple) else function(now)

    for i, part in enumerate(parts):
        if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            for step in (1, -1):
                yield (i, step), put(i, lambda p, s=step: p + s)
            yield (i, "other end"), put(i, lambda p: -1 - p)
        elif isinstance(part, slice):
            for start, stop in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)):
                yield (i, start, stop), put(i, lambda p, a=start, b=stop: _moved(p, a, b))
            yield (i, "backwards"), put(i, lambda p: slice(p.stop, p.start, -1 if p.step is None else None))
        elif isinstance(part, np.ndarray) and part.dtype == bool:
            yield (i, "not"), put(i, lambda p: ~p)
    if len(parts) > 1 and len(parts) < 5:
        for order in itertools.permutations(range(len(parts))):
            if order != tuple(range(len(parts))):
                yield order, lambda now, order=order: tuple(now[k] for k in order)
    if len(parts) == 1 and parts[0] is not None and getattr(array, "ndim", 0) > 1:
        yield "second axis", lambda now: (slice(None), now)


def _moved(part: slice, start: int, stop: int) -> slice:
    first = part.start if not start else (part.start or 0) + start
    last = part.stop if not stop else (part.stop if part.stop is not None else 0) + stop
    return slice(None if first == 0 else first, None if stop and last == 0 else last, part.step)


def _stores(site: Site, pool: Pool) -> Iterator[Edit]:
    if site.do in (store, store_in_place):
        quote = f"`{short(site.text())}`"
        adds = lambda do, a, k, n: np.add.at(*a) if isinstance(a[0], np.ndarray) else store_in_place(*a)
        yield Edit(1, "overwritten", f"a sum of all that is written in {quote}", ("store", "add"), adds)
        if site.do is store_in_place:
            yield Edit(1.5, "overwritten", f"one value written in {quote}", ("store", "set"), lambda do, a, k, n: store(*a))
            other = lambda do, a, k, n: store_in_place(*a, operator.iadd if k["do"] is operator.isub else operator.isub)
            yield Edit(1, "term sign", f"the other sign in {quote}", ("store", "sign"), other)
        for key, change in _other_indices(site.args[1], site.args[0]):
            yield Edit(
                1, "places", f"another index in {quote}", ("index", key), lambda do, a, k, n, f=change: do(a[0], f(a[1]), *a[2:], **k)
            )
        yield Edit(2, "extra term", f"nothing written in {quote}", ("store", "no"), lambda do, a, k, n: None)
    elif site.do in IN_PLACE.values():
        yield Edit(1.5, "overwritten", f"one value in {quote_of(site)}", ("in place", "set"), lambda do, a, k, n: a[1])


def _returned(site: Site, pool: Pool) -> Iterator[Edit]:
    if isinstance(site.node, ast.Tuple) and len(site.value) < 5 and all(map(_is_gradient, site.value)):
        for order in itertools.permutations(range(len(site.value))):
            if order != tuple(range(len(order))):
                yield Edit(
                    1.5, "swapped", f"another order in {quote_of(site)}", ("tuple", order), then(lambda v, o=order: tuple(v[i] for i in o))
                )


def _is_gradient(value: Any) -> bool:
    return value is None or is_array(value)


# ---------- what may be put in


def _is_whole(site: Site) -> bool:
    """Is it a term, and no factor of one? A factor that is put into a product may be put anywhere in it."""
    node, parent = site.node, site.parents[0]
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Div)):
        return isinstance(parent.op, ast.Div) and parent.right is node and isinstance(node, ast.BinOp)
    return not (isinstance(parent, ast.UnaryOp) or (isinstance(parent, ast.Attribute) and isinstance(node, ast.Name)))


def _orders(site: Site, pool: Pool) -> Iterator[Edit]:
    """The same numbers turned, reversed, added up or with an axis more."""
    if not is_array(site.value):
        return
    n, quote = site.value.ndim, quote_of(site)
    is_less = n < max((len(shape_of(value)) for value in site.names.values()), default=0)  # has it lost an axis?
    for axis in range(-1, -n - 2, -1):
        yield Edit(
            1.4 if is_less else 2.4,
            "keepdims",
            f"an axis of size 1 put into {quote}",
            ("axis put in", axis),
            then(lambda v, a=axis: with_axis(v, a)),
        )
    if not _is_whole(site):
        return
    if isinstance(site.node, ast.Name) and isinstance(site.parents[0], ast.Call) and site.parents[0].func is site.node:
        return
    yield Edit(1.5, "sign", f"the other sign of {quote}", ("minus",), then(operator.neg))
    if n > 1:
        yield Edit(1.5, "transposed", f"a transpose more or less of {quote}", ("transposed",), then(transposed))
    for axis in range(-1, -n - 1, -1):
        yield Edit(2.5, "flipped", f"the entries of {quote} in the other order", ("flipped", axis), then(lambda v, a=axis: flipped(v, a)))
        yield Edit(2, "not summed", f"{quote} added up along an axis", ("summed", axis), then(lambda v, a=axis: v.sum(a, keepdims=True)))
        yield Edit(2.5, "size", f"the mean of {quote} along an axis", ("mean", axis), then(lambda v, a=axis: v.mean(a, keepdims=True)))
        yield Edit(2.5, "not summed", f"{quote} added up along an axis", ("summed away", axis), then(lambda v, a=axis: v.sum(a)))
        yield Edit(3, "scan", f"a running sum of {quote}", ("running", axis), then(lambda v, a=axis: v.cumsum(a)))
        yield Edit(
            3,
            "term",
            f"one more term beside {quote}: its own mean",
            ("centred", axis),
            then(lambda v, a=axis: v - v.mean(a, keepdims=True)),
        )
        yield Edit(3, "scan", f"a running sum of {quote}", ("running back", axis),
                   then(lambda v, a=axis: flipped(flipped(v, a).cumsum(a), a)))  # fmt: skip
    if isinstance(site.parents[0], (ast.Return, ast.Lambda, ast.Tuple)):
        for key, goal in pool.shapes.items():
            yield Edit(1.5, "not summed", f"{quote} summed to the shape of its input", ("shape", key),
                       lambda do, a, k, names, f=goal: sum_to(do(*a, **k), f(names)))  # fmt: skip


OF_AN_ARRAY: tuple[tuple[float, str, str, Callable], ...] = (
    (2, "factor", "one more factor in", operator.mul), (2.2, "factor", "one more divisor of", operator.truediv),
    (3, "term", "one more term beside", operator.add), (3, "term", "one more term beside", operator.sub),
    (3.2, "term sign", "another term in the place of", lambda v, w: w - v), (3, "factor", "one more factor in", lambda v, w: v * w**2),
    (3, "factor", "one more divisor of", lambda v, w: v / w**2),
)  # fmt: skip
OF_A_SIZE: tuple[tuple[float, str, str, Callable], ...] = (
    (2, "scale", "a size or a setting as a divisor of", operator.truediv),
    (2.2, "scale", "a size or a setting as a factor of", operator.mul),
)  # fmt: skip


def _factors(site: Site, pool: Pool) -> Iterator[Edit]:
    """One more factor, divisor or term."""
    if not (is_array(site.value) or isinstance(site.value, float)) or not _is_whole(site):
        return
    quote = quote_of(site)
    is_sum = not (isinstance(site.parents[0], ast.BinOp) and isinstance(site.parents[0].op, (ast.Add, ast.Sub)))
    for values, ways in ((pool.arrays, OF_AN_ARRAY), (pool.sizes, OF_A_SIZE)):
        for key, value_of in values.items():
            for number, (cost, family, what, way) in enumerate(ways):
                if is_sum or not family.startswith("term"):
                    change = lambda do, a, k, n, f=value_of, way=way: way(do(*a, **k), f(n))
                    yield Edit(cost, family, f"{what} {quote}", (number, key, family), change)
    for c in (2, 0.5, 3, 4, 1 / 3, 0.25):
        yield Edit(2, "constant", f"one more number as a factor of {quote}", ("times", c), then(lambda v, c=c: v * c))
    for c in (1, -1, 0.5, 1e-5, 1e-8, 1e-6, 1e-12):
        yield Edit(3 if abs(c) == 1 else 3.5, "term", f"one more number added to {quote}", ("plus", c), then(lambda v, c=c: v + c))


FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "square": ("power", lambda v: v**2), "root": ("power", lambda v: v**0.5), "reciprocal": ("power", lambda v: 1 / v),
    "1 - v": ("term", lambda v: 1 - v), "abs": ("function", abs), "1 - v^2": ("power", lambda v: 1 - v**2),
    "cube": ("power", lambda v: v**3), "reciprocal square": ("power", lambda v: 1 / v**2), "power 3/2": ("power", lambda v: v**1.5),
    "v (1 - v)": ("factor", lambda v: v * (1 - v)), "logistic": ("function", lambda v: 1 / (1 + elementwise("exp", -v))),
    "1 - e^-v": ("function", lambda v: 1 - elementwise("exp", -v)),
    **{name: ("function", lambda v, name=name: elementwise(name, v)) for name in ("exp", "log", "sign", "tanh", "cos", "sin")},
}  # fmt: skip


def _values(site: Site, pool: Pool) -> Iterator[Edit]:
    """A function of the value in its place."""
    if is_array(site.value) or isinstance(site.value, float):
        said = {"power": "a power of", "term": "one more term beside", "factor": "one more factor beside"}
        for name, (family, function) in FUNCTIONS.items():
            yield Edit(
                1.9 if name == "square" else 3, family, f"{said.get(family, 'a function of')} {quote_of(site)}", ("f", name), then(function)
            )
