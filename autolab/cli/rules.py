"""`autolab rules`: the table of derivative rules, for reading."""

from __future__ import annotations

import json
import textwrap
from difflib import get_close_matches
from typing import Any

import click

from autolab.engine.op import Op
from autolab.rules import TABLE

WIDTH = 80


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--code", is_flag=True, help="Print the Python that is generated for the rows, and runs.")
def rules(names: tuple[str, ...], as_json: bool, code: bool) -> None:
    """Print rows of the table of derivative rules.

    NAME is an operation, such as mul. Without one, all rows are printed, a line each.
    """
    if code:
        from autolab.fast.row import source

        click.echo("\n\n".join(source(find_row(name)).rstrip() for name in names or TABLE))
        return
    rows = [facts(find_row(name)) for name in names or TABLE]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif names:
        click.echo("\n\n".join(whole(row) for row in rows))
    else:
        click.echo("\n".join(line(row) for row in rows))


def find_row(name: str) -> Op:
    """The row of the table. Raises UsageError, with the nearest names, if there is none."""
    if name in TABLE:
        return TABLE[name]
    near = get_close_matches(name, TABLE, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`autolab rules` lists them all."
    raise click.UsageError(f"There is no row {name!r}. {hint}")


def facts(row: Op) -> dict[str, Any]:
    """A row as plain data: formulas are the text of the code that runs."""
    return {
        "name": row.name,
        "kind": row.kind,
        "view": row.view,
        "inputs": list(row.inputs),
        "settings": list(row.settings),
        "forward": row.forward_formula(),
        "backward": {x: row.formula(x) for x in row.rules},
        "remembers": {x: [n for n in rule.needs if n not in row.settings] for x, rule in row.rules.items()},
    }


def line(row: dict[str, Any]) -> str:
    """A row on one line, cut to the width of a page."""
    backward = "; ".join(f"{x}: {formula}" for x, formula in row["backward"].items()) or "-"
    text = f"{row['name']:<16} {row['kind']:<11}  {backward}"
    return text if len(text) <= WIDTH else text[: WIDTH - 4] + " ..."


def whole(row: dict[str, Any]) -> str:
    """A row in full, a formula for each input."""
    remembers = {x: ", ".join(needs) or "nothing" for x, needs in row["remembers"].items()}
    parts = [f"{row['name']}  ({row['kind']}{', a view' if row['view'] else ''})"]
    parts += label_cells("forward", {"": row["forward"]})
    parts += label_cells("backward", row["backward"] or {"": "none: the result has no gradient"})
    parts += label_cells("remembers", remembers)
    if row["settings"]:
        parts += label_cells("settings", {"": ", ".join(row["settings"])})
    return "\n".join(parts)


def label_cells(label: str, cells: dict[str, str]) -> list[str]:
    """A label and the cells beside it, each wrapped to the width of a page."""
    lines: list[str] = []
    for x, cell in cells.items():
        start = f"  {label if not lines else '':<11}" + (f"{x}: " if x else "")
        lines += textwrap.wrap(cell, WIDTH, initial_indent=start, subsequent_indent=" " * len(start))
    return lines
