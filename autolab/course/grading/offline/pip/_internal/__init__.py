"""Where a system's `pip` command, and notebooks, look for `main`."""

from pip import main

__all__ = ["main"]
