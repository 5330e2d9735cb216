"""The capstone, milestone 7: attention as one operation, with its backward rule written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from .live_module import numbers
from .ps_capstone_scene import program_scene, upstream, weighted
from .scenes import Behaviour, Data, Slip, arrays


def _attend(engine, q, k, v) -> Data:
    leaves = [engine.Tensor(a, requires_grad=True) for a in (q, k, v)]
    out = engine.attention(*leaves)
    weighted(engine, out).backward()
    return {"result": numbers(out), **{f"{name}.grad": numbers(leaf.grad) for name, leaf in zip("qkv", leaves, strict=True)}}


def _attend_value(engine, q, k, v) -> Data:
    return {"result": numbers(engine.attention(*(engine.Tensor(a) for a in (q, k, v))))}


def _attend_large(engine, q, k, v) -> Data:
    return {"result": numbers(engine.attention(engine.Tensor(300 * q), engine.Tensor(300 * k), engine.Tensor(v)))}


@contextmanager
def _counted(tensor: type) -> Iterator[list]:
    """How many tensors are made in this block."""
    made: list = []
    begin = tensor.__init__  # type: ignore[misc]

    def counting(self, *arguments, **settings):
        made.append(1)
        begin(self, *arguments, **settings)

    tensor.__init__ = counting  # type: ignore[misc]
    try:
        yield made
    finally:
        tensor.__init__ = begin  # type: ignore[misc]


def _tensors_made(engine, q, k, v) -> Data:
    leaves = [engine.Tensor(a, requires_grad=True) for a in (q, k, v)]
    if not isinstance(engine.Tensor, type):  # autolab's function that makes a tensor
        return {"made": 1}
    with _counted(engine.Tensor) as made:
        engine.attention(*leaves)
    return {"made": len(made)}


def _softmax(s) -> np.ndarray:
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _weights(q, k, scale=True, causal=True, axis=-1) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) / (np.sqrt(q.shape[-1]) if scale else 1)
    scores = np.where(np.tri(q.shape[-2], dtype=bool), scores, -np.inf) if causal else scores
    return np.swapaxes(_softmax(np.swapaxes(scores, -1, axis)), -1, axis)


def _back(q, k, v, scale=True, inner=True) -> dict[str, np.ndarray]:
    """The gradients with one of the mistakes that are usual here."""
    g, p, d = upstream(v.shape), _weights(q, k), np.sqrt(q.shape[-1])
    to_p = g @ np.swapaxes(v, -1, -2)
    s = p * (to_p - (to_p * p).sum(axis=-1, keepdims=True) if inner else to_p) / (d if scale else 1)
    return {"q.grad": s @ k, "k.grad": np.swapaxes(s, -1, -2) @ q, "v.grad": np.swapaxes(p, -1, -2) @ g}


THREE = arrays((5, 4), (5, 4), (5, 4))
FUSED = Behaviour(
    "capstone_fused",
    (
        program_scene(
            "values",
            _attend_value,
            "a weighted average of what came before",
            "Rows of weights add up to 1; place 0 sees itself alone.",
            2,
            THREE,
            slips=[
                Slip(
                    "mask",
                    "Each place sees the places after it as well",
                    "Place t sees the places up to t.",
                    lambda q, k, v: {"result": _weights(q, k, causal=False) @ v},
                ),
                Slip(
                    "constant",
                    "The scores are not divided by the root of d",
                    "q @ k.T / sqrt(d)",
                    lambda q, k, v: {"result": _weights(q, k, scale=False) @ v},
                ),
                Slip(
                    "constant",
                    "The scores are divided by d and not by its root",
                    "q @ k.T / sqrt(d)",
                    lambda q, k, v: {"result": _weights(q / np.sqrt(q.shape[-1]), k) @ v},
                ),
                Slip(
                    "mask",
                    "What is not seen has the score 0, and so a weight",
                    "exp(-inf) is 0, exp(0) is 1.",
                    lambda q, k, v: {"result": _softmax(q @ k.T / np.sqrt(q.shape[-1]) * np.tri(len(q))) @ v},
                ),
                Slip(
                    "mask",
                    "The weights of what is not seen are deleted after the softmax: the others do not add up to 1",
                    "Mask the scores.",
                    lambda q, k, v: {"result": (_weights(q, k, causal=False) * np.tri(len(q))) @ v},
                ),
                Slip(
                    "mask",
                    "A place does not see itself",
                    "Place t sees the places up to t.",
                    lambda q, k, v: {"result": _blind(q, k, v)},
                    sure=False,
                ),
            ],
        ),
        program_scene(
            "gradients",
            _attend,
            "the gradients of q, k and v",
            "Backwards: g to v and to the weights, through the softmax, then to q and to k.",
            3,
            THREE,
            slips=[
                Slip(
                    "term",
                    "The softmax's rule lacks what all weights of a row share",
                    "The weights of a row add up to 1: their gradients must know it.",
                    lambda q, k, v: {"q.grad": _back(q, k, v, inner=False)["q.grad"]},
                ),
                Slip(
                    "factor",
                    "1 / sqrt(d) is missing on the way back",
                    "The scores were divided by it.",
                    lambda q, k, v: {"q.grad": _back(q, k, v, scale=False)["q.grad"]},
                ),
                Slip(
                    "swapped",
                    "q and k receive each other's gradient",
                    "q has a row for each place that looks.",
                    lambda q, k, v: {"q.grad": _back(q, k, v)["k.grad"], "k.grad": _back(q, k, v)["q.grad"]},
                ),
                Slip(
                    "transposed",
                    "The weights are not transposed on the way to v",
                    "v[s] receives from all places t that see it.",
                    lambda q, k, v: {"v.grad": _weights(q, k) @ upstream(v.shape)},
                ),
                Slip(
                    "transposed",
                    "The gradient of the scores is not transposed on the way to k",
                    "k[s] receives from all places t that see it.",
                    lambda q, k, v: {"k.grad": _k_untransposed(q, k, v)},
                ),
            ],
        ),
        program_scene(
            "batches and heads",
            _attend,
            "any axes in front",
            "Swap the last two axes; .T swaps all.",
            1,
            arrays((2, 3, 4, 5), (2, 3, 4, 5), (2, 3, 4, 5)),
        ),
        program_scene(
            "large scores",
            _attend_large,
            "scores of a thousand",
            "softmax is the same for scores - scores.max().",
            1,
            THREE,
            slips=[
                Slip(
                    "unstable",
                    "Large scores overflow",
                    "softmax is the same for scores - scores.max().",
                    lambda q, k, v: {"result": np.full(v.shape, np.nan)},
                    sure=False,
                )
            ],
        ),
        program_scene(
            "one tensor", _tensors_made, "one operation", "Compute on arrays, and record one rule.", 1, THREE, says={"made": "tensors made"}
        ),
    ),
)


def _blind(q, k, v) -> np.ndarray:
    scores = np.where(np.tri(len(q), k=-1, dtype=bool), q @ k.T / np.sqrt(q.shape[-1]), -np.inf)
    with np.errstate(all="ignore"):
        return _softmax(scores) @ v


def _k_untransposed(q, k, v) -> np.ndarray:
    g, p = upstream(v.shape), _weights(q, k)
    to_p = g @ v.T
    return p * (to_p - (to_p * p).sum(axis=-1, keepdims=True)) / np.sqrt(q.shape[-1]) @ q
