"""A step that mixes entries, a softmax or a norm written out, taken for one that treats each entry alone.

Where all that goes into `e / e.sum()` comes from e, each entry of the result depends on all entries of e. Who differentiates it as if
there were one entry, `p * (1 - p)`, multiplies by the diagonal of its Jacobian alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .stepwise import Chain, ChainSlip

MOST_ENTRIES = 40  # each is a pass back through a few steps


def own_entries(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """What comes back through such steps from the entries in their own places alone."""
    for place, source in _mixed(chain, x):
        name = chain.names[place - len(chain.inputs)]
        text = f"has the diagonal alone of the derivative of {name}, of which each entry depends on the others along the axis as well"
        yield ChainSlip("diagonal only", text, lambda chain, p=place, s=source: _of_diagonal(chain, x, p, s))


def _mixed(chain: Chain, x: str) -> Iterator[tuple[int, int]]:
    """The places that are made of one other of their shape, with a sum over it on the way: that next to them, and the first one."""
    start, seen = chain.inputs.index(x), set[int]()
    depends = chain.reaches(x)
    for step in chain.steps:
        shape = np.shape(chain.values[step.place])
        if step.place not in depends or step.row.kind != "elementwise" or not 1 < chain.values[step.place].size <= MOST_ENTRIES:
            continue
        through = [s for s in (start, *(other.place for other in chain.steps)) if s < step.place and np.shape(chain.values[s]) == shape]
        through = [s for s in through if s in depends and _passes(chain, start, s, step.place) and _mixes(chain, s, step.place)]
        for source in dict.fromkeys((through[-1], through[0])) if through else ():
            if source not in seen:  # what is done to the result, entry by entry, is another matter
                seen.add(source)
                yield step.place, source


def _passes(chain: Chain, start: int, source: int, place: int) -> bool:
    """Does all that reaches a place from the start pass through this source?"""
    found = {start} - {source}
    for step in chain.steps:
        if step.place != source and not found.isdisjoint(step.sources):
            found.add(step.place)
    return place not in found


def _mixes(chain: Chain, source: int, place: int) -> bool:
    """Is there a step between them that takes entries together?"""
    after = {source}
    for step in chain.steps:
        if not after.isdisjoint(step.sources):
            after.add(step.place)
    before = {place}
    for step in reversed(chain.steps):
        if step.place in before:
            before.update(s for s in step.sources if s is not None)
    return any(step.row.kind != "elementwise" and step.place in after & before for step in chain.steps)


def _of_diagonal(chain: Chain, x: str, place: int, source: int) -> np.ndarray:
    """The gradient for x where each entry of `source` receives what its own entry of `place` sends it, without what the others do."""
    g, at = chain.gradients[place], chain.inputs.index(x)
    wanted = chain.sent_to(source, place, g)
    own = np.zeros_like(wanted)
    for i in np.ndindex(own.shape):
        alone = np.zeros_like(g)
        alone[i] = g[i]
        own[i] = chain.sent_to(source, place, alone)[i]
    size = np.vdot(wanted, wanted)
    if not size or np.allclose(own, wanted * (np.vdot(own, wanted) / size)):
        raise LookupError("it is the whole, or a part of the whole that n - 1 for n gives as well")
    return chain.gradients[at] + chain.sent_to(at, source, own - wanted)
