"""Whole programs: data, loader, network, optimizer and schedule together give PyTorch's losses."""

import copy
import importlib

import numpy as np
import pytest

import autolab
from autolab import datasets

PARTS = {
    "AdamW, one cycle": ("AdamW", dict(lr=1e-3), lambda s, o: s.OneCycleLR(o, 0.01, total_steps=60)),
    "momentum, warm-up and cosine": (
        "SGD",
        dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4),
        lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=10), s.CosineAnnealingLR(o, 50)], milestones=[10]),
    ),
    "RMSprop, cycles": ("RMSprop", dict(lr=1e-3), lambda s, o: s.CyclicLR(o, 1e-4, 1e-2, 15, cycle_momentum=False)),
    "NAdam, steps": ("NAdam", dict(lr=1e-2), lambda s, o: s.StepLR(o, 20, 0.5)),
}


def arrays():
    images, labels = datasets.digits("train")
    return images.reshape(-1, 64).numpy(), labels.numpy()


def network(lib, rng):
    model = lib.nn.Sequential(lib.nn.Linear(64, 32), lib.nn.ReLU(), lib.nn.Linear(32, 10))
    with lib.no_grad():
        for p in model.parameters():
            p.copy_(lib.tensor((0.2 * rng.standard_normal(tuple(p.shape))).astype("f4")))
    return model


def losses(lib, part, epochs=3):
    """The loss of every step, decay on matrices only, gradients clipped."""
    data = importlib.import_module(f"{lib.__name__}.utils.data")
    name, settings, schedule = PARTS[part]
    model, (x, y) = network(lib, np.random.default_rng(0)), arrays()
    groups = [
        {"params": [p for p in model.parameters() if p.dim() == 2]},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = getattr(lib.optim, name)(groups, **settings)
    scheduler = schedule(lib.optim.lr_scheduler, optimizer)
    loader = data.DataLoader(data.TensorDataset(lib.tensor(x), lib.tensor(y)), batch_size=72, num_workers=0)
    seen = []
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = lib.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            scheduler.step()
            seen.append(loss.item())
    return seen


@pytest.mark.parametrize("part", PARTS)
def test_a_network_for_digits_has_pytorchs_losses(torch, part):
    here, there = (losses(lib, part) for lib in (autolab, torch))
    assert len(there) == 60 and there[-1] < 0.5 * there[0]
    np.testing.assert_allclose(here, there, rtol=2e-4, atol=2e-5)


def test_a_run_that_was_saved_halfway_goes_on_as_if_it_had_not_been(lib):
    x, y = (lib.tensor(a[:200]) for a in arrays())

    def make():
        model = network(lib, np.random.default_rng(1))
        optimizer = lib.optim.Adam(model.parameters(), lr=0.01)
        return model, optimizer, lib.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)

    def run(parts, steps):
        model, optimizer, scheduler = parts
        for _ in range(steps):
            optimizer.zero_grad()
            loss = lib.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
        return loss.item()

    whole = make()
    run(whole, 5)
    saved = copy.deepcopy([part.state_dict() for part in whole])
    again = make()
    for part, state in zip(again, saved):
        part.load_state_dict(state)
    assert run(again, 5) == run(whole, 5)


def test_a_generator_and_a_critic_take_turns(torch):
    """Two optimizers over two networks, as in a WGAN: each moves its own."""
    rows = []
    for lib in (autolab, torch):
        rng = np.random.default_rng(2)
        g, c = (lib.nn.Linear(2, 2), lib.nn.Linear(2, 1))
        with lib.no_grad():
            for p in (*g.parameters(), *c.parameters()):
                p.copy_(lib.tensor(rng.standard_normal(tuple(p.shape)).astype("f4")))
        of_g, of_c = (lib.optim.RMSprop(m.parameters(), lr=1e-2) for m in (g, c))
        noise, real = (lib.tensor(rng.standard_normal((40, 16, 2)).astype("f4")) for _ in range(2))
        seen = []
        for z, x in zip(noise, real):
            of_c.zero_grad()
            (c(g(z).detach()).mean() - c(x).mean()).backward()
            of_c.step()
            with lib.no_grad():
                for p in c.parameters():
                    p.clamp_(-0.5, 0.5)
            of_g.zero_grad()
            loss = -c(g(z)).mean()
            loss.backward()
            of_g.step()
            seen.append(loss.item())
        rows.append(seen)
    np.testing.assert_allclose(*rows, rtol=2e-4, atol=1e-6)


def test_a_quasi_newton_step_fits_a_line(lib):
    x = lib.linspace(0, 1, 20)
    y, w = 3 * x - 1, lib.zeros(2, requires_grad=True)
    optimizer = lib.optim.LBFGS([w], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = ((w[0] * x + w[1] - y) ** 2).mean()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    assert w.tolist() == pytest.approx([3.0, -1.0], abs=1e-3)
