"""Products for a leaf that is used many times: their sum is what `steps` adds up, also where operands are written into meanwhile."""

import numpy as np
import pytest

import autolab
from autolab.autograd.graph import get_gradient_edge, saved_tensors_hooks
from autolab.fast import backward, stacked
from autolab.fast.stacked import FEW, MOST, SMALL
from autolab.nn import functional as F

from .test_backward import drain

pytestmark = pytest.mark.speed


@pytest.fixture
def computed(monkeypatch):
    """How many products each stack was made of."""
    counts, stack = [], stacked.stack

    def counting(arrays, rows, known):
        counts.append(len(arrays))
        return stack(arrays, rows, known)

    monkeypatch.setattr(stacked, "stack", counting)
    return counts


def right(h, w, b, u):
    for _ in range(20):
        h = (h @ w + b).tanh()
    return h


def left(h, w, b, u):
    h = h.t()
    for _ in range(20):
        h = (w @ h + u).tanh()
    return h


def layer(h, w, b, u):
    for _ in range(20):
        h = F.linear(h, w, b).tanh()
    return h


def both_sides(h, w, b, u):
    for _ in range(20):
        h = (h @ w + F.linear(h, w, b) - (w @ h.t()).t() * b).tanh()
    return h


def other_ways(h, w, b, u):
    for _ in range(9):
        h = (h @ w + b).tanh() + (b * w.sum(0) + w[0] * b.sum())
    return h + w.mean() + F.linear(h[0], w, b) + F.linear(h[None, :2], w, b).sum(1)


def all_of_one_row(h, w, b, u):
    for _ in range(20):
        h = (h[:1] @ w + b).tanh() + b[:1]
    return h


PROGRAMS = [right, left, layer, both_sides, other_ways, all_of_one_row]


def leaves(rows=6, dtype=autolab.float32):
    rng = np.random.default_rng(0)
    shapes = {"h": (rows, 8), "w": (8, 8), "b": (8,), "u": (8, 1)}
    return {name: autolab.tensor(rng.standard_normal(shape) / 3, dtype=dtype, requires_grad=True) for name, shape in shapes.items()}


def gradients(loop, program, tensors, prepare=lambda tensors, out: None, **options):
    for t in tensors.values():
        t.grad = None
    out = program(**tensors).square().sum()
    prepare(tensors, out)
    loop([out], [np.ones((), out.payload.dtype)[()]], **options)
    return {name: t.grad.numpy().copy() for name, t in tensors.items() if t.grad is not None}


def agree(found, exact):
    assert found.keys() == exact.keys()
    for name, g in exact.items():
        assert found[name].dtype == g.dtype
        assert found[name].flags.c_contiguous
        np.testing.assert_allclose(
            found[name], g, rtol=1e-4 if g.dtype == np.float32 else 1e-12, atol=1e-6 if g.dtype == np.float32 else 1e-14
        )


