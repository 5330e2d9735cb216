"""One step of a quiet pass, written out for the nodes of a row: take the gradient, run the rules, pass on what they give.

A function of each class of nodes finds the places of their slots once, where a loop over nodes of many classes looks each up anew, and
knows how many edges there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.op import Op, Plan
from autolab.fast.codegen import NAMES, define
from autolab.fast.kernel import LARGE
from autolab.fast.row import gradients_of, names_of_rules, rule_lines
from autolab.fast.stacked import PRODUCT_RULES
from autolab.rules.index import basic_rule
from autolab.rules.shape import inverse, transpose


def step_source(op: Op, plan: Plan, names: dict[str, Any]) -> str:
    """The text of a node's `step`: True once all is done, False where nothing is and the loop is to do it."""
    xs = gradients_of(op, plan)
    general = ""  # what the loop is to do
    if op.kind == "elementwise":  # these rules can write over a large g
        general = f" or (type(g) is ndarray and g.size >= {LARGE})"
    elif picks(op):  # a tensor cannot be put into an array
        general = " or isinstance(g, Tensor)"
    not_done = "pending[node] = g; return False"
    lines = [
        "def step(node, pending, sums, waiting, ready, products, free):",
        "    g = pending.pop(node, None)",
        f"    if g is None or node.hooks is not None{general}:",
        f"        {not_done}",
    ]
    if picks(op):
        return "\n".join([*lines, *placed_lines()]) + "\n"
    lines += [
        f"    {', '.join(f'edge_{x}' if x in xs else '_' for x in op.inputs)}, = node.edges",
        *rule_lines(op, plan, names, not_done, not_done, alone=False),
    ]
    for x in xs:
        waits = op.broadcasts or (op, x) in PRODUCT_RULES
        lines += [
            *([f"    if g_{x} is None:  # its product waits for others", "        pass"] if waits else []),
            f"    {'elif' if waits else 'if'} edge_{x} not in pending:",
            f"        pending[edge_{x}] = g_{x}",
            f"    elif edge_{x} in sums:",
            f"        pending[edge_{x}] += g_{x}",
            f"    elif type(g_{x}) is not ndarray:",
            f"        pending[edge_{x}] = pending[edge_{x}] + g_{x}",
            "    else:",
            f"        add_arrays(pending, sums, edge_{x}, g_{x}, 1)",
            f"    if edge_{x} in waiting:",
            f"        left = waiting[edge_{x}] = waiting[edge_{x}] - 1",
            "        if not left:",
            f"            ready.append(edge_{x})",
        ]
    return "\n".join([*lines, "    return True"]) + "\n"


def picks(op: Op) -> bool:
    """Whether the rule puts g at its place among zeros."""
    return basic_rule in [rule.function for rule in op.rules.values()]


def placed_lines() -> list[str]:
    """Put g at its place in a sum that is there already, or in zeros: of several pieces of one tensor only the first takes an array."""
    return [
        "    shape, key = node.saved",
        "    (edge,) = node.edges",
        "    if edge not in pending:",
        "        whole = pending[edge] = zeros_for(edge, shape, g.dtype)",
        "        sums.add(edge)",
        "        whole[key] = g",
        "    elif edge in sums and type(whole := pending[edge]) is ndarray and whole.dtype is g.dtype:",
        "        whole[key] += g",
        "    else:",
        "        pending[node] = g; return False",
        "    if edge in waiting:",
        "        left = waiting[edge] = waiting[edge] - 1",
        "        if not left:",
        "            ready.append(edge)",
        "    return True",
    ]


def zeros_for(edge: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros for the gradient that goes along an edge; if it goes through a permutation, laid out so that what comes out is contiguous."""
    if type(edge) is not tuple and edge.op is transpose and edge.saved[0] is not None:
        (axes,) = edge.saved
        before: tuple[int, ...] = inverse(axes)  # type: ignore[no-untyped-call]
        return np.zeros([shape[a] for a in before], dtype).transpose(axes)
    return np.zeros(shape, dtype)


NAMES["zeros_for"] = zeros_for


def compile_step(cls: Any) -> Callable[..., bool] | None:
    """`step` of a class of nodes; None for those whose `run` is not written for a row."""
    run = vars(cls).get("run")
    if getattr(run, "written_for", None) is None:
        return None
    names = names_of_rules(cls.op, cls.plan)
    return define("step", step_source(cls.op, cls.plan, names), names, f"<step of {cls.op.name}>")
