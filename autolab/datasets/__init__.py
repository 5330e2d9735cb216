"""Small real data that comes with the package, each with its source and licence in ``README.md`` beside it."""

from autolab.datasets.optical_digits import digits

__all__ = ["digits"]
