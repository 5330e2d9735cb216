"""The operations of the problem sets that need more than a row of the table: their inputs, their kinks, their hints.

Where the table has the row, a spec says only what to try it on. Where a lesson asks for something that the table builds
from other rows, the row appears here, in NumPy's words.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from autolab.engine.op import ELEMENTWISE, GENERAL, LINEAR, Op
from autolab.rules.elementwise import log1p_exp
from autolab.rules.special import erf

from .inputs import LARGE, ROW_PAIRS, ROWS, draw
from .spec import POINTS, Kink, Spec

IMAGES = (((2, 3, 4, 6),), ((2, 2, 6, 6),))
LAYER = {**POINTS, "value": 13.5}  # several inputs
CHANNEL = (0, 2)  # of (N, C, L): what a channel has of it
KEPT = {"axis": -1, "keepdims": True}  # for a rule that asks for keepdims
MOST = {"x": 5.0}  # the gradient for x is most of the work
TWICE = {"not summed": "This input entry was used more than once; what happens to its contributions?"}


def mT(a):
    """The last two axes exchanged."""
    return np.swapaxes(a, -1, -2)


def normal_cdf(x):
    """The part of a normal distribution below x."""
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def normal_pdf(x):
    """The density of a normal distribution at x."""
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def inside(x, low, high):
    """1 where clipping leaves x alone, else 0."""
    return ((x >= low) & (x <= high)).astype(x.dtype)


def add_rows(g, index, x_shape):
    """Rows of g added up where index says they came from."""
    total = np.zeros(x_shape, g.dtype)
    np.add.at(total, index, g)
    return total


def softmax(x):
    """Softmax along the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x):
    """Its logarithm, also where it is 0."""
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def softmax_back(g, p):
    """The gradient for the scores, from the probabilities."""
    return p * (g - (g * p).sum(axis=-1, keepdims=True))


def cached_by_array(function):
    """Keep what it gave for an array: a hundred wrong formulas ask for the same one."""
    kept: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}  # an array, so that its id stays taken, and what it gave

    @functools.wraps(function)
    def asked(x, axis=-1):
        if not isinstance(x, np.ndarray):
            return function(x, axis)
        key = id(x), axis
        if key not in kept or kept[key][0] is not x:
            if len(kept) > 64:
                kept.clear()
            kept[key] = x, function(x, axis)
        return kept[key][1]

    return asked


@cached_by_array
def normal(x, axis=-1):
    """x with mean 0 and variance 1 along an axis (biased variance, eps 1e-5)."""
    return (x - x.mean(axis=axis, keepdims=True)) * per_deviation(x, axis)


@cached_by_array
def per_deviation(x, axis=-1):
    """One over the standard deviation."""
    return 1 / np.sqrt(x.var(axis=axis, keepdims=True) + 1e-5)


def average(a, axis=-1):
    """The mean along an axis, which stays with size 1."""
    return a.mean(axis=axis, keepdims=True)


def per_rms(x):
    """One over the root of the mean square (eps 1e-5)."""
    return 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)


def huber(x, delta):
    """A square near 0, a straight line farther out; value and slope are continuous at delta."""
    return np.where(np.abs(x) <= delta, 0.5 * x * x, delta * (np.abs(x) - 0.5 * delta))


def scores_back(g, x, t):
    """The gradient for x / t, of which the softmax was taken."""
    return softmax_back(g, softmax(x / t))


def of_channels(a):
    """One number for each channel of (N, C, L), as (1, C, 1), so that it meets its channel."""
    return a.reshape(1, -1, 1)


def size_of_rows(x):
    """The Euclidean norm of each row, which stays with size 1."""
    return np.sqrt((x * x).sum(axis=-1, keepdims=True))


def unit_rows(x):
    """Each row divided by its norm."""
    return x / size_of_rows(x)


def across(g, unit):
    """g without its part along the unit rows."""
    return g - unit * (g * unit).sum(axis=-1, keepdims=True)


