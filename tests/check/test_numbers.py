"""What the numbers of a gradient show by themselves: shares, indices, pairs, parts without g, computations that leave something out."""

from __future__ import annotations

import numpy as np
import pytest

import autolab as torch
from autolab.check import Spec, check, derivative_of_forward, diagnose
from autolab.engine.op import ELEMENTWISE, GENERAL, Op


def said(found, k=0):
    return (found.diagnoses if hasattr(found, "diagnoses") else found)[k].text


def own(forward, *names, kind=GENERAL, **more):
    return Spec("own", Op("own", forward, kind, **dict.fromkeys(names, derivative_of_forward)), **more)


def gradient(f, *arrays, of=0):
    """By the engine, also within a backward."""
    with torch.enable_grad():
        tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
        f(*tensors).backward()
    return tensors[of].grad.numpy()


# --- entries with shares: out[i] is a sum of x[places[i, k]] weights[i, k]


def on_a_line(rng):
    at = rng.permutation(6)[:, None] % 4
    return np.concatenate([at, at + 1], 1), 5


def on_a_grid(rng):
    at = (5 * rng.integers(0, 3, 7) + rng.integers(0, 4, 7))[:, None]
    return at + [0, 1, 5, 6], 20


def of_three(rng):
    at = rng.integers(0, 5, 6)[:, None]
    return at + [0, 1, 2], 7


def of_every_other(rng):
    at = rng.integers(0, 4, 6)[:, None]
    return at + [0, 1, 3], 7


def of_all(rng):
    return np.tile(np.arange(4), (6, 1)), 4


SHARED = [on_a_line, on_a_grid, of_three, of_every_other, of_all]


def shared(places_of, rng):
    places, size = places_of(rng)
    weights = rng.uniform(0.1, 1, places.shape)
    weights /= weights.sum(1, keepdims=True)
    right = lambda g, x: np.bincount(places.ravel(), (weights * g[:, None]).ravel(), size)
    spec = Spec("own", Op("own", lambda x: (x[places] * weights).sum(1), GENERAL, x=right), shapes=(((size,),),))
    return spec, places, weights, size


@pytest.mark.parametrize("places_of", SHARED)
def test_all_of_g_for_the_largest_share_is_named(places_of, rng):
    spec, places, weights, size = shared(places_of, rng)
    largest = weights == weights.max(1, keepdims=True)
    text = said(check(spec, lambda g, x: np.bincount(places.ravel(), (largest * g[:, None]).ravel(), size)))
    assert "gives all of each g to the one of the entries of x behind it with the largest share" in text


@pytest.mark.parametrize("places_of", SHARED)
def test_shares_that_are_exchanged_are_named(places_of, rng):
    spec, places, weights, size = shared(places_of, rng)
    order = [1, 0, *range(2, places.shape[1])]
    text = said(check(spec, lambda g, x: np.bincount(places.ravel(), (weights[:, order] * g[:, None]).ravel(), size)))
    assert "has the shares of the" in text and "exchanged" in text


@pytest.mark.parametrize("places_of", SHARED[:4])
def test_places_that_are_hit_twice_are_named_where_each_share_is_written_by_itself(places_of, rng):
    spec, places, weights, size = shared(places_of, rng)

    def rule(g, x):
        d = np.zeros(size)
        for k in range(places.shape[1]):
            d[places[:, k]] += weights[:, k] * g
        return d

    assert "+= with an index adds one of them there" in said(check(spec, rule))


def test_an_index_that_is_one_whole_number_loses_nothing():
    def orthonormal(a):
        q = np.zeros_like(a)
        for j in range(a.shape[1]):
            v = a[:, j]
            for i in range(j):
                v = v - (q[:, i] @ a[:, j]) * q[:, i]
            q[:, j] = v / np.sqrt(v @ v)
        return q

    def rule(g, a):
        q, d = orthonormal(a), np.zeros_like(a)
        for j in range(a.shape[1]):
            before = q[:, :j]
            v = a[:, j] - before @ (before.T @ a[:, j])
            r = np.sqrt(v @ v)
            dv = (g[:, j] - q[:, j] * (q[:, j] @ g[:, j])) / r
            d[:, j] += dv - before @ (before.T @ dv)
        return d

    op = Op("orthonormal", orthonormal, GENERAL, a=derivative_of_forward)
    text = said(check(Spec("orthonormal", op, shapes=(((4, 3),), ((5, 2),), ((3, 3),))), rule))
    assert "keeps only one of several contributions: the others are left out" in text and "+=" not in text


