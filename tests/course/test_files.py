"""Data and modules beside a notebook: what is taken into the sandbox, what is not, and what the student is told."""

import json
import os
from pathlib import Path

import pytest

from autolab.course.grading import settings
from autolab.course.grading.files import FilePolicy, companion_files, odd_files
from autolab.course.grading.sandbox import Sandbox, best_mode
from autolab.course.grading.scheduler import Course
from autolab.course.grading.worker import Job, grade

from .pages import feedback_of
from .test_hostile import FORM, FULL, LIMITS, WRONG, isolated, submitted

SECRET = "SECRET-7f3a91"
MODES = [pytest.param(("bubblewrap", True), marks=isolated, id="root"), pytest.param(("bubblewrap", False), marks=isolated, id="nobody"),
         pytest.param(("limits", False), id="limits")]  # fmt: skip
READS = WRONG.replace("7.5", "float(open('two.csv').read())").replace("class Square", "import times\nimport numpy\n\n\nclass Square", 1)


def taken(folder, **files):
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_bytes(content)
    return companion_files(folder, FilePolicy(count=3, size=10))


@pytest.fixture(scope="module")
def session(request):
    """Opens sessions of one sandbox with files, and runs a cell in each. A sandbox takes a second to start."""
    mode, privileged = request.param
    with Sandbox(mode, LIMITS) as sandbox:
        sandbox.privileged = sandbox.privileged and privileged

        def run(source, files):
            opened = sandbox.open(files)
            try:
                return opened.ask("run", source, "a")
            finally:
                opened.close()

        yield run


# -- what is taken along


def test_data_and_modules_are_taken_along_and_other_kinds_are_not(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.csv").touch()
    (tmp_path / "submission_secret.txt").touch()
    files, notes = taken(tmp_path, data_csv=b"1", helper_py=b"2", picture_png=b"3", n_ipynb=b"4", timestamp_txt=b"5", _hidden=b"6")
    assert (files, notes) == ({"data.csv": b"1", "helper.py": b"2"}, [])


def test_folders_that_are_called_as_data_are_closed_again(tmp_path):
    for i in range(9):
        (tmp_path / f"{i}.csv").mkdir()
    before = free()
    assert companion_files(tmp_path, FilePolicy())[0] == {} and free() == before


def free():
    """The next two descriptors."""
    two = os.dup(0), os.dup(0)
    for descriptor in two:
        os.close(descriptor)
    return two


@pytest.mark.parametrize("make", ["symlink", "fifo", "folder", "long"])
def test_what_is_no_ordinary_file_of_its_size_is_named_and_left(tmp_path, make):
    (tmp_path / "secret").write_text(SECRET[:5])
    {"symlink": lambda p: p.symlink_to(tmp_path / "secret"), "fifo": os.mkfifo, "folder": Path.mkdir,
     "long": lambda p: p.write_bytes(bytes(11))}[make](tmp_path / "a.csv")  # fmt: skip
    files, (note,) = taken(tmp_path, b_csv=b"1")
    assert files == {"b.csv": b"1"} and note.startswith("a.csv was not taken along")


def test_they_are_counted_and_weighed_together(tmp_path):
    files, notes = taken(tmp_path, a_csv=b"12345", b_csv=b"123456", c_csv=b"12345", d_csv=b"", e_csv=b"")
    assert list(files) == ["a.csv", "c.csv", "d.csv"]
    assert [note.split()[0] for note in notes] == ["b.csv", "e.csv"]


def test_a_folder_that_is_a_link_is_not_entered(tmp_path):
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "data.csv").write_text(SECRET)
    (tmp_path / "mine").symlink_to(tmp_path / "others")
    assert companion_files(tmp_path / "mine", FilePolicy()) == ({}, [])


@pytest.mark.parametrize("name", [".hidden.csv", "a\nb.csv", "x" * 120 + ".csv", "-rf.csv", "<b>.csv"])
def test_a_name_that_is_none_is_not_taken(tmp_path, name):
    (tmp_path / name).write_text("1")
    assert companion_files(tmp_path, FilePolicy()) == ({}, [])


