"""What is behind `autolab`: the options that all commands share, and the list of commands."""

import click

from autolab.cli.collect import collect
from autolab.cli.course import course
from autolab.cli.course_due import due
from autolab.cli.exercises import exercises
from autolab.cli.lessons import lessons, progress
from autolab.cli.paper import paper
from autolab.cli.rules import rules
from autolab.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="autolab")
def group() -> None:
    """Automatic differentiation to read, step through and be graded on."""


group.add_command(rules)
group.add_command(lessons)
group.add_command(paper)
group.add_command(exercises)
group.add_command(progress)
group.add_command(course)
course.add_command(collect)
course.add_command(due)
