"""Recurrent layers in the memory of their results."""

from typing import Any

import numpy as np

from autolab.fast.kernel import kernel
from autolab.rules import recurrent as rows
from autolab.rules.recurrent import cut


def by_tanh(gates: Any, w: Any, curved: Any) -> Any:
    """gates, w turned, and a scale: sigmoid(x) = tanh(x / 2) / 2 + 1/2, so that one tanh serves all gates of a step.

    curved: for each gate whether it is a tanh itself.
    """
    scale = np.repeat(np.where(curved, 1, 0.5), w.shape[1]).astype(w.dtype)
    return gates * scale, np.ascontiguousarray(w.T) * scale, scale


def lstm(gates: Any, w: Any, h: Any, c: Any) -> Any:
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


def gru(gates: Any, w: Any, b: Any, h: Any) -> Any:
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


kernel(rows.lstm, lstm)
kernel(rows.gru, gru)
