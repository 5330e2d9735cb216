"""Where a function has a corner, a pole or no end: the choice is PyTorch's, and it is written here."""

from math import inf, nan

import numpy as np
import pytest

import autolab
from autolab.nn import functional as F
from autolab.rules import calculus

pytestmark = pytest.mark.filterwarnings(r"ignore::RuntimeWarning:autolab\.")

# expression, x, the value, the gradient of its sum
CHOICES = {
    "relu at 0": (lambda T, x: x.relu(), [-1, 0, 1], [0, 0, 1], [0, 0, 1]),
    "relu lets no infinite gradient through where it is off": (lambda T, x: x.relu().sqrt(), [-1, 0, 4], [0, 0, 2], [0, 0, 0.25]),
    "leaky_relu at 0": (lambda T, x: T.nn.functional.leaky_relu(x, 0.1), [-1, 0, 1], [-0.1, 0, 1], [0.1, 0.1, 1]),
    "abs at 0": (lambda T, x: x.abs(), [-2, 0, 2], [2, 0, 2], [-1, 0, 1]),
    "sign is flat": (lambda T, x: x.sign() * x, [-2, 0, 3], [2, 0, 3], [-1, 0, 1]),
    "clamp at its bounds": (lambda T, x: x.clamp(-1, 1), [-2, -1, 0, 1, 2], [-1, -1, 0, 1, 1], [0, 1, 1, 1, 0]),
    "clamp with its bounds the wrong way round": (lambda T, x: x.clamp(1, -1), [-2, 0, 2], [-1, -1, -1], [0, 0, 0]),
    "clamp of nan": (lambda T, x: x.clamp(-1, 1), [nan, 0], [nan, 0], [0, 1]),
    "sqrt at 0": (lambda T, x: x.sqrt(), [0, 4, -1], [0, 2, nan], [inf, 0.25, nan]),
    "rsqrt at 0": (lambda T, x: x.rsqrt(), [0, 4], [inf, 0.5], [-inf, -0.0625]),
    "log at 0": (lambda T, x: x.log(), [0, 1, -1], [-inf, 0, nan], [inf, 1, -1]),
    "reciprocal at 0": (lambda T, x: 1 / x, [0, 2], [inf, 0.5], [-inf, -0.25]),
    "x ** 0": (lambda T, x: x**0, [0, 2, inf], [1, 1, 1], [0, 0, 0]),
    "x ** 1 at 0": (lambda T, x: x**1, [0, 2], [0, 2], [1, 1]),
    "x ** 2 at 0": (lambda T, x: x**2, [0, -3], [0, 9], [0, -6]),
    "x ** 0.5 at 0": (lambda T, x: x**0.5, [0, 4], [0, 2], [inf, 0.25]),
    "x ** -1 at 0": (lambda T, x: x**-1, [0, 2], [inf, 0.5], [-inf, -0.25]),
    "0 ** x": (lambda T, x: 0**x, [0, 1, -1], [1, 0, inf], [0, 0, -inf]),
    "a tensor to a tensor, base": (lambda T, x: x ** T.tensor([0.0, 1, 2, 0.5]), [0, 0, -1, 4], [1, 0, 1, 2], [0, 1, -2, 0.25]),
    "a tensor to a tensor, exponent": (lambda T, x: T.tensor([0.0, 0, -1, 1]) ** x, [0, 2, 2, 5], [1, 0, 1, 1], [0, 0, nan, 0]),
    "softplus far out": (lambda T, x: T.nn.functional.softplus(x), [-1000, 0, 1000], [0, np.log(2), 1000], [0, 0.5, 1]),
    "sigmoid far out": (lambda T, x: x.sigmoid(), [-1000, 0, 1000], [0, 0.5, 1], [0, 0.25, 0]),
    "silu far out": (lambda T, x: T.nn.functional.silu(x), [-1000, 0, 1000], [0, 0, 1000], [0, 0.5, 1]),
    "elu far out": (lambda T, x: T.nn.functional.elu(x), [-1000, 0, 1000, -inf, inf], [-1, 0, 1000, -1, inf], [0, 1, 1, 0, 1]),
    "gelu far out": (lambda T, x: T.nn.functional.gelu(x), [-1000, 0, 1000], [0, 0, 1000], [0, 0.5, 1]),
    "tanh far out": (lambda T, x: x.tanh(), [-1000, 0, 1000], [-1, 0, 1], [0, 1, 0]),
    "erf far out": (lambda T, x: x.erf(), [-inf, inf, nan], [-1, 1, nan], [0, 0, nan]),
    "maximum shares a tie": (lambda T, x: T.maximum(x, T.tensor([0.0, 0, 0])), [-1, 0, 1], [0, 0, 1], [0, 0.5, 1]),
    "maximum beside nan": (lambda T, x: T.maximum(x, T.tensor([nan, 0.0])), [1, nan], [nan, nan], [1, 1]),
    "minimum shares a tie": (lambda T, x: T.minimum(x, T.tensor([0.0, 0, 0])), [-1, 0, 1], [-1, 0, 0], [1, 0.5, 0]),
    "max of all shares ties": (lambda T, x: x.max(), [1, 3, 3], 3, [0, 0.5, 0.5]),
    "max of all with a nan": (lambda T, x: x.max(), [1, nan, 2], nan, [0, 1, 0]),
    "max along a dim takes the first": (lambda T, x: x.max(0).values, [1, 3, 3], 3, [0, 1, 0]),
    "amax shares ties": (lambda T, x: x.amax(0), [1, 3, 3], 3, [0, 0.5, 0.5]),
    "amin shares ties": (lambda T, x: x.amin(), [1, 1, 3], 1, [0.5, 0.5, 0]),
    "prod with one zero": (lambda T, x: x.prod(), [0, 2, 3], 0, [6, 0, 0]),
    "prod with two zeros": (lambda T, x: x.prod(0), [0, 2, 0], 0, [0, 0, 0]),
    "std of equal entries": (lambda T, x: x.std(), [2, 2, 2], 0, [0, 0, 0]),
    "var of equal entries": (lambda T, x: x.var(), [2, 2, 2], 0, [0, 0, 0]),
    "std of one entry, whole population": (lambda T, x: x.std(correction=0), [2], 0, [0]),
    "norm at 0": (lambda T, x: x.norm(), [0, 0], 0, [0, 0]),
    "1-norm at 0": (lambda T, x: x.norm(1), [0, -2], 2, [0, -1]),
    "3-norm at 0": (lambda T, x: x.norm(3), [0, 0], 0, [0, 0]),
    "inf-norm shares ties": (lambda T, x: x.norm(inf), [1, 2, -2], 2, [0, 0.5, -0.5]),
    "0-norm counts": (lambda T, x: x.norm(0) + 0 * x.sum(), [0, 2, 3], 2, [0, 0, 0]),
    "logsumexp of nothing but zeros": (lambda T, x: x.logsumexp(0), [-inf, -inf], -inf, [nan, nan]),
    "logsumexp with a zero": (lambda T, x: x.logsumexp(0), [-inf, 1, 1], 1 + np.log(2), [0, 0.5, 0.5]),
    "logsumexp of large numbers": (lambda T, x: x.logsumexp(0), [1e4, -1e4], 1e4, [1, 0]),
    "log_softmax of large numbers": (lambda T, x: x.log_softmax(0)[1], [1e4, -1e4], -2e4, [-1, 1]),
    "log_softmax with a zero": (lambda T, x: x.log_softmax(0)[0], [0, -inf], 0, [0, 0]),
    "softmax with a zero": (lambda T, x: x.softmax(0)[0], [0, 0, -inf], 0.5, [0.25, -0.25, 0]),
    "cross entropy far out": (lambda T, x: T.nn.functional.cross_entropy(x, T.tensor(0)), [-1e4, 1e4], 2e4, [-1, 1]),
    "cross entropy of an impossible class": (lambda T, x: T.nn.functional.cross_entropy(x, T.tensor(1)), [-inf, 1, 1], np.log(2), [0, -0.5, 0.5]),
    "cross entropy of nothing": (lambda T, x: T.nn.functional.cross_entropy(x.view(1, 2), T.tensor([-100])), [1, 2], nan, [0, 0]),
    "binary cross entropy far out, wrong": (
        lambda T, x: T.nn.functional.binary_cross_entropy_with_logits(x, T.tensor([0.0, 1], dtype=x.dtype), reduction="none"),
        [100, -100], [100, 100], [1, -1]),
    "binary cross entropy far out, right": (
        lambda T, x: T.nn.functional.binary_cross_entropy_with_logits(x, T.tensor([0.0, 1], dtype=x.dtype), reduction="none"),
        [-100, 100], [0, 3.720075976020836e-44], [3.720075976020836e-44, 0]),
    "layer_norm of equal entries": (lambda T, x: T.nn.functional.layer_norm(x, (3,))[0], [2, 2, 2], 0, np.array([2, -1, -1]) / 3e-5**0.5 / 3**0.5),
    "where hides the branch not taken from the value, not from the gradient": (
        lambda T, x: T.where(x > 0, x.log(), x), [-1, 0, 1], [-1, 0, 0], [1, nan, 1]),
    "remainder has the sign of the divisor": (lambda T, x: x % 3, [5, -5, 3], [2, 1, 0], [1, 1, 1]),
    "fmax at a tie takes the first": (lambda T, x: T.fmax(x, T.tensor([0.0, 0, nan])), [0, 1, 2], [0, 1, 2], [1, 1, 1]),
    "fmin beside nan": (lambda T, x: T.fmin(x, T.tensor([0.0, 1, 2])), [nan, 1, 3], [0, 1, 2], [0, 1, 0]),
    "a bound that is a tensor": (lambda T, x: T.clamp_max(T.tensor([1.0, 1, 1]), x), [0, 1, 2], [0, 1, 1], [1, 0, 0]),
    "clamp between tensors, inside out": (
        lambda T, x: T.clamp(x, T.tensor([1.0, 1, 1]), T.tensor([0.0, 0, 0])), [-1, 0.5, 2], [0, 0, 0], [0, 0, 0]),
    "atan2 at 0": (lambda T, x: T.atan2(x, T.tensor([0.0, -1])), [0, 0], [0, np.pi], [0, -1]),
    "hypot at 0": (lambda T, x: T.hypot(x, T.tensor([0.0, 1])), [0, 0], [0, 1], [nan, 0]),
    "logaddexp of two infinities": (lambda T, x: T.logaddexp(x, T.tensor([-inf, 1.0])), [0, -inf], [0, 1], [1, 0]),
    "logaddexp far out": (lambda T, x: T.logaddexp(x, T.tensor([0.0, 0])), [1e4, -1e4], [1e4, 0], [1, 0]),
    "xlogy at 0": (lambda T, x: T.xlogy(x, T.tensor([0.0, 2, -1], dtype=x.dtype)), [0, 0, 0], [0, 0, 0], [0, np.log(2), 0]),
    "xlogy beside 0": (lambda T, x: T.xlogy(T.tensor([0.0, 1]), x), [0, 0], [0, -inf], [nan, inf]),
    "logit at the ends": (lambda T, x: T.logit(x), [0, 1, 2], [-inf, inf, nan], [inf, inf, nan]),
    "logit within eps of the ends": (lambda T, x: T.logit(x, 0.25), [0, 0.25, 1], [-np.log(3), -np.log(3), np.log(3)], [0, 16 / 3, 0]),
    "sinc at 0": (lambda T, x: T.sinc(x), [0, 1], [1, 3.8981718325193755e-17], [0, -1]),
    "log1p of little": (lambda T, x: T.log1p(x), [1e-20, -1], [1e-20, -inf], [1, inf]),
    "expm1 of little": (lambda T, x: T.expm1(x), [1e-20, -1000], [1e-20, -1], [1, 0]),
    "copysign at 0": (lambda T, x: T.copysign(x, -1), [0, 2], [0, -2], [0, -1]),
    "nan_to_num hides what it replaces": (lambda T, x: T.nan_to_num(x, 0.0, 1.0, 2.0), [nan, inf, -inf, 3], [0, 1, 2, 3], [0, 0, 0, 1]),
    "lerp to the end": (lambda T, x: T.lerp(T.tensor([1e16], dtype=T.float64), T.tensor([1.0], dtype=T.float64), x), [1], [1], [1 - 1e16]),
    "sort of equals": (lambda T, x: x.sort()[0] * T.tensor([1.0, 2, 3]), [1, 1, 0], [0, 2, 3], [2, 3, 1]),
    "median of all shares ties": (lambda T, x: x.median(), [1, 2, 2], 2, [0, 0.5, 0.5]),
    "median of all with nan": (lambda T, x: x.median(), [1, nan, 2], nan, [0, 1, 0]),
    "nanmedian of all": (lambda T, x: x.nanmedian(), [1, nan, 2, 3], 2, [0, 0, 1, 0]),
    "cummax gives equals to the last": (lambda T, x: x.cummax(0)[0], [1, 1, 0], [1, 1, 1], [1, 2, 0]),
    "cummin with nan": (lambda T, x: x.cummin(0)[0], [1, nan, 0], [1, nan, nan], [1, 2, 0]),
    "cumprod with zeros": (lambda T, x: x.cumprod(0), [2, 0, 3, 0], [2, 0, 0, 0], [1, 8, 0, 0]),
    "logcumsumexp far out": (lambda T, x: x.logcumsumexp(0), [1e4, -1e4, 1e4], [1e4, 1e4, 1e4 + np.log(2)], [2.5, 0, 0.5]),
    "nansum of nan": (lambda T, x: x.nansum(), [nan, 2], 2, [0, 1]),
    "aminmax shares ties": (lambda T, x: x.aminmax()[0], [1, 1, 2], 1, [0.5, 0.5, 0]),
    "quantile between two": (lambda T, x: x.quantile(T.tensor(0.25, dtype=T.float64)), [0, 1], 0.25, [0.75, 0.25]),
    "erfinv at the ends": (lambda T, x: T.erfinv(x), [-1, 1, 2], [-inf, inf, nan], [inf, inf, nan]),
    "lgamma at the poles": (lambda T, x: T.lgamma(x), [0, -1, 1], [inf, inf, 0], [-inf, nan, -0.5772156649015329]),
    "round goes to even": (lambda T, x: x.round(), [0.5, 1.5, 2.5, -0.5], [0, 2, 2, 0], [0, 0, 0, 0]),
}  # fmt: skip


