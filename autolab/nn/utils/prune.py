"""Parameters partly set to zero: a mask that a hook multiplies in before each forward.

The parameter `weight` becomes `weight_orig`, the mask is the buffer `weight_mask`, and `weight` is their product.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from typing import Any

from autolab.nn.utils.convert_parameters import parameters_to_vector
from autolab.torch_api.creation import ones_like, zeros_like
from autolab.torch_api.random import rand, rand_like

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer", "RandomStructured",
    "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many to set to zero: a part of all (float), or so many (int)."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _validate_structured_pruning(t: Any) -> None:
    if t.ndim <= 1:
        raise ValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.ndim} dims"
        )


def _validate_pruning_dim(t: Any, dim: int) -> None:
    if dim >= t.ndim:
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Any, n: Any, dim: int) -> Any:
    """The n-norm of each channel along dim."""
    return t.norm(n, [d for d in range(t.ndim) if d != dim % t.ndim])


def _hooks(module: Any, name: str) -> list[tuple[int, BasePruningMethod]]:
    hooks = module._forward_pre_hooks.items()
    return [(key, hook) for key, hook in hooks if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]


class BasePruningMethod(ABC):
    """A rule for masks. A subclass says its PRUNING_TYPE ("unstructured", "structured" or "global") and defines compute_mask.

    >>> class Negative(BasePruningMethod):
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t >= 0)
    >>> Negative().prune(tensor([-1., 2., -3.]))
    tensor([-0., 2., -0.])
    """

    _tensor_name: str
    PRUNING_TYPE = "unstructured"

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for scores t, on top of the one that is there."""

    def apply_mask(self, module: Any) -> Any:
        """The original tensor times the mask: what the module computes with."""
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module by this rule; one that is pruned already is pruned further."""
        old = _hooks(module, name)
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if old:
            key, before = old[0]
            del module._forward_pre_hooks[key]
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs {original.shape}"
            )
        mask = getattr(module, name + "_mask").detach().clone() if old else ones_like(original)
        mask = method.compute_mask(scores.detach(), default_mask=mask.detach())
        if not old:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A pruned copy of a tensor."""
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned values those of an ordinary parameter."""
        name, weight = self._tensor_name, self.apply_mask(module)
        original = module._parameters[name + "_orig"]
        original.data = weight.data
        for part in (name, name + "_orig", name + "_mask"):
            delattr(module, part)
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several rules on one tensor: each acts on what those before it left.

    >>> layer = torch.nn.Linear(10, 10)
    >>> layer = l1_unstructured(l1_unstructured(layer, "weight", amount=0.5), "weight", amount=0.5)
    >>> layer.weight_mask.sum()  # half, and half of that
    tensor(25.)
    """

    def __init__(self, *methods: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if methods:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a rule for the same tensor."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, i: Any) -> Any:
        return self._pruning_methods[i]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask of the last rule, where the others left something."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            where: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim
            where = (slice(None),) * dim + (mask.sum(dim=[d for d in range(t.ndim) if d != dim]) != 0,)
        elif method.PRUNING_TYPE == "global":
            where = (slice(None),) * t.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        new = mask.clone()
        new[where] = method.compute_mask(t[where], default_mask=mask[where]).to(dtype=mask.dtype)
        return new


class Identity(BasePruningMethod):
    """A mask of ones: nothing is pruned.

    >>> Identity().prune(tensor([-1., 2., -3.]))
    tensor([-1.,  2., -3.])
    """

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask that is there."""
        return default_mask


class _Amount(BasePruningMethod):
    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _scores(self, t: Any) -> Any:
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Zero for the entries with the lowest scores."""
        _validate_pruning_amount(self.amount, t.numel())
        n, mask = _compute_nparams_toprune(self.amount, t.numel()), default_mask.clone()
        if n:
            mask.view(-1)[self._scores(t).reshape(-1).topk(n, largest=False).indices] = 0
        return mask


class RandomUnstructured(_Amount):
    """Any entries: a part of them (float), or so many (int).

    >>> RandomUnstructured(0.5).prune(ones(10)).sum()
    tensor(5.)
    """

    def _scores(self, t: Any) -> Any:
        return rand_like(t)


class L1Unstructured(_Amount):
    """The entries nearest to zero: a part of them (float), or so many (int).

    >>> L1Unstructured(2).prune(tensor([-1., 2., -3., 4.]))
    tensor([-0.,  0., -3.,  4.])
    """

    def _scores(self, t: Any) -> Any:
        return t.abs()


class _Channels(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def _scores(self, t: Any) -> Any:
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Zero for the whole channels along dim with the lowest scores."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        _validate_pruning_amount(self.amount, size)
        n = _compute_nparams_toprune(self.amount, size)
        if not n:
            return default_mask
        mask = zeros_like(t)
        kept = self._scores(t).topk(size - n, largest=True).indices
        mask[(slice(None),) * (self.dim % t.ndim) + (kept,)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Channels):
    """Any channels along dim: a part of them (float), or so many (int).

    >>> RandomStructured(1, dim=1).prune(ones(2, 3)).sum(dim=1)
    tensor([2., 2.])
    """

    def _scores(self, t: Any) -> Any:
        return rand(t.shape[self.dim])


class LnStructured(_Channels):
    """The channels along dim with the smallest n-norm.

    amount: a part of them (float), or so many (int). Raises ValueError below two dims.

    >>> LnStructured(1, n=2, dim=0).prune(tensor([[1., 2.], [3., 0.], [0., 1.]]))
    tensor([[1., 2.],
            [3., 0.],
            [0., 0.]])
    """

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Any) -> Any:
        return _compute_norm(t, self.n, self.dim)


class CustomFromMask(BasePruningMethod):
    """Keeps the entries where a mask that you give is 1.

    >>> CustomFromMask(tensor([1, 0, 1])).prune(tensor([-1., 2., -3.]))
    tensor([-1.,  0., -3.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The product of this mask and the one that is there. Raises AssertionError for another shape."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


# -- in one line -------------------------------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Prune nothing, but as if: the parameter and its mask of ones stand where those of a pruned one do. Returns the module.

    >>> layer = identity(torch.nn.Linear(2, 1), "bias")
    >>> layer.bias_mask, is_pruned(layer)
    (tensor([1.]), True)
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Set any entries to zero: a part of them (float), or so many (int). Returns the module.

    >>> layer = random_unstructured(torch.nn.Linear(5, 2), "weight", amount=0.3)
    >>> layer.weight_mask.sum()
    tensor(7.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Set the entries nearest to zero (or with the lowest scores) to zero: a part of them, or so many. Returns the module.

    >>> layer = torch.nn.Linear(4, 1)
    >>> layer.weight.data = tensor([[-1., 2., -3., 4.]])
    >>> l1_unstructured(layer, "weight", amount=0.5).weight.data
    tensor([[-0.,  0., -3.,  4.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Set any channels along dim to zero: a part of them (float), or so many (int). Returns the module.

    >>> layer = random_structured(torch.nn.Linear(4, 3), "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum(dim=1).sort().values
    tensor([0., 4., 4.])
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Set the channels along dim with the smallest n-norm to zero: a part of them, or so many. Returns the module.

    >>> layer = torch.nn.Linear(2, 2)
    >>> layer.weight.data = tensor([[1., 2.], [3., 0.]])
    >>> ln_structured(layer, "weight", amount=1, n=1, dim=1).weight.data  # columns with the sums 4 and 2
    tensor([[1., 0.],
            [3., 0.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Set to zero what a mask of the parameter's shape says. Returns the module.

    >>> layer = custom_from_mask(torch.nn.Linear(3, 1), "weight", tensor([[1, 0, 1]]))
    >>> layer.weight == layer.weight_orig * tensor([[1, 0, 1]])
    tensor([[True, True, True]])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several (module, name) together, so that those with the lowest scores of all are set to zero.

    >>> small, large = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    >>> small.weight.data, large.weight.data = tensor([[1., 2., 3., 4.]]), tensor([[10., 20., 30., 40.]])
    >>> global_unstructured([(small, "weight"), (large, "weight")], L1Unstructured, amount=0.5)
    >>> small.weight.data, large.weight.data
    (tensor([[0., 0., 0., 0.]]), tensor([[10., 20., 30., 40.]]))
    """
    pairs, scores = list(parameters), importance_scores or {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    tensors = [getattr(module, name) for module, name in pairs]
    t = parameters_to_vector([scores.get(pair, own).detach() for pair, own in zip(pairs, tensors)])
    mask = parameters_to_vector([getattr(m, n + "_mask", ones_like(own)) for (m, n), own in zip(pairs, tensors)])
    method._tensor_name = "all"
    final = PruningContainer(method).compute_mask(t, mask.detach())
    start = 0
    for (module, name), own in zip(pairs, tensors):
        custom_from_mask(module, name, final[start : start + own.numel()].view_as(own))
        start += own.numel()


def remove(module: Any, name: str) -> Any:
    """Make the pruned values those of an ordinary parameter. Raises ValueError if it is not pruned.

    >>> layer = remove(l1_unstructured(torch.nn.Linear(4, 1), "weight", amount=2), "weight")
    >>> layer.weight.count_nonzero(), is_pruned(layer)
    (tensor(2), False)
    """
    for key, hook in _hooks(module, name):
        hook.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether any parameter in the module is pruned.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    >>> is_pruned(net), is_pruned(identity(net[0], "bias"))
    (False, True)
    """
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
