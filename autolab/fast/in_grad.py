"""What `Tape.apply` does, written out for each row of fixed inputs and one result."""

from __future__ import annotations

from functools import cache
from typing import Any

from autolab.engine.apply import complex_rules
from autolab.engine.op import Op
from autolab.engine.record import record
from autolab.engine.tensor import Tensor
from autolab.fast.codegen import NAMES, can_specialise, define, generated_method
from autolab.fast.replay import compile_entrywise, compile_samplewise
from autolab.fast.row import branches, edge_lines, home_lines, node_classes
from autolab.transforms.taped import Taped


def taped_source(op: Op) -> str:
    """The text of `run(tape, x, y, settings)`: take the boxes off, run the row on the levels below, put the result in a box, and record."""
    xs = op.inputs
    raws = ", ".join(f"raw_{x}" for x in xs)
    lines = [f"def {op.name}(tape, {', '.join(xs)}, settings):", "    if not tape.active:", "        tape.check_active()"]
    for x in xs:
        lines += [
            f"    is_{x} = isinstance({x}, Tensor)",
            f"    taped_{x} = is_{x} and {x}.level and {x}.home is tape",
            f"    raw_{x} = {x}.value if taped_{x} else {x}",
        ]
    lines += home_lines(xs, "raw_{0}", "is_{0}", "home, level = None, 1 << 30")
    lines += [
        "    if home is None or (modes.grad and not tape.outside):",
        f"        out = tape.lower(op, settings, {raws})",
        "    else:",
        f"        out = home.apply(op, ({raws},), settings)",
        *taped_box_lines(op),
        "    if not modes.grad:",
        "        return t",
    ]
    differentiable = [x for x in xs if x in op.rules]
    for x in differentiable:
        lines += edge_lines(x, f"taped_{x}")
    if differentiable:
        lines += [f"    if {' or '.join(f'edge_{x} is not None' for x in differentiable)}:"]
        lines += ["        bare = out.array if type(out) is Batched else None"]
        arguments = f"op, ({', '.join(xs)},), [{raws}], settings, (t,), tape.number"
        lines += ["        dtype = (out.payload if bare is None else bare).dtype", "        if dtype not in FLOATING:"]
        lines += [
            "            if dtype in COMPLEX:",
            f"                record({arguments}, complex_rules(op, dtype))",
            "            return t",
        ]
        if op.broadcasts:
            equal = " and ".join(f"type(raw_{x}) is Batched and same_meta(raw_{x}.array, bare)" for x in xs)
            different = " or ".join(f"differs(raw_{x}, out.payload)" for x in xs)
            lines += [f"        alike, dtype = (bare is not None and {equal}) or not ({different}), None"]
        lines += branches(op, differentiable, 0, "        ")
    return "\n".join([*lines, "    return t"]) + "\n"


def same_meta(inner: Any, array: Any) -> bool:
    """Whether the array in a box has the shape and dtype of another; None if the box has none."""
    return inner is not None and inner.shape == array.shape and inner.dtype is array.dtype


def differs(raw: Any, payload: Any) -> bool:
    """Whether an operand has another shape or dtype than the result."""
    if not isinstance(raw, Tensor):
        return hasattr(raw, "dtype")
    inner = raw.payload
    return inner.shape != payload.shape or inner.dtype != payload.dtype  # type: ignore[no-any-return]


def taped_box_lines(op: Op) -> list[str]:
    """Make the box `t` around `out`, as `Tape.put` does; of a view it knows what it looks into."""
    return [
        "    t = new(Taped)",
        "    t.edge = t.view_info = t.extra = t._grad = t.own = None",
        "    t.wants_grad, t.version = False, [0]",
        "    t.home, t.level, t.value = tape, tape.number, out",
        *([f"    tape.record_view(t, {op.inputs[0]}, (op, settings, None))"] if op.view else []),
    ]


@cache
def taped_classes(op: Op) -> dict[str, Any]:
    """The classes of nodes for tapes: as on level 0, with what is quicker inside vmap in front."""
    classes = node_classes(op)

    def inside(cls: Any) -> Any:
        run = generated_method(compile_entrywise if op.kind == "elementwise" else lambda cls: cls.samplewise)
        members = {"__slots__": (), "run": run, "samplewise": generated_method(compile_samplewise), "run_general": cls.run}
        return type(cls.__name__, (cls,), members)

    classes |= {name: inside(cls) for name, cls in classes.items() if name.startswith("Node")}
    if op.namer:
        classes["node_class"] = cache(lambda mask, name: inside(op.node_class(mask, name)))
    return classes


def compile_taped(op: Op) -> Any:
    """The function written by `taped_source`; None for rows without."""
    return define(op.name, taped_source(op), taped_classes(op) | {"op": op}, f"<{op.name}, taped>") if can_specialise(op) else None


NAMES.update({"Taped": Taped, "complex_rules": complex_rules, "record": record, "differs": differs, "same_meta": same_meta})
