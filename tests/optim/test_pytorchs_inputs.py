"""The settings that PyTorch tests its optimizers with lead to the same places here, and its wrong ones to the same errors."""

import inspect

import numpy as np
import pytest

import autolab

# SparseAdam takes other gradients in PyTorch: test_sparse_adam.py.
NAMES = sorted(set(autolab.optim.__all__) - {"Optimizer", "SparseAdam", "lr_scheduler", "swa_utils"})
SHAPES = (4, 3), (4,), (1, 4), (1,)


@pytest.fixture(scope="module")
def listed(torch):
    """PyTorch's table of optimizers and their inputs, by name."""
    from torch.testing._internal.common_optimizers import optim_db

    return {info.optim_cls.__name__: info for info in optim_db}


def ours(torch, value):
    """A setting of PyTorch's for the other side."""
    return autolab.tensor(value.tolist()) if isinstance(value, torch.Tensor) else value


def grouped(make, params, lr):
    """Two groups, where an optimizer takes several; matrices only, where it takes no others."""
    if make == "Muon":
        return [{"params": params[0]}, {"params": params[2], "lr": lr}]
    return params if make == "LBFGS" else [{"params": params[:2]}, {"params": params[2:], "lr": lr}]


def walk(lib, make, settings, dtype, steps=100):
    """The parameters of a small network at the start and after each step, in one row each, and the optimizer."""
    rng = np.random.default_rng(3)
    x, y = (lib.tensor(rng.standard_normal(shape).astype(dtype)) for shape in ((16, 3), (16, 1)))
    params = [lib.tensor(rng.standard_normal(shape).astype(dtype), requires_grad=True) for shape in SHAPES]
    optimizer = getattr(lib.optim, make)(grouped(make, params, settings.get("lr", 0.01)), **settings)
    sign = -1 if settings.get("maximize") else 1

    def network(w, b, v, c):
        return ((((x @ w.T + b).tanh() @ v.T + c) - y) ** 2).mean()

    def bowl(*params):
        return sum(((k + 1) * p * p + 0.1 * p**4).sum() for k, p in enumerate(params))

    def closure():
        optimizer.zero_grad()
        # twenty moves of L-BFGS in each step, of length 1 whatever the loss says, are chaos on all but a bowl
        loss = sign * (bowl if make == "LBFGS" else network)(*params)
        loss.backward()
        return loss

    rows = [np.concatenate([p.detach().numpy().ravel() for p in params])]
    for _ in range(steps):
        optimizer.step(closure)
        rows.append(np.concatenate([p.detach().numpy().ravel() for p in params]))
    return np.array(rows), optimizer


@pytest.mark.parametrize("make", NAMES)
def test_a_hundred_steps_with_each_of_pytorchs_settings_lead_to_the_same_place(torch, listed, make):
    for given in listed[make].optim_inputs_func(device="cpu"):
        settings = {name: ours(torch, value) for name, value in given.kwargs.items()}
        steps = 30 if make == "LBFGS" else 100  # of up to twenty moves each
        here, _ = walk(autolab, make, settings, np.float64, steps)
        there, _ = walk(torch, make, given.kwargs, np.float64, steps)
        assert np.ptp(there, axis=0).max() > 1e-3
        tolerance = 1e-4 if make == "Muon" else 1e-6  # a sum that bfloat16 rounds the other way is a step of another length
        np.testing.assert_allclose(here, there, rtol=tolerance, atol=tolerance, err_msg=given.desc)


@pytest.mark.parametrize("make", NAMES)
def test_the_state_has_pytorchs_names_dtypes_and_shapes(torch, listed, make):
    for given in listed[make].optim_inputs_func(device="cpu"):
        settings = {name: ours(torch, value) for name, value in given.kwargs.items()}
        here, there = (walk(lib, make, s, np.float32, 3)[1].state_dict() for lib, s in ((autolab, settings), (torch, given.kwargs)))
        assert layout(here["state"]) == layout(there["state"]), given.desc
        assert [sorted(g) for g in here["param_groups"]] == [sorted(g) for g in there["param_groups"]]


