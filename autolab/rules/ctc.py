"""Connectionist temporal classification: the loss of a sequence over all ways to spread it in time. Source: Graves et al. 2006.

The labels of a sample, with a blank before, between and behind them, are states; `alpha` is the log-probability of being in a state at a
time, coming from the start, `beta` of getting to the end from there.
"""

import math

import numpy as np

from autolab.engine.op import GENERAL, op
from autolab.rules.reduce import logsumexp


def states_of(targets, lengths, blank):
    """(N, 2 S + 1) labels with blanks between them, and which states may be entered from the one before the blank."""
    n, most = targets.shape
    states = np.full((n, 2 * most + 1), blank, np.int64)
    states[:, 1::2] = np.where(np.arange(most) < np.reshape(lengths, (-1, 1)), targets, blank)
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return states, skips


def shifted(a, k):
    """Each state's value k states before; -inf where there is none."""
    return np.concatenate([np.full((a.shape[0], k), -math.inf, a.dtype), a[:, :-k]], 1)[:, : a.shape[1]]


def total(parts):
    """log of the sum of exponentials."""
    return logsumexp(np.stack(parts), axis=0)


def alphas(seen, skips):
    """seen: (T, N, states) log-probability of each state's label at each time."""
    out = np.full(seen.shape, -math.inf, seen.dtype)
    out[0, :, :2] = seen[0, :, :2]
    for t in range(1, len(seen)):
        a = out[t - 1]
        out[t] = seen[t] + total([a, shifted(a, 1), np.where(skips, shifted(a, 2), -math.inf)])
    return out


def losses(x, targets, input_lengths, target_lengths, blank):
    """Minus the log-probability of each sample, with what was computed on the way."""
    states, skips = states_of(targets, target_lengths, blank)
    seen = np.take_along_axis(x, np.broadcast_to(states, (x.shape[0], *states.shape)), axis=2)
    n = np.arange(len(states))
    alpha = alphas(seen, skips)
    last, end = np.maximum(input_lengths, 1) - 1, 2 * target_lengths
    ends = [alpha[last, n, end], np.where(target_lengths > 0, alpha[last, n, np.maximum(end - 1, 0)], -math.inf)]
    loss = -total(ends)
    loss = np.where(input_lengths == 0, np.where(target_lengths == 0, 0, math.inf), loss).astype(x.dtype)
    return loss, states, skips, seen, alpha


def ctc_values(x, targets, input_lengths, target_lengths, *, blank, zero_infinity):
    loss = losses(x, targets, input_lengths, target_lengths, blank)[0]
    return np.where(np.isinf(loss), 0, loss) if zero_infinity else loss


def ctc_rule_values(g, x, targets, input_lengths, target_lengths, *, blank, zero_infinity):
    """exp(x) minus the probability of each label at each time, given that the sequence is the target."""
    loss, states, skips, seen, alpha = losses(x, targets, input_lengths, target_lengths, blank)
    n = np.arange(len(states))
    beta = np.full(alpha.shape, -math.inf, x.dtype)
    onto = np.concatenate([skips[:, 2:], np.zeros((len(states), 2), bool)], 1)  # whether the state after the next may be entered
    for t in range(len(x) - 1, -1, -1):
        b = beta[min(t + 1, len(x) - 1)]
        step = seen[t] + total([b, back(b, 1), np.where(onto[:, : b.shape[1]], back(b, 2), -math.inf)])
        start = np.full(b.shape, -math.inf, x.dtype)
        start[n, 2 * target_lengths] = seen[t, n, 2 * target_lengths]
        some = target_lengths > 0
        start[n[some], 2 * target_lengths[some] - 1] = seen[t, n[some], 2 * target_lengths[some] - 1]
        at_end = (t == input_lengths - 1)[:, None]
        beta[t] = np.where(at_end, start, np.where((t < input_lengths - 1)[:, None], step, -math.inf))
    both = np.exp(alpha + beta - seen + np.where(np.isinf(loss), 0, loss)[:, None])
    both = np.where(np.isfinite(both), both, 0)
    taken = np.zeros(x.shape, x.dtype)
    for s in range(states.shape[1]):
        taken[:, n, states[:, s]] += both[:, :, s]
    out = (np.exp(x) - taken) * g[:, None]
    out = np.where(np.isinf(loss)[:, None], 0 if zero_infinity else math.nan, out)
    return np.where((np.arange(len(x))[:, None] < input_lengths)[..., None], out, 0)


def back(a, k):
    return shifted(a[:, ::-1], k)[:, ::-1]


def ctc_once(u):
    raise RuntimeError("derivative for aten::_ctc_loss_backward is not implemented: ctc_loss has no second derivative")


# x: (T, N, C) log-probabilities. As in PyTorch the gradient is right for x = log_softmax(...) only: the part of it that log_softmax would
# take away again is left in.
ctc_loss = op(
    "ctc_loss", ctc_values, GENERAL,
    x=lambda g, x, targets, input_lengths, target_lengths, blank, zero_infinity:
        ctc_back(g, x, targets, input_lengths, target_lengths, blank=blank, zero_infinity=zero_infinity),
)  # fmt: skip
ctc_back = op("ctc_loss_back", ctc_rule_values, GENERAL, g=ctc_once, x=ctc_once)