def value_and_gradient(T, expression, x):
    t = T.tensor(x, dtype=T.float64, requires_grad=True)
    with np.errstate(all="ignore"):
        out = expression(T, t)
        out.sum().backward()
    return out.detach().numpy(), t.grad.numpy()


@pytest.mark.parametrize("name", CHOICES)
def test_the_choice(name):
    expression, x, value, gradient = CHOICES[name]
    ours, slope = value_and_gradient(autolab, expression, x)
    np.testing.assert_allclose(ours, np.broadcast_to(value, ours.shape), rtol=1e-12, atol=1e-44)
    np.testing.assert_allclose(slope, gradient, rtol=1e-12, atol=1e-44)


@pytest.mark.parametrize("name", CHOICES)
def test_pytorch_makes_the_same_choice(torch, name):
    expression, x, value, gradient = CHOICES[name]
    theirs, slope = value_and_gradient(torch, expression, x)
    np.testing.assert_allclose(theirs, np.broadcast_to(value, theirs.shape), rtol=1e-12, atol=1e-44)
    np.testing.assert_allclose(slope, gradient, rtol=1e-12, atol=1e-44)


def second(expression, x):
    t = autolab.tensor(x, dtype=autolab.float64, requires_grad=True)
    (g,) = autolab.autograd.grad(expression(t), t, create_graph=True)
    return np.stack([autolab.autograd.grad(gi, t, retain_graph=True)[0].numpy() for gi in g])


