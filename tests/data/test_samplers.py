"""In which order samples are asked for."""

import importlib
import inspect

import numpy as np
import pytest

import autolab


@pytest.fixture
def data(lib):
    return importlib.import_module(f"{lib.__name__}.utils.data")


def test_a_random_sampler_gives_every_number_once(lib, data):
    order = list(data.RandomSampler(range(50)))
    assert sorted(order) == list(range(50)) and order != list(range(50))


def test_a_random_sampler_of_more_numbers_goes_through_all_again(data):
    order = list(data.RandomSampler(range(5), num_samples=12))
    assert sorted(order[:5]) == sorted(order[5:10]) == list(range(5)) and len({*order[10:]}) == 2


def test_with_replacement_a_number_may_come_twice(data):
    sampler = data.RandomSampler(range(5), replacement=True, num_samples=100)
    assert len(list(sampler)) == len(sampler) == 100 and {*sampler} == {0, 1, 2, 3, 4}


def test_a_program_may_ask_for_more_numbers_than_it_will_take(data):
    loader = data.DataLoader(range(5), sampler=data.RandomSampler(range(5), replacement=True, num_samples=10**10), batch_size=4)
    assert next(iter(loader)).shape == (4,)


def test_two_passes_differ_and_a_seed_repeats_them(lib, data):
    def passes(seed):
        sampler = data.RandomSampler(range(20), generator=lib.Generator().manual_seed(seed))
        return [list(sampler), list(sampler)]

    assert passes(1) == passes(1) and passes(1)[0] != passes(1)[1] and passes(1) != passes(2)


def test_the_common_seed_repeats_an_order_too(lib, data):
    lib.manual_seed(3)
    first = list(data.RandomSampler(range(20)))
    lib.manual_seed(3)
    assert list(data.RandomSampler(range(20))) == first


def test_weights_say_how_often(data):
    drawn = np.bincount(list(data.WeightedRandomSampler([0, 1, 3], 4000)), minlength=3)
    assert drawn[0] == 0 and 2.5 < drawn[2] / drawn[1] < 3.6
    assert sorted(data.WeightedRandomSampler([1, 1, 2], 3, replacement=False)) == [0, 1, 2]


def test_a_subset_comes_in_random_order(data):
    sampler = data.SubsetRandomSampler("abcdefghij")
    assert sorted(sampler) == list("abcdefghij") and len(sampler) == 10


@pytest.mark.parametrize(("drop_last", "batches"), [(False, [[0, 1, 2], [3, 4, 5], [6]]), (True, [[0, 1, 2], [3, 4, 5]])])
def test_batches_are_lists_of_numbers(data, drop_last, batches):
    sampler = data.BatchSampler(data.SequentialSampler(range(7)), 3, drop_last)
    assert list(sampler) == batches and len(sampler) == len(batches)


MESSAGES = [
    ("RandomSampler([])", ValueError, "num_samples should be a positive integer value, but got num_samples=0"),
    ("RandomSampler([1], replacement=1)", TypeError, "replacement should be a boolean value, but got replacement=1"),
    ("WeightedRandomSampler([1], 0)", ValueError, "num_samples should be a positive integer value, but got num_samples=0"),
    ("WeightedRandomSampler([1], 1, 1)", ValueError, "replacement should be a boolean value, but got replacement=1"),
    ("WeightedRandomSampler([[1]], 1)", ValueError, "weights should be a 1d sequence but given weights have shape (1, 1)"),
    ("list(WeightedRandomSampler([1., 1.], 3, False))", RuntimeError, "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
    ("BatchSampler([1], 0, False)", ValueError, "batch_size should be a positive integer value, but got batch_size=0"),
    ("BatchSampler([1], 1, 0)", ValueError, "drop_last should be a boolean value, but got drop_last=0"),
]  # fmt: skip


@pytest.mark.parametrize(("snippet", "error", "opening"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_wrong_settings_are_refused_in_pytorchs_words(data, snippet, error, opening):
    with pytest.raises(error) as caught:
        eval(snippet, vars(data))
    assert str(caught.value).startswith(opening)


def test_signatures_are_pytorchs(torch):
    for name in ("RandomSampler", "WeightedRandomSampler", "BatchSampler", "SubsetRandomSampler", "DataLoader", "ConcatDataset"):
        here, there = (
            inspect.signature(getattr(importlib.import_module(f"{lib}.utils.data"), name)).parameters.values()
            for lib in ("autolab", "torch")
        )
        assert [(p.name, p.kind, p.default) for p in here] == [(p.name, p.kind, p.default) for p in there], name
    assert autolab.utils.data.random_split
