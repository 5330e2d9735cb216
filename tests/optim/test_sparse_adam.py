"""Adam for embeddings moves the rows that were looked up, as PyTorch's does."""

import numpy as np
import pytest

import autolab


def walk(T, **settings):
    """The table after each of four steps that look up different rows."""
    table = T.nn.Embedding(5, 2, sparse=True, _weight=T.tensor(np.arange(10.0).reshape(5, 2)))
    optimizer = T.optim.SparseAdam(table.parameters(), **settings)
    for rows in ([0, 2], [2, 2], [4], [0, 4]):
        optimizer.zero_grad()
        (table(T.tensor(rows)) - 1.5).square().sum().backward()
        optimizer.step()
        yield table.weight.detach().numpy().copy()


@pytest.mark.parametrize("settings", [{}, {"lr": 0.3, "betas": (0.5, 0.7), "eps": 0.1}, {"lr": 0.1, "maximize": True}])
def test_rows_move_as_pytorchs(torch, settings):
    np.testing.assert_allclose(list(walk(autolab, **settings)), list(walk(torch, **settings)), rtol=1e-12)


@pytest.mark.parametrize("wrong", [{"lr": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.9)}])
def test_settings_out_of_range_are_refused(lib, wrong):
    with pytest.raises(ValueError, match=r"Invalid (learning rate: 0.0|epsilon value: 0.0|beta parameter at index 0: 1.0)"):
        lib.optim.SparseAdam([lib.ones(1, requires_grad=True)], **wrong)


def test_any_iterable_of_parameters_will_do(lib):
    parameters = lib.nn.ParameterList([lib.nn.Parameter(lib.ones(1))])
    assert lib.optim.SGD(parameters, lr=0.1).param_groups[0]["params"][0] is parameters[0]
    with pytest.raises(TypeError, match="optimizer can only optimize Tensors, but one of the params is str"):
        lib.optim.SGD(lib.nn.ParameterDict({"a": lib.ones(1)}), lr=0.1)


def test_the_package_lists_what_it_has(lib):
    names = dir(lib.optim)
    assert {"SGD", "SparseAdam", "lr_scheduler", "swa_utils"} <= set(names) and not {"adagrad_family", "settings"} & set(names)


def test_schedulers_are_of_one_module(lib):
    schedulers = lib.optim.lr_scheduler
    assert {getattr(schedulers, name).__module__ for name in ("StepLR", "OneCycleLR", "ReduceLROnPlateau")} == {schedulers.__name__}
