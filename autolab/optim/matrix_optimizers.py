"""Optimizers that look at a whole matrix: Adafactor keeps its squares as a row and a column, Muon makes its steps orthogonal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from autolab.engine.tensor import Tensor, new_tensor
from autolab.optim.optimizer import Optimizer
from autolab.optim.running_averages import add_scaled, toward
from autolab.optim.settings import require_one_element, settings


def refuse(checks: Iterable[tuple[Any, str]]) -> None:
    """Raise ValueError with the first message whose check fails."""
    for fine, message in checks:
        if not fine:
            raise ValueError(message)


class Adafactor(Optimizer):
    """Adam without momentum that keeps, of a matrix of squares, only the means of its rows and columns: n + m numbers for n x m.

    The step is relative to the size of the parameter (at least eps[1]), falls as 1 / sqrt(t) from min(lr, 1), and is cut where its
    root mean square exceeds d. Source: Shazeer and Stern 2018. Raises ValueError for settings out of range.

    >>> w = tensor([[1., 2.], [3., 4.]], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> optimizer = Adafactor([w], lr=0.1)
    >>> optimizer.step()
    >>> [tuple(optimizer.state[w][name].shape) for name in ("row_var", "col_var")]
    [(2, 1), (1, 2)]
    """

    takes_complex = False

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
        foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        require_one_element(lr)
        refuse([
            (0 <= lr, f"Learning rate should be >= 0 but is: {lr}"),
            (beta2_decay <= 0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is None or eps[0] >= 0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (eps[1] >= 0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (d >= 1, f"Clipping threshold d should be >= 1 but is: {d}"),
            (weight_decay >= 0, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ])  # fmt: skip
        super().__init__(params, settings(locals(), unchecked=("eps",)))

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * size of x * g / sqrt(estimate of g * g), cut to length d"""
        if not x.size:
            return
        if x.ndim > 1:
            state, t = self.begun(p, x[..., :1], "row_var")
            if "col_var" not in state:
                state["col_var"] = new_tensor(np.zeros_like(x[..., :1, :]))
        else:
            state, t = self.begun(p, x, "variance")
        lr, weight, u = float(group["lr"]), t ** group["beta2_decay"], self.scratch(x)
        least = np.finfo(p.payload.dtype).eps if group["eps"][0] is None else group["eps"][0]
        size = max(group["eps"][1], root_mean_square(x)) * min(lr, 1 / math.sqrt(t))
        if group["weight_decay"]:
            x *= 1 - lr * group["weight_decay"]
        np.multiply(g, g, out=u)
        if x.ndim > 1:
            rows, columns = state["row_var"].writable_array(), state["col_var"].writable_array()
            for mean, axis in ((rows, -1), (columns, -2)):
                new = u.mean(axis, keepdims=True)
                toward(mean, new, weight, np.empty_like(new))
            np.multiply(rows, columns, out=u)
            u /= np.maximum(rows.mean(-2, keepdims=True), least)
        else:
            variance = state["variance"].writable_array()
            toward(variance, u.copy(), weight, u)
            np.copyto(u, variance)
        np.maximum(u, least * least, out=u)
        np.sqrt(u, out=u)
        np.divide(g, u, out=u)
        u *= size / max(1.0, root_mean_square(u) / group["d"])
        if group["maximize"]:
            x += u
        else:
            x -= u


def root_mean_square(x: Any) -> float:
    return math.sqrt(float(np.vdot(x, x)) / max(x.size, 1))


class Muon(Optimizer):
    """Momentum whose step is made orthogonal, for the matrices of hidden layers: all its singular values become about 1.

    ns_steps Newton-Schulz steps with ns_coefficients come close enough, in bfloat16. adjust_lr_fn "original" (or None) scales lr by
    sqrt(rows / columns) where that exceeds 1; "match_rms_adamw" by 0.2 sqrt(longer side). Source: Jordan et al. 2024.
    Raises ValueError for a parameter that is not a matrix, or settings out of range.

    >>> w = torch.zeros(2, 2, requires_grad=True)
    >>> (w * tensor([[3., 0.], [0., 0.1]])).sum().backward()
    >>> Muon([w], lr=1.0, weight_decay=0.0).step()
    >>> torch.linalg.svdvals(w.detach()).round()  # of the gradient 3 and 0.1
    tensor([1., 1.])
    """

    takes_complex = False

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315), eps: float = 1e-7, ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        require_one_element(lr)
        refuse([
            (0 <= lr, f"Learning rate should be >= 0 but is: {lr}"),
            (momentum >= 0, f"momentum should be >= 0 but is: {momentum}"),
            (weight_decay >= 0, f"weight decay should be >= 0 but is: {weight_decay}"),
            (adjust_lr_fn in (None, "original", "match_rms_adamw"),
             f"Adjust learning rate function {adjust_lr_fn} is not supported"),
            (ns_steps < 100, "Number of steps must be less than 100 for computational efficiency"),
            (len(ns_coefficients) == 3, "Coefficients must be a tuple of exactly 3 values"),
        ])  # fmt: skip
        super().__init__(params, settings(locals()))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add matrices with settings of their own."""
        super().add_param_group(param_group)
        for p in param_group["params"]:
            if p.ndim != 2:
                self.param_groups.pop()
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}")

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * (momentum made orthogonal)"""
        state, lr, momentum, u = self.state[p], float(group["lr"]), group["momentum"], self.scratch(x)
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = new_tensor(np.zeros_like(x))
        mean = state["momentum_buffer"].writable_array()
        toward(mean, g, 1 - momentum, u)
        step = mean
        if group["nesterov"]:
            step = self.scratch(x, 1)
            np.copyto(step, g)
            toward(step, mean, momentum, u)
        step = orthogonal(step, group["ns_coefficients"], group["ns_steps"], group["eps"]).astype(x.dtype, copy=False)
        rows, columns = x.shape
        ratio = 0.2 * math.sqrt(max(rows, columns)) if group["adjust_lr_fn"] == "match_rms_adamw" else math.sqrt(max(1, rows / columns))
        x *= 1 - lr * group["weight_decay"]
        add_scaled(x, step, -lr * ratio, u)


def orthogonal(g: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """An orthogonal matrix close to g: a X + (b XX' + c XX'XX') X, again and again, each result rounded to bfloat16."""
    a, b, c = coefficients

    def rounded(y: Any) -> Any:
        return y.astype(ml_dtypes.bfloat16).astype(np.float32)

    x = rounded(g if g.shape[0] <= g.shape[1] else g.T)
    x = rounded(x / max(rounded(np.sqrt(np.vdot(x, x))), rounded(np.float32(eps))))
    for _ in range(steps):
        gram = rounded(x @ x.T)
        x = rounded(a * x + rounded(b * gram + c * (gram @ gram)) @ x)
    return x if g.shape[0] <= g.shape[1] else x.T
