"""gradcheck tells right from wrong, and says where, what and perhaps why."""

import math

import pytest


def double(lib, values):
    return lib.tensor(values, dtype=lib.float64, requires_grad=True)


# What PyTorch warns of in its own forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")


def function(lib, forward, backward, jvp=None):
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if jvp is not None:
        members["jvp"] = staticmethod(jvp)
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


# -- the other modes, and the other ways to compare ---------------------------------------------------------

SPEEDS = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])


def cube_with(lib, factor):
    """x ** 3, whose forward mode is factor * x * x instead of 3 * x * x."""

    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return t * factor * x * x

    return Cube.apply


@SPEEDS
def test_every_mode_is_checked_where_it_is_asked_for(lib, x, fast):
    y = double(lib, [0.5, 0.7, 0.2])
    f = lambda x, y: (x * y, x.exp().sum(), x.T @ (x * y))
    everything = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True, "check_grad_dtypes": True}
    assert lib.autograd.gradcheck(f, (x, y), fast_mode=fast, **everything)


@SPEEDS
def test_a_wrong_jvp_is_seen_only_by_forward_mode(lib, x, fast):
    f = cube_with(lib, 4)
    assert lib.autograd.gradcheck(f, x, fast_mode=fast)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
        lib.autograd.gradcheck(f, x, check_forward_ad=True, fast_mode=fast)
    assert lib.autograd.gradcheck(cube_with(lib, 3), x, check_forward_ad=True, fast_mode=fast)


@SPEEDS
def test_backward_need_not_be_there_where_only_forward_mode_is_checked(lib, x, fast):
    f = function(lib, lambda ctx, x: x * 2, lambda ctx, g: 1 / 0, lambda ctx, t: t * 2)
    with pytest.raises(ZeroDivisionError):
        lib.autograd.gradcheck(f, x, fast_mode=fast)
    assert lib.autograd.gradcheck(f, x, check_forward_ad=True, check_backward_ad=False, fast_mode=fast)


@SPEEDS
def test_second_derivatives_are_checked_backward_and_forward(lib, x, fast):
    f = lambda x: (x.sin(), (x * x).sum())
    assert lib.autograd.gradgradcheck(f, x, check_fwd_over_rev=True, check_batched_grad=True, fast_mode=fast)
    alone = {"check_rev_over_rev": False, "check_undefined_grad": False, "gen_non_contig_grad_outputs": True}
    assert lib.autograd.gradgradcheck(f, x, check_fwd_over_rev=True, fast_mode=fast, **alone)


@SPEEDS
def test_fast_mode_finds_what_slow_mode_finds(lib, x, fast):
    assert lib.autograd.gradcheck(lambda x: x.exp() * x, x, fast_mode=fast)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        lib.autograd.gradcheck(square_with(lib, 3), x, fast_mode=fast)
    assert not lib.autograd.gradgradcheck(square_with(lib, 2, second=False), x, fast_mode=fast, raise_exception=False)


def test_fast_mode_says_so(lib, x):
    with pytest.raises(RuntimeError, match="quantities relating the numerical and analytical jacobians are computed \nin fast mode"):
        lib.autograd.gradcheck(square_with(lib, 3), x, fast_mode=True)


def test_a_backward_that_looks_at_numbers_cannot_be_batched(lib, x):
    f = function(lib, lambda ctx, x: x * 2, lambda ctx, g: g * 2 if g.sum().item() > -1e9 else g)
    assert lib.autograd.gradcheck(f, x)
    with pytest.raises(RuntimeError, match="While computing batched gradients, got: "):
        lib.autograd.gradcheck(f, x, check_batched_grad=True)


def test_an_output_may_not_change_its_shape(lib):
    with pytest.raises(AssertionError, match=r"return outputs with the same shape when inputs are perturbed on index \(0,\) by 1e-06"):
        lib.autograd.gradcheck(lambda x: x[x >= 1.0], double(lib, [1.0, 2.0]))


def test_eps_and_tolerances_make_single_precision_do(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match="double precision"):
        assert lib.autograd.gradcheck(lambda x: x * x, x, eps=1e-2, atol=1e-2, rtol=1e-2)


