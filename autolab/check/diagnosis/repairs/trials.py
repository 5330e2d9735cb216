"""The changes of a rule in the order in which they are tried: at one place, at several, and two that belong together."""

from __future__ import annotations

import ast
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from .changed_rule import ChangedRule
from .edits import UNLIKELY, likely_edits, unlikely_edits
from .exchanges import exchanges
from .pools import Pools
from .schema import Site
from .slopes import Slopes
from .values import Edit
from .words import Words, without_numbers

MOST_ALIKE = 6  # lines
TOO_WIDE = 0.4  # what a change costs more at a place that all entries go through, where many are right already
EVERYWHERE_ALIKE = {
    "factor",
    "scale",
    "constant",
    "number",
    "variable",
    "power",
    "function",
    "division",
    "sign",
    "term sign",
    "term",
    "extra term",
    "operation",
    "setting",
    "reciprocal",
    "swapped",
    "size",
}  # changes of every entry, or of none
AT_ONCE = "of forward"  # a change that is made wherever it can be
OF_A_HELPER = 0.5  # what a change of a helper costs more
EVERYWHERE = 0.6  # what the same change at several places costs more
OF_LOOPS = 1.22  # up to here a change of a loop goes before all others
AS_IN_FORWARD = 0.4  # what a change costs more in what forward works out in the same words
NOT_OF_G, FACTORS = 0.2, {"factor", "scale", "constant"}  # a factor is left out where g is multiplied by it, as a rule
MOST_STORES = 5  # of which each two are tried
ALIKE = {"store": 0.05}  # who writes `=` for `+=`, writes it in every line


class Trial(NamedTuple):
    """A change that is tried, at one place or at several."""

    cost: float
    edit: Edit
    pairs: tuple[tuple[Edit, Site], ...]
    rank: int = 0  # among those of one place, if a place may not have all of its own tried before the next one
    is_unsummed: bool = False  # right but for the sum over the axes that forward stretched
    is_partial: bool = False  # another gradient is still wrong

    @property
    def sites(self) -> tuple[Site, ...]:
        return tuple(site for _, site in self.pairs)

    @property
    def changes(self) -> dict[int, Callable]:
        """What happens at which site."""
        return {site.asks: edit.change for edit, site in self.pairs} | dict(self.edit.others)

    @property
    def turn(self) -> tuple[float, float, float]:
        """By its cost, then of every place one; what is changed at several places comes last."""
        return self.cost, self.rank, self.pairs[0][1].number if len(self.pairs) == 1 else math.inf


class Trials:
    """All changes of a rule that may mend it."""

    def __init__(self, rule: ChangedRule, slopes: Slopes):
        self.words = Words(rule.first.reference)
        self.rule, self.slopes, self.pools = rule, slopes, Pools(rule, self.words)
        candidate = rule.candidate
        forward = [f for name, f in candidate.methods.items() if name != "backward"] if candidate.judges_forward else []
        self.of_forward = {name for f in forward for name in _names_in(f)}  # what is right there is right
        self.likely: dict[int, list[Edit]] = {}  # of each site

    def all(self, belongs: Callable[[Site], bool] = lambda site: True) -> Iterator[Trial]:
        """Every change at one place of these, and the same change at all places where it can be made, by its cost."""
        sites = [site for site in filter(belongs, self._sites()) if self.slopes.may_matter(site)]
        likely = self._made(sites, self._likely_edits)
        yield from sorted((trial for trial in likely if trial.cost < UNLIKELY), key=attrgetter("turn"))
        rest = [trial for trial in likely if trial.cost >= UNLIKELY]
        rest += self._made(sites, lambda site: unlikely_edits(site, self.pools.of(site)))
        yield from sorted(rest, key=attrgetter("turn"))

    def known(self) -> Iterator[Trial]:
        """What mended the gradient for another input."""
        repaired = self.rule.first.reference.repaired
        numbers = {number for _, several, _ in repaired for number in several}
        keys = {key for key, *_ in repaired}
        return (trial for trial in self.all(lambda site: site.number in numbers) if trial.edit.key in keys)

    def of_loops(self) -> Iterator[Trial]:
        """The likely changes of what a loop gives a name, of statements, which are few, and of the heads of loops."""
        yield from (trial for trial in self.all(_is_assigned_in_a_loop) if trial.edit.key[0] == "assigned")
        for belongs in (lambda site: bool(site.block), _is_of_a_loop):
            yield from (t for t in itertools.takewhile(lambda t: t.cost < OF_LOOPS, self.all(belongs)) if t.edit.family != "places")

    def _made(self, sites: Iterable[Site], edits_of: Callable[[Site], Iterable[Edit]]) -> list[Trial]:
        groups: dict[Any, list[tuple[Edit, Site]]] = defaultdict(list)
        found: list[Trial] = []
        for site in sites:
            more, is_long = OF_A_HELPER * site.is_helper + AS_IN_FORWARD * self.words.are_of_forward(site), self.rule.is_long
            for rank, edit in enumerate(edits_of(site)):
                if edit.family in FACTORS and (edit.cost >= UNLIKELY or edit.key[0] == "setting") and not self.words.come_from_g(site):
                    edit = edit._replace(cost=edit.cost + NOT_OF_G)
                if site.number in self.slopes.too_wide and edit.family in EVERYWHERE_ALIKE:
                    edit = edit._replace(cost=edit.cost + TOO_WIDE)
                if edit.key[0] != AT_ONCE and (self.slopes.may_be_enough(site) or edit.others):
                    found.append(Trial(edit.cost + more, edit, ((edit, site),), rank * is_long))
                groups[edit.key].append((edit, site))
        found += (Trial(edit.cost, edit, tuple(pairs)) for edit, pairs in exchanges(groups))
        found += self._alike(groups)
        for every in groups.values():
            if every[0][0].key[0] == AT_ONCE:
                found.append(Trial(every[-1][0].cost, every[-1][0], tuple(every[::-1])))  # the last one knows what the rule has made of it
            for pairs in _together(every) if every[0][0].key[0] in TOGETHER else ():
                more = ALIKE.get(every[0][0].key[0], EVERYWHERE)
                found.append(Trial(max(edit.cost for edit, _ in pairs) + more, pairs[0][0], tuple(pairs)))
        return found

    def _alike(self, groups: Mapping[Any, list[tuple[Edit, Site]]]) -> Iterator[Trial]:
        """The same slip in lines that are the same but for the numbers in them: `g2 = k2 * (1 - y2)` and `g3 = k3 * (1 - y3)`."""
        alike: dict[Any, list[tuple[Edit, Site]]] = defaultdict(list)
        for key, pairs in groups.items():
            for edit, site in pairs:
                if place := self.words.place_without_numbers(site):
                    alike[(*place, *(without_numbers(part) if isinstance(part, str) else part for part in key))].append((edit, site))
        for pairs in alike.values():
            if not 1 < len({site.node.lineno for _, site in pairs}) == len(pairs) < MOST_ALIKE:  # type: ignore[attr-defined]
                continue
            two = itertools.combinations(pairs, 2) if len(pairs) > 2 else ()
            for some in (tuple(pairs), *two):
                yield Trial(1 + some[0][0].cost / 2, some[0][0], some)

    def _likely_edits(self, site: Site) -> list[Edit]:
        if site.number not in self.likely:
            self.likely[site.number] = [*likely_edits(site, self.pools.of(site)), *self.slopes.solved(site)]
        return self.likely[site.number]

    def _sites(self) -> Iterator[Site]:
        """The places that may be wrong."""
        for site in self.rule.schema.visited():
            is_right = (site.is_forward and not _is_saved(site)) or (site.is_helper and site.function in self.of_forward)
            if not is_right:
                yield site


