"""Hooks: what a user hung on a tensor or a node, and how a gradient passes through it.

A gradient that arrives at a node meets, in this order: the hooks of the tensors that the node made (`arrive`), the tensors that retain
theirs, the hooks before the node (`before`), the node itself, the hooks after it (`after`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from autolab.engine.modes import modes, recording
from autolab.engine.tensor import Node, Tensor, new_tensor


class Hooks:
    """What a user hung on one node: hooks on its outputs (`tensor`), before it (`pre`) and after it (`post`) runs."""

    __slots__ = ("post", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, dict[int, Callable[..., Any]]] = {}
        self.retain: dict[int, weakref.ref[Tensor]] = {}
        self.pre: dict[int, Callable[..., Any]] = {}
        self.post: dict[int, Callable[..., Any]] = {}


def run_tensor_hooks(hooks: dict[int, Callable[..., Any]], g: Any, create_graph: bool) -> Any:
    """Pass a gradient (None if none arrived) through a tensor's hooks; each may return a replacement."""
    inside = isinstance(g, Tensor)  # also on the tape of a transform, whose lower levels may record
    with recording(create_graph or (inside and modes.grad)):
        for hook in list(hooks.values()):
            t = g if g is None or isinstance(g, Tensor) else new_tensor(g)
            result = hook(t)
            if result is None:
                result = t  # the hook may still have written into it
            elif not isinstance(result, Tensor):
                raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
            check_replacement(hook, t, result)
            g = result if create_graph or result is None or inside else result.payload
    return g


def run_post_hooks(leaf: Tensor, hooks: dict[int, Callable[..., Any]], create_graph: bool) -> None:
    """Call the hooks that wait for a leaf's `.grad`."""
    with recording(create_graph):
        for hook in list(hooks.values()):
            result = hook(leaf)
            if result is not None and not isinstance(result, Tensor):
                raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
            if result is not None and result is not leaf:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def arrive(node: Node, g: Any, create_graph: bool) -> Any:
    """What was hung on a node's output tensors: their hooks, then the gradients to retain."""
    hooks = node.hooks
    assert hooks is not None
    gs = list(g) if node.outputs != 1 else [g]
    for number, on_tensor in hooks.tensor.items():
        gs[number] = run_tensor_hooks(on_tensor, gs[number], create_graph)
    for number, reference in hooks.retain.items():
        tensor = reference()
        if tensor is not None and gs[number] is not None:
            mine: Any = gs[number].clone() if create_graph else new_tensor(gs[number].copy())
            tensor._grad = mine if tensor._grad is None else mine + tensor._grad
    return tuple(gs) if node.outputs != 1 else gs[0]


def before(node: Node, g: Any, create_graph: bool) -> Any:
    """The hooks before a node: hook(grad_outputs) may replace them."""
    gs = g if node.outputs != 1 else (g,)
    assert node.hooks is not None
    for hook in list(node.hooks.pre.values()):
        given = tensors(gs)
        with recording(create_graph):
            result = hook(given)
        gs = gs if result is None else raws(hook, result, given, create_graph)
    return gs if node.outputs != 1 else gs[0]


def after(node: Node, g: Any, outgoing: Any, create_graph: bool) -> Any:
    """The hooks after a node: hook(grad_inputs, grad_outputs) may replace grad_inputs."""
    assert node.hooks is not None
    incoming = tensors(g if node.outputs != 1 else (g,))
    for hook in list(node.hooks.post.values()):
        given = tensors(node.visible(outgoing))
        with recording(create_graph):
            result = hook(given, incoming)
        if result is not None:
            changed = raws(hook, result, given, create_graph)
            by_input = dict(zip(node.shown or range(len(changed)), changed))
            outgoing = tuple([by_input.get(i) for i in range(len(outgoing))])
    return outgoing


def tensors(gs: Any) -> tuple[Any, ...]:
    return tuple(g if g is None or isinstance(g, Tensor) else new_tensor(g) for g in gs)


def raws(hook: Any, result: Any, given: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """What a node's hook returned, checked, as the engine wants it."""
    if isinstance(result, Tensor):
        result = (result,)
    name = getattr(hook, "__name__", type(hook).__name__)
    if not isinstance(result, tuple | list):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(given):
        raise RuntimeError(f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected {len(given)})")
    for before_hook, after_hook in zip(given, result):
        if after_hook is not None and not isinstance(after_hook, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(after_hook).__name__}'")
        check_replacement(hook, before_hook, after_hook)
    return tuple(r if r is None or create_graph or r.level else r.payload for r in result)


def check_replacement(hook: Callable[..., Any], before: Any, after: Any) -> None:
    """What a hook puts in place of a gradient must have its shape and dtype."""
    if before is None or after is None:
        return
    name = getattr(hook, "__name__", type(hook).__name__)
    if before.payload.shape != after.payload.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value: expected shape {list(before.shape)}, got {list(after.shape)}")
    if before.payload.dtype != after.payload.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {before.dtype} got {after.dtype})")