def layout(state):
    """What a state holds, without its numbers. L-BFGS has lists, and numbers that may be 0-d tensors or not."""

    def of(value):
        if isinstance(value, list):
            return "list"
        return (str(value.dtype), tuple(value.shape)) if hasattr(value, "dtype") and value.ndim else "number"

    return {i: {name: of(value) for name, value in s.items() if name != "al"} for i, s in state.items()}


@pytest.mark.parametrize("make", NAMES)
def test_what_pytorch_refuses_is_refused_in_its_words(torch, listed, make):
    for wrong in listed[make].optim_error_inputs_func(device="cpu", dtype=torch.float32):
        params, given = wrong.optimizer_error_input.params, wrong.optimizer_error_input.kwargs
        if params is None:
            settings = {
                k: tuple(ours(torch, v) for v in value) if isinstance(value, tuple) else ours(torch, value) for k, value in given.items()
            }
            with pytest.raises(wrong.error_type, match=wrong.error_regex):
                getattr(autolab.optim, make)([autolab.ones(2, 2, requires_grad=True)], **settings)


@pytest.mark.parametrize("make", NAMES)
def test_the_signature_is_pytorchs(torch, make):
    here, there = (inspect.signature(getattr(lib.optim, make).__init__).parameters.values() for lib in (autolab, torch))
    assert [(p.name, p.kind, p.default) for p in here] == [(p.name, p.kind, p.default) for p in there]


@pytest.mark.parametrize("make", NAMES)
def test_training_goes_on_from_pytorchs_own_saved_state(torch, make):
    """Three steps there, saved; then three more on both sides."""
    there, other = walk(torch, make, {}, np.float64, 3)
    saved = other.state_dict()

    def convert(value):
        if isinstance(value, torch.Tensor):
            return autolab.from_numpy(np.array(value.detach().numpy()))
        if isinstance(value, dict):
            return {k: convert(v) for k, v in value.items()}
        return [convert(v) for v in value] if isinstance(value, list) else value

    gradient = np.linspace(-1, 1, 4)
    params = {
        lib: [lib.tensor(a.reshape(s), requires_grad=True) for a, s in zip(np.split(there[-1], [12, 16, 20]), SHAPES)]
        for lib in (autolab, torch)
    }
    for lib, state in ((autolab, convert(saved)), (torch, saved)):
        optimizer = getattr(lib.optim, make)(grouped(make, params[lib], 0.01))
        optimizer.load_state_dict(state)
        for k in range(3):
            for p, g in zip(params[lib], gradient):
                p.grad = lib.full(tuple(p.shape), g * (k + 1), dtype=lib.float64)
            optimizer.step(lambda: 1.0)
    for a, b in zip(params[autolab], params[torch]):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("make", NAMES)
def test_it_prints_as_pytorchs(torch, make):
    here, there = (repr(getattr(lib.optim, make)([("w", lib.ones(1, 1, requires_grad=True))])) for lib in (autolab, torch))
    assert here == there


@pytest.mark.parametrize("make", [name for name in NAMES if name not in ("LBFGS", "Muon", "Adafactor", "Rprop")])
def test_a_step_makes_no_arrays_once_the_state_is_there(make):
    import tracemalloc

    p = autolab.zeros(100_000, requires_grad=True)
    p.grad = autolab.ones(100_000)
    optimizer = getattr(autolab.optim, make)([p], weight_decay=0.1, maximize=True)
    for _ in range(7):  # RAdam changes its ways at the sixth
        optimizer.step()
    tracemalloc.start()
    try:
        optimizer.step()
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


def test_a_name_that_is_not_here_says_so():
    with pytest.raises(AttributeError, match="module 'autolab.optim' has no attribute 'Lion'"):
        autolab.optim.Lion  # noqa: B018
