"""In which step of forward the derivative is wrong, where no slip that is known gives what came back.

What a step passes on is multiplied by an unknown number for each of its entries. Are there numbers that give the learner's whole Jacobian?
It has many more entries than there are unknowns, so that they fit by chance is out of the question, and where another step is wrong
they do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...run.observation import Observation, number
from ..diagnosis import Mistake
from ..replays.chains import first_chain
from ..replays.stepwise import Chain
from .jacobian_rows import Jacobians

MOST_IN_A_ROW = 6  # steps, where one number is wrong
MOST_SAID = 3  # of them
MOST_UNKNOWN = 40
MOST_RESULTS = 40
EACH = 2  # derivatives that have to fit for each unknown number
FITS = 1e-7  # beside the largest
MOST_NAMED = 2  # steps in a row, of which the numbers cannot say which one it is

WRONG_STEP = "has a wrong derivative of one step, that of"
Link = tuple[int, int]  # a step, and which of its arguments


def wrong_link(o: Observation, pair: Jacobians) -> Mistake | None:
    """The step whose derivative, with other numbers, gives this Jacobian, if there is one or two in a row."""
    chain = first_chain(o, pair.x)
    if chain is None or o.reference.elementwise or chain.g.size > MOST_RESULTS or not len(chain.steps):
        return None
    arrivals = _arrivals(chain)
    found = [links for links in _links(chain, pair.x) if _explains(chain, pair, links, arrivals)]
    named = list(dict.fromkeys(chain.names.name(links[0][0], every_round=len(links) > 1) for links in found))
    if not 0 < len(named) <= MOST_NAMED:
        return None
    text = f"{WRONG_STEP} {' or of '.join(named)}: it is off by another factor from entry to entry"
    return Mistake("factor", f"{text}; the rest of the chain rule is right", hint="step")


def wrong_number(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The step of which what it passes on is right times one number in each call, if there is one or a few in a row."""
    found = [_numbers(o, x) for o in wrong]
    steps = [name for name in found[0] if all(name in one for one in found)]
    if not 0 < len(steps) <= MOST_IN_A_ROW:
        return None
    times = [one[steps[0]] for one in found]
    through = f": what comes back through {' or '.join(steps[:MOST_SAID])}"
    if max(map(abs, times)) < FITS:
        return Mistake("term", f"misses one of its terms{through}")
    alike = np.ptp(times) <= FITS * abs(times[0])
    of_call = None if alike else _value_of_call(wrong, times)
    size = f"{of_call or number(times[0])} times as large as it should be"
    text = f"has one of its terms {size}{'' if alike or of_call else ' in one call, and otherwise in others'}"
    return Mistake("constant" if alike else "factor", text + through)


def _value_of_call(wrong: Sequence[Observation], numbers: Sequence[float]) -> str:
    """An input or a setting that is one number, or 1 divided by it, if that is this number in each call."""
    reference = wrong[0].reference
    for name in (*reference.inputs, *reference.settings):
        values: list[Any] = [o.names.get(name) for o in wrong]
        if all(np.ndim(v) == 0 and isinstance(v, (int, float, np.ndarray, np.number)) and v for v in values):
            for power, said in ((1, name), (-1, f"1 / {name}")):
                if all(abs(n - float(v) ** power) <= FITS * abs(n) for n, v in zip(numbers, values, strict=True)):
                    return said
    return ""


