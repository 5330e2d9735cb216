"""The course for nbgrader: run its commands in this folder, such as `nbgrader generate_assignment ps2`."""

from pathlib import Path

from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, SaveAutoGrades

from autolab.course.grading.exchange import CollectWithoutLinks, ReleaseWhatCameThroughExchange
from autolab.course.grading.formgrader import FILTERS, TEMPLATE
from autolab.course.grading.pages import FeedbackPage
from autolab.course.grading.preprocessors import Repair, RunInBox, SubmissionReader
from autolab.course.grading.release import ReleaseWriter
from autolab.course.grading.unfinished import GradesAsCsv

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "autolab"
c.CourseDirectory.root = str(Path(__file__).resolve().parent)  # also for Formgrader in a JupyterLab started elsewhere
c.ClearSolutions.code_stub = {"python": "# your code here\nraise NotImplementedError"}
c.ClearSolutions.text_stub = "Your answer here."

# What was handed in is read however broken it is and put in order; student code runs in a box without network and files,
# and what it earned is found out outside of it.
c.Autograde.exporter_class = SubmissionReader
c.Autograde.sanitize_preprocessors = [Repair]
c.Autograde.autograde_preprocessors = [RunInBox, SaveAutoGrades, AssignLatePenalties, CheckCellMetadata]
c.ExchangeFactory.collect = CollectWithoutLinks

# A release is made anew only if the gradebook can take it. Feedback is the page that `autolab course grade` makes, and
# goes back to those who handed in through the exchange.
c.GenerateAssignment.exporter_class = ReleaseWriter
c.GenerateFeedback.exporter_class = FeedbackPage
c.GenerateFeedback.preprocessors = []
c.ExchangeFactory.release_feedback = ReleaseWhatCameThroughExchange
c.ExportApp.plugin_class = GradesAsCsv  # says if a regrade is not finished

# Formgrader shows formulas without a network, and text that a student wrote as text.
c.HTMLExporter.template_file = TEMPLATE
c.HTMLExporter.filters = FILTERS

# Without bubblewrap and without a container nothing is graded, unless you trust everybody who handed in:
# c.RunInBox.box = "limits"

# A cell may compute for busy_seconds, and take cell_seconds with its waiting; then it is stopped, and its points are lost. A
# regrade with the seed that is recorded in the autograded notebook (metadata.autolab.seed) gives the same grades:
# c.RunInBox.seed = 123
c.RunInBox.busy_seconds = 2
c.RunInBox.cell_seconds = 8
c.RunInBox.total_seconds = 60

# Files beside a notebook that its cells can read and import: plain ones of these kinds, none of a folder in the folder.
c.RunInBox.files = ["*.csv", "*.tsv", "*.txt", "*.json", "*.npy", "*.npz", "*.py"]
c.RunInBox.files_count = 20
c.RunInBox.files_bytes = 8 << 20  # in all; the box has room for 16 MB
