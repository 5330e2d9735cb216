"""differentiable=True: steps are recorded, and gradients go through them as in PyTorch."""

import numpy as np
import pytest

import autolab

SETTINGS = [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "weight_decay": 0.1}), ("SGD", {"momentum": 0.5, "nesterov": True, "maximize": True}),
    ("SGD", {"momentum": 0.5, "dampening": 0.2}),
    ("ASGD", {"lambd": 0.1}), ("ASGD", {"t0": 1, "weight_decay": 0.1}), ("Adam", {}), ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"maximize": True, "betas": (0.5, 0.7)}), ("AdamW", {"weight_decay": 0.3}), ("Adamax", {"weight_decay": 0.1}), ("NAdam", {}),
    ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}), ("RAdam", {}), ("RAdam", {"betas": (0.9, 0.99), "weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1}), ("Adagrad", {"initial_accumulator_value": 0.5, "weight_decay": 0.1}), ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.9, "alpha": 0.5}), ("Adadelta", {"weight_decay": 0.1}), ("Rprop", {}),
]  # fmt: skip
IDS = [f"{name} {settings}" for name, settings in SETTINGS]
RATE = {"Adadelta": 1.0, "Rprop": 0.03}
ONCE = {"Adam amsgrad", "Adamax", "RMSprop centered", "Rprop"}  # PyTorch overwrites in a second step what it has saved in the first


def rule(first, c, lib, name, settings, steps):
    """Where the steps on sum(c * p ** 3 + p ** 2) lead."""
    p = first.clone()
    optimizer = getattr(lib.optim, name)([p], lr=RATE.get(name, 0.05), differentiable=True, **settings)
    for _ in range(steps):
        q = p.clone()
        (p.grad,) = lib.autograd.grad((c * q**3 + q * q).sum(), q, create_graph=True)
        optimizer.step()
    return p


def start(lib, dtype="float64"):
    dtype = getattr(lib, dtype)
    return [lib.tensor(values, dtype=dtype, requires_grad=True) for values in ([0.5, -1.5, 2.0], [1.0, 0.3, -0.7])]


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=IDS)
def test_gradients_go_through_steps_as_finite_differences_say(name, settings):
    assert autolab.autograd.gradcheck(lambda first, c: rule(first, c, autolab, name, settings, 3), start(autolab))


# PyTorch counts steps, and takes powers by that count, in float32.
@pytest.mark.parametrize(("name", "settings"), [case for case in SETTINGS if not ("momentum" in case[1] and case[0] == "SGD")], ids=str)
def test_gradients_go_through_steps_as_in_pytorch(torch, name, settings):
    steps = 1 if ONCE & {name, *(f"{name} {s}" for s in settings)} else 7  # RAdam waits for the sixth
    found = []
    for lib in (autolab, torch):
        first, c = start(lib)
        p = rule(first, c, lib, name, settings, steps)
        found.append([t.detach().numpy() for t in (p, *lib.autograd.grad(p.cos().sum(), [first, c]))])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=IDS)
def test_recorded_steps_lead_where_the_others_do(name, settings):
    ends = []
    for differentiable in (False, True):
        p, c = (t.detach() for t in start(autolab))
        optimizer = getattr(autolab.optim, name)([p], lr=0.05, differentiable=differentiable, **settings)
        for _ in range(7):
            p.grad = 3 * c * p * p + 2 * p
            optimizer.step()
        ends.append(p.tolist())
    np.testing.assert_allclose(*ends, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex128"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_they_do_in_every_dtype(name, dtype):
    ends = []
    for differentiable in (False, True):
        p = autolab.tensor([0.5, -1.5], dtype=getattr(autolab, dtype)) * (1j if dtype == "complex128" else 1)
        optimizer = getattr(autolab.optim, name)([p], lr=0.05, differentiable=differentiable)
        for _ in range(3):
            p.grad = p * 2
            optimizer.step()
        ends.append(p)
    autolab.testing.assert_close(*ends)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_learning_rate_gets_a_gradient(lib, name):
    lr, p = lib.tensor(0.1, requires_grad=True), lib.ones(2)
    p.grad = lib.ones(2)
    getattr(lib.optim, name)([p], lr=lr, differentiable=True).step()
    p.sum().backward()
    np.testing.assert_allclose(lr.grad.item(), -2, rtol=1e-5)


def test_a_leaf_cannot_be_moved_with_a_history(lib):
    p = lib.ones(2, requires_grad=True)
    p.grad = lib.ones(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        lib.optim.SGD([p], lr=0.1, differentiable=True).step()
