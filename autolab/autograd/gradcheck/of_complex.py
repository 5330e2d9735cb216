"""Functions of complex numbers as functions of real ones, for gradcheck.

The gradient for z = x + iy is dL/dx + i dL/dy. So a function is differentiated rightly if the same function of the pairs (x, y) is, and
of that finite differences know nothing special. It also finds what a step along the real axis alone would not: a conjugate forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.dtypes import COMPLEX
from autolab.engine.tensor import Tensor
from autolab.torch_api.complex_numbers import view_as_complex, view_as_real


def is_complex(t: Any) -> bool:
    return isinstance(t, Tensor) and t.payload.dtype in COMPLEX


def in_real_numbers(func: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function that takes and gives pairs of real numbers in place of complex ones, and the inputs for it."""
    turned = [is_complex(x) for x in inputs]

    def real_func(*args: Any) -> Any:
        found = func(*(view_as_complex(a) if t else a for a, t in zip(args, turned)))
        if isinstance(found, tuple | list) and any(map(is_complex, found)):
            return tuple(view_as_real(out) if is_complex(out) else out for out in found)
        return view_as_real(found) if is_complex(found) else found

    return real_func, tuple(pairs_of(x) if t else x for x, t in zip(inputs, turned))


def pairs_of(x: Tensor) -> Tensor:
    """A leaf of the pairs, which requires grad if the complex numbers do."""
    return view_as_real(x.detach()).clone().requires_grad_(x.requires_grad)
