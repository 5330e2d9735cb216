"""What a learner has done: attempts at quiz questions and exercises, in one small file on their own machine. No account, no network.

The file is `progress.json` in the folder named by AUTOLAB_HOME, else in `~/.autolab`. AUTOLAB_HOME=off keeps nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any


def place() -> Path | None:
    """The file; None if nothing is to be kept."""
    home = os.environ.get("AUTOLAB_HOME")
    if home == "off":
        return None
    return (Path(home) if home else Path.home() / ".autolab") / "progress.json"


def read() -> dict[str, Any]:
    """Everything kept: {"quiz": {"04: 1": {"attempts": 2, "right": true, "last": "12", "when": 1700000000}}, "exercise": {...}}.

    A file that cannot be read counts as empty, and is put aside as progress.broken.json when something new is kept.
    """
    file = place()
    if file is None or not file.exists():
        return {}
    try:
        kept = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def remember(kind: str, name: str, right: bool, last: str = "") -> dict[str, Any]:
    """Note one attempt; the entry as it is now. Where the file cannot be written, nothing is kept and nothing fails.

    kind: "quiz" or "exercise"; name: which one; right: whether this attempt was; last: a few words about it.
    """
    everything = read()
    entry: dict[str, Any] = everything.setdefault(kind, {}).setdefault(name, {"attempts": 0, "right": False})
    entry["attempts"] += 1
    entry["right"] = bool(entry["right"] or right)
    entry["last"], entry["when"] = last[:500], int(time.time())
    file = place()
    if file is not None:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.exists() and len(everything) == 1 and not _readable(file):
                file.replace(file.with_name("progress.broken.json"))
            fresh = file.with_name(f"progress.{os.getpid()}.json")
            fresh.write_text(json.dumps(everything, indent=1), "utf-8")
            fresh.replace(file)  # at once: two notebooks may write
    return entry


def _readable(file: Path) -> bool:
    try:
        json.loads(file.read_text("utf-8"))
    except ValueError:
        return False
    return True
