"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor, fresh
from autolab.optim.optimizer import Optimizer, not_offered


class SGD(Optimizer):
    """p -= lr * g; with momentum, g is replaced by a running sum v = momentum * v + (1 - dampening) * g, which starts as g.

    nesterov looks ahead: g + momentum * v. weight_decay adds weight_decay * p to the gradient; maximize turns its sign.
    Raises ValueError for settings out of range.

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> SGD([w], lr=0.1).step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize,
            **not_offered(foreach=foreach, differentiable=differentiable, fused=fused),
        ))  # fmt: skip

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * g, with what the settings put in the place of g."""
        if group["weight_decay"] or group["maximize"]:
            g = self.regularized(x, g, group)
        u = self.scratch(x)
        momentum = group["momentum"]
        if momentum:
            state = self.state[p]
            if "momentum_buffer" in state:
                v = state["momentum_buffer"].box()
                np.multiply(g, 1 - group["dampening"], out=u)
                v *= momentum
                v += u
            else:
                v = g.copy()
                state["momentum_buffer"] = fresh(v)
            if group["nesterov"]:
                np.multiply(v, momentum, out=u)
                u += g
                g = u
            else:
                g = v
        np.multiply(g, group["lr"], out=u)
        x -= u
