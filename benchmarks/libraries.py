"""Who takes part: each library's programs by workload, if it is installed."""

from collections.abc import Callable
from importlib import import_module

from benchmarks import by_hand, minimal_engine, minimal_second_order
from benchmarks.torch_api import programs
from benchmarks.workloads import WORKLOADS, Data, Program

Programs = dict[str, Callable[[Data], Program]]


def with_torch_api(name: str) -> Programs:
    module = import_module(name)
    if name == "torch":
        module.set_num_threads(1)
    return programs(module)


def compiled() -> Programs:
    """autolab again, each step through autolab.compile (deep stays in eager mode: it has too many operations)."""
    import autolab

    return programs(autolab, autolab.compile)


def machine_code() -> Programs:
    """The same with loops compiled by numba, if that is installed."""
    import autolab
    from autolab.compiler import machine  # noqa: F401 - raises ImportError if it is not

    return programs(autolab, lambda step: autolab.compile(step, backend="numba"))


LIBRARIES: dict[str, Callable[[], Programs]] = {
    "numpy": lambda: {name: getattr(by_hand, name) for name in WORKLOADS},
    "minimal": lambda: {**minimal_engine.PROGRAMS, "hvp": minimal_second_order.hvp},
    "torch": lambda: with_torch_api("torch"),
    "autolab": lambda: with_torch_api("autolab"),
    "compiled": compiled,
    "numba": machine_code,
    "autograd": lambda: import_module("benchmarks.autograd_api").PROGRAMS,
    "mygrad": lambda: import_module("benchmarks.mygrad_api").PROGRAMS,
}


def installed(wanted: list[str] | None = None) -> tuple[dict[str, Programs], dict[str, str]]:
    """The programs of each library that is here, and why the others are not."""
    here, absent = {}, {}
    for name in wanted or LIBRARIES:
        try:
            here[name] = LIBRARIES[name]()
        except ImportError as error:
            absent[name] = f"cannot be imported: {error}"
    return here, absent
