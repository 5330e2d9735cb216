"""Recurrent layers, a direction of a layer a row: all steps forward, and backward through time.

Shapes: L steps, N sequences, H units. `gates` (L, N, G * H) is what comes from the inputs, with its biases; w (G * H, H) and b lead from
the state before; h and c (N, H) are the state before the first step. Row and rule walk the steps; what can be computed for all steps at
once is. Rules are given h and c, and the outputs, and find the gates again: they are G times as large, and one product.
"""

import numpy as np

from autolab.engine.op import GENERAL, op
from autolab.rules.elementwise import sigmoid


def by_tanh(gates, w, curved):
    """gates, w turned, and a scale: sigmoid(x) = tanh(x / 2) / 2 + 1/2, so that one tanh serves all gates of a step.

    curved: for each gate whether it is a tanh itself.
    """
    scale = np.repeat(np.where(curved, 1, 0.5), w.shape[1]).astype(w.dtype)
    return gates * scale, np.ascontiguousarray(w.T) * scale, scale


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
    """All h and all c. The gates are i, f, n, o."""
    units = w.shape[1]
    gates, turned, scale = by_tanh(gates, w, [False, False, True, False])
    shift = 1 - scale
    shift[2 * units : 3 * units] = 0
    out, cells = np.empty((2, *gates.shape[:2], units), gates.dtype)
    a = np.empty(gates.shape[1:], gates.dtype)
    i, f, n, o = cut(a, 4)
    for x, h_after, c_after in zip(gates, out, cells):
        np.matmul(h, turned, out=a)
        a += x
        np.tanh(a, out=a)
        a *= scale
        a += shift
        np.multiply(f, c, out=c_after)
        i *= n
        c_after += i
        np.tanh(c_after, out=h_after)
        h_after *= o
        h, c = h_after, c_after
    return out, cells


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


def lstm_steps(gates, w, h, c):
    """The steps in words, for samples of any of the four."""
    all_h, all_c = [], []
    for t in range(gates.shape[-3]):
        i, f, n, o = cut(gates[..., t, :, :] + h @ w.mT, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(n)
        h = sigmoid(o) * np.tanh(c)
        all_h.append(h)
        all_c.append(c)
    return np.stack(all_h, axis=-3), np.stack(all_c, axis=-3)


lstm = op(
    "lstm", lambda *xs: lstm_values(*xs), GENERAL, node="MkldnnRnnLayerBackward0", outputs=2, batch=lambda xs: lstm_steps(*xs), xs=lstm_rule
)


# -- h' = n + z (h - n), n = tanh(its gate + r (w h + b)) ------------------------------------------------


def gru_values(gates, w, b, h):
    """The gates are r, z, n."""
    units = w.shape[1]
    gates, turned, _ = by_tanh(gates, w, [False, False, True])
    gates[..., : 2 * units] += b[: 2 * units] * 0.5
    b = b[2 * units :]
    out = np.empty((*gates.shape[:2], units), gates.dtype)
    a = np.empty(gates.shape[1:], gates.dtype)
    rz, n = a[:, : 2 * units], a[:, 2 * units :]
    r, z = cut(rz, 2)
    for x_rz, x_n, after in zip(gates[..., : 2 * units], gates[..., 2 * units :], out):
        np.matmul(h, turned, out=a)
        rz += x_rz
        np.tanh(rz, out=rz)
        rz *= 0.5
        rz += 0.5
        n += b
        n *= r
        n += x_n
        np.tanh(n, out=n)
        np.subtract(h, n, out=after)
        after *= z
        after += n
        h = after
    return out


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


def gru_steps(gates, w, b, h):
    """The steps in words, for samples of any of the four."""
    b, found = np.expand_dims(b, -2), []  # beside sequences
    for t in range(gates.shape[-3]):
        (r, z, n), (of_r, of_z, of_n) = cut(gates[..., t, :, :], 3), cut(h @ w.mT + b, 3)
        n = np.tanh(n + sigmoid(r + of_r) * of_n)
        h = n + sigmoid(z + of_z) * (h - n)
        found.append(h)
    return np.stack(found, axis=-3)


gru = op("gru", lambda *xs: gru_values(*xs), GENERAL, batch=lambda xs: gru_steps(*xs), xs=gru_rule)
