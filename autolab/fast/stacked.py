"""A weight that is used many times has as many products of matrices for its gradient, a.T @ b: one product of their operands, stacked.

In a recurrent network each is small, and costs less to compute than to call and to add. Operands wait until they are many, until the last
has come, or until somebody could write into them. The sum is the same but for the order of its terms.
"""

from __future__ import annotations

from operator import attrgetter, is_
from typing import Any

import numpy as np
from numpy import ndarray

from autolab.engine.node import AccumulateGrad, Node
from autolab.engine.saved import Packed
from autolab.fast.codegen import NAMES
from autolab.fast.sums import ones
from autolab.rules.linalg import linear, mm

FEW = 16  # edges into a leaf: from here on its products wait for each other
SMALL = 1 << 12  # entries of an operand: up to here it may wait
MOST = 1 << 14  # entries of all operands of a leaf that wait

# The rules that are such a product where g is a matrix: its two operands. To sum the rows of b is to multiply ones with it.
PRODUCT_RULES = {(mm, "x"): "{g}.T, {y}.T", (mm, "y"): "{x}, {g}", (linear, "weight"): "{g}, {x}", (linear, "bias"): "None, {g}"}


class StackedProducts:
    """Operands of products that lead to one leaf, a matrix or a row, and the sum of the products that were computed already."""

    __slots__ = ("a", "b", "dtype", "most_rows", "rows", "shape", "small_rows", "total")

    def __init__(self, leaf: Any) -> None:
        self.shape, self.dtype = leaf.shape, leaf.dtype
        self.small_rows, self.most_rows = SMALL // max(1, *self.shape), MOST // max(1, sum(self.shape))
        self.a: list[Any] = []
        self.b: list[Any] = []
        self.rows = 0  # of all operands
        self.total: Any = None


Products = dict[Any, StackedProducts]  # by leaf


def stacked_products(waiting: dict[Any, int]) -> Products:
    """Places for the products that lead to leaves with many edges, which no transform made."""
    products = {}
    for leaf, count in waiting.items():
        if count >= FEW and not leaf.variable.level and leaf.variable.payload.ndim in (1, 2):
            products[leaf] = StackedProducts(leaf.variable.payload)
    return products


def wait(products: Products, leaf: Any, a: Any, b: Any) -> bool:
    """Whether a product waits for others; without `a` the sum of the rows of `b`."""
    there = products[leaf]
    if type(b) is not ndarray or b.ndim != 2 or b.dtype is not there.dtype or (rows := len(b)) > there.small_rows:
        return False
    there.a.append(a)
    there.b.append(b)
    there.rows += rows
    if there.rows > there.most_rows:
        compute_products(products)
    return True


def wait_for_sum(products: Products, leaf: Any, g: Any) -> bool:
    """The same for a leaf that was broadcast: whether the sum over the rows of its gradient waits."""
    shape = products[leaf].shape
    return len(shape) == 1 and g.shape[1:] == shape and wait(products, leaf, None, g)


def compute_products(products: Products) -> None:
    """Compute all that wait: what is written later into an operand does not change them."""
    known: dict[int, Any] = {}
    for there in sorted(products.values(), key=attrgetter("rows"), reverse=True):
        if there.rows:
            a = stack(there.a, there.rows, known).T if len(there.shape) == 2 else ones(there.rows, there.dtype)
            product = a.dot(stack(there.b, there.rows, known))
            there.total = product if there.total is None else there.total + product
            there.a, there.b, there.rows = [], [], 0


def stack(arrays: list[Any], rows: int, known: dict[int, Any]) -> Any:
    """Arrays one under the other. Two leaves that met the same gradients share them; one may have met the first of them only."""
    longer, stacked = known.get(id(arrays[0]), ((), None))
    if len(arrays) > len(longer) or not all(map(is_, arrays, longer)):
        stacked = np.concatenate(arrays)
        known[id(arrays[0])] = arrays, stacked
    return stacked[:rows]


def runs_code_of_users(node: Node) -> bool:
    """Whether a node may do more than its row says: it has hooks, a saved value that a hook took away, or is not of a row."""
    return node.hooks is not None or node.op is None or (node.saved is not None and has_packed(node.saved))


def has_packed(saved: tuple[Any, ...]) -> bool:
    return any(type(v) is Packed or (type(v) is tuple and has_packed(v)) for v in saved)


def may_write(leaf: AccumulateGrad) -> bool:
    """Whether what a leaf does with its gradient may write into memory that others know: it adds to one, or has hooks."""
    extra = leaf.variable.extra
    return leaf.hooks is not None or leaf.variable._grad is not None or extra is None or bool(extra.hooks or extra.post_hooks)


NAMES.update(wait=wait, wait_for_sum=wait_for_sum)
