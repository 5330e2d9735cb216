"""Settings drawn at random from their ranges lead to PyTorch's places, through gradients that are zero, absent, or anything."""

import numpy as np
import pytest

import autolab

NORMAL = dict(lr=(0.001, 0.1), weight_decay=(0.0, 0.3), maximize=[False, True])
BETAS = dict(NORMAL, betas=[(0.9, 0.999), (0.0, 0.5), (0.5, 0.9), (0.95, 0.7)], eps=(1e-8, 1e-2))
RANGES = {
    "SGD": dict(NORMAL, momentum=[0.0, 0.5, 0.9], dampening=(0.0, 0.9)),
    "ASGD": dict(NORMAL, lambd=(0.0, 0.1), alpha=(0.3, 1.0), t0=[0, 5, 30]),
    "Adam": dict(BETAS, amsgrad=[False, True], decoupled_weight_decay=[False, True]),
    "AdamW": dict(BETAS, amsgrad=[False, True]),
    "NAdam": dict(BETAS, momentum_decay=(0.0, 0.1), decoupled_weight_decay=[False, True]),
    "RAdam": dict(BETAS, decoupled_weight_decay=[False, True]),
    "Adamax": BETAS,
    "RMSprop": dict(NORMAL, alpha=(0.5, 0.99), momentum=[0.0, 0.5, 0.9], centered=[False, True], eps=(1e-6, 1e-2)),
    "Adagrad": dict(NORMAL, lr_decay=(0.0, 0.2), initial_accumulator_value=(0.0, 0.5)),
    "Adadelta": dict(NORMAL, rho=(0.3, 0.99), lr=(0.1, 2.0)),
    "Rprop": dict(lr=(0.001, 0.1), maximize=[False, True], etas=[(0.5, 1.2), (0.3, 1.5)], step_sizes=[(1e-6, 50), (1e-3, 0.2)]),
    "Adafactor": dict(NORMAL, beta2_decay=(-1.0, -0.1), d=(1.0, 3.0), eps=[(None, 1e-3), (1e-10, 1e-2)]),
}


def drawn(ranges, rng):
    """A value for each setting: between two numbers, or one of a list."""
    return {name: float(rng.uniform(*r)) if isinstance(r, tuple) else r[rng.integers(len(r))] for name, r in ranges.items()}


def end(lib, make, settings, seed, steps=30):
    """Where two parameters are after all steps; in the middle the learning rate of one is halved."""
    rng = np.random.default_rng(seed)
    p, q = (lib.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((5, 4), (5,)))
    optimizer = getattr(lib.optim, make)([{"params": [p]}, {"params": [q], "lr": 0.02}], **settings)
    for step in range(steps):
        gradients, kind = [rng.standard_normal(shape) for shape in ((5, 4), (5,))], rng.integers(8)
        p.grad = None if kind == 0 else lib.tensor(gradients[0] * (kind != 1))
        q.grad = lib.tensor(gradients[1])
        if step == steps // 2:
            optimizer.param_groups[0]["lr"] *= 0.5
        optimizer.step()
    return np.concatenate([p.detach().numpy().ravel(), q.detach().numpy()])


@pytest.mark.parametrize("make", RANGES)
def test_any_settings_lead_where_pytorchs_lead(torch, make):
    rng = np.random.default_rng(sorted(RANGES).index(make))
    for seed in range(10):
        settings = drawn(RANGES[make], rng)
        here, there = (end(lib, make, settings, seed) for lib in (autolab, torch))
        np.testing.assert_allclose(here, there, rtol=1e-10, atol=1e-12, err_msg=str(settings))