TOGETHER = {"name", "number", "axis", "keeps", "function", "compare", "operator", "no call", "index", "einsum", "keyword", "no keyword",
            "order", "step", "f", "minus", "rest", "transposed", "weighted", "diagonal", "flipped", "multiple", "not round",
            "store", "direction", "half of a product"}  # fmt: skip


def _together(pairs: list[tuple[Edit, Site]]) -> Iterator[list[tuple[Edit, Site]]]:
    """All places where a change can be made, if they are a few, those of one line, and those where it is done to the same array."""
    lines: dict[Any, list[tuple[Edit, Site]]] = defaultdict(list)
    for edit, site in pairs:
        lines[site.node.lineno].append((edit, site))  # type: ignore[attr-defined]
        target: Any = getattr(site.node, "target", None)
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Tuple):  # the same is added to a part of a row or of a column
            for k, part in enumerate(target.slice.elts):
                lines[site.text(site.node.value), k, ast.unparse(part)].append((edit, site))  # type: ignore[attr-defined]
        if isinstance(site.node, ast.Call) and site.node.args:
            lines[ast.unparse(site.node.args[0])].append((edit, site))
    two = [list(some) for some in itertools.combinations(pairs, 2)] if pairs[0][0].key[0] in ALIKE and len(pairs) <= MOST_STORES else []
    groups = {tuple(site.number for _, site in some): some for some in (pairs, *lines.values(), *two)}
    yield from (some for some in groups.values() if 1 < len(some) < 6)


def _is_of_a_loop(site: Site) -> bool:
    return not site.block and (_is_of_a_head(site) or _is_assigned_in_a_loop(site))


def _is_of_a_head(site: Site) -> bool:
    """Is it what a loop goes through, or a part of that?"""
    inside = itertools.pairwise((site.node, *site.parents))
    return any(isinstance(loop, ast.For) and getattr(loop.iter, "was", loop.iter) is node for node, loop in inside)


def _is_assigned_in_a_loop(site: Site) -> bool:
    """Is it the value that a name is given in each turn of a loop?"""
    return isinstance(site.node, ast.Assign) and any(isinstance(parent, (ast.For, ast.While)) for parent in site.parents)


def _is_saved(site: Site) -> bool:
    """In forward: is it what is kept for backward?"""
    for parent in site.parents:
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "save_for_backward":
            return True
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute):
            return True
    return False


def _names_in(function: Any) -> tuple[str, ...]:
    """The names of other functions that it may call."""
    code = getattr(function, "__code__", None)
    return (*code.co_names, *code.co_freevars) if code else ()
