"""GradScaler: keep small gradients out of float16's underflow by scaling the loss, and the scale as large as overflow permits.

Source: Micikevicius et al. 2018, Mixed Precision Training, section 3.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor, new_tensor

__all__ = ["GradScaler"]

READY, UNSCALED, STEPPED = "ready", "unscaled", "stepped"


class Round:
    """What was done for one optimizer since the last update()."""

    def __init__(self) -> None:
        self.stage = READY
        self.found_inf: bool | None = None  # None: not looked at yet


class GradScaler:
    """Scale a loss before backward, unscale the gradients before the step, skip steps with inf or nan, and adapt the scale.

        scaler = torch.amp.GradScaler()
        for x, y in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = loss_fn(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    device: "cuda" or "cpu", accepted and the same. init_scale: where the scale starts. After growth_interval steps in a row without
    inf or nan it is multiplied by growth_factor (> 1), after one with by backoff_factor (< 1). enabled: False makes scale(), unscale_()
    and update() do nothing and step() the optimizer's own.

    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), GradScaler(init_scale=1024.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([1024.])
    >>> scaler.step(optimizer); scaler.update()
    >>> w.detach()  # one step with the gradient 1024 / 1024
    tensor([0.5000])
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device, self._enabled = device, enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._growth_tracker = 0
        self._scale: Tensor | None = None  # made when something is first scaled
        self._rounds: dict[int, Round] = defaultdict(Round)

    def scale(self, outputs: Any) -> Any:
        """A tensor times the scale; or a list, tuple or iterator of them. Raises ValueError for anything else."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = new_tensor(np.float32(self._init_scale))
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled
        raise ValueError(f"outputs must be a Tensor or an iterable of Tensors, and got {type(outputs).__name__}")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, to look at or clip them before step().

        Raises RuntimeError for a second call before update(), ValueError for gradients in float16.
        """
        if not self._enabled:
            return
        inverse = np.float32(1.0 / float(self._checked("unscale_").payload))
        round_ = self._rounds[id(optimizer)]
        if round_.stage == UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if round_.stage == STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        for g in gradients:
            if g.payload.dtype == np.float16:
                raise ValueError(
                    "Attempting to unscale FP16 gradients. Keep the parameters in float32 (no model.half()): autocast casts them."
                )
        if gradients:
            round_.found_inf = not all(unscaled(g, inverse) for g in gradients)
        round_.stage = UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients, unless that was done, and optimizer.step() if they are all finite. Returns what that returns.

        Raises RuntimeError for a closure, and for a second call before update().
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._checked("step")
        round_ = self._rounds[id(optimizer)]
        if round_.stage == STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if round_.stage == READY:
            self.unscale_(optimizer)
        if round_.found_inf is None:
            raise AssertionError(
                "No inf checks were recorded for this optimizer. None of its parameters has a gradient: was backward() called?"
            )
        result = None if round_.found_inf else optimizer.step(*args, **kwargs)
        round_.stage = STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Let the scale grow or back off, at the end of each iteration; or set it to new_scale."""
        if not self._enabled:
            return
        scale = self._checked("update")
        if new_scale is not None:
            value = self._given(new_scale)
        else:
            found = [r.found_inf for r in self._rounds.values() if r.found_inf is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update. Call step(optimizer) or unscale_(optimizer) first.")
            value = self._adapted(scale.payload, any(found))
        self._scale = new_tensor(np.float32(value))
        self._rounds = defaultdict(Round)

    def _adapted(self, scale: Any, found_inf: bool) -> Any:
        if found_inf:
            self._growth_tracker = 0
            return scale * self._backoff_factor
        self._growth_tracker += 1
        if self._growth_tracker < self._growth_interval:
            return scale
        self._growth_tracker = 0
        with np.errstate(over="ignore"):
            grown = np.float32(scale * self._growth_factor)
        return grown if np.isfinite(grown) else scale

    def _given(self, new_scale: Any) -> float:
        if isinstance(new_scale, Tensor):
            if new_scale.payload.size != 1 or new_scale.requires_grad:
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with requires_grad=False."
                )
            return float(new_scale.payload.item())
        return float(new_scale)

    def _checked(self, name: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) "
                "earlier in the iteration."
            )
        return self._scale

    # -- looking and setting ---------------------------------------------------------------------------

    def get_scale(self) -> float:
        """The scale; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return float(self._init_scale if self._scale is None else self._scale.payload)

    def is_enabled(self) -> bool:
        """Whether it scales at all."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set by what the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale backs off."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set by what the scale backs off."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps in a row the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        return self._growth_tracker if self._enabled else 0

    def state_dict(self) -> dict[str, Any]:
        """All that has to be saved to go on later; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state. Raises RuntimeError for that of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale = new_tensor(np.float32(state_dict["scale"]))
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._rounds:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after scaler.update()."
                )
            state.update(_init_scale=self.get_scale(), _scale=None)
        return state


def unscaled(g: Tensor, inverse: Any) -> bool:
    """Multiply a gradient by 1 / scale in place. Returns whether all its entries were finite."""
    raw = g.writable_array()
    good = bool(np.isfinite(raw).all())
    with recording(False), np.errstate(all="ignore"):
        raw[...] = raw * inverse
    g.version[0] += 1
    return good