def test_a_function_of_ones_own_can_be_batched(lib, x):
    f = square_with(lib, 2)
    hooked = lambda x: (f(x), f(x * 2).sum(0))
    assert lib.autograd.gradcheck(hooked, x, check_batched_grad=True)
    assert lib.autograd.gradgradcheck(hooked, x, check_batched_grad=True)


def test_a_function_without_results_passes(lib, x):
    assert lib.autograd.gradcheck(lambda x: (), x)


@SPEEDS
def test_forward_mode_runs_once_for_each_entry_and_again_without_tangents(lib, fast):
    runs = []
    f = function(lib, lambda ctx, x, y: (x.clone(), y.clone()), None, lambda ctx, a, b: runs.append(1) or (a, b))
    x, y = double(lib, [1.0]), double(lib, [2.0])
    only_forward = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": fast}
    assert lib.autograd.gradcheck(f, (x, y), check_undefined_grad=False, **only_forward) and len(runs) == 2
    assert lib.autograd.gradcheck(f, (x, y), **only_forward) and len(runs) == 2 + 6


@SPEEDS
def test_writes_in_place_are_checked_in_every_mode(lib, fast):
    def f(a):
        b = a.clone()
        b[0].mul_(a[1])
        b.t()[1].sin_()
        return b

    x = double(lib, [[0.3, 0.5], [0.7, 0.9]])
    everything = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert lib.autograd.gradcheck(f, x, fast_mode=fast, **everything)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"check_backward_ad": False}, "Expected at least one of check_forward_ad or check_backward_ad to be True"),
        ({"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True}, "requires check_backward_ad to be True"),
        ({"check_batched_forward_grad": True}, "Setting check_batched_forward_grad=True requires check_forward_ad to be True"),
    ],
)
def test_options_that_contradict_each_other_are_refused(lib, x, options, said):
    with pytest.raises(AssertionError, match=said):
        lib.autograd.gradcheck(lambda x: x * 2, x, **options)


def test_options_of_gradgradcheck_that_contradict_each_other_are_refused(lib, x):
    with pytest.raises(AssertionError, match="Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"):
        lib.autograd.gradgradcheck(lambda x: x * 2, x, check_rev_over_rev=False)
    with pytest.raises(AssertionError, match="Setting check_undefined_grad=True requires check_rev_over_rev to be True"):
        lib.autograd.gradgradcheck(lambda x: x * 2, x, check_rev_over_rev=False, check_fwd_over_rev=True)


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
    ("factor", "guess"), [(-2, "All signs are the other way round"), (3, "1.5 times the right gradient everywhere"), (0, "zero everywhere")]
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
@pytest.mark.parametrize(
    ("wrong", "guess"),
    [
        (lambda T, g, x: T.where(x > 3, 2 * g * x, T.zeros_like(x)), "Some entries are zero that should not be"),
        (lambda T, g, x: 2 * g * x.T, "The gradient is transposed"),
        (lambda T, g, x: g * x * float("nan"), "A nan in backward"),
    ],
)
def test_the_form_of_a_mistake_tells_its_cause(lib, wrong, guess):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum()

    f = function(lib, forward, lambda ctx, g: wrong(lib, g, *ctx.saved_tensors))
    assert guess in complaint(lib.autograd.gradcheck, f, double(lib, [[1.0, 2.0], [4.0, 5.0]]))


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_a_corner_is_named_with_the_slopes_of_both_sides(lib):
    said = complaint(lib.autograd.gradcheck, lib.relu, double(lib, [0.0, 1.0]))
    assert "d output[0] / d input[0] is 0.5 by finite differences" in said and "From the left it is 0, from the right 1" in said


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_a_missing_mask_is_guessed(lib):
    f = function(lib, lambda ctx, x: x.clamp(min=2), lambda ctx, g: g)
    assert "is a mask missing?" in complaint(lib.autograd.gradcheck, f, double(lib, [1.0, 3.0]))


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_random_numbers_in_the_function_are_guessed(lib, x):
    assert "random numbers" in complaint(lib.autograd.gradcheck, lambda x: x * lib.rand(2, 3, dtype=lib.float64), x)


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_the_exception_has_both_jacobians(lib, x):
    with pytest.raises(lib.autograd.GradcheckError) as caught:
        lib.autograd.gradcheck(square_with(lib, 3), x)
    assert caught.value.numerical.diagonal().round(4).tolist() == [2, 4, 6, 8, 10, 12]
    assert caught.value.analytical.diagonal().tolist() == [3, 6, 9, 12, 15, 18]


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_fast_mode_names_the_entry_all_the_same(lib, x):
    with pytest.raises(lib.autograd.GradcheckError, match="computed \nin fast mode.*Entry by entry: 1 of 18 entries") as caught:
        lib.autograd.gradcheck(at(1.5), x, fast_mode=True)
    assert "d output[2] / d input[1, 2] is 1 by finite differences, but backward gives 1.5" in str(caught.value)


