"""What dtypes can hold, and which dtype comes out when they meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor
from autolab.torch_api.public import public


@public()
class finfo:
    """The limits of a floating dtype (by default the default one): bits, eps, max, min, tiny, smallest_normal, resolution.

    Raises TypeError for integers.

    >>> finfo(torch.float16).max
    65504.0
    """

    def __init__(self, type: Any = None) -> None:
        kind = _dtype(type, "finfo")
        if kind.is_complex:
            kind = kind.to_real()
        if not kind.is_floating_point:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        from ml_dtypes import finfo as limits

        found: Any = limits(kind.numpy)
        self.dtype, self.bits = kind.name, kind.itemsize * 8
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.smallest_normal)
        self.resolution = float(f"{float(found.resolution):.0e}")

    def __repr__(self) -> str:
        names = "resolution", "min", "max", "eps", "smallest_normal", "tiny"
        return f"finfo({', '.join(f'{n}={getattr(self, n):g}' for n in names)}, dtype={self.dtype})"


@public()
class iinfo:
    """The limits of an integer dtype: bits, max, min. Raises TypeError for floating dtypes.

    >>> iinfo(torch.int8).max
    127
    """

    def __init__(self, type: Any) -> None:
        kind = _dtype(type, "iinfo")
        if kind.is_floating_point or kind.is_complex or kind is dtypes.bool_:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        found = np.iinfo(kind.numpy)
        self.dtype, self.bits, self.min, self.max = kind.name, kind.itemsize * 8, int(found.min), int(found.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _dtype(type: Any, function: str) -> Any:
    if type is None:
        return dtypes.of(dtypes.default.floating)
    if not isinstance(type, dtypes.dtype):
        raise TypeError(f"{function}(): argument 'type' (position 1) must be torch.dtype, not {type.__class__.__name__}")
    return type


@public()
def promote_types(type1: Any, type2: Any) -> Any:
    """The smallest dtype that holds both, a float for a float and an integer.

    >>> promote_types(torch.int64, torch.float16)
    torch.float16
    """
    return dtypes.of(dtypes.promote_types(_dtype(type1, "promote_types").numpy, _dtype(type2, "promote_types").numpy))


@public()
def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype that an operation on these two (tensors or numbers) computes in.

    >>> result_type(tensor([1, 2]), 1.5), result_type(tensor([1.], dtype=torch.float16), 2)
    (torch.float32, torch.float16)
    """
    return dtypes.of(dtypes.result_type([t.payload if isinstance(t, Tensor) else t for t in (tensor1, tensor2)]))


@public()
def can_cast(from_: Any, to: Any) -> bool:
    """Whether a dtype may become another in place: not a float an integer, nor anything else bool.

    >>> can_cast(torch.int64, torch.float16), can_cast(torch.float32, torch.int64)
    (True, False)
    """
    return dtypes.category(_dtype(from_, "can_cast").numpy) <= dtypes.category(_dtype(to, "can_cast").numpy)
