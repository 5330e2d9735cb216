"""What all optimizers share: parameter groups, state, zero_grad, state_dict."""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor, fresh


class Optimizer:
    """Base class. A subclass says in `update` how one parameter moves, on raw arrays and in place.

    params: tensors, or dicts with "params" and settings of their own (parameter groups).
    `state` holds, for each parameter that has moved, tensors by name; `param_groups` the parameters and settings.
    Raises ValueError for an empty list or a tensor that is not a leaf, TypeError for what is not a Tensor.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor. "
                "Put the one tensor into a list."
            )
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Tensor]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._scratch: dict[Any, Any] = {}
        groups = ordered(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list. If it came from model.parameters(): an iterator can be walked only once, "
                "and modules are found only if they are attributes of a Module."
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Add parameters with settings of their own; what is not set is as the optimizer was made."""
        if not isinstance(group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(group)}")
        params = group["params"]
        params = [params] if isinstance(params, Tensor) else ordered(params)
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not p.is_leaf:
                raise ValueError(
                    "can't optimize a non-leaf Tensor: this one was computed, and would be computed anew from what made it. "
                    "Optimize its leaves, or detach() it and call requires_grad_()."
                )
        own = {id(p) for p in params}
        if len(own) < len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error. "
                "Such a parameter moves twice in each step.",
                stacklevel=3,
            )
        if any(id(p) in own for g in self.param_groups for p in g["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append({**self.defaults, **group, "params": params})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients (or write zeros into them)."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p._grad is None:
                    p._grad = None
                else:
                    p._grad.detach_().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient. `closure`, if given, computes the loss again and returns it."""
        loss = None
        if closure is not None:
            with recording(True):
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    x, g = p.payload, p._grad.payload
                    if type(x) is not np.ndarray:  # a 0-d parameter is a number, which cannot be written to
                        x, g = p.box(), np.asarray(g)
                    if x.itemsize >= 4:
                        self.update(p, x, g, group)
                    else:  # half precision has too few digits for sums of squares: compute in float32, round once
                        wide = x.astype(np.float32)
                        self.update(p, wide, g.astype(np.float32), group)
                        x[...] = wide
                    p.version[0] += 1
        return loss

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """Move x, the array of parameter p, in place, given its gradient g (not to be written to)."""
        raise NotImplementedError(f"{type(self).__name__} must say in update(p, x, g, group) how a parameter moves")

    def scratch(self, x: Any, number: int = 0) -> Any:
        """An array like x to compute in: steps are limited by memory, and fresh memory is the slowest."""
        key = number, x.dtype, x.shape
        found = self._scratch.get(key)
        if found is None:
            found = self._scratch[key] = np.empty_like(x)
        return found

    def regularized(self, x: Any, g: Any, group: dict[str, Any]) -> Any:
        """The gradient as the step uses it: sign turned for `maximize`, weight_decay * x added."""
        u = self.scratch(x, 1)
        np.multiply(x, group["weight_decay"], out=u)
        return np.subtract(u, g, out=u) if group["maximize"] else np.add(u, g, out=u)

    def state_dict(self) -> dict[str, Any]:
        """The state by parameter number, and the groups with numbers for parameters. The tensors are not copied."""
        numbers = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        return {
            "state": {numbers[id(p)]: dict(s) for p, s in self.state.items()},
            "param_groups": [{**g, "params": [numbers[id(p)] for p in g["params"]]} for g in self.param_groups],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a copy of the state and settings saved by `state_dict`. Raises ValueError if the groups do not match."""
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError(
                f"loaded state dict has a different number of parameter groups: {len(groups)}, expected {len(self.param_groups)}"
            )
        for own, saved in zip(self.param_groups, groups):
            if len(own["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                    f"{len(saved['params'])} parameters, expected {len(own['params'])}"
                )
        for own, saved in zip(self.param_groups, groups):
            own.update(copy.deepcopy({k: v for k, v in saved.items() if k != "params"}))
        params = {
            i: p for own, saved in zip(self.param_groups, groups) for p, i in zip(own["params"], saved["params"])
        }
        self.state = defaultdict(dict)
        for i, s in state_dict["state"].items():
            self.state[params[i]] = copy.deepcopy(s)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join([*lines, ")"])


def ordered(params: Iterable[Any]) -> list[Any]:
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
            "between runs. Please use a list instead."
        )
    return list(params)


def zeros_like(x: Any) -> Tensor:
    """State that starts at zero."""
    return fresh(np.zeros_like(x))


def not_offered(**settings: Any) -> dict[str, Any]:
    """Settings of PyTorch's that choose among its implementations: kept for show, refused if they would change the result."""
    if settings.get("differentiable"):
        raise NotImplementedError("steps write in place and are not recorded, so differentiable=True is not offered")
    return settings
