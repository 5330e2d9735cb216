"""What somebody may take forward for, at one place of it: another operation, or a value for a constant."""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .changed_forward import ChangedForward, Changes, detached, has_gradient, numbers
from .schema import Site, as_written, same
from .values import instead, quote_of, shape_of, short

ARITHMETIC = {operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div", operator.pow: "pow"}
FAMILIES = {"add": "term", "sub": "term", "mul": "factor", "div": "division", "pow": "power"}
HARD = {np.logaddexp: (np.maximum, "the larger of the two"), np.maximum: (np.minimum, "the smaller of the two"),
        np.minimum: (np.maximum, "the larger of the two")}  # fmt: skip
METHODS = {"mean": "sum", "sum": "mean", "max": "min", "min": "max", "std": "var", "var": "std"}


class Slip(NamedTuple):
    """A change of forward; `text` continues "the gradient for x"."""

    cost: float
    family: str
    text: str
    sites: tuple[Site, ...]
    changes: Changes


def is_in_a_loop(site: Site) -> bool:
    return any(isinstance(p, (ast.For, ast.While)) for p in site.parents)


INSTEAD = "is right for another forward, in which {} is in the place of {}"
WITHOUT = "is right for another forward, in which {} is left out of {}"
CONSTANT = "misses a term: what comes back through {}, as if that were a constant"
IN_TURNS = "misses what comes back through {} {}, as if that were a constant there"


def of_site(forward: ChangedForward, site: Site) -> Iterator[tuple[float, str, str, Callable]]:
    said, n = quote_of(site), len(forward.values[site.number])
    if isinstance(site.node, ast.Assign) and site.do is same:
        yield 1.4, "term", f"is right for another forward, without {said}", partial(_before, site.node.targets[0].id)  # type: ignore[attr-defined]
    elif not isinstance(site.node, ast.expr):
        return
    if site.do in ARITHMETIC and isinstance(site.node, ast.BinOp):
        yield from _of_arithmetic(site, ARITHMETIC[site.do], said)
    if isinstance(site.node, ast.Call):
        yield from _of_call(site, said)
    if isinstance(site.node, ast.Constant) and type(site.node.value) is int:
        around = site.text(site.parents[0])
        for other in (site.node.value - 1, site.node.value + 1):
            text = INSTEAD.format("another number", f"{said} in `{short(around)}`")
            yield 2.0, "number", text, lambda do, a, k, names, n=other: n
    if has_gradient(site.value) and not isinstance(site.node, (ast.Attribute, ast.Tuple)):
        where = said if not isinstance(site.node, ast.Name) else f"{said} in `{short(site.text(site.parents[0]))}`"
        is_term = isinstance(getattr(site.parents[0], "op", None), (ast.Add, ast.Sub))
        yield 0.9 if is_term else 1.5, "term", CONSTANT.format(where), _detached
        for cost, words, is_cut in TURNS if n > 1 else ():
            look = partial(_cut_in, is_cut, n)
            yield cost, "term", IN_TURNS.format(where, words), partial(forward.counted, look, site.number)


TURNS = (
    (1.6, "in every turn but the last", lambda k, n: k < n - 1), (1.7, "in every turn but the first", lambda k, n: k > 0),
    (1.7, "in the first turn", lambda k, n: k == 0), (1.8, "in the last turn", lambda k, n: k == n - 1),
)  # fmt: skip


def _cut_in(is_cut: Callable[[int, int], bool], n: int, k: int, value: Any, names: Any) -> Any:
    return detached(value) if is_cut(k, n) else value


def _before(name: str, do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
    return names[name] if name in names else do(*args)


def _of_arithmetic(site: Site, name: str, said: str) -> Iterator[tuple[float, str, str, Callable]]:
    shape, node, family = shape_of(site.value), site.node, FAMILIES[name]
    for kept, left_out, cost in ((0, "right", 1.0), (1, "left", 1.1)):
        if kept and name not in ("add", "mul"):
            continue
        if shape_of(site.args[kept]) == shape:
            out, one = f"`{short(site.text(getattr(node, left_out)))}`", lambda *a, kept=kept: a[kept]
            yield cost, family, WITHOUT.format(out, said), instead(one)
            if has_gradient(site.value) and has_gradient(site.args[kept]):
                yield from _apart(cost + 0.15, family, WITHOUT.format(out, said), site.do, one)
    if name in ("mul", "pow") and (squared := _squared(site)):
        words = INSTEAD.format("the absolute value", f"the square of `{short(squared)}`")
        yield 1.3, "function", words, lambda do, a, k, names: a[0] * np.sign(numbers(a[name == "mul"]))
    other = {"add": operator.sub, "sub": operator.add}.get(name)
    if other and has_gradient(site.value):
        yield 1.4, "term sign", f"is right for another forward, with the other sign in {said}", instead(other)


def _squared(site: Site) -> str:
    """What is squared in a power or in a product, such as `w * u * u`."""
    node: Any = site.node
    right = site.text(node.right)
    if isinstance(node.op, ast.Pow):
        return site.text(node.left) if right == "2" else ""
    return right if right in {site.text(factor) for factor in _factors(node.left)} else ""


def _factors(node: Any) -> Iterator[ast.AST]:
    node = as_written(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield node


def _apart(cost: float, family: str, text: str, right: Callable, other: Callable) -> Iterator[tuple[float, str, str, Callable]]:
    """The slopes of another forward at the values of this one, and the other way round."""
    yield cost, family, f"{SLOPES}{text[len(OTHER) :]}", partial(_mixed, right, other)
    yield cost + 0.05, family, f"{VALUES}{text[len(OTHER) :]}", partial(_mixed, other, right)


OTHER = "is right for another forward, "
SLOPES = "is right with the slopes of another forward, "
VALUES = "is right with the values of another forward, "


def _mixed(values: Callable, slopes: Callable, do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
    return _as_one(values(*args, **kwargs), slopes(*args, **kwargs))


def _of_call(site: Site, said: str) -> Iterator[tuple[float, str, str, Callable]]:
    node: Any = site.node
    if site.do is range and isinstance(site.parents[0], ast.For):
        for words, part in (("the first", slice(1, None)), ("the last", slice(-1)), ("all but the first", slice(1))):
            text = f"is right for another forward, in which the loop over {said} goes without {words} of its turns"
            yield 1.3, "term", text, lambda do, a, k, names, part=part: range(*a)[part]
    if not has_gradient(site.value):
        return
    one, name = site.args[0] if site.args else None, getattr(node.func, "attr", getattr(node.func, "id", ""))
    if len(site.args) == 1 and not site.kwargs and has_gradient(one) and shape_of(one) == shape_of(site.value):
        if name in ("abs", "absolute", "square"):
            words, other = ("the absolute value", abs) if name == "square" else ("the square", lambda a: a * a)
            yield 1.3, "function", INSTEAD.format(words, said), instead(other)
        yield 1.2, "function", INSTEAD.format("its argument", said), instead(same)
        yield from _apart(1.4, "function", INSTEAD.format("its argument", said), site.do, same)
    if name in SCANS and (axis := _axis_of(site)) is not None:
        words = f"in which the last entry of {said} is in the place of all of them"
        for cost, how, mix in (
            (1.25, OTHER, lambda each, last: last),
            (1.3, SLOPES, _as_one),
            (1.35, VALUES, lambda each, last: _as_one(last, each)),
        ):
            yield cost, "scan", how + words, partial(_last_for_all, axis, mix)
    if name in METHODS and isinstance(node.func, ast.Attribute):
        yield 1.4, "scale", INSTEAD.format(f"`{METHODS[name]}`", said), lambda do, a, k, names: _sibling(do, METHODS[name])(*a, **k)
    if isinstance(axis := site.kwargs.get("axis"), int):
        for another in sorted({0, 1, -1} - {axis}):
            yield 1.5, "axis", INSTEAD.format("another axis", said), lambda do, a, k, names, at=another: do(*a, **{**k, "axis": at})
    if "ddof" in site.kwargs:
        yield 1.3, "size", INSTEAD.format("another divisor", said), lambda do, a, k, names: do(*a, **{**k, "ddof": 1 - k["ddof"]})


SCANS = {"cumsum", "cumprod", "accumulate"}


def _axis_of(site: Site) -> int | None:
    """The axis along which a call goes, as it says."""
    said = site.kwargs.get("axis", site.args[-1] if site.args else None)
    return int(said) if isinstance(said, (int, np.integer)) and not isinstance(said, bool) else None


def _last_for_all(axis: int, mix: Callable, do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
    """A scan mixed with its last entry, which is laid over all of them."""
    value = do(*args, **kwargs)
    place = (slice(None),) * (axis % len(shape_of(value))) + (slice(-1, None),)
    return mix(value, value[place] + 0 * value)


def _as_one(numbers_of: Any, slopes_of: Any) -> Any:
    """The numbers of one value, and what comes back goes through another one."""
    return as_in(numbers(numbers_of), 0, slopes_of, None)


def _sibling(do: Callable, name: str) -> Callable:
    """Another method of the same array, or another function of NumPy."""
    array = do.args[0] if isinstance(do, partial) else getattr(do, "__self__", None)
    return getattr(np if array is None else array, name)


def of_all(sites: list[Site]) -> Iterator[Slip]:
    """A soft maximum taken for a hard one, wherever it stands; and what else is changed at several places."""
    yield from _of_quotients(sites)
    yield from _of_roots(sites)
    for soft, (hard, words) in HARD.items():
        if every := [site for site in sites if site.do is soft and has_gradient(site.value)]:
            said = quote_of(every[0])
            changes = [(1.0, "function", INSTEAD.format(words, said), instead(hard))]
            changes += _apart(1.2, "function", INSTEAD.format(words, said), soft, hard)
            for cost, family, text, change in changes:
                yield Slip(cost, family, text, tuple(every), {site.number: change for site in every})
    alike: dict[str, list[Site]] = defaultdict(list)
    added: dict[str, list[Site]] = defaultdict(list)
    for site in sites:
        if isinstance(site.node, (ast.Call, ast.Subscript)) and has_gradient(site.value):
            alike[quote_of(site)].append(site)
        if isinstance(site.node, ast.AugAssign) and isinstance(site.node.target, ast.Subscript) and has_gradient(site.args[2]):
            added[ast.unparse(site.node.target.value)].append(site)
    for said, every in alike.items():
        if len(every) > 1:
            yield Slip(1.4, "term", CONSTANT.format(f"{said} in all its places"), tuple(every), {s.number: _detached for s in every})
    for name, every in added.items():
        if len(every) > 1:
            what = f"all that is added to entries of `{name}`"
            yield Slip(1.4, "term", CONSTANT.format(what), tuple(every), {s.number: _without_gradient for s in every})


def _of_quotients(sites: list[Site]) -> Iterator[Slip]:
    """A mean of quotients taken for a quotient of means."""
    at = {site.node: site for site in sites}
    for site in sites:
        function: Any = getattr(site.node, "func", None)
        name = getattr(function, "attr", "")
        if name not in ("sum", "mean") or not has_gradient(site.value):
            continue
        inside = (at.get(as_written(node)) for node in (*site.node.args[:1], function.value))  # type: ignore[attr-defined]
        quotient = next((other for other in inside if other and other.do is operator.truediv), None)
        if quotient and shape_of(quotient.args[0]) == shape_of(quotient.args[1]) != ():
            is_method, parts = as_written(function.value) is quotient.node, list[Any]()
            changes = {quotient.asks: partial(_kept, parts), site.asks: partial(_of_each, parts, name, is_method)}
            text = INSTEAD.format(f"the quotient of two `{name}`s", quote_of(site))
            yield Slip(1.3, "early sum", text, (site,), changes)


def _of_roots(sites: list[Site]) -> Iterator[Slip]:
    """An arithmetic mean of two in the place of their geometric one."""
    at = {site.node: site for site in sites}
    for site in sites:
        if not isinstance(site.node, ast.Call) or not has_gradient(site.value) or getattr(site.node.func, "attr", "") != "sqrt":
            continue
        product = next((at[n] for n in map(as_written, site.node.args) if n in at and at[n].do is operator.mul), None)
        if product and shape_of(product.value) == shape_of(site.value) != ():
            parts = list[Any]()
            text = INSTEAD.format("half the sum of the two", quote_of(site))
            for cost, how, mix in ((1.3, OTHER, None), (1.35, SLOPES, _as_one)):
                changes = {product.asks: partial(_kept, parts), site.asks: partial(_half_the_sum, parts, mix)}
                yield Slip(cost, "function", how + text[len(OTHER) :], (site,), changes)


def _half_the_sum(parts: list[Any], mix: Callable | None, do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
    half = 0.5 * (parts[0] + parts[1])
    return mix(do(*args, **kwargs), half) if mix else half


def _kept(parts: list[Any], do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
    parts[:] = args
    return do(*args, **kwargs)


def _of_each(parts: list[Any], name: str, is_method: bool, do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
    """What is above and what is below, each reduced by itself."""
    above, below = (getattr(part, name)(*args[not is_method :], **kwargs) for part in parts)
    return above / below


def _detached(do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
    return detached(do(*args, **kwargs))


def _without_gradient(do: Callable, args: Any, kwargs: Any, names: Any) -> Any:
    return do(*args[:2], detached(args[2]), **kwargs)


def as_in(other: np.ndarray, k: int, value: Any, names: Any) -> Any:
    """Other numbers, such as those of another turn; what comes back goes through this value."""
    if not has_gradient(value):
        return value if other is None else value * 0 + other
    return value + (other - numbers(value))
