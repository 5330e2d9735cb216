"""What a step of forward is called in a sentence: by its operation, and where several have that name, by the code that it came from.

"through the sum" says nothing of `p.sum() + t.sum()`. Each step knows the instruction that made it, and Python 3.11 knows the columns of
an instruction. So the step is named by its expression, or by the smallest expression around that which forward has only once.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from autolab.formula import statement_at

from .quotes import quoted

Frames = tuple[tuple[CodeType, int], ...]  # code and instruction, of the innermost function first
LIBRARIES = ("autolab.", "numpy.")
WITH_FORMULAS = ("autolab.check.run.exercises", "autolab.check.diagnosis.formulas.decompositions")  # of the operations of the course
SAID = {"mul": "the product", "div": "the quotient", "add": "the addition", "sum": "the sum", "sub": "the difference",
        "rsub": "the difference", "pow_scalar": "the power", "pow": "the power", "neg": "the minus", "cat": "putting the parts together",
        "matmul": "the matrix product", "mm": "the matrix product", "mv": "the matrix product", "bmm": "the matrix product",
        "linear": "the linear layer", "amax": "the maximum", "amin": "the minimum", "slice": "the slice",
        **dict.fromkeys(("gather", "index", "index_select", "embedding"), "the look-up")}  # fmt: skip
CALLED = {"the product": {"mul", "multiply"}, "the quotient": {"div", "divide", "true_divide"}, "the addition": {"add"},
          "the difference": {"sub", "subtract"}, "the power": {"pow", "power"}, "the minus": {"neg", "negative"},
          "the look-up": {"gather", "take", "take_along_axis", "index_select", "embedding"},
          "the matrix product": {"matmul", "mm", "mv", "bmm", "dot"},
          "the maximum": {"max", "amax"}, "the minimum": {"min", "amin"}}  # fmt: skip
UNSAID = {"clone", "expand", "contiguous", "index put", "add at", "expand dims"}  # what a function does besides, such as np.diag
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
SIMPLE = (ast.expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)  # what can be quoted


def row_in_words(name: str) -> str:
    """What a row is called in a sentence."""
    return SAID.get(name, name.removeprefix("max_along").replace("_", " ") or "max")


def with_article(name: str) -> str:
    """
    >>> with_article("mean"), with_article("the sum"), with_article("`x.sum()`")
    ('the mean', 'the sum', '`x.sum()`')
    """
    return name if name.startswith(("the ", "`")) else f"the {name}"


def frames_up_to(runner: CodeType) -> Frames:
    """Where forward is now: its instructions, and not those of the library, as far as the function that runs it."""
    found = []
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not runner:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(LIBRARIES) or name.startswith(WITH_FORMULAS):
            found.append((frame.f_code, instruction(frame)))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(found)


def instruction(frame: FrameType) -> int:
    """Where a frame is: of the instructions of one expression the first.

    A call is two of them, and which of the two a frame is at changes once Python has seen what is called a few times.
    """
    firsts = _firsts(frame.f_code)
    return firsts[frame.f_lasti // 2] if firsts else frame.f_lasti


@lru_cache(maxsize=4096)
def _firsts(code: CodeType) -> list[int]:
    """For each instruction the first of those in a row that come from the same place in the source."""
    found: list[int] = []
    before = None
    for k, place in enumerate(code.co_positions() if code.co_linetable else ()):
        found.append(found[-1] if place == before and place[2] is not None else 2 * k)  # Python may run without columns
        before = place
    return found


@dataclass(eq=False)
class Code:
    """A function's tree: what is around each node, and how often the same is written in it."""

    function: ast.AST

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return {child: node for node in ast.walk(self.function) for child in ast.iter_child_nodes(node)}

    @cached_property
    def numbers(self) -> dict[ast.AST, int]:
        """Nodes that are written alike have one number."""
        known: dict[Any, int] = {}
        found: dict[ast.AST, int] = {}

        def visit(node: ast.AST) -> int:
            parts: list[Any] = [type(node)]
            for name in node._fields:
                value = getattr(node, name, None)
                several = value if isinstance(value, list) else (value,)
                parts += [name, *(visit(v) if isinstance(v, ast.AST) else (type(v), repr(v)) for v in several)] if name != "ctx" else []
            found[node] = known.setdefault(tuple(parts), len(known))
            return found[node]

        visit(self.function)
        return found

    @cached_property
    def counts(self) -> Counter[int]:
        """How often each of them is written."""
        return Counter(number for node, number in self.numbers.items() if isinstance(node, SIMPLE))

    def only(self, node: ast.AST) -> ast.AST | None:
        """The smallest expression, or statement, around a node, or itself, that is written once."""
        at: ast.AST | None = node
        while at is not None and at is not self.function:
            around = self.parents.get(at)
            is_method = isinstance(around, ast.Call) and at is around.func
            if isinstance(at, SIMPLE) and self.counts[self.numbers[at]] == 1 and not is_method:
                return at
            if isinstance(at, ast.stmt):
                return None
            at = around
        return None

    def inside(self, node: ast.AST) -> list[ast.AST]:
        """All nodes in one, in the order of the source."""
        return sorted((n for n in ast.walk(node) if hasattr(n, "lineno")), key=lambda n: (n.lineno, n.col_offset))  # type: ignore[attr-defined]

    def alike(self, node: ast.AST, around: ast.AST) -> list[ast.AST]:
        """What is written as a node is, in another one."""
        return [n for n in self.inside(around) if self.numbers[n] == self.numbers[node]]

    def quote(self, node: ast.AST) -> str:
        """A node as it is written, with as much around it as says which one it is; empty if that cannot be quoted."""
        only, own = self.only(node) or node, quoted(node, node)
        alike = self.alike(node, only)
        beside = [n for n in alike if self.parents[n] is self.parents[node]]
        around = quoted(only, node, alone=len(beside) < len(alike))
        if only is node or not own or not around:
            return f"`{own or around}`" if own or around else ""
        return f"{f'the {ordinal(beside.index(node))} ' * (len(beside) > 1)}`{own}` in `{around}`"

    def is_repeated(self, node: ast.AST) -> bool:
        """Is it in a loop?"""
        at: ast.AST | None = node
        while at is not None and at is not self.function:
            at = self.parents.get(at)
            if isinstance(at, LOOPS):
                return True
        return False


