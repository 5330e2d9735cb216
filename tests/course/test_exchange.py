"""One problem set goes all the way through nbgrader's own commands and its exchange, and comes back with marks."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autolab.course.grading.exchange import copy_plain
from autolab.course.grading.scheduler import Course, grade_course

from .conftest import Course as NewCourse
from .conftest import cell

SET, NAME = "ps8", "beyond-the-first-derivative"
RUN = """
import os, sys
from nbgrader.apps.nbgraderapp import NbGraderApp
for command in sys.argv[1:]:
    print("$ nbgrader", command, flush=True)
    child = os.fork()
    if child == 0:
        NbGraderApp.launch_instance(argv=command.split())
        sys.exit()
    if os.waitpid(child, 0)[1]:
        sys.exit(1)
"""


class School:
    """An instructor's folder, a student's folder, and the exchange between them."""

    def __init__(self, root):
        self.course, self.student, self.exchange = root / "course", root / "student", root / "exchange"
        for folder in (self.course, self.student, self.exchange, root / "home"):
            folder.mkdir()
        self.exchange.chmod(0o777)
        NewCourse(self.course)  # copies the sources and the configuration
        self.home = root / "home"

    def run(self, folder, *commands):
        """Several commands of nbgrader, each in a process of its own, forked from one that has imported it."""
        where = f"--Exchange.root={self.exchange} --CourseDirectory.course_id=autolab --Exchange.cache={self.home / 'cache'}"
        env = {
            **os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), "HOME": str(self.home),
            "IPYTHONDIR": str(self.home), "JUPYTER_CONFIG_DIR": str(self.home),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", RUN, *(f"{command} {where}" for command in commands)],
            cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


def read(path):
    return nbformat.read(path, as_version=4)


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """Released, fetched, answered (one exercise wrongly), submitted, collected, graded, and returned."""
    school = School(tmp_path_factory.mktemp("school"))
    school.said = {"release": school.run(
        school.course, f"generate_assignment {SET}", f"validate source/{SET}/{NAME}.ipynb", f"release_assignment {SET}", "list"
    )}  # fmt: skip

    school.said["fetch"] = school.run(school.student, f"fetch_assignment {SET}")
    path = school.student / SET / f"{NAME}.ipynb"
    school.fetched = read(path)
    answered, source = read(path), read(school.course / "source" / SET / f"{NAME}.ipynb")
    for answer in (c for c in source.cells if "### BEGIN SOLUTION" in c.source):
        cell(answered, answer.id).source = answer.source
    first_order = "    return [g * v for g, v in zip(torch.autograd.grad(f(*params), params), vectors)]"
    cell(answered, "hvp").source = f"def hvp(f, params, vectors):\n{first_order}"
    cell(answered, "why-modes").source = "One row at a time, or one column."
    nbformat.write(answered, path)
    school.said["submit"] = school.run(school.student, f"submit {SET}")
    (handed_in,) = (school.exchange / "autolab" / "inbound").iterdir()  # a student's own folder
    (handed_in / "leak.csv").symlink_to(school.course / "nbgrader_config.py")
    (handed_in / "leak").symlink_to(school.course)

    school.said["grade"] = school.run(
        school.course, f"collect {SET}", f"autograde {SET}", f"generate_feedback {SET}", f"release_feedback {SET}", "export"
    )
    school.said["return"] = school.run(school.student, f"fetch_feedback {SET}", "list --inbound")
    return school


def test_the_release_is_validated_and_listed(school):
    assert "Success! Your notebook passes all the tests." in school.said["release"]
    assert f"autolab {SET}" in school.said["release"]


def test_a_student_fetches_stubs_and_no_hidden_test(school):
    assert "raise NotImplementedError" in cell(school.fetched, "hvp").source
    text = "\n".join(c.source for c in school.fetched.cells)
    assert "SOLUTION" not in text
    assert "seed=" not in text


def test_the_submission_is_collected(school):
    (student,) = (school.course / "submitted").iterdir()
    assert (student / SET / f"{NAME}.ipynb").exists()


def test_what_a_link_in_it_leads_to_is_not_collected(school):
    assert {p.name for p in (school.course / "submitted").rglob("*/*/*")} == {f"{NAME}.ipynb", "timestamp.txt", "submission_secret.txt"}
    assert ": 'leak.csv' is a link, which is not followed" in school.said["grade"]


def test_what_is_laid_in_the_way_of_collecting_is_left_out_and_the_rest_copied(tmp_path):
    source, deep = tmp_path / "in", tmp_path / "in"
    for _ in range(400):
        deep /= "deep"
    deep.mkdir(parents=True)
    (source / "sub").mkdir()
    for name in ("a.ipynb", "sub/b.csv"):
        (source / name).write_text(name)
    os.mkfifo(source / "pipe")
    (source / "link").symlink_to("/etc")
    (source / "large").write_bytes(bytes(2000))
    said = " ".join(copy_plain(str(source), str(tmp_path / "out"), 1000))
    assert {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file()} == {"a.ipynb", "sub/b.csv"}
    for words in ("'pipe' is not a plain file", "'link' is a link", "'large' is beyond the bytes", "more than 20 folders deep"):
        assert words in said


def test_neither_many_files_nor_a_folder_that_is_a_link_ends_the_collection(tmp_path, monkeypatch):
    monkeypatch.setattr("autolab.course.grading.exchange.MANY", 3)
    (tmp_path / "in").mkdir()
    for i in range(9):
        (tmp_path / "in" / f"{i}").touch()
    os.symlink(tmp_path / "in", tmp_path / "link")
    assert copy_plain(str(tmp_path / "in"), str(tmp_path / "out"), 1000) == ["'.' holds more than 3 files in all"]
    assert copy_plain(str(tmp_path / "link"), str(tmp_path / "none"), 1000) == ["the folder is a link or none, which is not followed"]


def test_marks_are_partial_and_exported(school):
    exported = (school.course / "grades.csv").read_text("utf-8").splitlines()
    (row,) = [r for r in csv.DictReader(exported) if r["assignment"] == SET]
    everything = sum(c.metadata.get("nbgrader", {}).get("points", 0) for c in school.fetched.cells)
    by_hand, hvp = 6, 9
    assert float(row["max_score"]) == everything
    assert everything - by_hand - hvp < float(row["raw_score"]) < everything - by_hand


def test_feedback_comes_back_to_the_student(school):
    (page,) = (school.student / SET / "feedback").rglob("*.html")
    text = page.read_text("utf-8")
    assert "These are the gradients times v" in text
    assert "seed=" not in text


def test_what_autolab_grades_goes_back_through_the_exchange_too(school):
    (collected,) = (school.course / "submitted").iterdir()
    (returned,) = (school.student / SET / "feedback").rglob("*.html")
    for place in (school.exchange / "autolab" / "feedback", school.course / "feedback", school.course / "autograded"):
        shutil.rmtree(place)
    returned.unlink()
    run = grade_course(Course(school.course), SET)
    said = school.run(school.course, f"release_feedback {SET}")
    assert run.graded == 1 and f"Releasing feedback for student '{collected.name}'" in said
    school.run(school.student, f"fetch_feedback {SET}")
    page = school.course / "feedback" / collected.name / SET / f"{NAME}.html"
    assert returned.read_text("utf-8") == page.read_text("utf-8")
