"""All that the trace knows about the engine; nothing else in this folder touches a node."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from autolab.autograd.context import FunctionNode
from autolab.engine.backward import steps
from autolab.engine.modes import modes
from autolab.engine.node import AccumulateGrad, Node
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor
from autolab.formula import expression
from autolab.trace.model import TraceRule
from autolab.trace.sentences import first_order
from autolab.trace.values import TraceValue, value_of

WATCHED = "autolab.trace: value"  # key into a node's metadata


def check_recorded(loss: object) -> None:
    """Refuse what has no graph, in the words of `backward()`."""
    if not isinstance(loss, Tensor):
        raise TypeError(f"expected the Tensor to walk back from, got {type(loss).__name__}; pass the loss itself")
    if loss.grad_fn is None:
        if loss.requires_grad:
            raise RuntimeError(
                "this tensor is a leaf: nothing has been computed from it yet, so there is no graph to show. Pass a result, such as a loss."
            )
        raise RuntimeError(
            "element 0 of tensors does not require grad and does not have a grad_fn: nothing was recorded. "
            "Set requires_grad=True on an input before computing the loss."
        )


def first_gradient(loss: Tensor, gradient: Tensor | ArrayLike | None) -> np.ndarray | np.generic:
    """The raw gradient to start with, checked as `backward()` checks it."""
    if gradient is None:
        if loss.numel() != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs; this output has shape {list(loss.shape)}. "
                "Reduce it first (`loss.sum()`) or pass the weights: gradient=..."
            )
        return np.ones(loss.shape, loss.payload.dtype)[()]
    gradient = gradient.detach().payload if isinstance(gradient, Tensor) else gradient
    gradient = np.asarray(gradient, loss.payload.dtype)[()]
    if gradient.shape != tuple(loss.shape):
        raise RuntimeError(
            f"Mismatch in shape: gradient has shape {list(gradient.shape)} and the output has shape {list(loss.shape)}; they must be equal."
        )
    return gradient


def nodes_below(loss: Tensor) -> dict[Node, tuple]:
    """Every node of the graph -> its edges, one for each input: operations, the newest first, then leaves in the order they were met."""
    found, stack = {}, [loss.grad_fn]
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = tuple((None, 0) if edge is None else tuple(edge) for edge in node.in_parts().edges)
            stack.extend(child for child, _ in found[node] if child is not None)
    ops = sorted([n for n in found if not is_leaf(n)], key=attrgetter("seq"), reverse=True)
    leaves = {child: None for node in ops for child, _ in found[node] if child is not None and is_leaf(child)}
    return {node: found[node] for node in [*ops, *leaves]}


def run_backward(loss: Tensor, gradient: np.ndarray | np.generic, nodes: dict[Node, tuple], heard: Callable) -> Iterator[tuple]:
    """Walk the engine's reporter backward pass; `.grad`, retained gradients and saved values stay as they are.

    `heard(kind, name, sees, gives)` is called for each hook that runs.
    """
    retaining = [ref() for node in nodes if node.hooks is not None for ref in node.hooks.retain.values()]
    kept = [(tensor, tensor._grad) for tensor in retaining if tensor is not None]
    try:
        with _reporting_hooks(nodes, heard):
            yield from steps([loss], [gradient], retain_graph=True, accumulate=False)
    finally:
        for tensor, grad in kept:
            tensor._grad = grad


@contextmanager
def _reporting_hooks(nodes, heard):
    """Within it, each hook of these nodes also tells what it saw and what it gave."""
    replaced = []
    for kind, hooks in _hooks_of(nodes):
        for number, hook in list(hooks.items()):
            hooks[number] = reporter = _report(kind, hook, heard)
            replaced.append((hooks, number, reporter, hook))
    try:
        yield
    finally:
        for hooks, number, reporter, hook in replaced:
            if hooks.get(number) is reporter:  # a hook may have taken itself away
                hooks[number] = hook


def _hooks_of(nodes):
    for node in nodes:
        if is_leaf(node):
            extra = node.variable.extra
            if extra is not None and extra.hooks:
                yield "tensor", extra.hooks
        elif node.hooks is not None:
            for hooks in node.hooks.tensor.values():
                yield "tensor", hooks
            yield "before", node.hooks.pre
            yield "after", node.hooks.post


def _report(kind, hook, heard):
    def told(*given):
        sees = _values(given[0])
        result = hook(*given)
        gives = _values(given[0] if result is None else result)
        heard(kind, getattr(hook, "__name__", type(hook).__name__), sees, None if gives == sees else gives)
        return result

    with suppress(AttributeError):  # a hook may be any object that can be called
        told = wraps(hook)(told)
    return told


def _values(given):
    given = given if isinstance(given, tuple | list) else (given,)
    return [value_of(g.detach().payload) if isinstance(g, Tensor) else None for g in given]


@contextmanager
def watch() -> Iterator[None]:
    """Within it, every result that is recorded is also written down, so that a trace of it has no gaps.

    A graph remembers only what its rules will ask for. That is enough for gradients, but a picture then shows `?` where
    no rule needs the value.

    Examples
    --------
    >>> import autolab as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with watch():
    ...     y = (x + 5) + 1
    >>> from autolab.trace import graph
    >>> [node.value.text for node in graph(y).nodes]
    ['8', '7', '2']
    """
    before, modes.watch = modes.watch, _store_value
    modes.settle()
    try:
        yield
    finally:
        modes.watch = before
        modes.settle()


def _store_value(node, results):
    # A summary, not the array: it is as it was when recorded, and keeps no memory alive.
    if len(results) == 1 and isinstance(results[0], Tensor) and results[0].level == 0:
        node.metadata[WATCHED] = value_of(results[0].payload)


def watched_value(node: Node) -> TraceValue | None:
    """What `watch` wrote down for a node, else None."""
    return node.metadata.get(WATCHED)


def is_leaf(node: Node) -> bool:
    """Whether it is the accumulator of a leaf."""
    return isinstance(node, AccumulateGrad)


def is_custom(node: Node) -> bool:
    """Whether it is the node of somebody's Function, not a row's nor one of the engine's reporter, such as CopySlices."""
    return isinstance(node, FunctionNode)


