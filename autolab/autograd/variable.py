"""`Variable`: what a tensor that requires grad was called before 2018. Old programs still say it."""

from __future__ import annotations

from typing import Any

from autolab.engine.backward import queue_callback
from autolab.engine.tensor import Tensor

__all__ = ["Variable"]


class _Engine:
    """`Variable._execution_engine`: the door to the running backward pass."""

    queue_callback = staticmethod(queue_callback)


class _AsTensor(type):
    """isinstance(t, Variable) is true for every tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_AsTensor):
    """`Variable(tensor, requires_grad=False)`: the same numbers as a leaf of its own."""

    _execution_engine = _Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        t = Tensor(()) if data is None else data.detach()
        return t.requires_grad_(requires_grad)
