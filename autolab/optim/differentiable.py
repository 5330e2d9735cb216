"""Steps that are recorded: differentiable=True, for gradients through what an optimizer did.

Each function is the `update` of the optimizer of its name, said with operations on tensors: x, the gradient g, the optimizer's state of x
(which it replaces), the number t of this step, the settings of the group. It returns where x moves to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from autolab import dtypes
from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor, new_tensor
from autolab.torch_api.complex_numbers import view_as_complex, view_as_real
from autolab.torch_api.pointwise import clamp, clone, maximum, sign, sqrt, to, where

Settings = dict[str, Any]


def _toward(state: Settings, name: str, value: Any, share: Any) -> Any:
    """A running mean in the state, moved by a share of its way to a value."""
    state[name] = state[name] + (value - state[name]) * share
    return state[name]


def sgd(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    momentum = group["momentum"]
    if momentum:
        before = state.get("momentum_buffer")
        v = clone(g) if before is None else before * momentum + g * (1 - group["dampening"])
        state["momentum_buffer"] = v
        g = g + v * momentum if group["nesterov"] else v
    return x - g * group["lr"]


def asgd(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    lr, lambd, eta, mu = float(group["lr"]), group["lambd"], state["eta"].item(), state["mu"].item()
    x = x * (1 - lambd * eta) - g * eta
    state["ax"] = clone(x) if mu == 1 else state["ax"] + (x - state["ax"]) * mu
    after = lr / (1 + lambd * lr * t) ** group["alpha"], 1 / max(1, t - group["t0"])
    state["eta"], state["mu"] = (new_tensor(dtypes.default.floating.type(number)) for number in after)
    return x


def adam(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    b1, b2 = group["betas"]
    m, v = _toward(state, "exp_avg", g, 1 - b1), _toward(state, "exp_avg_sq", g * g, 1 - b2)
    if group["amsgrad"]:
        v = state["max_exp_avg_sq"] = maximum(state["max_exp_avg_sq"], v)
    return x - m / (sqrt(v) / (1 - b2**t) ** 0.5 + group["eps"]) * (group["lr"] / (1 - b1**t))


def adamax(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    b1, b2 = group["betas"]
    m = _toward(state, "exp_avg", g, 1 - b1)
    largest = state["exp_inf"] = maximum(state["exp_inf"] * b2, g.abs() + group["eps"])
    return x - m / largest * (group["lr"] / (1 - b1**t))


def nadam(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    b1, b2 = group["betas"]
    m, v = _toward(state, "exp_avg", g, 1 - b1), _toward(state, "exp_avg_sq", g * g, 1 - b2)
    now, following = (b1 * (1 - 0.5 * 0.96 ** (k * group["momentum_decay"])) for k in (t, t + 1))
    state["mu_product"] = state["mu_product"] * now
    total = state["mu_product"].item()
    root, lr = sqrt(v / (1 - b2**t)) + group["eps"], group["lr"]
    return x - g / root * (lr * (1 - now) / (1 - total)) - m / root * (lr * following / (1 - total * following))


def radam(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    b1, b2 = group["betas"]
    m, v = _toward(state, "exp_avg", g, 1 - b1), _toward(state, "exp_avg_sq", g * g, 1 - b2)
    correction, longest = 1 - b2**t, 2 / (1 - b2) - 1
    length = longest - 2 * t * b2**t / correction
    step = m * (group["lr"] / (1 - b1**t))
    if length <= 5:
        return x - step
    trust = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
    return x - step / (sqrt(v) + group["eps"]) * (trust * math.sqrt(correction))


def adagrad(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    total = state["sum"] = state["sum"] + g * g
    return x - g / (sqrt(total) + group["eps"]) * (group["lr"] / (1 + (t - 1) * group["lr_decay"]))


def rmsprop(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    share = 1 - group["alpha"]
    v = _toward(state, "square_avg", g * g, share)
    if group["centered"]:
        mean = _toward(state, "grad_avg", g, share)
        v = v - mean * mean
    step = g / (sqrt(v) + group["eps"])
    if group["momentum"] > 0:
        step = state["momentum_buffer"] = state["momentum_buffer"] * group["momentum"] + step
    return x - step * group["lr"]


def adadelta(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    eps, share = group["eps"], 1 - group["rho"]
    v = _toward(state, "square_avg", g * g, share)
    step = sqrt(state["acc_delta"] + eps) / sqrt(v + eps) * g
    _toward(state, "acc_delta", step * step, share)
    return x - step * group["lr"]


def rprop(x: Any, g: Any, state: Settings, t: int, group: Settings) -> Any:
    (shrink, grow), same = group["etas"], (g * state["prev"]).detach()
    size = state["step_size"]
    factor = where(same > 0, size * grow, where(same < 0, size * shrink, size))
    state["step_size"] = clamp(factor, *group["step_sizes"])
    state["prev"] = where(same < 0, g * 0, g)
    return x - sign(state["prev"]) * state["step_size"]


# The function of an optimizer, and what its state holds at the start: zeros like x, and numbers.
STEPS: dict[str, tuple[Callable[..., Any], Callable[[Settings], list[str]], Callable[[Settings], Settings]]] = {
    "SGD": (sgd, lambda group: [], lambda group: {}),
    "ASGD": (asgd, lambda group: ["ax"], lambda group: {"eta": float(group["lr"]), "mu": 1}),
    "Adam": (adam, lambda group: ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * bool(group["amsgrad"]), lambda group: {}),
    "Adamax": (adamax, lambda group: ["exp_avg", "exp_inf"], lambda group: {}),
    "NAdam": (nadam, lambda group: ["exp_avg", "exp_avg_sq"], lambda group: {"mu_product": 1}),
    "RAdam": (radam, lambda group: ["exp_avg", "exp_avg_sq"], lambda group: {}),
    "Adagrad": (adagrad, lambda group: ["sum"], lambda group: {}),
    "RMSprop": (
        rmsprop,
        lambda group: ["square_avg"] + ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * bool(group["centered"]),
        lambda group: {},
    ),
    "Adadelta": (adadelta, lambda group: ["square_avg", "acc_delta"], lambda group: {}),
    "Rprop": (rprop, lambda group: ["prev", "step_size"], lambda group: {}),
}


def recorded_step(optimizer: Any, p: Tensor, group: Settings) -> None:
    """Move p by operations that are recorded. Raises RuntimeError for a leaf that requires grad: its old value would be lost."""
    name = next(cls.__name__ for cls in type(optimizer).__mro__ if cls.__name__ in STEPS)
    step, names, numbers = STEPS[name]
    with recording(True):
        x: Any = clone(p)
        g: Any = p._grad
        if p.payload.dtype in dtypes.COMPLEX:
            x, g = view_as_real(x), view_as_real(g)
        elif p.payload.itemsize < 4:
            x, g = to(x, dtypes.float32), to(g, dtypes.float32)
        if name == "Adagrad" and not optimizer.state.get(p):  # in a group that was added later
            optimizer.start(p, x.payload, group)
        state, t = (optimizer.state[p], 0) if name == "SGD" else optimizer.begun(p, x.payload, *names(group), **numbers(group))
        if name == "Rprop" and t == 1:
            state["step_size"] = state["step_size"] + group["lr"]
        g = -g if group["maximize"] else g
        decay: Any = group.get("weight_decay", 0)
        if group.get("decoupled_weight_decay"):
            x = x * (1 - group["lr"] * decay)
        elif isinstance(decay, Tensor) or decay:
            g = g + x * decay
        new = step(x, g, state, t, group)
        p.copy_(view_as_complex(new) if p.payload.dtype in dtypes.COMPLEX else new)
