"""Files to work in, copied so that nothing a learner has changed is ever written to."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def copy(files: Mapping[str, bytes], target: str | Path, record: str) -> dict[str, list[str]]:
    """Copy files into a folder, which need not exist yet.

    A file that is newer than the copy is brought up to date if the learner has not touched it (not even run it); else the
    new one is put beside it, as `05-accumulation.new.ipynb`. What was copied before is noted in the file `record` there.

    Returns
    -------
    dict
        "copied", "updated", "beside" and "kept" -> names of files.

    Raises
    ------
    NotADirectoryError
        If the target is a file.
    OSError
        If something cannot be written; what has been copied by then is whole.
    """
    target = Path(target)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{target} is a file; rename it, or name a folder, which need not exist yet.")
    done: dict[str, list[str]] = {"copied": [], "updated": [], "beside": [], "kept": []}
    try:
        target.mkdir(parents=True, exist_ok=True)
        before = _read(target / record)
        for name, new_tensor in files.items():
            what, place = _decide(target / name, _mark(new_tensor), before.get(name))
            done[what].append(place.name)
            if what != "kept":
                _write(place, new_tensor)
                before[name] = _mark(new_tensor)
        if done["kept"] != list(files) or not (target / record).exists():
            _write(target / record, json.dumps(before, indent=1).encode())
    except OSError as error:
        todo = "Make room, then do this again." if error.errno in FULL else "Choose a folder in which you may write."
        raise type(error)(f"Cannot write to {target}: {error.strerror}. Nothing of yours was changed. {todo}") from error
    return done


def _decide(place: Path, new_tensor: str, before: str | None) -> tuple[str, Path]:
    """What to do for one file, and where to write it."""
    if not place.exists():
        return "copied", place
    present = _mark(place.read_bytes())
    if present == new_tensor or before == new_tensor:
        return "kept", place  # nothing new since, whatever the learner has done to it
    if present == before:
        return "updated", place
    beside = place.with_suffix(".new" + place.suffix)
    count = 1
    while beside.exists():
        if _mark(beside.read_bytes()) == new_tensor:
            return "kept", place
        count += 1
        beside = place.with_suffix(f".new{count}{place.suffix}")
    return "beside", beside


def _write(place: Path, content: bytes) -> None:
    # half a file, as a full disk leaves it, would count as the learner's own from then on
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(place)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _read(record: Path) -> dict[str, str]:
    try:
        kept = json.loads(record.read_text("utf-8"))
    except (OSError, ValueError):
        return {}  # then every file that is there counts as the learner's
    return kept if isinstance(kept, dict) else {}


def _mark(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
