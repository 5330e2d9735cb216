"""Adam."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.optim.optimizer import Optimizer


class Adam(Optimizer):
    """Steps of size lr, along a running mean of gradients divided by the root of a running mean of their squares.

    Source: Kingma and Ba 2015, Algorithm 1. amsgrad (Reddi et al. 2018) divides by the largest second moment so far.
    weight_decay adds weight_decay * p to the gradient.
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: Any = None, maximize: bool = False, fused: Any = None,
    ) -> None:  # fmt: skip
        for name, value in (("learning rate", lr), ("epsilon value", eps), ("weight_decay value", weight_decay)):
            if value < 0:
                raise ValueError(f"Invalid {name}: {value}")
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
        ))  # fmt: skip

    def update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=0, exp_avg=np.zeros_like(p), exp_avg_sq=np.zeros_like(p))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = np.zeros_like(p)
        if group["maximize"]:
            g = -g
        if group["weight_decay"]:
            g = g + group["weight_decay"] * p
        state["step"] += 1
        (b1, b2), t = group["betas"], state["step"]
        m, v = state["exp_avg"], state["exp_avg_sq"]
        u = g * (1 - b1)  # one temporary serves all the steps below
        m *= b1
        m += u
        np.multiply(g, g, out=u)
        u *= 1 - b2
        v *= b2
        v += u
        if group["amsgrad"]:
            v = np.maximum(state["max_exp_avg_sq"], v, out=state["max_exp_avg_sq"])
        np.sqrt(v, out=u)
        u *= (1 - b2**t) ** -0.5
        u += group["eps"]
        np.divide(m, u, out=u)
        u *= group["lr"] / (1 - b1**t)
        p -= u
