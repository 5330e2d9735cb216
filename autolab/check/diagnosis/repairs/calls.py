"""The changes that are tried where a rule calls a function: another one, none, another axis, other arguments."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from autolab.formula import expression

from ...run.meter import of_library
from .einsums import einsums
from .schema import MOST_HELPERS, Site
from .values import (
    Change,
    Edit,
    Pool,
    assigned,
    evaluated,
    exchanged,
    flipped,
    instead,
    is_array,
    is_mask,
    is_number,
    kind_of,
    shape_of,
    short,
    then,
    transposed,
)

NEIGHBOURS = (
    ("sin", "cos", "tan"), ("sinh", "cosh", "tanh"), ("exp", "expm1", "exp2"), ("log", "log1p", "log2", "log10"), ("sqrt", "square"),
    ("floor", "ceil", "round", "trunc", "rint"), ("maximum", "minimum"), ("max", "min", "argmax", "argmin"), ("amax", "amin"),
    ("arcsin", "arccos", "arctan"), ("asin", "acos", "atan"), ("arcsinh", "arccosh", "arctanh"), ("sum", "mean"), ("sum", "prod"),
    ("mean", "median"), ("std", "var"), ("cumsum", "cumprod"), ("tril", "triu"), ("argmax", "argmin"), ("greater", "less"),
    ("logical_and", "logical_or"), ("logaddexp", "logaddexp2"), ("repeat", "tile"), ("dot", "outer"), ("det", "slogdet"),
    ("inv", "pinv"), ("vstack", "hstack"), ("abs", "sign"), ("absolute", "sign"), ("exp", "log"), ("sqrt", "exp"), ("sigmoid", "tanh"),
    ("softmax", "log_softmax"), ("rot90", "transpose"), ("multiply", "divide"), ("add", "subtract"), ("inner", "outer"),
    ("maximum", "logaddexp"), ("fft", "ifft"), ("rfft", "irfft", "fft", "ifft", "hfft"), ("deg2rad", "rad2deg"), ("radians", "degrees"),
    ("eigvals", "eigvalsh"), ("cholesky", "inv"), ("solve", "matmul"), ("sum", "max"), ("sum", "trace"),
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


def _not_one_number(value: Any, do: Callable, args: tuple, kwargs: Any) -> Any:
    """The value of another function, if that leaves more of it than one number, or 0 and another one, where there were several."""
    if isinstance(value, np.ndarray) and value.size > 1 and len(np.unique(value)) < min(3, len(np.unique(do(*args, **kwargs)))):
        raise LookupError("nothing is left of it")
    return value


def calls(site: Site, pool: Pool) -> Iterator[Edit]:
    name = _name_of_call(site)
    if not name or not callable(site.do):
        return
    quote, owner, is_method = f"`{short(site.text())}`", _owner(site), is_array(getattr(site.do, "__self__", None))
    for group in NEIGHBOURS:
        for other in group if name in group else ():
            if other != name and callable(getattr(owner, other, None)):
                said = f"another function than `{name}` in {quote}"
                change = lambda do, args, kw, names, other=other: _not_one_number(
                    getattr(getattr(do, "__self__", owner), other)(*args, **kw), do, args, kw)  # fmt: skip
                yield Edit(1, FAMILY_OF.get(name, "function"), said, ("function", name, other), change)
    for other, helper in _helpers(site, name):
        said = f"another function than `{name}` in {quote}"
        yield Edit(1.3, "function", said, ("function", name, other), lambda do, a, k, n, f=helper: f(*a, **k))
    array = site.do.__self__ if is_method else site.args[0] if site.args else None
    for key, weights_of in pool.arrays.items() if name == "mean" and is_array(array) else ():
        said = f"a weighted mean in the place of {quote}"
        yield Edit(1.3, "averaged", said, ("weighted", key), lambda do, a, k, n, f=weights_of, m=is_method: _weighted(do, a, k, f(n), m))
    if name in TAKEN_TOGETHER and hasattr(array, "ndim"):
        yield from _masks(site, pool, array, name, is_method)
        yield from _taken_out(site, name, is_method)
    if is_method or site.args:
        inner: Change = (lambda do, a, k, names: do.__self__) if is_method else lambda do, a, k, names: a[0]
        is_maker = not is_method and is_number(site.args[0])  # np.eye(3) makes what 3 is not
        if (shape_of(site.value) and not is_maker) or name in ("item", "float", "int", "sum", "mean"):
            yield Edit(1.1, DROPPED.get(name, "function"), f"no `{name}` in {quote}", ("no call", name), inner)
    if name in ("std", "var", "cov") and "ddof" not in site.kwargs and isinstance(array, np.ndarray):
        yield Edit(1.3, "normalisation", f"n - 1 for n in {quote}", ("ddof",), lambda do, a, k, n: do(*a, **k, ddof=1))
    if name in ("maximum", "minimum", "clip", "where") and len(site.args) > 1:
        yield Edit(2, "clipped" if name != "where" else "mask", f"no `{name}` in {quote}", ("no call", name, 1), lambda do, a, k, n: a[1])
    if name == "where" and len(site.args) == 3:
        text = f"the other choice in {quote}"
        yield Edit(1, "mask", text, ("where",), instead(lambda c, a, b: site.do(c, b, a)))
        yield Edit(2, "mask", text, ("where", 2), lambda do, a, k, n: a[2])
    elif len(site.args) == 2 and name not in ("full", "isinstance", "getattr", "reshape"):
        family = "permutation" if name == "swapaxes" else "order"
        cost = 1 if len({(kind_of(a), len(shape_of(a))) for a in site.args}) == 1 else 1.6
        yield Edit(cost, family, f"the arguments in another order in {quote}", ("arguments",), lambda do, a, k, n: do(a[1], a[0], **k))
    if isinstance(site.do, FunctionType) and 2 < len(site.args) < 6 and not of_library(site.do.__code__.co_filename):
        for i, j in itertools.combinations(range(len(site.args)), 2):
            text = f"the arguments in another order in {quote}"
            yield Edit(1.5, "order", text, ("arguments", i, j), lambda do, a, k, n, i=i, j=j: do(*exchanged(a, i, j), **k))
    if name in ("take_along_axis", "take") and len(site.args) > 1 and isinstance(site.args[0], np.ndarray):
        text = f"each entry added at its index, and not taken from there, in {quote}"
        for key, shape_in in pool.shapes.items():
            yield Edit(1.4, "mask", text, ("scattered", key), lambda do, a, k, n, f=shape_in: _scattered(do, f(n), *a, **k))
    if name == "put_along_axis" and len(site.args) > 2:
        yield Edit(1, "overwritten", f"a sum of all that is written in {quote}", ("store", "add"), lambda do, a, k, n: _add_along(*a, **k))
    for word, other in (("append", "prepend"), ("prepend", "append")):
        if word in site.kwargs:
            other_end: Change = lambda do, a, k, n, w=word, o=other: do(*a, **{o if key == w else key: v for key, v in k.items()})
            yield Edit(1, "places", f"another end than `{word}` in {quote}", ("end", word), other_end)
    for word, value in site.kwargs.items():
        if word not in ("axis", "dim", "keepdims", "keepdim"):
            family = "integer" if word == "dtype" else "setting"
            text = f"another `{word}` in {quote}"
            without = lambda do, a, k, n, w=word: do(*a, **{key: v for key, v in k.items() if key != w})
            yield Edit(1.2, family, text, ("no keyword", word), without)
            if isinstance(value, bool):
                yield Edit(1, family, text, ("keyword", word), lambda do, a, k, n, w=word: do(*a, **{**k, w: not k[w]}))
    if name in ("cumsum", "cumprod", "cummax", "accumulate", "roll"):
        yield Edit(
            1, "flipped" if name == "roll" else "scan", f"the other direction in {quote}", ("direction", name), _reversed_scan(site, name)
        )
    if name in ALONE and is_array(site.value):
        text = f"each entry without its own part, as what comes before it alone, in {quote}"
        yield Edit(1.2, "places", text, ("before", name), lambda do, a, k, n, m=is_method: _without_its_own(do, a, k, name, m))
    if name == "roll":
        yield Edit(1.1, "places", f"nothing that comes round the end in {quote}", ("not round",), _not_round)
    if name == "permute" or (name == "transpose" and (site.args[1:] or (is_method and site.args))):
        yield Edit(1, "permutation", f"another order of the axes in {quote}", ("permutation",), _inverse(is_method))
    if name in ("reshape", "view") and is_method:
        shape = site.args[0] if isinstance(site.args[0], tuple) else site.args
        if len(shape_of(site.do.__self__)) == len(shape) == 2:
            yield Edit(1, "permutation", f"a transpose for `{name}` in {quote}", (name, "T"), lambda do, a, k, n: transposed(do.__self__))
        for i, j in itertools.combinations(range(len(shape)), 2) if len(shape) > 2 and all(map(is_number, shape)) else ():
            text = f"the axes in another order, and then exchanged, in {quote}"
            yield Edit(1.3, "permutation", text, (name, i, j), lambda do, a, k, n, i=i, j=j: _in_another_order(do, a, i, j))
    if name == "range" and site.args:
        yield from _ranges(site, quote)
    if name == "arange":
        for step in (1, -1):
            yield Edit(1, "number", f"a count from another number in {quote}", ("count", step), then(lambda v, s=step: v + s))
        for key in pool.settings & pool.sizes.keys():
            text = f"a count from another number in {quote}"
            yield Edit(1.3, "number", text, ("count", key), lambda do, a, k, n, f=pool.sizes[key]: do(*a, **k) + f(n))
        yield Edit(1.4, "number", f"half a step more in {quote}", ("count", 0.5), then(lambda v: v + 0.5))
    if name in ("tril", "triu"):
        for k in (-1, 0, 1):
            yield Edit(
                1, "triangle", f"another diagonal in {quote}", ("diagonal", k), lambda do, a, kw, n, k=k: do(*a[: 0 if is_method else 1], k)
            )
    if name == "einsum" and isinstance(site.args[0], str):
        yield from einsums(site, quote)


def _in_another_order(do: Any, args: tuple, i: int, j: int) -> Any:
    shape = list(args[0] if isinstance(args[0], tuple) else args)
    shape[i], shape[j] = shape[j], shape[i]
    return do(tuple(shape)).swapaxes(i, j)


ALONE = {"cumsum": 0.0, "cumprod": 1.0}  # and what is there before the first


def _without_its_own(do: Any, args: tuple, kwargs: Mapping[str, Any], name: str, is_method: bool) -> Any:
    rest = args if is_method else args[1:]
    axis = kwargs.get("axis", kwargs.get("dim", rest[0] if rest else None))
    value = do(*args, **kwargs)
    before = value.swapaxes(axis or 0, 0) * 0 + ALONE[name]
    before[1:] = value.swapaxes(axis or 0, 0)[:-1]
    return before.swapaxes(axis or 0, 0)


def _helpers(site: Site, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions of the student's that are one expression and take as many values."""
    if isinstance(site.do, FunctionType) and isinstance(site.node.func, ast.Name):  # type: ignore[attr-defined]
        count = site.do.__code__.co_argcount
        known = [(n, f) for n, f in site.do.__globals__.items() if isinstance(f, FunctionType)]
        alike = [(n, f) for n, f in known if f.__code__.co_argcount == count and not of_library(f.__code__.co_filename)]
        yield from [(n, f) for n, f in alike if n not in (name, site.function) and expression(f) is not None][:MOST_HELPERS]


