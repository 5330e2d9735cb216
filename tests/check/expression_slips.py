"""One slip in an expression of a right rule, in families crossed with rules: is it caught, and does a sentence name its place?

python -m tests.check.expression_slips            # a line for each family: caught, named, said with certainty and false; CPU
python -m tests.check.expression_slips -v         # and each rule that was not named
python -m tests.check.expression_slips --two      # two slips in one rule
"""

from __future__ import annotations

import argparse
import ast
import copy
import inspect
import os
import re
import statistics
import textwrap
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from autolab.check import check
from autolab.check.api.check import reference_of
from autolab.check.run.candidate import LocalCandidate
from autolab.check.run.cases import Case, cases
from autolab.check.run.reference import Reference
from autolab.check.run.spec import Spec
from autolab.check.run.specs import spec_for
from autolab.formula import forget

from .mutations import CALLS, COMPARISONS, OPERATORS
from .statement_slips import NOT_COUNTED, _made, _numbered, lines_said

EACH = 60  # mutants of a family
OF_A_RULE = 2  # of them from one rule
INVERSE = {"sqrt": "root or power", "square": "root or power", "power": "root or power", "reciprocal": "reciprocal"}
TRANSPOSES = {"swapaxes", "transpose", "t", "permute", "moveaxis"}
NEVER = {"save_for_backward", "zeros", "ones", "zeros_like", "ones_like", "empty", "empty_like", "len", "range", "isinstance", "slice"}
# A family of the checker that says the same as the slip, wherever it stands.
SAYS: dict[str, set[str]] = {
    "sign": {"sign", "term sign"}, "term sign": {"sign", "term sign"}, "constant": {"constant", "number", "power", "scale"},
    "factor dropped": {"factor", "variable", "constant", "upstream only", "power", "function", "sign", "upstream ignored"},
    "factor doubled": {"factor", "power", "applied twice", "constant", "number", "upstream twice"},
    "g dropped": {"upstream ignored", "upstream added"}, "g moved": {"early sum", "upstream collapsed"}, "g doubled": {"upstream twice"},
    "axis": {"axis", "wrong axis", "flattened"}, "keepdims": {"keepdims"}, "transposed": {"transposed", "order"},
    "operands of @": {"order", "transposed"}, "returns exchanged": {"swapped", "sign", "none"}, "None returned": {"none"},
    "operator": {"division", "operation", "term sign", "elementwise", "upstream added", "upstream twice"},
    "name": {"variable", "swapped", "size", "upstream ignored"}, "comparison": {"mask", "tie", "kink"}, "mask": {"mask"},
    "branches of where": {"mask", "sign"}, "function": {"function", "averaged", "mask", "power", "triangle", "one of many", "normalisation"},
    "call dropped": {"not summed", "early sum", "clipped", "function"}, "root or power": {"power"}, "reciprocal": {"power", "division"},
    "n - 1": {"normalisation", "size"}, "axis of shape": {"size", "fixed size"}, "add.at": {"overwritten"}, "term dropped": {"term", "factor"},
    "slice": {"places", "pieces"}, "reversed": {"flipped"}, "index": {"places"}, "order of arguments": {"order", "swapped", "transposed", "flipped", "sign"},
    "keyword": {"setting", "number", "overwritten"}, "exponent": {"power", "number"},
    "order of operands": {"division", "order", "term sign", "power", "sign"},
}  # fmt: skip


class Rule(NamedTuple):
    """A right rule as text, and what it is a rule for."""

    exercise: str | Spec
    tree: ast.FunctionDef | ast.ClassDef
    names: dict[str, Any]

    @property
    def of(self) -> str:
        return self.exercise if isinstance(self.exercise, str) else self.exercise.name


class Slip(NamedTuple):
    """A wrong rule: the families of its slips, of which lines a sentence has to speak, and of which pieces of them."""

    kind: str
    of: Rule
    rule: Any
    source: str
    lines: list[set[int]]
    pieces: list[tuple[str, str]]  # what stands there now, and what is around it


Edit = tuple[str, ast.AST, str, int | None, ast.expr]  # family, parent, field, place in a list, what stands there instead


