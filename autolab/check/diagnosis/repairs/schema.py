"""A rule with all its variants in one: each name, number, operation and call asks at run time whether it is changed.

Mutation testing calls this a schema (Untch, Offutt and Harrold, 1993): the source is compiled once, and not once for each change.
"""

from __future__ import annotations

import ast
import copy
import linecache
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from autolab.formula import Function, definition

from ...run.meter import TooLong, of_library

MOST_HELPERS = 6  # functions of the same file that a rule calls
SLOWER = 20  # times the visits of the first run: then it is a loop without end
ASK, OPERATOR = "_ask_", "_operator_{}_"  # names in the changed source


def same(value: Any) -> Any:
    """What a name or a number does."""
    return value


def store(array: Any, index: Any, value: Any) -> None:
    """array[index] = value"""
    array[index] = value


def store_in_place(array: Any, index: Any, value: Any, do: Callable = operator.iadd) -> None:
    """array[index] += value, or another of its kind."""
    array[index] = do(array[index], value)


OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.MatMult: operator.matmul, ast.Pow: operator.pow, ast.Mod: operator.mod, ast.USub: operator.neg, ast.Invert: operator.invert,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
IN_PLACE = {ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul, ast.Div: operator.itruediv}
NAMES = {OPERATOR.format(kind.__name__): f for kind, f in OPERATORS.items()}
NAMES |= {OPERATOR.format("I" + kind.__name__): f for kind, f in IN_PLACE.items()}
NAMES |= {OPERATOR.format(f.__name__): f for f in (same, operator.getitem, store, store_in_place)}


@dataclass(eq=False)
class Site:
    """A place in the source that can be changed, and what was there on the first run."""

    number: int
    node: ast.AST
    parents: tuple[ast.AST, ...]  # the innermost first
    file: str
    function: str
    is_helper: bool = False
    is_forward: bool = False
    do: Any = None
    args: tuple = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None
    names: Mapping[str, Any] = field(default_factory=dict)  # local variables

    def text(self, node: ast.AST | None = None) -> str:
        """The source of the place, or of a node around it, on one line."""
        node = node or self.node
        lines = [line.encode() for line in linecache.getlines(self.file)[node.lineno - 1 : node.end_lineno]]  # type: ignore[attr-defined]
        if len(lines) == 1:
            return lines[0][node.col_offset : node.end_col_offset].decode()  # type: ignore[attr-defined]
        return " ".join(ast.unparse(_Plain().visit(copy.deepcopy(node))).split())


