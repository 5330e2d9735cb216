"""PyTorch's names bound to rows: here `dim` becomes `axis` and `keepdim` becomes `keepdims`, and nowhere else.

One file a family. A function says at its definition in which forms it is public; `methods` gives Tensor its methods and operators, and
`families` lists those that are loaded when they are first used.
"""

from autolab.torch_api import (
    complex_numbers, creation, families, generator, inplace, layout, methods, pointwise, settings,
)  # fmt: skip
from autolab.torch_api.lazy import lazy as _lazy

families.bind_families()
methods.bind()

__all__ = [
    "comparisons", "complex_numbers", "creation", "cumulative", "diagonals", "dtype_info", "families", "generator", "index", "inplace",
    "joining", "layout", "legacy_constructors", "linalg", "methods", "more_creation", "more_pointwise", "pointwise", "printing",
    "products", "random", "reduce", "scatter", "settings", "shape", "softmax", "sorting", "special", "storage", "tensor_facts",
    "transposes", "view_copies", "views",
]  # fmt: skip
__getattr__ = _lazy(__name__, __all__)