@pytest.mark.parametrize("rows", [1, 6, SMALL // 8 + 1])
@pytest.mark.parametrize("dtype", [autolab.float32, autolab.float64], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_stacked_products_add_up_to_what_steps_gives(program, dtype, rows):
    tensors = leaves(rows, dtype)
    agree(gradients(backward.run_pass, program, tensors), gradients(drain, program, tensors))


@pytest.mark.parametrize("program", [right, left, layer, both_sides])
def test_products_of_one_leaf_are_one_product(program, computed):
    gradients(backward.run_pass, program, leaves())
    assert max(computed) >= 19


def test_all_passes_of_a_program_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(backward, "next_pass", iter(range(4)).__next__)
    tensors = leaves()
    first, *others = [gradients(backward.run_pass, right, tensors) for _ in range(4)]
    assert all(np.array_equal(first[name], again[name]) for again in others for name in first)


def test_operands_that_wait_are_few_bytes(computed):
    def program(h, w, b, u):
        for _ in range(60):
            h = (h @ w + b).tanh()
        return h

    rows = 256
    gradients(backward.run_pass, program, leaves(rows))
    assert 1 < max(computed) <= MOST // (rows * 16) + 1


def test_a_leaf_that_is_used_seldom_and_large_operands_do_not_wait(computed):
    gradients(backward.run_pass, lambda h, w, b, u: (h @ w).tanh() @ w + (b.sin() + u.cos()).exp().mean().sqrt().log().tanh() * b, leaves())
    assert FEW > 2
    gradients(backward.run_pass, right, leaves(SMALL // 8 + 1))
    assert computed == []


def test_what_was_changed_since_it_was_saved_is_refused():
    tensors, kept = leaves(), []

    def program(h, w, b, u):
        for _ in range(20):
            h = (h @ w + b).tanh() * 1
            kept.append(h)
        return h

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        gradients(backward.run_pass, program, tensors, lambda tensors, out: kept[4].detach().zero_())


class Overwrites(autolab.autograd.Function):
    """Its backward pass writes into the gradient, and into a value that was saved for other products."""

    @staticmethod
    def forward(ctx, x, values):
        ctx.values = values
        return x * 1

    @staticmethod
    def backward(ctx, g):
        copy = g.clone()
        g.zero_()
        for value in ctx.values:
            value.detach().zero_()
        return copy, None


def test_code_of_users_may_write_into_operands_that_waited():
    def program(h, w, b, u):
        seen = []
        for k in range(24):
            h = (h @ w + b).tanh() * 1.0
            seen.append(h)
            if k == 5:
                h = h + Overwrites.apply(h, Overwritten(seen, k))
        return h

    tensors = leaves()
    agree(gradients(backward.run_pass, program, tensors), gradients(drain, program, tensors))


class Overwritten:
    """The values that come after the k-th, which have been used when the pass comes to it."""

    def __init__(self, seen, k):
        self.seen, self.k = seen, k

    def __iter__(self):
        return iter(self.seen[self.k + 1 :])


@pytest.mark.parametrize("place", ["tensor", "node", "leaf", "after"])
def test_hooks_may_write_into_operands_that_waited(place):
    """A hook on something in the middle, or on a leaf that is complete early, writes into values of nodes that have run."""

    def run(loop):
        tensors, seen = leaves(), []

        def program(h, w, b, u):
            for k in range(24):
                h = (h @ w + b).tanh() * 1.0
                seen.append(h)
                if k == 5:
                    h = h + u.t() if place in ("leaf", "after") else h * 1.0
                    middle.append(h)
            return h

        middle = []

        def overwrite(*_):
            for value in seen[6:]:
                value.payload[...] = 0

        def prepare(tensors, out):
            if place == "tensor":
                middle[0].register_hook(overwrite)
            elif place == "node":
                middle[0].grad_fn.register_hook(overwrite)
            elif place == "leaf":
                tensors["u"].register_hook(overwrite)
            else:
                tensors["u"].register_post_accumulate_grad_hook(overwrite)

        return gradients(loop, program, tensors, prepare)

    agree(run(backward.run_pass), run(drain))


def test_saved_tensor_hooks_may_write_into_operands_that_waited():
    def run(loop):
        seen = []

        def overwrite(value):
            for value_before in seen[6:]:
                value_before.payload[...] = 0
            return value

        def program(h, w, b, u):
            for k in range(24):
                h = (h @ w + b).tanh() * 1.0
                seen.append(h)
                if k == 5:
                    with saved_tensors_hooks(lambda t: t, overwrite):
                        h = autolab.cat([part.exp() for part in h.split(4, 1)], 1).log()
            return h

        return gradients(loop, program, leaves())

    agree(run(backward.run_pass), run(drain))


def test_a_gradient_that_is_an_operand_may_be_added_to_meanwhile():
    """h uses the gradient of another leaf as a constant; that leaf is complete, and adds to it, before the products are computed."""

    def run(loop):
        tensors = leaves()
        early = autolab.ones(6, 8, requires_grad=True)
        early.grad = autolab.full((6, 8), 0.5)

        def program(h, w, b, u):
            for _ in range(12):
                h = (h @ w + b).tanh()
            h = h + early
            for _ in range(12):
                h = h + early.grad @ w
            return h

        out = program(**tensors).square().sum()
        loop([out], [np.float32(1)])
        return {name: t.grad.numpy().copy() for name, t in tensors.items() if t.grad is not None}

    agree(run(backward.run_pass), run(drain))


@pytest.mark.parametrize("named", [("w",), ("b", "h"), ("u", "w")], ids=str)
@pytest.mark.parametrize("accumulate", [False, True])
def test_named_inputs_get_their_sums(named, accumulate):
    def run(loop):
        tensors, captured = leaves(), {}
        out = other_ways(**tensors).sum() + tensors["u"].sum()
        edges = [get_gradient_edge(tensors[name]).node for name in named]
        loop([out], [np.float32(1)], inputs=edges, captured=captured, accumulate=accumulate)
        assert all((tensors[name].grad is not None) == (accumulate and name in named) for name in tensors)
        return {name: np.array(captured[edge]) for name, edge in zip(named, edges, strict=True)}

    agree(run(backward.run_pass), run(drain))


def test_a_leaf_of_one_entry_is_summed_over_columns_too():
    def program(h, w, b, u):
        for _ in range(24):
            h = (h * 0.5 + b).tanh()
        return h

    tensors = {**leaves(), "b": autolab.tensor([0.3], requires_grad=True)}
    agree(gradients(backward.run_pass, program, tensors), gradients(drain, program, tensors))


def test_passes_inside_a_transform_know_no_such_leaves():
    def f(w):
        h = autolab.eye(3)
        for _ in range(20):
            h = (h @ w).tanh()
        return h.sum()

    w = autolab.rand(3, 3)
    for made in (autolab.func.grad(f)(w), autolab.func.grad(lambda w: autolab.func.grad(f)(w).sum())(w)):
        assert made.isfinite().all()


def test_a_graph_that_is_kept_gives_its_products_again():
    tensors = leaves()
    out = right(**tensors).sum()
    out.backward(retain_graph=True)
    once = tensors["w"].grad.clone()
    out.backward()
    np.testing.assert_allclose(tensors["w"].grad.numpy(), 2 * once.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("rows", "width", "out"), [(8, 64, 128), (8, 128, 128), (16, 256, 130), (32, 256, 200), (7, 256, 128), (40, 256, 128)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_product_with_a_transpose_is_the_same_in_either_order(rows, width, out, dtype):
    from autolab.fast.kernels.linalg import times_transpose

    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((rows, width)).astype(dtype), rng.standard_normal((out, width)).astype(dtype)
    found = times_transpose(x, w)
    assert found.flags.c_contiguous and found.dtype == dtype
    np.testing.assert_allclose(found, x.astype(float) @ w.T.astype(float), rtol=1e-4, atol=1e-4)
