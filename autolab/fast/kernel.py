"""A kernel is a faster way to compute what a row of the table says: its forward formula, or one of its rules, on arrays.

    kernel(rows.relu, x=relu_rule, least=1 << 12)

The formula stays the truth: it is what documents show, what runs on Tensors (for second derivatives), and what runs everywhere with
AUTOLAB_FAST=0. One law holds for all kernels: on the samples of its row a kernel gives what the formula gives.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from autolab.engine.op import Op
from autolab.fast.kernels import FAMILIES


class Kernel(NamedTuple):
    """What computes the same as a formula, for arrays of `least` entries or more. It is right for smaller ones, too."""

    row: Op
    function: Callable[..., Any]
    least: int


# By the formula: the forward function of a row, or one of its rules.
KERNELS: dict[Callable[..., Any], Kernel] = {}


def kernel(row: Op, forward: Callable[..., Any] | None = None, *, least: int = 0, **rules: Callable[..., Any]) -> None:
    """Let a row be computed by `forward(*inputs, **settings)`, and its rules by `rule(g, what the formula asks for)`.

    forward takes all that the row takes but Tensors: arrays, 0-d results, numbers. A rule is called with arrays; g has at least one axis.
    """
    if forward is not None:
        row.compute = forward
        KERNELS[row.forward] = Kernel(row, forward, least)
    for x, function in rules.items():
        rule = row.rules[x]
        rule.compute = function
        KERNELS[rule.function] = Kernel(row, function, least)


def load_kernels(op: Op) -> None:
    """Load the kernels of the family of a row, which is about to run for the first time."""
    family = op.forward.__module__.rpartition(".")[2]
    if family in FAMILIES:
        import_module(f"autolab.fast.kernels.{family}")
