"""Where the gradient is a straight line in a value of the rule, what another value gives is known before the rule runs with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .changed_rule import ChangedRule
from .edits import takes_away
from .schema import IN_PLACE, Site, same, store, store_in_place
from .values import Edit, is_array, is_number

PERTURBED = 1.3717  # a factor that no rule has
FORETOLD = 10  # what it costs to work out what a change would give, in questions
WRITES = (store, store_in_place, *IN_PLACE.values())
REPEATED = (ast.For, ast.While, ast.comprehension, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.Lambda)


class Slopes:
    """Of each site: does the gradient in the first call change with its value, and is it a straight line in it?"""

    def __init__(self, rule: ChangedRule):
        self.rule, self.first, self.x = rule, rule.first, rule.x
        self.matters: dict[int, bool] = {}
        self.of_site: dict[int, np.ndarray] = {}

    def may_matter(self, site: Site) -> bool:
        """Does what comes back change with this place? Of a block or of an array in a long rule it is not asked."""
        if site.number not in self.matters:
            self.matters[site.number] = bool(site.block) or (self.rule.is_long and is_array(site.value)) or self._counts(site)
        return self.matters[site.number]

    def may_mend(self, edit: Edit, sites: tuple[Site, ...]) -> bool:
        """Is it not known beforehand that it mends nothing?"""
        site = sites[0]
        slope = self.of_site.get(site.number)
        if slope is None or len(sites) > 1 or edit.others:
            return True
        self.rule.work += FORETOLD
        try:
            value = edit.change(site.do, site.args, site.kwargs, site.names)
        except Exception:  # it would raise in the rule
            return False
        if not (isinstance(value, np.ndarray) or is_number(value)) or np.shape(value) != np.shape(site.value):
            return True
        return bool(np.abs(slope * (value - site.value) - self.missing).max() <= 1e-6 * np.abs(self.first.want[self.x]).max())

    def solved(self, site: Site) -> Iterator[Edit]:
        """The number for which the gradient would be right in the first call, if it is a straight line in the number."""
        slope = self.of_site.get(site.number)
        if slope is not None and _is_written(site):
            more = float(np.vdot(slope, self.missing) / np.vdot(slope, slope))
            m = float(f"{site.value + more:.12g}") if abs(site.value + more) > 1e-9 * abs(site.value) else 0.0
            text = f"another number in the place of {site.text()}"
            cost = 1.3 if m == 0 and takes_away(site) else 1.1
            yield Edit(cost, "number", text, ("number", site.value, m), lambda do, a, k, names: m)

    @cached_property
    def missing(self) -> np.ndarray:
        """What has to be added to the gradient in the first call."""
        return self.first.want[self.x] - self.first.got[self.x]

    def _counts(self, site: Site) -> bool:
        """Does what comes back change with the value of this place? If it does, a slope is looked for."""
        value = site.value
        if self.first.failed or not (is_array(value) or is_number(value)):
            return True
        got, now = self.rule.with_value(site, lambda v: v * PERTURBED), self.first.got[self.x]
        is_zero = isinstance(now, np.ndarray) and not now.any()  # then nothing is seen of a factor
        if got is not None and not isinstance(value, int) and not is_zero and np.array_equal(got, now, equal_nan=True):
            return False
        if got is not None and now is not None and got.shape == now.shape == self.first.want[self.x].shape and self._runs_once(site):
            self._look_for_slope(site, got)
        return True

    def _look_for_slope(self, site: Site, perturbed: np.ndarray) -> None:
        """Is the gradient a straight line in this value, entry by entry?"""
        value, now = site.value, self.first.got[self.x]
        step: Any = 1.0
        if not is_number(value):
            step = (1.5 + np.cos(np.arange(value.size))).reshape(value.shape) * (np.abs(value).max(initial=0.0) or 1.0)
        moved = self.rule.with_value(site, lambda v: v + step)
        if moved is None or moved.shape != now.shape or not _stretches(np.shape(value), now.shape):
            return
        slope = (moved - now) / step
        size = max(np.abs(now).max(initial=0.0), np.abs(moved).max(initial=0.0))
        is_straight = slope.any() and np.abs(now + slope * value * (PERTURBED - 1) - perturbed).max() <= 1e-9 * size
        if is_straight and not np.all(value):  # a factor leaves a 0 as it is
            further = self.rule.with_value(site, lambda v: v - PERTURBED * step)
            is_straight = further is not None and np.abs(now - PERTURBED * (moved - now) - further).max() <= 1e-9 * size
        if is_straight:
            self.of_site[site.number] = slope

    def _runs_once(self, site: Site) -> bool:
        """Is that value known, a number, or an array of which no entry is written later?"""
        if _is_written(site):
            return True
        is_plain = isinstance(site.value, np.ndarray) or is_number(site.value)
        return is_plain and self._writes_nothing and not site.is_helper and not any(isinstance(p, REPEATED) for p in site.parents)

    @cached_property
    def _writes_nothing(self) -> bool:
        """Is no array changed in its place?"""
        sites = (site for site in self.rule.schema.visited() if not site.block)
        return not any(site.do in WRITES or isinstance(site.parents[0], ast.Expr) or "out" in site.kwargs for site in sites)


def _is_written(site: Site) -> bool:
    """Is it a number that is written in the source?"""
    return isinstance(site.node, (ast.Constant, ast.UnaryOp)) and site.do is same


def _stretches(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Does broadcasting give the other shape?"""
    return len(shape) <= len(to) and all(n in (1, m) for n, m in zip(shape[::-1], to[::-1], strict=False))
