"""What a course's nbgrader_config.py sets, for the commands that are not nbgrader's."""

from __future__ import annotations

import contextlib
import functools
import logging
from pathlib import Path
from typing import Any

from .files import FilePolicy
from .marks import Penalty
from .sandbox import Limits

LOG = logging.getLogger(__name__)


@functools.cache
def _config(root: Path) -> Any:
    """What the course's nbgrader_config.py sets; nothing if there is none that loads."""
    from traitlets.config import PyFileConfigLoader

    with contextlib.suppress(Exception):
        return PyFileConfigLoader("nbgrader_config.py", str(root)).load_config()
    return {}


def _box(root: Path) -> Any:
    return _config(root).get("RunInBox", {})


def limits(root: Path) -> Limits:
    """The seconds that plain autograde gives."""
    seconds = {name: _box(root).get(f"{name}_seconds") for name in ("cell", "busy", "total")}
    return Limits(**{name: float(value) for name, value in seconds.items() if isinstance(value, (int, float))})


def file_policy(root: Path) -> FilePolicy:
    """The files beside a notebook that plain autograde takes along."""
    kinds, count, size = (_box(root).get(name) for name in ("files", "files_count", "files_bytes"))
    numbers = {name: n for name, n in (("count", count), ("size", size)) if isinstance(n, int)}
    return FilePolicy(**numbers, **({"kinds": tuple(map(str, kinds))} if isinstance(kinds, (list, tuple)) else {}))


def box(root: Path) -> str | None:
    """How student code is isolated; None if the course leaves it to what works here."""
    return str(_box(root).get("box") or "") or None


@functools.cache
def penalty(root: Path) -> Penalty:
    """nbgrader's plugin for late submissions."""
    from nbgrader.plugins import LateSubmissionPlugin
    from nbgrader.preprocessors import AssignLatePenalties

    config = _config(root)
    chosen = LateSubmissionPlugin
    try:
        chosen = AssignLatePenalties(config=config or None).plugin_class  # a class, or the name of one
    except Exception as error:
        LOG.warning("nbgrader_config.py: AssignLatePenalties.plugin_class is not used, nbgrader's own is: %s", error)
    return chosen(config=config or None).late_submission_penalty  # type: ignore[no-any-return]
