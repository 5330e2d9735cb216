"""Code as a sentence quotes it: a long expression with `...` for the parts that do not matter."""

from __future__ import annotations

import ast
import copy
from functools import lru_cache

LONGEST = 60
CUT = "..."
UNQUOTABLE = "{}|"  # what the texts of the checker use for themselves


@lru_cache(2000)
def quoted(node: ast.AST, shown: ast.AST, alone: bool = False, longest: int = LONGEST) -> str:
    """The code of a node on one line, that of a node in it in full if possible; empty where it cannot be quoted.

    `alone`: without the other parts that have the same in them.
    """
    text, path = _text(node), {*_path(node, shown)}
    if alone:
        node = _without_others(node, path, ast.dump(shown))
        text = _text(node)
    if len(text) > longest:
        text = _text(_shortened(node, path, longest))
    return "" if len(text) > 2 * longest or any(c in text for c in UNQUOTABLE) else text


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _path(node: ast.AST, shown: ast.AST) -> list[ast.AST]:
    """The nodes from one to another that is in it, and all that is in that."""
    if node is shown:
        return [*ast.walk(node)]
    for child in ast.iter_child_nodes(node):
        if path := _path(child, shown):
            return [node, *path]
    return []


def _without_others(node: ast.AST, path: set[ast.AST], same: str) -> ast.AST:
    if ast.dump(node) == same:
        return node
    fresh = copy.copy(node)
    for name, value in ast.iter_fields(node):
        several = value if isinstance(value, list) else [value]
        parts = [_part_without_others(node, part, path, same) if isinstance(part, (ast.expr, ast.keyword)) else part for part in several]
        setattr(fresh, name, parts if isinstance(value, list) else parts[0])
    path.add(fresh)
    return fresh


def _part_without_others(node: ast.AST, part: ast.AST, path: set[ast.AST], same: str) -> ast.AST:
    if part in path:
        return _without_others(part, path, same)
    return _cut(node, part) if same in ast.dump(part) else part


def _shortened(node: ast.AST, path: set[ast.AST], room: int) -> ast.AST:
    """A copy of about this length."""
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.expr, ast.keyword))]
    lengths = {child: len(_text(child)) for child in children}
    room -= max(len(_text(node)) - sum(lengths.values()), 0)
    fixed = [child for child in children if lengths[child] <= 8]
    room -= sum(lengths[child] for child in fixed)
    long = sorted((child for child in children if child not in fixed), key=lambda child: (child in path, lengths[child]))
    changed: dict[int, ast.AST] = {}
    for k, child in enumerate(long):
        share = max(room // (len(long) - k), 0)
        if k + 1 < len(long) and long[-1] in path and child not in path:
            share = min(share, 20)
        if lengths[child] > share:
            kept = child in path or (share > 8 and not isinstance(child, ast.keyword))
            changed[id(child)] = _shortened(child, path, share) if kept else _cut(node, child)
        room -= len(_text(changed.get(id(child), child)))
    fresh = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(fresh, name, [changed.get(id(v), v) for v in value])
        elif id(value) in changed:
            setattr(fresh, name, changed[id(value)])
    return fresh


def _cut(parent: ast.AST, child: ast.AST) -> ast.AST:
    if isinstance(child, ast.keyword):
        return ast.keyword(child.arg, ast.Name(CUT))
    is_object = isinstance(parent, (ast.Attribute, ast.Subscript)) and child is parent.value
    return ast.Name(f"({CUT})" if is_object or (isinstance(parent, ast.Call) and child is parent.func) else CUT)
