"""Hostile answers in the real sandbox: none forges, leaks or damages, and each costs its own exercise only."""

import os
import socket
import subprocess
import threading
from pathlib import Path

import nbformat
import pytest

import autolab
from autolab.course.grading.grade import NotebookGrader
from autolab.course.grading.handlers import PRINTS, CappedOutput, TooMuchOutput
from autolab.course.grading.sandbox import Limits, Sandbox, best_mode
from autolab.course.grading.submission import parse, repair
from autolab.course.grading.worker import Job, _sandbox, grade
from autolab.course.notebook import from_markdown
from autolab.course.release import form_of_source, release_of

from .hostile import SUITE, TEXT, WRONG
from .hostile_system import MORE
from .pages import feedback_of

SUITE = {**SUITE, **{f"{kind}: {name}": source for kind, group in MORE.items() for name, source in group.items()}}

LIMITS = Limits(cell=1.5, total=20.0)
SECRET = "SECRET-7f3a91"
SOURCE = from_markdown(TEXT)
FORM = form_of_source(SOURCE)
FULL = {"square-check": 8.0, "square-hidden": 2.0, "exp-check": 8.0, "exp-hidden": 2.0}

isolated = pytest.mark.skipif(best_mode() == "limits", reason="bubblewrap does not work here")


def submitted(answer):
    notebook = release_of(SOURCE)
    for cell, source in zip(notebook.cells, SOURCE.cells, strict=True):
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in ("square", "exp"):
            cell.source = answer if name == "square" and answer is not None else source.source
    return nbformat.writes(notebook)


def graded(answer, mode=None, seed=11):
    return grade(Job("eve", "ps", "n", submitted(answer), (), FORM, seed, LIMITS, mode))


@pytest.fixture(scope="module")
def service():
    """Something that listens on the loopback and gives the secret to everybody."""
    listener = socket.create_server(("127.0.0.1", 0))
    contacted = []

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            contacted.append(1)
            connection.sendall(SECRET.encode())
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1], contacted
    listener.close()


@pytest.fixture(scope="module")
def canary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("canary")
    for name in ("secret.txt", "gradebook.db", "other.ipynb"):
        (folder / name).write_text(SECRET)
    return folder


@pytest.fixture(scope="module")
def honest():
    return graded(WRONG).scores


@pytest.fixture(scope="module", autouse=True)
def boxes_end():
    yield
    for mode in (None, "limits"):
        _sandbox(mode, LIMITS, os.getpid()).close()
    _sandbox.cache_clear()


@isolated
def test_a_right_answer_gets_everything():
    assert graded(None).scores == FULL


@isolated
@pytest.mark.parametrize("name", SUITE)
def test_nothing_is_forged_leaked_or_damaged(name, honest, canary, service, monkeypatch):
    monkeypatch.setenv("AUTOLAB_TEST_SECRET", SECRET)
    port, contacted = service
    answer = SUITE[name].replace("{canary}", str(canary)).replace("{port}", str(port))
    done = graded(answer)
    feedback = feedback_of(done)
    assert done.scores["square-check"] <= honest["square-check"]
    if "right the first" not in name and "right for one" not in name and name not in RIGHT_IN_ONE_CALL:
        assert done.scores["square-hidden"] == 0
    assert {k: done.scores[k] for k in ("exp-check", "exp-hidden")} == {"exp-check": 8.0, "exp-hidden": 2.0}
    assert SECRET not in done.autograded + feedback
    assert "HIDDEN-CASE-4711" not in feedback
    assert "WRITTEN" not in done.autograded.replace("print('WRITTEN'", "")
    assert "GOT 0" not in done.autograded.replace("print('GOT 0", "").replace("'GOT 0',", "")
    assert "<script" not in feedback and "<img" not in feedback
    assert not {"\x1b", "\x00", "\x07"} & set(feedback)
    feedback.encode(), done.autograded.encode()
    assert not contacted
    assert sorted(p.name for p in canary.iterdir()) == ["gradebook.db", "other.ipynb", "secret.txt"]
    assert all(p.read_text() == SECRET for p in canary.iterdir())
    assert len(done.autograded) < 400_000


# caught by the report, not by a test to ten digits of two numbers
RIGHT_IN_ONE_CALL = tuple(n for n in SUITE if n.startswith("evasion: ") and ("engine" in n or "differences" in n)) + (
    "wire: half the digits",
)


@isolated
def test_an_answer_that_displays_without_end_counts_and_its_student_is_told_what_ended_it():
    done = graded(WRONG.replace("7.5", "2") + "\nfor i in range(800_000): display(i)")
    assert done.scores == FULL
    assert "this cell displayed something more than 5,000 times, and was stopped there. What it defined" in feedback_of(done)


