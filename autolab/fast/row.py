"""The shortcut of `apply`, and of `OpNode.run`, written out for one row.

For a row of fixed inputs and one result, the general way of `apply.py` and `node.py` is spelled out as Python source: no loops
over inputs, no plan to look up, no list to build. It does the same things in the same order; `source(op)` shows it. Whatever is
not usual (a transform is active, a saved value was written to) goes back to the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.dtypes import COMPLEX, FLOATING, INEXACT, NUMBERS
from autolab.engine.apply import apply_general, explained, looks_into, not_a_tensor, top_transform
from autolab.engine.inplace import View
from autolab.engine.modes import Untracked, modes, slow_threads
from autolab.engine.node import OpNode, accumulator, edge_of, next_number
from autolab.engine.op import Op, Out, Plan, Setting, Shape, Slot, Value
from autolab.engine.record import changed_inputs
from autolab.engine.saved import FREED, NEVER, NEVER_WRITTEN, with_history
from autolab.engine.tensor import Tensor, blank
from autolab.fast.codegen import NAMES, can_specialise, define
from autolab.fast.inline import inlined, product
from autolab.fast.kernel import KERNELS
from autolab.fast.pieces import compile_joined, compile_pieces, cuts
from autolab.fast.stacked import PRODUCT_RULES
from autolab.fast.sums import fit

OPERANDS = (Tensor, *NUMBERS, np.generic, np.ndarray)


def usual_view(source: Tensor) -> View | None:
    """`View.of`, where operations are recorded and nobody watches."""
    if type(source.version) is Untracked:
        return None
    view = source.view_info
    return View(source, source.payload, "") if view is None else View(view.base, view.memory, view.made)


NAMES.update(
    {
        "COMPLEX": COMPLEX, "FLOATING": FLOATING, "INEXACT": INEXACT,
        "FREED": FREED, "F32": np.dtype(np.float32), "F64": np.dtype(np.float64),
        "NEVER": NEVER, "NEVER_WRITTEN": NEVER_WRITTEN, "with_history": with_history,
        "Tensor": Tensor, "View": View, "usual_view": usual_view, "accumulator": accumulator, "edge_of": edge_of, "explained": explained,
        "f32": np.float32, "f64": np.float64, "fit": fit, "inf": np.inf, "general_run": OpNode.run, "apply_general": apply_general,
        "looks_into": looks_into, "modes": modes, "ndarray": np.ndarray, "new": object.__new__, "blank": blank,
        "next_number": next_number, "not_a_tensor": not_a_tensor, "operands": OPERANDS, "product": product, "shape_of": np.shape,
        "changed_inputs": changed_inputs, "slow_threads": slow_threads,
    }
)  # fmt: skip


def forward_source(op: Op, names: dict[str, Any], recorded: bool = True, checks_mode: bool = True) -> str:
    """The text of `run(x, y, settings)`: compute, wrap, and record if so asked; fills `names` with what it needs.

    If it `checks_mode`, it first looks whether this is the usual mode.

    A row of `matrices` takes the shortcut for two matrices of one dtype, and calls `otherwise(x, y)` for all else.
    """
    xs = op.inputs
    first = xs[0]
    args = ", ".join(xs)
    raws = ", ".join(f"raw_{x}" for x in xs)
    lines = [f"def {op.name}({args}, settings={{}}):"]
    if checks_mode:
        lines += ["    if slow_threads and not modes.usual:", f"        return unusual({args}, settings)"]
    if only_tensors(op):
        other = f"raise TypeError(not_a_tensor(op, {first})) from None" if len(xs) == 1 else general_call(op)
        lines += ["    try:", f"        {raws} = {', '.join(f'{x}.payload' for x in xs)}", "    except AttributeError:", f"        {other}"]
    else:
        for x in xs:
            lines += [f"    is_{x} = isinstance({x}, Tensor)", f"    raw_{x} = {x}.payload if is_{x} else {x}"]
    lines += promotion(op)
    if op.view:
        lines.append(f"    raw_{first} = {first}.writable_array()")
    call = forward_call(op, "raw_{0}", names)
    typed = None  # for arrays of float32
    if not op.settings and len(xs) == 1 and not op.view:
        typed = inlined(op.forward, {first: f"raw_{first}"}, names, xs)
        typed = None if typed == call else typed
    if typed and op.compute is op.forward:
        call = f"{typed} if dtype is F32 else {call}"
    elif typed and KERNELS[op.forward].least:
        call = f"{typed} if dtype is F32 and raw_{first}.size < {KERNELS[op.forward].least} else {call}"
    if op.matrices:
        lines += ["    try:", f"        out = raw_{first}.dot(raw_{xs[1]})", "    except ValueError:", f"        return otherwise({args})"]
    elif op.kind == "elementwise" and len(xs) > 1:
        lines += [
            "    try:",
            f"        out = {call}",
            "    except ValueError as error:",
            f"        raise explained(op, error, [{raws}]) from None",
        ]
    else:
        lines.append(f"    out = {call}")
    lines += ["    t = blank()", "    t.payload = out", "    t.edge = t.view_info = t.extra = t._grad = None", "    t.wants_grad = False"]
    if op.view:
        lines += [
            f"    if looks_into(out, raw_{first}):",
            f"        t.view_info, t.version = {'usual_view' if recorded else 'View.of'}({first}), {first}.version",
            *(["        if t.view_info is None:  # of an inference tensor: one too", "            return t"] if recorded else []),
            "    else:",
            "        t.version = [0]",
        ]
    else:
        lines.append("    t.version = [0]")
    if not recorded:
        return "\n".join([*lines, "    return t"]) + "\n"
    if "dtype" in op.settings:
        lines += ["    if out.dtype not in INEXACT:", "        return t"]
    differentiable = [x for x in xs if x in op.rules]
    for x in differentiable:
        lines += edge_lines(x, "" if only_tensors(op) else f"is_{x}")
    if differentiable:
        lines += branches(op, differentiable, 0, "    ", only_tensors(op))
    lines.append("    return t")
    return "\n".join(lines) + "\n"


def forward_call(op: Op, array: str, names: dict[str, Any]) -> str:
    """The forward computation as an expression, with the formula in it if that can be; `array` is the pattern of the inputs' names."""
    arrays = {x: array.format(x) for x in op.inputs}
    arguments = ", ".join([*arrays.values(), *(["**settings"] if op.settings else [])])
    formula = None if op.settings else inlined(op.forward, arrays, names)
    if formula is None:
        names["forward"], formula = op.forward, f"forward({arguments})"
    if op.compute is op.forward:
        return formula
    names["compute"], first, least = op.compute, arrays[op.inputs[0]], KERNELS[op.forward].least
    return (
        f"compute({arguments}) if type({first}) is ndarray and {first}.size >= {least} else {formula}" if least else f"compute({arguments})"
    )