def _scattered(do: Any, shape: tuple[int, ...], array: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray:
    """The other way: where `do` takes entry i from place j, entry i is added at place j."""
    places = do(np.arange(math.prod(shape)).reshape(shape), *args, **kwargs)
    return np.bincount(places.ravel(), array.ravel(), math.prod(shape)).reshape(shape)


def _add_along(array: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int = -1) -> None:
    places = np.take_along_axis(np.arange(array.size).reshape(array.shape), index, axis)
    np.add.at(array.reshape(-1), places, values)


TAKEN_TOGETHER = ("sum", "mean")


def _masks(site: Site, pool: Pool, array: Any, name: str, is_method: bool) -> Iterator[Edit]:
    """The entries alone that a mask of the rule lets through."""
    for mask, (value, value_of) in pool.masks.items():
        if not is_mask(value, array):
            continue
        text = f"the entries alone where `{mask}` is {'True' if 'bool' in str(value.dtype) else '1'} in `{short(site.text())}`"
        way = _weighted if name == "mean" else _of_some
        change: Change = lambda do, a, k, names, f=value_of, way=way: _masked(do, a, k, f(names), way, is_method)
        yield Edit(1.25, "mask", text, ("masked", mask), change)


def _masked(do: Any, args: tuple, kwargs: Mapping[str, Any], mask: Any, way: Callable[..., Any], is_method: bool) -> Any:
    array = do.__self__ if is_method else args[0]
    return way(do, args, kwargs, mask * (array * 0 + 1), is_method)  # numbers of the array's dtype: a tensor's would be of float32


def _taken_out(site: Site, name: str, is_method: bool) -> Iterator[Edit]:
    """A factor of what is added up as a factor of the sum: g * sum(x) for sum(g * x)."""
    node: Any = site.node
    product = assigned(site, node.func.value if is_method else node.args[0] if node.args else None)
    if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
        factors = [product.left, product.right]
    elif isinstance(product, ast.Call) and getattr(product.func, "attr", "") == "multiply" and len(product.args) == 2:
        factors = product.args
    else:
        return
    for inside, outside in (factors, factors[::-1]):
        text = f"`{short(site.text(outside))}` outside of the `{name}` in `{short(site.text())}`"
        f, of = evaluated(inside), evaluated(outside)
        change: Change = lambda do, a, k, names, f=f, of=of: _outside(do, a, k, f(names), of(names))
        yield Edit(1.2, "early sum", text, ("outside", site.text(), site.text(outside)), change)


def _outside(do: Any, args: tuple, kwargs: Mapping[str, Any], inside: Any, outside: Any) -> Any:
    if shape_of(inside) != shape_of(outside):
        raise LookupError("one of them is stretched")
    own = is_array(getattr(do, "__self__", None))
    return outside * (getattr(inside, do.__name__)(*args, **kwargs) if own else do(inside, *args[1:], **kwargs))


def _of_some(do: Any, args: tuple, kwargs: Mapping[str, Any], mask: Any, is_method: bool) -> Any:
    if is_method:
        return getattr(do.__self__ * mask, do.__name__)(*args, **kwargs)
    return do(args[0] * mask, *args[1:], **kwargs)


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


def _not_round(do: Any, args: tuple, kwargs: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    """What roll moves, with zeros in the places of what comes round the end."""
    array, shift, axis = (*args, *([kwargs["shift"]] if "shift" in kwargs else ()), kwargs.get("axis"))[:3]
    places = np.arange(np.shape(array)[axis or 0])
    stays = (places - shift >= 0) & (places - shift < len(places))
    return do(*args, **kwargs) * stays.reshape([-1 if a == (axis or 0) % array.ndim else 1 for a in range(array.ndim)])


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
        yield Edit(1.05, "places", text, ("range", key), then(other))
    yield Edit(1, "scan", f"the other direction in {quote}", ("range", "reversed"), then(lambda r: r[::-1]))


AXIS_FIRST = {"sum", "mean", "max", "min", "prod", "std", "var", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "flip", "argsort",
              "amax", "amin", "sort", "softmax", "log_softmax", "logsumexp", "expand_dims", "unsqueeze", "squeeze", "norm", "median", "ptp",
              "concatenate", "stack", "diff"}  # fmt: skip
AXIS_SECOND = {"roll", "repeat", "take", "take_along_axis", "split", "gather", "index_select", "array_split"}


def axes(site: Site, pool: Pool) -> Iterator[Edit]:
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
    quote = f"`{short(site.text())}`"
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

    reduces = name in AXIS_FIRST and len(shape_of(site.value)) <= array.ndim and name not in ("flip", "expand_dims", "unsqueeze", "stack")
    keeps = site.kwargs.get("keepdims", site.kwargs.get("keepdim", False))
    several = list(itertools.combinations(range(-1, -array.ndim - 1, -1), 2)) if reduces and array.ndim > 2 else []
    extra = name in ("expand_dims", "unsqueeze", "stack")
    for axis in (*range(-1, -array.ndim - 1 - extra, -1), *range(array.ndim), *several, None):
        is_now = axis == now or (isinstance(axis, int) and isinstance(now, int) and axis % array.ndim == now % array.ndim and not extra)
        if not is_now or (isinstance(now, int) and axis != now):
            change = lambda do, a, k, n, axis=axis: with_it(do, a, k, axis)
            yield Edit(1 + 0.2 * is_now, "axis", f"another axis in {quote}", ("axis", now, axis), change)
        if reduces and isinstance(now, int) and isinstance(axis, int) and not is_now and not keeps:
            kept = lambda do, a, k, n, axis=axis: with_it(do, a, k, axis, True)
            yield Edit(1.4, "axis", f"another axis, left with size 1, in {quote}", ("axis kept", now, axis), kept)
        if reduces and axis is not None and now is None:
            yield Edit(
                1.5,
                "axis",
                f"one axis alone in {quote}",
                ("axis keeps", now, axis),
                lambda do, a, k, n, axis=axis: with_it(do, a, k, axis, True),
            )
    for name in ("axis", "dim") if reduces else ():
        if isinstance(value := site.names.get(name), (int, tuple)) and value != now:
            of_call: Change = lambda do, a, k, n, name=name: with_it(do, a, k, n[name], True if now is None else None)
            yield Edit(1.2, "axis", f"`{name}` as the axis in {quote}", ("axis of the call", now, name), of_call)
    if reduces:
        turned: Change = lambda do, a, k, n: with_it(do, a, k, now, not keeps)
        yield Edit(1, "keepdims", f"{'no' if keeps else 'an'} axis of size 1 left by {quote}", ("keeps", keeps), turned)
