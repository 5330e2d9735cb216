"""A formula as numbered expressions, where alike ones share a number.

A slip of the pen then is the number of another formula, two slips that come to the same have the same, and what a slip
leaves as it was is worked out once for all of them: nothing is compiled, and only what lies above the slip is run again.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
BETWEEN_TWO = {OPERATORS[kind] for kind in (ast.Sub, ast.Div, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)}
NAME, CONSTANT, CHOICE, TEXT = "name", "constant", "choice", "text"  # what is not a function of its parts


class Values:
    """Names and what they stand for, with what the expressions came to that every slip in a formula shares."""

    def __init__(self, names: Mapping[str, Any]):
        self.names = names
        self.known: dict[int, tuple[Expressions, dict[int, Any]]] = {}  # by the id of a formula, which is kept alive

    def of(self, expressions: Expressions) -> dict[int, Any]:
        """What the expressions of the right formula came to so far."""
        if id(expressions) not in self.known:
            self.known[id(expressions)] = expressions, {}
        return self.known[id(expressions)][1]


class Expressions:
    """All expressions of one formula and of what is made of it, by number.

    >>> formula = Expressions(ast.parse("x * (x + y)", mode="eval"))
    >>> formula.value(formula.root, Values({"x": 2, "y": 5}))
    14
    """

    def __init__(self, tree: ast.Expression):
        self._numbers: dict[tuple, int] = {}
        self._vain: set[int] = set()
        self._made: list[tuple[Any, Any]] = []  # a function and the numbers of what it is given, or one of the words above
        self._of: dict[int, int] = {}
        self._above: dict[int, ast.AST] = {}
        self._tree = tree  # keeps the ids of its nodes taken
        for node in ast.walk(tree):
            self._above |= {id(part): node for part in ast.iter_child_nodes(node)}
        self.root = self._number(tree.body, None)
        self.shared = len(self._made)

    def changed(self, tree: ast.Expression, touched: Collection[ast.AST]) -> int:
        """The number of the formula now that some nodes of the tree are others than they were; of another tree, whatever it holds."""
        stale: set[int] = set()
        for node in touched:
            above: ast.AST | None = node
            while above is not None and id(above) not in stale:
                stale.add(id(above))
                above = self._above.get(id(above))
        return self._number(tree.body, stale)

    def compares_with_itself(self, number: int) -> bool:
        """Does an expression compare something with itself, or subtract or divide it? What that is does not matter then."""
        return number in self._vain

    def value(self, number: int, values: Values) -> Any:
        """What an expression comes to with these values; raises what evaluating it raises."""
        return self._value(number, values.names, values.of(self))

    def _value(self, number: int, names: Mapping[str, Any], known: dict[int, Any]) -> Any:
        if number in known:
            return known[number]
        function, parts = self._made[number]
        if function is CONSTANT:
            return parts
        if function is NAME:
            value = _look_up(parts, names)
        elif function is CHOICE:
            condition, yes, no = parts
            value = self._value(yes if self._value(condition, names, known) else no, names, known)
        elif function is TEXT:
            value = eval(parts, {**names})
        else:
            value = function(*[self._value(part, names, known) for part in parts])
        if number < self.shared:
            known[number] = value
        return value

    def _number(self, node: ast.AST, stale: set[int] | None) -> int:
        """The number of an expression; of a node that was there from the start and did not change, it is known."""
        if stale is not None and id(node) in self._of and id(node) not in stale:
            return self._of[id(node)]
        number = self._enter(*self._parts(node, partial(self._number, stale=stale)))
        if stale is None:
            self._of[id(node)] = number
        return number

    def _enter(self, key: tuple, function: Any, parts: Any) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._made)
            self._made.append((function, parts))
            if isinstance(parts, tuple) and function is not TEXT:
                alike = function in BETWEEN_TWO and parts[0] == parts[1]
                if alike or not self._vain.isdisjoint(part for part in parts if isinstance(part, int)):
                    self._vain.add(self._numbers[key])
        return self._numbers[key]

    def _parts(self, node: ast.AST, number: Callable[[ast.AST], int]) -> tuple[tuple, Any, Any]:
        """What tells an expression from others, and how it is worked out."""
        parts: tuple[int, ...]
        match node:
            case ast.Constant(value=value):
                return _constant(value)
            case ast.Name(id=name):
                return (NAME, name), NAME, name
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._operation(OPERATORS[type(op)], (number(left), number(right)))
            case ast.UnaryOp(op=op, operand=operand):
                return self._operation(OPERATORS[type(op)], (number(operand),))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                parts = number(left), number(right)
                return (type(op), *parts), OPERATORS[type(op)], parts
            case ast.Call() if not any(isinstance(a, ast.Starred) for a in node.args) and all(k.arg for k in node.keywords):
                parts = tuple(map(number, (node.func, *node.args, *(k.value for k in node.keywords))))
                words = tuple(k.arg or "" for k in node.keywords)
                return ("call", words, *parts), partial(_called, words) if words else _called_in_order, parts
            case ast.Attribute(value=value, attr=name):
                part = number(value)
                return ("attribute", name, part), operator.attrgetter(name), (part,)
            case ast.Subscript(value=value, slice=index):
                parts = number(value), number(index)
                return ("item", *parts), operator.getitem, parts
            case ast.Slice(lower=lower, upper=upper, step=step):
                parts = tuple(number(part or ast.Constant(None)) for part in (lower, upper, step))
                return ("slice", *parts), slice, parts
            case ast.Tuple(elts=elements) if not any(isinstance(e, ast.Starred) for e in elements):
                parts = tuple(map(number, elements))
                return ("tuple", *parts), _tuple, parts
            case ast.IfExp(test=test, body=yes, orelse=no):
                parts = number(test), number(yes), number(no)
                return (CHOICE, *parts), CHOICE, parts
        whole = ast.fix_missing_locations(ast.Expression(node))  # type: ignore[arg-type]
        return (TEXT, ast.dump(node)), TEXT, compile(whole, "<formula>", "eval")

    def _operation(self, function: Callable, parts: tuple[int, ...]) -> tuple[tuple, Any, Any]:
        """What numbers alone come to is that number, as a compiler has it: -1 is not the minus of 1."""
        given = [self._made[part] for part in parts]
        if all(kind is CONSTANT and type(value) in (int, float) for kind, value in given):
            try:
                return _constant(function(*(value for _, value in given)))
            except ArithmeticError:
                pass
        return (function, *parts), function, parts


class Wrong(NamedTuple):
    """A formula with one thing wrong."""

    expressions: Expressions
    number: int

    def value(self, values: Values) -> Any:
        """What it comes to; `values` remembers what it has in common with the right formula."""
        return self.expressions.value(self.number, values)

    @classmethod
    def of(cls, tree: ast.Expression) -> Wrong:
        """A tree that somebody else changed."""
        expressions = Expressions(tree)
        return cls(expressions, expressions.root)


def _constant(value: Any) -> tuple[tuple, Any, Any]:
    return (CONSTANT, type(value), repr(value)), CONSTANT, value


def _look_up(name: str, names: Mapping[str, Any]) -> Any:
    if name in names:
        return names[name]
    if not hasattr(builtins, name):
        raise NameError(f"name {name!r} is not defined")
    return getattr(builtins, name)


def _called_in_order(function: Callable, *args: Any) -> Any:
    return function(*args)


def _called(words: tuple[str, ...], function: Callable, *args: Any) -> Any:
    count = len(args) - len(words)
    return function(*args[:count], **dict(zip(words, args[count:], strict=True)))


def _tuple(*parts: Any) -> tuple:
    return parts
