"""Where a failing gradient comes from: in anomaly mode each node knows the lines that made it.

`remember` is called when a node is made, `watched` in place of `node.gradients` when it fires. A node made during a backward pass
(`create_graph=True`) also knows the node whose rule made it, and so on up to the user's forward pass.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from autolab.dtypes import FLOATING
from autolab.engine.modes import modes

if TYPE_CHECKING:
    import traceback

    from autolab.engine.node import Node

TRACEBACK, PARENT = "traceback_", "parent_"  # PyTorch's keys in node.metadata
WAY = ("engine", "levels", "shortcuts", "surface", "autograd")  # the rooms that a call of an operation goes through
UNKNOWN = "No forward pass information available. Enable detect anomaly during forward pass for more information."


def remember(node: Node) -> None:
    """Write the lines that are running now into the node, and the node whose rule they are if a backward pass is under way."""
    import traceback  # only here is it needed

    from autolab.engine.backward import running

    lines = traceback.extract_stack(sys._getframe(1))
    node.metadata[TRACEBACK] = traceback.format_list([line for line in lines if not is_ours(line)])
    now = running()
    if now is not None and now["node"] is not None:
        node.metadata[PARENT] = now["node"]


def is_ours(line: traceback.FrameSummary) -> bool:
    """True for a line between the user's and the operation: the way there is always the same."""
    generated = line.filename == f"<{line.name}>" or line.filename.endswith((" recorded>", ", inside>", ", taped>", ", batched>"))
    return generated or any(f"/autolab/{room}/" in line.filename.replace(os.sep, "/") for room in WAY)


def watched(node: Node, g: Any, create_graph: bool) -> Any:
    """The gradients of a node; if it fails or gives nan, say first which line of the forward pass made it."""
    try:
        with np.errstate(all="ignore"):  # what NumPy would warn of is what is looked for
            gradients = node.gradients(g, create_graph)
        for i, gi in enumerate(gradients if modes.check_nan else ()):
            raw = gi.all_numbers() if hasattr(gi, "all_numbers") else gi
            if raw is not None and raw.dtype in FLOATING and np.isnan(raw).any():
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
    except Exception:
        explain(node)
        raise
    return gradients


def explain(node: Node) -> None:
    """Warn with the lines that made the node, then with those that made the node whose rule made it."""
    lines = node.metadata.get(TRACEBACK)
    if lines is None:
        warn(f"Error detected in {node.name()}. {UNKNOWN}")
        return
    warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(lines)}")
    parent = node.metadata.get(PARENT)
    while parent is not None:
        lines = parent.metadata.get(TRACEBACK)
        known = f"Traceback of forward call that induced the previous calculation:\n{''.join(lines)}" if lines else UNKNOWN
        warn(f"\n\nPrevious calculation was induced by {parent.name()}. {known}")
        parent = parent.metadata.get(PARENT)


def warn(text: str) -> None:
    try:
        warnings.warn(text, UserWarning, stacklevel=2)
    except UserWarning:  # warnings are errors here; the error that is on its way says more, so this goes beside it
        print(text, file=sys.stderr)
