"""nn.grad: the gradients of convolutions as functions, against those that backward gives, beside PyTorch."""

import numpy as np
import pytest

import autolab

# dims; N, C, O; lengths; kernel; settings
CASES = [
    (1, (2, 3, 4), (6,), (3,), {}),
    (1, (1, 4, 6), (7,), (2,), {"stride": 2, "padding": 1, "groups": 2}),
    (1, (2, 2, 2), (8,), (2,), {"stride": 3, "dilation": 2}),
    (2, (2, 3, 2), (5, 6), (3, 2), {"stride": (2, 1), "padding": (1, 0)}),
    (2, (1, 4, 4), (5, 5), (3, 3), {"groups": 4, "padding": 1}),
    (2, (2, 2, 3), (6, 7), (2, 3), {"dilation": (2, 1), "stride": 2}),
    (3, (1, 2, 2), (4, 3, 5), (2, 2, 3), {"stride": (1, 2, 1), "padding": 1}),
    (3, (2, 2, 4), (4, 4, 4), (2, 1, 2), {"groups": 2}),
]


def of(lib, n, sizes, lengths, kernel, settings):
    """Both functions on fixed numbers, and what backward gives."""
    rng = np.random.default_rng(0)
    batch, channels, out = sizes
    draw = lambda *shape: lib.tensor(rng.standard_normal(shape)).requires_grad_()
    x, w = draw(batch, channels, *lengths), draw(out, channels // settings.get("groups", 1), *kernel)
    y = getattr(lib.nn.functional, f"conv{n}d")(x, w, **settings)
    g = draw(*y.shape)
    expected = lib.autograd.grad(y, (x, w), g)
    found = (
        getattr(lib.nn.grad, f"conv{n}d_input")(x.shape, w, g, **settings),
        getattr(lib.nn.grad, f"conv{n}d_weight")(x, w.shape, g, **settings),
    )
    again = lib.autograd.grad(found[0].sin().sum() + found[1].cos().sum(), (x, w, g))
    return [t.detach().numpy() for t in (*expected, *found, *again)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_they_are_the_gradients_that_backward_gives_and_have_gradients(torch, case):
    found = of(autolab, *case)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[3], found[1], rtol=1e-10, atol=1e-12)
    for a, b in zip(found, of(torch, *case), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


WRONG = [
    ("conv1d_input", ((3, 5), (4, 3, 3), (4, 3)), {}, "Expected 3-dimensional input for 3-dimensional weight"),
    ("conv1d_input", ((2, 3, 5), (4, 2, 3), (2, 4, 3)), {}, "Given groups=1, weight of size .4, 2, 3., expected input.2, 3, 5. to have"),
    ("conv1d_weight", ((2, 3, 5), (4, 3, 3), (2, 4, 3)), {"stride": 0}, "non-positive stride is not supported"),
    ("conv1d_weight", ((2, 3, 5), (4, 3, 3), (2, 4, 3)), {"stride": (1, 1)}, "expected stride to be a single integer value or a list of 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shapes", "settings", "words"), WRONG, ids=str)
def test_what_does_not_fit_is_refused_as_in_pytorch(lib, name, shapes, settings, words):
    first, second, g = shapes
    args = (first, lib.ones(second)) if name.endswith("input") else (lib.ones(first), second)
    with pytest.raises(RuntimeError, match=words):
        getattr(lib.nn.grad, name)(*args, lib.ones(g), **settings)


def test_a_gradient_of_another_shape_is_refused_with_the_shape_that_fits():
    with pytest.raises(RuntimeError, match=r"Expected grad_output to have the shape of the convolution's result, \[2, 4, 4\], but got"):
        autolab.nn.grad.conv1d_input((2, 3, 6), autolab.ones(4, 3, 3), autolab.ones(2, 4, 3))


def test_functional_has_the_module_under_its_name(lib):
    assert lib.nn.functional.grad is lib.nn.grad