def only_tensors(op: Op) -> bool:
    """Whether the shortcut is only for tensors: of rows that are seldom given anything else."""
    return len(op.inputs) == 1 or (op.kind != "elementwise" and all(x in op.rules for x in op.inputs))


def general_call(op: Op) -> str:
    return f"return otherwise({', '.join(op.inputs)})" if op.matrices else f"return apply_general(op, ({', '.join(op.inputs)},), settings)"


def edge_lines(x: str, asked: str) -> list[str]:
    """Where the gradient of an input goes, if the condition `asked` holds ("": it always does): what `edge_of` does."""
    lines = [
        f"    edge_{x} = {x}.edge if {x}.view_info is None else edge_of({x})",
        f"    if edge_{x} is None and {x}.wants_grad:",
        f"        edge_{x} = {x}.extra.accumulator() or accumulator({x})",
    ]
    return [f"    edge_{x} = None", f"    if {asked}:", *("    " + line for line in lines)] if asked else lines


def promotion(op: Op) -> list[str]:
    """Take the shortcut only if all operands are the same of float32 and float64, or Python numbers beside one of them.

    `alike` becomes true if all tensors among the inputs have the shape and dtype of the result; `dtype` becomes that of all
    arrays, if it is one.
    """
    watched = watched_by(op)
    if op.view or not watched:
        return ["    alike, dtype = False, None"] if op.broadcasts else []
    if op.matrices:
        a, b = (f"raw_{x}" for x in op.inputs)
        return [
            f"    if {a}.ndim != 2 or {b}.ndim != 2 or (dtype := {a}.dtype) is not {b}.dtype or (dtype is not F32 and dtype is not F64):",
            f"        {general_call(op)}",
        ]
    first, *others = watched
    otherwise = general_call(op)
    number = "kind_{0} is float or kind_{0} is int"
    array_or_number = "kind_{0} is ndarray or kind_{0} is f32 or kind_{0} is f64"  # an array, or a 0-d result
    arrays = "".join(f" and ((({array_or_number.format(x)}) and raw_{x}.dtype is dtype) or {number.format(x)})" for x in others)
    scalars = "".join(f" and (kind_{x} is kind_{first} or {number.format(x)})" for x in others)
    whole = len(watched) == len(op.inputs)  # else the inputs left out (masks) may stretch the others
    equal = " and ".join(f"shape_{x} == shape_{first}" for x in others) or "True"
    shapes = [f"shape_{first} = raw_{first}.shape"]
    shapes += [f"shape_{x} = raw_{x}.shape if {array_or_number.format(x)} else shape_{first}" for x in others]
    foreign = [line for x in others for line in (f"if not isinstance({x}, operands):", "    return NotImplemented")]
    return [
        *(f"    kind_{x} = type(raw_{x})" for x in watched),
        f"    if kind_{first} is ndarray:",
        f"        dtype = raw_{first}.dtype",
        f"        if not ((dtype is F32 or dtype is F64){arrays}):",
        *("            " + line for line in (*foreign, otherwise)),
        *([f"        {line}" for line in (*shapes, f"alike = {equal}")] if has_shapes(op) else ["        alike = False"] * op.broadcasts),
        f"    elif (kind_{first} is f32 or kind_{first} is f64){scalars}:",
        *([f"        alike, dtype = {whole}, None"] if op.broadcasts else ["        dtype = None"]),
        *(scalar_first(first, others[0]) if has_shapes(op) and len(others) == 1 else []),
        "    else:",
        *("        " + line for line in (*foreign, otherwise)),
        *(["    dtype = None"] if op.broadcasts and not op.promote else []),  # the others may have another dtype
    ]


