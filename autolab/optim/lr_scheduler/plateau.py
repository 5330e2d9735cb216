"""A schedule that looks at how training goes."""

from __future__ import annotations

import math
import warnings
from typing import Any, SupportsFloat

from autolab.optim.lr_scheduler.base import EPOCH, LRScheduler, put, require_optimizer, values
from autolab.optim.optimizer import Optimizer

# When a value is better than the best so far, by a threshold that is a share of it or an amount.
BETTER = {
    ("min", "rel"): lambda value, best, threshold: value < best * (1.0 - threshold),
    ("min", "abs"): lambda value, best, threshold: value < best - threshold,
    ("max", "rel"): lambda value, best, threshold: value > best * (threshold + 1.0),
    ("max", "abs"): lambda value, best, threshold: value > best + threshold,
}


class ReduceLROnPlateau(LRScheduler):
    """Times factor when the metric has not improved for more than `patience` epochs; then it rests for `cooldown` epochs.

    Call step(metric) after each epoch's validation. A reduction of at most eps is not made, and none goes below min_lr.
    Raises ValueError for an unknown mode or a factor of 1 or more.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.)
    >>> scheduler = ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3., 2., 2., 2.): scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: float | list[float] = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0. It is {factor}")
        require_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        several = isinstance(min_lr, list | tuple)
        self.min_lrs = list(min_lr) if several else [min_lr] * groups  # type: ignore[arg-type]
        if len(self.min_lrs) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(self.min_lrs)}")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown! It is 'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown! It is 'rel' or 'abs'")
        self.optimizer, self.factor, self.default_min_lr = optimizer, factor, None if several else min_lr
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self._last_lr = values(optimizer, "lr")
        self._reset()

    def _reset(self) -> None:
        """Forget what has been seen."""
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    @property
    def in_cooldown(self) -> bool:
        """True while a reduction is given time to work."""
        return self.cooldown_counter > 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of a metric, and reduce the learning rates if it has not improved for too long."""
        if epoch is not None:
            warnings.warn(EPOCH, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        value = float(metrics)
        if BETTER[self.mode, self.threshold_mode](value, self.best, self.threshold):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = values(self.optimizer, "lr")

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when `ReduceLROnPlateau` was "
                    f"initialized ({len(self.min_lrs)}), usually due to a new param group being added to the optimizer. Please "
                    "modify the `min_lrs` field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            before: Any = float(group["lr"])
            after = max(before * self.factor, least)
            if before - after > self.eps:
                put(group, "lr", after)
