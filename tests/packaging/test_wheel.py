import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser

import pytest

from autolab.version import __version__

ARCHIVE = "autolab/course/problem-sets.zip"
WRITTEN = re.compile(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)\n\s*### END", re.DOTALL)


def built(root, folder, kind):
    pytest.importorskip("hatchling", reason="the build backend is in autolab-grad[test]")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)], cwd=root, check=True, capture_output=True)
    (path,) = folder.glob("autolab_grad-*")
    return path


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    with zipfile.ZipFile(built(root, tmp_path_factory.mktemp("wheel"), "wheel")) as archive:
        yield archive


@pytest.fixture(scope="module")
def sdist(root, tmp_path_factory):
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built(root, folder, "sdist")) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def plain(content):
    """A file as a person reads it: of a notebook its cells, of other text its lines; without the spaces at their beginnings."""
    text = content.decode("utf-8", "replace")
    if text.startswith("{") and '"cells"' in text:
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return re.sub(r"\n\s+", "\n", text)


@pytest.fixture(scope="module")
def solutions(root):
    """What is between the marks of the sources: solutions and hidden tests, but for a line that any rule may have."""
    texts = [path.read_text("utf-8") for path in (root / "exercises" / "text").rglob("*.md")]
    parts = {plain(part.strip().encode()) for text in texts for part in WRITTEN.findall(text)}
    found = {part for part in parts if part.count("\n") >= 2}
    assert len(found) > 60
    return found


def test_every_file_of_the_package_is_in_the_wheel(wheel, root, tracked):
    package = {path.relative_to(root).as_posix() for path in tracked if path.is_relative_to(root / "autolab")}
    assert package - set(wheel.namelist()) == set()
    assert "autolab/datasets/optical_digits.npz" in package


def test_every_lesson_is_in_the_wheel_as_it_is(wheel, root, tracked):
    lessons = [path for path in tracked if path.parent == root / "notebooks"]
    assert len(lessons) > 9
    for path in lessons:
        assert wheel.read(f"autolab/notebooks/{path.name}") == path.read_bytes()


def test_nothing_but_the_package_is_in_the_wheel(wheel):
    assert {name.split("/")[0] for name in wheel.namelist()} == {"autolab", f"autolab_grad-{__version__}.dist-info"}


def test_a_student_finds_no_solution_in_the_wheel(wheel, solutions):
    texts = {name: plain(wheel.read(name)) for name in wheel.namelist() if name != ARCHIVE}
    assert {(name, part) for name, text in texts.items() for part in solutions if part in text} == set()
    assert [name for name, text in texts.items() if "### BEGIN SOLUTION\nctx" in text] == []


def test_a_source_distribution_has_them_in_its_archive_only(sdist, solutions):
    files = [p for p in sdist.rglob("*") if p.is_file() and p != sdist / ARCHIVE and not p.is_relative_to(sdist / "tests")]
    texts = {path: plain(path.read_bytes()) for path in files}  # the tests hold right rules beside wrong ones
    assert {(path.name, part) for path, text in texts.items() for part in solutions if part in text} == set()


def test_instructors_get_every_file_of_the_course(wheel, root, tracked):
    with zipfile.ZipFile(io.BytesIO(wheel.read(ARCHIVE))) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    course = [p for p in tracked if p.parts[len(root.parts)] == "exercises" and not p.name.startswith(("page_config", "jupyter", "hatch"))]
    assert packed == {p.relative_to(root / "exercises").as_posix(): p.read_bytes() for p in course if "handout" not in p.parts}


def test_the_wheel_of_a_source_distribution_is_the_same_whatever_was_worked_on_beside_the_lessons(wheel, sdist, tmp_path):
    for folder in ("notebooks/ps2", "notebooks/.ipynb_checkpoints", "exercises/handout/ps2/.ipynb_checkpoints"):
        (sdist / folder).mkdir()
        (sdist / folder / "mine.ipynb").touch()
    with zipfile.ZipFile(built(sdist, tmp_path, "wheel")) as again:
        different = {n for n in wheel.namelist() if not n.endswith("/RECORD") and wheel.read(n) != again.read(n)}
        assert (set(again.namelist()), different) == (set(wheel.namelist()), set())


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The wheel unpacked, as an installer does, and a way to run its command there."""
    folder = tmp_path_factory.mktemp("site")
    wheel.extractall(folder)

    def run(*words, cwd):
        command = [
            sys.executable,
            "-P",
            "-c",
            f"import sys; sys.path.insert(0, {str(folder)!r}); from autolab.cli import main; main()",
            *words,
        ]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True)

    return run


def test_an_installed_wheel_gives_students_their_set(installed, root, tmp_path):
    done = installed("exercises", "ps2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    name = "ps2/elementwise-rules.ipynb"
    assert (tmp_path / name).read_bytes() == (root / "exercises" / "handout" / name).read_bytes()


def test_an_installed_wheel_gives_instructors_their_course(installed, root, tmp_path):
    done = installed("course", "new", "mine", "ps2", "--no-release", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("source/ps2/elementwise-rules.ipynb", "text/ps2/elementwise-rules.md", "wrong/ps2.md", "nbgrader_config.py"):
        assert (tmp_path / "mine" / name).read_bytes() == (root / "exercises" / name).read_bytes()
    assert not (tmp_path / "mine" / "source" / "ps3").exists()


def test_the_wheel_is_small(wheel):
    sizes = {entry.filename: entry.compress_size for entry in wheel.infolist()}
    lessons = sum(size for name, size in sizes.items() if name.startswith("autolab/notebooks/"))
    stubs = sum(size for name, size in sizes.items() if name.endswith(".pyi"))
    assert sum(sizes.values()) - lessons - stubs < 1_400_000
    assert lessons < 1_000_000
    assert stubs < 50_000


def test_numpy_and_ml_dtypes_are_all_that_it_needs(wheel):
    metadata = Parser().parsestr(wheel.read(f"autolab_grad-{__version__}.dist-info/METADATA").decode())
    needed = [name for name in metadata.get_all("Requires-Dist") if "extra ==" not in name]
    assert [name.partition(">")[0] for name in needed] == ["ml-dtypes", "numpy"]
    assert metadata["Requires-Python"] == ">=3.11"
