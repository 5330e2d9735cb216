"""Tensor's methods and operators, bound from tables."""

from __future__ import annotations

import builtins
import operator as operators
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply_general
from autolab.engine.modes import modes
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor
from autolab.rules import elementwise as rows
from autolab.rules import linalg as linalg_rows
from autolab.torch_api import complex_numbers, creation, inplace, overriding, pointwise, tensor_facts
from autolab.torch_api.lazy import LazyMethod
from autolab.torch_api.numpy_names import copy_name_and_doc, with_numpy_names
from autolab.torch_api.public import DECLARED, Declaration, entitle

NONE: dict[str, Any] = {}
OPERAND = (Tensor, *dtypes.NUMBERS, np.generic, np.ndarray)


def operator(name: str, row: Op, general: Callable[..., Any] | None = None) -> LazyMethod:
    """x op y: the function written out for the row; before there is one, `general` or what runs the row."""

    def forward(self: Tensor, other: Any) -> Any:
        return apply_general(row, (self, other), NONE) if isinstance(other, OPERAND) else NotImplemented

    usual = entitle(general or forward, name, None)

    def load() -> Callable[..., Any]:
        def settle(written: Callable[..., Any]) -> None:
            if vars(Tensor)[name] is first:  # and not what somebody else has put there
                setattr(Tensor, name, copy_name_and_doc(written, usual))

        first = row.generated("forward", usual, settle, general)
        return usual if first is None else copy_name_and_doc(first, usual)

    return LazyMethod(name, load)


def reflected(row: Op) -> Callable[..., Any]:
    """y op x, where y is no Tensor."""

    def forward(self: Tensor, other: Any) -> Any:
        return row.run(other, self, settings=NONE) if isinstance(other, OPERAND) else NotImplemented

    return forward


def bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """x & y and the other operators on bits. The shortcuts of rows are for floats, which have no bits to speak of."""

    def forward(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, OPERAND) else NotImplemented

    return forward


def _rtruediv(self: Tensor, other: Any) -> Any:
    return pointwise.reciprocal(self) * other if isinstance(other, OPERAND) else NotImplemented


def _pow(self: Tensor, exponent: Any) -> Any:
    if (type(exponent) is int or type(exponent) is float) and self.payload.dtype in dtypes.INEXACT:
        return rows.pow_scalar.run(self, settings={"exponent": exponent})
    return pointwise.pow(self, exponent) if isinstance(exponent, OPERAND) else NotImplemented


def _matmul(self: Tensor, other: Any) -> Any:
    return self.matmul(other) if isinstance(other, Tensor) else NotImplemented


def _rmatmul(self: Tensor, other: Any) -> Any:
    return creation.as_tensor(other).matmul(self) if isinstance(other, np.ndarray | Tensor) else NotImplemented


ROWS = {
    "__add__": rows.add, "__radd__": rows.add, "__sub__": rows.sub, "__rsub__": rows.rsub, "__mul__": rows.mul,
    "__rmul__": rows.mul, "__truediv__": rows.div, "__floordiv__": rows.floor_divide, "__mod__": rows.remainder,
    "__eq__": rows.eq, "__ne__": rows.ne, "__lt__": rows.lt,
    "__le__": rows.le, "__gt__": rows.gt, "__ge__": rows.ge,
}  # fmt: skip
AUGMENTED = {
    "__iadd__": pointwise.add, "__isub__": pointwise.sub, "__imul__": pointwise.mul, "__itruediv__": pointwise.div,
    "__ipow__": pointwise.pow, "__ifloordiv__": pointwise.floor_divide, "__imod__": pointwise.remainder,
    "__iand__": pointwise.bitwise_and, "__ior__": pointwise.bitwise_or, "__ixor__": pointwise.bitwise_xor,
    "__ilshift__": pointwise.bitwise_left_shift, "__irshift__": pointwise.bitwise_right_shift,
}  # fmt: skip


def loaded(name: str, module: str, function: str, first_look: str = "") -> LazyMethod:
    """An operator that is a function of another module, loaded when it is first used; with a first look out of `fast.entries`."""

    def load() -> Callable[..., Any]:
        written = getattr(import_module(f"autolab.torch_api.{module}"), function)
        if first_look:
            written = getattr(import_module("autolab.fast.entries"), first_look)(written)
        return entitle(written, name, written.__doc__)

    return LazyMethod(name, load)


def updating(name: str, of_arrays: Callable[[Any, Any], Any]) -> LazyMethod:
    """`x += 1` and the like, with a first look."""

    def load() -> Callable[..., Any]:
        update = inplace.augmented_assignment(AUGMENTED[name].__name__, AUGMENTED[name])
        written = import_module("autolab.fast.entries").quick_update(update, of_arrays)
        return entitle(written, name, None)

    return LazyMethod(name, load)


