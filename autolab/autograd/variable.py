"""`Variable`: what a tensor that requires grad was called before 2018. Old programs still say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.autograd.running import running
from autolab.engine.backward import run
from autolab.engine.tensor import Tensor

__all__ = ["Variable"]


class _Engine:
    """`Variable._execution_engine`: the door to the running backward pass."""

    @staticmethod
    def queue_callback(callback: Callable[[], Any]) -> None:
        """Call callback() when the running pass has ended. Raises RuntimeError outside of a pass."""
        now = running({run.__code__})
        if now is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        now["afterwards"].append(callback)


class _AsTensor(type):
    """isinstance(t, Variable) is true for every tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_AsTensor):
    """`Variable(tensor, requires_grad=False)`: the same numbers as a leaf of its own.

    >>> x = Variable(torch.ones(2), requires_grad=True)
    >>> x.is_leaf, x.requires_grad, isinstance(torch.ones(1), Variable)
    (True, True, True)
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        t = Tensor(()) if data is None else data.detach()
        return t.requires_grad_(requires_grad)
