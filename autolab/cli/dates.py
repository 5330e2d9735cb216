"""Days and times on the command line."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click


class When(click.DateTime):
    """A day such as 2027-02-01, or also a time of it, such as "2027-02-01 18:00"."""

    def __init__(self, time: bool = False) -> None:
        super().__init__(["%Y-%m-%d", "%Y-%m-%d %H:%M"] if time else ["%Y-%m-%d"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The day or time. Fails with an example."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            time = ' or "2027-02-01 18:00"' if len(self.formats) > 1 else ""
            self.fail(f"{value!r} is not a day of the calendar; write it like 2027-02-01{time}", param, ctx)
