"""The same question once more, where the engine takes no derivatives (`derivatives`), for answers that could have asked it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from . import protocol
from .derivatives import is_plain
from .sandbox import ENGINES, RemoteError, Reply, Sandbox, Session

UNKNOWN = "could not be asked without the engine's derivatives"


class SecondOpinion:
    """One notebook's cells in a sandbox without derivatives. It starts when it is first needed: for most notebooks never.

    `cells` gives those that have run so far, each with a source and a name; `unknown` holds the exercises without a second answer.
    """

    def __init__(self, sandbox: Sandbox, files: Mapping[str, bytes], cells: Callable[[], list[Any]]):
        self.sandbox, self.files, self.cells = sandbox, files, cells
        self.session: Session | None = None
        self.ran: list[Any] = []
        self.until, self.failed = 0.0, False
        self.unknown: list[str] = []

    def wanted(self) -> bool:
        """Does a cell, or a module beside the notebook, hold anything by which a rule could reach a derivative?"""
        if self.sandbox.mode in ENGINES:  # a container for each would take seconds
            return False
        return any(name.endswith(".py") for name in self.files) or not all(is_plain(cell.source) for cell in self.cells())

    def put(self, question: bytes) -> Reply | None:
        """What comes back where these cells ran; None if nothing does in time."""
        if self.failed:  # once is enough
            return None
        try:
            return self._open().put(question)
        except (protocol.Broken, RemoteError, RuntimeError):
            self.close()
            self.failed = True
            return None

    def ask(self, what: str, *arguments: Any) -> Any:
        """Ask the session that `put` opened. Raises Broken if it is gone, or the time is over."""
        if self.session is None:
            raise protocol.Broken("the process ended")
        self._in_time()
        return self.session.ask(what, *arguments)

    def _open(self) -> Session:
        cells = self.cells()
        if self.session is not None and (self.session.broken or self.ran != cells[: len(self.ran)]):
            self.close()
        self._in_time()
        if self.session is None:
            self.session = self.sandbox.without_derivatives.open(self.files)
        for cell in cells[len(self.ran) :]:
            self._in_time()
            self.ran.append(cell)
            self.session.ask("run_through", cell.source, cell.name)
        return self.session

    def _in_time(self) -> None:
        if time.monotonic() > self.until:
            raise protocol.Broken("the time of this notebook is over")

    def close(self) -> None:
        """End the session in the sandbox; the next question opens another."""
        if self.session is not None:
            self.session.close()
        self.session, self.ran = None, []
