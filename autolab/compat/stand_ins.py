"""PyTorch's modules about devices, compilers and processes that are not here: one table of what each of their names gives.

`import autolab.cuda` and `torch.backends.cudnn.benchmark = True` work: a module is made from the table when it is first asked for. A
function has a line of text, what runs, and an example of a call: its arguments and what comes back. A string in place of a table is the
module of autolab that is there under another name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from textwrap import indent
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, Final

from autolab.torch_api.generator import manual_seed


def refusal(error: type[Exception], why: str, text: str, call: str = "()") -> tuple[str, Callable[..., Any], str, str]:
    """The entry of a function that raises this."""

    def function(*args: Any, **kwargs: Any) -> Any:
        raise error(text)

    said = f"Traceback (most recent call last):\n    ...\n{error.__name__}: {text}"
    return f"Raises {error.__name__}: {why}.", function, call, said


def seed_device(seed: int) -> None:
    """`torch.manual_seed`, which is the seed of all devices. Returns nothing.

    >>> torch.cuda.manual_seed(3)
    """
    manual_seed(seed)


AVAILABLE = {"is_available": ("False: autolab computes on the CPU.", lambda: False, "()", "False")}
BUILT = {"is_built": ("False: autolab computes on the CPU.", lambda: False, "()", "False")}
DEVICE = {
    "device_count": ("0: there is no such device.", lambda: 0, "()", "0"),
    "synchronize": ("Nothing: every operation has ended when it returns.", lambda device=None: None, "()", ""),
}
MEMORY = {"empty_cache": ("Nothing: there is no cache.", lambda: None, "()", ""), "manual_seed": seed_device}


def set_rng_state_all(new_states: Any) -> None:
    """Nothing for an empty list. Raises AssertionError for states of devices that there are not.

    >>> torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    """
    if len(list(new_states)):
        no_cuda("set_device")[1]()


def no_cuda(name: str) -> tuple[str, Callable[..., Any], str, str]:
    text = f"Torch not compiled with CUDA enabled: cuda.{name}() needs a device, and autolab computes on the CPU."
    return refusal(AssertionError, "there is no device", text)


CUDA = {
    **AVAILABLE, **DEVICE, **MEMORY,
    "current_device": no_cuda("current_device"),
    "get_device_capability": no_cuda("get_device_capability"),
    "get_device_name": no_cuda("get_device_name"),
    "get_device_properties": no_cuda("get_device_properties"),
    "get_rng_state": no_cuda("get_rng_state"),
    "get_rng_state_all": ("An empty list: a state for each device, and there is none.", lambda: [], "()", "[]"),  # noqa: PIE807 - a function without arguments
    "ipc_collect": ("Nothing: there is nothing to collect.", lambda: None, "()", ""),
    "is_bf16_supported": ("False: there is no device that could.", lambda including_emulation=True: False, "()", "False"),
    "is_initialized": ("False: there is no device to prepare.", lambda: False, "()", "False"),
    "manual_seed_all": seed_device,
    "max_memory_allocated": ("0 bytes: there is no device memory.", lambda device=None: 0, "()", "0"),
    "max_memory_reserved": ("0 bytes: there is no device memory.", lambda device=None: 0, "()", "0"),
    "memory_allocated": ("0 bytes: there is no device memory.", lambda device=None: 0, "()", "0"),
    "memory_reserved": ("0 bytes: there is no device memory.", lambda device=None: 0, "()", "0"),
    "reset_peak_memory_stats": ("Nothing: there is nothing to count.", lambda device=None: None, "()", ""),
    "set_device": no_cuda("set_device"),
    "set_rng_state_all": set_rng_state_all,
}  # fmt: skip
ACCELERATOR = {
    **AVAILABLE, **DEVICE,
    "current_accelerator": ("None: there is no accelerator.", lambda check_available=False: None, "() is None", "True"),
}  # fmt: skip
CPU = {
    "current_device": ('The name of the device, "cpu".', lambda: "cpu", "()", "'cpu'"),
    "device_count": ("1: the CPU is one device.", lambda: 1, "()", "1"),
    "is_available": ("True: everything is computed there.", lambda: True, "()", "True"),
    "synchronize": DEVICE["synchronize"],
}


# Kernels of attention: all mean the same sums.
attention_kernels = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


def switch(kernel: str) -> dict[str, Any]:
    def enable(enabled: bool) -> None:
        attention_kernels[kernel] = bool(enabled)

    return {
        f"enable_{kernel}_sdp": ("Remember a choice of kernel, which changes nothing.", enable, "(True)", ""),
        f"{kernel}_sdp_enabled": ("What was chosen last, True at first.", lambda: attention_kernels[kernel], "()", "True"),
    }


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """`nn.attention.sdpa_kernel` under its old name: choices of kernel for a block.

    >>> with torch.backends.cuda.sdp_kernel(enable_flash=False):
    ...     torch.backends.cuda.flash_sdp_enabled()
    False
    >>> torch.backends.cuda.flash_sdp_enabled()
    True
    """
    before = dict(attention_kernels)
    attention_kernels.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        attention_kernels.update(before)


BACKENDS_CUDA = {
    **BUILT, **switch("cudnn"), **switch("flash"), **switch("math"), **switch("mem_efficient"),
    "matmul": SimpleNamespace(
        allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True),
    "preferred_linalg_library": ("LAPACK, whatever is preferred.", lambda backend=None: "default", "()", "'default'"),
    "sdp_kernel": sdp_kernel,
}  # fmt: skip


@contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False, allow_tf32: bool = True,
    fp32_precision: str = "none", depthwise_kernel: str = "auto",
) -> Iterator[None]:  # fmt: skip
    """Settings of cuDNN for a block: they can be read there, and change nothing.

    >>> with torch.backends.cudnn.flags(enabled=False):
    ...     torch.backends.cudnn.enabled
    False
    >>> torch.backends.cudnn.enabled
    True
    """
    chosen = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32}
    cudnn = vars(importlib.import_module("autolab.backends.cudnn"))
    before = {name: cudnn[name] for name in chosen}
    cudnn.update(chosen)
    try:
        yield
    finally:
        cudnn.update(before)


CUDNN = {
    **AVAILABLE, "flags": flags, "allow_tf32": False, "benchmark": False, "deterministic": True, "enabled": True,
    "version": ("None: cuDNN is not here.", lambda: None, "() is None", "True"),
}  # fmt: skip


def no_group(name: str) -> dict[str, Any]:
    text = (
        f"distributed.{name}() needs a group of processes, and autolab computes in one. Run the program without its launcher "
        "(no RANK in the environment); DataLoader(num_workers=...) loads data in others."
    )
    return {name: refusal(RuntimeError, "there is no group of processes", text)}


DISTRIBUTED = {
    "is_available": ("False: autolab computes in one process.", lambda: False, "()", "False"),
    "is_initialized": ("False: there is no group of processes.", lambda: False, "()", "False"),
    "is_nccl_available": ("False: there is no device to talk to.", lambda: False, "()", "False"),
    "is_torchelastic_launched": ("False: there is no group of processes.", lambda: False, "()", "False"),
    **no_group("all_gather"), **no_group("all_reduce"), **no_group("barrier"), **no_group("broadcast"),
    **no_group("destroy_process_group"), **no_group("get_rank"), **no_group("get_world_size"), **no_group("init_process_group"),
    **no_group("reduce"),
}  # fmt: skip


def no_archive(name: str, call: str, instead: str) -> tuple[str, Callable[..., Any], str, str]:
    text = f"torch.jit.{name}: autolab has no TorchScript archives. {instead}"
    return refusal(RuntimeError, "there are no TorchScript archives", text, call)


ITSELF = ("The function itself: Python functions run as they are.", lambda fn: fn, "(lambda x: x * x)(3)", "9")
MODULE_ITSELF = (
    "The module itself: Python functions run as they are.",
    lambda mod, *args, **kwargs: mod,
    "(torch.nn.ReLU())(torch.tensor(-1.0))",
    "tensor(0.)",
)
JIT = {
    "Attribute": ("The value, whatever its type is said to be.", lambda value, type: value, "(3, int)", "3"),
    "Final": Final,
    "annotate": ("The value, whatever its type is said to be.", lambda the_type, the_value: the_value, "(int, 3)", "3"),
    "export": ITSELF,
    "fork": ("The result, computed at once.", lambda func, *args, **kwargs: func(*args, **kwargs), "(len, [7, 8, 9])", "3"),
    "freeze": MODULE_ITSELF,
    "ignore": (
        "As decorator, with or without arguments: the function itself.",
        lambda drop=False, **kwargs: drop if callable(drop) else lambda function: function,
        "(drop=True)(lambda x: x * x)(3)",
        "9",
    ),
    "is_scripting": ("False: nothing is compiled by TorchScript.", lambda: False, "()", "False"),
    "is_tracing": ("False: nothing is compiled by TorchScript.", lambda: False, "()", "False"),
    "load": no_archive("load", "('model.pt')", "Build the model and load its weights: model.load_state_dict(torch.load(path))."),
    "optimize_for_inference": MODULE_ITSELF,
    "save": no_archive("save", "(torch.nn.ReLU(), 'model.pt')", "Save the weights: torch.save(model.state_dict(), path)."),
    "script": (
        "The function, module or class itself.",
        lambda obj, *args, **kwargs: obj,
        "(torch.nn.ReLU())(torch.tensor(-1.0))",
        "tensor(0.)",
    ),
    "script_if_tracing": ITSELF,
    "script_method": ITSELF,
    "trace": (
        "The function or module itself: nothing is recorded, so branches stay branches.",
        lambda func, example_inputs=None, *args, **kwargs: func,
        "(lambda x: x * x, torch.ones(1))(torch.tensor([3.0]))",
        "tensor([9.])",
    ),
    "unused": ITSELF,
    "wait": ("The result, which fork has computed.", lambda future: future, "(torch.jit.fork(len, [7, 8, 9]))", "3"),
    "_overload": ITSELF,
    "_overload_method": ITSELF,
}


def wrap(fn_or_name: Any) -> Any:
    """What it gets: a function that a tracer would leave whole. Raises RuntimeError for what is neither a function nor a name.

    >>> torch.fx.wrap(len) is len
    True
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name


