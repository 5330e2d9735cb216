"""`torch.cpu`: the place where everything is."""

from __future__ import annotations

from typing import Any

from autolab.cpu import amp

__all__ = ["amp", "current_device", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """The name of the device, "cpu"."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Nothing: every operation has ended when it returns."""
