"""Rows that the numba backend takes in one pass give what NumPy's kernels give, and leave to those what is not for them."""

import numpy as np
import pytest

import autolab as torch
from autolab.compiler import source_of
from autolab.fast.kernels import index, nn, recurrent
from autolab.rules import recurrent as rows

pytestmark = [pytest.mark.numba, pytest.mark.speed, pytest.mark.filterwarnings("ignore::RuntimeWarning")]
WIDTHS = 1, 3, 16, 65, 200


def numbers(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def one_pass(function):
    from autolab.compiler.one_pass import ONE_PASS

    return ONE_PASS[function]


def agree(function, *args, **settings):
    """The function of one pass and NumPy's kernel on these arguments."""
    mine, right = one_pass(function)(*args, **settings), function(*args, **settings)
    several = isinstance(right, tuple | list)
    for a, b in zip(mine, right, strict=True) if several else [(mine, right)]:
        assert (np.shape(a), a.dtype) == (np.shape(b), b.dtype)
        scale = np.abs(b[np.isfinite(b)]).max(initial=1)
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6 * scale)


def lstm_inputs(steps, sequences, units, dtype=np.float32):
    gates = numbers(steps, sequences, 4 * units, dtype=dtype)
    return gates, numbers(4 * units, units, seed=1, dtype=dtype) / 4, *numbers(2, sequences, units, seed=2, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("steps", "sequences", "units"), [(1, 1, 1), (5, 3, 7), (9, 16, 64)])
def test_an_lstm_goes_both_ways_as_before(steps, sequences, units, dtype):
    xs = lstm_inputs(steps, sequences, units, dtype)
    agree(recurrent.lstm, *xs)
    g = tuple(numbers(2, steps, sequences, units, seed=3, dtype=dtype))
    mine, right = (back(g, list(xs), *forward(*xs)) for forward, back in [
        (one_pass(recurrent.lstm), one_pass(recurrent.lstm_back)), (recurrent.lstm, recurrent.lstm_back)
    ])  # fmt: skip
    for a, b in zip(mine, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("steps", "sequences", "units"), [(1, 1, 1), (5, 3, 7), (9, 16, 64)])
def test_a_gru_goes_both_ways_as_before(steps, sequences, units, dtype):
    gates, w, h, _ = lstm_inputs(steps, sequences, units, dtype)
    xs = gates[..., units:], w[units:], numbers(3 * units, seed=4, dtype=dtype), h
    agree(recurrent.gru, *xs)
    agree(rows.gru_rule, numbers(steps, sequences, units, seed=3, dtype=dtype), list(xs), recurrent.gru(*xs))


