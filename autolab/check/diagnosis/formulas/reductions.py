"""Which sum or mean of a formula an operation is in, where the same operation is written several times."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

REDUCTIONS = {"mean": "mean", "average": "mean", "sum": "sum"}
OUTSIDE = ", outside of its sums and means"
LONGEST = 40


def reductions_around(tree: ast.Expression, in_words: Callable[[str], str]) -> dict[ast.AST, str]:
    """Of each operation that is written several times, the sum or mean that it is in.

    >>> tree = ast.parse("g * y - mean(g * y)", mode="eval")
    >>> list(reductions_around(tree, str).values())
    [', outside of its sums and means', ', in the mean of g * y']
    """
    around: dict[ast.AST, str] = {}
    written: dict[str, list[ast.AST]] = {}

    def visit(node: ast.AST, where: str) -> None:
        if isinstance(node, ast.BinOp):
            around[node] = where
            written.setdefault(ast.dump(node), []).append(node)
        elif isinstance(node, ast.Call) and (name := REDUCTIONS.get(_called(node))):
            words = re.sub(r"\b_\w+", lambda letter: in_words(letter[0]), ast.unparse(_reduced(node)))
            where = f", in the {name} of {words}" if len(words) < LONGEST else ""
        for child in ast.iter_child_nodes(node):
            visit(child, where)

    visit(tree, OUTSIDE)
    several = [nodes for nodes in written.values() if len({around[node] for node in nodes}) > 1]
    return {node: around[node] for nodes in several for node in nodes}


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _reduced(node: ast.Call) -> ast.AST:
    """What is added up: the array of a method, or the first argument of a function."""
    is_method = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") != "np"
    return node.func.value if is_method or not node.args else node.args[0]  # type: ignore[attr-defined]
