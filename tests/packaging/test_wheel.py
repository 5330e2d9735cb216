import subprocess
import sys
import zipfile
from email.parser import Parser

import pytest

from autolab.version import __version__


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    pytest.importorskip("hatchling", reason="the build backend is in autolab-grad[test]")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
                   cwd=root, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


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


def test_the_wheel_is_small(wheel):
    sizes = {entry.filename: entry.compress_size for entry in wheel.infolist()}
    lessons = sum(size for name, size in sizes.items() if name.startswith("autolab/notebooks/"))
    assert sum(sizes.values()) - lessons < 1_250_000
    assert lessons < 1_000_000


def test_numpy_and_ml_dtypes_are_all_that_it_needs(wheel):
    metadata = Parser().parsestr(wheel.read(f"autolab_grad-{__version__}.dist-info/METADATA").decode())
    needed = [name for name in metadata.get_all("Requires-Dist") if "extra ==" not in name]
    assert [name.partition(">")[0] for name in needed] == ["ml-dtypes", "numpy"]
    assert metadata["Requires-Python"] == ">=3.11"
