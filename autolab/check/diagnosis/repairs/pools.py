"""The values at hand at a place of a rule: local variables, what was saved, and the values of the call."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...run.observation import Observation
from .changed_rule import ChangedRule
from .names_of_forward import Named, names_of_forward, own_names
from .of_forward import values_of_forward
from .schema import Site
from .values import Pool, evaluated, is_array, is_number, shape_of
from .words import Words


class Pools:
    """One for all places where the same names are known."""

    def __init__(self, rule: ChangedRule, words: Words):
        self.rule, self.words = rule, words
        self.pools: dict[tuple[str, ...], Pool] = {}

    def of(self, site: Site) -> Pool:
        """The values at hand at a place."""
        if (scope := (site.function, *sorted(site.names))) not in self.pools:
            self.pools[scope] = self._made(site)
        return self.pools[scope]

    def _made(self, site: Site) -> Pool:
        arrays: dict[Any, Callable] = {}
        sizes: dict[Any, Callable] = {}
        known: list[Any] = []
        value: Any
        for name, value in site.names.items():
            if is_array(value) and value.ndim < 5:
                arrays[name] = lambda names, name=name: names[name]
                known.append(value)
            elif is_number(value):
                (sizes if isinstance(value, (int, np.integer)) else arrays)[name] = lambda names, name=name: names[name]
        rule, o, wrap = self.rule, self.rule.first, self.rule.rule.wrap
        for name in (*o.reference.inputs, "out", *o.reference.settings):
            value = o.names.get(name)
            is_known = is_array(value) and any(isinstance(v, np.ndarray) and np.array_equal(v, value) for v in known)
            if is_array(value) and not is_known and name not in arrays:
                arrays["the call's", name] = lambda names, name=name: wrap(np.array(rule.observation.names[name]))
            elif is_number(value) and name not in site.names:
                sizes["the call's", name] = lambda names, name=name: rule.observation.names[name]
        shapes = {x: lambda names, x=x: rule.observation.shape(x) for x in o.reference.inputs}
        return Pool(
            arrays, sizes | self.sizes | self._own_sizes(site), shapes, self._masks(site), frozenset(o.reference.settings),
            self.forward, self.named, self.ends, self.words.come_from_g, self.words.calls, frozenset(o.reference.inputs),
        )  # fmt: skip

    def _masks(self, site: Site) -> dict[str, tuple[Any, Callable]]:
        """What has True and False, or 1 and 0, for each entry: local variables, and the conditions in the same function."""
        found: dict[str, tuple[Any, Callable]] = {
            name: (value, lambda names, name=name: names[name])
            for name, value in site.names.items()
            if str(getattr(value, "dtype", "")).rpartition(".")[2].startswith(("bool", "float", "int", "uint")) and shape_of(value)
        }
        for other in self.rule.schema.visited():
            if isinstance(other.node, ast.Compare) and other.function == site.function and shape_of(other.value):
                found.setdefault(other.text(), (other.value, evaluated(other.node)))
        return found

    def _own_sizes(self, site: Site) -> dict[Any, Callable]:
        """Those of what the rule has made, where they are others than those of the call."""
        known = {size(site.names) for size in self.sizes.values()}
        found: dict[Any, Callable] = {}
        for name, value in site.names.items():
            for axis, n in enumerate(value.shape) if isinstance(value, np.ndarray) else ():
                if n > 1 and n not in known:
                    known.add(n)
                    found[name, axis] = lambda names, name=name, axis=axis: names[name].shape[axis]
        return found

    @cached_property
    def forward(self) -> dict[Any, Callable]:
        """What forward works out on its way to the result."""
        return values_of_forward(self.rule)

    @cached_property
    def own_names(self) -> Named:
        """What forward gives a name, in the first call."""
        return own_names(self.rule)

    @cached_property
    def named(self) -> dict[str, tuple[Any, Callable]]:
        """What it gives a name once."""
        return {name: (value, self._found("once", name)) for name, value in self.own_names.once.items()}

    @cached_property
    def ends(self) -> dict[str, tuple[Any, Callable]]:
        """What it leaves in a name that had other values before."""
        return {name: (value, self._found("last", name)) for name, value in self.own_names.last.items()}

    def _found(self, kind: str, name: str) -> Callable:
        """The same in the call that runs."""
        rule = self.rule
        return lambda names: rule.rule.wrap(np.array(getattr(names_of_forward(rule.observation), kind)[name]))

    @cached_property
    def sizes(self) -> dict[Any, Callable]:
        """The sizes of the inputs and of the result, one of those that are the same in all calls."""
        rule, found = self.rule, dict[tuple[int, ...], tuple[Any, Callable]]()
        for name in (*rule.first.reference.inputs, "out"):
            ndim = np.ndim(rule.first.names[name])
            alike = all(np.ndim(o.names[name]) == ndim for o in rule.observations)  # a stack has more axes, before those of the others
            axes: list[int | None] = [*range(ndim)] if alike else [*range(-ndim, 0)]
            for axis in axes + [None] * (len(axes) > 1):
                values = tuple(_size(o, name, axis) for o in rule.observations)
                found.setdefault(values, ((name, axis), lambda names, name=name, axis=axis: _size(rule.observation, name, axis)))
        return dict(found.values())


def _size(o: Observation, name: str, axis: int | None) -> int:
    """Of an array of the call: the size along an axis, or all of it; 0 where it has no such axis."""
    shape = np.shape(o.names[name])
    return int(np.prod(shape)) if axis is None else shape[axis] if axis >= -len(shape) else 0
