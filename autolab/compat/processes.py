"""`torch.multiprocessing`: Python's multiprocessing, and `spawn`. Tensors travel between processes as copies.

from torch import multiprocessing as mp

mp.spawn(train, args=(2,), nprocs=2)  # train(0, 2) and train(1, 2)
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing import *  # noqa: F403 - all of it, under PyTorch's name
from typing import Any

__all__ = [
    *multiprocessing.__all__, "ProcessExitedException", "ProcessRaisedException", "get_all_sharing_strategies", "get_sharing_strategy",
    "set_sharing_strategy", "spawn", "start_processes",
]  # fmt: skip


class ProcessRaisedException(Exception):
    """A process that `spawn` started raised an exception: its traceback is in the message."""


class ProcessExitedException(Exception):
    """A process that `spawn` started ended by itself, with an exit code that is not 0."""


def get_all_sharing_strategies() -> set[str]:
    """How tensors may get to other processes: as copies, through files.

    >>> get_all_sharing_strategies()
    {'file_system'}
    """
    return {"file_system"}


def get_sharing_strategy() -> str:
    """How tensors get to other processes.

    >>> get_sharing_strategy()
    'file_system'
    """
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Taken, and changes nothing: tensors travel as copies."""


def _run(fn: Callable[..., Any], rank: int, args: tuple[Any, ...], errors: Any) -> None:
    import sys
    import traceback

    try:
        fn(rank, *args)
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        errors.put((rank, traceback.format_exc()))
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> Any:  # fmt: skip
    """Run fn(0, *args), fn(1, *args) ... in processes of their own.

    join: wait for all of them; otherwise the list of processes is returned. Raises ProcessRaisedException with the traceback of the
    first that raised, ProcessExitedException for one that ended with another exit code than 0; the others are ended then.
    """
    context: Any = multiprocessing.get_context(start_method)
    errors = context.SimpleQueue()
    processes = [context.Process(target=_run, args=(fn, rank, args, errors), daemon=daemon) for rank in range(nprocs)]
    for process in processes:
        process.start()
    if not join:
        return processes
    waiting = set(processes)
    while waiting:
        multiprocessing.connection.wait([process.sentinel for process in waiting])
        ended = {process for process in waiting if not process.is_alive()}
        waiting -= ended
        for process in ended:
            process.join()
        failed = next((process for process in ended if process.exitcode), None)
        if failed is not None:
            for process in waiting:
                process.terminate()
                process.join()
            if not errors.empty():
                rank, text = errors.get()
                raise ProcessRaisedException(f"\n\n-- Process {rank} terminated with the following error:\n{text}")
            raise ProcessExitedException(f"process {processes.index(failed)} terminated with exit code {failed.exitcode}")
    return None


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False) -> Any:
    """`start_processes` with new interpreters: fn has to be importable there, so it is a function of a module."""
    return start_processes(fn, args, nprocs, join, daemon)