OPERATORS: dict[str, Any] = {
    **{name: operator(name, row) for name, row in ROWS.items()},
    "__rtruediv__": _rtruediv, "__rdiv__": _rtruediv,
    "__rfloordiv__": reflected(rows.floor_divide), "__rmod__": reflected(rows.remainder),
    "__pow__": _pow, "__rpow__": reflected(rows.pow), "__matmul__": operator("__matmul__", linalg_rows.mm, _matmul),
    "__rmatmul__": _rmatmul,
    "__and__": bits(pointwise.bitwise_and), "__rand__": bits(pointwise.bitwise_and), "__or__": bits(pointwise.bitwise_or),
    "__ror__": bits(pointwise.bitwise_or), "__xor__": bits(pointwise.bitwise_xor), "__rxor__": bits(pointwise.bitwise_xor),
    "__lshift__": bits(pointwise.bitwise_left_shift), "__rlshift__": bits(lambda x, y: pointwise.bitwise_left_shift(y, x)),
    "__rshift__": bits(pointwise.bitwise_right_shift), "__rrshift__": bits(lambda x, y: pointwise.bitwise_right_shift(y, x)),
    "__neg__": pointwise.neg, "__pos__": lambda self: self, "__abs__": pointwise.abs, "__invert__": pointwise.bitwise_not,
    **{name: inplace.augmented_assignment(function.__name__, function) for name, function in AUGMENTED.items()},
    "__iadd__": updating("__iadd__", operators.add), "__isub__": updating("__isub__", operators.sub),
    "__imul__": updating("__imul__", operators.mul),
    "__getitem__": loaded("__getitem__", "index", "getitem", "quick_read"),
    "__setitem__": loaded("__setitem__", "index", "setitem", "quick_write"),
    "__repr__": loaded("__repr__", "printing", "tensor_repr"),
}  # fmt: skip


def tell_tracer(self: Tensor) -> None:
    """Tell a tracer that Python sees the numbers: what it does next may depend on them."""
    if modes.tracer is not None:
        modes.tracer.leave("Python looks at the numbers of a tensor")


def item(self: Tensor) -> Any:
    """The one number of a one-entry tensor, as a Python number. Raises RuntimeError for more.

    >>> torch.tensor([2.5]).item()
    2.5
    """
    tell_tracer(self)
    if self.payload.size != 1:
        raise RuntimeError(
            f"a Tensor with {self.payload.size} elements cannot be converted to Scalar; this one has shape {list(self.shape)}. "
            "Reduce it first, for example with .sum() or .mean()."
        )
    value = self.payload.item()
    return builtins.float(value) if self.payload.dtype in dtypes.FLOATING else value  # of bfloat16, too


def _number(convert: Callable[..., Any]) -> Callable[..., Any]:
    """float(t), which warns of a gradient that gets lost, and int(t), where there is none."""

    def number(self: Tensor) -> Any:
        tell_tracer(self)
        if convert is builtins.float and self.requires_grad:
            warnings.warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first, or .item().",
                UserWarning,
                stacklevel=2,
            )
        if self.payload.size != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars; this one has shape {list(self.shape)}. "
                "Reduce it first, for example with .sum() or .mean(), or use .tolist()."
            )
        value = item(self)
        if isinstance(value, complex) and convert is not complex:
            if value.imag:
                name = "double" if convert is builtins.float else "int64_t"
                raise RuntimeError(
                    f"value cannot be converted to type {name} without overflow: {value} is complex. Take z.real or z.abs()."
                )
            value = value.real
        return convert(value)

    return number


def _index(self: Tensor) -> int:
    tell_tracer(self)
    if self.payload.size != 1 or self.payload.dtype in dtypes.INEXACT:
        raise TypeError(
            f"only integer tensors of a single element can be converted to an index; this one is {self.dtype} of shape {list(self.shape)}"
        )
    return int(self.payload.item())


