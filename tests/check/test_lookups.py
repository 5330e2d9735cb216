"""Forwards that sort, choose or look up by an index: a rule that uses other entries is told which ones, and nothing that is untrue."""

from functools import partial

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import GENERAL, Op


def own(forward, *shapes, inputs=("x", "w"), below=None, **more):
    """An exercise on arrays; what is not among its inputs is an index of numbers below a size of the first."""

    def make(rng, shapes, settings):
        return [rng.standard_normal(s) if k < len(inputs) else rng.integers(0, below or shapes[0][0], s) for k, s in enumerate(shapes)]

    op = Op(forward.__name__, forward, GENERAL, **dict.fromkeys(inputs, derivative_of_forward))
    return Spec(forward.__name__, op, shapes=shapes, **({"make": make} if len(shapes[0]) > len(inputs) else {}), **more)


def said(spec, rule):
    return " / ".join(d.text for d in check(spec, rule).diagnoses)


def added(n, places, values):
    total = np.zeros((n, *values.shape[np.ndim(places) :]))
    np.add.at(total, places, values)
    return total


def ranked(x, w):
    return np.tanh(np.sort(x)[::-1]) @ w


def quartile(x):
    s = np.sort(x, axis=-1)
    return 0.25 * s[..., 1] + 0.75 * s[..., 2]


def middle(x):
    return np.mean(np.sort(x, axis=0)[1:-1] ** 2, axis=0)


def by_key(x, w, key):
    return np.cumsum(np.take_along_axis(x, np.argsort(key, axis=1), axis=1), axis=1) * w


def rows(w, x, index):
    return np.exp(w)[:, None] * x[index]


def mixed(w, x, index):
    return np.sum(w[:, :, None] * x[index], axis=1)


def segments(x, w, index):
    out = np.zeros((3, x.shape[1]))
    np.add.at(out, index, w[:, None] * x)
    return out


def nearest(x, w):
    d = np.sum((x[:, None] - w) ** 2, axis=-1)
    return np.sum((x - w[np.argmin(d, axis=1)]) ** 2, axis=-1)


def at_largest(x, w):
    i = np.argmax(x, axis=1)[:, None]
    return np.take_along_axis(np.sin(w), i, 1)[:, 0]


def pairs(x, w):
    return x[:, None] * np.sin(w)


def two_largest(x):
    return (x.topk(2, -1)[0] ** 2).sum(-1)


RANKED, QUARTILE = own(ranked, ((5,), (5,)), ((6,), (6,))), own(quartile, ((3, 5),), ((2, 6),), inputs=("x",))
MIDDLE, BY_KEY = own(middle, ((6, 3),), ((5, 2),), inputs=("x",)), own(by_key, ((3, 4), (4,), (3, 4)), ((2, 5), (5,), (2, 5)), below=1000)
ROWS = own(rows, ((4,), (6, 3), (4,)), ((3,), (5, 2), (3,)), inputs=("w", "x"))
MIXED = own(mixed, ((4, 2), (5, 3), (4, 2)), ((3, 4), (6, 2), (3, 4)), inputs=("w", "x"))
SEGMENTS = own(segments, ((6, 2), (6,), (6,)), ((5, 3), (5,), (5,)), below=3)
NEAREST = own(nearest, ((4, 2), (3, 2)), ((5, 3), (4, 3)))
AT_LARGEST, PAIRS = own(at_largest, ((4, 5), (4, 5)), ((5, 3), (5, 3))), own(pairs, ((4, 3), (2, 3)), ((3, 4), (5, 4)))
TWO_LARGEST = Spec("two_largest", two_largest, shapes=(((3, 5),), ((2, 6),)))


def ranked_rule(g, x, w, back=None):
    down = np.argsort(-x)
    d = g * (1 - np.tanh(x[down]) ** 2) * w
    return added(len(x), down, d) if back is None else back(g, x, w, down, d), g * np.tanh(x[down])


def by_key_rule(g, x, w, key, back=np.argsort, forth=np.asarray):
    order = np.argsort(key, 1)
    d = np.flip(np.cumsum(np.flip(g * w, 1), 1), 1)
    d = np.take_along_axis(d, order if back is None else back(order, 1), 1)
    return d, np.sum(g * np.cumsum(np.take_along_axis(x, forth(order), 1), 1), 0)


def mixed_rule(g, w, x, index, out, factor=None):
    return np.sum(g[:, None] * (x[index] if factor is None else factor(w, x, out)), -1), added(len(x), index, w[:, :, None] * g[:, None])


def nearest_rule(g, x, w, choose=np.argmin, centre=None):
    i = choose(np.sum((x[:, None] - w) ** 2, axis=-1), 1)
    d = 2 * g[:, None] * (x - w[i])
    return d if centre is None else 2 * g[:, None] * (x - centre), added(len(w), i, -d)


def two_largest_rule(g, x, of=1, at=None):
    order = np.argsort(-of * x, 1)[:, :2]
    d = np.zeros_like(x)
    np.put_along_axis(d, order if at is None else np.broadcast_to(at, order.shape), 2 * np.take_along_axis(x, order, 1) * g[:, None], 1)
    return d


def at_largest_rule(g, x, w, i):
    return np.zeros_like(x), np.where(np.arange(x.shape[1]) == i[:, None], g[:, None] * np.cos(w), 0)


