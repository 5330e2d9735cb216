"""A rule with all its variants in one: each name, number, call and block asks at run time whether it is changed.

Mutation testing calls this a schema (Untch, Offutt and Harrold, 1993): the source is compiled once, and not once for each change.
"""

from __future__ import annotations

import ast
import copy
import linecache
import operator
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import FrameType, FunctionType
from typing import Any

from autolab.formula import Function, definition

from ...run.meter import TooLong, of_library
from .blocks import PLACE, Block, InLoop, add_moves_across, has_an_order, reassigned

MOST_HELPERS = 6  # functions of the same file that a rule calls
SLOWER = 20  # times the visits of the first run: then it is a loop without end
ASK, KNOW, OPERATOR = "_ask_", "_know_", "_operator_{}_"  # names in the changed source


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
NAMES |= {OPERATOR.format(f.__name__): f for f in (same, operator.getitem, store, store_in_place, range)}


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
    block: Block | None = None  # of a statement: the one that it is in
    stores: list[Site] = field(default_factory=list)  # of a name: where it is given another value
    past: dict[int, Any] = field(default_factory=dict)  # earlier values in this run

    @property
    def asks(self) -> int:
        """The number of its question: a block asks for all its statements."""
        return self.block.number if self.block else self.number

    def text(self, node: ast.AST | None = None) -> str:
        """The source of the place, or of a node around it, on one line."""
        return self._text if node is None else self._text_of(node)

    @cached_property
    def _text(self) -> str:
        return self._text_of(self.node)

    def _text_of(self, node: ast.AST) -> str:
        if isinstance(node, (ast.For, ast.While, ast.If)):
            return linecache.getline(self.file, node.lineno).strip()
        lines = [line.encode() for line in linecache.getlines(self.file)[node.lineno - 1 : node.end_lineno]]  # type: ignore[attr-defined]
        if len(lines) == 1:
            return lines[0][node.col_offset : node.end_col_offset].decode()  # type: ignore[attr-defined]
        return " ".join(ast.unparse(_Plain().visit(copy.deepcopy(node))).split())


