"""Anomaly mode: which line of the forward pass made the gradient that failed, or became nan.

While it is on each node knows the lines that made it. A node made during a backward pass (`create_graph=True`) also knows the node
whose rule made it, and so on up to the user's forward pass.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from autolab.autograd.running import running
from autolab.dtypes import INEXACT
from autolab.engine.modes import modes

if TYPE_CHECKING:
    import traceback

    from autolab.engine.node import Node

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]

TRACEBACK, PARENT = "traceback_", "parent_"  # PyTorch's keys in node.metadata
WAY = ("engine", "transforms", "fast", "torch_api", "autograd")  # the rooms that a call of an operation goes through
UNKNOWN = "No forward pass information available. Enable detect anomaly during forward pass for more information."


class Anomaly:
    """What the engine finds at `modes.anomaly`: told of each node that is made, and asked to run it."""

    def remember(self, node: Node) -> None:
        """Write the lines that are running now into the node, and the node whose rule they are if a backward pass is under way."""
        import traceback  # only here is it needed

        lines = since_the_cell(traceback.extract_stack(sys._getframe(1)))
        node.metadata[TRACEBACK] = traceback.format_list([line for line in lines if not is_ours(line)])
        now = running()
        if now is not None and now["node"] is not None:
            node.metadata[PARENT] = now["node"]

    def vjp(self, node: Node, g: Any, create_graph: bool) -> Any:
        """The gradients of a node; if it fails or gives nan, say first which line of the forward pass made it."""
        try:
            with np.errstate(all="ignore"):  # what NumPy would warn of is what is looked for
                gradients = node.vjp(g, create_graph)
            for i, gi in enumerate(gradients if modes.check_nan else ()):
                raw = gi.all_numbers() if hasattr(gi, "all_numbers") else gi
                if raw is not None and raw.dtype in INEXACT and np.isnan(raw).any():
                    raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
        except Exception:
            explain(node)
            raise
        return gradients

    def inside(self, node: Node) -> Any:
        """What runs a node that is a part of another."""
        return node.run


def since_the_cell(lines: list[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """The lines without those of Jupyter, which run the cell."""
    above = [i for i, line in enumerate(lines) if line.name == "run_code" and "IPython" in line.filename]
    return lines[above[-1] + 1 :] if above else lines


def is_ours(line: traceback.FrameSummary) -> bool:
    """True for a line between the user's and the operation: the way there is always the same."""
    generated = line.filename == f"<{line.name}>" or line.filename.endswith((" recorded>", ", inside>", ", taped>", ", batched>"))
    return generated or any(f"/autolab/{room}/" in line.filename.replace(os.sep, "/") for room in WAY)


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


def is_anomaly_enabled() -> bool:
    """True if anomaly mode is on in this thread.

    >>> with set_detect_anomaly(True):
    ...     is_anomaly_enabled()
    True
    """
    return modes.anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """True if anomaly mode, when on, also refuses gradients that are nan.

    >>> with set_detect_anomaly(True, check_nan=False):
    ...     is_anomaly_check_nan_enabled()
    False
    """
    return modes.check_nan


class set_detect_anomaly:
    """Turn anomaly mode on or off: at once when called, until the end of the block when used as a context manager.

    >>> x = torch.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"):  # of the line that made the node
    ...     with set_detect_anomaly(True):
    ...         (x.sqrt() * 0).backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        if type(mode) is not bool:
            raise TypeError(f"set_anomaly_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
        self.before = modes.anomaly, modes.check_nan
        modes.anomaly, modes.check_nan = Anomaly() if mode else None, bool(check_nan)
        modes.settle()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.anomaly, modes.check_nan = self.before
        modes.settle()


class detect_anomaly:
    """Within it, each node remembers the lines that made it, and a backward that fails, or gives nan, first warns with them.

    check_nan: whether nan counts as a failure. Everything runs several times slower.

    >>> import warnings
    >>> x = tensor([-1.0], requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with detect_anomaly():
    ...         x.sqrt().sum().backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.inside: Any = set_detect_anomaly(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        self.inside.__exit__()
