"""A kernel is a faster way to compute what a row of the table says: its forward formula, or one of its rules, on arrays.

    kernel(rows.erf, erf)
    block_kernel(rows.relu, relu, x=relu_rule)

The formula stays the truth: it is what documents show, what runs on Tensors (for second derivatives), and what runs everywhere with
AUTOLAB_FAST=0. One law holds for all kernels: on the samples of its row a kernel gives what the formula gives.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from autolab.engine.node import F32, F64
from autolab.engine.op import Op
from autolab.fast.blocks import goes_along, in_blocks

MANY = 1 << 12  # entries: from here on blocks are worth it
LARGE = 1 << 16  # entries: from here on a gradient is written over the one that came in (autolab.fast.backward)


class Kernel(NamedTuple):
    """What computes the same as a formula, for arrays of `least` entries or more. It is right for smaller ones, too.

    fuse: the compiler takes the formula apart and joins its steps with those around it, which is faster than to call the kernel.
    apart: it takes the kernel apart, so that rules share what they both compute.
    """

    row: Op
    function: Callable[..., Any]
    least: int
    fuse: bool
    apart: bool


# By the formula: the forward function of a row, or one of its rules.
KERNELS: dict[Callable[..., Any], Kernel] = {}
# By the formula: into(x, setting, out) or into(g, x, setting, out), which computes the same in the memory of `out`. Of a rule, `out` may be
# `g`: it is the last to be written.
BLOCK_KERNELS: dict[Callable[..., Any], Callable[..., Any]] = {}
# By what such a kernel is called as: into, and the settings that it takes, with their defaults.
INTO: dict[Callable[..., Any], tuple[Callable[..., Any], dict[str, Any]]] = {}
# What kernels call, and the compiler does not take apart.
WHOLE: set[Callable[..., Any]] = set()


def kernel(
    row: Op,
    forward: Callable[..., Any] | None = None,
    *,
    least: int = 0,
    fuse: bool = False,
    apart: bool = False,
    shared: dict[str, Callable[..., Any]] | None = None,
    **rules: Callable[..., Any],
) -> None:
    """Let a row be computed by `forward(*inputs, **settings)`, and its rules by `rule(g, what the formula asks for)`.

    forward takes all that the row takes but Tensors: arrays, 0-d results, numbers. So does a rule.
    shared: in place of what several rules ask for; these are given Tensors, too.
    """
    if forward is not None:
        row.compute = forward
        KERNELS[row.forward] = Kernel(row, forward, least, fuse, apart)
    for name, function in (shared or {}).items():
        row.shared[name] = function, row.shared[name][1]
    for x, function in rules.items():
        rule = row.rules[x]
        rule.compute = function
        KERNELS[rule.function] = Kernel(row, function, least, fuse, apart)


def block_kernel(
    row: Op, forward: Callable[..., Any] | None = None, *, least: int = MANY, dtypes: Any = (F32, F64), **rules: Callable[..., Any]
) -> None:
    """Let large arrays be computed by forward(*inputs, *settings, out), and rules by rule(g, what the formula asks for, out), in blocks.

    They are called with blocks of arrays of one shape and one of the `dtypes`, with masks, and with numbers.
    """
    into = {row.rules[x].function: function for x, function in rules.items()}
    if forward is not None:
        into[row.forward] = forward
    BLOCK_KERNELS.update(into)
    settings = {row.forward: row.settings}
    blockwise = {formula: _blockwise(formula, f, least, dtypes, settings.get(formula, {})) for formula, f in into.items()}
    kernel(row, blockwise.get(row.forward), least=least, **{x: blockwise[row.rules[x].function] for x in rules})


def _blockwise(formula: Callable[..., Any], into: Callable[..., Any], least: int, dtypes: Any, defaults: dict[str, Any]) -> Any:
    """What computes by `into` where that can be, and by the formula elsewhere."""

    def compute(x: Any, *others: Any, **settings: Any) -> Any:
        if type(x) is np.ndarray and x.size >= least and x.ndim and x.dtype in dtypes:
            values = (*others, *[settings.get(name, default) for name, default in defaults.items()]) if defaults else others
            out = np.empty(x.shape, x.dtype) if x.flags.c_contiguous else np.empty_like(x)
            if out.strides == x.strides and all(map(goes_along, values, repeat(x))):
                return in_blocks(into, x, *values, out=out)
        return formula(x, *others, **settings)

    INTO[compute] = into, defaults
    return compute


def always(formula: Callable[..., Any]) -> bool:
    """Whether a kernel computes in place of a formula whatever the size of the arrays."""
    return formula in KERNELS and not KERNELS[formula].least


def is_rule(function: Callable[..., Any]) -> bool:
    """Whether a function is the kernel of a rule, and not of what a row computes."""
    return any(kernel.function is function and formula is not kernel.row.forward for formula, kernel in KERNELS.items())


def to_call(formula: Callable[..., Any]) -> bool:
    """Whether the compiler should call the kernel of a formula, and not take the formula apart."""
    return formula in WHOLE or (always(formula) and not KERNELS[formula].fuse)


def to_take_apart(formula: Callable[..., Any]) -> Callable[..., Any] | None:
    """What the compiler takes apart in place of a formula: the formula, or its kernel; None if the kernel is called."""
    if formula in KERNELS and KERNELS[formula].apart:
        return KERNELS[formula].function
    return None if to_call(formula) else formula
