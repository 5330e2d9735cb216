"""The single changes that are tried at a place of a rule: two tables of kinds of slips, the likeliest first.

A change is a function of what the place does, its operands and the local variables, and gives another value. Nothing here knows
an operation or a right formula.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...run.reference import sum_to
from .brackets import brackets
from .calls import AXIS_FIRST, axes, calls
from .exchanges import is_taken_from_1
from .indices import indices, is_written_into, lost_indices, stores, turns_for_numbers
from .names_of_forward import ends_of_loops, of_forward_by_name
from .of_forward import of_forward
from .put_in import (
    factors,
    functions_of,
    halves_of_a_product,
    indexed_factors,
    is_whole,
    masks,
    of_a_statement,
    rests,
    settings,
    some,
    squares,
    terms_in_brackets,
    units,
)
from .schema import Site, as_written, same
from .statements import assignments, earlier_values, loops, moves, taken_apart
from .values import (
    Change,
    Edit,
    Pool,
    assigned,
    evaluated,
    flipped,
    instead,
    is_array,
    is_mask,
    is_number,
    kind_of,
    quote_of,
    shape_of,
    short,
    size_in_words,
    then,
    transposed,
    with_axis,
)


def likely_edits(site: Site, pool: Pool) -> Iterator[Edit]:
    """What is tried at this place before anything is tried that costs UNLIKELY."""
    if site.block:
        yield from moves(site)
        return
    for look in LIKELY_LOOKS:
        yield from look(site, pool)


def unlikely_edits(site: Site, pool: Pool) -> Iterator[Edit]:
    """What costs at least UNLIKELY: nine in ten of all, which are not made where another change mends the rule."""
    for look in () if site.block else UNLIKELY_LOOKS:
        yield from look(site, pool)


# ---------- names and numbers


def _names(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, ast.Name):
        return
    yield from _for_whole_numbers(site)
    if not (kind := kind_of(site.value)):
        return
    name, text = site.node.id, f"another value in the place of `{site.node.id}`"
    for other, value in site.names.items():
        if other != name and (value is not site.value or is_number(value)) and kind_of(value) == kind:
            family = "variable" if kind == "array" else "size"
            cost = 1.0 if shape_of(value) == shape_of(site.value) else 1.8
            yield Edit(cost, family, text, ("name", name, other), lambda do, a, k, names, other=other: names[other])
    for step in (1, -1) if is_number(site.value) else ():
        more = "more" if step > 0 else "less"
        yield Edit(1.5, "number", f"one {more} than `{name}`", ("step", name, step), then(lambda v, s=step: v + s))
    is_share = (isinstance(site.value, float) and site.value != 0.5) or (is_array(site.value) and np.size(site.value))
    if is_share and np.all(np.asarray(site.value > 0) & np.asarray(site.value < 1)):
        text = f"`{name}` in the place of `1 - {name}`" if is_taken_from_1(site) else f"1 - {name} in the place of `{name}`"
        yield Edit(1.3, "setting", text, ("rest", name), then(lambda v: 1 - v))
    if kind == "size":
        multiple = f"a multiple of `{name}`"
        yield Edit(1.9, "places", multiple, ("multiple", name, 2), then(lambda v: 2 * v))
        for key, size in pool.sizes.items():
            yield Edit(2.2, "places", multiple, ("multiple", name, key), lambda do, a, k, names, f=size: do(*a) * f(names))
        others = {n for n, v in site.names.items() if is_number(v) and n != name}
        for other in sorted(others if _is_place(site) else others & pool.settings):
            for times, sign in ((1, 1), (1, -1), (2, 1), (2, -1)):
                text = f"`{name}` {'plus' if sign > 0 else 'less'} {'twice ' * (times > 1)}`{other}`"
                yield Edit(2.2 + times / 10, "places", text, ("sum of sizes", name, other, times * sign),
                           lambda do, a, k, names, n=other, m=times * sign: do(*a) + m * names[n])  # fmt: skip
    for key, value_of in (pool.arrays if kind == "array" else pool.sizes if kind == "size" else {}).items():
        if key not in site.names:
            family = "variable" if kind == "array" else "size"
            said = f"{size_in_words(key)} in the place of `{name}`" if kind == "size" else text
            yield Edit(1.45, family, said, ("name", name, key), lambda do, a, k, names, f=value_of: f(names))


def _for_whole_numbers(site: Site) -> Iterator[Edit]:
    """An array in the place of one of whole numbers, such as weights for counts."""
    if isinstance(site.value, np.ndarray) and site.value.dtype.kind in "iu":
        text = f"another value in the place of {quote_of(site)}"
        for other, value in site.names.items():
            if is_array(value) and shape_of(value) == site.value.shape:
                yield Edit(1.5, "variable", text, ("name", site.node.id, other), lambda do, a, k, names, o=other: names[o])  # type: ignore[attr-defined]


def _is_place(site: Site) -> bool:
    """Is it in an index, or one of the bounds of a loop?"""
    parent = site.parents[0]
    if isinstance(parent, (ast.Assign, ast.AugAssign)):  # of what is written
        return parent.value is not site.node
    return isinstance(parent, (ast.Subscript, ast.Slice)) or _is_range(parent)


def _numbers(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, (ast.Constant, ast.UnaryOp)) or site.do is not same or not is_number(n := site.value):
        return
    parent = site.parents[0]
    family = "number"
    if isinstance(parent, ast.Subscript) and isinstance(parent.value, ast.Attribute) and parent.value.attr == "shape":
        family = "size"
    elif isinstance(parent, (ast.Subscript, ast.Slice)) or any(_is_range(p) for p in site.parents[:2]):
        family = "places"
    elif _is_axis(site):
        family = "axis"
    elif isinstance(parent, ast.Compare):
        family = "mask"
    elif isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow) and parent.right is site.node:
        family = "power"
    text = f"another {'axis' if family == 'axis' else 'number'} in the place of {site.text()}"
    turned, shift = text, _is_shift(site)
    if shift:  # of np.roll
        family, text, turned = "places", f"another shift than {site.text()}", f"a shift in the other direction than {site.text()}"
    near: tuple[Any, ...] = (-n, n + 1, n - 1, 2 * n, n / 2, 0, 1, 2, 0.5, 1 / n if n else 1, -1, 3, -2, 4, n + 0.5, n - 0.5, n * n)
    near = (0, -1, 1, -2, 2, -3) if family == "size" else near
    small = (1e-12, 1e-8, 1e-6, 1e-5, 1e-7, 1e-10, 1e-3) if 0 < abs(n) < 0.1 else ()
    for m in dict.fromkeys(near + small):
        if m != n and (isinstance(n, float) or m == int(m) or family not in ("places",)):
            m = int(m) if isinstance(n, int) and m == int(m) else m
            cost = 1.3 if m == 0 and takes_away(site) else 1 if m in near[:9] else 1.9
            said = turned if m == -n else f"no shift by {site.text()}" if shift and m == 0 else text
            yield Edit(cost, family, said, ("number", n, m), lambda do, a, k, names, m=m: m)
    for key, size in pool.sizes.items():
        yield Edit(1.6, "size" if family == "number" else family, text, ("number", n, key), lambda do, a, k, names, f=size: f(names))


def _is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range"


def takes_away(site: Site) -> bool:
    """Would a 0 there take away a factor, all of a product, or what a size is less by? Then that is what is said."""
    parent = site.parents[0]
    if not isinstance(parent, ast.BinOp) or isinstance(parent.op, (ast.Mult, ast.Div)):
        return isinstance(parent, ast.BinOp)
    try:
        return isinstance(parent.op, (ast.Add, ast.Sub)) and is_number(evaluated(parent)(site.names))
    except Exception:  # it calls a function of the student's
        return False


def _is_axis(site: Site) -> bool:
    """Is it the axis that a function is called with?"""
    parent = site.parents[0]
    if not isinstance(parent, ast.Call):
        return False
    name = parent.func.attr if isinstance(parent.func, ast.Attribute) else ""
    return any(word.value is site.node for word in parent.keywords if word.arg in ("axis", "dim")) or (
        name in AXIS_FIRST and any(a is site.node for a in parent.args)
    )


def _is_shift(site: Site) -> bool:
    """Is it by how much np.roll moves?"""
    call = next((p for p in site.parents[:2] if isinstance(p, ast.Call)), None)
    inside = call is not None and getattr(call.func, "attr", "") == "roll"
    return inside and not (isinstance(site.parents[0], ast.keyword) and site.parents[0].arg == "axis") and _position(call, site.node) < 2


def _position(call: Any, node: ast.AST) -> int:
    return next((k for k, a in enumerate(call.args) if getattr(a, "was", a) is node), 0)


# ---------- operators


def _operators(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, (ast.BinOp, ast.AugAssign)) or len(site.args) != 2:
        return
    quote, kind = f"`{short(site.text())}`", type(site.node.op)
    others = {
        ast.Add: (("term sign", operator.sub), ("operation", operator.mul), ("operation", operator.truediv)),
        ast.Sub: (("term sign", operator.add), ("operation", operator.mul), ("operation", operator.truediv)),
        ast.Mult: (("division", operator.truediv), ("operation", operator.add), ("operation", operator.sub),
                   ("elementwise", operator.matmul)),
        ast.Div: (("division", operator.mul), ("scale", lambda a, b: some(a // b)), ("operation", operator.add),
                  ("operation", operator.sub)),
        ast.FloorDiv: (("integer", operator.truediv),),
        ast.MatMult: (("elementwise", operator.mul),), ast.Pow: (("operation", operator.mul),),
        ast.BitAnd: (("mask", operator.or_),), ast.BitOr: (("mask", operator.and_),),
    }  # fmt: skip
    said = {"term sign": "the other sign in", "elementwise": "the other kind of product in"}
    for family, function in others.get(kind, ()):
        cost = 1.9 if family == "operation" else 1.1 if family == "elementwise" else 1
        if all(map(is_number, site.args)):  # n - (n - 1) is 1: of numbers many are right by chance
            cost = max(cost, 1.3)
        yield Edit(cost, family, f"{said.get(family, 'another operation in')} {quote}", ("operator", kind, function), instead(function))
    if kind in (ast.Sub, ast.Div, ast.MatMult, ast.Pow):
        family = {ast.Sub: "term sign", ast.Div: "division", ast.MatMult: "order"}.get(kind, "power")
        order = "the other sign of" if kind is ast.Sub else "the operands in the other order in"
        yield Edit(1, family, f"{order} {quote}", ("order", kind), instead(lambda a, b, do=site.do: do(b, a)))
    if kind is ast.MatMult:
        for left, right, turned in itertools.product((0, 1), (0, 1), (0, 1)):
            if left or right:
                family, text = ("order", "transposes and the other order in") if turned else ("transposed", "a transpose more or less in")
                yield Edit(1 + 0.5 * (left + right + turned - 1), family, f"{text} {quote}", ("matmul", left, right, turned),
                           instead(lambda a, b, le=left, ri=right, t=turned: _product(a, b, le, ri, t)))  # fmt: skip
    if kind is ast.Mult and isinstance(site.node, ast.BinOp):
        yield from _taken_in(site.node.left, assigned(site, site.node.right), 1)
        yield from _taken_in(site.node.right, assigned(site, site.node.left), 0)
    if kind in (ast.Mult, ast.Div) and isinstance(site.node, ast.BinOp):
        yield from _before_a_product(site, pool)
    if kind is ast.MatMult:
        yield from _after_a_product(site, pool)
        yield from _both_ends_of_a_product(site)
    if kind is ast.Pow and all(isinstance(a, int) for a in site.args) and site.args[1] == 2:
        for key, size in pool.sizes.items():
            text = f"{size_in_words(key)} as one of the two factors in {quote}"
            yield Edit(1.5, "size", text, ("one of two", key), lambda do, a, k, n, f=size: a[0] * f(n))
    if kind is ast.Pow and is_array(site.args[0]) and is_number(site.args[1]) and site.args[1] == 2:
        text = f"another value in the place of one of the two factors in {quote}"
        for key, value_of in pool.arrays.items():
            yield Edit(1.6, "variable", text, ("one of two arrays", key), lambda do, a, k, n, f=value_of: _as_wide(a[0] * f(n), a[0]))
    family = {ast.Add: "extra term", ast.Sub: "extra term", ast.Pow: "power"}.get(kind, "factor")
    part = {"extra term": "one term less", "power": "no exponent"}.get(family, "one factor less")
    cost = 1.2
    if family == "extra term" and all(map(is_number, site.args)):  # n - 1 for n, which may also be a factor of its own
        family, cost = "number", 1.25
    yield Edit(cost, family, f"{part} in {quote}", ("left", kind), instead(lambda a, b: a))
    if kind is not ast.Pow:
        yield Edit(cost, family, f"{part} in {quote}", ("right", kind), instead(lambda a, b: b if kind is not ast.Sub else -b))
    if kind is ast.Div:
        yield Edit(2, "reciprocal", f"one factor less in {quote}", ("right", kind, 1), instead(lambda a, b: 1 / b))


def _as_wide(value: Any, before: Any) -> Any:
    if shape_of(value) != shape_of(before):
        raise LookupError("it is stretched")
    return value


def _both_ends_of_a_product(site: Site) -> Iterator[Edit]:
    """The first and the last of three matrices, each transposed: a change of basis the other way round."""
    text = f"a transpose more or less of the first and of the last factor in {quote_of(site)}"
    first: Change = lambda do, a, k, names: do(transposed(a[0]), a[1])
    last: Change = lambda do, a, k, names: do(a[0], transposed(a[1]))
    node: Any = site.node
    for inner, here, there in ((node.left, last, first), (node.right, first, last)):
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.MatMult) and hasattr(inner, "number"):
            yield Edit(1.4, "transposed", text, ("both ends", here is first), here, {inner.number: there})


def _taken_in(factor: Any, call: Any, place: int) -> Iterator[Edit]:
    """A factor of a sum as a factor of what is added up: sum(g * x) for g * sum(x)."""
    is_sum = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in SUMS
    if not is_sum or not hasattr(call, "number"):
        return
    for name, rest in _without_one(factor):
        text = f"`{name}` inside the `{call.func.attr}` of `{name} * ...`"
        inside = {call.number: lambda do, a, k, names, name=name: _of_product(do, a, k, names[name])}
        kept = evaluated(rest) if rest else None
        change: Change = lambda do, a, k, names, r=kept: a[place] * r(names) if r else a[place]
        yield Edit(1.2, "early sum", text, ("inside", name), change, inside)


def _before_a_product(site: Site, pool: Pool) -> Iterator[Edit]:
    """Rows multiplied or divided before a matrix product, and not after it."""
    node: Any = site.node
    product = as_written(assigned(site, as_written(node.left)))
    is_product = isinstance(product, ast.BinOp) and isinstance(product.op, ast.MatMult) and hasattr(product, "number")
    if not is_product or is_number(site.args[1]) or not pool.comes_from_g(site):
        return
    by = _of_text(site.text(node.right))
    text = f"`{short(site.text(node.right))}` before the product, and not after it, in {quote_of(site)}"
    for k in (1, 0):
        inside = {product.number: lambda do, a, kw, names, k=k: do(*(site.do(v, by(names)) if i == k else v for i, v in enumerate(a)))}
        yield Edit(1.5, "order", text, ("before a product", k, site.text(node.right)), lambda do, a, kw, names: a[0], inside)


def _of_text(text: str) -> Any:
    return evaluated(ast.parse(text, mode="eval").body)


def _after_a_product(site: Site, pool: Pool) -> Iterator[Edit]:
    """And the other way round."""
    node: Any = site.node
    for k, operand in enumerate((node.left, node.right)):
        part = as_written(assigned(site, as_written(operand)))
        if (
            not isinstance(part, ast.BinOp)
            or not isinstance(part.op, (ast.Mult, ast.Div))
            or not hasattr(part, "number")
            or not pool.comes_from_g(site)
        ):
            continue
        by, way = _of_text(site.text(part.right)), operator.mul if isinstance(part.op, ast.Mult) else operator.truediv
        text = f"`{short(site.text(part.right))}` after the product, and not before it, in {quote_of(site)}"
        before = {part.number: lambda do, a, kw, names: a[0]}
        yield Edit(
            1.5,
            "order",
            text,
            ("after a product", k, site.text(part.right)),
            lambda do, a, kw, names, by=by, way=way: way(do(*a), by(names)),
            before,
        )


def _without_one(factor: Any) -> Iterator[tuple[str, Any]]:
    """Of a product each factor that is a name, and what is left of the product without it."""
    if isinstance(factor, ast.Name):
        yield factor.id, None
    elif isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Mult):
        for part, other in ((factor.left, factor.right), (factor.right, factor.left)):
            for name, rest in _without_one(part):
                yield name, ast.copy_location(ast.BinOp(other, ast.Mult(), rest), factor) if rest else other


SUMS = {"sum", "mean", "cumsum"}


def _of_product(do: Any, args: tuple, kwargs: Any, factor: Any) -> Any:
    array = getattr(do, "__self__", None)
    return getattr(array * factor, do.__name__)(*args, **kwargs) if hasattr(array, "ndim") else do(args[0] * factor, *args[1:], **kwargs)


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


def _sizes(site: Site, pool: Pool) -> Iterator[Edit]:
    """x.shape[0], len(x) and x.size."""
    if not isinstance(site.node, (ast.Subscript, ast.Call, ast.Attribute)) or kind_of(site.value) != "size":
        return
    quote = quote_of(site)
    for key, size in pool.sizes.items():
        yield Edit(1.2, "size", f"{size_in_words(key)} in the place of {quote}", ("size", key), lambda do, a, k, n, f=size: f(n))
    for step in (1, -1):
        yield Edit(1.5, "number", f"one more or one less than {quote}", ("step", site.text(), step), then(lambda v, s=step: v + s))
    for mask, (value, value_of) in pool.masks.items():
        if is_mask(value, np.empty(shape_of(value))):
            true = True if "bool" in str(value.dtype) else 1
            text = f"the number of entries where `{mask}` is {true} in the place of {quote}"
            yield Edit(1.4, "mask", text, ("counted", mask), lambda do, a, k, names, f=value_of: f(names).sum(-1)[..., None])
            yield Edit(1.35, "mask", text, ("counted", mask, "all"), lambda do, a, k, names, f=value_of: f(names).sum())


# ---------- what is given back


def _returned(site: Site, pool: Pool) -> Iterator[Edit]:
    if isinstance(site.node, ast.Tuple) and len(site.value) < 5 and all(map(_is_gradient, site.value)):
        for order in itertools.permutations(range(len(site.value))):
            if order != tuple(range(len(order))):
                yield Edit(
                    1.5, "swapped", f"another order in {quote_of(site)}", ("tuple", order), then(lambda v, o=order: tuple(v[i] for i in o))
                )


def _is_gradient(value: Any) -> bool:
    return value is None or is_array(value)


# ---------- the same numbers elsewhere


def _turns(site: Site, pool: Pool) -> Iterator[Edit]:
    """The same numbers with the other sign, turned, with an axis more, or summed to the shape of an input."""
    if not is_array(site.value) or is_written_into(site):
        return
    n, quote = site.value.ndim, quote_of(site)
    is_less = n < max((len(shape_of(value)) for value in site.names.values()), default=0)  # has it lost an axis?
    for axis in range(-1, -n - 2, -1):
        yield Edit(
            1.4 if is_less else 2.6,
            "keepdims",
            f"an axis of size 1 put into {quote}",
            ("axis put in", axis),
            then(lambda v, a=axis: with_axis(v, a)),
        )
    if n > 1 and is_square(site.value.shape):
        text = f"what belongs to `[j, i]` besides what belongs to `[i, j]` in {quote}"
        cost = 1.3 if site.value.shape[-1] == 1 and pool.comes_from_g(site) else 1.9
        for k, (both, half) in enumerate(itertools.product((operator.add, operator.sub), (1, 0.5))):
            said = text if both is operator.add else text.replace(" besides", " with the other sign besides")
            change = lambda v, both=both, half=half: half * both(v, transposed(v))
            yield Edit(cost + 0.02 * k, "diagonal only", said, ("both", k, site.text()), then(change))
    if not _is_a_term(site):
        return
    yield Edit(1.5, "sign", f"the other sign of {quote}", ("minus", site.text()), then(operator.neg))
    if n > 1:
        yield Edit(1.5, "transposed", f"a transpose more or less of {quote}", ("transposed", site.text()), then(transposed))
    if isinstance(site.parents[0], (ast.Return, ast.Lambda, ast.Tuple)):
        for key, goal in pool.shapes.items():
            yield Edit(1.5, "not summed", f"{quote} summed to the shape of its input", ("shape", key),
                       lambda do, a, k, names, f=goal: sum_to(do(*a, **k), f(names)))  # fmt: skip


def is_square(shape: tuple[int, ...]) -> bool:
    """Is it a matrix of pairs, or a column that stands for one?"""
    return shape[-2] > 1 and shape[-1] in (1, shape[-2])


def _scans(site: Site, pool: Pool) -> Iterator[Edit]:
    """A running sum of what comes from g, where forward has one."""
    if pool.calls.isdisjoint(("cumsum", "accumulate")) or not is_array(site.value) or is_written_into(site) or not pool.comes_from_g(site):
        return
    for axis in range(-1, -site.value.ndim - 1, -1):
        text = f"a running sum of {quote_of(site)}"
        yield Edit(1.55, "scan", text, ("running", axis), then(lambda v, a=axis: v.cumsum(a)))
        yield Edit(1.55, "scan", text, ("running back", axis), then(lambda v, a=axis: flipped(flipped(v, a).cumsum(a), a)))


def _is_a_term(site: Site) -> bool:
    """Is it a term, and no function that is called?"""
    parent = site.parents[0]
    return is_whole(site) and not (isinstance(site.node, ast.Name) and isinstance(parent, ast.Call) and parent.func is site.node)


def _orders(site: Site, pool: Pool) -> Iterator[Edit]:
    """The same numbers reversed, added up or with their axes in another order."""
    if not is_array(site.value) or is_written_into(site) or not _is_a_term(site):
        return
    n, quote = site.value.ndim, quote_of(site)
    for name in ("axis", "dim") if n > 1 and isinstance(site.value, np.ndarray) else ():
        if isinstance(site.names.get(name), int):
            text = f"{quote} with its axes in another order"
            to: Change = lambda do, a, k, names, axis=name: np.moveaxis(do(*a, **k), names[axis], -1)
            back: Change = lambda do, a, k, names, axis=name: np.moveaxis(do(*a, **k), -1, names[axis])
            yield Edit(2, "permutation", text, ("to the end", name), to)
            yield Edit(2, "permutation", text, ("from the end", name), back)
    for pair in itertools.combinations(range(n), 2) if n > 3 else ():
        yield Edit(2.5, "not summed", f"{quote} added up along two axes", ("summed away", pair), then(lambda v, a=pair: v.sum(a)))
    for axis in range(-1, -n - 1, -1):
        yield Edit(
            2.5,
            "flipped",
            f"the entries of {quote} in the other order",
            ("flipped", axis, type(site.node)),
            then(lambda v, a=axis: flipped(v, a)),
        )
        yield Edit(2, "not summed", f"{quote} added up along an axis", ("summed", axis), then(lambda v, a=axis: v.sum(a, keepdims=True)))
        yield Edit(2.5, "size", f"the mean of {quote} along an axis", ("mean", axis), then(lambda v, a=axis: v.mean(a, keepdims=True)))
        yield Edit(2.5, "not summed", f"{quote} added up along an axis", ("summed away", axis), then(lambda v, a=axis: v.sum(a)))
        yield Edit(3, "scan", f"a running sum of {quote}", ("running", axis), then(lambda v, a=axis: v.cumsum(a)))
        yield Edit(
            3,
            "term",
            f"one more term beside {quote}: its own mean",
            ("centred", axis),
            then(lambda v, a=axis: some(v - v.mean(a, keepdims=True))),
        )
        yield Edit(3, "scan", f"a running sum of {quote}", ("running back", axis),
                   then(lambda v, a=axis: flipped(flipped(v, a).cumsum(a), a)))  # fmt: skip


UNLIKELY = 2.0  # the cost of what is made, and then tried, if nothing else mends the rule
LIKELY_LOOKS = (_names, of_forward_by_name, earlier_values, _numbers, _sizes, brackets, _operators, _unary, _comparisons, calls, axes,
                loops, indices, turns_for_numbers, lost_indices, stores, assignments, taken_apart, _returned, _turns, squares, settings,
                rests, masks, of_a_statement, halves_of_a_product, indexed_factors, _scans, ends_of_loops)  # fmt: skip
UNLIKELY_LOOKS = (units, _orders, of_forward, factors, terms_in_brackets, functions_of)