def scalar_first(x: str, y: str) -> list[str]:
    """A 0-d number beside an array of its dtype."""
    return [
        f"    elif (kind_{x} is f32 or kind_{x} is f64) and kind_{y} is ndarray and raw_{y}.dtype is raw_{x}.dtype:",
        f"        alike, dtype, shape_{x}, shape_{y} = False, raw_{y}.dtype, (), raw_{y}.shape",
    ]


def watched_by(op: Op) -> list[str]:
    """The inputs whose dtypes the shortcut looks at."""
    return [op.inputs[i] for i in op.promoted_inputs] if op.promote else [x for x in op.inputs if x in op.rules][:1]


def has_shapes(op: Op) -> bool:
    """Whether the shortcut has `shape_x` of each input at hand."""
    return op.broadcasts and len(watched_by(op)) == len(op.inputs)


def branches(op: Op, inputs: list[str], mask: int, indent: str, tensors: bool = False) -> list[str]:
    """Nested ifs over which inputs have an edge, down to the node for each set of them. `tensors`: all inputs are."""
    if not inputs:
        return node_lines(op, mask, indent, tensors) if mask else []
    x, *rest = inputs
    without = branches(op, rest, mask, indent + "    ", tensors)
    return [
        f"{indent}if edge_{x} is not None:",
        *branches(op, rest, mask | 1 << op.inputs.index(x), indent + "    ", tensors),
        *([f"{indent}else:", *without] if without else []),
    ]


