"""A parameter as a function of another: `module.weight` is computed, and what is learned is `parametrizations.weight.original`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor
from autolab.nn.modules.container import ModuleDict, ModuleList
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_depth = 0  # of `cached` blocks
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within the block, compute each parametrized tensor once.

    >>> class Counted(torch.nn.Module):
    ...     def forward(self, x):
    ...         print("computed")
    ...         return x
    >>> layer = register_parametrization(torch.nn.Linear(3, 2), "weight", Counted(), unsafe=True)
    >>> with cached():
    ...     same = layer.weight is layer.weight
    computed
    >>> same
    True
    """
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _cache.clear()


def _register(module: Module, name: str, t: Any) -> None:
    (module.register_parameter if isinstance(t, Parameter) else module.register_buffer)(name, t)


def _check(what: str, old: str, before: Tensor, new: str, after: Any, rule: str) -> None:
    """Raise ValueError unless `after` is a tensor with the dtype and the shape of `before`."""
    if not isinstance(after, Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(after).__name__}.")
    for name in ("dtype", "shape"):
        if getattr(after, name) != getattr(before, name):
            raise ValueError(f"{rule.format(name)}\n{old} {name}: {getattr(before, name)}\n{new} {name}: {getattr(after, name)}")


_MAY_NOT = "Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is enabled."
_INVERSE = (
    "The tensor returned by parametrization.right_inverse must have the same {} as the parametrized one, unless `unsafe` flag is enabled."
)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order in which they are applied, and the tensor `original` (or original0, ...).

    >>> class Positive(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    >>> layer = register_parametrization(torch.nn.Linear(3, 2), "weight", Positive())
    >>> parts = layer.parametrizations.weight
    >>> type(parts).__name__, len(parts), bool((parts() == parts.original.exp()).all())
    ('ParametrizationList', 1, True)
    """

    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe, before = unsafe, original.detach()
        new: Any = original
        with recording(False):
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass  # and what is there is the original
        if not isinstance(new, Tensor | Sequence):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            if new.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            if new is not original:
                original.data = new.detach()
            _register(self, "original", original)
        else:
            for i, t in enumerate(new):
                if not isinstance(t, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{i} of the sequence with type {type(t).__name__}."
                    )
                t = Parameter(t.detach(), original.requires_grad) if isinstance(original, Parameter) else t
                _register(self, f"original{i}", t)
        if not unsafe:
            _check("A parametrization", "unparametrized", before, "parametrized", self(), _MAY_NOT)

    def originals(self) -> list[Any]:
        """The tensors that are learned."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the parametrized tensor becomes `value`, as far as its parametrizations can."""
        with recording(False):
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else value
            if self.is_tensor and not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            if not self.is_tensor and len(values) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(values)}."
                )
            for i, (own, new) in enumerate(zip(self.originals(), values)):
                if own.dtype != new.dtype:
                    which = ("The tensor", "`original`") if self.is_tensor else (f"Tensor {i}", f"`original{i}`")
                    raise ValueError(f"{which[0]} returned by `right_inverse` has dtype {new.dtype} while {which[1]} has dtype {own.dtype}")
                own.data = new.detach()

    def forward(self) -> Any:
        """The tensor, computed from the parameters that stand for it."""
        first, *others = list(self)
        x = first(*self.originals())
        for module in others:
            x = module(x)
        return x


# -- the class of a parametrized module: a subclass with a property for each such tensor ------------------


def _getstate(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if id(self) in memo:
        return memo[id(self)]
    twin = memo[id(self)] = self.__new__(self.__class__)
    twin.__dict__ = deepcopy(self.__dict__, memo)
    return twin


def _make_class(module: Any) -> None:
    base = type(module)
    own = {"__getstate__": _getstate, "__module__": base.__module__}
    if not hasattr(base, "__deepcopy__"):
        own["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), own)


def _make_property(module: Any, name: str) -> None:
    def get(self: Any) -> Any:
        if not _depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Any:
    """Let a parameter or buffer be computed by `parametrization` from one that is kept beside it. Several are applied in turn.

    Its `right_inverse`, if there is one, says what is kept so that the tensor begins as it is; it may return several tensors.
    Raises ValueError if dtype or shape would change (unless unsafe), or there is no such tensor.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parts = module.parametrizations[tensor_name]
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            names = f"module.{tensor_name}", f"parametrization(module.{tensor_name})"
            _check("A parametrization", names[0], before, names[1], after, _MAY_NOT)
            if hasattr(parametrization, "right_inverse"):
                try:
                    back = parametrization.right_inverse(after)
                except NotImplementedError:
                    pass
                else:
                    _check("parametrization.right_inverse", names[0], before, "returned", back, _INVERSE)
        parts.append(parametrization)
        parts.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parts = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _make_class(module)
            module.parametrizations = ModuleDict()
        _make_property(module, tensor_name)
        module.parametrizations._modules[tensor_name] = parts
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether the module, or that tensor of it, is parametrized.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    >>> is_parametrized(layer), is_parametrized(layer, "bias")
    (True, False)
    """
    parts = getattr(module, "parametrizations", None)
    if not isinstance(parts, ModuleDict):
        return False
    return len(parts) > 0 if tensor_name is None else tensor_name in parts


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make the tensor an ordinary one again, with its parametrized value, or with leave_parametrized=False the original's.

    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3))
    >>> layer = remove_parametrizations(layer, "weight")  # the orthogonal matrix stays
    >>> [name for name, _ in layer.named_parameters()], torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    (['bias', 'weight'], True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts = module.parametrizations[tensor_name]
    if not parts.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
    t = parts.originals()[0]
    if leave_parametrized:
        value = getattr(module, tensor_name)
        if parts.is_tensor:
            t.data = value.detach()
        else:
            t = Parameter(value.detach()) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, t)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that the module was made with.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    >>> type(layer).__name__, type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Put the parametrizations of one module, or of one tensor of it, on another module, with the same originals.

    >>> old = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    >>> new = transfer_parametrizations_and_params(old, torch.nn.Linear(3, 2))
    >>> bool((new.weight == old.weight).all())
    True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        parts = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for part in parts:
            register_parametrization(to_module, name, part)
        mine = to_module.parametrizations[name]
        for key in ["original"] if parts.is_tensor else [f"original{i}" for i in range(parts.ntensors)]:
            setattr(mine, key, getattr(parts, key))
    return to_module
