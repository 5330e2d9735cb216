"""Checkpointing changes what is kept, not what is computed."""

import contextlib
import functools
import gc
import tracemalloc
import warnings

import pytest

import autolab
from autolab.utils import checkpoint as module

FORMS = pytest.mark.parametrize("use_reentrant", [False, True])


@pytest.fixture
def point(lib):
    import importlib

    return importlib.import_module(f"{lib.__name__}.utils.checkpoint")


@pytest.fixture
def wx(lib):
    lib.manual_seed(0)
    return lib.randn(4, 4, requires_grad=True), lib.randn(3, 4, requires_grad=True)


def gradients(lib, run, *leaves):
    """The loss of a run with the same random numbers, and its gradients."""
    for leaf in leaves:
        leaf.grad = None
    lib.manual_seed(1)
    loss = (run() * lib.rand(3, 4)).sum()
    loss.backward()
    return loss.item(), [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]


# -- the same gradients ------------------------------------------------------------------------------


@FORMS
def test_gradients_are_those_without_checkpoint_to_the_bit(lib, point, wx, use_reentrant):
    w, x = wx
    f = lambda x: (x @ w).tanh().exp() * x
    assert gradients(lib, lambda: point.checkpoint(f, x, use_reentrant=use_reentrant), w, x) == gradients(lib, lambda: f(x), w, x)


@FORMS
def test_a_segment_may_write_over_its_own_results(lib, point, wx, use_reentrant):
    w, x = wx
    f = lambda x: (lib.nn.functional.relu(x @ w, inplace=True) + 1).sqrt_() * x
    assert gradients(lib, lambda: point.checkpoint(f, x, use_reentrant=use_reentrant), w, x) == gradients(lib, lambda: f(x), w, x)


def test_hooks_keep_what_a_write_in_place_has_saved(lib):
    x = lib.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = (x * 2).sigmoid_() * 1
    y.sum().backward()
    s = lib.sigmoid(2 * x.detach())
    lib.testing.assert_close(x.grad, s * (1 - s) * 2)


@FORMS
def test_dropout_is_the_same_in_both_runs_and_what_follows_too(lib, point, wx, use_reentrant):
    w, x = wx
    dropout = lambda x: lib.nn.functional.dropout(x @ w, 0.5).tanh()
    again = lambda: dropout(point.checkpoint(dropout, x, use_reentrant=use_reentrant))
    assert gradients(lib, again, w, x) == gradients(lib, lambda: dropout(dropout(x)), w, x)


@FORMS
def test_without_the_random_state_dropout_differs(lib, point, use_reentrant):
    x = lib.ones(1000, requires_grad=True)
    y = point.checkpoint(lambda x: lib.nn.functional.dropout(x, 0.5).exp(), x, use_reentrant=use_reentrant, preserve_rng_state=False)
    y.sum().backward()
    assert not lib.equal(x.grad > 2, y.detach() > 1.5)


def test_a_backward_pass_does_not_disturb_later_random_numbers(lib, point, wx):
    w, x = wx
    y = point.checkpoint(lambda x: lib.nn.functional.dropout(x @ w).exp(), x, use_reentrant=False)
    state = lib.get_rng_state()
    y.sum().backward()
    assert lib.equal(lib.get_rng_state(), state)


