"""10. Rows of the numba backend that go once over their arrays: recurrent layers, softmax, losses, layer norm, embeddings.

NumPy takes a pass for each operation. Only float32; the rest is left to NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.compiler.lanes import ONE, ZERO, any_order, exp, largest, log, machine_code, sigmoid, tanh
from autolab.fast.kernels import index as by_index
from autolab.fast.kernels import nn, recurrent
from autolab.rules import recurrent as rows

F32 = np.dtype(np.float32)


def suits(*arrays: Any) -> bool:
    return all(type(a) is np.ndarray and a.dtype is F32 and a.size for a in arrays)


# -- LSTM ------------------------------------------------------------------------------------------------


@machine_code
def lstm_step(gates, product, c_before, kept, out, cells, t):
    """Step t: what the gates are (into `kept`), the cells, the state. product: what the state before adds to the gates."""
    units = out.shape[2]
    for s in range(out.shape[1]):
        x, y, before, gate, state, cell = gates[t, s], product[s], c_before[s], kept[t, s], out[t, s], cells[t, s]
        x_i, x_f, x_n, x_o = x[:units], x[units : 2 * units], x[2 * units : 3 * units], x[3 * units :]
        y_i, y_f, y_n, y_o = y[:units], y[units : 2 * units], y[2 * units : 3 * units], y[3 * units :]
        all_i, all_f, all_n, all_o = gate[:units], gate[units : 2 * units], gate[2 * units : 3 * units], gate[3 * units :]
        for k in range(units):
            i, f, n, o = sigmoid(x_i[k] + y_i[k]), sigmoid(x_f[k] + y_f[k]), tanh(x_n[k] + y_n[k]), sigmoid(x_o[k] + y_o[k])
            c = f * before[k] + i * n
            all_i[k], all_f[k], all_n[k], all_o[k] = i, f, n, o
            cell[k] = c
            state[k] = o * tanh(c)


def lstm(gates: Any, w: Any, h: Any, c: Any) -> Any:
    if not suits(gates, w, h, c):
        return recurrent.lstm(gates, w, h, c)
    steps, sequences, wide = gates.shape
    out, cells = np.empty((2, steps, sequences, w.shape[1]), F32)
    kept, turned, product = np.empty(gates.shape, F32), np.ascontiguousarray(w.T), np.empty((sequences, wide), F32)
    gates, h, c = map(np.ascontiguousarray, (gates, h, c))
    for t in range(steps):
        h.dot(turned, product)
        lstm_step(gates, product, c, kept, out, cells, t)
        h, c = out[t], cells[t]
    recurrent.keep_gates(cells, kept)
    return out, cells


@machine_code
def lstm_step_back(g, g_cells, dh, dc, c_before, cells, kept, t):
    """Step t the other way: from the gates (in `kept`) to their gradients, in their place, and dc for the step before."""
    units = dh.shape[1]
    for s in range(dh.shape[0]):
        from_above, from_cells, from_state, carried = g[t, s], g_cells[t, s], dh[s], dc[s]
        before, cell, gate = c_before[s], cells[t, s], kept[t, s]
        all_i, all_f, all_n, all_o = gate[:units], gate[units : 2 * units], gate[2 * units : 3 * units], gate[3 * units :]
        for k in range(units):
            i, f, n, o, top = all_i[k], all_f[k], all_n[k], all_o[k], tanh(cell[k])
            to_state = from_state[k] + from_above[k]
            to_cell = carried[k] + from_cells[k] + to_state * o * (ONE - top * top)
            all_i[k] = to_cell * n * (i - i * i)
            all_f[k] = to_cell * before[k] * (f - f * f)
            all_n[k] = to_cell * i * (ONE - n * n)
            all_o[k] = to_state * top * (o - o * o)
            carried[k] = to_cell * f


def lstm_back(g: Any, xs: Any, out: Any, out_1: Any) -> Any:
    gates, w, h, c = xs
    if not suits(gates, w, h, c, *g, out, out_1):
        return recurrent.lstm_back(g, xs, out, out_1)
    before = rows.shifted(h, out)
    dgates = recurrent.take_gates(out_1)
    if dgates is None:  # a second way back
        dgates = recurrent.take_gates(lstm(gates, w, h, c)[1])
    g, g_cells, c, cells, w = map(np.ascontiguousarray, (*g, c, out_1, w))
    dh, dc = np.zeros((2, *h.shape), F32)
    for t in reversed(range(len(out))):
        lstm_step_back(g, g_cells, dh, dc, cells[t - 1] if t else c, cells, dgates, t)
        dgates[t].dot(w, dh)
    return [dgates, rows.to_weight(dgates, before), dh, dc]


# -- GRU -------------------------------------------------------------------------------------------------


@machine_code
def gru_step(gates, product, b, before, out, t):
    """Step t: the state. product: what the state before adds to the gates, without b."""
    units = out.shape[2]
    b_r, b_z, b_n = b[:units], b[units : 2 * units], b[2 * units :]
    for s in range(out.shape[1]):
        x, y, old, state = gates[t, s], product[s], before[s], out[t, s]
        x_r, x_z, x_n = x[:units], x[units : 2 * units], x[2 * units :]
        y_r, y_z, y_n = y[:units], y[units : 2 * units], y[2 * units :]
        for k in range(units):
            r, z = sigmoid(x_r[k] + (y_r[k] + b_r[k])), sigmoid(x_z[k] + (y_z[k] + b_z[k]))
            n = tanh(x_n[k] + r * (y_n[k] + b_n[k]))
            state[k] = n + z * (old[k] - n)


@machine_code
def gru_step_back(g, more, dh, gates, from_state, b, before, dgates, dv, t):
    """Step t the other way: the gradients of the gates, and of what the states add to them; dh for the step before, without dv @ w.

    more: dv @ w of the step after.
    """
    units = dh.shape[1]
    b_r, b_z, b_n = b[:units], b[units : 2 * units], b[2 * units :]
    for s in range(dh.shape[0]):
        above, other, carried, old, x, y = g[t, s], more[s], dh[s], before[t, s], gates[t, s], from_state[t, s]
        x_r, x_z, x_n = x[:units], x[units : 2 * units], x[2 * units :]
        y_r, y_z, y_n = y[:units], y[units : 2 * units], y[2 * units :]
        to_x, to_y = dgates[t, s], dv[t, s]
        to_x_r, to_x_z, to_x_n = to_x[:units], to_x[units : 2 * units], to_x[2 * units :]
        to_y_r, to_y_z, to_y_n = to_y[:units], to_y[units : 2 * units], to_y[2 * units :]
        for k in range(units):
            of_n = y_n[k] + b_n[k]
            r, z = sigmoid(x_r[k] + (y_r[k] + b_r[k])), sigmoid(x_z[k] + (y_z[k] + b_z[k]))
            n = tanh(x_n[k] + r * of_n)
            to_state = carried[k] + other[k] + above[k]
            to_n = to_state * (ONE - z) * (ONE - n * n)
            to_r, to_z = to_n * of_n * (r - r * r), to_state * (old[k] - n) * (z - z * z)
            to_x_r[k], to_x_z[k], to_x_n[k] = to_r, to_z, to_n
            to_y_r[k], to_y_z[k], to_y_n[k] = to_r, to_z, to_n * r
            carried[k] = to_state * z


def gru(gates: Any, w: Any, b: Any, h: Any) -> Any:
    if not suits(gates, w, b, h):
        return recurrent.gru(gates, w, b, h)
    gates, b, h, turned = map(np.ascontiguousarray, (gates, b, h, w.T))
    out, product = np.empty((*gates.shape[:2], w.shape[1]), F32), np.empty(gates.shape[1:], F32)
    for t in range(len(gates)):
        h.dot(turned, product)
        gru_step(gates, product, b, h, out, t)
        h = out[t]
    return out


def gru_back(g: Any, xs: Any, out: Any) -> Any:
    gates, w, b, h = xs
    if not suits(g, gates, w, b, h, out):
        return rows.gru_rule(g, xs, out)
    before = rows.shifted(h, out)
    from_state = rows.from_state(before, w)
    g, gates, b, w = map(np.ascontiguousarray, (g, gates, b, w))
    dgates, dv = np.empty((2, *gates.shape), F32)
    dh, more = np.zeros((2, *h.shape), F32)
    for t in reversed(range(len(out))):
        gru_step_back(g, more, dh, gates, from_state, b, before, dgates, dv, t)
        dv[t].dot(w, more)
    dh += more
    return [dgates, rows.to_weight(dv, before), dv.reshape(-1, dv.shape[2]).sum(0), dh]


# -- softmax and cross-entropy ---------------------------------------------------------------------------


@machine_code
def cross_entropy_rows(x, target):
    """The sum of the losses of all rows; nan and False if a target is no class."""
    loss = 0.0
    for r in range(x.shape[0]):
        row, total = x[r], ZERO
        if not 0 <= target[r] < row.size:
            return 0.0, False
        top = largest(row)
        for k in range(row.size):
            total = any_order(total, exp(row[k] - top))
        loss += log(total) - (row[target[r]] - top)
    return loss, True


@machine_code
def cross_entropy_rows_back(share, x, target, out):
    """(softmax(x) - one_hot(target)) * share; False if a target is no class."""
    for r in range(x.shape[0]):
        row, into, total = x[r], out[r], ZERO
        if not 0 <= target[r] < row.size:
            return False
        top = largest(row)
        for k in range(row.size):
            e = exp(row[k] - top)
            into[k] = e
            total = any_order(total, e)
        factor = share / total
        for k in range(row.size):
            into[k] *= factor
        into[target[r]] -= share
    return True


def is_classes(x: Any, target: Any, reduction: Any) -> bool:
    plain = type(target) is np.ndarray and target.dtype == np.int64 and target.ndim == 1 and reduction != "none"
    return plain and suits(x) and x.ndim == 2


def cross_entropy(x: Any, target: Any, *, reduction: Any) -> Any:
    if is_classes(x, target, reduction):
        loss, done = cross_entropy_rows(np.ascontiguousarray(x), np.ascontiguousarray(target))
        if done:
            return np.float32(loss / len(x) if reduction == "mean" else loss)
    return nn.cross_entropy(x, target, reduction=reduction)


def cross_entropy_back(g: Any, x: Any, target: Any, *, reduction: Any) -> Any:
    if is_classes(x, target, reduction) and g.dtype is F32:
        out = np.empty(x.shape, F32)
        share = np.float32(g / len(x) if reduction == "mean" else g)
        if cross_entropy_rows_back(share, np.ascontiguousarray(x), np.ascontiguousarray(target), out):
            return out
    return nn.cross_entropy_back(g, x, target, reduction=reduction)


@machine_code
def softmax_rows(x, out):
    for r in range(x.shape[0]):
        row, into, total = x[r], out[r], ZERO
        top = largest(row)
        for k in range(row.size):
            e = exp(row[k] - top)
            into[k] = e
            total = any_order(total, e)
        for k in range(row.size):
            into[k] /= total


@machine_code
def log_softmax_rows(x, out):
    for r in range(x.shape[0]):
        row, into, total = x[r], out[r], ZERO
        top = largest(row)
        for k in range(row.size):
            total = any_order(total, exp(row[k] - top))
        total = log(total)
        for k in range(row.size):
            into[k] = (row[k] - top) - total


def in_rows(x: Any) -> Any:
    """The last axis as rows of a matrix."""
    return np.ascontiguousarray(x).reshape(-1, x.shape[-1])


def along_rows(run: Any, otherwise: Any) -> Any:
    """A function of arrays of one shape and an axis: by `run(*arrays, out)` on their rows where that can be."""

    def compute(*arrays: Any, axis: Any = -1) -> Any:
        shape = arrays[0].shape
        if not shape or axis not in (-1, len(shape) - 1) or not suits(*arrays) or any(a.shape != shape for a in arrays):
            return otherwise(*arrays, axis=axis)
        out = np.empty(shape, F32)
        run(*map(in_rows, arrays), out.reshape(-1, shape[-1]))
        return out

    return compute


# -- layer norm ------------------------------------------------------------------------------------------


@machine_code
def centred_rows(x, eps, d, rstd):
    for r in range(x.shape[0]):
        row, into, total = x[r], d[r], ZERO
        for k in range(row.size):
            total = any_order(total, row[k])
        mean, total = total / np.float32(row.size), ZERO
        for k in range(row.size):
            off = row[k] - mean
            into[k] = off
            total = any_order(total, off * off)
        rstd[r] = ONE / np.sqrt(total / np.float32(row.size) + eps)


@machine_code
def layer_norm_rows(x, weight, bias, eps, out):
    for r in range(x.shape[0]):
        row, into, total = x[r], out[r], ZERO
        for k in range(row.size):
            total = any_order(total, row[k])
        mean, total = total / np.float32(row.size), ZERO
        for k in range(row.size):
            off = row[k] - mean
            total = any_order(total, off * off)
        rstd = ONE / np.sqrt(total / np.float32(row.size) + eps)
        for k in range(row.size):
            into[k] = (row[k] - mean) * rstd * weight[k] + bias[k]


@machine_code
def layer_norm_rows_back(g, d, rstd, weight, out):
    for r in range(g.shape[0]):
        row, off, into, total, along = g[r], d[r], out[r], ZERO, ZERO
        for k in range(row.size):
            scaled = row[k] * weight[k]
            into[k] = scaled
            total = any_order(total, scaled)
            along = any_order(along, scaled * off[k])
        n = np.float32(row.size)
        mean, slope = total / n, along * rstd[r] * rstd[r] / n
        for k in range(row.size):
            into[k] = (into[k] - mean - off[k] * slope) * rstd[r]


@machine_code
def layer_norm_weight_rows(g, d, rstd, out):
    for r in range(g.shape[0]):
        row, off, scale = g[r], d[r], rstd[r]
        for k in range(row.size):
            out[k] += row[k] * (off[k] * scale)


def is_last(axes: Any, *vectors: Any) -> bool:
    return tuple(axes) == (-1,) and all(v.ndim == 1 for v in vectors) and suits(*vectors)


def centred_over(x: Any, axes: Any, eps: Any) -> Any:
    if not is_last(axes) or not suits(x):
        return nn.centred_over(x, axes, eps)
    d, rstd = np.empty(x.shape, F32), np.empty((*x.shape[:-1], 1), F32)
    centred_rows(in_rows(x), np.float32(eps), in_rows(d), rstd.reshape(-1))
    return d, rstd


def layer_norm(x: Any, weight: Any, bias: Any, *, axes: Any, eps: Any, called: Any = "Layer") -> Any:
    if not is_last(axes, weight, bias) or not suits(x):
        return nn.layer_norm(x, weight, bias, axes=axes, eps=eps, called=called)
    out = np.empty(x.shape, F32)
    layer_norm_rows(in_rows(x), np.ascontiguousarray(weight), np.ascontiguousarray(bias), np.float32(eps), in_rows(out))
    return out


def layer_norm_rule(g: Any, centre: Any, weight: Any, axes: Any) -> Any:
    d, rstd = centre
    if not is_last(axes, weight) or not suits(g, d, rstd):
        return nn.layer_norm_rule(g, centre, weight, axes)
    out = np.empty(g.shape, F32)
    layer_norm_rows_back(in_rows(g), in_rows(d), np.ascontiguousarray(rstd).reshape(-1), np.ascontiguousarray(weight), in_rows(out))
    return out


def layer_norm_weight_rule(g: Any, centre: Any, weight_shape: Any) -> Any:
    d, rstd = centre
    if len(weight_shape) != 1 or not suits(g, d, rstd) or d.shape != g.shape or rstd.size * weight_shape[0] != g.size:
        return nn.layer_norm_weight_rule(g, centre, weight_shape)
    out = np.zeros(weight_shape, F32)
    layer_norm_weight_rows(in_rows(g), in_rows(d), np.ascontiguousarray(rstd).reshape(-1), out)
    return out


# -- batch norm ------------------------------------------------------------------------------------------


@machine_code
def moments(x, mean, var):
    """Mean and variance of each channel of x (samples, channels, places)."""
    count = x.shape[0] * x.shape[2]
    for c in range(x.shape[1]):
        total, squares = 0.0, 0.0
        for s in range(x.shape[0]):
            line, part = x[s, c], ZERO
            for k in range(line.size):
                part = any_order(part, line[k])
            total += part
        middle = np.float32(total / count)
        for s in range(x.shape[0]):
            line, part = x[s, c], ZERO
            for k in range(line.size):
                off = line[k] - middle
                part = any_order(part, off * off)
            squares += part
        mean[c], var[c] = middle, squares / count


@machine_code
def scale_channels(x, centre, scale, shift, out):
    """out = (x - centre) * scale + shift, with a number for each channel."""
    for s in range(x.shape[0]):
        for c in range(x.shape[1]):
            line, into, middle, factor, more = x[s, c], out[s, c], centre[c], scale[c], shift[c]
            for k in range(line.size):
                into[k] = (line[k] - middle) * factor + more


@machine_code
def scale_channels_back(g, d, scale, rstd, g_mean, g_var, out):
    """out = g * scale, and what comes through the variance and the mean. g, d: (samples, channels, places)."""
    count = g.shape[0] * g.shape[2]
    for c in range(g.shape[1]):
        total, along = 0.0, 0.0
        for s in range(g.shape[0]):
            one, off, part, product = g[s, c], d[s, c], ZERO, ZERO
            for k in range(one.size):
                part = any_order(part, one[k])
                product = any_order(product, one[k] * off[k])
            total += part
            along += product
        factor = scale[c]
        to_d = np.float32((2 * g_var[c] - factor * rstd[c] * rstd[c] * along) / count)
        to_all = np.float32((g_mean[c] - factor * total) / count)
        for s in range(g.shape[0]):
            one, off, into = g[s, c], d[s, c], out[s, c]
            for k in range(one.size):
                into[k] = one[k] * factor + off[k] * to_d + to_all


def in_planes(x: Any) -> Any:
    """(samples, channels, places)"""
    return np.ascontiguousarray(x).reshape(*x.shape[:2], -1)


def batch_norm(x: Any, weight: Any, bias: Any, *, eps: Any) -> Any:
    if not suits(x, weight, bias) or x.ndim < 3:
        return nn.batch_norm(x, weight, bias, eps=eps)
    planes, out, mean, var = in_planes(x), np.empty(x.shape, F32), np.empty_like(weight), np.empty_like(weight)
    moments(planes, mean, var)
    scale_channels(planes, mean, weight / np.sqrt(var + np.float32(eps)), np.ascontiguousarray(bias), in_planes(out))
    return out, mean, var


def batch_norm_rule(g: Any, d: Any, weight: Any, out_2: Any, eps: Any) -> Any:
    if not suits(*g, d, weight, out_2) or d.ndim < 3:
        return nn.batch_norm_rule(g, d, weight, out_2, eps)
    rstd, out = 1 / np.sqrt(out_2 + np.float32(eps)), np.empty(d.shape, F32)
    scale_channels_back(in_planes(g[0]), in_planes(d), weight * rstd, rstd, *map(np.ascontiguousarray, g[1:]), in_planes(out))
    return out


# -- embedding -------------------------------------------------------------------------------------------


@machine_code
def add_to_rows(out, index, g):
    """out[index[r]] += g[r]; False if an index names no row."""
    for r in range(index.size):
        if not -out.shape[0] <= index[r] < out.shape[0]:
            return False
        into, row = out[index[r]], g[r]
        for k in range(row.size):
            into[k] += row[k]
    return True


def is_places(index: Any) -> bool:
    return type(index) is np.ndarray and index.dtype == np.int64


def index_add(x: Any, index: Any, src: Any, *, axis: Any) -> Any:
    if suits(x, src) and is_places(index) and axis % x.ndim == 0 and index.ndim == 1 and src.shape == (index.size, *x.shape[1:]):
        out = np.array(x, order="C")
        if add_to_rows(out.reshape(len(x), -1), index, np.ascontiguousarray(src).reshape(index.size, -1)):
            return out
    return by_index.index_add(x, index, src, axis=axis)


def add_at(g: Any, *, key: Any, shape: Any) -> Any:
    index, *others = key
    if suits(g) and is_places(index) and index.ndim == 1 and all(k == slice(None) for k in others) and g.shape == (index.size, *shape[1:]):
        out = np.zeros(shape, F32)
        if add_to_rows(out.reshape(shape[0], -1), index, np.ascontiguousarray(g).reshape(index.size, -1)):
            return out
    return by_index.add_at(g, key=key, shape=shape)


def embedding_back(g: Any, index: Any, *, rows: Any) -> Any:
    if suits(g) and is_places(index) and g.ndim == index.ndim + 1:
        out = np.zeros((rows, g.shape[-1]), F32)
        if add_to_rows(out, np.ascontiguousarray(index).reshape(-1), in_rows(g)):
            return out
    return by_index.embedding_back(g, index, rows=rows)


# By the function that a program would call.
ONE_PASS: dict[Any, Any] = {
    recurrent.lstm: lstm, recurrent.lstm_back: lstm_back,
    recurrent.gru: gru, rows.gru_rule: gru_back,
    nn.cross_entropy: cross_entropy, nn.cross_entropy_back: cross_entropy_back,
    nn.softmax: along_rows(softmax_rows, nn.softmax),
    nn.log_softmax: along_rows(log_softmax_rows, nn.log_softmax),
    nn.centred_over: centred_over,
    nn.layer_norm: layer_norm, nn.layer_norm_rule: layer_norm_rule, nn.layer_norm_weight_rule: layer_norm_weight_rule,
    nn.batch_norm: batch_norm, nn.batch_norm_rule: batch_norm_rule,
    by_index.embedding_back: embedding_back, by_index.index_add: index_add, by_index.add_at: add_at,
}  # fmt: skip
