"""Shortcuts inside transforms, written out for each row of fixed inputs and one result, as `autolab.fast.row` does for level 0.

`taped_source` spells out `Tape.run`; `batched_source` spells out `Batch.run` where the levels below take no interest, `lifted_source` where
they do. An elementwise rule holds entry by entry, so that a node of a tape inside vmap runs it on the arrays of all samples at once
(`entrywise_source`).
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from autolab.engine.apply import looks_into
from autolab.engine.modes import GENERATED
from autolab.engine.tensor import Tensor
from autolab.fast.formula import inlined, parameters
from autolab.fast.kernel import always
from autolab.fast.row import branches, can_specialise, define, edge_lines, home_lines, node_classes
from autolab.transforms.replay import first_entrywise, first_samplewise
from autolab.transforms.samples import aligned, alone, one_float

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
        "    t.edge = t.view_info = t.extra = t._grad = t.own = None",
        "    t.wants_grad, t.version = False, [0]",
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
        if op.broadcasts:
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


@cache
def taped_classes(op: Op) -> dict[str, Any]:
    """The classes of nodes for tapes: as on level 0, with what is quicker inside vmap in front."""
    found = node_classes(op)

    def inside(cls: Any) -> Any:
        run = first_entrywise if op.kind == "elementwise" else first_samplewise
        members = {"__slots__": (), "run": run, "samplewise": first_samplewise, "run_general": cls.run}
        return type(cls.__name__, (cls,), members)

    found |= {name: inside(cls) for name, cls in found.items() if name.startswith("Node")}
    if op.namer:
        found["node_class"] = cache(lambda mask, name: inside(op.node_class(mask, name)))
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
            f"        elif ({x}.edge is not None or {x}.wants_grad or ({x}.view_info is not None and {x}.requires_grad)) and modes.grad:",
            "            return None",
            "        else:",
            f"            raw_{x} = {x}.payload",
        ]
    lines += array_lines(op, "raw_{0}", names)
    lines += [
        "    t = new(Batched)",
        "    t.edge = t.view_info = t.extra = t._grad = t.face = t.made = t.tensor = None",
        "    t.wants_grad, t.version, t.array = False, [0], out",
        "    t.home, t.level = batch, batch.number",
    ]
    raws = ", ".join(f"raw_{x}" for x in xs)
    itself = " or ".join(f"out is raw_{x}" for x in xs)
    aside = "seen(op, t, {0}, raw_{0}, settings)".format(xs[0]) if op.view else f"alone(t, ({raws},))"
    lines += [f"    if out.base is not None or {itself}:", f"        {aside}"]
    return "\n".join([*lines, "    return t"]) + "\n"


def array_lines(op: Op, array: str, names: dict[str, Any]) -> list[str]:
    """`out`: the row on the arrays of all samples; or leave by `return None`. `array` is the pattern of their names."""
    xs = op.inputs
    raws, owns = ", ".join(array.format(x) for x in xs), ", ".join(f"own_{x}" for x in xs)
    first, lines = array.format(xs[0]), []
    if op.view:  # of any dtype
        pass
    elif len(xs) == 1:
        lines += [f"    if {first}.dtype is not F32 and {first}.dtype is not F64:", "        return None"]
    else:
        usual = " is ".join([*(f"{array.format(x)}.dtype" for x in xs), "F32"])
        arrays = " is ".join([*(f"type({array.format(x)})" for x in xs), "ndarray"])
        lines += [f"    if not ({arrays} and {usual}) and not one_float(op, ({raws},)):", "        return None"]
    if op.batch is not None:
        return [*lines, f"    out = {batch_call(op, array, names)}"]
    if op.kind == "elementwise":
        if len(xs) > 1:
            same = " and ".join([*(f"own_{x}" for x in xs), *(f"{array.format(x)}.ndim == {first}.ndim" for x in xs[1:])])
            lines += [f"    if not ({same}):", f"        {raws} = aligned(batch.size, ({raws},), ({owns},))"]
        call = None if op.settings or always(op.forward) else inlined(op.forward, {x: array.format(x) for x in xs}, names)
        return [
            *lines,
            "    try:",
            f"        out = {call or f'forward({raws}, **settings)'}",
            "    except ValueError as error:",
            f"        raise explained(op, error, [{', '.join(xs)}]) from None",
        ]
    led = ", ".join("{0} if own_{1} else batch.lead({0})".format(array.format(x), x) for x in xs)
    if op.kind != "linear":
        lines += ["    if not along_axes(op, settings):", "        return None"]
    ndim = ", ".join(f"getattr({array.format(x)}, 'ndim', 0) - own_{x}" for x in xs)
    return [*lines, f"    out = forward({led}, **counted(settings, max({ndim}, 0)))"]


def batch_call(op: Op, array: str, names: dict[str, Any]) -> str:
    """The call of a batching rule, with what it asks for by name. All inputs get the leading axis, unless it asks which have it."""
    assert op.batch is not None
    asked = parameters(op.batch)
    names |= {"function": op.batch, "defaults": op.settings}
    given = {name: f"settings.get({name!r}, defaults[{name!r}])" for name in op.settings}
    for x in op.inputs:
        given[x] = array.format(x) if "batched" in asked else "({0} if own_{1} else batch.lead({0}))".format(array.format(x), x)
    given |= {
        "batched": f"({', '.join(f'own_{x}' for x in op.inputs)},)", "size": "batch.size", "row": "op", "settings": "defaults | settings",
    }  # fmt: skip
    return f"function({', '.join(given[name] for name in asked)})"


def seen(op: Op, t: Any, x: Any, raw: Any, settings: Any) -> None:
    """Let a view know what it looks into; it may be a copy."""
    if looks_into(t.array, raw):
        t.made, t.version = (op, x, settings), x.version


def compile_batched(op: Op) -> Any:
    """The function written by `batched_source`; False for rows without."""
    if not can_specialise(op):
        return False
    names = {"op": op, "forward": op.compute}
    return define(op.name, batched_source(op, names), names, f"<{op.name}, batched>")


def lifted_source(op: Op, names: dict[str, Any]) -> str:
    """The text of `run(batch, x, y, settings)`: the row on tensors of the levels below, which record; or None if there is more to do."""
    xs = op.inputs
    lines = [f"def {op.name}(batch, {', '.join(xs)}, settings):"]
    for x in xs:
        lines += [
            f"    own_{x} = type({x}) is Batched and {x}.home is batch",
            f"    raw_{x} = ({x}.value if {x}.tensor is None else {x}.tensor) if own_{x} else {x}",
        ]
    raws = ", ".join(f"raw_{x}" for x in xs)
    led = ", ".join(f"raw_{x} if own_{x} else batch.lead(raw_{x})" for x in xs)
    if op.batch is not None:
        lines.append(f"    out = {batch_call(op, 'raw_{0}', names)}")
    elif op.kind == "elementwise":
        known = [f"(own_{x} or type({x}) is int or type({x}) is float)" for x in xs]
        known += [f"not (own_{x} and own_{y} and raw_{x}.payload.ndim != raw_{y}.payload.ndim)" for x, y in combinations(xs, 2)]
        lines += [f"    if not ({' and '.join(known)}):", "        return None"]
        lines += ["    try:", f"        out = op.run({raws}, settings)", "    except (RuntimeError, ValueError):", "        return None"]
    else:
        ndim = ", ".join(f"raw_{x}.payload.ndim - 1 if own_{x} else 0" for x in xs)
        if op.kind != "linear":
            lines += ["    if not along_axes(op, settings):", "        return None"]
        lines.append(f"    out = op.run({led}, counted(settings, max({ndim}, 0)))")
    itself = " or ".join(f"out is raw_{x}" for x in xs)
    lines += [f"    if {itself} or not isinstance(out, Tensor):", "        return None"]
    lines += [
        "    t = new(Batched)",
        "    t.edge = t.view_info = t.extra = t._grad = t.face = t.made = None",
        f"    t.wants_grad, t.version, t.tensor = False, {f'{xs[0]}.version' if op.view else '[0]'}, out",
        "    t.array = out.payload if out.edge is None and unknown_below(out) else None",
        "    t.home, t.level = batch, batch.number",
    ]
    return "\n".join([*lines, "    return t"]) + "\n"


@cache
def compile_lifted(op: Op) -> Any:
    """The function written by `lifted_source`; one that leaves all to the general way for rows without."""
    names = {"op": op}
    return define(op.name, lifted_source(op, names), names, f"<{op.name}, lifted>") if can_specialise(op) else lambda *args: None


def mapped_source(op: Op, names: dict[str, Any]) -> str:
    """The text of `run(tape, batch, x, y, settings)`: both at once, for a tape right inside vmap; or None."""
    xs = op.inputs
    lines = [f"def {op.name}(tape, batch, {', '.join(xs)}, settings):", "    if not (tape.active and modes.grad):", "        return None"]
    for x in xs:
        lines += [
            f"    raw_{x}, edge_{x}, own_{x}, is_{x}, kind = {x}, None, False, True, type({x})",
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
            f"        all_{x}, own_{x} = raw_{x}.array, True",
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
    lines += [f"    if not ({' or '.join(f'own_{x}' for x in xs)}):", "        return None"]
    if op.broadcasts:  # before they are aligned
        lines.append(f"    shapes = ({', '.join(f'own_{x} and (all_{x}.shape, all_{x}.dtype)' for x in xs)},)")
    lines += array_lines(op, "all_{0}", names)
    lines += [
        "    array, out = out, new(Batched)",
        "    out.edge = out.view_info = out.extra = out._grad = out.face = out.made = out.tensor = None",
        "    out.wants_grad, out.version, out.array = False, [0], array",
        "    out.home, out.level = batch, batch.number",
        f"    if array.base is not None or {' or '.join(f'array is all_{x}' for x in xs)}:",
        "        seen(op, out, raw_{0}, all_{0}, settings)".format(xs[0]) if op.view else f"        alone(out, ({all_of},))",
        "    t = new(Taped)",
        "    t.edge = t.view_info = t.extra = t._grad = t.own = None",
        "    t.wants_grad, t.version = False, [0]",
        "    t.home, t.level, t.value = tape, tape.number, out",
    ]
    if op.view:
        lines.append(f"    tape.look_into(t, {xs[0]}, (op, settings, None))")
    differentiable = [x for x in xs if x in op.rules]
    if differentiable:
        lines += [f"    if array.dtype in FLOATING and ({' or '.join(f'edge_{x} is not None' for x in differentiable)}):"]
        if op.broadcasts:
            lines += ["        like = (array.shape, array.dtype)"]
            lines += [f"        alike, dtype = {' and '.join(f'shapes[{i}] == like' for i in range(len(xs)))}, None"]
        lines += branches(op, differentiable, 0, "        ")
    return "\n".join([*lines, "    return t"]) + "\n"


def compile_mapped(op: Op) -> Any:
    """The function written by `mapped_source`; False for rows without."""
    if not can_specialise(op):
        return False
    names = {"op": op, "forward": op.compute} | taped_classes(op)
    return define(op.name, mapped_source(op, names), names, f"<{op.name}, mapped>")


GENERATED.setdefault("Batched", None)  # until that module is imported
GENERATED.update({"aligned": aligned, "alone": alone, "apart": apart, "one_float": one_float, "same": same, "seen": seen})