def node_lines(op: Op, mask: int, indent: str, tensors: bool) -> list[str]:
    """Make the node for one set of inputs that need a gradient: its edges, and the values its plan saves."""
    plan = op.plan(mask)
    xs = op.inputs
    edges = ", ".join(f"edge_{x}" if mask >> i & 1 else "None" for i, x in enumerate(xs))
    raws = ", ".join(f"raw_{x}" for x in xs)
    named = f"node_class({mask}, name({raws}{', **settings' if op.settings else ''}))"
    lines = [
        f"node = {named if op.namer else f'Node{mask}'}()",
        f"node.edges = ({edges},)",
        "node.hooks = None",
        "node.seq = next_number()",
    ]
    if op.settings:
        lines.append("node.settings = settings")
    if op.broadcasts:
        asking = [x for i, x in enumerate(xs) if mask >> i & 1]
        of = "shape_{0}" if has_shapes(op) else "raw_{0}.shape"
        metas = ", ".join(f"None if {of} == shape else ({of}, dtype)".format(x) if x in asking else "None" for x in xs)
        lines += [
            "if alike:",
            "    node.input_meta = None",
            "elif dtype is not None:",
            "    shape = out.shape",
            f"    node.input_meta = {metas}",
            "else:",
            f"    node.input_meta = changed_inputs(({', '.join(xs)},), [{raws}], t)",
        ]
    lines += [f"node.saved = ({''.join(f'{saved_text(slot, op, mask, tensors)}, ' for slot in plan.slots)})", "t.edge = node"]
    return [indent + line for line in lines]


def saved_text(slot: Slot, op: Op, mask: int, tensors: bool) -> str:
    """`slot.take` as an expression."""
    if isinstance(slot, Setting):
        return f"settings.get({slot.name!r}, {slot.default!r})"
    if isinstance(slot, Out):
        return "out, t.version, 0"
    x, is_tensor = op.inputs[slot.index], tensors or mask >> slot.index & 1
    if isinstance(slot, Shape):
        return f"raw_{x}.shape" if is_tensor else f"shape_of(raw_{x})"
    if is_tensor:
        return f"raw_{x}, {x}.version, {x}.version[0]"
    return f"raw_{x}, (version_{x} := {x}.version if is_{x} else NEVER), version_{x}[0]"


def history_text(slot: Slot, k: int) -> str:
    """The k-th value with its history, as an expression: what `slot.unpack` gives for create_graph; "" for what has none."""
    if isinstance(slot, Out):
        return f"with_history(v{k}, node, version{k})"
    if isinstance(slot, Value):
        return f"v{k} if version{k} is NEVER else with_history(v{k}, node.edges[{slot.index}], version{k})"
    return ""


def run_source(op: Op, plan: Plan, names: dict[str, Any]) -> str:
    """The text of a node's `run`: check the saved values, run the rules, undo broadcasting; fills `names`."""
    general = "return general_run(node, g, create_graph, free)"
    lines = ["def run(node, g, create_graph, free=False):", "    if g is None:", f"        {general}"]
    returned = [f"g_{x}" if x in gradients_of(op, plan) else "None" for x in op.inputs]
    lines += [*rule_lines(op, plan, names, "raise RuntimeError(FREED) from None", general), f"    return {', '.join(returned)},"]
    return "\n".join(lines) + "\n"


def gradients_of(op: Op, plan: Plan) -> list[str]:
    """The inputs that get a gradient, in the order of the rules."""
    return [op.inputs[i] for i, _, _ in plan.rules]


