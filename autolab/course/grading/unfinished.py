"""A regrade that is not finished: what `autolab course export` and `report`, and nbgrader's own commands, say of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbgrader.plugins import CsvExportPlugin

FOLDER, SEED, SWAP = "regrade", "seed.json", "swap"  # regrade/ASSIGNMENT/seed.json is there while a regrade is not finished


def state(root: Path, assignment: str) -> str:
    """What a regrade that is not finished means for who reads the grades, a sentence; "" if there is none."""
    folder = root / FOLDER / assignment
    if not (folder / SEED).is_file():
        return ""
    if (folder / SWAP).is_file():
        return (
            f"a regrade of {assignment} was stopped while its grades replaced the old ones. Nothing is lost: the points are all those from "
            f"before it or all the new ones, and pages may still show the others. `autolab course grade {assignment}` finishes it"
        )
    return (
        f"a regrade of {assignment} is not finished: these are the grades from before it. `autolab course grade {assignment}` finishes it"
    )


def warn(log: Any, root: str | Path, assignments: Iterable[str] = ()) -> None:
    """Tell the log of a command of nbgrader; of all assignments if none is named."""
    for name in assignments or sorted(path.name for path in Path(root, FOLDER).glob("*")):
        if said := state(Path(root), name):
            log.warning("%s", said)


class GradesAsCsv(CsvExportPlugin):
    """What `nbgrader export` writes. It says if these are not the grades of the last regrade."""

    def export(self, gradebook: Any) -> None:
        """As nbgrader's."""
        warn(self.log, self.parent.coursedir.root, self.assignment)
        super().export(gradebook)
