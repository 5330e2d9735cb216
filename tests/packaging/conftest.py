import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="session")
def readme():
    return (ROOT / "README.md").read_text()


@pytest.fixture(scope="session")
def tracked():
    """Paths of all files under version control."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout, so there is no list of the project's files")
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]
