"""The oldest ways to make tensors: `torch.FloatTensor(2, 3)`, `torch.LongTensor([1, 2])`, `x.new(3)`. Facts that all tensors share."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import SAME, Tensor, new_tensor
from autolab.size import Size
from autolab.torch_api.creation import as_array, finish
from autolab.torch_api.device import require_cpu
from autolab.torch_api.public import method, public
from autolab.torch_api.settings import strided


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


def volatile(self: Tensor) -> bool:
    """False: a flag of PyTorch's first versions, with a warning that it is gone.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.ones(2).volatile
    False
    """
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def _backward_hooks(self: Tensor) -> Any:
    """The hooks on this tensor by their numbers; None if there are none."""
    if "_backward_hooks" in vars(self):
        return vars(self)["_backward_hooks"]
    if self.is_leaf:
        return (self.extra and self.extra.hooks) or None
    node, number = self.edge  # type: ignore[misc]
    return (node.hooks and node.hooks.tensor.get(number)) or None


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of each hook on a tensor that is about to be pickled: it stays behind."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                UserWarning,
                stacklevel=3,
            )


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    vars(self)["_backward_hooks"] = hooks
    if self.is_leaf:  # a result's hooks are its node's, which does not look here
        self.ensure_extra().hooks = {} if hooks is None else hooks


def _grad_dtype(self: Tensor) -> Any:
    """The dtype in which gradients of this leaf are accumulated: its own unless set; None takes any as it comes.

    >>> torch.ones(2).grad_dtype
    torch.float32
    """
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return self.dtype if self.extra is None or self.extra.grad_dtype is SAME else self.extra.grad_dtype


def _set_grad_dtype(self: Tensor, dtype: Any) -> None:
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}")
    if dtype is not None and self._grad is not None and self._grad.dtype is not dtype:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{dtype.title}' because there is already a gradient with dtype "
            f"'{dtypes.c_name(self._grad.dtype)}'. Please clear the gradient (.grad = None) before changing grad_dtype."
        )
    self.ensure_extra().grad_dtype = dtype


def _set_grad_fn(self: Tensor, node: Any) -> None:
    if node is not None:
        raise RuntimeError("_grad_fn can be only set to None")
    self.detach_()


def data(self: Tensor) -> Tensor:
    """The same numbers without history: writes through it are not noticed (no version is counted).

    >>> w = torch.tensor([1., 2.], requires_grad=True)
    >>> w.data[0] = 5
    >>> w
    tensor([5., 2.], requires_grad=True)
    """
    t = new_tensor(self.writable_array())
    t.wants_grad = False
    return t


def _set_data(self: Tensor, new: Tensor) -> None:
    if not isinstance(new, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
    if self.wants_grad and new.payload.dtype not in dtypes.INEXACT:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    self.payload = new.writable_array()


def _delete_data(self: Tensor) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


def _cannot_delete(name: str) -> Any:
    def delete(self: Tensor) -> None:
        raise RuntimeError(f"cannot delete {name}")

    return delete


FACTS = {
    "is_cpu": True, "is_mps": False, "is_xpu": False, "is_xla": False, "is_meta": False, "is_quantized": False, "is_nested": False,
    "is_mkldnn": False, "is_sparse_csr": False, "is_ipu": False, "is_maia": False, "is_mtia": False, "is_vulkan": False,
    "data": property(data, _set_data, _delete_data),
    "output_nr": property(
        lambda self: 0 if self.edge is None else self.edge[1],
        doc="""Which result of its node this is; 0 for a leaf.

>>> first, second = torch.ones(4, requires_grad=True).split(2)
>>> first.output_nr, second.output_nr
(0, 1)
""",
    ),
    "retains_grad": property(
        lambda self: self.edge is not None and self.extra is not None and self.extra.retains,
        doc="""Whether `.grad` of this result is kept, which `retain_grad` asks for.

>>> y = 2 * torch.ones(2, requires_grad=True)
>>> y.retain_grad()
>>> y.retains_grad
True
""",
    ),
    "_base": property(
        lambda self: None if self.view_info is None else self.view_info.base, doc="The tensor whose memory this view looks into, or None."
    ),
    "layout": property(
        lambda self: strided, doc="How entries are stored: `torch.strided`, always.\n\n>>> torch.ones(2).layout\ntorch.strided\n"
    ),
    "name": None, "volatile": property(volatile),
    "grad_dtype": property(_grad_dtype, _set_grad_dtype),
    "_grad_fn": property(lambda self: self.grad_fn, _set_grad_fn, _cannot_delete("_grad_fn"), "`grad_fn`; None detaches it."),
    "_backward_hooks": property(_backward_hooks, _set_backward_hooks, _cannot_delete("_backward_hooks")),
}  # fmt: skip
