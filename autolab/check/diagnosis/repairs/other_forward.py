"""The computation that somebody takes forward for, whose gradient came back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

from ...run.observation import Observation
from ..diagnosis import Mistake
from ..quiet import quiet
from ..smaller import smaller_call
from .changed_forward import ChangedForward
from .slips_of_forward import OTHER, VALUES, Slip, is_in_a_loop, of_all, of_site
from .slips_of_loops import is_stored_in_a_loop, of_loops, right_in

MOST = 60_000  # questions that the places of forward ask
AT_RIGHT_STATES = " in each turn, where each begins with the right values"


@quiet
def find_other_forward(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The computation that differs from forward in one place of its source and whose gradient came back, in all these calls."""
    first = min(wrong, key=lambda o: o.want[x].size + o.out.size)
    reference = first.reference
    if reference.function is None:
        return None
    others = {(repr(o.settings), *(a.tobytes() for a in o.inputs)): o for o in wrong}.values()  # with one g each
    calls = [_Call(o) for o in (smaller_call(first, x) or first, *others)]
    try:
        for key in calls[0].slips:
            if calls[0].forward.work > MOST:
                return None
            if all(call.gives(x, key) for call in calls):
                slip = calls[0].slips[key]
                return Mistake(slip.family, slip.text)
    finally:
        for call in calls:
            call.forward.close()
    return None


class _Call:
    """One call, and what may be changed in the forward of it."""

    def __init__(self, o: Observation):
        self.observation, self.forward = o, ChangedForward(o)

    @cached_property
    def slips(self) -> dict[Any, Slip]:
        slips = slips_of_forward(self.forward) if self.forward.note(self.observation) else []
        return {(slip.text, *(site.number for site in slip.sites)): slip for slip in slips}

    def gives(self, x: str, key: Any) -> bool:
        """Is what came back for x the gradient of forward with this change?"""
        return key in self.slips and self.forward.gives(self.observation, x, self.slips[key].changes)


def slips_of_forward(forward: ChangedForward) -> list[Slip]:
    """All that is tried, the likeliest first."""
    sites = [site for site in forward.schema.visited() if site.block is None or site.number == site.asks]
    found: list[Slip] = []
    for site in sites:
        found += (Slip(cost, family, text, (site,), {site.asks: change}) for cost, family, text, change in of_site(forward, site))
    carried = [site for site in sites if is_stored_in_a_loop(site) and site.node.targets[0].id in site.names]  # type: ignore[attr-defined]
    kept = {s.number: partial(forward.counted, partial(right_in, forward.values[s.number]), s.number) for s in carried}
    others = [slip for slip in found if slip.text.startswith((OTHER, VALUES))]
    others = [slip for slip in others if is_in_a_loop(slip.sites[0]) and slip.sites[0].number not in kept]
    found += (s._replace(cost=s.cost + 0.2, text=s.text + AT_RIGHT_STATES, changes={**s.changes, **kept}) for s in others if kept)
    found += of_all(sites)
    in_loops = list(of_loops(forward, sites))
    found += in_loops
    others = [slip for slip in in_loops if slip.family == "places"]
    found += (s._replace(cost=s.cost + 0.1, changes={**kept, **s.changes}, text=s.text + AT_RIGHT_STATES) for s in others if kept)
    return sorted(found, key=lambda slip: (slip.cost, slip.sites[0].number))
