"""What has to be true of a matrix before anything is computed with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.modes import modes
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules.matrix import LinAlgError
from autolab.torch_api.dims import require_tensor


def run(row: Op, *args: Any, **settings: Any) -> Any:
    try:
        return apply(row, args, settings)
    except np.linalg.LinAlgError as error:  # NumPy's is a ValueError
        why = _why(row.name, args[0])
        raise (RuntimeError if "should not contain" in why else LinAlgError)(why) from error


def _why(name: str, A: Tensor) -> str:
    """Why LAPACK found no eigenvalues or singular values, in PyTorch's words."""
    finite = bool(np.isfinite(np.asarray(A.all_numbers())).all())
    if name == "eig" and not finite:
        return "torch.linalg.eig: input tensor should not contain infs or NaNs. Look for the operation that made the first one."
    failed = f"linalg.{name}: The algorithm failed to converge because the input matrix "
    if name != "eigh" and not finite:
        return failed + "contained non-finite values. Look for the operation that made the first one."
    repeated = "eigenvalues" if name in ("eig", "eigh") else "singular values"
    return f"{failed}is ill-conditioned or has too many repeated {repeated}." + ("" if finite else " It contains infs or NaNs.")


def under_autocast(name: str, A: Tensor) -> Tensor:
    """The tensor in the dtype that autocast wants for a function, if it is on: float32 for most of linear algebra."""
    return A if modes.autocast is None else modes.autocast.cast(name.rpartition(".")[2], (A,))[0]


def floats(A: Any, name: str, low: bool = False) -> Tensor:
    """Raise PyTorch's errors for what is not a tensor, for integers, and for 16-bit floats unless `low` ones will do."""
    require_tensor(A, name, "A")
    A = under_autocast(name, A)
    if A.payload.dtype not in dtypes.INEXACT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.title}. Convert it first: A.float()."
        )
    if not low and A.payload.dtype in dtypes.NARROW:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {A.dtype.title}")
    return A


def matrix(A: Any, name: str, argument: str = "A", low: bool = False) -> Tensor:
    """A stack of matrices of floats."""
    A = floats(A, name, low)
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    return A


def square(A: Any, name: str, argument: str = "A", low: bool = False) -> Tensor:
    """A stack of square matrices of floats."""
    A = matrix(A, name, argument, low)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"{name}: {argument} must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices")
    return A


def same_dtype(A: Tensor, B: Tensor, name: str) -> None:
    if A.payload.dtype != B.payload.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {A.dtype.title} and B of type {B.dtype.title} instead"
        )


def eye(n: int, like: Tensor) -> Tensor:
    return new_tensor(np.eye(n, dtype=like.payload.dtype))


def zeros_info(A: Tensor) -> Tensor:
    """One 0 for each matrix: all went well."""
    return new_tensor(np.zeros(A.shape[:-2], np.int32)[()])
