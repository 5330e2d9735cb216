"""What a rule works out in the same words as forward: a copy that is rarely where the mistake is."""

from __future__ import annotations

import ast
import re
from types import FunctionType
from typing import Any

from autolab.formula import definition

from ...run.reference import Reference
from .schema import Site

FEWEST = 6  # letters of an expression


class Words:
    """The expressions of forward, as they are written."""

    def __init__(self, reference: Reference):
        forward: Any = getattr(reference.forward, "forward", reference.forward)
        node = definition(forward) if isinstance(forward, FunctionType) else None
        parts = ast.walk(node) if node else ()
        written = {ast.unparse(part) for part in parts if isinstance(part, (ast.BinOp, ast.Call, ast.Subscript))}
        self.of_forward = {words for words in written if len(words) >= FEWEST}
        self.calls = frozenset(called(part) for part in (ast.walk(node) if node else ()) if isinstance(part, ast.Call))
        self.known: dict[ast.AST, bool] = {}
        self.given = {*reference.inputs, *reference.settings, "out", "ctx", "self"}
        self.of_g: dict[ast.AST, set[str]] = {}  # in each function, the names that g goes into
        self.places: dict[int, tuple[Any, ...]] = {}  # without numbers
        self.columns: dict[ast.AST, dict[tuple[int, int], int]] = {}  # of each statement, where its parts begin and end
        self.sites: dict[int, bool] = {}  # does g go into what they work out?

    def are_of_forward(self, site: Site) -> bool:
        """Is the place in a statement that gives a name, or an entry, what forward works out, too?"""
        node = next((p for p in (site.node, *site.parents) if isinstance(p, (ast.Assign, ast.AugAssign))), None)
        if node is None or not self.of_forward:
            return False
        if node not in self.known:
            self.known[node] = _words(site.text(node.value)) in self.of_forward
        return self.known[node]

    def come_from_g(self, site: Site) -> bool:
        """Does g go into what the place works out?"""
        if site.number not in self.sites:
            self.sites[site.number] = self._come_from_g(site)
        return self.sites[site.number]

    def _come_from_g(self, site: Site) -> bool:
        function: Any = site.parents[-1]
        if function not in self.of_g:
            arguments = [a.arg for a in function.args.args] if hasattr(function, "args") else []
            found = {a for a in arguments if a not in self.given}
            for _ in range(2):  # a loop brings names back to lines before
                for part in ast.walk(function):
                    if isinstance(part, (ast.Assign, ast.AugAssign)) and not found.isdisjoint(_names(part.value)):
                        targets = part.targets if isinstance(part, ast.Assign) else [part.target]
                        found |= {name for target in targets for name in _names(target)}
            self.of_g[function] = found
        return not self.of_g[function].isdisjoint(_names(site.node))

    def place_without_numbers(self, site: Site) -> tuple[Any, ...]:
        """The statement and the place in it, both without their numbers; nothing if no name in it has one."""
        if site.number not in self.places:
            self.places[site.number] = self._place_without_numbers(site)
        return self.places[site.number]

    def _place_without_numbers(self, site: Site) -> tuple[Any, ...]:
        statement = next((p for p in (site.node, *site.parents) if isinstance(p, (ast.Assign, ast.AugAssign))), None)
        if statement is None or not any(name[-1:].isdigit() for name in _names(statement)):
            return ()
        if statement not in self.columns:
            alike: Any = [part for part in ast.walk(statement) if hasattr(part, "col_offset")]
            ends = sorted({(part.col_offset, part.end_col_offset) for part in alike if part.lineno == statement.lineno})
            self.columns[statement] = {end: k for k, end in enumerate(ends)}
        node: Any = site.node
        at = self.columns[statement].get((node.col_offset, node.end_col_offset), -1)
        return without_numbers(site.text(statement)), type(node), at


def called(call: ast.Call) -> str:
    """The name of the function or method that is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def without_numbers(text: str) -> str:
    """
    >>> without_numbers("a2 = 2 * k3 + k")
    'a = # * k + k'
    """
    return re.sub(r"\b\d+(?:\.\d+)?\b", "#", re.sub(r"(?<=[A-Za-z_])\d+", "", text))


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _words(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except SyntaxError:  # of several lines
        return text
