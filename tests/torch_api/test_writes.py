"""Programs that write in place, through views and indices: values, gradients and refusals are PyTorch's."""

import inspect

import numpy as np
import pytest

import autolab


def a_row(T, x):
    y = x * 1
    y[0] = 0
    return y * x


def a_column_in_place(T, x):
    y = x * 1
    y[:, 1] *= x[:, 0]
    return y * y


def through_a_row(T, x):
    y = x * 1
    y[0].mul_(x[1])
    return y.sin()


def through_a_view_of_a_view(T, x):
    y = x * 1
    y.view(-1)[2:5][1:].mul_(x[0, :2])
    return y.sin()


def through_a_transpose(T, x):
    y = x * 1
    y.t()[0].add_(x[0, 1] * 2)
    return y * y


def through_a_diagonal(T, x):
    y = x * 1
    y.diagonal().copy_(x[0, :2] * 3)
    return y * y


def through_unsqueeze_permute_and_narrow(T, x):
    y = x * 1
    y.unsqueeze(0).permute(2, 0, 1).narrow(0, 1, 2).mul_(2)
    return y * y


def a_view_sees_a_later_write_to_its_base(T, x):
    y = x * 1
    v = y[0]
    y.mul_(x)
    return v.sin()


def a_sibling_view_sees_the_write(T, x):
    y = x * 1
    v, w = y[0], y.view(-1)
    v.mul_(x[1])
    return w.sin()


def into_a_plain_tensor(T, x):
    y = T.zeros(4, dtype=x.dtype)
    y[1] = x[0, 0]
    y[2:] = x[1, 1:]
    return y * y


def a_broadcast_value(T, x):
    y = x * 1
    y[:, 1:] = x[0, 0]
    y[0, :2] = x[1:, :2]
    return y * y


def a_mask(T, x):
    y = x * 1
    y[y > 0] = 0.5
    return y * x


def a_mask_with_values(T, x):
    y = x * 1
    y[T.tensor([[True, False, True], [False, True, False]])] = x[0] * 2
    return y * y


def integer_arrays(T, x):
    y = x * 1
    y[[0, 1], [1, 0]] = x[0, :2]
    y[:, T.tensor([2])] = x[:, :1] * 3
    return y * y


def indices_on_both_sides_of_a_new_axis(T, x):
    y = x * 1
    y[:, None, T.tensor([True, False, True])] = x[:, None, :2] * 2
    y[T.tensor([0, 1]), None, T.tensor([0, 2])] = x[:, :1] * 3
    y[True, None, T.tensor([1])] *= x[0]
    return y * y


def every_augmented_assignment(T, x):
    y = x * 1
    y += x
    y -= 1
    y *= x
    y /= 2
    y **= 2
    return y


def every_filling(T, x):
    y = x * 1
    y[0].fill_(2)
    y[1, :1].zero_()
    y.masked_fill_(y > 1.5, 0.25)
    y.clamp_(-0.5, 1)
    return y * x


def copy_from_another_dtype(T, x):
    y = T.zeros(2, 3, dtype=T.float32)
    y.copy_(x)
    return y.double() * x


def a_number_in_place(T, x):
    y = x.sum()
    y.mul_(2)
    y += x[0, 0]
    return y * y


def a_loop_that_fills_rows(T, x):
    y = T.zeros(3, 3, dtype=x.dtype)
    for k in range(3):
        y[k] = x.sum(0) * k if k else x[0]
        y[k, k] += 1
    return y.sin()


def a_saved_result_is_overwritten(T, x):
    y = x.exp()
    y.add_(1)
    return y


def a_saved_input_is_overwritten(T, x):
    y = x * 1
    z = y * y
    y[0] = 0
    return z


def a_leaf_is_written_to(T, x):
    x[0] = 0
    return x


def a_leaf_is_added_to(T, x):
    x += 1
    return x


def one_of_several_views(T, x):
    (x * 1).unbind()[0].add_(1)


def an_expanded_tensor(T, x):
    x.detach()[0].expand(3, 3).add_(1)


def a_wrong_shape(T, x):
    y = x[0] * 1
    y.add_(x)


RIGHT = [
    a_row, a_column_in_place, through_a_row, through_a_view_of_a_view, through_a_transpose, through_a_diagonal,
    through_unsqueeze_permute_and_narrow, a_view_sees_a_later_write_to_its_base, a_sibling_view_sees_the_write, into_a_plain_tensor,
    a_broadcast_value, a_mask, a_mask_with_values, integer_arrays,
    indices_on_both_sides_of_a_new_axis, every_augmented_assignment, every_filling, copy_from_another_dtype, a_number_in_place,
    a_loop_that_fills_rows,
]  # fmt: skip
REFUSED = [
    a_saved_result_is_overwritten, a_saved_input_is_overwritten, a_leaf_is_written_to, a_leaf_is_added_to, one_of_several_views,
    an_expanded_tensor, a_wrong_shape,
]  # fmt: skip
NUMBERS = np.random.default_rng(5).standard_normal((2, 3))


def derivatives(T, program):
    x = T.tensor(NUMBERS, requires_grad=True)
    out = program(T, x)
    (first,) = T.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = T.autograd.grad((first * first).sum(), x, allow_unused=True) if first.requires_grad else (None,)
    return [np.zeros(()) if t is None else t.detach().numpy() for t in (out, first, second)]


@pytest.mark.parametrize("program", RIGHT, ids=lambda f: f.__name__)
def test_values_and_derivatives_are_pytorchs(torch, program):
    for ours, theirs in zip(derivatives(autolab, program), derivatives(torch, program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_what_pytorch_refuses_is_refused(torch, program):
    errors = []
    for T in (autolab, torch):
        with pytest.raises(RuntimeError) as error:
            derivatives(T, program)
        errors.append(str(error.value)[:60])
    assert errors[0] == errors[1]


def test_all_programs_are_listed():
    here = [
        f
        for n, f in globals().items()
        if inspect.isfunction(f) and f.__module__ == __name__ and list(inspect.signature(f).parameters) == ["T", "x"]
    ]
    assert set(here) == {*RIGHT, *REFUSED}