def edits(tree: ast.AST) -> Iterator[Edit]:
    """Every slip in the expressions of `backward`."""
    methods = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    (function, *_) = [m for m in methods if m.name == "backward"] or methods
    known: dict[str, int] = {a.arg: 0 for a in function.args.args if a.arg not in ("ctx", "self")}
    for n in ast.walk(function):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            known[n.id] = min(n.lineno, known.get(n.id, n.lineno))
    g = next(iter(known), "")
    for parent in (n for statement in function.body for n in ast.walk(statement)):
        for field, value in ast.iter_fields(parent):
            for place, node in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", ast.Load()), ast.Store):
                    names = [name for name, line in known.items() if line < node.lineno]
                    yield from ((kind, parent, field, place, new) for kind, new in _slips(node, parent, field, names, g))


def _slips(node: Any, parent: Any, field: str, names: list[str], g: str) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(parent, (ast.Return, ast.Assign, ast.AugAssign)) and field == "value" and not isinstance(node, ast.Tuple):
        yield "sign", ast.UnaryOp(ast.USub(), node)
    match node:
        case ast.Constant(value=int() | float() as n) if not isinstance(n, bool):
            kind = _kind_of_number(node, parent, field)
            others = (n + 1, n - 1) if kind in ("axis", "index", "slice", "axis of shape") else (n + 1, 2 * n, n / 2)
            yield from ((kind, ast.Constant(m)) for m in others if m != n)
        case ast.Name(id=name) if name in names and not (isinstance(parent, ast.Call) and field == "func"):
            yield from (("name", ast.Name(other, ast.Load())) for other in names if other != name)
        case ast.UnaryOp(op=ast.USub(), operand=inside) if not isinstance(inside, ast.Constant):
            yield "sign", inside
        case ast.UnaryOp(op=ast.Invert(), operand=inside):
            yield "mask", inside
        case ast.BinOp():
            yield from _of_operation(node, g)
        case ast.Compare(left, [operator], [right]):
            yield from (("comparison", ast.Compare(left, [other()], [right])) for other in COMPARISONS.get(type(operator), ()))
            yield "mask", _filled("~(_)", node)
        case ast.Subscript(slice=ast.Slice() | ast.Tuple() as at):
            yield from _of_slices(node, at)
            yield "index dropped", node.value
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            yield "n - 1", _filled("(_ - 1)", node)
        case ast.Subscript(value=value):
            yield "index dropped", value
        case ast.Attribute(value=value, attr="T" | "mT"):
            yield "transposed", value
        case ast.Attribute(attr="size"):
            yield "n - 1", _filled("(_ - 1)", node)
        case ast.Tuple(elts=[_, _, *_] as elements) if isinstance(parent, ast.Return):
            for i in range(len(elements) - 1):
                yield "returns exchanged", ast.Tuple([*elements[:i], elements[i + 1], elements[i], *elements[i + 2 :]], ast.Load())
            for i in range(len(elements)):
                yield "None returned", ast.Tuple([*elements[:i], ast.Constant(None), *elements[i + 1 :]], ast.Load())
        case ast.Call():
            yield from _of_call(node, g)


def _kind_of_number(node: ast.Constant, parent: Any, field: str) -> str:
    if isinstance(parent, ast.keyword):
        return "axis" if parent.arg in ("axis", "dim") else "keyword"
    if isinstance(parent, ast.Subscript) and isinstance(parent.value, ast.Attribute) and parent.value.attr == "shape":
        return "axis of shape"
    if isinstance(parent, ast.Slice):
        return "slice"
    if isinstance(parent, ast.Subscript):
        return "index"
    if isinstance(parent, ast.Call) and _name_of(parent) in CALLS.keys() | {"swapaxes", "expand_dims", "take", "concatenate", "squeeze"}:
        return "axis"
    return "exponent" if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow) and field == "right" else "constant"


def _of_operation(node: ast.BinOp, g: str) -> Iterator[tuple[str, ast.expr]]:
    left, right, kind = node.left, node.right, type(node.op)
    others = {*OPERATORS.get(kind, ()), *((ast.Add,) if kind is ast.Div else ())}
    yield from (
        (("term sign" if {kind, o} <= {ast.Add, ast.Sub} else "operator"), ast.BinOp(left, o(), right)) for o in sorted(others, key=str)
    )
    if kind is ast.MatMult:
        yield "operands of @", ast.BinOp(right, node.op, left)
        yield "transposed", ast.BinOp(_filled("_.T", left), node.op, right)
        yield "transposed", ast.BinOp(left, node.op, _filled("_.T", right))
    if kind in (ast.Sub, ast.Div, ast.Pow):
        yield "order of operands", ast.BinOp(right, node.op, left)
    if kind is ast.Pow:
        yield "root or power", left
    if kind in (ast.Mult, ast.Div):
        for dropped, rest in ((left, right), (right, left)):
            if rest is left or (kind is ast.Mult and not isinstance(rest, ast.Constant)):
                yield ("g dropped" if _is(dropped, g) else "factor dropped"), rest
        if kind is ast.Div and isinstance(left, ast.Constant):
            yield "reciprocal", right
        yield ("g doubled" if _is(right, g) else "factor doubled"), ast.BinOp(node, node.op, right)
        if _is(left, g):
            yield "g doubled", ast.BinOp(left, ast.Mult(), node)
    if kind in (ast.Add, ast.Sub):
        yield "term dropped", left
        yield "term dropped", right if kind is ast.Add else ast.UnaryOp(ast.USub(), right)


