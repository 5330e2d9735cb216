"""The single changes that are tried at a place of a rule: a table of kinds of slips, the likeliest first.

A change is a function of what the place does, its operands and the local variables, and gives another value. Nothing here knows
an operation or a right formula.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from autolab.formula import expression

from ...run.reference import sum_to
from .schema import IN_PLACE, MOST_HELPERS, Site, same, store, store_in_place

Change = Callable[..., Any]  # of what the place does, its operands, its keywords, the local variables


class Edit(NamedTuple):
    """One change at one place; `key` is the same wherever the same slip is mended, `what` continues "would be right with"."""

    cost: float
    family: str
    what: str
    key: Any
    change: Change


class Pool(NamedTuple):
    """Values that a rule may have left out: how each is found among the local variables."""

    arrays: Mapping[Any, Callable[[Mapping[str, Any]], Any]]
    sizes: Mapping[Any, Callable[[Mapping[str, Any]], Any]]
    shapes: Mapping[Any, Callable[[Mapping[str, Any]], Any]]


def edits(site: Site, pool: Pool) -> Iterator[Edit]:
    """All that is tried at this place."""
    for look in (
        _names,
        _numbers,
        _operators,
        _unary,
        _comparisons,
        _calls,
        _axes,
        _indices,
        _stores,
        _returned,
        _orders,
        _factors,
        _values,
    ):
        yield from look(site, pool)


# ---------- what a value is


def is_array(value: Any) -> bool:
    """An array or a tensor of numbers with a point."""
    return hasattr(value, "ndim") and hasattr(value, "sum") and "float" in str(getattr(value, "dtype", ""))


def is_number(value: Any) -> bool:
    """A plain number, not an array."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_)) and not _shape(value)


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def _kind(value: Any) -> str:
    if is_number(value):
        return "size" if isinstance(value, (int, np.integer)) else "array"
    if isinstance(value, tuple):
        return "shape"
    if is_array(value):
        return "array"
    return str(getattr(value, "dtype", "")) if hasattr(value, "ndim") else ""


def _function(name: str, value: Any) -> Any:
    """An elementwise function of an array or a tensor."""
    return getattr(np, name)(value) if isinstance(value, (np.ndarray, np.generic, float, int)) else getattr(value, name)()


def transposed(value: Any) -> Any:
    """The last two axes exchanged."""
    return value.swapaxes(-1, -2)


def flipped(value: Any, axis: int) -> Any:
    """Backwards along an axis."""
    return np.flip(value, axis) if isinstance(value, np.ndarray) else value.flip(axis)


def with_axis(value: Any, axis: int) -> Any:
    """An axis of size 1 put in."""
    return np.expand_dims(value, axis) if isinstance(value, (np.ndarray, np.generic)) else value.unsqueeze(axis)


def _instead(function: Callable[..., Any]) -> Change:
    """A change that does something else with the same operands."""
    return lambda do, args, kwargs, names: function(*args, **kwargs)


def _then(function: Callable[..., Any]) -> Change:
    """A change of what comes out."""
    return lambda do, args, kwargs, names: function(do(*args, **kwargs))


# ---------- names and numbers


def _names(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, ast.Name) or not (kind := _kind(site.value)):
        return
    name, text = site.node.id, f"another value in the place of `{site.node.id}`"
    for other, value in site.names.items():
        if other != name and value is not site.value and _kind(value) == kind:
            family = "variable" if kind == "array" else "size"
            cost = 1.0 if _shape(value) == _shape(site.value) else 1.5
            yield Edit(cost, family, text, ("name", name, other), lambda do, a, k, names, other=other: names[other])
    for step in (1, -1) if is_number(site.value) else ():
        yield Edit(1.5, "number", f"one more or one less than `{name}`", ("step", name, step), _then(lambda v, s=step: v + s))
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
    quote, kind = f"`{_short(site.text())}`", type(site.node.op)
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
        yield Edit(1, family, f"{said.get(family, 'another operation in')} {quote}", ("operator", kind, function), _instead(function))
    if kind in (ast.Sub, ast.Div, ast.MatMult, ast.Pow):
        family = {ast.Sub: "term sign", ast.Div: "division", ast.MatMult: "order"}.get(kind, "power")
        yield Edit(1, family, f"the operands in the other order in {quote}", ("order", kind), _instead(lambda a, b, do=site.do: do(b, a)))
    if kind is ast.MatMult:
        for left, right, turned in itertools.product((0, 1), (0, 1), (0, 1)):
            if left or right:
                family, text = ("order", "transposes and the other order in") if turned else ("transposed", "a transpose more or less in")
                yield Edit(1 + 0.5 * (left + right + turned - 1), family, f"{text} {quote}", ("matmul", left, right, turned),
                           _instead(lambda a, b, le=left, ri=right, t=turned: _product(a, b, le, ri, t)))  # fmt: skip
    family = {ast.Add: "extra term", ast.Sub: "extra term", ast.Pow: "power"}.get(kind, "factor")
    part = {"extra term": "one term less", "power": "no exponent"}.get(family, "one factor less")
    yield Edit(1.5, family, f"{part} in {quote}", ("left", kind), _instead(lambda a, b: a))
    if kind is not ast.Pow:
        yield Edit(1.5, family, f"{part} in {quote}", ("right", kind), _instead(lambda a, b: b if kind is not ast.Sub else -b))
    if kind is ast.Div:
        yield Edit(2, "reciprocal", f"one factor less in {quote}", ("right", kind, 1), _instead(lambda a, b: 1 / b))


