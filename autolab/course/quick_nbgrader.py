"""nbgrader, started in half the time: `python -m autolab.course.quick_nbgrader generate_assignment ps2`.

Where `rfc3987_syntax` is installed, jsonschema imports it to check internationalized addresses. It compiles 39 grammars, which takes longer
than all else that nbgrader imports, and no notebook has such an address.
"""

from __future__ import annotations

import sys
from contextlib import suppress

SLOW = "rfc3987_syntax"


def import_jsonschema() -> None:
    """Import jsonschema as if `rfc3987_syntax` were not installed; what imports that later finds it."""
    if "jsonschema" in sys.modules or SLOW in sys.modules:
        return
    sys.modules[SLOW] = None  # type: ignore[assignment]  # Python's way to say that there is no such module
    try:
        with suppress(ImportError):
            import jsonschema  # noqa: F401
    finally:
        del sys.modules[SLOW]


if __name__ == "__main__":
    import_jsonschema()
    from nbgrader.apps.nbgraderapp import main

    main()
