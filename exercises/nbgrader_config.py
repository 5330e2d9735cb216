"""The course for nbgrader: run its commands in this folder, such as `nbgrader generate_assignment ps2`."""

from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearOutput,
    DeduplicateIds,
    GetGrades,
    IgnorePattern,
    LimitOutput,
    OverwriteKernelspec,
    SaveAutoGrades,
)

from autolab.course.preprocessors import HideHiddenTests, RequireVerdict, RestoreCells, RunCells

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "autolab"
c.CourseDirectory.root = str(Path(__file__).resolve().parent)  # also for Formgrader in a JupyterLab started elsewhere
c.ClearSolutions.code_stub = {"python": "# your code here\nraise NotImplementedError"}
c.ClearSolutions.text_stub = "Your answer here."

# Deleted tests are put back, a dead kernel ends only the cells below it, and a test without a verdict earns nothing.
c.Autograde.sanitize_preprocessors = [
    ClearOutput, DeduplicateIds, OverwriteKernelspec, RestoreCells, CheckCellMetadata,
]
c.Autograde.autograde_preprocessors = [
    RunCells, RequireVerdict, IgnorePattern, LimitOutput, SaveAutoGrades,
    AssignLatePenalties, CheckCellMetadata,
]
c.GenerateFeedback.preprocessors = [GetGrades, HideHiddenTests, CSSHTMLHeaderPreprocessor]

# An endless loop costs this many seconds, and then the points of its cell.
c.Execute.timeout = 20
