"""A view looks into its base: the same memory, the same count of writes, and a history that follows from the base's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def leaf(lib, *values):
    return lib.tensor(values, dtype=lib.float64, requires_grad=True)


def matrix(lib):
    return lib.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], dtype=lib.float64, requires_grad=True)


def node(t):
    return type(t.grad_fn).__name__


def gradient(lib, out, x):
    return lib.autograd.grad(out.sum(), x)[0].tolist()


VIEWS = {
    "x[0]": "SelectBackward0", "x[:1]": "SliceBackward0", "x[:]": "SliceBackward0", "x[...]": "AliasBackward0", "x[:, :]": "AliasBackward0",
    "x[None]": "UnsqueezeBackward0", "x.select(1, 0)": "SelectBackward0", "x.narrow(1, 0, 2)": "SliceBackward0", "x.view(3, 2)": "ViewBackward0",
    "x.view_as(x)": "ViewBackward0", "x.reshape(6)": "ViewBackward0", "x.flatten()": "ViewBackward0", "x.ravel()": "ViewBackward0",
    "x.unflatten(1, (3, 1))": "ViewBackward0", "x.transpose(0, 1)": "TransposeBackward0", "x.swapaxes(0, 1)": "TransposeBackward0",
    "x.swapdims(0, 1)": "TransposeBackward0", "x.t()": "TBackward0", "x.T": "PermuteBackward0", "x.mT": "TransposeBackward0",
    "x.H": "TransposeBackward0", "x.adjoint()": "TransposeBackward0", "x.permute(1, 0)": "PermuteBackward0",
    "x.movedim(0, 1)": "PermuteBackward0", "x.moveaxis(0, 1)": "PermuteBackward0", "x.expand(4, 2, 3)": "ExpandBackward0",
    "x.expand_as(x)": "ExpandBackward0", "x.broadcast_to(1, 2, 3)": "ExpandBackward0", "x.diagonal()": "DiagonalBackward0",
    "x.unfold(1, 2, 1)": "UnfoldBackward0", "x.as_strided((2,), (1,))": "AsStridedBackward0", "x.squeeze()": "SqueezeBackward0",
    "x.squeeze(0)": "SqueezeBackward1", "x.unsqueeze(0)": "UnsqueezeBackward0",
    "x.split(1)[0]": "SplitBackward0", "x.split([1, 1])[0]": "SplitWithSizesBackward0", "x.chunk(2)[1]": "SplitBackward0",
    "x.unbind()[1]": "UnbindBackward0",
}  # fmt: skip


@pytest.mark.parametrize("expression", [e for e in VIEWS if e != "x.H"])
def test_a_view_knows_its_base_and_shares_its_memory_and_its_version(lib, expression):
    x = matrix(lib)
    if "broadcast_to" in expression:
        expression = "x.broadcast_to((1, 2, 3))"
    y = eval(expression)
    assert y._is_view() and y._base is x and node(y) == VIEWS.get(expression, "ExpandBackward0")
    with lib.no_grad():
        x.fill_(7)
    assert y._version == x._version == 1 and (y == 7).all()


def test_a_view_of_a_view_looks_into_the_same_base(lib):
    x = matrix(lib)
    assert x.t()[0].view(2, 1)._base is x and x._base is None and not x._is_view()


def test_a_copy_is_no_view(lib):
    x = matrix(lib)
    for copy in (x.clone(), x[[0]], x + 0, x.t().reshape(6), x.repeat(2, 1)):
        assert not copy._is_view() and copy._base is None


def test_detach_and_data_share_memory_but_look_into_nothing(lib):
    x = matrix(lib) * 1
    for shared in (x.detach(), x.data):
        assert not shared._is_view() and shared.data_ptr() == x.data_ptr() and not shared.requires_grad


def test_a_write_through_detach_is_counted_and_one_through_data_is_not(lib):
    x = matrix(lib) * 1
    x.detach().mul_(2)
    assert (x._version, x[1, 2].item()) == (1, 10)
    x.data.mul_(2)
    assert (x._version, x[1, 2].item()) == (1, 20)


# -- a write gives the base and all its views a new history ----------------------------------------------------


def test_the_base_remembers_the_write_and_the_views_look_again(lib):
    x = matrix(lib)
    h = x * 1
    row, column = h[0], h.t()[1]
    row.mul_(3)
    assert [node(t) for t in (h, row, column)] == ["CopySlices", "AsStridedBackward0", "AsStridedBackward0"]
    assert [None if n is None else type(n).__name__ for n, _ in h.grad_fn.next_functions] == ["MulBackward0", None]
    assert gradient(lib, column, x) == [[0, 3, 0], [0, 1, 0]]


def test_what_was_written_is_the_second_edge_of_the_base(lib):
    h, w = matrix(lib) * 1, leaf(lib, 1.0, 2.0, 3.0)
    h[0].mul_(w)
    assert [type(n).__name__ for n, _ in h.grad_fn.next_functions] == ["MulBackward0", "AccumulateGrad"]
    assert gradient(lib, h, w) == [0, 1, 2]


def test_a_view_of_a_view_writes_through_both(lib):
    x = matrix(lib)
    h = x.clone()
    h.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2)
    assert gradient(lib, h, x) == [[1, 2, 1], [1, 1, 1]]


def test_the_same_place_can_be_written_again_and_again(lib):
    x = leaf(lib, 0.1, 0.2, 0.3)
    h = x.clone()
    for _ in range(3):
        h[1:].sin_()
    expected = x.sin().sin().sin()
    assert (h[1:] == expected[1:]).all()
    assert gradient(lib, h[1:], x) == gradient(lib, expected[1:], x)


def test_a_write_to_the_base_reaches_an_older_view(lib):
    x = leaf(lib, 1.0, 2.0)
    h = x.clone()
    v = h.view(2, 1)
    h.mul_(x)
    assert node(v) == "AsStridedBackward0" and gradient(lib, v, x) == [2, 4]


def test_a_base_that_needed_no_gradient_needs_one_after_the_write(lib):
    h, w = lib.zeros(3, dtype=lib.float64), leaf(lib, 2.0)
    other = h[2:]
    h[:1].add_(w)
    assert h.requires_grad and other.requires_grad and not other.is_leaf
    assert gradient(lib, h * h, w) == [4]


def test_a_write_under_no_grad_is_counted_and_changes_no_history(lib):
    x = matrix(lib)
    h = x * 1
    v = h[0]
    with lib.no_grad():
        v.mul_(2)
    assert h._version == 1 and node(h) == "MulBackward0" and gradient(lib, v, x) == [[1, 1, 1], [0, 0, 0]]


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)  # PyTorch 2.13 crashes
def test_the_second_derivative_goes_through_a_write(lib):
    x = leaf(lib, 2.0, 3.0)
    h = x * 1
    h[0].mul_(x[1] * 3)
    (first,) = lib.autograd.grad((h * h).sum(), x, create_graph=True)
    assert first.tolist() == [324, 222] and gradient(lib, first, x) == [378, 290]


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_a_result_that_a_write_saved_is_differentiated_twice(lib):
    x = leaf(lib, 0.5, 1.0)
    h = x * 1
    h[0].exp_()
    (first,) = lib.autograd.grad((h * h).sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(first[0], x)
    assert second.tolist() == pytest.approx([4 * lib.e**1.0, 0])


def test_entries_that_a_view_sees_twice_receive_both_gradients(lib):
    x = lib.arange(4, dtype=lib.float64).requires_grad_()
    assert gradient(lib, x.unfold(0, 3, 1), x) == [1, 2, 2, 1]
    assert gradient(lib, x.as_strided((3, 2), (1, 1)), x) == [1, 2, 2, 1]
    assert gradient(lib, x[:1].expand(5), x) == [5, 0, 0, 0]


def test_a_base_in_another_order_of_memory_is_written_through_as_well(lib):
    x = matrix(lib)
    base = x.t().clone(memory_format=lib.contiguous_format).t() * 1
    base.t().reshape(-1)[:2].mul_(5)
    assert gradient(lib, base, x) == [[5, 1, 1], [5, 1, 1]]


# -- hooks and retained gradients --------------------------------------------------------------------------------


def test_a_hook_on_a_view_stays_with_the_history_it_was_hung_on(lib):
    seen = []
    x = leaf(lib, 1.0, 2.0)
    h = x.clone()
    v = h[0]
    v.register_hook(lambda g: seen.append("the view before"))
    h.register_hook(lambda g: seen.append(("the base before", g.tolist())))
    v.mul_(3)
    h.register_hook(lambda g: seen.append(("the base after", g.tolist())))
    v.register_hook(lambda g: seen.append(("the view after", g.item())))
    (h.sum() + v * 2).backward()
    assert seen == [("the view after", 2), ("the base after", [3, 1]), ("the base before", [9, 1])]


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)  # PyTorch 2.13 crashes
def test_a_hook_on_a_view_whose_base_is_written_to_needs_to_be_hung_again(lib):
    seen = []
    base = leaf(lib, 1.0, 2.0).clone()
    v, w = base[:], base[:]
    v.register_hook(lambda g: seen.append("never"))
    base.mul_(2)
    w.register_hook(lambda g: seen.append("now"))
    (v + w).sum().backward()
    assert seen == ["now"]


def test_a_retained_gradient_is_that_of_the_new_value(lib):
    base = leaf(lib, 1.0, 2.0).clone()
    v = base[:1]
    base.retain_grad()
    v.retain_grad()
    v.mul_(3)
    ((base * base).sum() + v.sum()).backward()
    assert base.grad.tolist() == [7, 4] and v.grad.tolist() == [1]


# -- what is refused ---------------------------------------------------------------------------------------------


def view_of_a_leaf(T, x):
    x[0].mul_(2)


def leaf_itself(T, x):
    x.mul_(2)


def one_of_several(T, x):
    (x * 1).unbind()[1].mul_(2)


def one_of_several_from_a_constant(T, x):
    T.zeros(2, 3, dtype=x.dtype).split(1)[0].mul_(x[:1])


def one_of_several_after_the_base(T, x):
    h = x * 1
    pieces = h.chunk(3, 1)
    h.mul_(2)
    pieces[2].sum()


def view_made_in_no_grad(T, x):
    h = x * 1
    with T.no_grad():
        v = h[0]
    v.mul_(2)


def base_of_a_view_made_in_no_grad(T, x):
    h = x * 1
    with T.no_grad():
        v = h[0]
    h.mul_(2)
    v + 1


def view_made_in_no_grad_takes_a_gradient(T, x):
    h = T.zeros(2, 3, dtype=x.dtype)
    with T.no_grad():
        v = h[0]
    v.mul_(x[0])


def expanded(T, x):
    T.zeros(2, 1, dtype=x.dtype).expand(2, 3).add_(1)


def overlapping_argument(T, x):
    h = T.zeros(4, dtype=x.dtype)
    h[:3].add_(h[1:])


def detach_of_a_view(T, x):
    (x * 1)[0].detach_()


def turned_leaf(T, x):
    x.t_()


def outside_of_memory(T, x):
    x.as_strided((3, 3), (3, 1))


REFUSED = [
    view_of_a_leaf, leaf_itself, one_of_several, one_of_several_from_a_constant, one_of_several_after_the_base, view_made_in_no_grad,
    base_of_a_view_made_in_no_grad, view_made_in_no_grad_takes_a_gradient, expanded, overlapping_argument, detach_of_a_view, turned_leaf,
    outside_of_memory,
]  # fmt: skip


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_a_write_that_cannot_be_followed_is_refused_in_pytorchs_words(torch, program):
    import autolab

    said = []
    for T in (autolab, torch):
        with pytest.raises(RuntimeError) as error:
            program(T, matrix(T))
        said.append(str(error.value))
    assert said[0].startswith(said[1][:75])


def test_a_refused_write_leaves_everything_as_it_was(lib):
    x = matrix(lib)
    h = x * 1
    with pytest.raises(RuntimeError, match="Output 1 of Unbind is a view and is being modified inplace"):
        h.unbind()[1].mul_(2)
    assert h._version == 0 and h.tolist() == x.tolist() and node(h) == "MulBackward0"


def test_pieces_of_a_constant_may_be_written_to(lib):
    h = lib.zeros(2, 3)
    h.unbind()[1].add_(1)
    assert h.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_under_no_grad_everything_may_be_written_to(lib):
    x = matrix(lib)
    with lib.no_grad():
        x[0].zero_()
        x.unbind()[1].mul_(2)
    assert x.tolist() == [[0, 0, 0], [6, 8, 10]] and x.is_leaf and x._version == 2


def test_a_piece_whose_base_was_written_to_may_still_be_written_to_under_no_grad(lib):
    h = matrix(lib) * 1
    piece = h.squeeze(0).unbind()[1].squeeze(0)
    h.mul_(2)
    with lib.no_grad():
        piece.zero_()
    assert h.tolist() == [[0, 2, 4], [0, 0, 0]]
    with pytest.raises(RuntimeError, match="Output 0 of Squeeze1 is a view and its base or another view of its base has been modified"):
        piece.sum()


# -- a tensor that itself looks in another way -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("t_", (), "TBackward1"), ("transpose_", (0, 1), "TransposeBackward1"), ("swapaxes_", (0, 1), "TransposeBackward1"),
        ("unsqueeze_", (0,), "UnsqueezeBackward1"), ("squeeze_", (), "SqueezeBackward3"), ("squeeze_", (0,), "SqueezeBackward4"),
        ("as_strided_", ((2,), (2,)), "AsStridedBackward1"),
    ],
)  # fmt: skip
def test_a_tensor_can_be_turned_in_place(lib, name, args, expected):
    x = matrix(lib)
    h, plain = x * 1, x * 1
    weights = lambda t: lib.arange(t.numel(), dtype=t.dtype).view(t.shape)
    assert getattr(h, name)(*args) is h
    turned = getattr(plain, name[:-1])(*args)
    assert node(h) == expected and h._version == 1 and h.tolist() == turned.tolist()
    assert gradient(lib, h * weights(h), x) == gradient(lib, turned * weights(turned), x)


def test_a_view_that_is_turned_leaves_its_base_as_it_was(lib):
    x = matrix(lib)
    h = x * 1
    v = h[:, :2]
    v.t_()
    v.mul_(lib.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=lib.float64))
    assert v._base is h and h.shape == (2, 3) and gradient(lib, h, x) == [[1, 3, 1], [2, 4, 1]]


def test_a_tensor_can_be_set_to_look_into_anothers_memory(lib):
    x, y = lib.zeros(3), lib.ones(2, 2)
    x.set_(y)
    y.mul_(5)
    assert x.tolist() == [[5, 5], [5, 5]] and x._version == 1


# -- by strides --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "size", "stride", "offset"),
    [
        (lambda x: x[:25].view(5, 5), (3, 3), (6, 2), 2), (lambda x: x, (1, 2, 1, 5), (0, 5, 100, 1), 2),
        (lambda x: x[:5], (3, 3, 3), (0, 1, 0), 2), (lambda x: x[:5], (3, 3, 3), (0, 0, 0), 4), (lambda x: x[:5].expand(5, 5), (5, 5), (0, 1), 0),
        (lambda x: x, (5, 6), (5, 1), 2), (lambda x: x[:15], (3, 2), (3, 6), 2), (lambda x: x[:12].view(3, 4), (4, 3), (1, 4), None),
        (lambda x: x[:6].view(2, 3).expand(4, 2, 3), (2, 3), (3, 1), 0),
    ],
    ids=["steps", "lengths of one", "repeated", "one entry", "of an expanded one", "overlapping", "far apart", "transposed", "part of an expanded one"],
)  # fmt: skip
def test_a_view_by_strides_has_the_gradients_of_what_it_sees(lib, before, size, stride, offset):
    x = lib.randn(30, dtype=lib.float64).requires_grad_()
    f = lambda x: before(x).as_strided(size, stride, offset)
    assert lib.autograd.gradcheck(f, x) and lib.autograd.gradgradcheck(f, x)


def test_what_lies_outside_of_the_input_has_no_gradient(lib):
    x = lib.randn(6, 2, dtype=lib.float64)
    tail = x[3:].detach().requires_grad_()
    f = lambda t: t.as_strided((3, 2), (2, 1), 0)
    assert f(tail).tolist() == x[:3].tolist() and gradient(lib, f(tail), tail) == [[0, 0]] * 3
    assert lib.autograd.gradcheck(f, tail)


def test_offsets_count_from_the_start_of_the_memory(lib):
    x = lib.arange(10.0)
    y = x.as_strided((3,), (2,), 1)
    assert (y.storage_offset(), y[1].storage_offset(), x.unfold(0, 3, 2)[1].storage_offset()) == (1, 3, 2)
    assert y.as_strided((2,), (1,), 0).tolist() == [0, 1] and y.as_strided((2,), (1,)).tolist() == [1, 2]


def test_a_view_of_a_view_made_in_no_grad_says_so(lib):
    with lib.no_grad():
        y = lib.zeros(2).view(2)
    z = y.requires_grad_().view(2)
    with pytest.raises(RuntimeError, match="Output 0 of View is a view of a view which was created in no_grad mode and is being modified"):
        z.div_(2)


# -- a law: writing through any view is writing at its places ------------------------------------------------------

LOOKS = {
    "first": lambda t: t[0], "last": lambda t: t[..., -1], "even": lambda t: t[::2], "tail": lambda t: t[..., 1:], "turned": lambda t: t.transpose(-2, -1),
    "reversed": lambda t: t.permute(tuple(range(t.ndim - 1, -1, -1))), "flat": lambda t: t.reshape(-1), "wider": lambda t: t.unsqueeze(1),
    "diagonal": lambda t: t.diagonal(dim1=0, dim2=-1), "alias": lambda t: t[...], "narrowed": lambda t: t.narrow(0, 0, 1),
}  # fmt: skip
WRITES = {"sin": lambda v, w: v.sin_(), "mul": lambda v, w: v.mul_(w), "fill": lambda v, w: v.fill_(w), "pow": lambda v, w: v.pow_(2)}
PLAIN = {"sin": lambda v, w: v.sin(), "mul": lambda v, w: v * w, "fill": lambda v, w: w + v * 0, "pow": lambda v, w: v**2}


def seen_through(t, looks):
    for name in looks:
        try:
            t = LOOKS[name](t)
        except (IndexError, RuntimeError):  # too few dims for it
            continue
    return t


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(st.sampled_from(sorted(LOOKS)), max_size=4), st.sampled_from(sorted(WRITES))), min_size=1, max_size=3))
def test_writing_through_a_view_is_writing_at_its_places(program):
    import autolab as lib

    x, w = lib.linspace(0.1, 1.2, 12, dtype=lib.float64).view(2, 3, 2).detach().requires_grad_(), leaf(lib, 0.7)[0]
    numbers = lib.arange(12).view(2, 3, 2)
    written, plain = x * 1, (x * 1).reshape(-1)
    for looks, write in program:
        places = seen_through(numbers, looks).reshape(-1)
        part = seen_through(written, looks)
        if written is part or written is part._base:  # a reshape may have had to copy
            WRITES[write](part, w)
            plain = plain.index_put((places,), PLAIN[write](plain[places], w))
    found, expected = ([*derivatives(lib, out.reshape(-1), x)] for out in (written, plain))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9)


def derivatives(lib, out, x):
    (first,) = lib.autograd.grad((out * out).sum() + (x * x).sum(), x, create_graph=True)
    (second,) = lib.autograd.grad((first * first).sum(), x, allow_unused=True, materialize_grads=True)
    return out, first, second


@pytest.mark.parametrize("how", ["x.unsafe_split(1)", "x.unsafe_split_with_sizes((1, 1))", "lib.unsafe_chunk(x, 2)"])
def test_the_pieces_of_an_unsafe_split_are_tensors_of_their_own(lib, how):
    leaf = matrix(lib)
    x = leaf * 2
    first, second = eval(how)
    first.mul_(second)
    assert not first._is_view() and x._version == 0
    assert gradient(lib, first, leaf) == [[12, 16, 20], [0, 4, 8]]


def test_another_size_is_a_write_and_the_same_size_is_none(lib):
    x = lib.ones(3)
    x.resize_(3).resize_(1, 3).resize_as_(lib.ones(3))
    assert x._version == 2


def test_a_leaf_that_looks_elsewhere_gets_no_gradients_of_earlier_graphs(lib):
    x = lib.ones(2, requires_grad=True)
    edge, y = lib.autograd.graph.get_gradient_edge(x), x * 3
    with lib.no_grad():
        x.set_(lib.zeros(2))
    with pytest.raises(RuntimeError, match="to not have been used in the graph"):
        lib.autograd.grad(y.sum(), x)
    assert lib.autograd.grad((y * 1).sum(), edge)[0].tolist() == [3.0, 3.0]