def test_an_lstm_goes_back_a_second_time_to_the_same_gradients():
    xs = lstm_inputs(5, 3, 7)
    out = one_pass(recurrent.lstm)(*xs)
    g = tuple(numbers(2, 5, 3, 7, seed=3))
    first, second = (one_pass(recurrent.lstm_back)(g, list(xs), *out) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_gates_that_saturate_stay_numbers():
    gates, *others = lstm_inputs(3, 2, 4)
    agree(recurrent.lstm, gates * 1000, *others)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("width", WIDTHS)
def test_cross_entropy_goes_both_ways_as_before(width, reduction):
    x, target = 9 * numbers(40, width), np.arange(40) % width
    agree(nn.cross_entropy, x, target, reduction=reduction)
    g = numbers(40, seed=1) if reduction == "none" else np.float32(0.7)
    agree(nn.cross_entropy_back, g, x, target, reduction=reduction)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("width", WIDTHS)
def test_softmax_along_the_last_axis_and_along_others(name, width):
    for axis in (-1, 1, 0):
        agree(getattr(nn, name), 30 * numbers(4, width), axis=axis)
    agree(getattr(nn, name), numbers(width, 3, 4).T, axis=-1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_without_a_number_for_a_largest_stay_as_they_are(name):
    x = numbers(5, 20)
    x[0, 3], x[1, 4], x[2, 5], x[3] = np.nan, np.inf, -np.inf, -np.inf
    agree(getattr(nn, name), x, axis=-1)


@pytest.mark.parametrize("width", WIDTHS)
def test_layer_norm_goes_both_ways_as_before(width):
    x, weight, bias = 5 + numbers(6, 7, width), numbers(width, seed=1), numbers(width, seed=2)
    agree(nn.layer_norm, x, weight, bias, axes=(-1,), eps=1e-5)
    agree(nn.centred_over, x, (-1,), 1e-5)
    centre, g = nn.centred_over(x, (-1,), 1e-5), numbers(6, 7, width, seed=3)
    agree(nn.layer_norm_rule, g, centre, weight, (-1,))
    agree(nn.layer_norm_weight_rule, g, centre, (width,))
    agree(nn.layer_norm, x, numbers(7, width), numbers(7, width), axes=(-2, -1), eps=1e-5)


@pytest.mark.parametrize("shape", [(4, 3, 5, 5), (2, 8, 33), (6, 5)])
def test_batch_norm_goes_both_ways_as_before(shape):
    x, weight, bias = 5 + numbers(*shape), numbers(shape[1], seed=1), numbers(shape[1], seed=2)
    agree(nn.batch_norm, x, weight, bias, eps=1e-5)
    _, mean, var = nn.batch_norm(x, weight, bias, eps=1e-5)
    d = x - mean.reshape(-1, *(1,) * (x.ndim - 2))
    agree(nn.batch_norm_rule, (numbers(*shape, seed=3), numbers(shape[1], seed=4), numbers(shape[1], seed=5)), d, weight, var, 1e-5)


def test_rows_are_added_where_an_index_says():
    g, places = numbers(50, 6), np.random.default_rng(0).integers(-9, 9, 50)
    agree(index.embedding_back, g, np.abs(places) % 9, rows=9)
    agree(index.embedding_back, g.reshape(5, 10, 6), np.abs(places).reshape(5, 10) % 9, rows=9)
    agree(index.add_at, g, key=(places, slice(None)), shape=(9, 6))
    agree(index.add_at, g.T, key=(slice(None), places), shape=(6, 9))
    agree(index.index_add, numbers(9, 6, seed=1), np.abs(places) % 9, g, axis=-2)
    agree(index.index_add, numbers(6, 9, seed=1), np.abs(places) % 9, g.T, axis=-1)


def test_a_place_that_is_not_there_raises_as_before():
    with pytest.raises(IndexError):
        one_pass(index.embedding_back)(numbers(2, 3), np.array([0, 5]), rows=4)
    with pytest.raises(IndexError):
        one_pass(nn.cross_entropy)(numbers(2, 3), np.array([0, 5]), reduction="mean")


def model(kind):
    layers = torch.nn
    if kind == "lstm":
        return layers.LSTM(16, 40), lambda out: out[0].square().mean(), (8, 16, 16)
    if kind == "gru":
        return layers.GRU(16, 40), lambda out: out[0].square().mean(), (8, 16, 16)
    if kind == "batch norm":
        return layers.Sequential(layers.Conv2d(2, 8, 3), layers.BatchNorm2d(8)), lambda out: out.square().mean(), (8, 2, 12, 12)
    net = layers.Sequential(layers.Linear(16, 64), layers.LayerNorm(64), layers.GELU(), layers.Softmax(-1))
    return net, lambda out: out.square().mean(), (100, 16)


@pytest.mark.parametrize(
    ("kind", "called"), [("lstm", "lstm_back"), ("gru", "gru_back"), ("batch norm", "batch_norm_rule"), ("layer norm", "layer_norm_rule")]
)
def test_a_compiled_network_gives_the_gradients_of_eager_mode(kind, called):
    torch.manual_seed(0)
    net, loss, shape = model(kind)
    x = torch.randn(*shape)

    def step():
        return torch.autograd.grad(loss(net(x)), list(net.parameters()))

    fast = torch.compile(step, backend="numba", fullgraph=True)
    fast()
    for mine, right in zip(fast(), step(), strict=True):
        np.testing.assert_allclose(mine.numpy(), right.numpy(), rtol=1e-4, atol=1e-6)
    assert f"{called}(" in source_of(fast)
