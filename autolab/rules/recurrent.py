"""Recurrent layers, a direction of a layer a row: all steps forward, and backward through time.

Shapes: L steps, N sequences, H units. `gates` (L, N, G * H) is what comes from the inputs, with its biases; w (G * H, H) and b lead from
the state before; h and c (N, H) are the state before the first step. Row and rule walk the steps; a rule computes for all steps at once
what it can. Rules are given h and c, and the outputs, and find the gates again: they are G times as large, and one product.
"""

import numpy as np

from autolab.engine.op import GENERAL, op
from autolab.rules.elementwise import sigmoid


def cut(x, n):
    """The n gates of x, which lie side by side in its last axis."""
    width = x.shape[-1] // n
    return [x[..., k * width : (k + 1) * width] for k in range(n)]


def shifted(first, rest):
    """The state before each step."""
    return np.concatenate([first[None], rest[:-1]], axis=0)


def from_state(before, w):
    """What the states before all steps add to the gates, in one product."""
    return np.reshape(np.reshape(before, (-1, w.shape[1])) @ w.mT, (*before.shape[:-1], w.shape[0]))


def to_weight(dgates, before):
    """The gradient of w: a sum over steps and sequences."""
    return np.reshape(dgates, (-1, dgates.shape[-1])).mT @ np.reshape(before, (-1, before.shape[-1]))


# -- c' = f c + i n, h' = o tanh(c') ---------------------------------------------------------------------


def lstm_values(gates, w, h, c):
    """All h and all c. The gates are i, f, n, o. Samples of any of the four may be in front."""
    all_h, all_c = [], []
    for t in range(gates.shape[-3]):
        i, f, n, o = cut(gates[..., t, :, :] + h @ w.mT, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(n)
        h = sigmoid(o) * np.tanh(c)
        all_h.append(h)
        all_c.append(c)
    return np.stack(all_h, axis=-3), np.stack(all_c, axis=-3)


def lstm_rule(g, xs, out, out_1):
    gates, w, h, c = xs
    g, g_cells = g
    before, c_before = shifted(h, out), shifted(c, out_1)
    i, f, n, o = cut(gates + from_state(before, w), 4)
    i, f, o, n, top = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(n), np.tanh(out_1)
    into_c = o * (1 - top * top)
    into_gates = np.concatenate([n * i * (1 - i), c_before * f * (1 - f), i * (1 - n * n), top * o * (1 - o)], axis=-1)
    back, da, dc = [], None, None
    for t in reversed(range(len(out))):
        dh = g[t] if da is None else g[t] + da @ w
        dc = dh * into_c[t] + (g_cells[t] if dc is None else g_cells[t] + dc * f[t + 1])
        da = np.concatenate([dc, dc, dc, dh], axis=-1) * into_gates[t]
        back.append(da)
    dgates = np.stack(back[::-1], axis=0)
    return [dgates, to_weight(dgates, before), da @ w, dc * f[0]]


lstm = op(
    "lstm",
    lambda *xs: lstm_values(*xs),
    GENERAL,
    node="MkldnnRnnLayerBackward0",
    outputs=2,
    batch=lambda xs: lstm_values(*xs),
    xs=lstm_rule,
)


# -- h' = n + z (h - n), n = tanh(its gate + r (w h + b)) ------------------------------------------------


def gru_values(gates, w, b, h):
    """All h. The gates are r, z, n. Samples of any of the four may be in front."""
    b, found = np.expand_dims(b, -2), []  # beside sequences
    for t in range(gates.shape[-3]):
        (r, z, n), (of_r, of_z, of_n) = cut(gates[..., t, :, :], 3), cut(h @ w.mT + b, 3)
        n = np.tanh(n + sigmoid(r + of_r) * of_n)
        h = n + sigmoid(z + of_z) * (h - n)
        found.append(h)
    return np.stack(found, axis=-3)


def gru_rule(g, xs, out):
    gates, w, b, h = xs
    before = shifted(h, out)
    (r, z, n), (of_r, of_z, of_n) = cut(gates, 3), cut(from_state(before, w) + b, 3)
    r, z = sigmoid(r + of_r), sigmoid(z + of_z)
    n = np.tanh(n + r * of_n)
    into_n = (1 - z) * (1 - n * n)
    into_r, into_z = into_n * of_n * r * (1 - r), (before - n) * z * (1 - z)
    into_state = np.concatenate([into_r, into_z, into_n * r], axis=-1)
    all_dh, back, carried = [], [], None
    for t in reversed(range(len(out))):
        dh = g[t] if carried is None else g[t] + carried
        dv = np.concatenate([dh, dh, dh], axis=-1) * into_state[t]
        carried = dh * z[t] + dv @ w
        all_dh.append(dh)
        back.append(dv)
    dh, dv = (np.stack(found[::-1], axis=0) for found in (all_dh, back))
    dgates = np.concatenate([dh * into_r, dh * into_z, dh * into_n], axis=-1)
    return [dgates, to_weight(dv, before), np.sum(dv, axis=(-3, -2)), carried]


gru = op("gru", lambda *xs: gru_values(*xs), GENERAL, batch=lambda xs: gru_values(*xs), xs=gru_rule)
