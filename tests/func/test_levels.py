"""Levels: what a transform leaves behind, what it keeps apart, and what passes through it."""

import gc
import threading
import weakref

import numpy as np
import pytest

import autolab
from autolab import func
from autolab.engine.modes import modes
from autolab.engine.op import GENERAL, Op
from autolab.rules import TABLE
from autolab.transforms.batched import Batch, loops
from autolab.transforms.level import ViewPath

pytestmark = pytest.mark.lesson13

X = autolab.tensor([1.0, 2.0, 3.0])


def usual():
    return not modes.levels and modes.fast and modes.grad


def fails(x):
    raise KeyError("on purpose")


TRANSFORMS = {
    "grad": lambda f: func.grad(f)(X.sum()),
    "jvp": lambda f: func.jvp(f, (X,), (X,)),
    "vjp": lambda f: func.vjp(f, X),
    "vmap": lambda f: func.vmap(f)(X),
    "jacrev": lambda f: func.jacrev(f)(X),
    "jacfwd": lambda f: func.jacfwd(f)(X),
    "vmap(grad)": lambda f: func.vmap(func.grad(f))(X),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_level_0_is_as_before_after_a_transform_and_after_an_exception_in_it(name):
    TRANSFORMS[name](lambda x: x * 2)
    assert usual()
    with pytest.raises(KeyError, match="on purpose"):
        TRANSFORMS[name](fails)
    assert usual()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_no_box_comes_out(name):
    results = TRANSFORMS[name](lambda x: x * 2)
    for t in results if isinstance(results, tuple) else (results,):
        assert callable(t) or type(t) is autolab.Tensor


def test_another_thread_is_on_level_0():
    seen = []

    def f(x):
        thread = threading.Thread(target=lambda: seen.append((usual(), X * 2)))
        thread.start()
        thread.join()
        return x * 2

    func.grad(f)(X.sum())
    assert seen[0][0] and type(seen[0][1]) is autolab.Tensor


def test_a_result_that_does_not_depend_on_the_input_does_not_require_grad():
    def f(x):
        constant = x.detach() * 2
        assert x.requires_grad and not constant.requires_grad and not (x > 0).requires_grad
        assert constant.numpy() == 12
        return x

    func.grad(f)(X.sum())


def test_transforms_do_not_touch_grad():
    x = autolab.tensor(2.0, requires_grad=True)
    func.grad(lambda x: x * x)(x)
    assert x.grad is None


def test_backward_goes_through_a_gradient_to_its_input():
    x = autolab.tensor(2.0, requires_grad=True)
    func.grad(lambda x: x**3)(x).backward()
    assert x.grad == 12


@pytest.mark.parametrize(
    "per_sample",
    [
        lambda loss, w: func.vmap(lambda x: func.grad(loss)(w, x))(X),
        lambda loss, w: func.vmap(func.grad(loss), (None, 0))(w, X),
        lambda loss, w: func.jacrev(lambda w: func.vmap(lambda x: loss(w, x))(X))(w),
        lambda loss, w: func.jacfwd(lambda w: func.vmap(lambda x: loss(w, x))(X))(w),
        lambda loss, w: autolab.stack([func.jvp(lambda w: loss(w, x), (w,), (w * 0 + 1,))[1] for x in X]),
    ],
)
def test_backward_goes_through_transforms_to_captured_tensors(per_sample):
    w = autolab.tensor(0.5, requires_grad=True)
    g = per_sample(lambda w, x: (w * x) ** 3, w)  # 3 w^2 x^3, and its derivative 6 w x^3
    g.sum().backward()
    assert w.grad == 6 * 0.5 * (X**3).sum()


def test_a_no_grad_around_a_transform_does_not_matter_to_it_but_its_result_is_not_recorded():
    x = autolab.tensor(3.0, requires_grad=True)
    with autolab.no_grad():
        g, value = func.grad_and_value(lambda x: x * x)(x)
    assert g == 6 and value == 9
    assert not g.requires_grad and not value.requires_grad


def test_a_no_grad_within_is_respected():
    def f(x):
        with autolab.no_grad():
            constant = x**2
        return x - constant

    assert func.grad(f)(autolab.tensor(3.0)) == 1
    assert func.grad(lambda x: func.vmap(f)(x).sum())(X).tolist() == [1, 1, 1]


def test_a_no_grad_within_holds_on_every_level():
    w = autolab.tensor(3.0, requires_grad=True)

    def f(x):
        with autolab.no_grad():
            constant = w * x
        return x * constant

    g = func.grad(f)(autolab.tensor(2.0))
    assert g == 6 and not g.requires_grad
    assert func.grad(func.grad(f))(autolab.tensor(2.0)) == 0


def test_detach_cuts_every_level():
    def f(x):
        return x * x.detach()

    assert func.grad(func.grad(f))(autolab.tensor(3.0)) == 0
    assert func.jvp(f, (X,), (X,))[1].tolist() == [1, 4, 9]
    assert func.vmap(func.grad(f))(X).tolist() == [1, 2, 3]


def test_values_are_known_inside_grad_and_jvp():
    def f(x):
        return x * 2 if x > 0 and x.item() < 5 and int(x) == 2 else x * 0

    assert func.grad(f)(autolab.tensor(2.0)) == 2
    assert func.jvp(f, (autolab.tensor(2.0),), (autolab.tensor(1.0),))[1] == 2


def test_an_augmented_assignment_changes_the_box():
    def f(x):
        total = x * 0
        alias = total
        total += x * x
        return alias

    assert func.grad(f)(autolab.tensor(3.0)) == 6
    assert func.jvp(f, (X,), (X * 0 + 1,))[1].tolist() == [2, 4, 6]
    assert func.vmap(f)(X).tolist() == [1, 4, 9]


def test_writing_a_constant_removes_the_derivative():
    def f(x):
        y = x * 2
        y.fill_(7.0)
        return y + x

    assert func.grad(f)(autolab.tensor(3.0)) == 1
    assert func.jvp(f, (X,), (X,))[1].tolist() == [1, 2, 3]
    assert func.vmap(f)(X).tolist() == [8, 9, 10]


def test_a_version_is_checked_on_a_tape_too():
    w = autolab.tensor(2.0)

    def f(x):
        y = x * w
        w.mul_(3)
        return y

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        func.grad(f)(autolab.tensor(1.0))


def test_a_row_without_a_batching_rule_runs_in_a_loop_and_is_counted():
    row = Op("cube", lambda x, y: (x**3 + y, x - y), GENERAL, x=lambda g, x: g[0] * 3 * x * x + g[1], outputs=2)
    loops.clear()
    cube, rest = func.vmap(lambda x, y: row(x, y), (0, None))(autolab.ones(2, 3) * 2, X)
    assert loops == {"cube": 1}
    assert cube.tolist() == [[9, 10, 11]] * 2 and rest.tolist() == [[1, 0, -1]] * 2
    g = func.grad(lambda x: func.vmap(lambda x: row(x, X)[0].sum())(x).sum())(autolab.ones(2, 3))
    assert g.tolist() == [[3] * 3] * 2


def test_a_jvp_of_a_rows_own_is_used():
    row = Op("double", lambda x: x * 2, GENERAL, x=lambda g: g * 2, jvp=lambda dx, out: dx * 20 + out * 0)
    assert func.jvp(row, (X,), (X,))[1].tolist() == [20, 40, 60]


def test_put_takes_a_batch_and_a_tangent():
    base = autolab.zeros(2, 3, dtype=autolab.float64)
    look = ViewPath(base, ((TABLE["swapaxes"], {"axis1": -2, "axis2": -1}, None), (TABLE["select"], {"key": (..., 1, slice(None))}, None)))
    put = lambda x, y: TABLE["put"](x, y, look=look)
    x, y = autolab.rand(4, 2, 3).double(), autolab.rand(4, 2).double()
    expected = autolab.stack([put(a, b) for a, b in zip(x, y, strict=True)])
    loops.clear()
    assert func.vmap(put)(x, y).equal(expected)
    assert not loops
    assert func.jvp(put, (x[0], y[0]), (x[1], y[1]))[1].equal(put(x[1], y[1]))
    g = func.grad(lambda y: (put(x[0], y) ** 2).sum())(y[0])
    assert g.allclose(2 * y[0])


def test_one_sample_shows_its_own_shape():
    def f(x):
        assert x.shape == (3,) and x.ndim == 1 and len(x) == 3 and x.dtype == autolab.float32 and x.numel() == 3
        assert repr(x).startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor(")
        return x

    func.vmap(f)(autolab.ones(2, 3))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_boxes_and_tapes_are_freed_without_the_collector(name):
    seen = []

    def f(x):
        y = (x * x).sin() * 2
        seen.extend([weakref.ref(x), weakref.ref(y), weakref.ref(y.home)])
        return y

    gc.collect()
    gc.disable()
    try:
        results = TRANSFORMS[name](f)
        del results
        assert len(seen) >= 3 and [reference() for reference in seen] == [None] * len(seen)
    finally:
        gc.enable()


def test_random_numbers_may_be_the_same_for_all_samples():
    out = func.vmap(lambda x: x + autolab.rand(2), randomness="same")(autolab.zeros(3, 2))
    assert out[0].equal(out[1]) and out.std() > 0


def test_the_levels_of_nested_transforms_are_numbered():
    seen = []

    def f(x):
        seen.append(x.level)
        return x * x

    func.vmap(func.grad(lambda x: func.jvp(f, (x,), (x,))[1]))(X)
    assert seen == [3]


def test_a_batch_lifts_what_all_samples_share():
    with Batch(2) as level:
        assert level.lift(X).shape == (3,) and level.lift(X).value.shape == (2, 3)


# -- custom Functions ------------------------------------------------------------------------------------


class Apart(autolab.autograd.Function):
    """Rounds, and passes the gradient as if it had doubled: no derivative of its forward could be mistaken for its rule."""

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


def test_a_custom_function_is_differentiated_by_its_rule():
    assert func.grad(lambda x: Apart.apply(x).sum())(X).tolist() == [2, 4, 6]
    assert func.jacrev(Apart.apply)(X).diagonal().tolist() == [2, 4, 6]


def test_a_custom_function_with_setup_context_serves_every_tape():
    w = autolab.tensor(3.0, requires_grad=True)
    assert func.grad(func.grad(Apart.apply))(autolab.tensor(1.0)) == 2
    # y = round(x), y' = 2 x by its rule: (y^2)' = 4 x y, (y^2)'' = 4 y + 8 x^2
    assert func.grad(func.grad(lambda x: Apart.apply(x) ** 2))(autolab.tensor(1.0)) == 12
    func.grad(lambda x: Apart.apply(x * w))(autolab.tensor(1.0)).backward()  # 2 x w^2, and d/dw = 4 x w
    assert w.grad == 12


def test_a_custom_functions_outputs_without_gradient():
    class Split(autolab.autograd.Function):
        @staticmethod
        def forward(x, n):
            return x * n, x.floor()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, g, _):
            return g * 5, None

    def f(x):
        scaled, whole = Split.apply(x, 3)
        assert scaled.requires_grad and not whole.requires_grad
        return scaled * whole

    assert func.grad(f)(autolab.tensor(2.5)) == 10


def test_float32_parameters_give_float32_per_sample_gradients():
    layer = autolab.nn.Linear(3, 2)

    def loss(weight, x, target):
        return autolab.nn.functional.cross_entropy(autolab.nn.functional.linear(x, weight, layer.bias), target)

    targets = autolab.tensor([0, 1, 1, 0])
    gs = func.vmap(func.grad(loss), (None, 0, 0))(layer.weight, autolab.rand(4, 3), targets)
    assert gs.shape == (4, 2, 3) and gs.dtype == autolab.float32 and np.isfinite(gs.detach().numpy()).all()


# -- what else works inside ------------------------------------------------------------------------------


def test_a_hook_inside_grad_replaces_the_gradient_on_every_level():
    def f(x):
        y = x * 3
        y.register_hook(lambda g: g * 2)
        x.register_hook(lambda g: g + 1)
        return (y**2).sum()

    x = autolab.tensor([1.0, 2.0])
    assert func.grad(f)(x).tolist() == [37, 73]
    assert func.vmap(func.grad(f))(x).tolist() == [37, 73]
    assert func.jacrev(func.grad(f))(x).tolist() == [[36, 0], [0, 36]]


@pytest.mark.parametrize("jacobian", [func.jacrev, func.jacfwd])
def test_arguments_that_are_not_differentiated_take_writes(jacobian):
    x, room, total = autolab.tensor([1.0, 2.0]), autolab.zeros(2), autolab.zeros(2)
    f = lambda x, room, *, total: total.add_(room.copy_(x * 3))
    assert jacobian(f)(x, room, total=total).tolist() == [[3, 0], [0, 3]]
    assert room.tolist() == [3, 6] and total.tolist() == [3, 6]


def test_a_jacobian_in_chunks_of_one_row_needs_no_batching_rule():
    row = Op("cube1", lambda x: x**3, GENERAL, x=lambda g, x: g * 3 * x * x)
    loops.clear()
    assert func.jacrev(row, chunk_size=1)(X).diagonal().tolist() == [3, 12, 27]
    assert func.jacrev(row, chunk_size=2)(X).diagonal().tolist() == [3, 12, 27]
    assert not loops


def test_a_box_can_be_opened_for_looking():
    seen = []

    def f(x):
        seen.append((func.debug_unwrap(x), func.debug_unwrap(x, recurse=False).level))
        return x.sum()

    func.vmap(func.grad(f))(autolab.ones(2, 3))
    assert type(seen[0][0]) is autolab.Tensor and seen[0][0].shape == (2, 3)
    assert seen[0][1] == 1
    assert func.debug_unwrap(X) is X


def test_a_general_row_along_named_axes_needs_no_batching_rule():
    row = Op("halved", lambda x, *, axis: np.sum(x, axis=axis) / 2, GENERAL, x=lambda g, x_shape, axis: np.broadcast_to(
        np.expand_dims(g / 2, axis), x_shape))  # fmt: skip
    xs = autolab.rand(4, 2, 3)
    loops.clear()
    assert func.vmap(lambda x: row(x, axis=0))(xs).allclose(xs.sum(1) / 2)
    assert func.vmap(func.grad(lambda x: row(x, axis=-1).sum()))(xs).allclose(autolab.full((4, 2, 3), 0.5))
    assert not loops


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_inference_mode_around_a_transform_does_not_disturb_it(transform):
    expected = TRANSFORMS[transform](lambda x: x**2)
    with autolab.inference_mode():
        found = TRANSFORMS[transform](lambda x: x**2)
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (expected, found)), strict=True):
        assert callable(a) or a.equal(b)


