"""Rows for products of matrices. PyTorch gives each pairing of ranks a name; the formulas are the same."""

import numpy as np

from autolab.engine.node import sum_to
from autolab.engine.op import BILINEAR, GENERAL, op
from autolab.rules.input_checks import bool_products

B = BILINEAR


mm = op("mm", lambda x, y: x @ y, B, matrices=True, check=bool_products("addmm_impl_cpu_"), x=lambda g, y: g @ y.T, y=lambda g, x: x.T @ g)
bmm = op("bmm", lambda x, y: x @ y, B, check=bool_products("bmm"), x=lambda g, y: g @ y.mT, y=lambda g, x: x.mT @ g)
mv = op("mv", lambda x, y: x @ y, B, check=bool_products("addmv_impl_cpu"), x=lambda g, y: g[..., None] * y, y=lambda g, x: x.mT @ g)
vm = op("vm", lambda x, y: x @ y, B, node="MvBackward0", x=lambda g, y: mv(y, g), y=lambda g, x: outer(x, g))
dot = op("dot", lambda x, y: x @ y, B, check=bool_products("dot"), x=lambda g, y: g * y, y=lambda g, x: g * x)
# Stacks of matrices whose leading axes broadcast: what was stretched is summed back.
matmul = op(
    "matmul", lambda x, y: x @ y, B, check=bool_products("bmm"), numpy=np.matmul, node="BmmBackward0",
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
    return np.reshape(x, (-1, x.shape[-1]))


def by_rows(x, matrix):
    """x @ matrix with all leading axes of x as one."""
    return vm(x, matrix) if x.ndim == 1 else np.reshape(flat(x) @ matrix, (*x.shape[:-1], matrix.shape[-1]))


# The sum over all rows of the outer products of a row of x and a row of y.
outer_sum = op("outer_sum", lambda x, y: flat(x).T @ flat(y), B, x=lambda g, y: by_rows(y, g.mT), y=lambda g, x: by_rows(x, g))


def over_rows(g):
    """The gradient of a bias: the sum over all axes but the last."""
    return g if g.ndim == 1 else np.sum(g, axis=tuple(range(-g.ndim, -1)))


linear = op(
    "linear", lambda x, weight, bias: x @ weight.T + bias, GENERAL, check=bool_products("addmm_impl_cpu_"), node="AddmmBackward0",
    products=True,
    x=lambda g, weight: g @ weight if g.ndim == 2 else by_rows(g, weight),
    weight=lambda g, x: g.T @ x if g.ndim == 2 else outer(g, x) if g.ndim == 1 else outer_sum(g, x),
    bias=lambda g: over_rows(g),
)  # fmt: skip


# What a node of `linear` becomes for those who look (autolab.autograd.fused): PyTorch's operation, with its order of inputs.
addmm = op(
    "addmm", lambda bias, x, y: x @ y + bias, GENERAL, check=bool_products("addmm_impl_cpu_"), products=True,
    bias=lambda g: over_rows(g), x=lambda g, y: g @ y.mT, y=lambda g, x: x.mT @ g,
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


einsum = op("einsum", lambda *xs, equation: np.einsum(equation, *xs, optimize=len(xs) > 2), GENERAL, node="EinsumBackward0", xs=einsum_rule)
