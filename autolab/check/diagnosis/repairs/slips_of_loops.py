"""What somebody may take a loop of forward for: one with the values of another turn or of another line, or one without some turns."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from .changed_forward import ChangedForward, has_gradient, numbers
from .schema import Site, as_written, same
from .slips_of_forward import Slip, as_in, is_in_a_loop
from .values import shape_of, short

OF_ANOTHER = "is right with the `{}` {} in every turn of the loop, where each has its own"


def of_loops(forward: ChangedForward, sites: list[Site]) -> Iterator[Slip]:
    """What has another value in each turn, with one of them in all; and turns that are left out on the way back."""
    read: dict[str, list[Site]] = defaultdict(list)
    written: dict[str, list[Site]] = defaultdict(list)
    for site in sites:
        if isinstance(site.node, ast.Name) and _is_read(site) and site.number in forward.moving and site.node.id in _written(site):
            read[site.node.id].append(site)
        if is_stored_in_a_loop(site) and len(forward.values[site.number]) > 1:
            written[site.node.targets[0].id].append(site)  # type: ignore[attr-defined]
    for some in [*([name] for name in read), *[list(read)] * (len(read) > 1)]:
        every = [site for name in some for site in read[name]]
        for words, value_of in ONE_FOR_ALL:
            changes = {site.number: partial(forward.counted, partial(as_in, value_of(forward, site)), site.number) for site in every}
            yield Slip(1.1 + 0.05 * len(some), "places", OF_ANOTHER.format("` and `".join(some), words), tuple(every), changes)
    begun = {site.parents[0]: often for site in sites if site.do is range and (often := len(forward.values[site.number]))}
    for name, every in read.items():
        yield from _of_another_state(forward, name, every, begun)
    for name, every in written.items():
        looks = {s.number: partial(_skipped, name, len(forward.values[s.number])) for s in every}
        changes = {number: partial(forward.counted, look, number) for number, look in looks.items()}
        yield Slip(1.3, "one of many", LAST_ALONE.format(name), tuple(every), changes)


ONE_FOR_ALL: tuple[tuple[str, Callable[[ChangedForward, Any], Any]], ...] = (
    ("of the first turn", lambda forward, site: forward.values[site.number][0]),
    ("of the last turn", lambda forward, site: forward.values[site.number][-1]),
    ("from after the loop", lambda forward, site: forward.last[site.node.id]),
)
LAST_ALONE = "is right but for what the turns of the loop before the last do to `{}`, which it leaves out"


def _of_another_state(forward: ChangedForward, name: str, sites: list[Site], begun: Mapping[ast.AST, int]) -> Iterator[Slip]:
    """What is read at one place of a turn, as it is at another place of it; and as it is before the turns of an inner loop."""
    rows = forward.values
    places: dict[int, list[Site]] = defaultdict(list)
    for site in sites:
        places[next(p.lineno for p in site.parents if isinstance(p, ast.stmt))].append(site)
    for here, there in permutations(places.values(), 2) if len(places) <= MOST_PLACES else ():
        other = rows[there[0].number]
        if all(_may_be(other, rows[site.number]) for site in here):
            text = OF_A_STATE.format(name, _statement(here[0]), _statement(there[0]))
            yield _with_values(forward, 1.2, text, here, dict.fromkeys((site.number for site in here), other))
    inner = {site.number: turns for site in sites if (turns := _turns(len(rows[site.number]), site, begun)) > 1}
    if inner:
        text = OF_ANOTHER.format(name, "from before the inner loop")
        before = {n: [rows[n][k - k % turns] for k in range(len(rows[n]))] for n, turns in inner.items()}
        yield _with_values(forward, 1.2, text, [site for site in sites if site.number in inner], before)


MOST_PLACES = 5
OF_A_STATE = "is right with `{}` in {} as it is in {}"


def _statement(site: Site) -> str:
    return f"`{short(site.text(next(p for p in site.parents if isinstance(p, ast.stmt))))}`"


def _may_be(other: Sequence[Any], values: Sequence[Any]) -> bool:
    """Are these as many states of the same shape, and other ones?"""
    pairs = list(zip(other, values, strict=False))
    is_alike = len(other) == len(values) and all(a is not None and b is not None and a.shape == b.shape for a, b in pairs)
    return is_alike and any(not np.array_equal(a, b) for a, b in pairs)


def _with_values(forward: ChangedForward, cost: float, text: str, sites: Sequence[Site], rows: Mapping[int, Sequence[Any]]) -> Slip:
    changes = {n: partial(forward.counted, partial(right_in, row), n) for n, row in rows.items()}
    return Slip(cost, "places", text, tuple(sites), changes)


def _turns(often: int, site: Site, begun: Mapping[ast.AST, int]) -> int:
    """How many turns an inner loop makes each time it begins, if that is always the same number; 0 elsewhere."""
    loops = [p for p in site.parents if isinstance(p, (ast.For, ast.While))]
    times = begun.get(loops[0], 0) if len(loops) > 1 else 0
    return often // times if times and often % times == 0 else 0


def _is_read(site: Site) -> bool:
    """Is it in a loop, and not where a part of it is given another value?"""
    around = site.parents[0]
    return is_in_a_loop(site) and not (isinstance(around, (ast.Assign, ast.AugAssign)) and as_written(around.value) is not site.node)


def _written(site: Site) -> set[str]:
    """The names that the loops around a place give a value, all of it or a part."""
    loop: Any = [p for p in site.parents if isinstance(p, (ast.For, ast.While))][-1]
    if not hasattr(loop, "writes"):
        stored = [n.value if isinstance(n, ast.Subscript) else n for n in ast.walk(loop) if isinstance(getattr(n, "ctx", None), ast.Store)]
        loop.writes = {n.id for n in stored if isinstance(n, ast.Name)}
    return loop.writes


def _skipped(name: str, turns: int, k: int, value: Any, names: Any) -> Any:
    """What is written in the last turn; before that, what comes back goes past it."""
    before = names.get(name)
    if k == turns - 1 or not has_gradient(before) or shape_of(before) != shape_of(value):
        return value
    return as_in(numbers(value), k, before, names)


def is_stored_in_a_loop(site: Site) -> bool:
    """Is a name given another value here, in each turn?"""
    return isinstance(site.node, ast.Assign) and site.do is same and is_in_a_loop(site) and has_gradient(site.value)


def right_in(values: Sequence[np.ndarray], k: int, value: Any, names: Any) -> Any:
    """What comes back goes through what is given here; the numbers are those of the right forward."""
    return as_in(values[k], k, value, names)
