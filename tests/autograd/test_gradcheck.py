"""gradcheck tells right from wrong, and says where, what and perhaps why."""

import math
import warnings

import pytest


def double(lib, values):
    return lib.tensor(values, dtype=lib.float64, requires_grad=True)


def function(lib, forward, backward):
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("My", (lib.autograd.Function,), members).apply


def square_with(lib, factor, second=True):
    """x * x, whose backward is factor * x instead of 2 * x."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * factor * (x if second else x.detach())

    return function(lib, forward, backward)


@pytest.fixture
def x(lib):
    return double(lib, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_right_gradients_pass(lib, x):
    assert lib.autograd.gradcheck(lambda x: (x * x).sum(0).exp() * 1e-9 + x[0], x)
    assert lib.autograd.gradgradcheck(lambda x: x**3, x)


def test_several_inputs_and_outputs_are_all_checked(lib, x):
    y, c = double(lib, [1.0, 2.0, 3.0]), lib.tensor([2.0, 2.0, 2.0], dtype=lib.float64)
    assert lib.autograd.gradcheck(lambda x, y, c, n: (x * y * c, y**n, x.detach()), (x, y, c, 2))


def test_scalars_and_empty_tensors_can_be_checked(lib):
    assert lib.autograd.gradcheck(lambda x: x * x, double(lib, 3.0))
    assert lib.autograd.gradcheck(lambda x: x * 2, lib.zeros(0, 3, dtype=lib.float64, requires_grad=True))


def test_wrong_gradients_are_refused(lib, x):
    with pytest.raises(lib.autograd.gradcheck.__globals__["GradcheckError"], match="Jacobian mismatch for output 0 with respect to"):
        lib.autograd.gradcheck(square_with(lib, 3), x)


def test_wrong_gradients_are_false_if_no_exception_is_wanted(lib, x):
    assert lib.autograd.gradcheck(square_with(lib, 3), x, raise_exception=False) is False
    assert lib.autograd.gradgradcheck(square_with(lib, 2, second=False), x, raise_exception=False) is False


def test_a_wrong_second_derivative_is_found_behind_a_right_first_one(lib, x):
    wrong = square_with(lib, 2, second=False)
    assert lib.autograd.gradcheck(wrong, x)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        lib.autograd.gradgradcheck(wrong, x)


def test_the_second_output_and_the_second_input_are_named(lib, x):
    def cut(x, y):
        return x * y, x + y.detach()

    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 1 with respect to input 1"):
        lib.autograd.gradcheck(cut, (x, double(lib, [1.0, 2.0, 3.0])))


def test_an_input_that_is_changed_by_the_function_is_not_disturbed(lib, x):
    before = x.tolist()
    assert lib.autograd.gradcheck(lambda x: x.clone().mul_(2), x)
    assert x.tolist() == before and x.grad is None


def test_an_output_that_looks_into_the_input_is_compared_as_it_was(lib, x):
    assert lib.autograd.gradcheck(lambda x: x.t(), x)
    assert lib.autograd.gradcheck(lambda x: x, x)


def test_a_function_that_hides_its_dependence_is_refused(lib, x):
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        lib.autograd.gradcheck(lambda x: (x * 2).detach(), x)


def test_a_function_that_depends_on_nothing_passes(lib, x):
    assert lib.autograd.gradcheck(lambda x: lib.ones(2), x)


def test_a_backward_that_answers_differently_each_time_is_refused(lib, x):
    calls = []

    def backward(ctx, g):
        calls.append(1)
        return g * (2 + len(calls) * 1e-9)

    f = function(lib, lambda ctx, x: x * 2, backward)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        lib.autograd.gradcheck(f, x)
    assert lib.autograd.gradcheck(f, x, nondet_tol=1e-3)


def test_tolerances_are_as_asked(lib, x):
    assert lib.autograd.gradcheck(square_with(lib, 2.1), x, rtol=0.1)
    assert lib.autograd.gradcheck(square_with(lib, 2.1), x, atol=1.0)
    assert not lib.autograd.gradcheck(square_with(lib, 2.1), x, raise_exception=False)


@pytest.mark.filterwarnings("ignore:Backwards compatibility:UserWarning")
def test_backward_must_cope_with_a_missing_gradient(lib, x):
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    def backward(ctx, g):
        if g is None:
            raise RuntimeError("cannot do without")
        return g * 2

    f = function(lib, forward, backward)
    with pytest.raises(RuntimeError, match="Expected backward function to handle undefined output grads"):
        lib.autograd.gradcheck(f, x)
    assert lib.autograd.gradcheck(f, x, check_undefined_grad=False)


def test_backward_must_make_nothing_out_of_zeros(lib, x):
    f = function(lib, lambda ctx, x: x * 2, lambda ctx, g: g * 2 + 1.0 * (g == 0))
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        lib.autograd.gradcheck(lambda x: f(x).sum(), x, atol=10)


@pytest.mark.filterwarnings("ignore:Backwards compatibility:UserWarning")
def test_backward_must_make_nothing_out_of_nothing(lib, x):
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    f = function(lib, forward, lambda ctx, g: lib.ones(2, 3, dtype=lib.float64) if g is None else g * 2)
    with pytest.raises(RuntimeError, match="Expected all input grads to be undefined or zero"):
        lib.autograd.gradcheck(f, x)


def test_a_nan_in_the_input_is_refused(lib):
    bad = double(lib, [1.0, math.nan])
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        lib.autograd.gradcheck(lambda x: x * 2, bad)
    assert lib.autograd.gradcheck(lambda x: x * 2, bad, raise_exception=False) is False


def test_single_precision_is_warned_about(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision floating point"):
        lib.autograd.gradcheck(lambda x: x * 2, x, raise_exception=False)


def test_an_input_whose_entries_share_memory_is_refused(lib):
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        lib.autograd.gradcheck(lambda x: x * 2, lib.ones(1, dtype=lib.float64).expand(3).requires_grad_())


def test_at_least_one_input_must_want_a_gradient(lib):
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        lib.autograd.gradcheck(lambda x: x * 2, lib.ones(2), raise_exception=False)


def test_an_exception_of_the_function_is_not_hidden(lib, x):
    with pytest.raises(ZeroDivisionError):
        lib.autograd.gradcheck(function(lib, lambda ctx, x: x * 2, lambda ctx, g: 1 / 0), x, raise_exception=False)


def test_gradgradcheck_takes_the_weights_of_the_outputs(lib, x):
    weights = double(lib, [[1.0, -2.0, 0.5], [1.0, 1.0, 3.0]])
    assert lib.autograd.gradgradcheck(lambda x: x**3, (x,), (weights,))


def test_a_linear_function_has_a_second_derivative_of_zero(lib, x):
    assert lib.autograd.gradgradcheck(lambda x: x * 3, x)


# -- what autolab does beyond PyTorch ------------------------------------------------------------------------


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_outputs_without_a_gradient_do_not_shift_the_others(lib, x):
    assert lib.autograd.gradcheck(lambda x: (x.detach() * 7, x.argmax(), x * 2), x)


def complaint(check, *args):
    import autolab as torch

    with pytest.raises(torch.autograd.GradcheckError) as caught:
        check(*args)
    return str(caught.value)


def at(factor_of_the_last):
    """Backward of a sum over rows that is wrong in the entry [1, 2] only."""
    import autolab as torch

    weights = torch.ones(2, 3, dtype=torch.float64)
    weights[1, 2] = factor_of_the_last
    return function(torch, lambda ctx, x: x.sum(0), lambda ctx, g: g * weights)


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_the_worst_entry_is_named_with_both_numbers(lib, x):
    said = complaint(lib.autograd.gradcheck, at(1.5), x)
    assert "d output[2] / d input[1, 2] is 1 by finite differences, but backward gives 1.5" in said


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
@pytest.mark.parametrize(
    ("factor", "guess"),
    [(-2, "All signs are the other way round"), (3, "1.5 times the right gradient everywhere"), (0, "zero everywhere")],
)
def test_a_simple_mistake_is_guessed(lib, x, factor, guess):
    assert guess in complaint(lib.autograd.gradcheck, square_with(lib, factor), x)


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_no_cause_is_guessed_where_none_is_plain(lib, x):
    said = complaint(lib.autograd.gradcheck, at(1.5), x)
    assert said.endswith("but backward gives 1.5.")


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_gradgradcheck_says_what_its_outputs_and_inputs_are(lib, x):
    said = complaint(lib.autograd.gradgradcheck, square_with(lib, 2, second=False), x)
    assert "an output is the gradient of func for one of its inputs [0]; inputs from number 1 on are the weights" in said


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_the_place_of_a_nan_is_named(lib):
    said = complaint(lib.autograd.gradcheck, lambda x: x * 2, double(lib, [[1.0, 2.0], [math.inf, 4.0]]))
    assert "the input itself is inf at index [1, 0]" in said


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
@pytest.mark.parametrize("returned", [3.0, None, [1, 2]])
def test_a_function_that_returns_no_tensor_is_told_so(lib, x, returned):
    with pytest.raises(TypeError, match=f"func must return one or a tuple of them, but returned {type(returned).__name__}"):
        lib.autograd.gradcheck(lambda x: returned, x)


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_checks_that_need_what_is_not_built_are_not_passed_over(lib, x):
    with pytest.raises(NotImplementedError, match="forward mode"):
        lib.autograd.gradcheck(lambda x: x * 2, x, check_forward_ad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lib.autograd.gradcheck(lambda x: x * 2, x, fast_mode=True, check_grad_dtypes=True, masked=False)
