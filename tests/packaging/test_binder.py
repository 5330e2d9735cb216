import re
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def dockerfile(root):
    """What repo2docker would build; it needs no Docker to say so."""
    pytest.importorskip("repo2docker", reason="jupyter-repo2docker is in autolab-grad[test]")
    result = subprocess.run([sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."], cwd=root, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def test_repo2docker_accepts_the_repository(dockerfile):
    assert "FROM " in dockerfile
    assert 'pip install --no-cache-dir -r "binder/requirements.txt"' in dockerfile


def test_the_image_has_the_python_that_was_chosen(dockerfile, root):
    chosen = (root / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    assert f"environment.py-{chosen}".replace("-", "-2d").replace(".", "-2e") in dockerfile
    assert "Python version unspecified" not in dockerfile


def test_the_sources_are_there_before_they_are_installed(dockerfile):
    assert dockerfile.index("COPY --chown=") < dockerfile.index("src/ ${REPO_DIR}/") < dockerfile.index("pip install")


def test_the_image_holds_the_repository_with_extras_that_exist(root, pyproject):
    (line,) = (root / "binder" / "requirements.txt").read_text().splitlines()
    extras = re.fullmatch(r"-e \.\[(.*)\]", line).group(1).split(",")
    assert "lab" in extras
    assert set(extras) <= set(pyproject["project"]["optional-dependencies"]) - {"test", "lint", "oracle"}


def test_the_badge_opens_a_lesson_that_exists(root, readme):
    path = re.search(r"mybinder[^)]*urlpath=lab/tree/([^)\s]+)", readme).group(1)
    assert (root / path).is_file()


def test_what_runs_after_the_build_can_be_run(root):
    script = root / "binder" / "postBuild"
    assert script.stat().st_mode & 0o111
    assert script.read_text().startswith("#!")


@pytest.fixture(scope="module")
def lab(root):
    """The recipe of `make lab`."""
    return (root / "Makefile").read_text().partition("\nlab: ")[2].partition("\n\n")[0]


def test_lessons_are_trusted_as_by_make_lab(root, lab):
    command = "jupyter trust notebooks/*.ipynb exercises/source/*/*.ipynb"
    assert command in lab
    assert command in (root / "binder" / "postBuild").read_text()


def test_jupyter_starts_as_by_make_lab(root, lab):
    exported = set(re.findall(r"^export (\w+)=", (root / "binder" / "start").read_text(), re.M))
    assert exported == set(re.findall(r"(\b[A-Z_]{4,})=", lab))