def _product(a: Any, b: Any, left: int, right: int, turned: int) -> Any:
    a, b = transposed(a) if left else a, transposed(b) if right else b
    return b @ a if turned else a @ b


def _unary(site: Site, pool: Pool) -> Iterator[Edit]:
    if isinstance(site.node, ast.UnaryOp) and site.do is not same:
        family = "sign" if isinstance(site.node.op, ast.USub) else "mask"
        yield Edit(1, family, f"the opposite of `{_short(site.text())}`", ("unary",), _instead(same))


COMPARED = (operator.gt, operator.ge, operator.lt, operator.le, operator.eq, operator.ne)


def _comparisons(site: Site, pool: Pool) -> Iterator[Edit]:
    if isinstance(site.node, ast.Compare) and site.do in COMPARED:
        text = f"another condition than `{_short(site.text())}`"
        for function in COMPARED:
            if function is not site.do:
                cost = 1 if hasattr(site.value, "ndim") else 1.3  # which way the rule goes
                yield Edit(cost, "mask", text, ("compare", site.do, function), _instead(function))
        if is_array(site.args[0]):
            yield Edit(1.5, "mask", text, ("compare", "size"), _instead(lambda a, b: site.do(abs(a), b)))


# ---------- calls

NEIGHBOURS = (
    ("sin", "cos", "tan"), ("sinh", "cosh", "tanh"), ("exp", "expm1", "exp2"), ("log", "log1p", "log2", "log10"), ("sqrt", "square"),
    ("floor", "ceil", "round", "trunc", "rint"), ("maximum", "minimum"), ("max", "min", "argmax", "argmin"), ("amax", "amin"),
    ("arcsin", "arccos", "arctan"), ("asin", "acos", "atan"), ("arcsinh", "arccosh", "arctanh"), ("sum", "mean"), ("sum", "prod"),
    ("mean", "median"), ("std", "var"), ("cumsum", "cumprod"), ("tril", "triu"), ("argmax", "argmin"), ("greater", "less"),
    ("logical_and", "logical_or"), ("logaddexp", "logaddexp2"), ("repeat", "tile"), ("dot", "outer"), ("det", "slogdet"),
    ("inv", "pinv"), ("vstack", "hstack"), ("abs", "sign"), ("absolute", "sign"), ("exp", "log"), ("sqrt", "exp"), ("sigmoid", "tanh"),
    ("softmax", "log_softmax"), ("rot90", "transpose"), ("multiply", "divide"), ("add", "subtract"), ("inner", "outer"),
    ("maximum", "logaddexp"),
)  # fmt: skip
FAMILY_OF = {"sum": "averaged", "mean": "averaged", "maximum": "mask", "minimum": "mask", "tril": "triangle", "triu": "triangle"}
DROPPED = {
    "swapaxes": "transposed", "transpose": "transposed", "t": "transposed", "flip": "flipped", "roll": "flipped", "cumsum": "scan",
    "sum": "early sum", "mean": "early sum", "clip": "clipped", "clamp": "clipped", "maximum": "clipped", "minimum": "clipped",
    "round": "clipped", "floor": "integer", "astype": "integer", "int": "integer", "tril": "triangle", "triu": "triangle",
    "reshape": "permutation", "sqrt": "power", "square": "power", "abs": "sign",
}  # fmt: skip


