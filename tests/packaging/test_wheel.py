import gzip
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

INSTRUCTORS = ("source", "text", "wrong", "rubric", "bank", "teaching")
MARKED = re.compile(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)\n\s*### END", re.DOTALL)
NOT_FOR_INSTRUCTORS = {"handout", "labconfig", "jupyter_server_config.py", "pyproject.toml", "LICENSE"}
WRONG = re.compile(r"^```python \S+ [^\n]+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What the engine and the checker have to say themselves.
SAID_ELSEWHERE = {
    "for axis, n in enumerate(shape):",
    'with np.errstate(all="ignore"):',
    '"one of the variables needed for gradient computation has been modified by an inplace operation: "',
}


def built(root, folder, kind):
    pytest.importorskip("hatchling", reason="the build backend is in autolab-grad[test]")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)], cwd=root, check=True, capture_output=True)
    (path,) = folder.glob("autolab_grad*")
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


@pytest.fixture(scope="module")
def instructors(root, tmp_path_factory):
    """The wheel of the distribution for instructors."""
    with zipfile.ZipFile(built(root / "exercises", tmp_path_factory.mktemp("instructors"), "wheel")) as archive:
        yield archive


def lines(content):
    """A file as a person reads it: of a notebook its cells, of other text its lines; without the spaces around them."""
    text = content.decode("utf-8", "replace")
    if text.startswith("{") and '"cells"' in text:
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return {line.strip() for line in text.splitlines()}


def unpacked(name, content):
    """A file, and what is in it if it is an archive."""
    yield name, content
    file = io.BytesIO(content)
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            for inner in archive.namelist():
                yield from unpacked(f"{name}/{inner}", archive.read(inner))
    elif content[:2] == b"\x1f\x8b":
        yield from unpacked(f"{name}/unpacked", gzip.decompress(content))


@pytest.fixture(scope="module")
def secrets(root):
    """Long lines of solutions, hidden tests, wrong answers and rubrics that neither a problem set nor a lesson shows to students."""
    exercises = root / "exercises"
    marked = [part for path in (exercises / "text").rglob("*.*") for part in MARKED.findall(path.read_text("utf-8"))]
    wrong = [part for path in (exercises / "wrong").glob("*.md") for part in WRONG.findall(path.read_text("utf-8"))]
    rubric = [path.read_text("utf-8") for path in (exercises / "rubric").glob("*.md")]
    shown = [*(exercises / "handout").rglob("*.*"), *(root / "notebooks").glob("*.ipynb")]
    told = set().union(SAID_ELSEWHERE, *(lines(path.read_bytes()) for path in shown))
    found = {line for part in (*marked, *wrong, *rubric) for line in lines(part.encode()) if len(line) >= 30} - told
    assert len(found) > 250
    return found


def given_away(files, secrets):
    """(file, line) for each line that was to stay with the instructors."""
    found = [(name, line) for path, content in files for name, inner in unpacked(path, content) for line in lines(inner) & secrets]
    marked = [(name, "a marker") for name, content in files if name.endswith(".ipynb") and re.search(rb"### (BEGIN|END) ", content)]
    return found + marked


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


def test_a_student_finds_no_solution_in_the_wheel(wheel, secrets):
    assert given_away([(name, wheel.read(name)) for name in wheel.namelist()], secrets) == []


def test_a_source_distribution_has_no_solution_either(sdist, secrets):
    files = [(path.relative_to(sdist).as_posix(), path.read_bytes()) for path in sdist.rglob("*") if path.is_file()]
    assert given_away(files, secrets) == []
    assert {path.name for path in sdist.iterdir()} & {"tests", *INSTRUCTORS} == set()


def test_what_is_given_away_is_found_in_an_archive_too(root, secrets):
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.write(root / "exercises" / "source" / "ps2" / "elementwise-rules.ipynb", "n.ipynb")
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("ps2.zip.gz", gzip.compress(inner.getvalue()))
    assert len(given_away([("data.bin", outer.getvalue())], secrets)) > 10


def test_instructors_get_every_file_of_the_course(instructors, root, tracked):
    packed = {n.removeprefix("autolab_instructor/"): instructors.read(n) for n in instructors.namelist() if ".dist-info/" not in n}
    course = {p.relative_to(root / "exercises"): p for p in tracked if p.is_relative_to(root / "exercises")}
    files = {p.as_posix(): path for p, path in course.items() if p.parts[0] in (*INSTRUCTORS, "nbgrader_config.py", "README.md")}
    assert packed == {name: path.read_bytes() for name, path in files.items()}
    assert len(files) > 30 and {p.parts[0] for p in course} - {name.split("/")[0] for name in files} <= NOT_FOR_INSTRUCTORS