@pytest.mark.parametrize("f", [autolab.xlogy, autolab.special.xlog1py])
@pytest.mark.parametrize("dtype", [autolab.float32, autolab.float16])
def test_a_gradient_beside_a_number_has_the_dtype_of_its_tensor(f, dtype):
    x = autolab.ones(2, dtype=dtype, requires_grad=True)
    assert f(x, 2.0).dtype == autolab.autograd.grad(f(x, 2.0).sum(), x)[0].dtype == dtype


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_a_logarithm_that_counts_nothing_is_not_taken(name):
    row = getattr(calculus, name)
    with np.errstate(all="raise"):
        assert row.forward(np.zeros(3), np.array([-1.0, -1.5, -2])).tolist() == [0, 0, 0]


def test_prod_has_second_derivatives_at_zeros():
    assert second(lambda x: x.prod(), [0, 0, 3]).tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]


def test_prod_of_many_takes_neither_long_nor_much_memory():
    x = autolab.ones(100_003, dtype=autolab.float64, requires_grad=True)
    x.prod().backward()
    assert x.grad.numpy().tolist() == [1.0] * 100_003


def test_second_derivatives_at_a_kink_are_numbers():
    assert second(lambda x: x.norm(), [0, 0]).tolist() == [[0, 0], [0, 0]]
    assert second(lambda x: x.std(), [2, 2]).tolist() == [[0, 0], [0, 0]]
    assert second(lambda x: (x ** autolab.tensor([0.0, 2.0])).sum(), [0, 0]).tolist() == [[0, 0], [0, 2]]


