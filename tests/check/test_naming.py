"""What is said of rules that were unknown, only counted, or told a false reason."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward, diagnose
from autolab.engine.op import ELEMENTWISE, GENERAL, Op


def own(name, forward, *shapes, **more):
    inputs = dict.fromkeys(forward.__code__.co_varnames[: forward.__code__.co_argcount], derivative_of_forward)
    return Spec(name, Op(name, forward, GENERAL, **inputs), shapes=shapes, **more)


def first(spec, rule):
    return check(spec, rule).diagnoses[0]


# --- calls that were never tried


def put_back(g, x, axis):
    return g if axis is None else np.expand_dims(g, axis)


def test_a_rule_that_answers_for_no_axis_has_to_be_right():
    report = check("mean", lambda g, x, axis: put_back(g, x, axis) * np.ones_like(x) / (1 if axis is None else x.size / g.size))
    assert not report.passed and "wrong with axis=None" in report.diagnoses[0].text


def test_a_rule_that_raises_for_several_axes_is_told_so_and_passes():
    report = check("sum", lambda g, x, axis: np.repeat(np.expand_dims(g, axis), x.shape[axis], axis))
    assert report.passed and report.points == report.max_points
    assert any("with axis=(0, -1), which the exercise does not ask for" in note for note in report.notes)


def test_an_elementwise_rule_is_tried_on_one_axis():
    cube = Spec("cubed", Op("cubed", lambda x: x**3, ELEMENTWISE, x=derivative_of_forward))

    def by_rows(g, x):
        out = np.empty_like(x)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = 3 * g[i, j] * x[i, j] ** 2
        return out

    assert "has more than 1 axis and fails where it has 1" in first(cube, by_rows).text


# --- the slope of another function, in a layer


LAYER = [np.random.default_rng(5).normal(size=shape) for shape in ((3, 4), (4, 5))]


@pytest.mark.parametrize(
    ("slope", "said"),
    [(lambda h: h > 0, "relu"), (lambda h: np.tanh(h) * (1 - np.tanh(h)), "sigmoid"), (lambda h: np.tanh(h), "tanh where")],
)
def test_the_slope_of_another_function_is_named(slope, said):
    found = diagnose(lambda g, x, w: (g * slope(x @ w) @ w.T, x.T @ (g * slope(x @ w))), lambda x, w: (x @ w).tanh(), LAYER)
    assert all(said in d.text for d in found)


def test_a_threshold_in_the_place_of_a_sigmoid_is_named():
    assert "threshold" in first("bce_with_logits", lambda g, x, target: g * ((x > 0) - target) / x.size).text


# --- sums before the product


TRIPLE = own("triple", lambda x, w, y: np.einsum("ni,oij,nj->no", x, w, y), ((5, 2), (4, 2, 3), (5, 3)), ((3, 3), (3, 3, 3), (3, 3)))


def triple_rule(g, x, w, y, of_w="no,ni,nj->oij", of_x="no,oij,nj->ni"):
    gw = np.einsum(of_w, g, x, y) if of_w else np.einsum("o,i,j->oij", g.sum(0), x.sum(0), y.sum(0))
    gx = np.einsum(of_x if w.shape[1] == w.shape[2] else "no,oij,nj->ni", g, w, y)
    return gx, gw, np.einsum("no,oij,ni->nj", g, w, x)


def test_a_product_of_sums_in_an_einsum_is_named():
    assert check(TRIPLE, triple_rule).passed
    assert "multiplies the sums" in first(TRIPLE, lambda g, x, w, y: triple_rule(g, x, w, y, of_w="")).text


def test_a_factor_with_its_axes_exchanged_in_an_einsum_is_named():
    assert "two axes of a factor" in first(TRIPLE, lambda g, x, w, y: triple_rule(g, x, w, y, of_x="no,oji,nj->ni")).text


def test_a_wrong_rule_that_fails_for_a_stack_besides_is_still_named():
    found = check("linear", lambda g, x, weight, bias: (g @ weight, np.outer(g.sum(0), x.sum(0)), g.reshape(-1, g.shape[-1]).sum(0)))
    assert "adds up x over axis 0" in found.diagnoses[0].text and "in a stack" in found.diagnoses[0].text


# --- which contributions are lost


POOL = own("pool", lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=-1)[..., ::2, :].mean(-1), ((2, 9),), ((3, 7),))


def pool_rule(some, g):
    out = np.zeros((len(g), 2 * g.shape[1] + 1))
    for i in range(g.shape[1]):
        for k in some:
            out[:, 2 * i + k] += g[:, i] / 3
    return out


@pytest.mark.parametrize(("some", "which"), [((0, 1), "the last of the entries"), ((1, 2), "the first of the entries")])
def test_an_entry_that_a_window_lacks_is_named_by_its_place(some, which):
    assert check(POOL, lambda g: pool_rule((0, 1, 2), g)).passed
    assert which in first(POOL, lambda g: pool_rule(some, g)).text


def decay(x):
    out = np.empty_like(x)
    for t in range(len(x)):
        out[t] = 0.6 * out[t - 1] + x[t] if t else x[t]
    return out


def decay_rule(g, far):
    return sum(0.6**k * np.pad(g[k:], ((0, k), (0, 0))) for k in range(min(far, len(g))))


DECAY = own("decay", decay, ((5, 2),), ((4, 4),))


def test_what_is_cut_off_in_time_is_named():
    assert check(DECAY, lambda g: decay_rule(g, 9)).passed
    assert "more than 1 step after it along axis 0" in first(DECAY, lambda g: decay_rule(g, 2)).text


def test_own_entries_that_are_left_out_are_named():
    def rule(g, x, out, axis):
        return (np.flip(np.cumsum(np.flip(g * out, axis), axis), axis) - g * out) / x

    assert "the effect of each entry on its own result" in first("cumprod", rule).text


# --- why other entries are reached


def test_a_mask_by_sign_and_a_choice_by_size_are_named():
    assert "that are positive and no others" in first("amax", lambda g, x, axis: np.expand_dims(g, axis) * (x > 0)).text

    def rule(g, x):
        out = np.zeros_like(x)
        for n, i in np.ndindex(g.shape):
            out[n, i + np.abs(x[n, i : i + 3]).argmax()] += g[n, i]
        return out

    largest = own("largest", lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=-1).max(-1), ((2, 9),), ((3, 7),))
    assert "the largest absolute value" in first(largest, rule).text


# --- rules of functions of a number, on a matrix


def test_the_rule_of_a_number_on_a_matrix_is_named():
    assert "entry by entry" in first("inv", lambda g, out: -g * out**2).text
    assert "matrices do not commute" in first("root_matrix", lambda g, out: 0.5 * np.linalg.inv(out) @ g).text


# --- digits, pieces, counts


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (lambda g, x: np.round(2 * x * g, 3), "rounded to 3 decimals"),
        (lambda g, x: 2 * x.astype(np.float16) * g, "float16 in the values of x"),
    ],
)
def test_lost_digits_are_no_difference_quotient(rule, said):
    assert said in first("square", rule).text


def test_a_piece_is_said_before_a_formula_that_gives_the_same():
    text = first("hardswish", lambda g, x: g * np.where(x > 3, 1, (2 * x + 3) / 6)).text
    assert "is wrong where x is below -3" in text.split(". Or it")[0]


def test_one_count_for_all_is_not_overwritten():
    groups = np.array([0, 1, 1, 2, 0, 1])
    means = own("means", lambda x: np.stack([x[groups == k].mean(0) for k in range(3)]), ((6, 2),), ((6, 3),))
    assert check(means, lambda g: g[groups] / np.bincount(groups)[groups][:, None]).passed
    assert "overwrit" not in first(means, lambda g: g[groups] / 6).text


def test_a_shift_in_one_place_only_is_one_mistake():
    def rule(g, x, axis):
        return np.expand_dims(g, axis) * np.exp(x - x.max(axis, keepdims=True)) / np.exp(x).sum(axis, keepdims=True)

    assert "exponential of the largest entry" in first("logsumexp", rule).text


def test_sums_for_means_along_a_setting_are_named():
    standard = own(
        "standard", lambda x, *, axis: (x - x.mean(axis, keepdims=True)) / x.std(axis, keepdims=True), ((4, 5),), ((6, 3),),
        settings=({"axis": 0}, {"axis": -1}),
    )  # fmt: skip

    def rule(g, x, out, axis, reduce=np.mean):
        return (g - reduce(g, axis, keepdims=True) - out * reduce(g * out, axis, keepdims=True)) / x.std(axis, keepdims=True)

    assert check(standard, rule).passed
    assert "does not divide" in first(standard, lambda g, x, out, axis: rule(g, x, out, axis, np.sum)).text


def test_a_place_where_a_value_belongs_is_named():
    def rule(g, x):
        out, n = np.zeros_like(x), x.shape[-1]
        out[:, (n - 1) // 2] += g / 2
        out[:, n // 2] += g / 2
        return out

    middle = own("middle", lambda x: np.median(x, -1), ((3, 5),), ((4, 4),))
    assert "not brought back from the order of the sort" in first(middle, rule).text


def test_an_axis_that_is_not_put_back_is_named():
    found = first("sum", lambda g, x: np.resize(g, x.shape))
    assert "the axis that forward removed was not put back" in found.text


def test_copies_of_the_whole_and_of_each_entry_are_told_apart():
    doubled = own("doubled", lambda x: np.repeat(x, 2, axis=1), ((2, 5),), ((3, 4),))
    assert check(doubled, lambda g: g[:, ::2] + g[:, 1::2]).passed
    assert "side by side (tile)" in first(doubled, lambda g: g[:, : g.shape[1] // 2] + g[:, g.shape[1] // 2 :]).text


def test_the_largest_entry_that_is_taken_off_is_no_term():
    def shares(z):
        e = np.exp(z - z.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    match = own("match", lambda x, y: -np.log(np.diag(shares(x @ y.T))).mean(), ((5, 3), (5, 3)), ((4, 4), (4, 4)))

    def rule(g, x, y, one=1):
        d = g * (shares(x @ y.T) - one * np.eye(len(x))) / len(x)
        return d @ y, d.T @ x

    assert check(match, rule).passed
    assert "misses one of its terms: what comes back through the quotient" in first(match, lambda g, x, y: rule(g, x, y, 0)).text


# --- one slip that several inputs share


def attend(slope, axis=-1):
    def rule(g, q, k, v):
        scores = q @ k.mT / np.sqrt(q.shape[-1])
        e = np.exp(scores - scores.max(axis, keepdims=True))
        p = e / e.sum(axis, keepdims=True)
        back = slope(g @ v.mT, p, axis) / np.sqrt(q.shape[-1])
        return back @ k, back.mT @ q, p.mT @ g

    return rule


def softmax_slope(h, p, axis):
    return p * (h - (h * p).sum(axis, keepdims=True))


@pytest.mark.parametrize(
    ("rule", "said", "others"),
    [
        (attend(softmax_slope, -2), "its sums go along axis -2", "kv"),
        (attend(lambda h, p, axis: h), "without the derivative of softmax", "k"),
    ],
)
def test_the_mistake_of_one_input_is_looked_for_in_the_others(rule, said, others):
    (found,) = check("attention", rule).diagnoses
    assert said in found.text and found.text.endswith(f"The same holds for {' and '.join(others)}" if others else "")


@pytest.mark.parametrize(
    ("name", "rule", "said"),
    [
        ("cumsum", lambda g, axis: np.broadcast_to(g.sum(axis, keepdims=True), g.shape), "is the sum of g along the axis"),
        ("bmm", lambda g, x, y: (g @ y.mT, x.mT @ g[::-1]), "takes g in the opposite order along axis -3"),
    ],
)
def test_a_g_that_comes_from_other_places_is_told_so(name, rule, said):
    (found,) = check(name, rule).diagnoses
    assert said in found.text


# --- what goes through a part that was taken for a constant


def minmax(x):
    low, high = x.min(-1, keepdims=True), x.max(-1, keepdims=True)
    return (x - low) / (high - low)


def through_extremes(g, x, out, low=True, high=True):
    width = x.max(-1, keepdims=True) - x.min(-1, keepdims=True)
    dx = g / width
    if low:
        dx = dx + (x == x.min(-1, keepdims=True)) * (g * (out - 1)).sum(-1, keepdims=True) / width
    if high:
        dx = dx - (x == x.max(-1, keepdims=True)) * (g * out).sum(-1, keepdims=True) / width
    return dx


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ((False, False), "largest and the smallest entry of x along axis -1: what goes through the maximum and the minimum is missing"),
        ((True, False), "largest entry of x along axis -1: what goes through the maximum is missing"),
        ((False, True), "smallest entry of x along axis -1: what goes through the minimum is missing"),
    ],
)
def test_an_extreme_that_is_held_constant_is_named(kept, said):
    whole = lambda g, x, out: through_extremes(g, x, out)  # not a tape, on which a step would be missing
    spec = Spec("minmax", Op("minmax", minmax, GENERAL, x=whole), shapes=(((3, 5),), ((4, 6),)))
    assert said in first(spec, lambda g, x, out: through_extremes(g, x, out, *kept)).text
    assert check(spec, whole).passed


def test_a_number_of_forward_is_told_where_its_root_is_a_factor():
    spec = Spec("swing", Op("swing", lambda x: np.sin(x) * np.sqrt(0.6), ELEMENTWISE, x=derivative_of_forward))
    assert "(1 / the root of 0.6, a number in forward)" in first(spec, lambda g, x: g * np.cos(x)).text
    assert "(the root of 0.6, a number in forward)" in first(spec, lambda g, x: g * np.cos(x) * 0.6).text


def mean_of_segments(x, seg):
    out = np.zeros((3, x.shape[1]))
    np.add.at(out, seg, x)
    return out / np.bincount(seg)[:, None]


def test_a_factor_that_counts_an_index_is_told_as_a_count():
    right = mean_of_segments, lambda g, x, seg: ((g / np.bincount(seg)[:, None])[seg], None)
    inputs = [np.random.default_rng(1).normal(size=(7, 2)), np.array([0, 1, 1, 2, 0, 1, 1])]
    (found,) = diagnose(lambda g, x, seg: (g[seg] / len(g), None), right, inputs)
    assert "the number of entries of seg that are the same" in found.text


def log_mixture(x, logits):
    a = logits - 0.5 * (x[:, None] - np.arange(3.0)) ** 2
    return np.log(np.exp(a).sum(-1)).sum()


def of_mixture(g, x, logits, prior=True):
    z = np.arange(3.0) - x[:, None]
    r = np.exp(logits * prior - 0.5 * z * z)
    r = r / r.sum(-1, keepdims=True)
    return g * (r * z).sum(-1), g * r.sum(0)


def test_one_number_is_not_said_to_stand_for_many_that_cancel():
    rules = {"x": lambda g, x, logits: of_mixture(g, x, logits)[0], "logits": lambda g, x, logits: of_mixture(g, x, logits)[1]}
    spec = Spec("log_mixture", Op("log_mixture", log_mixture, GENERAL, **rules), shapes=(((5,), (3,)), ((4,), (3,))))
    assert check(spec, of_mixture).passed
    assert all("incoming gradient" not in d.text for d in check(spec, lambda g, x, logits: of_mixture(g, x, logits, False)).diagnoses)
