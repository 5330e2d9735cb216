"""The capstone, milestone 9: what a step costs, against autolab's in the same process.

Work is counted and not timed: a busy machine costs no points, and a regrade gives the same.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .autolab_engine import AUTOLAB
from .ps_capstone_scene import program_scene
from .scenes import Behaviour, Data, Slip
from .tiny_gpt import gpt_step

CALLS, PEAK = 8, 4  # times autolab's
ROOM = 50_000  # bytes: Python's own caches grow a little


def calls_of(step: Callable[[], Any]) -> int:
    """How many functions are called in a step, of Python and of NumPy. The same in every run."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    step()  # what happens only once is not counted
    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        step()
    finally:
        sys.setprofile(before)
    return count


def peak_of(step: Callable[[], Any]) -> int:
    """The bytes that a step needs at its peak."""
    step()
    gc.collect()
    with _traced():
        begin = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        step()
        return tracemalloc.get_traced_memory()[1] - begin


def network_step(engine: Any) -> Callable[[], Any]:
    """A step of a network whose activations are larger than its weights."""
    rng = np.random.default_rng(0)
    layers = [engine.Linear(64, 64, rng) for _ in range(4)]
    model = engine.Sequential(*(part for layer in layers for part in (layer, lambda z: z.tanh())))
    optimizer, x, t = engine.SGD(model.parameters(), lr=0.01), rng.normal(size=(1000, 64)), rng.integers(0, 64, 1000)

    def step():
        optimizer.zero_grad()
        engine.cross_entropy(model(engine.Tensor(x)), t).backward()
        optimizer.step()

    return step


def _kept_within(measure: Callable, make: Callable, most: int):
    def program(engine) -> Data:
        ratio = measure(make(engine)) / measure(make(AUTOLAB))
        return {"cost": f"at most {most} times autolab's" if ratio <= most else f"{ratio:.1f} times autolab's"}

    return program


@contextmanager
def _traced() -> Iterator[None]:
    """Count bytes in this block, and afterwards only if they were counted before."""
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        yield
    finally:
        if not running:
            tracemalloc.stop()


def _leak(engine) -> Data:
    """Does more stay after ten steps than after three?"""
    with _traced():
        step = network_step(engine)
        for _ in range(3):
            step()
        gc.collect()
        begin = tracemalloc.get_traced_memory()[0]
        for _ in range(7):
            step()
        gc.collect()
        return {"grown": tracemalloc.get_traced_memory()[0] - begin > ROOM}


BUDGET = Behaviour(
    "capstone_budget",
    (
        program_scene(
            "calls",
            _kept_within(calls_of, gpt_step, CALLS),
            f"a step of a GPT calls at most {CALLS} times as many functions as autolab",
            "Is each rule called once? Is the order found once for the whole pass?",
            2,
            says={"cost": "function calls of one step of a GPT"},
        ),
        program_scene(
            "peak",
            _kept_within(peak_of, network_step, PEAK),
            f"a step of a network needs at most {PEAK} times the memory of autolab",
            "Which arrays do your rules remember that they do not need, and which gradients stay after they were passed on?",
            2,
            says={"cost": "bytes at the peak of one step of a network"},
        ),
        program_scene(
            "no leak",
            _leak,
            "ten steps hold no more than three",
            "What do your tensors, optimizers or lists keep from step to step?",
            2,
            says={"grown": "more memory is held after ten steps than after three"},
            slips=[
                Slip(
                    "missing",
                    "Every step leaves something behind",
                    "A list that only grows, or a graph that hangs on a parameter.",
                    lambda: {"grown": True},
                )
            ],
        ),
    ),
)
