"""The shortcut of `apply`, written out for one row.

For a row of fixed inputs and one result, the general way of `apply.py` and `node.py` is spelled out as Python source: no loops over
inputs, no plan to look up, no list to build. It does the same things in the same order; `source(op)` shows it. Whatever is not usual
(recording is off, a transform is active, a saved value was written to) goes back to the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autolab.engine.apply import generally, join, looks_into, stretched
from autolab.engine.dtypes import FLOATING
from autolab.engine.inplace import View
from autolab.engine.modes import modes
from autolab.engine.node import FREED, OpNode, accumulator, fit, next_number
from autolab.engine.op import NEVER
from autolab.engine.tensor import Tensor

if TYPE_CHECKING:
    from autolab.engine.op import Op, Plan

MOST_INPUTS = 3
NAMES: dict[str, Any] = {
    "Tensor": Tensor, "new": object.__new__, "modes": modes, "generally": generally, "join": join, "accumulator": accumulator,
    "stretched": stretched, "looks_into": looks_into, "shape_of": np.shape, "View": View, "next_number": next_number, "fit": fit,
    "FREED": FREED, "NEVER": NEVER, "FLOATING": FLOATING, "ndarray": np.ndarray, "f32": np.float32, "f64": np.float64,
    "F32": np.dtype(np.float32), "F64": np.dtype(np.float64), "general_gradients": OpNode.gradients,
}  # fmt: skip


def can_specialise(op: Op) -> bool:
    return not op.variadic and op.outputs == 1 and 1 <= len(op.inputs) <= MOST_INPUTS


def forward_source(op: Op) -> str:
    """The text of `run(x, y, settings)`: compute, wrap, record."""
    xs = op.inputs
    lines = [
        f"def {op.name}({', '.join(xs)}, settings={{}}):",
        "    if not modes.fast:",
        f"        return generally(op, ({', '.join(xs)},), settings)",
    ]
    for x in xs:
        lines += [f"    is_{x} = isinstance({x}, Tensor)", f"    raw_{x} = {x}.payload if is_{x} else {x}"]
    lines += promotion(op)
    if op.view:
        lines.append(f"    raw_{xs[0]} = {xs[0]}.box()")
    raws = ", ".join(f"raw_{x}" for x in xs)
    lines += [
        f"    out = forward({raws}{', **settings' if op.settings else ''})",
        "    t = new(Tensor)",
        "    t.payload = out",
        "    t.edge = t.window = t.extra = t._grad = None",
        "    t.flag = False",
    ]
    if op.view:
        lines += [
            f"    if looks_into(out, raw_{xs[0]}):",
            f"        t.window, t.version = View.of({xs[0]}, op, settings), {xs[0]}.version",
            "    else:",
            "        t.version = [0]",
        ]
    else:
        lines.append("    t.version = [0]")
    if "dtype" in op.settings:
        lines += ["    if out.dtype not in FLOATING:", "        return t"]
    differentiable = [x for x in xs if x in op.rules]
    for x in differentiable:
        lines += [
            f"    edge_{x} = None",
            f"    if is_{x}:",
            f"        if {x}.window is not None:",
            f"            {x}.window.catch_up({x})",
            f"        edge_{x} = {x}.edge",
            f"        if edge_{x} is None and {x}.flag:",
            f"            edge_{x} = (accumulator({x}), 0)",
        ]
    if differentiable:
        lines += branches(op, differentiable, 0, "    ")
    lines.append("    return t")
    return "\n".join(lines) + "\n"


def promotion(op: Op) -> list[str]:
    """Skip promotion when all operands are the same of float32 and float64, or Python numbers beside one of them."""
    if not op.promote:
        return []
    together = [op.inputs[i] for i in op.together]
    first, *others = together
    if not others and op.promote == "join":
        return []
    raws = ", ".join(f"raw_{x}" for x in op.inputs)
    number = "kind_{0} is float or kind_{0} is int"
    arrays = "".join(f" and ({number.format(x)} or (kind_{x} is ndarray and raw_{x}.dtype is dtype))" for x in others)
    scalars = "".join(f" and (kind_{x} is kind_{first} or {number.format(x)})" for x in others)
    return [
        *(f"    kind_{x} = type(raw_{x})" for x in together),
        f"    if kind_{first} is ndarray:",
        f"        dtype = raw_{first}.dtype",
        f"        if not ((dtype is F32 or dtype is F64){arrays}):",
        f"            {raws}{',' if len(op.inputs) == 1 else ''} = join(op, [{raws}])",
        f"    elif not ((kind_{first} is f32 or kind_{first} is f64){scalars}):",
        f"        {raws}{',' if len(op.inputs) == 1 else ''} = join(op, [{raws}])",
    ]


def branches(op: Op, inputs: list[str], mask: int, indent: str) -> list[str]:
    """Nested ifs over which inputs have an edge, down to the node for each set of them."""
    if not inputs:
        return node_lines(op, mask, indent) if mask else [f"{indent}pass"]
    x, *rest = inputs
    return [
        f"{indent}if edge_{x} is None:",
        *branches(op, rest, mask, indent + "    "),
        f"{indent}else:",
        *branches(op, rest, mask | 1 << op.inputs.index(x), indent + "    "),
    ]


def node_lines(op: Op, mask: int, indent: str) -> list[str]:
    """Make the node for one set of inputs that need a gradient: its edges, and the values its plan saves."""
    plan = op.plan(mask)
    xs = op.inputs
    edges = ", ".join(f"edge_{x}" if mask >> i & 1 else "None" for i, x in enumerate(xs))
    raws = ", ".join(f"raw_{x}" for x in xs)
    named = f"node_class({mask}, name({raws}{', **settings' if op.settings else ''}))"
    lines = [
        f"node = new({named if op.namer else f'Node{mask}'})",
        f"node.edges = ({edges},)",
        "node.hooks = None",
        "node.seq = next_number()",
        "node.settings = settings",
    ]
    if op.kind != "elementwise" or len(xs) == 1:
        like = "None"
    else:
        same = " and ".join(f"type(raw_{x}) is not ndarray" for x in xs)
        arrays = " and ".join(f"type(raw_{x}) is ndarray and raw_{x}.shape == out.shape" for x in xs)
        if op.promote and len(op.together) == len(xs):
            scalars = " or ".join(f"type(raw_{x}) is float or type(raw_{x}) is int" for i, x in enumerate(xs) if not mask >> i & 1)
            arrays = arrays if not scalars else f"({arrays}) or {scalars}"
            unchanged = " and ".join(f"raw_{x} is {x}.payload" for i, x in enumerate(xs) if mask >> i & 1)
        else:
            unchanged = "True"
        like = f"None if (({same}) or {arrays}) and {unchanged} else stretched(({', '.join(xs)},), [{raws}], t)"
    lines += [f"node.like = {like}", f"node.saved = ({''.join(f'{slot.source(op, mask)}, ' for slot in plan.slots)})", "t.edge = (node, 0)"]
    return [indent + line for line in lines]


def gradients_source(op: Op, plan: Plan) -> str:
    """The text of a node's `gradients`: check the saved values, run the rules, undo broadcasting."""
    lines = [
        "def gradients(node, g, create_graph):",
        "    if create_graph or g is None:",
        "        return general_gradients(node, g, create_graph)",
    ]
    if plan.holds_values:
        lines += ["    if node.saved is None:", "        raise RuntimeError(FREED)"]
    targets, guards, values = [], [], []
    for k, slot in enumerate(plan.slots):
        values.append(f"v{k}")
        if slot.versioned:
            targets.append(f"(v{k}, version{k}, at{k})")
            guards.append(f"version{k}[0] != at{k}")
        else:
            targets.append(f"v{k}")
    if targets:
        lines.append(f"    {', '.join(targets)}, = node.saved")
    if guards:
        lines += [f"    if {' or '.join(guards)}:", "        return general_gradients(node, g, create_graph)"]
    returned = ["None"] * len(op.inputs)
    for i, _, wanted in plan.rules:
        x = op.inputs[i]
        lines.append(f"    g_{x} = rule_{x}({', '.join(['g', *(values[k] for k in wanted)])})")
        returned[i] = f"g_{x}"
    if op.kind == "elementwise" and len(op.inputs) > 1:
        lines.append("    if node.like is not None:")
        lines += [f"        g_{op.inputs[i]} = fit(g_{op.inputs[i]}, *node.like[{i}])" for i, _, _ in plan.rules]
    lines.append(f"    return {', '.join(returned)},")
    return "\n".join(lines) + "\n"


