"""What a site holds: the lessons, the problem sets, the title. All of the repository's, unless a course has chosen (docs/make/site.py).

The choice is handed on in the environment, as the lessons and Sphinx run in processes of their own.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = re.compile("### BEGIN (SOLUTION|HIDDEN TESTS)")


def choose(
    title: str | None = None, lessons: str | None = None, release: Path | None = None, address: str | None = None, reference: bool = False
) -> None:
    """Choose for what follows. lessons: "00 04 gallery"; release: a course's folder of what students get.
    address: where the site will be served. reference: whether a course's site also has the guide, the API and the code.

    Raises
    ------
    LookupError
        If there is no such lesson, or the folder has no notebooks.
    """
    named = lessons.replace(",", " ").split() if lessons else []
    there = [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    for name in named:
        if not any(name in (stem, stem[:2]) for stem in there):
            raise LookupError(f"There is no lesson {name!r}. There are {', '.join(there)}.")
    if release is not None and not list(release.glob("*/*.ipynb")):
        raise LookupError(f"{release} has no notebooks: `nbgrader generate_assignment ps2` puts there what students get.")
    for path in sorted(release.glob("*/*.ipynb")) if release is not None else ():
        shown = solutions(path, release.with_name("source") / path.relative_to(release))
        if shown:
            raise LookupError(f"{path} has the solution of {', '.join(shown)}. Make the release again: `nbgrader generate_assignment`.")
    own = release and str(release.resolve())
    chosen = {"TITLE": title, "LESSONS": " ".join(named), "RELEASE": own, "URL": address, "REFERENCE": "yes" * reference}
    for name, value in chosen.items():
        if value:
            os.environ[f"AUTOLAB_SITE_{name}"] = str(value)


def solutions(release: Path, source: Path) -> list[str]:
    """The exercises whose solution or hidden tests are in what students get: marked so, or as they are in the source."""
    cells = {id: [_graded(path).get(id, "") for path in (release, source)] for id in _graded(release)}
    return [
        id
        for id, (text, secret) in cells.items()
        if MARK.search(text) or (MARK.search(secret) and any(s in text for s in _secrets(secret)))
    ]


def _graded(path: Path) -> dict[str, str]:
    """The text of each cell that nbgrader knows, by its name."""
    if not path.exists():
        return {}
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return {c["metadata"]["nbgrader"]["grade_id"]: "".join(c["source"]) for c in cells if "nbgrader" in c["metadata"]}


def _secrets(text: str) -> list[str]:
    return [found.strip() for found in re.findall(r"### BEGIN .*\n([\s\S]*?)\n[ ]*### END", text)]


def title() -> str:
    return os.environ.get("AUTOLAB_SITE_TITLE", "autolab")


def address() -> str:
    """Where the site will be served, with a slash at its end; empty if that is not known."""
    known = os.environ.get("AUTOLAB_SITE_URL") or ("" if own() else "https://autolab-grad.github.io/autolab")
    return known and known.rstrip("/") + "/"


def own() -> bool:
    """Whether the site is a course's own."""
    return "AUTOLAB_SITE_RELEASE" in os.environ


def has_reference() -> bool:
    """Whether the guide, the API and the code are pages of it. A course's site leads to the project's instead: its own takes a minute."""
    return not own() or "AUTOLAB_SITE_REFERENCE" in os.environ


def lessons() -> list[Path]:
    """The notebooks of the lessons, and the gallery."""
    named = os.environ.get("AUTOLAB_SITE_LESSONS", "").split()
    return [p for p in sorted((ROOT / "notebooks").glob("*.ipynb")) if not named or p.stem in named or p.stem[:2] in named]


def in_order(path: Path) -> tuple[int, str]:
    """ps10 comes after ps9."""
    return len(path.parent.name), str(path)


def problem_sets() -> dict[Path, Path]:
    """What students get: where each notebook is in the site -> its file. Without solutions."""
    folder = Path(os.environ.get("AUTOLAB_SITE_RELEASE", ROOT / "exercises" / "handout"))
    return {Path("exercises/handout") / path.relative_to(folder): path for path in sorted(folder.glob("*/*.ipynb"), key=in_order)}


def notebooks() -> dict[Path, Path]:
    """All of them: where each is in the site -> its file."""
    return {**{Path("notebooks", path.name): path for path in lessons()}, **problem_sets()}
