"""Parameter: a tensor that a Module finds by itself."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor
from autolab.surface.printing import tensor_repr


class Parameter(Tensor):
    """A leaf tensor that requires grad and, set as an attribute of a Module, is one of its parameters.

    It shares the numbers of `data`. Raises RuntimeError for integers with requires_grad=True.
    """

    def __new__(cls, data: Any = (), requires_grad: bool = True) -> Any:
        t = super().__new__(cls, data)
        return t.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + tensor_repr(self)
