"""The first calls of a row go the general way: to write its functions out takes as long as they save in many calls.

A script that calls a row ten times never pays for more; one that trains pays once. Both ways give the same numbers, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from autolab.engine.modes import modes
from autolab.engine.op import Op, Plan
from autolab.fast.kernels import load_kernels

FIRST_CALLS = 32

Function = Callable[..., Any]


def loaded_with_first_call(module: str, name: str) -> Function:
    """A function of a module that is loaded when the function is first called."""
    function: Function | None = None

    def call(*args: Any, **options: Any) -> Any:
        nonlocal function
        if function is None:
            function = getattr(import_module(module), name)
        return function(*args, **options)

    return call


compile_forward = loaded_with_first_call("autolab.fast.row", "compile_forward")
compile_run = loaded_with_first_call("autolab.fast.row", "compile_run")


def counted(general: Function, write: Callable[[], Function | None], settle: Callable[[Function], None]) -> Function:
    """What does the same as `general`, and with its last counted call puts what `write` gives in its own place, by `settle`."""
    if not FIRST_CALLS:
        return write() or general
    function, left = general, FIRST_CALLS

    def run(*args: Any, **options: Any) -> Any:
        nonlocal left
        if modes.tracer is None:  # what it notes goes the general way in any case
            left -= 1
            if not left:
                settled()
        return function(*args, **options)

    def settled() -> None:
        nonlocal function, left
        function, left = write() or general, 0
        settle(function)

    run.write = settled  # type: ignore[attr-defined]
    return run


def is_counted(function: Any) -> bool:
    """Whether another function will come in the place of this one, with `function.write()` at the latest."""
    return hasattr(function, "write")


def forward(op: Op, general: Function, settle: Callable[[Function], None], otherwise: Function | None = None) -> Function:
    """`op.run`."""
    load_kernels(op)
    return counted(general, lambda: compile_forward(op, otherwise), settle)


def run(op: Op, plan: Plan, general: Function, settle: Callable[[Function], None]) -> Function:
    """`run` of a class of nodes."""
    return counted(general, lambda: compile_run(op, plan), settle)