def test_forward_mode_can_be_off_for_a_while():
    off = autolab.autograd.forward_ad._set_fwd_grad_enabled

    def f(x):
        with off(False):
            shift = x**2
        return x**2 - shift

    x, one = autolab.tensor(3.0), autolab.tensor(1.0)
    assert func.jvp(f, (x,), (one,))[1].item() == 6
    assert func.jvp(lambda x: func.jvp(f, (x,), (one,))[1], (x,), (one,))[1].item() == 2
    with off(False):
        assert func.jvp(autolab.exp, (one,), (one,))[1].item() == pytest.approx(2.71828, rel=1e-5)


def per_sample_weights(act, x, **settings):
    return func.vmap(func.grad(lambda w, x: (act(w * x, **settings) * x).sum()), (None, 0))(autolab.ones(2, 3), x)


@pytest.mark.parametrize("act", [autolab.softmax, autolab.cumsum])
def test_calls_noted_for_one_setting_are_not_those_of_another(act):
    xs = autolab.arange(36.0).reshape(4, 3, 3) / 7
    for d in (-1, -2) * 3:
        gradient = func.grad(lambda x, d=d: (act(x, dim=d) * xs[0]).sum())
        autolab.testing.assert_close(func.vmap(gradient)(xs), autolab.stack([gradient(x) for x in xs]))


