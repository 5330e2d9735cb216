"""`backward` and `grad`: check what was asked for, then run the engine."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from autolab.engine.backward import run
from autolab.engine.dtypes import FLOATING
from autolab.engine.node import Edge, edge_of
from autolab.engine.tensor import Tensor, fresh

Tensors = Tensor | Sequence[Tensor]


def as_tuple(x: Any) -> tuple[Any, ...]:
    return (x,) if isinstance(x, Tensor) or x is None else tuple(x)


def starting_gradients(outputs: tuple[Tensor, ...], given: tuple[Any, ...], create_graph: bool) -> list[Any]:
    """The gradient to start from at each output: what was passed, or 1 for a scalar. Raw, unless the pass is recorded."""
    for t in (*outputs, *given):
        if isinstance(t, Tensor) and t.level:
            raise RuntimeError(
                "autograd.grad() and backward() called inside a functorch transform, on a tensor that belongs to it. This is not "
                "supported: use func.grad or func.vjp, which nest in any order."
            )
    for g in given:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    found = []
    for i, (out, g) in enumerate(zip(outputs, given)):
        if g is None:
            if out.payload.size != 1:
                raise RuntimeError(
                    f"grad can be implicitly created only for scalar outputs; this output has shape {list(out.shape)}. "
                    "Reduce it first (`loss.sum().backward()`) or pass the weights: `y.backward(gradient=...)`."
                )
            raw = out.payload
            one = raw.dtype.type(1) if raw.ndim == 0 else np.ones(raw.shape, raw.dtype)
            found.append(fresh(one) if create_graph else one)
            continue
        if g.shape != out.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {out.shape}. "
                "The gradient weighs each entry of the output, so it must have the output's shape."
            )
        if g.payload.dtype != out.payload.dtype and out.payload.dtype in FLOATING:
            g = g.to(out.dtype)  # type: ignore[attr-defined]
        found.append(g if create_graph else g.payload)
    return found


def check_differentiable(outputs: tuple[Tensor, ...]) -> None:
    for i, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            raise TypeError(f"element {i} of tensors is not a Tensor but {type(out).__name__}")
        if not out.requires_grad:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn. Nothing it was computed from has "
                "requires_grad=True, or it was computed within no_grad() or after detach()."
            )


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add to `.grad` of every leaf below `tensors` the gradient of their sum (weighted by `grad_tensors`).

    tensors: one or several; those that are not scalars need a grad_tensor of the same shape.
    retain_graph: keep the saved values for another pass (default: as create_graph). create_graph: record the pass itself.
    inputs: the only leaves to give gradients to.
    Raises RuntimeError if there is nothing to differentiate, or the graph was freed by an earlier pass.
    """
    if create_graph:
        warn_of_cycle()
    run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs)


def warn_of_cycle() -> None:
    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
        "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
        "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.",
        UserWarning,
        stacklevel=3,
    )


def run_backward(tensors: Tensors, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
    outputs = as_tuple(tensors)
    check_differentiable(outputs)
    given = as_tuple(grad_tensors) if grad_tensors is not None else (None,) * len(outputs)
    only = None
    if inputs is not None:
        inputs = as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for t in inputs:
            t.retain_grad()
        only = [required_edge(t) for t in inputs]
    run(
        list(outputs),
        starting_gradients(outputs, given, create_graph),
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        inputs=only,
        captured={},
    )


def required_edge(t: Tensor) -> Edge:
    edge = edge_of(t)
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the sum of `outputs` with respect to `inputs`, returned; no `.grad` is touched.

    Returns a tuple with one Tensor for each input, of its shape; None for an unused input if `allow_unused`, zeros if
    `materialize_grads`. create_graph: the returned gradients can be differentiated again.
    Raises RuntimeError for an input that does not require grad, or that the outputs do not depend on.

    >>> x = tensor(3., requires_grad=True)
    >>> grad(x * x, x)
    (tensor(6.),)
    """
    outputs, wanted = as_tuple(outputs), as_tuple(inputs)
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched needs vmap; loop over the rows of grad_outputs instead")
    if materialize_grads:
        if allow_unused is False:
            raise ValueError(
                "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
            )
        allow_unused = True
    check_differentiable(outputs)
    given = as_tuple(grad_outputs) if grad_outputs is not None else (None,) * len(outputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    edges = [required_edge(t) for t in wanted]
    captured: dict[Edge, Any] = {}
    run(
        list(outputs),
        starting_gradients(outputs, given, create_graph),
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        inputs=edges,
        accumulate=False,
        captured=captured,
    )
    result = []
    for i, (t, edge) in enumerate(zip(wanted, edges)):
        g = captured.get(edge)
        if g is None:
            if not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                    "Set allow_unused=True if this is the desired behavior."
                )
            g = fresh(np.zeros(t.payload.shape, t.payload.dtype)[()]) if materialize_grads else None
        result.append(g if g is None or isinstance(g, Tensor) else fresh(g))
    return tuple(result)


def tensor_backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add to `.grad` of every leaf below this tensor the gradient of this tensor; weighted by `gradient` if it is no scalar.

    >>> x = tensor(3., requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor(6.)
    """
    if create_graph:
        warn_of_cycle()
    run_backward(self, gradient, retain_graph, create_graph, inputs)


Tensor.backward = tensor_backward  # type: ignore[attr-defined]