def _name_of_call(site: Site) -> str:
    function = site.node.func if isinstance(site.node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _owner(site: Site) -> Any:
    """What a function was taken from: an array, or a module."""
    if (owner := getattr(site.do, "__self__", None)) is not None:
        return owner
    owner = site.names.get("np", np)
    for part in (getattr(site.do, "__module__", "") or "").split(".")[1:]:
        owner = getattr(owner, part, owner)
    return owner


def _calls(site: Site, pool: Pool) -> Iterator[Edit]:
    name = _name_of_call(site)
    if not name or not callable(site.do):
        return
    quote, owner, is_method = f"`{_short(site.text())}`", _owner(site), is_array(getattr(site.do, "__self__", None))
    for group in NEIGHBOURS:
        for other in group if name in group else ():
            if other != name and callable(getattr(owner, other, None)):
                said = f"another function than `{name}` in {quote}"
                change = lambda do, args, kw, names, other=other: getattr(getattr(do, "__self__", owner), other)(*args, **kw)
                yield Edit(1, FAMILY_OF.get(name, "function"), said, ("function", name, other), change)
    for other, helper in _helpers(site, name):
        said = f"another function than `{name}` in {quote}"
        yield Edit(1.3, "function", said, ("function", name, other), lambda do, a, k, n, f=helper: f(*a, **k))
    array = site.do.__self__ if is_method else site.args[0] if site.args else None
    for key, weights_of in pool.arrays.items() if name == "mean" and is_array(array) else ():
        said = f"a weighted mean in the place of {quote}"
        yield Edit(1.6, "averaged", said, ("weighted", key), lambda do, a, k, n, f=weights_of, m=is_method: _weighted(do, a, k, f(n), m))
    if is_method or site.args:
        inner: Change = (lambda do, a, k, names: do.__self__) if is_method else lambda do, a, k, names: a[0]
        if _shape(site.value) or name in ("item", "float", "int", "sum", "mean"):
            cost = 1.3 if name in ("sum", "mean") else 1.5
            yield Edit(cost, DROPPED.get(name, "function"), f"no `{name}` in {quote}", ("no call", name), inner)
    if name in ("maximum", "minimum", "clip", "where") and len(site.args) > 1:
        yield Edit(2, "clipped" if name != "where" else "mask", f"no `{name}` in {quote}", ("no call", name, 1), lambda do, a, k, n: a[1])
    if name == "where" and len(site.args) == 3:
        text = f"the other choice in {quote}"
        yield Edit(1, "mask", text, ("where",), _instead(lambda c, a, b: site.do(c, b, a)))
        yield Edit(2, "mask", text, ("where", 2), lambda do, a, k, n: a[2])
    elif len(site.args) == 2 and name not in ("full", "isinstance", "getattr", "reshape"):
        family = "permutation" if name == "swapaxes" else "order"
        yield Edit(1.5, family, f"the arguments in another order in {quote}", ("arguments",), lambda do, a, k, n: do(a[1], a[0], **k))
    for word, value in site.kwargs.items():
        if word not in ("axis", "dim", "keepdims", "keepdim"):
            family = "integer" if word == "dtype" else "setting"
            text = f"another `{word}` in {quote}"
            without = lambda do, a, k, n, w=word: do(*a, **{key: v for key, v in k.items() if key != w})
            yield Edit(1.5, family, text, ("no keyword", word), without)
            if isinstance(value, bool):
                yield Edit(1, family, text, ("keyword", word), lambda do, a, k, n, w=word: do(*a, **{**k, w: not k[w]}))
    if name in ("cumsum", "cumprod", "cummax", "accumulate", "roll"):
        yield Edit(
            1, "flipped" if name == "roll" else "scan", f"the other direction in {quote}", ("direction", name), _reversed_scan(site, name)
        )
    if name == "permute" or (name == "transpose" and (site.args[1:] or (is_method and site.args))):
        yield Edit(1, "permutation", f"another order of the axes in {quote}", ("permutation",), _inverse(is_method))
    if name in ("reshape", "view") and is_method:
        shape = site.args[0] if isinstance(site.args[0], tuple) else site.args
        if len(_shape(site.do.__self__)) == len(shape) == 2:
            yield Edit(1, "permutation", f"a transpose for `{name}` in {quote}", (name, "T"), lambda do, a, k, n: transposed(do.__self__))
    if name == "range" and site.args:
        yield from _ranges(site, quote)
    if name in ("tril", "triu"):
        for k in (-1, 0, 1):
            yield Edit(
                1, "triangle", f"another diagonal in {quote}", ("diagonal", k), lambda do, a, kw, n, k=k: do(*a[: 0 if is_method else 1], k)
            )
    if name == "einsum" and isinstance(site.args[0], str):
        yield from _einsums(site, quote)


def _helpers(site: Site, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions of the student's that are one expression and take as many values."""
    if isinstance(site.do, FunctionType) and isinstance(site.node.func, ast.Name):  # type: ignore[attr-defined]
        known = site.do.__globals__.items()
        alike = [(n, f) for n, f in known if isinstance(f, FunctionType) and f.__code__.co_argcount == site.do.__code__.co_argcount]
        yield from [(n, f) for n, f in alike if n not in (name, site.function) and expression(f) is not None][:MOST_HELPERS]


def _weighted(do: Any, args: tuple, kwargs: Mapping[str, Any], weights: Any, is_method: bool) -> Any:
    """A mean with these weights."""
    mean = (lambda a: a.mean(*args, **kwargs)) if is_method else lambda a: do(a, *args[1:], **kwargs)
    return mean(weights * (do.__self__ if is_method else args[0])) / mean(weights)


def _reversed_scan(site: Site, name: str) -> Change:
    def change(do: Any, args: tuple, kwargs: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
        array, rest = (do.__self__, args) if is_array(getattr(do, "__self__", None)) else (args[0], args[1:])
        function = do if array is not args[:1] and not is_array(getattr(do, "__self__", None)) else getattr(np, name)
        if name == "roll":
            shift = kwargs.get("shift", rest[0] if rest else None)
            other = tuple(-n for n in shift) if isinstance(shift, tuple) else -shift
            return function(array, other, *rest[1:], **{k: v for k, v in kwargs.items() if k != "shift"})
        axis = kwargs.get("axis", kwargs.get("dim", rest[0] if rest else 0))
        if not isinstance(array, np.ndarray):
            return flipped(getattr(flipped(array, axis), name)(axis), axis)
        return np.flip(function(np.flip(array, axis), axis), axis)

    return change


def _inverse(is_method: bool) -> Change:
    def change(do: Any, args: tuple, kwargs: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
        rest = args if is_method else args[1:]
        axes = rest[0] if len(rest) == 1 else rest
        return do(*(() if is_method else args[:1]), tuple(int(i) for i in np.argsort(np.asarray(axes) % len(axes))), **kwargs)

    return change


def _ranges(site: Site, quote: str) -> Iterator[Edit]:
    text = f"other bounds in {quote}"
    others: dict[str, Callable[..., Any]] = {
        "start + 1": lambda r: r[1:], "stop - 1": lambda r: r[:-1], "stop + 1": lambda r: range(r.start, r.stop + r.step, r.step),
        "start - 1": lambda r: range(r.start - r.step, r.stop, r.step), "both + 1": lambda r: range(r.start + 1, r.stop + 1, r.step),
        "both - 1": lambda r: range(r.start - 1, r.stop - 1, r.step), "from 0": lambda r: range(0, r.stop, r.step),
    }  # fmt: skip
    for key, other in others.items():
        yield Edit(1, "places", text, ("range", key), _then(other))
    yield Edit(1, "scan", f"the other direction in {quote}", ("range", "reversed"), _then(lambda r: r[::-1]))


def _einsums(site: Site, quote: str) -> Iterator[Edit]:
    text = f"other letters in {quote}"
    left, _, out = site.args[0].replace(" ", "").partition("->")
    parts = left.split(",")
    said = [",".join((*parts[:i], part[::-1], *parts[i + 1 :])) + "->" + out for i, part in enumerate(parts)]
    said += [left + "->" + "".join(order) for order in itertools.islice(itertools.permutations(out), 24)]
    said += [left + "->" + out.translate(str.maketrans(a, b)) for a in set(out) for b in set(left) - set(out) - {","}]
    said += [left.translate(str.maketrans(a + b, b + a)) + "->" + out for a, b in itertools.combinations(sorted(set(left) - {",", "."}), 2)]
    for other in dict.fromkeys(said):
        if other != site.args[0]:
            change = lambda do, a, k, n, other=other: do(other, *a[1:], **k)
            yield Edit(1, "transposed", text, ("einsum", site.args[0], other), change)


AXIS_FIRST = {"sum", "mean", "max", "min", "prod", "std", "var", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "flip", "argsort",
              "amax", "amin", "sort", "softmax", "log_softmax", "logsumexp", "expand_dims", "unsqueeze", "squeeze", "norm", "median", "ptp",
              "concatenate", "stack", "diff"}  # fmt: skip
AXIS_SECOND = {"roll", "repeat", "take", "take_along_axis", "split", "gather", "index_select", "array_split"}


def _axes(site: Site, pool: Pool) -> Iterator[Edit]:
    """Another axis, and the axis kept or not."""
    name, own = _name_of_call(site), getattr(site.do, "__self__", None)
    is_method = is_array(own) or (hasattr(own, "ndim") and hasattr(own, "sum"))
    word = next((w for w in ("axis", "dim", "axes") if w in site.kwargs), None)
    position = (0 if name in AXIS_FIRST else 1 if name in AXIS_SECOND else -9) + (not is_method)
    if not name or (word is None and position < 0):
        return
    array = own if is_method else site.args[0] if site.args else None
    if not hasattr(array, "ndim"):
        array = array[0] if isinstance(array, (list, tuple)) and array and hasattr(array[0], "ndim") else None
    if array is None or not array.ndim:
        return
    quote = f"`{_short(site.text())}`"
    now = site.kwargs[word] if word else site.args[position] if len(site.args) > position else None
    if isinstance(now, np.ndarray):
        return

    def with_it(do: Any, args: tuple, kwargs: Mapping[str, Any], axis: Any, keeps: bool | None = None) -> Any:
        kwargs = dict(kwargs)
        if keeps is not None:
            kwargs["keepdims"] = kwargs.pop("keepdim", keeps) and keeps
        if word:
            return do(*args, **{**kwargs, word: axis})
        if len(args) > position:
            return do(*args[:position], axis, *args[position + 1 :], **kwargs)
        return do(*args, **({**kwargs, "axis": axis} if axis is not None else kwargs))

    reduces = name in AXIS_FIRST and len(_shape(site.value)) <= array.ndim and name not in ("flip", "expand_dims", "unsqueeze", "stack")
    keeps = site.kwargs.get("keepdims", site.kwargs.get("keepdim", False))
    several = list(itertools.combinations(range(-1, -array.ndim - 1, -1), 2)) if reduces and array.ndim > 2 else []
    extra = name in ("expand_dims", "unsqueeze", "stack")
    for axis in (*range(-1, -array.ndim - 1 - extra, -1), *range(array.ndim), *several, None):
        is_now = axis == now or (isinstance(axis, int) and isinstance(now, int) and axis % array.ndim == now % array.ndim and not extra)
        if not is_now or (isinstance(now, int) and axis != now):
            change = lambda do, a, k, n, axis=axis: with_it(do, a, k, axis)
            yield Edit(1 + 0.2 * is_now, "axis", f"another axis in {quote}", ("axis", now, axis), change)
        if reduces and axis is not None and now is None:
            yield Edit(
                1.5,
                "axis",
                f"one axis alone in {quote}",
                ("axis keeps", now, axis),
                lambda do, a, k, n, axis=axis: with_it(do, a, k, axis, True),
            )
    if reduces:
        turned: Change = lambda do, a, k, n: with_it(do, a, k, now, not keeps)
        yield Edit(1, "keepdims", f"{'no' if keeps else 'an'} axis of size 1 left by {quote}", ("keeps", keeps), turned)


# ---------- indices and what is written


def _indices(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, ast.Subscript):
        return
    text, index = f"another index in `{_short(site.text())}`", site.args[1]
    if isinstance(site.args[0], tuple) and is_number(site.value):  # one size of a shape
        for key, size in pool.sizes.items():
            yield Edit(
                1.2, "size", f"another size in the place of `{_short(site.text())}`", ("size", key), lambda do, a, k, n, f=size: f(n)
            )
    for key, other in _other_indices(index, site.args[0]):
        yield Edit(1, "places", text, ("index", key), lambda do, a, k, n, f=other: do(a[0], f(a[1])))
    yield Edit(1.5, "places", f"no index in `{_short(site.text())}`", ("no index",), _instead(lambda a, i: a))


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
        quote = f"`{_short(site.text())}`"
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


def quote_of(site: Site) -> str:
    """The source of a place in quotes, cut to one short line."""
    return f"`{_short(site.text())}`"


def _returned(site: Site, pool: Pool) -> Iterator[Edit]:
    if isinstance(site.node, ast.Tuple) and len(site.value) < 5 and all(map(_is_gradient, site.value)):
        for order in itertools.permutations(range(len(site.value))):
            if order != tuple(range(len(order))):
                yield Edit(
                    1.5, "swapped", f"another order in {quote_of(site)}", ("tuple", order), _then(lambda v, o=order: tuple(v[i] for i in o))
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
    is_less = n < max((len(_shape(value)) for value in site.names.values()), default=0)  # has it lost an axis?
    for axis in range(-1, -n - 2, -1):
        yield Edit(
            1.4 if is_less else 2.4,
            "keepdims",
            f"an axis of size 1 put into {quote}",
            ("axis put in", axis),
            _then(lambda v, a=axis: with_axis(v, a)),
        )
    if not _is_whole(site):
        return
    if isinstance(site.node, ast.Name) and isinstance(site.parents[0], ast.Call) and site.parents[0].func is site.node:
        return
    yield Edit(1.5, "sign", f"the other sign of {quote}", ("minus",), _then(operator.neg))
    if n > 1:
        yield Edit(1.5, "transposed", f"a transpose more or less of {quote}", ("transposed",), _then(transposed))
    for axis in range(-1, -n - 1, -1):
        yield Edit(2.5, "flipped", f"the entries of {quote} in the other order", ("flipped", axis), _then(lambda v, a=axis: flipped(v, a)))
        yield Edit(2, "not summed", f"{quote} added up along an axis", ("summed", axis), _then(lambda v, a=axis: v.sum(a, keepdims=True)))
        yield Edit(2.5, "size", f"the mean of {quote} along an axis", ("mean", axis), _then(lambda v, a=axis: v.mean(a, keepdims=True)))
        yield Edit(2.5, "not summed", f"{quote} added up along an axis", ("summed away", axis), _then(lambda v, a=axis: v.sum(a)))
        yield Edit(3, "scan", f"a running sum of {quote}", ("running", axis), _then(lambda v, a=axis: v.cumsum(a)))
        yield Edit(
            3,
            "term",
            f"one more term beside {quote}: its own mean",
            ("centred", axis),
            _then(lambda v, a=axis: v - v.mean(a, keepdims=True)),
        )
        yield Edit(3, "scan", f"a running sum of {quote}", ("running back", axis),
                   _then(lambda v, a=axis: flipped(flipped(v, a).cumsum(a), a)))  # fmt: skip
    if isinstance(site.parents[0], (ast.Return, ast.Lambda, ast.Tuple)):
        for key, shape_of in pool.shapes.items():
            yield Edit(1.5, "not summed", f"{quote} summed to the shape of its input", ("shape", key),
                       lambda do, a, k, names, f=shape_of: sum_to(do(*a, **k), f(names)))  # fmt: skip


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
        yield Edit(2, "constant", f"one more number as a factor of {quote}", ("times", c), _then(lambda v, c=c: v * c))
    for c in (1, -1, 0.5, 1e-5, 1e-8, 1e-6, 1e-12):
        yield Edit(3 if abs(c) == 1 else 3.5, "term", f"one more number added to {quote}", ("plus", c), _then(lambda v, c=c: v + c))


FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "square": ("power", lambda v: v**2), "root": ("power", lambda v: v**0.5), "reciprocal": ("power", lambda v: 1 / v),
    "1 - v": ("term", lambda v: 1 - v), "abs": ("function", abs), "1 - v^2": ("power", lambda v: 1 - v**2),
    "cube": ("power", lambda v: v**3), "reciprocal square": ("power", lambda v: 1 / v**2), "power 3/2": ("power", lambda v: v**1.5),
    "v (1 - v)": ("factor", lambda v: v * (1 - v)), "logistic": ("function", lambda v: 1 / (1 + _function("exp", -v))),
    "1 - e^-v": ("function", lambda v: 1 - _function("exp", -v)),
    **{name: ("function", lambda v, name=name: _function(name, v)) for name in ("exp", "log", "sign", "tanh", "cos", "sin")},
}  # fmt: skip


def _values(site: Site, pool: Pool) -> Iterator[Edit]:
    """A function of the value in its place."""
    if is_array(site.value) or isinstance(site.value, float):
        said = {"power": "a power of", "term": "one more term beside", "factor": "one more factor beside"}
        for name, (family, function) in FUNCTIONS.items():
            yield Edit(
                1.9 if name == "square" else 3,
                family,
                f"{said.get(family, 'a function of')} {quote_of(site)}",
                ("f", name),
                _then(function),
            )


def _short(text: str, most: int = 50) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
