"""Averages of weights: the mean of the last epochs, a fading one, the statistics of BatchNorm that go with them."""

import importlib

import numpy as np
import pytest

import autolab

FUNCTIONS = {
    "the mean": lambda swa: {},
    "the mean, on lists": lambda swa: dict(multi_avg_fn=swa.get_swa_multi_avg_fn()),
    "the mean, by a function": lambda swa: dict(avg_fn=swa.get_swa_avg_fn()),
    "a fading mean": lambda swa: dict(avg_fn=swa.get_ema_avg_fn(0.8)),
    "a fading mean, on lists": lambda swa: dict(multi_avg_fn=swa.get_ema_multi_avg_fn(0.8)),
    "the last": lambda swa: dict(avg_fn=lambda average, parameter, averaged: parameter),
}


@pytest.fixture
def swa(lib):
    return importlib.import_module(f"{lib.__name__}.optim.swa_utils")


def trained(lib, make):
    """A model of fixed weights that changes by fixed amounts, and its average."""
    model = lib.nn.Linear(3, 2)
    average = make(model)
    for k in range(5):
        with lib.no_grad():
            for p in model.parameters():
                p.copy_(lib.tensor((np.arange(p.numel()) + k * k).reshape(tuple(p.shape)).astype("f4")))
        average.update_parameters(model)
    return np.concatenate([p.detach().numpy().ravel() for p in average.module.parameters()])


@pytest.mark.parametrize("case", FUNCTIONS)
def test_averages_are_pytorchs(torch, case):
    rows = []
    for lib in (autolab, torch):
        swa = importlib.import_module(f"{lib.__name__}.optim.swa_utils")
        rows.append(trained(lib, lambda model: swa.AveragedModel(model, **FUNCTIONS[case](swa))))
    np.testing.assert_allclose(*rows, rtol=1e-6)


def test_the_average_answers_as_its_own_model(lib, swa):
    model = lib.nn.Linear(1, 1, bias=False)
    average = swa.AveragedModel(model)
    for value in (1.0, 3.0):
        lib.nn.init.constant_(model.weight, value)
        average.update_parameters(model)
    assert average(lib.ones(1, 1)).item() == 2.0 and model.weight.item() == 3.0
    assert sorted(average.state_dict()) == ["module.weight", "n_averaged"] and average.n_averaged.item() == 2


def test_buffers_are_copied_or_averaged(lib, swa):
    model = lib.nn.Module()
    model.register_buffer("seen", lib.zeros(1))
    model.weight = lib.nn.Parameter(lib.zeros(1))
    copies, averages = swa.AveragedModel(model), swa.AveragedModel(model, use_buffers=True)
    for value in (1.0, 3.0):
        model.seen.fill_(value)
        for average in (copies, averages):
            average.update_parameters(model)
    assert copies.module.seen.item() == 3.0 and averages.module.seen.item() == 2.0


def test_only_one_way_to_average_can_be_given(lib, swa):
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        swa.AveragedModel(lib.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max)


@pytest.mark.parametrize("make", ["get_ema_avg_fn", "get_ema_multi_avg_fn"])
def test_a_mean_fades_by_a_share(swa, make):
    with pytest.raises(ValueError, match=r"Invalid decay value 1.5 provided. Please provide a value in \[0,1\] range."):
        getattr(swa, make)(1.5)


def test_an_annealing_has_one_of_two_strategies(lib, swa):
    optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=1.0)
    with pytest.raises(ValueError, match="anneal_strategy must be one of 'cos' or 'linear', instead got x"):
        swa.SWALR(optimizer, 0.1, anneal_strategy="x")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0, got -1"):
        swa.SWALR(optimizer, 0.1, anneal_epochs=-1)


def test_a_model_without_batchnorm_needs_no_new_statistics(lib, swa):
    swa.update_bn([lib.ones(1, 1)], lib.nn.Linear(1, 1).eval())


def test_statistics_of_batchnorm_are_the_means_over_all_batches(lib, swa):
    rng = np.random.default_rng(0)
    batches = [lib.tensor((rng.standard_normal((8, 3)) * k + k).astype("f4")) for k in (1, 2, 3)]
    model = lib.nn.Sequential(lib.nn.BatchNorm1d(3, momentum=0.3))
    model.eval()
    swa.update_bn([[b, "label"] for b in batches], model)
    np.testing.assert_allclose(model[0].running_mean.numpy(), np.mean([b.numpy().mean(0) for b in batches], axis=0), rtol=1e-5)
    assert model[0].momentum == 0.3 and not model.training


def test_a_pass_over_the_data_finds_batchnorm_reset_and_counting_all_batches():
    from autolab.optim.swa_utils import update_bn

    class BatchNormLike(autolab.nn.Module):
        momentum, seen = 0.1, ()

        def reset_running_stats(self):
            self.seen = ()

        def forward(self, x):
            self.seen = (*self.seen, (x.item(), self.momentum, self.training))
            return x

    layer = BatchNormLike().eval()
    layer.seen = ("old",)
    update_bn([autolab.tensor(1.0), (autolab.tensor(2.0), "label")], layer)
    assert layer.seen == ((1.0, None, True), (2.0, None, True)) and layer.momentum == 0.1 and not layer.training
