"""Element types: PyTorch's names over NumPy's dtypes, and PyTorch's rules for mixing them."""

from __future__ import annotations

import math
from _thread import _local as ThreadLocal
from typing import Any

import numpy as np


class dtype:
    """An element type under PyTorch's name. It prints as PyTorch prints it, so `import autolab as torch` reads the same.

    >>> float32
    torch.float32
    """

    __slots__ = ("is_complex", "is_floating_point", "is_signed", "itemsize", "name", "numpy", "title")

    def __init__(self, name: str, title: str, numpy: Any, is_floating_point: bool) -> None:
        self.name = name
        self.title = title  # the name that PyTorch's error messages use
        self.is_floating_point, self.is_complex = is_floating_point, name.startswith("complex")
        if numpy is None:  # NumPy has no bfloat16
            self.itemsize, self.is_signed = 2, True
            return
        self.numpy: np.dtype[Any] = np.dtype(numpy)
        self.itemsize = self.numpy.itemsize
        self.is_signed = self.numpy.kind not in "ub"

    def __getattr__(self, name: str) -> Any:
        if name == "numpy":  # not there yet
            return load_bfloat16()
        raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

    @property
    def dtype(self) -> np.dtype[Any]:
        """Lets NumPy take this object for a dtype: `np.zeros(3, t.dtype)`."""
        return self.numpy

    def to_complex(self) -> Any:
        """The complex dtype whose parts are of this one; complex64 for 16 bits, as there are no smaller ones.

        >>> float64.to_complex()
        torch.complex128
        """
        return of(complex_of(self.numpy))

    def to_real(self) -> Any:
        """The dtype of the real and the imaginary part.

        >>> complex64.to_real()
        torch.float32
        """
        return of(real_of(self.numpy))

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return by_name, (self.name,)


def c_name(d: dtype) -> str:
    """What C++ calls it, as PyTorch's messages about gradients do.

    >>> c_name(int64)
    'long int'
    """
    return {
        "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "uint8": "unsigned char",
        "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long",
        "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
        "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
    }.get(d.name, d.name)  # fmt: skip


float16 = dtype("float16", "Half", np.float16, True)
bfloat16 = dtype("bfloat16", "BFloat16", None, True)
float32 = dtype("float32", "Float", np.float32, True)
float64 = dtype("float64", "Double", np.float64, True)
complex64 = dtype("complex64", "ComplexFloat", np.complex64, False)
complex128 = dtype("complex128", "ComplexDouble", np.complex128, False)
uint8 = dtype("uint8", "Byte", np.uint8, False)
uint16 = dtype("uint16", "UInt16", np.uint16, False)
uint32 = dtype("uint32", "UInt32", np.uint32, False)
uint64 = dtype("uint64", "UInt64", np.uint64, False)
int8 = dtype("int8", "Char", np.int8, False)
int16 = dtype("int16", "Short", np.int16, False)
int32 = dtype("int32", "Int", np.int32, False)
int64 = dtype("int64", "Long", np.int64, False)
bool_ = dtype("bool", "Bool", np.bool_, False)

ALL = (float16, bfloat16, float32, float64, complex64, complex128, uint8, uint16, uint32, uint64, int8, int16, int32, int64, bool_)
OF_NUMPY = tuple(d for d in ALL if d is not bfloat16)
FLOATING = {d.numpy for d in OF_NUMPY if d.is_floating_point}
COMPLEX = {complex64.numpy, complex128.numpy}
INEXACT = FLOATING | COMPLEX  # what can have a gradient
NARROW = {float16.numpy}
UNSIGNED = {uint16.numpy, uint32.numpy, uint64.numpy}  # stored and cast; arithmetic is for those with a sign, and uint8
UNUSUAL = NARROW | COMPLEX | UNSIGNED  # what NumPy alone does not compute with as PyTorch does
_BY_NUMPY = {d.numpy: d for d in OF_NUMPY}
_BY_NAME = {d.name: d for d in ALL}


def as_places(found: Any) -> Any:
    """Positions that NumPy found, in int64: where addresses have 32 bits, NumPy counts in int32, and PyTorch never does.

    >>> as_places(np.argsort([3, 1, 2], kind="stable").astype(np.int32)).dtype
    dtype('int64')
    """
    return found if found.dtype == _INT64 else found.astype(np.int64)


def load_bfloat16() -> np.dtype[Any]:
    """NumPy's bfloat16, from a package that takes as long to load as a fifth of autolab: it is loaded for the first of them.

    >>> load_bfloat16().itemsize
    2
    """
    import ml_dtypes

    d: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    bfloat16.numpy = d
    for dtypes_of_this_kind in (FLOATING, INEXACT, NARROW, UNUSUAL):
        dtypes_of_this_kind.add(d)
    _BY_NUMPY[d] = bfloat16
    return d


