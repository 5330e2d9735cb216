"""The table: every operation, its forward and its backward rules, in NumPy's words.

The rules carry no type hints: they work on arrays in an ordinary backward pass, and on Tensors when the backward pass is itself
recorded (`create_graph=True`). They are expressions; they write into nothing, and they do not branch on values.
"""

from autolab.engine.tensor import TABLE
from autolab.rules import (
    activations, arithmetic, conv, ctc, elementwise, index, linalg, nn, order, padding, pool, reduce, resize,
    scatter, shape, smooth, strided, words, written,
)  # fmt: skip

__all__ = [
    "TABLE", "activations", "arithmetic", "conv", "ctc", "elementwise", "index", "linalg", "nn", "order",
    "padding", "pool", "reduce", "resize", "scatter", "shape", "smooth", "strided", "words", "written",
]  # fmt: skip
