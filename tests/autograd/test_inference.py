"""Inference mode: tensors that count no writes, and where they may not go. Both sides."""

import threading

import pytest


def made_inside(lib, **options):
    with lib.inference_mode():
        return lib.ones(3, **options)


def test_new_tensors_are_inference_tensors_and_remember_nothing(lib):
    x = lib.ones(3, requires_grad=True)
    with lib.inference_mode():
        y = x * 2
        assert lib.is_inference_mode_enabled() and not lib.is_grad_enabled()
    assert y.is_inference() and lib.is_inference(y) and not y.requires_grad and y.is_leaf
    assert not x.is_inference() and not lib.is_inference_mode_enabled()


def test_inference_tensors_have_no_version(lib):
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        made_inside(lib)._version  # noqa: B018


REFUSED = {
    "saved for backward": ("Inference tensors cannot be saved for backward", lambda t, i, x: i * x),
    "saved by a write": ("Inference tensors cannot be saved for backward", lambda t, i, x: x.clone().mul_(i)),
    "written to": ("Inplace update to inference tensor outside InferenceMode is not allowed", lambda t, i, x: i.add_(1)),
    "made to require grad": ("Setting requires_grad=True on inference tensor outside InferenceMode", lambda t, i, x: i.requires_grad_()),
}


@pytest.mark.parametrize("what", REFUSED)
def test_outside_an_inference_tensor_may_not_be(lib, what):
    words, call = REFUSED[what]
    with pytest.raises(RuntimeError, match=words):
        call(lib, made_inside(lib), lib.ones(3, requires_grad=True))


def test_outside_an_inference_tensor_may_take_part_where_it_is_not_kept(lib):
    x = lib.ones(3, requires_grad=True)
    (made_inside(lib) + x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    assert (made_inside(lib) * 2).tolist() == [2.0, 2.0, 2.0] and not (made_inside(lib) * 2).is_inference()
    assert (made_inside(lib).clone() * x).requires_grad


def test_an_inference_leaf_can_receive_a_gradient(lib):
    leaf = made_inside(lib, requires_grad=True)
    (leaf + 1).sum().backward()
    assert leaf.grad.tolist() == [1.0, 1.0, 1.0]


def test_inside_anything_may_be_written_to(lib):
    x = lib.ones(3, requires_grad=True)
    y = x.clone()
    with lib.inference_mode():
        fresh = lib.ones(3)
        fresh.add_(1)
        y.add_(1)
    assert fresh.is_inference() and fresh.tolist() == [2.0, 2.0, 2.0]
    assert not y.is_inference() and y.requires_grad and y._version == 1


def test_a_write_inside_is_noticed_by_a_graph_made_outside(lib):
    y = lib.ones(3, requires_grad=True).clone()
    out = (y * y).sum()
    with lib.inference_mode():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_views_are_of_the_kind_of_what_they_look_at(lib):
    normal = lib.ones(2, 3)
    with lib.inference_mode():
        view, inside = normal.view(-1), lib.ones(2, 3)
    assert not view.is_inference() and view._is_view()
    assert inside.view(-1).is_inference() and not inside.view(-1)._is_view()


def test_a_view_made_inside_cannot_be_written_to_outside(lib):
    base = lib.ones(3, requires_grad=True).clone()
    with lib.inference_mode():
        view = base.view(-1)
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace"):
        view.add_(1)


@pytest.mark.parametrize("mode", [None, True, False])
def test_it_decorates_functions(lib, mode):
    def double(x):
        return x * 2

    decorated = lib.inference_mode(double) if mode is None else lib.inference_mode(mode)(double)
    y = decorated(lib.ones(2, requires_grad=True))
    assert y.is_inference() is y.is_leaf is (mode is not False)


def test_it_decorates_generators_without_leaking_to_the_caller(lib):
    @lib.inference_mode()
    def three():
        for _ in range(3):
            assert lib.is_inference_mode_enabled()
            yield lib.ones(1)

    for t in three():
        assert t.is_inference() and not lib.is_inference_mode_enabled()


def test_it_can_be_left_within_itself(lib):
    x = lib.ones(2, requires_grad=True)
    with lib.inference_mode():
        with lib.inference_mode(False):
            y = x * 2
        assert lib.is_inference_mode_enabled()
    assert y.requires_grad and not y.is_inference()


def test_it_holds_for_one_thread(lib):
    seen = []
    with lib.inference_mode():
        thread = threading.Thread(target=lambda: seen.append(lib.is_inference_mode_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_counting_a_write_by_hand_does_nothing_to_an_inference_tensor(lib):
    x = lib.ones(2)
    lib.autograd.graph.increment_version(x)
    lib.autograd.graph.increment_version(made_inside(lib))
    assert x._version == 1


def test_a_view_of_an_inference_leaf_is_one_too_and_not_recorded(lib):
    with lib.inference_mode():
        leaf = lib.ones(2, 3, requires_grad=True)
    for view in (leaf.view(-1), leaf[0], leaf.unbind()[1]):
        assert view.is_inference() and view.is_leaf and not (view.requires_grad or view._is_view())


def test_an_inference_tensor_cannot_be_turned_round_outside(lib):
    t = made_inside(lib)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        t.unsqueeze_(0)


def test_whether_a_view_requires_grad_can_be_asked_after_a_write(lib):
    base = lib.ones(2, requires_grad=True).clone()
    with lib.inference_mode():
        view = base.view(-1)
        view.add_(1)
        assert view.requires_grad and view._version == 1


def test_inside_even_what_requires_grad_is_resized(lib):
    with lib.inference_mode():
        assert lib.ones(4, requires_grad=True).resize_(2).shape == (2,)