def rule_lines(op: Op, plan: Plan, names: dict[str, Any], freed: str, written: str, alone: bool = True) -> list[str]:
    """From `g` to `g_x` of each input, and `node.saved` released if it is to `free` it; fills `names` with what it needs.

    freed, written: what is done where the saved values are released already, or have been written to. alone: also for `create_graph`;
    else in a pass, where a product that leads to a leaf may wait for others, and `g_x` is None.
    """
    lines: list[str] = []
    targets, guards, values = [], [], []
    for k, slot in enumerate(plan.slots):
        values.append(f"v{k}")
        targets.append(f"v{k}")
        if slot.width == 3:
            targets += [f"version{k}", f"at{k}"]
            guards.append(f"version{k}[0] != at{k}")
    if targets:
        lines += ["    try:", f"        {', '.join(targets)}, = node.saved", "    except TypeError:  # None", f"        {freed}"]
    if guards:
        lines += [f"    if {' or '.join(guards)}:", f"        {written}"]
    revived = [f"        v{k} = {text}" for k, slot in enumerate(plan.slots) if (text := history_text(slot, k))]
    if revived and alone:
        lines += ["    if create_graph:", *revived]
    for k, (_, wanted) in enumerate(plan.shared):
        lines.append(f"    s{k} = shared_{k}({', '.join(values[w] for w in wanted)})")
    values += [f"s{k}" for k in range(len(plan.shared))]
    for i, rule, wanted in plan.rules:
        x, arguments = op.inputs[i], ["g", *(values[k] for k in wanted)]
        text = rule_call(op, x, arguments, names)
        if not alone and (op, x) in PRODUCT_RULES:
            operands = PRODUCT_RULES[op, x].format_map(dict(zip((rule.incoming, *rule.needs), arguments)))
            text = f"None if edge_{x} in products and wait(products, edge_{x}, {operands}) else {text}"
        lines.append(f"    g_{x} = {text}")
    if op.broadcasts:
        lines += ["    if node.input_meta is not None:", f"        {', '.join(f'like_{x}' for x in op.inputs)} = node.input_meta"]
        for i, _, _ in plan.rules:
            x = op.inputs[i]
            text = f"fit(g_{x}, like_{x})"
            if not alone:
                text = f"None if edge_{x} in products and wait_for_sum(products, edge_{x}, g_{x}) else {text}"
            lines += [f"        if like_{x} is not None:", f"            g_{x} = {text}"]
    return [*lines, *release_lines(plan)]


def rule_call(op: Op, x: str, values: list[str], names: dict[str, Any]) -> str:
    """The rule of one input as an expression, with the formula in it if that can be."""
    rule, call = op.rules[x], f"({', '.join(values)})"
    arguments = dict(zip((rule.incoming, *rule.needs), values))
    text = inlined(rule.function, arguments, names) or f"rule_{x}{call}"
    by_dot = inlined(rule.function, arguments, names, matrices=True) if op.products else text
    typed, one = None, len(op.inputs) == 1
    if op.promote or one:  # saved values have the dtype of g where they were brought to one; `input_meta` says what to give back
        typed = inlined(rule.function, arguments, names, arrays_of(op, arguments), one_shape=one and op.kind == "elementwise")
    if by_dot != text:
        text = f"({by_dot}) if type(g) is ndarray else {text}"
    elif typed not in (text, None):
        text = f"{typed} if type(g) is ndarray and g.dtype is F32 and g.ndim else {text}"
    if rule.compute is not rule.function:
        least = KERNELS[rule.function].least
        on_arrays = f"type(g) is ndarray and g.size >= {least}" if least else "not isinstance(g, Tensor)"
        text = f"kernel_{x}{call} if {on_arrays} else {text}"
    return text


def release_lines(plan: Plan) -> list[str]:
    """Release what was kept, if so asked."""
    return ["    if free:", "        node.saved = None"] if plan.holds_values else []


def arrays_of(op: Op, names: Any) -> set[str]:
    """Those among the names a rule asks for that are arrays like the result: the gradient, the result, the inputs."""
    return {name for name in names if name not in op.settings and name not in op.shared and not name.endswith("_shape")}


def compile_run(op: Op, plan: Plan) -> Callable[..., Any] | None:
    """The function written by `run_source`; None if this row goes the general way."""
    if cuts(op):
        return compile_joined(op, plan)
    if not can_specialise(op):
        return None
    names = names_of_rules(op, plan)
    run: Any = define("run", run_source(op, plan, names), names, f"<gradients of {op.name}>")
    run.written_for = plan
    return run  # type: ignore[no-any-return]


def names_of_rules(op: Op, plan: Plan) -> dict[str, Any]:
    """What the text of `rule_lines` calls."""
    names: dict[str, Any] = {f"rule_{op.inputs[i]}": rule.function for i, rule, _ in plan.rules}
    names |= {f"kernel_{op.inputs[i]}": rule.compute for i, rule, _ in plan.rules}
    return names | {f"shared_{k}": function for k, (function, _) in enumerate(plan.shared)}


