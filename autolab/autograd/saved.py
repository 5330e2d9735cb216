"""What a node keeps, as its user sees it: `node._saved_self`, and `node._raw_saved_self` to hang hooks on one value.

The engine knows slots (``engine.op``), with the names that are in the rules; PyTorch's names for them are in ``node_names``.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.node import Node
from autolab.engine.op import Out, Slot, Value, Values
from autolab.engine.saved import FREED, NEVER, Packed, bring_back, checked, packed
from autolab.engine.tensor import Tensor, new_tensor


def with_history(raw: Any, edge: Any, version: list[int]) -> Tensor:
    """A saved value as a user gets it: a leaf as itself, anything else as a tensor over the same numbers."""
    leaf = None if edge is None else getattr(edge[0], "variable", None)
    if leaf is not None and leaf.level == 0 and leaf.payload is raw:
        return leaf
    t = new_tensor(raw)
    t.edge, t.version = edge, version
    return t


def still_there(raw: Any, edge: Any, version: list[int]) -> Tensor | None:
    """The very tensor that was saved, if it is alive: a node does not know it, but nobody else shares its version counter."""
    for t in gc.get_referrers(version):
        if isinstance(t, Tensor) and t.level == 0 and t.payload is raw and t.edge == edge:
            return t
    return None


class SavedTensor:
    """One saved value of a node (`node._raw_saved_self`): look at what is kept, or hang a pair of hooks on it.

    >>> x = tensor([2.0, 3.0], requires_grad=True)
    >>> y = x * x
    >>> y.grad_fn._raw_saved_self.data
    tensor([2., 3.], requires_grad=True)
    >>> y.grad_fn._raw_saved_self.register_hooks(lambda t: t.tolist(), lambda numbers: tensor(numbers))
    >>> y.grad_fn._raw_saved_self.data
    [2.0, 3.0]
    """

    __slots__ = ("edge", "name", "node", "read", "write")
    node: Node
    name: str
    edge: Any
    read: Callable[[], Any]
    write: Callable[[Any], None]

    def __init__(self, *about: Any) -> None:
        if not about:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden: ask a node (`y.grad_fn._raw_saved_self`).")
        self.node, self.name, self.edge, self.read, self.write = about

    def register_hooks(self, *hooks: Callable[[Any], Any]) -> None:
        """register_hooks(pack, unpack): let `pack` take this value away now, and `unpack` bring it back when it is needed.

        Raises RuntimeError if it is None, freed or has hooks already, TypeError for anything that cannot be called.
        """
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError("register_hooks(): incompatible function arguments: expected two functions, pack_hook and unpack_hook")
        kept = self.read()
        if kept is None:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed. Keep it with retain_graph=True.")
        if kept[0] is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if type(kept[0]) is Packed:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set: one pair at a time.")
        self.write(packed(kept, *hooks))

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what `pack` made of it; None once freed."""
        kept = self.read() or (None,)
        return kept[0].ticket if type(kept[0]) is Packed else None if kept[0] is None else self.unpack()

    @property
    def unpack_hook(self) -> Any:
        """The hook that brings the value back; None if there is none."""
        raw = (self.read() or (None,))[0]
        return raw.unpack if type(raw) is Packed else None

    def unpack(self) -> Any:
        """The value, with its history. Raises RuntimeError if it was freed or written over."""
        kept = self.read()
        if kept is None:
            raise RuntimeError(FREED)
        if kept[0] is None:
            return None
        raw, version = checked(self.node, self.name, kept, self.edge)
        if version is NEVER:  # no tensor: a number as it is, an array that stands for what nobody gave as None
            return raw if isinstance(raw, int | float | bool) else None
        own_result = self.edge is not None and self.edge[0] is self.node
        found = None if own_result else still_there(raw, self.edge, version)
        return with_history(raw, self.edge, version) if found is None else found


SEVERAL_DIMS = {"sum", "mean", "amax", "amin", "var", "std", "logsumexp", "norm", "flip"}


def not_kept(node: Any, slot: Any, raw: bool = False) -> Any:
    """`node._saved_self` where the rules that run need no self."""
    if node.saved is None and not raw:
        raise RuntimeError(FREED)
    return SavedTensor(node, slot.name, None, lambda: (None, NEVER, 0), lambda kept: None) if raw else None


def look_up(node: Any, slot: Any, raw: bool = False) -> Any:
    """`node._saved_self` and the other saved values. Raises RuntimeError once freed, but for the handles."""
    if isinstance(slot, Value | Out | Values):
        found = [handle if raw else handle.unpack() for handle in handles(slot, node)]
        return tuple(found) if slot.width == 1 else found[0]
    if node.saved is None:
        raise RuntimeError(FREED)
    kept = slot.entry(node)[0]
    if slot.name == "key" and node.op.holds:
        return indices(kept)
    return from_the_front(node, kept) if slot.name in ("axis", "axes") else kept


def indices(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """What picks entries, as PyTorch keeps it: a tensor for each axis, None for one taken as a whole, up to the last tensor."""
    found = [new_tensor(k) if isinstance(k, np.ndarray) else None for k in key]
    while found and found[-1] is None:
        found.pop()
    return tuple(found)


def handles(slot: Slot, node: Any) -> list[SavedTensor]:
    """Handles on what is kept in a slot: one, or for a row of any number of inputs one for each."""
    if isinstance(slot, Values):
        return [handle(slot, node, edge, k) for k, edge in enumerate(node.edges)]
    edge = node.edges[slot.index] if isinstance(slot, Value) else (node, slot.index) if slot.index else node
    return [handle(slot, node, edge)]


def handle(slot: Slot, node: Any, edge: Any, k: int | None = None) -> SavedTensor:
    """A handle on the value in a slot, or on the k-th of several."""

    def read() -> Any:
        return None if node.saved is None else slot.entry(node) if k is None else slot.entry(node)[0][k]

    def write(kept: Any) -> None:
        if k is not None:
            several = slot.entry(node)[0]
            kept = ((*several[:k], kept, *several[k + 1 :]),)
        node.saved = (*node.saved[: slot.start], *kept, *node.saved[slot.start + slot.width :])

    return SavedTensor(node, slot.name, edge, read, write)


def from_the_front(node: Any, axis: Any) -> Any:
    """An axis as PyTorch keeps it: counted from the front. Rows count from the end, so that it needs the number of axes."""
    for slot in node.plan.slots:
        kept = slot.entry(node)[0]
        if slot.name in ("x_shape", "xs_shape"):
            ndim = len(kept) if slot.name == "x_shape" else len(kept[0]) + (node.op.name == "stack")
        elif slot.name in ("x", "out"):
            ndim = bring_back(kept).ndim
        else:
            continue
        if isinstance(axis, int):
            return (axis % ndim,) if node.op.name in SEVERAL_DIMS else axis % ndim
        return axis if axis is None else tuple(a % ndim for a in axis)
    return axis
