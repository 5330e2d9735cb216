"""Which single change of a rule makes its gradient right in all calls: a fact about the rule, whatever the operation is.

The changes are tried on one call, the smallest; what is right there is confirmed on the others. Work is counted and not timed.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...run.candidate import LocalCandidate
from ...run.meter import TooLong
from ...run.observation import TOLERANCE, Observation, error
from ...run.reference import sum_to
from ..diagnosis import Mistake
from ..quiet import quiet
from .edits import edits
from .schema import Schema, Site
from .values import Edit, Pool, is_array, is_number

MOST = 50_000  # questions that the sites of a rule ask in the searches of one check
LEAST = 12_000  # of them, where other inputs have had theirs
FOR_A_CALL = 25  # what a call costs besides, in questions
MOST_ENTRIES = 5_000  # in the arrays of the first call
PERTURBED = 1.3717  # a factor that no rule has


class Trial(NamedTuple):
    """A change that is tried, at one place or at several."""

    cost: float
    edit: Edit
    sites: tuple[Site, ...]
    changes: Mapping[int, Callable]


class Repair:
    """One rule that can be changed, and the calls in which it has to be right."""

    def __init__(self, observations: Sequence[Observation], x: str, candidate: LocalCandidate, every: bool = False):
        self.observations, self.x, self.candidate = observations, x, candidate
        self.first, *self.others = observations
        self.work, self.most = 0, max(MOST - self.first.reference.repairing, LEAST)
        self.schema = Schema(candidate.methods)
        self.rule = candidate.with_methods(self.schema.methods)
        asked = [*self.first.reference.differentiable()]
        self.right = [[y for y in asked if every or y == x or self.was_right(o, y)] for o in observations]

    def is_right(self, o: Observation, got: Mapping[str, Any], x: str) -> bool:
        return error(got[x], o.want[x]) <= TOLERANCE

    def was_right(self, o: Observation, x: str) -> bool:
        """Was it right before any change? Where what is right is not known, nothing was."""
        try:
            return not o.failed and self.is_right(o, o.got, x)
        except LookupError:
            return False

    def call(self, o: Observation, changes: Mapping[int, Callable]) -> dict[str, Any] | None:
        """The gradients in one call; None if it raises, or if its result is another one."""
        self.observation = o
        answer = self.schema.run(lambda: self.rule.call(o.inputs, o.ask.settings, (o.g,)), changes)  # type: ignore[union-attr]
        self.work += self.schema.visits + FOR_A_CALL
        if answer.fault:
            return None
        if (
            self.candidate.judges_forward
            and changes
            and self.out is not None
            and o is self.first
            and not np.array_equal(answer.out, self.out)
        ):
            return None
        self.result = answer.out
        return dict(zip(o.reference.inputs, answer.gradients[0], strict=False))

    def note(self) -> bool:
        """Run it unchanged: every place learns what it works on. Does it answer as before?"""
        o, self.out = self.first, None
        got = self.schema.first_run(lambda: self.call(o, {}))
        if (got is None) != o.failed:
            return False
        self.out = None if got is None else self.result
        if got is None:
            return True
        a, b = got[self.x], o.got[self.x]
        return a is b or (a is not None and b is not None and a.shape == b.shape and np.allclose(a, b, rtol=1e-12, atol=0, equal_nan=True))

    def pool(self, site: Site) -> Pool:
        """The values at hand at a place: local variables, what was saved, and the values of the call."""
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
        o, wrap = self.first, self.rule.wrap
        for name in (*o.reference.inputs, "out", *o.reference.settings):
            value = o.names.get(name)
            is_known = is_array(value) and any(isinstance(v, np.ndarray) and np.array_equal(v, value) for v in known)
            if is_array(value) and not is_known and name not in arrays:
                arrays["the call's", name] = lambda names, name=name: wrap(np.array(self.observation.names[name]))
            elif is_number(value) and name not in site.names:
                sizes["the call's", name] = lambda names, name=name: self.observation.names[name]
        for name in (*o.reference.inputs, "out"):
            shape = np.shape(o.names[name])
            for axis in range(-len(shape), 0):
                sizes[name, axis] = lambda names, name=name, axis=axis: np.shape(self.observation.names[name])[axis]
            if len(shape) > 1:
                sizes[name, "all"] = lambda names, name=name: np.size(self.observation.names[name])
        shapes = {x: lambda names, x=x: self.observation.shape(x) for x in o.reference.inputs}
        return Pool(arrays, sizes, shapes)

    def all_edits(self) -> list[Trial]:
        """Every change at one place, and the same change at all places where it can be made, by its cost."""
        groups: dict[Any, list[tuple[Edit, Site]]] = defaultdict(list)
        found: list[Trial] = []
        pools: dict[tuple[str, ...], Pool] = {}
        for site in self.schema.visited():
            if site.is_forward and not _is_saved(site):
                continue
            if not self.counts(site):
                continue
            if (scope := (site.function, *sorted(site.names))) not in pools:
                pools[scope] = self.pool(site)
            for edit in edits(site, pools[scope]):
                found.append(Trial(edit.cost + 0.4 * site.is_helper, edit, (site,), {site.number: edit.change}))
                groups[edit.key].append((edit, site))
        for pairs in groups.values():
            if 1 < len(pairs) < 6 and pairs[0][0].key[0] in TOGETHER:
                changes = {site.number: edit.change for edit, site in pairs}
                found.append(Trial(pairs[0][0].cost + 0.6, pairs[0][0], tuple(site for _, site in pairs), changes))
        return sorted(found, key=lambda trial: trial.cost)

    def counts(self, site: Site) -> bool:
        """Does what comes back change with the value of this place?"""
        if not (is_array(site.value) or isinstance(site.value, float)) or self.first.failed:
            return True
        got = self.call(self.first, {site.number: lambda do, a, k, names: do(*a, **k) * PERTURBED})
        if got is None or got[self.x] is None:
            return True
        return not np.array_equal(got[self.x], self.first.got[self.x], equal_nan=True)

    def search(self) -> list[Trial]:
        """The cheapest changes after which the gradient is right in all calls, one of each family."""
        found: list[Trial] = []
        for trial in self.all_edits():
            if self.work > self.most or (found and trial.cost > found[0].cost):
                break
            if any(trial.edit.family == other.edit.family for other in found):
                continue
            self.unsummed = False
            if all(self.is_repaired(k, trial.changes) for k in range(len(self.observations))):
                found.append(trial)
                self.besides = "; besides, it is not summed over the axes that forward stretched" if self.unsummed else ""
        return found

    def is_repaired(self, k: int, changes: Mapping[int, Callable]) -> bool:
        """Is the gradient right in this call, and what was right before?"""
        o = self.observations[k]
        got = self.call(o, changes)
        return got is not None and all(self.is_right(o, got, y) or (y == self.x and self.is_unsummed(o, got[y])) for y in self.right[k])

    def is_unsummed(self, o: Observation, got: Any) -> bool:
        """Is all that is missing the sum over the axes along which the input was stretched? That is another mistake."""
        want = o.want[self.x]
        if not o.reference.elementwise or got is None or not np.shape(got) == o.out.shape != want.shape or got.size <= want.size:
            return False
        right = error(sum_to(got, want.shape), want) <= TOLERANCE
        self.unsummed |= right
        return right


TOGETHER = {"name", "number", "axis", "keeps", "function", "compare", "operator", "no call", "index", "einsum", "keyword", "no keyword",
            "order", "step", "f", "minus", "transposed", "weighted", "diagonal"}  # fmt: skip


def _is_saved(site: Site) -> bool:
    """In forward: is it what is kept for backward?"""
    for parent in site.parents:
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "save_for_backward":
            return True
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute):
            return True
    return False


@quiet
def find_repair(observations: Sequence[Observation], x: str, every: bool = False) -> Mistake | None:
    """The change of the rule's source that makes the gradient for x right in all these calls, or those for every input."""
    candidates = {id(o.ask.candidate): o.ask.candidate for o in observations if o.ask is not None and hasattr(o.ask, "candidate")}
    if len(candidates) != 1 or not all(hasattr(o.ask, "candidate") for o in observations):
        return None
    (candidate,) = candidates.values()
    if not isinstance(candidate, LocalCandidate):
        return None
    wrong = sorted(
        (o for o in observations if o.failed or error(o.got[x], o.want[x]) > TOLERANCE), key=lambda o: sum(map(np.size, o.inputs))
    )
    first = next((o for o in wrong if not o.failed), wrong[0])
    if sum(map(np.size, first.inputs)) > MOST_ENTRIES:
        return None
    rest = [o for o in (*wrong, *observations) if o is not first]
    repair = Repair([first, *dict.fromkeys(rest)], x, candidate, every)
    if not repair.schema.methods:
        return None
    try:
        with repair.rule.batch():
            found = repair.search() if repair.note() else []
    except TooLong:
        return None
    finally:
        first.reference.repairing += repair.work
    if not found:
        return None
    best, others = found[0], found[1:2]
    text = "would be right with " + ", or with ".join(_said(trial.edit, trial.sites) for trial in (best, *others))
    sure = not others and len(observations) > 1
    return Mistake(best.edit.family, text + repair.besides, sure=sure, parts=tuple(other.edit.family for other in others))


def _said(edit: Edit, sites: Sequence[Site]) -> str:
    """What is changed, and where."""
    site = sites[0]
    around = next((p for p in site.parents if hasattr(p, "lineno") and isinstance(p, ast.expr)), None)
    small = isinstance(site.node, (ast.Name, ast.Constant, ast.UnaryOp)) and around is not None
    inside = f" in `{site.text(around)}`" if small and len(site.text(around)) < 60 else ""
    lines = sorted({s.node.lineno for s in sites})  # type: ignore[attr-defined]
    where = f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
    everywhere = f", {len(sites)} times" if len(sites) > 1 else ""
    helper = f" of {site.function}" if site.is_helper and site.function.isidentifier() else ""
    return f"{edit.what}{inside} ({where}{helper}{everywhere})"