def test_a_cell_that_prints_without_end_is_stopped_once_and_keeps_its_first_lines():
    output = CappedOutput(10)
    with pytest.raises(TooMuchOutput, match="printed more than 50,000 times"):
        for i in range(PRINTS + 1):
            print(i, file=output)
    print("IPython's own", file=output)
    assert output.text().startswith("0\n1\n2\n3\n4\n\n... ")


def test_the_suite_has_at_least_ninety():
    assert len(SUITE) >= 90


@isolated
def test_an_answer_may_import_what_nobody_has_yet():
    done = graded("import colorsys, wave, statistics\n" + WRONG.replace("7.5", "statistics.mean([2, 2])"))
    assert done.scores == FULL


@isolated
def test_packages_that_were_installed_for_one_user_are_there(monkeypatch, tmp_path):
    package = tmp_path / "home" / "site-packages" / "lonely"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("x = 4711")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setattr("autolab.course.grading.sandbox.PACKAGES", ("numpy", "lonely"))
    with Sandbox("bubblewrap", LIMITS) as sandbox:
        session = sandbox.open()
        said = session.ask("run", "import lonely; print(lonely.x)", "a")
        session.close()
    assert said["text"] == "4711\n"


@isolated
def test_the_solutions_that_come_with_the_package_are_not_in_the_box(monkeypatch):
    folder = Path(autolab.__file__).parent / "draw"
    monkeypatch.setattr("autolab.course.problem_sets.PACKAGE", "autolab.draw")
    with Sandbox("bubblewrap", LIMITS) as sandbox:
        session = sandbox.open()
        said = session.ask("run", f"import os; print(os.listdir({str(folder)!r}))", "a")
        session.close()
    assert said["text"] == "[]\n"


@isolated
@pytest.mark.parametrize("name", [n for n in SUITE if n.startswith("kernel: ") and "loop" not in n and "die" not in n])
def test_a_box_without_privileges_is_as_tight(name, honest):
    with Sandbox("bubblewrap", LIMITS) as sandbox:
        sandbox.privileged = False
        notebook, _ = parse(submitted(SUITE[name]), "n.ipynb")
        repair(notebook, FORM)
        NotebookGrader(sandbox, 1).grade(notebook)
    shown = [o.get("text", "") for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    assert "GOT 0" not in "".join(shown)


NOTE = """
import os
for place in ("", "/dev", "/dev/shm", "/tmp", "/scratch", "/usr"):
    try:
        if os.path.exists(place + "/note"): print("GOT", place)
        open(place + "/note", "w").write("for the next student")
    except OSError: pass
    try:
        for n in range(40): open(f"{place}/{n}", "wb").write(bytes(1 << 20))
        print("FILLED", place)
    except OSError: pass
"""


@isolated
@pytest.mark.parametrize("privileged", [True, False])
@pytest.mark.parametrize("files", [{}, {"data.csv": b"1,2"}])
def test_no_place_takes_a_note_for_the_next_student_or_without_limit(privileged, files):
    said = []
    with Sandbox("bubblewrap", LIMITS) as sandbox:
        sandbox.privileged = sandbox.privileged and privileged
        for _ in range(2):
            session = sandbox.open(files)
            said.append(session.ask("run", NOTE, "a")["text"])
            session.close()
    assert said == ["", ""]


@isolated
def test_no_process_of_a_student_survives():
    graded(SUITE["damage: an orphan"])
    graded(SUITE["damage: many processes"])
    graded(SUITE["kernel: it does not die with its parent"])
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 987" not in listed and "sleep 988" not in listed


@isolated
def test_the_same_seed_gives_the_same_page_and_another_the_same_grade():
    first, again, other = graded(WRONG, seed=1), graded(WRONG, seed=1), graded(WRONG, seed=2)
    assert (first.scores, first.autograded) == (again.scores, again.autograded)
    assert other.scores == first.scores
    assert other.autograded != first.autograded


def test_without_a_box_the_verdict_is_still_outside(honest):
    for name in ("forge: check is replaced", "forge: allclose says yes", "damage: exit", "evasion: right for one seed"):
        done = graded(SUITE[name], mode="limits")
        assert done.scores["square-check"] <= honest["square-check"]
        assert done.scores["exp-check"] == 8.0


@isolated
def test_a_user_without_privileges_gets_a_box_too():
    with Sandbox("bubblewrap", LIMITS) as sandbox:
        sandbox.privileged = False
        notebook, _ = parse(submitted(None), "n.ipynb")
        repair(notebook, FORM)
        NotebookGrader(sandbox, 1).grade(notebook)
    assert [c.outputs[0].data["text/plain"] for c in notebook.cells if "square-check" == c.id] == ["8.0"]
