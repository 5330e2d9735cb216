"""What programs ask of `torch.xpu`: there is no such device."""

from __future__ import annotations

from autolab.torch_api.generator import manual_seed

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def empty_cache() -> None:
    """Nothing: there is no cache."""


def synchronize() -> None:
    """Nothing: every operation has ended when it returns."""