@lru_cache(500)
def code_of(function: ast.AST) -> Code:
    """A function's tree, read once."""
    return Code(function)


@lru_cache(2000)
def node_at(code: CodeType, instruction: int) -> tuple[Code, ast.AST] | None:
    """The function and the expression that an instruction belongs to, if its source and its columns are known."""
    place = next(islice(code.co_positions(), instruction // 2, None), (None,))
    if None in place:
        return None
    line, end_line, column, end_column = place  # type: ignore[misc]
    return node_of(statement_at(code.co_filename, code.co_firstlineno), (line, column), (end_line, end_column))  # type: ignore[arg-type]


def node_of(tree: ast.AST, start: tuple[int, int], end: tuple[int, int]) -> tuple[Code, ast.AST] | None:
    """The expression of a tree between two places, lines and columns, and the function that it is in."""
    function, level = None, [tree]
    while level:
        for child in ast.iter_child_nodes(level.pop()):
            if not hasattr(child, "lineno"):
                level.append(child)
                continue
            begins, ends = (child.lineno, child.col_offset), (child.end_lineno, child.end_col_offset)  # type: ignore[attr-defined]
            if begins <= start and ends >= end:
                function = child if isinstance(child, (ast.FunctionDef, ast.Lambda)) else function
                if (begins, ends) == (start, end) and isinstance(child, (ast.expr, ast.AugAssign)):
                    return (code_of(function), child) if function is not None else None
                level.append(child)
    return None


class StepNames:
    """What each of the steps of one run of forward is called.

    `words`: of each step, what its operation is called; `frames`: where each was made; `role`: what a step is for, where its code is
    not known.
    """

    def __init__(self, words: Sequence[str], frames: Sequence[Frames], role: Callable[[int], str] = lambda i: ""):
        self.words, self.frames, self.role = words, frames, role
        self._known: dict[tuple[int, bool], str] = {}
        self._alike: dict[str, list[int]] = defaultdict(list)
        for i, word in enumerate(words):
            self._alike[word].append(i)

    def __getitem__(self, i: int) -> str:
        """The name of one step."""
        return self.name(i)

    def is_plain(self, i: int) -> bool:
        """Does the name of its operation say which step it is?"""
        return len(self._alike[self.words[i]]) == 1 and self.words[i] not in UNSAID

    def name(self, i: int, every_round: bool = False) -> str:
        """The name of one step, or of those that the same code made in each round of a loop."""
        if self.is_plain(i):
            return self.words[i]
        if (i, every_round) not in self._known:
            self._known[i, every_round] = self._named(i, every_round)
        return self._known[i, every_round]

    def _named(self, i: int, every_round: bool) -> str:
        alike, frames = self._alike[self.words[i]], self.frames[i]
        found = [node_at(*frame) for frame in frames]
        if not found or found[0] is None or not (said := self._expression(i, *found[0])):
            return self._by_role(i, alike)
        same = [k for k in alike if self.frames[k][:1] == frames[:1]]
        repeated = found[0][0].is_repeated(found[0][1])
        for depth in range(1, len(frames)):  # a helper of forward: which call of it
            others = [k for k in same if self.frames[k][: depth + 1] == frames[: depth + 1]]
            if at := found[depth]:
                repeated |= at[0].is_repeated(at[1])
            if at and len(others) < len(same):
                said += f" in {quote}" if (quote := at[0].quote(at[1])) else ""
            same = others
        if len(same) == 1 or (every_round and repeated):
            return said
        return f"{said} ({'in ' * repeated}{_counted(same.index(i), len(same))}{' rounds' * repeated})"

    def _expression(self, i: int, code: Code, node: ast.AST) -> str:
        """The step by its code."""
        word = self.words[i]
        named = with_article(word)
        quote, only = code.quote(node), code.only(node) or node
        inside = {*code.inside(only)}
        here = {at[1] for k in self._alike[word] if self.frames[k] and (at := node_at(*self.frames[k][0]))} & inside
        if only is not node and len(here) == 1:
            return f"{named} in `{around}`" if (around := quoted(only, node)) else ""
        if isinstance(node, ast.Call):
            says_it = _called(node) in {*CALLED.get(word, ()), word.removeprefix("the ")} or word in UNSAID
            return quote if says_it or not quote else f"{named} in {quote}"
        return f"{named} {quote}" if quote.startswith("`") else quote

    def _by_role(self, i: int, alike: Sequence[int]) -> str:
        """The step by what is made of it, if that is true of it alone, or by its number."""
        role = self.role(i)
        if role and [self.role(k) for k in alike].count(role) == 1:
            return f"{self.words[i]} {role}"
        return f"{self.words[i]} ({_counted(alike.index(i), len(alike))} in forward)"


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def ordinal(i: int) -> str:
    """
    >>> ordinal(1), ordinal(11)
    ('second', '12th')
    """
    return ORDINALS[i] if i < len(ORDINALS) else f"{i + 1}th"


def _counted(i: int, n: int) -> str:
    """
    >>> _counted(1, 3), _counted(11, 12)
    ('the second of three', 'the 12th of 12')
    """
    return f"the {ordinal(i)} of {NUMBERS[n] if n < len(NUMBERS) else n}"
