"""Where docker or podman is what there is: one session a container, through its standard input and output."""

import os
import shutil

import pytest

from autolab.course.grading.grade import NotebookGrader
from autolab.course.grading.sandbox import ENGINES, IMAGE, Limits, Sandbox, container, works
from autolab.course.grading.submission import parse, repair

from .test_hostile import FORM, FULL, WRONG, submitted

ENGINE = """#!/bin/sh
# Does what an engine does with a command: forget its own options, run the rest.
echo "$@" >> '{log}'
[ "$1" = run ] || exit 0
while [ "$1" != {image} ]; do shift; done
shift 2
exec '{python}' "$@"
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    import sys

    log = tmp_path / "log"
    script = tmp_path / "podman"
    script.write_text(ENGINE.format(log=log, image=IMAGE, python=sys.executable))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return log


def score(sandbox, answer):
    notebook, _ = parse(submitted(answer), "n.ipynb")
    repair(notebook, FORM)
    NotebookGrader(sandbox, 1).grade(notebook)
    outputs = {c.id: c.outputs for c in notebook.cells if c.cell_type == "code"}
    return {name: float(outputs[name][0].data["text/plain"]) if outputs[name] and "data" in outputs[name][0] else None for name in FULL}


def test_the_command_gives_a_container_nothing():
    command = " ".join(container("docker", "box-1", {"disk": 1 << 20, "processes": 8, "memory": 1 << 30, "user": 210_001}))
    for words in (
        "--network none",
        "--read-only",
        "--cap-drop ALL",
        "no-new-privileges",
        "--pids-limit 12",
        "--memory 1073741824",
        "--ipc private",
    ):
        assert words in command
    assert "--shm-size 1048576" in command
    assert "--volume" not in command and "-v " not in command and "--mount" not in command


def test_a_session_talks_through_standard_input_and_output(engine):
    with Sandbox("podman", Limits(cell=8.0)) as sandbox:
        assert score(sandbox, None)["square-check"] == 8.0
    said = engine.read_text()
    assert said.count("run --rm") == 1
    assert f"kill autolab-box-{os.getpid()}-{sandbox.number}" in said


def test_an_engine_that_fails_says_why(tmp_path, monkeypatch):
    (tmp_path / "docker").write_text("#!/bin/sh\necho Cannot connect to the daemon >&2\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with (
        Sandbox("docker") as sandbox,
        pytest.raises(RuntimeError, match=r"the box \(docker\) gives no session: Cannot connect to the daemon"),
    ):
        sandbox.open()


@pytest.mark.skipif(not any(shutil.which(e) and works(e) for e in ENGINES), reason="no docker or podman with an image autolab-box")
def test_a_real_container():
    mode = next(e for e in ENGINES if works(e))
    with Sandbox(mode, Limits(cell=8.0)) as sandbox:
        assert score(sandbox, WRONG)["square-check"] < 8.0
        session = sandbox.open()
        said = session.ask("run", PLACES, "a")
        session.close()
    assert said["text"].split() == ["/scratch"]


PLACES = """
for place in ("", "/tmp", "/var/tmp", "/run", "/usr", "/root", "/scratch"):
    try:
        with open(place + "/x", "w") as file:
            print(place or "/", file=file)
            print(place or "/")
    except OSError:
        pass
"""
