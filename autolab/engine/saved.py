"""What a node keeps of a value: the numbers, the version counter they share with every view, and what that counter said.

`keep` takes a value when an operation runs, `check` gives it back to a rule if nobody wrote over it since. Between the two a user may
hang a pair of hooks: `pack` takes the tensor and gives back anything at all (a file name, a compressed copy), `unpack` turns that
into the tensor again. `SavedTensor` is one kept value as seen from outside.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from autolab.engine.dtypes import FLOATING
from autolab.engine.modes import modes, recording
from autolab.engine.tensor import Tensor, fresh

if TYPE_CHECKING:
    from autolab.engine.node import Node

Kept = tuple[Any, list[int], int]  # the numbers (or what stands in for them), their version counter, what it said

NEVER = [0]  # the version counter of what is no tensor: numbers and arrays
NEVER_WRITTEN = (NEVER, 0)

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)


class Saved(NamedTuple):
    """One remembered value as seen from outside: its name in the rule, the value (None once freed), whether it is unmodified."""

    name: str
    value: Any
    version_ok: bool


class Packed(NamedTuple):
    """Stands in for a saved array that a saved-tensor hook took away; `unpack(ticket)` brings it back."""

    ticket: Any
    unpack: Callable[[Any], Any]

    def tensor(self) -> Tensor:
        t = self.unpack(self.ticket)
        if not isinstance(t, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(t).__name__}. "
                "unpack(pack(t)) must give a tensor with the numbers of t."
            )
        return t


def keep(tensor: Any, raw: Any, is_result: bool = False) -> Kept:
    """What is stored for a value. Saved-tensor hooks see an input itself, and a result without its history."""
    if not isinstance(tensor, Tensor):
        return raw, NEVER, 0
    version = tensor.version
    own = tensor.payload if tensor.level == 0 else raw
    if own is not raw and own.dtype in FLOATING and raw.dtype in FLOATING and own.dtype.itemsize < raw.dtype.itemsize:
        raw = own  # an operand that was promoted is kept as it came: a second derivative arrives in its dtype
    kept = raw, version, version[0]
    if modes.saved_hooks and tensor.level == 0:
        as_it_is = raw is tensor.payload and not is_result
        return packed(kept, *modes.saved_hooks[-1], tensor if as_it_is else None)
    return kept


def packed(kept: Kept, pack: Callable[[Any], Any], unpack: Callable[[Any], Any], tensor: Any = None) -> Kept:
    """Let a pair of hooks take a kept value away."""
    raw, version, expected = kept
    if tensor is None:
        tensor = fresh(raw)
        tensor.version = version
    before = version[0]
    with recording(False):
        ticket = pack(tensor)
    if version[0] != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be modified by "
            "in-place operations as this can lead to unexpected side-effects. Let the hook return a new tensor (`x * 2`, not `x.mul_(2)`)."
        )
    # ~version is negative: no counter ever says so, and the shortcut leaves such a value to `check`.
    return Packed(ticket, unpack), version, ~expected


def bring_back(raw: Any) -> Any:
    """The numbers of a saved value, from the saved-tensor hook that took them if there is one."""
    return raw.tensor().payload if type(raw) is Packed else raw


def show_value(name: str, saved: tuple[Any, ...]) -> Saved:
    raw, version, expected = saved
    return Saved(name, bring_back(raw), version[0] == (~expected if expected < 0 else expected))


def check(node: Any, name: str, saved: Any) -> tuple[Any, list[int]]:
    """The numbers of a saved value, if nobody wrote over them since; and their version counter."""
    raw, version, expected = saved
    if expected < 0:  # what a hook took away cannot have been written over; what it brings back has a counter of its own
        return bring_back(raw), [0]
    if version[0] != expected:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"`{name}` of {node.name()}, {raw.dtype} of shape {list(raw.shape)}, is at version {version[0]}; "
            f"expected version {expected} instead.\n"
            "Use the out-of-place form (`y = y * 2` instead of `y.mul_(2)`), or clone before modifying. "
            "torch.autograd.set_detect_anomaly(True) shows the line that computed it."
        )
    return raw, version


def revive(raw: Any, edge: Any, version: list[int]) -> Any:
    """A saved value as a tensor with its history, for a rule that is itself to be recorded. Masks and indices stay as they are."""
    if raw.dtype not in FLOATING:
        return raw
    t = fresh(raw)
    t.edge, t.version = edge, version
    return t


def with_history(raw: Any, edge: Any, version: list[int]) -> Tensor:
    """A saved value as a user gets it: a leaf as itself, anything else as a tensor over the same numbers."""
    leaf = None if edge is None else getattr(edge[0], "variable", None)
    if leaf is not None and leaf.level == 0 and leaf.payload is raw:
        return leaf  # type: ignore[no-any-return]
    t = fresh(raw)
    t.edge, t.version = edge, version
    return t


class SavedTensor:
    """One saved value of a node (`node._raw_saved_self`): look at what is kept, or hang a pair of hooks on it."""

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
        """What is kept: the tensor, or what `pack` made of it."""
        kept = self.read() or (None, NEVER, 0)
        return kept[0].ticket if type(kept[0]) is Packed else self.unpack()

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
        raw, version = check(self.node, self.name, kept)
        return raw if isinstance(raw, int | float | bool) else with_history(raw, self.edge, version)


# -- node._saved_self, node._raw_saved_self: PyTorch's names for what a node keeps ---------------------

PYTORCHS_NAMES = {
    "x": "self", "y": "other", "xs": "tensors", "out": "result", "out_1": "indices", "x_shape": "self_sym_sizes", "axis": "dim",
    "axes": "dims", "keepdims": "keepdim", "axis1": "dim1", "axis2": "dim2", "k": "diagonal", "src": "source",
}  # fmt: skip
OF_ONE_ROW = {
    ("mm", "y"): "mat2", ("bmm", "y"): "mat2", ("mv", "y"): "vec", ("dot", "y"): "tensor", ("mse_loss", "y"): "target",
    ("embedding", "index"): "indices", ("swapaxes", "axis1"): "dim0", ("swapaxes", "axis2"): "dim1", ("split", "out_1"): "out_1",
}  # fmt: skip
SEVERAL_DIMS = {"sum", "mean", "amax", "amin", "var", "std", "logsumexp", "norm", "flip"}


def attributes(row: str, slots: Any, all_slots: Any) -> dict[str, Any]:
    """The properties `_saved_self`, `_raw_saved_self` ... of a class of nodes. (A `__getattr__` would slow down every attribute.)

    A tensor that is kept only when other inputs need a gradient is None.
    """
    found: dict[str, Any] = {}
    here = {slot.name for slot in slots}
    for slot in [*slots, *(slot for slot in all_slots if slot.width == 3 and slot.name not in here)]:
        name = OF_ONE_ROW.get((row, slot.name)) or PYTORCHS_NAMES.get(slot.name, slot.name)
        look = look_up if slot.name in here else not_kept
        found[f"_saved_{name}"] = property(functools.partial(look, slot=slot))
        found[f"_raw_saved_{name}"] = property(functools.partial(look, slot=slot, raw=True))
    return found


def not_kept(node: Any, slot: Any, raw: bool = False) -> Any:
    """`node._saved_self` where the rules that run need no self."""
    if node.saved is None:
        raise RuntimeError(FREED)
    return SavedTensor(node, slot.name, None, lambda: (None, NEVER, 0), lambda kept: None) if raw else None


def look_up(node: Any, slot: Any, raw: bool = False) -> Any:
    """`node._saved_self` and its kin. Raises RuntimeError once freed."""
    if node.saved is None:
        raise RuntimeError(FREED)
    handles = slot.handles(node)
    if handles is None:
        return from_the_front(node, slot.kept(node)[0]) if slot.name in ("axis", "axes") else slot.kept(node)[0]
    found = [handle if raw else handle.unpack() for handle in handles]
    return tuple(found) if slot.width == 1 else found[0]


def from_the_front(node: Any, axis: Any) -> Any:
    """An axis as PyTorch keeps it: counted from the front. Rows count from the end, so that it needs the number of axes."""
    for slot in node.plan.slots:
        kept = slot.kept(node)[0]
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