def wrong_weights(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The sum of which each term comes back with a number of its own, the same in all calls: other weights, as in a step of Heun's."""
    chains = [first_chain(o, x) for o in wrong]
    if any(chain is None or np.shape(o.got[x]) != o.want[x].shape for o, chain in zip(wrong, chains, strict=True)):
        return None
    known = [chain for chain in chains if chain is not None]
    off = np.concatenate([np.asarray(o.got[x] - o.want[x]).ravel() for o in wrong])
    for terms in _sums(known[0], x):
        if any(len(c.steps) != len(known[0].steps) for c in known) or off.size < len(terms) + EACH:
            continue
        rows: list[list[Any]] = [_parts(chain, x, terms) for chain in known]
        if any(part is None for parts in rows for part in parts):
            continue
        matrix = np.array([np.concatenate([np.ravel(parts[k]) for parts in rows]) for k in range(len(terms))]).T
        more, _, rank, _ = np.linalg.lstsq(matrix, off, rcond=1e-10)
        if rank < len(terms) or np.abs(matrix @ more - off).max() > FITS * np.abs(off).max() or np.abs(more).min() < FITS:
            continue
        if _independent(matrix) >= len(terms) + EACH or all(abs(round(PARTS * m) - PARTS * m) < FITS for m in more):
            times = [number(1 + m if abs(1 + m) > FITS else 0) for m in more]
            text = f"gives the terms of {known[0].names.name(terms[0][0])} other weights: what comes back through them is"
            return Mistake("constant", f"{text} {', '.join(times[:-1])} and {times[-1]} times as large as it should be")
    return None


PARTS = 12  # of one: a weight that is so many of them is no chance


def _independent(matrix: np.ndarray) -> int:
    """How many rows are no multiples of one another."""
    size = np.abs(matrix).max(axis=1, keepdims=True)
    rows = (matrix / np.where(size, size, 1))[size[:, 0] > 0]
    return len(np.unique(np.round(rows * np.sign(rows[:, :1]), 9), axis=0))


def _sums(chain: Chain, x: str) -> Iterator[list[Link]]:
    """Of each sum its terms that depend on x, if there are a few."""
    depends = chain.reaches(x)
    made = {step.place: i for i, step in enumerate(chain.steps) if step.row.name in ("add", "sub")}
    inside = {source for i in made.values() for source in chain.steps[i].sources if source in made}

    def terms(i: int) -> Iterator[Link]:
        for k, source in enumerate(chain.steps[i].sources):
            if source in made:
                yield from terms(made[source])
            elif source in depends:
                yield i, k

    for place, i in made.items():
        if place not in inside and 2 <= len(found := list(terms(i))) <= MOST_TERMS:
            yield found


MOST_TERMS = 5


def _parts(chain: Chain, x: str, links: Sequence[Link]) -> list[np.ndarray | None]:
    """What comes back to x through each of these."""
    at = chain.inputs.index(x)
    steps = [(chain.steps[i], i, k) for i, k in links]
    return [step.passed[k] if step.sources[k] == at else chain.sent_from(i, k, step.passed[k]).get(at) for step, i, k in steps]


def _numbers(o: Observation, x: str) -> dict[str, float]:
    """For each step that alone explains it the number, by what the step is called."""
    chain = first_chain(o, x)
    if chain is None or np.shape(o.got[x]) != o.want[x].shape or o.want[x].size < LEAST:
        return {}
    at, off = chain.inputs.index(x), o.got[x] - chain.gradients[chain.inputs.index(x)]
    found: dict[str, float] = {}
    for links in _links(chain, x):
        parts = [chain.steps[i].passed[k] if chain.steps[i].sources[k] == at else chain.sent_from(i, k, chain.steps[i].passed[k]).get(at)
                 for i, k in links]  # fmt: skip
        part = sum(p for p in parts if p is not None)
        size = float(np.vdot(part, part))
        if size and np.abs(off).max() > 0:
            more = float(np.vdot(part, off)) / size
            if np.abs(off - more * part).max() <= FITS * np.abs(off).max():
                found[chain.names.name(links[0][0], every_round=len(links) > 1)] = 1 + more
    return found


LEAST = 4  # entries, of which one number is asked


def _links(chain: Chain, x: str) -> list[list[Link]]:
    """Each way into a step that depends on x; those of one piece of code, in all rounds of a loop, together."""
    depends = chain.reaches(x)
    found: dict[Any, list[Link]] = defaultdict(list)
    for i, step in enumerate(chain.steps):
        for k, source in enumerate(step.sources):
            if source in depends and k in step.passed and step.row.kind == "elementwise":
                found[step.frames[:1] or i, step.row.name, k].append((i, k))
    return list(found.values())


def _arrivals(chain: Chain) -> list[dict[int, np.ndarray]]:
    """For each result alone, what arrives at each place."""
    found = []
    for j in range(chain.g.size):
        alone = np.zeros_like(chain.g)
        alone.flat[j] = 1.0
        found.append(chain.sent({chain.last: alone}, len(chain.steps)))
    return found


def _explains(chain: Chain, pair: Jacobians, links: list[Link], arrivals: list[dict[int, np.ndarray]]) -> bool:
    """Are there factors for what these links pass on with which the whole Jacobian is the learner's?"""
    sources = [chain.steps[i].sources[k] for i, k in links]
    sizes = [np.size(chain.values[s]) for s in sources if s is not None]
    if sum(sizes) > MOST_UNKNOWN:
        return False
    at = chain.inputs.index(pair.x)
    columns = []
    for (i, k), source in zip(links, sources, strict=True):
        step = chain.steps[i]
        empty = np.zeros(step.shape(k))
        passed = np.stack([np.ravel(step.fit(k, step.rule(k, a[step.place])) if step.place in a else empty) for a in arrivals])
        for e in range(empty.size):
            unit = np.zeros(step.shape(k))
            unit.flat[e] = 1.0
            there = unit if source == at else chain.sent_from(i, k, unit).get(at)
            if there is not None:
                columns.append(np.outer(passed[:, e], np.ravel(there)).ravel())
    matrix = np.array(columns).T
    if not matrix.size or np.count_nonzero(np.abs(matrix).max(axis=1) > 1e-12 * np.abs(matrix).max()) < EACH * matrix.shape[1]:
        return False
    off = (pair.yours - pair.right).ravel()
    factors = np.linalg.lstsq(matrix, off, rcond=1e-12)[0]
    return bool(np.abs(matrix @ factors - off).max() <= FITS * np.abs(off).max())
