"""The explorable of gradients of expectations: its estimates against sums by hand, closed forms and the theory of their variance."""

import re

import numpy as np
import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets import expectations


@pytest.fixture(scope="module")
def clouds():
    return widgets.expectation_gradients()


def numbers(panel, **at):
    """True gradient; mean and variance of the score function; mean and variance of reparameterisation."""
    (_, true, *_), (_, score, _, score_variance), (_, path, _, path_variance) = panel.move(**at).rows
    return tuple(map(float, (true, score, score_variance, path, path_variance)))


def start(**at):
    return {"f": "square", "mu": 1.0, "sigma": 1.0, "samples": 4, "baseline": "none", **at}


@pytest.mark.parametrize(("f", "true"), [
    ("square", lambda mu, sigma: 2 * mu), ("ripples", lambda mu, sigma: 1 + 8 * np.cos(8 * mu) * np.exp(-32 * sigma**2)),
    ("step", lambda mu, sigma: np.exp(-((mu / sigma) ** 2) / 2) / sigma / np.sqrt(2 * np.pi)),
])  # fmt: skip
@pytest.mark.parametrize(("mu", "sigma"), [(-1.5, 1.0), (0.0, 0.5), (1.0, 1.0)])
def test_the_true_gradient_is_that_of_the_closed_form(clouds, f, true, mu, sigma):
    assert numbers(clouds, **start(f=f, mu=mu, sigma=sigma))[0] == pytest.approx(true(mu, sigma), rel=2e-3, abs=1e-6)


def test_the_estimates_are_the_averages_of_the_formulas(clouds):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        noise = torch.randn(4, 400, dtype=torch.float64).numpy()
    x = 1.0 + 0.5 * noise
    score, path = ((x**2 - 1.25) * noise / 0.5).mean(0), (2 * x).mean(0)
    found = numbers(clouds, **start(sigma=0.5, baseline="mean of f"))[1:]
    assert found == pytest.approx((score.mean(), score.var(), path.mean(), path.var()), rel=0.05)


@pytest.mark.parametrize("f", ["square", "ripples"])
def test_both_clouds_surround_the_true_gradient_of_a_smooth_function(clouds, f):
    true, score, score_variance, path, path_variance = numbers(clouds, **start(f=f))
    assert abs(score - true) < 4 * np.sqrt(score_variance / 400)
    assert abs(path - true) < 4 * np.sqrt(path_variance / 400)


def test_of_a_step_reparameterisation_is_wrong_every_time_and_the_score_function_right(clouds):
    true, score, score_variance, path, path_variance = numbers(clouds, **start(f="step", mu=0.5))
    assert (path, path_variance) == (0, 0)
    assert abs(score - true) < 4 * np.sqrt(score_variance / 400)
    assert "Reparameterisation is wrong, and its spread does not tell: the slope of f is 0 at every sample" in clouds.sentence


def test_a_baseline_moves_no_mean_and_shrinks_the_score_function_only(clouds):
    bare, with_baseline = (numbers(clouds, **start(sigma=0.5, mu=1.5, baseline=b)) for b in ("none", "mean of f"))
    assert with_baseline[2] < 0.6 * bare[2] and with_baseline[3:] == bare[3:]
    assert with_baseline[1] == pytest.approx(bare[1], abs=0.3)


def test_eight_times_the_samples_leave_an_eighth_of_the_variance_of_both(clouds):
    few, many = (numbers(clouds, **start(samples=n)) for n in (4, 32))
    assert few[2] / many[2] == pytest.approx(8, rel=0.25) and few[4] / many[4] == pytest.approx(8, rel=0.25)


def test_which_of_them_spreads_more_depends_on_the_function(clouds):
    assert "The score function has 6.4 times the variance" in clouds.move(**start()).sentence
    assert "Reparameterisation has 9.5 times the variance" in clouds.move(f="ripples").sentence


def test_a_line_has_the_same_slope_everywhere_and_a_jump_is_told():
    line = widgets.expectation_gradients([lambda x: 3 * x, leap], mus=(0.0,), sigmas=(1.0,), samples=(4,))
    assert "The slope of f is the same at every sample" in line.sentence
    assert "wrong, and its spread does not tell: f jumps" in line.move(f="leap").sentence


def leap(x):
    return x * x + 5.0 * torch.sign(x)


def test_what_has_no_gradient_at_all_is_a_gradient_of_0():
    panel = widgets.expectation_gradients(lambda x: (x > 0).double(), mus=(0.0,), sigmas=(1.0,), samples=(8,))
    assert numbers(panel)[3:] == (0, 0) and numbers(panel)[1] == pytest.approx(0.399, abs=0.05)


def test_the_noise_of_the_caller_is_left_alone():
    torch.manual_seed(7)
    expected = torch.rand(1).item()
    torch.manual_seed(7)
    widgets.expectation_gradients(lambda x: x, mus=(0.0,), sigmas=(1.0,), samples=(2,))
    assert torch.rand(1).item() == expected


def test_functions_that_cannot_be_averaged_are_refused():
    with pytest.raises(TypeError, match="returned float; it must return a Tensor"):
        widgets.expectation_gradients(lambda x: 1.0)
    with pytest.raises(RuntimeError, match=r"of shape \[2, 3\] has shape \[\]; it must work number by number"):
        widgets.expectation_gradients(lambda x: x.sum())
    with pytest.raises(ValueError, match="sigma must be above 0 and samples at least 1"):
        widgets.expectation_gradients(sigmas=(0.0,))


def test_the_bars_are_what_each_sample_adds_to_an_estimate(clouds):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        x = 1.0 + torch.randn(8, 400, dtype=torch.float64).numpy()[:, 0]
    samples = expectations._samples(expectations.square, 1.0, 1.0, 0)
    assert np.allclose(samples[:2], [x, x**2])
    assert np.allclose(expectations._adds(samples, 2.0), [(x**2 - 2) * (x - 1), 2 * x])
    heights = [re.findall(rf'width="6" height="[0-9]+" class="al-cell al-k-{kind}"', clouds.move(**start(f=f)).picture())
               for f in ("square", "step") for kind in "cb"]  # fmt: skip
    assert [len(h) > 0 for h in heights] == [True, True, True, False]  # the slope of a step adds nothing


def test_a_page_stays_below_150_kilobytes(clouds, tmp_path):
    assert clouds.reset().save(tmp_path / "page.html").stat().st_size < 150_000
