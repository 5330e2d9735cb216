"""Parameter and Buffer: tensors that a Module finds by itself; and those whose shape is not known yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, must_be_floating, new_tensor
from autolab.torch_api.overriding import _disabled_torch_function_impl, overrides
from autolab.torch_api.printing import tensor_repr


class ParameterType(type):
    """Also knows the parameters that stay of a class of their own."""

    def __instancecheck__(cls, thing: Any) -> bool:
        return super().__instancecheck__(thing) or (cls is Parameter and isinstance(thing, Tensor) and hasattr(thing, "_is_param"))


class Parameter(Tensor, metaclass=ParameterType):
    """A leaf tensor that requires grad and, set as an attribute of a Module, is one of its parameters.

    It shares the numbers of `data`, a tensor; that of a subclass with a `__torch_function__` stays of its class. Raises RuntimeError
    for integers with requires_grad=True, AttributeError (as PyTorch does) for what is not a tensor.

    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(tensor(2.))
    ...         self.offset = tensor(0.)  # not found
    >>> list(Scale().named_parameters())
    [('factor', Parameter containing:
    tensor(2., requires_grad=True))]
    """

    __torch_function__: Any = _disabled_torch_function_impl  # what is computed with it is an ordinary tensor

    def __new__(cls, data: Any = (), requires_grad: bool = True) -> Any:
        if not isinstance(data, Tensor) and not (isinstance(data, tuple) and not data):
            raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach': a Parameter is made of a tensor")
        if overrides(data):
            t: Any = data.detach().requires_grad_(requires_grad)  # type: ignore[union-attr]
            t._is_param = True
            return t
        t = super().__new__(cls, data)
        if requires_grad:
            must_be_floating(t, "Only Tensors of floating point and complex dtype can require gradients")
        return t.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + tensor_repr(self)


class Buffer(Tensor):
    """A tensor that, set as an attribute of a Module, is one of its buffers: part of its state, but not trained.

    persistent: whether state_dict has it.

    >>> layer = nn.Module()
    >>> layer.mean = nn.Buffer(zeros(2))
    >>> dict(layer.state_dict()), list(layer.parameters())
    ({'mean': tensor([0., 0.])}, [])
    """

    __torch_function__: Any = _disabled_torch_function_impl
    persistent: bool

    def __new__(cls, data: Any = (), *, persistent: bool = True) -> Any:
        t = super().__new__(cls, data)
        t.persistent = persistent
        t.requires_grad_(bool(getattr(data, "requires_grad", False)))
        return t


class _Uninitialized:
    """What a tensor without a shape can do: be told its shape."""

    _kind: type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it a shape, and memory in which nothing in particular stands. From then on it is an ordinary one."""
        numpy = self.payload.dtype if dtype is None else dtype.numpy  # type: ignore[attr-defined]
        self.__class__ = self._kind
        self.data = new_tensor(np.empty(tuple(shape), numpy))

    @property
    def shape(self) -> Any:
        """Raises RuntimeError: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying "
            "to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing "
            "their attributes."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is not known yet: lazy modules make it at the first call (`materialize`).

    >>> weight = UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', torch.Size([2, 3]))
    """

    _kind = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return Parameter.__new__(cls, new_tensor(np.empty(0, (dtype or dtypes.float32).numpy)), requires_grad)


class UninitializedBuffer(_Uninitialized, Tensor):
    """A buffer whose shape is not known yet; `materialize` says it.

    >>> mean = UninitializedBuffer()
    >>> mean.materialize((3,))
    >>> mean.shape
    torch.Size([3])
    """

    _kind = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> Any:
        return Tensor.__new__(cls, new_tensor(np.empty(0, (dtype or dtypes.float32).numpy)))


def is_lazy(t: Any) -> bool:
    """Whether its shape is not known yet."""
    return isinstance(t, _Uninitialized)
