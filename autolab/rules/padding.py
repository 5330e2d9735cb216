"""Entries around the edges."""

import numpy as np

from autolab.engine.op import GENERAL, HOLOMORPHIC, op
from autolab.rules.reduce import call_row


def bounds(widths, shape):
    """For each padded axis: where the input is in the result, and which part of the input that is; a negative width cuts."""
    lengths = shape[len(shape) - len(widths) :]
    there = tuple(slice(max(a, 0), max(a, 0) + n + min(a, 0) + min(b, 0)) for (a, b), n in zip(widths, lengths))
    here = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, lengths))
    return there, here


def pad_values(x, *, widths, value=0):
    lead = x.ndim - len(widths)
    shape = (*x.shape[:lead], *(n + a + b for n, (a, b) in zip(x.shape[lead:], widths)))
    there, here = bounds(widths, x.shape)
    out = np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)
    out[(..., *there)] = x[(..., *here)]
    return out


def opposite(widths):
    """Cut what was added, add what was cut."""
    return tuple((-a, -b) for a, b in widths)


pad = op(
    "constant_pad_nd", pad_values, GENERAL, batch=call_row, complex=HOLOMORPHIC,
    x=lambda g, widths: pad(g, widths=opposite(widths), value=0),
    jvp=lambda dx, widths: pad(dx, widths=widths, value=0),
)  # fmt: skip
