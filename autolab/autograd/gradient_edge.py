"""Where a gradient goes, as a value: what `backward` and `grad` take in place of a tensor."""

from __future__ import annotations

from typing import Any, NamedTuple

from autolab.engine.node import Edge, Like, edge_of
from autolab.engine.tensor import Tensor

__all__ = ["GradientEdge", "get_gradient_edge"]


class GradientEdge(NamedTuple):
    """Where a gradient goes: output `output_nr` of `node`. `autograd.grad` and `backward` take it in place of a tensor.

    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x * 3
    >>> edge = get_gradient_edge(y)
    >>> z = (y * y).sum()
    >>> torch.autograd.grad(z, edge)
    (tensor([6., 6.]),)
    """

    node: Any
    output_nr: int
    ownership_token: Any = None  # in PyTorch, keeps the thing alive that keeps the node alive; here the edge does

    @property
    def edge(self) -> Edge:
        """The same as the engine has it."""
        return (self.node, self.output_nr) if self.output_nr else self.node

    @property
    def like(self) -> Like | None:
        """The shape and dtype of the gradient; None as long as nobody has asked for the `grad_fn` of the result."""
        try:
            shape, dtype = self.node._input_metadata[self.output_nr]
        except AttributeError:
            return None
        return Like(tuple(shape), dtype.numpy)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge into which gradients for this tensor flow: it stays the same when the tensor is written to, or gone.

    Raises RuntimeError for a tensor that does not require grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> edge = get_gradient_edge(x * 3)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    """
    edge = edge_of(getattr(tensor, "in_reverse", tensor))
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(tensor.grad_fn or edge[0], edge[1])  # a node asked for in this way knows the shape of its result
