"""Writing in place is the ordinary operation, written into the buffer: same numbers, same gradients."""

import pytest

NAMES = (
    "sin cos exp log log1p sqrt square sigmoid tanh relu abs neg reciprocal rsqrt expm1 tan atan cosh sinh sinc exp2 log2 log10 erf frac "
    "deg2rad rad2deg floor ceil trunc round sign nan_to_num"
).split()
IN_ONE_CALL = [
    "addcmul{}(w, w, value=2)", "addcdiv{}(w, w, value=2)", "lerp{}(w, 0.3)", "lerp{}(w, w)", "clamp{}(0.7, 1.5)", "clamp{}(min=w)",
    "clamp_min{}(1)", "clamp_max{}(1)", "add{}(w, alpha=3)", "div{}(w, rounding_mode='floor')", "fmod{}(w)", "remainder{}(w)", "atan2{}(w)",
    "hypot{}(w)", "xlogy{}(w)", "copysign{}(w)", "masked_fill{}(lib.tensor([True, False]), 3.0)", "cumsum{}(0)", "cumprod{}(0)",
    "index_add{}(0, lib.tensor([1, 1]), w)", "index_copy{}(0, lib.tensor([1, 0]), w)", "index_fill{}(0, lib.tensor([1]), 5.0)",
    "index_put{}((lib.tensor([1]),), w[:1])", "scatter{}(0, lib.tensor([1, 0]), w)", "scatter_add{}(0, lib.tensor([1, 1]), w)",
    "masked_scatter{}(lib.tensor([True, False]), w)",
]  # fmt: skip


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


@pytest.mark.parametrize("call", IN_ONE_CALL)
def test_a_call_in_place_has_the_gradients_of_the_call(lib, call):
    values = [0.5, 2.0], [3.0, 4.0]
    expected = gradients(lib, lambda h, w: eval(f"h.{call.format('')}", {"lib": lib, "h": h, "w": w}), *values)
    found = gradients(lib, lambda h, w: eval(f"h.{call.format('_')}", {"lib": lib, "h": h, "w": w}), *values)
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_the_other_forms_in_place_follow_from_a_name(lib):
    from autolab.torch_api.families import load_families
    from autolab.torch_api.public import DECLARED

    load_families()
    listed = {f"{name}_" for declared in DECLARED if declared.inplace for name in declared.names}
    assert {"add_", "erf_", "index_put_"} < listed and all(callable(getattr(lib.Tensor, name)) for name in listed)


def test_augmented_assignment_keeps_the_tensor_and_counts(lib):
    x = lib.tensor([3.0, 8.0])
    y = x
    x += 1
    x -= 2
    x *= 4
    x /= 2
    x **= 2
    x //= 3
    x %= 4
    assert x is y and x.tolist() == [1, 1] and x._version == 7
    n = m = lib.tensor([5, 6])
    n <<= 2
    n >>= 1
    n &= 12
    n |= 1
    n ^= 3
    assert n is m and n.tolist() == [10, 14] and n._version == 5


def test_what_is_no_longer_there_has_a_gradient_of_zero(lib):
    for write in (lambda h: h.zero_(), lambda h: h.fill_(3), lambda h: h.eq_(1), lambda h: h.normal_(), lambda h: h.copy_(lib.ones(2))):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        h = write(x * 1)
        h.sum().backward()
        assert h.requires_grad and x.grad.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("write", "name"),
    [
        ("h.zero_()", "ZeroBackward0"), ("h.fill_(2)", "FillBackward2"), ("h.copy_(x)", "CopyBackwards"), ("h.eq_(x)", "EqBackward1"),
        ("h.eq_(1)", "EqBackward0"), ("h.mul_(x)", "MulBackward0"), ("h.exp_()", "ExpBackward0"), ("h.__setitem__(0, 1.0)", "CopySlices"),
        ("h.__setitem__(slice(None), 1.0)", "FillBackward3"), ("h.__setitem__(slice(None), x)", "CopyBackwards"), ("h.__setitem__(lib.tensor([0]), 1.0)", "IndexPutBackward0"),
    ],
)  # fmt: skip
def test_a_write_has_pytorchs_node(lib, write, name):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1
    eval(write, {"lib": lib, "h": h, "x": x})
    assert type(h.grad_fn).__name__ == name and h._version == 1


KEYS = ["0", "-1", "slice(1, 2)", "(0, 1)", "(slice(None), 1)", "(Ellipsis, 0)", "None", "lib.tensor([0, 1])", "([0, 1], [1, 0])",
        "lib.tensor([[True, False, True], [False, True, False]])", "(slice(None), lib.tensor([2, 0]))", "(lib.tensor([1]), slice(0, 2))"]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_what_is_written_at_a_key_takes_the_gradient_of_those_entries(lib, key):
    key = eval(key, {"lib": lib})
    x, v = lib.ones(2, 3, requires_grad=True), lib.tensor(7.0, requires_grad=True)
    h = x * 2
    h[key] = v
    h.sum().backward()
    assert v.grad == (h == 7).sum() and x.grad.tolist() == ((h != 7) * 2.0).tolist()


def test_a_value_for_an_index_may_broadcast(lib):
    x, v = lib.ones(3, 2, requires_grad=True), lib.tensor([5.0, 6.0], requires_grad=True)
    h = x * 1
    h[1:] = v
    (h * h).sum().backward()
    assert h.tolist() == [[1, 1], [5, 6], [5, 6]] and v.grad.tolist() == [20, 24]


def test_the_operand_of_a_write_may_not_be_what_is_written(lib):
    h = lib.tensor([1.0, 2.0], requires_grad=True) * 1
    h.mul_(h)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        h.sum().backward()


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
