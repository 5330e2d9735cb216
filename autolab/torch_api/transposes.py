"""The dims of matrices exchanged: `x.T` and its relatives."""

from __future__ import annotations

import warnings
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.rules import shape as rows
from autolab.torch_api.complex_numbers import conj
from autolab.torch_api.public import public
from autolab.torch_api.shape import permute, transpose


@public(method=True)
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix. Raises RuntimeError for more than two dims.

    >>> t(tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return rows.t.run(input, settings={})


IDENTITY = "Tensor.{} is deprecated on 0-D tensors. This function is the identity in these cases."
TURNED: dict[str, Any] = {"axes": (-1, -2)}


def T(self: Tensor) -> Tensor:
    """The transpose of a matrix: the dims in reverse order. Warns for other tensors than matrices.

    >>> tensor([[1, 2], [3, 4]]).T
    tensor([[1, 3],
            [2, 4]])
    """
    if self.payload.ndim == 2:
        return rows.transpose.run(self, settings=TURNED)
    warnings.warn(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a future "
        "release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the "
        "dimensions of a tensor."
        if self.ndim
        else IDENTITY.format("T"),
        UserWarning,
        stacklevel=2,
    )
    return permute(self, tuple(range(-1, -self.ndim - 1, -1)))


def mT(self: Tensor) -> Tensor:
    """The last two dims swapped. Raises RuntimeError for a vector.

    Shapes: (..., n, m) gives (..., m, n).

    >>> zeros(2, 3, 4).mT.shape
    torch.Size([2, 4, 3])
    """
    if not self.ndim:
        warnings.warn(IDENTITY.format("mT"), UserWarning, stacklevel=2)
        return self
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return transpose(self, -2, -1)


def mH(self: Tensor) -> Tensor:
    """The last two dims swapped, and complex numbers conjugated.

    Shapes: (..., n, m) gives (..., m, n). Raises RuntimeError for a vector.

    >>> zeros(2, 3, 4).mH.shape
    torch.Size([2, 4, 3])
    """
    if not self.ndim:
        warnings.warn("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().", UserWarning, stacklevel=2)
        return self
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mH is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return conj(transpose(self, -2, -1))


def H(self: Tensor) -> Tensor:
    """The transpose of a matrix, complex numbers conjugated. Raises RuntimeError for more than two dims.

    >>> tensor([[1, 2], [3, 4]]).H
    tensor([[1, 3],
            [2, 4]])
    """
    if not self.ndim:
        warnings.warn("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().", UserWarning, stacklevel=2)
        return self
    if self.ndim != 2:
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.ndim > 2 else "")
        )
    return conj(permute(self, tuple(range(-1, -self.ndim - 1, -1))))


@public(method=True)
def adjoint(input: Tensor) -> Tensor:
    """The last two dims swapped, and complex numbers conjugated.

    Shapes: (..., n, m) gives (..., m, n). Raises RuntimeError for fewer than two dims.

    >>> adjoint(zeros(2, 3, 4)).shape
    torch.Size([2, 4, 3])
    """
    if input.ndim < 2:
        raise RuntimeError(f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor.")
    return conj(transpose(input, -2, -1))


PROPERTIES = {"T": property(T), "mT": property(mT), "H": property(H), "mH": property(mH)}
