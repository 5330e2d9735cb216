"""Writing in place is the ordinary operation, written into the buffer: same numbers, same gradients."""

import pytest

NAMES = "sin cos exp log log1p sqrt square sigmoid tanh relu abs neg reciprocal rsqrt expm1 tan".split()


def gradients(lib, write, *values):
    """Gradients, first and second, through h = x * 1, with `write(h, w)` applied to it."""
    x, w = (lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in values)
    h = x * 1
    out = write(h, w)
    first = lib.autograd.grad((out * out).sum(), [x, w], create_graph=True, allow_unused=True)
    total = sum((g * g).sum() for g in first if g is not None)
    second = lib.autograd.grad(total, [x, w], allow_unused=True) if total.requires_grad else []
    return [out.tolist(), *(None if g is None else g.tolist() for g in (*first, *second))]


@pytest.mark.parametrize("values", [([0.5, 2.0], [3.0, 4.0]), (0.5, 3.0)], ids=["1-d", "0-d"])
@pytest.mark.parametrize("name", NAMES)
def test_a_function_in_place_has_the_gradients_of_the_function(lib, name, values):
    expected = gradients(lib, lambda h, w: getattr(h, name)(), *values)
    assert gradients(lib, lambda h, w: getattr(h, f"{name}_")(), *values) == expected


@pytest.mark.parametrize("values", [([0.5, 2.0], [3.0, 4.0]), (0.5, 3.0)], ids=["1-d", "0-d"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow"])
def test_an_operator_in_place_has_the_gradients_of_the_operator(lib, name, values):
    expected = gradients(lib, lambda h, w: getattr(h, name)(w), *values)
    assert gradients(lib, lambda h, w: getattr(h, f"{name}_")(w), *values) == expected


def test_a_constant_may_be_multiplied_in_place_by_what_requires_grad(lib):
    c, w = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0], requires_grad=True)
    c *= w
    c.sum().backward()
    assert w.grad.tolist() == [1.0, 2.0]


def test_a_write_through_a_view_has_the_same_gradients(lib):
    x, w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True), lib.tensor([5.0, 7.0], requires_grad=True)
    h = x * 1
    h[:2].mul_(w)
    (h * h).sum().backward()
    assert x.grad.tolist() == [50.0, 196.0, 6.0] and w.grad.tolist() == [10.0, 56.0]


def test_what_another_node_saved_is_still_watched(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1
    y = h * h
    h.sin_()
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()


def test_a_later_write_over_a_saved_result_is_still_noticed(lib):
    h = lib.tensor([1.0, 2.0], requires_grad=True) * 1
    h.exp_()
    h.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        h.sum().backward()


def test_a_leaf_that_was_told_to_require_no_grad_gets_none(lib):
    x, w = lib.tensor([1.0], requires_grad=True), lib.tensor([2.0], requires_grad=True)
    y = (x * w).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None and w.grad.tolist() == [1.0]