def by_name(name: str) -> dtype:
    """The dtype of this name, for unpickling one. Raises KeyError for an unknown name.

    >>> by_name("int8")
    torch.int8
    """
    return _BY_NAME[name]


def of(numpy_dtype: np.dtype[Any]) -> dtype:
    """The PyTorch name of a NumPy dtype. Raises TypeError for one that PyTorch does not have.

    >>> of(np.dtype("int8"))
    torch.int8
    """
    try:
        return _BY_NUMPY[numpy_dtype]
    except KeyError:
        if numpy_dtype.name == "bfloat16":
            load_bfloat16()
            return bfloat16
        names, found = ", ".join(d.name for d in ALL), numpy_dtype.type.__name__
        raise TypeError(f"can't convert np.ndarray of type numpy.{found}. The only supported types are: {names}.") from None


def to_numpy(like: Any) -> np.dtype[Any]:
    """The NumPy dtype of an autolab dtype, a type such as `torch.FloatTensor`, a Python type or a NumPy dtype.

    >>> to_numpy(float32)
    dtype('float32')
    """
    if type(like) is dtype:
        return like.numpy
    of_type = getattr(like, "dtype", None)
    if type(of_type) is dtype:
        return of_type.numpy
    if like is int:  # for NumPy an address: int32 where those have 32 bits
        return int64.numpy
    return of(np.dtype(like)).numpy


class _Default(ThreadLocal):
    floating: np.dtype[Any] = float32.numpy


default = _Default()

# -- promotion -------------------------------------------------------------------------------
# PyTorch sorts operands into three ranks: tensors with dimensions, 0-d tensors, Python numbers.
# A lower rank changes the result's dtype only if it is of a higher category (bool < integer < floating < complex).

NUMBERS = (int, float, complex)  # Python's; bool is an int
_INT64, _BOOL, _UINT8 = int64.numpy, bool_.numpy, uint8.numpy


def category(d: np.dtype[Any]) -> int:
    """0 for bool, 1 for integers, 2 for floating point, 3 for complex.

    >>> category(np.dtype("int8"))
    1
    """
    return 2 if d in FLOATING else 3 if d in COMPLEX else 0 if d == _BOOL else 1


