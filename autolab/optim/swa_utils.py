"""Averages of weights: of the last epochs (SWA), or fading ones (EMA)."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from autolab.autograd.grad_mode import no_grad
from autolab.dtypes import int64
from autolab.engine.tensor import Tensor
from autolab.nn.modules.module import Module
from autolab.optim.lr_scheduler.base import LRScheduler, per_group
from autolab.optim.optimizer import Optimizer
from autolab.torch_api.creation import tensor

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """decay * average + (1 - decay) * parameter. Raises ValueError unless decay is in [0, 1].

    >>> get_ema_avg_fn(0.9)(tensor(10.), tensor(20.), 1)
    tensor(11.)
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return no_grad()(lambda average, parameter, averaged: decay * average + (1 - decay) * parameter)


def get_swa_avg_fn() -> Callable[..., Any]:
    """The plain mean of all that has been seen: average + (parameter - average) / (averaged + 1).

    >>> get_swa_avg_fn()(tensor(10.), tensor(20.), 4)  # the mean of four tens and a twenty
    tensor(12.)
    """
    return no_grad()(lambda average, parameter, averaged: average + (parameter - average) / (averaged + 1))


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """`get_ema_avg_fn`, written into lists of averages."""
    return on_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """`get_swa_avg_fn`, written into lists of averages."""
    return on_lists(get_swa_avg_fn())


def on_lists(average: Callable[..., Any]) -> Callable[..., None]:
    @no_grad()
    def update(averages: list[Tensor], parameters: list[Tensor], averaged: Any) -> None:
        for old, new in zip(averages, parameters, strict=True):
            old.copy_(average(old, new, averaged))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's, as of each `update_parameters(model)`.

    The mean by default; avg_fn(average, parameter, averaged) or multi_avg_fn (on lists) say otherwise. Buffers are averaged if
    use_buffers, else copied. Calling it calls the copy. Source: Izmailov et al. 2018.
    Raises AssertionError if both functions are given.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> average = AveragedModel(model)
    >>> for value in (1., 2., 6.):
    ...     _ = nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average.module.weight.item(), average.n_averaged.item()
    (3.0, 3)
    """

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., None] | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The averaged model's answer."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the averages."""
        pairs = list(zip(self._averaged_of(self.module), self._averaged_of(model)))
        if self.n_averaged == 0:
            for average, new in pairs:
                average.copy_(new.detach())
        elif self.multi_avg_fn is not None:
            for dtype in dict.fromkeys(average.dtype for average, _ in pairs):
                same = [(a.detach(), p.detach()) for a, p in pairs if a.dtype == dtype]
                self.multi_avg_fn([a for a, _ in same], [p for _, p in same], self.n_averaged)
        else:
            function = self.avg_fn or get_swa_avg_fn()
            for average, new in pairs:
                average.copy_(function(average.detach(), new.detach(), self.n_averaged))
        if not self.use_buffers:
            for ours, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                ours.copy_(theirs)
        self.n_averaged += 1

    def _averaged_of(self, model: Module) -> Iterable[Any]:
        return itertools.chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's BatchNorm layers anew, from one pass over the data.

    Averaged weights have activations that no training step has seen. A batch may be an input, or a list that begins with one.

    >>> model = torch.nn.BatchNorm1d(1)
    >>> update_bn([tensor([[1.], [3.]]), tensor([[5.], [7.]])], model)
    >>> model.running_mean
    tensor([4.])
    """
    layers = {m: m.momentum for m in model.modules() if any("BatchNorm" in c.__name__ for c in type(m).__mro__)}
    if not layers:
        return
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the mean over all batches
    for batch in loader:
        first = batch[0] if isinstance(batch, list | tuple) else batch
        model(first if device is None else first.to(device))
    for layer, momentum in layers.items():
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the present learning rate to swa_lr in anneal_epochs, along a cosine or a line; then it stays.

    Raises ValueError for another strategy or a negative number of epochs.

    >>> optimizer = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = SWALR(optimizer, swa_lr=0.2, anneal_epochs=4, anneal_strategy="linear")
    >>> for _ in range(6): optimizer.step(); print(round(scheduler.get_last_lr()[0], 3), end=" "); scheduler.step()
    1.0 0.8 0.6 0.4 0.2 0.2
    """

    def __init__(
        self, optimizer: Optimizer, swa_lr: float, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        for lr, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """How much of the way is behind after so many steps."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        """The rates at this step, from those of the step before: so another schedule may act on them too."""
        self._asked()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now, rates = self._part(step - 1), self._part(step), []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
