"""Writes that the graph is told of, or made able to bear: `graph.increment_version`, `graph.allow_mutation_on_saved_tensors`."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor, new_tensor


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that a tensor was written to in a way that autolab cannot see, for example through its NumPy array.

    A backward pass that needs the old numbers then refuses to run.

    >>> x = ones(2)
    >>> increment_version(x)
    >>> x._version
    1
    """
    if not isinstance(tensor, Tensor | Iterable):
        raise RuntimeError(f"increment_version expect a Iterable[Tensor] as input, not {type(tensor).__name__}")
    for t in [tensor] if isinstance(tensor, Tensor) else tensor:
        if not t.is_inference():
            t.version[0] += 1


class Handle:
    """Stands in for what is saved of a tensor in one state, however often it is saved; alive as long as a graph needs it."""

    __slots__ = ("__weakref__", "version")

    def __init__(self, version: list[int]) -> None:
        self.version = version


class MutationContext:
    """What `allow_mutation_on_saved_tensors` gives: `clear()` lets go of all that was saved within it.

    `original` and `cloned` have the numbers of each handle: those that the tensor still has, and a copy from before a write.
    """

    def __init__(self) -> None:
        self.original: weakref.WeakKeyDictionary[Handle, Any] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[Handle, Any] = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle: weakref.WeakValueDictionary[tuple[int, int, int], Handle] = weakref.WeakValueDictionary()

    def clear(self) -> None:
        """Forget the saved values: their graphs can no longer be differentiated."""
        self.original.clear()
        self.cloned.clear()

    def pack(self, t: Tensor) -> Handle:
        state = id(t.version), id(t.payload), t.version[0]  # the handle keeps what the ids are of alive
        handle = self.tid_to_weakhandle.get(state)
        if handle is None or handle in self.cloned:
            handle = self.tid_to_weakhandle[state] = Handle(t.version)
            self.original[handle] = t.payload
        return handle

    def unpack(self, handle: Handle) -> Tensor:
        numbers = self.cloned.get(handle, self.original.get(handle))
        if numbers is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally recorded."
            )
        return new_tensor(numbers)

    def before_write(self, target: Tensor) -> None:
        """Copy what was saved of a tensor, or of another view of the same memory, that is about to be written to."""
        for handle, numbers in list(self.original.items()):
            if handle.version is target.version and handle not in self.cloned:
                self.cloned[handle] = self.original[handle] = numbers.copy()


class allow_mutation_on_saved_tensors:
    """Within it, tensors that were saved for backward may be written to: the old numbers are copied first.

    Graphs made within it must be differentiated within it. Raises RuntimeError if it is nested.

    >>> with allow_mutation_on_saved_tensors():
    ...     a = ones(2, requires_grad=True)
    ...     b = a.clone()
    ...     loss = (b**2).sum()
    ...     b = b.sin_()
    ...     loss.backward()
    >>> a.grad
    tensor([2., 2.])
    """

    def __enter__(self) -> MutationContext:
        if modes.before_write is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self.context = MutationContext()
        modes.before_write = self.context.before_write
        self.hooks = (self.context.pack, self.context.unpack)
        modes.saved_hooks.append(self.hooks)
        modes.settle()
        return self.context

    def __exit__(self, *exc: Any) -> None:
        modes.before_write = None
        modes.saved_hooks.pop()
        modes.settle()
        self.context.clear()
