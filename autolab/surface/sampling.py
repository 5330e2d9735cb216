"""What random functions do inside vmap, where one call stands for all samples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.modes import modes
from autolab.engine.tensor import TABLE, fresh
from autolab.levels.batched import Batch, loops
from autolab.levels.level import Box, created
from autolab.surface.inplace import copy_


def sampled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that draws random numbers: under randomness="different" each sample gets those that a loop would give it.

    Drawing goes sample by sample, so that `vmap(f, randomness="different")` after a seed is the loop over f after the same seed.
    Under "same" the numbers are drawn once, so they cannot depend on what differs between samples.
    """
    writes, only_shape = function.__name__.endswith("_"), function.__name__.endswith("_like")

    @functools.wraps(function)
    def draw(*args: Any, **kwargs: Any) -> Any:
        if not modes.levels:
            return function(*args, **kwargs)
        level = next((level for level in reversed(modes.levels) if isinstance(level, Batch)), None)
        if level is None:
            return function(*args, **kwargs)
        level.before_random()
        args, given = tuple(below(level, a) for a in args), args
        kwargs = {name: below(level, a) for name, a in kwargs.items()}
        own = [level.owns(a) for a in (*args, *kwargs.values())]
        if level.randomness == "same":
            if any(own[1 if writes or only_shape else 0 :]):
                raise RuntimeError(
                    "Vmap does not currently support same randomness with a batched tensor input: what "
                    f"{function.__name__} draws from differs between the samples. Use randomness='different'."
                )
            return function(*given, **kwargs)
        if writes and not own[0]:
            if any(own):
                raise RuntimeError(level.cannot_be_written_into(given[0]))
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
                "If this is necessary for your usage, make the tensor for each sample: x.new_zeros(...)."
            )
        made = []
        with level.lowered():
            for k in range(level.size):
                first, *rest = [a.value[k] if level.owns(a) else a for a in args] or [None]
                one = [fresh(np.array(first.payload)) if writes else first, *rest] if args else []
                made.append(draw(*one, **{name: a.value[k] if level.owns(a) else a for name, a in kwargs.items()}))
        found = created(level.put(TABLE["stack"](*made, axis=-made[0].ndim - 1)))
        return copy_(given[0], found) if writes else found

    return draw


def below(level: Batch, a: Any) -> Any:
    """The value of a tensor for this level: numbers are drawn without regard to what is differentiated."""
    while isinstance(a, Box) and a.level > level.number:
        a = a.value
    return a


def one_by_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that looks at numbers and has no derivative: inside vmap it runs for each sample, and is counted as a loop."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        top = max((a for a in given if isinstance(a, Box)), key=lambda a: a.level, default=None) if modes.levels else None
        if top is None:
            return function(*args, **kwargs)
        level = top.home
        with level.lowered():
            if not isinstance(level, Batch):
                made = run(*[level.take(a) for a in args], **{name: level.take(a) for name, a in kwargs.items()})
                return created(made)
            loops[function.__name__] += 1
            each = [
                run(*[pick(level, a, k) for a in args], **{name: pick(level, a, k) for name, a in kwargs.items()})
                for k in range(level.size)
            ]
        if isinstance(each[0], tuple):
            made = [level.put(TABLE["stack"](*parts, axis=-parts[0].ndim - 1)) for parts in zip(*each)]
            return type(each[0])(*made) if hasattr(each[0], "_fields") else tuple(made)
        return level.put(TABLE["stack"](*each, axis=-each[0].ndim - 1))

    return run


def pick(level: Batch, a: Any, k: int) -> Any:
    """Sample k of an argument."""
    return a.value[k] if level.owns(a) else a
