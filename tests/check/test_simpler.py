"""Where several explanations fit, the simpler one is said, and what is likely is tried in time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import autolab
from autolab.check import Spec, check, diagnose
from autolab.check.diagnosis.replays.ways import BEFORE_AXES, MOST_WORK, is_affordable
from autolab.check.run.exercises import sigmoid
from autolab.engine.op import Op


class Costly:
    def work(self, o, x):
        return MOST_WORK / 10


class Call:
    inputs, g = (), 0.0

    def __init__(self):
        self.memo = {}
        self.reference = SimpleNamespace(tried=0.0, began=0.0)


def instance_norm(x):
    mean = x.mean((2, 3), keepdim=True)
    return (x - mean) / (((x - mean) ** 2).mean((2, 3), keepdim=True) + 1e-5).sqrt()


def normalised_back(axes):
    def rule(g, x):
        centred = x - x.mean(axes, keepdims=True)
        size = np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5)
        z = centred / size
        return (g - g.mean(axes, keepdims=True) - z * (g * z).mean(axes, keepdims=True)) / size

    return rule


@pytest.mark.parametrize(
    ("axes", "said"), [((3,), "along the last axis"), ((0, 2, 3), "along axis 0 as well"), ((1, 2, 3), "along axis 1 as well")]
)
def test_statistics_along_other_axes_are_named(rng, axes, said):
    (found,) = diagnose(normalised_back(axes), instance_norm, [rng.normal(size=(2, 3, 4, 5)) * 1.2])
    assert found.family == "axis" and said in found.text


def test_what_comes_before_other_axes_leaves_work_for_them():
    call = Call()
    assert sum(is_affordable(call, "x", Costly(), BEFORE_AXES) for _ in range(20)) == 10 * BEFORE_AXES
    assert sum(is_affordable(call, "x", Costly()) for _ in range(20)) == 10 - 10 * BEFORE_AXES


def test_a_factor_of_each_row_is_simpler_than_a_slip_in_a_part():
    def rule(g, x, y):
        a, b = (np.sqrt((v * v).sum(-1, keepdims=True)) for v in (x, y))
        u, v, g = x / a, y / b, g[..., None]
        c = (u * v).sum(-1, keepdims=True)
        return g * (v - c * u) / (a * b), g * (u - c * v) / b

    found = check("cosine", rule).diagnoses[0]
    assert "divided by the norm of y along axis 1" in found.text and "Or" not in found.text


GAIN = Op("gain", lambda x, *, low, high: np.clip(x, low, high) * (high - low), "elementwise",
          x=lambda g, x, low, high: g * (high - low) * ((x > low) & (x < high)))  # fmt: skip


def test_a_mask_the_wrong_way_round_is_one_mistake():
    spec = Spec("gain", GAIN, settings=({"low": -1.3, "high": 0.7}, {"low": -0.4, "high": 2.1}))
    found = check(spec, lambda g, x, low, high: g * (high - low) * ((x <= low) | (x >= high))).diagnoses[0]
    assert "the wrong way round" in found.text and "two mistakes" not in found.text


def test_entry_by_entry_is_one_mistake(rng):

    cross = lambda x, y: autolab.linalg.cross(x, y)
    found = diagnose(lambda g, x, y: (g * y, g * x), cross, [rng.normal(size=(4, 3)), rng.normal(size=(4, 3))])
    assert all(d.family == "diagonal only" for d in found)


def test_a_whole_wrong_formula_is_no_half_of_two_mistakes():
    rule = lambda g, x: g * (sigmoid(1.702 * x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi))
    found = check("gelu", rule).diagnoses[0]
    assert "approximation" in found.text and "two mistakes" not in found.text
