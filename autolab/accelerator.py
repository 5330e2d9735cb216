"""What programs ask of `torch.accelerator` before they choose a device: there is none."""

from __future__ import annotations

from typing import Any

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """False: autolab computes on the CPU."""
    return False


def current_accelerator(check_available: bool = False) -> None:
    """None: there is no accelerator."""


def device_count() -> int:
    """0."""
    return 0


def synchronize(device: Any = None) -> None:
    """Nothing: every operation has ended when it returns."""