def test_the_distribution_for_instructors_goes_with_the_same_version(instructors):
    metadata = Parser().parsestr(instructors.read(f"autolab_grad_instructor-{__version__}.dist-info/METADATA").decode())
    assert metadata.get_all("Requires-Dist") == [f"autolab-grad[course,lab]=={__version__}"]
    assert instructors.read(f"autolab_grad_instructor-{__version__}.dist-info/licenses/LICENSE")


def test_no_extra_brings_the_solutions(wheel):
    metadata = Parser().parsestr(wheel.read(f"autolab_grad-{__version__}.dist-info/METADATA").decode())
    assert [name for name in metadata.get_all("Requires-Dist") if "instructor" in name] == []


def test_the_wheel_of_a_source_distribution_is_the_same_whatever_was_worked_on_beside_the_lessons(wheel, sdist, tmp_path):
    for folder in ("notebooks/ps2", "notebooks/.ipynb_checkpoints", "exercises/handout/ps2/.ipynb_checkpoints"):
        (sdist / folder).mkdir()
        (sdist / folder / "mine.ipynb").touch()
    with zipfile.ZipFile(built(sdist, tmp_path, "wheel")) as again:
        different = {n for n in wheel.namelist() if not n.endswith("/RECORD") and wheel.read(n) != again.read(n)}
        assert (set(again.namelist()), different) == (set(wheel.namelist()), set())


def unpacked_wheels(folder, *wheels):
    """A way to run `autolab` with these wheels, unpacked as an installer does."""
    for archive in wheels:
        archive.extractall(folder)

    def run(*words, cwd):
        start = f"import sys; sys.path.insert(0, {str(folder)!r}); from autolab.cli import main; main()"
        return subprocess.run([sys.executable, "-P", "-c", start, *words], cwd=cwd, capture_output=True, text=True)

    return run


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    return unpacked_wheels(tmp_path_factory.mktemp("student"), wheel)


@pytest.fixture(scope="module")
def instructor(wheel, instructors, tmp_path_factory):
    return unpacked_wheels(tmp_path_factory.mktemp("instructor"), wheel, instructors)


def test_an_installed_wheel_gives_students_their_set(installed, root, tmp_path):
    done = installed("exercises", "ps2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    name = "ps2/elementwise-rules.ipynb"
    assert (tmp_path / name).read_bytes() == (root / "exercises" / "handout" / name).read_bytes()


def test_instructors_get_their_course_from_installed_wheels(instructor, root, tmp_path):
    done = instructor("course", "new", "mine", "ps2", "--no-release", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("text/ps2/elementwise-rules.md", "wrong/ps2.md", "nbgrader_config.py"):
        assert (tmp_path / "mine" / name).read_bytes() == (root / "exercises" / name).read_bytes()
    assert (tmp_path / "mine" / "source" / "ps2" / "elementwise-rules.ipynb").is_file()
    assert not (tmp_path / "mine" / "source" / "ps3").exists()


def test_a_student_who_asks_for_a_course_is_told_what_to_install(installed, tmp_path):
    done = installed("course", "new", "mine", "ps2", cwd=tmp_path)
    assert done.returncode == 2 and list(tmp_path.iterdir()) == []
    assert f'pip install "autolab-grad-instructor=={__version__}"' in done.stderr


def test_what_a_lesson_has_kept_is_in_the_wheel(wheel, root):
    """Weights that a lesson loads are beside it, wherever it is installed."""
    kept = {f"autolab/notebooks/{path.name}": path.read_bytes() for path in (root / "notebooks").glob("*.safetensors")}
    assert kept and {name: wheel.read(name) for name in kept} == kept


def test_the_wheel_is_small(wheel):
    sizes = {entry.filename: entry.compress_size for entry in wheel.infolist()}
    lessons = sum(size for name, size in sizes.items() if name.startswith(("autolab/notebooks/", "autolab/questions/")))
    stubs = sum(size for name, size in sizes.items() if name.endswith(".pyi"))
    assert sum(sizes.values()) - lessons - stubs < 2_200_000
    assert lessons < 1_000_000
    assert stubs < 50_000


def test_numpy_and_ml_dtypes_are_all_that_it_needs(wheel):
    metadata = Parser().parsestr(wheel.read(f"autolab_grad-{__version__}.dist-info/METADATA").decode())
    needed = [name for name in metadata.get_all("Requires-Dist") if "extra ==" not in name]
    assert [name.partition(">")[0] for name in needed] == ["ml-dtypes", "numpy"]
    assert metadata["Requires-Python"] == ">=3.11"