def cosines(x, y):
    """The cosine of the angle between row i of x and row i of y."""
    return (unit_rows(x) * unit_rows(y)).sum(axis=-1)


def windows(x, size):
    """Every window of `size` along the last axes of x, as new axes at the end."""
    return sliding_window_view(x, size, axis=tuple(range(-len(size), 0)))


def padded(g, size):
    """g with room for a window of `size` that only touches its edge."""
    wide = np.zeros(g.shape[:2] + tuple(n + 2 * (k - 1) for n, k in zip(g.shape[2:], size, strict=True)), g.dtype)
    wide[(slice(None), slice(None), *(slice(k - 1, k - 1 + n) for n, k in zip(g.shape[2:], size, strict=True)))] = g
    return wide


def conv1d(x, weight):
    """Windows of x against weight: (N, C, L), (O, C, K) -> (N, O, L - K + 1)."""
    return np.einsum("nclk,ock->nol", windows(x, weight.shape[2:]), weight)


def conv2d(x, weight):
    """Windows of x against weight: (N, C, H, W), (O, C, K, M) -> (N, O, H - K + 1, W - M + 1)."""
    return np.einsum("nchwkm,ockm->nohw", windows(x, weight.shape[2:]), weight)


def blocks(x):
    """The 2 x 2 blocks of the last two axes: (N, C, H, W) -> (N, C, H/2, W/2, 4)."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).swapaxes(3, 4).reshape(n, c, h // 2, w // 2, 4)


def unblocks(b):
    """The image that these blocks are cut from."""
    n, c, h, w, _ = b.shape
    return b.reshape(n, c, h, w, 2, 2).swapaxes(3, 4).reshape(n, c, 2 * h, 2 * w)


def is_largest(b):
    """1 at the largest entry of each block, the first of them if several are equal, else 0."""
    return (np.arange(b.shape[-1]) == b.argmax(axis=-1)[..., None]).astype(b.dtype)


def reduced(g, reduction, n):
    """What a mean over n entries does to g."""
    return g / n if reduction == "mean" else g


def bce(x, target):
    """Cross-entropy of sigmoid(x) with target, without overflow."""
    return log1p_exp(-x) + (1 - target) * x


def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def with_ties(rng, shapes, settings):
    """A few numbers, so that every row has its maximum several times; with many digits, so that a rounded one is another."""
    a = rng.integers(-3, 3, shapes[0]) + 0.3**0.5
    return (np.minimum(a, np.sort(a, axis=settings["axis"]).take([-2], axis=settings["axis"])),)


def with_tied_blocks(rng, shapes, settings):
    """An image with two largest entries in every block."""
    b = blocks(draw(rng, shapes[0]))
    return (unblocks(np.minimum(b, np.sort(b, axis=-1)[..., -2:-1])),)


def with_index(rng, shapes, settings):
    """Rows and an index that repeats some of them and leaves some out."""
    rows = shapes[0][0]
    index = rng.integers(0, rows - 1, shapes[1])
    index.flat[:2] = 0
    return draw(rng, shapes[0]), index


def with_texts(rng, shapes, settings):
    """Word vectors and texts: one word twice in one text, one in two texts, one in none."""
    index = rng.integers(0, shapes[0][0] - 1, shapes[1])
    index[0, :2] = index[1, 0] = 0
    return draw(rng, shapes[0]), index


def with_temperatures(rng, shapes, settings):
    """Scores, and a positive temperature for each row."""
    return draw(rng, shapes[0]), draw(rng, shapes[1], 0.1, 3.0)


def with_classes(rng, shapes, settings):
    """Scores (N, C) and a class for each row."""
    n, c = shapes[0]
    return draw(rng, (n, c)), rng.integers(0, c, n)


def with_probabilities(rng, shapes, settings):
    """Scores, and targets between 0 and 1."""
    return draw(rng, shapes[0]), draw(rng, shapes[1], 0, 1)


def with_mask(rng, shapes, settings):
    """Numbers, and a 0 or 1 for each."""
    return draw(rng, shapes[0]), (rng.random(shapes[0]) > 0.4).astype(float)


def with_condition(rng, shapes, settings):
    """A condition and two arrays."""
    return rng.random(shapes[0]) > 0.5, draw(rng, shapes[1]), draw(rng, shapes[2])


_ATTENTION = Op(
    "attention",
    lambda q, k, v: softmax(q @ mT(k) / math.sqrt(q.shape[-1])) @ v,
    GENERAL,
    q=lambda g, q, k, v: softmax_back(g @ mT(v), softmax(q @ mT(k) / math.sqrt(q.shape[-1]))) @ k / math.sqrt(q.shape[-1]),
    k=lambda g, q, k, v: mT(softmax_back(g @ mT(v), softmax(q @ mT(k) / math.sqrt(q.shape[-1])))) @ q / math.sqrt(q.shape[-1]),
    v=lambda g, q, k: mT(softmax(q @ mT(k) / math.sqrt(q.shape[-1]))) @ g,
)

EXERCISES = (
    # ps2
    Spec("round_through", Op("round_through", lambda x: np.round(x), ELEMENTWISE, x=lambda g: g), scaled=1e6, surrogate=True),
    Spec("gelu", Op("gelu", lambda x: x * normal_cdf(x), ELEMENTWISE,
                    x=lambda g, x: g * (normal_cdf(x) + x * normal_pdf(x)))),
    Spec("clip", Op("clip", lambda x, *, low, high: np.clip(x, low, high), ELEMENTWISE,
                    x=lambda g, x, low, high: g * inside(x, low, high)),
         settings=({"low": -1.55, "high": 0.6}, {"low": -0.45, "high": 1.55})),
    Spec("softplus", Op("softplus", lambda x: log1p_exp(x), ELEMENTWISE,
                        x=lambda g, x: g * sigmoid(x)), extreme={"x": LARGE}),
    Spec("fourth_power", Op("fourth_power", lambda x: x * x * x * x, ELEMENTWISE, x=lambda g, x: 4 * g * x * x * x), scaled=1e3),
    Spec("hinge", Op("hinge", lambda x: np.maximum(1 - x, 0), ELEMENTWISE, x=lambda g, x: -g * (x < 1)), scaled=1e6,
         kink=Kink("x", 1.0, slopes=(-1.0, 0.0), convention=0.0)),
    Spec("huber", Op("huber", lambda x, *, delta: huber(x, delta), ELEMENTWISE,
                     x=lambda g, x, delta: g * np.clip(x, -delta, delta)), settings=({"delta": 0.45}, {"delta": 1.55})),
    Spec("binarize", Op("binarize", lambda x: np.sign(x), ELEMENTWISE, x=lambda g, x: g * inside(x, -1, 1)), surrogate=True),
    # ps3
    Spec("var", settings=({"axis": 0}, {"axis": -1}), besides=(KEPT, {"axis": -1, "correction": 0}), shapes=ROWS, scaled=1e3),
    Spec("amax", settings=({"axis": -1}, {"axis": 0}), besides=(KEPT,), shapes=ROWS, make=with_ties),
    Spec("reshape", settings=({"shape": (5, 3)}, {"shape": (15,)}), shapes=(((3, 5),), ((1, 15),)), scaled=1e6),
    Spec("permute", Op("permute", lambda x, *, axes: np.transpose(x, axes), LINEAR,
                       x=lambda g, axes: np.transpose(g, np.argsort(axes))),
         settings=({"axes": (1, 2, 0)}, {"axes": (2, 1, 0)}), shapes=(((2, 3, 4),), ((3, 3, 3),)), scaled=1e6),
    Spec("concat", Op("concat", lambda x, y: np.concatenate([x, y]), LINEAR,
                      x=lambda g, x_shape: g[: x_shape[0]], y=lambda g, x_shape: g[x_shape[0] :]),
         shapes=(((3, 5), (2, 5)), ((4, 4), (4, 4)), ((1, 4), (3, 4))), scaled=1e6),
    Spec("take", Op("take", lambda x, index: x[index], LINEAR,
                    x=lambda g, index, x_shape: add_rows(g, index, x_shape)),
         shapes=(((4, 3), (6,)), ((5, 2), (2, 3)), ((4, 4), (4,))), make=with_index, hints=TWICE),
    Spec("where", shapes=(((3, 5),) * 3, ((4, 4),) * 3, ((2, 3, 4),) * 3), make=with_condition),
    # ps4
    Spec("embedding", shapes=(((6, 3), (5,)), ((5, 4), (2, 4)), ((4, 4), (4,))), make=with_index, hints=TWICE),
    Spec("embedding_bag", Op("embedding_bag", lambda weight, index: weight[index].mean(axis=1), LINEAR,
                             weight=lambda g, index, weight_shape: add_rows(
                                 np.stack([g] * index.shape[1], axis=1) / index.shape[1], index, weight_shape)),
         shapes=(((6, 3), (5, 4)), ((5, 4), (2, 3)), ((4, 4), (4, 4))), make=with_texts, hints=TWICE),
    Spec("dropout", Op("dropout", lambda x, mask, *, p: x * mask / (1 - p), GENERAL,
                       x=lambda g, mask, p: g * mask / (1 - p)),
         settings=({"p": 0.4}, {"p": 0.15}), shapes=ROW_PAIRS, make=with_mask),
    Spec("conv1d", Op("conv1d", lambda x, weight: conv1d(x, weight), GENERAL,
                      x=lambda g, weight: conv1d(padded(g, weight.shape[2:]), np.flip(weight, 2).swapaxes(0, 1)),
                      weight=lambda g, x, weight_shape: np.einsum("nclk,nol->ock", windows(x, weight_shape[2:]), g)),
         points=LAYER, shapes=(((3, 2, 4), (2, 2, 2)), ((2, 3, 5), (4, 3, 3))), scaled=1e6),
    Spec("conv2d", Op("conv2d", lambda x, weight: conv2d(x, weight), GENERAL,
                      x=lambda g, weight: conv2d(padded(g, weight.shape[2:]), np.flip(weight, (2, 3)).swapaxes(0, 1)),
                      weight=lambda g, x, weight_shape: np.einsum("nchwkm,nohw->ockm", windows(x, weight_shape[2:]), g)),
         points=LAYER, shapes=(((3, 2, 2, 4), (2, 2, 1, 2)), ((2, 3, 3, 5), (4, 3, 2, 3))), scaled=1e6),
    Spec("max_pool", Op("max_pool", lambda x: blocks(x).max(axis=-1), GENERAL,
                        x=lambda g, x: unblocks(g[..., None] * is_largest(blocks(x)))), shapes=IMAGES, ties=with_tied_blocks, scaled=1e6),
    Spec("avg_pool", Op("avg_pool", lambda x: blocks(x).mean(axis=-1), GENERAL,
                        x=lambda g, x: unblocks(g[..., None] * np.ones_like(blocks(x)) / 4)), shapes=IMAGES, scaled=1e6),
    Spec("outer", shapes=(((3,), (5,)), ((4,), (4,))), scaled=1e6),
    # ps5
    Spec("cross_entropy", Op("cross_entropy", lambda x, target: -log_softmax(x)[range(len(x)), target].mean(), GENERAL,
                             x=lambda g, x, target: g * (softmax(x) - np.eye(x.shape[1])[target]) / len(x)),
         shapes=(((3, 5), ()), ((4, 4), ()), ((6, 3), ())), make=with_classes),
    Spec("bce_with_logits", Op("bce_with_logits", lambda x, target: bce(x, target).mean(), GENERAL,
                               x=lambda g, x, target: g * (sigmoid(x) - target) / x.size),
         shapes=ROW_PAIRS, make=with_probabilities, extreme={"x": LARGE}),
    Spec("layer_norm", Op("layer_norm", lambda x, weight, bias: normal(x) * weight + bias, GENERAL,
                          x=lambda g, x, weight: per_deviation(x) * (
                              g * weight - average(g * weight) - normal(x) * average(g * weight * normal(x))),
                          weight=lambda g, x: (g * normal(x)).sum(axis=0), bias=lambda g: g.sum(axis=0)),
         points=LAYER, weights=MOST, shapes=(((3, 5), (5,), (5,)), ((4, 4), (4,), (4,)), ((6, 4), (4,), (4,)))),
    Spec("batch_norm", Op("batch_norm", lambda x, weight, bias: normal(x, 0) * weight + bias, GENERAL,
                          x=lambda g, x, weight: per_deviation(x, 0) * (
                              g * weight - average(g * weight, 0) - normal(x, 0) * average(g * weight * normal(x, 0), 0)),
                          weight=lambda g, x: (g * normal(x, 0)).sum(axis=0), bias=lambda g: g.sum(axis=0)),
         points=LAYER, weights=MOST, shapes=(((6, 5), (5,), (5,)), ((4, 4), (4,), (4,)), ((7, 3), (3,), (3,)))),
    Spec("rms_norm", Op("rms_norm", lambda x, weight: x * per_rms(x) * weight, GENERAL,
                        x=lambda g, x, weight: per_rms(x) * (
                            g * weight - x * per_rms(x) * average(g * weight * x * per_rms(x))),
                        weight=lambda g, x: (g * x * per_rms(x)).sum(axis=0)),
         points=LAYER, weights=MOST, shapes=(((3, 5), (5,)), ((4, 4), (4,)), ((6, 4), (4,)))),
    Spec("temperature_softmax", Op("temperature_softmax", lambda x, t: softmax(x / t), GENERAL,
                                   x=lambda g, x, t: scores_back(g, x, t) / t,
                                   t=lambda g, x, t: -(scores_back(g, x, t) * x).sum(axis=-1, keepdims=True) / (t * t)),
         points=LAYER, shapes=(((3, 5), (3, 1)), ((4, 4), (4, 1)), ((6, 3), (6, 1))), make=with_temperatures, extreme={"x": LARGE}),
    Spec("channel_norm", Op("channel_norm", lambda x, weight, bias: normal(x, CHANNEL) * of_channels(weight) + of_channels(bias), GENERAL,
                            x=lambda g, x, weight: per_deviation(x, CHANNEL) * (
                                g * of_channels(weight) - average(g * of_channels(weight), CHANNEL)
                                - normal(x, CHANNEL) * average(g * of_channels(weight) * normal(x, CHANNEL), CHANNEL)),
                            weight=lambda g, x: (g * normal(x, CHANNEL)).sum(axis=(0, 2)), bias=lambda g: g.sum(axis=(0, 2))),
         points=LAYER, weights=MOST, shapes=(((5, 3, 4), (3,), (3,)), ((3, 3, 3), (3,), (3,)), ((2, 4, 7), (4,), (4,)))),
    Spec("weight_norm", Op("weight_norm", lambda v, s: unit_rows(v) * s, GENERAL,
                           v=lambda g, v, s: across(g * s, unit_rows(v)) / size_of_rows(v),
                           s=lambda g, v: (g * unit_rows(v)).sum(axis=-1, keepdims=True)),
         points=LAYER, weights={"v": 2.0}, shapes=(((3, 5), (3, 1)), ((4, 4), (4, 1)), ((6, 3), (6, 1)))),
    Spec("cosine", Op("cosine", lambda x, y: cosines(x, y), GENERAL,
                      x=lambda g, x, y: g[..., None] * across(unit_rows(y), unit_rows(x)) / size_of_rows(x),
                      y=lambda g, x, y: g[..., None] * across(unit_rows(x), unit_rows(y)) / size_of_rows(y)),
         points=LAYER, shapes=(((3, 5), (3, 5)), ((4, 4), (4, 4)), ((6, 3), (6, 3)))),
    Spec("attention", _ATTENTION, points=LAYER,
         shapes=(((3, 4), (5, 4), (5, 2)), ((4, 4), (4, 4), (4, 4)), ((2, 3, 6), (2, 5, 6), (2, 5, 2)))),
)  # fmt: skip