def complex_of(d: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype for a real or complex one.

    >>> complex_of(np.dtype("float32"))
    dtype('complex64')
    """
    return complex128.numpy if d in (float64.numpy, complex128.numpy) else complex64.numpy


def real_of(d: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of a complex number; of another dtype itself.

    >>> real_of(np.dtype("complex128"))
    dtype('float64')
    """
    return d if d not in COMPLEX else float32.numpy if d == complex64.numpy else float64.numpy


def promote_types(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest dtype that holds both, as PyTorch has it: a float beats every integer, float16 with bfloat16 is float32.

    >>> promote_types(np.dtype("int64"), np.dtype("float16"))
    dtype('float16')
    """
    if a == b:
        return a
    if (a in UNSIGNED and b not in FLOATING) or (b in UNSIGNED and a not in FLOATING):
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {of(a).title} and {of(b).title}. "
            f"Convert one of them first: t.to(torch.{of(b if a in UNSIGNED else a).name})."
        )
    if a in COMPLEX or b in COMPLEX:
        return complex128.numpy if complex128.numpy in (complex_of(a), complex_of(b)) else complex64.numpy
    a_floats, b_floats = a in FLOATING, b in FLOATING
    if a_floats and b_floats:
        return float32.numpy if a.itemsize == b.itemsize else max(a, b, key=lambda d: d.itemsize)
    if a_floats or b_floats:
        return a if a_floats else b
    return np.promote_types(a, b)


def result_type(operands: list[Any]) -> np.dtype[Any]:
    """The dtype that these raw operands (arrays, NumPy scalars for 0-d tensors, Python numbers) are computed in.

    >>> result_type([np.ones(2, np.float32), np.float64(3), 4])
    dtype('float32')
    """
    ranks: list[np.dtype[Any] | None] = [None, None, None]  # numbers, 0-d tensors, tensors with dims
    for a in operands:
        if isinstance(a, np.ndarray | np.generic) or hasattr(a, "dtype"):
            rank, d = (2 if a.ndim else 1), np.dtype(a.dtype)
        elif isinstance(a, NUMBERS):
            d = default.floating if isinstance(a, float) else _BOOL if isinstance(a, bool) else _INT64
            rank, d = 0, complex_of(default.floating) if isinstance(a, complex) else d
        else:
            raise TypeError(f"expected a Tensor or a number, but got {type(a).__name__}")
        ranks[rank] = d if ranks[rank] is None else promote_types(ranks[rank], d)  # type: ignore[arg-type]
    result: Any = None
    for d in reversed(ranks):
        if d in UNSIGNED and result == _BOOL:
            promote_types(result, d)  # refused
        if d is not None and (result is None or category(d) > category(result)):
            result = complex_of(result) if d in COMPLEX and result in FLOATING else d  # as precise as what is of the higher rank
    assert result is not None
    return result  # type: ignore[no-any-return]


def fitting(value: Any, d: np.dtype[Any]) -> Any:
    """A number to fill tensors of a dtype with. In an unsigned dtype a negative integer wraps round, as in C.

    Raises RuntimeError if the dtype does not hold it.

    >>> fitting(-1, np.dtype("uint8")), fitting(2.7, np.dtype("int64"))
    (255, 2)
    """
    kind, most = type(value), 3.4e38 if d == float32.numpy else 1.7e308 if d == float64.numpy else 65504.0 if d in FLOATING else -1.0
    if (kind is float or kind is int) and -most <= value <= most:  # nearly always
        return value
    if isinstance(value, complex | np.complexfloating) and d not in COMPLEX and value.imag == 0:
        value = value.real
    if d == _BOOL:
        return bool(value)
    if d in INEXACT:
        largest = (2 - 2**-7) * 2.0**127 if of(d) is bfloat16 else float(np.finfo(real_of(d)).max)
        fits = d in COMPLEX or not isinstance(value, complex | np.complexfloating)
        fits = fits and all(abs(part) <= largest or not math.isfinite(part) for part in (value.real, value.imag))
    else:
        limits = np.iinfo(d)
        wraps = d.kind == "u" and isinstance(value, int | np.integer)
        fits = not isinstance(value, complex | np.complexfloating) and (-limits.max if wraps else limits.min) <= value <= limits.max
    if not fits:
        name = c_name(of(d)) if d in INEXACT or d == int32.numpy else f"{of(d).name}_t"
        raise RuntimeError(f"value cannot be converted to type {name} without overflow: {value} does not fit {of(d)!r}.")
    return value if d in INEXACT else int(value) % (limits.max + 1) if d.kind == "u" else int(value)


def cast(a: Any, d: np.dtype[Any]) -> Any:
    """A raw value in another dtype; itself when it is in it already.

    >>> cast(np.float64(1.9), np.dtype("int64"))
    np.int64(1)
    """
    if isinstance(a, np.ndarray):
        return a if a.dtype == d else a.astype(d)
    if isinstance(a, np.generic):
        return a if a.dtype == d else np.asarray(a).astype(d)[()]
    return np.asarray(a).astype(d)[()]


def upcast(values: Any) -> list[Any]:
    """Raw values or Tensors with 16-bit floats as float32: arithmetic on them is done in float32 and rounded once.

    >>> [a.dtype for a in upcast([np.ones(2, np.float16)])]
    [dtype('float32')]
    """
    return [
        upcast(v) if type(v) is list else v.astype(float32.numpy) if getattr(getattr(v, "payload", v), "dtype", None) in NARROW else v
        for v in values
    ]


def downcast(value: Any, d: np.dtype[Any]) -> Any:
    """A result computed in float32, rounded to the 16-bit float it stands for; results that are no float32 as they are.

    >>> downcast(np.float32(1) / np.float32(3), np.dtype("float16"))
    np.float16(0.3333)
    """
    return value.astype(d) if getattr(getattr(value, "payload", value), "dtype", None) == float32.numpy else value


def promote(operands: list[Any], integers_to_float: bool) -> list[Any]:
    """Bring raw operands to one dtype. Python numbers stay as they are where NumPy lets them follow the arrays.

    >>> [a.dtype for a in promote([np.ones(2, np.int64), np.ones(2, np.float32)], integers_to_float=False)]
    [dtype('float32'), dtype('float32')]
    """
    first = getattr(operands[0], "dtype", None)
    if first in INEXACT and all(type(a) is np.ndarray and a.dtype == first for a in operands):
        return operands
    d = result_type(operands)
    if integers_to_float and d not in INEXACT:
        d = default.floating
    weak: Any = complex if d in COMPLEX else float if d in FLOATING else None
    out = []
    for a in operands:
        if weak is not None and isinstance(a, NUMBERS) and not isinstance(a, np.generic) and len(operands) > 1:
            out.append(weak(a))  # takes the dtype of the array it meets
        else:
            out.append(cast(a, d))
    return out