def test_second_derivatives_go_through_a_segment(lib, point, wx):
    w, x = wx

    def penalty(y):
        (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        return lib.autograd.grad((g**2).sum(), (w, x))

    f = lambda x: (x @ w).tanh() * x
    for a, b in zip(penalty(point.checkpoint(f, x, use_reentrant=False)), penalty(f(x))):
        lib.testing.assert_close(a, b)


def test_segments_nest(lib, point, wx):
    w, x = wx
    f = lambda x: lib.nn.functional.dropout(x @ w, 0.2).tanh()
    inner = lambda x: point.checkpoint(f, x.sin(), use_reentrant=False)
    outer = lambda x: point.checkpoint(f, inner(inner(x)), use_reentrant=False).cos()
    plain = lambda: f(f(f(x.sin()).sin())).cos()
    assert gradients(lib, lambda: point.checkpoint(outer, x, use_reentrant=False), w, x) == gradients(lib, plain, w, x)


def test_a_graph_that_is_retained_can_be_walked_twice(lib, point, wx):
    w, x = wx
    loss = point.checkpoint(lambda x: (x @ w).exp(), x, use_reentrant=False).sum()
    loss.backward(retain_graph=True)
    once = x.grad.clone()
    loss.backward()
    assert lib.equal(x.grad, 2 * once)


def test_keywords_and_several_results(lib, point, wx):
    w, x = wx
    f = lambda x, *, scale, twice=False: (x @ w * scale, (x * 2 if twice else x).exp())
    a, b = point.checkpoint(f, x, scale=lib.tensor(3.0), twice=True, use_reentrant=False)
    (a.sum() + b.sum()).backward()
    assert lib.allclose(x.grad, 3 * w.sum(1) + 2 * (2 * x).exp())


def test_an_argument_that_needs_no_gradient(lib, point, wx):
    w, _ = wx
    point.checkpoint(lambda x: (x @ w).exp(), lib.ones(2, 4), use_reentrant=False).sum().backward()
    assert w.grad is not None


def test_hooks_see_what_they_see_without_checkpoint(lib, point, wx):
    w, x = wx
    seen = []

    def f(x):
        h = (x @ w).tanh()
        if h.requires_grad:
            h.register_hook(lambda g: seen.append(g.clone()))
        return h.exp()

    point.checkpoint(f, x, use_reentrant=False).sum().backward()
    f(x).sum().backward()
    assert len(seen) == 2 and lib.equal(*seen)


def test_modules_with_hooks_and_custom_functions(lib, point):
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    x = lib.tensor([1.0, 2.0], requires_grad=True)
    point.checkpoint(lambda x: Cube.apply(x.exp()).sin(), x, use_reentrant=False).sum().backward()
    y = x.detach().requires_grad_()
    (y.exp() ** 3).sin().sum().backward()
    lib.testing.assert_close(x.grad, y.grad)


def test_autocast_is_that_of_the_first_run(lib, point, wx):
    w, x = wx
    met = []

    def f(x):
        y = (x @ w).exp()
        met.append(y.dtype)
        return y.tanh()

    with lib.autocast("cpu", dtype=lib.bfloat16):
        y = point.checkpoint(f, x, use_reentrant=False)
    y.float().sum().backward()
    assert met == [lib.bfloat16, lib.bfloat16]


def test_without_recording_nothing_is_kept(lib, point, wx):
    with lib.no_grad():
        assert not point.checkpoint(lambda x: x.exp(), wx[1], use_reentrant=False).requires_grad


def test_inside_a_transform_it_is_the_plain_segment():
    T = autolab
    w, x = T.ones(3, requires_grad=True), T.randn(2, 3)
    f = lambda x: module.checkpoint(lambda x: (x * w).exp() * x, x, use_reentrant=False)
    y = T.func.vmap(f)(x)
    y.sum().backward()
    T.testing.assert_close(w.grad, ((x.exp() * x) * x).sum(0))
    T.testing.assert_close(T.func.grad(lambda x: f(x).sum())(x[0]), (x[0].exp() * (x[0] + 1)).detach())


def test_two_results_can_be_walked_back_one_after_the_other(lib, point, wx):
    x = wx[1]
    a, b = point.checkpoint(lambda x: (x.exp(), x.sin()), x, use_reentrant=False)
    a.sum().backward(retain_graph=True)
    b.sum().backward()
    lib.testing.assert_close(x.grad, x.detach().exp() + x.detach().cos())


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_segment_may_ask_for_a_gradient_itself(lib, point, wx, early_stop):
    def f(x):
        y = x.exp().sin()
        (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        return g * y

    x = wx[1]
    (expected,) = lib.autograd.grad(f(x).sum(), x)
    (found,) = lib.autograd.grad(point.checkpoint(f, x, use_reentrant=False, early_stop=early_stop).sum(), x)
    lib.testing.assert_close(found, expected)


def test_writing_in_place_within_a_segment(lib, point, wx):
    def f(x):
        h = lib.zeros(3, 4) + x
        h[0] = 5
        h.mul_(x)
        return h.exp()

    x = wx[1]
    (expected,) = lib.autograd.grad(f(x).sum(), x)
    lib.testing.assert_close(lib.autograd.grad(point.checkpoint(f, x, use_reentrant=False).sum(), x)[0], expected)


def test_threads_run_segments_of_their_own(lib, point):
    import threading

    x = [lib.ones(20, requires_grad=True) for _ in range(4)]
    run = lambda x: point.checkpoint(lambda x: (2 * x).tanh().exp(), x, use_reentrant=False, preserve_rng_state=False).sum().backward()
    threads = [threading.Thread(target=run, args=(t,)) for t in x]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(lib.equal(t.grad, x[0].grad) for t in x)


# -- how often, and how far ----------------------------------------------------------------------------


def runs_of_parts(lib, point, enable, x):
    """How often each part of a segment runs: what comes after the last saved value need not run again."""
    counted = [0, 0]

    def f(x):
        counted[0] += 1
        y = x.sin().cos()
        counted[1] += 1
        return y

    with point.set_checkpoint_early_stop(enable):
        point.checkpoint(f, x, use_reentrant=False).sum().backward()
    return counted


@pytest.mark.parametrize(("enable", "runs"), [(True, [2, 1]), (False, [2, 2])])
def test_the_second_run_stops_when_it_has_all(lib, point, wx, enable, runs):
    assert runs_of_parts(lib, point, enable, wx[1]) == runs


def test_early_stop_is_an_argument_too(lib, point, wx):
    ends = []
    f = lambda x: (x.sin().cos(), ends.append(1))[0]
    point.checkpoint(f, wx[1], use_reentrant=False, early_stop=False).sum().backward()
    assert ends == [1, 1]


def test_contexts_go_around_both_runs(lib, point, wx):
    entered = []

    @contextlib.contextmanager
    def noting(name):
        entered.append(name)
        yield

    y = point.checkpoint(lambda x: x.exp(), wx[1], use_reentrant=False, context_fn=lambda: (noting("first"), noting("second")))
    assert entered == ["first"]
    y.sum().backward()
    assert entered == ["first", "second"]


@FORMS
def test_a_chain_in_segments(lib, point, use_reentrant):
    lib.manual_seed(0)
    model = lib.nn.Sequential(*[m for _ in range(5) for m in (lib.nn.Linear(4, 4), lib.nn.Tanh(), lib.nn.Dropout(0.3))])
    x = lib.randn(3, 4, requires_grad=True)
    leaves = [x, *model.parameters()]
    chain = lambda: point.checkpoint_sequential(model, 4, x, use_reentrant=use_reentrant)
    assert gradients(lib, chain, *leaves) == gradients(lib, lambda: model(x), *leaves)


# -- messages ------------------------------------------------------------------------------------------


def other_in_the_second_run(first, second):
    runs = iter([first, second, second])
    return lambda x: next(runs)(x)


NOT_THE_SAME = [
    (lambda x: x.sin().cos(), lambda x: x * 1, "A different number of tensors was saved during the original forward and recomputation"),
    (lambda x: x.sin(), lambda x: x[:2].sin(), "Recomputed values for the following tensors have different metadata"),
    (lambda x: x.sin(), lambda x: x.double().sin(), "Recomputed values for the following tensors have different metadata"),
]


@pytest.mark.parametrize(("first", "second", "words"), NOT_THE_SAME)
def test_a_segment_that_does_something_else_is_found_out(lib, point, wx, first, second, words):
    y = point.checkpoint(other_in_the_second_run(first, second), wx[1], use_reentrant=False)
    with pytest.raises(point.CheckpointError, match=words):
        y.sum().backward()


def test_more_values_than_before_are_found_out_without_early_stop(lib, point, wx):
    f = other_in_the_second_run(lambda x: x.sin(), lambda x: x.sin().cos())
    y = point.checkpoint(f, wx[1], use_reentrant=False, early_stop=False)
    with pytest.raises(point.CheckpointError, match="trying to save more tensors during recomputation than during the original"):
        y.sum().backward()


def test_the_check_can_be_turned_off(lib, point, wx):
    f = other_in_the_second_run(lambda x: x.sin(), lambda x: x.double().sin())
    y = point.checkpoint(f, wx[1], use_reentrant=False, determinism_check="none")
    y.sum().backward()
    assert wx[1].grad.shape == (3, 4)


def test_debug_lists_the_operations_of_both_runs(lib, point, wx):
    f = other_in_the_second_run(lambda x: x.sin().cos(), lambda x: x.exp())
    y = point.checkpoint(f, wx[1], use_reentrant=False, debug=True)
    with pytest.raises(point.CheckpointError, match=r"(?s)during the original forward.*(?i:sin).*(?i:cos).*during recomputation.*(?i:exp)"):
        y.sum().backward()


def test_wrong_arguments_are_refused_in_the_same_words(lib, point, wx):
    x = wx[1]
    call = lambda **options: point.checkpoint(lambda x: x.exp(), x, **options)
    with pytest.raises(ValueError, match=r"determinism_check should be one of \['default', 'none'\], but got maybe"):
        call(use_reentrant=False, determinism_check="maybe")
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        call(use_reentrant=True, scale=3)
    with pytest.raises(ValueError, match="Passing `context_fn` or `debug` is only supported when use_reentrant=False"):
        call(use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        call(use_reentrant=False, debug=True, context_fn=lambda: point.noop_context_fn())
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        point.checkpoint_sequential([], 1, x, use_reentrant=False, scale=1)


def test_the_form_should_be_named(lib, point, wx):
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        point.checkpoint(lambda x: x.exp(), wx[1])
    with pytest.warns(UserWarning, match="checkpoint_sequential: the use_reentrant parameter should be passed explicitly"):
        point.checkpoint_sequential([lambda x: x.exp()], 1, wx[1])


def test_the_reentrant_form_says_what_it_cannot(lib, point, wx):
    w, x = wx
    y = point.checkpoint(lambda x: (x @ w).exp(), x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad\(\) or passing an"):
        lib.autograd.grad(y, x)
    y = point.checkpoint(lambda x: x.detach(), x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"none of output has requires_grad=True, this checkpoint\(\) is not necessary"):
        y.backward()
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
        point.checkpoint(lambda x: x @ w, x.detach(), use_reentrant=True)


def test_an_argument_written_over_since_is_noticed(lib, point):
    x = lib.ones(3, requires_grad=True) * 1
    y = point.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# -- memory ----------------------------------------------------------------------------------------------


def held(run):
    """Bytes that NumPy and Python hold more when `run` is done, and at most while it ran, what it returned being alive."""
    gc.collect()
    tracemalloc.start()
    kept = run()
    current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept is not None
    return current, peak


@pytest.mark.lesson10
def test_64_layers_in_8_segments_hold_less_than_a_third():
    torch = autolab
    model = torch.nn.Sequential(*[m for _ in range(64) for m in (torch.nn.Linear(64, 64), torch.nn.Tanh())])
    x = torch.randn(512, 64, requires_grad=True)
    whole, _ = held(lambda: model(x).sum())
    in_parts, _ = held(lambda: module.checkpoint_sequential(model, 8, x, use_reentrant=False).sum())
    assert in_parts <= 0.30 * whole


def test_nested_segments_hold_less_than_flat_ones():
    torch = autolab
    layers = [(lambda x: x.tanh()) for _ in range(64)]
    x = torch.randn(100_000, requires_grad=True)

    def tree(x, n):
        if n == 1:
            return x.tanh()
        half = lambda x: tree(x, n // 2)
        return module.checkpoint(half, module.checkpoint(half, x, use_reentrant=False), use_reentrant=False)

    _, nested = held(lambda: tree(x, 64).sum().backward() or x.grad)
    x.grad = None
    _, whole = held(lambda: module.checkpoint_sequential(layers, 1, x, use_reentrant=False).sum().backward() or x.grad)
    assert nested < 0.35 * whole


def test_what_the_second_run_computed_is_let_go():
    x = autolab.randn(100_000, requires_grad=True)

    def run():
        y = module.checkpoint(lambda x: x.tanh().exp().tanh(), x, use_reentrant=False)
        y.sum().backward(retain_graph=True)
        return y

    run()  # what is loaded when first used is not counted
    assert held(run)[0] < 2.5 * x.nbytes  # the result and the gradient


def test_a_segment_dies_with_its_result():
    import weakref

    x = autolab.randn(3, requires_grad=True)
    y = module.checkpoint(lambda x: x.exp(), x, use_reentrant=False)
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()
    with warnings.catch_warnings(action="error"):
        assert module.checkpoint(lambda x: x, 3, use_reentrant=False) == 3


# -- what a segment computes again is handed out once ------------------------------------------------


def test_several_passes_over_parts_of_one_segment_count_as_one_in_a_group(lib, point):
    runs = []

    def segment(x):
        runs.append(1)
        y = x.sin().cos()
        return y, y.sin().cos()

    x = lib.tensor([0.3], requires_grad=True)
    y, z = point.checkpoint(segment, x, use_reentrant=False)
    with point.GraphExecGroup():
        g = lib.autograd.grad(z, y)
        lib.autograd.grad(y, x, g)
    assert len(runs) == 2


def test_passes_of_a_group_may_not_overlap(lib, point):
    y = point.checkpoint(lambda x: x.sin().cos(), lib.tensor([0.3], requires_grad=True), use_reentrant=False)
    with point.GraphExecGroup():
        y.backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="Unpack is being triggered for a tensor that was already unpacked once. Performing two"):
            y.backward()


def test_groups_do_not_nest(lib, point):
    with point.GraphExecGroup() as group:
        assert isinstance(group, point.GraphExecGroup)
        with pytest.raises(RuntimeError, match="GraphExecGroup contexts cannot be nested. Already inside group"):
            point.GraphExecGroup().__enter__()
    with point.GraphExecGroup():
        pass


def test_where_hooks_on_saved_tensors_are_forbidden_nothing_can_be_checkpointed(lib, point):
    x = lib.tensor([0.3], requires_grad=True)
    with lib.autograd.graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        point.checkpoint(lib.exp, x, use_reentrant=False)


class Twice:
    """A backward that asks for its saved tensors twice."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        assert len(ctx.saved_tensors) == 1
        return g * ctx.saved_tensors[0]


def test_a_value_is_handed_out_once_in_a_pass(lib, point):
    twice = type("Asks", (lib.autograd.Function,), {"forward": Twice.forward, "backward": Twice.backward})
    y = point.checkpoint(lambda x: twice.apply(x * 3), lib.tensor([0.3], requires_grad=True), use_reentrant=False)
    with pytest.raises(RuntimeError, match="Unpack is being triggered for a tensor that was already unpacked once"):
        y.backward()


def test_a_context_may_not_swallow_the_segments_error(lib, point):
    def fails(x):
        raise ValueError("no result")

    contexts = lambda: (contextlib.suppress(ValueError), contextlib.nullcontext())
    with pytest.raises(RuntimeError, match="context_fn suppressed"):
        point.checkpoint(fails, lib.ones(1), use_reentrant=False, context_fn=contexts)


def test_what_needs_no_gradient_comes_back_as_itself(lib, point):
    seen, constant = [], lib.ones(1)

    def backward(ctx, g):
        seen.extend(ctx.saved_tensors)
        return g, None

    forward = lambda ctx, x, c: ctx.save_for_backward(c) or x * 1
    keeps = type("Keeps", (lib.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
    point.checkpoint(keeps.apply, lib.ones(1, requires_grad=True), constant, use_reentrant=False).backward()
    assert seen[0] is constant


# -- the fewest runs ---------------------------------------------------------------------------------


@functools.cache
def fewest(steps, slots):
    """By trying every place for the first slot."""
    if steps == 1 or slots == 0:
        return steps * (steps + 1) // 2
    return min(m + fewest(m, slots) + fewest(steps - m, slots - 1) for m in range(1, steps))


def runs_and_gradient(slots, steps):
    calls, x = [], autolab.tensor([0.3, 0.7], requires_grad=True)
    layer = lambda h: calls.append(1) or autolab.sin(h) + h
    module.revolve([layer] * steps, slots, x).sum().backward()
    return len(calls), x.grad.tolist()


@pytest.mark.parametrize(("steps", "slots"), [(1, 0), (2, 0), (6, 0), (2, 1), (10, 1), (17, 2), (10, 3), (23, 4), (10, 9), (10, 20)])
def test_revolve_runs_as_often_as_the_best_schedule_and_changes_no_gradient(steps, slots):
    runs, gradient = runs_and_gradient(slots, steps)
    assert runs == fewest(steps, slots)
    assert gradient == runs_and_gradient(0, steps)[1]


@pytest.mark.parametrize("slots", [1, 2, 3, 5])
def test_the_first_slot_is_where_no_other_place_is_better(slots):
    for steps in range(2, 70):
        m = module.first_slot(steps, slots)
        assert m + fewest(m, slots) + fewest(steps - m, slots - 1) == fewest(steps, slots)


def test_revolve_draws_the_same_random_numbers_again():
    net = autolab.nn.Sequential(*[autolab.nn.Dropout(0.5) for _ in range(5)])
    x = autolab.ones(50, requires_grad=True)
    autolab.manual_seed(0)
    y = module.revolve(net, 1, x)
    y.sum().backward()
    assert y.tolist() == x.grad.tolist() and 0 < y.count_nonzero() < 50


def test_revolve_refuses_what_is_no_chain():
    for functions, slots in (([], 1), ([autolab.sin], -1)):
        with pytest.raises(ValueError, match="revolve expects at least one function and slots >= 0, but got"):
            module.revolve(functions, slots, autolab.ones(1))
    for functions, words in (
        (autolab.sin, "functions must be a Sequential or a list of functions, not"),
        ([autolab.sin, 3], "function 1 is"),
    ):
        with pytest.raises(TypeError, match=words):
            module.revolve(functions, 1, autolab.ones(1))
    with pytest.raises(TypeError, match="revolve: slots must be int, not str"):
        module.revolve([autolab.sin], "2", autolab.ones(1))


@pytest.mark.parametrize("segments", [0, 4])
def test_a_chain_is_not_cut_into_more_segments_than_it_has_layers(segments):
    with pytest.raises(ValueError, match=f"1 <= segments <= 3 for 3 functions, but got segments={segments}"):
        module.checkpoint_sequential([autolab.sin] * 3, segments, autolab.ones(1), use_reentrant=False)
