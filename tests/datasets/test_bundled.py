"""Irises, sonnets, and points made by formulas."""

import numpy as np
import pytest

import autolab
from autolab import datasets
from autolab.datasets import fisher_iris, shakespeare

MADE = [datasets.two_moons, datasets.spirals, datasets.circles, datasets.blobs]


def test_the_irises_have_the_means_and_spreads_that_fisher_printed():
    x, y = (t.numpy().astype(float) for t in datasets.iris())
    by_species = [x[y == k] for k in range(3)]
    np.testing.assert_allclose(
        [s.sum(0) for s in by_species], [[250.3, 171.4, 73.1, 12.3], [296.8, 138.5, 213.0, 66.3], [329.4, 148.7, 277.6, 101.3]], rtol=1e-6
    )
    np.testing.assert_allclose(
        [s.var(0, ddof=1) for s in by_species],
        [[0.124249, 0.143690, 0.030159, 0.011106], [0.266433, 0.098469, 0.220816, 0.039106], [0.404343, 0.104004, 0.304588, 0.075433]],
        atol=1e-6,
    )


def test_flowers_are_held_out_of_every_species():
    (x, y), (held_out, labels) = datasets.iris("train"), datasets.iris("test")
    assert y.bincount().tolist() == [40, 40, 40] and labels.bincount().tolist() == [10, 10, 10]
    assert x.dtype == autolab.float32 and y.dtype == autolab.int64 and held_out.shape == (30, 4)
    assert sorted([*x.tolist(), *held_out.tolist()]) == sorted(datasets.iris()[0].tolist())


def test_an_unknown_split_of_flowers_says_which_ones_there_are():
    with pytest.raises(ValueError, match=r"'validation'.*'train', 'test' or None"):
        datasets.iris("validation")


def test_every_sonnet_has_a_number_and_fourteen_lines():
    blocks = datasets.sonnets().rstrip("\n").split("\n\n")
    numbers, poems = blocks[::2], blocks[1::2]
    assert len(numbers) == len(poems) == 58 and all(n.isdigit() for n in numbers)
    assert [int(n) for n in numbers] == sorted({int(n) for n in numbers}) and int(numbers[-1]) <= 154
    assert {len(poem.split("\n")) for poem in poems} == {14}


def test_only_the_last_two_lines_of_a_sonnet_are_indented():
    for poem in datasets.sonnets().rstrip("\n").split("\n\n")[1::2]:
        assert [line.startswith("  ") for line in poem.split("\n")] == [False] * 12 + [True] * 2


def test_the_text_is_plain_letters():
    text = datasets.sonnets()
    assert text.isascii() and "\t" not in text and " \n" not in text and 30_000 < len(text) < 100_000


@pytest.mark.parametrize("make", MADE, ids=lambda f: f.__name__)
def test_points_are_the_same_for_a_seed_and_leave_the_common_seed_alone(make):
    autolab.manual_seed(0)
    expected = autolab.rand(1).item()
    autolab.manual_seed(0)
    a, b, c = make(50, seed=1), make(50, seed=1), make(50, seed=2)
    assert autolab.rand(1).item() == expected
    assert autolab.equal(a[0], b[0]) and autolab.equal(a[1], b[1]) and not autolab.equal(a[0], c[0])


@pytest.mark.parametrize("make", MADE, ids=lambda f: f.__name__)
def test_classes_are_balanced_and_dtypes_fit_a_network(make):
    x, y = make(60)
    counts = y.bincount()
    assert x.shape == (60, 2) and x.dtype == autolab.float32 and y.dtype == autolab.int64
    assert counts.max().item() == counts.min().item() == 60 // len(counts)


@pytest.mark.parametrize("make", MADE, ids=lambda f: f.__name__)
def test_a_number_that_makes_no_sense_is_refused(make):
    for wrong in (dict(n=0), dict(noise=-1.0)):
        with pytest.raises(ValueError, match="got"):
            make(**wrong)


def nearest_neighbours_agree(x, y):
    """The share of points whose nearest neighbour has the same class."""
    d = np.square(x[:, None] - x).sum(-1) + np.eye(len(x)) * 9
    return (y[d.argmin(1)] == y).mean()


def linearly_separable(x, y):
    """The share of points that a least-squares line puts on their side."""
    a = np.c_[x, np.ones(len(x))]
    return ((a @ np.linalg.lstsq(a, 2.0 * y - 1, rcond=None)[0] > 0) == y).mean()


@pytest.mark.parametrize("make", [datasets.two_moons, datasets.circles], ids=lambda f: f.__name__)
def test_no_line_tells_the_classes_apart_but_neighbours_do(make):
    x, y = (t.numpy() for t in make(300))
    assert nearest_neighbours_agree(x, y) > 0.97 and linearly_separable(x, y) < 0.92


def test_spirals_wind_around_each_other():
    x, y = (t.numpy() for t in datasets.spirals(300, noise=0.0))
    radius, angle = np.hypot(*x.T), np.arctan2(x[:, 1], x[:, 0])
    turned = np.mod(angle - 2 * np.pi * (y / 3 + 0.75 * radius) + 0.1, 2 * np.pi)
    np.testing.assert_allclose(turned, 0.1, atol=1e-4)


def test_a_small_network_learns_the_moons():
    x, y = datasets.two_moons(200)
    nn, optim = autolab.nn, autolab.optim
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    assert (model(x).argmax(1) == y).float().mean().item() > 0.97


def test_sources_and_licences_stand_beside_the_data():
    text = shakespeare.FILE.with_name("README.md").read_text()
    for file in (fisher_iris.FILE, shakespeare.FILE):
        assert file.name in text and file.exists()
    assert "Annals of Eugenics" in text and "London 1609" in text and "public domain" in text
