"""What Python does otherwise in a browser (Pyodide), where there is one thread, and a short stack. Loaded only there.

Index results are int64 there too by `dtypes.as_places`, and matrices without inverse are found by `rules.lapack`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.engine import backward
from autolab.engine.modes import modes
from autolab.engine.node import Node

waiting: list[Any] = []  # the edges of nodes that died
freeing = False


def free_in_turn(node: Node) -> None:
    """`__del__` of a node: let go of its edges when no other node is being freed.

    A node that dies lets go of the nodes that its edges lead to, and they die within its dying. Python keeps that from going too deep
    on a stack of its own, but not on a browser's, where a chain of 3,000 nodes ended everything without a word.
    """
    global freeing
    if not node.edges:
        return
    waiting.append(node.edges)
    node.edges = ()
    if not freeing:
        freeing = True
        try:
            while waiting:
                waiting.pop()  # nodes die here, and put their edges on the list
        finally:
            freeing = False


def here(work: Callable[[], None]) -> None:
    """`backward.elsewhere` without a second thread: on the stack that there is."""
    passes, modes.passes = modes.passes, 0
    try:
        work()
    finally:
        modes.passes = passes


def begin() -> None:
    """Let the engine do it so."""
    Node.__del__ = free_in_turn  # type: ignore[attr-defined]
    backward.elsewhere = here
