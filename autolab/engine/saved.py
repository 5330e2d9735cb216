"""6. What a node keeps of a value: the numbers, the version counter they share with every view, and what that counter said.

`save` takes a value when an operation runs, `checked` gives it back to a rule unless it was written over since. Between the two a user may
hang a pair of hooks: `pack` takes the tensor and gives back anything at all (a file name, a compressed copy), `unpack` turns that
into the tensor again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from autolab.dtypes import FLOATING, INEXACT, of
from autolab.engine.modes import modes, recording
from autolab.engine.tensor import Tensor, new_tensor

Kept = tuple[Any, list[int], int]  # the numbers (or what stands in for them), their version counter, what it said

NEVER = [0]  # the version counter of what is not a tensor: numbers and arrays
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


def save(tensor: Any, raw: Any, is_result: bool = False) -> Kept:
    """What is stored for a value. Saved-tensor hooks see an input itself, and a result without its history."""
    if not isinstance(tensor, Tensor):
        return raw, NEVER, 0
    version = tensor.version
    own = tensor.payload if tensor.level == 0 else raw
    if own is not raw and came_smaller(own.dtype, raw.dtype):
        raw = own  # an operand that was promoted is kept as it came: a second derivative arrives in its dtype
    kept = raw, version, version[0]
    if modes.saved_hooks and tensor.level == 0:
        as_it_is = raw is tensor.payload and not is_result
        return packed(kept, *modes.saved_hooks[-1], tensor if as_it_is else None)
    return kept


def came_smaller(own: Any, raw: Any) -> bool:
    """Whether an operand that can have a gradient came in a smaller dtype than it was computed with, or as a real number."""
    if own in FLOATING:
        return raw in INEXACT and (raw not in FLOATING or own.itemsize < raw.itemsize)
    return own in INEXACT and own.itemsize < raw.itemsize


def packed(kept: Kept, pack: Callable[[Any], Any], unpack: Callable[[Any], Any], tensor: Any = None) -> Kept:
    """Let a pair of hooks take a kept value away."""
    raw, version, expected = kept
    if tensor is None:
        tensor = new_tensor(raw)
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


def checked(node: Any, name: str, saved: Any, edge: Any = None) -> tuple[Any, list[int]]:
    """The numbers of a saved value, unless they were written over since; and their version counter. `edge`: where its gradient goes."""
    raw, version, expected = saved
    if expected < 0:  # what a hook took away cannot have been written over; what it brings back has a counter of its own
        return bring_back(raw), [0]
    if version[0] != expected:
        source = f", which is output {edge[1]} of {edge[0].name()}," if edge is not None and edge[0].edges else ""  # not a leaf
        dtype = raw.dtype if isinstance(raw, Tensor) else of(raw.dtype)
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[torch.{dtype.title}Tensor {list(raw.shape)}]{source} is at version {version[0]}; "
            f"expected version {expected} instead.\n"
            f"It was saved as `{name}` of {node.name()}, {raw.dtype} of shape {list(raw.shape)}. "
            "Use the out-of-place form (`y = y * 2` instead of `y.mul_(2)`), or clone before modifying. "
            "torch.autograd.set_detect_anomaly(True) shows the line that computed it."
        )
    return raw, version


def with_history(raw: Any, edge: Any, version: list[int]) -> Any:
    """A saved value as a tensor with its history, for a rule that is itself to be recorded. Masks and indices stay as they are."""
    if raw.dtype not in INEXACT:
        return raw
    t = new_tensor(raw)
    t.edge, t.version = edge, version
    return t
