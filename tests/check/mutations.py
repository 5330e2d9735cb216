"""Slips of the pen in a rule's source: each changes one expression or one statement of its syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

Edit = tuple[str, ast.AST, str, int | None, ast.AST | None]  # kind, parent, field, place in a list, what stands there instead

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


class Mutant(NamedTuple):
    """A changed source, and what kind of slip it has."""

    kind: str
    source: str


def mutate(tree: ast.AST, random: Random, slips: int = 1) -> Mutant | None:
    """The tree with one or more slips, as source; None if there is nothing to change."""
    changed, kinds = copy.deepcopy(tree), []
    for _ in range(slips):
        edits = list(_edits(changed))
        if not edits:
            return None
        kind, parent, field, place, new = random.choice(edits)
        _put(parent, field, place, new)
        kinds.append(kind)
    return Mutant(" and ".join(kinds), ast.unparse(ast.fix_missing_locations(changed)))


def _put(parent: ast.AST, field: str, place: int | None, new: ast.AST | None) -> None:
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