def test_a_course_says_which_kinds_and_how_much(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "nbgrader_config.py").write_text('c = get_config()\nc.RunInBox.files = ["*.dat"]\nc.RunInBox.files_bytes = 7\n')
    assert settings.file_policy(tmp_path) == FilePolicy(kinds=("*.dat",), size=7)


# -- in the sandbox


@pytest.mark.parametrize("session", MODES, indirect=True)
def test_a_cell_reads_them_and_imports_them(session):
    said = session("import helper\nprint(helper.x, open('data.csv').read())", {"helper.py": b"x = 4711", "data.csv": b"1,2"})
    assert said["text"] == "4711 1,2\n"


@pytest.mark.parametrize("session", MODES, indirect=True)
def test_no_student_sees_the_files_of_another(session):
    session("x = 1", {"data.csv": SECRET.encode()})
    said = session(
        "import glob\nprint([open(p).read() for p in glob.glob('**', recursive=True)], glob.glob('/scratch/*/*'))", {"b.csv": b"2"}
    )
    assert said["text"] == "['2'] []\n"


@pytest.mark.parametrize("session", MODES, indirect=True)
def test_a_module_that_is_called_as_one_of_ours_breaks_nothing(session):
    names = ("numpy", "autolab", "json", "socket", "sitecustomize", "IPython", "traceback")
    said = session("import numpy, autolab, json\nprint(json.dumps(numpy.arange(2).tolist()))", {f"{n}.py": b"1 / 0" for n in names})
    assert said["text"] == "[0, 1]\n" and said["error"] is None


@pytest.mark.parametrize("session", MODES, indirect=True)
@pytest.mark.parametrize(
    "line",
    [
        "%pip install x",
        "!pip install x",
        "!python3 -m pip -q install x",
        "!conda install -y x",
        "import pip; pip.main(['install', 'x'])",
        "from pip._internal import main as m; m(['install', 'x'])",
    ],
)
def test_installing_ends_at_once_and_the_cell_goes_on(session, line):
    said = session(f"{line}\nprint('goes on')", {})
    assert said["text"] == "While this is graded there is no network and nothing is installed: numpy and autolab are here.\ngoes on\n"


@pytest.mark.parametrize("session", MODES, indirect=True)
@pytest.mark.parametrize("line", ["import subprocess, sys; subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'x'])",
                                  "import os; os.system('pip install x')", "x = !pip install x", "%matplotlib inline"])  # fmt: skip
def test_a_cell_that_begins_so_goes_on(session, line):
    said = session(f"{line}\nprint('goes on')", {})
    assert said["text"] == "goes on\n" and said["error"] is None


# -- graded


def test_an_exercise_that_reads_a_file_and_imports_a_module_is_worth_its_points():
    files = (("times.py", b"x = 2"), ("two.csv", b"2"), ("numpy.py", b"1 / 0"))
    done = grade(Job("eve", "ps", "n", submitted(READS), (), FORM, 11, LIMITS, best_mode(), files))
    assert done.scores == FULL and done.notes == []


@pytest.mark.parametrize(("line", "hint"), [
    ("!pip install seaborn", "there is no network and nothing is installed: numpy and autolab are here"),
    ("import surely_not_there", "beside the notebook data.csv. Of what was handed in beside it these kinds are taken along: *.csv"),
    ("open('other.csv')", "beside the notebook data.csv"),
    ("import urllib.error\nraise urllib.error.URLError('no')", "there is no network"),
])  # fmt: skip
def test_a_cell_that_wants_what_is_not_there_is_told_what_is(line, hint):
    answer = f"{line}\n{WRONG.replace('7.5', '2')}"
    done = grade(Job("eve", "ps", "n", submitted(answer), (), FORM, 11, LIMITS, best_mode(), (("data.csv", b"1"),)))
    assert hint in done.notes[0] and hint.split(":")[0] in feedback_of(done)
    assert done.scores["exp-check"] == 8.0
    assert done.scores["square-check"] == (8.0 if line.startswith("!") else 0.0)


