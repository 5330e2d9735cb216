"""What lesson 22 tells, held to be true: by quadrature, by enumeration, or by other numbers than the lesson's."""

import numpy as np
import pytest

import autolab as torch

from .test_later_stories import Lesson

pytestmark = pytest.mark.lesson22


def moments(values, d):
    """The mean and the variance of `values(noise)` over d standard normal numbers, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    noise = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), -1).reshape(-1, d)
    weight = np.prod(np.stack(np.meshgrid(*[weights] * d, indexing="ij"), -1).reshape(-1, d), 1) / np.sqrt(2 * np.pi) ** d
    found = values(noise)
    return weight @ found, weight @ found**2 - (weight @ found) ** 2


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_variance_of_the_score_function_grows_with_the_dimensions_as_said(d):
    mean, variance = moments(lambda e: ((1 + e) ** 2).sum(1) * e[:, 0], d)
    assert mean == pytest.approx(2) and variance == pytest.approx(30 + 22 * (d - 1) + 4 * (d - 1) ** 2)
    assert moments(lambda e: 2 * (1 + e[:, 0]), d) == pytest.approx((2, 4))


@pytest.mark.parametrize(("mu", "sigma"), [(1, 1), (0.7, 2), (-3, 0.4)])
def test_the_variances_for_a_square_are_those_of_the_formulas(mu, sigma):
    assert moments(lambda e: (mu + sigma * e[:, 0]) ** 2 * e[:, 0] / sigma, 1)[1] == pytest.approx(
        (mu**4 + 18 * mu**2 * sigma**2 + 15 * sigma**4) / sigma**2 - 4 * mu**2
    )


@pytest.mark.parametrize("p", [0.1, 0.5, 0.83])
def test_with_its_best_baseline_a_coin_has_no_variance(p):
    heads, tails = 5.0, 3.0
    best = (1 - p) * heads + p * tails
    assert (heads - best) * (1 - p) == pytest.approx(p * (1 - p) * 2)
    assert (tails - best) * -p == pytest.approx(p * (1 - p) * 2)


def test_the_baseline_with_its_own_payoff_gives_one_minus_one_over_n_of_the_gradient():
    p, n, f = 0.3, 3, np.array([3.0, 5.0])
    x = np.array(np.meshgrid(*[[0, 1]] * n)).reshape(n, -1).T
    chance = np.prod(np.where(x == 1, p, 1 - p), 1)
    payoff = f[x]
    assert chance @ ((payoff - payoff.mean(1, keepdims=True)) * (x - p)).mean(1) == pytest.approx((1 - 1 / n) * p * (1 - p) * 2)


def test_no_slope_passes_the_toss_itself():
    lesson = Lesson("22")
    assert lesson.run("imports", "sample-show")[0].endswith("gradient 0.0")


def test_without_a_baseline_most_players_are_stuck_and_with_it_most_are_not():
    lesson = Lesson("22")
    lesson.run("imports", "bandit-define")
    alone, helped = (lesson["play"](with_baseline, players=60, rounds=150)[1] for with_baseline in (False, True))
    assert alone < 0.5 < 0.6 < helped


def test_straight_through_ends_where_the_two_end_slopes_balance():
    lesson = Lesson("22")
    lesson.run("imports", "through-show", "through-train")
    assert lesson["paths"]["straight-through"][-1] == pytest.approx(0.45, abs=1e-3)
    assert lesson["paths"]["truth"][-1] < 0.01


def test_a_waiting_time_by_the_inverse_has_the_gradient_of_the_truth():
    lesson = Lesson("22")
    lesson.run("imports")
    assert lesson.solution() == ["your gradient -0.500, the truth -0.500"]


def test_the_encoder_and_decoder_learn_more_than_single_pixels():
    lesson = Lesson("22")
    lesson.run("imports", "vae-define")
    torch.manual_seed(0)
    vae, x = lesson["VAE"](2), lesson["X"][:100]
    optimizer, before = torch.optim.Adam(vae.parameters(), lr=0.01), sum(part.mean().item() for part in vae(x))
    for _ in range(60):
        optimizer.zero_grad()
        sum(vae(x)).mean().backward()
        optimizer.step()
    assert sum(part.mean().item() for part in vae(x)) < before - 300
