"""The oldest ways to make tensors: `torch.FloatTensor(2, 3)`, `torch.LongTensor([1, 2])`, `x.new(3)`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.size import Size
from autolab.torch_api.creation import as_array, finish
from autolab.torch_api.device import require_cpu
from autolab.torch_api.public import method, public


class TypeOfTensor(type):
    """The type of `FloatTensor` and the others: they make tensors of their dtype, and know them."""

    dtype: dtypes.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if device is not None:
            require_cpu(device)
        return from_arguments(args, cls.dtype.numpy, cls.__name__)

    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, Tensor) and thing.payload.dtype == cls.dtype.numpy

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def from_arguments(args: tuple[Any, ...], dtype: Any, name: str) -> Tensor:
    """From sizes, uninitialised; or from one sequence, array or tensor, its numbers."""
    if all(isinstance(a, int) and not isinstance(a, bool) for a in args) or (len(args) == 1 and type(args[0]) is Size):
        return finish(np.empty(args[0] if args and type(args[0]) is Size else args or (0,), dtype))
    if len(args) > 1 or isinstance(args[0], float):
        raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__}): {name}(2, 3) takes sizes, {name}([1, 2]) numbers")
    if isinstance(args[0], Tensor):
        if args[0].payload.dtype != dtype:
            raise TypeError(f"expected {name} (got {args[0].dtype.title}Tensor): convert it with .to(...)")
        return new_tensor(args[0].writable_array())
    return finish(np.asarray(as_array(args[0])).astype(dtype))


def _typed(d: dtypes.dtype) -> Any:
    doc = f"""A tensor of {d.name}, from sizes (uninitialised) or from a sequence; `torch.tensor(..., dtype={d!r})` is the newer way.

>>> torch.{d.title}Tensor([1, 0]).dtype, torch.{d.title}Tensor(2, 3).shape
({d!r}, torch.Size([2, 3]))
"""
    return public()(TypeOfTensor(f"{d.title}Tensor", (), {"dtype": d, "__doc__": doc, "__module__": __name__}))


HalfTensor, BFloat16Tensor = _typed(dtypes.float16), _typed(dtypes.bfloat16)
FloatTensor, DoubleTensor = _typed(dtypes.float32), _typed(dtypes.float64)
ByteTensor, CharTensor, ShortTensor = _typed(dtypes.uint8), _typed(dtypes.int8), _typed(dtypes.int16)
IntTensor, LongTensor, BoolTensor = _typed(dtypes.int32), _typed(dtypes.int64), _typed(dtypes.bool_)


@method
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises AssertionError: there is no such device.

    >>> torch.tensor([1.]).cuda()
    Traceback (most recent call last):
        ...
    AssertionError: Torch not compiled with CUDA enabled: autolab computes on the CPU. Use device='cpu'.
    """
    require_cpu("cuda")
    return self


@method
def xpu(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises AssertionError: there is no such device.

    >>> torch.tensor([1.]).xpu()
    Traceback (most recent call last):
        ...
    AssertionError: Torch not compiled with XPU enabled: autolab computes on the CPU.
    """
    raise AssertionError("Torch not compiled with XPU enabled: autolab computes on the CPU.")


@method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raises RuntimeError: memory is pinned for a device, and there is none.

    >>> torch.tensor([1.]).pin_memory()
    Traceback (most recent call last):
        ...
    RuntimeError: Cannot access accelerator device when none is available. autolab computes on the CPU: ...
    """
    raise RuntimeError("Cannot access accelerator device when none is available. autolab computes on the CPU: leave pin_memory out.")


@public(method=True)
def get_device(input: Tensor) -> int:
    """-1: the number of the CPU.

    >>> torch.tensor([1.]).get_device()
    -1
    """
    return -1


@method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """False: memory is pinned for a device, and there is none.

    >>> torch.tensor([1.]).is_pinned()
    False
    """
    return False


@method
def is_shared(self: Tensor) -> bool:
    """False: memory belongs to one process.

    >>> torch.tensor([1.]).is_shared()
    False
    """
    return False


@public(method=True)
def is_signed(self: Tensor) -> bool:
    """Whether the dtype holds negative numbers.

    >>> torch.tensor([1]).is_signed(), torch.tensor([1], dtype=torch.uint8).is_signed()
    (True, False)
    """
    return self.dtype.is_signed


@public(method=True)
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether the two have one shape.

    >>> torch.zeros(2, 3).is_same_size(torch.ones(2, 3))
    True
    """
    return self.shape == other.shape


@method
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether the two look at the same entries of the same memory.

    >>> x = torch.zeros(2)
    >>> x.is_set_to(x.view(2)), x.is_set_to(x.clone())
    (True, False)
    """
    a, b = self.writable_array(), tensor.writable_array()
    return bool(a.__array_interface__ == b.__array_interface__)


@public()
def typename(obj: Any) -> str:
    """The name of the type of a thing: `torch.FloatTensor` for a tensor of float32.

    >>> torch.typename(torch.tensor([1.])), torch.typename(1)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return f"torch.{obj.dtype.title}Tensor"
    cls = obj if inspect.isclass(obj) or inspect.isfunction(obj) else type(obj)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


@method
def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of the same dtype, from sizes (uninitialised) or from a sequence. `new_tensor` and `new_empty` are the newer ways.

    >>> torch.tensor([1, 2]).new([3, 4])
    tensor([3, 4])
    """
    return from_arguments(args, self.payload.dtype, "new")
