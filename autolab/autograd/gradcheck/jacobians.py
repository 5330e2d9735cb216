"""Whole Jacobians by finite differences and by backward passes, under PyTorch's old names. `gradcheck` is the one to use."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from autolab.autograd.api import as_tuple, grad
from autolab.autograd.gradcheck.finite_differences import Perturbation
from autolab.engine.tensor import Tensor, new_tensor


def deprecated(name: str, grad_out: float) -> None:
    """Warn as PyTorch does. Raises ValueError for another weight than 1."""
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. It is deprecated: use gradcheck, or "
        "autograd.functional.jacobian.",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(fn: Any, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> tuple[Tensor, ...]:
    """For each input (or for `target` alone) the Jacobian of the first output, (entries of the input, entries of the output).

    fn takes one tuple of inputs. Warns that it is deprecated; raises ValueError for a grad_out other than 1.
    """
    deprecated("get_numerical_jacobian", grad_out)
    inputs = as_tuple(inputs)
    places = [i for i, x in enumerate(inputs) if (x is target if target is not None else x.requires_grad)]
    return tuple(new_tensor(Perturbation(lambda *xs: fn(xs), inputs, i, [0], eps).jacobians()[0]) for i in places)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians of `output` by backward passes; whether two passes agree, and all gradients have their input's shape and dtype.

    Warns that it is deprecated; raises ValueError for a grad_out other than 1.
    """
    deprecated("get_analytical_jacobian", grad_out)
    xs = [x for x in as_tuple(inputs) if x.requires_grad]
    units = [new_tensor(u.reshape(output.payload.shape)) for u in np.eye(output.payload.size, dtype=output.payload.dtype)]
    passes = [[grad(output, xs, unit, retain_graph=True, materialize_grads=True) for unit in units] for _ in range(2)]
    first, second = ([np.stack([gs[k].payload.reshape(-1) for gs in one], 1) for k in range(len(xs))] for one in passes)
    agree = all(np.abs(a - b).max(initial=0) <= nondet_tol for a, b in zip(first, second))
    found = [(g, x) for gs in passes[0] for g, x in zip(gs, xs)]
    return tuple(map(new_tensor, first)), agree, all(g.shape == x.shape for g, x in found), all(g.dtype == x.dtype for g, x in found)
