"""The `autolab` command. Plain text that fits 80 columns; `--json` for programs.

Exit status: 0 passed, 1 failed, 2 could not run.
"""

import sys


def main() -> None:
    """Run the command. Without click, which comes with Jupyter's extras and not with NumPy, say what to install."""
    try:
        import click
    except ModuleNotFoundError:
        print('The autolab command needs click, which is not installed: pip install "autolab-grad[lab]"', file=sys.stderr)
        sys.exit(2)
    from autolab.cli.group import group

    group(prog_name="autolab")
