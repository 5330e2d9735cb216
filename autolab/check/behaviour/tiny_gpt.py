"""The language model of lesson 17 on any engine that has the names of the capstone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class GPT:
    """Letters and places as vectors, blocks of attention and a small network, and a score for each letter that may come next.

    `engine` has Tensor, Linear, Embedding, LayerNorm and attention. Lesson 17 has GELU where relu is here.
    """

    def __init__(self, engine: Any, letters: int, context: int, width: int, heads: int, blocks: int, rng: Any):
        linear, norm = engine.Linear, engine.LayerNorm
        self.engine, self.heads = engine, heads
        self.letter, self.place = engine.Embedding(letters, width, rng), engine.Embedding(context, width, rng)
        self.blocks = [
            {
                "norm a": norm(width), "query": linear(width, width, rng, bias=False), "key": linear(width, width, rng, bias=False),
                "value": linear(width, width, rng, bias=False), "mix": linear(width, width, rng, bias=False),
                "norm b": norm(width), "up": linear(width, 4 * width, rng), "down": linear(4 * width, width, rng),
            }
            for _ in range(blocks)
        ]  # fmt: skip
        self.norm, self.scores = norm(width), linear(width, letters, rng, bias=False)

    def parameters(self) -> list:
        """All tensors that learn."""
        layers = [self.letter, self.place, *(layer for block in self.blocks for layer in block.values()), self.norm, self.scores]
        return [p for layer in layers for p in layer.parameters()]

    def split(self, x: Any) -> Any:
        """(n, time, width) -> (n, heads, time, width / heads)."""
        n, time, width = x.shape
        return x.reshape(n, time, self.heads, width // self.heads).transpose(1, 2)

    def __call__(self, text: Any) -> Any:
        """Whole numbers (n, time) -> scores (n, time, letters)."""
        time = text.shape[1]
        x = self.letter(text) + self.place.weight[:time]
        for b in self.blocks:
            z = b["norm a"](x)
            seen = self.engine.attention(*(self.split(b[name](z)) for name in ("query", "key", "value")))
            x = x + b["mix"](seen.transpose(1, 2).reshape(*x.shape))
            x = x + b["down"](b["up"](b["norm b"](x)).relu())
        return self.scores(self.norm(x))

    def loss(self, text: Any) -> Any:
        """The mean cross-entropy of each next letter: whole numbers (n, time + 1) -> one number."""
        scores = self(text[:, :-1])
        n, time, letters = scores.shape
        return self.engine.cross_entropy(scores.reshape(n * time, letters), text[:, 1:].reshape(n * time))


def gpt_step(engine: Any) -> Callable[[], Any]:
    """A step of training a small GPT."""
    rng = np.random.default_rng(0)
    model, text = GPT(engine, 11, 8, 12, 2, 2, rng), rng.integers(0, 11, (4, 9))
    optimizer = engine.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        model.loss(text).backward()
        optimizer.step()

    return step