def test_calls_noted_for_one_shape_are_not_those_of_another():
    for shape in ((4, 2, 3), (4, 6)) * 3:
        assert func.vmap(func.grad(lambda x: x.mean()))(autolab.ones(shape)).equal(autolab.ones(shape) / 6)


def test_calls_noted_for_one_number_are_not_those_of_another():
    x = autolab.arange(24.0).reshape(4, 2, 3) + 1
    for n in (2.0, 3.0, -0.5):
        for _ in range(4):
            autolab.testing.assert_close(per_sample_weights(autolab.pow, x, exponent=n), n * x ** (n + 1))


def test_noted_calls_leave_alone_what_went_in():
    x = autolab.arange(6.0).reshape(3, 2)

    def f(b, x):
        return (autolab.nn.functional.linear(x, autolab.ones(2, 2), b) * x).sum()

    doubled = func.vmap(lambda b, x: func.grad(f)(b, x).mul_(2), (None, 0))
    assert all(doubled(autolab.zeros(2), x).equal(2 * x) for _ in range(4))


def test_backward_goes_through_gradients_for_each_sample():
    w, xs = autolab.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=True), autolab.arange(6.0).reshape(3, 2) / 5
    gradient = func.grad(lambda w, x: ((autolab.nn.functional.linear(x.unsqueeze(0), w, w[0]).tanh() - x) ** 2).mean())
    together, alone = func.vmap(gradient, (None, 0))(w, xs), autolab.stack([gradient(w, x) for x in xs])
    autolab.testing.assert_close(together, alone)
    both = [autolab.autograd.grad((g * autolab.arange(12.0).reshape(3, 2, 2)).sum(), w)[0] for g in (together, alone)]
    autolab.testing.assert_close(*both)


def test_shapes_that_do_not_fit_are_told_for_one_sample_also_where_a_graph_is_recorded():
    x, w = autolab.ones(5, 3), autolab.ones(5, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"The shapes are \[3\] and \[2\]"):
        func.vmap(lambda x, w: x * w)(x, w)
