"""Recurrent layers in the memory of their results."""

import weakref
from typing import Any

import numpy as np

from autolab.fast.kernel import kernel
from autolab.rules import recurrent as rows
from autolab.rules.recurrent import cut

ENTRIES = 1 << 15  # of gates whose slopes are laid out at once: they stay in the cache


def by_tanh(gates: Any, w: Any, curved: Any) -> Any:
    """gates, w turned, and a scale: sigmoid(x) = tanh(x / 2) / 2 + 1/2, so that one tanh serves all gates of a step.

    curved: for each gate whether it is a tanh itself.
    """
    scale = np.repeat(np.where(curved, 1, 0.5), w.shape[1]).astype(w.dtype)
    return np.multiply(gates, scale, order="C"), np.ascontiguousarray(w.T) * scale, scale


# What an LSTM's gates were, by the id of the array of its cells, as long as that lives, for one way back, which writes into them.
# A write into the cells meanwhile shows in their version.
GATES: dict[int, tuple[Any, Any]] = {}


def keep_gates(cells: Any, gates: Any) -> None:
    key = id(cells)
    GATES[key] = weakref.ref(cells, lambda _: GATES.pop(key, None)), gates


def take_gates(cells: Any) -> Any:
    """What the gates were; None if they are not known, or not any more."""
    made_for, gates = GATES.pop(id(cells), (None, None))
    return gates if made_for is not None and made_for() is cells else None


def opened(gates: Any, w: Any) -> tuple[Any, Any]:
    """gates, made ready, and a function that turns those of one step, before which the state was h, into what lets through."""
    units = w.shape[1]
    gates, turned, scale = by_tanh(gates, w, [False, False, True, False])
    shift = 1 - scale
    shift[2 * units : 3 * units] = 0
    scale, shift = (np.repeat(line[None], gates.shape[1], 0) for line in (scale, shift))
    product = np.empty(gates.shape[1:], gates.dtype)

    def open_step(a: Any, h: Any) -> None:
        a += np.matmul(h, turned, out=product)
        np.tanh(a, out=a)
        a *= scale
        a += shift

    return gates, open_step


def lstm(gates: Any, w: Any, h: Any, c: Any) -> Any:
    gates, open_step = opened(gates, w)
    out, cells = np.empty((2, *gates.shape[:2], w.shape[1]), gates.dtype)
    more = np.empty(out.shape[1:], out.dtype)
    for a, h_after, c_after in zip(gates, out, cells):
        open_step(a, h)
        i, f, n, o = cut(a, 4)
        np.multiply(f, c, out=c_after)
        c_after += np.multiply(i, n, out=more)
        np.tanh(c_after, out=h_after)
        h_after *= o
        h, c = h_after, c_after
    keep_gates(cells, gates)
    return out, cells


def slopes_of(gates: Any, c_before: Any, cells: Any) -> Any:
    """For some steps of an LSTM f, how each gate moves what it leads to (i, f and n the cells, o the state), and the cells the state."""
    steps, sequences, units = cells.shape
    by_gate = gates.reshape(steps, sequences, 4, units).transpose(2, 0, 1, 3).copy()  # a pass over a part takes 6 times as long
    i, f, n, o = by_gate
    slopes = by_gate * by_gate
    np.subtract(by_gate[:2], slopes[:2], out=slopes[:2])
    np.subtract(1, slopes[2], out=slopes[2])
    np.subtract(o, slopes[3], out=slopes[3])
    top = np.tanh(cells)
    for slope, by in zip(slopes, (n, c_before, i, top)):
        slope *= by
    top *= top
    into_c = np.subtract(1, top, out=top)
    into_c *= o
    return f, slopes, into_c


def lstm_back(g: Any, xs: Any, out: Any, out_1: Any) -> Any:
    gates, w, h, c = xs
    g, g_cells = g
    before = rows.shifted(h, out)
    kept = take_gates(out_1)
    if kept is None:  # a second way back: the same operations again, for the same gates to the last bit
        kept, open_step = opened(gates, w)
        for a, state in zip(kept, before):
            open_step(a, state)
    steps, sequences, units = out.shape
    dgates = kept  # written over as soon as its slopes are known
    parts = dgates.reshape(steps, sequences, 4, units).transpose(0, 2, 1, 3)
    from_outside = g_cells.any()
    dh, more = np.empty((2, sequences, units), out.dtype)
    dh[...] = g[-1]
    dc = np.zeros_like(dh)
    some = max(1, ENTRIES // max(kept[0].size, 1))
    for low in reversed(range(0, steps, some)):
        here = slice(low, low + some)
        f, slopes, into_c = slopes_of(kept[here], rows.shifted(out_1[low - 1] if low else c, out_1[here]), out_1[here])
        for t in reversed(range(low, min(low + some, steps))):
            k = t - low
            dc += np.multiply(dh, into_c[k], out=more)
            if from_outside:
                dc += g_cells[t]
            np.multiply(slopes[:3, k], dc, out=parts[t, :3])
            np.multiply(slopes[3, k], dh, out=parts[t, 3])
            np.matmul(dgates[t], w, out=dh)
            if t:
                dh += g[t - 1]
            dc *= f[k]
        f = slopes = into_c = None  # before those of other steps
    return [dgates, rows.to_weight(dgates, before), dh, dc]


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


kernel(rows.lstm, lstm, xs=lstm_back)
kernel(rows.gru, gru)