def type_name(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type ("torch.FloatTensor"), or the tensor in another dtype. Raises ValueError for an unknown name.

    >>> torch.tensor([1.]).type(), torch.tensor([1.]).type(torch.int64)
    ('torch.FloatTensor', tensor([1]))
    """
    if dtype is None:
        return f"torch.{self.dtype.title}Tensor"
    if isinstance(dtype, str):
        named = {f"torch.{d.title}Tensor": d for d in dtypes.ALL}
        if dtype not in named:
            raise ValueError(f"invalid type: '{dtype}'. The names are {', '.join(named)}.")
        dtype = named[dtype]
    return pointwise.to(self, dtype)


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """The array behind this tensor: shared memory. Raises RuntimeError if the tensor requires grad, unless in no_grad or if forced.

    >>> x = torch.tensor([1., 2.])
    >>> x.numpy()[0] = 5
    >>> x
    tensor([5., 2.])
    """
    tell_tracer(self)
    if modes.grad and not force and self.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return self.writable_array()


def tolist(self: Tensor) -> Any:
    """Nested lists of Python numbers; a number for a 0-d tensor.

    >>> torch.tensor([[1, 2], [3, 4]]).tolist(), torch.tensor(1.5).tolist()
    ([[1, 2], [3, 4]], 1.5)
    """
    tell_tracer(self)
    a = np.asarray(self.payload)
    return (a.astype(np.float64) if a.dtype in dtypes.FLOATING else a).tolist()


def _array(self: Tensor, dtype: Any = None, copy: Any = None) -> Any:
    tell_tracer(self)
    if modes.grad and self.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return np.array(self.writable_array(), dtype=dtype, copy=copy)


def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    """The result of a NumPy function that has no row, as a tensor over its memory."""
    return creation.from_numpy(np.asarray(array))


def _dlpack(self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
    """The memory of this tensor for another library (the array API's protocol, called by its from_dlpack)."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return self.writable_array().__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    return (1, 0)  # kDLCPU


def _bool(self: Tensor) -> bool:
    tell_tracer(self)
    if self.payload.size != 1:
        if self.payload.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return builtins.bool(self.payload)


def _len(self: Tensor) -> int:
    if self.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return self.payload.shape[0]


def _iter(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind())


def _contains(self: Tensor, value: Any) -> bool:
    tell_tracer(self)
    return builtins.bool(np.any(np.equal(self.payload, value.payload if isinstance(value, Tensor) else value)))


def _format(self: Tensor, spec: str) -> str:
    if self.ndim == 0 and type(self) is Tensor:
        return item(self).__format__(spec)
    return object.__format__(self, spec)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were "
            "attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage."
        )
    if id(self) in memo:
        return memo[id(self)]
    copy = object.__new__(type(self))
    copy.payload = np.array(self.payload)[()] if self.ndim == 0 else np.array(self.payload)
    copy.edge = copy.view_info = copy.extra = None
    copy.wants_grad, copy.version = False, [0]
    copy.requires_grad_(self.wants_grad)
    copy._grad = None if self._grad is None else _deepcopy(self._grad, memo)
    memo[id(self)] = copy
    if self.__dict__:
        from copy import deepcopy  # has been loaded, or nobody would copy

        copy.__dict__.update(deepcopy(self.__dict__, memo))
    return copy


def _reduce(self: Tensor, protocol: Any) -> Any:
    tensor_facts.warn_if_has_hooks(self)
    return rebuild, (type(self), np.asarray(self.payload), self.requires_grad), self.__dict__ or None


def rebuild(cls: type, array: Any, requires_grad: bool) -> Tensor:
    """What unpickling a tensor calls."""
    t: Tensor = object.__new__(cls)
    t.payload = array[()] if array.ndim == 0 else array
    t.edge = t.view_info = t.extra = t._grad = None
    t.wants_grad, t.version = False, [0]
    return t.requires_grad_(requires_grad)


def _as_type(d: dtypes.dtype) -> tuple[str, Callable[..., Any]]:
    name = {"ComplexFloat": "cfloat", "ComplexDouble": "cdouble"}.get(d.title, d.title.lower())
    doc = f"This tensor in {d.name}; itself if it is.\n\n>>> torch.tensor([0, 1]).{name}().dtype\n{d!r}\n"
    return doc, lambda self, memory_format=None: pointwise.to(self, d)


def _new(make: Any, what: str) -> tuple[str, Callable[..., Any]]:
    doc = f"""{what} of these sizes, in this tensor's dtype.

>>> x = torch.tensor([1, 2]).new_{make.__name__}(2, 3)
>>> x.shape, x.dtype
(torch.Size([2, 3]), torch.int64)
"""
    return doc, lambda self, *size, **k: creation.new(self, make, size, k)


# Methods of a few words, each with what its documentation says and an example; properties; and what Python itself asks for.
SPECIAL: dict[str, Any] = {
    "item": item, "numpy": numpy, "tolist": tolist, "type": type_name,
    "dim": ("The number of dims, as `ndim`.\n\n>>> torch.zeros(2, 3).dim()\n2\n", lambda self: self.ndim),
    "ndimension": ("The number of dims, as `ndim`.\n\n>>> torch.zeros(2, 3).ndimension()\n2\n", lambda self: self.ndim),
    "where": (
        """This tensor where the condition holds, other elsewhere.

>>> x = torch.tensor([-1.0, 2.0])
>>> x.where(x > 0, 0.0)
tensor([0., 2.])
""",
        lambda self, condition, other: pointwise.where(condition, self, other),
    ),
    "nelement": ("The number of entries, as `numel`.\n\n>>> torch.zeros(2, 3).nelement()\n6\n", lambda self: self.numel()),
    "type_as": (
        "This tensor in the dtype of another.\n\n>>> torch.tensor([1.9]).type_as(torch.tensor(0))\ntensor([1])\n",
        lambda self, other: pointwise.to(self, other),
    ),
    "element_size": (
        "How many bytes an entry takes.\n\n>>> torch.tensor([1.0]).element_size()\n4\n", lambda self: self.payload.dtype.itemsize
    ),
    "cpu": ("This tensor: it is on the CPU.\n\n>>> torch.ones(2).cpu()\ntensor([1., 1.])\n", lambda self, memory_format=None: self),
    "data_ptr": (
        """The address of the first entry, in bytes.

>>> x = torch.zeros(3)
>>> x[1:].data_ptr() - x.data_ptr()
4
""",
        lambda self: self.writable_array().__array_interface__["data"][0],
    ),
    "_is_view": ("Whether it looks into the memory of another tensor.", lambda self: self.view_info is not None),
    "new_tensor": (
        """`torch.tensor` of data, by default in this tensor's dtype.

>>> torch.tensor([1.0]).new_tensor([2, 3])
tensor([2., 3.])
""",
        lambda self, data, **k: creation.tensor(data, **{"dtype": self.dtype, **k}),
    ),
    "new_zeros": _new(creation.zeros, "Zeros"), "new_ones": _new(creation.ones, "Ones"), "new_empty": _new(creation.empty, "Any numbers"),
    "new_full": (
        "A tensor of one number, in this tensor's dtype.\n\n>>> torch.tensor([1.0]).new_full((2,), 7)\ntensor([7., 7.])\n",
        lambda self, size, value, **k: creation.new(self, lambda size, **k: creation.full(size, value, **k), (tuple(size),), k),
    ),
    "float": _as_type(dtypes.float32), "double": _as_type(dtypes.float64), "half": _as_type(dtypes.float16),
    "bfloat16": _as_type(dtypes.bfloat16), "long": _as_type(dtypes.int64), "int": _as_type(dtypes.int32),
    "cfloat": _as_type(dtypes.complex64), "cdouble": _as_type(dtypes.complex128), "short": _as_type(dtypes.int16),
    "char": _as_type(dtypes.int8), "byte": _as_type(dtypes.uint8), "bool": _as_type(dtypes.bool_),
    "real": property(complex_numbers.real, complex_numbers.set_real), "imag": property(complex_numbers.imag, complex_numbers.set_imag),
    "device": property(
        lambda self: creation.CPU, doc="The place where it is: the CPU.\n\n>>> torch.ones(2).device\ndevice(type='cpu')\n"
    ),
    "itemsize": property(
        lambda self: self.payload.dtype.itemsize, doc="How many bytes an entry takes.\n\n>>> torch.tensor([1.0]).itemsize\n4\n"
    ),
    "nbytes": property(
        lambda self: self.payload.nbytes, doc="How many bytes all entries take.\n\n>>> torch.zeros(2, 3).nbytes\n24\n"
    ),
    "is_cuda": False, "is_sparse": False, "names": None,
    "__array__": _array, "__array_wrap__": _array_wrap, "__dlpack__": _dlpack, "__dlpack_device__": _dlpack_device,
    "__bool__": _bool, "__len__": _len, "__iter__": _iter, "__contains__": _contains,
    "__hash__": lambda self: id(self), "__float__": _number(builtins.float), "__int__": _number(int),
    "__complex__": _number(complex), "__index__": _index,
    "__format__": _format, "__deepcopy__": _deepcopy, "__reduce_ex__": _reduce,
}  # fmt: skip


def declared_methods(declarations: Iterable[Declaration]) -> Iterator[tuple[str, Any]]:
    """The names of Tensor's methods and what they stand for."""
    for declared in declarations:
        if declared.method:
            function = with_numpy_names(declared.function)
            for name in declared.names:
                yield name, function
        if declared.inplace:
            write = inplace.inplace_form(declared.names[0], declared.function)
            for name in declared.names:
                yield f"{name}_", write


def bind() -> None:
    """Give Tensor the methods that have been declared, and everything in the tables above."""
    for name, function in declared_methods(DECLARED):
        setattr(Tensor, name, function)
    for table in (OPERATORS, SPECIAL, tensor_facts.FACTS):
        for name, function in table.items():
            if isinstance(function, tuple):
                doc, function = function
                function.__doc__ = doc
            if isinstance(function, FunctionType) and getattr(Tensor, function.__name__, None) is not function:
                function.__name__ = function.__qualname__ = name  # unless it has a name already under which Tensor has it
            setattr(Tensor, name, function)
    overriding.bind()
