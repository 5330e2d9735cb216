"""The settings of optimizers: which values are in range, and which only choose among PyTorch's implementations."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor

# No setting of these may be negative; the name is the one in PyTorch's message.
NOT_NEGATIVE = {
    "lr": "learning rate", "eps": "epsilon value", "momentum": "momentum value", "weight_decay": "weight_decay value",
    "alpha": "alpha value", "lr_decay": "lr_decay value", "momentum_decay": "momentum_decay value",
    "initial_accumulator_value": "initial_accumulator_value value",
}  # fmt: skip


def settings(given: dict[str, Any], unchecked: tuple[str, ...] = ()) -> dict[str, Any]:
    """The settings among the arguments of an __init__ (its `locals()`), checked.

    `foreach`, `fused` and `capturable` choose among PyTorch's implementations of one result: kept for show. Raises ValueError for
    what is out of range, RuntimeError for contradictions, as PyTorch does.
    """
    found = {name: value for name, value in given.items() if name not in ("self", "params", "__class__")}
    foreach, fused = found.get("foreach"), found.get("fused")
    require_one_element(found["lr"])
    for name, value in found.items():
        if name in NOT_NEGATIVE and name not in unchecked and not 0 <= value:
            raise ValueError(f"Invalid {NOT_NEGATIVE[name]}: {value}")
    if "betas" in found:
        for i, beta in enumerate(found["betas"]):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    if found.get("differentiable") and fused:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    return found


def require_one_element(lr: Any) -> None:
    """A learning rate may be a tensor, which others hold and change, of one number."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"Tensor lr must be 1-element; this one has shape {list(lr.shape)}")
