"""What hatchling puts into the wheel and the source distribution besides their files: lessons, and the problem sets twice.

Students get them without solutions. What instructors get goes into one archive, so that no solution lies about in clear text
where students look; `autolab course new` unpacks it.
"""

import tempfile
import zipfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COURSE = ("source", "text", "wrong", "rubric", "bank", "nbgrader_config.py", "README.md")
ARCHIVE = "autolab/course/problem-sets.zip"


class LessonsAndProblemSets(BuildHookInterface):
    """Names each file, so that what somebody has worked on beside the lessons of their clone stays there."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Add to what is included. In a source distribution the archive is there already."""
        if version == "editable":
            return
        root, included = Path(self.root), build_data["force_include"]
        if self.target_name == "wheel":
            for path in [root / "notebooks" / "README.md", *(root / "notebooks").glob("*.ipynb")]:
                included[str(path)] = f"autolab/notebooks/{path.name}"
            for path in (root / "exercises" / "handout").glob("ps*/*.ipynb"):
                included[str(path)] = f"autolab/handout/{path.parent.name}/{path.name}"
        if (root / "exercises" / "source").is_dir():
            self.folder = tempfile.TemporaryDirectory()
            archive = Path(self.folder.name, "problem-sets.zip")
            pack(root / "exercises", archive)
            included[str(archive)] = ARCHIVE

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        """Remove the archive, which is in the artifact now."""
        if hasattr(self, "folder"):
            self.folder.cleanup()


def pack(course: Path, target: Path) -> None:
    """The same files make the same archive, byte for byte: sorted, with the date that a zip begins with."""
    files = [p.relative_to(course) for name in COURSE for p in [course / name, *(course / name).rglob("*")] if p.is_file()]
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(p for p in files if not any(part.startswith(".") for part in p.parts)):  # no .ipynb_checkpoints
            entry = zipfile.ZipInfo(path.as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (course / path).read_bytes())
