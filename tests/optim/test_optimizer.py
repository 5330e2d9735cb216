"""What all optimizers share: groups, state, zero_grad, closures, and what they refuse."""

import copy
import gc
import pickle

import numpy as np
import pytest

from autolab import nn, optim


@pytest.fixture
def p(lib):
    return lib.tensor([1.0, 2.0], requires_grad=True)


def moved(lib, p, optimizer, gradient=(1.0, 1.0)):
    p.grad = lib.tensor(list(gradient))
    optimizer.step()
    return p.tolist()


def test_a_parameter_without_gradient_stays(lib, p):
    optimizer = lib.optim.SGD([p, lib.tensor([5.0], requires_grad=True)], lr=0.5)
    assert moved(lib, p, optimizer) == [0.5, 1.5]
    assert optimizer.param_groups[0]["params"][1].tolist() == [5.0]


def test_a_step_writes_in_place_and_is_noticed(lib, p):
    c = lib.ones(2, requires_grad=True)
    y, where = (c * p).sum(), p.data_ptr()
    moved(lib, p, lib.optim.SGD([p], lr=0.5))
    assert p.data_ptr() == where and p.is_leaf and p.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_step_leaves_the_gradient_as_it_was(lib, p):
    for make in (lib.optim.SGD, lib.optim.Adam):
        moved(lib, p, make([p], lr=0.1, weight_decay=0.5, maximize=True))
        assert p.grad.tolist() == [1.0, 1.0]


def test_momentum_does_not_hold_on_to_the_first_gradient(lib, p):
    optimizer = lib.optim.SGD([p], lr=1.0, momentum=0.5)
    moved(lib, p, optimizer)
    p.grad.zero_()
    optimizer.step()
    assert p.tolist() == [-0.5, 0.5]


def test_groups_have_settings_of_their_own(lib, p):
    q = lib.tensor([1.0], requires_grad=True)
    optimizer = lib.optim.SGD([{"params": p}, {"params": [q], "lr": 5.0}], lr=0.5)
    assert [g["lr"] for g in optimizer.param_groups] == [0.5, 5.0]
    q.grad = lib.tensor([1.0])
    assert moved(lib, p, optimizer) == [0.5, 1.5] and q.tolist() == [-4.0]


def test_a_group_can_be_added_and_changed_later(lib, p):
    q = lib.tensor([1.0], requires_grad=True)
    optimizer = lib.optim.SGD([p], lr=0.5)
    optimizer.add_param_group({"params": q})
    optimizer.param_groups[1]["lr"] = 1.0
    q.grad = lib.tensor([1.0])
    optimizer.step()
    assert q.tolist() == [0.0] and p.tolist() == [1.0, 2.0]


def test_parameters_may_come_from_an_iterator(lib, p):
    assert lib.optim.SGD(iter([p]), lr=0.1).param_groups[0]["params"][0] is p


def test_a_model_in_place_of_its_parameters_is_refused():
    with pytest.raises(TypeError, match="'Linear' object is not iterable: pass its parameters"):
        optim.Adam(nn.Linear(2, 2))


def test_zero_grad_forgets_gradients(lib, p):
    p.grad = lib.ones(2)
    lib.optim.SGD([p], lr=0.1).zero_grad()
    assert p.grad is None


def test_zero_grad_can_write_zeros_into_the_gradient_that_is_there(lib, p):
    p.grad = gradient = lib.ones(2)
    lib.optim.SGD([p], lr=0.1).zero_grad(set_to_none=False)
    assert p.grad is gradient and gradient.tolist() == [0.0, 0.0]


def test_a_closure_computes_the_loss_again_even_within_no_grad(lib, p):
    optimizer = lib.optim.SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with lib.no_grad():
        assert optimizer.step(closure).item() == 5.0
    assert p.tolist() == [0.0, 0.0] and optimizer.step() is None


# -- state -----------------------------------------------------------------------------------------


