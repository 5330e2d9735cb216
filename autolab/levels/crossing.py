"""Shortcuts inside transforms, written out for each row of fixed inputs and one result, as `autolab.shortcuts.row` does for level 0.

`taped_source` spells out `Tape.run`, and `batched_source` spells out `Batch.run` where the levels below take no interest. An elementwise
rule holds entry by entry, so that a node of a tape inside vmap runs it on the arrays of all samples at once (`entrywise`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autolab.dtypes import FLOATING
from autolab.engine.apply import looks_into
from autolab.engine.modes import GENERATED, modes
from autolab.engine.node import F32, F64
from autolab.engine.tensor import Tensor
from autolab.shortcuts.formula import inlined, parameters
from autolab.shortcuts.row import branches, can_specialise, define, edge_lines, home_lines, node_classes

if TYPE_CHECKING:
    from autolab.engine.op import Op


def taped_source(op: Op) -> str:
    """The text of `run(tape, x, y, settings)`: take the boxes off, run the row on the levels below, put the result in a box, and record."""
    xs = op.inputs
    raws = ", ".join(f"raw_{x}" for x in xs)
    lines = [f"def {op.name}(tape, {', '.join(xs)}, settings):", "    if not tape.active:", "        tape.check_active()"]
    for x in xs:
        lines += [
            f"    is_{x} = isinstance({x}, Tensor)",
            f"    own_{x} = is_{x} and {x}.level and {x}.home is tape",
            f"    raw_{x} = {x}.value if own_{x} else {x}",
        ]
    lines += home_lines(xs, "raw_{0}", "is_{0}", "home, level = None, 1 << 30")
    lines += [
        "    if home is None or (modes.grad and not tape.outside):",
        f"        out = tape.lower(op, settings, {raws})",
        "    else:",
        f"        out = home.apply(op, ({raws},), settings)",
        "    t = new(Taped)",
        "    t.edge = t.window = t.extra = t._grad = t.own = None",
        "    t.flag, t.version = False, [0]",
        "    t.home, t.level, t.value = tape, tape.number, out",
        "    if not modes.grad:",
        "        return t",
    ]
    differentiable = [x for x in xs if x in op.rules]
    for x in differentiable:
        lines += edge_lines(x, f"own_{x}")
    if differentiable:
        lines += [f"    if {' or '.join(f'edge_{x} is not None' for x in differentiable)}:"]
        lines += ["        bare = out.array if type(out) is Batched else None"]
        lines += ["        if (out.payload if bare is None else bare).dtype not in FLOATING:", "            return t"]
        if op.stretches:
            same = " and ".join(f"type(raw_{x}) is Batched and same(raw_{x}.array, bare)" for x in xs)
            known = " or ".join(f"apart(raw_{x}, out.payload)" for x in xs)
            lines += [f"        alike, dtype = (bare is not None and {same}) or not ({known}), None"]
        lines += branches(op, differentiable, 0, "        ")
    return "\n".join([*lines, "    return t"]) + "\n"


def same(own: Any, array: Any) -> bool:
    """Whether the array in a box has the shape and dtype of another; None if the box has none."""
    return own is not None and own.shape == array.shape and own.dtype is array.dtype


def apart(raw: Any, payload: Any) -> bool:
    """Whether an operand has another shape or dtype than the result."""
    if not isinstance(raw, Tensor):
        return hasattr(raw, "dtype")
    own = raw.payload
    return own.shape != payload.shape or own.dtype != payload.dtype  # type: ignore[no-any-return]


def entrywise(node: Any, g: Any, create_graph: bool) -> Any:
    """The gradients of an elementwise node on a tape inside `vmap`: its rules on arrays, if all of them have the shape of `g`."""
    array = getattr(g, "array", None)
    if array is None or g.version[0] or node.like is not None or node.saved is None or modes.watched:
        return node.generally(g, create_graph)
    values = []
    for slot in node.plan.slots:
        value = node.saved[slot.start]
        if slot.width == 3:
            if node.saved[slot.start + 1][0] != node.saved[slot.start + 2]:
                return node.generally(g, create_graph)
            if isinstance(value, Tensor):
                own = getattr(value, "array", None)
                if own is None or value.home is not g.home or own.shape != array.shape or own.dtype is not array.dtype:  # type: ignore[attr-defined]
                    return node.generally(g, create_graph)
                value = own
        values.append(value)
    found: list[Any] = [None] * len(node.edges)
    for i, rule, wanted in node.plan.rules:
        made = rule(array, *[values[k] for k in wanted])
        found[i] = g if made is array else g.home.put(made)
    return found


def taped_classes(op: Op) -> dict[str, Any]:
    """The classes of nodes for tapes: as on level 0, and where the row is elementwise with `entrywise` in front."""
    found = node_classes(op)
    if op.kind == "elementwise" and not op.namer:
        for name, cls in found.items():
            if name.startswith("Node"):
                found[name] = type(cls.__name__, (cls,), {"__slots__": (), "gradients": entrywise, "generally": cls.gradients})
    return found


def compile_taped(op: Op) -> Any:
    """The function written by `taped_source`; False for rows without."""
    return can_specialise(op) and define(op.name, taped_source(op), taped_classes(op) | {"op": op}, f"<{op.name}, taped>")


def batched_source(op: Op, names: dict[str, Any]) -> str:
    """The text of `run(batch, x, y, settings)`: the row on the arrays of all samples, or None if there is more to do."""
    xs = op.inputs
    lines = [f"def {op.name}(batch, {', '.join(xs)}, settings):"]
    for x in xs:
        lines += [
            f"    raw_{x}, own_{x} = {x}, False",
            f"    if isinstance({x}, Tensor):",
            f"        if {x}.level:",
            f"            if {x}.home is not batch or {x}.version[0]:",
            "                return None",
            f"            raw_{x}, own_{x} = {x}.array, True",
            f"            if raw_{x} is None:",
            "                return None",
            f"        elif ({x}.edge is not None or {x}.flag or ({x}.window is not None and {x}.requires_grad)) and modes.grad:",
            "            return None",
            "        else:",
            f"            raw_{x} = {x}.payload",
        ]
    raws, owns = ", ".join(f"raw_{x}" for x in xs), ", ".join(f"own_{x}" for x in xs)
    if op.view:  # of any dtype
        pass
    elif len(xs) == 1:
        lines += [f"    if raw_{xs[0]}.dtype is not F32 and raw_{xs[0]}.dtype is not F64:", "        return None"]
    else:
        usual = " is ".join([*(f"raw_{x}.dtype" for x in xs), "F32"])
        arrays = " is ".join([*(f"type(raw_{x})" for x in xs), "ndarray"])
        lines += [f"    if not ({arrays} and {usual}) and not one_float(op, ({raws},)):", "        return None"]
    if op.batch is not None:
        lines.append(f"    out = {batch_call(op, names)}")
    elif op.kind == "elementwise":
        if len(xs) > 1:
            same = " and ".join([*(f"own_{x}" for x in xs), *(f"raw_{x}.ndim == raw_{xs[0]}.ndim" for x in xs[1:])])
            lines += [f"    if not ({same}):", f"        {raws} = aligned(batch.size, ({raws},), ({owns},))"]
        given = {x: f"raw_{x}" for x in xs}
        call = None if op.settings else inlined(op.forward, given, names)
        lines += [
            "    try:",
            f"        out = {call or f'forward({raws}, **settings)'}",
            "    except ValueError as error:",
            f"        raise explained(op, error, [{', '.join(xs)}]) from None",
        ]
    else:
        led = ", ".join(f"raw_{x} if own_{x} else batch.lead(raw_{x})" for x in xs)
        if op.kind != "linear":
            lines += ["    if not along_axes(op, settings):", "        return None"]
        ndim = ", ".join(f"getattr(raw_{x}, 'ndim', 0) - own_{x}" for x in xs)
        lines.append(f"    out = forward({led}, **counted(settings, max({ndim}, 0)))")
    lines += [
        "    t = new(Batched)",
        "    t.edge = t.window = t.extra = t._grad = t.face = t.made = t.tensor = None",
        "    t.flag, t.version, t.array = False, [0], out",
        "    t.home, t.level = batch, batch.number",
    ]
    itself = " or ".join(f"out is raw_{x}" for x in xs)
    aside = "seen(op, t, {0}, raw_{0}, settings)".format(xs[0]) if op.view else f"alone(t, ({raws},))"
    lines += [f"    if out.base is not None or {itself}:", f"        {aside}"]
    return "\n".join([*lines, "    return t"]) + "\n"


def batch_call(op: Op, names: dict[str, Any]) -> str:
    """The call of a batching rule, with what it asks for by name. All inputs get the leading axis, unless it asks which have it."""
    assert op.batch is not None
    asked = parameters(op.batch)
    names |= {"function": op.batch, "defaults": op.settings}
    given = {name: f"settings.get({name!r}, defaults[{name!r}])" for name in op.settings}
    for x in op.inputs:
        given[x] = f"raw_{x}" if "batched" in asked else f"(raw_{x} if own_{x} else batch.lead(raw_{x}))"
    given |= {
        "batched": f"({', '.join(f'own_{x}' for x in op.inputs)},)", "size": "batch.size", "row": "op", "settings": "defaults | settings",
    }  # fmt: skip
    return f"function({', '.join(given[name] for name in asked)})"


def one_float(op: Op, raws: tuple[Any, ...]) -> bool:
    """Whether all arrays are of float32, or all of float64; integers and masks may stand beside them where they need not be joined."""
    dtype = None
    for i, raw in enumerate(raws):
        own = getattr(raw, "dtype", None)
        if own is F32 or own is F64:
            if dtype is None:
                dtype = own
            elif own is not dtype:
                return False
        elif own is not None and (own in FLOATING or (op.promote and i in op.together)):
            return False
    return dtype is not None


def aligned(size: int, raws: tuple[Any, ...], owns: tuple[bool, ...]) -> list[Any]:
    """Arrays of fewer axes get axes of length 1 behind the leading one."""
    most = max([getattr(raw, "ndim", 0) - own for raw, own in zip(raws, owns)])
    ones = [(1,) * (most - raw.ndim + 1) if own else () for raw, own in zip(raws, owns)]
    return [raw.reshape(size, *one, *raw.shape[1:]) if one else raw for raw, one in zip(raws, ones)]


def alone(t: Any, raws: tuple[Any, ...]) -> None:
    """Give a result memory of its own: a rule may give back an argument as it came, or a part of one."""
    out = t.array
    for raw in raws:
        if type(raw) is np.ndarray and not apart_for_certain(out, raw) and looks_into(out, raw):
            t.array = out.copy()
            return


def apart_for_certain(a: Any, b: Any) -> bool:
    """Whether two arrays have different arrays below them that own their memory. To compare addresses would take longer."""
    a, b = a if a.base is None else a.base, b if b.base is None else b.base
    return a is not b and type(a) is type(b) is np.ndarray and a.base is None is b.base


def seen(op: Op, t: Any, x: Any, raw: Any, settings: Any) -> None:
    """Let a view know what it looks into; it may be a copy."""
    if looks_into(t.array, raw):
        t.made, t.version = (op, x, settings), x.version


def compile_batched(op: Op) -> Any:
    """The function written by `batched_source`; False for rows without."""
    if not can_specialise(op):
        return False
    names = {"op": op, "forward": op.forward}
    return define(op.name, batched_source(op, names), names, f"<{op.name}, batched>")


GENERATED.setdefault("Batched", None)  # until that module is imported
GENERATED.update({"aligned": aligned, "alone": alone, "apart": apart, "one_float": one_float, "same": same, "seen": seen})
