"""Schedules that rise and fall: cosines, cycles, one cycle. Some take momentum the other way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from autolab.optim.lr_scheduler.base import LRScheduler, kept, per_group, put, require_optimizer
from autolab.optim.optimizer import Optimizer


def half_wave(high: Any, low: Any, part: float) -> Any:
    """From high (part 0) to low (part 1), along half a wave of the cosine."""
    return low + (high - low) * (1 + math.cos(math.pi * part)) / 2


class CosineAnnealingLR(LRScheduler):
    """From the initial learning rate to eta_min in T_max epochs, along half a wave of the cosine; then up again.

    Source: Loshchilov and Hutter 2017, without restarts.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CosineAnnealingLR(optimizer, T_max=4)
    >>> for _ in range(6): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    1.0 0.854 0.5 0.146 0.0 0.146
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._asked()
        t, low, groups = self.last_epoch, self.eta_min, self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        if self._step_count == 1 and t > 0:
            return self._get_closed_form_lr()
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:  # just off the bottom, where the ratio below is 0 / 0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [group["lr"] + (base - low) * rise for base, group in zip(self.base_lrs, groups, strict=True)]
        ratio = (1 + math.cos(math.pi * t / self.T_max)) / (1 + math.cos(math.pi * (t - 1) / self.T_max))
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        return [half_wave(base, self.eta_min, self.last_epoch / self.T_max) for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a wave of the cosine down to eta_min in T_0 epochs, again and again; each time T_mult times as long.

    step(epoch) may be given parts of an epoch. Source: Loshchilov and Hutter 2017. Raises ValueError for settings out of range.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
    >>> for _ in range(7): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    1.0 0.5 1.0 0.854 0.5 0.146 1.0
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_i: float = T_0
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._asked()
        return [half_wave(base, self.eta_min, self.T_cur / self.T_i) for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, which may lie between two."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:  # n restarts lie T_0 (1 + T_mult + ... + T_mult^(n-1)) epochs back
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._set(self._inside(self.get_lr))


class MomentumCycle(LRScheduler):
    """A schedule that may also move the momentum of its groups (of Adam and its variants: the first beta)."""

    def _begin_momentum(self, base: Any, top: Any, first: bool) -> tuple[list[Any], list[Any]]:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults
        bases, tops = per_group("base_momentum", self.optimizer, base), per_group("max_momentum", self.optimizer, top)
        if first:
            for low, high, group in zip(bases, tops, self.optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return bases, tops

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(MomentumCycle):
    """Up from base_lr to max_lr in step_size_up steps, down in step_size_down, again and again; momentum the other way.

    mode: "triangular" keeps the height, "triangular2" halves it each cycle, "exp_range" takes gamma^step; or scale_fn, a function
    of the cycle or of the step (scale_mode "cycle" or "iterations"). Source: Smith 2017.
    Raises ValueError for an unknown mode, or for momentum where the optimizer has none.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2, cycle_momentum=False)
    >>> for _ in range(6): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    0.0 0.5 1.0 0.5 0.0 0.5
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float], step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
        base_momentum: float = 0.8, max_momentum: float = 0.9, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        require_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                put(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        down = float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = step_size_up + down
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"mode is invalid and scale_fn is None: {mode!r} is not 'triangular', 'triangular2' or 'exp_range'")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode, self.cycle_momentum = scale_mode, cycle_momentum
        if cycle_momentum:
            first = last_epoch == -1
            self.base_momentums, self.max_momentums = self._begin_momentum(base_momentum, max_momentum, first)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height at cycle or step x, as a share of the full height."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 2.0 ** (1 - x), "exp_range": self.gamma**x}[self.mode]

    def get_lr(self) -> list[Any]:
        self._asked()
        t = self.last_epoch
        cycle = math.floor(1 + t / self.total_size)
        x = 1.0 + t / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        part *= self.scale_fn(cycle if self.scale_mode == "cycle" else t)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True):
                self._set_momentum(group, high - (high - low) * part)
        return [low + (high - low) * part for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_scale_fn_custom": kept(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            vars(self._scale_fn_custom).update(state_dict["_scale_fn_custom"])


class OneCycleLR(MomentumCycle):
    """One cycle: up to max_lr in the first pct_start of all steps, then down to next to nothing; momentum the other way.

    It begins at max_lr / div_factor and ends at that divided by final_div_factor; three_phase comes down to the beginning first.
    total_steps, or epochs and steps_per_epoch, say how long it is. Source: Smith and Topin 2019 (super-convergence).
    Raises ValueError for settings out of range, and for a step after the last.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = OneCycleLR(optimizer, max_lr=1.0, total_steps=6, cycle_momentum=False)
    >>> for _ in range(6): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    0.04 0.994 0.812 0.463 0.133 0.0
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None, epochs: int | None = None,
        steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos", cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95, div_factor: float = 25.0,
        final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        require_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        lengths = {"epochs": epochs, "steps_per_epoch": steps_per_epoch} if total_steps is None else {"total_steps": total_steps}
        for name, length in lengths.items():
            if not isinstance(length, int) or length <= 0:
                raise ValueError(f"Expected positive integer {name}, but got {length}")
        self.total_steps = math.prod(lengths.values())  # type: ignore[arg-type]
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        top, end = float(pct_start * self.total_steps), self.total_steps - 1
        ways = [(top - 1, "initial_lr", "max_lr", "max", "base"), (2 * top - 2, "max_lr", "initial_lr", "base", "max"),
                (end, "initial_lr", "min_lr", "max", "max")]  # fmt: skip
        if not three_phase:
            ways[1:] = [(end, "max_lr", "min_lr", "base", "max")]
        self._schedule_phases: list[dict[str, Any]] = [
            {"end_step": step, "start_lr": a, "end_lr": b, "start_momentum": f"{c}_momentum", "end_momentum": f"{d}_momentum"}
            for step, a, b, c, d in ways
        ]
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, per_group("max_lr", optimizer, max_lr), strict=True):
                group["initial_lr"], group["max_lr"] = lr / div_factor, lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._asked()
        t, start = self.last_epoch, 0.0
        if t > self.total_steps:
            raise ValueError(f"Tried to step {t} times. The specified number of total steps is {self.total_steps}")
        for phase in self._schedule_phases:
            if t <= phase["end_step"]:
                break
            start = phase["end_step"] if phase is not self._schedule_phases[-1] else start
        part = (t - start) / (phase["end_step"] - start)
        way = half_wave if self._anneal_func_type == "cos" else lambda a, b, part: (b - a) * part + a
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(way(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                self._set_momentum(group, way(group[phase["start_momentum"]], group[phase["end_momentum"]], part))
        return rates
