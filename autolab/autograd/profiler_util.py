"""What a profile is made of: events with a start and an end, their averages, the table, and the trace for a browser."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]

FORWARD, BACKWARD = "forward", "backward"


def _format_time(time_us: float) -> str:
    """A time given in microseconds, in the unit that suits it."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    return f"{time_us / 1e3:.3f}ms" if time_us >= 1e3 else f"{time_us:.3f}us"


def _format_memory(nbytes: int) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


class Interval:
    """From `start` to `end`, in microseconds since the profile began."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """How long it took."""
        return self.end - self.start


class _Times:
    """What one event and an average of events have in common: the numbers of the table."""

    key: str
    count: int
    device_time_total = 0.0  # there is no other device
    cpu_time_total: float
    self_cpu_time_total: float

    @property
    def cpu_time(self) -> float:
        """Microseconds for one call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return _format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return _format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return _format_time(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One operation that ran, one node that fired, or one block named by record_function.

    Times in microseconds; `cpu_memory_usage` is the net change of memory in bytes, freed memory counting negative; `sequence_nr` is the
    number that a forward operation and its node in the backward pass share, -1 without one.

    >>> event = FunctionEvent(0, "aten::mm", thread=1, start_us=10.0, end_us=12.5)
    >>> event.name, event.cpu_time_total, event.cpu_time_str
    ('aten::mm', 2.5, '2.500us')
    """

    count = 1

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, *, node_id: int = -1, fwd_thread: int | None = None,
        input_shapes: Any = None, cpu_memory_usage: int = 0, sequence_nr: int = -1, scope: str = FORWARD, stack: Any = (),
        overload_name: str = "", is_async: bool = False, is_user_annotation: bool = False,
    ) -> None:  # fmt: skip
        self.id, self.name, self.key, self.thread, self.node_id = id, name, name, thread, node_id
        self.time_range = Interval(start_us, end_us)
        self.fwd_thread, self.input_shapes, self.stack = fwd_thread, input_shapes or [], stack
        self.sequence_nr, self.scope = sequence_nr, scope
        self.cpu_memory_usage, self.is_async, self.is_user_annotation = cpu_memory_usage, is_async, is_user_annotation
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds with all that ran within."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds without what ran within."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Net change of memory in bytes, without what ran within."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name} {self.cpu_time_str} from {self.time_range.start:.1f}us, thread {self.thread}>"


class FunctionEventAvg(_Times):
    """The sum of events of one name; `cpu_time` is their average.

    >>> average = FunctionEventAvg()
    >>> for end in (12.0, 14.0):
    ...     _ = average.add(FunctionEvent(0, "aten::mm", thread=1, start_us=10.0, end_us=end))
    >>> average.key, average.count, average.cpu_time_total, average.cpu_time
    ('aten::mm', 2, 6.0, 3.0)
    """

    def __init__(self) -> None:
        self.key, self.count, self.scope = "", 0, FORWARD
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = None
        self.cpu_parent: Any = None

    def add(self, other: Any) -> FunctionEventAvg:
        """Count another event, or another average, in."""
        if not self.key:
            self.key, self.scope, self.input_shapes, self.cpu_parent = other.key, other.scope, other.input_shapes, other.cpu_parent
        for number in ("count", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, number, getattr(self, number) + getattr(other, number))
        return self

    def __iadd__(self, other: Any) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return f"<FunctionEventAvg {self.key}: {self.count} calls, {self.cpu_time_total_str}>"


class EventList(list[Any]):
    """Events, or averages of them, with the questions that one asks of a profile.

    >>> with torch.autograd.profiler.profile() as p:
    ...     _ = torch.ones(2).exp().exp()
    >>> [(average.key, average.count) for average in p.function_events.key_averages() if average.key == "aten::exp"]
    [('aten::exp', 2)]
    """

    def __init__(self, events: Iterable[Any] = (), *, profile_memory: bool = False, use_device: Any = None) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory

    def _populate_cpu_children(self) -> None:
        """Find out which event ran within which: on one thread, the innermost that holds all of it."""
        for thread in {event.thread for event in self}:
            within: list[FunctionEvent] = []
            mine = [event for event in self if event.thread == thread]
            for event in sorted(mine, key=lambda event: (event.time_range.start, -event.time_range.end, event.id)):
                while within and event.time_range.end > within[-1].time_range.end:
                    within.pop()
                while within and event.time_range.start >= within[-1].time_range.end and event.time_range.elapsed_us() > 0:
                    within.pop()
                if within:
                    within[-1].cpu_children.append(event)
                    event.cpu_parent = within[-1]
                within.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One average for each name (and each set of input shapes, and each innermost n lines of the stack)."""
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shape else ""
            groups.setdefault((event.key, shapes, tuple(event.stack[:group_by_stack_n])), FunctionEventAvg()).add(event)
        if not group_by_input_shape:
            for average in groups.values():
                average.input_shapes = None
        return EventList(groups.values(), profile_memory=self._profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int = 55,
        max_shapes_column_width: int = 80, header: str | None = None, top_level_events_only: bool = False,
    ) -> str:  # fmt: skip
        """The table: a line for each event, at most row_limit of them (-1: all), those with most of `sort_by` first.

        sort_by: cpu_time, cpu_time_total, self_cpu_time_total, cpu_memory_usage, self_cpu_memory_usage or count; None keeps the order.
        Raises AttributeError for anything else.
        """
        events = [event for event in self if not top_level_events_only or event.cpu_parent is None]
        if sort_by is not None:
            numbers = "cpu_time cpu_time_total self_cpu_time_total cpu_memory_usage self_cpu_memory_usage count".split()
            if sort_by not in numbers:
                raise AttributeError(f"cannot sort by {sort_by!r}: an event has {', '.join(numbers)}")
            events.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        if not events:
            return ""
        total = self.self_cpu_time_total
        with_shapes = any(event.input_shapes for event in events)
        columns = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        columns += ["CPU Mem", "Self CPU Mem"] if self._profile_memory else []
        columns += ["# of Calls"] + (["Input Shapes"] if with_shapes else [])
        rows = []
        for event in events if row_limit < 0 else events[:row_limit]:
            row = [shorten(event.key, max_name_column_width), share(event.self_cpu_time_total, total), event.self_cpu_time_total_str]
            row += [share(event.cpu_time_total, total), event.cpu_time_total_str, event.cpu_time_str]
            if self._profile_memory:
                row += [_format_memory(event.cpu_memory_usage), _format_memory(event.self_cpu_memory_usage)]
            rows.append(row + [str(event.count)] + ([shorten(str(event.input_shapes), max_shapes_column_width)] if with_shapes else []))
        widths = [max(len(row[k]) for row in [columns, *rows]) for k in range(len(columns))]
        rule = "  ".join("-" * width for width in widths)
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in [columns, *rows]]
        title = ["=" * len(rule), header] if header is not None else []
        return "\n".join([*title, rule, lines[0], rule, *lines[1:], rule, f"Self CPU time total: {_format_time(total)}", ""])

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events as JSON for chrome://tracing or Perfetto; arrows lead from operations to their nodes in the backward pass."""
        found: list[dict[str, Any]] = []
        forward: dict[int, Any] = {}
        for event in self:
            place = {"pid": os.getpid(), "tid": event.thread}
            about = {"Input Dims": event.input_shapes, "Sequence number": event.sequence_nr}
            times = {"ts": event.time_range.start, "dur": event.time_range.elapsed_us()}
            found.append({"ph": "X", "cat": "cpu_op", "name": event.name, **place, **times, "args": about})
            if event.sequence_nr < 0:
                continue
            if event.scope == FORWARD:
                forward[event.sequence_nr] = place, event
            elif event.sequence_nr in forward:
                start_place, start = forward.pop(event.sequence_nr)
                arrow = {"cat": "fwdbwd", "name": "fwdbwd", "id": event.sequence_nr}
                found.append({"ph": "s", **arrow, **start_place, "ts": start.time_range.start})
                found.append({"ph": "f", "bp": "e", **arrow, **place, "ts": event.time_range.start})
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": found}, file)


def share(part: float, total: float) -> str:
    return f"{100 * part / total:.2f}%" if total else "0.00%"


def shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
