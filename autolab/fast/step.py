"""One step of a quiet pass, written out for the nodes of a row: take the gradient, run the rules, pass on what they give.

A function of each class of nodes finds the places of their slots once, where a loop over nodes of many classes looks each up anew, and
knows how many edges there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.engine.op import Op, Plan
from autolab.fast.codegen import define
from autolab.fast.kernel import LARGE
from autolab.fast.row import gradients_of, names_of_rules, rule_lines


def step_source(op: Op, plan: Plan, names: dict[str, Any]) -> str:
    """The text of a node's `step`: True once all is done, False where nothing is and the loop is to do it."""
    xs = gradients_of(op, plan)
    lines = [
        "def step(node, pending, sums, waiting, ready, free):",
        "    g = pending.get(node)",
        f"    if g is None or node.hooks is not None or (type(g) is ndarray and g.size >= {LARGE}):",
        "        return False",
        *rule_lines(op, plan, names, "return False", "return False", revive=False),
        "    del pending[node]",
        f"    {', '.join(f'edge_{x}' if x in xs else '_' for x in op.inputs)}, = node.edges",
    ]
    for x in xs:
        lines += [
            f"    if edge_{x} not in pending:",
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


def compile_step(cls: Any) -> Callable[..., bool] | None:
    """`step` of a class of nodes; None for those whose `run` is not written for a row."""
    run = vars(cls).get("run")
    if getattr(run, "written_for", None) is None:
        return None
    names = names_of_rules(cls.op, cls.plan)
    return define("step", step_source(cls.op, cls.plan, names), names, f"<step of {cls.op.name}>")
