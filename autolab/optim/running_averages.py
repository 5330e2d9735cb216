"""Running means, in place: what most optimizers keep. u is an array to compute in."""

from __future__ import annotations

from typing import Any

import numpy as np


def toward(mean: Any, new: Any, weight: float, u: Any) -> None:
    """mean += weight * (new - mean)"""
    np.subtract(new, mean, out=u)
    u *= weight
    mean += u


def toward_square(mean: Any, g: Any, weight: float, u: Any) -> None:
    """mean = (1 - weight) * mean + weight * g * g"""
    np.multiply(g, g, out=u)
    u *= weight
    mean *= 1 - weight
    mean += u


def add_scaled(x: Any, g: Any, factor: float, u: Any) -> None:
    """x += factor * g"""
    np.multiply(g, factor, out=u)
    x += u
