"""PyTorch's names for what a node keeps, `_saved_self` and `_raw_saved_self`; and rows whose nodes PyTorch has as several.

Their values are read by `saved` and `fused`, which are loaded with the first look.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from autolab.engine.op import CODEGEN, Op, Plan, Slot

PYTORCHS_NAMES = {
    "x": "self", "y": "other", "xs": "tensors", "out": "result", "out_1": "indices", "x_shape": "self_sym_sizes", "axis": "dim",
    "axes": "dims", "keepdims": "keepdim", "axis1": "dim1", "axis2": "dim2", "k": "diagonal", "src": "source",
}  # fmt: skip
OF_ONE_ROW = {
    ("mm", "y"): "mat2", ("addmm", "x"): "mat1", ("addmm", "y"): "mat2",
    ("bmm", "y"): "mat2", ("mv", "y"): "vec", ("dot", "y"): "tensor", ("mse_loss", "y"): "target",
    ("embedding", "index"): "indices", ("index", "key"): "indices", ("index_put", "key"): "indices",
    ("swapaxes", "axis1"): "dim0", ("swapaxes", "axis2"): "dim1", ("split", "out_1"): "out_1",
}  # fmt: skip
SEVERAL_NODES = {"linear", "cross_entropy"}


def attributes(row: Op, plan: Plan) -> dict[str, Any]:
    """The properties `_saved_self`, `_raw_saved_self` ... of a class of nodes. (A `__getattr__` would slow down every attribute.)

    A tensor that is kept only when other inputs need a gradient is None.
    """
    found: dict[str, Any] = {}
    here = {slot.name for slot in plan.slots}
    for slot in [*plan.slots, *(slot for slot in row.plan(row.mask).slots if slot.width == 3 and slot.name not in here)]:
        name = OF_ONE_ROW.get((row.name, slot.name)) or PYTORCHS_NAMES.get(slot.name, slot.name)
        found[f"_saved_{name}"] = saved_value(slot, slot.name in here, raw=False)
        found[f"_raw_saved_{name}"] = saved_value(slot, slot.name in here, raw=True)
    return found


def saved_value(slot: Slot, kept: bool, raw: bool) -> property:
    """What is in a slot of a node, or (raw) a handle on it."""

    def look(node: Any) -> Any:
        saved = import_module("autolab.autograd.saved")
        return (saved.look_up if kept else saved.not_kept)(node, slot, raw)

    return property(look)


def parts(row: Op) -> Any:
    """What makes a node of this row several, where PyTorch has several; else None."""
    return getattr(import_module("autolab.autograd.fused"), f"{row.name}_parts") if row.name in SEVERAL_NODES else None


CODEGEN.update(attributes=attributes, parts=parts)
