"""Kernels, a file for each family of rows, named like that in `autolab.rules`; it is loaded when one of them first runs."""

FAMILIES = frozenset(
    {
        "activations", "arithmetic", "calculus", "conv", "elementwise", "error_functions", "gamma", "index", "linalg", "matrix", "nn",
        "order", "pool", "recurrent", "reduce", "shape",
    }
)  # fmt: skip