# --- whole numbers that say where something belongs


def at_index(weight, index):
    return weight[index]


def at_pairs(weight, index):
    return weight[index].sum(1)


def at_means(weight, index):
    return weight[index].mean(1)


def squares_at(weight, index):
    return (weight[index] ** 2).sum(1)


def weighted_at(weight, index):
    return (weight[index] * np.arange(1, 4)[:, None]).sum(1)


def looked_up(forward, *shape):
    make = lambda rng, shapes, settings: [rng.uniform(-2, 2, shapes[0]), rng.integers(1, shapes[0][0] - 1, shapes[1])]
    return own(forward, "weight", shapes=(((7, 3), shape), ((6, 2), shape)), make=make)


def through(forward, weight, index, g):
    """The right gradient for other indices."""
    return gradient(lambda weight: (forward(weight, index) * torch.tensor(g)).sum(), weight)


LOOKED_UP = [at_index, at_pairs, at_means, squares_at, weighted_at]


@pytest.mark.parametrize("forward", LOOKED_UP)
def test_the_first_of_several_indices_is_named(forward):
    rule = lambda g, weight, index: through(forward, weight, np.broadcast_to(index[:, :1], index.shape), g)
    assert "uses the first entry of index along axis 1 alone" in said(check(looked_up(forward, 4, 3), rule))


LOOKED_UP_BY_TABLES = {
    "entries": at_index,
    "squares": lambda weight, index: weight[index] ** 2,
    "exponentials": lambda weight, index: weight[index].exp() if hasattr(weight, "exp") else np.exp(weight[index]),
    "multiples": lambda weight, index: 3 * weight[index],
    "cubes": lambda weight, index: weight[index] ** 3,
}


@pytest.mark.parametrize("name", LOOKED_UP_BY_TABLES)
def test_an_index_that_is_not_used_is_named(name):
    forward = LOOKED_UP_BY_TABLES[name]
    rule = lambda g, weight, index: through(forward, weight, np.arange(index.size).reshape(index.shape), g)
    text = said(check(looked_up(forward, 2, 2), rule))
    assert "does not use index: it is what would be right if index counted 0, 1, 2" in text


def test_an_index_that_is_not_used_is_named_where_rows_run_out():
    def rule(g, weight):
        d = np.zeros_like(weight)
        for row, part in zip(d, g.reshape(-1, weight.shape[1]), strict=False):
            row += part
        return d

    assert "does not use index" in said(check("embedding", rule))


# --- each place of x hears one place of g alone


def rows_of(x):
    return np.broadcast_to(x, (len(x), len(x))) * 1.0


