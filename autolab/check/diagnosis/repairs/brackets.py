"""Brackets that a line lacks, or that close too early or too late: exp(u) / 2 * pi**0.5 for exp(u) / (2 * pi)**0.5."""

from __future__ import annotations

import ast
import io
import keyword
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from .schema import Site
from .values import Edit, Pool, evaluated, is_array, short

BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "@": 2, "**": 3}
FAMILIES = {"-": "term sign", "/": "division", "//": "division", "**": "power"}  # by the sign in front of the brackets
OTHERS = {"<", "<=", ">", ">=", "==", "!=", ",", ":", ":=", "=", "&", "|", "^", "<<", ">>"}
MOST = 8  # operands


class Part(NamedTuple):
    """An operand of a line, and the sign in front of it: empty of the first."""

    sign: str
    start: int
    end: int


def brackets(site: Site, pool: Pool) -> Iterator[Edit]:
    """Around some of the operands, or of a function that another operand belongs to."""
    if not isinstance(site.node, (ast.BinOp, ast.Call)) or isinstance(site.parents[0], ast.BinOp) or not site.args:
        return
    text = site.text()
    for parts in _lines(text):
        yield from _around(text, parts)
        for i, part in enumerate(parts):
            if _is_function(site, text[part.start : part.end]):
                yield from _of_function(text, part, parts[i + 1] if i + 1 < len(parts) else None)


def _around(text: str, parts: list[Part]) -> Iterator[Edit]:
    """Two new brackets, around some operands and not around all."""
    line = short(text[parts[0].start : parts[-1].end])
    for first in range(len(parts)):
        for last in range(first + 1, len(parts) - (first == 0)):
            if _matters(parts, first, last):
                a, b = parts[first].start, parts[last].end
                sign, after = parts[first].sign, parts[last + 1].sign if last + 1 < len(parts) else ""
                family = FAMILIES.get("**" if after == "**" else sign, "operation")
                around = "the exponent" if sign == "**" else f"`{short(text[a:b])}`"
                yield from _edit(f"{text[:a]}({text[a:b]}){text[b:]}", family, f"brackets around {around} in `{line}`")


def _of_function(text: str, part: Part, following: Part | None) -> Iterator[Edit]:
    """The bracket that closes f(a), behind the operand that follows, or in front of the last one within."""
    begin, close = text.index("(", part.start) + 1, part.end - 1
    name = text[part.start : begin - 1]
    if following:
        more = text[part.end : following.end].strip()
        yield from _edit(f"{text[:close]} {more}){text[following.end :]}", "operation", f"`{more}` inside the brackets of `{name}`")
    if len(within := operands(text[begin:close])) > 1:
        cut = begin + within[-2].end
        less = text[cut:close].strip()
        yield from _edit(f"{text[:cut]}) {less}{text[part.end :]}", "operation", f"`{less}` outside the brackets of `{name}`")


def _lines(text: str, start: int = 0) -> Iterator[list[Part]]:
    """The operands of a line, and those of each pair of brackets in it."""
    parts = [Part(sign, start + a, start + b) for sign, a, b in operands(text)]
    if parts and (1 < len(parts) <= MOST or not start):
        yield parts
    for _, a, b in parts:
        operand = text[a - start : b - start]
        if operand.startswith("(") and _closes(operand) == len(operand) - 1:
            yield from _lines(operand[1:-1], a + 1)


def _closes(text: str) -> int:
    """Where the bracket closes that is the first character."""
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return place
    return -1


def _edit(text: str, family: str, what: str) -> Iterator[Edit]:
    """The line with other brackets, if it is one."""
    try:
        value = evaluated(ast.parse(text, mode="eval").body)
    except SyntaxError:
        return
    yield Edit(1, family, what, ("brackets", what), lambda do, a, k, names: value(names))


def operands(text: str) -> list[Part]:
    """What the signs of a line are between, outside of all brackets; nothing of a comparison, a condition or several things.

    >>> [(sign, "a / (b - 1)**-2"[start:end]) for sign, start, end in operands("a / (b - 1)**-2")]
    [('', 'a'), ('/', '(b - 1)'), ('**', '-2')]
    """
    found: list[Part] = []
    depth = start = end = 0
    sign, is_operand, begins = "", False, True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
            break
        depth -= token.string in (")", "]", "}")
        if depth == 0 and (keyword.iskeyword(token.string) or token.string in OTHERS):
            return []
        if depth == 0 and is_operand and token.string in BINDS:
            found.append(Part(sign, start, end))
            sign, begins, is_operand = token.string, True, False
        else:
            if begins:
                start, begins = token.start[1], False
            end = token.end[1]
            is_operand = token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING) or token.string in (")", "]", "}")
        depth += token.string in ("(", "[", "{")
    return [*found, Part(sign, start, end)]


def _matters(parts: list[Part], first: int, last: int) -> bool:
    """Would brackets around these operands change what comes out?"""
    inside = {part.sign for part in parts[first + 1 : last + 1]}
    weakest = min(BINDS[sign] for sign in inside)
    before, after = (parts[k].sign if k < len(parts) else "" for k in (first, last + 1))
    if weakest < max(BINDS.get(before, 0), BINDS.get(after, 0)) or after == "**":  # which begins on the right
        return True
    if weakest > BINDS.get(before, 0) or before == "**":
        return False
    return before in ("-", "/", "//", "%") or {before, *inside} >= {"@", "*"}


def _is_function(site: Site, text: str) -> bool:
    """Is it a function of one thing, such as np.exp(u), and no method of an array?"""
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords or not text.endswith(")"):
        return False
    root = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return isinstance(root, ast.Name) and not is_array(site.names.get(root.id))
