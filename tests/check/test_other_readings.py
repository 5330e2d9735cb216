"""Numbers that are several things at once, other norms, inputs that are left out, and other ways to fill the room around an array."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autolab as torch
from autolab.check import Spec, check, diagnose
from autolab.engine.op import GENERAL, LINEAR, Op


def said(found):
    return (found.diagnoses if hasattr(found, "diagnoses") else found)[0].text


def of_singular_values(x, some):
    u, _, v = np.linalg.svd(x, full_matrices=False)
    return u[:, some] @ v[some]


NORMS = {
    "Frobenius": (lambda x: (x * x).sum().sqrt(), lambda x: x / np.sqrt((x * x).sum())),
    "spectral": (lambda x: torch.linalg.svdvals(x)[0], lambda x: of_singular_values(x, slice(1))),
    "nuclear": (lambda x: torch.linalg.svdvals(x).sum(), lambda x: of_singular_values(x, slice(None))),
}


@pytest.mark.parametrize("right", NORMS)
@pytest.mark.parametrize("wrong", NORMS)
def test_another_norm_of_a_matrix_is_named(right, wrong, rng):
    found = diagnose(lambda g, x: g * NORMS[wrong][1](x), NORMS[right][0], [rng.uniform(-2, 2, (4, 3))])
    assert not found if right == wrong else f"{wrong} norm" in said(found)


@pytest.mark.parametrize(("by", "words"), [(1, "2 times the right one"), (0.25, "0.5 times the right one")])
def test_a_number_that_is_the_root_of_a_size_as_well_is_said_to_be_one(by, words, rng):
    q = rng.uniform(-2, 2, (3, 4))
    text = said(diagnose(lambda g, q: 2 * g * by * q, lambda q: (q * q).sum(-1, keepdim=True) / math.sqrt(q.shape[-1]), [q]))
    assert words in text and "the square root of the size of its last axis" in text


SCALES = [(2 / math.sqrt(math.pi), "half of the root of pi"), (math.sqrt(math.pi) / 4, "four times 1 / the root of pi")]


@pytest.mark.parametrize(("scale", "words"), SCALES)
def test_a_multiple_of_a_root_of_pi_is_recognised(scale, words, rng):
    assert words in said(diagnose(lambda g, x: g * np.cos(x), lambda x: scale * x.sin(), [rng.uniform(-2, 2, (3, 4))]))


PIECES = {  # of a difference d, on tensors, and the slope
    "huber": (lambda d: torch.where(d.abs() < 1.2, 0.5 * d * d, 1.2 * (d.abs() - 0.6)), lambda d: np.where(abs(d) < 1.2, d, 1.2 * np.sign(d))),
    "hinge": (lambda d: torch.where(d > 0.3, (d - 0.3) ** 2, 0 * d), lambda d: np.where(d > 0.3, 2 * (d - 0.3), 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize(("c", "words"), [(0, "if target were 0"), (-1, "if target had the other sign")])
def test_a_target_that_is_left_out_of_every_piece_is_named(name, c, words, rng):
    function, slope = PIECES[name]
    y, target = rng.uniform(-3, 3, (2, 5, 6))
    found = diagnose(
        lambda g, y, target: (g * slope(y - c * target), -g * slope(y - target)), lambda y, target: function(y - target).sum(), [y, target]
    )
    assert words in said(found)


def gathered(mode, front, behind):
    def rule(g, x):
        total = np.zeros_like(x)
        np.add.at(total, (slice(None), np.pad(np.arange(x.shape[1]), (front, behind), mode=mode)), g)
        return total

    return rule


MODES = ("edge", "reflect", "wrap")


@pytest.mark.parametrize("right", MODES)
@pytest.mark.parametrize("wrong", MODES)
def test_another_way_to_fill_the_room_around_an_array_is_named(right, wrong):
    row = Op("padded", lambda x: np.pad(x, ((0, 0), (2, 1)), mode=right), LINEAR, x=gathered(right, 2, 1))
    found = check(Spec("padded", row, shapes=(((3, 5),), ((2, 4),))), gathered(wrong, 2, 1))
    assert found.passed if right == wrong else f"{wrong!r} of np.pad" in said(found)


@pytest.mark.parametrize("mode", MODES)
def test_room_at_the_wrong_end_is_named(mode):
    row = Op("padded", lambda x: np.pad(x, ((0, 0), (2, 1)), mode=mode), LINEAR, x=gathered(mode, 2, 1))
    assert "1, where that has 2" in said(check(Spec("padded", row, shapes=(((3, 5),), ((2, 4),))), gathered(mode, 1, 2)))


def test_offsets_that_are_exchanged_are_both_named():
    def rule(at):
        def back(g, x):
            total = np.zeros_like(x)
            total[..., at[0] : at[0] + 3, at[1] : at[1] + 4] = g
            return total

        return back

    spec = Spec("crop", Op("crop", lambda x: x[..., 1:4, 2:6], LINEAR, x=rule((1, 2))), shapes=(((2, 5, 7),), ((6, 6),)))
    assert "were two offsets exchanged?" in said(check(spec, rule((2, 1))))


@pytest.mark.parametrize("size", [2, 3])
def test_the_largest_of_a_window_for_the_smallest_is_named(size):
    def rule(choose):
        def back(g, x):
            parts = x.reshape(len(x), -1, size)
            total = np.zeros_like(parts)
            np.put_along_axis(total, choose(parts, -1)[..., None], g[..., None], -1)
            return total.reshape(x.shape)

        return back

    row = Op("smallest", lambda x: x.reshape(len(x), -1, size).min(-1), GENERAL, x=rule(np.argmin))
    assert "largest entries where forward took the smallest" in said(
        check(Spec("smallest", row, shapes=(((3, 6),), ((2, 12),))), rule(np.argmax))
    )
