"""Gradients of large arrays, entry by entry, written over the gradient that came in, if nobody but the backward pass holds that."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autolab.engine.node import F32, F64, OpNode
from autolab.engine.op import Op, Plan
from autolab.fast.blocks import goes_along, in_blocks
from autolab.fast.codegen import can_specialise
from autolab.fast.inline import UFUNCS, inlined
from autolab.fast.kernel import BLOCK_KERNELS, KERNELS


def compile_in_place(op: Op, plan: Plan) -> Callable[..., Any] | None:
    """The function `vjp_in_place` for the nodes of a row whose rules work entry by entry; None for other rows."""
    if op.kind != "elementwise" or not can_specialise(op) or plan.shared:
        return None
    rules = [(i, out_rule(rule.function), wanted) for i, rule, wanted in plan.rules]
    if all(rule.steps == 0 for _, rule, _ in rules):  # g itself
        return None
    last = None if any(rule.steps == 0 for _, rule, _ in rules) else rules[-1][0]

    def vjp_in_place(node: OpNode, g: Any, ours: bool) -> Any:
        """What `node.run(g, False)` gives, for a large g; in its memory if it is `ours`."""
        values = node.unpack(False) if node.input_meta is None and (g.dtype is F32 or g.dtype is F64) else None
        same = g.base is not None and not any(g.strides)  # one number, in the shape of all that were added up
        if values is None or not (same or g.flags.c_contiguous) or not all(goes_along(v, g) for v in values):
            return node.run(g, False)
        found: list[Any] = [None] * len(node.edges)
        if node.edges[0] is node.edges[-1] and len(rules) == 2 and same_computation(rules, values):  # z * z
            i, rule, wanted = rules[0]
            half = apply(rule, g, same, [values[k] for k in wanted], g if ours else None)
            found[i] = np.add(half, half, out=half if half.flags.writeable else None)
            return found
        for i, rule, wanted in rules:
            found[i] = apply(rule, g, same, [values[k] for k in wanted], g if ours and i == last else None)
        return found

    return vjp_in_place


class OutRule(NamedTuple):
    """A rule with a place for its result: `multiply(g, y, out)` for `g * y`. `steps`: how many operations it is; 0 if it is g itself.

    calls: it calls a function for its result, which knows best how to.
    """

    rule: Callable[..., Any]
    text: str | None
    steps: int
    into: Callable[..., Any]
    calls: bool = False


def out_rule(rule: Callable[..., Any]) -> OutRule:
    if rule in BLOCK_KERNELS:
        return OutRule(KERNELS[rule].function, None, 9, BLOCK_KERNELS[rule])
    rule = KERNELS[rule].function if rule in KERNELS else rule
    count = rule.__code__.co_argcount
    given = ["g", *(f"v{k}" for k in range(1, count))]
    names: dict[str, Any] = {ufunc.__name__: ufunc for ufunc in (*UFUNCS.values(), np.negative)}
    text = inlined(rule, dict(zip(rule.__code__.co_varnames, given)), names)
    if text is None:

        def into(*args: Any) -> None:
            args[-1][...] = rule(*args[:-1])

        return OutRule(rule, None, 9, into)
    found = ast.parse(text, mode="eval").body
    steps = sum(isinstance(n, ast.BinOp | ast.UnaryOp | ast.Call | ast.Compare | ast.IfExp) for n in ast.walk(found))
    if isinstance(found, ast.BinOp) and type(found.op) in UFUNCS:
        line = f"{UFUNCS[type(found.op)].__name__}({ast.unparse(found.left)}, {ast.unparse(found.right)}, out)"
    elif isinstance(found, ast.UnaryOp) and isinstance(found.op, ast.USub):
        line = f"negative({ast.unparse(found.operand)}, out)"
    else:
        line = f"out[...] = {text}"
    exec(compile(f"def into({', '.join(given)}, out):\n    {line}\n", "<large>", "exec"), names)
    return OutRule(rule, text, steps if steps or text == "g" else 9, names["into"], isinstance(found, ast.Call))


def same_computation(rules: list[Any], values: list[Any]) -> bool:
    """Whether two rules compute the same from the same values."""
    a, b = rules
    return a[1].text is not None and a[1].text == b[1].text and all(values[j] is values[k] for j, k in zip(a[2], b[2]))


def apply(rule: OutRule, g: Any, same: bool, values: list[Any], over: Any) -> Any:
    """The rule's result, written over `over` if that is given."""
    if not rule.steps:
        return g
    one = g[(0,) * g.ndim] if same else None
    if same and not any(type(v) is np.ndarray for v in values):
        return np.broadcast_to(np.asarray(rule.rule(one, *values), g.dtype), g.shape)
    if rule.steps == 1 and rule.calls:
        return rule.rule(g if one is None else one, *values)
    out = np.empty(g.shape, g.dtype) if over is None else over
    if rule.steps == 1:
        rule.into(g if one is None else one, *values, out)
        return out
    return in_blocks(rule.into, g if one is None else one, *values, out=out)
