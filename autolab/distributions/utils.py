"""What people take for families of their own: parameters of one shape, probabilities and logits, triangles and vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.autograd import enable_grad
from autolab.distributions.distribution import together as broadcast_all
from autolab.torch_api.creation import arange
from autolab.torch_api.dtype_info import finfo

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip


def clamp_probs(probs: Any) -> Any:
    """Probabilities, none nearer to 0 or 1 than the dtype's eps.

    >>> torch.distributions.utils.clamp_probs(tensor([0.0, 0.5])) > 0
    tensor([True, True])
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities from their logarithms, up to a constant, along the last dim; with is_binary from log-odds, entry by entry.

    >>> torch.distributions.utils.logits_to_probs(tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Logarithms of probabilities; with is_binary log-odds. Probabilities of 0 and 1 count as those that are near them.

    >>> torch.distributions.utils.probs_to_logits(tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


class lazy_property:
    """As a decorator: a property that is computed when it is first asked for, and kept.

    >>> class Point:
    ...     @torch.distributions.utils.lazy_property
    ...     def weight(self):
    ...         print("computed")
    ...         return 3.0
    >>> point = Point()
    >>> point.weight, point.weight
    computed
    (3.0, 3.0)
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped, self.__doc__ = wrapped, wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return property(self.wrapped)
        with enable_grad():  # what is kept may be differentiated later, even if it is first asked for under no_grad
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The lower triangle of square matrices, row by row, up to a diagonal.

    >>> torch.distributions.utils.tril_matrix_to_vec(tensor([[1.0, 9.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    places = arange(n)
    return mat[..., places < places.view(-1, 1) + (diag + 1)]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The square matrices whose lower triangle is this, row by row, up to a diagonal; zeros elsewhere.

    Shapes: (..., D (D + 1) / 2) to (..., D, D), for diag = 0.

    >>> torch.distributions.utils.vec_to_tril_matrix(tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    n = abs(diag)
    while (entries := sum(min(max(row + diag + 1, 0), n) for row in range(n))) < vec.shape[-1]:
        n += 1
    if entries > vec.shape[-1]:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of a square D x D "
            f"matrix: for D = {n} there are {entries} entries."
        )
    places = arange(n)
    made = vec.new_zeros((*vec.shape[:-1], n, n))
    made[..., places < places.view(-1, 1) + (diag + 1)] = vec
    return made
