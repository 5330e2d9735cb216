"""3. From rows to NumPy calls: the formula of a row, or of a rule, taken apart into single steps.

`lambda g, out: g * (1 - out * out)` becomes three steps, multiply, subtract, multiply, each a call of a NumPy function on values.
What cannot be taken apart (a loop, a helper of several lines) is one step that calls it. Each step is carried out once on the
values of the traced call, so that shapes and dtypes are known, as is what looks into the memory of what.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.node import fit
from autolab.engine.op import Op, Rule
from autolab.fast.kernel import to_take_apart
from autolab.formula import expression, functions_at

UFUNCS: dict[type, Any] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide, ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder, ast.BitAnd: np.bitwise_and, ast.BitOr: np.bitwise_or, ast.BitXor: np.bitwise_xor,
    ast.USub: np.negative, ast.Invert: np.invert, ast.Eq: np.equal, ast.NotEq: np.not_equal, ast.Lt: np.less,
    ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal,
}  # fmt: skip
PLAIN_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.Pow: lambda a, b: a**b, ast.USub: lambda a: -a,
    ast.Not: lambda a: not a, ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b, ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b, ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
FLOATS = np.dtype(np.float32), np.dtype(np.float64)
POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}


class Value:
    """One array of the program. `sample` is what it was in the traced call; `root` the value whose memory it looks into."""

    __slots__ = ("constant", "name", "root", "sample", "source")

    def __init__(self, sample: Any, name: str, source: str = "", constant: bool = False) -> None:
        self.sample, self.name, self.source, self.constant = sample, name, source, constant
        self.root: Value = self

    def __repr__(self) -> str:
        return self.name


class Step:
    """outs = function(*args, **kwargs). `elementwise` steps may be run block by block."""

    __slots__ = ("args", "elementwise", "function", "inputs", "kwargs", "outs", "several")

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], elementwise: bool) -> None:
        self.function, self.args, self.kwargs, self.elementwise = function, args, kwargs, elementwise
        self.inputs = values_in((args, kwargs))
        self.outs: list[Value | None] = []
        self.several = False

    def values(self) -> list[Value]:
        return self.inputs


def values_in(nest: Any) -> list[Value]:
    """All Values in nested tuples, lists and dicts."""
    if isinstance(nest, Value):
        return [nest]
    if isinstance(nest, dict):
        nest = nest.values()
    elif not isinstance(nest, tuple) and not isinstance(nest, list):
        return []
    return [v for item in nest for v in values_in(item)]


class NotSimple(Exception):
    """A formula that cannot be taken apart."""


class Lowering:
    """Collects steps. Equal steps are done once; steps on constants are done now. keeps(function, values): it is not taken apart."""

    def __init__(self, keeps: Any = lambda function, values: False) -> None:
        self.keeps = keeps
        self.steps: list[Any] = []
        self.known: dict[Any, Value] = {}
        self.from_outside: list[Any] = []  # keys of `known`, of steps that read a tensor from outside, or a view of one
        self.count = 0
        self.constants: dict[Any, Value] = {}
        self.stretched: dict[Value, Value] = {}  # results of np.broadcast_to, and what was stretched

    def forget_sources(self) -> None:
        """A tensor from outside is written to: what was computed from one, or from a view of it, may be another number now."""
        for key in self.from_outside:
            self.known.pop(key, None)
        self.from_outside.clear()

    def new(self, sample: Any, source: str = "", constant: bool = False) -> Value:
        self.count += 1
        return Value(sample, f"{'c' if constant else 'v'}{self.count}", source, constant)

    def constant(self, array: Any) -> Value:
        return self.new(array, constant=True)

    def number_beside(self, number: Any, others: list[Any]) -> Any:
        """A number as a 0-d array of the dtype that it would be converted to at every call, where that is certain."""
        arrays = [v for v in others if isinstance(v, Value)]
        dtypes = {v.sample.dtype for v in arrays}
        if type(number) not in (int, float) or len(dtypes) != 1:
            return number
        dtype = dtypes.pop()
        if dtype.kind != "f" or dtype.itemsize < 4:
            return number
        scalar = not any(np.ndim(v.sample) for v in arrays)
        key = (number, type(number), dtype, scalar)
        if key not in self.constants:
            self.constants[key] = self.constant(np.array(number, dtype)[()] if scalar else np.array(number, dtype))
        return self.constants[key]

    def ones(self, like: Value) -> Value:
        """A vector of ones as long as an array, whose product with the array sums its rows."""
        key = ("ones", len(like.sample), like.sample.dtype)
        if key not in self.constants:
            self.constants[key] = self.constant(np.ones(len(like.sample), like.sample.dtype))
        return self.constants[key]

    def column_sums(self, a: Value) -> Any:
        """The sums over the first axis of a matrix, as a product."""
        return self.emit(np.dot, (self.ones(a), a))

    def fit(self, g: Value, like: tuple[tuple[int, ...], Any]) -> Any:
        """What the engine's `fit` gives: the gradient of an operand that was stretched or promoted."""
        if g.sample.ndim > 1 and g.sample.size and g.sample.dtype in FLOATS and like == (g.sample.shape[-1:], g.sample.dtype):
            lines = g if g.sample.ndim == 2 else self.emit(np.reshape, (g, (g.sample.size // g.sample.shape[-1], g.sample.shape[-1])))
            return self.column_sums(lines)
        return self.emit(fit, (g, like))

    def usual(self, nest: Any) -> Any:
        """Values as the trace has them, in memory as well."""
        return nest

    def emit(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, elementwise: bool = False) -> Any:
        """Add one step; its result. A function of several results gives a tuple."""
        kwargs = kwargs or {}
        is_ufunc = isinstance(function, np.ufunc)
        if is_ufunc and not kwargs:
            args = tuple(self.number_beside(a, [b for b in args if b is not a]) for a in args)
            elementwise = function is not np.matmul
            args = self.unstretched(self.spread_numbers(args)) if elementwise else args
            alias = self.same_as(function, args)
            if alias is not None:
                return alias
        key = key_of(function, args, kwargs)
        if key is not None and key in self.known:
            return self.known[key]
        step = Step(function, args, kwargs, elementwise)
        inputs = step.values()
        given = [] if is_ufunc else arrays_in((samples(args), samples(kwargs)))
        before = [a.tobytes() for a in given]
        sample = function(*samples(args), **samples(kwargs))
        if any(a.tobytes() != b for a, b in zip(given, before)):
            raise NotSimple  # a helper that writes into what its caller made: only the caller as a whole is a step
        constant = all(v.constant for v in inputs)
        if isinstance(sample, tuple | list):
            step.several = True
            step.outs = [None if s is None else self.new(s, constant=constant) for s in sample]
        else:
            step.outs = [self.new(sample, constant=constant)]
        for out in step.outs:
            if out is not None:
                out.root = next((v.root for v in inputs if aliased(out.sample, v.sample)), out)
        if not constant:
            self.steps.append(step)
        result = tuple(step.outs) if step.several else step.outs[0]
        if function is np.broadcast_to and isinstance(args[0], Value):
            self.stretched[result] = args[0]  # type: ignore[index]
        if key is not None:
            self.known[key] = result  # type: ignore[assignment]
            if any(v.root.source for v in inputs):
                self.from_outside.append(key)
        return result

    def spread_numbers(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """A constant that is one number everywhere as just that number, where another argument has the full shape."""
        if not any(isinstance(a, Value) and a.constant and np.ndim(a.sample) for a in args):
            return args
        shapes = [np.shape(samples(a)) for a in args]
        full = np.broadcast_shapes(*shapes)
        for i, a in enumerate(args):
            if isinstance(a, Value) and a.constant and np.ndim(a.sample) and full in shapes[:i] + shapes[i + 1 :]:
                number = uniform(a)
                if number is not None:
                    key = ("number", float(number), a.sample.dtype)
                    if key not in self.constants:
                        self.constants[key] = self.constant(np.array(number, a.sample.dtype))
                    args, shapes[i] = (*args[:i], self.constants[key], *args[i + 1 :]), ()
        return args

    def unstretched(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """A stretched array as it was before, where another argument has the full shape: a ufunc stretches by itself."""
        if not any(isinstance(a, Value) and a in self.stretched for a in args):
            return args
        shapes = [np.shape(samples(a)) for a in args]
        for i, a in enumerate(args):
            if isinstance(a, Value) and a in self.stretched and shapes[i] in shapes[:i] + shapes[i + 1 :]:
                return (*args[:i], self.stretched[a], *args[i + 1 :])
        return args

    def same_as(self, function: Any, args: tuple[Any, ...]) -> Value | None:
        """What x * 1, x + 0 and the like are without being computed."""
        if function is np.multiply and len(args) == 2:
            for one, other in (args, args[::-1]):
                # not of what was read from a tensor: its memory may be written to while the product is kept
                if isinstance(one, Value) and one.constant and isinstance(other, Value) and not other.root.source and uniform(one) == 1:
                    shape = np.broadcast_shapes(one.sample.shape, other.sample.shape)
                    if shape == other.sample.shape and one.sample.dtype == other.sample.dtype:
                        return other
        return None

    # -- formulas ---------------------------------------------------------------------------------

    def row(self, op: Op, env: dict[str, Any]) -> Any:
        """The result of a row."""
        return self.formula(op.forward, env, op.kind == "elementwise", op.compute)

    def rule(self, op: Op, rule: Rule, env: dict[str, Any]) -> Any:
        """What a rule of the row gives."""
        return self.formula(rule.function, env, op.kind == "elementwise", rule.compute)

    def formula(self, function: Any, env: dict[str, Any], elementwise: bool, compute: Any = None) -> Any:
        """What function(**env) gives: its formula taken apart, or one step that calls it, or its kernel."""
        mark, known = len(self.steps), len(self.known)
        try:
            text = to_take_apart(function)
            if text is not None and not self.keeps(compute or function, values_in(env)):
                code = function.__code__  # a kernel may call its arguments something else
                names = dict(zip(text.__code__.co_varnames, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]))
                return Formula(self, text, {to: env[name] for to, name in names.items()}, elementwise).whole(text)
        except NotSimple:
            del self.steps[mark:]
            while len(self.known) > known:
                self.known.popitem()  # the latest
        code = function.__code__
        positional = [env[n] for n in code.co_varnames[: code.co_argcount]]
        keywords = {n: env[n] for n in code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]}
        return self.emit(compute or function, tuple(positional), keywords, elementwise)


class Formula:
    """Takes one expression apart."""

    def __init__(self, to: Lowering, function: Any, env: dict[str, Any], elementwise: bool) -> None:
        self.to, self.env, self.elementwise = to, dict(env), elementwise
        self.world = function.__globals__
        if function.__closure__:
            self.world = {**self.world, **dict(zip(function.__code__.co_freevars, [c.cell_contents for c in function.__closure__]))}

    def whole(self, function: Any) -> Any:
        """What the function returns: a lambda's formula, or statements one after the other."""
        found = expression(function)
        if found is not None:
            return self.value(found)
        code = function.__code__
        for node in functions_at(code.co_filename, code.co_firstlineno):
            if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
                done, result = self.statements(node.body)
                if done:
                    return result
        raise NotSimple

    def statements(self, body: list[ast.stmt]) -> tuple[bool, Any]:
        """Run statements; whether one of them returned, and what."""
        for s in body:
            if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant):
                continue
            if isinstance(s, ast.Return) and s.value is not None:
                return True, self.value(s.value)
            if isinstance(s, ast.Assign) and len(s.targets) == 1:
                self.assign(s.targets[0], self.value(s.value))
            elif isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
                # into an array that the function made itself, for rows do not write into their inputs
                self.env[s.target.id] = self.of_BinOp(ast.BinOp(ast.Name(s.target.id, ast.Load()), s.op, s.value))
            elif isinstance(s, ast.If):
                test = self.value(s.test)
                if has_values(test):
                    raise NotSimple
                done, result = self.statements(s.body if test else s.orelse)
                if done:
                    return True, result
            else:
                raise NotSimple
        return False, None

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.env[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, tuple | list) and len(value) == len(target.elts):
            for t, v in zip(target.elts, value):
                self.assign(t, v)
        else:
            raise NotSimple

    def value(self, node: ast.expr) -> Any:
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            raise NotSimple
        return method(node)

    def of_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def of_Name(self, node: ast.Name) -> Any:
        for place in (self.env, self.world, vars(builtins)):
            if node.id in place:
                return place[node.id]
        raise NotSimple

    def of_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.items(node.elts))

    def of_List(self, node: ast.List) -> Any:
        return self.items(node.elts)

    def items(self, nodes: list[ast.expr]) -> list[Any]:
        found: list[Any] = []
        for n in nodes:
            if isinstance(n, ast.Starred):
                found += list(self.value(n.value))
            else:
                found.append(self.value(n))
        return found

    def of_BinOp(self, node: ast.BinOp) -> Any:
        a, b = self.value(node.left), self.value(node.right)
        if not has_values((a, b)):
            return PLAIN_OPERATORS[type(node.op)](a, b) if type(node.op) in PLAIN_OPERATORS else self.unsure()
        if isinstance(node.op, ast.MatMult):
            return self.product(a, b)
        if isinstance(node.op, ast.Pow):
            if type(b) in (int, float) and b in POWERS and a.sample.dtype.kind == "f":
                return self.to.emit(POWERS[b], (a,))
            return self.to.emit(power, (a, b), elementwise=self.elementwise)
        if type(node.op) not in UFUNCS:
            raise NotSimple
        return self.to.emit(UFUNCS[type(node.op)], (a, b))

    def product(self, a: Value, b: Value) -> Any:
        """a @ b; rows of a stack as those of one matrix."""
        if b.sample.ndim != 2 or a.sample.ndim < 2:
            return self.to.emit(np.matmul, (a, b))
        lead, n = a.sample.shape[:-1], a.sample.shape[-1]
        flat = a if len(lead) == 1 else self.to.emit(np.reshape, (a, (math.prod(lead), n)))
        out = self.to.emit(np.dot, (flat, b))
        return out if len(lead) == 1 else self.to.emit(np.reshape, (out, (*lead, b.sample.shape[-1])))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        a = self.value(node.operand)
        if not has_values(a):
            return PLAIN_OPERATORS[type(node.op)](a)
        if type(node.op) not in UFUNCS:
            raise NotSimple
        return self.to.emit(UFUNCS[type(node.op)], (a,))

    def of_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            raise NotSimple
        a, b = self.value(node.left), self.value(node.comparators[0])
        if isinstance(node.ops[0], ast.Is | ast.IsNot) or not has_values((a, b)):
            return PLAIN_OPERATORS[type(node.ops[0])](a, b)
        if type(node.ops[0]) not in UFUNCS:
            raise NotSimple
        return self.to.emit(UFUNCS[type(node.ops[0])], (a, b))

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        result: Any = None
        for n in node.values:
            result = self.value(n)
            if has_values(result):
                raise NotSimple
            if bool(result) is isinstance(node.op, ast.Or):
                return result
        return result

    def of_IfExp(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        if has_values(test):
            raise NotSimple
        return self.value(node.body if test else node.orelse)

    def of_Attribute(self, node: ast.Attribute) -> Any:
        a = self.value(node.value)
        if not isinstance(a, Value):
            if has_values(a):
                raise NotSimple
            return getattr(a, node.attr)
        if node.attr in ("shape", "ndim", "dtype", "size"):
            return getattr(a.sample, node.attr)
        if node.attr == "T":
            return self.to.emit(np.transpose, (a,))
        if node.attr == "mT" and a.sample.ndim == 2:
            return self.to.emit(np.transpose, (a,))
        if node.attr == "mT":
            return self.to.emit(np.swapaxes, (a, -1, -2))
        raise NotSimple

    def of_Subscript(self, node: ast.Subscript) -> Any:
        a = self.value(node.value)
        if any(isinstance(part, ast.Slice) for part in ast.walk(node.slice)):
            raise NotSimple
        key = self.value(node.slice)
        if not has_values(key) and not isinstance(a, Value):
            return a[key]
        if isinstance(a, Value) and key == ():
            return a  # out[()]: a number in place of a 0-d array, which the program does not tell apart
        return self.to.emit(item_of, (a, key))

    def of_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if isinstance(owner, Value):
                return self.method(owner, node)
        function = self.value(node.func)
        if has_values(function):
            raise NotSimple
        args = tuple(self.items(node.args))
        kwargs: dict[str, Any] = {}
        for k in node.keywords:
            kwargs.update(self.value(k.value) if k.arg is None else {k.arg: self.value(k.value)})
        if not has_values((args, kwargs)):
            return function(*args, **kwargs)
        if function is np.sum and kwargs == {"axis": (-2,)} and args[0].sample.ndim == 2 and args[0].sample.dtype in FLOATS:
            return self.to.column_sums(args[0])
        if function is np.sum and not kwargs.keys() - {"axis", "keepdims"} and len(args) == 1:
            function, args, kwargs = np.add.reduce, (args[0], kwargs.get("axis"), None, None, kwargs.get("keepdims", False)), {}
        if function is np.swapaxes and args[0].sample.ndim == 2 and set(args[1:]) == {-1, -2}:
            return self.to.emit(np.transpose, (args[0],))
        if isinstance(function, Op):
            return self.to.row(function, bound(function.forward, args, kwargs) or self.unsure())
        if (getattr(function, "__module__", None) or "").startswith("autolab.") and simple_call(function, args, kwargs):
            env = bound(function, args, kwargs)
            if env is not None:
                return self.to.formula(function, env, self.elementwise)
        return self.to.emit(function, args, kwargs, self.elementwise)

    def method(self, owner: Value, node: ast.Call) -> Any:
        assert isinstance(node.func, ast.Attribute)
        args = tuple(self.items(node.args))
        kwargs = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        if node.func.attr == "sum" and not args and not kwargs:
            return self.to.emit(np.add.reduce, (owner, None, None, None, False))
        return self.to.emit(Method(node.func.attr), (owner, *args), kwargs, self.elementwise and node.func.attr == "astype")

    def unsure(self) -> Any:
        raise NotSimple


class Method:
    """x.name(...) as a function of x. Two of one name are equal, so that equal calls are recognised."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name

    def __call__(self, owner: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(owner, self.name)(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Method) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def power(a: Any, b: Any) -> Any:
    return a**b


def item_of(a: Any, key: Any) -> Any:
    return a[key]


def bound(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Arguments by name; None if they do not fit a plain signature."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    env = dict(zip(code.co_varnames[: code.co_argcount], args))
    env.update(kwargs)
    for name, default in zip(reversed(code.co_varnames[: code.co_argcount]), reversed(function.__defaults__ or ())):
        env.setdefault(name, default)
    for name, default in (function.__kwdefaults__ or {}).items():
        env.setdefault(name, default)
    return env if set(env) == set(names) else None


def simple_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether arguments can be matched with names: no *args, no **kwargs."""
    return hasattr(function, "__code__") and not function.__code__.co_flags & 0x0C and len(args) <= function.__code__.co_argcount


def has_values(nest: Any) -> bool:
    return bool(values_in(nest))


def arrays_in(nest: Any) -> list[Any]:
    """All arrays in nested tuples, lists and dicts."""
    if isinstance(nest, np.ndarray):
        return [nest]
    if isinstance(nest, dict):
        nest = list(nest.values())
    return [a for item in nest for a in arrays_in(item)] if isinstance(nest, tuple | list) else []


def samples(nest: Any) -> Any:
    """The same nest with samples in place of values."""
    if isinstance(nest, Value):
        return nest.sample
    if type(nest) is tuple:
        return tuple(samples(n) for n in nest)
    if type(nest) is list:
        return [samples(n) for n in nest]
    if type(nest) is dict:
        return {k: samples(n) for k, n in nest.items()}
    return nest


def aliased(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.may_share_memory(a, b))


def uniform(v: Value) -> Any:
    """The one number that a constant holds everywhere; None if it holds several."""
    a = np.asarray(v.sample)
    if not a.size:
        return None
    first = a.reshape(-1)[0] if a.size == 1 or any(a.strides) else a.flat[0]
    return first if a.size == 1 or not any(a.strides) or bool((a == first).all()) else None


def key_of(function: Any, args: Any, kwargs: Any) -> Any:
    """What makes two steps equal; None if that cannot be said."""
    try:
        key = (function, frozen(args), frozen(kwargs))
        hash(key)
    except TypeError:
        return None
    return key


def frozen(nest: Any) -> Any:
    if isinstance(nest, Value):
        return nest
    if isinstance(nest, tuple | list):
        return (type(nest), *map(frozen, nest))
    if isinstance(nest, dict):
        return tuple((k, frozen(v)) for k, v in nest.items())
    return (type(nest), nest)
