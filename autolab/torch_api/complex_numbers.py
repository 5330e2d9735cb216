"""PyTorch's functions about complex numbers. There are none here: all numbers are real."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor, new_tensor
from autolab.torch_api.dims import require_tensor
from autolab.torch_api.public import declare, example_of, public


def _itself(name: str, **forms: Any) -> Any:
    def function(input: Tensor) -> Tensor:
        return require_tensor(input, name)

    return declare(function, name, f"The input itself: all numbers here are real.{example_of(name, '[1., 2.] -> [1., 2.]')}", **forms)


real = _itself("real")
conj = _itself("conj", method=True)
conj_physical = _itself("conj_physical", method=True, inplace=True, out=True)
resolve_conj = _itself("resolve_conj", method=True)
resolve_neg = _itself("resolve_neg", method=True)


@public()
def imag(input: Tensor) -> Tensor:
    """Raises RuntimeError: all numbers here are real.

    >>> tensor([1.]).imag
    Traceback (most recent call last):
        ...
    RuntimeError: imag is not implemented for tensors with non-complex dtypes. autolab has no complex numbers.
    """
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes. autolab has no complex numbers.")


@public(method=True)
def is_complex(input: Tensor) -> bool:
    """False: all numbers here are real.

    >>> is_complex(tensor([1.]))
    False
    """
    require_tensor(input, "is_complex")
    return False


@public(method=True)
def is_conj(input: Tensor) -> bool:
    """False: nothing here is stored conjugated.

    >>> is_conj(tensor([1.]))
    False
    """
    return is_complex(input)


@public(method=True)
def is_neg(input: Tensor) -> bool:
    """False: nothing here is stored negated.

    >>> is_neg(-tensor([1.]))
    False
    """
    return is_complex(input)


@public(method=True)
def isreal(input: Tensor) -> Tensor:
    """True everywhere: all numbers here are real.

    >>> isreal(tensor([1., nan]))
    tensor([True, True])
    """
    return new_tensor(np.ones(require_tensor(input, "isreal").payload.shape, bool)[()])
