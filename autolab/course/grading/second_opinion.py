"""The same question once more, where the engine takes no derivatives (`derivatives`), for answers that could have asked it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from . import protocol
from .derivatives import is_plain
from .sandbox import ENGINES, RemoteError, Reply, Sandbox, Session

UNKNOWN = "could not be asked without the engine's derivatives"


class SecondOpinion:
    """One notebook's cells in a sandbox without derivatives. It starts when it is first needed: for most notebooks never."""

    def __init__(self, sandbox: Sandbox, files: Mapping[str, bytes]):
        self.sandbox, self.files = sandbox, files
        self.session: Session | None = None
        self.ran: list[Any] = []
        self.until = 0.0
        self.suspicious: list[str] = []

    def wanted(self, cells: list[Any]) -> bool:
        """Do these cells, or a module beside the notebook, hold anything by which a rule could reach a derivative?"""
        if self.sandbox.mode in ENGINES:  # a container for each would take seconds
            return False
        return bool(self.files) or not all(is_plain(cell.source) for cell in cells)

    def put(self, question: bytes, cells: list[Any]) -> Reply | None:
        """What comes back where these cells ran; None if nothing does in time."""
        try:
            return self._open(cells).put(question)
        except (protocol.Broken, RemoteError, RuntimeError):
            self.close()
            return None

    def ask(self, what: str, *arguments: Any) -> Any:
        """Ask the session that `put` opened. Raises Broken if it is gone."""
        if self.session is None or time.monotonic() > self.until:
            raise protocol.Broken("the time of this notebook is over")
        return self.session.ask(what, *arguments)

    def _open(self, cells: list[Any]) -> Session:
        if self.session is not None and (self.session.broken or self.ran != cells[: len(self.ran)]):
            self.close()
        if self.session is None:
            self.session = self.sandbox.without_derivatives.open(self.files)
        for cell in cells[len(self.ran) :]:
            if time.monotonic() > self.until:
                raise protocol.Broken("the time of this notebook is over")
            self.ran.append(cell)
            self.session.ask("run_through", cell.source, cell.name)
        return self.session

    def close(self) -> None:
        """End its session."""
        if self.session is not None:
            self.session.close()
        self.session, self.ran = None, []
