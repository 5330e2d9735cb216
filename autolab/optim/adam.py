"""Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.optim.optimizer import Optimizer
from autolab.optim.running_averages import toward, toward_square
from autolab.optim.settings import settings


class Adam(Optimizer):
    """Steps of size lr, along a running mean of gradients divided by the root of a running mean of their squares.

    Source: Kingma and Ba 2015, Algorithm 1. amsgrad (Reddi et al. 2018) divides by the largest second moment so far.
    weight_decay adds weight_decay * p to the gradient, or, if decoupled (Loshchilov and Hutter 2019), shrinks p by itself.
    foreach, capturable and fused choose among PyTorch's implementations and change nothing here.
    Raises ValueError for settings out of range.

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adam([w], lr=0.1).step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    entrywise = True

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        chosen = settings(locals())
        if foreach and not capturable:
            for name, value in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
                if isinstance(value, Tensor):
                    raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        if {type(beta) for beta in betas} not in ({float}, {Tensor}):
            raise ValueError("betas must be either both floats or both Tensors")
        super().__init__(params, chosen)

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * m / (sqrt(v) + eps), with m and v the running means, corrected for their start at zero."""
        largest = ("max_exp_avg_sq",) if group["amsgrad"] else ()
        state, t = self.begun(p, x, "exp_avg", "exp_avg_sq", *largest)
        lr, (b1, b2) = float(group["lr"]), map(float, group["betas"])
        m, v, u = state["exp_avg"].writable_array(), state["exp_avg_sq"].writable_array(), self.scratch(x)
        g = self.regularized(x, g, group)
        toward(m, g, 1 - b1, u)
        toward_square(v, g, 1 - b2, u)
        if largest:
            most = state["max_exp_avg_sq"].writable_array()
            v = np.maximum(most, v, out=most)
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


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter by itself, and so is not divided by the root of the squares.

    Source: Loshchilov and Hutter 2019, Algorithm 2.

    >>> w = tensor([1.], requires_grad=True)
    >>> (0 * w).sum().backward()
    >>> AdamW([w], lr=0.1, weight_decay=0.5).step()
    >>> w
    tensor([0.9500], requires_grad=True)
    """

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # whatever was loaded
            group["decoupled_weight_decay"] = True
