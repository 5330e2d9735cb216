"""What all optimizers share: parameter groups, state, zero_grad, state_dict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor


class Optimizer:
    """Base class. A subclass says in `update` how one parameter moves, on raw arrays and in place.

    params: tensors, or dicts with "params" and settings of their own (parameter groups).
    Raises ValueError for an empty list, TypeError for what is not a Tensor, ValueError for a tensor that is not a leaf.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor"
            )
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Add parameters with settings of their own."""
        group = {**self.defaults, **group}
        params = group["params"]
        group["params"] = params = [params] if isinstance(params, Tensor) else list(params)
        known = {id(p) for g in self.param_groups for p in g["params"]}
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients (or write zeros into them)."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p._grad = None
                elif p._grad is not None:
                    p._grad = p._grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient. `closure`, if given, computes the loss again and returns it."""
        loss = None
        if closure is not None:
            with recording(True):
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    self.update(p.box(), np.asarray(p._grad.payload), self.state[p], group)
                    p.version[0] += 1
        return loss

    def update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Move the array p, given its gradient g (not to be written to), in place."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """The state by parameter number, and the groups with numbers for parameters."""
        numbers = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        return {
            "state": {numbers[id(p)]: dict(s) for p, s in self.state.items()},
            "param_groups": [{**g, "params": [numbers[id(p)] for p in g["params"]]} for g in self.param_groups],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over state and settings saved by `state_dict`. Raises ValueError if the groups do not match."""
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for own, saved in zip(self.param_groups, groups):
            if len(own["params"]) != len(saved["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
            own.update({k: v for k, v in saved.items() if k != "params"})
        params = [p for g in self.param_groups for p in g["params"]]
        self.state = defaultdict(dict)
        for i, s in state_dict["state"].items():
            self.state[params[i]] = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in s.items()}

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join([*lines, ")"])
