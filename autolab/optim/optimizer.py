"""What all optimizers share: parameter groups, state, steps and their hooks, zero_grad, state_dict."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.modes import modes, recording
from autolab.engine.tensor import RemovableHandle, Tensor, new_tensor
from autolab.fast.flat import step_at_once
from autolab.rules.complex_numbers import pairs

EVERYWHERE: tuple[dict[int, Any], dict[int, Any]] = OrderedDict(), OrderedDict()  # hooks before and after any optimizer's step


class Required:
    """The default of a setting that every group must name: `required`."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()
PLACES = "before_step", "after_step", "before_save", "after_save", "before_load", "after_load"


class Optimizer:
    """Base class. A subclass says in `update` how one parameter moves, on raw arrays and in place.

    params: tensors, pairs (name, tensor), or dicts with "params" and settings of their own (parameter groups).
    `state` holds, for each parameter that has moved, tensors by name; `param_groups` the parameters and settings.
    A subclass written for PyTorch, with a `step` of its own on tensors, works as well.
    Raises ValueError for an empty list or a tensor that is not a leaf, TypeError for what is not a Tensor.

    >>> class SignSGD(Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...     def update(self, p, x, g, group):
    ...         x -= group["lr"] * np.sign(g)
    >>> w = torch.ones(2, requires_grad=True)
    >>> (w * tensor([3., -0.5])).sum().backward()
    >>> SignSGD([w]).step()
    >>> w.detach()
    tensor([0.9000, 1.1000])
    """

    takes_complex = True
    entrywise = False  # whether `update` treats every entry by itself, whatever the shape: then small parameters move at once
    in_pairs = (
        True  # whether `update` sees a complex parameter, its gradient and its state as pairs of real numbers, along a last axis of 2
    )

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor. "
                "Put the one tensor into a list."
            )
        self.defaults = defaults
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._prepare()
        groups = ordered(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list. If it came from model.parameters(): an iterator can be walked only once, "
                "and modules are found only if they are attributes of a Module."
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = hooked(cls.step)  # type: ignore[method-assign]

    def _prepare(self) -> None:
        self._scratch: dict[Any, Any] = {}
        self._numbers: dict[Any, Any] = {}
        self._flat: dict[int, Any] = {}
        self._stepping = False
        self._hooks: dict[str, dict[int, Any]] = {place: OrderedDict() for place in PLACES}

    # -- groups --------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own; what is not set is as the optimizer was made."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        params = [params] if isinstance(params, Tensor) else ordered(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        if names and len(names) != len(params):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing: "
                f"{len(names)} names for {len(params)} parameters"
            )
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if p.payload.dtype in dtypes.COMPLEX and not self.takes_complex and type(self).step is Optimizer.step:
                raise TypeError(
                    f"{type(self).__name__} does not support complex parameters; Adam and SGD do. Or let the parameters be pairs of real "
                    "numbers, and compute with torch.view_as_complex(pairs)."
                )
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
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
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for group in self.param_groups:
            if ("param_names" in group) != ("param_names" in param_group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if names else 'without'} names to the optimizer"
                )
            if any(id(p) in own for p in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, value)
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients (or write zeros into them)."""
        if modes.tracer is not None:
            modes.tracer.again(lambda: self.zero_grad(set_to_none), "zero_grad()", not set_to_none)
            return
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p._grad is None:
                    p._grad = None
                else:
                    p._grad.detach_().zero_()

    # -- steps ---------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient. `closure`, if given, computes the loss again and returns it."""
        loss = None
        if closure is not None:
            with recording(True):
                loss = closure()
        update = self.update
        for number, group in enumerate(self.param_groups):
            if group.get("differentiable"):
                from autolab.optim.differentiable import recorded_step  # loaded when first used

                for p in group["params"]:
                    if p._grad is not None:
                        recorded_step(self, p, group)
                continue
            for p in step_at_once(self, number, group) if self.entrywise else group["params"]:
                grad = p._grad
                if grad is not None:
                    x, g = p.payload, grad.payload
                    if type(x) is not np.ndarray:  # a 0-d parameter is a number, which cannot be written to
                        x, g = p.writable_array(), np.asarray(g)
                    if x.dtype.kind == "c" and self.in_pairs:
                        update(p, pairs(x), pairs(g), group)
                    elif x.itemsize >= 4:
                        update(p, x, g, group)
                    else:  # half precision has too few digits for sums of squares: compute in float32, round once
                        wide = x.astype(np.float32)
                        update(p, wide, g.astype(np.float32), group)
                        x[...] = wide
                    p.version[0] += 1
        return loss

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """Move x, the array of parameter p, in place, given its gradient g (not to be written to)."""
        raise NotImplementedError(f"{type(self).__name__} must say in update(p, x, g, group) how a parameter moves")

    def begun(self, p: Tensor, x: Any, *names: str, **numbers: Any) -> tuple[dict[str, Any], int]:
        """The state of p, made at its first step: arrays of zeros like x, and numbers. Counts the step."""
        state = self.state[p]
        if not state:
            state["step"] = scalar(0)
            state.update({name: scalar(value) for name, value in numbers.items()})
            state.update({name: new_tensor(np.zeros_like(x)) for name in names})
        step = state["step"]
        step.payload = step.payload + step.payload.dtype.type(1)
        return state, int(step.payload)

    def scratch(self, x: Any, number: int = 0) -> Any:
        """An array like x to compute in: steps are limited by memory, and fresh memory is the slowest."""
        key = number, x.dtype, x.shape
        found = self._scratch.get(key)
        if found is None:
            found = self._scratch[key] = np.empty_like(x)
        return found

    def number(self, value: Any, x: Any) -> Any:
        """A number as a 0-d array of the dtype of x. NumPy multiplies by that in half the time that a Python number takes it."""
        key = value if type(value) is float else float(value), x.dtype
        found = self._numbers.get(key)
        if found is None:
            if len(self._numbers) > 100:  # a learning rate that changes at each step
                self._numbers.clear()
            found = self._numbers[key] = np.asarray(*key)
        return found

    def regularized(self, x: Any, g: Any, group: dict[str, Any]) -> Any:
        """The gradient as the step uses it: sign turned for `maximize`, weight_decay * x added (or x shrunk, if decoupled)."""
        decay = group.get("weight_decay", 0)
        if not (decay or group["maximize"]):
            return g
        u = self.scratch(x, 1)
        if decay and group.get("decoupled_weight_decay"):
            x *= 1 - float(group["lr"]) * float(decay)
            return np.negative(g, out=u) if group["maximize"] else g
        np.multiply(x, float(decay), out=u)
        return np.subtract(u, g, out=u) if group["maximize"] else np.add(u, g, out=u)

    # -- saving ----------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The state by parameter number, and the groups with numbers for parameters. The tensors are not copied."""
        for hook in self._hooks["before_save"].values():
            hook(self)
        numbers: dict[int, int] = {}
        for i, p in enumerate(p for g in self.param_groups for p in g["params"]):
            numbers.setdefault(id(p), i)
        saved: dict[str, Any] = {
            "state": {numbers[id(p)] if isinstance(p, Tensor) else p: dict(s) for p, s in self.state.items()},
            "param_groups": [],
        }
        for g in self.param_groups:
            settings = {k: v for k, v in g.items() if k != "params"}
            saved["param_groups"].append({**settings, "params": [numbers[id(p)] for p in g["params"]]})
        for after in self._hooks["after_save"].values():
            saved = after(self, saved) or saved
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a copy of the state and settings saved by `state_dict`. Raises ValueError if the groups do not match.

        State takes the dtype that a parameter's steps are computed in; step counts stay as they are.
        """
        state_dict = dict(state_dict)
        for before in self._hooks["before_load"].values():
            state_dict = before(self, state_dict) or state_dict
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
        params = {i: p for own, saved in zip(self.param_groups, groups) for p, i in zip(own["params"], saved["params"])}
        state: dict[Any, Any] = defaultdict(dict)
        for i, s in state_dict["state"].items():
            state[params.get(i, i)] = taken_over(s, params[i]) if i in params else copy.deepcopy(s)
        param_groups = []
        for own, saved in zip(self.param_groups, groups):
            group = copy.deepcopy({k: v for k, v in saved.items() if k != "params"})
            if "param_names" in own:
                group.setdefault("param_names", own["param_names"])
            param_groups.append({**group, "params": own["params"]})
        self.__setstate__({"state": state, "param_groups": param_groups})
        for after in self._hooks["after_load"].values():
            after(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_hooks" not in vars(self):
            self._prepare()
        self._flat = {}
        for group in self.param_groups:  # a setting that an older file does not know is as it is by default
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * (i > 0) + [f"Parameter Group {i}"]
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join([*lines, ")"])

    # -- hooks -----------------------------------------------------------------------------------------

    def _hook(self, place: str, hook: Callable[..., Any], first: bool = False) -> RemovableHandle:
        handle = RemovableHandle(self._hooks[place], hook)
        if first:
            self._hooks[place].move_to_end(handle.id, last=False)  # type: ignore[attr-defined]
        return handle

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; it may return new (args, kwargs)."""
        return self._hook("before_step", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step."""
        return self._hook("after_step", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) before `state_dict` looks."""
        return self._hook("before_save", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) on what `state_dict` is about to return; it may return another."""
        return self._hook("after_save", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) on a shallow copy of the state, before it is loaded; it may return another."""
        return self._hook("before_load", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) once a state has been loaded."""
        return self._hook("after_load", hook, prepend)


def hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with its hooks before and after it."""

    @functools.wraps(step)
    def with_hooks(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if modes.tracer is not None:
            return modes.tracer.again(lambda: with_hooks(self, *args, **kwargs), f"{type(self).__name__}.step()", bool(args or kwargs))
        if self._stepping:  # a subclass calls the step that it builds on
            return step(self, *args, **kwargs)
        hooks = self._hooks
        if not (hooks["before_step"] or hooks["after_step"] or EVERYWHERE[0] or EVERYWHERE[1]):
            return step(self, *args, **kwargs)
        for before in chain(EVERYWHERE[0].values(), hooks["before_step"].values()):
            got = before(self, args, kwargs)
            if got is not None:
                if not (isinstance(got, tuple) and len(got) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {got}.")
                args, kwargs = got
        self._stepping = True
        try:
            result = step(self, *args, **kwargs)
        finally:
            self._stepping = False
        for after in chain(hooks["after_step"].values(), EVERYWHERE[1].values()):
            after(self, args, kwargs)
        return result

    return with_hooks


Optimizer.step = hooked(Optimizer.step)  # type: ignore[method-assign]


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) before each step of every optimizer."""
    return RemovableHandle(EVERYWHERE[0], hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) after each step of every optimizer."""
    return RemovableHandle(EVERYWHERE[1], hook)


def ordered(params: Iterable[Any]) -> list[Any]:
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
            "between runs. Please use a list instead."
        )
    if callable(getattr(params, "parameters", None)) and not isinstance(params, Iterable):
        raise TypeError(f"'{type(params).__name__}' object is not iterable: pass its parameters, model.parameters().")
    return list(params)


def scalar(value: float) -> Tensor:
    """A number of the state: a 0-d tensor, as PyTorch keeps it."""
    return new_tensor(dtypes.default.floating.type(value))


def taken_over(value: Any, p: Tensor, name: Any = None) -> Any:
    """A copy of a loaded state of p, in the dtype that its steps are computed in."""
    if isinstance(value, Tensor):
        raw = np.array(value.payload)
        if name != "step" and raw.dtype in dtypes.FLOATING:
            raw = raw.astype(np.float32 if p.payload.itemsize < 4 else p.payload.dtype)
        return new_tensor(raw[()])
    if isinstance(value, dict):
        return {k: taken_over(v, p, k) for k, v in value.items()}
    return [taken_over(v, p) for v in value] if isinstance(value, list) else copy.deepcopy(value)
