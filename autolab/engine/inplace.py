"""7. Writing in place: versions that all views share, and a new history.

An in-place operation is the ordinary operation, written into the buffer. Then the version is counted, and the tensor gets the
node of the ordinary operation. If the tensor looks into a base, it is the base that gets a new node, `CopySlices`, which runs the
rule of the operation on the part that was written to. All views of that base, the written one included, find out when they are
next used, and look again: `AsStridedBackward0`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from autolab import dtypes
from autolab.engine.modes import Untracked, modes
from autolab.engine.node import Edge, Node, edge_of, next_number
from autolab.engine.record import record
from autolab.engine.saved import FREED, Packed, Saved
from autolab.engine.tensor import TABLE, Op, Tensor, new_tensor

# How a view came about through which no write can be recorded.
SEVERAL, NO_GRAD, FUNCTION, INFERENCE = "several", "no_grad", "function", "inference_mode"


class Part(NamedTuple):
    """Which entries of the memory of an array a view sees, and in which order, counted in entries from the array's first."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    layout: tuple[int, ...]  # the strides of the array itself


def address(a: np.ndarray[Any, Any]) -> int:
    return a.__array_interface__["data"][0]  # type: ignore[no-any-return]


def layout_of(a: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """The strides of an array, in entries."""
    return tuple(s // a.itemsize for s in a.strides)


class View:
    """How a tensor looks into its base: the base's memory, how the view was made, and the write it has caught up with."""

    __slots__ = ("base", "made", "memory", "seen")

    def __init__(self, base: Tensor, memory: np.ndarray[Any, Any], made: str) -> None:
        self.base, self.memory, self.made = base, memory, made
        self.seen = base.version[0]

    @classmethod
    def of(cls, source: Tensor, several: bool = False) -> View | None:
        """A view of `source`; a view of a view looks into the same base. Nobody follows views of an inference tensor."""
        if type(source.version) is Untracked:
            return None
        window = source.view_info
        made = INFERENCE if modes.inference else NO_GRAD if not modes.grad else SEVERAL if several else ""
        if window is None:
            return cls(source, source.payload, made)
        return cls(window.base, window.memory, window.made or made)

    def part(self, view: np.ndarray[Any, Any]) -> Part:
        """Where in the base's memory an array lies. Where only one of them is complex, both are looked at as real numbers."""
        base = self.base.writable_array()
        if view.dtype != base.dtype:
            view, base = as_pairs(view), as_pairs(base)
        offset = (address(view) - address(self.memory)) // view.itemsize if view.size else 0
        return Part(view.shape, layout_of(view), offset, layout_of(base))

    def refresh_history(self, t: Tensor) -> None:
        """If the base was written to since, look again: the view's history follows from the base's."""
        base = self.base
        if self.seen == base.version[0] or (t.edge is None and base.edge is None and not base.wants_grad):
            return
        if self.made:
            self.refuse(t, "its base or another view of its base has been")
        self.seen = base.version[0]
        view, source, wanted = t.writable_array(), base.writable_array(), base
        part, turned = self.part(view), view.dtype != source.dtype
        if turned and source.dtype in dtypes.COMPLEX:
            wanted = recorded("view_as_real", base, as_pairs(source))
        again = recorded("as_strided", wanted, as_pairs(view) if turned else view, part=part)  # what as_strided(base) would give
        if turned and view.dtype in dtypes.COMPLEX:
            again = recorded("view_as_complex", again, view)
        change_history(t, again.edge)

    def refuse(self, t: Tensor, what: str = "is being") -> NoReturn:
        """Say why a write through this view, or past it, cannot be recorded."""
        mode, elsewhere = ("inference", "in normal mode") if self.made == INFERENCE else ("no_grad", "with grad mode enabled")
        said = f"created in {mode} mode and {what} modified inplace {elsewhere}."
        if t.edge is None:
            said = f"A view was {said}"
        elif self.made in (NO_GRAD, INFERENCE):
            said = f"Output {t.edge[1]} of {function_of(t.edge[0])} is a view of a view which was {said}"
        else:
            said = f"Output {t.edge[1]} of {function_of(t.edge[0])} is a view and {what} modified inplace."
        raise RuntimeError(f"{said} {REASONS[self.made]}")


def as_pairs(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Complex numbers as pairs of real ones in the same memory; real numbers as they are."""
    return TABLE["view_as_real"].forward(a) if a.dtype in dtypes.COMPLEX else a


def recorded(row: str, x: Tensor, result: np.ndarray[Any, Any], **settings: Any) -> Tensor:
    """What a row would give for x, where the numbers are known."""
    t = new_tensor(result)
    record(TABLE[row], (x,), [x.payload], settings, (t,))
    return t


def function_of(node: Node) -> str:
    """What ran, from the name of its node: Unbind for UnbindBackward0, Squeeze1 for SqueezeBackward1."""
    what, _, number = node.name().rpartition("Backward")
    return f"{what}{number if number != '0' else ''}"


AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and "
    "the inplace either both inside the {0} block (if you don't want the inplace to be tracked) or both outside (if you want the "
    "inplace to be tracked)."
)
REASONS = {
    SEVERAL: "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one.",
    NO_GRAD: AMBIGUOUS.format("no_grad"),
    INFERENCE: AMBIGUOUS.format("inference_mode"),
    FUNCTION: "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. "
    "This behavior is forbidden. You can fix this by cloning the output of the custom Function.",
}


class CopySlices(Node):
    """What a base remembers of a write through a view: which part was written to, and the node of what was written.

    `node` takes the part's old value as its first input. If it does not, it is not part of this node but lies below it.
    """

    __slots__ = ("freed", "node", "pairs", "part")

    sparing = True

    def __init__(self, base: Tensor, part: Part, written: Edge | None, inside: bool, dtype: np.dtype[Any]) -> None:
        """dtype: that of the view. Where only one of base and view is complex, the part counts real numbers."""
        turned = dtype != base.payload.dtype
        self.part, self.pairs = part, "" if not turned else "view" if dtype in dtypes.COMPLEX else "base"
        self.node = written[0] if inside and written is not None else None
        self.edges = (edge_of(base), *(self.node.edges[1:] if self.node is not None else (written,)))
        self.freed = False
        self.hooks = None
        self.seq = next_number()

    def name(self) -> str:
        return "torch::autograd::CopySlices"  # as PyTorch writes it

    def vjp(self, g: Any, create_graph: bool) -> list[Any]:
        if g is None:
            return [None] * len(self.edges)
        if self.freed:
            raise RuntimeError(FREED)
        if self.pairs == "base":
            g = TABLE["view_as_real"](g)
        there = TABLE["as_strided"](g, part=self.part)
        if self.pairs == "view":
            there = TABLE["view_as_complex"](there)
        if type(there) is np.ndarray:
            there = there.copy()
        fire = self.node and (self.node.run if modes.anomaly is None else modes.anomaly.inside(self.node))
        old, *others = fire(there, create_graph) if fire else (None, there)
        if self.edges[0] is None:
            return [None, *others]
        if old is None:
            old = np.zeros(self.part.shape, g.dtype)
        elif self.pairs == "view":
            old = TABLE["view_as_real"](old)
        left = TABLE["as_strided_scatter"](g, old, part=self.part)
        return [TABLE["view_as_complex"](left) if self.pairs == "base" else left, *others]

    def release(self) -> None:
        # Let go of the node, but leave it whole: a result that it saved for a second derivative leads back to it.
        if self.node is not None and self.node.holds_values:
            self.node, self.freed = None, True

    def is_freed(self) -> bool:
        return self.freed

    def saved_values(self) -> list[Saved]:
        return [] if self.node is None else self.node.saved_values()


def in_place(op: Op, target: Tensor, args: tuple[Any, ...], settings: dict[str, Any]) -> Tensor:
    """Run `op` on (target, *args), write the result into `target`, and give `target` its history.

    Raises RuntimeError for a leaf that requires grad, a view of one, several outputs, a result of another shape or category.
    """
    check_may_write(target, target.requires_grad)
    result = op(target, *args, **settings)
    return overwrite(target, result)


def overwrite(target: Tensor, result: Tensor) -> Tensor:
    """Write `result` into `target`'s memory and pass its history on: to `target`, or to the base it looks into."""
    old, new = target.payload, result.payload
    check_inference(target)
    if new.shape != old.shape:
        raise RuntimeError(
            f"output with shape {list(old.shape)} doesn't match the broadcast shape {list(new.shape)}. "
            "Writing in place cannot change a shape: use the out-of-place form."
        )
    if target.level or result.level:
        box: Any = target if target.level else result
        return box.home.rewrite(target, result)  # type: ignore[no-any-return]
    if new.dtype != old.dtype:
        new = writable_as(new, target)
    if result.edge is not None:
        check_may_write(target, True)
        keep_what_was(result.edge[0], target)
    if modes.tracer is not None:
        modes.tracer.overwritten(target, result)
    elif modes.before_write is not None:
        modes.before_write(target)
    if type(old) is np.ndarray:
        old[...] = new
    else:
        target.payload = new[()]
    was = edge_of(target) if modes.grad else None
    target.version[0] += 1
    if modes.grad:
        if result.edge is not None:
            adopt_saved_result(result, target)
        rebase(target, result.edge, was)
    return target


def rebase(target: Tensor, written: Edge | None, was: Edge | None) -> None:
    """The new history of what was written to: the edge of what was written, where the old value came from `was`."""
    view = target.view_info
    if view is None:
        change_history(target, written)
    elif written is not None or view.base.edge is not None:
        inside = written is not None and written[0].outputs == 1 and written[0].edges[0] is was
        base = view.base
        there = target.writable_array()
        change_history(base, CopySlices(base, view.part(there), written, inside, there.dtype))
        view.refresh_history(target)


def change_history(t: Tensor, edge: Edge | None) -> None:
    """Give a tensor another node. A gradient to retain is that of the new value; hooks stay with the old one."""
    retained = t.edge is not None and t.extra is not None and t.extra.retains
    if retained:
        t.edge[0].hooks.retain.pop(t.edge[1], None)  # type: ignore[index]
    t.edge = edge
    if retained:
        t.retain_grad()


def writable_as(new: Any, target: Tensor) -> Any:
    """Cast to the target's dtype, refusing to lose a category (a float into an integer, anything but bool into bool)."""
    source = dtypes.of(new.dtype)
    if dtypes.category(new.dtype) > dtypes.category(target.payload.dtype):
        raise RuntimeError(f"result type {source.title} can't be cast to the desired output type {target.dtype.title}")
    return new.astype(target.payload.dtype)


def check_inference(target: Tensor) -> None:
    if type(target.version) is Untracked and not modes.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor "
            "before doing inplace update."
        )


def check_may_write(target: Tensor, recorded: bool) -> None:
    """Leaves that require grad, and views of them, may not be written to while operations are recorded; nor may views through
    which a write cannot be followed. `recorded`: whether the target or what is written requires grad."""
    if target.level or not (modes.grad and recorded):  # transforms check for themselves
        return
    view = target.view_info
    if view is not None:
        if view.made:
            view.refuse(target)
        if view.base.edge is None and target.requires_grad:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if target.wants_grad and target.edge is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. "
            "Write inside `with torch.no_grad():`, or to a clone()."
        )


def keep_what_was(node: Any, target: Tensor, all_inputs: bool = False) -> None:
    """If the node saved the target as its first input, whose numbers its own result is about to overwrite, let it keep a copy.

    Not so for the others: in `x.mul_(x)` the second x is what it will be after the write, and backward refuses.
    """
    if node.op is None or node.op.variadic:
        return
    for slot in node.plan.slots:
        k = slot.start
        if slot.width == 3 and (all_inputs or slot.name == node.op.inputs[0]) and node.saved[k + 1] is target.version:
            if not isinstance(node.saved[k], np.ndarray | np.generic):  # a hook keeps it already
                continue
            node.saved = (*node.saved[:k], node.saved[k].copy(), [0], 0, *node.saved[k + 3 :])


def adopt_saved_result(result: Tensor, target: Tensor) -> None:
    """If the node saved its own result, that result is now the target: later writes to the target must be noticed."""
    assert result.edge is not None
    node: Any = result.edge[0]
    saved = getattr(node, "saved", None)
    if saved:
        # What a hook took away stays with the hook.
        places = [k + 1 for k, value in enumerate(saved) if value is result.version and type(saved[k - 1]) is not Packed]
        node.saved = tuple(
            target.version if value is result.version else target.version[0] if k in places else value for k, value in enumerate(saved)
        )
