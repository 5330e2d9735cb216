"""Images that lie as (H, C, W, N) between convolutions: the values of the formula, and nothing that a user could tell from before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import autolab as torch
from autolab.compiler import source_of
from autolab.fast.kernels import batch_last as last
from autolab.rules import conv as rows

pair = st.tuples(st.integers(1, 3), st.integers(1, 3))


def numbers(*shape, dtype=np.float64):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def close(mine, right):
    assert (mine.shape, mine.dtype) == (right.shape, right.dtype)
    np.testing.assert_allclose(mine, right, rtol=0, atol=(1e-4 if right.dtype == np.float32 else 1e-10) * max(1, np.abs(right).max()))


@given(
    st.tuples(*[st.integers(1, 6)] * 3), st.tuples(st.integers(6, 12), st.integers(6, 12)), pair, pair, pair, st.integers(1, 2),
    st.sampled_from([np.float32, np.float64]),
)  # fmt: skip
def test_they_give_what_the_formulas_give(channels, shape, kernel, stride, padding, dilation, dtype):
    n, fan_in, fan_out = channels
    x, weight, bias = numbers(n, fan_in, *shape, dtype=dtype), numbers(fan_out, fan_in, *kernel, dtype=dtype), numbers(fan_out, dtype=dtype)
    settings = dict(stride=stride, padding=padding, dilation=(1, dilation), groups=1)
    out = rows.conv_values(x, weight, bias, **settings)
    g = np.cos(out)
    close(last.conv(last.batch_last(x), weight, bias, **settings).transpose(last.BACK), out)
    mine = last.conv_input(last.batch_last(g), weight, shape=shape, **settings).transpose(last.BACK)
    close(mine, rows.conv_input_values(g, weight, shape=shape, **settings))
    close(
        last.conv_weight(last.batch_last(g), last.batch_last(x), kernel=kernel, **settings),
        rows.conv_weight_values(g, x, kernel=kernel, **settings),
    )


def network():
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, padding=1), nn.Conv2d(4, 3, 3, stride=2), nn.GELU(),
        nn.ConvTranspose2d(3, 2, 3, stride=2), nn.Dropout2d(0.0), nn.AvgPool2d(2), nn.Tanh(),
    )  # fmt: skip


def test_a_network_gives_the_same_in_each_order_and_lies_in_the_usual_one():
    net, x = network(), torch.randn(5, 2, 11, 13, requires_grad=True)

    def step(x):
        out = net(x) * torch.arange(1.0, 3.0).reshape(2, 1, 1)
        return [out.detach(), *torch.autograd.grad(out.square().sum(), [x, *net.parameters()])]

    fast = torch.compile(step)
    fast(x)
    for mine, right in zip(fast(x), step(x), strict=True):
        close(mine.numpy(), right.numpy())
        assert mine.is_contiguous() and mine.stride() == right.stride()
    assert "batch_last(" in source_of(fast)


@pytest.mark.parametrize(
    "change", [lambda y: y.flatten(1), lambda y: y.permute(0, 2, 3, 1) * 2, lambda y: y.sum((2, 3)), lambda y: y[:, 1:]]
)
def test_what_is_no_image_any_more_is_in_the_usual_order(change):
    net, x = torch.nn.Conv2d(2, 4, 3), torch.randn(5, 2, 8, 8)
    fast = torch.compile(lambda x: change(net(x).relu()))
    fast(x)
    close(fast(x).detach().numpy(), change(net(x).relu()).detach().numpy())


def test_the_bias_of_a_transposed_convolution_gets_its_gradient_where_the_image_lies():
    x, net = torch.randn(4, 3, 5, 5), torch.nn.Sequential(torch.nn.ConvTranspose2d(3, 2, 3, stride=2), torch.nn.Tanh())

    def step():
        net.zero_grad()
        net(x).square().sum().backward()
        return [p.grad.clone() for p in net.parameters()]

    f = torch.compile(step, fullgraph=True)
    f()
    for mine, right in zip(f(), step(), strict=True):
        np.testing.assert_allclose(mine.numpy(), right.numpy(), rtol=1e-4, atol=1e-4)
    assert "ascontiguousarray" not in source_of(f)


def test_taps_a_stride_apart_see_one_copy():
    x = numbers(6, 3, 8, 5)
    images = [image for image, _ in last.thinned(x, last.columns_of(4, 2, 1, 1, 4, 8))]
    assert len({id(image) for image in images}) == 2
    assert sum(image.size for image in {id(image): image for image in images}.values()) == x.size


def test_the_gradient_of_a_weight_comes_before_that_of_the_input_which_is_there_for_longer():
    x, net = torch.randn(4, 3, 8, 8), torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Conv2d(4, 4, 3))
    f = torch.compile(lambda: net(x).sum().backward(), fullgraph=True)
    f()
    text = source_of(f)
    assert text.index("conv_weight(") < text.index("conv_input(")
