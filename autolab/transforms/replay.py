"""Backward inside vmap: what the rules of a node call is noted once, and from then on called on the arrays of all samples.

A rule is an expression: which rows it calls, and on what, follows from shapes, dtypes and settings. The second time that a node of a tape
meets the same ones, the calls are noted and written out as a function of arrays; later nodes need no boxes on the way. Where not all can be
noted (a call on a tensor that is not known, a setting that is no plain value) the rules run on boxes each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autolab.engine.modes import GENERATED
from autolab.engine.tensor import Tensor, new_tensor
from autolab.fast.formula import inlined, parameters
from autolab.fast.kernel import always
from autolab.fast.row import can_specialise, define, let_go
from autolab.transforms.samples import aligned, alone, counted

if TYPE_CHECKING:
    from autolab.engine.op import Op

MOST = 64  # kinds of call that are remembered for one class of nodes
PLAIN = (int, float, str, bool, type(None), np.dtype)
SEEN = "seen once"


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
                f"        own = v{k}.array if type(v{k}) is Batched and v{k}.home is batch else None",
                "        if own is None or own.shape != array.shape or own.dtype is not array.dtype:",
                f"            {otherwise}",
                f"        v{k} = own",
            ]
    if targets:
        lines.append(f"    {', '.join(targets)}, = node.saved")
    returned = ["None"] * len(op.inputs)
    for i, rule, wanted in plan.rules:
        needs = op.rules[op.inputs[i]]
        given = dict(zip((needs.incoming, *needs.needs), ("array", *(f"v{k}" for k in wanted))))
        text = (None if always(rule.function) else inlined(rule.function, given, names)) or f"rule{i}({', '.join(given.values())})"
        names[f"rule{i}"] = rule.compute
        values += [f"    made = {text}", f"    g{i} = g if made is array else batch.around(made)"]
        returned[i] = f"g{i}"
    return "\n".join([*lines, *values, *let_go(plan), f"    return {', '.join(returned)},"]) + "\n"


def first_entrywise(node: Any, g: Any, create_graph: bool, free: bool = False) -> Any:
    """Called once, in place of `run`: write it for this class of nodes."""
    cls, names = type(node), dict[str, Any]()
    cls.run = define("run", entrywise_source(node.op, node.plan, names), names, f"<entrywise gradients of {node.op.name}>")
    return cls.run(node, g, create_graph, free)


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
            key += [f"a{k}.shape", f"a{k}.dtype.num", f"own{k}"]
            arrays.append(f"a{k}")
            values += [
                f"    if type(v{k}) is Batched:",
                f"        if v{k}.home is not batch or v{k}.version[0] or v{k}.array is None:",
                "            return node.run_general(g, create_graph, free)",
                f"        a{k}, own{k} = v{k}.array, True",
                f"    elif not isinstance(v{k}, Tensor) or v{k}.level or v{k}.wants_grad or (v{k}.edge or v{k}.view_info) is not None:",
                "        return node.run_general(g, create_graph, free)",
                "    else:",
                f"        a{k}, own{k} = v{k}.payload, False",
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
        "        known = known_calls.get(key)",
        "    except TypeError:  # a setting that is an array",
        "        return node.run_general(g, create_graph, free)",
        "    if known is None or known is SEEN:",
        "        if not meet(known_calls, key):",
        "            return node.run_general(g, create_graph, free)",
        f"        known = known_calls[key] = noted(node, batch, [{', '.join(arrays)}])",
        "    return known(node, g, create_graph, free, batch, " + ", ".join(arrays) + ")",
    ]) + "\n"  # fmt: skip


def meet(known_calls: dict[Any, Any], key: Any) -> bool:
    """Whether these shapes and settings are met for the second time; the first time is remembered."""
    if known_calls.get(key) is SEEN:
        return True
    if plain(key):
        if len(known_calls) > MOST:
            known_calls.clear()
        known_calls[key] = SEEN
    return False


def plain(value: Any) -> bool:
    return all(map(plain, value)) if isinstance(value, tuple) else isinstance(value, PLAIN)


def generally(node: Any, g: Any, create_graph: bool, free: bool, *given: Any) -> Any:
    """What stands for calls that cannot be noted."""
    return node.run_general(g, create_graph, free)


def first_samplewise(node: Any, g: Any, create_graph: bool, free: bool = False) -> Any:
    """Called once, in place of `samplewise`: write it for this class of nodes."""
    cls, op = type(node), node.op
    cls.samplewise = define("samplewise", samplewise_source(op, node.plan), {"known_calls": {}}, f"<samplewise of {op.name}>")
    if cls.run is first_samplewise:
        cls.run = cls.samplewise
    return cls.samplewise(node, g, create_graph, free)


def noted(node: Any, batch: Any, arrays: list[Any]) -> Any:
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
    given = [f"x{k}" for k in range(len(boxes))]
    texts = {id(box): text for box, text in zip(boxes, given)}
    names: dict[str, Any] = {}
    lines: list[str] = []
    kept = list(boxes)  # so that no other takes their place in memory

    def note(op: Op, args: Any, settings: dict[str, Any]) -> Any:
        box = type(batch).apply(batch, op, args, settings)
        kept.append(box)
        known = [texts.get(id(a)) if isinstance(a, Tensor) else repr(a) if type(a) in (int, float) else None for a in args]
        # Made on arrays, from what is known; a setting that is an array may have come from the values.
        if can_specialise(op) and box.tensor is None and None not in known and plain(tuple(settings.values())):
            k = len(lines)
            texts[id(box)] = f"y{k}"
            if op.name in ("expand", "reshape") and args[0].level and args[0].array.size == box.array.size:  # other axes, nothing repeated
                text = f"{known[0]}.reshape({box.array.shape})"
            else:
                text = call_on_arrays(op, batch, args, known, settings, names, k)
            lines.append(f"    y{k} = {text}")
        return box

    batch.apply = note
    try:
        found = again.run_general(boxes[0], False)
    finally:
        del batch.apply
    results = ["None" if gi is None else texts.get(id(gi)) for gi in found]
    if any(text is None or text in given[1:] for text in results):
        return generally
    for text in dict.fromkeys(results):
        if text not in ("None", "x0"):
            lines += [
                f"    b{text} = t = new(Batched)",
                "    t.edge = t.view_info = t.extra = t._grad = t.face = t.made = t.tensor = None",
                f"    t.wants_grad, t.version, t.array = False, [0], {text}",
                "    t.home, t.level = batch, batch.number",
                f"    if {text}.base is not None or {' or '.join(f'{text} is {x}' for x in given)}:",
                f"        alone(t, ({', '.join(given)},))",
            ]
    returned = ", ".join("g" if text == "x0" else text if text == "None" else f"b{text}" for text in results)
    head = f"def replay(node, g, create_graph, free, batch, {', '.join(given)}):"
    text = "\n".join([head, *lines, *let_go(node.plan), f"    return {returned},"]) + "\n"
    return define("replay", text, names, f"<replay of {node.op.name}>")


def call_on_arrays(op: Op, batch: Any, args: Any, texts: list[Any], settings: dict[str, Any], names: dict[str, Any], k: int) -> str:
    """The row on the arrays of all samples, as an expression: what `Batch.at_once` does. Constants are added to `names`."""
    owns = tuple([isinstance(a, Tensor) and a.level > 0 for a in args])
    ndims = [getattr(a, "ndim", 0) for a in args]

    def name(value: Any, text: str) -> str:
        names[text] = value
        return text

    lead = name(type(batch)(batch.size).lead, "lead") if not all(owns) else ""  # not of this vmap, which holds its inputs
    led = [text if own or not isinstance(a, Tensor) else f"{lead}({text})" for a, text, own in zip(args, texts, owns)]
    if op.batch is not None:
        asked, settings = parameters(op.batch), op.settings | settings
        given = {x: name(value, f"s{k}_{x}") for x, value in settings.items() if x in asked}
        given |= dict(zip(op.inputs, texts if "batched" in asked else led))
        for x, value in {"batched": owns, "size": batch.size, "row": op, "settings": settings}.items():
            if x in asked:
                given[x] = name(value, f"s{k}_{x}")
        return f"{name(op.batch, f'f{k}')}({', '.join(given[x] for x in asked)})"
    function = name(op.compute, f"f{k}")
    if op.kind == "elementwise":
        if any(n != max(ndims) for n, own in zip(ndims, owns) if own):
            spread = f"*{name(aligned, 'aligned')}({batch.size}, ({', '.join(texts)},), {owns})"
            return f"{function}({spread}{keywords(settings, name, k)})"
        call = None if settings or always(op.forward) else inlined(op.forward, dict(zip(op.inputs, texts)), names)
        return call or f"{function}({', '.join(texts)}{keywords(settings, name, k)})"
    return f"{function}({', '.join(led)}{keywords(counted(settings, max(ndims)), name, k)})"


def keywords(settings: dict[str, Any], name: Any, k: int) -> str:
    return "".join(f", {x}={name(value, f's{k}_{x}')}" for x, value in settings.items())


GENERATED.setdefault("Batched", None)  # until that module is imported
GENERATED.update({"SEEN": SEEN, "alone": alone, "meet": meet, "noted": noted})
