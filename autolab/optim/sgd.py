"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.optim.optimizer import Optimizer


class SGD(Optimizer):
    """p -= lr * g; with momentum, g is replaced by a running sum v = momentum * v + (1 - dampening) * g.

    nesterov looks ahead: g + momentum * v. weight_decay adds weight_decay * p to the gradient; maximize turns its sign.
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: Any = None, differentiable: bool = False, fused: Any = None,
    ) -> None:  # fmt: skip
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize,
        ))  # fmt: skip

    def update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["maximize"]:
            g = -g
        if group["weight_decay"]:
            g = g + group["weight_decay"] * p
        momentum = group["momentum"]
        if momentum:
            v = state.get("momentum_buffer")
            if v is None:
                v = state["momentum_buffer"] = np.array(g)
            else:
                v *= momentum
                v += g if not group["dampening"] else (1 - group["dampening"]) * g
            g = g + momentum * v if group["nesterov"] else v
        p -= group["lr"] * g
