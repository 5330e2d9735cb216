"""Of PyTorch's graphs of programs, the mark that libraries put on their functions. `autolab.trace.record` shows the graph of a run."""

from __future__ import annotations

from typing import Any

__all__ = ["wrap"]


def wrap(fn_or_name: Any) -> Any:
    """What it gets: a function that a tracer would leave whole. Raises RuntimeError for what is neither a function nor a name."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name
