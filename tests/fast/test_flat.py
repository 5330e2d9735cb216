"""Small parameters that move at once move as they would alone."""

import copy

import numpy as np
import pytest

import autolab
from autolab.fast import flat
from tests.optim.test_trajectories import CASES

SHAPES = (5, 3), (5,), (1, 5), (1,), (100, 50), (3, 4, 5)


def made(make="Adam", settings=None, at_once=True, dtype=np.float32):
    """An optimizer of six parameters, one of them large, after one step."""
    rng = np.random.default_rng(0)
    params = [autolab.tensor(rng.standard_normal(shape).astype(dtype), requires_grad=True) for shape in SHAPES]
    optimizer = getattr(autolab.optim, make)(params, **(settings or {"lr": 0.1}))
    optimizer.entrywise = at_once
    walk(optimizer, 1)
    return optimizer


def walk(optimizer, steps, without=()):
    """Steps along gradients that are the same for every optimizer."""
    params = optimizer.param_groups[0]["params"]
    for seed in range(steps):
        rng = np.random.default_rng(seed)
        for k, p in enumerate(params):
            g = autolab.tensor(rng.standard_normal(p.shape), dtype=p.dtype)
            p.grad = None if k in without else g
        optimizer.step()


def everything(optimizer):
    """All numbers of parameters and state, by name."""
    params = optimizer.param_groups[0]["params"]
    states = [optimizer.state.get(p) or {} for p in params]
    return [p.tolist() for p in params], [{name: value.tolist() for name, value in state.items()} for state in states]


def moves_at_once(optimizer):
    return bool(optimizer._flat[0].flats)


pytestmark = pytest.mark.speed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("make", "settings"), CASES)
def test_parameters_and_state_are_what_they_are_one_by_one(make, settings, dtype):
    together, alone = (made(make, settings, at_once, dtype) for at_once in (True, False))
    walk(together, 20), walk(alone, 20)
    assert everything(together) == everything(alone)
    assert moves_at_once(together) is (make != "SGD" or "momentum" in settings)
    assert not alone._flat


def test_a_parameter_without_a_gradient_stays_where_it_is():
    together, alone = made(), made(at_once=False)
    for optimizer in (together, alone):
        walk(optimizer, 3), walk(optimizer, 2, without=[1]), walk(optimizer, 30)
    assert everything(together) == everything(alone)


@pytest.mark.parametrize(
    "change",
    [
        lambda o, p: o.state[p]["exp_avg"].mul_(3),
        lambda o, p: o.state[p].update(exp_avg=autolab.ones(5)),
        lambda o, p: o.state[p].update(step=autolab.tensor(100.0)),
        lambda o, p: o.state[p]["step"].add_(7),
        lambda o, p: o.state.pop(p),
        lambda o, p: o.load_state_dict(o.state_dict()),
        lambda o, p: p.data.mul_(2),
        lambda o, p: setattr(p, "data", autolab.ones(5)),
        lambda o, p: setattr(p, "data", autolab.ones(10)[::2]),
        lambda o, p: o.param_groups[0].update(lr=0.01, amsgrad=False, weight_decay=0.1),
        lambda o, p: o.param_groups[0]["params"].pop(0),
        lambda o, p: o.add_param_group({"params": [autolab.ones(3, requires_grad=True)]}),
    ],
)
def test_what_a_user_changes_between_steps_counts(change):
    together, alone = made(), made(at_once=False)
    for optimizer in (together, alone):
        change(optimizer, optimizer.param_groups[0]["params"][1])
        walk(optimizer, 3)
    assert everything(together) == everything(alone)


def test_a_view_of_the_state_follows_it():
    optimizer = made()
    state = optimizer.state[optimizer.param_groups[0]["params"][1]]["exp_avg"]
    first = state[0]
    walk(optimizer, 3)
    assert first == state[0]
    optimizer.load_state_dict(optimizer.state_dict())
    walk(optimizer, 3)
    assert first == state[0]  # of the state that was replaced


def test_a_view_of_the_state_from_before_follows_it():
    optimizer = made(at_once=False)
    state = optimizer.state[optimizer.param_groups[0]["params"][1]]["exp_avg"]
    first = state[0]
    optimizer.entrywise = True
    walk(optimizer, 3)
    assert moves_at_once(optimizer)
    assert first == state[0]


def test_the_state_of_a_parameter_shows_no_memory_but_its_own():
    optimizer = made()
    state = optimizer.state[optimizer.param_groups[0]["params"][1]]["exp_avg"]
    assert moves_at_once(optimizer)
    assert state.untyped_storage().nbytes() == 20


def test_the_memory_of_a_parameter_may_lie_by_columns():
    together, alone = made(), made(at_once=False)
    for optimizer in (together, alone):
        by_columns = np.asfortranarray(np.arange(15, dtype=np.float32).reshape(5, 3))
        optimizer.param_groups[0]["params"][0].data = autolab.from_numpy(by_columns)
        walk(optimizer, 3)
    assert everything(together) == everything(alone)


def test_a_copy_goes_on_by_itself():
    optimizer = made()
    walk(optimizer, 2)
    again = copy.deepcopy(optimizer)
    walk(again, 2), walk(optimizer, 2)
    assert everything(again) == everything(optimizer)


def test_an_update_that_a_user_wrote_sees_every_parameter():
    seen = []

    class Own(autolab.optim.Adam):
        def update(self, p, x, g, group):
            seen.append(x.shape)

    params = [autolab.ones(3, requires_grad=True), autolab.ones(2, requires_grad=True)]
    optimizer = Own(params)
    walk(optimizer, 1)
    assert seen == [(3,), (2,)]


def test_parameters_that_share_memory_move_one_by_one():
    memory = autolab.zeros(10)
    params = [memory[:6].requires_grad_(), memory[4:].requires_grad_()]
    optimizer = autolab.optim.Adam(params, lr=1.0)
    walk(optimizer, 2)
    assert not moves_at_once(optimizer)


def test_versions_of_parameters_are_counted():
    optimizer = made()
    p = optimizer.param_groups[0]["params"][1]
    before = p._version
    walk(optimizer, 3)
    assert p._version == before + 3


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(flat, "ON", False)
    assert not moves_at_once(made())
