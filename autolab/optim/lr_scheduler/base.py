"""What all schedulers share: when they step, what they keep, how they are saved."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.optim.optimizer import Optimizer

HOW = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is used "
    "instead of the new chainable form, where available."
)


class LRScheduler:
    """Base class: a subclass says in `get_lr` what the learning rates of the groups are at epoch `last_epoch`.

    Making one takes its first step, to epoch 0; with last_epoch >= 0 it goes on from there, and the groups must have an
    "initial_lr". Then call `step()` after the optimizer's steps. A learning rate that is a tensor is written to in place.
    Raises TypeError for what is not an Optimizer, KeyError if "initial_lr" is missing.

    >>> class HalfwayLR(LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2 if self.last_epoch else base for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = HalfwayLR(optimizer)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr(), optimizer.param_groups[0]["lr"]
    ([0.5], 0.5)
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0. "
                    "Load the optimizer's state first, or begin with last_epoch=-1."
                )
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The learning rates of the groups at `last_epoch`; to look at them, use `get_last_lr`."""
        raise NotImplementedError(f"{type(self).__name__} must say in get_lr() what the learning rates are at last_epoch")

    def get_last_lr(self) -> list[Any]:
        """The learning rates that the last step set, one for each group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch (or to `epoch`, which is deprecated) and set the learning rates."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, "
                    f"make sure to call `optimizer.step()` before `lr_scheduler.step()`. {HOW}",
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
                    f"otherwise the first value of the learning rate schedule is skipped. {HOW}",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = getattr(self, "_get_closed_form_lr", None) if epoch is not None else None
        self._set(self._inside(closed or self.get_lr))

    def _inside(self, get: Callable[[], list[Any]]) -> list[Any]:
        """What `get_lr` gives when it is asked by a step, and so need not warn."""
        self._get_lr_called_within_step = True
        try:
            return get()
        finally:
            self._get_lr_called_within_step = False

    def _set(self, rates: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            put(group, "lr", lr)
        self._last_lr = values(self.optimizer, "lr")

    def _asked(self) -> None:
        """Warn who calls `get_lr` from outside a step."""
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=3)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer. Save the optimizer's own state as well."""
        return {key: value for key, value in vars(self).items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where the saved one was."""
        vars(self).update(state_dict)


def require_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def watch_steps(optimizer: Optimizer) -> None:
    """Let the optimizer remember that it has stepped, to notice a scheduler that steps first."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function, alive = optimizer.step.__func__, weakref.ref(optimizer)  # type: ignore[attr-defined]

    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        self = alive()
        self._opt_called = True  # type: ignore[union-attr]
        return function(self, *args, **kwargs)

    watched._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = watched  # type: ignore[method-assign]


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def values(optimizer: Optimizer, key: str) -> list[Any]:
    """A setting of every group; tensors are copied, so that nobody writes into the optimizer's."""
    return [copied(group[key]) for group in optimizer.param_groups]


def put(group: dict[str, Any], key: str, value: Any) -> None:
    """Set a group's value; a tensor is written to, so that who holds it sees the new number."""
    if isinstance(group[key], Tensor):
        group[key].fill_(float(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each group: a list as it is, a number for all."""
    groups = len(optimizer.param_groups)
    if isinstance(value, list | tuple):
        if len(value) != groups:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {groups}."
            )
        return [copied(v) for v in value]
    return [copied(value) for _ in range(groups)]


def kept(function: Any) -> dict[str, Any] | None:
    """What a saved state keeps of a function: the attributes of an object that is called, None for a plain function."""
    return dict(vars(function)) if hasattr(function, "__dict__") and not hasattr(function, "__code__") else None
