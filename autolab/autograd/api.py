"""`backward` and `grad`: check what was asked for, then run the engine."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autolab.autograd.gradient_edge import GradientEdge
from autolab.dtypes import COMPLEX, INEXACT, of
from autolab.engine.backward import run
from autolab.engine.modes import modes
from autolab.engine.node import Edge, Like, edge_of
from autolab.engine.tensor import Tensor, new_tensor
from autolab.size import Size
from autolab.torch_api import overriding

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
ONES = {np.float32: np.float32(1), np.float64: np.float64(1)}


def as_tuple(x: Any) -> tuple[Any, ...]:
    one = isinstance(x, Tensor | GradientEdge) or x is None or (overriding.watching and hasattr(x, "__torch_function__"))
    return (x,) if one else tuple(x)


def inputs_of(x: Any, asker: str) -> tuple[Any, ...]:
    """The inputs that were named to `asker`: one, several, or the values of a dict."""
    if isinstance(x, Mapping):
        if type(x) is not dict:
            raise TypeError(
                f"`inputs` argument to `{asker}()` must be a dict, not {type(x).__name__}. Other Mapping types are not supported: "
                "pass dict(inputs), or a sequence of tensors."
            )
        return tuple(x.values())
    return as_tuple(x)


def like_of(out: Any) -> Like | None:
    """The shape and dtype of a root; None for an edge that does not say."""
    if isinstance(out, Tensor):
        return Like(out.payload.shape, out.payload.dtype)
    return out.like


def starting_gradients(outputs: tuple[Tensor, ...], given: tuple[Any, ...], create_graph: bool) -> list[Any]:
    """The gradient to start from at each output: what was passed, or 1 for a scalar. Raw, unless the pass is recorded."""
    for t in outputs:
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
        like = like_of(out)
        if g is None:
            if like is None or math.prod(like.shape) != 1:
                said = "this GradientEdge does not say its shape: get it from get_gradient_edge(tensor)" if like is None else (
                    f"this output has shape {list(like.shape)}. Reduce it first (`loss.sum().backward()`)"
                )  # fmt: skip
                raise RuntimeError(
                    f"grad can be implicitly created only for scalar outputs; {said}, or pass the weights: `y.backward(gradient=...)`."
                )
            if like.dtype in COMPLEX:
                raise RuntimeError(
                    f"grad can be implicitly created only for real scalar outputs but got {of(like.dtype)}. A loss is a real number: take "
                    "z.real or z.abs() of it, or pass the weight: `z.backward(gradient=...)`."
                )
            one = like.dtype.type(1) if not like.shape else np.ones(like.shape, like.dtype)
            found.append(new_tensor(one) if create_graph else one)
            if modes.tracer is not None:
                modes.tracer.seed(found[-1])
            continue
        if like is not None and tuple(g.shape) != like.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {Size(like.shape)}."
            )
        if like is not None and (g.payload.dtype in COMPLEX) != (like.dtype in COMPLEX):
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {of(like.dtype)}."
            )
        if like is not None and g.payload.dtype != like.dtype and like.dtype in INEXACT:
            g = g.to(of(like.dtype))
        found.append(g if create_graph or g.level else g.payload)
    return found


def _calculate_shape(output: Any, grad: Tensor, is_grads_batched: bool) -> tuple[Any, Any]:
    """The two shapes that must agree, as PyTorch's own helper gives them."""
    return like_of(output).shape, grad.shape[1:] if is_grads_batched else grad.shape  # type: ignore[union-attr]


def check_differentiable(outputs: tuple[Tensor, ...]) -> None:
    for i, out in enumerate(outputs):
        if isinstance(out, GradientEdge):
            continue
        if not isinstance(out, Tensor):
            raise AssertionError(f"Expected output to be a torch.Tensor: element {i} of tensors is of type {type(out).__name__}")
        if not out.requires_grad or edge_of(getattr(out, "in_reverse", out)) is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn. Nothing it was computed from has "
                "requires_grad=True, or it was computed within no_grad() or after detach()."
            )


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add to `.grad` of every leaf below `tensors` the gradient of their sum (weighted by `grad_tensors`).

    tensors: one or several; those that are not scalars need a grad_tensor of the same shape.
    retain_graph: keep the saved values for another pass (default: as create_graph). create_graph: record the pass itself.
    inputs: the only leaves to give gradients to. grad_variables: the old name of grad_tensors.
    Raises RuntimeError if there is nothing to differentiate, or the graph was freed by an earlier pass.

    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> backward([x * 2, x * x], [torch.ones(2), tensor([1.0, 0.0])])  # weighted: of x * x only the first entry
    >>> x.grad
    tensor([4., 2.])
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if overriding.watching:
        outputs, wanted = as_tuple(tensors), None if inputs is None else inputs_of(inputs, "backward")
        asked = overriding.asked((*outputs, *(wanted or ())))
        if asked is not None:
            options = {"grad_tensors": grad_tensors, "retain_graph": retain_graph, "create_graph": create_graph, "inputs": wanted}
            overriding.ask(backward, asked, (outputs,), options)
            return
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
    outputs = tuple(getattr(t, "in_reverse", t) for t in as_tuple(tensors))
    check_differentiable(outputs)
    given = as_tuple(grad_tensors) if grad_tensors is not None else (None,) * len(outputs)
    only = None
    if inputs is not None:
        inputs = inputs_of(inputs, "backward")
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    retain_graph, create_graph = kept_and_recorded(retain_graph, create_graph)
    starts = starting_gradients(outputs, given, create_graph)
    if inputs is not None:
        for t in inputs:
            if isinstance(t, Tensor):
                t.retain_grad()
        only = [required_edge(t) for t in inputs]
    run([required_edge(out) for out in outputs], starts, retain_graph=retain_graph, create_graph=create_graph, inputs=only, captured={})


