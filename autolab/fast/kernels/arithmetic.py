"""Remainders of float32 by way of float64, and what seldom has to look closer."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.engine.node import F32
from autolab.fast.blocks import Array
from autolab.fast.kernel import block_kernel, kernel
from autolab.fast.kernels.elementwise import by_whole_multiples, signed_as_x
from autolab.rules import arithmetic as rows
from autolab.rules.elementwise import is_number


def nan_to_num(x: Array, nan: Any, posinf: Any, neginf: Any, out: Array) -> None:
    """Looks closer only where something is not finite."""
    out[...] = x if np.isfinite(x).all() else rows.nan_to_num.forward(x, nan=nan, posinf=posinf, neginf=neginf)


def lerp(x: Any, y: Any, weight: Any) -> Any:
    """From the nearer end, with one choice for all if the weight is a number."""
    if not is_number(weight) or x.dtype.kind != "f":
        return rows.lerp.forward(x, y, weight)
    return x + weight * (y - x) if -0.5 < weight < 0.5 else y - (y - x) * (1 - weight)


block_kernel(rows.fmod, by_whole_multiples(np.fmod, np.trunc, signed_as_x), dtypes=(F32,))
block_kernel(rows.nan_to_num, nan_to_num)
kernel(rows.lerp, lerp)
