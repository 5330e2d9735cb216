"""Parametrizations that are used often: orthogonal matrices, length and direction, largest singular value 1."""

from __future__ import annotations

from typing import Any

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor
from autolab.linalg import householder_product, matrix_exp, solve
from autolab.linalg.older import geqrf
from autolab.nn import functional as F
from autolab.nn.modules.module import Module
from autolab.nn.utils import parametrize
from autolab.nn.utils.spectral import as_matrix, default_dim, start
from autolab.nn.utils.weightnorm import norm_except_dim
from autolab.torch_api.creation import eye, zeros
from autolab.torch_api.random import randn
from autolab.torch_api.shape import cat

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
MAPS = ("matrix_exp", "cayley", "householder")


def _weight_of(module: Any, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# -- length and direction ------------------------------------------------------------------------------


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """g * v / |v|."""
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Any) -> Any:
        """The lengths and the weight itself."""
        return norm_except_dim(weight, self.dim), weight


class _OldNames:
    """Reads states that the older `weight_norm` wrote. An object, so that the module can be copied."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        keys = [f"{prefix}{self.name}_g", f"{prefix}{self.name}_v"]
        if all(key in state_dict for key in keys):
            for i, key in enumerate(keys):
                state_dict[f"{prefix}parametrizations.{self.name}.original{i}"] = state_dict.pop(key)


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """A weight as length (original0) times direction (original1), along dim or, with None, as a whole. Salimans and Kingma 2016.

    >>> layer = weight_norm(torch.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape, layer.parametrizations.weight.original1.shape
    (torch.Size([2, 1]), torch.Size([2, 3]))
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_OldNames(name))
    return module


# -- largest singular value 1 ------------------------------------------------------------------------------


class _SpectralNorm(Module):
    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        n = weight.ndim
        if not -n <= dim < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{n}, {n - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % n, eps
        if n > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(name, start(weight, size, eps))
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Any, n: int) -> None:
        with recording(False):
            for _ in range(n):
                self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.t() @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        """The weight over its largest singular value."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix: Any = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the buffers are written again before this step's backward, perhaps
        return weight / u.dot(matrix @ v)

    def right_inverse(self, value: Any) -> Any:
        """The value itself: an assigned weight is normalized at its next use."""
        return value


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """A weight over its largest singular value, found by the power method, a few steps at each use. Source: Miyato et al. 2018.

    >>> layer = spectral_norm(torch.nn.Linear(3, 2), n_power_iterations=50)
    >>> torch.linalg.svdvals(layer.weight)[0].isclose(tensor(1.), atol=1e-3)
    tensor(True)
    """
    weight = _weight_of(module, name)
    part = _SpectralNorm(weight, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return parametrize.register_parametrization(module, name, part)


# -- orthogonal ----------------------------------------------------------------------------------------------


def _made_orthogonal(a: Any) -> Any:
    x, tau = geqrf(a)
    return householder_product(x, tau) * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Q from any matrix: exp or the Cayley transform of a skew-symmetric one, or a product of reflections. Lezcano-Casado 2019."""

    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        """The orthogonal matrix: orthonormal columns, or rows if there are fewer."""
        turned = X.shape[-2] < X.shape[-1]
        X = X.mT if turned else X
        n, k = X.shape[-2:]
        if self.orthogonal_map == "householder":
            A = X.tril(diagonal=-1)
            Q = householder_product(A, 2.0 / (1.0 + (A * A).sum(dim=-2)))
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = cat([X, zeros((*X.shape[:-2], n, n - k), dtype=X.dtype)], -1)
            A = X - X.mT
            if self.orthogonal_map == "matrix_exp":
                Q = matrix_exp(A)
            else:
                one: Any = eye(n, dtype=A.dtype)
                Q = solve(one - 0.5 * A, one + 0.5 * A)
            Q = Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if turned else Q

    def right_inverse(self, Q: Any) -> Any:
        """What gives Q, or with the trivialization: Q as the base, and the zero of the map."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        with recording(False):
            turned, given = Q.shape[-2] < Q.shape[-1], Q
            Q = Q.mT if turned else Q
            n, k = Q.shape[-2:]
            if not hasattr(self, "base"):
                if self.orthogonal_map != "householder":
                    raise NotImplementedError(
                        "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                        "use_trivialization=False."
                    )
                A, tau = geqrf(Q)
                A.diagonal(dim1=-2, dim2=-1).sign_()
                A.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
                return A.mT if turned else A
            more = cat([Q, randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype)], -1) if n != k else Q
            one: Any = eye(k, dtype=Q.dtype)
            spacing = 2.0**-52 if Q.dtype.name == "float64" else 2.0**-23
            already = n == k and bool(((Q.mT @ Q - one).abs() < 10.0 * n * spacing).all())
            self.base = Q.clone() if already else _made_orthogonal(more)
            start: Any = zeros(given.shape, dtype=given.dtype)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start


def orthogonal(module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Any:
    """A weight with orthonormal columns (or rows, if there are fewer).

    orthogonal_map: "matrix_exp" (for square ones by default), "cayley" or "householder". use_trivialization: relative to a base.

    >>> weight = orthogonal(torch.nn.Linear(3, 5)).weight
    >>> torch.allclose(weight.T @ weight, torch.eye(3), atol=1e-5)
    True
    """
    weight = _weight_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    part = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, part, unsafe=True)
