"""Copies of the gradebook, made before each run that may write it."""

from __future__ import annotations

import contextlib
import filecmp
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

KEPT = 10


def backup(database: Path, kept: int = KEPT) -> Path | None:
    """Copy the gradebook into backups/ beside it, and keep the last copies; none is made if the last one is the same.

    Returns the last copy, or None if there is no gradebook yet.
    """
    if not database.is_file():
        return None
    folder = database.parent / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)  # it holds what the gradebook holds
    copy = folder / f"{database.stem}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}{database.suffix}"
    # sqlite's own copying waits for a process that writes at this moment
    with contextlib.closing(sqlite3.connect(database)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    copy.chmod(0o600)
    *earlier, _ = sorted(folder.glob(f"{database.stem}-*{database.suffix}"))
    if earlier and filecmp.cmp(earlier[-1], copy, shallow=False):
        copy.unlink()
        return earlier[-1]
    for old in earlier[: max(0, len(earlier) + 1 - kept)]:
        old.unlink()
    return copy
