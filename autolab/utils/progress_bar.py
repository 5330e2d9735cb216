"""A bar that says how far a loop is and how long it will take: tqdm's where it is installed, else a line of our own."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

EVERY = 0.5  # seconds between two lines
WIDTH = 72


def progress_bar(items: Sequence[Any], label: str = "") -> Iterator[Any]:
    """Go through `items`, and say on standard output how many are done and how many seconds are left.

    Standard output, and not standard error, because a notebook colours the latter as a warning. In a loop:
    `for step in progress_bar(range(1000), "training"): ...`.
    """
    if find_spec("tqdm"):
        from tqdm import tqdm

        yield from tqdm(items, desc=label or None, file=sys.stdout, ncols=WIDTH, mininterval=EVERY)
        return
    began = shown = time.monotonic()
    for done, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - shown >= EVERY or done == len(items):
            shown, left = now, (now - began) / done * (len(items) - done)
            end = "\n" if done == len(items) else ""
            print(f"\r{label or 'done'}: {done} of {len(items)}, {left:.0f} s left".ljust(WIDTH), end=end, flush=True)
