"""Results that require grad though nobody knows their derivative: backward says so, where a missing gradient would go unnoticed."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from autolab.engine.modes import modes
from autolab.engine.node import Node, edge_of, next_number
from autolab.engine.tensor import Tensor


class NotDifferentiable(Node):
    """The node of a function without a derivative."""

    __slots__ = ("function",)

    function: str

    def vjp(self, g: Any, create_graph: bool) -> NoReturn:
        raise NotImplementedError(f"the derivative for '{self.function}' is not implemented. detach() what it is given if none is wanted.")


class NotImplementedDerivative(NotDifferentiable):
    """The same under PyTorch's name for all functions that its table of derivatives does not know."""

    __slots__ = ()

    def __init__(self, edges: tuple[Any, ...], function: str) -> None:
        self.edges, self.hooks, self.seq, self.function = edges, None, next_number(), function

    def name(self) -> str:
        return "torch::autograd::NotImplemented"  # as PyTorch writes it

    def vjp(self, g: Any, create_graph: bool) -> NoReturn:
        raise RuntimeError(f"derivative for {self.function} is not implemented. detach() what it is given if none is wanted.")


@cache
def kind(name: str) -> type[NotDifferentiable]:
    return type(name, (NotDifferentiable,), {"__slots__": ()})


def mark_not_differentiable(result: Tensor, inputs: tuple[Tensor, ...], function: str, node: str) -> Tensor:
    """The result, with a node of that name if operations are recorded and an input requires grad."""
    edges = tuple(edge_of(t) if t.level == 0 else None for t in inputs) if modes.grad else ()
    if any(edge is not None for edge in edges):
        made = object.__new__(kind(node))
        made.edges, made.hooks, made.seq, made.function = edges, None, next_number(), function
        result.edge = made
    return result
