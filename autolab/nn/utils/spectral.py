"""A weight divided by its largest singular value, by a hook before each forward. Source: Miyato et al. 2018."""

from __future__ import annotations

from typing import Any

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.parameter import Parameter, is_lazy

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as (size of dim, everything else)."""
    if dim:
        weight = weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))
    return weight.reshape(weight.shape[0], -1)


def start(weight: Tensor, n: int, eps: float) -> Tensor:
    """A random vector of length 1."""
    return F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps)


class SpectralNorm:
    """The hook that writes weight / sigma in place of a weight; sigma is found by the power method, one step at a time."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The weight over u . W v, where u and v are the vectors of the largest singular value as far as they are known."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with recording(False):
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t() @ u, dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix @ v, dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()  # the buffers are written again before this step's backward, perhaps
        return weight / u.dot(matrix @ v)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def note_version(self, module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        local_metadata.setdefault("spectral_norm", {})[self.name + ".version"] = self._version


def default_dim(module: Any) -> int:
    """Where the outputs of a layer are in its weight."""
    return 1 if getattr(module, "transposed", False) else 0


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """Divide a parameter by its largest singular value. It becomes name_orig; name_u and name_v are buffers of the power method.

    `parametrizations.spectral_norm` does the same. Raises RuntimeError if it is done already.

    >>> layer = spectral_norm(torch.nn.Linear(3, 2), n_power_iterations=50)
    >>> out = layer(ones(1, 3))  # the power method runs before each forward
    >>> torch.linalg.svdvals(layer.weight)[0].isclose(tensor(1.), atol=1e-3)
    tensor(True)
    """
    if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    fn = SpectralNorm(name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if is_lazy(weight):
        raise ValueError(
            "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
            "spectral normalization"
        )
    with recording(False):
        rows, cols = as_matrix(weight, fn.dim).shape
        u, v = start(weight, rows, eps), start(weight, cols, eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(fn)
    module._register_state_dict_hook(fn.note_version)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make the weight an ordinary parameter again, with the values that it has. Raises ValueError if it is one.

    >>> layer = remove_spectral_norm(spectral_norm(torch.nn.Linear(3, 2)))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            with recording(False):
                weight = hook.compute_weight(module, do_power_iteration=False)
            for part in (name, name + "_u", name + "_v", name + "_orig"):
                delattr(module, part)
            module.register_parameter(name, Parameter(weight.detach()))
            del module._forward_pre_hooks[key]
            module._state_dict_hooks = {k: h for k, h in module._state_dict_hooks.items() if getattr(h, "__self__", None) is not hook}
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
