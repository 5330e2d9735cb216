"""What forward works out under a name that the rule has, too: where the two are not the same, the rule's own is wrong."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from types import FrameType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from autolab.formula import definition

from ...run.observation import Observation
from .changed_rule import ChangedRule
from .schema import Site
from .values import Edit, Pool, is_array, shape_of

FOR_ITS_OWN = 1.7  # what a change costs: more than what may be wrong inside
AT_THE_END = 1.75
SAID = 3  # entries that are named


class Named(NamedTuple):
    """The arrays to which a forward on arrays gives a name; those of its inputs and of its result are known."""

    once: dict[str, np.ndarray]
    last: dict[str, np.ndarray]  # what a loop leaves in a name: a solution, or a state


def names_of_forward(o: Observation) -> Named:
    """Those in one call."""
    if "names of forward" not in o.memo:
        o.memo["names of forward"] = _names_of_forward(o)
    return o.memo["names of forward"]


def _names_of_forward(o: Observation) -> Named:
    forward: Any = getattr(o.reference.forward, "forward", o.reference.forward)
    node = definition(forward) if isinstance(forward, FunctionType) else None
    if node is None or isinstance(node, ast.Lambda) or inspect.isgeneratorfunction(forward):
        return Named({}, {})
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
        return Named({}, {})
    finally:
        sys.setprofile(before)
    counts = Counter(_assigned(node))
    arrays = {name: v for name, v in local.items() if isinstance(v, np.ndarray) and is_array(v) and not _is_known(v, o)}
    once = {name: value for name, value in arrays.items() if counts[name] == 1 and name not in o.reference.inputs}
    return Named(once, {name: value for name, value in arrays.items() if counts[name] > 1})


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


def own_names(rule: ChangedRule) -> Named:
    """Those of the first call that all calls have."""
    if rule.first.failed or rule.first.reference.function is None:
        return Named({}, {})
    every = [names_of_forward(o) for o in rule.observations]
    return Named(
        *({name: value for name, value in kind[0].items() if all(name in names for names in kind)} for kind in zip(*every, strict=True))
    )


def of_forward_by_name(site: Site, pool: Pool) -> Iterator[Edit]:
    """The same name as forward has it; it is tried wherever the name is read, at once."""
    name = site.node.id if isinstance(site.node, ast.Name) else ""
    if name not in pool.named or site.is_helper or not isinstance(site.value, np.ndarray):
        return
    value, value_of = pool.named[name]
    if shape_of(value) == shape_of(site.value):
        text = f"the `{name}` of forward in the place of the rule's own{_where(site.value, value)}"
        yield Edit(FOR_ITS_OWN, "variable", text, ("of forward", name), lambda do, a, k, names, f=value_of: f(names))


def ends_of_loops(site: Site, pool: Pool) -> Iterator[Edit]:
    """What a loop of forward ends with in the place of an input, wherever that is read: a derivative belongs at the solution."""
    name = site.node.id if isinstance(site.node, ast.Name) else ""
    if name not in pool.inputs or site.is_helper or not isinstance(site.value, np.ndarray):
        return
    for other, (value, value_of) in pool.ends.items():
        if shape_of(value) == shape_of(site.value):
            text = f"the `{other}` that the loop of forward ends with in the place of `{name}`"
            yield Edit(AT_THE_END, "variable", text, ("of forward", name, other), lambda do, a, k, names, f=value_of: f(names))


def _where(own: np.ndarray, value: np.ndarray) -> str:
    """Where the two are not the same, if that is at some places."""
    off = np.argwhere(np.abs(own - value) > 1e-9 * np.abs(value).max(initial=0.0))
    if not own.ndim or not 0 < len(off) <= max(SAID, own.size // 2):
        return ""
    places = [str([int(i) for i in at]) for at in off[:SAID]]
    return f", which is another one at {', '.join(places)}{' and so on' if len(off) > SAID else ''}"
