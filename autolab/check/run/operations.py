"""How many operations a row of the table takes, and how many its rules: the arithmetic is counted while it runs.

An entry that is computed counts 1, as arithmetic or as a function such as `exp`; a complex one, too. Whole numbers, which say where
something is, and moves count 0. So do single numbers that leave the arrays (`a[()]`). What LAPACK and the Fourier transform do inside is
not seen: it counts as its textbook says, in TEXTBOOK.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from autolab.engine.op import Op
from autolab.rules import TABLE

from .samples import rules, sample

FUNCTIONS = "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh".split()
FUNCTIONS += "power float_power logaddexp logaddexp2 hypot".split()
counted = np.zeros(2)  # arithmetic, functions: what has been counted so far


# -- what NumPy does inside ------------------------------------------------------------------------------


def einsum_operations(out: np.ndarray, equation: str, *xs: np.ndarray, **settings: Any) -> float:
    """For each entry of the result, one product less than operands for each term, and one sum less than terms.

    >>> einsum_operations(np.ones((3, 5)), "ij,jk->ik", np.ones((3, 4)), np.ones((4, 5)))  # 15 entries, 4 products and 3 sums each
    105
    """
    terms, result = equation.split("->")
    sizes: dict[str, int] = {}
    for term, x in zip(terms.split(","), xs):
        front, _, back = term.partition("...")
        sizes |= dict(zip(front, x.shape)) | dict(zip(back[::-1], x.shape[::-1]))
    inner = math.prod(n for letter, n in sizes.items() if letter not in result)
    return out.size * (inner * len(xs) - 1)


def of_matrices(each: Callable[..., float]) -> Callable[..., float]:
    """The number for one matrix of m rows and n columns, m >= n, times their number."""

    def total(out: Any, x: np.ndarray, *more: Any, **settings: Any) -> float:
        n, m = sorted(x.shape[-2:])
        right = more[0].shape[-1] if more and isinstance(more[0], np.ndarray) else 0
        return math.prod(x.shape[:-2]) * each(m, n, right)

    return total


def transform_operations(length: Callable[..., int], per: float) -> Callable[..., float]:
    """5 n log2 n for each complex transform of length n, half as many for a real one."""

    def total(out: np.ndarray, x: np.ndarray, *more: Any, axis: int = -1, axes: Any = None, **settings: Any) -> float:
        lengths = [length(out, x, a) for a in axes or (axis,)]
        size = max(out.size, x.size) if axes is None else x.size
        return per * size * math.log2(math.prod(lengths))

    return total


def sort_operations(out: np.ndarray, x: np.ndarray, axis: int = -1, *more: Any, **settings: Any) -> float:
    """n log2 n comparisons for each line."""
    return x.size * math.log2(max(2, x.shape[axis])) if x.ndim else 0


# The leading term, from Golub and Van Loan, Matrix Computations, 4th edition, 2013: with the vectors or factors where there are some.
LU = of_matrices(lambda m, n, _: 2 / 3 * n**3)
TEXTBOOK: dict[Any, Callable[..., float]] = {
    np.einsum: einsum_operations,
    np.linalg.inv: of_matrices(lambda m, n, _: 2 * n**3),
    np.linalg.solve: of_matrices(lambda m, n, right: 2 / 3 * n**3 + 2 * n**2 * right),
    np.linalg.det: LU,
    np.linalg.slogdet: LU,
    np.linalg.cholesky: of_matrices(lambda m, n, _: n**3 / 3),
    np.linalg.qr: of_matrices(lambda m, n, _: 4 * m * n**2 - 4 / 3 * n**3),
    np.linalg.eigh: of_matrices(lambda m, n, _: 9 * n**3),
    np.linalg.eig: of_matrices(lambda m, n, _: 25 * n**3),
    np.linalg.svd: of_matrices(lambda m, n, _: 14 * m * n**2 + 8 * n**3),
    np.fft.fftn: transform_operations(lambda out, x, a: x.shape[a], 5),
    np.fft.ifftn: transform_operations(lambda out, x, a: x.shape[a], 5),
    np.fft.rfft: transform_operations(lambda out, x, a: x.shape[a], 2.5),
    np.fft.irfft: transform_operations(lambda out, x, a: out.shape[a], 2.5),
    np.sort: sort_operations,
    np.argsort: sort_operations,
    np.partition: lambda out, x, *more, **settings: x.size,
    np.argpartition: lambda out, x, *more, **settings: x.size,
    np.argmax: lambda out, x, *more, **settings: x.size - np.size(out),
    np.argmin: lambda out, x, *more, **settings: x.size - np.size(out),
}  # fmt: skip


# -- arrays that count -----------------------------------------------------------------------------------


class Counted(np.ndarray):
    """An array that counts what NumPy computes with it, and whose results count, too."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **settings: Any) -> Any:
        plain = [uncounted(a) for a in inputs]
        if out:
            settings["out"] = tuple(uncounted(a) for a in out)
        result = getattr(ufunc, method)(*plain, **settings)
        counted[int(ufunc.__name__ in FUNCTIONS)] += ufunc_operations(ufunc, method, plain, result, settings)
        return counting(result)

    def __array_function__(self, function: Any, types: Any, args: Any, settings: Any) -> Any:
        if function not in TEXTBOOK:
            return counting(super().__array_function__(function, types, args, settings))
        args, settings = [uncounted(a) for a in args], {name: uncounted(a) for name, a in settings.items()}
        result = function(*args, **settings)
        counted[0] += TEXTBOOK[function](result, *args, **settings)
        return counting(result)

    # These methods of an array do not look for __array_function__.
    def argsort(self, *args: Any, **settings: Any) -> Any:
        return np.argsort(self, *args, **settings)

    def argmax(self, *args: Any, **settings: Any) -> Any:
        return np.argmax(self, *args, **settings)

    def argmin(self, *args: Any, **settings: Any) -> Any:
        return np.argmin(self, *args, **settings)