def test_an_ordinary_error_has_no_hint():
    assert grade(Job("eve", "ps", "n", submitted("1 / 0  # !pip install x"), (), FORM, 11, LIMITS, best_mode())).notes == []


# -- told to who grades


def test_links_pipes_and_files_that_set_up_a_program_are_told_wherever_they_lie(tmp_path):
    (tmp_path / "sub" / ".ipython").mkdir(parents=True)
    (tmp_path / "sub" / "Conftest.py").touch()
    (tmp_path / "data.csv").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("..")
    os.mkfifo(tmp_path / "pipe")
    for name in ("nbgrader_config.py", "helper.py", "timestamp.txt"):
        (tmp_path / name).touch()
    told = [line.split(",")[0] for line in odd_files(tmp_path)]
    assert told == [
        "'data.csv' is a link to '/etc/passwd'", "'nbgrader_config.py' is a file that sets up a program", "'pipe' is a pipe",
        "'up' is a link to '..'", "'sub/.ipython' is a file that sets up a program", "'sub/Conftest.py' is a file that sets up a program",
    ]  # fmt: skip


def test_of_many_files_and_of_folders_in_folders_the_first_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr("autolab.course.grading.files.LOOKED_AT", 20)
    for i in range(30):
        (tmp_path / f"{i:02}").mkdir()
    (tmp_path / "00" / "conftest.py").touch()
    assert odd_files(tmp_path) == [] and odd_files(tmp_path / "00") and odd_files(tmp_path / "none") == []
    assert len(os.listdir(tmp_path)) == 30


def test_points_that_were_raised_are_told_and_not_given():
    notebook = json.loads(submitted(WRONG))
    check = next(c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == "square-check")
    check["metadata"]["nbgrader"]["points"] = 1000
    bonus = {"grade": True, "grade_id": "bonus", "points": 99}
    notebook["cells"].append({"cell_type": "code", "source": "99.0", "metadata": {"nbgrader": bonus}})
    done = grade(Job("eve", "ps", "n", json.dumps(notebook), (), FORM, 11, LIMITS, best_mode(), odd=("a link",)))
    assert done.suspicious == ["a link", "cell 'square-check' claims 1000 points where 8 were released",
                               "cell 'bonus' claims 99 points where 0 were released"]  # fmt: skip
    assert sum(done.scores.values()) < 20


# -- a class


@pytest.fixture
def handed_in(tmp_path):
    """The folder of a submission with a file, and a link to one of somebody else's; reads the job made of it."""
    (tmp_path / "source").mkdir()
    folder = tmp_path / "submitted" / "ada" / "ps"
    folder.mkdir(parents=True)
    (folder / "n.ipynb").write_text(submitted(READS))
    (folder / "two.csv").write_text("2")
    (folder / "leak.csv").symlink_to("/etc/passwd")
    return folder, lambda: next(Course(tmp_path).jobs("ps", {"n": FORM}, 1, LIMITS, None))


def test_a_submission_carries_its_files_and_no_links(handed_in):
    _, job = handed_in
    assert job().files == (("two.csv", b"2"),) and job().notes[0].startswith("leak.csv was not taken along")
    assert job().odd == ("'leak.csv' is a link to '/etc/passwd', which is not followed",)


def test_no_text_is_taken_for_another_with_files(monkeypatch):
    monkeypatch.setattr("autolab.course.grading.worker.hashlib.sha256", Unhashed)
    with_file = Job("ada", "ps", "n", "{}", (), FORM, 1, LIMITS, files=(("a.py", b""),))
    assert with_file.digest.startswith(b"{}()".hex())
    assert with_file.digest != Job("ada", "ps", "n", "{}()a.py", (), FORM, 1, LIMITS).digest


class Unhashed:
    """Instead of a hash the bytes themselves, and of nothing those that a text without notes ends in."""

    def __init__(self, data):
        self.data = data

    def digest(self):
        return self.data or b"()"

    def hexdigest(self):
        return self.data.hex()


def test_a_submission_is_another_when_one_of_its_files_is(handed_in):
    folder, job = handed_in
    before = job().digest
    (folder / "two.csv").write_text("3")
    assert job().digest != before
