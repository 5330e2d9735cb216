"""What programs ask of `torch.cuda` before they choose a device: there is none, and this says so."""

from __future__ import annotations

from typing import Any

from autolab.cuda import amp
from autolab.torch_api.generator import manual_seed

__all__ = [
    "amp", "current_device", "device_count", "empty_cache", "get_device_capability", "get_device_name", "get_device_properties",
    "get_rng_state", "get_rng_state_all", "ipc_collect", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "reset_peak_memory_stats",
    "set_device", "set_rng_state_all", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """False: autolab computes on the CPU."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no device that could."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed_all(seed: int) -> None:
    """Seed the random functions, as manual_seed does: there are no other devices."""
    manual_seed(seed)


def empty_cache() -> None:
    """Nothing: there is no cache."""


def synchronize(device: Any = None) -> None:
    """Nothing: every operation has ended when it returns."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0 bytes."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0 bytes."""
    return 0


def ipc_collect() -> None:
    """Nothing: there is nothing to collect."""


def get_rng_state_all() -> list[Any]:
    """An empty list: a state for each device, and there is none."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing for an empty list. Raises AssertionError for states of devices that there are not."""
    if len(list(new_states)):
        set_device(0)


def max_memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing: there is nothing to count."""


def _refused(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"Torch not compiled with CUDA enabled: cuda.{name}() needs a device, and autolab computes on the CPU.")

    function.__name__ = name
    function.__doc__ = "Raises AssertionError: there is no device."
    return function


current_device, set_device, get_rng_state = map(_refused, ("current_device", "set_device", "get_rng_state"))
get_device_name, get_device_properties = map(_refused, ("get_device_name", "get_device_properties"))
get_device_capability = _refused("get_device_capability")
