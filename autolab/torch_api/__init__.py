"""PyTorch's names bound to rows: here `dim` becomes `axis` and `keepdim` becomes `keepdims`, and nowhere else.

One file a family. `methods` gives `Tensor` its methods and operators from a table, so that the class itself stays small.
"""

from autolab.torch_api import creation, generator, index, inplace, linalg, methods, pointwise, printing, random, reduce, shape

__all__ = ["creation", "generator", "index", "inplace", "linalg", "methods", "pointwise", "printing", "random", "reduce", "shape"]
