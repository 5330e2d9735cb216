"""Kernels, a file for each family of rows, named like that in `autolab.rules`; it is loaded when one of them first runs."""

from importlib import import_module
from typing import Any

FAMILIES = frozenset(
    {
        "activations", "arithmetic", "calculus", "conv", "elementwise", "error_functions", "gamma", "index", "linalg", "matrix", "nn",
        "order", "pool", "recurrent", "reduce", "shape",
    }
)  # fmt: skip


def load_kernels(op: Any) -> None:
    """Load the kernels of the family of a row, which is about to run for the first time."""
    family = op.forward.__module__.rpartition(".")[2]
    if family in FAMILIES:
        import_module(f"autolab.fast.kernels.{family}")
