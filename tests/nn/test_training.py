"""The standard loop trains."""

import time

import numpy as np
import pytest

import autolab


@pytest.mark.lesson12
def test_the_standard_loop_learns_to_read_digits():
    import autolab as torch
    from autolab.datasets import digits

    (images, labels), (held_out, answers) = digits("train"), digits("test")
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loss_function = torch.nn.CrossEntropyLoss()
    images, held_out = images.reshape(-1, 64), held_out.reshape(-1, 64)
    start = time.process_time()
    for _ in range(10):
        for batch in torch.randperm(len(images)).split(32):
            optimizer.zero_grad()
            loss = loss_function(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        right = (model(held_out).argmax(dim=1) == answers).float().mean().item()
    assert right >= 0.95
    assert time.process_time() - start < 10


def train(lib, optimizer, steps=30):
    """Losses of a small network on fixed data, from fixed parameters."""
    rng = np.random.default_rng(3)
    model = lib.nn.Sequential(lib.nn.Linear(4, 8), lib.nn.Tanh(), lib.nn.Linear(8, 3)).double()
    with lib.no_grad():
        for p in model.parameters():
            p.copy_(lib.tensor(rng.standard_normal(tuple(p.shape))))
    x, y = lib.tensor(rng.standard_normal((16, 4))), lib.tensor(rng.integers(0, 3, 16))
    optimizer, losses = optimizer(lib.optim, model.parameters()), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = lib.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize(
    "optimizer",
    [lambda optim, ps: optim.SGD(ps, lr=0.3, momentum=0.9, nesterov=True), lambda optim, ps: optim.Adam(ps, lr=0.05, weight_decay=0.01)],
    ids=["SGD", "Adam"],
)
def test_a_network_trains_as_in_pytorch_loss_by_loss(torch, optimizer):
    ours, theirs = train(autolab, optimizer), train(torch, optimizer)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert ours[-1] < ours[0] / 2


def test_one_batch_can_be_learnt_by_heart(lib):
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(3, 16), lib.nn.ReLU(), lib.nn.Linear(16, 1))
    x, y = lib.randn(8, 3), lib.randn(8, 1)
    optimizer = lib.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(500):
        optimizer.zero_grad()
        loss = lib.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-3


def test_gradients_of_several_small_batches_are_that_of_the_large_one(lib):
    lib.manual_seed(0)
    model, x, y = lib.nn.Linear(3, 2).double(), lib.randn(8, 3, dtype=lib.float64), lib.randn(8, 2, dtype=lib.float64)
    loss = lib.nn.MSELoss(reduction="sum")
    loss(model(x), y).backward()
    whole = model.weight.grad.clone()
    model.zero_grad()
    for a, b in zip(x.split(2), y.split(2)):
        loss(model(a), b).backward()
    assert abs(model.weight.grad - whole).max().item() < 1e-12
