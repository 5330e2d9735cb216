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
# What nbgrader does where a course's nbgrader_config.py, of an earlier version perhaps, does not set this.
WITHOUT = {
    "Autograde.exporter_class": "`nbgrader autograde` stops at a broken notebook",
    "Autograde.sanitize_preprocessors": "`nbgrader autograde` does not repair notebooks",
    "Autograde.autograde_preprocessors": "`nbgrader autograde` runs student code without isolation",
    "ExchangeFactory.collect": "`nbgrader collect` copies what students' links lead to",
    "ExchangeFactory.release_feedback": "`nbgrader release_feedback` ends at the first student who did not hand in through the exchange",
    "ExportApp.plugin_class": "`nbgrader export` does not say that a regrade is not finished",
    "GenerateAssignment.exporter_class": "a release may be written that the gradebook cannot take",
    "GenerateFeedback.exporter_class": "`nbgrader generate_feedback` makes other pages than `autolab course grade`",
    "GenerateFeedback.preprocessors": "`nbgrader generate_feedback` makes other pages than `autolab course grade`",
    "HTMLExporter.template_file": "Formgrader's page of a submission asks another host for MathJax",
    "HTMLExporter.filters": "tags that a student wrote have an effect in Formgrader",
}


@functools.cache
def _config(root: Path) -> Any:
    """What the course's nbgrader_config.py sets; nothing if there is none that loads."""
    from traitlets.config import PyFileConfigLoader

    with contextlib.suppress(Exception):
        return PyFileConfigLoader("nbgrader_config.py", str(root)).load_config()
    return {}


def not_set(root: Path) -> str:
    """What the course's nbgrader_config.py leaves out, what comes of it and what to do, in a sentence; "" if it leaves out nothing."""
    config = _config(root)
    missing = {name: why for name, why in WITHOUT.items() if name.split(".")[1] not in config.get(name.split(".")[0], {})}
    if not config or not missing:
        return ""
    said = "; ".join(f"without {name} {why}" for name, why in missing.items())
    return (
        f"nbgrader_config.py of this course does not set all that this version of autolab does: {said}. `autolab course new FOLDER "
        "--no-release` writes a new one: copy it from there into this course, and put your own settings into it"
    )


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
