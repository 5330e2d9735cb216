"""An operation of an instructor's own: what students see of its spec, a solution from its rules, and what uses hidden names.

A spec has the right rules in it, which are the answer. In the release they are left out: `derivative_of_forward` stands in their
place, and the check takes the derivative itself. The rule of a surrogate is not the derivative: it is given in the question, and stays.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
from collections.abc import Iterable, Iterator

from autolab.engine.op import Op

OPTIONS = {p.name for p in inspect.signature(Op).parameters.values() if p.kind is not p.VAR_KEYWORD}
FOR_RULES = {"shared", "jvp", "batch"}  # options of an Op that tell its derivative
LEFT_OUT = "derivative_of_forward"
DEFINITIONS = (
    ast.FunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.If,
    ast.Try,
    ast.With,
)


def without_rules(code: str) -> str:
    """The source of a spec in which no rule can be read: forward, and what it needs, without comments and docstrings.

    With `surrogate=True` the rules stay. Raises ValueError if the rules are not written as keywords of an Op.

    >>> print(without_rules("SPEC = Spec('cube', Op('cube', lambda x: x**3, ELEMENTWISE, x=lambda g, x: 3 * g * x**2))"))
    from autolab.check import derivative_of_forward
    SPEC = Spec('cube', Op('cube', lambda x: x ** 3, ELEMENTWISE, x=derivative_of_forward))
    """
    tree = ast.parse(code)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", getattr(n.func, "attr", "")) == "Op"]
    surrogate = any(isinstance(n, ast.keyword) and n.arg == "surrogate" and ast.unparse(n.value) == "True" for n in ast.walk(tree))
    if not calls or any(k.arg is None for call in calls for k in call.keywords):
        raise ValueError(
            "the rules cannot be left out of what students see: write them as keywords, Op(name, forward, kind, x=lambda g, x: ...)"
        )
    for call in () if surrogate else calls:
        call.keywords = [k for k in call.keywords if k.arg not in FOR_RULES]
        for k in call.keywords:
            if k.arg not in OPTIONS:
                k.value = ast.Name(LEFT_OUT, ast.Load())
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    more = [] if surrogate else ast.parse(f"from autolab.check import {LEFT_OUT}").body
    tree.body = [*more, *needed(tree.body, {"SPEC"})]
    return ast.unparse(ast.fix_missing_locations(tree))


def solution(code: str, row: Op, broadcast: bool = True) -> tuple[str, str]:
    """The arguments of a right backward function, and its lines, made from the rules of a spec's row.

    With `broadcast=False` the inputs have the same shape, and no gradient is summed to the shape of its input.

    >>> code = "SPEC = Spec('cube', Op('cube', lambda x: x**3, ELEMENTWISE, x=lambda g, x: 3 * g * x**2))"
    >>> print(*solution(code, Op("cube", lambda x: x**3, "elementwise", x=lambda g, x: 3 * g * x**2)), sep=": ")
    g, x: return 3 * g * x ** 2
    """
    body = ast.parse(code).body
    formulas = {x: row.formula(x) if x in row.rules else "None" for x in row.inputs}
    wanted = {name for formula in formulas.values() for name in used(formula)}
    helpers = [ast.unparse(node) for node in needed([n for n in body if not _makes_spec(n)], wanted - {"np"})]
    results = list(formulas.values())
    if broadcast and row.kind == "elementwise" and len(row.inputs) > 1:
        helpers.append(SUM_TO)
        results = [f if f == "None" else f"sum_to({f}, np.shape({x}))" for x, f in formulas.items()]
    arguments = ["g", *row.inputs, *row.settings, *(["out"] if "out" in wanted else [])]
    shapes = [f"{x}_shape = np.shape({x})" for x in row.inputs if f"{x}_shape" in wanted]
    return ", ".join(arguments), "\n\n".join(filter(None, [*helpers, "\n".join(shapes), f"return {', '.join(results)}"]))


SUM_TO = """def sum_to(g, shape):
    extra = g.ndim - len(shape)
    axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1))
    return g.sum(axis=axes, keepdims=True).reshape(shape)"""


def needed(body: Iterable[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The statements without which these names are not defined, in order."""
    found: list[ast.stmt] = []
    wanted = set(names)
    for node in reversed([n for n in body if isinstance(n, DEFINITIONS)]):
        source = ast.unparse(node)
        if any(name in wanted for name in defined(source)):
            wanted |= set(used(source))
            found.insert(0, node)
    return found


def defined(source: str) -> list[str]:
    """The names that a source gives a value at its top level."""
    symbols = symtable.symtable(source, "<cell>", "exec").get_symbols()
    return [s.get_name() for s in symbols if s.is_assigned() or s.is_imported() or s.is_namespace()]


def used(source: str) -> list[str]:
    """The names that a source looks up outside of its functions."""
    return sorted(set(_globals(symtable.symtable(source, "<cell>", "exec"))))


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    for s in table.get_symbols():
        if s.is_referenced() and (table.get_type() == "module" or s.is_global()):
            yield s.get_name()
    for inner in table.get_children():
        yield from _globals(inner)


def only_in_tests(answer: str, visible: Iterable[str], tests: Iterable[str]) -> list[str]:
    """The names that an answer uses and only tests define: they run apart from answers, where the student's names are proxies.

    What is no plain Python, such as a cell with a magic, is not looked at.

    >>> only_in_tests("def f(x): return helper(x)", ["import numpy as np"], ["def helper(x): return x"])
    ['helper']
    """
    try:
        known = {name for source in (*visible, answer) for name in defined(source)} | set(dir(builtins))
        offered = {name for source in tests for name in defined(source)}
        return [name for name in used(answer) if name in offered and name not in known]
    except SyntaxError:
        return []


def shows(source: str, formula: str) -> bool:
    """Is this formula written in a source, however it is spaced?

    >>> shows("def rule(g, x): return g/(1+x)**2", "g / (1 + x) ** 2")
    True
    """
    try:
        wanted = ast.dump(ast.parse(formula, mode="eval").body)
        return any(ast.dump(node) == wanted for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr))
    except SyntaxError:
        return False


def _makes_spec(node: ast.stmt) -> bool:
    return "SPEC" in defined(ast.unparse(node))