def key_of(tensor: Tensor) -> tuple[Node, int] | None:
    """What a tensor is in the graph: its accumulator if it is a leaf, else its node and output number."""
    if tensor.grad_fn is not None:
        return tensor.grad_fn, tensor.output_nr
    extra = tensor.extra
    node = None if extra is None or extra.accumulator is None else extra.accumulator()
    return None if node is None else (node, 0)


def input_names(node: Node) -> tuple[str, ...]:
    """A name for each edge: the row's argument names; numbered for a variadic row and for a Function."""
    if node.op is None:
        return tuple(f"input {i}" for i in range(len(node.edges)))
    if node.op.variadic:
        return tuple(f"{node.op.inputs[0]}[{i}]" for i in range(len(node.edges)))
    return tuple(node.op.inputs)


@cache
def rule_of(op: Op, input_name: str) -> tuple[TraceRule, str | None]:
    """The rule of a row for one of its inputs, as it is told.

    Beside it, if it is one expression, what it calls the incoming gradient: `g`, or `u` where an input is named g already. Of a longer
    function the name and the arguments are shown.
    """
    argument = op.inputs[0] if op.variadic else input_name
    rule = op.rules.get(argument)
    if rule is None:
        return TraceRule(input_name, None), None
    gradient = rule.function.__code__.co_varnames[0] if expression(rule.function) is not None else None
    return TraceRule(input_name, first_order(op.formula(argument)), rule.needs), gradient


@cache
def forward_formula(op: Op) -> str | None:
    """The source of the row's forward computation."""
    return op.forward_formula()


def settings_of(node: Node) -> dict[str, Any]:
    """The keyword settings of the call."""
    return getattr(node, "settings", None) or {}


def has_post_hooks(node: Node) -> bool:
    """Whether hooks may change what the node sends."""
    return node.hooks is not None and bool(node.hooks.post)


def recompute(node: Node, inputs: list) -> np.ndarray | np.generic | None:
    """Run the node's row once more on raw inputs; None if that might not give the same numbers again."""
    op = node.op
    if op is None or op.variadic or op.outputs != 1 or len(inputs) != len(op.inputs):
        return None
    kinds = {value.dtype for value in inputs if hasattr(value, "dtype")}
    if op.promote and len(kinds) != 1:
        return None
    return op.forward(*[np.asarray(v) if op.view else v for v in inputs], **settings_of(node))