def ufunc_operations(ufunc: np.ufunc, method: str, plain: list[Any], result: Any, settings: dict[str, Any]) -> float:
    """How many entries a ufunc computes: each at the price of 1, that of a product of matrices at its products and sums."""
    one = result[0] if isinstance(result, tuple) else plain[0] if result is None else result
    if one.dtype.kind in "iu":
        return 0
    match method:
        case "reduce":
            return plain[0].size - one.size
        case "accumulate":
            axis = settings.get("axis", plain[1] if len(plain) > 1 else 0)
            return one.size - one.size // max(1, one.shape[axis])
        case "at":
            return plain[0][plain[1]].size
    return one.size * (2 * plain[0].shape[-1] - 1 if ufunc is np.matmul else 1)


def uncounted(a: Any) -> Any:
    if isinstance(a, (tuple, list)):
        return tuple(map(uncounted, a)) if isinstance(a, tuple) else [uncounted(part) for part in a]
    return a.view(np.ndarray) if isinstance(a, Counted) else a


def counting(result: Any) -> Any:
    """A result, or several, that count."""
    if isinstance(result, (tuple, list)):
        return tuple(map(counting, result)) if isinstance(result, tuple) else [counting(part) for part in result]
    return np.asarray(result).view(Counted) if isinstance(result, (np.ndarray, np.generic)) else result


class CountingNumPy:
    """NumPy, but what it makes of numbers (`zeros`, `array`, `arange`) counts. Ufuncs go by the arrays that they are given."""

    def __getattr__(self, name: str) -> Any:
        member = getattr(np, name)
        if isinstance(member, (type, np.ufunc, ModuleType)) or not callable(member):
            return member
        if name in ("max", "min", "sum", "prod"):  # of a list: an array that counts is made of it first
            return lambda a, *args, **settings: member(counting(np.array(a)) if isinstance(a, list) else a, *args, **settings)
        return lambda *args, **settings: counting(member(*args, **settings))


@contextlib.contextmanager
def numpy_counts() -> Iterator[None]:
    """While it lasts, the files of the table compute as their formulas are written, without kernels, and with CountingNumPy as `np`.

    >>> with numpy_counts():
    ...     zeros = TABLE["zeros_like"].forward.__globals__["np"].zeros(3)
    >>> type(zeros).__name__, TABLE["zeros_like"].forward.__globals__["np"] is np
    ('Counted', True)
    """
    stand_in = CountingNumPy()
    files = [m for name, m in list(sys.modules.items()) if name.startswith("autolab.rules.") and vars(m).get("np") is np]
    computes = {row: row.compute for row in TABLE.values()}
    try:
        for file in files:
            file.np = stand_in  # type: ignore[attr-defined]
        for row in computes:
            row.compute = row.forward
        yield
    finally:
        for file in files:
            file.np = np  # type: ignore[attr-defined]
        for row, compute in computes.items():
            row.compute = compute


# -- the count -------------------------------------------------------------------------------------------


class Operations(NamedTuple):
    """Of a row, on a sample: arithmetic and functions of its forward formula, of its rules, and the sums where gradients meet."""

    forward: np.ndarray
    rules: np.ndarray
    sums: int

    def ratio(self, weight: float = 1) -> float:
        """Forward and backward by forward, if a function costs as much as `weight` arithmetic operations; nan if forward takes none."""
        price = [1, weight]
        forward = float(self.forward @ price)
        return float((forward + self.rules @ price + self.sums) / forward) if forward else math.nan


def operations(row: Op, *arrays: np.ndarray, **settings: Any) -> Operations:
    """Count the operations of a row and its rules, on these arrays or, without any, on a sample.

    Each entry of each input is one sum more: the worst case, where gradients meet.

    Raises LookupError if there is no sample that the row takes.

    >>> operations(TABLE["mul"])
    Operations(forward=array([100.,   0.]), rules=array([200.,   0.]), sums=200)
    >>> operations(TABLE["mul"]).ratio()
    5.0
    >>> operations(TABLE["exp"], np.ones(5)).ratio(10)  # exp, one product with the result, one sum
    1.2
    """
    if arrays:
        values, settings = list(arrays), row.settings | settings
        rules(row, values, settings)
    else:
        values, settings = sample(row)
    # It has run once by now, so that tables which are made once are there.
    counts = []

    def count(run: Callable[[], Any]) -> Any:
        before = counted.copy()
        result = run()
        counts.append(counted - before)
        return result

    with numpy_counts(), np.errstate(all="ignore"):
        rules(row, [a.view(Counted) for a in values], settings, count)
    names = row.inputs * len(values) if row.variadic else row.inputs
    forward, backward = counts
    return Operations(forward, backward, sum(a.size for name, a in zip(names, values) if name in row.rules))