class _Plain(ast.NodeTransformer):
    """A node without the questions in it."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        asked = isinstance(node.func, ast.Name) and node.func.id == ASK
        return self.visit(node.was) if asked else self.generic_visit(node)  # type: ignore[attr-defined]


class Schema:
    """The functions of a rule, ready to be changed at any of their sites.

    `changes` holds what happens at a site instead, while the rule runs.
    """

    def __init__(self, methods: Mapping[str, Callable]):
        self.sites: list[Site] = []
        self.changes: dict[int, Callable] = {}
        self.visits, self.most = 0, sys.maxsize
        self.noting: set[int] | None = None
        self.names: dict[str, Any] = {}
        self.methods: dict[str, Callable] = {}
        for name, method in methods.items():
            if made := self._instrumented(method, is_forward=name != "backward"):
                self.methods[name] = made

    def run(self, call: Callable[[], Any], changes: Mapping[int, Callable]) -> Any:
        """What a call gives with these changes."""
        self.changes, self.visits = dict(changes), 0
        try:
            return call()
        finally:
            self.changes = {}

    def first_run(self, call: Callable[[], Any]) -> Any:
        """The same without changes; each site then knows what it works on."""
        self.noting, self.most = set(), sys.maxsize
        try:
            return self.run(call, {})
        finally:
            self.most, self.noting = SLOWER * (self.visits + 50), None

    def ask(self, number: int, do: Callable, /, *args: Any, **kwargs: Any) -> Any:
        """What every site calls: do it, or do what is there instead."""
        self.visits += 1
        if self.visits > self.most:
            raise TooLong
        if (change := self.changes.get(number)) is not None:
            return change(do, args, kwargs, sys._getframe(1).f_locals)
        if self.noting is None or number in self.noting:
            return do(*args, **kwargs)
        self.noting.add(number)
        site = self.sites[number]
        site.do, site.args, site.kwargs, site.names = do, args, kwargs, dict(sys._getframe(1).f_locals)
        site.value = do(*args, **kwargs)
        return site.value

    def visited(self) -> Iterator[Site]:
        """The sites that the first run came to."""
        return (site for site in self.sites if site.do is not None)

    def _instrumented(self, function: Any, is_forward: bool = False, is_helper: bool = False) -> Callable | None:
        node = definition(function)
        if node is None or not isinstance(function, FunctionType):
            return None
        closed = dict(zip(function.__code__.co_freevars, (_contents(cell) for cell in function.__closure__ or ()), strict=True))
        if not is_helper:
            self.names |= {**function.__globals__, **closed, **NAMES, ASK: self.ask}
        file = function.__code__.co_filename
        instrument = _Instrument(self.sites, file, function.__name__, is_helper=is_helper, is_forward=is_forward)
        made = instrument.function(copy.deepcopy(node), self.names)
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        if not is_helper and not is_forward:
            self._instrument_helpers(function, file)
        return made

    def _instrument_helpers(self, function: FunctionType, file: str) -> None:
        todo, done = [function], 0
        while todo and done < MOST_HELPERS:
            code = todo.pop(0).__code__
            for name in (*code.co_names, *code.co_freevars):
                helper: Any = self.names.get(name)
                is_helper = isinstance(helper, FunctionType) and helper.__code__.co_filename == file and not of_library(file)
                if is_helper and helper is not function and (made := self._instrumented(helper, is_helper=True)):
                    self.names[name] = made
                    todo.append(helper)
                    done += 1


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


class _Instrument(ast.NodeTransformer):
    """Puts a question in the place of each expression that can be changed."""

    def __init__(self, sites: list[Site], file: str, name: str, **kind: Any):
        self.sites, self.file, self.name, self.kind = sites, file, name, kind
        self.around: list[ast.AST] = []

    def function(self, node: Function, names: dict[str, Any]) -> Any:
        """The function with its questions."""
        self.around = [node]
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
        node.args.kw_defaults = [d and ast.Constant(None) for d in node.args.kw_defaults]
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
            return eval(compile(ast.fix_missing_locations(ast.Expression(node)), self.file, "eval"), names)
        node.decorator_list, node.returns = [], None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        node.body = [self.visit(statement) for statement in node.body]
        before = names.get(node.name)
        exec(compile(ast.fix_missing_locations(ast.Module([node], [])), self.file, "exec"), names)
        made = names[node.name]
        names[node.name] = before
        return made

    def visit(self, node: ast.AST) -> Any:
        """Visit a node; the nodes around it are known meanwhile."""
        self.around.append(node)
        try:
            return super().visit(node)
        finally:
            self.around.pop()

    def asked(self, node: Any, do: ast.expr | str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.expr:
        """The question that takes the place of a node."""
        site = Site(len(self.sites), node, tuple(self.around[-2::-1]), self.file, self.name, **self.kind)
        self.sites.append(site)
        if isinstance(do, str):
            do = ast.Name(OPERATOR.format(do), ast.Load())
        call: Any = ast.Call(ast.Name(ASK, ast.Load()), [ast.Constant(site.number), do, *args], keywords or [])
        call.was = node
        return ast.copy_location(call, node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.asked(node, "same", node) if isinstance(node.ctx, ast.Load) else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        is_said = isinstance(self.around[-2], (ast.Expr, ast.JoinedStr, ast.FormattedValue))
        return node if is_said else self.asked(node, "same", node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        left, right = self.visit(node.left), self.visit(node.right)
        if type(node.op) in OPERATORS:
            return self.asked(node, type(node.op).__name__, left, right)
        return ast.copy_location(ast.BinOp(left, node.op, right), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):  # a negative number
            return self.asked(node, "same", node)
        operand = self.visit(node.operand)
        if type(node.op) in OPERATORS:
            return self.asked(node, type(node.op).__name__, operand)
        return ast.copy_location(ast.UnaryOp(node.op, operand), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        left, *others = (self.visit(part) for part in (node.left, *node.comparators))
        if len(others) == 1 and type(node.ops[0]) in OPERATORS:
            return self.asked(node, type(node.ops[0]).__name__, left, others[0])
        return ast.copy_location(ast.Compare(left, node.ops, others), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "print", "isinstance", "vars"):
            return node
        if isinstance(node.func, ast.Attribute):
            do: ast.expr = ast.copy_location(ast.Attribute(self.visit(node.func.value), node.func.attr, ast.Load()), node.func)
        else:
            do = node.func if isinstance(node.func, ast.Name) else self.visit(node.func)
        keywords = [ast.keyword(word.arg, self.visit(word.value)) for word in node.keywords]
        return self.asked(node, do, *(self.visit(argument) for argument in node.args), keywords=keywords)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value = self.visit(node.value)
        found = ast.copy_location(ast.Attribute(value, node.attr, node.ctx), node)
        return self.asked(node, "same", found) if isinstance(node.ctx, ast.Load) else found

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        value, index = self.visit(node.value), self._index(node.slice)
        if isinstance(node.ctx, ast.Load):
            return self.asked(node, "getitem", value, index)
        return ast.copy_location(ast.Subscript(value, index, node.ctx), node)

    def _index(self, node: ast.expr) -> ast.expr:
        """An index as an expression."""
        if isinstance(node, ast.Slice):
            bounds = [self.visit(bound) if bound else ast.Constant(None) for bound in (node.lower, node.upper, node.step)]
            return ast.Call(ast.Name("slice", ast.Load()), bounds, [])
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._index(part) for part in node.elts], ast.Load())
        return self.visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return ast.copy_location(ast.IfExp(*(self.visit(part) for part in (node.test, node.body, node.orelse))), node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        if not isinstance(node.ctx, ast.Load) or not isinstance(self.around[-2], (ast.Return, ast.Call, ast.Lambda)):
            return self.generic_visit(node)
        parts = [self.visit(part) for part in node.elts]
        return self.asked(node, "same", ast.Tuple(parts, ast.Load()))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if len(node.targets) == 1 and isinstance(target := node.targets[0], ast.Subscript):
            array, index = self.visit(target.value), self._index(target.slice)
            return ast.copy_location(ast.Expr(self.asked(node, "store", array, index, self.visit(node.value))), node)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        kind, value = type(node.op), self.visit(node.value)
        if kind not in IN_PLACE:
            return ast.copy_location(ast.AugAssign(node.target, node.op, value), node)
        do = "I" + kind.__name__
        if isinstance(node.target, ast.Name):
            now = ast.Name(node.target.id, ast.Load())
            return ast.copy_location(ast.Assign([node.target], self.asked(node, do, now, value)), node)
        if isinstance(node.target, ast.Subscript):
            array, index = self.visit(node.target.value), self._index(node.target.slice)
            operation = ast.keyword("do", ast.Name(OPERATOR.format(do), ast.Load()))
            return ast.copy_location(ast.Expr(self.asked(node, "store_in_place", array, index, value, keywords=[operation])), node)
        return ast.copy_location(ast.AugAssign(node.target, node.op, value), node)
