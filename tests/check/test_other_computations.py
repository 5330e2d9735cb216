"""A rule that is right for another computation than forward's: another axis, function, setting, entry or end."""

import numpy as np
import pytest

import autolab
from autolab.autograd import Function
from autolab.check import Spec, check, diagnose
from autolab.check.diagnosis.diagnosis import diagnosis
from autolab.engine.op import GENERAL, Op

TRANSFORM = np.cos(np.outer(np.arange(5), np.arange(5) + 0.3))


def transform(n):
    return TRANSFORM[:n, :n]


def variation(x):
    return np.sum((x[1:] - x[:-1]) ** 2)


def variation_back(g, x, ends=0):
    d = np.diff(x, axis=0, append=x[:1]) if ends else np.append(np.diff(x, axis=0), np.zeros_like(x[:1]), 0)
    return 2 * g * (np.roll(d, 1, 0) - d)


def circular(x, w):
    return sum(w[k] * np.roll(x, k, -1) for k in range(w.shape[0]))


def moved(g, x, w, way):
    return np.array([(g * np.roll(x, way * k, -1)).sum() for k in range(len(w))])


def circular_back(g, x, w):
    return sum(w[k] * np.roll(g, -k, -1) for k in range(len(w))), moved(g, x, w, 1)


def shared(y, t):
    i = np.clip(np.floor(t).astype(int), 0, len(y) - 2)
    return (1 - (t - i)) * y[i] + (t - i) * y[i + 1]


def shared_back(g, y, t, share):
    i = np.clip(np.floor(t), 0, len(y) - 2).astype(int)
    d = np.zeros_like(y)
    np.add.at(d, i, g * (1 - share(t - i)))
    np.add.at(d, i + 1, g * share(t - i))
    return d


def rotated(x, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * x[..., 0] - s * x[..., 1], s * x[..., 0] + c * x[..., 1]], axis=-1)


def exchanged_back(g, angle):
    s, c = np.cos(angle), np.sin(angle)
    return np.stack([c * g[..., 0] + s * g[..., 1], -s * g[..., 0] + c * g[..., 1]], -1)


def summed_distance(x, y):
    return np.sum((x[:, None] - y[None]) ** 2, axis=-1)


def distance_back(g, x, y):
    d = x[:, None] - y[None]
    return (g[..., None] * d / np.sqrt((d * d).sum(-1, keepdims=True))).sum(1)


def covariance(x):
    d = x - x.mean(axis=0, keepdims=True)
    return d.swapaxes(-1, -2) @ d / (x.shape[0] - 1)


def shared_of_size(x):
    return x / np.sum(np.abs(x), axis=-1, keepdims=True)


def projected(g, x):
    n = np.sqrt((x * x).sum(-1, keepdims=True))
    return (g - x / n * (g * x / n).sum(-1, keepdims=True)) / n


def by_plain_sum(g, x):
    out = shared_of_size(x)
    return (g - np.sign(x) * (g * out).sum(-1, keepdims=True)) / x.sum(-1, keepdims=True)


VECTOR, MATRIX = [(6,)], [(3, 5)]
WRONG = {
    "another axis": (lambda x: x @ transform(x.shape[-1]).T, lambda g, x: transform(len(g)).T @ g, MATRIX, "all goes along axis"),
    "round the ends": (variation, lambda g, x: variation_back(g, x, 1), VECTOR, "at the beginning of axis 0 of x"),
    "the last one left out": (
        variation, lambda g, x: np.append(variation_back(g, x[:-1]), 0), VECTOR, "leaves out the last entry along axis 0 of x"),
    "absolute for square": (variation, lambda g, x: g * -np.diff(np.sign(np.diff(x)), prepend=0, append=0), VECTOR, "the absolute value"),
    "along the other axis": (variation, lambda g, x: variation_back(g, x.T).T, [(5, 3)], "all goes along axis"),
    "moved the wrong way": (circular, lambda g, x, w: (
        sum(w[k] * np.roll(g, -k, -1) for k in range(len(w))), moved(g, x, w, -1)), [(3, 5), (3,)], "from the wrong side"),
    "the last weight left out": ((circular, circular_back), lambda g, x, w: (
        sum(w[k] * np.roll(g, -k, -1) for k in range(len(w) - 1)), moved(g, x, w, 1)), [(3, 5), (3,)], "the last entry of w"),
    "sin and cos exchanged": (rotated, lambda g, x, angle: (
        exchanged_back(g, angle), g[..., 1] * rotated(x, angle)[..., 0] - g[..., 0] * rotated(x, angle)[..., 1]), [(3, 2), (3,)],
        "sin and cos exchanged"),
    "a root too many": (summed_distance, lambda g, x, y: (
        distance_back(g, x, y), -distance_back(g.T, y, x)[...] * -1), [(3, 2), (5, 2)], "takes the root of the sum"),
    "centred along the other axis": (
        covariance, lambda g, x: (x - x.mean(1, keepdims=True)) @ (g + g.T) / (len(x) - 1), [(5, 3)], "the mean in it goes along axis 1"),
    "squares for absolute values": (shared_of_size, projected, MATRIX, "root of the sum of squares"),
    "a sum without absolute values": (shared_of_size, by_plain_sum, MATRIX, "divided by the sum of x along axis 1 where the sum of abs"),
}  # fmt: skip


@pytest.mark.parametrize(("function", "rule", "shapes", "words"), WRONG.values(), ids=WRONG)
def test_another_computation_is_named(function, rule, shapes, words, rng):
    inputs = [rng.uniform(0.3, 1.7, shape) * (-1) ** (words.startswith("divided") * (np.arange(shape[-1]) == 1)) for shape in shapes]
    found = diagnose(rule, function, inputs)[0]
    assert words in found.text


