"""Problem set 14: pieces of training on many machines. The machines are played here, one after the other."""

from __future__ import annotations

import numpy as np

from ..run.inputs import draw
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult, arrays

MOST_STEPS = 40  # of a worker that does not come to an end


def _play_ring(worker, data) -> tuple[list, list[int], int]:
    """What each worker returns, how many numbers it sent, and in how many steps. Row k of `data` is the array of worker k."""
    p = len(data)
    workers = [worker(k, p, row.copy()) for k, row in enumerate(data)]
    if not all(hasattr(w, "send") for w in workers):
        raise UnexpectedResult(f"worker returned a {type(workers[0]).__name__}, expected a generator: send with `came = yield chunk`")
    results: list = [None] * p
    sent, came, steps = [0] * p, [None] * p, 0
    while any(r is None for r in results):
        out: list = [None] * p
        for k, w in enumerate(workers):
            if results[k] is None:
                try:
                    out[k] = np.array(w.send(came[k]), dtype=float)
                except StopIteration as end:
                    results[k] = np.array(end.value, dtype=float)
                else:
                    sent[k] += out[k].size
        if steps == MOST_STEPS and any(o is not None for o in out):
            raise UnexpectedResult(f"the workers were still sending after {MOST_STEPS} steps, expected an end")
        if any(o is None for o in out) and any(o is not None for o in out):
            raise UnexpectedResult("some workers had ended while others still sent, expected that all end together")
        came, steps = [out[k - 1] for k in range(p)], steps + (out[0] is not None)
    return results, sent, steps


def _sums(worker, data) -> Data:
    results, _, _ = _play_ring(worker, data)
    return {f"worker {k}": r for k, r in enumerate(results)}


def _sent(worker, data) -> Data:
    _, sent, steps = _play_ring(worker, data)
    return {"sent": sent, "steps": steps}


def _alone(data) -> Data:
    return {f"worker {k}": row for k, row in enumerate(data)}


def _scattered(data) -> Data:
    """Only the reduce-scatter was done: of the sum, a worker has the chunk after its own; the others are part-way."""
    p = len(data)
    chunks = [np.split(row.copy(), p) for row in data]
    for step in range(p - 1):
        moving = [chunks[k][(k - step) % p].copy() for k in range(p)]
        for k in range(p):
            chunks[k][(k - 1 - step) % p] += moving[k - 1]
    return {f"worker {k}": np.concatenate(c) for k, c in enumerate(chunks)}


TWO_ROUNDS = "p - 1 steps in which what comes is added, then p - 1 in which it replaces what was there."
RING = Behaviour("ring_worker", (
    Scene("three workers", _sums, lambda data: {f"worker {k}": data.sum(0) for k in range(3)}, "everyone has the sum",
          "Write down for three workers who has which chunk after each step.", 3, arrays((3, 6)), slips=[
              Slip("half", "The complete chunks are not passed on: this is the reduce-scatter alone", TWO_ROUNDS, _scattered),
              Slip("nothing added", "Each worker returns its own array", TWO_ROUNDS, _alone),
              Slip("averaged", "The sum is divided by the number of workers", "All-reduce adds up; who wants a mean divides afterwards.",
                   lambda data: {f"worker {k}": data.mean(0) for k in range(3)})]),
    Scene("five workers", _sums, lambda data: {f"worker {k}": data.sum(0) for k in range(5)}, "for another number of workers",
          "Indices of chunks are taken modulo the number of workers.", 2, arrays((5, 10))),
    Scene("traffic", _sent, lambda data: {"sent": [12] * 4, "steps": 6}, "2(p - 1)/p of the array, in 2(p - 1) steps",
          "One chunk in each step, not the whole array.", 3, arrays((4, 8)),
          says={"sent": "numbers that each worker sent", "steps": "steps"}, slips=[
              Slip("too much", "The whole array is sent in each step", "One chunk in each step: cut the array into p.",
                   lambda data: {"sent": [24] * 4, "steps": 3}),
              Slip("too much", "The whole array is sent in each of 2(p - 1) steps", "One chunk in each step: cut the array into p.",
                   lambda data: {"sent": [48] * 4, "steps": 6}),
              Slip("half", "Only half of the steps are there", TWO_ROUNDS, lambda data: {"sent": [6] * 4, "steps": 3}),
              Slip("too many steps", "There is a step too many in each half", "With p workers a chunk moves p - 1 times to meet all.",
                   lambda data: {"sent": [16] * 4, "steps": 8})]),
))  # fmt: skip


def _buckets(sizes, limit):
    def play(f, *_):
        found = f(list(sizes), limit)
        try:
            return {"buckets": " | ".join(" ".join(str(int(i)) for i in bucket) for bucket in found)}
        except (TypeError, ValueError):
            raise UnexpectedResult(f"buckets is a {type(found).__name__}, expected a list of lists of numbers") from None

    return play


