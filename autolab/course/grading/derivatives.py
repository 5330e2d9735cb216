"""A process in which the engine takes no derivatives: what a rule answers there, it has computed by itself.

Whether a rule asks the engine is noted in the student's own process, where one line can silence the note, and a graph that forward
builds is not noted at all. So the judge asks once more, in another sandbox, whose process has forgotten every backward formula
before a student's line runs, and compares. Functions are emptied in place: nothing keeps the old ones.
"""

from __future__ import annotations

import ast
import gc
import linecache
import pkgutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import autolab
import autolab.fast
import autolab.rules
from autolab import formula
from autolab.check.run import cases, complex_steps, differences
from autolab.engine import backward, node
from autolab.engine.op import CODEGEN
from autolab.engine.tensor import TABLE
from autolab.fast import backward as quick
from autolab.transforms import dual

HERE = Path(autolab.__file__).parent
# Where formulas can be read, and other libraries that differentiate.
FORMULAS = ("rules", "fast", "check/diagnosis")
BY_NUMBERS = (complex_steps.__name__, differences.__name__)
RULES = ("autolab.rules.", "autolab.fast.", "autolab.check.run.exercises", *BY_NUMBERS)  # modules with the functions that rules use
ENGINES = ("autograd", "casadi", "jax", "mygrad", "sympy", "tensorflow", "tinygrad", "torch")


def _refuse(*_: Any, **__: Any) -> Any:
    raise RuntimeError("here the engine takes no derivatives")


def hidden_folders() -> list[str]:
    """The folders that a session without derivatives does not see."""
    packages = {Path(sysconfig.get_paths()[kind]) for kind in ("purelib", "platlib")}
    places = [*(HERE / name for name in FORMULAS), *(folder / name for folder in packages for name in ENGINES)]
    return sorted(str(place) for place in places if place.is_dir())


def forget() -> None:
    """Empty every backward formula of this process, what runs them, and what names them. Values are computed as before."""
    from autolab.check import SPECS  # slow to load, and only this process needs it

    for package in (autolab.rules, autolab.fast):  # what is loaded when it is first used would not be found any more
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    rows = {id(row): row for row in (*TABLE.values(), *(spec.row for spec in SPECS.values() if spec.row is not None))}.values()
    needed = {f for row in rows for f in (row.forward, row.compute)}
    for row in rows:
        for rule in row.rules.values():
            _empty([rule.function, rule.compute], needed)
            rule.function = rule.compute = _refuse
        _empty([row.jvp, *(function for function, _ in row.shared.values())], needed)
        for kind in row._classes.values():
            _empty(vars(kind).values(), needed)
    for module in (backward, quick):
        _empty((f for f in vars(module).values() if isinstance(f, FunctionType) and f.__module__ == module.__name__), needed)
    _empty([node.OpNode.vjp, node.MultiOpNode.vjp, node.Node.__call__, dual.output_tangents], needed)
    CODEGEN.pop("run", None)  # writes a node's formulas out
    quick.STEPS.clear()  # and so do these
    quick.IN_PLACE.clear()
    _empty(_of_derivatives(), functions_used(needed))
    for name, module in list(sys.modules.items()):
        if name.startswith("autolab.check.diagnosis.") and isinstance(module, ModuleType):
            vars(module).clear()
    linecache.clearcache()
    formula.forget()
    cases.forget()


def _of_derivatives() -> Iterator[FunctionType]:
    """What rules are made of, and their kernels, whose first argument is g by the table's own habit; and what differentiates by numbers.

    Code that the engine wrote for a row is none of these: it applies the row, and its first argument may be called g as well.
    """
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and str(found.__module__).startswith(RULES):
            code = found.__code__
            takes_g = code.co_argcount > 0 and code.co_varnames[0] == "g" and not code.co_filename.startswith("<")
            if takes_g or found.__module__ in BY_NUMBERS:
                yield found


def functions_used(functions: Iterable[Any]) -> set[Any]:
    """These functions and those that they use, directly or not."""
    waiting, found = list(functions), dict[int, FunctionType]()
    while waiting:
        f = waiting.pop()
        if not isinstance(f, FunctionType) or id(f) in found:
            continue
        found[id(f)] = f
        codes = [f.__code__]
        for code in codes:
            codes += [c for c in code.co_consts if isinstance(c, CodeType)]
            used = [f.__globals__.get(n) for n in code.co_names]
            waiting += used
            waiting += [v for t in used if isinstance(t, type) for v in vars(t).values()]
            waiting += [vars(m).get(n) for m in used if isinstance(m, ModuleType) for n in code.co_names]
        waiting += [cell.cell_contents for cell in f.__closure__ or ()]
    return set(found.values())


