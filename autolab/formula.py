"""The source of a rule: what documents, widgets and messages show, and what generated code contains, is the formula itself."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

Function = ast.Lambda | ast.FunctionDef


@cache
def functions_at(file: str, line: int) -> tuple[Function, ...]:
    """The lambdas and functions of a file that start on a line."""
    return tuple(node for node in _around(statement_at(file, line), line) if isinstance(node, Function) and _first_line(node) == line)


def statement_at(file: str, line: int) -> ast.Module:
    """The statement of a module that a line is in, and nothing else of the file: to read one takes 10 ms."""
    lines = linecache.getlines(file)
    if not 0 < line <= len(lines):
        return ast.Module([], [])
    start = next((i for i in range(line - 1, -1, -1) if _begins(lines, i)), 0)
    end = next((i for i in range(line, len(lines)) if _begins(lines, i)), len(lines))
    return _statement(file, start, end)


def _first_line(node: ast.AST) -> int:
    """Where a node begins, its decorators included, as a code object counts; 0 if it has no place."""
    return min((d.lineno for d in getattr(node, "decorator_list", ())), default=getattr(node, "lineno", 0))


def _around(tree: ast.AST, line: int) -> Iterator[ast.AST]:
    """The nodes of a tree that a line is in, outer ones first, as in `ast.walk`."""
    level = [tree]
    while level:
        yield from level
        level = [child for node in level for child in ast.iter_child_nodes(node) if _spans_line(child, line)]


def _spans_line(node: ast.AST, line: int) -> bool:
    return _first_line(node) <= line <= (getattr(node, "end_lineno", None) or line)


def _begins(lines: list[str], i: int) -> bool:
    """May a statement of the module begin with this line? What is decorated begins with its decorators."""
    return lines[i][:1] not in " \t\n\r\f#)]}" and not (i and lines[i - 1].startswith("@"))


@cache
def _statement(file: str, start: int, end: int) -> ast.Module:
    """The lines between two that a statement may begin with; the whole file, if they are a piece of a longer one."""
    lines = linecache.getlines(file)
    try:
        return ast.parse("\n" * start + "".join(lines[start:end]))
    except SyntaxError:
        return _statement(file, 0, len(lines)) if (start, end) != (0, len(lines)) else ast.Module([], [])


def forget() -> None:
    """Forget what was read: a file of the same name may hold another text."""
    for kept in (functions_at, _statement, expression, body, parameters):
        kept.cache_clear()


def definition(function: Callable[..., Any]) -> Function | None:
    """The lambda or `def` that made a function; None where its source is not known."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    for node in functions_at(code.co_filename, code.co_firstlineno):
        if _spans(node, code) if isinstance(node, ast.Lambda) else node.name == code.co_name:
            return node
    return None


@cache
def expression(function: Callable[..., Any]) -> ast.expr | None:
    """What a lambda, or a function that is a single `return`, computes; None for anything else."""
    node = definition(function)
    if node is None or isinstance(node, ast.Lambda):
        return node and node.body
    statements = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(statements) == 1 and isinstance(statements[0], ast.Return):
        return statements[0].value
    return None


@cache
def body(function: Callable[..., Any]) -> str:
    """The same as text; for a longer function its name and arguments.

    >>> body(lambda g, y: g * y)
    'g * y'
    """
    found = expression(function)
    if found is not None:
        return ast.unparse(found)
    return f"{function.__name__}({', '.join(inspect.signature(function).parameters)})"


@cache
def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what a function asks for."""
    return tuple(inspect.signature(function).parameters)


def _spans(node: ast.Lambda, code: Any) -> bool:
    """Several lambdas may start on one line: the right one spans the columns of the code object."""
    places = [p for p in code.co_positions() if None not in p and (p[0], p[2]) != (p[1], p[3])]  # RESUME has no width
    first = min(((line, column) for line, _, column, _ in places if line >= node.body.lineno), default=None)
    last = max(((end, column) for _, end, _, column in places), default=None)
    if first is None or last is None:
        return False
    start, stop = (node.body.lineno, node.body.col_offset), (node.body.end_lineno, node.body.end_col_offset)
    return first >= start and last <= stop and last > start
