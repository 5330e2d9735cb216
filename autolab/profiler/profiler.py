"""A profile of some steps of a loop: wait, warm up, record, hand over, and again."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from autolab.autograd import profiler
from autolab.autograd.profiler_util import EventList

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]


class ProfilerActivity(enum.Enum):
    """What there is to profile: the CPU. CUDA and XPU are names that PyTorch knows.

    >>> with profile(activities=[ProfilerActivity.CPU]) as p:
    ...     _ = torch.ones(2).exp()
    >>> [event.key for event in p.key_averages() if "exp" in event.key]
    ['aten::exp']
    """

    CPU = 0
    XPU = 1
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What a profile does in a step; RECORD_AND_SAVE is the last step of those that are recorded.

    >>> [action.name for action in ProfilerAction]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled: {ProfilerActivity.CPU}.

    >>> [activity.name for activity in supported_activities()]
    ['CPU']
    """
    return {ProfilerActivity.CPU}


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Callable[[int], ProfilerAction]:
    """What to do in each step: skip the first, then wait, warm up and record, over and over (`repeat` times, 0: for ever).

    Raises AssertionError for negative numbers and for nothing to record.

    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments: none may be negative, and `active` must be at least 1")
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError("step must be non-negative")
        cycle, place = divmod(step - skip_first, length)
        if step < skip_first or (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[Any], None]:
    """For on_trace_ready: write each trace into a folder, as JSON under a name of its own. Raises NotImplementedError for use_gzip.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(on_trace_ready=tensorboard_trace_handler(folder, "worker")) as p:
    ...         _ = torch.ones(2).exp()
    ...     print([name.startswith("worker") and name.endswith(".json") for name in os.listdir(folder)])
    [True]
    """
    if use_gzip:
        raise NotImplementedError("tensorboard_trace_handler writes plain JSON: leave out use_gzip")

    def handler(p: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        p.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handler


class profile:
    """Profile the steps of a loop that a schedule names (default: all); call `.step()` after each.

    activities: only ProfilerActivity.CPU. on_trace_ready(profile) is called when the recorded steps are over. record_shapes,
    profile_memory and with_stack as in `autograd.profiler.profile`.

    >>> x = ones(3, requires_grad=True)
    >>> with profile(schedule=schedule(wait=1, warmup=0, active=1)) as p:
    ...     for _ in range(2):
    ...         (x * x).sum().backward()
    ...         p.step()
    >>> [event.count for event in p.key_averages() if event.key == "MulBackward0"]
    [1]
    """

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, **other: Any,
    ) -> None:  # fmt: skip
        wanted = set(activities) if activities is not None else supported_activities()
        if ProfilerActivity.CPU not in wanted:
            raise AssertionError("No valid profiler activities found: there is only ProfilerActivity.CPU")
        self.options = {"record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack}
        self.plan, self.scheduled = schedule or always, schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.profiler: profiler.profile | None = None
        self._mark: profiler.record_function | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin, as `with` does."""
        self._begin()

    def stop(self) -> None:
        """End, as `with` does."""
        if self._end() and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """Say that a step of the loop is over."""
        save = self.plan(self.step_num) is ProfilerAction.RECORD_AND_SAVE
        self._close_mark()
        self.step_num += 1
        if save and self._end() and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        self._begin()

    def _begin(self) -> None:
        if self.plan(self.step_num) not in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            return
        if self.profiler is None or self.profiler.finished:
            self.profiler = profiler.profile(**self.options).__enter__()
        if self.scheduled:
            self._mark = profiler.record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def _close_mark(self) -> None:
        if self._mark is not None:
            self._mark.__exit__()
            self._mark = None

    def _end(self) -> bool:
        self._close_mark()
        if self.profiler is None or self.profiler.finished:
            return False
        self.profiler.__exit__()
        return True

    def _recorded(self) -> EventList:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized: the schedule has not recorded a step yet")
        return self.profiler._events()

    def events(self) -> EventList:
        """All events of the steps recorded last."""
        return self._recorded()

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One average for each name."""
        return self._recorded().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace for chrome://tracing or Perfetto."""
        self._recorded().export_chrome_trace(path)
