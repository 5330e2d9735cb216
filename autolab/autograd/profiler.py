"""Where the time and the memory go, operation by operation, forward and backward.

While a profile is open, the engine hands it each operation of this thread to run, and lets it walk each backward pass: the same
generator that `.backward()` runs dry. Python itself costs more than small operations do, and shows up as the time of whatever it ran in.
"""

from __future__ import annotations

import functools
import threading
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from autolab.autograd.profiler_util import BACKWARD, EventList, FunctionEvent, FunctionEventAvg, _format_time
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "kineto_available", "profile", "record_function"]

ATEN = {"pow_scalar": "pow", "max_along": "max", "min_along": "min", "swapaxes": "transpose", "expand_dims": "unsqueeze", "rsub": "sub"}
format_time = _format_time


def kineto_available() -> bool:
    """False: PyTorch's Kineto is not part of this.

    >>> kineto_available()
    False
    """
    return False


def _profiler_enabled() -> bool:
    """True while a profile of this thread is open."""
    return modes.profiler is not None


class Recorder:
    """Writes events down while a profile is open."""

    def __init__(self, record_shapes: bool, profile_memory: bool, with_stack: bool) -> None:
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.events = EventList(profile_memory=profile_memory)
        self.began = time.perf_counter_ns()

    def now(self) -> tuple[float, int]:
        """Microseconds since the profile began, and bytes in use if those are wanted."""
        memory = tracemalloc.get_traced_memory()[0] if self.profile_memory else 0
        return (time.perf_counter_ns() - self.began) / 1e3, memory

    def add(self, name: str, start: tuple[float, int], **about: Any) -> FunctionEvent:
        """Write down an event that ends now."""
        end, memory = self.now()
        event = FunctionEvent(len(self.events), name, threading.get_ident(), start[0], end, cpu_memory_usage=memory - start[1], **about)
        self.events.append(event)
        return event

    def operation(self, op: Any, args: tuple[Any, ...], work: Callable[[], Any]) -> Any:
        """Run an operation and write it down."""
        stack = user_lines() if self.with_stack else ()
        shapes = [list(a.shape) if isinstance(a, Tensor) else [] for a in args] if self.record_shapes else None
        start = self.now()
        event = self.add(f"aten::{ATEN.get(op.name, op.name)}", start, input_shapes=shapes, fwd_thread=0, stack=stack)
        result = work()
        end, memory = self.now()
        event.time_range.end, event.cpu_memory_usage = end, memory - start[1]
        first = result[0] if isinstance(result, tuple) else result
        edge = getattr(first, "edge", None)
        if edge is not None and edge[0].op is op:
            event.sequence_nr = edge[0].seq
        return result

    def walk(self, steps: Iterator[Any]) -> Iterator[Any]:
        """Walk a backward pass and write down each node that fires."""
        start = self.now()
        for step in steps:
            node = step[0]
            about = {"sequence_nr": node.seq, "scope": BACKWARD, "fwd_thread": threading.get_ident()}
            outer = self.add(f"autograd::engine::evaluate_function: {node.name()}", start, **about)
            inner = self.add(node.name(), start, **about)
            inner.time_range.end, inner.cpu_memory_usage = outer.time_range.end, outer.cpu_memory_usage
            yield step
            start = self.now()


def user_lines() -> tuple[str, ...]:
    """The lines that are running, innermost first, without the package's own."""
    lines = [line for line in traceback.extract_stack() if "/autolab/" not in line.filename and not line.filename.startswith("<")]
    return tuple(f"{line.filename}({line.lineno}): {line.name}" for line in reversed(lines))


class profile:
    """Within it, every operation and every node of a backward pass of this thread is timed.

    record_shapes: also the shapes of the inputs. profile_memory: also the net change of memory, in bytes (NumPy's arrays and Python's
    objects, as tracemalloc sees them). with_stack: also the lines that called. Everything runs slower than without.

    >>> x = ones(100, 100, requires_grad=True)
    >>> with profile() as p:
    ...     (x @ x).sum().backward()
    >>> sorted(event.key for event in p.key_averages())[:3]
    ['MmBackward0', 'SumBackward0', 'aten::mm']
    >>> print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=3))
    -...
    """

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: Any = None, record_shapes: bool = False,
        with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
        use_kineto: bool = False, use_cpu: bool = True, **other: Any,
    ) -> None:  # fmt: skip
        if use_cuda or use_device not in (None, "cpu"):
            raise RuntimeError("there is only the CPU to profile: leave out use_cuda and use_device")
        self.enabled = enabled
        self.options = (record_shapes, profile_memory, with_stack)
        self.profile_memory = profile_memory
        self.recorder: Recorder | None = None
        self.finished = False

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self.recorder is not None:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.started_tracing = self.profile_memory and not tracemalloc.is_tracing()
        if self.started_tracing:
            tracemalloc.start()
        self.before, self.recorder = modes.profiler, Recorder(*self.options)
        modes.profiler = self.recorder
        modes.settle()
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.enabled or self.recorder is None:
            return
        modes.profiler = self.before
        modes.settle()
        if self.started_tracing:
            tracemalloc.stop()
        self.recorder.events._populate_cpu_children()
        self.finished = True

    @property
    def function_events(self) -> Any:
        """All events in the order in which they began; None before the block has ended."""
        return self._events() if self.finished else None

    def _events(self) -> EventList:
        if not self.finished or self.recorder is None:
            raise RuntimeError("Profiler didn't finish running: leave the `with` block first")
        return self.recorder.events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One average for each name."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self._events().total_average()

    def table(self, *args: Any, **options: Any) -> str:
        """`EventList.table` of all events."""
        return self._events().table(*args, **options)

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace for chrome://tracing or Perfetto."""
        self._events().export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events."""
        return self._events().self_cpu_time_total

    def __str__(self) -> str:
        return self._events().table() if self.finished else "<unfinished torch.autograd.profile>"

    __repr__ = __str__


class record_function:
    """Give a block, or a decorated function, a line of its own in the profile.

    >>> with profile() as p:
    ...     with record_function("my block"):
    ...         _ = ones(2) * 2
    >>> [child.name for child in p.function_events[0].cpu_children]
    ['aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.open: list[Any] = []

    def __enter__(self) -> record_function:
        recorder = modes.profiler
        self.open.append(recorder and (recorder, recorder.add(self.name, recorder.now(), is_user_annotation=True), recorder.now()))
        return self

    def __exit__(self, *exc: object) -> None:
        started = self.open.pop() if self.open else None
        if started:
            recorder, event, (_, memory) = started
            event.time_range.end, now = recorder.now()
            event.cpu_memory_usage = now - memory

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return inside


class _NoSuchTool:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} writes for a GPU vendor's tool, which sees nothing here: use profile().")


class emit_nvtx(_NoSuchTool):
    """Raises RuntimeError: NVTX is for NVIDIA's tools, which see nothing here.

    >>> emit_nvtx()
    Traceback (most recent call last):
        ...
    RuntimeError: emit_nvtx writes for a GPU vendor's tool, which sees nothing here: use profile().
    """


class emit_itt(_NoSuchTool):
    """Raises RuntimeError: ITT is for Intel's tools, which see nothing here.

    >>> emit_itt()
    Traceback (most recent call last):
        ...
    RuntimeError: emit_itt writes for a GPU vendor's tool, which sees nothing here: use profile().
    """
