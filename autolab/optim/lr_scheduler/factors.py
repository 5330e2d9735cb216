"""Schedules that multiply: each epoch, the learning rate times a factor.

`change(t)` is the factor of epoch t against the epoch before, so that several schedules can act on one learning rate. `whole(t)`, the
closed form, is the product of all of them, against the initial rate: it serves the deprecated `step(epoch)`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from autolab.optim.lr_scheduler.base import LRScheduler, kept
from autolab.optim.optimizer import Optimizer


class Factors(LRScheduler):
    """A schedule with one factor for all groups."""

    def change(self, t: int) -> float:
        """The factor of epoch t against the epoch before."""
        raise NotImplementedError

    def whole(self, t: int) -> float:
        """The factor of epoch t against the initial learning rate."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        self._asked()
        factor = self.change(self.last_epoch)
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.whole(self.last_epoch)
        return [lr * factor for lr in self.base_lrs]


class StepLR(Factors):
    """Times gamma every step_size epochs.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.)
    >>> scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4): optimizer.step(); print(scheduler.get_last_lr()[0], end=" "); scheduler.step()
    1.0 1.0 0.5 0.5
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def change(self, t: int) -> float:
        return self.gamma if t and t % self.step_size == 0 else 1

    def whole(self, t: int) -> float:
        return self.gamma ** (t // self.step_size)


class MultiStepLR(Factors):
    """Times gamma at each of the milestones, which are epochs (twice, for one that is named twice).

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.1)
    >>> for _ in range(5): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    1.0 0.1 0.1 0.01 0.01
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def change(self, t: int) -> float:
        return self.gamma ** self.milestones[t] if t in self.milestones else 1

    def whole(self, t: int) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), t)


class ConstantLR(Factors):
    """Times factor for the first total_iters epochs. Raises ValueError unless factor is in [0, 1].

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> for _ in range(4): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    0.5 0.5 1.0 1.0
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"Constant multiplicative factor expected to be between 0 and 1. It is {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def change(self, t: int) -> float:
        if t == 0:
            return self.factor
        return 1.0 / self.factor if t == self.total_iters else 1

    def whole(self, t: int) -> float:
        return self.factor + (t >= self.total_iters) * (1 - self.factor)


class LinearLR(Factors):
    """Times start_factor at first, times end_factor after total_iters epochs, on a straight line between.

    Raises ValueError unless start_factor is in (0, 1] and end_factor in [0, 1].

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> for _ in range(5): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    0.25 0.5 0.75 1.0 1.0
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"Starting multiplicative factor expected to be greater than 0 and less or equal to 1. It is {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"Ending multiplicative factor expected to be between 0 and 1. It is {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def change(self, t: int) -> float:
        if t == 0:
            return self.start_factor
        if self._is_initial or t > self.total_iters:
            return 1
        way = self.end_factor - self.start_factor
        return 1.0 + way / (self.total_iters * self.start_factor + (t - 1) * way)

    def whole(self, t: int) -> float:
        return self.start_factor + (self.end_factor - self.start_factor) * min(self.total_iters, t) / self.total_iters


class ExponentialLR(Factors):
    """Multiplies the learning rate by gamma every epoch: lr = initial_lr * gamma**epoch.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ExponentialLR(optimizer, gamma=0.5)
    >>> for _ in range(4): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    1.0 0.5 0.25 0.125
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def change(self, t: int) -> float:
        return 1 if self._is_initial else self.gamma

    def whole(self, t: int) -> float:
        return self.gamma**t


class PolynomialLR(Factors):
    """Times (1 - t / total_iters)^power: down to zero in total_iters epochs, and then it stays.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = PolynomialLR(optimizer, total_iters=4, power=2)
    >>> for _ in range(6): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    1.0 0.562 0.25 0.062 0.0 0.0
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def change(self, t: int) -> float:
        if self._is_initial or t > self.total_iters:
            return 1
        return ((1.0 - t / self.total_iters) / (1.0 - (t - 1) / self.total_iters)) ** self.power

    def whole(self, t: int) -> float:
        return (1.0 - min(self.total_iters, t) / self.total_iters) ** self.power


class Lambdas(LRScheduler):
    """A schedule with a function for each group. Functions are not saved; objects with `__call__` keep their attributes."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | list[Callable[[int], float]], last_epoch: int = -1
    ) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "lr_lambdas": [kept(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if attributes is not None:
                vars(function).update(attributes)


class LambdaLR(Lambdas):
    """The initial learning rate times lr_lambda(epoch).

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.)
    >>> scheduler = LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> for _ in range(3): optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> list[Any]:
        self._asked()
        return [lr * function(self.last_epoch) for function, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(Lambdas):
    """Multiplies the last learning rate by lr_lambda(epoch) every epoch, from epoch 1.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = MultiplicativeLR(optimizer, lambda epoch: 1 / epoch)
    >>> for _ in range(4): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    1.0 1.0 0.5 0.167
    """

    def get_lr(self) -> list[Any]:
        self._asked()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        return [group["lr"] * function(self.last_epoch) for function, group in zip(self.lr_lambdas, groups, strict=True)]