def _empty(functions: Iterable[Any], needed: set[Any]) -> None:
    for function in functions:
        if isinstance(function, FunctionType) and function not in needed:
            function.__code__ = _refuse.__code__.replace(co_freevars=function.__code__.co_freevars)


# --- which answers are asked twice

MODULES = {"autolab", "numpy", "math", "typing", "itertools", "functools", "dataclasses", "collections"}
FROM_AUTOLAB = {"Function", "check"}
# Words by which a rule can reach a derivative, or anything by another name.
ENGINE = {
    "apply", "autograd", "backward", "checkpoint", "enable_grad", "func", "grad", "grad_fn", "gradcheck", "hessian", "jacobian",
    "jacfwd", "jacrev", "jvp", "linearize", "set_grad_enabled", "vjp",
}  # fmt: skip
DYNAMIC = set(
    "ForwardRef NpzFile __import__ ag_frame attrgetter breakpoint builtins compile cr_frame ctypeslib delattr eval "
    "evaluate_forward_ref exec f2py f_back f_builtins f_globals f_locals get_ipython get_type_hints getattr getattribute gi_frame "
    "globals importlib input inspect load loads locals make_dataclass memmap methodcaller npyio open operator os read_array rundocs "
    "runstring setattr sys tb_frame testing update_wrapper vars wraps".split()
)
GRAPH = {"Stepper", "TABLE", "edge", "explore"}  # what shows a graph, or holds one
VALUES = {"fft", "linalg", "random", "size", "special", "version"}  # modules of autolab whose functions a rule may use
AT_ONCE = {"apply", "backward"}  # calls in a statement that runs once, before the judge asks: `y.backward()`


@cache
def _ways_in() -> frozenset[str]:
    """The names of autolab's modules, and of those that lie in what a rule may use: by them it gets to the table of rules."""
    used = [autolab, *(import_module(f"autolab.{name}") for name in sorted(VALUES))]
    folders = {found.name for module in used for found in pkgutil.iter_modules(getattr(module, "__path__", ()))}
    bound = {name for module in used for name, value in vars(module).items() if isinstance(value, ModuleType)}
    return frozenset((folders | bound | set(autolab._MODULES)) - VALUES)


@cache
def _watched() -> frozenset[str]:
    """The attributes by which a rule can reach a derivative."""
    return frozenset(ENGINE | DYNAMIC | GRAPH | _ways_in())


@lru_cache(512)  # most cells are as they were released
def is_plain(source: str) -> bool:
    """Does a cell hold nothing that could reach a derivative of the engine when its functions are called later?"""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # magics, or a riddle
        return False
    try:
        return not any(isinstance(node, NAMES) and _reaches(node, later) for node, later in _nodes(tree))
    except RecursionError:
        return False


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Every node of a cell, and whether it may run again later."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, later = waiting.pop()
        yield node, later
        later = later or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp))
        children = _children(node)
        if not later and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in AT_ONCE:
            children = [node.func.value, *node.args, *node.keywords]
        waiting += [(child, later) for child in children]


def _children(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives without those that have nothing in them, a third of all: they name nothing."""
    children: list[ast.AST] = []
    for name in node._fields:
        part = getattr(node, name, None)
        children += part if type(part) is list else [part]  # type: ignore[list-item]
    return [child for child in children if isinstance(child, ast.AST) and child._fields]


NAMES = (ast.Attribute, ast.Name, ast.Import, ast.ImportFrom, ast.MatchClass)  # of these nodes something may be said


def _reaches(node: ast.AST, later: bool) -> bool:
    if isinstance(node, ast.Attribute):
        shown = not later and node.attr == "grad" and isinstance(node.value, ast.Name) and node.value.id not in ("torch", "autolab")
        return not shown and (node.attr in _watched() or node.attr.startswith("_"))
    if isinstance(node, ast.Name):
        return node.id in DYNAMIC or (node.id.startswith("__") and node.id != "__name__")
    if isinstance(node, ast.Import):
        return any(alias.name not in MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        root = (node.module or "").partition(".")[0]
        if root == "autolab":
            return any(alias.name not in FROM_AUTOLAB for alias in node.names)
        return root not in MODULES or any(alias.name in DYNAMIC or alias.name == "*" for alias in node.names)
    if isinstance(node, ast.MatchClass):
        return bool(node.kwd_attrs or node.patterns)  # an attribute by a name, or by one of __match_args__
    return False