def compile_forward(op: Op, otherwise: Callable[..., Any] | None = None) -> Callable[..., Any] | None:
    """The function written by `forward_source`; None if this row goes the general way."""
    if cuts(op):
        return compile_pieces(op)
    if not can_specialise(op):
        return None
    names: dict[str, Any] = {"op": op}
    if op.matrices:
        names["otherwise"] = otherwise or (lambda *args: apply_general(op, args, {}))
    variants: dict[bool, Callable[..., Any]] = {}

    def variant(recorded: bool) -> Callable[..., Any]:
        run = variants.get(recorded)
        if run is None:
            about = f"<{op.name}, {'' if recorded else 'not '}recorded>"
            run = variants[recorded] = define(op.name, forward_source(op, names, recorded, checks_mode=False), names, about)
        return run

    def unusual(*args: Any) -> Any:
        """A transform runs, or somebody watches."""
        home = None if modes.watched else top_transform(args)
        if home is not None and not op.matrices:
            return home.apply(op, args[:-1], args[-1])
        if home is not None or modes.watched:
            return names["otherwise"](*args[:-1]) if op.matrices else apply_general(op, args[:-1], args[-1])
        return variant(modes.grad)(*args)

    inside = define("inside", inside_source(op), {"op": op, "unusual": unusual, "variant": variant}, f"<{op.name}, inside>")
    names |= node_classes(op) | {"unusual": inside}
    return define(op.name, forward_source(op, names), names, f"<{op.name}>")


def inside_source(op: Op) -> str:
    """The text of what a shortcut does where this is not the usual mode: recording is off, a box is sent to its level, or `unusual`."""
    arguments = f"{', '.join(op.inputs)}, settings"
    lines = [f"def inside({arguments}):", "    if modes.fast:", f"        return variant(False)({arguments})"]
    lines += home_lines(op.inputs, "{0}", "isinstance({0}, Tensor)", f"return unusual({arguments})")
    fits = f" or not two_matrices({', '.join(op.inputs)})" if op.matrices else ""
    lines += [
        "    if home is None and not modes.watched:",
        f"        return variant(modes.grad)({arguments})",
        f"    if home is None or home.watched{fits}:",
        f"        return unusual({arguments})",
    ]
    return "\n".join([*lines, f"    return home.apply(op, ({', '.join(op.inputs)},), settings)"]) + "\n"


def two_matrices(x: Any, y: Any) -> bool:
    """Whether these are tensors of two axes and one dtype that can be multiplied."""
    if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
        return False
    a, b = x.payload, y.payload
    return a.ndim == b.ndim == 2 and a.dtype is b.dtype and a.shape[1] == b.shape[0]


def home_lines(xs: list[str], value: str, is_tensor: str, strange: str) -> list[str]:
    """`home`: what `top_transform` gives for the values, but `strange` for a tensor that looks into a box without being one."""
    lines = ["    home, level = None, 0"]
    for v, asked in [(value.format(x), is_tensor.format(x)) for x in xs]:
        lines += [
            f"    if {asked}:",
            f"        if {v}.level:",
            f"            if {v}.level > level:",
            f"                home, level = {v}.home, {v}.level",
            f"        elif {v}.view_info is not None and {v}.view_info.base.level:",
            f"            {strange}",
        ]
    return lines


def node_classes(op: Op) -> dict[str, Any]:
    """The classes of the nodes that `node_lines` makes, by the names they have there."""
    masks = [] if op.namer else [mask for mask in range(1, 1 << len(op.inputs)) if not mask & ~op.mask]
    return {f"Node{mask}": op.node_class(mask, op.node_name) for mask in masks} | {"node_class": op.node_class, "name": op.namer}


def source(op: Op) -> str:
    """The functions that run a row and its rules, for reading."""
    if not can_specialise(op):
        return f"# {op.name} has {'any number of inputs' if op.variadic else 'several results'}: it takes the general way.\n"
    masks = [m for m in range(1, 1 << len(op.inputs)) if not m & ~op.mask]
    return "\n\n".join([forward_source(op, {}), *(f"# needs {m:b}\n{run_source(op, op.plan(m), {})}" for m in masks)])


NAMES["two_matrices"] = two_matrices
