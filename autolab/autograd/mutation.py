"""Writes that the graph is told of, or made able to bear: `graph.increment_version`, `graph.allow_mutation_on_saved_tensors`."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that a tensor was written to in a way that autolab cannot see, for example through its NumPy array.

    A backward pass that needs the old numbers then refuses to run.

    >>> x = ones(2)
    >>> increment_version(x)
    >>> x._version
    1
    """
    for t in [tensor] if isinstance(tensor, Tensor) else tensor:
        if not t.is_inference():
            t.version[0] += 1


class Ticket:
    """Stands in for one saved value: its numbers, copied before the first write over them."""

    __slots__ = ("__weakref__", "numbers", "version")

    def __init__(self, t: Tensor) -> None:
        self.numbers, self.version = t.payload, t.version


class MutationContext:
    """What `allow_mutation_on_saved_tensors` gives: `clear()` lets go of all that was saved within it."""

    def __init__(self) -> None:
        self.tickets: weakref.WeakSet[Ticket] = weakref.WeakSet()
        self.open = True

    def clear(self) -> None:
        """Forget the saved values: their graphs can no longer be differentiated."""
        self.tickets.clear()

    def pack(self, t: Tensor) -> Ticket:
        ticket = Ticket(t)
        self.tickets.add(ticket)
        return ticket

    def unpack(self, ticket: Ticket) -> Tensor:
        if not self.open or ticket not in self.tickets:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        t = Tensor()
        t.payload = ticket.numbers
        return t

    def before_write(self, target: Tensor) -> None:
        """Copy what was saved of a tensor, or of another view of the same memory, that is about to be written to."""
        for ticket in list(self.tickets):
            if ticket.version is target.version:
                ticket.numbers, ticket.version = ticket.numbers.copy(), [0]


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
        self.context.open = False
        self.context.clear()