def _of_slices(node: ast.Subscript, at: Any) -> Iterator[tuple[str, ast.expr]]:
    parts = at.elts if isinstance(at, ast.Tuple) else [at]
    for i, part in enumerate(parts):
        if isinstance(part, ast.Slice):
            bounds = {"lower": part.lower, "upper": part.upper, "step": part.step}
            for name, bound in bounds.items():
                texts = ("_ + 1", "_ - 1") if bound and name != "step" else ("1",) if name == "lower" else ("-1",)
                for text in texts:
                    slices = ast.Slice(**{**bounds, name: _filled(text, bound) if bound else ast.parse(text, mode="eval").body})
                    index = ast.Tuple([*parts[:i], slices, *parts[i + 1 :]], ast.Load()) if isinstance(at, ast.Tuple) else slices
                    yield ("reversed" if name == "step" else "slice"), ast.Subscript(node.value, index, node.ctx)


def _of_call(node: ast.Call, g: str) -> Iterator[tuple[str, ast.expr]]:
    name, function, args, keywords = _name_of(node), node.func, node.args, node.keywords
    if name in NEVER:
        return
    for other in CALLS.get(name, ()):
        changed = ast.Attribute(function.value, other, ast.Load()) if isinstance(function, ast.Attribute) else ast.Name(other, ast.Load())
        yield "function", ast.Call(changed, args, keywords)
    is_method = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") not in (
        "np",
        "math",
        "torch",
        "autolab",
        "ctx",
        "F",
    )
    inside = function.value if is_method else args[0] if args else None
    if inside is not None and name not in ("where", "einsum", "stack", "concatenate"):
        yield INVERSE.get(name, "transposed" if name in TRANSPOSES else "call dropped"), inside
    if name == "where" and len(args) == 3:
        yield "branches of where", ast.Call(function, [args[0], args[2], args[1]], [])
        yield "mask", args[1]
    elif len(args) > 1 and not is_method and not isinstance(args[1], ast.Constant):
        yield "order of arguments", ast.Call(function, [args[1], args[0], *args[2:]], keywords)
    for i, word in enumerate(keywords):
        rest = [*keywords[:i], *keywords[i + 1 :]]
        kind = {"axis": "axis", "dim": "axis", "keepdims": "keepdims", "keepdim": "keepdims"}.get(str(word.arg), "keyword")
        yield kind, ast.Call(function, args, rest)
    if name in ("sum", "mean") and (args[1:] if not is_method else args):
        yield "axis", ast.Call(function, args[: not is_method], keywords)
    match inside:
        case ast.BinOp(left, ast.Mult(), right) if name in ("sum", "mean") and (_is(left, g) or _is(right, g)):
            rest, g_node = (right, left) if _is(left, g) else (left, right)
            moved = (
                ast.Call(ast.Attribute(rest, name, ast.Load()), args, keywords)
                if is_method
                else ast.Call(function, [rest, *args[1:]], keywords)
            )
            yield "g moved", ast.BinOp(g_node, ast.Mult(), moved)


