"""A recorded run as plain data: what each node received, by which rule, and what it sent on.

`record(loss)` walks the engine's own backward pass and returns a `Trace`; `graph(loss)` only looks at the graph.
Both leave the learner's tensors as they are. `compare(a, b)` says where two runs part.
Under `watch()` a graph also keeps the results that no rule asks for.
docs/trace-format.md describes the JSON.
"""

import sys
import types
from typing import Any

from autolab.torch_api import products
from autolab.trace.adapter import watch
from autolab.trace.compare import Comparison, Difference, compare
from autolab.trace.model import GradUpdate, HookEvent, SavedItem, SentGradient, Trace, TraceEdge, TraceNode, TraceRule, TraceStep, schema
from autolab.trace.record import graph, record
from autolab.trace.values import TraceValue, value_of

__all__ = [
    "record", "graph", "watch", "compare", "schema", "value_of", "Trace", "TraceNode", "TraceEdge", "TraceStep", "TraceRule", "TraceValue",
    "SavedItem", "SentGradient", "HookEvent", "GradUpdate", "Comparison", "Difference",
]  # fmt: skip


class _Callable(types.ModuleType):
    """PyTorch has a function of this name: `trace(matrix)` is the sum of its diagonal. This module answers to both."""

    def __call__(self, input: Any) -> Any:
        return products.trace(input)


sys.modules[__name__].__class__ = _Callable
