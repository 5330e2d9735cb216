"""What forward works out under a name that the rule has, too: where the two are not the same, the rule's own is wrong."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from autolab.formula import definition

from ...run.observation import Observation
from .changed_rule import ChangedRule
from .schema import Site
from .values import Edit, Pool, is_array, shape_of

FOR_ITS_OWN = 1.7  # what a change costs: more than what may be wrong inside
SAID = 3  # entries that are named


def names_of_forward(o: Observation) -> dict[str, np.ndarray]:
    """The arrays that a forward on arrays gives a name once, outside of loops; those of its inputs and of its result are known."""
    if "names of forward" not in o.memo:
        o.memo["names of forward"] = _names_of_forward(o)
    return o.memo["names of forward"]


def _names_of_forward(o: Observation) -> dict[str, np.ndarray]:
    forward: Any = getattr(o.reference.forward, "forward", o.reference.forward)
    node = definition(forward) if isinstance(forward, FunctionType) else None
    if node is None or isinstance(node, ast.Lambda) or inspect.isgeneratorfunction(forward):
        return {}
    inputs = [np.array(a) if isinstance(a, np.ndarray) else a for a in o.inputs]
    local: dict[str, Any] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is forward.__code__:
            local.update(frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        forward(*inputs, **o.reference.call_settings(o.settings))
    except Exception:  # it takes the numbers in another way
        return {}
    finally:
        sys.setprofile(before)
    once = {name for name, count in Counter(_assigned(node)).items() if count == 1}
    arrays = {name: value for name, value in local.items() if name in once and name not in o.reference.inputs and is_array(value)}
    return {name: value for name, value in arrays.items() if isinstance(value, np.ndarray) and not _is_known(value, o)}


def _is_known(value: np.ndarray, o: Observation) -> bool:
    return value.shape == o.out.shape and np.array_equal(value, o.out)


def _assigned(node: Any) -> Iterator[str]:
    """The names that statements give a value; those in a loop twice."""
    for statement in ast.walk(node):
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        is_loop = isinstance(statement, (ast.For, ast.While))
        for part in (statement,) if is_loop else targets if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)) else ():
            for name in ast.walk(part):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    yield name.id
                    if is_loop:
                        yield name.id


def own_names(rule: ChangedRule) -> dict[str, np.ndarray]:
    """Those of the first call, if all calls have them."""
    if rule.first.failed or rule.first.reference.function is None:
        return {}
    found = names_of_forward(rule.first)
    every = [set(names_of_forward(o)) for o in rule.observations]
    return {name: value for name, value in found.items() if all(name in names for names in every)}


def of_forward_by_name(site: Site, pool: Pool) -> Iterator[Edit]:
    """The same name as forward has it; it is tried wherever the name is read, at once."""
    name = site.node.id if isinstance(site.node, ast.Name) else ""
    if name not in pool.named or site.is_helper or not isinstance(site.value, np.ndarray):
        return
    value, value_of = pool.named[name]
    if shape_of(value) == shape_of(site.value):
        text = f"the `{name}` of forward in the place of the rule's own{_where(site.value, value)}"
        yield Edit(FOR_ITS_OWN, "variable", text, ("of forward", name), lambda do, a, k, names, f=value_of: f(names))


def _where(own: np.ndarray, value: np.ndarray) -> str:
    """Where the two are not the same, if that is at some places."""
    off = np.argwhere(np.abs(own - value) > 1e-9 * np.abs(value).max(initial=0.0))
    if not own.ndim or not 0 < len(off) <= max(SAID, own.size // 2):
        return ""
    places = [str([int(i) for i in at]) for at in off[:SAID]]
    return f", which is another one at {', '.join(places)}{' and so on' if len(off) > SAID else ''}"
