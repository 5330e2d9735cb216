"""Where the gradient is a straight line in a value of the rule, what another value gives is known before the rule runs with it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ...run.observation import TOLERANCE
from .changed_rule import WRITES, ChangedRule
from .edits import takes_away
from .schema import Site, same
from .values import Edit, is_array, is_number, shape_of

PERTURBED, FROM_0 = 1.3717, 0.4139  # a factor that no rule has; and what 0, which a factor leaves as it is, becomes
MANY_RIGHT = 4  # one entry in so many
ODD = 1.95  # the cost of an odd number in the place of a whole one
FORETOLD = 10  # what it costs to work out what a change would give, in questions
REPEATED = (ast.For, ast.While, ast.comprehension, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.Lambda)


class Slopes:
    """Of each site: does the gradient in the first call change with its value, and is it a straight line in it?"""

    def __init__(self, rule: ChangedRule):
        self.rule, self.first, self.x = rule, rule.first, rule.x
        self.matters: dict[int, bool] = {}
        self.of_site: dict[int, np.ndarray] = {}
        self.too_narrow: set[int] = set()  # the sites that leave some wrong entries as they are, whatever is there
        self.too_wide: set[int] = set()  # and those that change entries which are right

    def may_matter(self, site: Site) -> bool:
        """Does what comes back change with this place, and nothing that is right already? Of a block it is not asked.

        In a long rule, where each run costs much, the whole expression that it is in is asked, which many of them share.
        """
        if site.number not in self.matters:
            whole = self._whole(site) if self.rule.is_long else site
            self.matters[site.number] = bool(site.block) or (self._counts(site) if whole is site else self.may_matter(whole))
            for some in (self.too_narrow, self.too_wide):
                some |= {site.number} if whole.number in some else set()
        return self.matters[site.number]

    def _whole(self, site: Site) -> Site:
        """The largest expression around a place that is no list of several."""
        around = itertools.takewhile(lambda node: not isinstance(node, (ast.Tuple, ast.List, ast.Lambda, *REPEATED)), site.parents)
        numbers = [node.number for node in around if hasattr(node, "number")]
        return self.rule.schema.sites[numbers[-1]] if numbers else site

    def may_be_enough(self, site: Site) -> bool:
        """May a change of this place alone make all wrong entries right?"""
        return site.number not in self.too_narrow

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
            cost = 1.3 if m == 0 and takes_away(site) else 1.1 if _may_be_meant(site.value, m) else ODD
            yield Edit(cost, "number", text, ("number", site.value, m), lambda do, a, k, names: m)

    @cached_property
    def missing(self) -> np.ndarray:
        """What has to be added to the gradient in the first call."""
        return self.first.want[self.x] - self.first.got[self.x]

    def _counts(self, site: Site) -> bool:
        """Does what comes back change with the value of this place? If it does, a slope is looked for."""
        o, value = self.first, site.value
        if o.failed or not (is_array(value) or is_number(value) or site.do in WRITES):
            return True
        got, now = self.rule.perturbed(site, _moved), o.got[self.x]
        if got is None:
            return True
        if self._harms(got):
            return False
        a = got[self.x]
        if not isinstance(value, int) and now is not None and now.any() and np.array_equal(a, now, equal_nan=True):
            return False
        if a is not None and now is not None and a.shape == now.shape == o.want[self.x].shape:
            if self._runs_once(site):
                self._look_for_slope(site, a)
            if is_array(value) and np.any((a == now) & ~self._is_right):
                self.too_narrow.add(site.number)
            is_scaled = not is_array(value) or not bool((value == 0).any())  # what was 0 may leave entries as they are
            if is_scaled and a.size <= MANY_RIGHT * self._is_right.sum() and np.any(a[self._is_right] != now[self._is_right]):
                self.too_wide.add(site.number)
        return True

    @cached_property
    def _is_right(self) -> np.ndarray:
        """Which entries are right in the first call."""
        return np.abs(self.missing) <= TOLERANCE * np.abs(self.first.want[self.x]).max()

    def _harms(self, got: Mapping[str, Any]) -> bool:
        """Does another gradient change, which is right in all calls?"""
        return any(not np.array_equal(got[y], self.first.got[y]) for y in self._right)

    @cached_property
    def _right(self) -> set[str]:
        """The other inputs whose gradient is right in all calls."""
        return set.intersection(*map(set, self.rule.right)) - {self.x}

    def _look_for_slope(self, site: Site, perturbed: np.ndarray) -> None:
        """Is the gradient a straight line in this value, entry by entry?"""
        value, now = site.value, self.first.got[self.x]
        step: Any = 1.0
        if not is_number(value):
            step = (1.5 + np.cos(np.arange(value.size))).reshape(value.shape) * (np.abs(value).max(initial=0.0) or 1.0)
        moved = (self.rule.perturbed(site, lambda v: v + step) or {}).get(self.x)
        if moved is None or moved.shape != now.shape or not _stretches(np.shape(value), now.shape):
            return
        slope = (moved - now) / step
        size = max(np.abs(now).max(initial=0.0), np.abs(moved).max(initial=0.0))
        if slope.any() and np.abs(now + slope * (_moved(value) - value) - perturbed).max() <= 1e-9 * size:
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


def _moved(value: Any) -> Any:
    """Other numbers, none of them the same."""
    if is_number(value):
        return value * PERTURBED if value else FROM_0
    if not shape_of(value) or not value.size:
        return value * PERTURBED
    return value * PERTURBED + (value == 0) * (FROM_0 * float(abs(value).max() or 1.0))


def _is_written(site: Site) -> bool:
    """Is it a number that is written in the source?"""
    return isinstance(site.node, (ast.Constant, ast.UnaryOp)) and site.do is same


def _may_be_meant(n: Any, m: float) -> bool:
    """May it be written in the place of n? For a whole number a small fraction may; 3.3 is likelier made of another size."""
    return n != int(n) or any(abs(d * m - round(d * m)) < 1e-9 and abs(d * m) <= 6 for d in (1, 2, 3, 4, 6))


def _stretches(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Does broadcasting give the other shape?"""
    return len(shape) <= len(to) and all(n in (1, m) for n, m in zip(shape[::-1], to[::-1], strict=False))
