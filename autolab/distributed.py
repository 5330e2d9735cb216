"""What programs ask of `torch.distributed` before they use several processes: it is not available, and the rest refuses."""

from __future__ import annotations

from typing import Any

__all__ = [
    "all_gather", "all_reduce", "barrier", "broadcast", "destroy_process_group", "get_rank", "get_world_size", "init_process_group",
    "is_available", "is_initialized", "is_nccl_available", "is_torchelastic_launched", "reduce",
]  # fmt: skip


def is_available() -> bool:
    """False: autolab computes in one process."""
    return False


def is_initialized() -> bool:
    """False: there is no group of processes."""
    return False


def is_nccl_available() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False


def _refused(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"distributed.{name}() needs a group of processes, and autolab computes in one. Run the program without its launcher "
            "(no RANK in the environment); DataLoader(num_workers=...) loads data in others."
        )

    function.__name__ = name
    function.__doc__ = "Raises RuntimeError: there is no group of processes."
    return function


all_gather, all_reduce, barrier, broadcast = map(_refused, ("all_gather", "all_reduce", "barrier", "broadcast"))
destroy_process_group, get_rank, get_world_size = map(_refused, ("destroy_process_group", "get_rank", "get_world_size"))
init_process_group, reduce = map(_refused, ("init_process_group", "reduce"))
