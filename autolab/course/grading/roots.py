"""Roots of negative numbers: the way to a complex number that no word gives away, `m ** 0.5` where `m = -1.0` is a line above."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

MAGIC = re.compile(r"(?m)^([ \t]*)[%!].*$")
POWERS = {"pow", "power", "float_power"}
DEEP = 12  # operations within one another that are looked into: the time for a cell grows with its length
ROUNDS = 3  # names that stand for names


def has_negative_root(source: str) -> bool:
    """Does a cell raise what its text shows to be negative, or anything with a minus before it, to a power that is no integer?

    >>> has_negative_root("m = -1.0\\ni = m ** 0.5"), has_negative_root("(-x) ** (1 / 2)"), has_negative_root("-(x ** 0.5)")
    (True, True, False)
    """
    if "**" not in source and "pow" not in source:
        return False
    try:
        nodes = list(ast.walk(ast.parse(MAGIC.sub(r"\1pass", source))))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    signs = _Signs(nodes)
    return any(signs.negative(base) and signs.fraction(power) for node in nodes for base, power in _powers(node))


def _powers(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        yield node.left, node.right
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Pow):
        yield node.target, node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__pow__" and node.args:
        yield node.func.value, node.args[0]
    elif isinstance(node, ast.Call) and len(node.args) > 1:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in POWERS:
            yield node.args[0], node.args[1]


class _Signs:
    """What the text of a cell says of its names: which are negative somewhere, and which are no integers."""

    def __init__(self, nodes: list[ast.AST]):
        self.numbers: dict[str, list[float]] = {}
        self.negatives: set[str] = set()
        given = [pair for node in nodes for pair in _given(node)]
        for _ in range(ROUNDS):
            for name, value in given:
                if (number := self.number(value)) is not None and number not in (known := self.numbers.setdefault(name, [])):
                    known[3:] = [number]
                if self.negative(value):
                    self.negatives.add(name)

    def number(self, node: ast.AST, deep: int = DEEP) -> float | None:
        """The value of an expression of numbers; of a name, the last that it is given."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return _float(node.value)
        if isinstance(node, ast.Name):
            return (self.numbers.get(node.id) or [None])[-1]
        if isinstance(node, ast.UnaryOp) and deep and (value := self.number(node.operand, deep - 1)) is not None:
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp) and deep:
            left = self.number(node.left, deep - 1)
            right = None if left is None else self.number(node.right, deep - 1)
            return None if left is None or right is None else _result(node.op, left, right)
        return None

    def negative(self, node: ast.AST, deep: int = DEEP) -> bool:
        """Is it a negative number, or something with a minus before it?"""
        if isinstance(node, ast.Name):
            return node.id in self.negatives
        if (number := self.number(node)) is not None:
            return number < 0
        if not deep:
            return False
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub) or self.negative(node.operand, deep - 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            return self.negative(node.left, deep - 1) != self.negative(node.right, deep - 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            return self.number(node.left) == 0
        if isinstance(node, ast.Subscript) and isinstance(node.value, (ast.List, ast.Tuple)):
            return any(self.negative(item, deep - 1) for item in node.value.elts[:DEEP])
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("float", "int") and node.args
        return bool(called) and self.negative(node.args[0], deep - 1)  # type: ignore[attr-defined]

    def fraction(self, node: ast.AST) -> bool:
        """Is it a number and no integer?"""
        numbers = self.numbers.get(node.id, []) if isinstance(node, ast.Name) else [self.number(node)]
        return any(number is not None and number % 1 != 0 for number in numbers)


def _given(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The names that a statement gives a value, and the value."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            pairs = [(target, node.value)]
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Tuple, ast.List)):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            yield from ((name.id, value) for name, value in pairs if isinstance(name, ast.Name) and value is not None)
    elif isinstance(node, ast.For) and isinstance(node.target, ast.Name) and isinstance(node.iter, (ast.List, ast.Tuple)):
        yield from ((node.target.id, value) for value in node.iter.elts)
    elif isinstance(node, ast.arguments):
        named = [*node.posonlyargs, *node.args]
        yield from ((a.arg, value) for a, value in zip(named[len(named) - len(node.defaults) :], node.defaults, strict=True))
        yield from ((a.arg, value) for a, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if value is not None)


def _float(value: float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _result(op: ast.operator, left: float, right: float) -> float | None:
    if isinstance(op, ast.Add):
        return left + right
    if isinstance(op, ast.Sub):
        return left - right
    if isinstance(op, ast.Mult):
        return left * right
    return left / right if isinstance(op, ast.Div) and right else None