class _Plain(ast.NodeTransformer):
    """A node without the questions in it."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        asked = isinstance(node.func, ast.Name) and node.func.id in (ASK, KNOW)
        return self.visit(node.was) if asked else self.generic_visit(node)  # type: ignore[attr-defined]


def as_written(node: ast.AST) -> Any:
    """The node that a question stands for."""
    while hasattr(node, "was"):
        node = node.was
    return node


class Schema:
    """The functions of a rule, ready to be changed at any of their sites.

    `changes` holds what happens at a site instead, while the rule runs.
    """

    def __init__(self, methods: Mapping[str, Callable]):
        self.sites: list[Site] = []
        self.past: dict[int, Any] = {}
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
        self.past.clear()
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
        if self.noting is None and number not in self.changes and self.visits <= self.most:
            return do(*args, **kwargs)
        return self._looked_at(number, do, args, kwargs, sys._getframe(1))

    def know(self, number: int, value: Any, /) -> Any:
        """The same for a name or a number: half of all sites have a value and do nothing."""
        self.visits += 1
        if self.noting is None and number not in self.changes and self.visits <= self.most:
            return value
        return self._looked_at(number, same, (value,), {}, sys._getframe(1))

    def _looked_at(self, number: int, do: Callable, args: tuple, kwargs: Mapping[str, Any], frame: FrameType) -> Any:
        """A site that is changed, or noted on the first run."""
        if self.visits > self.most:
            raise TooLong
        if (change := self.changes.get(number)) is not None:
            return change(do, args, kwargs, frame.f_locals)
        if self.noting is None or number in self.noting:
            return do(*args, **kwargs)
        self.noting.add(number)
        site = self.sites[number]
        site.do, site.args, site.kwargs = do, args, kwargs
        site.names = {name: value for name, value in frame.f_locals.items() if name != PLACE}
        site.value = do(*args, **kwargs)
        return site.value

    def visited(self) -> Iterator[Site]:
        """The sites that the first run came to."""
        return (site for site in self.sites if self.sites[site.asks].do is not None)

    def _instrumented(self, function: Any, is_forward: bool = False, is_helper: bool = False) -> Callable | None:
        node = definition(function)
        if node is None or not isinstance(function, FunctionType):
            return None
        closed = dict(zip(function.__code__.co_freevars, (_contents(cell) for cell in function.__closure__ or ()), strict=True))
        if not is_helper:
            self.names |= {**function.__globals__, **closed, **NAMES, ASK: self.ask, KNOW: self.know}
        file = function.__code__.co_filename
        instrument = _Instrument(self.sites, file, function.__name__, is_helper=is_helper, is_forward=is_forward, past=self.past)
        made = instrument.function(node, self.names)
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


def _question(number: int, do: ast.expr | str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.Call:
    asks = ast.Name(KNOW if do == "same" else ASK, ast.Load())
    if do != "same":
        args = (ast.Name(OPERATOR.format(do), ast.Load()) if isinstance(do, str) else do, *args)
    return ast.Call(asks, [ast.Constant(number), *args], keywords or [])


class _Instrument(ast.NodeTransformer):
    """Puts a question in the place of each expression that can be changed."""

    def __init__(self, sites: list[Site], file: str, name: str, **kind: Any):
        self.sites, self.file, self.name, self.kind = sites, file, name, kind
        self.around: list[ast.AST] = []
        self.written: dict[ast.AST, ast.stmt] = {}  # of the statements, as they were
        self.reassigned: set[str] = set()
        self.stores: dict[str, list[Site]] = defaultdict(list)
        self.bodies: dict[ast.AST, Block | None] = {}  # of the loops

    def function(self, node: Function, names: dict[str, Any]) -> Any:
        """The function with its questions."""
        node, written = copy.deepcopy(node), node
        self.written = {new: old for new, old in zip(ast.walk(node), ast.walk(written), strict=True) if isinstance(old, ast.stmt)}
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
        self.reassigned = reassigned(node)
        node.body, _ = self.block(node.body)
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
        node.number = self.site(node, self.around[-2::-1]).number
        call: Any = _question(node.number, do, *args, keywords=keywords)
        call.was = node
        return ast.copy_location(call, node)

    def site(self, node: ast.AST, around: Sequence[ast.AST], block: Block | None = None) -> Site:
        """A new one, with a number."""
        stores = self.stores[node.id] if isinstance(node, ast.Name) else []
        self.sites.append(Site(len(self.sites), node, tuple(around), self.file, self.name, block=block, stores=stores, **self.kind))
        return self.sites[-1]

    def block(self, body: list[ast.stmt], kind: type[Block] = Block) -> tuple[list[ast.stmt], Block | None]:
        """The statements of a block, which asks for their order if they may have another one."""
        body = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))] or body  # without docstring
        if not has_an_order(body, is_inner=len(self.around) > 1):
            return [self.visit(statement) for statement in body], None
        around = self.around[::-1]
        site = self.site(body[0], around)
        written = [self.written[statement] for statement in body]
        site.block = block = kind(site.number, written, _question(site.number, "range", ast.Constant(len(body))))
        for k, statement in enumerate(body):
            self.site(block.statements[k], around, block)
            block.put(k, self.visit(statement))
            if inner := self.bodies.get(statement):
                add_moves_across(block, k, inner)
        return [block.loop], block

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        return self._visit_body(node, InLoop)

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self.visit(node.test)
        return self._visit_body(node, InLoop)

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.visit(node.test)
        return self._visit_body(node, Block)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body, _ = self.block(node.body)
        return node

    def _visit_body(self, node: Any, kind: type[Block]) -> ast.AST:
        node.body, self.bodies[node] = self.block(node.body, kind)
        if node.orelse:
            node.orelse, _ = self.block(node.orelse)
        return node

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
        if len(node.targets) == 1 and isinstance(target, ast.Name) and target.id in self.reassigned:
            value = self.asked(node, "same", self.visit(node.value))
            self.stores[target.id].append(self.sites[-1])
            return ast.copy_location(ast.Assign(node.targets, value), node)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        kind, value = type(node.op), self.visit(node.value)
        if kind not in IN_PLACE:
            return ast.copy_location(ast.AugAssign(node.target, node.op, value), node)
        do = "I" + kind.__name__
        if isinstance(node.target, ast.Name):
            value = self.asked(node, do, ast.Name(node.target.id, ast.Load()), value)
            self.stores[node.target.id].append(self.sites[-1])
            return ast.copy_location(ast.Assign([node.target], value), node)
        if isinstance(node.target, ast.Subscript):
            array, index = self.visit(node.target.value), self._index(node.target.slice)
            operation = ast.keyword("do", ast.Name(OPERATOR.format(do), ast.Load()))
            return ast.copy_location(ast.Expr(self.asked(node, "store_in_place", array, index, value, keywords=[operation])), node)
        return ast.copy_location(ast.AugAssign(node.target, node.op, value), node)
