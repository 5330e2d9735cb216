"""The few names of PyTorch's C++ module that its autograd tests, and some libraries, look for: `torch._C`.

Nothing here does more than ask the engine, which is Python and can be asked directly. Not part of the public API.
"""

from __future__ import annotations

import types
import weakref
from typing import Any

from autolab.autograd import forward_ad
from autolab.autograd.context import Error
from autolab.autograd.function import Function
from autolab.autograd.grad_mode import is_grad_enabled
from autolab.autograd.graph import will_run
from autolab.autograd.running import running
from autolab.autograd.saved import SavedTensor
from autolab.engine.modes import modes
from autolab.engine.node import AccumulateGrad, Node, edge_of
from autolab.engine.saved import save
from autolab.engine.tensor import Tensor, new_tensor

__all__ = ["has_lapack", "is_grad_enabled"]

has_lapack = True


def _current_graph_task_id() -> int:
    now = running()
    return -1 if now is None else now["number"]


def _get_current_graph_task_keep_graph() -> bool:
    now = running()
    return now is None or now["retain_graph"]


def _is_fwd_grad_enabled() -> bool:
    return forward_ad._is_fwd_grad_enabled()


def _set_fwd_grad_enabled(mode: bool) -> None:
    forward_ad._set_fwd_grad_enabled(mode)


def _current_autograd_node() -> Any:
    now = running()
    return None if now is None else now["node"]


def _will_engine_execute_node(node: Any) -> bool:
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    now = running()
    if now is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if isinstance(node, AccumulateGrad) and not now["accumulate"] and node in now["wanted"]:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is currently not "
            "supported."
        )
    return will_run(node, now) and (now["inputs"] is None or node in now["needed"])


def _current_graph_task_execution_order() -> list[Node]:
    now = running()
    if now is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if modes.multithreading:
        raise RuntimeError("_current_graph_task_execution_order expects the current backward to be executed with multithreading disabled")
    found: list[Node] = []
    reached = {edge[0]: 0 for node in now["order"] for edge in node.edges if edge is not None and isinstance(edge[0], AccumulateGrad)}
    for node in now["order"]:
        for edge in node.edges:
            if edge is not None and edge[0] in reached:
                reached[edge[0]] += 1
    for node in now["order"]:
        if will_run(node, now):
            found.append(node)
        for edge in node.edges:
            if edge is not None and edge[0] in reached:
                reached[edge[0]] -= 1
                if not reached[edge[0]] and will_run(edge[0], now):
                    found.append(edge[0])
    return found


class _NoGradient(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None


class UndefinedGrad(Node):
    """UndefinedGrad()(x): x, for which no gradient arrives."""

    def __call__(self, *tensors: Any) -> Any:
        found = tuple(_NoGradient.apply(t) for t in tensors)
        return found if len(found) > 1 else found[0]


class DelayedError(Node):
    """DelayedError(message, n)(*tensors): the tensors, through which no gradient comes without the error."""

    def __init__(self, message: str, outputs: int) -> None:
        self.message = message

    def __call__(self, *tensors: Any) -> Any:
        node = Error(self.message, tuple(edge_of(t) for t in tensors), outputs=len(tensors))
        found = []
        for k, t in enumerate(tensors):
            out = new_tensor(t.payload)
            out.edge = (node, k) if k else node
            found.append(out)
        return tuple(found) if len(found) > 1 else found[0]


_functions = types.SimpleNamespace(AccumulateGrad=AccumulateGrad, DelayedError=DelayedError, Error=Error, UndefinedGrad=UndefinedGrad)


def _saved_tensors_hooks_is_enabled() -> bool:
    return modes.hooks_disabled is None


def _unsafe_set_version_counter(tensors: tuple[Tensor, ...], versions: tuple[int, ...]) -> None:
    for t, version in zip(tensors, versions):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        t.version[0] = version


def _make_saved_tensor(tensor: Tensor, is_output: bool = False) -> SavedTensor:
    kept = {"it": save(tensor, tensor.payload, is_result=is_output)}
    return SavedTensor(Error("", ()), "tensor", edge_of(tensor), lambda: kept["it"], lambda new: kept.update(it=new))


_autograd = types.SimpleNamespace(
    SavedTensor=SavedTensor,
    _get_current_graph_task_keep_graph=_get_current_graph_task_keep_graph,
    _make_saved_tensor=_make_saved_tensor,
    _saved_tensors_hooks_is_enabled=_saved_tensors_hooks_is_enabled,
    _unsafe_set_version_counter=_unsafe_set_version_counter,
)


class _WeakTensorRef:
    """Whether a tensor is still there."""

    def __init__(self, tensor: Tensor) -> None:
        self.reference = weakref.ref(tensor)

    def expired(self) -> bool:
        return self.reference() is None


def _log_api_usage_once(event: str) -> None:
    """Nothing: nobody counts here. Libraries of models call it."""


def _get_tracing_state() -> None:
    """None: nothing is being traced."""
