"""A hundred steps of an optimizer lead where PyTorch's hundred steps lead."""

import numpy as np
import pytest

import autolab

SGD = [
    dict(lr=0.1),
    dict(lr=0.05, momentum=0.9),
    dict(lr=0.05, momentum=0.9, dampening=0.3),
    dict(lr=0.05, momentum=0.9, nesterov=True),
    dict(lr=0.1, weight_decay=0.1),
    dict(lr=0.02, momentum=0.8, nesterov=True, weight_decay=0.05, maximize=True),
]
ADAM = [
    dict(lr=0.05),
    dict(lr=0.05, betas=(0.7, 0.95), eps=1e-4),
    dict(lr=0.05, weight_decay=0.1),
    dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True),
    dict(lr=0.05, amsgrad=True),
    dict(lr=0.05, maximize=True, weight_decay=0.2),
]
OTHERS = [
    ("AdamW", dict(lr=0.05, weight_decay=0.1)),
    ("NAdam", dict(lr=0.05)),
    ("RAdam", dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)),
    ("Adamax", dict(lr=0.05, maximize=True)),
    ("RMSprop", dict(lr=0.02, centered=True, momentum=0.5)),
    ("Adagrad", dict(lr=0.2, lr_decay=0.01)),
    ("Adadelta", dict(lr=1.0)),
    ("ASGD", dict(lr=0.05, t0=20, lambd=0.01)),
    ("Rprop", dict(lr=0.05)),
]
CASES = [("SGD", s) for s in SGD] + [("Adam", s) for s in ADAM] + OTHERS


def follow(lib, make, settings, loss, start, steps):
    """Where an optimizer goes from `start`: the parameters after each tenth step, in one row each."""
    params = [lib.tensor(a, requires_grad=True) for a in start]
    optimizer = getattr(lib.optim, make)(params, **settings)
    sign = -1 if settings.get("maximize") else 1
    seen = []
    for step in range(steps):
        optimizer.zero_grad()
        (sign * loss(lib, *params)).backward()
        optimizer.step()
        if step % 10 == 9:
            seen.append(np.concatenate([p.detach().numpy().ravel() for p in params]))
    return np.array(seen)


def network(dtype):
    """A loss that is not convex, of four parameters."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((20, 3)).astype(dtype), rng.standard_normal((20, 1)).astype(dtype)
    start = [rng.standard_normal(s).astype(dtype) for s in ((5, 3), (5,), (1, 5), (1,))]
    return lambda lib, w, b, v, c: (((lib.tensor(x) @ w.T + b).tanh() @ v.T + c - lib.tensor(y)) ** 2).mean(), start


def valley(dtype):
    """A loss whose gradient is the same to the bit in both libraries, and far from zero for a hundred steps of Adam."""
    rng = np.random.default_rng(2)
    slope, goal = rng.uniform(0.5, 2, (6, 4)).astype(dtype), (10 * np.sign(rng.standard_normal((6, 4)))).astype(dtype)
    return lambda lib, p: (lib.tensor(slope) * (p - lib.tensor(goal)) ** 2).sum(), [rng.standard_normal((6, 4)).astype(dtype)]


@pytest.mark.parametrize(("make", "settings"), CASES, ids=[f"{m} {s}" for m, s in CASES])
@pytest.mark.parametrize(("landscape", "dtype", "tolerance"), [(network, np.float64, 1e-11), (valley, np.float32, 1e-6)])
def test_a_hundred_steps_lead_where_pytorchs_lead(torch, landscape, dtype, tolerance, make, settings):
    loss, start = landscape(dtype)
    ours, theirs = (follow(lib, make, settings, loss, start, 100) for lib in (autolab, torch))
    assert ours.dtype == theirs.dtype and np.ptp(theirs) > 0.1
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())


@pytest.mark.parametrize(("make", "settings"), CASES, ids=[f"{m} {s}" for m, s in CASES])
def test_half_precision_moves_as_float32_does_but_for_its_rounding(make, settings):
    half, single = (follow(autolab, make, settings, *network(dtype), 10) for dtype in (np.float16, np.float32))
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, single, atol=0.03)


def test_a_learning_rate_of_zero_moves_nothing(lib):
    p = lib.tensor([1.0, 0.0], requires_grad=True)
    p.grad = lib.tensor([1.0, 0.0])
    for make in (lib.optim.SGD, lib.optim.Adam):
        make([p], lr=0.0).step()
    assert p.tolist() == [1.0, 0.0]


def test_a_scalar_parameter_moves_like_any_other(lib):
    p = lib.tensor(3.0, requires_grad=True)
    optimizer = lib.optim.Adam([p], lr=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        (p * p).backward()
        optimizer.step()
    assert p.item() == pytest.approx(2.0, abs=1e-2)


@pytest.mark.parametrize("make", sorted({m for m, _ in CASES} | {"Adafactor", "LBFGS"}))
def test_parameters_of_any_shape_and_order_in_memory_move(make):
    params = [autolab.tensor(3.0), autolab.zeros(0, 3), autolab.ones(3, 2).t(), autolab.ones(4, 4)[::2, 1:3]]
    params = [p.detach().requires_grad_() for p in params]
    optimizer = getattr(autolab.optim, make)(params)

    def closure():
        optimizer.zero_grad()
        loss = sum((p * p).sum() for p in params)
        loss.backward()
        return loss

    before = closure().item()
    for _ in range(3):
        optimizer.step(closure)
    assert closure().item() < before
