"""Families of mistakes crossed with operations: what is named of a sample, and the tape on which rules are replayed."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import check, diagnose
from autolab.check.diagnosis.replay import Asking, CannotReplay, Tape

from . import families_axes, families_places


@pytest.fixture(scope="module")
def axes():
    return families_axes.run(every=41)


@pytest.fixture(scope="module")
def places():
    return families_places.run(every=7)


def test_every_rule_of_a_family_is_caught(axes, places):
    assert all(caught >= n - 1 for n, caught, *_ in (axes[("all",)], places[("all",)]))


@pytest.mark.parametrize("family", ["axis", "size", "sum", "lift", "digits"])
def test_nineteen_in_twenty_slips_along_an_axis_are_named(axes, family):
    n, _, named, _ = axes["family", family]
    assert named >= 0.95 * n - 1


@pytest.mark.parametrize("kind", ["axis", "size", "sum", "stretched"])
def test_nine_in_ten_slips_in_layers_are_named(places, kind):
    n, _, named, _ = places["kind", kind]
    assert named >= 0.9 * n - 1


@pytest.mark.parametrize("kind", ["moved", "other"])
def test_nineteen_in_twenty_slips_in_moves_and_windows_are_named(kind):
    n, _, named, _ = families_places.run(only=f"{kind},")["kind", kind]
    assert named >= 0.95 * n


def test_what_is_certain_of_a_family_is_true(axes, places):
    assert axes[("all",)][3] + places[("all",)][3] <= 1  # a gradient that is 0 because an axis has two entries


@pytest.fixture
def x(rng):
    return rng.uniform(0.2, 2.8, (3, 5))


def taped(function, *arrays):
    tape = Tape()
    tape.end(function(*map(tape.leaf, arrays)))
    return tape


def softmax_rule(g, x):
    e = np.exp(x - x.max(-1, keepdims=True))
    p = e / np.sum(e, axis=-1, keepdims=True)
    return p * (g - (g * p).sum(-1, keepdims=True))


def test_a_tape_gives_what_the_function_gives(x):
    assert np.allclose(taped(softmax_rule, x, x).result({}), softmax_rule(x, x))


def test_a_tape_notes_what_reduces(x):
    assert [call.name for call in taped(softmax_rule, x, x).calls()] == ["max", "sum", "sum"]


def test_another_axis_in_all_calls_is_the_rule_along_that_axis(x):
    again = taped(softmax_rule, x, x)
    turned = again.result(again.changed(range(3), lambda k, call: call.run(0)))
    assert np.allclose(turned, softmax_rule(x.T, x.T).T)


def test_other_leaves_give_what_the_function_gives_for_them(x):
    tape = taped(softmax_rule, x, x)
    assert np.allclose(tape.result(tape.again(leaves={0: 2 * x})), softmax_rule(2 * x, x))


def test_what_writes_in_place_is_not_taped(x):
    def rule(g):
        g[0] = 0
        return g

    with pytest.raises(CannotReplay):
        taped(rule, x)


def test_an_array_that_asks_leaves_the_one_it_was_made_of_alone(x):
    before = x.copy()
    assert isinstance(Tape().leaf(x), Asking)
    assert np.array_equal(x, before)


def test_a_bound_that_nothing_reaches_is_not_named(x):
    assert diagnose(lambda g, x: np.clip(2 * g * x, -1e9, 1e9), lambda x: x * x, [x]) == []


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda a: a.astype(int), "array of integers"),
        (lambda a: np.round(a, 2), "2 decimals"),
        (lambda a: np.clip(a, -0.5, 0.7), "held between -0.5 and 0.7"),
        (lambda a: np.minimum(a, 0.7), "above 0.7"),
    ],
)
def test_lost_digits_are_said_as_they_are(spoil, words):
    report = check("sin", lambda g, x: spoil(g * np.cos(x)))
    assert words in report.diagnoses[0].text


def test_g_summed_before_it_meets_its_partner_is_named():
    rule = lambda g, x, y: (g * y if x.shape == g.shape else 0 * x, g.sum(0) * x.sum(0) if y.ndim == 1 < g.ndim else g * x)  # noqa: E731
    x = np.array([[0.3, 1.7, -0.4], [2.6, -1.2, 0.9]])
    (found,) = diagnose(rule, lambda x, y: x * y, [x, np.array([1.3, -0.7, 0.6])])
    assert (found.family, found.input) == ("upstream collapsed", "y")


@pytest.mark.parametrize("axis", [None, (0, 1), 0, -1])
def test_a_norm_over_everything_is_named_for_every_kind_of_axis(axis):
    from autolab.check import Spec

    spec = Spec("norm", settings=({"axis": axis}, {"axis": 1}), shapes=(((2, 3, 4),), ((3, 3, 3),)))

    def rule(g, x, axis):
        removed = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        lifted = np.reshape(g, [1 if i in [a % x.ndim for a in removed] else n for i, n in enumerate(x.shape)])
        return lifted * x / np.sqrt((x * x).sum())

    assert check(spec, rule).diagnoses[0].family == "axis"