MODULES: dict[str, Any] = {
    "autolab._C": "autolab.compat.c_module",
    "autolab.accelerator": ("What programs ask of `torch.accelerator` before they choose a device: there is none.", ACCELERATOR),
    "autolab.backends": (
        "What programs set and ask about kernels: settings are taken and change nothing, and what is asked for is not there.",
        {name: f"autolab.backends.{name}" for name in ("cuda", "cudnn", "mkldnn", "mps")},
    ),
    "autolab.backends.cuda": ("CUDA is not there. Its switches can be set, and change nothing.", BACKENDS_CUDA),
    "autolab.backends.cudnn": ("cuDNN is not there. Its switches can be set, and change nothing.", CUDNN),
    "autolab.backends.mkldnn": ("oneDNN is not used: NumPy brings its own BLAS.", AVAILABLE),
    "autolab.backends.mps": ("Metal is not used.", {**AVAILABLE, **BUILT}),
    "autolab.cpu": ("`torch.cpu`: the place where everything is.", {"amp": "autolab.cpu.amp", **CPU}),
    "autolab.cpu.amp": "autolab.compat.cpu_amp",
    "autolab.cuda": (
        "What programs ask of `torch.cuda` before they choose a device: there is none, and this says so.",
        {"amp": "autolab.cuda.amp", **CUDA},
    ),
    "autolab.cuda.amp": "autolab.compat.cuda_amp",
    "autolab.distributed": (
        "What programs ask of `torch.distributed` before they use several processes: it is not available, and the rest refuses.",
        DISTRIBUTED,
    ),
    "autolab.fx": (
        "Of PyTorch's graphs of programs, the mark that libraries put on their functions. `autolab.trace.record` shows the graph of a run.",
        {"wrap": wrap},
    ),
    "autolab.hub": "autolab.compat.hub",
    "autolab.jit": ("TorchScript's decorators: Python functions run as they are, so each gives back what it gets.", JIT),
    "autolab.multiprocessing": "autolab.compat.processes",
    "autolab.random": "autolab.torch_api.generator",
    "autolab.mps": ("What programs ask of `torch.mps`: there is no such device.", {**DEVICE, **MEMORY}),
    "autolab.xpu": ("What programs ask of `torch.xpu`: there is no such device.", {**AVAILABLE, **DEVICE, **MEMORY}),
}


