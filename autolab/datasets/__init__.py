"""Small data that comes with the package, each with its source and licence in ``README.md`` beside it, and points made by formulas."""

from autolab.datasets.fisher_iris import iris
from autolab.datasets.optical_digits import digits
from autolab.datasets.points import blobs, circles, spirals, two_moons
from autolab.datasets.shakespeare import sonnets

__all__ = ["blobs", "circles", "digits", "iris", "sonnets", "spirals", "two_moons"]