def kept_and_recorded(retain_graph: bool | None, create_graph: bool) -> tuple[bool, bool]:
    """Whether a pass keeps the graph, and whether it is recorded itself: in inference mode nothing is."""
    return create_graph if retain_graph is None else retain_graph, create_graph and not modes.inference


def required_edge(t: Tensor | GradientEdge) -> Edge:
    if isinstance(t, GradientEdge):
        return t.edge
    if not isinstance(t, Tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
    edge = edge_of(getattr(t, "in_reverse", t))
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def grad(
    outputs: Tensors,
    inputs: Tensors | dict[Any, Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of the sum of `outputs` with respect to `inputs`, returned; no `.grad` is touched.

    Returns a tuple with one Tensor for each input, of its shape (a dict for a dict of inputs, under its keys); None for an unused
    input if `allow_unused`, zeros if `materialize_grads`. create_graph: the returned gradients can be differentiated again.
    is_grads_batched: grad_outputs have one dim more in front, and so have the gradients: all at once by vmap.
    Raises RuntimeError for an input that does not require grad, or that the outputs do not depend on.

    >>> x = tensor(3., requires_grad=True)
    >>> grad(x * x, x)
    (tensor(6.),)
    """
    outputs, wanted = as_tuple(outputs), inputs_of(inputs, "grad")
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of the "
            "graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if isinstance(inputs, dict):
        found = grad(outputs, wanted, grad_outputs, retain_graph, create_graph, True, allow_unused, is_grads_batched, materialize_grads)
        return dict(zip(inputs, found))
    if overriding.watching:
        asked = overriding.asked((*outputs, *wanted))
        if asked is not None:
            named = {"grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph, "only_inputs": only_inputs}
            named |= {"allow_unused": allow_unused, "is_grads_batched": is_grads_batched, "materialize_grads": materialize_grads}
            return overriding.ask(grad, asked, (outputs, wanted), named)
    if is_grads_batched or modes.levels:
        options = {"allow_unused": allow_unused, "materialize_grads": materialize_grads}
        if is_grads_batched:
            return grad_of_each(outputs, wanted, grad_outputs, retain_graph, create_graph, options)
        from autolab.autograd import forward_ad  # heavy, and most programs never use it

        if any(isinstance(t, forward_ad.Carried) for t in (*outputs, *wanted)):
            return forward_ad.gradients_of_duals(grad, outputs, wanted, grad_outputs, retain_graph, create_graph, options)
    if materialize_grads:
        if allow_unused is False:
            raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
        allow_unused = True
    check_differentiable(outputs)
    given = as_tuple(grad_outputs) if grad_outputs is not None else (None,) * len(outputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    edges = [required_edge(t) for t in wanted]
    captured: dict[Edge, Any] = {}
    retain_graph, create_graph = kept_and_recorded(retain_graph, create_graph)
    run(
        [required_edge(out) for out in outputs],
        starting_gradients(outputs, given, create_graph),
        retain_graph=retain_graph,
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
            if materialize_grads:
                if isinstance(t, GradientEdge):
                    raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge: it has no shape.")
                g = new_tensor(np.zeros(t.payload.shape, t.payload.dtype)[()]).requires_grad_(create_graph)
        result.append(g if g is None or isinstance(g, Tensor) else new_tensor(g))
    return tuple(result)


def grad_of_each(outputs: Any, wanted: Any, grad_outputs: Any, retain_graph: Any, create_graph: bool, options: Any) -> tuple[Any, ...]:
    """`grad` for many grad_outputs at once, stacked along their first dim: one pass, inside vmap."""
    from autolab.autograd import function_in_vmap  # noqa: F401 - what vmap does with a custom Function
    from autolab.rules import batch  # noqa: F401 - heavy: gives the rows their batching rules
    from autolab.transforms.batched import Batch

    given = as_tuple(grad_outputs)
    for i, (out, g) in enumerate(zip(outputs, given)):
        like = like_of(out)
        if not isinstance(g, Tensor) or not g.ndim or (like is not None and tuple(g.shape[1:]) != tuple(like.shape)):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of "
                "the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {getattr(g, 'shape', None)} and output[{i}] has a shape of "
                f"{None if like is None else Size(like.shape)}. "
                "If you only want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
    sizes = {len(g) for g in given}
    if len(sizes) != 1:
        raise ValueError(f"If `is_grads_batched=True`, all grad_outputs must be batches of one length; got lengths {sorted(sizes)}.")
    with Batch(sizes.pop()) as level:
        boxes = tuple(g if g is None else level.input(g) for g in given)
        return tuple(level.take(g) for g in grad(outputs, wanted, boxes, retain_graph, create_graph, **options))


def tensor_backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add to `.grad` of every leaf below this tensor the gradient of this tensor; weighted by `gradient` if it is not a scalar.

    >>> x = tensor(3., requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor(6.)
    """
    if create_graph:
        warn_of_cycle()
    one = ONES.get(type(self.payload))
    if one is not None and gradient is None and inputs is None and modes.usual and not create_graph:
        edge = edge_of(self)
        if edge is not None:  # a number, and nothing asked for: nearly every loss
            run([edge], [one], retain_graph=bool(retain_graph))
            return
    run_backward(self, gradient, retain_graph, create_graph, inputs)


# What a `__torch_function__` is told that they are.
tensor_backward.__name__, tensor_backward.__qualname__ = "backward", "Tensor.backward"
backward.known_as, grad.known_as = "torch.autograd.backward", "torch.autograd.grad"  # type: ignore[attr-defined]
