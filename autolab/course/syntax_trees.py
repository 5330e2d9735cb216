"""Python source as a set of numbers, one for each part of its syntax tree, that stay the same when a copy is disguised.

Before a part is numbered, its tree is brought into a normal form. Names that a student chose are all one; layout, comments,
docstrings, annotations, imports, prints and statements without effect are gone; sums and products have one order, and powers, quotients and
differences one spelling (`x*x` is `x**2`, `a - b` is `-b + a`, `np.sum(x)` is `x.sum()`). The parts are statements, expressions of
`LEAST` nodes or more, and every `RUN` statements in a row (Baxter et al., Clone detection using abstract syntax trees, ICSM 1998).
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

LEAST, RUN = 8, 3  # nodes of a part that is numbered; statements in a row
MOST = 200  # levels of a tree; a deeper one is not read
MODULES = frozenset(("np", "numpy", "torch", "autolab", "math", "F", "nn", "functional", "linalg", "scipy", "special", "jnp", "jax"))
FUNCTIONS = frozenset((*dir(np), *dir(builtins)))
POWERS = {"square": 2.0, "sqrt": 0.5, "reciprocal": -1.0}
OPERATORS = {"add": ast.Add, "subtract": ast.Sub, "sub": ast.Sub, "multiply": ast.Mult, "mul": ast.Mult, "divide": ast.Div,
             "true_divide": ast.Div, "div": ast.Div, "power": ast.Pow, "pow": ast.Pow, "matmul": ast.MatMult}  # fmt: skip
SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}
NO_EFFECT = (ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal, ast.Assert)
ROUNDS = 5  # of dead assignments that only dead ones read
JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
LINE = re.compile(r"^[ \t]*[%!].*$", re.MULTILINE)  # what IPython obeys


class Part(NamedTuple):
    """A part of a source: its number, and the first and last of its lines, counted from 1."""

    value: int
    first: int
    last: int


class Shape(NamedTuple):
    """What a tree counts as: a digest, and how many nodes it has."""

    digest: bytes
    size: int


@lru_cache(4096)  # most cells of a class are as they were handed out
def parts(source: str) -> tuple[Part, ...] | None:
    """The parts of Python source; None for source that is no Python, or is nested too deeply.

    >>> one, other = (parts(f"def f(x):\\n    return np.exp({body}) + 1") for body in ("2 - x*x", "-x**2 + 2"))
    >>> {part.value for part in one} == {part.value for part in other}
    True
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in strings
            tree = ast.parse(LINE.sub("", source))
        if _depth(tree) > MOST:
            return None
        shapes = _Shapes()
        shapes.block(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(dict.fromkeys(shapes.parts))


def _depth(tree: ast.AST) -> int:
    level, depth = [tree], 0
    while level and depth <= MOST:
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
    return depth


def _digest(*pieces: bytes) -> bytes:
    return blake2b(b"".join(len(piece).to_bytes(4, "big") + piece for piece in pieces), digest_size=8).digest()


class _Shapes:
    """Visits a tree from its leaves up, and keeps the numbers of its parts."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.dead: set[ast.stmt] = set()  # assignments in a function to names that it does not read

    def node(self, label: str, children: Iterable[Shape] = ()) -> Shape:
        children = tuple(children)
        return Shape(_digest(label.encode("utf-8", "replace"), *(c.digest for c in children)), 1 + sum(c.size for c in children))

    def keep(self, shape: Shape, first: ast.AST, last: ast.AST) -> None:
        if shape.size >= LEAST:
            ends = getattr(last, "end_lineno", None) or last.lineno  # type: ignore[attr-defined]
            self.parts.append(Part(int.from_bytes(shape.digest, "big"), first.lineno, ends))  # type: ignore[attr-defined]

    def visit(self, node: ast.AST | None) -> Shape:
        if node is None:
            return self.node("None")
        method = getattr(self, f"visit_{type(node).__name__}", None)
        shape: Shape = method(node) if method else self.generic(node)
        if isinstance(node, (ast.expr, ast.stmt)):
            self.keep(shape, node, node)
        return shape

    def generic(self, node: ast.AST) -> Shape:
        """A node as it is: its kind and its fields, without names that a student chose."""
        label, children = [type(node).__name__], []
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                children.append(self.block(value))
            elif isinstance(value, list):
                children.append(self.node(name, map(self._field, value)))
            elif isinstance(value, ast.AST) or value is None:
                children += [] if name in ("ctx", "type_comment") else [self.visit(value)]
            elif name != "name":
                label.append(str(value))
        return self.node(" ".join(label), children)

    def _field(self, value: object) -> Shape:
        return self.visit(value) if isinstance(value, ast.AST) else self.node("" if value is None else "v")

    # --- statements

    def block(self, body: Sequence[ast.stmt]) -> Shape:
        """Statements in a row, without those that have no effect."""
        statements = [statement for statement in _flat(body) if statement not in self.dead]
        shapes = [self.visit(statement) for statement in statements]
        for i in range(len(shapes) - RUN + 1):
            self.keep(self.node("run", shapes[i : i + RUN]), statements[i], statements[i + RUN - 1])
        return self.node("block", shapes)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Shape:
        self.dead |= _dead(node)
        return self.node("def", [self.visit(node.args), *map(self.visit, node.decorator_list), self.block(node.body)])

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> Shape:
        return self.node("class", [*map(self.visit, node.bases), self.block(node.body)])

    def visit_arg(self, node: ast.arg) -> Shape:
        return self.node("v")

    def visit_If(self, node: ast.If) -> Shape:
        return self.node("if", [self.visit(node.test), self.block(node.body), self.block(node.orelse)])

    def visit_Assign(self, node: ast.Assign) -> Shape:
        return self.node("Assign", [*map(self.visit, node.targets), self.visit(node.value)])

    def visit_AugAssign(self, node: ast.AugAssign) -> Shape:
        return self.node(
            "Assign", [self.visit(node.target), self.visit(ast.copy_location(ast.BinOp(node.target, node.op, node.value), node))]
        )

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Shape:
        return self.node("Assign", [self.visit(node.target), self.visit(node.value)])

    # --- expressions

    def visit_Name(self, node: ast.Name) -> Shape:
        return self.node("v")

    def visit_Constant(self, node: ast.Constant) -> Shape:
        if isinstance(node.value, (str, bytes)):
            return self.node("s")
        number = _number(node)
        return self.node(str(node.value) if number is None else repr(number))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Shape:
        return self.node("s")

    def visit_Attribute(self, node: ast.Attribute) -> Shape:
        return self.node(f".{node.attr}", [] if _is_module(node.value) else [self.visit(node.value)])

    def visit_Call(self, node: ast.Call) -> Shape:
        """A function of a module and a method are the same, and so are an operator and its name."""
        if (operation := _written_out(node)) is not node:
            return self.visit_BinOp(operation) if isinstance(operation, ast.BinOp) else self._product(operation)
        name, arguments = _called(node)
        keywords = sorted(self.node(f"{KEYWORDS.get(k.arg or '', k.arg)}=", [self.visit(k.value)]) for k in node.keywords)
        function = [] if name else [self.visit(node.func)]
        return self.node(f"call {name}", [*function, *map(self.visit, arguments), *keywords])

    def visit_BoolOp(self, node: ast.BoolOp) -> Shape:
        return self.node(type(node.op).__name__, sorted(map(self.visit, node.values)))

    def visit_Compare(self, node: ast.Compare) -> Shape:
        operands, kinds = [self.visit(node.left), *map(self.visit, node.comparators)], [type(op) for op in node.ops]
        if all(kind in SWAPPED for kind in kinds):  # b > a is a < b
            operands, kinds = operands[::-1], [SWAPPED[kind] for kind in reversed(kinds)]
        if kinds in ([ast.Eq], [ast.NotEq]):
            operands.sort()
        return self.node(" ".join(kind.__name__ for kind in kinds), operands)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Shape:
        if isinstance(node.op, ast.UAdd):
            return self.visit(node.operand)
        return self._product(node) if isinstance(node.op, ast.USub) else self.generic(node)

    def visit_BinOp(self, node: ast.BinOp) -> Shape:
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return self.node("sum", sorted(self._product(term, sign) for term, sign in _terms(node, 1)))
        if isinstance(node.op, (ast.Mult, ast.Div)) or (isinstance(node.op, ast.Pow) and _number(node.right) is not None):
            return self._product(node)
        return self.generic(node)

    def _product(self, node: ast.expr, sign: int = 1) -> Shape:
        """A product in one order: its sign, and each factor with its power. What is no product is one of one factor."""
        powers, bases = Counter[str](), dict[str, ast.expr]()
        for factor, power in _factors(node, 1.0):
            if factor is MINUS:
                sign = -sign
                continue
            name = ast.dump(factor)
            powers[name] += power  # type: ignore[assignment]  # 0.5 is a square root
            bases[name] = factor
        factors = [(self.visit(bases[name]), power) for name, power in powers.items() if power]
        shapes = sorted(shape if power == 1 else self.node(f"power {power:g}", [shape]) for shape, power in factors)
        if len(shapes) == 1 and sign > 0:
            return shapes[0]
        return self.node("product" if sign > 0 else "-product", shapes)


def _called(node: ast.Call) -> tuple[str, list[ast.expr]]:
    """The name of a function that is not the student's, "" if it is, and the arguments; what a method belongs to is the first."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr, [*([] if _is_module(node.func.value) else [node.func.value]), *node.args]
    named = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
    return node.func.id if named else "", node.args  # type: ignore[attr-defined]  # it is a Name


def _written_out(node: ast.expr) -> ast.expr:
    """A call such as `np.add(x, y)` with its operator; any other expression as it is."""
    if not isinstance(node, ast.Call) or node.keywords:
        return node
    match _called(node):
        case (name, [left, right]) if name in OPERATORS:
            return ast.copy_location(ast.BinOp(left, OPERATORS[name](), right), node)
        case (name, [base]) if name in POWERS:
            return ast.copy_location(ast.BinOp(base, ast.Pow(), ast.Constant(POWERS[name])), node)
        case ("negative" | "neg", [operand]):
            return ast.copy_location(ast.UnaryOp(ast.USub(), operand), node)
    return node


MINUS = ast.Constant(-1)


def _factors(node: ast.expr, power: float) -> Iterator[tuple[ast.expr, float]]:
    """The factors of a product with their powers; MINUS for a sign."""
    node = _written_out(node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if power % 2:
            yield MINUS, 1.0
        yield from _factors(node.operand, power)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        yield from _factors(node.left, power)
        yield from _factors(node.right, -power if isinstance(node.op, ast.Div) else power)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and (exponent := _number(node.right)) is not None:
        yield from _factors(node.left, power * exponent)
    elif _number(node) != 1:
        yield node, power


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[ast.expr, int]]:
    """The terms of a sum with their signs: of `a - (b + c)` they are a, -b and -c."""
    node = _written_out(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield from _terms(node.left, sign)
        yield from _terms(node.right, -sign if isinstance(node.op, ast.Sub) else sign)
    else:
        yield node, sign


def _number(node: ast.expr) -> float | None:
    """The number that an expression is, with its sign; None if it is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return float(min(max(node.value, -1e300), 1e300))  # an integer may be too large for a float
    return None


def _is_module(node: ast.expr) -> bool:
    """Is this np, torch.linalg or another module by its usual name?"""
    while isinstance(node, ast.Attribute):
        if node.attr not in MODULES:
            return False
        node = node.value
    return isinstance(node, ast.Name) and node.id in MODULES


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that have an effect, up to the first that ends the block; what follows `if ...: return` is no else."""
    for statement in body:
        if isinstance(statement, (ast.If, ast.While)) and isinstance(statement.test, ast.Constant):
            if isinstance(statement, ast.While) and statement.test.value:
                yield statement
            else:
                yield from _flat(statement.body if statement.test.value else statement.orelse)
        elif isinstance(statement, ast.If) and statement.orelse and isinstance(statement.body[-1], JUMPS):
            yield ast.copy_location(ast.If(statement.test, statement.body, []), statement)
            yield from _flat(statement.orelse)
        elif not _has_no_effect(statement):
            yield statement
        if isinstance(statement, JUMPS):
            return


def _has_no_effect(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(ast.Call(ast.Name("print" | "display"))):
            return True
        case ast.Expr(value):
            return not any(isinstance(n, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)) for n in ast.walk(value))
        case ast.Assign([ast.Name(target)], ast.Name(value)) if target == value:
            return True
        case ast.AnnAssign(value=None):
            return True
    return isinstance(statement, NO_EFFECT)


def _dead(function: ast.AST) -> set[ast.stmt]:
    """The assignments in a function to names that nothing reads, but for other such assignments."""

    def loads(node: ast.AST) -> Counter[str]:
        return Counter(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))

    read, dead, assigned = loads(function), set[ast.stmt](), list[tuple[ast.stmt, str]]()
    shared = {name for n in ast.walk(function) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Name(name)]) | ast.AugAssign(ast.Name(name)) | ast.AnnAssign(ast.Name(name)) if name not in shared:
                assigned.append((node, name))
    for _ in range(ROUNDS):
        more = [(node, name) for node, name in assigned if node not in dead and not read[name]]
        for node, _ in more:
            dead.add(node)
            read -= loads(node)
        if not more:
            break
    return dead
