"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from autolab.optim.lr_scheduler.base import LRScheduler, put, values
from autolab.optim.lr_scheduler.plateau import ReduceLROnPlateau
from autolab.optim.optimizer import Optimizer


class Several(LRScheduler):
    """A schedule that holds others."""

    def _hold(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None, chained: str = "") -> None:
        name = type(self).__name__
        if not len(schedulers):
            raise ValueError(f"{name} expects at least one scheduler{chained}, but got no scheduler.")
        if optimizer is None:
            optimizer = schedulers[0].optimizer
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when "
                    f"calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler {type(scheduler).__name__} "
                    f"at index {i} has {scheduler.optimizer}, which is different from {type(optimizer).__name__}."
                )
        self._schedulers, self.optimizer = schedulers, optimizer

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(Several):
    """One schedule after the other: the next one begins, at its epoch 0, at each milestone.

    Raises ValueError unless there is one milestone fewer than schedulers, and all belong to the optimizer.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.)
    >>> lr_scheduler = torch.optim.lr_scheduler
    >>> parts = [lr_scheduler.ConstantLR(optimizer, 0.5, 9), lr_scheduler.ExponentialLR(optimizer, 0.9)]
    >>> scheduler = SequentialLR(optimizer, parts, milestones=[2])
    >>> for _ in range(4): optimizer.step(); print(scheduler.get_last_lr()[0], end=" "); scheduler.step()
    0.5 0.5 1.0 0.9
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1) -> None:
        self._hold(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, "
                f"but got number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._milestones, self.last_epoch = milestones, last_epoch + 1
        # Each scheduler took its first step when it was made: undo them, then let the first one begin.
        for group in optimizer.param_groups:
            put(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back the first step of every scheduler held, however deep."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for inner in sched._schedulers:
                self.recursive_undo(inner)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Step the scheduler whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(Several):
    """Several schedules at once: each changes the learning rate that the one before has left.

    Raises ValueError if there is none, or if they belong to different optimizers.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> lr_scheduler = torch.optim.lr_scheduler
    >>> parts = [lr_scheduler.ConstantLR(optimizer, 0.1, 2), lr_scheduler.ExponentialLR(optimizer, 0.5)]
    >>> scheduler = ChainedScheduler(parts)
    >>> for _ in range(4): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    0.1 0.05 0.25 0.125
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._hold(schedulers, optimizer, " to be chained")
        self._last_lr = values(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Step all of them, in order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values(self.optimizer, "lr")
