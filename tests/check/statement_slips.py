"""Slips with whole statements in a right rule: each mutant with the line where it is mended.

python -m tests.check.statement_slips     # how many of the wrong ones are caught, and how many are named (by that line, where no sentence says it as well); CPU
"""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import linecache
import re
import sys
import textwrap
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

Body = list[ast.stmt]


class Slip(NamedTuple):
    """A mutant: the kind of slip, the rule, and the lines of which a sentence has to name one."""

    kind: str
    rule: Any
    lines: set[int]


def slips(rule: Any) -> Iterator[Slip]:
    """Every mutant of a rule whose source is known."""
    function = rule if not isinstance(rule, type) else vars(rule)["backward"].__func__
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(rule))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or function.__closure__:
        return
    node.decorator_list = []
    for number in itertools.count():
        changed = copy.deepcopy(node)
        (method,) = (n for n in ast.walk(changed) if isinstance(n, ast.FunctionDef) and n.name in ("backward", function.__name__))
        slip = next(itertools.islice(_slips_in(method), number, None), None)
        if slip is None:
            return
        kind, marked = slip
        source, lines = _numbered(changed, marked)
        yield Slip(kind, _made(source, function.__globals__, f"<{node.name} {number}>"), lines)


def _slips_in(function: ast.FunctionDef) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Changes the function in place and gives back what it changed; one is taken, and the rest is not run."""
    bodies = [n.body for n in ast.walk(function) if isinstance(n, (ast.FunctionDef, ast.For, ast.While, ast.If))]
    for body in bodies:
        for k, (first, second) in enumerate(itertools.pairwise(body)):
            if not isinstance(second, ast.Return):
                body[k : k + 2] = second, first
                yield "exchanged", [first, second]
                body[k : k + 2] = first, second
        for k, statement in enumerate(body):
            if isinstance(statement, ast.AugAssign):
                body.insert(k, copy.deepcopy(statement))
                yield "doubled", body[k : k + 2]
                del body[k]
            for other in _other_assignments(statement):
                body[k] = other
                yield ("= for +=" if isinstance(other, ast.Assign) else "+= for ="), [other]
                body[k] = statement
            if isinstance(statement, (ast.For, ast.While)):
                yield from _across_the_border(body, k, statement)
            if isinstance(statement, ast.For):
                was = statement.iter
                for kind, text in (("reversed", "list(_)[::-1]"), ("one short", "list(_)[1:]"), ("one short", "list(_)[:-1]")):
                    statement.iter = _filled(text, was)
                    yield kind, [statement]
                statement.iter = was


def _other_assignments(statement: ast.stmt) -> Iterator[ast.stmt]:
    match statement:
        case ast.AugAssign(target, ast.Add(), value):
            yield ast.Assign([target], value)
        case ast.Assign([ast.Name() | ast.Subscript() as target], value):
            yield ast.AugAssign(target, ast.Add(), value)


def _across_the_border(body: Body, k: int, loop: Any) -> Iterator[tuple[str, list[ast.stmt]]]:
    inner, before, after = loop.body, body[k - 1] if k else None, body[k + 1] if k + 1 < len(body) else None
    if isinstance(before, (ast.Assign, ast.AugAssign)):
        loop.body = [before, *inner]
        del body[k - 1]
        yield "into the loop", [before]
        body.insert(k - 1, before)
        loop.body = inner
    if after is not None and not isinstance(after, (ast.For, ast.While)):
        loop.body = [*inner, after]
        del body[k + 1]
        yield ("early return" if isinstance(after, ast.Return) else "into the loop"), [after]
        body.insert(k + 1, after)
        loop.body = inner
    if len(inner) > 1:
        loop.body = inner[:-1]
        body.insert(k + 1, inner[-1])
        yield "out of the loop", [inner[-1]]
        del body[k + 1]
        loop.body = inner


def _filled(text: str, value: ast.expr) -> ast.expr:
    return ast.parse(text.replace("_", ast.unparse(value)), mode="eval").body


def _numbered(tree: ast.AST, marked: list[ast.stmt]) -> tuple[str, set[int]]:
    """The source, and the lines of the marked statements in it."""
    for number, statement in enumerate(marked):
        statement.mark = number  # type: ignore[attr-defined]
    order = [n for n in _in_order(tree) if isinstance(n, ast.stmt)]
    places = [k for k, n in enumerate(order) if hasattr(n, "mark")]
    for statement in marked:
        del statement.mark  # type: ignore[attr-defined]
    source = ast.unparse(ast.fix_missing_locations(tree))
    again = [n for n in _in_order(ast.parse(source).body[0]) if isinstance(n, ast.stmt)]
    return source, {again[k].lineno for k in places}


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def _made(source: str, space: dict[str, Any], file: str) -> Any:
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    names = {**space}
    exec(compile(source, file, "exec"), names)
    return names[ast.parse(source).body[0].name]  # type: ignore[attr-defined]


def lines_said(report: Any) -> set[int]:
    """The lines that a report speaks of."""
    found = [re.findall(r"lines? ([\d, and]+)", d.text) for d in report.diagnoses]
    return {int(n) for texts in found for text in texts for n in re.findall(r"\d+", text)}


# Python's message has the line, or the result is what an empty array happens to hold.
NOT_COUNTED = {"exception", "name", "type", "none", "count", "unpack", "time", "second call"}
SAID_WITHOUT_A_LINE = {"= for +=": "overwritten", "doubled": "constant"}


def main(verbose: bool) -> None:
    from autolab.check import check
    from autolab.formula import forget

    from . import right_fresh, right_more, right_styles, right_unusual  # noqa: F401  (they fill the list)
    from .right import RIGHT

    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    spent = []
    for operation, rule in RIGHT:
        for slip in slips(rule) if inspect.isclass(rule) or inspect.isfunction(rule) else ():
            forget()
            start = time.process_time()
            report = check(operation, slip.rule)
            if report.passed or any(d.family in NOT_COUNTED for d in report.diagnoses):
                continue
            spent.append(1e3 * (time.process_time() - start))
            named = bool(slip.lines & lines_said(report)) or report.diagnoses[0].family == SAID_WITHOUT_A_LINE.get(slip.kind)
            for kind in (slip.kind, "all"):
                counts[kind][0] += 1
                counts[kind][1] += bool(report.diagnoses)
                counts[kind][2] += named
            if verbose and not named:
                print(f"{operation}, {slip.kind}, lines {sorted(slip.lines)}")
                print(textwrap.indent(inspect.getsource(slip.rule), "    "), *(f"  {d.text}" for d in report.diagnoses), sep="\n")
    for kind, (caught, _told, named) in sorted(counts.items()):
        print(f"{kind:16} caught {caught:4}  named {named:4}  {named / caught:4.0%}")
    print(f"CPU: median {sorted(spent)[len(spent) // 2]:.0f} ms, sum {sum(spent) / 1e3:.1f} s")


if __name__ == "__main__":
    main("-v" in sys.argv)
