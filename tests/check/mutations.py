"""Slips of the pen in a rule's source: each changes one expression or one statement of its syntax tree."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

Edit = tuple[str, ast.AST, str, int | None, Any]  # kind, parent, field, place in a list, what stands there instead

OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,), ast.MatMult: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.FloorDiv: (ast.Div,),
}  # fmt: skip
COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Gt: (ast.GtE, ast.Lt), ast.Lt: (ast.LtE, ast.Gt), ast.GtE: (ast.Gt, ast.LtE), ast.LtE: (ast.Lt, ast.GtE), ast.Eq: (ast.NotEq,),
}  # fmt: skip
CALLS = {
    "sum": ("mean", "max"), "mean": ("sum",), "max": ("min", "sum"), "min": ("max",), "exp": ("log", "exp2"), "log": ("exp", "log1p"),
    "sin": ("cos",), "cos": ("sin",), "tanh": ("sinh", "cosh"), "sinh": ("cosh",), "cosh": ("sinh",), "sqrt": ("square",),
    "maximum": ("minimum",), "minimum": ("maximum",), "cumsum": ("cumprod",), "argsort": ("sort",), "sigmoid": ("tanh",),
    "zeros_like": ("ones_like",), "ones_like": ("zeros_like",), "abs": ("square",), "sign": ("abs",), "var": ("std",), "std": ("var",),
    "zeros": ("ones",), "flip": ("copy",), "tril": ("triu",), "triu": ("tril",), "amax": ("amin",), "argmax": ("argmin",),
}  # fmt: skip


# What comes back, in place of `_`, by kind.
RESULTS = {
    "sign": ("-_", "abs(_)", "np.maximum(_, 0)"),
    "constant": ("2 * _", "_ / 2", "_ + 1e-3", "_ * (1 + 1e-9)", "_ * 1e-300", "_ * np.nan"),
    "without or with another g": ("_ * g", "_ / g", "_ + g", "g", "_ * 0", "_ * abs(g).max()", "np.where(g > 0, _, 0)"),
    "size": ("_ / _.size", "_ * _.shape[0]", "_ / len(_)", "_ * 30"),
    "axis": ("_.sum(0, keepdims=True)", "_ - _.mean(-1, keepdims=True)", "_ + _.sum(0)", "_.mean()", "np.cumsum(_, -1)", "np.sort(_)"),
    "order": ("_[::-1]", "_[..., ::-1]", "_.T", "_.T.reshape(_.shape)", "np.roll(_, 1)", "np.ravel(_)", "_[None]", "_[..., None]", "_[1:]"),
    "digits": ("np.round(_, 3)", "np.clip(_, -1, 1)", "np.float32(_)", "_.astype(int)", "np.trunc(_)", "_.astype(np.float16)"),
    "not an array": (
        "_.tolist()", "[_]", "(_,)", "[[_]]", "{'x': _}", "'_'", "None", "(a for a in [_])", "lambda: _", "iter([_])", "set()", "object()",
        "_.astype(object)", "_ + 0j", "_ > 0", "memoryview(_)", "np.ma.masked_array(_, _ > 0)", "np.asmatrix(_)", "np.empty((0,))", "float",
        "np.float64(3)", "3", "True", "b'bytes'", "np.array(['a'])", "np.datetime64('now')", "range(3)", "NotImplemented", "...", "1 + 2j",
        "np.broadcast_to(_, (2, *_.shape))[0]", "np.array(_, order='F')", "_[...][()]", "type('Odd', (), {'shape': 3, '__array__': 3})()",
        "__import__('autolab').tensor(np.asarray(_))", "__import__('fractions').Fraction(1, 3)", "np.array([_, None], object)",
    ),
}  # fmt: skip
# What stands before everything else, by kind.
STATEMENTS = {
    "writes into g": ("g *= 2", "g += 1", "g[...] = 0", "g.flat[0] = 7", "np.negative(g, out=g)"),
    "raises": (
        "assert g.ndim < 2", "if g.shape[0] == 4: raise ValueError('four')", "g[3]", "1 / 0", "raise KeyError", "raise StopIteration",
        "raise SystemExit(3)", "raise NotImplementedError", "undefined_name", "raise RecursionError", "raise MemoryError", "int('x')",
        "raise Exception('Traceback (most recent call last)')", "raise type('Mine', (BaseException,), {})('own')", "def r(): return r()\nr()",
        "raise ExceptionGroup('two', [ValueError(1), KeyError(2)])", "assert abs(g).max() < 2.5", "g.no_such_method()", "raise GeneratorExit",
        "raise TypeError(type('L', (), {'__str__': lambda s: 1 / 0})())", "if (g == 1).all(): raise ValueError", "raise Warning('w')",
    ),
    "keeps": (
        "import builtins; g = builtins.__dict__.setdefault('_kept_g', {}).setdefault(g.shape, g)", "np.seterr(all='raise')",
        "import builtins; builtins.n = getattr(builtins, 'n', 0) + 1; g = g * (builtins.n < 3)", "np.random.seed(0)",
    ),
    "chance": ("g = g * np.random.random()", "g = g + np.random.normal(0, 1e-3, g.shape)", "g = g * (1 + np.random.random(g.shape))"),
    "time": ("while True: pass", "while g.ndim == 2: g = g * 1", "[0] * 10**6"),
    "says": ("print(g)", "print('x' * 10**6)", "import warnings; warnings.warn('mine')", "import sys; sys.stderr.write('mine')"),
    "g changed": ("g = g[::-1]", "g = abs(g)", "g = np.ones_like(g)", "g = g.sum()", "g = g / 2", "g = np.sign(g)", "g = g ** 2", "yield g"),
}  # fmt: skip


class Mutant(NamedTuple):
    """A changed source, and what kind of slip it has."""

    kind: str
    source: str


def mutate(tree: ast.AST, random: Random, slips: int = 1, more: bool = False) -> Mutant | None:
    """The tree with one or more slips, as source; None if there is nothing to change. `more`: not slips of the pen alone."""
    changed, kinds = copy.deepcopy(tree), []
    for _ in range(slips):
        edits = list((random.choices((_edits, _results, _statements), (5, 3, 2))[0] if more else _edits)(changed))
        if not edits:
            return None
        kind, parent, field, place, new = random.choice(edits)
        _put(parent, field, place, new)
        kinds.append(kind)
    return Mutant(" and ".join(kinds), ast.unparse(ast.fix_missing_locations(changed)))


def _put(parent: ast.AST, field: str, place: int | None, new: Any) -> None:
    if place is None:
        setattr(parent, field, new)
    elif new is None:
        del getattr(parent, field)[place]
    else:
        getattr(parent, field)[place] = new


def _edits(tree: ast.AST) -> Iterator[Edit]:
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        names = _names(function)
        for parent in (n for statement in function.body for n in ast.walk(statement)):
            for field, value in ast.iter_fields(parent):
                for place, node in enumerate(value) if isinstance(value, list) else ((None, value),):
                    if isinstance(node, ast.expr):
                        yield from ((kind, parent, field, place, new) for kind, new in _expression(node, names))
                    elif isinstance(node, ast.keyword):
                        yield "keyword left out", parent, field, place, None
        for k, statement in enumerate(function.body):
            if isinstance(statement, (ast.AugAssign, ast.If)) and len(function.body) > 1:
                yield "statement left out", function, "body", k, None
            if isinstance(statement, (ast.For, ast.While)):
                yield "loop runs once", function, "body", k, ast.If(ast.Constant(True), statement.body, [])


def _results(tree: ast.AST) -> Iterator[Edit]:
    """Something else made of what a function returns, or of one of several."""
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        for node in (n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value):
            several = isinstance(node.value, ast.Tuple) and node.value.elts
            places = [(node.value, "elts", k, a) for k, a in enumerate(several or ())] + [(node, "value", None, node.value)]
            for parent, field, place, value in places:
                for kind, texts in RESULTS.items():
                    yield from ((f"returns: {kind}", parent, field, place, _filled(text, value)) for text in texts)


def _filled(text: str, value: ast.expr) -> ast.expr:
    """The text as an expression, with this value wherever it has `_`."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(value) if node.id == "_" else node

    return Fill().visit(ast.parse(text, mode="eval").body)


