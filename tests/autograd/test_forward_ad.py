"""Dual numbers on ordinary tensors: what carries a tangent, for how long, and how reverse mode goes on below."""

import numpy as np
import pytest

import autolab
from autolab import func
from autolab.autograd import forward_ad
from autolab.autograd.forward_ad import dual_level, make_dual, unpack_dual

pytestmark = [pytest.mark.lesson13, pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")]

X, V = autolab.tensor([1.0, 2.0, 3.0], dtype=autolab.float64), autolab.tensor([0.5, -1.0, 2.0], dtype=autolab.float64)


def test_the_tangent_of_a_result_is_the_product_with_the_jacobian():
    f = lambda x: x.sin() * x.prod()
    with dual_level():
        value, tangent = unpack_dual(f(make_dual(X, V)))
    expected = func.jvp(f, (X,), (V,))
    assert value.equal(expected[0]) and tangent.equal(expected[1])


def test_only_what_depends_on_a_dual_has_a_tangent():
    with dual_level():
        x = make_dual(X, V)
        assert unpack_dual(x * 2).tangent.equal(2 * V)
        for still in (X * 2, x.detach() * 2, x > 0, x.argmax()):
            assert unpack_dual(still).tangent is None
        assert type(autolab.ones(2) * 2) is autolab.Tensor


def test_a_tangent_ends_with_its_level():
    with dual_level():
        x = make_dual(X, V)
        y = x * 2
    assert unpack_dual(y).primal is y and unpack_dual(y).tangent is None
    assert type(y) is type(y + x) is autolab.Tensor and (y + x).equal(3 * X)
    assert unpack_dual(X).primal is X


def test_tangents_go_through_views_and_writes():
    with dual_level():
        x = make_dual(X.clone(), V.clone())
        first, rest = x[0], x.view(3)[1:]
        first.mul_(3)
        assert unpack_dual(x).tangent.tolist() == [1.5, -1.0, 2.0]
        x.add_(x)
        assert unpack_dual(rest).primal.tolist() == [4.0, 6.0] and unpack_dual(rest).tangent.tolist() == [-2.0, 4.0]
        rest.zero_()
        assert unpack_dual(x).tangent.tolist() == [3.0, 0.0, 0.0]


def test_a_gradient_of_duals_is_a_dual_forward_over_reverse():
    x = X.clone().requires_grad_()
    with dual_level():
        dual = make_dual(x, V)
        (g,) = autolab.autograd.grad((dual**3).sum(), dual, create_graph=True)
        value, tangent = unpack_dual(g)
    assert value.allclose(3 * X**2) and tangent.allclose(6 * X * V)


def test_a_tangent_has_a_history_reverse_over_forward():
    x = X.clone().requires_grad_()
    with dual_level():
        tangent = unpack_dual((make_dual(x, V) ** 3).sum()).tangent
    (g,) = autolab.autograd.grad(tangent, x)
    assert g.allclose(6 * X * V)


def test_a_tangent_that_requires_grad_gets_one():
    v = V.clone().requires_grad_()
    with dual_level():
        unpack_dual(make_dual(X, v).exp().sum()).tangent.backward()
    assert v.grad.allclose(X.exp())


def test_backward_within_a_dual_level_gives_leaves_their_gradients():
    x = X.clone().requires_grad_()
    with dual_level():
        y = make_dual(x, V) ** 2
        assert y.requires_grad
        y.sum().backward()
    assert x.grad.equal(2 * X)


def test_a_module_moves_with_its_parameters():
    layer = autolab.nn.Linear(3, 2).double()
    w, t = layer.weight.detach(), autolab.ones(2, 3, dtype=autolab.float64)
    with dual_level():
        out = func.functional_call(layer, {"weight": make_dual(w, t)}, (X,))
        assert unpack_dual(out).tangent.tolist() == [6.0, 6.0]


def test_transforms_run_inside_a_dual_level():
    with dual_level():
        x = make_dual(X, V)
        g = func.grad(lambda x: (x**3).sum())(x)
        assert unpack_dual(g).tangent.allclose(6 * X * V)
        rows = func.vmap(lambda a: a**2)(x)
        assert unpack_dual(rows).tangent.allclose(2 * X * V)


def test_a_functions_jvp_is_used():
    class Tenfold(autolab.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def jvp(ctx, t):
            return 20 * ctx.saved_tensors[0] * t

    with dual_level():
        assert unpack_dual(Tenfold.apply(make_dual(X, V))).tangent.equal(20 * X * V)


class Scaled(autolab.autograd.Function):
    """n * x * y, whose one ctx serves backward and jvp."""

    @staticmethod
    def forward(ctx, x, y, n):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.n = n
        return n * x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return ctx.n * g * y, ctx.n * g * x, None

    @staticmethod
    def jvp(ctx, dx, dy, _):
        x, y = ctx.saved_tensors
        return ctx.n * (dx * y + x * dy)


def test_a_function_whose_forward_takes_ctx_goes_forward_and_backward_at_once():
    x = X.clone().requires_grad_()
    with dual_level():
        y = Scaled.apply(make_dual(x, V), X, 4)
        assert unpack_dual(y).tangent.equal(4 * V * X)
        y.sum().backward()
    assert x.grad.equal(4 * X)
    assert autolab.autograd.gradcheck(Scaled.apply, (x, X, 4), check_forward_ad=True)


def one_that(forward, jvp):
    """A Function of one tensor."""
    return type("Ours", (autolab.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})


def written(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize(
    ("forward", "jvp", "phrase"),
    [
        (written, lambda ctx, t: 2 * t, "must modify the corresponding gradient inplace"),
        (written, lambda ctx, t: t, "must modify the corresponding gradient inplace"),
        (lambda ctx, x: x, lambda ctx, t: t, "is returning a view .or an input as-is. but the jvp is not returning a view"),
        (lambda ctx, x: x[:2], lambda ctx, t: t.clone()[:2], "not returning a view of the given grad input"),
        (lambda ctx, x: x.argmax(), lambda ctx, t: t.sum(), "You should return None at that position instead"),
    ],
)
def test_what_forward_does_to_its_input_jvp_does_to_the_tangent(forward, jvp, phrase):
    with dual_level(), pytest.raises(RuntimeError, match=phrase):
        one_that(forward, jvp).apply(make_dual(X.clone(), V.clone()))


def test_a_function_that_writes_to_a_dual_gives_that_dual_back():
    tangent = V.clone()
    with dual_level():
        x = make_dual(X.clone(), tangent)
        y = one_that(written, lambda ctx, t: t.mul_(2)).apply(x)
        assert y is x and unpack_dual(y).tangent is tangent


def test_levels_are_opened_and_closed_by_hand_too():
    assert forward_ad.enter_dual_level() == 0
    x = make_dual(X, V)
    assert unpack_dual(x * x).tangent.equal(2 * X * V)
    forward_ad.exit_dual_level()
    assert not autolab.engine.modes.modes.levels


def test_a_no_grad_around_the_end_of_a_level_goes_on():
    forward_ad.enter_dual_level()
    with autolab.no_grad():
        forward_ad.exit_dual_level()
        assert not autolab.is_grad_enabled()
    assert autolab.is_grad_enabled()


def inside(call):
    def within():
        with dual_level():
            return call()

    return within


REFUSALS = [
    (lambda: make_dual(X, V), RuntimeError, "Trying to create a dual Tensor for forward AD but no level exists"),
    (forward_ad.exit_dual_level, RuntimeError, "Dual level must be a positive number"),
    (lambda: forward_ad.exit_dual_level(level=0), RuntimeError, "Trying to exit a forward AD level"),
    (inside(lambda: forward_ad.enter_dual_level()), RuntimeError, "Nested forward mode AD is not supported at the moment"),
    (inside(lambda: make_dual(X, V[:2])), RuntimeError, "forward gradient that has a different size"),
    (inside(lambda: make_dual(X, V, level=1)), RuntimeError, "Invalid level given to _make_dual"),
    (inside(lambda: unpack_dual(X, level=1)), RuntimeError, "Invalid level given to _fw_primal"),
    (inside(lambda: make_dual(X.long(), V)), ValueError, "Expected primal to be floating point or complex, but got: torch.int64"),
    (inside(lambda: make_dual(X, V.long())), ValueError, "Expected tangent to be floating point or complex, but got: torch.int64"),
    (inside(lambda: make_dual(make_dual(X, V), V)), RuntimeError, "already has a forward gradient at the same level"),
    (inside(lambda: make_dual(X, 1.0)), TypeError, "expected a Tensor for the tangent, but got float"),
    (inside(lambda: make_dual(X, make_dual(X, V))), RuntimeError, "itself has a forward gradient at the same level"),
    (inside(lambda: autolab.add(make_dual(X, V), X, out=autolab.ones(3).double())), NotImplementedError, "because it is an out= function"),
]


@pytest.mark.parametrize(("call", "kind", "phrase"), REFUSALS)
def test_what_is_refused(call, kind, phrase):
    with pytest.raises(kind) as caught:
        call()
    assert phrase in str(caught.value)
    assert not autolab.engine.modes.modes.levels


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)  # checked with PyTorch by hand, which may crash at such things
def test_a_tangent_may_have_another_dtype(lib):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(lib.ones(2), lib.tensor([2.0, 3.0], dtype=lib.float64))
        assert ad.unpack_dual(dual).tangent.dtype is lib.float64 and (dual * 2).dtype is lib.float32
        assert ad.unpack_dual(dual * 2).tangent.tolist() == [4.0, 6.0]


def test_the_numbers_of_a_dual_are_those_of_its_primal(lib):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        assert ad.make_dual(lib.ones(2), lib.ones(2)).numpy().tolist() == [1.0, 1.0]
        with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
            ad.make_dual(lib.ones(2, requires_grad=True), lib.ones(2)).numpy()


def with_jvp(lib, forward, jvp):
    return type("Mine", (lib.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})


def two(ctx, x):
    return x * 2, x.long()


JVPS = [
    (lambda ctx, x: x * 2, lambda ctx, t: (t, t), "Function's jvp returned an invalid number of forward gradients (expected 1 but got 2)"),
    (lambda ctx, x: x * 2, lambda ctx, t: t[:1], "Trying to set a forward gradient that has a different size than that of the original"),
    (lambda ctx, x: x * 2, lambda ctx, t: 3.0, "expected Variable or None (got float) for grad output 0."),
    (lambda ctx, x: x * 2, lambda ctx, t: t.long(), ""),
    (two, lambda ctx, t: (t, t), "Function's jvp returned a gradient at position 1, but"),
    (two, lambda ctx, t: (t, 3.0), "expected Variable or None (got float) for grad output 1."),
]


@pytest.mark.parametrize(("forward", "jvp", "opening"), JVPS)
def test_a_jvp_that_does_not_fit_is_refused_in_pytorchs_opening_words(lib, forward, jvp, opening):
    ad = lib.autograd.forward_ad
    with ad.dual_level(), pytest.raises(RuntimeError) as caught:
        with_jvp(lib, forward, jvp).apply(ad.make_dual(lib.ones(2), lib.ones(2)))
    assert str(caught.value).startswith(opening)


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)  # checked with PyTorch by hand, which may crash at such things
def test_a_jvp_may_give_a_tangent_of_another_dtype(lib):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        y = with_jvp(lib, lambda ctx, x: x * 2, lambda ctx, t: t.double()).apply(ad.make_dual(lib.ones(2), lib.ones(2)))
        assert ad.unpack_dual(y).tangent.dtype is lib.float64


def test_a_write_changes_numbers_and_tangent_of_those_who_gave_them(lib):
    primal, tangent = lib.ones(2), lib.ones(2)
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(primal, tangent)
        dual.mul_(3)
        assert dual._version == primal._version == 1
    assert primal.tolist() == tangent.tolist() == [3, 3]


def test_an_ordinary_tensor_that_is_written_to_with_a_dual_becomes_one(lib):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        x = ad.make_dual(lib.tensor([1.0, 2.0]), lib.tensor([10.0, 20.0]))
        out = lib.zeros(3)
        out[1:] = x * 2
        column = out.view(3, 1)
        column.mul_(2)
        primal, tangent = ad.unpack_dual(out)
        assert (primal.tolist(), tangent.tolist()) == ([0, 4, 8], [0, 40, 80])
        assert column._base is out
    out += 1
    assert column.flatten().tolist() == [1, 5, 9] and ad.unpack_dual(out).tangent is None


def test_views_from_before_see_that_their_base_became_a_dual(lib):
    ad = lib.autograd.forward_ad
    base = lib.zeros(2, 2)
    turned, column = base.t(), base[:, 0]
    with ad.dual_level():
        turned[0] = ad.make_dual(lib.ones(2), lib.tensor([3.0, 4.0]))
        assert ad.unpack_dual(turned).tangent.tolist() == [[3, 4], [0, 0]]
        assert ad.unpack_dual(column * 2).tangent.tolist() == [6, 8]
    assert (base + turned).tolist() == [[2, 1], [1, 0]]


def test_inside_vmap_an_ordinary_tensor_takes_a_tangent_for_each_sample():
    base = autolab.zeros(2, 3, dtype=autolab.float64)

    def along(tangent):
        with dual_level():
            base.t()[:, 0] = make_dual(X, tangent)
            return unpack_dual(base).tangent

    tangents = autolab.stack([V, 2 * V])
    assert func.vmap(along)(tangents).tolist() == [[t, [0.0] * 3] for t in tangents.tolist()]
    assert base[0].equal(X)


def test_history_goes_on_in_a_tensor_that_was_a_dual_for_a_while(lib):
    ad = lib.autograd.forward_ad
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    base = lib.zeros(2, 2)
    with ad.dual_level():
        base[0] = ad.make_dual(x, lib.ones(2))
    base.mul_(3)
    base[0].sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_tangent_that_lies_otherwise_in_memory_is_copied(lib):
    ad = lib.autograd.forward_ad
    tangent = lib.ones(2, 3)
    with ad.dual_level():
        same, turned = ad.make_dual(lib.ones(2, 3), tangent), ad.make_dual(lib.ones(3, 2).t(), tangent)
        assert ad.unpack_dual(same).tangent is tangent
        assert ad.unpack_dual(turned).tangent.stride() == (1, 2)


def test_tangents_are_printed_and_can_be_done_without(lib):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        x = ad.make_dual(lib.ones(2), lib.zeros(2))
        assert str(x) == "tensor([1., 1.], tangent=tensor([0., 0.]))"
        with ad._set_fwd_grad_enabled(False):
            assert not ad._is_fwd_grad_enabled() and ad.unpack_dual(x * 2).tangent is None
        assert ad.unpack_dual(x.clone().detach_()).tangent is None and "tangent" in str(x * 2)


@pytest.mark.oracle
def test_a_program_of_duals_gives_pytorchs_numbers(torch):
    def program(T):
        ad = T.autograd.forward_ad
        x, v = (T.tensor(t.numpy()) for t in (X, V))
        with ad.dual_level():
            dual = ad.make_dual(x.clone(), v.clone())
            parts = dual.unsqueeze(0).expand(2, 3).reshape(-1)[1:].split(2)
            out = T.cat([p.cumsum(0) * dual.norm() for p in parts])
            out[1:3].mul_(dual[:2])
            return ad.unpack_dual(out.clamp(min=0.5))

    for ours, theirs in zip(program(autolab), program(torch), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-12)


def test_inference_mode_turns_forward_mode_off(lib):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        outside = ad.make_dual(lib.ones(2), lib.full((2,), 3.0))
        with lib.inference_mode():
            inside = ad.make_dual(lib.ones(2), lib.ones(2))
            twice = outside * 2
            assert [ad.unpack_dual(t).tangent for t in (inside, outside, twice)] == [None] * 3
        assert ad.unpack_dual(inside).tangent is None and ad.unpack_dual(twice).tangent is None
        assert ad.unpack_dual(outside * 2).tangent.tolist() == [6, 6]