ALONG_PLACES = {
    "rows": (own(rows_of, "x", shapes=(((4,),), ((5,),))), lambda g, x: np.diag(g)),
    "outer": (own(lambda x, y: x[:, None] * y, "x", "y", shapes=(((4,), (4,)), ((5,), (5,)))),
              lambda g, x, y: (np.diag(g) * y, g.T @ x)),
    "product": (own(lambda x, w: x @ w, "x", "w", shapes=(((4, 3), (3, 4)), ((3, 2), (2, 3)))),
                lambda g, x, w: (np.diag(g)[:, None] * w.T, x.T @ g)),
    "gather": ("all_gather", lambda g, x: np.stack([g[i, i * x.shape[1] : (i + 1) * x.shape[1]] for i in range(len(x))])),
    "scaled": (own(lambda x: np.stack([k * x for k in range(1, len(x) + 1)]), "x", shapes=(((4,),), ((5,),))),
               lambda g, x: np.diag(g) * np.arange(1, len(x) + 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONG_PLACES)
def test_the_own_place_of_g_alone_is_named(name):
    found = check(*ALONG_PLACES[name]).diagnoses[0]
    assert found.family == "diagonal only" and "and leaves out the other places" in found.text


LONGER = {
    "convolution": (lambda x, h: np.convolve(x, h), lambda g, h: np.correlate(g, h, "valid"), lambda g, x, h: g[: len(x)] * h.sum(), "sum"),
    "mean": (lambda x, h: np.convolve(x, h), lambda g, h: np.correlate(g, h, "valid"), lambda g, x, h: g[: len(x)] * h.mean(), "mean"),
}


@pytest.mark.parametrize("name", LONGER)
def test_the_beginning_of_g_is_named(name):
    forward, right, wrong, words = LONGER[name]
    spec = Spec(
        "own", Op("own", forward, GENERAL, x=right, h=lambda g, x: np.correlate(g, x, "valid")), shapes=(((6,), (3,)), ((5,), (2,)))
    )
    text = said(check(spec, lambda g, x, h: (wrong(g, x, h), np.correlate(g, x, "valid"))))
    assert f"takes at each place of x the g of that place alone, times the {words} of h" in text


# --- where nothing arrives

MATRICES = {
    "square": (lambda a: (a * a).sum(), lambda a: 2 * a),
    "cosine": (lambda a: np.cos(a).sum(), lambda a: -np.sin(a)),
    "exponential": (lambda a: np.exp(a).sum(), np.exp),
    "fourth": (lambda a: (a**4).sum(), lambda a: 4 * a**3),
    "log": (lambda a: np.log(1 + a * a).sum(), lambda a: 2 * a / (1 + a * a)),
}
PARTS = {
    "the diagonal": lambda a: np.eye(len(a)),
    "above the diagonal of a": np.tril,
    "below the diagonal of a": np.triu,
    "everywhere but at a[:, 0]": lambda a: np.arange(len(a)) == 0,
    "everywhere but at a[::2, ::2]": lambda a: np.outer(np.arange(len(a)) % 2, np.ones(len(a))) + np.arange(len(a)) % 2 == 0,
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("words", PARTS)
def test_the_places_where_nothing_arrives_are_described(name, words):
    forward, right = MATRICES[name]
    rule = lambda g, a: g * right(a) * (PARTS[words](np.ones_like(a)) != 0)
    assert words in said(check(own(forward, "a", shapes=(((5, 5),), ((4, 4),))), rule))


def of_four(reduce):
    return lambda x: reduce(reduce(x.reshape(len(x), -1, 2, 2), -1), -1)


@pytest.mark.parametrize("share", [1, 0.25])
def test_the_first_of_the_entries_behind_a_result_is_named(share):
    spec = own(of_four(np.sum if share == 1 else np.mean), "x", shapes=(((3, 8),), ((2, 12),)))
    rule = lambda g, x: np.where(np.arange(x.shape[1]) % 4 == 0, share * np.repeat(g, 4, 1), 0)
    assert "reaches the first of the 4 entries of x that each result is made of" in said(check(spec, rule))


# --- along another axis

TURNED = {
    "sum": lambda x, axis: x + shifted(x, 1, axis),
    "three": lambda x, axis: x + 2 * shifted(x, 1, axis) - shifted(x, 2, axis),
    "difference": lambda x, axis: x - shifted(x, 1, axis),
    "decay": lambda x, axis: x + 0.5 * shifted(x, 1, axis) + 0.25 * shifted(x, 2, axis),
    "neighbours": lambda x, axis: x + shifted(x, 1, axis) + shifted(x, -1, axis),
}


def shifted(x, by, axis):
    """Moved by some places along an axis, with 0 where nothing comes."""
    n = x.shape[axis]
    return (
        np.moveaxis(np.eye(n, k=-by) @ np.moveaxis(x, axis, 0).reshape(n, -1), 0, 0)
        .reshape(np.moveaxis(x, axis, 0).shape)
        .swapaxes(0, axis)
    )


@pytest.mark.parametrize("name", TURNED)
def test_a_step_along_another_axis_is_named(name):
    def back(g, axis):
        return -TURNED[name](-g[::-1, ::-1], axis)[::-1, ::-1]

    scale = np.arange(1.0, 6)
    spec = Spec(
        "own", Op("own", lambda x: TURNED[name](x * scale, 0), GENERAL, x=lambda g: back(g, 0) * scale), shapes=(((4, 5),), ((6, 5),))
    )
    text = said(check(spec, lambda g, x: back(g * scale, 1)))
    assert "another axis" in text and "along axis 1" in text


# --- pairs

PAIRS = {
    "squares": lambda r: sum(((r[i] - r[j]) ** 2).sum() for i in range(len(r)) for j in range(i)),
    "inverse": lambda r: sum(1 / (1 + ((r[i] - r[j]) ** 2).sum()) for i in range(len(r)) for j in range(i)),
    "products": lambda r: sum(((r[i] * r[j]) ** 2).sum() for i in range(len(r)) for j in range(i)),
    "waves": lambda r: sum(np.sin(r[i] - 2 * r[j]).sum() for i in range(len(r)) for j in range(i)),
    "decay": lambda r: sum(np.exp(-((r[i] - r[j]) ** 2).sum()) for i in range(len(r)) for j in range(i)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("which", ["before", "after"])
def test_a_pair_of_which_one_hears_nothing_is_named(name, which):
    f = PAIRS[name]

    def rule(g, r):
        parts = [r[: i + 1] if which == "before" else r[i:] for i in range(len(r))]
        return g * np.stack([np.zeros_like(r[0]) if len(p) < 2 else gradient(f, p)[-1 if which == "before" else 0] for p in parts])

    text = said(check(own(f, "r", shapes=(((4, 2),), ((5, 2),))), rule))
    assert f"each has what comes of those {which} it and not of the others" in text


# --- a function of a sum, taken of each part

OF_SUMS = {
    "log cosh": (lambda x, y: np.log(np.cosh(x - y)).mean(), lambda x, y: (np.tanh(x) - np.tanh(y)) / x.size, -1),
    "sine": (lambda x, y: np.sin(x + y).sum(), lambda x, y: np.cos(x) + np.cos(y), 1),
    "cube": (lambda x, y: ((x + y) ** 3).sum(), lambda x, y: 3 * x * x + 3 * y * y, 1),
    "exponential": (lambda x, y: np.exp(x - y).sum(), lambda x, y: np.exp(x) + np.exp(-y), -1),
    "tanh": (lambda x, y: np.tanh(x + y), lambda x, y: 2 - np.tanh(x) ** 2 - np.tanh(y) ** 2, 1),
    "root": (lambda x, y: np.sqrt(1 + (x - y) ** 2), lambda x, y: x / np.sqrt(1 + x * x) - y / np.sqrt(1 + y * y), -1),
}


@pytest.mark.parametrize("name", OF_SUMS)
def test_a_function_of_a_sum_taken_of_each_part_is_named(name):
    forward, slope, sign = OF_SUMS[name]
    elementwise = name in ("tanh", "root")
    spec = own(
        forward, "x", "y", kind=ELEMENTWISE if elementwise else GENERAL, shapes=(((3, 5), (3, 5)), ((4, 4), (4, 4))), broadcast=False
    )
    assert "adds up what x and y give each by itself" in said(check(spec, lambda g, x, y: (d := g * slope(x, y), sign * d)))


# --- what g has no part in

WITHOUT_G = {
    "softshrink": (lambda g, x, lambd: g * (abs(x) > lambd) - lambd * (x > lambd), "It is minus lambd"),
    "masked_fill": (lambda g, x, mask, value: (np.where(mask, value, g), None, g[mask].sum()), "It is value"),
    "exp": (lambda g, out: g * out + out, "It is the result of forward"),
    "tanh": (lambda g, out: g * (1 - out * out) + 0.1, "It is 0.1"),
    "square": (lambda g, x: 2 * g * x - x, "It is minus x"),
    "sigmoid": (lambda g, out: g * out * (1 - out) - 0.5 * out, "where g is 0, this gradient is not"),
}


@pytest.mark.parametrize("name", WITHOUT_G)
def test_what_is_added_without_g_is_named(name):
    rule, words = WITHOUT_G[name]
    text = said(check(name, rule))
    assert "something is added that g has no part in" in text and words in text


# --- means that are never taken off

CENTRED = {
    "correlation": lambda x, y: (x * y).sum(-1) / ((x * x).sum(-1) * (y * y).sum(-1)).sqrt(),
    "quotient": lambda x, y: (x * y).sum(-1) / (x * x).sum(-1),
    "distance": lambda x, y: ((x - 2 * y) ** 2).sum(-1),
    "squares": lambda x, y: (x * x * y * y).sum(-1),
    "products": lambda x, y: (x * y).sum(-1) ** 2,
}


@pytest.mark.parametrize("name", CENTRED)
def test_means_that_are_never_taken_off_are_named(name, rng):
    f = CENTRED[name]
    centred = lambda x, y: f(x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True))
    x, y = rng.uniform(1, 3, (2, 3, 5))
    rule = lambda g, x, y: tuple(gradient(lambda a, b: (f(a, b) * torch.tensor(g)).sum(), x, y, of=k) for k in (0, 1))
    found = diagnose(rule, centred, [x, y])
    assert len(found) == 2 and all("never takes off the result of mean, at no step" in d.text for d in found)


# --- numbers


@pytest.mark.parametrize(("ddof", "rule_ddof", "words"), [(1, 0, "divides by n in its"), (0, 1, "n - 1")])
def test_the_divisor_of_a_deviation_is_said_the_right_way_round(ddof, rule_ddof, words):
    def rule(g, r):
        m, s, n = r.mean(-1, keepdims=True), r.std(-1, ddof=rule_ddof, keepdims=True), r.shape[-1]
        return g[:, None] * (1 / (n * s) - m * (r - m) / ((n - rule_ddof) * s**3))

    text = said(check(own(lambda r: r.mean(-1) / r.std(-1, ddof=ddof), "r", shapes=(((3, 5),), ((4, 4),))), rule))
    assert words in text and ("where n - 1 belongs" in text) == (ddof == 1)


def test_a_number_in_a_formula_is_said():
    spec = Spec(
        "own", Op("own", lambda x: 0.8 / (x - 0.3), ELEMENTWISE, x=lambda g, x: -0.8 * g / (x - 0.3) ** 2), domain={"x": (0.6, 3.0)}
    )
    assert "where 0.3 belongs)" in said(check(spec, lambda g, x: -0.8 * g / (x - 0.6) ** 2))


def test_a_factor_with_the_wrong_sign_is_said_with_it():
    f = lambda c, y: (c / (1 + y)[:, None] ** torch.tensor(np.arange(1.0, c.shape[-1] + 1))).sum(-1)
    t = lambda c: np.arange(1, c.shape[1] + 1)
    rule = lambda g, c, y: (g[:, None] * (1 + y)[:, None] ** -t(c), g * (t(c) * c * (1 + y)[:, None] ** -t(c)).sum(1))
    rng = np.random.default_rng(4)
    (found,) = diagnose(rule, f, [rng.uniform(0.5, 3, (12, 4)), rng.uniform(0.1, 0.6, 12)])
    assert "times (1 + y)" in found.text and "wrong sign" in found.text


def test_one_size_over_another_is_said():
    x = np.random.default_rng(3).uniform(0.5, 2, (3, 4))
    (found,) = diagnose(lambda g, x, out: (g * out)[:, None] / x / len(x), lambda x: x.log().mean(1).exp(), [x])
    assert "perhaps 4 / 3, the size of axis 1 of x over that of axis 0" in found.text


# --- a term that is missing is not said to be a slope of 0 besides

MISSING = {
    "packet": (lambda x: (-((x - 4) ** 2)).exp() * x.sin(), lambda x: np.exp(-((x - 4) ** 2)) * np.cos(x)),
    "decay": (lambda x: (-2 * x).exp() * x.cos(), lambda x: -np.exp(-2 * x) * np.sin(x)),
    "weighted": (lambda x: (-x * x).exp() * x, lambda x: np.exp(-x * x)),
    "cubes": (lambda x: (-(x**3)).exp() * (1 + x), lambda x: np.exp(-(x**3))),
    "quotient": (lambda x: (-x / 2).exp() * x.sqrt(), lambda x: np.exp(-x / 2) / (2 * np.sqrt(x))),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_term_is_no_slope_of_another_function(name):
    f, slope = MISSING[name]
    (found,) = diagnose(lambda g, x: g * slope(x), f, [np.random.default_rng(6).uniform(0.3, 1.7, (3, 4))])
    assert "misses one of its terms" in found.text and "relu" not in found.text


# --- the rest of a share, and one result for all

OF_SHARES = {
    "mix": (lambda a, b, p: p * a + (1 - p) * b, lambda g, a, b, q: (g * q, g * (1 - q), g * (a - b))),
    "odds": (lambda a, b, p: a * np.log(p) + b * np.log(1 - p), lambda g, a, b, q: (g * np.log(q), g * np.log(1 - q), g * (a / q - b / (1 - q)))),
    "squares": (lambda a, b, p: (p * a) ** 2 + b * p, lambda g, a, b, q: (2 * g * q * q * a, g * q, g * (2 * q * a * a + b))),
    "power": (lambda a, b, p: p**2 * a - b * p, lambda g, a, b, q: (g * q * q, -g * q, g * (2 * q * a - b))),
    "root": (lambda a, b, p: np.sqrt(p) * a + b * p * p, lambda g, a, b, q: (g * np.sqrt(q), g * q * q, g * (a / (2 * np.sqrt(q)) + 2 * b * q))),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_SHARES)
def test_the_rest_of_a_share_is_named(name):
    forward, rule = OF_SHARES[name]
    shapes = (((3, 5),) * 3, ((4, 4),) * 3)
    spec = own(forward, "a", "b", "p", kind=ELEMENTWISE, shapes=shapes, domain={"p": (0.05, 0.95)}, broadcast=False)
    text = str(check(spec, lambda g, a, b, p: rule(g, a, b, 1 - p)))
    assert "uses 1 - p where p belongs" in text or "the one that b should receive" in text


DECAYS = {
    "mix": lambda x, y, beta: beta * x + (1 - beta) * y,
    "square": lambda x, y, beta: beta * x * x + y * beta**3,
    "root": lambda x, y, beta: x * np.sqrt(beta) + y * beta,
    "quotient": lambda x, y, beta: x / beta + y * beta * beta,
    "power": lambda x, y, beta: x**3 * beta**2 - y * np.sin(beta),
}


@pytest.mark.parametrize("name", DECAYS)
def test_the_rest_of_a_setting_is_named(name):
    f = DECAYS[name]
    forward = lambda x, y, *, beta: f(x, y, beta)
    row = Op("own", forward, GENERAL, x=derivative_of_forward, y=derivative_of_forward)
    spec = Spec("own", row, shapes=(((3, 5), (3, 5)), ((4, 4), (4, 4))), settings=({"beta": 0.9}, {"beta": 0.7}))
    step = 1e-20
    wrong = lambda g, x, y, beta: tuple(g * np.imag(f(x + 1j * step * (k == 0), y + 1j * step * (k == 1), 1 - beta)) / step for k in (0, 1))
    text = str(check(spec, wrong))
    assert "uses 1 - beta where beta belongs" in text or "(beta / (1 - beta))" in text


def test_one_result_for_all_is_named():
    def rule(g, x, axis):
        p = np.exp(x - x.max(axis, keepdims=True))
        p = p / p.sum(axis, keepdims=True)
        return p * np.flip(np.cumsum(np.flip(g, axis), axis), axis)

    assert "uses the last result along the axis for all" in said(check("logcumsumexp", rule))