def _said(text):
    return lambda: {"buckets": text}


def _order(name, passed, hint, points, sizes, limit, right, *slips):
    """A scene: the buckets of parameters of these sizes, as the numbers of parameters, with a bar between buckets."""
    known = [Slip(family, text, hint, _said(wrong)) for family, text, wrong in slips]
    return Scene(name, _buckets(sizes, limit), _said(right), passed, hint, points, slips=known, says={"buckets": "the buckets"})


LIMIT = "Close a bucket as soon as it has reached the limit: the parameter that fills it is the last one in it."
BUCKETS = Behaviour("bucket_order", (
    _order("order", "the last parameter first", "Which gradient is complete first?", 2, (4, 4, 4, 4), 8, "3 2 | 1 0",
           ("forward order", "The buckets are in the order of the forward pass", "0 1 | 2 3"),
           ("forward order", "The buckets come last to first, and inside they are in forward order", "2 3 | 0 1"),
           ("single", "Everything is in one bucket", "3 2 1 0"),
           ("too early", "A bucket is closed before it has reached the limit", "3 | 2 | 1 | 0")),
    _order("limit", "closed as soon as it is full", LIMIT, 2, (3, 5, 2, 9, 4), 6, "4 3 | 2 1 | 0",
           ("too early", "A parameter that would lead beyond the limit begins a new bucket: buckets travel that are not full",
            "4 | 3 | 2 | 1 | 0"),
           ("forward order", "The buckets are in the order of the forward pass", "0 1 | 2 3 | 4"),
           ("rest lost", "What is left at the end, and does not fill a bucket, is lost", "4 3 | 2 1")),
    _order("rest", "the rest travels, too", "After the last parameter, is there something in the open bucket?", 2, (2, 3, 7), 5, "2 | 1 0",
           ("empty", "There is an empty bucket at the end", "2 | 1 0 | "),
           ("too late", "A bucket is closed only when it is beyond the limit", "2 | 1 0")),
    _order("not full", "a single small one", "Nothing fills the bucket. The gradient has to arrive nevertheless.", 1, (2, 1), 50, "1 0",
           ("rest lost", "What does not fill a bucket is lost", "")),
))  # fmt: skip


def _weighted(counts):
    counts = np.array(counts)

    def play(f, *gradients):
        return {"gradient": f([np.array(g) for g in gradients], [int(n) for n in counts])}

    def expect(weights):
        return lambda *gradients: {"gradient": sum(w * g for w, g in zip(weights, gradients, strict=True))}

    return play, expect, counts


def _shard_scene(name, counts, passed, hint, points):
    play, expect, n = _weighted(counts)
    p, total = len(n), max(n.sum(), 1)
    slips = [
        Slip("weights", "Every worker counts the same, whatever the size of its shard", "How much does one example of a small shard count?",
             expect(np.full(p, 1 / p))),
        Slip("weights", "Workers without examples are left out, and the others count the same", "How much does one example count?",
             expect((n > 0) / max((n > 0).sum(), 1))),
        Slip("not divided", "The gradients are weighted with the counts, and nothing divides by their sum", "A sum over all examples is "
             "not yet a mean.", expect(n)),
        Slip("not divided", "The gradients are added up as they are", "The mean over all examples, not a sum of means.",
             expect(np.ones(p))),
        Slip("averaged twice", "After weighting, the result is divided by the number of workers as well",
             "The weights n_k / n add up to 1.", expect(n / total / p)),
        Slip("not divided", "The gradients are weighted with the counts, and divided by the number of workers",
             "A sum over all examples is divided by their number.", expect(n / p)),
        Slip("weights", "A large shard counts less than a small one: the gradients are divided by the counts",
             "How much does one example count?", expect(np.divide(1, n, out=np.zeros(p), where=n > 0) / p)),
        Slip("weights", "Each worker counts as much as all others have examples", "How much does one example count?",
             expect((total - n) / total)),
        Slip("weights", "The weights are shares of the largest shard, not of all examples", "The weights n_k / n add up to 1.",
             expect(n / n.max())),
    ]  # fmt: skip
    return Scene(name, play, expect(n / total), passed, hint, points, arrays(*[(4,)] * p), slips=slips)


