"""Several derivatives that are left out one after the other: the inner part of a chain rule, `a * exp(-a * r)` of `1 - exp(-a * r)`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .stepwise import Chain, ChainSlip

MOST = 4  # steps in a row


def jumps(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """What comes back to a place is passed on to one before it, as if what is done in between did not change it."""
    made, depends = {step.place: i for i, step in enumerate(chain.steps)}, chain.reaches(x) - chain.constant
    for start in chain.steps:
        place, way = start.place, list[int]()
        while len(way) < MOST and place in depends and (before := _only_source(chain, made, place)) is not None:
            way.append(made[place])
            place = before
            if len(way) > 1 and place in made and place in depends:
                *names, last = [chain.names[i] for i in way]
                text = f"leaves out the derivatives of {', '.join(names)} and {last}: what comes back to the first is passed on to "
                yield ChainSlip("factor", text + chain.words[place], lambda chain, a=start.place, b=place: _jumped(chain, x, a, b))


def _only_source(chain: Chain, made: dict[int, int], place: int) -> int | None:
    """What a step makes its entries of, one by one, if that is one value of the same shape."""
    step = chain.steps[made[place]] if place in made else None
    if step is None or step.row.kind != "elementwise" or step.incoming is None:
        return None
    sources = [s for s in step.sources if s is not None and np.ndim(chain.values[s])]
    same = len(sources) == 1 and np.shape(chain.values[sources[0]]) == np.shape(chain.values[place])
    return sources[0] if same and [s for s in step.sources if s is not None] == sources else None


def _jumped(chain: Chain, x: str, place: int, before: int) -> np.ndarray:
    at, back = chain.inputs.index(x), chain.gradients[place]
    return chain.gradients[at] + chain.sent_to(at, before, back - chain.sent_to(before, place, back))
