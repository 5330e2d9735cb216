"""Steps of nbgrader that lose no submission and give no point away.

`exercises/nbgrader_config.py` puts them into `nbgrader autograde` and `nbgrader generate_feedback`.
"""

from __future__ import annotations

import re
from typing import Any

from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.preprocessors import Execute, NbGraderPreprocessor, OverwriteCells
from nbgrader.preprocessors.execute import UnresponsiveKernelError

from autolab.check.report import MIMETYPE

CALL = re.compile(r"^check\(\s*['\"](\w+)['\"]", re.MULTILINE)
HIDDEN = re.compile(r"^[^\n]*BEGIN HIDDEN TESTS.*?END HIDDEN TESTS[^\n]*$\n?", re.DOTALL | re.MULTILINE)


class RestoreCells(OverwriteCells):
    """Put deleted tests back at the end of the notebook, below every answer.

    nbgrader's own way looks for the cell that stood above, and gives up on the submission if that is gone as well.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Restore what the gradebook knows and the submission lacks."""
        self.add_missing_cells = True
        return super().preprocess(nb, resources)

    def add_missing_grade_cells(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Append every graded cell that is not there."""
        here = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in nb.cells}
        notebook = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        points = {cell.name: cell.max_score for cell in notebook.grade_cells}
        answers = {cell.name for cell in notebook.solution_cells}
        for source in notebook.source_cells:
            if source.name in points and source.name not in here:
                self.log.warning("cell %s is missing from the submission; it is put back", source.name)
                cell = self.missing_cell_transform(source, points[source.name], is_solution=source.name in answers)
                if source.name in answers:
                    # without the notice it is the stub again, which nbgrader knows to be worth nothing
                    cell.source = source.source
                nb.cells.append(cell)
        return nb, resources


class RunCells(Execute):
    """Run the notebook; if the kernel dies, go on with what has run."""

    def preprocess(self, nb: NotebookNode, resources: dict, km: Any = None) -> tuple[NotebookNode, dict]:
        """Fill in the outputs."""
        try:
            return super().preprocess(nb, resources, km)
        except (DeadKernelError, UnresponsiveKernelError) as error:
            self.log.warning("the kernel died: %s", error)
            return nb, resources


class RequireVerdict(NbGraderPreprocessor):
    """A test without a verdict earns nothing.

    nbgrader takes a test cell without output, or with an output that is no number, for full points. Here a cell that
    never ran, and a `check` that did not end in a report on that exercise for that many points, fails instead.
    """

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """Turn a missing verdict into an error, which nbgrader counts as no points."""
        if cell.cell_type != "code" or not utils.is_grade(cell) or utils.is_solution(cell):
            return cell, resources
        for output in cell.outputs:
            if output.output_type == "stream":
                output.name = "stdout"  # on stderr a warning would cost all points
        if any(output.output_type == "error" for output in cell.outputs):
            return cell, resources
        problem = "this cell did not run: the kernel had died before" if cell.execution_count is None else None
        call = CALL.search(cell.source)
        if call and not problem:
            problem = verdict_problem(cell, call[1])
        if problem:
            text = f"No verdict, no points: {problem}."
            cell.outputs = [o for o in cell.outputs if o.output_type == "stream"]
            cell.outputs.append(new_output("error", ename="NoVerdict", evalue=text, traceback=[text]))
        return cell, resources


def verdict_problem(cell: NotebookNode, exercise: str) -> str | None:
    """Why the output of a check cell is no verdict on this exercise, or None if it is one."""
    results = [output for output in cell.outputs if output.output_type == "execute_result"]
    if len(results) != 1 or MIMETYPE not in results[0].data:
        return f"the cell did not end in the report of check({exercise!r}, ...)"
    data = results[0].data
    report = data[MIMETYPE]
    if report["exercise"] != exercise:
        return f"the report is about {report['exercise']!r}, not about {exercise!r}"
    if report["max_points"] != cell.metadata.nbgrader["points"]:
        return f"the report is for {report['max_points']} points, the cell for {cell.metadata.nbgrader['points']}"
    if data.get("text/plain") != repr(float(report["points"])):
        return "the points and the report do not agree"
    return None


class HideHiddenTests(NbGraderPreprocessor):
    """Feedback says how many points the hidden tests gave, and nothing of what they ask."""

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """Cut the hidden lines and all outputs of such a cell."""
        if cell.cell_type == "code" and HIDDEN.search(cell.source):
            cell.source = HIDDEN.sub("# (hidden tests)\n", cell.source)
            score, points = (cell.metadata.nbgrader.get(key) for key in ("score", "points"))
            text = f"The hidden tests gave {score or 0:g} of {points or 0:g} points.\n"
            cell.outputs = [new_output("stream", name="stdout", text=text)]
        return cell, resources