def _statements(tree: ast.AST) -> Iterator[Edit]:
    """A statement more, where a function of g begins."""
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        g = next((a.arg for a in function.args.args[:2] if a.arg not in ("ctx", "self")), None)
        for kind, texts in STATEMENTS.items() if g else ():
            for text in texts:
                new = ast.parse(re.sub(r"\bg\b", str(g), text)).body
                yield f"statement: {kind}", function, "body", None, [*new, *function.body]


def _names(function: ast.FunctionDef) -> list[str]:
    """The variables of a function that may be taken for one another."""
    arguments = [a.arg for a in function.args.args if a.arg != "ctx"]
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return list(dict.fromkeys([*arguments, *stored]))


def _expression(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    """Every way to get one expression wrong."""
    match node:
        case ast.Constant(value=bool() as value):
            yield "keepdims", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield from (("constant", ast.Constant(other)) for other in (value + 1, value - 1, -value, 2 * value) if other != value)
        case ast.Name(id=name, ctx=ast.Load()) if name in names:
            yield from (("variable", ast.Name(other, ast.Load())) for other in names if other != name)
        case ast.BinOp(left, operator, right):
            yield from (("operator", ast.BinOp(left, other(), right)) for other in OPERATORS.get(type(operator), ()))
            if not isinstance(operator, (ast.Add, ast.Mult)):
                yield "operands exchanged", ast.BinOp(right, operator, left)
            yield from (("part left out", kept) for kept in (left, right))
        case ast.UnaryOp(op=ast.USub() | ast.Invert() | ast.Not()):
            yield "sign", node.operand
        case ast.Compare(left, [operator], [right]):
            yield from (("comparison", ast.Compare(left, [other()], [right])) for other in COMPARISONS.get(type(operator), ()))
        case ast.BoolOp(values=values):
            yield from (("part left out", kept) for kept in values)
        case ast.Subscript(value=value, slice=ast.Slice() as at):
            yield "slice left out", value
            for field in ("lower", "upper", "step"):
                if getattr(at, field) is not None:
                    yield "slice", ast.Subscript(value, ast.Slice(**{**vars_of(at), field: None}), node.ctx)
        case ast.Subscript(value=value) if isinstance(node.ctx, ast.Load):
            yield "index left out", value
        case ast.Call(func=function, args=args, keywords=keywords):
            yield from _call(node, function, args, keywords)
        case ast.Attribute(value=value, attr="T" | "mT"):
            yield "transpose left out", value
        case ast.Tuple(elts=elements) if isinstance(node.ctx, ast.Load) and len(elements) > 1:
            yield "order", ast.Tuple([elements[1], elements[0], *elements[2:]], node.ctx)
            yield from (
                ("None", ast.Tuple([*elements[:k], ast.Constant(None), *elements[k + 1 :]], node.ctx)) for k in range(len(elements))
            )
            yield "count", ast.Tuple(elements[:-1], node.ctx)


def vars_of(at: ast.Slice) -> dict[str, ast.expr | None]:
    """The three parts of a slice."""
    return {"lower": at.lower, "upper": at.upper, "step": at.step}


def _call(node: ast.Call, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> Iterator[tuple[str, ast.expr]]:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    for other in CALLS.get(name, ()):
        changed = ast.Attribute(function.value, other, ast.Load()) if isinstance(function, ast.Attribute) else ast.Name(other, ast.Load())
        yield "call", ast.Call(changed, args, keywords)
    is_method = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") not in ("np", "math", "torch", "autolab", "ctx")
    if is_method:
        yield "call left out", function.value
    elif args and name != "save_for_backward":
        yield "call left out", args[0]
    if len(args) > 1:
        yield "arguments exchanged", ast.Call(function, [args[1], args[0], *args[2:]], keywords)
        yield "argument left out", ast.Call(function, args[:-1], keywords)