def test_there_is_no_state_before_the_first_step_nor_where_none_is_needed(lib, p):
    assert lib.optim.Adam([p]).state_dict()["state"] == {}
    plain = lib.optim.SGD([p], lr=0.1)
    moved(lib, p, plain)
    assert plain.state_dict()["state"] == {} and len(plain.state) == 0


def test_the_state_of_adam_is_pytorchs(lib, p):
    optimizer = lib.optim.Adam([p], amsgrad=True)
    moved(lib, p, optimizer, (1.0, 2.0))
    state = optimizer.state_dict()["state"][0]
    assert list(state) == ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
    assert state["step"].item() == 1.0
    assert state["exp_avg"].tolist() == pytest.approx([0.1, 0.2])
    assert state["exp_avg_sq"].tolist() == state["max_exp_avg_sq"].tolist() == pytest.approx([0.001, 0.004])


def test_the_state_of_momentum_is_pytorchs(lib, p):
    optimizer = lib.optim.SGD([p], lr=0.1, momentum=0.5)
    moved(lib, p, optimizer, (1.0, 2.0))
    moved(lib, p, optimizer, (1.0, 2.0))
    assert optimizer.state[p]["momentum_buffer"].tolist() == [1.5, 3.0]


def test_groups_are_saved_with_the_numbers_of_their_parameters(lib, p):
    q = lib.tensor([1.0], requires_grad=True)
    saved = lib.optim.SGD([{"params": [p]}, {"params": [q], "lr": 5.0}], lr=0.5).state_dict()["param_groups"]
    assert [(g["params"], g["lr"]) for g in saved] == [([0], 0.5), ([1], 5.0)]
    assert [list(g)[-1] for g in saved] == ["params", "params"]


