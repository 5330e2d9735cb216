"""The table: every operation, its forward and its backward rules, in NumPy's words.

The rules carry no type hints: they work on arrays in an ordinary backward pass, and on Tensors when the backward pass is itself
recorded (`create_graph=True`). They are expressions; they write into nothing, and they do not branch on values.
"""

from autolab.engine.tensor import TABLE
from autolab.rules import arithmetic, calculus, elementwise, index, linalg, order, reduce, scatter, shape, strided, view_write

# isort: split
from autolab.rules import complex_numbers, unsigned_numbers

# isort: split
from autolab.rules import numpy_dispatch  # last: it takes the rows that are there

# Rows that are loaded with the functions that use them: activations, conv, ctc, nn, padding, pool, resize (autolab.nn.functional), matrix
# and the special functions.
__all__ = [
    "TABLE", "arithmetic", "calculus", "complex_numbers", "elementwise", "index", "linalg", "numpy_dispatch", "order", "reduce",
    "scatter", "shape", "strided", "unsigned_numbers", "view_write",
]  # fmt: skip