@pytest.mark.parametrize("reduce", ["std", "var"])
def test_one_entry_has_no_spread_and_says_so(reduce):
    with np.errstate(all="ignore"), pytest.warns(UserWarning, match=rf"{reduce}\(\): degrees of freedom is <= 0"):
        assert np.isnan(getattr(autolab.tensor([3.0]), reduce)().item())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_erf_is_within_two_units_in_the_last_place(dtype, rng):
    from math import erf

    x = np.concatenate([rng.uniform(-7, 7, 2000), rng.normal(size=2000), 10 ** rng.uniform(-30, 0, 1000)]).astype(dtype)
    exact = np.array([erf(v) for v in x.tolist()])
    error = np.abs(autolab.tensor(x).erf().numpy() - exact)
    assert (error <= 2.2 * np.spacing(np.abs(exact).astype(dtype))).all()


def test_dropping_everything_and_nothing():
    x = autolab.ones(4, requires_grad=True)
    assert F.dropout(x, 1.0).tolist() == [0, 0, 0, 0]
    assert F.dropout(x, 0.0) is x and F.dropout(x, 0.5, training=False) is x


def test_scatter_add_reads_only_what_the_index_names():
    src = autolab.ones(3, 5, requires_grad=True)
    autolab.zeros(3, 4).scatter_add(0, autolab.tensor([[0, 1, 2, 0]]), src).sum().backward()
    assert src.grad.tolist() == [[1, 1, 1, 1, 0], [0] * 5, [0] * 5]


