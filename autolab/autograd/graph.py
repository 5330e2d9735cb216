"""The graph, to look at and to hang hooks on: PyTorch's `torch.autograd.graph`."""

from __future__ import annotations

import abc
import functools
from _thread import allocate_lock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autolab.autograd.context import FunctionCtx
from autolab.autograd.gradient_edge import GradientEdge, get_gradient_edge
from autolab.autograd.mutation import allow_mutation_on_saved_tensors, increment_version
from autolab.autograd.running import running
from autolab.autograd.saved import SavedTensor
from autolab.engine.modes import modes
from autolab.engine.node import Node as EngineNode
from autolab.engine.tensor import RemovableHandle, Tensor

__all__ = [
    "GradientEdge", "Node", "SavedTensor", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks", "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip


class Node(abc.ABC):  # noqa: B024  nobody makes one: it only answers isinstance
    """What `isinstance(y.grad_fn, Node)` asks: every node of a graph, and the ctx of a Function, is one.

    Nodes have `name()`, `next_functions`, `metadata`, `register_hook` and `register_prehook`; see `autolab.engine.node`.

    >>> y = torch.ones(2, requires_grad=True) * 3
    >>> isinstance(y.grad_fn, Node), y.grad_fn.name(), [node.name() for node, _ in y.grad_fn.next_functions if node]
    (True, 'MulBackward0', ['torch::autograd::AccumulateGrad'])
    """

    @classmethod
    def __subclasshook__(cls, subclass: type) -> bool:
        return subclass is Node or issubclass(subclass, EngineNode | FunctionCtx)


def will_run(node: EngineNode, now: dict[str, Any]) -> bool:
    """Whether the pass `now` runs a node, or would pass its tensor hooks: not if no path leads there, or to a wanted input."""
    if now["inputs"] is not None:
        return (node in now["needed"] or node in now["wanted"]) and (node in now["waiting"] or node in now["order"])
    return node in now["waiting"] or node in now["order"]


# -- hooks on saved tensors ------------------------------------------------------------------------------


class saved_tensors_hooks:
    """Within it, `pack_hook(tensor)` is kept in place of each tensor that is saved, and `unpack_hook` of that is used in backward.

    Pairs nest; the innermost counts. The pack hook may not write to its tensor.

    >>> x = ones(3, requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.tolist(), lambda numbers: tensor(numbers)):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2., 2.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> Any:
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise TypeError(
                "_push_saved_tensors_default_hooks(): incompatible function arguments. saved_tensors_hooks takes two functions, "
                f"pack_hook and unpack_hook; got {type(self.pack_hook).__name__} and {type(self.unpack_hook).__name__}."
            )
        if modes.hooks_disabled is not None:
            raise RuntimeError(modes.hooks_disabled)
        modes.saved_hooks.append((self.pack_hook, self.unpack_hook))
        modes.settle()

    def __exit__(self, *exc: object) -> None:
        if modes.saved_hooks:
            modes.saved_hooks.pop()
            modes.settle()


class save_on_cpu(saved_tensors_hooks):
    """Within it, saved tensors are moved to the CPU, where they are already: each is kept as a copy.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: t.detach().clone(), lambda t: t)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within it, saved_tensors_hooks raises RuntimeError(error_message); so does entering this while a pair is active.

    >>> with disable_saved_tensors_hooks("no hooks here"):
    ...     with saved_tensors_hooks(lambda t: t, lambda t: t):
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: no hooks here
    """
    if modes.saved_hooks:
        raise RuntimeError(error_message)
    before, modes.hooks_disabled = modes.hooks_disabled, error_message
    try:
        yield
    finally:
        modes.hooks_disabled = before


# -- hooks on several tensors ----------------------------------------------------------------------------


class Handles:
    """Given back by register_multi_grad_hook; `.remove()` takes all of it away."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Remove the hook from every tensor; a second call does nothing."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> Handles:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> Handles:
    """Call fn once in each backward pass: with all gradients when the last has arrived, or ("any") with the first.

    In mode "all" it gets a list, with None for tensors that the pass does not reach; in mode "any" tensors that do not require grad
    are left out. Nothing that it returns is used. Raises ValueError for another mode, AssertionError ("all") for a tensor that does
    not require grad.

    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = register_multi_grad_hook([a, b], lambda gradients: print(gradients))
    >>> (2 * a + 3 * b).backward()
    [tensor([2.]), tensor([3.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        tensors = [t for t in tensors if t.requires_grad]
    elif not all(t.requires_grad for t in tensors):
        raise AssertionError("Expected gradient function to be set: one of the tensors does not require grad")
    nodes = [get_gradient_edge(t).node for t in tensors]
    arrived: dict[int, list[Any]] = {}  # by pass: the gradients so far, and how many are still to come
    fired: set[int] = set()
    lock = allocate_lock()

    def all_of_them(i: int, grad: Any) -> None:
        now = running()
        assert now is not None
        with lock:
            if now["number"] not in arrived:
                arrived[now["number"]] = [[None] * len(nodes), sum(will_run(node, now) for node in nodes)]
            state = arrived[now["number"]]
            state[0][i] = grad
            state[1] -= 1
            if state[1]:
                return
            del arrived[now["number"]]
        fn(state[0])

    def any_of_them(i: int, grad: Any) -> None:
        now = running()
        assert now is not None
        with lock:
            if now["number"] in fired or grad is None:
                return
            fired.add(now["number"])
        fn(grad)

    hook = all_of_them if mode == "all" else any_of_them
    return Handles(tuple(t.register_hook(functools.partial(hook, i)) for i, t in enumerate(tensors)))


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Changes nothing: there are no streams, so none can differ.

    >>> set_warn_on_accumulate_grad_stream_mismatch(False)
    """
