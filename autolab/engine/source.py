"""The source text of a rule, so that documents, widgets and messages show the very formula that runs."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))


@cache
def body(function: Callable[..., Any]) -> str:
    """The expression that a lambda, or a function of one `return`, computes; else the function's call.

    >>> body(lambda g, y: g * y)
    'g * y'
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return getattr(function, "__name__", repr(function))
    found = [
        node
        for node in ast.walk(_tree(code.co_filename))
        if isinstance(node, ast.Lambda | ast.FunctionDef) and node.lineno == code.co_firstlineno
    ]
    names = list(inspect.signature(function).parameters)
    for node in found:
        arguments = [a.arg for a in node.args.args + node.args.kwonlyargs]
        if node.args.vararg is not None:
            arguments.insert(len(node.args.args), node.args.vararg.arg)
        if arguments != names:
            continue
        if isinstance(node, ast.Lambda):
            if _matches(node, code):
                return ast.unparse(node.body)
        elif isinstance(node.body[-1], ast.Return) and len([s for s in node.body if not _is_docstring(s)]) == 1:
            return ast.unparse(node.body[-1].value)  # type: ignore[arg-type]
    return f"{function.__name__}({', '.join(names)})"


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _matches(node: ast.Lambda, code: Any) -> bool:
    """Several lambdas may start on one line: the right one spans the columns of the code object."""
    # Instructions that stand for no text (RESUME) say column 0 to 0.
    placed = [p for p in code.co_positions() if p[2] is not None and p[2:] != (0, 0)]
    columns = [c for line, _, c, _ in placed if line == node.body.lineno]
    ends = [e for _, end, _, e in placed if end == node.body.end_lineno and e is not None]
    return bool(columns) and min(columns) >= node.body.col_offset and max(ends) <= (node.body.end_col_offset or 0)
