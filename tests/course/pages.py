"""The feedback page of a submission that no gradebook knows."""

import nbformat

from autolab.course.grading.feedback import page
from autolab.course.grading.marks import CellMarks, Marks


def marks_of(notebook, scores, student="eve"):
    """What a gradebook would hold of it."""
    points = {c.metadata.nbgrader.grade_id: c.metadata.nbgrader.get("points", 0) for c in notebook.cells if "nbgrader" in c.metadata}
    return Marks(student, "", "ps", "n", cells={name: CellMarks(score, points[name]) for name, score in scores.items()})


def page_of(notebook, scores=(), titles=(), comments=()):
    marks = marks_of(notebook, dict(scores))
    marks.comments |= dict(comments)
    return page(notebook, marks, dict(titles))


def feedback_of(done):
    """The page of what `worker.grade` returned."""
    return page_of(nbformat.reads(done.autograded, as_version=4), done.scores)
