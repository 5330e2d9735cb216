"""pip._internal.cli.main"""

from pip import main

__all__ = ["main"]