def compile_gradients(op: Op, plan: Plan) -> Callable[..., Any]:
    """The function written by `gradients_source`."""
    names = {**NAMES, **{f"rule_{op.inputs[i]}": rule for i, rule, _ in plan.rules}}
    exec(compile(gradients_source(op, plan), f"<gradients of {op.name}>", "exec"), names)
    return names["gradients"]  # type: ignore[no-any-return]


def compile_forward(op: Op) -> Callable[..., Any]:
    """The function written by `forward_source`."""
    names = {**NAMES, "op": op, "forward": op.forward, "node_class": op.node_class, "name": op.namer}
    differentiable = [i for i, x in enumerate(op.inputs) if x in op.rules]
    if not op.namer:
        for mask in range(1, 1 << len(op.inputs)):
            if all(i in differentiable for i in range(len(op.inputs)) if mask >> i & 1):
                names[f"Node{mask}"] = op.node_class(mask, op.node_name)
    exec(compile(forward_source(op), f"<{op.name}>", "exec"), names)
    return names[op.name]  # type: ignore[no-any-return]


def source(op: Op) -> str:
    """All that is generated for a row, for reading."""
    if not can_specialise(op):
        return f"# {op.name} has {'any number of inputs' if op.variadic else 'several results'}: it takes the general way.\n"
    masks = [m for m in range(1, 1 << len(op.inputs)) if not m & ~op.mask]
    return "\n\n".join([forward_source(op), *(f"# needs {m:b}\n{gradients_source(op, op.plan(m))}" for m in masks)])
