"""Steps divided by the root of squares: of all of them (Adagrad), of recent ones (RMSprop, Adadelta)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor, new_tensor
from autolab.optim.optimizer import Optimizer, scalar
from autolab.optim.running_averages import add_scaled, toward, toward_square
from autolab.optim.settings import settings
from autolab.rules.complex_numbers import pairs


class Adagrad(Optimizer):
    """p -= lr * g / sqrt(sum of all squares so far): large steps for what moves rarely.

    Source: Duchi, Hazan and Singer 2011. lr_decay makes lr fall as 1 / (1 + t * lr_decay).

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adagrad([w], lr=0.1).step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    entrywise = True

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *, maximize: bool = False,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(params, settings(locals()))
        for group in self.param_groups:  # the only optimizer whose state is there before the first step
            for p in group["params"]:
                x = np.asarray(p.payload)
                self.start(p, pairs(x) if x.dtype.kind == "c" else x, group)

    def start(self, p: Tensor, x: Any, group: dict[str, Any]) -> dict[str, Any]:
        """The state of p, with its sum of squares as the settings want it."""
        dtype = np.float32 if x.itemsize < 4 else x.dtype
        state = self.state[p]
        state.update(step=scalar(0), sum=new_tensor(np.full(x.shape, group["initial_accumulator_value"], dtype)))
        return state

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """sum += g * g; x -= lr * g / (sqrt(sum) + eps)"""
        if not self.state.get(p):  # in a group that was added later
            self.start(p, x, group)
        state, t = self.begun(p, x)
        total, u = state["sum"].writable_array(), self.scratch(x)
        g = self.regularized(x, g, group)
        np.multiply(g, g, out=u)
        total += u
        np.sqrt(total, out=u)
        u += group["eps"]
        np.divide(g, u, out=u)
        u *= float(group["lr"]) / (1 + (t - 1) * group["lr_decay"])
        x -= u


class RMSprop(Optimizer):
    """p -= lr * g / root of a running mean of squares; with momentum, along a running sum of such steps.

    Source: Hinton's lecture 6e (2012). centered subtracts the square of the running mean of g (Graves 2013).

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> RMSprop([w], lr=0.01).step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    entrywise = True

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * g / (sqrt(v) + eps)"""
        names = ["square_avg"] + ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * bool(group["centered"])
        state, _ = self.begun(p, x, *names)
        v, u, lr = state["square_avg"].writable_array(), self.scratch(x), float(group["lr"])
        g = self.regularized(x, g, group)
        toward_square(v, g, 1 - group["alpha"], u)
        if group["centered"]:
            mean = state["grad_avg"].writable_array()
            toward(mean, g, 1 - group["alpha"], u)
            np.multiply(mean, mean, out=u)
            np.subtract(v, u, out=u)
            np.sqrt(u, out=u)
        else:
            np.sqrt(v, out=u)
        u += group["eps"]
        np.divide(g, u, out=u)
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].writable_array()
            buffer *= group["momentum"]
            buffer += u
            add_scaled(x, buffer, -lr, u)
        else:
            u *= lr
            x -= u


class Adadelta(Optimizer):
    """Steps as long as recent steps were, divided by the root of recent squares: the units of p, whatever those of the loss.

    Source: Zeiler 2012, Algorithm 1 (with lr = 1).

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adadelta([w], lr=100.).step()
    >>> w
    tensor([0.6838, 1.6838], requires_grad=True)
    """

    entrywise = True

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * step, with step = g * sqrt(mean of step^2 + eps) / sqrt(mean of g^2 + eps)"""
        state, _ = self.begun(p, x, "square_avg", "acc_delta")
        squares, steps = state["square_avg"].writable_array(), state["acc_delta"].writable_array()
        u, step = self.scratch(x), self.scratch(x, 2)
        rho, eps = group["rho"], group["eps"]
        g = self.regularized(x, g, group)
        toward_square(squares, g, 1 - rho, u)
        np.add(squares, eps, out=u)
        np.sqrt(u, out=u)
        np.add(steps, eps, out=step)
        np.sqrt(step, out=step)
        step /= u
        step *= g
        toward_square(steps, step, 1 - rho, u)
        add_scaled(x, step, -float(group["lr"]), u)