def make_function(module: str, name: str, text: str, entry: Any, call: str, result: str) -> FunctionType:
    """A function of the table for one of its modules: its name, and a docstring with the example."""
    function = FunctionType(entry.__code__, entry.__globals__, name, entry.__defaults__, entry.__closure__)
    example = f">>> {module.replace('autolab', 'torch', 1)}.{name}{call}\n{result}"
    function.__doc__ = f"{text}\n\n{indent(example, '    ')}\n    "
    function.__qualname__ = name
    return function


class StandIn(Loader):
    """Fills a module from its table."""

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__, contents = MODULES[module.__name__]
        module.__dict__["__all__"] = sorted(name for name in contents if not name.startswith("_"))
        for name, value in contents.items():
            if isinstance(value, str):
                value = importlib.import_module(value)
            elif isinstance(value, tuple):
                value = make_function(module.__name__, name, *value)
            setattr(module, name, value)


class Alias(Loader):
    """Gives a module of autolab under another name: the same module."""

    def __init__(self, module: str) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.module)
        self.spec = module.__spec__  # the import system is about to put another there
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


def find_spec(fullname: str) -> ModuleSpec | None:
    """How to make a module of the table; None if it has no such module."""
    entry = MODULES.get(fullname)
    if entry is None:
        return None
    return ModuleSpec(fullname, Alias(entry) if isinstance(entry, str) else StandIn(), is_package=True)
