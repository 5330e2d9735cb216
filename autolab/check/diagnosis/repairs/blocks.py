"""The statements of a block as a schema: at run time the block asks in which order they run.

Order 0, 1, 2 is the rule as it is; 1, 0, 2 has two neighbours exchanged, and 0, 2 has a statement less. Copies of the statements
on the other side of a loop's border have numbers too, and run where an order asks for them.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

PLACE = "_place_"  # the variable of the loop over a block
FARTHEST = 3  # statements over which another one is moved
SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
LOOPS = (ast.For, ast.While)


class Move(NamedTuple):
    """Another order of one block, or of two."""

    kind: str  # "exchanged", "moved", "left out", "into the loop", "out of the loop"
    other: ast.stmt | None  # the statement that it changes places with, or the loop
    orders: Mapping[int, tuple[int, ...]]  # of the blocks with these numbers


@dataclass
class Block:
    """Some statements, and for each of them the moves that may mend a rule."""

    number: int
    statements: Sequence[ast.stmt]  # as they were written
    ask: ast.expr  # the question for the order
    moves: list[list[Move]] = field(default_factory=list)
    copies: int = 0  # of statements beside it or in its loops

    def __post_init__(self) -> None:
        self.loop = ast.copy_location(ast.For(ast.Name(PLACE, ast.Store()), self.ask, [], []), self.statements[0])
        self.end = self.loop.body
        self.reads = [reads_of(statement) for statement in self.statements]
        self.writes = [writes_of(statement) for statement in self.statements]
        self.moves = [list(self._inside(k)) for k in range(len(self.statements))]

    @property
    def order(self) -> tuple[int, ...]:
        return tuple(range(len(self.statements)))

    def add(self, statement: ast.stmt) -> int:
        """A copy with a number of its own."""
        number = len(self.statements) + self.copies
        self.copies += 1
        self.put(number, copy.deepcopy(statement))
        return number

    def put(self, number: int, statement: ast.stmt) -> None:
        """One more in the loop over the block: `if place == 0: ... elif place == 1: ...`"""
        test = ast.Compare(ast.Name(PLACE, ast.Load()), [ast.Eq()], [ast.Constant(number)])
        self.end.append(ast.copy_location(ast.If(test, [statement], []), statement))
        self.end = self.end[-1].orelse  # type: ignore[attr-defined]

    def without(self, k: int) -> tuple[int, ...]:
        return (*self.order[:k], *self.order[k + 1 :])

    def _inside(self, k: int) -> Iterator[Move]:
        statement, order = self.statements[k], self.order
        if isinstance(statement, ast.Return) and k == len(order) - 1 and not isinstance(self, InLoop):
            return
        yield Move("left out", None, {self.number: self.without(k)})
        for j in range(max(k - FARTHEST, 0), min(k + FARTHEST + 1, len(order))):
            crossed = range(j, k) if j < k else range(k + 1, j + 1)
            depends = any(self.writes[k] & (self.reads[i] | self.writes[i]) or self.reads[k] & self.writes[i] for i in crossed)
            if depends and j != k - 1 and not any(isinstance(self.statements[i], ast.Return) for i in (k, *crossed)):
                rest = self.without(k)
                kind = "exchanged" if j == k + 1 else "moved"
                yield Move(kind, self.statements[j], {self.number: (*rest[:j], k, *rest[j:])})


class InLoop(Block):
    """The body of a loop."""


def add_moves_across(outer: Block, k: int, inner: Block) -> None:
    """A statement beside the k-th one, a loop, may belong into it, and one of its ends beside it."""
    loop, first, last = outer.statements[k], inner.statements[0], inner.statements[-1]
    order = outer.order
    if k and isinstance(outer.statements[k - 1], SIMPLE):
        number = inner.add(outer.statements[k - 1])
        orders = {outer.number: outer.without(k - 1), inner.number: (number, *inner.order)}
        outer.moves[k - 1].append(Move("into the loop", loop, orders))
    if k + 1 < len(order) and isinstance(outer.statements[k + 1], (ast.Assign, ast.AugAssign, ast.Expr)):
        number = inner.add(outer.statements[k + 1])
        orders = {outer.number: outer.without(k + 1), inner.number: (*inner.order, number)}
        outer.moves[k + 1].append(Move("into the loop", loop, orders))
    if isinstance(first, SIMPLE) and len(inner.statements) > 1:
        orders = {inner.number: inner.without(0), outer.number: (*order[:k], outer.add(first), *order[k:])}
        inner.moves[0].append(Move("out of the loop", loop, orders))
    if isinstance(last, SIMPLE) and (len(inner.statements) > 1 or isinstance(last, ast.Return)):
        orders = {inner.number: inner.order[:-1], outer.number: (*order[: k + 1], outer.add(last), *order[k + 1 :])}
        inner.moves[-1].append(Move("out of the loop", loop, orders))


def has_an_order(body: Sequence[ast.stmt], is_inner: bool) -> bool:
    """May its statements run in another order? What leaves a turn of a loop around them may not."""
    if len(body) < 2 and not is_inner and not isinstance(body[0], LOOPS):
        return False
    return not any(isinstance(node, (ast.Break, ast.Continue, ast.Global, ast.Nonlocal)) for s in body for node in _without_loops(s))


def _without_loops(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, LOOPS):
            yield from _without_loops(child)


def reads_of(statement: ast.stmt) -> set[str]:
    """The names whose values it uses, and those that `+=` changes."""
    names = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Load) or isinstance(statement, ast.AugAssign)}


def writes_of(statement: ast.stmt) -> set[str]:
    """The names that it gives another value, or into whose arrays it writes."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            found |= {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
    if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):  # rows.append(...), np.add.at(out, ...)
        owners = (call.func.value if isinstance(call.func, ast.Attribute) else call, *call.args[:1])
        found |= {part.id for part in owners if isinstance(part, ast.Name)}
    return found


def reassigned(function: ast.FunctionDef) -> set[str]:
    """The names that are given a value more than once, and the parameters that are given another one."""
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names = sorted([*stored, *(a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg))])
    inside = {n.id for loop in ast.walk(function) if isinstance(loop, LOOPS) for s in loop.body for n in ast.walk(s)
              if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
    return {a for a, b in pairwise(names) if a == b} | inside
