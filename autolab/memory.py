"""Memory: what was freed is kept for the next array of its size, and the garbage collector does not run while modules are loaded.

glibc gives arrays of more than 128 kB (later up to 32 MB) back to the system when they are freed, and gets fresh pages, which the
system fills with zeros, for the next one. Where each operation makes an array that is of more cost than the arithmetic: a chain of
ten operations on a million numbers takes half the time without it.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's numbers for the two settings of mallopt
KEEP_TO_THE_SYSTEM = "AUTOLAB_MALLOC"  # the environment variable: 0 leaves the allocator as it is


def keep_freed_memory(arrays_up_to: int = 64 << 20, unused_up_to: int = 256 << 20) -> bool:
    """Let malloc keep arrays of up to 64 MB, and up to 256 MB that nobody uses. True if this system's malloc has such settings.

    It holds for the whole process. `AUTOLAB_MALLOC=0` in the environment leaves everything as it was.

    >>> keep_freed_memory() in (True, False)
    True
    """
    if os.environ.get(KEEP_TO_THE_SYSTEM) == "0":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # macOS, Windows, musl, a browser
        return False
    return bool(mallopt(MMAP_THRESHOLD, arrays_up_to) and mallopt(TRIM_THRESHOLD, unused_up_to))


@contextmanager
def collector_paused() -> Iterator[None]:
    """Within it, Python looks for no garbage by itself: loading modules makes none, and looking took a third of the import.

    Afterwards all there is counts as old. Else the next two collections, which are for what is new, would go through all of it.

    >>> with collector_paused():
    ...     gc.isenabled()
    False
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():  # what the program froze is to stay so
                gc.freeze()
                gc.unfreeze()  # to the oldest generation, wherever it was before
            gc.enable()
