"""Gradients clipped by their norm, all of them in one go: in a small model the calls on Tensors take longer than the numbers do."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from autolab.engine.modes import modes
from autolab.engine.node import F32, F64
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import reduce as rows

LONG = 1 << 16  # entries: from here on squares are added in a way that keeps more digits
ON = os.environ.get("AUTOLAB_FAST") != "0"


def is_plain(t: Any, dtype: Any) -> bool:
    """Whether this is an ordinary tensor whose array lies in order, so that none of its entries share memory."""
    x = t.payload if type(t) is Tensor else None
    return type(x) is np.ndarray and x.dtype is dtype and (x.flags.c_contiguous or x.flags.f_contiguous) and not t.level


def total_norm(tensors: list[Tensor], order: float) -> Tensor | None:
    """The root of the sum of squares of all entries; None if that has to be computed tensor by tensor."""
    dtype = getattr(tensors[0].payload, "dtype", None)
    if not (ON and order == 2 and modes.fast and dtype in (F32, F64) and all(is_plain(t, dtype) for t in tensors)):
        return None
    norms = np.empty(len(tensors), dtype)
    for k, t in enumerate(tensors):
        flat = t.payload.reshape(-1, order="A")
        norms[k] = rows.norm.compute(flat) if flat.size >= LONG else np.sqrt(flat.dot(flat))
    return new_tensor(np.sqrt(norms.dot(norms)))


def scale_at_once(tensors: list[Tensor], factor: Tensor) -> list[Tensor]:
    """Multiply tensors by a number, in place; those that are left to be written to one by one."""
    number, left = factor.payload, []
    writable = ON and modes.fast and modes.before_write is None and not np.ndim(number)
    for t in tensors:
        x = t.payload
        if writable and is_plain(t, number.dtype) and x.flags.writeable and t.edge is None and not t.wants_grad and type(t.version) is list:
            x *= number
            t.version[0] += 1
        else:
            left.append(t)
    return left