def _name_of(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _filled(text: str, value: ast.expr) -> ast.expr:
    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return value if node.id == "_" else node

    return Fill().visit(ast.parse(text, mode="eval").body)


def planted(of: Rule, *numbers: int) -> Slip | None:
    """The rule with these of its slips, each at its own statement."""
    tree = copy.deepcopy(of.tree)
    every = list(edits(tree))
    kinds, pieces, marked = [], [], []
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    for number in numbers:
        kind, parent, field, place, new = every[number]
        statement = around = parent
        while not isinstance(statement, ast.stmt):
            statement = parents[statement]
        while not isinstance(around, (ast.expr, ast.stmt)):
            around = parents[around]
        if statement in marked:
            return None
        if place is None:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[place] = new
        kinds.append(kind)
        marked.append(statement)
        pieces.append((ast.unparse(new), ast.unparse(around)))
    file = f"<{of.of} {of.tree.name} {numbers} {zlib.crc32(ast.dump(of.tree).encode())}>"
    lines = [_numbered(tree, [statement])[1] for statement in marked]
    source, _ = _numbered(tree, marked)
    try:
        return Slip(" and ".join(kinds), of, _made(source, of.names, file), source, lines, pieces)
    except Exception:  # no Python any more
        return None


# ---------- which are wrong, and what is said of them


class Calls:
    """Where a rule for an exercise is called, and what it gives there as a few numbers."""

    def __init__(self, exercise: str | Spec):
        spec = exercise if isinstance(exercise, Spec) else spec_for(exercise)
        self.reference: Reference = reference_of(spec)
        rng = np.random.default_rng(7)
        self.cases: list[Case] = [c for c in cases(spec, self.reference, rng) if c.purpose in ("value", "broadcast")][:8]

    def answers(self, rule: Any) -> tuple | None:
        """Of each gradient in each call its shape and two sums; None if it raises."""
        found: list[Any] = []
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            candidate = LocalCandidate(rule, self.reference, 2)
            for case in self.cases:
                answer = candidate.call(case.inputs, case.settings, case.upstream[:1])
                if answer.fault:
                    return None
                found += [None if a is None else (a.shape, *(f"{v:.7g}" for v in _sums(a))) for a in answer.gradients[0]]
        return tuple(found)


def _sums(a: np.ndarray) -> tuple[float, float]:
    flat = np.ravel(a).astype(float)
    return float(np.abs(flat).sum()), float(flat @ np.cos(np.arange(flat.size))) + 1e-9


def wrong_rules(rules: Iterable[Rule], each: int = EACH) -> Iterator[Slip]:
    """A sample of each family: wrong in numbers, and no two of a rule alike."""
    wanted: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    rules = list(rules)
    for r, rule in enumerate(rules):
        of_rule: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for number, (kind, *_) in enumerate(edits(copy.deepcopy(rule.tree))):
            of_rule[kind].append((zlib.crc32(f"{rule.of} {rule.tree.name} {number}".encode()), r, number))
        for kind, places in of_rule.items():
            wanted[kind] += sorted(places)[:OF_A_RULE]
    calls: dict[int, tuple[Calls, Any] | None] = {}
    seen: set[Any] = set()
    for _, places in sorted(wanted.items()):
        count = 0
        for _, r, number in sorted(places):
            if count == each:
                break
            if r not in calls:
                calls[r] = _right_answers(rules[r])
            if calls[r] is None or (slip := planted(rules[r], number)) is None:
                continue
            asked, right = calls[r]  # type: ignore[misc]
            got = asked.answers(slip.rule)
            if got is not None and got != right and (r, got) not in seen:
                seen.add((r, got))
                count += 1
                yield slip


def _right_answers(rule: Rule) -> tuple[Calls, Any] | None:
    try:
        asked = Calls(rule.exercise)
        right = asked.answers(_made(ast.unparse(rule.tree), rule.names, f"<{rule.of} {rule.tree.name}>"))
    except Exception:
        return None
    return None if right is None else (asked, right)


def two_slips(rules: Iterable[Rule], most: int) -> Iterator[Slip]:
    """Rules with two slips, neither of which is right alone."""
    count = 0
    for rule in sorted(rules, key=lambda rule: zlib.crc32(f"{rule.of} {rule.tree.name}".encode())):
        if count == most:
            return
        n = len(list(edits(copy.deepcopy(rule.tree))))
        if n < 12 or (known := _right_answers(rule)) is None:
            continue
        for trial in range(6):
            a, b = (zlib.crc32(f"{rule.of} {rule.tree.name} {trial} {k}".encode()) % n for k in range(2))
            slips = [planted(rule, *numbers) if a != b else None for numbers in ((a,), (b,), (a, b))]
            if all(slips) and len({known[0].answers(s.rule) for s in slips if s} - {None, known[1]}) == 3:
                count += 1
                yield slips[2]  # type: ignore[misc]
                break


class Verdict(NamedTuple):
    """What the checker said of a slip."""

    slip: Slip
    caught: bool
    by_line: bool
    named: bool
    false: bool  # it is certain, of another place
    ms: float
    said: list[str]


def verdict(slip: Slip) -> Verdict | None:
    """Check it; None where Python's own message says what is wrong."""
    forget()
    start = time.process_time()
    report = check(slip.of.exercise, slip.rule)
    ms = 1e3 * (time.process_time() - start)
    found = report.diagnoses
    if any(d.family in NOT_COUNTED - {"none"} for d in found):
        return None
    said = lines_said(report)
    by_line = any(lines & said for lines in slip.lines)
    names = {name for d in found if d.certainty != "unknown" for name in (d.family, *d.alternatives)}
    by_family = bool(names & set().union(*(SAYS.get(kind, set()) for kind in slip.kind.split(" and "))))
    named = by_family or any(lines & said and _is_quoted(piece, found) for lines, piece in zip(slip.lines, slip.pieces, strict=True))
    certain = bool(found) and found[0].certainty == "certain" and not named and not by_line
    return Verdict(slip, not report.passed, by_line, named, certain, ms, [f"({d.certainty}) <{d.family}> {d.text}" for d in found])


def _is_quoted(piece: tuple[str, str], found: Any) -> bool:
    """Does a sentence quote what was changed, or what is just around it?"""
    new, around = (" ".join(text.split()) for text in piece)
    for quote in (
        q.removesuffix("...") for d in found for q in re.findall(r"`([^`]+)`|in the place of (-?[\d.e-]+) in", d.text) for q in q
    ):
        if quote and (quote in around or around in quote or (len(new) > 3 and new in quote)):
            return True
    return False


def rules_of_tests() -> Iterator[Rule]:
    """The right rules of the tests, of the exercises and of the instructors' exercises."""
    from .fuzz import OWN, sources

    for source in sources():
        yield Rule(OWN.get(source.operation) or source.operation, source.tree, source.names)


def rule_of(exercise: str | Spec, rule: Any) -> Rule | None:
    """One whose source is known."""
    function = rule if not isinstance(rule, type) else vars(rule)["backward"].__func__
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(rule))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    if not isinstance(tree, (ast.FunctionDef, ast.ClassDef)) or function.__closure__:
        return None
    tree.decorator_list = []
    return Rule(exercise, tree, function.__globals__)