WEIGHTS = Behaviour("shard_weights", (
    _shard_scene("equal shards", (8, 8, 8), "a plain mean", "With equal shards every worker counts the same.", 1),
    _shard_scene("unequal shards", (40, 8, 12, 4), "each example counts the same",
                 "The mean gradient of n_k examples stands for n_k of them.", 3),
    _shard_scene("an empty shard", (5, 0, 3), "no examples, no weight",
                 "A worker that had nothing to do still has to take part: with weight 0.", 2),
    Scene("nan of an empty shard", lambda f, a: {"gradient": f([np.array(a), np.full(4, np.nan)], [6, 0])}, lambda a: {"gradient": a},
          "a mean over nothing is nan, and must not spread", "0 times nan is nan: leave a gradient out when its count is 0.", 1,
          arrays((4,)), slips=[
              Slip("nan", "A worker without examples spreads its nan", "0 times nan is nan: leave it out.",
                   lambda a: {"gradient": a * np.nan})]),
))  # fmt: skip


def _rounded(f, x, step, u) -> Data:
    return {"rounded": f(x, float(step), u)}


def _with_step(rng):
    return draw(rng, (6,)), np.array(0.25), rng.uniform(0.02, 0.98, (6,))


def _mean_rounded(f, x) -> Data:
    """The mean over a thousand evenly spread u, of what was rounded."""
    found = np.array([f(x.copy(), 0.5, np.full(x.shape, (k + 0.5) / 1000)) for k in range(1000)])
    return {"mean": found.mean(axis=0).round(3), "rounded": np.array_equal(found, np.round(found / 0.5) * 0.5)}


ROUNDING = Behaviour("stochastic_round", (
    Scene("value", _rounded, lambda x, step, u: {"rounded": np.floor(x / step + u) * step}, "up or down, as u decides",
          "With u = 0.3: 0.8 steps become one, 0.6 steps become none.", 3, _with_step, slips=[
              Slip("nearest", "This is rounding to the nearest: u has no effect", "Where does u come in?",
                   lambda x, step, u: {"rounded": np.round(x / step) * step}),
              Slip("nearest", "This rounds down always: u has no effect", "Where does u come in?",
                   lambda x, step, u: {"rounded": np.floor(x / step) * step}),
              Slip("towards zero", "Negative numbers are rounded towards zero, not down, before u decides",
                   "int and trunc cut digits off: -1.3 becomes -1. floor(-1.3) is -2.",
                   lambda x, step, u: {"rounded": np.trunc(x / step + u) * step}),
              Slip("reversed", "u decides the other way: what is nearly a whole step is mostly rounded down",
                   "With u = 0.3: 0.8 steps become one.",
                   lambda x, step, u: {"rounded": np.floor(x / step + 1 - u) * step}),
              Slip("reversed", "u decides the other way: a small rest is mostly rounded up", "With u = 0.3: 0.8 steps become one.",
                   lambda x, step, u: {"rounded": (np.floor(x / step) + (u > x / step - np.floor(x / step))) * step}),
              Slip("not rescaled", "The result is in steps: it is not multiplied by the step again", "Round 3.1 steps of 0.25 by hand.",
                   lambda x, step, u: {"rounded": np.floor(x / step + u)}),
              Slip("step ignored", "The step is ignored: this rounds to whole numbers", "Round 3.1 steps of 0.25 by hand.",
                   lambda x, step, u: {"rounded": np.floor(x + u)}),
              Slip("step ignored", "x is rounded to whole numbers, and u alone has to do with the step", "Round 3.1 steps of 0.25 by hand.",
                   lambda x, step, u: {"rounded": np.floor(x + u * step)}),
              Slip("division", "x is multiplied by the step and divided by it afterwards: the other way round", "How many steps is x?",
                   lambda x, step, u: {"rounded": np.floor(x * step + u) / step}),
              Slip("noise", "u is added after rounding", "Add u to the number of steps, then round down.",
                   lambda x, step, u: {"rounded": (np.floor(x / step) + u) * step})]),
    Scene("on average", _mean_rounded, lambda x: {"mean": x, "rounded": True}, "right on average, below zero too",
          "The chance of rounding up is the part of a step that is left over.", 3,
          lambda rng: (rng.integers(-1500, 1500, 5) / 500,), says={"rounded": "every result is a multiple of the step"}, slips=[
              Slip("nearest", "On average this is the nearest multiple of the step, not x", "Where does u come in?",
                   lambda x: {"mean": np.round(x / 0.5) * 0.5})]),
    Scene("multiples", lambda f, u: {"rounded": f(np.array([-2.0, -0.5, 0.0, 1.5]), 0.5, u)},
          lambda u: {"rounded": np.array([-2.0, -0.5, 0.0, 1.5])}, "what is a multiple stays",
          "If nothing is left over, there is nothing to decide.", 1,
          lambda rng: (rng.uniform(0, 0.98, (4,)),), side=True),
))  # fmt: skip

PARALLEL = (RING, BUCKETS, WEIGHTS, ROUNDING)