WRONG = [
    (RANKED, lambda g, x, w: ranked_rule(g, x, w, lambda g, x, w, down, d: d), "is not brought back from the order of the sort"),
    (
        RANKED,
        lambda g, x, w: ranked_rule(g, x, w, lambda g, x, w, down, d: g * (1 - np.tanh(x) ** 2) * w[down]),
        "moved by the order of the sort, where the inverse of that order belongs",
    ),
    (QUARTILE, lambda g, x: np.array([0, 0.25, 0.75, *[0] * (x.shape[1] - 3)]) * g[:, None], "is not brought back"),
    (QUARTILE, lambda g, x: (0.25 * (x.argsort() == 1) + 0.75 * (x.argsort() == 2)) * g[:, None], "where the inverse of that order"),
    (MIDDLE, lambda g, x: np.pad(2 * np.sort(x, 0)[1:-1] * g, ((1, 1), (0, 0))) / (len(x) - 2), "is not brought back"),
    (BY_KEY, lambda g, x, w, key: by_key_rule(g, x, w, key, back=None), "where the inverse of that order belongs"),
    (BY_KEY, lambda g, x, w, key: by_key_rule(g, x, w, key, forth=lambda o: np.sort(o)), "uses x in its own order where"),
    (ROWS, lambda g, w, x, index: (np.exp(w) * (g * x[: len(w)]).sum(1), added(len(x), index, np.exp(w)[:, None] * g)), "entries 0, 1, 2 and so on of x"),
    (MIXED, lambda g, w, x, index, out: mixed_rule(g, w, x, index, out, lambda w, x, out: x[: w.shape[1]]), "entries 0, 1, 2 and so on of x"),
    (MIXED, lambda g, w, x, index, out: mixed_rule(g, w, x, index, out, lambda w, x, out: out[:, None]), "the same all along one axis"),
    (SEGMENTS, lambda g, x, w, index, out: (w[:, None] * g[index], (g[index] * out[index]).sum(1)), "uses the sums of"),
    (NEAREST, lambda g, x, w: nearest_rule(g, x, w, np.argmax), "at the place of the largest, for that of the smallest"),
    (NEAREST, lambda g, x, w: nearest_rule(g, x, w, centre=w.mean(0)), "uses the mean of w along its axis where"),
    (AT_LARGEST, lambda g, x, w: at_largest_rule(g, x, w, np.sin(w).argmax(1)), "the largest entry"),
    (TWO_LARGEST, lambda g, x: two_largest_rule(g, x, at=np.arange(2)), "to the first entries"),
    (TWO_LARGEST, lambda g, x: two_largest_rule(g, x, of=-1), "the entries of x at the other end"),
    (PAIRS, lambda g, x, w: ((g * np.sin(w).sum(-1)[:, None]).sum(1), (g * x[:, None] * np.cos(w)).sum(0)), "adds up the result of sin along an axis before"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "rule", "words"), WRONG)
def test_the_entries_that_it_uses_instead_are_named(spec, rule, words):
    assert words in said(spec, rule)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        (RANKED, ranked_rule),
        (BY_KEY, lambda g, x, w, key: by_key_rule(g, x, w, key, lambda o, axis: np.argsort(o, axis))),
        (NEAREST, nearest_rule),
    ],
)
def test_a_right_rule_passes(spec, rule):
    assert check(spec, rule).passed


def with_volume(x):
    """Which is no chain of steps with one result each."""
    return np.sum(np.sort(x, axis=-1) * np.arange(1.0, x.shape[1] + 1), axis=-1) + np.linalg.slogdet(x @ x.T)[1]


def without_order(g, x):
    return g[:, None] * np.arange(1.0, x.shape[1] + 1) + 2 * g.sum() * np.linalg.inv(x @ x.T) @ x


def test_no_axis_is_named_where_an_order_is_not_undone():
    spec = own(with_volume, ((3, 5),), ((2, 6),), inputs=("x",))
    assert "leaves its entries in the order in which they stand: without the sort" in said(spec, without_order)


def gaps(x, w):
    return np.sum(np.sort(x, axis=-1) ** 2 * w, axis=-1)


def test_what_a_step_only_moves_is_no_part_of_its_result():
    spec = own(gaps, ((3, 5), (5,)), ((2, 6), (6,)))

    def rule(g, x, w):
        ranks = x.argsort().argsort()
        return 2 * g[:, None] * x * w[ranks], g @ x**2

    text = said(spec, rule)
    assert "uses x in its own order where the result of the sort belongs" in text and "one part of" not in text


def largest(x):
    return np.sum(np.partition(x, -2, axis=-1)[..., -2:] ** 2, axis=-1)  # which is not followed on tensors


def test_as_many_entries_as_forward_chose_are_not_chosen_by_their_sign():
    rule = partial(two_largest_rule, of=-1)
    assert "as a relu does" not in said(own(largest, ((3, 5),), ((2, 6),), inputs=("x",)), lambda g, x: rule(g, x))


def blocks(x):
    return np.exp(x.reshape(len(x), 3, -1)[:, [2, 0, 1]]).reshape(x.shape)


def test_one_order_has_one_sentence():
    def rule(g, x):
        d = g.reshape(len(x), 3, -1) * np.exp(x.reshape(len(x), 3, -1)[:, [2, 0, 1]])
        return d[:, [2, 0, 1]].reshape(x.shape)

    text = said(own(blocks, ((2, 6),), ((4, 9),), inputs=("x",)), rule)
    assert "where the inverse of that order belongs" in text and "Or it" not in text


def messages(x, w, source, target):
    out = np.zeros_like(x)
    np.add.at(out, target, w[:, None] * np.tanh(x[source]))
    return out


def test_edges_that_are_turned_round_have_no_before_and_after():
    def rule(g, x, w, source, target):
        values = np.tanh(x[source])
        return added(len(x), target, w[:, None] * g[source] * (1 - values**2)), (g[target] * values).sum(1)

    text = said(own(messages, ((4, 2), (6,), (6,), (6,)), ((5, 3), (7,), (7,), (7,))), rule)
    assert "entries before" not in text and "from i to k again" in text
