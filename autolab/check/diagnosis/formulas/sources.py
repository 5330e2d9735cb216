"""The formula in the source of a backward function: where a rule is not a lambda, but assignments and a `return`.

`body` of autolab.formula shows a lambda. A function of several lines is the same formula with names for its parts, which is what
`NamedFormula` evaluates and gets wrong on purpose. Loops and branches are not formulas: then there is none.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from autolab.formula import functions_at

from ...run.reference import Reference
from .equivalent_formulas import KNOWN, NamedFormula
from .mutants import PART

MOST_PARTS = 12


class SourceFormula(NamedFormula):
    """A formula with the names that its function sees."""

    def __init__(self, text: str, letters: Mapping[str, str], inputs: tuple[str, ...], known: Mapping[str, Any]):
        super().__init__((text, letters), inputs)
        self.known = {**KNOWN, **known}


@cache
def source_formula(reference: Reference, x: str) -> SourceFormula | None:
    """The rule for one input as its author wrote it, if that is a formula of several lines."""
    if reference.backward is not None:
        function, position = reference.backward, [*reference.inputs].index(x)
        needs: Sequence[str] = reference.rules[x][1]
    elif reference.row is not None:
        function, position, needs = reference.rules[x][0], None, reference.rules[x][1]
    else:
        return None
    found = _statements(function)
    if found is None:
        return None
    parameters, statements = found
    try:
        text, letters = _read(statements, dict(zip(parameters, ("g", *needs), strict=False)), position)
        closed = inspect.getclosurevars(function)
    except (TypeError, ValueError, LookupError):
        return None
    return SourceFormula(text, letters, reference.inputs, {**function.__globals__, **closed.nonlocals})


def _statements(function: Callable) -> tuple[list[str], list[ast.stmt]] | None:
    """The parameters of a function and its lines; None if its source is not known or it is a lambda."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    for node in functions_at(code.co_filename, code.co_firstlineno):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            return [a.arg for a in node.args.args], body
        if isinstance(node, ast.Lambda) and node.args.args and isinstance(node.body, ast.Tuple):
            return [a.arg for a in node.args.args], [ast.Return(node.body)]
    return None


def _read(statements: list[ast.stmt], names: dict[str, str], position: int | None) -> tuple[str, dict[str, str]]:
    """The text of what is returned, and the parts that were given a name, in their order."""
    letters: dict[str, str] = {}
    *parts, last = statements
    if not isinstance(last, ast.Return) or last.value is None or len(parts) > MOST_PARTS:
        raise ValueError("no formula")
    for part in parts:
        for target, value in _assigned(part):
            text = ast.unparse(_renamed(value, names))
            names[target] = letter = f"{PART[1:]}{len(letters) + 1}"
            letters[letter] = text
    value = last.value
    if position is not None and isinstance(value, ast.Tuple):
        value = value.elts[position]
    if not parts and position is None:
        raise ValueError("its formula is known")
    return ast.unparse(_renamed(value, names)), letters


def _assigned(statement: ast.stmt) -> list[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return [(name, value)]
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            return [(name.id, value) for name, value in zip(names, values, strict=True) if isinstance(name, ast.Name)]
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Attribute() | ast.Name() | ast.Call() as value):
            return [(n.id, ast.Subscript(value, ast.Constant(i), ast.Load())) for i, n in enumerate(names) if isinstance(n, ast.Name)]
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
            return [(name, ast.BinOp(ast.Name(name, ast.Load()), op, value))]
    raise ValueError("no formula")


def _renamed(value: ast.expr, names: Mapping[str, str]) -> ast.expr:
    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.copy_location(ast.Name(names.get(node.id, node.id), node.ctx), node)

    copy = ast.parse(ast.unparse(value), mode="eval").body
    return Rename().visit(copy)