def test_weights_that_want_no_gradient_are_not_checked(lib, x):
    weights = lib.ones(2, 3, dtype=lib.float32)  # too coarse for finite differences
    assert lib.autograd.gradgradcheck(lambda x: x**3, x, weights)


def test_a_product_over_two_zeros_has_no_second_derivative(lib):
    place, zeros = lib.ones(1, dtype=lib.float64, requires_grad=True), lib.zeros(2, dtype=lib.float64, requires_grad=True)

    def product(x, src):
        return lib.scatter_reduce(x, 0, lib.tensor([0, 0]), src, "prod")

    assert lib.autograd.gradcheck(product, (place, zeros))
    with pytest.raises(RuntimeError, match=r"scatter_reduce\(\): Double backward is unsupported for src when >1 zeros"):
        lib.autograd.gradgradcheck(product, (place, zeros))


def test_whoever_holds_an_input_sees_it_move(lib, x):
    assert lib.autograd.gradcheck(lambda other: x * 2, x)
    assert lib.autograd.gradcheck(lambda a, b: a * b, (x, x))


def test_an_input_is_as_it_was_after_an_exception(lib, x):
    before, calls = x.tolist(), []

    def fails_when_moved(x):
        calls.append(x)
        if len(calls) > 2:
            raise ZeroDivisionError
        return x * 2

    with pytest.raises(ZeroDivisionError):
        lib.autograd.gradcheck(fails_when_moved, x)
    if lib.__name__ == "autolab":
        assert x.tolist() == before


def test_whole_jacobians_are_still_to_be_had_with_a_warning(lib):
    import importlib

    module = importlib.import_module(f"{lib.__name__}.autograd.gradcheck")
    a, b = (lib.rand(2, dtype=lib.float64, requires_grad=True) for _ in range(2))
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        numerical = module.get_numerical_jacobian(lambda xs: 2 * xs[0] + xs[1], (a, b), eps=1e-6)
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        analytical, *fine = module.get_analytical_jacobian((a, b), 2 * a + b)
    for found in (numerical, analytical):
        assert lib.allclose(found[0], 2 * lib.eye(2, dtype=lib.float64)) and lib.allclose(found[1], lib.eye(2, dtype=lib.float64))
    assert fine == [True, True, True]
    with pytest.raises(ValueError, match=r"Expected grad_out to be 1\.0"), pytest.warns(FutureWarning):
        module.get_analytical_jacobian((a,), 2 * a, grad_out=2.0)


def test_random_numbers_in_a_rule_are_refused_where_it_is_batched(lib):
    def jvp(ctx, t):
        lib.randn_like(t)
        return t * 2

    parts = {"forward": lambda ctx, x: x * 2, "vjp": lambda ctx, g: g * 2, "jvp": jvp}
    draws = type("Draws", (lib.autograd.Function,), {name: staticmethod(f) for name, f in parts.items()})
    x = lib.rand(2, dtype=lib.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="We do not yet support calling random operations inside of vmap"):
        lib.autograd.gradcheck(draws.apply, (x,), check_forward_ad=True, check_batched_forward_grad=True)