@pytest.mark.parametrize("name", "celu elu gelu hardswish leaky_relu logsigmoid mish relu selu sigmoid silu softplus tanh".split())
@pytest.mark.parametrize("size", [3, 5000])
def test_nan_stays_nan(name, size):
    assert getattr(F, name)(autolab.full((size,), nan)).isnan().all()


def higher(lib, f, order=4):
    x = lib.tensor([-2.0, 0, 0.5], dtype=lib.float64, requires_grad=True)
    y = f(lib.nn.functional, x)
    for _ in range(order):
        (y,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        yield y.tolist()


HIGHER = {
    "mish": lambda F, x: F.mish(x),
    "softplus": lambda F, x: F.softplus(x),
    "logsigmoid": lambda F, x: F.logsigmoid(x),
    "silu": lambda F, x: F.silu(x),
    "gelu": lambda F, x: F.gelu(x),
    "elu": lambda F, x: F.elu(x, alpha=1.5),
    "celu": lambda F, x: F.celu(x, alpha=1.5),
    "selu": lambda F, x: F.selu(x),
    "binary cross entropy, with weights": lambda F, x: F.binary_cross_entropy_with_logits(x, x, pos_weight=x.detach() * 0 + 3),
}


@pytest.mark.parametrize("name", HIGHER)
def test_higher_derivatives_at_0_are_pytorchs(name, torch):
    for mine, expected in zip(higher(autolab, HIGHER[name]), higher(torch, HIGHER[name]), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-12)
