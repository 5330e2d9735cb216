"""A sentence is true by its own meaning: of each input that it names, of every call, and of the operation."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import ELEMENTWISE, GENERAL, Op


def own(forward, *names, kind=GENERAL, **more):
    return Spec("own", Op("own", forward, kind, **dict.fromkeys(names, derivative_of_forward)), **more)


def about(spec, rule):
    """What is said of each input, by name."""
    return {d.input: d for d in check(spec, rule).diagnoses}


def mean_of(reduction, x):
    return x.size if reduction == "mean" else 1


PRODUCT = own(lambda x, y: x * y, "x", "y", kind=ELEMENTWISE, broadcast=False)
QUOTIENT = own(lambda x, y: x**2 / y, "x", "y", kind=ELEMENTWISE, domain={"y": (1.1, 2.9)}, broadcast=False)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ("mse_loss", lambda g, x, y, reduction: 2 * (g * (x - y) / mean_of(reduction, x) / 2,)),
        (PRODUCT, lambda g, x, y: (3 * g * y, -3 * g * x)),
        (QUOTIENT, lambda g, x, y: (g * x / y, g * x**2 / y**2 / 2)),
    ],
    ids=["mse_loss", "product", "quotient"],
)
def test_a_factor_with_another_sign_is_not_the_same(spec, rule):
    found = about(spec, rule)
    assert set(found) == {"x", "y"}
    assert not any("The same holds" in d.text for d in found.values())
    assert "minus" in found["y"].text or " -" in found["y"].text


def kron(a, b):
    return np.einsum("ij,kl->ikjl", a, b).reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])


def kron_the_other_way(g, a, b):
    g = g.reshape(b.shape[0], a.shape[0], b.shape[1], a.shape[1])
    return np.einsum("kilj,kl->ij", g, b), np.einsum("kilj,ij->kl", g, a)


def outer_sum(a, b):
    return (a[:, None] + b).reshape(-1)


def outer_sum_the_other_way(g, a, b):
    g = g.reshape(len(b), len(a))
    return g.sum(0), g.sum(1)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        (own(kron, "a", "b", shapes=(((2, 3), (3, 2)), ((2, 2), (2, 2)), ((3, 1), (2, 4)))), kron_the_other_way),
        (own(outer_sum, "a", "b", shapes=(((3,), (4,)), ((2,), (5,)))), outer_sum_the_other_way),
    ],
    ids=["kron", "outer_sum"],
)
def test_an_order_that_is_the_reverse_for_the_other_input_is_said_of_it(spec, rule):
    found = about(spec, rule)
    assert "repeats each entry" in found["a"].text and "forward lays copies" in found["b"].text


def test_one_sentence_is_said_once():
    found = check("mse_loss", lambda g, x, y, reduction: (d := g * (x - y) / mean_of(reduction, x), -d)).diagnoses
    assert [d.text for d in found] == ["The gradient for x is 0.5 times the right one, everywhere (a 2 is missing). The same holds for y"]


def gathered_but_the_last(g, x, index, axis):
    d = np.moveaxis(np.zeros_like(x), axis, 0)
    np.add.at(d, index[:-1], np.moveaxis(g, axis, 0)[:-1])
    return np.moveaxis(d, 0, axis)


def tiled_but_the_last(g, x):
    return g[:, :-1].sum(1)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ("index_select", gathered_but_the_last),
        (own(lambda x: np.stack([x, 2 * x, x], 1), "x", shapes=(((3,),), ((4,),))), lambda g, x: g[:, 0] + 2 * g[:, 1]),
        (own(lambda x: np.stack([x, 2 * x, x, x]), "x", shapes=(((3,),), ((2,),))), lambda g, x: g[0] + 2 * g[1] + g[2]),
    ],
    ids=["index_select", "columns", "rows"],
)
def test_a_loop_that_ends_one_early_is_not_the_first_of_several(spec, rule):
    (found,) = check(spec, rule).diagnoses
    assert "keeps only the first" not in found.text
    assert any(words in found.text for words in ("last", "g[3, :]", "g[:, 2]", "never looked at"))


def overlap_add(frames, *, hop):
    n, size = frames.shape
    out = np.zeros((n - 1) * hop + size)
    for k in range(n):
        out[k * hop : k * hop + size] += frames[k] * np.hanning(size + 2)[1:-1]
    return out


def shared_out(g, frames, hop):
    n, size = frames.shape
    count = np.zeros_like(g)
    for k in range(n):
        count[k * hop : k * hop + size] += 1
    return np.stack([(g / count)[k * hop : k * hop + size] * np.hanning(size + 2)[1:-1] for k in range(n)])


def neighbours(x):
    out = np.zeros(len(x) + 2)
    for k in range(3):
        out[k : k + len(x)] += x
    return out


def neighbours_shared_out(g, x):
    count = np.zeros_like(g)
    for k in range(3):
        count[k : k + len(x)] += 1
    return sum((g / count)[k : k + len(x)] for k in range(3))


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        (own(overlap_add, "frames", shapes=(((3, 5),), ((4, 4),)), settings=({"hop": 2}, {"hop": 3})), shared_out),
        (own(neighbours, "x", shapes=(((5,),), ((7,),))), neighbours_shared_out),
    ],
    ids=["overlap_add", "neighbours"],
)
def test_no_other_array_stands_where_entries_are_set(spec, rule):
    (found,) = check(spec, rule).diagnoses
    assert "put into `count`" not in found.text


def blocks(x, *, size):
    return np.stack([x[k * size : (k + 1) * size].mean() for k in range(len(x) // size)])


def blocks_and_the_rest(g, x, size):
    d = np.repeat(g / size, size)
    return np.concatenate([d, np.ones(len(x) - len(d)) * g[-1]])


def largest(x):
    return x[:-1] ** 2


def largest_and_the_rest(g, x):
    return np.concatenate([2 * g * x[:-1], g[-1:]])


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        (own(blocks, "x", shapes=(((7,),), ((8,),)), settings=({"size": 2}, {"size": 3})), blocks_and_the_rest),
        (own(largest, "x", shapes=(((5,),), ((4,),))), largest_and_the_rest),
    ],
    ids=["blocks", "all but the last"],
)
def test_a_term_is_not_missing_where_nothing_should_be(spec, rule):
    (found,) = check(spec, rule).diagnoses
    assert "one more term beside" not in found.text


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (Op("cross", lambda a, b: np.cross(a, b), GENERAL, a=lambda g, b: np.cross(b, g), b=lambda g, a: np.cross(g, a)), (3,)),
        (Op("dot", lambda a, b: (a * b).sum(-1, keepdims=True) + 0 * a, GENERAL, a=lambda g, b: g.sum(-1, keepdims=True) * b,
            b=lambda g, a: g.sum(-1, keepdims=True) * a), (4,)),
    ],
    ids=["cross", "dot"],
)  # fmt: skip
def test_nothing_is_said_of_forward_that_is_not_known(op, shape):
    spec = Spec("own", op, shapes=((shape, shape), ((4, *shape), (4, *shape))))
    assert "matrices" not in about(spec, lambda g, a, b: (g * b, g * a))["a"].text


def between(a, t):
    k = np.floor(t).astype(int)
    w = t - k
    return (1 - w) * a[k] + w * a[k + 1]


def between_truncated(g, a, t):
    k = t.astype(int)
    w = t - k
    d = np.zeros_like(a)
    np.add.at(d, k, g * (1 - w))
    np.add.at(d, k + 1, g * w)
    return d, g * (a[k + 1] - a[k])


def places(rng, shapes, settings):
    (n,), (m,) = shapes
    return rng.normal(size=n), rng.uniform(0.1, n - 1.1, m)


@pytest.mark.parametrize("shapes", [(((6,), (4,)), ((5,), (5,))), (((4,), (3,)), ((7,), (2,)))])
def test_the_checkers_own_inputs_have_the_sign_of_those_that_make_gives(shapes):
    assert check(own(between, "a", "t", shapes=shapes, make=places), between_truncated).passed


def test_of_both_signs_are_still_tried_where_make_gives_both():
    spec = own(lambda x: np.abs(x) * x, "x", shapes=(((5,),), ((4,),)), make=lambda rng, shapes, settings: (rng.normal(size=shapes[0]),))
    wrong = lambda g, x: np.where(np.abs(x) < 1e-6, g, 2 * g * np.abs(x))
    assert not check(spec, wrong).passed


def heat(u, k, *, steps):
    for _ in range(steps):
        u = u + k * (np.concatenate([u[:1], u[:-1]]) - 2 * u + np.concatenate([u[1:], u[-1:]]))
    return u


def heat_in_the_wrong_order(g, u, k, steps):
    def laplacian(v):
        return np.r_[v[:1], v[:-1]] - 2 * v + np.r_[v[1:], v[-1:]]

    states = [u]
    for _ in range(steps):
        states.append(states[-1] + k * laplacian(states[-1]))
    dk = 0.0
    for t in reversed(range(steps)):
        g = g + k * laplacian(g)
        dk += (g * laplacian(states[t])).sum()
    return g, dk


def test_an_object_that_joins_arrays_is_no_operand(monkeypatch):
    kind, asked = type(np.r_), []
    join = kind.__getitem__
    monkeypatch.setattr(kind, "__getitem__", lambda self, parts: (asked.append(1), join(self, parts))[1])
    spec = own(heat, "u", "k", shapes=(((5,), ()), ((6,), ())), settings=({"steps": 2}, {"steps": 3}), domain={"k": (0.1, 0.4)})
    assert not check(spec, heat_in_the_wrong_order).passed
    assert len(asked) < 40000


def relaxed(a, b, *, rounds):
    x = 0 * b
    for _ in range(rounds):
        x = x + (b - a @ x) / np.diag(a)
    return x


def dominant(rng, shapes, settings):
    a = rng.uniform(-1, 1, shapes[0])
    np.fill_diagonal(a, rng.uniform(2.5, 4, len(a)))
    return a, rng.uniform(-2, 2, shapes[1])


def without_the_divisor(g, a, b, rounds):
    states = [0 * b]
    for _ in range(rounds):
        states.append(states[-1] + (b - a @ states[-1]) / np.diag(a))
    ga, gb = np.zeros_like(a), np.zeros_like(b)
    for x in states[-2::-1]:
        r = g / np.diag(a)
        off = np.outer(r, x)
        np.fill_diagonal(off, 0)
        ga, gb, g = ga - off, gb + r, g - a.T @ r
    return ga, gb


def test_a_diagonal_that_is_large_is_no_maximum():
    spec = own(relaxed, "a", "b", shapes=(((4, 4), (4,)), ((3, 3), (3,))), settings=({"rounds": 2}, {"rounds": 3}), make=dominant)
    assert "maximum" not in about(spec, without_the_divisor)["a"].text


def heat_capacity(e, *, k):
    w = np.exp(-e / k)
    w = w / w.sum(1, keepdims=True)
    return (w * (e - (w * e).sum(1, keepdims=True)) ** 2).sum(1)


def of_constant_weights(g, e, k):
    w = np.exp(-e / k)
    w /= w.sum(1, keepdims=True)
    return 2 * g[:, None] * w * (e - (w * e).sum(1, keepdims=True))


def test_a_term_that_is_left_out_is_no_factor_of_which_nothing_comes():
    spec = own(heat_capacity, "e", shapes=(((3, 5),), ((4, 4),)), settings=({"k": 0.8}, {"k": 1.6}))
    text = about(spec, of_constant_weights)["e"].text
    assert "misses one of its terms" in text and "before it is multiplied" not in text and "factor" not in text


def test_a_rule_of_the_logarithm_divides_g():
    rule = lambda g, logits, noise, out, tau: 2 * ((g - out * g.sum(-1, keepdims=True)) / tau,)  # noqa: E731
    found = check("gumbel_softmax", rule).diagnoses[0]
    assert "the right one for g divided by the result of forward, which is that of its logarithm" in found.text


def echo(x, a, *, wet):
    y = np.zeros_like(x)
    for t in range(len(x)):
        y[t] = x[t] + (a * y[t - 1] if t else 0)
    return wet * y + (1 - wet) * x


def without_the_dry_path(g, x, a, out, wet):
    y = (out - (1 - wet) * x) / wet
    d, da = g * wet, 0.0
    for t in range(len(x) - 1, 0, -1):
        da += d[t] * y[t - 1]
        d[t - 1] += a * d[t]
    return d, np.array(da)


def test_a_number_that_depends_on_a_setting_is_said_by_its_name():
    spec = own(echo, "x", "a", shapes=(((7,), ()), ((8,), ())), settings=({"wet": 0.7}, {"wet": 0.4}), broadcast=False)
    assert "is off by minus (1 - wet) times g everywhere" in about(spec, without_the_dry_path)["x"].text


def spread_over_the_row(g, x, offset):
    d = np.zeros_like(x)
    for k, value in enumerate(g):
        d[k, k + offset :] = value
    return d


def test_what_lies_at_a_place_is_not_chosen_by_its_size():
    assert not any(word in about("diagonal", spread_over_the_row)["x"].text for word in ("largest", "smallest"))


def first_of_each(g, x, index, axis):
    d = np.zeros_like(x)
    rows, grads = np.moveaxis(d, axis, 0), np.moveaxis(g, axis, 0)
    for k in range(len(index))[::-1]:
        rows[index[k]] = grads[k]
    return d


def test_the_first_of_several_is_no_loop_that_ends_one_early():
    assert "one short" not in about("index_select", first_of_each)["x"].text


def in_its_own_row(g, x, index, axis):
    d = np.zeros_like(x)
    n = min(d.shape[axis], g.shape[axis])
    np.moveaxis(d, axis, 0)[:n] = np.moveaxis(g, axis, 0)[:n]
    return d


def test_entries_that_change_nothing_are_not_said_to_change_others():
    assert "every entry" not in about("index_select", in_its_own_row)["x"].text
