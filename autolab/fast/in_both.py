"""Per-sample gradients, `vmap(grad(f))`: what `Tape.apply` and the `Batch.apply` below it do, written out as one function for each row."""

from __future__ import annotations

from typing import Any

from autolab.engine.op import Op
from autolab.fast.codegen import can_specialise, define
from autolab.fast.in_grad import taped_box_lines, taped_classes
from autolab.fast.in_vmap import array_lines, batched_box_lines
from autolab.fast.kernels import load_kernels
from autolab.fast.row import branches


def mapped_source(op: Op, names: dict[str, Any]) -> str:
    """The text of `run(tape, batch, x, y, settings)`: both at once, for a tape right inside vmap; or None."""
    xs = op.inputs
    lines = [f"def {op.name}(tape, batch, {', '.join(xs)}, settings):", "    if not (tape.active and modes.grad):", "        return None"]
    for x in xs:
        lines += [
            f"    raw_{x}, edge_{x}, batched_{x}, is_{x}, kind = {x}, None, False, True, type({x})",
            "    if kind is Taped:",
            f"        if {x}.home is not tape:",
            "            return None",
            f"        if {x}.view_info is not None:",
            f"            {x}.view_info.refresh_history({x})",
            f"        raw_{x}, edge_{x} = {x}.value, {x}.edge",
            f"        if edge_{x} is None and {x}.wants_grad:",
            f"            edge_{x} = {x}.extra.accumulator() or accumulator({x})",
            f"        kind = type(raw_{x})",
            "    if kind is Batched:",
            f"        if raw_{x}.home is not batch or raw_{x}.version[0]:",
            "            return None",
            f"        all_{x}, batched_{x} = raw_{x}.array, True",
            f"        if all_{x} is None:",
            "            return None",
            f"    elif isinstance(raw_{x}, Tensor):",
            f"        if raw_{x}.wants_grad or raw_{x}.edge is not None or raw_{x}.view_info is not None or raw_{x}.level:",
            "            return None",
            f"        all_{x} = raw_{x}.payload",
            "    else:",
            f"        all_{x}, is_{x} = raw_{x}, False",
        ]
    all_of = ", ".join(f"all_{x}" for x in xs)
    lines += [f"    if not ({' or '.join(f'batched_{x}' for x in xs)}):", "        return None"]
    if op.broadcasts:  # before match_ndim
        lines.append(f"    shapes = ({', '.join(f'batched_{x} and (all_{x}.shape, all_{x}.dtype)' for x in xs)},)")
    lines += array_lines(op, "all_{0}", names, "return None")
    lines += [
        "    array = out",
        *batched_box_lines("out", "array"),
        f"    if array.base is not None or {' or '.join(f'array is all_{x}' for x in xs)}:",
        "        link_view(op, out, raw_{0}, all_{0}, settings)".format(xs[0]) if op.view else f"        copy_if_shared(out, ({all_of},))",
        *taped_box_lines(op),
    ]
    differentiable = [x for x in xs if x in op.rules]
    if differentiable:
        lines += ["    if array.dtype not in FLOATING:", "        if array.dtype in COMPLEX:", "            return None"]
        lines += [f"    elif {' or '.join(f'edge_{x} is not None' for x in differentiable)}:"]
        if op.broadcasts:
            lines += ["        like = (array.shape, array.dtype)"]
            lines += [f"        alike, dtype = {' and '.join(f'shapes[{i}] == like' for i in range(len(xs)))}, None"]
        lines += branches(op, differentiable, 0, "        ")
    return "\n".join([*lines, "    return t"]) + "\n"


def compile_mapped(op: Op) -> Any:
    """The function written by `mapped_source`; None for rows without."""
    if not can_specialise(op):
        return None
    load_kernels(op)
    names = {"op": op} | taped_classes(op)
    return define(op.name, mapped_source(op, names), names, f"<{op.name}, mapped>")
