"""A course with five submissions, graded once by nbgrader's own commands."""

import html
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import nbformat
import pytest

from autolab.course.grading.sandbox import best_mode

if best_mode() == "limits":  # who runs the tests trusts the submissions in them
    os.environ.setdefault("AUTOLAB_BOX", "limits")

ROOT = Path(__file__).resolve().parents[2]
NAME = "elementwise-rules"

FORGETS_TO_SUM = """
class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x
"""
RAISES = """
class Hinge(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (1 - x) * (x < 1)

    @staticmethod
    def backward(ctx, g):
        return -g * (x < 1)
"""


class Course:
    """A folder with a course in it, and what its gradebook says."""

    def __init__(self, root):
        self.root = root
        shutil.copytree(ROOT / "exercises" / "source", root / "source")
        shutil.copytree(ROOT / "exercises" / "rubric", root / "rubric")
        shutil.copy(ROOT / "exercises" / "nbgrader_config.py", root)

    def nbgrader(self, *command):
        """Run a command of nbgrader as an instructor does, and return what it printed."""
        home = self.root / "home"  # nobody's own configuration
        home.mkdir(exist_ok=True)
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "HOME": str(home),
            "IPYTHONDIR": str(home),
        }
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *command], cwd=self.root, env=env, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def read(self, folder):
        return nbformat.read(self.root / folder / f"{NAME}.ipynb", as_version=4)

    def submit(self, student, notebook):
        folder = self.root / "submitted" / student / "ps2"
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{NAME}.ipynb")

    def points(self, student):
        """The gradebook's points for each graded cell; None where a person has to look."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from nbgrader.api import Gradebook

            with Gradebook(f"sqlite:///{self.root / 'gradebook.db'}") as gradebook:
                (notebook,) = gradebook.find_submission("ps2", student).notebooks
                return {grade.name: grade.auto_score for grade in notebook.grades}

    def feedback_text(self, student):
        """The feedback page without its tags."""
        page = (self.root / "feedback" / student / "ps2" / f"{NAME}.html").read_text("utf-8")
        return html.unescape(re.sub(r"<[^>]*>", "", page))


def cell(notebook, name):
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == name)


def without(notebook, *names):
    notebook.cells = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") not in names]


def answered(course):
    """The released notebook with the answers of the source in it."""
    notebook, source = course.read("release/ps2"), course.read("source/ps2")
    for answer in (c for c in source.cells if "### BEGIN SOLUTION" in c.source):
        cell(notebook, answer.id).source = answer.source
    cell(notebook, "why-sum").source = "Every entry of y is used three times, so three contributions add up."
    return notebook


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    course = Course(tmp_path_factory.mktemp("course"))
    course.nbgrader("generate_assignment", "ps2")

    right = answered(course)
    cell(right, "fourth_power").source = "import helper\n\nassert helper.data == 'two'\n\n\n" + cell(right, "fourth_power").source
    course.submit("right", right)
    folder = course.root / "submitted" / "right" / "ps2"
    (folder / "helper.py").write_text("data = open('data.txt').read()")
    (folder / "data.txt").write_text("two")
    (folder / "link.txt").symlink_to(course.root / "nbgrader_config.py")
    course.submit("blank", course.read("release/ps2"))

    wrong = answered(course)
    cell(wrong, "mul").source = FORGETS_TO_SUM
    course.submit("wrong", wrong)

    broken = answered(course)
    cell(broken, "fourth_power").source = "class FourthPower(Function)\n    pass"
    cell(broken, "hinge").source = RAISES
    without(broken, "mul-check")
    course.submit("broken", broken)

    sly = answered(course)
    cell(sly, "fourth_power").source += "\nimport autolab.check\nautolab.check.check = lambda *_: None"
    cell(sly, "hinge").source = "import os\nos._exit(0)"
    without(sly, "hinge-hidden", "why-sum")
    course.submit("sly", sly)

    course.nbgrader("autograde", "ps2")
    course.nbgrader("generate_feedback", "ps2")
    return course
