"""Wrong rules for losses, layers and recursions in no table, written before a check of any of them was run."""

from __future__ import annotations

import math

import numpy as np

import autolab
import autolab.nn.functional as F

from .wrong_functions import wrong_function

R = np.random.default_rng(4242)
T = autolab.tensor

x = R.uniform(-2.9, 2.9, (4, 5))
y = R.uniform(-2.9, 2.9, (4, 5))
positive = R.uniform(0.2, 2.9, (4, 5))
square = R.uniform(-2.9, 2.9, (4, 4))
v = R.uniform(-2.9, 2.9, (5,))
labels = np.array([2, 0, 3, 1])
hot = np.eye(5)[labels]
ANY_SIZE = "constant|averaged|size|number"


def sig(x):
    return 1 / (1 + np.exp(-x))


def soft(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def families(reference, inputs, **rules):
    """Each rule with its families, under a name."""
    for name, (rule, family) in rules.items():
        rule.__name__ = name
        wrong_function(reference, inputs, family)(rule)


families(
    lambda x: autolab.log(autolab.cosh(x)).mean(),
    [x],
    log_cosh_not_averaged=(lambda g, x: g * np.tanh(x), ANY_SIZE),
    log_cosh_by_the_sign=(lambda g, x: g * np.sign(x) / x.size, "function|step|factor|forward|places"),
    log_cosh_by_sinh=(lambda g, x: g * np.sinh(x) / x.size, "factor|step|term|division"),
    log_cosh_with_minus=(lambda g, x: -g * np.tanh(x) / x.size, "sign"),
)
families(
    lambda x: -(autolab.softmax(x, -1) * autolab.log_softmax(x, -1)).sum(-1),
    [x],
    entropy_without_the_mean=(lambda g, x: -g[:, None] * soft(x) * np.log(soft(x)), "term|step"),
    entropy_with_plus=(
        lambda g, x: -g[:, None] * soft(x) * (np.log(soft(x)) + (soft(x) * np.log(soft(x))).sum(-1, keepdims=True)),
        "sign|term sign",
    ),
    entropy_of_columns=(lambda g, x: -g[:, None] * soft(x) * (np.log(soft(x)) - (soft(x) * np.log(soft(x))).sum(0)), "axis"),
    entropy_with_one=(lambda g, x: -g[:, None] * soft(x) * (1 + np.log(soft(x))), "term|step"),
)
families(
    lambda x, a: x @ a @ x,
    [R.uniform(-2.9, 2.9, 4), square],
    form_of_a_symmetric_matrix=(lambda g, x, a: (2 * g * a @ x, g * np.outer(x, x)), "transposed|term|order|product|constant"),
    form_with_one_term=(lambda g, x, a: (g * a @ x, g * np.outer(x, x)), "term"),
    form_with_the_product_doubled=(lambda g, x, a: (g * (a + a.T) @ x, 2 * g * np.outer(x, x)), "constant"),
    form_with_a_minus=(lambda g, x, a: (g * (a - a.T) @ x, g * np.outer(x, x)), "sign|term sign"),
)
families(
    lambda a, x, y: autolab.addmm(a, x, y, beta=0.4, alpha=1.7),
    [R.uniform(-2.9, 2.9, (4, 3)), x, R.uniform(-2.9, 2.9, (5, 3))],
    addmm_without_alpha=(lambda g, a, x, y: (0.4 * g, g @ y.T, x.T @ g), "constant|setting|factor|number"),
    addmm_without_beta=(lambda g, a, x, y: (g, 1.7 * g @ y.T, 1.7 * x.T @ g), "constant|setting|factor|number|upstream only"),
    addmm_without_transposes=(
        lambda g, a, x, y: (0.4 * g, 1.7 * g @ y[:3].T @ np.eye(3, 5), 1.7 * x.T @ g),
        "mask|pieces|zero|places|transposed",
    ),
)
families(
    lambda x: F.gelu(x, approximate="tanh"),
    [x],
    gelu_tanh_first_term=(lambda g, x: g * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "term"),
    gelu_tanh_of_the_exact_one=(
        lambda g, x: g * (0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
        "function|number|setting|operation",
    ),
)
families(
    lambda x: F.softplus(x, beta=2.5),
    [x],
    softplus_without_beta=(lambda g, x: g * sig(x), "constant|number|setting|factor|step|function"),
    softplus_with_beta_outside=(lambda g, x: 2.5 * g * sig(2.5 * x), "constant|factor|setting"),
    softplus_of_minus=(lambda g, x: g * sig(-2.5 * x), "sign|term|function|variable|term sign"),
)
families(
    lambda x: autolab.softmax(x / 0.7, -1),
    [x],
    temperature_left_out=(lambda g, x, out: out * (g - (g * out).sum(-1, keepdims=True)), "constant|factor|step"),
    temperature_multiplied=(lambda g, x, out: 0.7 * out * (g - (g * out).sum(-1, keepdims=True)), "constant|division|step"),
    temperature_without_the_sum=(lambda g, x, out: out * g / 0.7, "term|diagonal"),
    temperature_of_other_probabilities=(
        lambda g, x: soft(x) * (g - (g * soft(x)).sum(-1, keepdims=True)) / 0.7,
        "variable|step|number|setting|factor|forward|constant",
    ),
)


def ema(x):
    rows, state = [], x[:, 0]
    for k in range(x.shape[1]):
        state = 0.6 * state + 0.4 * x[:, k]
        rows.append(state)
    return autolab.stack(rows, 1)


def ema_back(g, x, keep=0.6, take=0.4, start=True, back=True):
    out, state = np.zeros_like(x), np.zeros(len(x))
    for k in range(x.shape[1])[:: -1 if back else 1]:
        state = state + g[:, k]
        out[:, k] = take * state
        state = keep * state
    if start:
        out[:, 0] += state
    return out


families(
    ema,
    [x],
    ema_without_its_start=(lambda g, x: ema_back(g, x, start=False), "term|one of many|step"),
    ema_run_forward=(lambda g, x: ema_back(g, x, back=False, start=False), "flipped|mask|forward|permutation|places|step|order"),
    ema_with_the_weights_exchanged=(lambda g, x: ema_back(g, x, 0.4, 0.6), "constant|number|factor|weight|step"),
    ema_of_the_last_step_alone=(lambda g, x: 0.4 * g, "diagonal only|one of many|term|step"),
)


def gru(x, h, w):
    z = autolab.sigmoid(x @ w)
    return (1 - z) * h + z * autolab.tanh(x)


def gru_back(g, x, h, w, k=""):
    z, t = sig(x @ w), np.tanh(x)
    dz = g * (t - h if k != "sign" else h - t if k == "all" else t + h) * (z * (1 - z) if k != "gate" else 1)
    dx = dz @ (w.T if k != "transposed" else w) + (g * z * (1 - t * t) if k != "candidate" else 0)
    return dx, g * (1 - z) if k != "kept" else g * z, x.T @ dz


families(
    gru,
    [x[:, :4], y[:, :4], square],
    gru_difference_as_a_sum=(lambda g, x, h, w: gru_back(g, x, h, w, "sign"), "sign|term sign|term"),
    gru_without_the_slope_of_the_gate=(lambda g, x, h, w: gru_back(g, x, h, w, "gate"), "factor|step|forward"),
    gru_matrix_not_transposed=(lambda g, x, h, w: gru_back(g, x, h, w, "transposed"), "transposed|step"),
    gru_without_the_candidate=(lambda g, x, h, w: gru_back(g, x, h, w, "candidate"), "term|step"),
    gru_keeps_what_it_forgets=(lambda g, x, h, w: gru_back(g, x, h, w, "kept"), "step|term|variable|factor|function"),
)
families(
    lambda x: autolab.stack([x[:, k : k + 3].mean(1) for k in range(3)], 1),
    [x],
    moving_sum=(lambda g, x: sum(np.pad(g, ((0, 0), (k, 2 - k))) for k in range(3)), ANY_SIZE),
    moving_average_of_two=(
        lambda g, x: sum(np.pad(g, ((0, 0), (k, 2 - k))) for k in range(2)) / 3,
        "setting|one of many|zero|mask|term|places|pieces",
    ),
    moving_average_shifted=(
        lambda g, x: sum(np.roll(np.pad(g, ((0, 0), (k, 2 - k))), 1, 1) for k in range(3)) / 3,
        "permutation|padding|mask",
    ),
)
families(
    lambda x: F.cross_entropy(x @ x.T / 0.5, T(np.arange(4))),
    [x],
    info_nce_of_one_side=(lambda g, x: g * (soft(x @ x.T / 0.5) - np.eye(4)) @ x / 4 / 0.5, "term|transposed|step"),
    info_nce_without_the_temperature=(lambda g, x: (lambda d: g * (d + d.T) @ x / 4)(soft(x @ x.T / 0.5) - np.eye(4)), "constant|factor"),
    info_nce_twice_one_side=(lambda g, x: 2 * g * (soft(x @ x.T / 0.5) - np.eye(4)) @ x / 4 / 0.5, "term|transposed|step|constant"),
)
families(
    lambda x, y: 1 - 2 * (x * y).sum() / (x.sum() + y.sum()),
    [positive, positive[::-1]],
    dice_of_the_numerator=(lambda g, x, y: (-2 * g * y / (x.sum() + y.sum()), -2 * g * x / (x.sum() + y.sum())), "term|step"),
    dice_with_plus=(
        lambda g, x, y: (lambda s, i: (-2 * g * (y / s + i / s**2), -2 * g * (x / s + i / s**2)))(x.sum() + y.sum(), (x * y).sum()),
        "sign|term sign",
    ),
    dice_not_squared=(
        lambda g, x, y: (lambda s, i: (-2 * g * (y / s - i / s), -2 * g * (x / s - i / s)))(x.sum() + y.sum(), (x * y).sum()),
        "power|factor|step|term",
    ),
)
families(
    lambda x: F.instance_norm(x),
    [R.uniform(-2.9, 2.9, (2, 3, 6))],
    instance_norm_scaled_only=(lambda g, x: g / np.sqrt(x.var(-1, keepdims=True) + 1e-5), "term|step"),
    instance_norm_centred_only=(lambda g, x: (g - g.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5), "term|step"),
    instance_norm_unscaled=(lambda g, x: g - g.mean(-1, keepdims=True), "term|factor|step"),
)
families(
    lambda x: F.adaptive_avg_pool1d(x, 3),
    [R.uniform(-2.9, 2.9, (2, 3, 9))],
    adaptive_sum=(lambda g, x: np.repeat(g, 3, -1), ANY_SIZE),
    adaptive_tiled=(lambda g, x: np.tile(g, (1, 1, 3)) / 3, "permutation|mask|places|other"),
    adaptive_middle_only=(
        lambda g, x: (lambda out: (out.__setitem__((..., slice(1, None, 3)), g / 3), out)[1])(np.zeros_like(x)),
        "one of many|places|zero|mask",
    ),
)
families(
    lambda w: F.embedding_bag(T(np.array([[0, 2, 2], [1, 0, 3]])), w, mode="mean"),
    [R.uniform(-2.9, 2.9, (5, 3))],
    bag_summed=(
        lambda g, w: (lambda out: (np.add.at(out, np.array([[0, 2, 2], [1, 0, 3]]), g[:, None]), out)[1])(np.zeros_like(w)),
        ANY_SIZE,
    ),
    bag_overwritten=(
        lambda g, w: (lambda out: (out.__setitem__(np.array([[0, 2, 2], [1, 0, 3]]), g[:, None] / 3), out)[1])(np.zeros_like(w)),
        "overwritten|one of many",
    ),
    bag_of_first_rows=(lambda g, w: np.pad(g, ((0, 3), (0, 0))), "mask|permutation|places|index|factor|diagonal only"),
)
families(
    lambda m, s: (-autolab.log(s) + (s * s + m * m - 1) / 2).sum(),
    [x, positive],
    kl_without_the_logarithm=(lambda g, m, s: (g * m, g * s), "term|step|variable|elementwise"),
    kl_with_two=(lambda g, m, s: (2 * g * m, g * (s - 1 / s)), "constant"),
    kl_with_plus=(lambda g, m, s: (g * m, g * (s + 1 / s)), "sign|term sign"),
    kl_of_the_variance=(lambda g, m, s: (g * m, g * (1 - 1 / s) / 2), "variable|step|factor|function"),
)
families(
    lambda x, w: x * w / autolab.sqrt((w * w).sum(-1, keepdim=True)),
    [x, v],
    weight_norm_of_a_constant_length=(lambda g, x, w: (g * w / np.linalg.norm(w), (g * x).sum(0) / np.linalg.norm(w)), "term|step"),
    weight_norm_without_the_length=(lambda g, x, w: (g * w, (g * x).sum(0)), "constant|factor|step|term"),
    weight_norm_not_summed=(lambda g, x, w: (g * w / np.linalg.norm(w), g * x / np.linalg.norm(w)), "not summed|stacked|step|term"),
)
families(
    lambda x: autolab.fft.fft(x, dim=-1).abs().square().sum(),
    [x],
    power_without_n=(lambda g, x: 2 * g * x, ANY_SIZE),
    power_without_two=(lambda g, x: 5 * g * x, "constant"),
    power_by_the_size_of_all=(lambda g, x: 2 * 20 * g * x, ANY_SIZE),
)
families(
    lambda x, c: ((c[3] * x + c[2]) * x + c[1]) * x + c[0],
    [x, R.uniform(0.3, 2.9, 4)],
    horner_without_powers=(
        lambda g, x, c: (g * (c[1] + c[2] * x + c[3] * x**2), np.array([(g * x**k).sum() for k in range(4)])),
        "step|term|constant|factor",
    ),
    horner_coefficients_reversed=(
        lambda g, x, c: (g * (c[1] + 2 * c[2] * x + 3 * c[3] * x**2), np.array([(g * x**k).sum() for k in range(4)])[::-1]),
        "flipped|permutation|order",
    ),
    horner_coefficients_averaged=(
        lambda g, x, c: (g * (c[1] + 2 * c[2] * x + 3 * c[3] * x**2), np.array([(g * x**k).mean() for k in range(4)])),
        "averaged|constant",
    ),
)
families(
    lambda x: autolab.where(x > 1, 3 * x - 2, autolab.where(x < -1, -x, x**2)),
    [x],
    pieces_with_two_above=(lambda g, x: g * np.where(x > 1, 2, np.where(x < -1, -1, 2 * x)), "places"),
    pieces_with_plus_below=(lambda g, x: g * np.where(x > 1, 3, np.where(x < -1, 1, 2 * x)), "places|sign|term sign|step"),
    pieces_without_two_between=(lambda g, x: g * np.where(x > 1, 3, np.where(x < -1, -1, x)), "places|constant|step"),
    pieces_split_at_two=(lambda g, x: g * np.where(x > 2, 3, np.where(x < -1, -1, 2 * x)), "places|number"),
)
families(
    lambda x, y: F.margin_ranking_loss(x, y, T(np.sign(positive - 1.5)), margin=0.6),
    [x, y],
    ranking_sides_exchanged=(
        lambda g, x, y: (lambda m, s: (g * m * s / 20, -g * m * s / 20))(
            -np.sign(positive - 1.5) * (x - y) + 0.6 > 0, np.sign(positive - 1.5)
        ),
        "sign|swapped",
    ),
    ranking_without_the_margin=(
        lambda g, x, y: (lambda m, s: (-g * m * s / 20, g * m * s / 20))(-np.sign(positive - 1.5) * (x - y) > 0, np.sign(positive - 1.5)),
        "mask|places|number|zero|variable",
    ),
    ranking_not_averaged=(
        lambda g, x, y: (lambda m, s: (-g * m * s, g * m * s))(-np.sign(positive - 1.5) * (x - y) + 0.6 > 0, np.sign(positive - 1.5)),
        ANY_SIZE,
    ),
)
families(
    lambda x: autolab.block_diag(x, 2 * x),
    [R.uniform(-2.9, 2.9, (2, 3))],
    block_of_the_first=(lambda g, x: g[:2, :3], "term|one of many"),
    block_of_both_alike=(lambda g, x: g[:2, :3] + g[2:, 3:], "constant|step|term|factor|weight"),
    block_off_the_diagonal=(lambda g, x: g[:2, 3:] + 2 * g[2:, :3], "mask|permutation|places"),
)
families(
    lambda x: autolab.linalg.pinv(x),
    [R.uniform(-2.9, 2.9, (5, 3))],
    pseudo_inverse_as_an_inverse=(lambda g, x, out: -out.T @ g @ out.T, "term"),
    pseudo_inverse_with_plus=(lambda g, x, out: out.T @ g @ out.T + (np.eye(5) - x @ out) @ g.T @ out @ out.T, "sign|term sign"),
)
