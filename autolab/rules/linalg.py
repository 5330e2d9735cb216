"""Rows for products of matrices. PyTorch gives each pairing of ranks a name; the formulas are the same."""

import math

import numpy as np
from numpy import ndarray

from autolab.engine.node import column_sums, sum_to
from autolab.engine.op import BILINEAR, GENERAL, op

B = BILINEAR


mm = op("mm", lambda x, y: x @ y, B, matrices=True, x=lambda g, y: g @ y.T, y=lambda g, x: x.T @ g)
bmm = op("bmm", lambda x, y: x @ y, B, x=lambda g, y: g @ y.mT, y=lambda g, x: x.mT @ g)
mv = op("mv", lambda x, y: x @ y, B, x=lambda g, y: g[..., None] * y, y=lambda g, x: x.mT @ g)
vm = op("vm", lambda x, y: x @ y, B, node="MvBackward0", x=lambda g, y: mv(y, g), y=lambda g, x: outer(x, g))
dot = op("dot", lambda x, y: x @ y, B, x=lambda g, y: g * y, y=lambda g, x: g * x)
# Stacks of matrices whose leading axes broadcast: what was stretched is summed back.
matmul = op(
    "matmul", lambda x, y: x @ y, B, numpy=np.matmul, node="BmmBackward0",
    x=lambda g, y, x_shape: sum_to(g @ y.mT, x_shape),
    y=lambda g, x, y_shape: sum_to(x.mT @ g, y_shape),
)  # fmt: skip


# Each entry of one vector times each of another; leading axes are stacks of vectors.
outer = op(
    "outer", lambda x, y: np.einsum("...i,...j->...ij", x, y), B,
    x=lambda g, y: np.sum(g * np.expand_dims(y, -2), axis=-1),
    y=lambda g, x: np.sum(g * np.expand_dims(x, -1), axis=-2),
)  # fmt: skip


def flat(x):
    """All leading axes as one: (..., n) -> (N, n)."""
    return x if x.ndim == 2 else x.reshape(-1, x.shape[-1]) if type(x) is np.ndarray else np.reshape(x, (-1, x.shape[-1]))


def linear_values(x, weight, bias):
    out = x.dot(weight.T) if x.ndim == 2 else by_rows(x, weight.T)
    out += bias
    return out


def by_rows(x, matrix):
    """x @ matrix with all leading axes of x as one: one large product is faster than many small ones."""
    if x.ndim == 2:
        return x.dot(matrix) if type(x) is type(matrix) is ndarray else x @ matrix
    if x.ndim == 1:
        return vm(x, matrix)
    out, shape = flat(x) @ matrix, (*x.shape[:-1], matrix.shape[-1])
    return out.reshape(shape) if type(out) is np.ndarray else np.reshape(out, shape)


# The sum over all rows of the outer products of a row of x and a row of y.
outer_sum = op("outer_sum", lambda x, y: flat(x).T @ flat(y), B, x=lambda g, y: by_rows(y, g.mT), y=lambda g, x: by_rows(x, g))


def outer_sum_of(x, y):
    return x.T.dot(y) if type(x) is ndarray and x.ndim == 2 else outer(x, y) if x.ndim == 1 else outer_sum(x, y)


linear = op(
    "linear", linear_values, GENERAL, node="AddmmBackward0", products=True,
    x=lambda g, weight: g @ weight if g.ndim == 2 else by_rows(g, weight),
    weight=lambda g, x: g.T @ x if g.ndim == 2 else outer_sum_of(g, x),
    bias=lambda g: column_sums(g) if g.ndim == 2 else column_sums(flat(g)) if g.ndim > 2 else g,
)  # fmt: skip


# What a node of `linear` becomes for those who look (autolab.autograd.fused): PyTorch's operation, with its order of inputs.
addmm = op(
    "addmm", lambda bias, x, y: x @ y + bias, GENERAL, products=True,
    bias=lambda g: column_sums(flat(g)), x=lambda g, y: g @ y.mT, y=lambda g, x: x.mT @ g,
)  # fmt: skip


def einsum_rule(g, xs, equation):
    """The gradient of operand i is the einsum of g and all the others onto i's letters."""
    letters, result = equation.split("->")
    letters = letters.split(",")
    gradients = []
    for i, (own, x) in enumerate(zip(letters, xs)):
        rest = [*letters[:i], *letters[i + 1 :]]
        known = set(result).union(*rest)
        # A letter that only this operand has was summed away: its gradient is the same along that axis.
        alone = "".join(c for c in dict.fromkeys(own) if c not in known)
        ones = np.ones([x.shape[own.index(c)] for c in alone], g.dtype)
        operands = [g, *xs[:i], *xs[i + 1 :], *([ones] if alone else [])]
        names = [result, *rest, *([alone] if alone else [])]
        gradients.append(einsum(*operands, equation=f"{','.join(names)}->{own}"))
    return gradients


def einsum_values(*xs, equation):
    if len(xs) == 2 and xs[0].dtype.kind == "f":
        a, b, out = equation.replace("->", ",").split(",")
        summed = [c for c in a if c in b and c not in out]
        if summed and set(a) ^ set(b) and len(set(a)) == len(a) and len(set(b)) == len(b):
            return contracted(a, b, out, summed, *xs)
    return np.einsum(equation, *xs, optimize=len(xs) > 2)


def contracted(a, b, out, summed, x, y):
    """Two operands as one product of matrices, for BLAS: letters of both that stay are a stack, the others rows, columns or summed."""
    x = x.sum(tuple(i for i, c in enumerate(a) if c not in b and c not in out))
    y = y.sum(tuple(i for i, c in enumerate(b) if c not in a and c not in out))
    a, b = [c for c in a if c in b or c in out], [c for c in b if c in a or c in out]
    stack = [c for c in a if c in b and c in out]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    n = dict(zip([*a, *b], [*x.shape, *y.shape]))
    shape = lambda *groups: [n[c] for c in stack] + [math.prod(n[c] for c in group) for group in groups]
    x = x.transpose([a.index(c) for c in [*stack, *left, *summed]]).reshape(shape(left, summed))
    y = y.transpose([b.index(c) for c in [*stack, *summed, *right]]).reshape(shape(summed, right))
    found = [*stack, *left, *right]
    return (x @ y).reshape([n[c] for c in found]).transpose([found.index(c) for c in out])


einsum = op("einsum", einsum_values, GENERAL, node="EinsumBackward0", xs=einsum_rule)
