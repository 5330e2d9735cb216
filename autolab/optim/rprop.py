"""Rprop: only the sign of a gradient counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.optim.optimizer import Optimizer
from autolab.optim.settings import settings


class Rprop(Optimizer):
    """Each entry has a step size of its own: it grows while the sign of its gradient stays, and shrinks when it turns.

    For whole data sets, not for batches. Source: Riedmiller and Braun 1993 (a step that jumped over a minimum is not undone).
    Raises ValueError unless 0 < etas[0] < 1 < etas[1].

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Rprop([w], lr=0.1).step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    entrywise = True

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= sign(g) * step size"""
        new = not self.state.get(p)
        state, _ = self.begun(p, x, "prev", "step_size")
        before, size, u = state["prev"].writable_array(), state["step_size"].writable_array(), self.scratch(x)
        if new:
            size.fill(float(group["lr"]))
        (shrink, grow), g = group["etas"], self.regularized(x, g, group)
        np.multiply(g, before, out=u)
        turned = u < 0
        size *= np.where(u > 0, grow, np.where(turned, shrink, 1)).astype(size.dtype)
        np.clip(size, *group["step_sizes"], out=size)
        np.copyto(before, g)
        before[turned] = 0  # the next step goes on from there without another change of size
        np.sign(before, out=u)
        u *= size
        x -= u
