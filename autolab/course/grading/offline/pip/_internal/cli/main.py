"""The module in which programs look for pip's `main`: here, too, the one of `pip`."""

from pip import main

__all__ = ["main"]
