"""Backward inside vmap: the nodes of a tape run on the arrays of all samples.

An elementwise rule holds entry by entry, so it runs on the arrays as it is (`entrywise_source`). Of other rules the calls are noted once:
a rule is an expression, so which rows it calls, and on what, follows from shapes, dtypes and settings. The second time that a node of a
tape meets the same ones, the calls are written out as a function of arrays, and later nodes need no boxes on the way. Where not all can be
noted (a call on a tensor that is not known, a setting that is no plain value) the rules run on boxes each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.op import Op
from autolab.engine.tensor import Tensor, new_tensor
from autolab.fast.codegen import NAMES, can_specialise, define
from autolab.fast.in_vmap import batched_box_lines
from autolab.fast.inline import inlined
from autolab.fast.kernel import KERNELS
from autolab.fast.row import release_lines
from autolab.formula import parameters
from autolab.transforms.batched import axes_from_end, match_ndim

MOST = 64  # kinds of call that are remembered for one class of nodes
PLAIN = (int, float, str, bool, type(None), np.dtype)
ONCE = "met once"


def entrywise_source(op: Op, plan: Any, names: dict[str, Any]) -> str:
    """The text of `run` of an elementwise node on a tape inside vmap: its rules on arrays, if all of them have the shape of `g`."""
    otherwise = "return node.samplewise(g, create_graph, free)"
    lines = [
        "def run(node, g, create_graph, free=False):",
        "    if type(g) is not Batched or g.array is None or g.version[0] or g.home.watched:",
        f"        {otherwise}",
        "    if node.input_meta is not None or node.saved is None:",
        f"        {otherwise}",
        "    array, batch = g.array, g.home",
    ]
    targets, values = [], []
    for k, slot in enumerate(plan.slots):
        targets.append(f"v{k}")
        if slot.width == 3:
            targets += [f"version{k}", f"at{k}"]
            values += [
                f"    if version{k}[0] != at{k}:",
                f"        {otherwise}",
                f"    if isinstance(v{k}, Tensor):",
                f"        a{k} = v{k}.array if type(v{k}) is Batched and v{k}.home is batch else None",
                f"        if a{k} is None or a{k}.shape != array.shape or a{k}.dtype is not array.dtype:",
                f"            {otherwise}",
                f"        v{k} = a{k}",
            ]
    if targets:
        lines.append(f"    {', '.join(targets)}, = node.saved")
    returned = ["None"] * len(op.inputs)
    for i, rule, wanted in plan.rules:
        needs = op.rules[op.inputs[i]]
        inputs = dict(zip((needs.incoming, *needs.needs), ("array", *(f"v{k}" for k in wanted))))
        text = inlined(rule.function, inputs, names)
        if text is None or rule.compute is not rule.function:
            names[f"rule{i}"], call = rule.compute, f"rule{i}({', '.join(inputs.values())})"
            text = f"{call} if array.size >= {KERNELS[rule.function].least} else {text}" if text else call
        values += [f"    out = {text}", f"    g{i} = g if out is array else batch.wrap(out)"]
        returned[i] = f"g{i}"
    return "\n".join([*lines, *values, *release_lines(plan), f"    return {', '.join(returned)},"]) + "\n"


def compile_entrywise(cls: Any) -> Callable[..., Any]:
    """`run`, written by `entrywise_source`."""
    names: dict[str, Any] = {}
    return define("run", entrywise_source(cls.op, cls.plan, names), names, f"<entrywise gradients of {cls.op.name}>")


def samplewise_source(op: Op, plan: Any) -> str:
    """The text of `samplewise(node, g, create_graph, free)`: what a node on a tape inside vmap does, on arrays if its calls are known."""
    lines = [
        "def samplewise(node, g, create_graph, free=False):",
        "    if type(g) is not Batched or g.array is None or g.version[0] or node.saved is None or g.home.watched:",
        "        return node.run_general(g, create_graph, free)",
        "    batch, array = g.home, g.array",
    ]
    targets, guards, key, arrays = [], [], ["array.shape", "array.dtype.num"], ["array"]
    values: list[str] = []
    for k, slot in enumerate(plan.slots):
        targets.append(f"v{k}")
        if slot.width == 3:
            targets += [f"version{k}", f"at{k}"]
            guards.append(f"version{k}[0] != at{k}")
            key += [f"a{k}.shape", f"a{k}.dtype.num", f"batched{k}"]
            arrays.append(f"a{k}")
            values += [
                f"    if type(v{k}) is Batched:",
                f"        if v{k}.home is not batch or v{k}.version[0] or v{k}.array is None:",
                "            return node.run_general(g, create_graph, free)",
                f"        a{k}, batched{k} = v{k}.array, True",
                f"    elif not isinstance(v{k}, Tensor) or v{k}.level or v{k}.wants_grad or (v{k}.edge or v{k}.view_info) is not None:",
                "        return node.run_general(g, create_graph, free)",
                "    else:",
                f"        a{k}, batched{k} = v{k}.payload, False",
            ]
        else:
            key.append(f"v{k}")
    if op.broadcasts:
        key.append("node.input_meta")
    if targets:
        lines.append(f"    {', '.join(targets)}, = node.saved")
    if guards:
        lines += [f"    if {' or '.join(guards)}:", "        return node.run_general(g, create_graph, free)"]
    return "\n".join([
        *lines, *values,
        f"    key = ({', '.join(key)})",
        "    try:",
        "        replay = replays.get(key)",
        "    except TypeError:  # a setting that is an array",
        "        return node.run_general(g, create_graph, free)",
        "    if replay is None or replay is ONCE:",
        "        if not met_before(replays, key):",
        "            return node.run_general(g, create_graph, free)",
        f"        replay = replays[key] = record_calls(node, batch, [{', '.join(arrays)}])",
        "    return replay(node, g, create_graph, free, batch, " + ", ".join(arrays) + ")",
    ]) + "\n"  # fmt: skip


def met_before(replays: dict[Any, Any], key: Any) -> bool:
    """Whether these shapes and settings are met for the second time; the first time is remembered."""
    if replays.get(key) is ONCE:
        return True
    if is_plain(key):
        if len(replays) > MOST:
            replays.clear()
        replays[key] = ONCE
    return False


def is_plain(value: Any) -> bool:
    return all(map(is_plain, value)) if isinstance(value, tuple) else isinstance(value, PLAIN)


def run_on_boxes(node: Any, g: Any, create_graph: bool, free: bool, *inputs: Any) -> Any:
    """What stands for calls that cannot be noted."""
    return node.run_general(g, create_graph, free)


def compile_samplewise(cls: Any) -> Callable[..., Any]:
    """`samplewise`, written by `samplewise_source`."""
    return define("samplewise", samplewise_source(cls.op, cls.plan), {"replays": {}}, f"<samplewise of {cls.op.name}>")


def record_calls(node: Any, batch: Any, arrays: list[Any]) -> Any:
    """Run the rules of a node on boxes around the arrays, and write out what they call as a function of arrays."""
    boxes, saved = [batch.put(arrays[0])], list(node.saved)
    for slot in node.plan.slots:
        if slot.width == 3:  # in a new tensor, so that each is known by itself
            raw, start = arrays[len(boxes)], slot.start
            boxes.append(batch.put(raw) if saved[start].level else new_tensor(raw))
            saved[start : start + 3] = boxes[-1], boxes[-1].version, 0
    again = object.__new__(type(node))
    again.edges, again.hooks, again.seq, again.saved = node.edges, None, node.seq, tuple(saved)
    if node.op.settings:
        again.settings = node.settings
    if node.op.broadcasts:
        again.input_meta = node.input_meta
    inputs = [f"x{k}" for k in range(len(boxes))]
    texts = {id(box): text for box, text in zip(boxes, inputs)}
    names: dict[str, Any] = {}
    lines: list[str] = []
    alive = list(boxes)  # so that no other takes their place in memory

    def note(op: Op, args: Any, settings: dict[str, Any]) -> Any:
        box = type(batch).apply(batch, op, args, settings)
        alive.append(box)
        operands = [texts.get(id(a)) if isinstance(a, Tensor) else repr(a) if type(a) in (int, float) else None for a in args]
        # Made on arrays, from what is known; a setting that is an array may have come from the values.
        if can_specialise(op) and box.tensor is None and None not in operands and is_plain(tuple(settings.values())):
            k = len(lines)
            texts[id(box)] = f"y{k}"
            if op.name in ("expand", "reshape") and args[0].level and args[0].array.size == box.array.size:  # other axes, nothing repeated
                text = f"{operands[0]}.reshape({box.array.shape})"
            else:
                text = call_on_arrays(op, batch, args, operands, settings, names, k)
            lines.append(f"    y{k} = {text}")
        return box

    batch.apply = note
    try:
        gradients = again.run_general(boxes[0], False)
    finally:
        del batch.apply
    results = ["None" if gi is None else texts.get(id(gi), "") for gi in gradients]
    if any(text in ("", *inputs[1:]) for text in results):
        return run_on_boxes
    for text in dict.fromkeys(results):
        if text not in ("None", "x0"):
            lines += [
                *batched_box_lines(f"b{text}", text),
                f"    if {text}.base is not None or {' or '.join(f'{text} is {x}' for x in inputs)}:",
                f"        copy_if_shared(b{text}, ({', '.join(inputs)},))",
            ]
    returned = ", ".join("g" if text == "x0" else text if text == "None" else f"b{text}" for text in results)
    head = f"def replay(node, g, create_graph, free, batch, {', '.join(inputs)}):"
    text = "\n".join([head, *lines, *release_lines(node.plan), f"    return {returned},"]) + "\n"
    return define("replay", text, names, f"<replay of {node.op.name}>")


def call_on_arrays(op: Op, batch: Any, args: Any, texts: list[Any], settings: dict[str, Any], names: dict[str, Any], k: int) -> str:
    """The row on the arrays of all samples, as an expression: what `Batch.vectorize` does. Constants are added to `names`."""
    batched = tuple([isinstance(a, Tensor) and a.level > 0 for a in args])
    ndims = [getattr(a, "ndim", 0) for a in args]

    def name(value: Any, text: str) -> str:
        names[text] = value
        return text

    if not all(batched):
        name(type(batch)(batch.size).ensure_batched, "ensure_batched")  # not of this vmap, which holds its inputs
    led = [text if b or not isinstance(a, Tensor) else f"ensure_batched({text})" for a, text, b in zip(args, texts, batched)]
    if op.batch is not None:
        asked, settings = parameters(op.batch), op.settings | settings
        inputs = {x: name(value, f"s{k}_{x}") for x, value in settings.items() if x in asked}
        inputs |= dict(zip(op.inputs, texts if "batched" in asked else led))
        for x, value in {"batched": batched, "size": batch.size, "row": op, "settings": settings}.items():
            if x in asked:
                inputs[x] = name(value, f"s{k}_{x}")
        return f"{name(op.batch, f'f{k}')}({', '.join(inputs[x] for x in asked)})"
    function = name(op.compute, f"f{k}")
    if op.kind == "elementwise":
        if any(n != max(ndims) for n, b in zip(ndims, batched) if b):
            spread = f"*{name(match_ndim, 'match_ndim')}({batch.size}, ({', '.join(texts)},), {batched})"
            return f"{function}({spread}{keywords(settings, name, k)})"
        call = None if settings or op.compute is not op.forward else inlined(op.forward, dict(zip(op.inputs, texts)), names)
        return call or f"{function}({', '.join(texts)}{keywords(settings, name, k)})"
    return f"{function}({', '.join(led)}{keywords(axes_from_end(settings, max(ndims)), name, k)})"


def keywords(settings: dict[str, Any], name: Any, k: int) -> str:
    return "".join(f", {x}={name(value, f's{k}_{x}')}" for x, value in settings.items())


NAMES.update({"ONCE": ONCE, "met_before": met_before, "record_calls": record_calls})
