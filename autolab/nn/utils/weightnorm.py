"""A weight as length times direction, by a hook before each forward. Source: Salimans and Kingma 2016."""

from __future__ import annotations

import warnings
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn.parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "norm_except_dim", "remove_weight_norm", "weight_norm"]


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The 2-norm over all dims but one, which stay as length 1; over all with dim=-1, of shape ()."""
    if dim == -1:
        return v.norm()
    return v.norm(2, [d for d in range(v.ndim) if d != dim], keepdim=True)


class WeightNorm:
    """The hook that writes g * v / |v| in place of a weight."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """The weight, from the parameters name_g and name_v."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, self.dim))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replace a parameter by name_g, its lengths along dim (of all of it with None), and name_v, its direction.

    Kept for old programs: `parametrizations.weight_norm` does the same. Raises RuntimeError if it is done already.

    >>> with warnings.catch_warnings(action="ignore"):  # it is deprecated
    ...     layer = weight_norm(torch.nn.Linear(3, 2))
    >>> [(name, list(p.shape)) for name, p in layer.named_parameters()]
    [('bias', [2]), ('weight_g', [2, 1]), ('weight_v', [2, 3])]
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.", FutureWarning, stacklevel=2
    )
    if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    fn, weight = WeightNorm(name, dim), getattr(module, name)
    if is_lazy(weight):
        raise ValueError(
            "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
            "weight normalization"
        )
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, fn.dim).data))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, fn.compute_weight(module))
    module.register_forward_pre_hook(fn)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make the weight an ordinary parameter again. Raises ValueError if it is one.

    >>> with warnings.catch_warnings(action="ignore"):  # weight_norm is deprecated
    ...     layer = remove_weight_norm(weight_norm(torch.nn.Linear(3, 2)))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module)
            for part in (name, name + "_g", name + "_v"):
                delattr(module, part)
            setattr(module, name, Parameter(weight.data))
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
