"""A `where` that is not asked, or asked the wrong way round."""

from __future__ import annotations

from collections.abc import Iterator

from .stepwise import Chain, ChainSlip, links_to


def choices(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """One side of it everywhere, or both sides exchanged."""
    links = links_to(chain, x)
    for i in {i for i, _ in links if chain.steps[i].row.name == "where"}:
        ks = [k for j, k in links if j == i]
        for only in ks:
            text = "takes one side of where everywhere, as if its condition always had the same answer"
            yield ChainSlip("mask", text, lambda chain, i=i, ks=ks, only=only: chain.changed(
                x, {(i, k): chain.steps[i].whole(k) * (k == only) for k in ks}))  # fmt: skip
        yield ChainSlip("mask", "has the two sides of where exchanged", lambda chain, i=i, ks=ks: chain.changed(
            x, {(i, k): chain.steps[i].whole(k) - chain.steps[i].passed[k] for k in ks}))  # fmt: skip
