"""Where the problem sets with their solutions are: students' installations do not have them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from autolab.version import __version__

CLONE = Path(__file__).resolve().parents[2] / "exercises"
PACKAGE = "autolab_instructor"  # what the distribution autolab-grad-instructor installs


def installed_folder() -> Path | None:
    """The folder of the distribution for instructors; None if it is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    return next(map(Path, found.submodule_search_locations or ()), None) if found else None


def problem_sets() -> Path:
    """The folder with the problem sets and their solutions, in a clone or installed.

    Raises LookupError, with what to install, if there is neither.
    """
    for folder in (CLONE, installed_folder()):
        if folder and (folder / "nbgrader_config.py").is_file():
            return folder
    raise LookupError(f'the problem sets with their solutions are not installed: pip install "autolab-grad-instructor=={__version__}"')
