"""Adam for embeddings, of which few rows are looked up in each step (Kingma and Ba 2015, as PyTorch's SparseAdam)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor
from autolab.optim.optimizer import Optimizer
from autolab.optim.running_averages import toward, toward_square
from autolab.optim.settings import settings


class SparseAdam(Optimizer):
    """Adam that leaves rows without a gradient as they are: neither they nor their running means move.

    Rows are the entries of the first dim. PyTorch takes the rows that a sparse gradient lists; gradients are dense here, and a row
    takes part if its gradient is not all zeros. Raises ValueError for settings out of range.

    >>> table = torch.ones(3, 2, requires_grad=True)
    >>> table[1].sum().backward()
    >>> SparseAdam([table], lr=0.5).step()
    >>> table.detach()
    tensor([[1.0000, 1.0000],
            [0.5000, 0.5000],
            [1.0000, 1.0000]])
    """

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        chosen = settings(locals())
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not 0.0 < value:
                raise ValueError(f"Invalid {name}: {value}")
        super().__init__(params, chosen)

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= step * m / (sqrt(v) + eps) in the rows that have a gradient."""
        state, t = self.begun(p, x, "exp_avg", "exp_avg_sq")
        lr, (b1, b2) = float(group["lr"]), group["betas"]
        rows = np.flatnonzero(g.reshape(len(g), -1).any(1)) if g.ndim else ...
        m, v = (state[name].writable_array() for name in ("exp_avg", "exp_avg_sq"))
        some_m, some_v, some_g = m[rows], v[rows], -g[rows] if group["maximize"] else g[rows]
        scratch = np.empty_like(some_g)
        toward(some_m, some_g, 1 - b1, scratch)
        toward_square(some_v, some_g, 1 - b2, scratch)
        m[rows], v[rows] = some_m, some_v
        step = lr * math.sqrt(1 - b2**t) / (1 - b1**t)
        x[rows] -= step * some_m / (np.sqrt(some_v) + group["eps"])
