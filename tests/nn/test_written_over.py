"""Layers write over each other's results (`ReLU(inplace=True)`): what PyTorch lets be written over may be written over here."""

import numpy as np
import pytest

CALLS = {
    "max_pool": lambda F, x: F.max_pool2d(x, 2), "max_pool, overlapping": lambda F, x: F.max_pool2d(x, 3, 1, 1),
    "avg_pool": lambda F, x: F.avg_pool2d(x, 2), "adaptive": lambda F, x: F.adaptive_max_pool2d(x, 2),
    "quotient": lambda F, x: x / (x + 3), "softsign": lambda F, x: F.softsign(x), "normalize": lambda F, x: F.normalize(x),
    "batch_norm": lambda F, x: F.batch_norm(x, None, None, training=True), "layer_norm": lambda F, x: F.layer_norm(x, (4,)),
    "conv": lambda F, x: F.conv2d(x, x[:, :, :2, :2]), "gelu": lambda F, x: F.gelu(x), "silu": lambda F, x: F.silu(x),
    "leaky_relu": lambda F, x: F.leaky_relu(x), "pixel_shuffle": lambda F, x: F.pixel_shuffle(x, 2), "log": lambda F, x: (x + 9).log(),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_result_may_be_written_over(lib, name):
    x = lib.tensor(np.random.default_rng(0).standard_normal((4, 4, 4, 4)), requires_grad=True)
    grads = []
    for write in (lambda y: y.relu(), lambda y: y.relu_()):
        y = write(CALLS[name](lib.nn.functional, x))
        grads.append(lib.autograd.grad((y * y).sum(), x)[0].numpy())
    np.testing.assert_array_equal(*grads)


def test_a_block_with_everything_in_place_has_pytorchs_gradients(torch):
    import autolab

    found = []
    for T in (autolab, torch):
        nn, rng = T.nn, np.random.default_rng(1)
        block = nn.Sequential(
            nn.Conv2d(2, 4, 3), nn.MaxPool2d(2), nn.ReLU(inplace=True), nn.BatchNorm2d(4), nn.LeakyReLU(0.1, inplace=True),
            nn.AvgPool2d(2), nn.Hardtanh(inplace=True), nn.Flatten(), nn.Softsign(), nn.ELU(inplace=True), nn.Linear(4, 2),
        ).double()  # fmt: skip
        with T.no_grad():
            for p in block.parameters():
                p.copy_(T.tensor(rng.standard_normal(tuple(p.shape))))
        block(T.tensor(rng.standard_normal((5, 2, 8, 8)))).square().sum().backward()
        found.append(np.concatenate([p.grad.numpy().ravel() for p in block.parameters()]))
    np.testing.assert_allclose(*found, atol=1e-9)
