"""What forward works out on its way, and the rule may not: it may belong where the rule has another value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...run.observation import Observation
from ..replays.chains import first_chain
from .changed_rule import ChangedRule
from .schema import Site
from .values import Edit, Pool, is_array, shape_of

MOST_STEPS = 16  # of a longer forward each value is tried at each place, and few are near to what was meant
IN_ITS_PLACE = 2.05  # what a change costs: more than a number that the rule lacks


def values_of_forward(rule: ChangedRule) -> dict[Any, Callable[[Mapping[str, Any]], Any]]:
    """Each value between the inputs and the result, by its step, if forward can be followed and the rule is short."""
    o, x = rule.first, rule.x
    if o.reference.function is None or rule.is_long or o.failed:
        return {}
    chain = first_chain(o, x)
    if chain is None or len(chain.steps) > MOST_STEPS:
        return {}
    if any((other := first_chain(call, x)) is None or len(other.steps) != len(chain.steps) for call in rule.observations):
        return {}
    known = [value for value in o.names.values() if isinstance(value, np.ndarray)]
    found: dict[Any, Callable] = {}
    for step in chain.steps[:-1]:
        value = step.names["out"]
        if value.dtype.kind == "f" and not any(value.shape == v.shape and np.array_equal(value, v) for v in known):
            known.append(value)
            found["a value of forward", step.place] = lambda names, place=step.place: rule.rule.wrap(_value(rule.observation, x, place))
    return found


def _value(o: Observation, x: str, place: int) -> np.ndarray:
    chain = first_chain(o, x)
    assert chain is not None
    return np.array(chain.values[place])


def of_forward(site: Site, pool: Pool) -> Iterator[Edit]:
    """In the place of a name; in that of a sum or a mean also what has an entry for each partial one."""
    is_one = isinstance(site.value, (float, np.floating))
    if not isinstance(site.node, ast.Name) or not (is_array(site.value) or is_one) or not isinstance(site.node.ctx, ast.Load):
        return
    name, shape = site.node.id, shape_of(site.value)
    for key, value_of in pool.forward.items():
        if (other := shape_of(value_of({}))) == shape or (is_one and other):
            text = f"another value in the place of `{name}`" + (f", one of shape {other}" if is_one and other else "")
            yield Edit(IN_ITS_PLACE, "variable", text, ("name", name, key), lambda do, a, k, names, f=value_of: f(names))
