"""A softmax written out as `e / e.sum()`, differentiated with a part of its rule `p * (g - (g * p).sum())` left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .stepwise import Chain, ChainSlip


def shares(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """Without the shares in front, or with a sum that they do not weigh."""
    for power, p, axes in _written_out(chain, x):
        name = chain.names[p - len(chain.inputs)]
        text = f"lacks a factor of the softmax that is written out: its own result, that of {name}"
        yield ChainSlip("variable", text, complete=True, predict=lambda chain, d=power, p=p: _sent(
            chain, x, d, chain.gradients[d] / chain.values[p]))  # fmt: skip
        text = "subtracts a plain sum in the derivative of the softmax that is written out, and not one weighted by its own result, "
        text += f"that of {name}"
        yield ChainSlip("variable", text, complete=True, predict=lambda chain, d=power, p=p, a=axes: _sent(
            chain, x, d, chain.values[p] * (chain.gradients[p] - chain.gradients[p].sum(a, keepdims=True))))  # fmt: skip


def _written_out(chain: Chain, x: str) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """The places of the power, the shares, and the axes along which they add up to 1."""
    made, depends = {step.place: step for step in chain.steps}, chain.reaches(x)
    for step in chain.steps:
        if step.row.name != "div" or step.place not in depends:
            continue
        exponential, total = [made[s] if s in made else None for s in step.sources]
        if exponential is None or total is None or (exponential.row.name, total.row.name) != ("exp", "sum"):
            continue
        long, short = chain.values[exponential.place].shape, np.shape(chain.values[total.place])
        power = exponential.sources[0]
        if power is not None and power in depends and total.sources[0] == exponential.place and (not short or len(short) == len(long)):
            yield power, step.place, tuple(i for i, n in enumerate(long) if not short or short[i] < n)


def _sent(chain: Chain, x: str, place: int, value: np.ndarray) -> np.ndarray:
    """The gradient for x if this comes back to a place."""
    at = chain.inputs.index(x)
    return chain.gradients[at] + chain.sent_to(at, place, value - chain.gradients[place])