@pytest.mark.parametrize("way", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
@pytest.mark.parametrize(("make", "settings"), [("SGD", dict(momentum=0.9)), ("Adam", dict(betas=(0.8, 0.9)))])
def test_training_goes_on_from_a_saved_state_as_if_nothing_had_happened(lib, make, settings, way):
    def start():
        p = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
        return p, getattr(lib.optim, make)([p], lr=0.1, **settings)

    def run(p, optimizer, n):
        for _ in range(n):
            optimizer.zero_grad()
            (p**4).sum().backward()
            optimizer.step()

    p, optimizer = start()
    run(p, optimizer, 3)
    saved, values = way(optimizer.state_dict()), p.tolist()
    run(p, optimizer, 3)
    q, other = start()
    with lib.no_grad():
        q.copy_(lib.tensor(values, dtype=lib.float64))
    other.param_groups[0]["lr"] = 77.0
    other.load_state_dict(saved)
    run(q, other, 3)
    assert q.tolist() == p.tolist()


def test_a_loaded_state_is_a_copy():
    import autolab as lib

    p = lib.tensor([1.0, 2.0], requires_grad=True)
    first, second = (lib.optim.SGD([p], lr=0.0, momentum=0.5) for _ in range(2))
    moved(lib, p, first)
    second.load_state_dict(first.state_dict())
    moved(lib, p, first)
    assert second.state[p]["momentum_buffer"].tolist() == [1.0, 1.0]


def test_an_optimizer_prints_its_groups_as_pytorch_does(torch):
    import autolab

    for make in ("SGD", "Adam"):
        groups = lambda lib: [{"params": [lib.ones(1, requires_grad=True)]}, {"params": [lib.ones(1, requires_grad=True)], "lr": 0.5}]
        printed = [repr(getattr(lib.optim, make)(groups(lib), lr=0.25)) for lib in (autolab, torch)]
        assert printed[0] == printed[1]


def test_an_optimizer_lets_go_of_its_parameters():
    import weakref

    import autolab

    p = autolab.ones(2, requires_grad=True)
    optimizer, alive = autolab.optim.Adam([p]), weakref.ref(p)
    p.sum().backward()
    optimizer.step()
    gc.disable()
    try:
        del p, optimizer
        assert alive() is None
    finally:
        gc.enable()


def test_adam_makes_no_arrays_once_it_has_its_state():
    import tracemalloc

    import autolab

    p = autolab.zeros(100_000, requires_grad=True)
    p.grad = autolab.ones(100_000)
    optimizer = autolab.optim.Adam([p], weight_decay=0.1)
    optimizer.step()
    tracemalloc.start()
    try:
        optimizer.step()
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


def test_a_new_optimizer_need_only_say_how_one_parameter_moves():
    import autolab

    class Sign(autolab.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def update(self, p, x, g, group):
            x -= group["lr"] * np.sign(g)

    p = autolab.tensor([1.0, 2.0], requires_grad=True)
    assert moved(autolab, p, Sign([p], 0.5), (3.0, -7.0)) == [0.5, 2.5]


# -- messages ----------------------------------------------------------------------------------------


MESSAGES = [
    ("SGD([], lr=1)", ValueError, "optimizer got an empty parameter list", ["iterator"]),
    ("SGD(p, lr=1)", TypeError, "params argument given to the optimizer should be an iterable of Tensors or dicts", ["list"]),
    ("SGD([p * 2], lr=1)", ValueError, "can't optimize a non-leaf Tensor", ["detach()"]),
    ("SGD([3], lr=1)", TypeError, "optimizer can only optimize Tensors, but one of the params is int", []),
    ("SGD([{'params': {p}}], lr=1)", TypeError, "optimizer parameters need to be organized in ordered collections", ["list"]),
    ("SGD([{'params': p}, {'params': p}], lr=1)", ValueError, "some parameters appear in more than one parameter group", []),
    ("SGD([p], lr=1).add_param_group([p])", TypeError, "param_group must be a dict, but got <class 'list'>", []),
    ("SGD([p], lr=-1)", ValueError, "Invalid learning rate: -1", []),
    ("SGD([p], momentum=-1)", ValueError, "Invalid momentum value: -1", []),
    ("SGD([p], weight_decay=-1)", ValueError, "Invalid weight_decay value: -1", []),
    ("SGD([p], nesterov=True)", ValueError, "Nesterov momentum requires a momentum and zero dampening", []),
    ("Adam([p], lr=-1)", ValueError, "Invalid learning rate: -1", []),
    ("Adam([p], eps=-1)", ValueError, "Invalid epsilon value: -1", []),
    ("Adam([p], betas=(1, 0.9))", ValueError, "Invalid beta parameter at index 0: 1", []),
    ("Adam([p], betas=(0.9, 1.5))", ValueError, "Invalid beta parameter at index 1: 1.5", []),
    ("SGD([p]).load_state_dict({'state': {}, 'param_groups': []})", ValueError,
     "loaded state dict has a different number of parameter groups", ["0, expected 1"]),
    ("SGD([p]).load_state_dict({'state': {}, 'param_groups': [{'params': [0, 1]}]})", ValueError,
     "loaded state dict contains a parameter group that doesn't match the size of optimizer's group", ["2 parameters, expected 1"]),
]  # fmt: skip


@pytest.mark.parametrize(("snippet", "error", "opening", "more"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_what_cannot_be_optimized_is_refused_in_pytorchs_opening_words(lib, p, snippet, error, opening, more):
    with pytest.raises(error) as caught:
        eval(snippet, {"SGD": lib.optim.SGD, "Adam": lib.optim.Adam, "p": p})
    assert str(caught.value).startswith(opening)
    assert lib.__name__ == "torch" or [m for m in more if m not in str(caught.value)] == []


def test_a_parameter_given_twice_is_warned_about(lib, p):
    with pytest.warns(UserWarning, match="optimizer contains a parameter group with duplicate parameters"):
        lib.optim.SGD([p, p], lr=1)
