"""Adam."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor, fresh
from autolab.optim.optimizer import Optimizer, not_offered, zeros_like


class Adam(Optimizer):
    """Steps of size lr, along a running mean of gradients divided by the root of a running mean of their squares.

    Source: Kingma and Ba 2015, Algorithm 1. amsgrad (Reddi et al. 2018) divides by the largest second moment so far.
    weight_decay adds weight_decay * p to the gradient, or, if decoupled (Loshchilov and Hutter 2019), shrinks p by itself.
    Raises ValueError for settings out of range.

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adam([w], lr=0.1).step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        for name, value in (("learning rate", lr), ("epsilon value", eps), ("weight_decay value", weight_decay)):
            if value < 0:
                raise ValueError(f"Invalid {name}: {value}")
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
            decoupled_weight_decay=decoupled_weight_decay,
            **not_offered(foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused),
        ))  # fmt: skip

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * m / (sqrt(v) + eps), with m and v the running means, corrected for their start at zero."""
        state = self.state[p]
        if not state:
            state.update(step=fresh(np.float32(0)), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(x)
        state["step"].payload += np.float32(1)
        t, lr, (b1, b2) = float(state["step"].payload), group["lr"], group["betas"]
        m, v = state["exp_avg"].box(), state["exp_avg_sq"].box()
        if group["decoupled_weight_decay"]:
            x *= 1 - lr * group["weight_decay"]
            group = {**group, "weight_decay": 0}
        if group["weight_decay"] or group["maximize"]:
            g = self.regularized(x, g, group)
        u = self.scratch(x)
        np.multiply(g, 1 - b1, out=u)
        m *= b1
        m += u
        np.multiply(g, g, out=u)
        u *= 1 - b2
        v *= b2
        v += u
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"].box()
            v = np.maximum(largest, v, out=largest)
        if not lr:
            return
        # With step = lr / (1 - b1^t): x -= m / (sqrt(v) / (sqrt(1 - b2^t) step) + eps / step), one pass less than
        # multiplying by lr at the end.
        step = lr / (1 - b1**t)
        np.sqrt(v, out=u)
        u *= 1 / (math.sqrt(1 - b2**t) * step)
        u += group["eps"] / step
        np.divide(m, u, out=u)
        x -= u
