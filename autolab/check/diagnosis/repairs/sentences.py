"""A change of a rule in words: what is changed, and where."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from autolab.formula import statement_at

from ..quotes import quoted
from ..step_names import node_of, ordinal
from .schema import Site
from .values import Edit


def said(edit: Edit, sites: Sequence[Site]) -> str:
    """What is changed, and where."""
    site = sites[0]
    around = next((p for p in site.parents if hasattr(p, "lineno") and not isinstance(p, (ast.FunctionDef, ast.keyword))), None)
    small = (
        isinstance(site.node, (ast.Name, ast.Constant, ast.UnaryOp)) and around is not None and f"`{site.text(around)}`" not in edit.what
    )
    inside, which = f" in `{_cut(site, around)}`" if small else "", ""
    if len(sites) == 1 and (found := _which_of_a_line(site, around if small else site.node, small)):
        inside, which = found[0] or inside, found[1]
    lines = sorted({s.node.lineno for s in sites})  # type: ignore[attr-defined]
    where = f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
    everywhere = f", {len(sites)} times" if len(sites) > 1 else ""
    helper = f" of {site.function}" if site.is_helper and site.function.isidentifier() else ""
    return f"{edit.what}{inside} ({which}{where}{helper}{everywhere})"


def _which_of_a_line(site: Site, node: Any, small: bool) -> tuple[str, str] | None:
    """Where an expression is that its line has several times, and which of the same names in it is meant."""
    if not hasattr(node, "end_col_offset"):
        return None
    found = node_of(statement_at(site.file, node.lineno), (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
    if found is None:
        return None
    code, at = found
    names = [n for n in code.inside(at) if isinstance(n, ast.Name) and n.id == getattr(site.node, "id", None)]
    k = next((k for k, n in enumerate(names) if n.col_offset == site.node.col_offset and n.lineno == site.node.lineno), 0)  # type: ignore[attr-defined]
    which = f"the {ordinal(k)} `{names[0].id}`, " if len(names) > 1 else ""
    only = code.only(at) or at
    if len([n for n in code.alike(at, code.function) if n.lineno == node.lineno]) < 2:  # type: ignore[attr-defined]
        return "", which
    if small:
        return f" in {quote}" if (quote := code.quote(at)) else "", which
    return f" in `{around}`" if len(code.alike(at, only)) == 1 and (around := quoted(only, at)) else "", which


def _cut(site: Site, around: Any, most: int = 60) -> str:
    """The source around a place; of a long one the piece that the place is in."""
    text = site.text(around)
    if len(text) < most:
        return text
    is_one_line = around.lineno == around.end_lineno and isinstance(around, ast.expr)
    at = site.node.col_offset - around.col_offset if is_one_line else text.find(site.text())  # type: ignore[attr-defined]
    start = max(0, min(at - most // 3, len(text) - most))
    end = start + most
    return "..." * (start > 0) + text[start:end] + "..." * (end < len(text))
