"""PyTorch's names bound to rows: here `dim` becomes `axis` and `keepdim` becomes `keepdims`, and nowhere else.

One file a family. A function says at its definition in which forms it is public; `methods` gives Tensor its methods and operators.
"""

from autolab.torch_api import (
    comparisons, complex_numbers, creation, cumulative, diagonals, dtype_info, generator, index, inplace, joining, layout,
    legacy_constructors, linalg, methods, more_creation, more_pointwise, pointwise, printing, products, random, reduce,
    scatter, settings, shape, sorting, special, storage, transposes, view_copies, views,
)  # fmt: skip

__all__ = [
    "comparisons", "complex_numbers", "creation", "cumulative", "diagonals", "dtype_info", "generator", "index", "inplace", "joining",
    "layout", "legacy_constructors", "linalg", "methods", "more_creation", "more_pointwise", "pointwise", "printing", "products",
    "random", "reduce", "scatter", "settings", "shape", "sorting", "special", "storage", "transposes", "view_copies", "views",
]  # fmt: skip

methods.bind()
