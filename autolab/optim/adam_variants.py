"""Three variations on Adam: NAdam looks ahead, RAdam waits until its squares can be trusted, Adamax takes the largest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.optim.optimizer import Optimizer
from autolab.optim.running_averages import add_scaled, toward, toward_square
from autolab.optim.settings import settings


class NAdam(Optimizer):
    """Adam with Nesterov's look ahead: part of the step follows the present gradient instead of the mean.

    Source: Dozat 2016; the share grows with the step as mu_t = b1 (1 - 0.96^(t * momentum_decay) / 2).

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> NAdam([w], lr=0.1).step()
    >>> w
    tensor([0.8944, 1.8944], requires_grad=True)
    """

    entrywise = True

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * (share of g + share of m) / (sqrt(v) + eps), each share corrected for its start."""
        state, t = self.begun(p, x, "exp_avg", "exp_avg_sq", mu_product=1)
        lr, (b1, b2), decay = float(group["lr"]), group["betas"], group["momentum_decay"]
        m, v, u = state["exp_avg"].writable_array(), state["exp_avg_sq"].writable_array(), self.scratch(x)
        g = self.regularized(x, g, group)
        now, following = (b1 * (1 - 0.5 * 0.96 ** (k * decay)) for k in (t, t + 1))
        product = state["mu_product"]
        product.payload = product.payload.dtype.type(product.payload * now)
        toward(m, g, 1 - b1, u)
        toward_square(v, g, 1 - b2, u)
        root = self.scratch(x, 2)
        np.multiply(v, 1 / (1 - b2**t), out=root)
        np.sqrt(root, out=root)
        root += group["eps"]
        total = float(product.payload)
        for array, share in ((g, (1 - now) / (1 - total)), (m, following / (1 - total * following))):
            np.divide(array, root, out=u)
            u *= -lr * share
            x += u


class RAdam(Optimizer):
    """Adam that divides by its running squares only once there are enough of them to trust.

    Source: Liu et al. 2020, Algorithm 2: rho_t is the length of the running mean; up to 5 the step is plain momentum.

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> RAdam([w], lr=0.1).step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    entrywise = True

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * m, times rectification / (sqrt(v) + eps) where v can be trusted."""
        state, t = self.begun(p, x, "exp_avg", "exp_avg_sq")
        lr, (b1, b2) = float(group["lr"]), group["betas"]
        m, v, u = state["exp_avg"].writable_array(), state["exp_avg_sq"].writable_array(), self.scratch(x)
        g = self.regularized(x, g, group)
        toward(m, g, 1 - b1, u)
        toward_square(v, g, 1 - b2, u)
        correction = 1 - b2**t
        longest = 2 / (1 - b2) - 1
        length = longest - 2 * t * b2**t / correction
        step = lr / (1 - b1**t)
        if length <= 5:
            add_scaled(x, m, -step, u)
            return
        trust = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
        np.sqrt(v, out=u)
        u += group["eps"]
        np.divide(m, u, out=u)
        u *= step * trust * math.sqrt(correction)
        x -= u


class Adamax(Optimizer):
    """Adam with the largest gradient so far (fading by b2 a step) in the place of the root of the mean square.

    Source: Kingma and Ba 2015, Algorithm 2.

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adamax([w], lr=0.1).step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    entrywise = True

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * m / largest"""
        state, t = self.begun(p, x, "exp_avg", "exp_inf")
        b1, b2 = group["betas"]
        m, largest, u = state["exp_avg"].writable_array(), state["exp_inf"].writable_array(), self.scratch(x)
        g = self.regularized(x, g, group)
        toward(m, g, 1 - b1, u)
        np.abs(g, out=u)
        u += group["eps"]
        largest *= b2
        np.maximum(largest, u, out=largest)
        np.divide(m, largest, out=u)
        u *= float(group["lr"]) / (1 - b1**t)
        x -= u