def table(verdicts: list[Verdict]) -> str:
    """A line for each family."""
    groups = defaultdict(list)
    for v in verdicts:
        own = "own" if isinstance(v.slip.of.exercise, Spec) else "course"
        for group in (v.slip.kind if " and " not in v.slip.kind else "two slips", f"all, {own}", "all"):
            groups[group].append(v)
    lines = [f"{'family':20}{'n':>6}{'caught':>8}{'line':>6}{'named':>7}{'%':>6}{'false':>7}{'ms':>7}{'most':>7}"]
    for group, vs in sorted(groups.items(), key=lambda item: (item[0].startswith("all"), item[0])):
        caught, line, named, false = (sum(getattr(v, name) for v in vs) for name in ("caught", "by_line", "named", "false"))
        ms = [v.ms for v in vs]
        row = f"{group:20}{len(vs):6}{caught:8}{line:6}{named:7}{100 * named / len(vs):6.0f}{false:7}{statistics.median(ms):7.0f}{max(ms):7.0f}"
        lines.append(row)
    return "\n".join([*lines, f"CPU of the checks: {sum(v.ms for v in verdicts) / 1e3:.0f} s"])


def main(rules: Iterable[Rule] | None = None) -> list[Verdict]:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true", help="list what was not named")
    parser.add_argument("-k", "--only", default="", help="families that contain this text")
    parser.add_argument("--two", action="store_true", help="two slips in each rule")
    parser.add_argument("--each", type=int, default=EACH, help="mutants of a family")
    os.environ["AUTOLAB_HOME"] = "off"
    options = parser.parse_args()
    rules = list(rules or rules_of_tests())
    slips = two_slips(rules, 100) if options.two else wrong_rules(rules, options.each)
    verdicts = [v for slip in slips if options.only in slip.kind and (v := verdict(slip))]
    for v in verdicts:
        if options.verbose and not v.named:
            print(f"## {v.slip.of.of} {v.slip.of.tree.name} [{v.slip.kind}] lines {v.slip.lines}: {v.slip.pieces}{' FALSE' * v.false}")
            print(textwrap.indent(v.slip.source, "    "), *(f"  {text}" for text in v.said), sep="\n")
    print(table(verdicts))
    return verdicts


if __name__ == "__main__":
    main()