SHARES = {"exchanged": (lambda f: 1 - f, "exchanged"), "nearest": (lambda f: f >= 0.5, "nearest")}


@pytest.mark.parametrize(("share", "words"), SHARES.values(), ids=SHARES)
def test_shares_of_two_neighbours_are_compared(share, words, rng):
    def back(g, y, t):
        i = np.clip(np.floor(t), 0, len(y) - 2).astype(int)
        return shared_back(g, y, t, share), g * (y[i + 1] - y[i])

    right = (shared, lambda g, y, t: (shared_back(g, y, t, lambda f: f), back(g, y, t)[1]))
    (found,) = diagnose(back, right, [rng.normal(size=6), np.array([0.3, 1.8, 3.6, 2.2])])
    assert words in found.text


def averaged(x, *, decay):
    h = [(1 - decay) * x[0]]
    for t in range(1, x.shape[0]):
        h.append(decay * h[-1] + (1 - decay) * x[t])
    return np.stack(h)


def averaged_back(g, decay):
    back, d = np.zeros(g.shape[1:]), np.zeros_like(g)
    for t in reversed(range(len(g))):
        back = g[t] + decay * back
        d[t] = (1 - decay) * back
    return d


def test_a_number_written_in_for_a_setting_is_named():
    row = Op("averaged", averaged, GENERAL, x=lambda g, decay: averaged_back(g, decay))
    spec = Spec("averaged", row, shapes=(((5, 3),), ((4, 4),)), settings=({"decay": 0.7}, {"decay": 0.2}))
    found = check(spec, lambda g: averaged_back(g, 0.9)).diagnoses[0]
    assert found.family == "setting" and "decay were 0.9 in every call" in found.text


def test_a_factor_is_not_taken_for_another_value_where_the_result_of_its_result_is_the_same(rng):
    def score(x):
        return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)

    def without_deviation(g, x):
        z = score(x)
        return g - g.mean(-1, keepdims=True) - z * (g * z).mean(-1, keepdims=True)

    def back(g, x):
        return without_deviation(g, x) / x.std(-1, keepdims=True)

    (found,) = diagnose(without_deviation, (score, back), [rng.normal(size=(3, 5))])
    assert found.certainty == "likely" and "the standard deviation of x" in found.text


def test_a_sum_over_one_of_two_axes_says_which_is_left():
    def back(g, x, weight):
        return g @ weight, g.reshape(-1, g.shape[-1]).T @ x.reshape(-1, x.shape[-1]), g.sum(0)

    found = check("linear", back).diagnoses[0]
    assert "summed over axis 0 but not over axis 1" in found.text


def test_the_larger_of_two_middle_entries_is_not_called_the_first(rng):
    def upper(g, x):
        at = np.argsort(x, -1)[..., 2:3]
        d = np.zeros_like(x)
        np.put_along_axis(d, at, g[..., None], -1)
        return d

    def back(g, x):
        d = np.zeros_like(x)
        np.put_along_axis(d, np.argsort(x, -1)[..., 1:3], g[..., None] / 2, -1)
        return d

    (found,) = diagnose(upper, (lambda x: np.median(x, axis=-1), back), [rng.normal(size=(4, 4))])
    assert "reaches the largest of the 2 entries" in found.text


def test_places_are_told_of_numbers_that_are_there_once():
    def turned(g, x):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(*g.shape, 4)
        d = (np.arange(4) == blocks.argmax(-1)[..., None]) * g[..., None]
        return d.reshape(*g.shape, 2, 2).transpose(0, 1, 2, 5, 3, 4).reshape(x.shape)

    found = check("max_pool", turned).diagnoses[0]
    assert found.family in ("permutation", "transposed") and "at [0, 0, 0, 5] is at [0, 0, 0, 0]" not in found.text


def test_a_cause_that_is_not_known_is_called_that():
    assert "(cause not known)" in str(diagnosis("unknown", "unknown", "The gradient for x is wrong"))


def test_one_number_for_all_entries_is_named():
    found = check("log", lambda g, x: g / x.mean()).diagnoses[0]
    assert "if each entry of x were the mean of x" in found.text


def test_two_reductions_that_are_exchanged_are_named():
    def back(g, x, y, reduction):
        d = 2 * g * (x - y) / (1 if reduction == "mean" else x.size)
        return d, -d

    found = check("mse_loss", back).diagnoses[0]
    assert "takes a mean where forward takes a sum" in found.text


def test_g_that_is_missing_on_one_side_of_a_choice_is_named():
    found = check("leaky_relu", lambda g, x, negative_slope: np.where(x > 0, g, negative_slope)).diagnoses[0]
    assert "without g in what goes back through where" in found.text


def test_the_other_triangle_of_a_mask_is_named(rng):
    def masked(x):
        e = np.exp(x) * np.tril(np.ones(x.shape))
        return e / np.sum(e, axis=-1, keepdims=True)

    def upper(g, x):
        p = np.exp(x) * np.triu(np.ones(x.shape))
        p = p / p.sum(-1, keepdims=True)
        return p * (g - (g * p).sum(-1, keepdims=True))

    (found,) = diagnose(upper, masked, [rng.normal(size=(4, 4))])
    assert "the other triangle of a mask" in found.text


def test_a_forward_that_saved_nothing_is_named():
    class Tanh(Function):
        @staticmethod
        def forward(ctx, x):
            return autolab.tanh(x)

        @staticmethod
        def backward(ctx, g):
            return g * (1 - ctx.saved_tensors[0] ** 2)

    found = check("tanh", Tanh).diagnoses[0]
    assert "takes more of what forward saved than there is" in found.text
