"""Optimizers of the numba backend move parameters to where `update` moves them, to the last bit; kernels in place are chains there."""

import copy

import numpy as np
import pytest

import autolab
from autolab.compiler import explain
from autolab.fast import flat
from tests.optim.test_trajectories import CASES

pytestmark = [pytest.mark.numba, pytest.mark.speed, pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]
SHAPES = (5, 3), (5,), (1, 5), (), (100, 50), (3, 4, 5), (150, 200)


def made(make, settings, dtype=np.float32):
    rng = np.random.default_rng(0)
    params = [autolab.tensor(rng.standard_normal(shape).astype(dtype), requires_grad=True) for shape in SHAPES]
    return getattr(autolab.optim, make)(params, **settings)


def walk(optimizer, step, steps=6):
    for seed in range(steps):
        rng = np.random.default_rng(seed)
        for p in optimizer.param_groups[0]["params"]:
            p.grad = autolab.tensor(rng.standard_normal(p.shape), dtype=p.dtype)
        step()


def everything(optimizer):
    """All numbers of parameters and state, and how often parameters were written to."""
    params = optimizer.param_groups[0]["params"]
    states = [{name: value.tolist() for name, value in (optimizer.state.get(p) or {}).items()} for p in params]
    return [p.tolist() for p in params], states, [p._version for p in params]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("make", "settings"), CASES)
def test_loops_move_parameters_and_state_as_update_does(make, settings, dtype, monkeypatch):
    from autolab.compiler import moves

    found, noted = [], moves.noted
    monkeypatch.setattr(moves, "noted", lambda *args: found.append(noted(*args)) or found[-1])
    mine, right = (made(make, settings, dtype) for _ in range(2))
    walk(mine, moves.with_loops(mine.step)), walk(right, right.step)
    assert everything(mine) == everything(right)
    assert any(found) is (make != "Rprop")  # which writes into some entries


def test_two_groups_move_by_their_own_settings():
    from autolab.compiler.moves import with_loops

    mine, right = (autolab.optim.Adam([{"params": [square()], "lr": lr} for lr in (0.1, 0.5)], amsgrad=True) for _ in range(2))
    for optimizer, step in ((mine, with_loops(mine.step)), (right, right.step)):
        for _ in range(3):
            for group in optimizer.param_groups:
                group["params"][0].grad = autolab.full((200, 200), 0.5)
            step()
    for a, b in zip(mine.param_groups, right.param_groups, strict=True):
        assert a["params"][0].tolist() == b["params"][0].tolist()


def square():
    return autolab.ones(200, 200, requires_grad=True)


def test_an_optimizer_of_a_users_own_moves_by_its_own_update():
    from autolab.compiler.moves import with_loops

    class Sign(autolab.optim.Optimizer):
        entrywise = True

        def update(self, p, x, g, group):
            x -= 0.1 * np.sign(g)

    w = square()
    w.grad = autolab.full((200, 200), 2.0)
    with_loops(Sign([w], {}).step)()
    assert w.tolist() == [[np.float32(0.9)] * 200] * 200


def test_a_compiled_step_moves_by_loops_and_other_steps_do_not():
    net = autolab.nn.Linear(300, 200)
    other = copy.deepcopy(net)
    x = autolab.randn(10, 300)

    def step(net, optimizer):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()

    optimizers = [autolab.optim.AdamW(n.parameters(), lr=0.01) for n in (net, other)]
    fast = autolab.compile(lambda: step(net, optimizers[0]), backend="numba", fullgraph=True)
    for _ in range(4):
        fast()
        step(other, optimizers[1])
    np.testing.assert_allclose(net.weight.numpy(force=True), other.weight.numpy(force=True), atol=1e-4)
    assert optimizers[0]._flat[0].loops and flat.moves.now is None


ACTIVATIONS = "gelu", "silu", "mish", "elu", "hardswish", "hardsigmoid", "hardtanh", "logsigmoid", "softplus", "celu", "selu", "tanhshrink"


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_chains_with_the_values_of_eager_mode(name):
    function = getattr(autolab.nn.functional, name)
    x = np.concatenate([np.linspace(-20, 20, 9000), [0, -0.0, 100, -100]]).astype(np.float32)
    fast = autolab.compile(lambda x: function(x * 1.5), backend="numba", fullgraph=True)
    found = []
    for f in (fast, fast, lambda x: function(x * 1.5)):
        t = autolab.tensor(x, requires_grad=True)
        out = f(t)
        out.sum().backward()
        found.append((out.detach().numpy(), t.grad.numpy()))
    for mine, right in zip(found[1], found[2], strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-5, atol=1e-6)
    assert "machine code" in str(explain(fast))


def test_a_loop_is_found_on_disk_by_its_text():
    from autolab.compiler.loops import loop

    text = "def loop(x):\n    for i in range(x.size):\n        x[i] = x[i] * float32(0.37)\n"
    for _ in range(2):
        loop.cache_clear()
        made, x = loop(text), np.ones(3, np.float32)
        made(x)
        np.testing.assert_array_equal(x, np.float32(0.37))
    assert sum(made.stats.cache_hits.values()) == 1
