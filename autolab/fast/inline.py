"""The formula of a lambda as text, with other names for its arguments: what generated code contains."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.op import Op
from autolab.fast.kernels import load_kernels
from autolab.formula import expression


def inlined(
    function: Callable[..., Any], arguments: dict[str, str], names: dict[str, Any], arrays: Any = (), matrices: bool = False,
    one_shape: bool = False,
) -> str | None:  # fmt: skip
    """The formula of a lambda with other names for its arguments; the globals it uses are added to `names`. None if it has none.

    `arrays` are those arguments that are float32 arrays; numbers beside them become typed constants. If they have `one_shape`, what is
    computed on the way is written over. With `matrices` both sides of each `@` are ndarrays of two axes.
    """
    if getattr(function, "__name__", "") != "<lambda>" or function.__code__.co_freevars:
        return None
    if function.__defaults__ and not arguments.keys() >= {*function.__code__.co_varnames[: function.__code__.co_argcount]}:
        return None  # the text does not tell what an argument is by default
    formula = expression(function)
    if formula is None or any(isinstance(n, ast.Lambda | ast.comprehension | ast.NamedExpr) for n in ast.walk(formula)):
        return None
    used = {n.id for n in ast.walk(formula) if isinstance(n, ast.Name)} - set(arguments)
    for name in used & set(function.__globals__):
        if names.setdefault(name, function.__globals__[name]) is not function.__globals__[name]:
            return None
    copy = ast.parse(ast.unparse(formula), mode="eval")
    if arrays:
        copy = _Typed(set(arrays), names).visit(copy)
        if one_shape and not any(isinstance(n, ast.Call) for n in ast.walk(copy)):
            copy = _WrittenOver(set(arrays), names).visit(copy)
    copy = _Rename(arguments, matrices).visit(copy)
    return ast.unparse(ast.fix_missing_locations(copy))


def product(a: Any, b: Any) -> Any:
    """What stands for `a @ b` in a shortcut: for two matrices ndarray.dot gives the same, and starts in half the time."""
    return a.dot(b) if type(a) is type(b) is np.ndarray and a.ndim == b.ndim == 2 else a @ b


class _Rename(ast.NodeTransformer):
    """Other names for the arguments, and `product`, or ndarray.dot itself, in place of `@`."""

    def __init__(self, names: dict[str, str], matrices: bool) -> None:
        self.names, self.matrices = names, matrices

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            if self.matrices:
                return ast.Call(ast.Attribute(node.left, "dot", ast.Load()), [node.right], [])
            return ast.Call(ast.Name("product", ast.Load()), [node.left, node.right], [])
        return node


class _Typed(ast.NodeTransformer):
    """0-d float32 arrays in place of numbers that are beside float32 arrays: `1 - x` then takes NumPy half the time. Rows are not asked.

    Not for an exponent: NumPy has short ways for `x**2`.
    """

    def __init__(self, arrays: set[str], names: dict[str, Any]) -> None:
        self.arrays, self.names = arrays, names

    def beside(self, number: ast.expr, other: ast.expr) -> ast.expr:
        if not isinstance(number, ast.Constant) or type(number.value) not in (int, float) or not self.is_array(other):
            return number
        name = "f32_" + re.sub(r"\W", "_", repr(number.value))
        self.names[name] = np.array(number.value, np.float32)
        return ast.Name(name, ast.Load())

    def is_array(self, formula: ast.expr) -> bool:
        """Whether an expression is a float32 array for certain: one of them, or arithmetic on them."""
        if isinstance(formula, ast.Name):
            return formula.id in self.arrays
        if isinstance(formula, ast.UnaryOp):
            return self.is_array(formula.operand)
        if isinstance(formula, ast.BinOp) and not isinstance(formula.op, ast.MatMult):
            return self.is_array(formula.left) or self.is_array(formula.right)
        return False

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow | ast.MatMult):
            node.left, node.right = self.beside(node.left, node.right), self.beside(node.right, node.left)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.comparators) == 1:
            node.comparators = [self.beside(node.comparators[0], node.left)]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node.func) in ("np.maximum", "np.minimum") and len(node.args) == 2:
            a, b = node.args
            node.args = [self.beside(a, b), self.beside(b, a)]
        row: Any = self.names.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if isinstance(row, Op) and not node.keywords:  # on arrays, calling a row is calling what computes it
            load_kernels(row)
            name = f"{row.name}_compute"
            self.names[name], node.func = row.compute, ast.Name(name, ast.Load())
        return node


UFUNCS = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide}


class _WrittenOver(_Typed):
    """`g * (1 - y * y)` as `multiply(g, subtract(one, (t0 := y * y), t0), t0)`: one array is allocated in place of three."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        function = UFUNCS.get(type(node.op))
        inner = next((side for side in ("right", "left") if isinstance(getattr(node, side), ast.BinOp)), None)
        if function is None or inner is None or not self.is_array(getattr(node, inner)):
            return node
        operand = self.visit(getattr(node, inner))
        if isinstance(operand, ast.Call):
            place = operand.args[-1].id  # type: ignore[attr-defined]
        else:
            place = "t0"
            operand = ast.NamedExpr(ast.Name(place, ast.Store()), operand)
        setattr(node, inner, operand)
        self.names[function.__name__] = function
        return ast.Call(ast.Name(function.__name__, ast.Load()), [node.left, node.right, ast.Name(place, ast.Load())], [])
