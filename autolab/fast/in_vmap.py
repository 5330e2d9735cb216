"""What `Batch.apply` does, written out for each row of fixed inputs and one result.

`batched_source` runs the row on the arrays of all samples, where the levels below take no interest; `lifted_source` runs it on tensors of
the levels below, where they record. What is not usual gives None, and goes the general way.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from autolab.dtypes import FLOATING
from autolab.engine.apply import looks_into
from autolab.engine.node import F32, F64
from autolab.engine.op import Op
from autolab.fast.codegen import NAMES, can_specialise, define
from autolab.fast.kernels import load_kernels
from autolab.fast.row import forward_call
from autolab.formula import parameters
from autolab.transforms.batched import Batched, along_axes, axes_from_end, match_ndim, unknown_below


def batched_source(op: Op, names: dict[str, Any]) -> str:
    """The text of `run(batch, x, y, settings)`: the row on the arrays of all samples; else `lifted_source` has its turn."""
    xs = op.inputs
    leave = f"return lifted(op)(batch, {', '.join(xs)}, settings)"
    lines = [f"def {op.name}(batch, {', '.join(xs)}, settings):"]
    for x in xs:
        lines += [
            f"    raw_{x}, batched_{x} = {x}, False",
            f"    if isinstance({x}, Tensor):",
            f"        if {x}.level:",
            f"            if {x}.home is not batch or {x}.version[0]:",
            f"                {leave}",
            f"            raw_{x}, batched_{x} = {x}.array, True",
            f"            if raw_{x} is None:",
            f"                {leave}",
            f"        elif ({x}.edge is not None or {x}.wants_grad or ({x}.view_info is not None and {x}.requires_grad)) and modes.grad:",
            f"            {leave}",
            "        else:",
            f"            raw_{x} = {x}.payload",
        ]
    lines += array_lines(op, "raw_{0}", names, leave)
    lines += batched_box_lines("t", "out")
    raws = ", ".join(f"raw_{x}" for x in xs)
    itself = " or ".join(f"out is raw_{x}" for x in xs)
    aside = "link_view(op, t, {0}, raw_{0}, settings)".format(xs[0]) if op.view else f"copy_if_shared(t, ({raws},))"
    lines += [f"    if out.base is not None or {itself}:", f"        {aside}"]
    return "\n".join([*lines, "    return t"]) + "\n"


def batched_box_lines(t: str, array: str, tensor: str = "None", indent: str = "    ") -> list[str]:
    """Make the box `t`, as `Batch.put` does."""
    return [
        f"{indent}{t} = new(Batched)",
        f"{indent}{t}.edge = {t}.view_info = {t}.extra = {t}._grad = {t}.meta = {t}.view_source = None",
        f"{indent}{t}.wants_grad, {t}.version, {t}.array, {t}.tensor = False, [0], {array}, {tensor}",
        f"{indent}{t}.home, {t}.level = batch, batch.number",
    ]


def array_lines(op: Op, array: str, names: dict[str, Any], leave: str) -> list[str]:
    """`out`: the row on the arrays of all samples; or the statement `leave`. `array` is the pattern of their names; fills `names`."""
    xs = op.inputs
    raws, batched = ", ".join(array.format(x) for x in xs), ", ".join(f"batched_{x}" for x in xs)
    first, lines = array.format(xs[0]), []
    if op.view:  # of any dtype
        pass
    elif len(xs) == 1:
        lines += [f"    if {first}.dtype is not F32 and {first}.dtype is not F64:", f"        {leave}"]
    else:
        usual = " is ".join([*(f"{array.format(x)}.dtype" for x in xs), "F32"])
        arrays = " is ".join([*(f"type({array.format(x)})" for x in xs), "ndarray"])
        lines += [f"    if not ({arrays} and {usual}) and not same_float_dtype(op, ({raws},)):", f"        {leave}"]
    if op.batch is not None:
        return [*lines, f"    out = {batch_call(op, array, names)}"]
    if op.kind == "elementwise":
        if len(xs) > 1:
            aligned = " and ".join([*(f"batched_{x}" for x in xs), *(f"{array.format(x)}.ndim == {first}.ndim" for x in xs[1:])])
            lines += [f"    if not ({aligned}):", f"        {raws} = match_ndim(batch.size, ({raws},), ({batched},))"]
        return [
            *lines,
            "    try:",
            f"        out = {forward_call(op, array, names)}",
            "    except ValueError as error:",
            f"        raise explained(op, error, [{', '.join(xs)}]) from None",
        ]
    led = ", ".join(leading(x, array) for x in xs)
    if op.kind != "linear":
        lines += ["    if not along_axes(op, settings):", f"        {leave}"]
    ndim = ", ".join(f"getattr({array.format(x)}, 'ndim', 0) - batched_{x}" for x in xs)
    names["compute"] = op.compute
    return [*lines, f"    out = compute({led}, **axes_from_end(settings, max({ndim}, 0)))"]


def batch_call(op: Op, array: str, names: dict[str, Any]) -> str:
    """The call of a batching rule, with what it asks for by name. All inputs get the leading axis, unless it asks which have it."""
    assert op.batch is not None
    asked = parameters(op.batch)
    names |= {"function": op.batch, "defaults": op.settings}
    values = {name: f"settings.get({name!r}, defaults[{name!r}])" for name in op.settings}
    values |= {x: array.format(x) if "batched" in asked else leading(x, array) for x in op.inputs}
    flags = ", ".join(f"batched_{x}" for x in op.inputs)
    values |= {"batched": f"({flags},)", "size": "batch.size", "row": "op", "settings": "defaults | settings"}
    return f"function({', '.join(values[name] for name in asked)})"


def leading(x: str, array: str) -> str:
    """An input with the leading axis, as an expression."""
    return "({0} if batched_{1} else batch.ensure_batched({0}))".format(array.format(x), x)


def link_view(op: Op, t: Any, x: Any, raw: Any, settings: Any) -> None:
    """Let a view know what it looks into; it may be a copy."""
    if looks_into(t.array, raw):
        t.view_source, t.version = (op, x, settings), x.version


def same_float_dtype(op: Op, raws: tuple[Any, ...]) -> bool:
    """Whether all arrays are of float32, or all of float64; integers and masks may be beside them where they need not be joined."""
    dtype = None
    for i, raw in enumerate(raws):
        one = getattr(raw, "dtype", None)
        if one is F32 or one is F64:
            if dtype is None:
                dtype = one
            elif one is not dtype:
                return False
        elif one is not None and (one in FLOATING or (op.promote and i in op.promoted_inputs)):
            return False
    return dtype is not None


def copy_if_shared(t: Any, raws: tuple[Any, ...]) -> None:
    """Give a result memory of its own: a rule may give back an argument as it came, or a part of one."""
    out = t.array
    below = out if out.base is None else out.base
    owner = type(below) is np.ndarray and below.base is None
    for raw in raws:
        if type(raw) is np.ndarray:
            other = raw if raw.base is None else raw.base
            # Different arrays that own their memory lie apart. To compare addresses would take longer.
            if owner and other is not below and type(other) is np.ndarray and other.base is None:
                continue
            if looks_into(out, raw):
                t.array = out.copy()
                return


def compile_batched(op: Op) -> Any:
    """The function written by `batched_source`; None for rows without."""
    if not can_specialise(op):
        return None
    load_kernels(op)
    names = {"op": op}
    return define(op.name, batched_source(op, names), names, f"<{op.name}, batched>")


def lifted_source(op: Op, names: dict[str, Any]) -> str:
    """The text of `run(batch, x, y, settings)`: the row on tensors of the levels below, which record; or None if there is more to do."""
    xs = op.inputs
    lines = [f"def {op.name}(batch, {', '.join(xs)}, settings):"]
    for x in xs:
        lines += [
            f"    batched_{x} = type({x}) is Batched and {x}.home is batch",
            f"    raw_{x} = ({x}.value if {x}.tensor is None else {x}.tensor) if batched_{x} else {x}",
        ]
    raws = ", ".join(f"raw_{x}" for x in xs)
    led = ", ".join(leading(x, "raw_{0}") for x in xs)
    if op.batch is not None:
        lines.append(f"    out = {batch_call(op, 'raw_{0}', names)}")
    elif op.kind == "elementwise":
        usable = [f"(batched_{x} or type({x}) is int or type({x}) is float)" for x in xs]
        usable += [f"not (batched_{x} and batched_{y} and raw_{x}.payload.ndim != raw_{y}.payload.ndim)" for x, y in combinations(xs, 2)]
        lines += [f"    if not ({' and '.join(usable)}):", "        return None"]
        lines += ["    try:", f"        out = op.run({raws}, settings)", "    except (RuntimeError, ValueError):", "        return None"]
    else:
        ndim = ", ".join(f"raw_{x}.payload.ndim - 1 if batched_{x} else 0" for x in xs)
        if op.kind != "linear":
            lines += ["    if not along_axes(op, settings):", "        return None"]
        lines.append(f"    out = op.run({led}, axes_from_end(settings, max({ndim}, 0)))")
    itself = " or ".join(f"out is raw_{x}" for x in xs)
    lines += [f"    if {itself} or not isinstance(out, Tensor):", "        return None"]
    lines += batched_box_lines("t", "out.payload if out.edge is None and unknown_below(out) else None", "out")
    if op.view:
        lines.append(f"    t.version = {xs[0]}.version")
    return "\n".join([*lines, "    return t"]) + "\n"


@cache
def lifted(op: Op) -> Any:
    """The function written by `lifted_source`."""
    names = {"op": op}
    return define(op.name, lifted_source(op, names), names, f"<{op.name}, lifted>")


NAMES.update(
    {
        "Batched": Batched, "along_axes": along_axes, "copy_if_shared": copy_if_shared, "axes_from_end": axes_from_end, "lifted": lifted,
        "link_view": link_view, "match_ndim": match_ndim, "same_float_dtype": same_float_dtype, "unknown_below": unknown_below,
    }
)  # fmt: skip
