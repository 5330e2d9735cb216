"""At least one sample for each row of the table: an expression that means the same here and in PyTorch, and inputs for it.

`expression` is called as f(T, *inputs) with T either library. Where PyTorch has no name for what the row does, `ours` calls the row
and `expression` writes it out. A node is named as PyTorch names it, unless `named` says why not.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from autolab.engine.inplace import Part
from autolab.rules import TABLE


def normal(rng, shape):
    return rng.standard_normal(shape)


def positive(rng, shape):
    return np.abs(rng.standard_normal(shape)) + 0.3


def weights(rng, shape):
    """Positive, and no gradient is asked for them."""
    return positive(rng, shape)


def integers(rng, shape):
    return rng.integers(-4, 5, shape)


def naturals(rng, shape):
    return rng.integers(1, 5, shape)


def bools(rng, shape):
    return rng.random(shape) < 0.5


def row(name, **settings):
    """A call of the row itself."""
    return lambda T, *inputs: TABLE[name](*inputs, **settings)


class Sample(NamedTuple):
    row: str
    expression: Callable
    cases: str  # "34 4; . 3": shapes (3, 4) and (4,); then () and (3,)
    draw: tuple[Callable, ...] = (normal, normal, normal, normal)
    ours: Callable | None = None
    named: str | None = None

    def arrays(self, case, seed=0, dtype=np.float64):
        """Inputs for one case."""
        return self.draws([tuple(map(int, digits.strip("."))) for digits in case.split()], seed, dtype)

    def draws(self, shapes, seed=0, dtype=np.float64):
        """Random inputs: floats in `dtype`, integers and bools as they are; read-only, for a rule writes into nothing."""
        rng = np.random.default_rng(seed)
        arrays = [np.asarray(draw(rng, shape)) for draw, shape in zip(self.draw, shapes, strict=False)]
        arrays = [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays]
        for a in arrays:
            a.flags.writeable = False
        return arrays

    def tensors(self, T, arrays, **options):
        """The arrays as tensors; those in floating point require grad."""
        floats = [a.dtype.kind == "f" for a in arrays]
        return [
            T.tensor(a, requires_grad=f and draw is not weights, **(options if f else {}))
            for a, f, draw in zip(arrays, floats, self.draw, strict=False)
        ]

    def here(self, T, *inputs):
        return (self.ours or self.expression)(T, *inputs)

    def differentiable(self):
        return bool(TABLE[self.row].rules) and self.draw[0] is not integers


UNARY = "34; .; 03"
BINARY = "34 34; 213 41; 34 4; . 3; . .; 03 13"
MATRIX = "34; 233; 14"
POSITIVE = (positive, positive)

ARITHMETIC = [
    Sample("add", lambda T, x, y: x + y, BINARY),
    Sample("add", lambda T, x: 2.5 + x, UNARY),
    Sample("sub", lambda T, x, y: x - y, BINARY),
    Sample("rsub", lambda T, x: 2 - x, UNARY),
    Sample("rsub", lambda T, x, y: T.rsub(x, y), BINARY, ours=row("rsub"), named="rsub of two tensors is a sub"),
    Sample("mul", lambda T, x, y: x * y, BINARY),
    Sample("div", lambda T, x, y: x / y, BINARY, (normal, positive)),
    Sample("neg", lambda T, x: -x, UNARY),
    Sample("reciprocal", lambda T, x: T.reciprocal(x), UNARY, POSITIVE),
    Sample("pow_scalar", lambda T, x: x**3, UNARY),
    Sample("pow_scalar", lambda T, x: x**-1.5, UNARY, POSITIVE),
    Sample("pow_scalar", lambda T, x: x**0, UNARY),
    Sample("pow", lambda T, x, y: x**y, BINARY, (positive, normal)),
    Sample("pow", lambda T, x: 2**x, UNARY),
    Sample("floor", lambda T, x: T.floor(x), UNARY),
    Sample("ceil", lambda T, x: T.ceil(x), UNARY),
    Sample("round", lambda T, x: T.round(x), UNARY),
    Sample("trunc", lambda T, x: T.trunc(x), UNARY),
    Sample("floor_divide", lambda T, x, y: T.floor_divide(x, y), BINARY, (integers, naturals)),
    Sample("floor_divide", lambda T, x, y: T.div(x, y, rounding_mode="floor"), BINARY, (normal, positive)),
    Sample("trunc_divide", lambda T, x, y: T.div(x, y, rounding_mode="trunc"), BINARY, (normal, positive)),
    Sample("remainder", lambda T, x, y: T.remainder(x, y), BINARY, (normal, positive)),
    Sample("remainder", lambda T, x: x % 0.7, UNARY),
    Sample("sign", lambda T, x: T.sign(x), UNARY),
    Sample("abs", lambda T, x: x.abs(), UNARY),
]

TRANSCENDENTAL = [
    Sample("exp", lambda T, x: x.exp(), UNARY),
    Sample("expm1", lambda T, x: x.expm1(), UNARY),
    Sample("log", lambda T, x: x.log(), UNARY, POSITIVE),
    Sample("log1p", lambda T, x: x.log1p(), UNARY, POSITIVE),
    Sample("sqrt", lambda T, x: x.sqrt(), UNARY, POSITIVE),
    Sample("rsqrt", lambda T, x: x.rsqrt(), UNARY, POSITIVE),
    Sample("sin", lambda T, x: x.sin(), UNARY),
    Sample("cos", lambda T, x: x.cos(), UNARY),
    Sample("tan", lambda T, x: x.tan(), UNARY, POSITIVE),
    Sample("tanh", lambda T, x: x.tanh(), UNARY),
    Sample("sigmoid", lambda T, x: x.sigmoid(), UNARY),
    Sample("erf", lambda T, x: x.erf(), UNARY),
    Sample("relu", lambda T, x: x.relu(), UNARY),
    Sample("leaky_relu", lambda T, x: T.nn.functional.leaky_relu(x, 0.2), UNARY),
    Sample("silu", lambda T, x: T.nn.functional.silu(x), UNARY),
    Sample("softplus", lambda T, x: T.nn.functional.softplus(x), UNARY),
    Sample("softplus", lambda T, x: T.nn.functional.softplus(x, beta=2, threshold=1), UNARY),
    Sample("gelu", lambda T, x: T.nn.functional.gelu(x), UNARY),
    Sample("gelu_tanh", lambda T, x: T.nn.functional.gelu(x, approximate="tanh"), UNARY),
]

CHOICES = [
    Sample("maximum", lambda T, x, y: T.maximum(x, y), BINARY),
    Sample("minimum", lambda T, x, y: T.minimum(x, y), BINARY),
    Sample("clamp", lambda T, x: x.clamp(-0.5, 0.7), UNARY),
    Sample("clamp", lambda T, x: x.clamp(min=0), UNARY),
    Sample("clamp", lambda T, x: x.clamp(max=0.3), UNARY),
    Sample("where", lambda T, c, x, y: T.where(c, x, y),
           "34 4 31; . . .; . 3 .; 03 3 13; 34 34 .", (bools, normal, normal)),
    Sample("where", lambda T, c, x: T.where(c, x, 0.5), "34 4", (bools, normal)),
    Sample("masked_fill", lambda T, x, m: x.masked_fill(m, 0.5), "34 4; . .; 23 21", (normal, bools)),
    Sample("masked_fill", lambda T, x, m, v: x.masked_fill(m, v), "34 4 .", (normal, bools, normal)),
    Sample("keep", lambda T, g, c: T.where(c, g, T.zeros_like(g)), "34 34; 4 31; . .", (normal, bools),
           ours=row("keep"), named="PyTorch masks in many kernels"),
    Sample("keep_at", lambda T, g, c, x: T.where(c, g, T.zeros_like(g)) + 0 * x, "34 34 34; . . .", (normal, bools, normal),
           ours=lambda T, g, c, x: row("keep_at")(T, g + 0 * x, c, x), named="the backward function of an activation"),
    Sample("straight_at", lambda T, g, x: g + 0 * x, "34 34; . .",
           ours=lambda T, g, x: row("straight_at", of="LeakyRelu")(T, g + 0 * x, x), named="the backward function of an activation"),
    Sample("zeros_like", lambda T, x: T.zeros_like(x), UNARY, ours=row("zeros_like")),
    Sample("clone", lambda T, x: x.clone(), UNARY),
    Sample("to", lambda T, x: x.to(T.float32), UNARY),
    Sample("to", lambda T, x: x.double(), UNARY, (integers,)),
    Sample("copy", lambda T, x, y: (x * 1).copy_(y), "34 4; . .; 03 3", ours=row("copy")),
    Sample("fill", lambda T, x, y: (x * 1).fill_(y), "34 .; . .", ours=row("fill")),
]  # fmt: skip

COMPARISONS = [
    Sample(name, lambda T, x, y, name=name: getattr(T, name)(x, y), BINARY, (integers, integers))
    for name in "eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor logical_and logical_or".split()
] + [
    Sample(name, lambda T, x, name=name: getattr(T, name)(x), UNARY, (integers,))
    for name in "bitwise_not logical_not isnan isinf isfinite".split()
]

REDUCTIONS = [
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(), "34; .; 5") for name in "sum mean".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(1), "34; 232; 20") for name in "sum mean".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)((0, -1), keepdim=True), "34; 232")
      for name in "sum mean var std amax amin".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(), "34; 5; 213") for name in "var std".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(0, correction=0), "34") for name in "var std".split()),
    *(Sample(name, lambda T, x, name=name, k=k: getattr(T, name)(x, -1)[k], "34; 213")
      for name in "var_mean std_mean".split()
      for k in (0, 1)),
    *(Sample(name, lambda T, x, name=name: getattr(T, name)(x, correction=0)[0], "34") for name in "var_mean std_mean".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(), "34; .; 5") for name in "max min amax amin prod".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(1), "34; 232; 03") for name in "amax amin".split()),
    *(Sample(f"{name}_along", lambda T, x, name=name: getattr(x, name)(-2, keepdim=True)[0], "34; 232; 30")
      for name in "max min".split()),
    *(Sample(f"{name}_along", lambda T, x, name=name: getattr(x, name)(0).values, "34; 4; .") for name in "max min".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(), "34; .") for name in "argmax argmin".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(1, keepdim=True), "34; 232") for name in "argmax argmin".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(1), "34; 20", (bools,)) for name in "all any".split()),
    *(Sample(name, lambda T, x, name=name: getattr(x, name)(), "34; .; 0", (bools,)) for name in "all any".split()),
    Sample("prod", lambda T, x: x.prod(1, keepdim=True), "34; 232; 31"),
    Sample("prod", lambda T, x: x.prod(0), "7; 32"),
    Sample("prod", lambda T, x: x.prod(0), ".", named="the one dim of a 0-d tensor is all of it"),
    Sample("cumsum", lambda T, x: x.cumsum(0), "34; .; 03; 232"),
    Sample("cumsum", lambda T, x: x.cumsum(-1), "34"),
    Sample("logsumexp", lambda T, x: x.logsumexp(0), "34; .; 03; 232"),
    Sample("logsumexp", lambda T, x: x.logsumexp((0, -1), keepdim=True), "34; 232"),
    Sample("norm", lambda T, x: x.norm(), "34; .; 5"),
    Sample("norm", lambda T, x: x.norm(1), "34"),
    Sample("norm", lambda T, x: x.norm(float("inf"), 1), "34"),
    Sample("norm", lambda T, x: x.norm(3, dim=(0, 1), keepdim=True), "34; 232"),
    Sample("norm", lambda T, x: x.norm(0.5, dim=0), "34"),
    Sample("softmax", lambda T, x: x.softmax(-1), "34; .; 20"),
    Sample("softmax", lambda T, x: x.softmax(0), "232; 03"),
    Sample("log_softmax", lambda T, x: x.log_softmax(1), "34; 232; 20"),
    Sample("put_along_axis", lambda T, g: T.zeros(3, 4, dtype=g.dtype).scatter(1, T.tensor([[0], [3], [1]]), g), "31",
           ours=lambda T, g: row("put_along_axis", shape=(3, 4), axis=-1)(T, g, np.array([[0], [3], [1]])),
           named="PyTorch's is a scatter"),
]  # fmt: skip

SHAPES = [
    Sample("reshape", lambda T, x: x.reshape(2, -1), "34; 213; 4"),
    Sample("reshape", lambda T, x: x.flatten(), "34; 213"),
    Sample("reshape", lambda T, x: x.reshape(1, 1), "."),
    Sample("swapaxes", lambda T, x: x.transpose(0, -1), "34; 234; 03"),
    Sample("t", lambda T, x: x.t(), "34; 03"),
    Sample("transpose", lambda T, x: x.permute(2, 0, 1), "234; 102"),
    Sample("moveaxis", lambda T, x: x.movedim(0, -1), "234", ours=row("moveaxis", source=0, destination=-1)),
    Sample("expand", lambda T, x: x.expand(2, 3, -1), "34; 14"),
    Sample("expand", lambda T, x: x.expand(3), ".; 1"),
    Sample("expand_dims", lambda T, x: x.unsqueeze(-1), UNARY),
    Sample("squeeze", lambda T, x: x.squeeze(), "3141; 3; 1"),
    Sample("squeeze", lambda T, x: x.squeeze(1), "3141; 32; 21"),
    Sample("squeeze", lambda T, x: x.squeeze((0, -1)), "121; 123"),
    Sample("flip", lambda T, x: x.flip(0), "34; 03"),
    Sample("flip", lambda T, x: x.flip(0, -1), "34; 232"),
    Sample("roll", lambda T, x: x.roll((1, -2), (0, 1)), "34; 232"),
    Sample("roll", lambda T, x: x.roll(2, 0), "34; 5"),
    Sample("repeat", lambda T, x: x.repeat(2, 1, 3), "32; 2; 212"),
    Sample("repeat", lambda T, x: x.repeat(2), ".; 3"),
    Sample("cat", lambda T, x, y: T.cat([x, y], 1), "34 32; 20 23"),
    Sample("cat", lambda T, x, y: T.cat([x, y, x]), "34 24"),
    Sample("stack", lambda T, x, y: T.stack([x, y], -1), "34 34; . ."),
    Sample("stack", lambda T, x, y: T.stack([x, y, x]), "3 3"),
    Sample("split", lambda T, x: x.split(2)[0] * x.split(2)[1].sum(), "34; 4", named="several nodes"),
    Sample("split_with_sizes", lambda T, x: T.cat(x.split([1, 0, 3], -1)[::-1], -1), "34; 214", named="several nodes"),
    Sample("split", lambda T, x: x.chunk(3, 1)[1], "34; 251"),
    Sample("unbind", lambda T, x: x.unbind()[1], "34; 2"),
    Sample("unbind", lambda T, x: T.stack(x.unbind(-1)[::-1]), "34; 232", named="several nodes"),
    Sample("diagonal", lambda T, x: x.diagonal(), MATRIX),
    Sample("diagonal", lambda T, x: x.diagonal(1, -2, -1), MATRIX),
    Sample("diagonal_scatter", lambda T, g: T.diagonal_scatter(T.zeros(3, 4, dtype=g.dtype), g, 1), "3",
           ours=row("diagonal_scatter", shape=(3, 4), offset=1, axis1=-2, axis2=-1), named="PyTorch's has two inputs"),
    Sample("tril", lambda T, x: x.tril(), MATRIX),
    Sample("tril", lambda T, x: x.tril(1), MATRIX),
    Sample("triu", lambda T, x: x.triu(-1), MATRIX),
]  # fmt: skip


def placed(T, g):
    out = T.zeros(4, 5, dtype=g.dtype)
    out[1:3, ::2] = g
    return out


def added_at(T, g):
    i, j = T.tensor([0, 1, 1, 1]), T.tensor([2, 0, 0, 1])
    return T.zeros(2, 3, dtype=g.dtype).index_put((i, j), g, accumulate=True)


def written_to_view(T, x, y):
    out = x * 1
    out[1:, 0] = y
    return out


INDEXING = [
    Sample("select", lambda T, x: x[1], "34; 2"),
    Sample("select", lambda T, x: x[..., -1], "34; 232"),
    Sample("slice", lambda T, x: x[1:], "34; 12"),
    Sample("slice", lambda T, x: x[..., ::2], "34; 5"),
    Sample("slice", lambda T, x: x.narrow(1, 1, 2), "34"),
    Sample("place", placed, "23", ours=row("place", key=(..., slice(1, 3), slice(None, None, 2)), shape=(4, 5)),
           named="written in place"),
    Sample("as_strided", lambda T, x: x.as_strided((2, 2), (1, 4)), "8"),
    Sample("as_strided", lambda T, x: x.as_strided((2, 3), (1, 1)), "6"),
    Sample("as_strided", lambda T, x: x.as_strided((), ()), "6"),
    Sample("alias", lambda T, x: x[...], "34; ."),
    Sample("unfold", lambda T, x: x.unfold(0, 3, 2), "8; 64"),
    Sample("unfold", lambda T, x: x.unfold(-2, 2, 1), "34"),
    Sample("unfold_back", lambda T, g: T.zeros(5, dtype=g.dtype).index_add(0, T.tensor([0, 1, 2, 2, 3, 4]), g.reshape(-1)), "23",
           ours=row("unfold_back", x_shape=(5,), axis=-1, size=3, step=2), named="PyTorch's has no public name"),
    Sample("as_strided_back", lambda T, g: T.zeros(3, 4, dtype=g.dtype).as_strided_scatter(g, (2, 2), (1, 4), 1), "22",
           ours=row("as_strided_back", x_shape=(3, 4), part=Part((2, 2), (1, 4), 1, (4, 1))), named="PyTorch's has two inputs"),
    Sample("as_strided_scatter", written_to_view, "34 2",
           ours=row("as_strided_scatter", part=Part((2,), (4,), 4, (4, 1))), named="written in place"),
    Sample("index", lambda T, x: x[[0, 2, 2]], "34; 3"),
    Sample("index", lambda T, x: x[:, T.tensor([[0, 1], [1, 1]])], "34; 232"),
    Sample("index", lambda T, x: x[[0, 1], [1, 0]], "34; 232"),
    Sample("index", lambda T, x: x[T.tensor([True, False, True])], "34; 3"),
    Sample("add_at", added_at, "4", ours=row("add_at", key=(np.array([0, 1, 1, 1]), np.array([2, 0, 0, 1])), shape=(2, 3)),
           named="PyTorch's index_put accumulates"),
    Sample("index_put", lambda T, x, y: x.index_put((T.tensor([2, 0]),), y), "34 24; 34 4; 3 .",
           ours=row("index_put", key=(np.array([2, 0]),))),
    Sample("gather", lambda T, x: x.gather(0, T.tensor([[0, 1, 2, 0], [1, 1, 0, 0]])), "34; 35"),
    Sample("gather", lambda T, x: x.gather(-1, T.tensor([[0, 1], [1, 1]])), "34"),
    Sample("gather", lambda T, x: x.gather(0, T.tensor(0)), "."),
    Sample("scatter_add", lambda T, x, y: x.scatter_add(0, T.tensor([[0, 1, 2, 0], [1, 1, 0, 0]]), y), "34 24; 54 24"),
    Sample("scatter_add", lambda T, x, y: x.scatter_add(1, T.tensor([[0, 0, 0]]), y), "34 13"),
    Sample("index_select", lambda T, x: x.index_select(1, T.tensor([0, 0, 2])), "34; 232"),
    Sample("index_add", lambda T, x, y: x.index_add(0, T.tensor([0, 0, 2]), y), "34 34; 4 3"),
    Sample("embedding", lambda T, x: T.nn.functional.embedding(T.tensor([[0, 1, 1], [2, 1, 0]]), x), "34"),
    Sample("embedding_back", lambda T, g: T.zeros(3, 4, dtype=g.dtype).index_add(0, T.tensor([0, 2, 2]), g), "34",
           ours=lambda T, g: row("embedding_back", rows=3)(T, g, np.array([0, 2, 2])), named="PyTorch's is embedding_dense_backward"),
]  # fmt: skip

PRODUCTS = [
    Sample("mm", lambda T, x, y: x @ y, "34 42; 14 41; 20 03; 02 23"),
    Sample("bmm", lambda T, x, y: T.bmm(x, y), "234 242; 112 121"),
    Sample("mv", lambda T, x, y: x @ y, "34 4; 11 1; 02 2"),
    Sample("vm", lambda T, x, y: x @ y, "3 34; 1 11; 2 20", ours=row("vm"), named="an inner row of nn.functional.linear"),
    Sample("outer_sum", lambda T, x, y: x.flatten(0, -2).mT @ y.flatten(0, -2), "23 24; 212 213; 14 11", ours=row("outer_sum"),
           named="an inner row of nn.functional.linear"),
    Sample("dot", lambda T, x, y: x @ y, "4 4; 0 0"),
    Sample("outer", lambda T, x, y: x.unsqueeze(-1) * y.unsqueeze(-2), "3 4; 23 24", ours=row("outer"),
           named="PyTorch multiplies: MulBackward0"),
    Sample("matmul", lambda T, x, y: x @ y, "234 42; 2132 322; 23 231; 023 31",
           named="PyTorch expands, multiplies and reshapes"),
    Sample("matmul", lambda T, x, y: x @ y, "4 243; 234 4; 4 43", named="PyTorch expands, multiplies and reshapes"),
    Sample("linear", lambda T, x, w, b: T.nn.functional.linear(x, w, b), "34 24 2; 11 11 1"),
    Sample("linear", lambda T, x, w, b: T.nn.functional.linear(x, w, b), "4 24 2; 234 24 2",
           ours=row("linear"), named="PyTorch reshapes around an addmm"),
    Sample("addmm", lambda T, b, x, y: T.addmm(b, x, y), "2 34 42; 1 11 11", ours=row("addmm")),
    *(Sample("einsum", lambda T, x, y, e=e: T.einsum(e, x, y), cases, named="PyTorch takes it apart")
      for e, cases in {
          "ij,jk->ik": "34 42", "ij,ij": "34 34", "i,j->ij": "3 2", "ij,k->k": "34 2",
          "...ij,jk->...ik": "234 42", "ii,ij->j": "33 32", "ij,ij->ij": "34 14",
      }.items()),
    Sample("einsum", lambda T, x: T.einsum("ij->j", x), "34", named="PyTorch takes it apart"),
    Sample("einsum", lambda T, x: T.einsum("ij->", x), "34", named="PyTorch takes it apart"),
    Sample("einsum", lambda T, x, y, z: T.einsum("ij,jk,kl->il", x, y, z), "23 34 42", named="PyTorch takes it apart"),
]  # fmt: skip

SOME, ONE = [2, 0, 2], [[1, 0], [3, 2]]
NETWORKS = [
    *(Sample("mse_loss", lambda T, x, y, r=r: T.nn.functional.mse_loss(x, y, reduction=r), "34 34; . .")
      for r in ("mean", "sum", "none")),
    *(Sample("nll_loss", lambda T, x, r=r: T.nn.functional.nll_loss(x, T.tensor(SOME), reduction=r), "34")
      for r in ("mean", "sum", "none")),
    Sample("nll_loss", lambda T, x: T.nn.functional.nll_loss(x, T.tensor([2, -100, 0])), "34"),
    Sample("nll_loss", lambda T, x: T.nn.functional.nll_loss(x, T.tensor(1)), "3"),
    Sample("nll_loss", lambda T, x, w: T.nn.functional.nll_loss(x, T.tensor(SOME), w, ignore_index=0), "34 4",
           (normal, weights)),
    Sample("nll_loss", lambda T, x: T.nn.functional.nll_loss(x, T.tensor(ONE)), "242"),
    *(Sample("binary_cross_entropy_with_logits",
             lambda T, x, y, r=r: T.nn.functional.binary_cross_entropy_with_logits(x, y, reduction=r), "34 34; . .")
      for r in ("mean", "sum", "none")),
    Sample("binary_cross_entropy_with_logits",
           lambda T, x, y, w, p: T.nn.functional.binary_cross_entropy_with_logits(x, y, w, pos_weight=p),
           "34 34 31 4", (normal, normal, weights, weights)),
    Sample("layer_norm", lambda T, x: T.nn.functional.layer_norm(x, (4,)), "34; 234"),
    Sample("layer_norm", lambda T, x, w, b: T.nn.functional.layer_norm(x, (3, 4), w, b, 1e-3), "34 34 34; 234 34 34"),
    Sample("layer_norm", lambda T, x, w: T.nn.functional.layer_norm(x, (4,), w), "34 4"),
]  # fmt: skip

SAMPLES = [*ARITHMETIC, *TRANSCENDENTAL, *CHOICES, *COMPARISONS, *REDUCTIONS, *SHAPES, *INDEXING, *PRODUCTS, *NETWORKS]

# Families in files of their own, beside this one.
for family in sorted(Path(__file__).parent.glob("samples_*.py")):
    SAMPLES += import_module(f"{__package__}.{family.stem}").SAMPLES
