"""A row with one thing wrong: every formula that lies one slip of the pen away from the right one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

CONFUSED = {
    "sin": "cos", "cos": "sin", "exp": "log", "log": "exp", "sinh": "cosh", "cosh": "sinh", "tanh": "cosh",
    "maximum": "minimum", "minimum": "maximum", "sqrt": "square", "sum": "mean", "mean": "sum", "max": "sum",
}  # fmt: skip


_FUNCTIONS = {"mean": "an average", "sum": "a sum", "max": "a maximum"}
_TRANSPOSED = ("transposed", "the right one with one factor transposed the wrong way")
_NOT_PUT_BACK = ("keepdims", "the right one without the axis that forward removed: it was not put back in its place")
_LEFT_OUT = {
    "mT": _TRANSPOSED, "swapaxes": _TRANSPOSED, "transpose": _TRANSPOSED,
    "restore": _NOT_PUT_BACK, "expand_dims": _NOT_PUT_BACK,
    "sum": ("not summed", "the right one without its sum"),
}  # fmt: skip


class Mutant(NamedTuple):
    """A wrong formula, the family of the mistake, and a sentence that continues "Your gradient is ..."."""

    family: str
    text: str
    formula: str


@cache
def mutants(formula: str, names: tuple[str, ...]) -> tuple[tuple[Mutant, object], ...]:
    """All mutants of a formula with their compiled code; `names` are the values that may stand in for one another."""
    try:
        tree = ast.parse(formula, mode="eval")
    except SyntaxError:
        return ()
    found: dict[str, Mutant] = {}
    only_asked_for_shape = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for spot, node in enumerate(ast.walk(tree)):
        if id(node) in only_asked_for_shape:
            continue
        for family, text, new in _edits(node, names):
            mutant = copy.deepcopy(tree)
            mutant = _replace(mutant, spot, new)
            source = ast.unparse(ast.fix_missing_locations(mutant))
            if source != formula:
                found.setdefault(source, Mutant(family, text, source))
    return tuple((m, compile(m.formula, "<mutant>", "eval")) for m in found.values())


def _replace(tree: ast.Expression, spot: int, new: ast.expr) -> ast.Expression:
    target = next(node for i, node in enumerate(ast.walk(tree)) if i == spot)

    class Swap(ast.NodeTransformer):
        def visit(self, node):
            return copy.deepcopy(new) if node is target else super().visit(node)

    return Swap().visit(tree)


def _edits(node: ast.AST, names: Sequence[str]) -> Iterator[tuple[str, str, ast.expr]]:
    """Every way to get this one node wrong."""
    edit: Callable | None = _EDITS.get(type(node))
    if edit is not None:
        yield from edit(node, names)


def _binary(node: ast.BinOp, names: Sequence[str]):
    left, right = node.left, node.right

    def make(operator, a=left, b=right):
        return ast.BinOp(a, operator, b)

    match node.op:
        case ast.Add():
            yield "term", "the right one without one of its terms", left
            yield "term", "the right one without one of its terms", right
            yield "term sign", "the right one with the wrong sign on one of its terms", make(ast.Sub())
        case ast.Sub():
            yield "term", "the right one without one of its terms", left
            yield "term", "the right one without one of its terms", ast.UnaryOp(ast.USub(), right)
            yield "term", "the right one without one of its terms", right
            yield "term sign", "the right one with the wrong sign on one of its terms", make(ast.Add())
        case ast.Mult() if ast.dump(left) == ast.dump(right):
            text = f"the right one with {_words(left)} where its square belongs"
            yield "power", text, left
        case ast.Mult():
            for kept, lost in ((left, right), (right, left)):
                if not _mentions(lost, "g"):
                    yield "factor", "the right one without one of its factors", kept
            yield "division", "the right one with a multiplication and a division exchanged", make(ast.Div())
        case ast.Div():
            yield "factor", "the right one without its division", left
            yield "division", "the right one with a multiplication and a division exchanged", make(ast.Mult())
            yield "division", "the right one turned upside down", make(ast.Div(), right, left)
            yield "power", "the right one divided once more than it should be", make(ast.Div(), node, right)
        case ast.Pow():
            yield "power", "the right one without one of its powers", left
            for step in (-1, 1):
                shifted = ast.BinOp(right, ast.Add(), ast.Constant(step))
                yield "power", "the right one with an exponent that is off by one", make(ast.Pow(), left, shifted)
        case ast.MatMult():
            yield "order", "the right product with its factors in the other order", make(ast.MatMult(), right, left)
            for side in (left, right):
                turned = ast.Attribute(side, "T", ast.Load())
                pair = (turned, right) if side is left else (left, turned)
                yield (
                    "transposed",
                    "the right product with one factor transposed the wrong way",
                    make(ast.MatMult(), *pair),
                )


def _minus(node: ast.UnaryOp, names: Sequence[str]):
    if isinstance(node.op, ast.USub):
        yield "term sign", "the right one with a minus sign left out", node.operand


def _call(node: ast.Call, names: Sequence[str]):
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "where" and len(node.args) == 3:
        condition, yes, no = node.args
        yield "mask", "the right one with the two sides of its mask exchanged", _with_args(node, [condition, no, yes])
        yield "mask", "the right one without its mask", yes
        yield "mask", "the right one without its mask", no
        return
    if node.args:
        yield *_LEFT_OUT.get(name, ("step", "the right one without one step of the formula")), node.args[0]
    if isinstance(node.func, ast.Attribute) and name in CONFUSED:
        other = ast.Attribute(node.func.value, CONFUSED[name], ast.Load())
        text = f"the right one with {_FUNCTIONS.get(CONFUSED[name], CONFUSED[name])} where another function belongs"
        yield "function", text, ast.Call(other, node.args, node.keywords)
    for keyword in node.keywords:
        if keyword.arg in ("axis", "keepdims"):
            rest = [k for k in node.keywords if k is not keyword]
            yield "axis", f"the right one without its {keyword.arg}", ast.Call(node.func, node.args, rest)


def _constant(node: ast.Constant, names: Sequence[str]):
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        for other in (node.value + 1, node.value - 1, 2 * node.value, node.value / 2, -node.value):
            if other != node.value:
                yield "number", "the right one with another number in the formula", ast.Constant(other)


def _compare(node: ast.Compare, names: Sequence[str]):
    flipped = {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE}.get(type(node.ops[0]))
    if flipped:
        yield (
            "mask",
            "the right one with its mask the wrong way round",
            ast.Compare(node.left, [flipped()], node.comparators),
        )


def _name(node: ast.Name, names: Sequence[str]):
    if node.id not in names:
        return
    for other in names:
        if other != node.id and node.id != "g":
            text = f"the right one with {_value(other)} where {_value(node.id)} belongs"
            yield "variable", text, ast.Name(other, ast.Load())


def _words(node: ast.expr) -> str:
    return _value(node.id) if isinstance(node, ast.Name) else "something"


def _value(name: str) -> str:
    return {"out": "the result of forward", "g": "the incoming gradient"}.get(name, name)


def _with_args(node: ast.Call, args: list[ast.expr]) -> ast.Call:
    return ast.Call(node.func, args, node.keywords)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


_EDITS: dict[type, Callable] = {
    ast.BinOp: _binary,
    ast.UnaryOp: _minus,
    ast.Call: _call,
    ast.Constant: _constant,
    ast.Compare: _compare,
    ast.Name: _name,
}
